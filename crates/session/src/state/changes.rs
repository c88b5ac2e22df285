//! Rows that a statement keeps in memory: what it has changed, for foreign keys, cascades and
//! triggers; the rounds of a recursive query. Guarantee: row `i` of `deleted` is what row `i` of
//! `inserted` was before an UPDATE.

use std::sync::Arc;

use bind::module::{CHANGED_ROWS, ChangedTable};
use catalog::{ModuleDef, TableDef};
use types::Value;

/// Rows of one width, one after another.
#[derive(Debug, Default)]
pub struct KeptRows {
    width: usize,
    rows: usize,
    values: Vec<Value>,
}

impl KeptRows {
    /// No rows yet.
    pub fn new(width: usize) -> KeptRows {
        KeptRows { width, rows: 0, values: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[Value]) {
        debug_assert_eq!(row.len(), self.width);
        self.values.extend_from_slice(row);
        self.rows += 1;
    }

    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// A row.
    #[inline]
    pub fn row(&self, i: usize) -> &[Value] {
        &self.values[i * self.width..(i + 1) * self.width]
    }
}

/// What kind of statement changed the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Insert,
    Update,
    Delete,
}

impl Action {
    /// As messages and CREATE TRIGGER call it.
    pub fn word(self) -> &'static str {
        match self {
            Action::Insert => "INSERT",
            Action::Update => "UPDATE",
            Action::Delete => "DELETE",
        }
    }
}

/// The rows that one statement has changed in one table.
#[derive(Debug)]
pub struct ChangedRows {
    pub table: Arc<TableDef>,
    pub action: Action,
    pub deleted: Arc<KeptRows>,
    pub inserted: Arc<KeptRows>,
    /// Positions of the columns that an UPDATE has set; every column for an INSERT.
    pub columns: Arc<[usize]>,
    /// Nothing was changed: a trigger stands in the place of the change.
    pub instead_of: bool,
}

impl ChangedRows {
    /// Whether nothing was changed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.deleted.is_empty() && self.inserted.is_empty()
    }

    /// What `inserted` and `deleted` are where a statement of a trigger is compiled.
    pub fn as_table(&self) -> ChangedTable {
        ChangedTable {
            table: self.table.clone(),
            deleted: true,
            inserted: true,
            instead_of: self.instead_of.then(|| self.action.word()),
            rows: CHANGED_ROWS,
        }
    }
}

/// Triggers that a change calls for; they run when the statement has done everything else.
#[derive(Debug)]
pub struct FiredTriggers {
    pub db: Arc<catalog::Db>,
    pub triggers: Arc<[Arc<ModuleDef>]>,
    pub cause: Cause,
}

/// What triggers get to see.
#[derive(Clone, Debug)]
pub enum Cause {
    Rows(Arc<ChangedRows>),
    /// A definition has changed: what EVENTDATA() says of it.
    Event(Arc<str>),
}
