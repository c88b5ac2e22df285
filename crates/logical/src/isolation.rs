//! Isolation levels, as SET TRANSACTION and table hints name them.

/// How readers see others' changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Reads what is there, committed or not.
    ReadUncommitted,
    /// Each statement sees what was committed when it began.
    #[default]
    ReadCommitted,
    /// Rows read stay as they were until the transaction ends.
    RepeatableRead,
    /// The whole transaction sees what was committed when it began to read.
    Snapshot,
    /// As if transactions ran one after another.
    Serializable,
}

impl Isolation {
    /// The number that sys.dm_exec_sessions.transaction_isolation_level shows (1..=5).
    pub fn number(self) -> i16 {
        match self {
            Isolation::ReadUncommitted => 1,
            Isolation::ReadCommitted => 2,
            Isolation::RepeatableRead => 3,
            Isolation::Serializable => 4,
            Isolation::Snapshot => 5,
        }
    }
}
