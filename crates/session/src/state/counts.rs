//! Counts of rows that a transaction has changed, so that a rollback takes them back with the rows.
//! Guarantees: after a rollback, whole, to a savepoint or of one statement, a table's count of rows
//! is what it was before, but for what others have changed meanwhile; the list grows with tables
//! and savepoints, not with statements.

use std::sync::Arc;

use super::core::SessionCore;
use catalog::{Db, TableDef, TableState};

/// Rows that were added to a table (negative: taken away).
struct AddedRows {
    state: Arc<TableState>,
    /// By statements that have ended.
    rows: i64,
    /// By the running statement.
    own: i64,
}

impl AddedRows {
    fn take_back(&self, rows: i64) {
        match u64::try_from(rows) {
            Ok(rows) => self.state.deleted(rows),
            Err(_) => self.state.inserted(rows.unsigned_abs()),
        }
    }
}

/// The counts of the session's open transaction.
#[derive(Default)]
pub(super) struct RowCounts {
    list: Vec<AddedRows>,
    /// Entries from here on take what is counted; those before are of a savepoint or of a statement
    /// around the running one.
    base: usize,
    /// How many there were when the running statement began.
    statement: usize,
    /// How many there were at the last savepoint.
    saved: usize,
}

impl RowCounts {
    /// A statement begins.
    #[inline]
    pub fn begin_statement(&mut self) {
        self.end_statement();
        self.statement = self.list.len();
    }

    /// Whether nothing is counted, and no savepoint is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.saved == 0 && self.base == 0
    }

    #[inline]
    fn end_statement(&mut self) {
        for counted in &mut self.list[self.base..] {
            counted.rows += std::mem::take(&mut counted.own);
        }
    }

    fn add(&mut self, state: &Arc<TableState>, rows: i64) {
        match self.list[self.base..].iter_mut().find(|counted| Arc::ptr_eq(&counted.state, state)) {
            Some(counted) => counted.own += rows,
            None => self.list.push(AddedRows { state: state.clone(), rows: 0, own: rows }),
        }
    }

    /// A savepoint: a place to come back to.
    pub fn save(&mut self) -> usize {
        self.end_statement();
        self.saved = self.list.len();
        self.base = self.saved;
        self.saved
    }

    /// Statements inside the running one begin; what [`RowCounts::leave`] wants to know.
    pub fn enter(&mut self) -> (usize, usize) {
        let outer = (self.base, self.statement);
        self.base = self.list.len();
        outer
    }

    /// They have ended. A savepoint that they have made stays one.
    pub fn leave(&mut self, (base, statement): (usize, usize)) {
        let len = self.list.len();
        (self.base, self.statement) = (base.max(self.saved).min(len), statement.min(len));
    }

    /// Takes back what the running statement has counted.
    pub fn undo_statement(&mut self) {
        let begin = self.statement.min(self.list.len());
        for counted in self.list.drain(begin..) {
            counted.take_back(counted.rows + counted.own);
        }
        for counted in self.list.iter_mut().skip(self.base) {
            let own = std::mem::take(&mut counted.own);
            counted.take_back(own);
        }
        self.base = self.base.min(begin);
    }

    /// Takes back what was counted after a place.
    pub fn undo(&mut self, place: usize) {
        for counted in self.list.drain(place.min(self.list.len())..) {
            counted.take_back(counted.rows + counted.own);
        }
        let len = self.list.len();
        (self.base, self.statement, self.saved) = (len, len, len);
    }

    /// The transaction has committed.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
        (self.base, self.statement, self.saved) = (0, 0, 0);
    }
}

impl SessionCore {
    /// A statement has added rows to a table.
    #[inline]
    pub fn inserted(&mut self, db: &Db, table: &TableDef, rows: u64) {
        table.state.inserted(rows);
        self.remember_count(db, table, rows as i64);
    }

    /// A statement has deleted rows of a table.
    #[inline]
    pub fn deleted(&mut self, db: &Db, table: &TableDef, rows: u64) {
        table.state.deleted(rows);
        self.remember_count(db, table, -(rows as i64));
    }

    #[inline]
    fn remember_count(&mut self, db: &Db, table: &TableDef, rows: i64) {
        // What is a transaction of its own, not part of a statement and without triggers to come,
        // commits now.
        let may_be_undone = self.trancount() > 0 || !self.run.triggers.fired.is_empty();
        if rows != 0 && may_be_undone && !db.is_autonomous() {
            self.transactions.counts.add(&table.state, rows);
        }
    }
}
