//! The tables that a statement reads, with their locks.

use catalog::{Db, TableDef};
use logical::hints::TableLock;
use std::sync::Arc;

/// A table that a plan reads, and how it is locked meanwhile.
#[derive(Clone)]
pub struct TableUse {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub lock: TableLock,
}
