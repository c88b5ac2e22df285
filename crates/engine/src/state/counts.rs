//! Counts of rows that a transaction has changed, so that a rollback takes them back with the rows.
//! Guarantees: after a rollback, whole, to a savepoint or of one statement, a table's count of rows is what it was before, but for
//! what others have changed meanwhile; the list grows with tables and savepoints, not with statements.

use std::sync::Arc;

use super::core::SessionCore;
use catalog::{Db, TableDef, TableState};

/// Rows that were added to a table (negative: taken away).
struct Counted {
    state: Arc<TableState>,
    rows: i64,
}

/// The counts of the session's open transaction.
#[derive(Default)]
pub(super) struct Counts {
    list: Vec<Counted>,
    /// Where those of the running statement begin.
    statement: usize,
    /// Where those of the statement around it begin: they stay apart.
    floor: usize,
}

impl Counts {
    /// How many there are: a place to come back to.
    pub fn place(&self) -> usize {
        self.list.len()
    }

    /// A statement begins; what came before it, after the savepoint at `base`, is put together.
    pub fn begin_statement(&mut self, base: usize) {
        if self.list.len() > self.statement {
            let mut at = base.max(self.floor).min(self.statement);
            while at < self.list.len() {
                let (known, rest) = self.list.split_at_mut(at + 1);
                if let Some(one) = known.last_mut() {
                    rest.iter_mut().filter(|other| Arc::ptr_eq(&other.state, &one.state)).for_each(|other| {
                        one.rows += std::mem::take(&mut other.rows);
                    });
                }
                at += 1;
                let mut index = 0;
                self.list.retain(|counted| {
                    index += 1;
                    index <= at || counted.rows != 0
                });
            }
        }
        self.statement = self.list.len();
    }

    fn add(&mut self, state: &Arc<TableState>, rows: i64) {
        let begin = self.statement.min(self.list.len());
        let own = self.list[begin..].iter_mut();
        match own.rev().find(|counted| Arc::ptr_eq(&counted.state, state)) {
            Some(counted) => counted.rows += rows,
            None => self.list.push(Counted { state: state.clone(), rows }),
        }
    }

    /// Where the running statement's begin.
    pub fn statement(&self) -> usize {
        self.statement
    }

    /// Statements inside the running one begin; what [`Counts::leave`] wants to know.
    pub fn enter(&mut self) -> (usize, usize) {
        let outer = (self.statement, self.floor);
        self.floor = self.statement;
        outer
    }

    /// They have ended.
    pub fn leave(&mut self, (statement, floor): (usize, usize)) {
        (self.statement, self.floor) = (statement.min(self.list.len()), floor);
    }

    /// Takes back what was counted after a place.
    pub fn undo(&mut self, place: usize) {
        for counted in self.list.drain(place.min(self.list.len())..).rev() {
            match u64::try_from(counted.rows) {
                Ok(rows) => counted.state.deleted(rows),
                Err(_) => counted.state.inserted(counted.rows.unsigned_abs()),
            }
        }
        self.statement = self.statement.min(place);
    }

    /// The transaction has committed.
    pub fn clear(&mut self) {
        self.list.clear();
        (self.statement, self.floor) = (0, 0);
    }
}

impl SessionCore {
    /// A statement has added rows to a table.
    #[inline]
    pub(crate) fn inserted(&mut self, db: &Db, table: &TableDef, rows: u64) {
        table.state.inserted(rows);
        self.remember_count(db, table, rows as i64);
    }

    /// A statement has deleted rows of a table.
    #[inline]
    pub(crate) fn deleted(&mut self, db: &Db, table: &TableDef, rows: u64) {
        table.state.deleted(rows);
        self.remember_count(db, table, -(rows as i64));
    }

    #[inline]
    fn remember_count(&mut self, db: &Db, table: &TableDef, rows: i64) {
        // What is a transaction of its own, not part of a statement and without triggers to come, commits now.
        let may_be_undone = self.trancount() > 0 || !self.fired.is_empty();
        if rows != 0 && may_be_undone && !db.is_autonomous() {
            self.transactions.counts.add(&table.state, rows);
        }
    }
}
