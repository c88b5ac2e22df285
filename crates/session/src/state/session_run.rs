//! What a session runs: the results of its last statement, errors and notes of the running one, how
//! deep calls are nested, the triggers that run or are to run.
//! Guarantees: a statement has each note once; a request begins without the nesting and the errors
//! of the request before it ([`SessionRun::begin_request`]).

use std::sync::Arc;

use catalog::{Db, TableDef};
use types::SqlError;

use super::bulk::BulkLoad;
use super::changes::{ChangedRows, FiredTriggers};
use super::profile::Profile;
use super::scans::Scans;

/// The results of statements that functions such as @@ROWCOUNT return.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastResults {
    /// @@ROWCOUNT of the last statement.
    pub rowcount: u64,
    /// @@ERROR of the last statement.
    pub error_number: i32,
    /// @@IDENTITY: last identity value of the session, NULL before the first.
    pub last_identity: Option<i64>,
    /// SCOPE_IDENTITY(): last identity value of the current scope.
    pub scope_identity: Option<i64>,
}

/// The triggers of the running statement, and the rows and events that they see.
#[derive(Default)]
pub struct TriggerRun {
    /// EVENTDATA() of the trigger that runs, if a definition has fired it.
    pub event_data: Option<Arc<str>>,
    /// The rows that `inserted` and `deleted` mean in what runs now.
    pub changes: Option<Arc<ChangedRows>>,
    /// Triggers that the running statement has called for.
    pub fired: Vec<FiredTriggers>,
    /// Triggers that are running, the innermost last, by object_id and database.
    pub running: Vec<(i32, i32)>,
}

/// The state of the statements that a session runs.
#[derive(Default)]
pub struct SessionRun {
    pub results: LastResults,
    pub triggers: TriggerRun,
    /// What the statement has to say when it has ended, each once.
    pub notes: Vec<SqlError>,
    /// Errors of the CATCH blocks that are being run, the innermost last.
    pub caught: Vec<SqlError>,
    /// @@NESTLEVEL: EXEC levels above this one.
    pub nest_level: u32,
    /// @@TRANCOUNT around INSERT ... EXECUTE, while it runs what it calls.
    pub insert_exec: Option<u32>,
    /// What INSERT BULK has announced.
    pub pending_bulk: Option<Box<BulkLoad>>,
    /// Procedures that are being described under FMTONLY: object_id and database.
    pub described: Vec<(i32, i32)>,
    /// Definitions that only the running statement sees: see `catalog::rebuild`.
    pub private_tables: Vec<Arc<TableDef>>,
    /// Counters of the running statement, when it is profiled.
    pub profile: Option<Box<Profile>>,
    /// Its scans, when they are counted.
    pub scans: Option<Box<Scans>>,
}

impl SessionRun {
    /// A request begins: nothing is nested, caught or announced, whatever the last one has left.
    pub fn begin_request(&mut self) {
        self.nest_level = 0;
        self.caught.clear();
        self.insert_exec = None;
        self.pending_bulk = None;
        self.described.clear();
    }

    /// A statement ended well.
    #[inline]
    pub fn succeeded(&mut self, rows: u64) {
        self.results.rowcount = rows;
        self.results.error_number = 0;
    }

    /// What a statement has to say besides its rows, when it has ended.
    pub fn note(&mut self, note: SqlError) {
        if self.notes.iter().all(|known| known.number != note.number) {
            self.notes.push(note);
        }
    }

    /// The error that ERROR_NUMBER() and similar functions show: of the innermost CATCH block that
    /// runs.
    #[inline]
    pub fn error(&self) -> Option<&SqlError> {
        self.caught.last()
    }

    /// A scan of a table begins.
    #[inline]
    pub fn scanned(&mut self, db: &Arc<Db>, table: &Arc<TableDef>) {
        if let Some(scans) = &mut self.scans {
            scans.add(db, table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_each_note_once_and_a_request_begins_without_nesting() {
        let mut run = SessionRun::default();
        run.note(SqlError::internal("a note"));
        run.note(SqlError::internal("the same note"));
        assert_eq!(run.notes.len(), 1);
        run.caught.push(SqlError::internal("caught"));
        (run.nest_level, run.insert_exec) = (3, Some(1));
        run.results.last_identity = Some(12);
        run.begin_request();
        assert!(run.error().is_none());
        assert_eq!((run.nest_level, run.insert_exec), (0, None));
        assert_eq!(run.results.last_identity, Some(12), "@@IDENTITY is the session's");
    }
}
