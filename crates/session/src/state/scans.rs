//! How often the running statement has begun to scan its tables, for SET STATISTICS IO: a range of
//! an index that is sought counts as a scan, a look for the one row that a whole unique key can
//! have does not.

use std::sync::Arc;

use catalog::{Db, TableDef};

/// The tables that were scanned, in the order of their first scans.
#[derive(Default)]
pub struct Scans(Vec<(Arc<Db>, Arc<TableDef>, u64)>);

impl Scans {
    /// A scan of a table has begun.
    pub fn add(&mut self, db: &Arc<Db>, table: &Arc<TableDef>) {
        let is = |(d, t, _): &&mut (Arc<Db>, Arc<TableDef>, u64)| {
            t.object_id == table.object_id && Arc::ptr_eq(d, db)
        };
        match self.0.iter_mut().find(is) {
            Some((.., count)) => *count += 1,
            None => self.0.push((db.clone(), table.clone(), 1)),
        }
    }

    /// Tables and counts.
    pub fn list(self) -> Vec<(Arc<Db>, Arc<TableDef>, u64)> {
        self.0
    }
}
