//! A bulk load as data: into which columns of which table, and how.

use std::sync::Arc;

use catalog::{Db, TableDef};

/// How a bulk load is done.
#[derive(Clone, Debug, Default)]
pub struct BulkOptions {
    /// Rows per transaction, when none is open; 0: all rows are one.
    pub batch: u64,
    /// The values of the identity column are given.
    pub keep_identity: bool,
    /// NULL stays NULL where the column has a default.
    pub keep_nulls: bool,
    /// The table is locked as a whole.
    pub table_lock: bool,
    /// CHECK and FOREIGN KEY constraints do not hold for the rows.
    pub ignore_constraints: bool,
    /// INSERT triggers do not run.
    pub ignore_triggers: bool,
}

/// A load into columns of a table.
pub struct BulkLoad {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    /// Positions of the columns that the rows have.
    pub columns: Vec<usize>,
    pub options: BulkOptions,
    /// In which order the rows are said to come, where it is that of the clustered index: positions
    /// in `columns`, descending.
    pub order: Vec<(usize, bool)>,
}
