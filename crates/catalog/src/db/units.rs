//! Units of a database that are dropped: when they are freed, and by which thread. Guarantee: a
//! unit that cannot be freed stays on the list of pending drops, and the error log says why.

use std::sync::Arc;

use txn::Database;

use super::OpenStorage;
use crate::pending::{self, UnitRef};

impl OpenStorage {
    /// What a transaction that drops units does once it has committed: frees them on the database's
    /// cleanup thread. An allocation that finds no room before that takes their extents.
    pub fn free_after_commit(self: &Arc<OpenStorage>, units: Vec<UnitRef>) -> txn::Deferred {
        // The closure must not keep the database alive: it sits in the database's own queue.
        let weak = Arc::downgrade(self);
        let listed = units.iter().map(|unit| (unit.unit, unit.first_iam)).collect();
        let work = Box::new(move |_: &Arc<Database>| {
            if let Some(open) = weak.upgrade() {
                open.free_units(&units);
            }
        });
        txn::Deferred { units: listed, work }
    }

    /// Frees units now. A failure leaves a unit on the list, for when the database is next opened.
    pub(super) fn free_units(&self, units: &[UnitRef]) {
        for unit in units {
            if let Err(e) = pending::free(&self.storage, &self.trees, unit) {
                self.errors.write("cleanup", &e.to_string());
            }
        }
    }
}
