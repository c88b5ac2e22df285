//! Large values that transactions have discarded: the list of them, and the background work that
//! frees them. Guarantees: a value is freed only when every snapshot, present or future, sees the
//! transaction that discarded it; what a crash leaves on the list is freed after the restart; a
//! rollback keeps the value.

use std::sync::atomic::Ordering;

use access::{AccessError, BTree, DiscardedValue, DiscardedValues, LobPointer, LobSpace};
use pages::{PageError, PageId, TxnId, Unit, UnitId};

use crate::background_state::NOTHING;
use crate::database::Database;
use crate::error::TxnError;
use crate::txn::Txn;

impl Database {
    /// Says which tree holds the list of discarded values. To be called once, when the database has
    /// been opened.
    pub fn set_discarded_values(&self, tree: BTree) {
        let _ = self.discards().values.set(DiscardedValues::new(tree));
    }

    /// The list of discarded values.
    pub fn discarded_values(&self) -> Option<&DiscardedValues> {
        self.discards().values.get()
    }

    /// Frees discarded values as far as snapshots allow; returns how many pages.
    ///
    /// # Errors
    /// The database is not online; damaged pages, I/O, the log's errors. The rest is freed by a
    /// later call.
    pub fn free_discarded(&self) -> Result<u64, TxnError> {
        let discards = self.discards();
        let Some(values) = discards.values.get() else { return Ok(0) };
        let _turn = discards.turn.lock();
        let visible = self.txns().oldest_xmin();
        if discards.oldest.load(Ordering::Acquire) >= visible.0 {
            return Ok(0);
        }
        // Before the walk: an entry that it misses was added after this and lowers the mark again.
        discards.oldest.store(NOTHING, Ordering::SeqCst);
        let freed = self.free_visible(values, visible);
        if freed.is_err() {
            discards.oldest.store(0, Ordering::Release);
        }
        freed
    }

    fn free_visible(&self, values: &DiscardedValues, visible: TxnId) -> Result<u64, TxnError> {
        let (mut scan, mut some, mut freed) = (values.scan(), Vec::new(), 0);
        while scan.next(&mut some)? {
            for entry in &some {
                self.check_online()?;
                if entry.txn < visible {
                    freed += self.free_value(values, entry)?;
                } else {
                    self.discards().oldest.fetch_min(entry.txn.0, Ordering::AcqRel);
                }
            }
        }
        Ok(freed)
    }

    fn free_value(
        &self,
        values: &DiscardedValues,
        entry: &DiscardedValue,
    ) -> Result<u64, TxnError> {
        let _work = self.background_work();
        // The table of units stays locked, so that the unit's extents are not freed under this.
        let units = self.open_units();
        let unit = match units.open.get(&entry.unit) {
            Some(unit) => Some(unit.clone()),
            None if units.freed.contains(&entry.unit) => None,
            None => self.find_space(entry.unit, entry.first_iam)?,
        };
        Ok(values.free(entry, unit)?)
    }

    /// The unit, if it still is what it was when its value was discarded.
    fn find_space(&self, id: UnitId, first_iam: PageId) -> Result<Option<Unit>, TxnError> {
        let unit = match self.store().open_unit(first_iam) {
            Ok(unit) => unit,
            // Its extents were given back before the database was opened, and hold something else
            // or nothing now.
            Err(e) if e.is_damage() => return Ok(None),
            Err(PageError::Corrupt { .. } | PageError::NoSuchPage { .. }) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        Ok((unit.id() == id).then_some(unit))
    }
}

impl Txn {
    /// The last row version that names this value is gone if the transaction commits: its pages are
    /// freed once no snapshot can need them.
    ///
    /// # Errors
    /// The value was discarded before; no space; the log's errors.
    pub fn discard(&mut self, space: &LobSpace, value: LobPointer) -> Result<(), TxnError> {
        let db = self.database().clone();
        let Some(values) = db.discarded_values() else {
            let what = "the database has no list of discarded values";
            return Err(AccessError::Lob { page: value.first, what }.into());
        };
        values.add(self, space, value)?;
        // Behind the entry: a walk that does not find it any more must find the mark.
        db.discards().oldest.fetch_min(self.id().0, Ordering::SeqCst);
        Ok(())
    }
}
