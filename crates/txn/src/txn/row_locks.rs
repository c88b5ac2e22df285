//! Locks on single rows and gaps, for readers who ask for them: REPEATABLE READ, SERIALIZABLE,
//! UPDLOCK and the like.
//!
//! A writer's rows are locked by its id in them, so most transactions never come here. A
//! transaction that wants to keep others from changing a row that it only reads announces itself
//! for the unit, locks the row in the lock manager, and reads the page then. A transaction that
//! changes a row asks, under the page's latch, whether the unit has lockers, and only then for
//! locks. Guarantee: of a locking reader and a writer of one row, one sees the other, whatever the
//! order.

use std::sync::atomic::Ordering;

use access::RowName;
use pages::UnitId;
use smallvec::SmallVec;

use super::Txn;
use crate::error::TxnError;
use crate::lockers::Lockers;
use crate::locks::{Grant, LockDuration, LockMode, LockTarget, Resource, WaitArgs};

/// Stands for the gap above the last key of an index.
const END: u64 = u64::MAX;

/// What a transaction has to do with row locks.
#[derive(Debug, Default)]
pub(crate) struct RowLocks {
    /// Units for which it has announced itself.
    units: SmallVec<[UnitId; 4]>,
    /// The lock that forbade its last change.
    obstacle: Option<(LockTarget, LockMode)>,
}

impl RowLocks {
    /// The transaction holds no row locks any more.
    pub fn forget(&mut self, lockers: &Lockers) {
        for unit in self.units.drain(..) {
            lockers.remove(unit);
        }
        // The next transaction in its place has not so many.
        self.units.shrink_to_fit();
        self.obstacle = None;
    }
}

impl LockTarget {
    /// The lock manager's name of a row.
    pub(crate) fn row(unit: UnitId, row: RowName<'_>) -> LockTarget {
        match row {
            RowName::Rid(rid) => LockTarget::Rid {
                unit: unit.0,
                file: rid.page.file,
                page: rid.page.page,
                slot: rid.slot,
            },
            RowName::Key(key) => {
                let hash = hash_of(key);
                LockTarget::Key { unit: unit.0, hash: if hash == END { 0 } else { hash } }
            }
            RowName::End => LockTarget::Key { unit: unit.0, hash: END },
        }
    }
}

/// Two keys with one hash share a lock: too much is locked then, never too little.
fn hash_of(key: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = crate::locks::FastHash::default();
    hasher.write(key);
    hasher.write_usize(key.len());
    hasher.finish()
}

impl Txn {
    /// Locks a row (S, U or X; range modes lock the gap below an index key as well) for at least as
    /// long as `until` says. The row must be read, or read again, after this. Without `wait`,
    /// [`Grant::Busy`] instead of waiting.
    ///
    /// # Errors
    /// Timeout, deadlock, cancellation.
    pub fn lock_row(
        &mut self,
        unit: UnitId,
        row: RowName<'_>,
        mode: LockMode,
        wait: bool,
        until: LockDuration,
    ) -> Result<Grant, TxnError> {
        if !self.rows.units.contains(&unit) {
            self.database().lockers().add(unit);
            self.rows.units.push(unit);
        }
        let r = self.row_resource(unit, row);
        let grant = self.locks.try_until(r, mode, until)?;
        if grant != Grant::Busy || !wait {
            return Ok(grant);
        }
        let before = self.locks.mode_of(&r);
        let args = self.wait_args();
        self.locks.lock_until(r, mode, args, until)?;
        Ok(if before.is_none() { Grant::New } else { Grant::Stronger })
    }

    /// Whether no other transaction has locked a row in a mode that forbids `mode`. Who reads a row
    /// that nobody is changing and asks this then knows what a lock for that moment would have
    /// told.
    pub fn row_is_free(&self, unit: UnitId, row: RowName<'_>, mode: LockMode) -> bool {
        let manager = self.locks.manager();
        !self.database().lockers().any(unit)
            || !manager.conflicts(self.locks.id(), self.row_resource(unit, row), mode)
    }

    /// A row that [`Txn::lock_row`] has locked stays locked to the end of the transaction.
    pub fn keep_row(&mut self, unit: UnitId, row: RowName<'_>) {
        let r = self.row_resource(unit, row);
        self.locks.held_until(&r, LockDuration::Transaction);
    }

    /// Gives a row back for which [`Txn::lock_row`] has said [`Grant::New`], unless another part of
    /// the statement has asked for it to stay in the meantime.
    pub fn unlock_row(&mut self, unit: UnitId, row: RowName<'_>) {
        let r = self.row_resource(unit, row);
        self.locks.unlock_taken(&r);
    }

    /// After [`access::Outcome::Locked`]: waits for the lock that forbade the change, and holds it
    /// for the statement.
    ///
    /// # Errors
    /// Timeout, deadlock, cancellation.
    pub fn wait_for_lock(&mut self) -> Result<(), TxnError> {
        let Some((what, mode)) = self.rows.obstacle.take() else { return Ok(()) };
        // The transaction that held it may have changed other rows and committed in the meantime.
        self.waited.store(true, Ordering::Relaxed);
        self.lock_statement(what, mode)
    }

    /// Waits until no other transaction has locked a row in a mode that forbids to change it, and
    /// keeps no lock of its own. For who is going to change it, and has touched nothing yet that
    /// those others may want.
    ///
    /// # Errors
    /// Timeout, deadlock, cancellation.
    pub fn wait_for_lockers(&mut self, unit: UnitId, row: RowName<'_>) -> Result<(), TxnError> {
        if self.row_is_free(unit, row, LockMode::X) {
            return Ok(());
        }
        // The transaction that held it may have changed other rows and committed in the meantime.
        self.waited.store(true, Ordering::Relaxed);
        let r = self.row_resource(unit, row);
        let before = self.locks.mode_of(&r);
        let args = self.wait_args();
        self.locks.lock_until(r, LockMode::X, args, LockDuration::GivenBack)?;
        if before.is_none() {
            self.locks.unlock_taken(&r);
        }
        Ok(())
    }

    fn row_resource(&self, unit: UnitId, row: RowName<'_>) -> Resource {
        Resource { db: self.database().id(), what: LockTarget::row(unit, row) }
    }

    /// Whether another transaction's lock forbids `mode`. Remembers it for [`Txn::wait_for_lock`].
    pub(crate) fn is_forbidden(&mut self, what: LockTarget, mode: LockMode) -> bool {
        let r = Resource { db: self.database().id(), what };
        let forbidden = self.locks.manager().conflicts(self.locks.id(), r, mode);
        if forbidden {
            self.rows.obstacle = Some((what, mode));
        }
        forbidden
    }

    /// A new key divides the gap below `next`. If the gap is this transaction's, both parts must
    /// stay so; false when the part below the new key cannot be had at once.
    pub(crate) fn inherits_gap(&mut self, next: LockTarget, key: LockTarget) -> bool {
        let db = self.database().id();
        let next = Resource { db, what: next };
        if !self.locks.mode_of(&next).is_some_and(LockMode::holds_gap) {
            return true;
        }
        let r = Resource { db, what: key };
        let args = WaitArgs { timeout_ms: 0, ..self.wait_args() };
        let locked = self.locks.lock(r, LockMode::RangeXX, args).is_ok();
        if !locked {
            self.rows.obstacle = Some((key, LockMode::RangeXX));
        }
        locked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_units_leave_no_room_behind() {
        let (lockers, mut rows) = (Lockers::default(), RowLocks::default());
        for n in 0..3000 {
            lockers.add(UnitId(n));
            rows.units.push(UnitId(n));
        }
        rows.forget(&lockers);
        assert!(!rows.units.spilled() && (0..3000).all(|n| !lockers.any(UnitId(n))));
    }
}
