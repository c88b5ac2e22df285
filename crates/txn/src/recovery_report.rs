//! What a recovery did, for the error log and for callers that ask the database.

/// What recovery did and how long it took (message 3421).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The database was closed cleanly: there was nothing to do.
    pub clean: bool,
    /// Records read.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Transactions found committed (rolled forward).
    pub rolled_forward: u64,
    /// Transactions undone (rolled back).
    pub rolled_back: u64,
    /// Records with page operations that were redone or found done.
    pub redone: u64,
    /// Log records written while undoing.
    pub compensations: u64,
    /// Microseconds of analysis, of redo beside it, and of undo.
    pub analysis_us: u64,
    pub redo_us: u64,
    pub undo_us: u64,
    /// Microseconds of all of it, with the checkpoint at its end.
    pub total_us: u64,
}
