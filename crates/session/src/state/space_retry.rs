//! What happens when a statement finds a filegroup full (1105): before it fails, what is about to
//! give space back does so (dropped units, ghosts, discarded large values, empty extents), and then
//! the statement may run again. Guarantee: the statement is taken back before it runs again, and
//! nothing of it had been shown.

use std::sync::Arc;

use types::SqlError;

use super::core::SessionCore;
use super::transactions::Transactions;
use catalog::Db;
use storage::TableStore;

/// How often a statement runs again because there is room after all.
pub const MAX_RUNS: u32 = 3;

impl Transactions {
    /// Has space given back in the filegroups that its databases have found full.
    fn make_room(&self) -> bool {
        let mut room = false;
        for open in &self.open {
            let Some(filegroup) = open.db.full_filegroup() else { continue };
            open_tables(&open.db);
            // An error that matters has taken the database offline.
            room |= open.txn.database().reclaim(filegroup).unwrap_or(false);
        }
        room
    }
}

impl SessionCore {
    /// A statement has failed with this error and is not taken back yet: if a filegroup was full,
    /// makes room in it. Its own pages do not count.
    pub(super) fn look_for_room(&mut self, error: &SqlError) {
        self.transactions.room = error.number == 1105
            && !self.transactions.client.doomed
            && self.transactions.make_room();
    }

    /// Whether space was freed after the last statement had failed for want of it. A second call
    /// returns false.
    #[inline]
    pub fn take_space_freed(&mut self) -> bool {
        std::mem::take(&mut self.transactions.room)
    }

    /// Runs a part of a statement, and again after taking it back when there is room after all.
    pub fn with_room<T>(
        &mut self,
        mut part: impl FnMut(&mut SessionCore) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        for _ in 1..MAX_RUNS {
            let marks = self.transactions.marks();
            match part(self) {
                Err(e)
                    if e.number == 1105
                        && self.transactions.make_room()
                        && self.back_to(&marks) => {}
                other => return other,
            }
        }
        part(self)
    }
}

/// The background knows only tables that are open.
pub fn open_tables(db: &Arc<Db>) {
    let catalog = db.catalog();
    for table in catalog.by_id.values() {
        // One that is being dropped, or damaged, has no space to give.
        let _ = TableStore::open(db, table);
    }
}
