//! Table hints and isolation levels: how a table is read, which locks the read takes, how the table
//! itself is locked. Guarantees: a hint that is not SQL Server's is an error; hints that contradict
//! each other are one.

use crate::access_hints::AccessHints;
use crate::isolation::Isolation;
use catalog::TableDef;
use storage::TableMode;
use syntax::ast::OptionItem;
use txn::locks::LockMode;
use types::{SqlError, msg};

/// What the hints of one table ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// In place of the session's level.
    isolation: Option<Isolation>,
    /// READCOMMITTEDLOCK: READ COMMITTED by locks.
    read_committed_lock: bool,
    /// UPDLOCK: U, XLOCK: X.
    mode: Option<LockMode>,
    /// TABLOCK: S, TABLOCKX: X.
    table: Option<LockMode>,
    read_past: bool,
    no_wait: bool,
    /// IGNORE_CONSTRAINTS: CHECK and FOREIGN KEY do not hold for the rows of an INSERT.
    pub ignore_constraints: bool,
    /// IGNORE_TRIGGERS: its triggers do not run.
    pub ignore_triggers: bool,
    /// How the rows are found.
    pub access: AccessHints,
}

/// The locks that a scan takes on the rows that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLocks {
    /// S, U or X.
    pub mode: LockMode,
    /// The gaps between the rows too: no row can come into what was read.
    pub range: bool,
    /// Until the transaction ends; else until the row has been read.
    pub hold: bool,
    /// Rows that others have locked are skipped.
    pub read_past: bool,
    /// The first row alone is wanted: when it is locked it is looked for once more, until it is the
    /// same. A statement that has waited for a row that is not the first any more goes
    /// on to the row that is.
    pub first_again: bool,
}

impl RowLocks {
    /// Locks of rows that nobody else is to change, to the end of the transaction.
    pub fn until_changed(mode: LockMode) -> RowLocks {
        RowLocks { mode, range: false, hold: true, read_past: false, first_again: false }
    }

    /// Whether each row that is looked at is locked for reading, whatever the conditions say of it
    /// (SERIALIZABLE): to read fewer by a join locks no more than to test all.
    pub fn are_of_all_read(&self) -> bool {
        self.range && self.mode == LockMode::S
    }
}

/// The lock on a table as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLock {
    pub mode: LockMode,
    /// Until the transaction ends; else until the statement does.
    pub hold: bool,
    /// The statement does not wait for locks.
    pub no_wait: bool,
}

impl TableLock {
    /// A lock that waits: SCH-S for the statement, every other mode for the transaction.
    pub fn of(mode: LockMode) -> TableLock {
        TableLock { mode, hold: mode != LockMode::SchS, no_wait: false }
    }
}

/// How a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadHints {
    pub mode: TableMode,
    pub locks: Option<RowLocks>,
    pub table: TableLock,
}

/// Hints that are accepted and change nothing here: granularity, plans, loading.
const IDLE: [&str; 9] = [
    "ROWLOCK",
    "PAGLOCK",
    "NOEXPAND",
    "EXPAND",
    "KEEPIDENTITY",
    "KEEPDEFAULTS",
    "SPATIAL_WINDOW_MAX_CELLS",
    "FASTFIRSTROW",
    "REMOTE",
];

impl Hints {
    /// Reads the hints of a table.
    ///
    /// Errors: 321 no such hint, 308 no such index, 362 and 363 FORCESEEK by columns that are not
    /// its key's, 1047 hints that contradict each other.
    pub fn parse(table: &TableDef, items: &[OptionItem]) -> Result<Hints, SqlError> {
        let mut hints = Hints::default();
        for item in items {
            match item.name.as_str() {
                "NOLOCK" | "READUNCOMMITTED" => hints.level(Isolation::ReadUncommitted)?,
                "READCOMMITTED" => hints.level(Isolation::ReadCommitted)?,
                "READCOMMITTEDLOCK" => {
                    hints.level(Isolation::ReadCommitted)?;
                    hints.read_committed_lock = true;
                }
                "REPEATABLEREAD" => hints.level(Isolation::RepeatableRead)?,
                "HOLDLOCK" | "SERIALIZABLE" => hints.level(Isolation::Serializable)?,
                "UPDLOCK" => hints.mode = hints.mode.or(Some(LockMode::U)),
                "XLOCK" => hints.mode = Some(LockMode::X),
                "TABLOCK" => hints.table = hints.table.or(Some(LockMode::S)),
                "TABLOCKX" => hints.table = Some(LockMode::X),
                "READPAST" => hints.read_past = true,
                "NOWAIT" => hints.no_wait = true,
                "IGNORE_CONSTRAINTS" => hints.ignore_constraints = true,
                "IGNORE_TRIGGERS" => hints.ignore_triggers = true,
                "INDEX" | "FORCESEEK" | "FORCESCAN" => hints.access.add(table, item)?,
                // Of tables that are in memory alone.
                "SNAPSHOT" => return Err(snapshot()),
                name if IDLE.contains(&name) => {}
                name => return Err(unknown(name)),
            }
        }
        if hints.access.is_contradictory() {
            return Err(conflicting());
        }
        let locks = hints.mode.is_some() || hints.table.is_some() || hints.read_past;
        if hints.isolation == Some(Isolation::ReadUncommitted) && locks {
            return Err(conflicting());
        }
        Ok(hints)
    }

    fn level(&mut self, level: Isolation) -> Result<(), SqlError> {
        match self.isolation {
            Some(other) if other != level => Err(conflicting()),
            _ => {
                self.isolation = Some(level);
                Ok(())
            }
        }
    }

    /// How a query reads the table; `by_locks`: READ_COMMITTED_SNAPSHOT is off in its database.
    ///
    /// Error: 650 READPAST in SERIALIZABLE or READ UNCOMMITTED.
    pub fn reading(&self, session: Isolation, by_locks: bool) -> Result<ReadHints, SqlError> {
        let level = self.isolation.unwrap_or(session);
        if self.read_past && !matches!(level, Isolation::ReadCommitted | Isolation::RepeatableRead)
        {
            return Err(read_past_level());
        }
        let range = level == Isolation::Serializable;
        let hold = range || level == Isolation::RepeatableRead || self.mode.is_some();
        if let Some(table) = self.table {
            let mode = if self.mode.is_some() { LockMode::X } else { table };
            let hold = hold || mode == LockMode::X;
            // Nobody writes beside this lock: the statement's snapshot is what is there.
            return Ok(self.reads(TableMode::Snapshot, None, mode, hold));
        }
        let by_locks = self.read_committed_lock || (by_locks && level == Isolation::ReadCommitted);
        let locks = hold || by_locks || self.read_past;
        // In SNAPSHOT isolation what is read is old: a lock on what is there now would say nothing
        // about it.
        if !locks || level == Isolation::Snapshot {
            let dirty = level == Isolation::ReadUncommitted;
            let mode = if dirty { TableMode::Dirty } else { TableMode::Snapshot };
            return Ok(self.reads(mode, None, LockMode::SchS, false));
        }
        let mode = self.mode.unwrap_or(LockMode::S);
        let intent = if mode == LockMode::S { LockMode::IS } else { LockMode::IX };
        let locks = RowLocks { mode, range, hold, read_past: self.read_past, first_again: false };
        Ok(self.reads(TableMode::Current, Some(locks), intent, hold))
    }

    fn reads(
        &self,
        mode: TableMode,
        locks: Option<RowLocks>,
        table: LockMode,
        hold: bool,
    ) -> ReadHints {
        ReadHints { mode, locks, table: TableLock { mode: table, hold, no_wait: self.no_wait } }
    }

    /// How the target of an UPDATE or DELETE is read: what is changed is locked by the change
    /// itself.
    ///
    /// Errors: 1065 NOLOCK, 650 READPAST in a level that does not have it.
    pub fn target(&self, session: Isolation) -> Result<ReadHints, SqlError> {
        let table = self.write_lock()?;
        let level = match session {
            Isolation::ReadUncommitted => Isolation::ReadCommitted,
            session => self.isolation.unwrap_or(session),
        };
        if self.read_past && !matches!(level, Isolation::ReadCommitted | Isolation::RepeatableRead)
        {
            return Err(read_past_level());
        }
        let mode =
            if level == Isolation::Snapshot { TableMode::Snapshot } else { TableMode::Current };
        let range = level == Isolation::Serializable;
        let wanted = (range || self.read_past || self.mode == Some(LockMode::X))
            && mode == TableMode::Current;
        let locks = (wanted && table.mode != LockMode::X).then_some(RowLocks {
            mode: self.mode.unwrap_or(LockMode::U),
            range,
            hold: true,
            read_past: self.read_past,
            first_again: false,
        });
        Ok(ReadHints { mode, locks, table })
    }

    /// The lock on a table that is to be changed. Error: 1065 NOLOCK.
    pub fn write_lock(&self) -> Result<TableLock, SqlError> {
        if self.isolation == Some(Isolation::ReadUncommitted) {
            return Err(SqlError::of(msg::NOLOCK_ON_TARGET, []));
        }
        let mode = if self.table.is_some() { LockMode::X } else { LockMode::IX };
        Ok(TableLock { mode, hold: true, no_wait: self.no_wait })
    }
}

fn snapshot() -> SqlError {
    SqlError::of(msg::NOT_SUPPORTED, [&"The table hint SNAPSHOT"])
}

fn conflicting() -> SqlError {
    SqlError::of(msg::CONFLICTING_LOCK_HINTS, [])
}

fn read_past_level() -> SqlError {
    SqlError::of(msg::READPAST_ISOLATION, [])
}

fn unknown(name: &str) -> SqlError {
    SqlError::of(msg::UNKNOWN_TABLE_HINT, [&name])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks(mode: LockMode, range: bool, hold: bool) -> Option<RowLocks> {
        Some(RowLocks { mode, range, hold, read_past: false, first_again: false })
    }

    #[test]
    fn levels_and_hints_decide_the_locks() {
        let plain = Hints::default();
        let of = |hints: &Hints, level| hints.reading(level, false).unwrap();
        assert_eq!(of(&plain, Isolation::ReadCommitted).locks, None);
        assert_eq!(of(&plain, Isolation::ReadUncommitted).mode, TableMode::Dirty);
        assert_eq!(of(&plain, Isolation::RepeatableRead).locks, locks(LockMode::S, false, true));
        assert_eq!(of(&plain, Isolation::Serializable).locks, locks(LockMode::S, true, true));
        let update = Hints { mode: Some(LockMode::U), ..plain };
        assert_eq!(of(&update, Isolation::ReadCommitted).locks, locks(LockMode::U, false, true));
        assert_eq!(of(&update, Isolation::ReadCommitted).table.mode, LockMode::IX);
        let range = Hints { isolation: Some(Isolation::Serializable), ..update };
        assert_eq!(of(&range, Isolation::ReadCommitted).locks, locks(LockMode::U, true, true));
        let table = Hints { table: Some(LockMode::S), ..plain };
        let read = of(&table, Isolation::ReadCommitted);
        assert_eq!((read.locks, read.table.mode, read.table.hold), (None, LockMode::S, false));
        assert!(of(&table, Isolation::RepeatableRead).table.hold);
        let past = Hints { read_past: true, ..plain };
        assert_eq!(past.reading(Isolation::Serializable, false).unwrap_err().number, 650);
    }

    #[test]
    fn without_row_versions_read_committed_locks_each_row_for_a_moment() {
        let plain = Hints::default();
        let of = |hints: &Hints, level| hints.reading(level, true).unwrap();
        let moment = locks(LockMode::S, false, false);
        assert_eq!(of(&plain, Isolation::ReadCommitted).locks, moment);
        assert_eq!(of(&plain, Isolation::ReadUncommitted).locks, None);
        assert_eq!(of(&plain, Isolation::Snapshot).locks, None);
        assert_eq!(of(&plain, Isolation::RepeatableRead).locks, locks(LockMode::S, false, true));
        let hinted = Hints { isolation: Some(Isolation::ReadCommitted), ..plain };
        assert_eq!(of(&hinted, Isolation::Snapshot).locks, moment);
        let dirty = Hints { isolation: Some(Isolation::ReadUncommitted), ..plain };
        assert_eq!(of(&dirty, Isolation::ReadCommitted).mode, TableMode::Dirty);
    }

    #[test]
    fn a_change_locks_rows_beforehand_only_where_it_must() {
        let plain = Hints::default();
        let of = |hints: &Hints, level| hints.target(level).unwrap();
        assert_eq!(of(&plain, Isolation::ReadCommitted).locks, None);
        assert_eq!(of(&plain, Isolation::RepeatableRead).locks, None);
        assert_eq!(of(&plain, Isolation::Serializable).locks, locks(LockMode::U, true, true));
        assert_eq!(of(&plain, Isolation::Snapshot).mode, TableMode::Snapshot);
        let dirty = Hints { isolation: Some(Isolation::ReadUncommitted), ..plain };
        assert_eq!(dirty.target(Isolation::ReadCommitted).unwrap_err().number, 1065);
    }
}
