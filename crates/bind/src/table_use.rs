//! The tables of a statement: those that it reads, with their locks, and those whose rows have
//! decided how it is planned.

use catalog::{Db, TableDef, TableState};
use logical::hints::TableLock;
use std::sync::Arc;

/// A table that a plan reads, and how it is locked meanwhile.
#[derive(Clone)]
pub struct TableUse {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub lock: TableLock,
}

/// A table of which so much has changed that a plan may no longer be a good one when its count of
/// changed rows reaches `limit`, or when its statistics are others.
#[derive(Clone, Debug)]
pub struct Watched {
    pub state: Arc<TableState>,
    pub limit: u64,
    /// How often its statistics had been renewed.
    pub renewals: u64,
}

impl Watched {
    /// Whether the plan may still be a good one.
    #[inline]
    pub fn is_as_it_was(&self) -> bool {
        self.state.modified() < self.limit && self.state.statistics.renewals() == self.renewals
    }
}
