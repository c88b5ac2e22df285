//! What memory is used for, by the names that SQL Server has for it.

/// A use of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clerk {
    /// Pages of the buffer pool.
    BufferPool,
    /// Sorts, joins, aggregates, kept rows, open static cursors.
    QueryReservations,
    /// Values of variables and of expressions while they are computed.
    QueryExecution,
    /// What sessions keep between their statements: contexts, prepared statements, rows of
    /// parameters.
    Sessions,
    /// Plans of batches and of statements that clients send.
    Plans,
    /// Plans of procedures, functions and triggers.
    ModulePlans,
    /// Buffers of the databases' logs, and blocks of them that are kept for reading.
    Log,
    /// Messages that come from clients and go to them.
    Packets,
    /// Locks of owners that have many.
    Locks,
    /// Definitions of temporary tables and of table variables.
    TemporaryTables,
    /// Definitions of all other tables and of modules.
    Definitions,
    /// What storage knows of its units, of pages with ghosts, of work after commits.
    Storage,
    /// What is noted of queries.
    QueryStore,
}

impl Clerk {
    /// All of them.
    pub const ALL: [Clerk; 13] = [
        Clerk::BufferPool,
        Clerk::QueryReservations,
        Clerk::QueryExecution,
        Clerk::Sessions,
        Clerk::Plans,
        Clerk::ModulePlans,
        Clerk::Log,
        Clerk::Packets,
        Clerk::Locks,
        Clerk::TemporaryTables,
        Clerk::Definitions,
        Clerk::Storage,
        Clerk::QueryStore,
    ];

    /// How many there are.
    pub const COUNT: usize = Clerk::ALL.len();

    /// Its type in sys.dm_os_memory_clerks.
    pub const fn kind(self) -> &'static str {
        match self {
            Clerk::BufferPool => "MEMORYCLERK_SQLBUFFERPOOL",
            Clerk::QueryReservations => "MEMORYCLERK_SQLQERESERVATIONS",
            Clerk::QueryExecution => "MEMORYCLERK_SQLQUERYEXEC",
            Clerk::Sessions => "MEMORYCLERK_SQLGENERAL",
            Clerk::Plans => "CACHESTORE_SQLCP",
            Clerk::ModulePlans => "CACHESTORE_OBJCP",
            Clerk::Log => "MEMORYCLERK_SQLLOGPOOL",
            Clerk::Packets => "OBJECTSTORE_SNI_PACKET",
            Clerk::Locks => "OBJECTSTORE_LOCK_MANAGER",
            Clerk::TemporaryTables => "CACHESTORE_TEMPTABLES",
            Clerk::Definitions => "USERSTORE_SCHEMAMGR",
            Clerk::Storage => "MEMORYCLERK_SQLSTORENG",
            Clerk::QueryStore => "MEMORYCLERK_QUERYDISKSTORE",
        }
    }

    /// Its name in sys.dm_os_memory_clerks.
    pub const fn name(self) -> &'static str {
        match self {
            Clerk::Plans => "SQL Plans",
            Clerk::ModulePlans => "Object Plans",
            Clerk::Packets => "SNI Packet",
            Clerk::Locks => "Lock Manager",
            Clerk::TemporaryTables => "Temporary Tables & Table Variables",
            Clerk::Definitions => "SchemaMgr Store",
            _ => "Default",
        }
    }

    /// Whether what it holds gives way to others: it never takes from what they may have.
    pub(crate) const fn gives_way(self) -> bool {
        matches!(self, Clerk::BufferPool | Clerk::Plans | Clerk::ModulePlans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_numbers_and_names_differ() {
        for (at, clerk) in Clerk::ALL.into_iter().enumerate() {
            assert_eq!(clerk as usize, at);
            let same = Clerk::ALL.iter().filter(|other| other.kind() == clerk.kind()).count();
            assert_eq!(same, 1, "{clerk:?}");
        }
    }
}
