//! The allocation units of a database that are open, and the making and freeing of units.
//!
//! Guarantees: no background work begins in a unit that was dropped, whoever was opening it at that
//! time; what is remembered of dropped units goes when nobody can be opening them any more, so
//! their number costs nothing.

use super::Database;
use crate::error::TxnError;
use pages::{PageError, PageId, ReservedUnit, Unit, UnitId};
use parking_lot::RwLockReadGuard;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// Allocation units by number.
#[derive(Default)]
pub(crate) struct Units {
    /// The open ones: ghost cleanup knows no more of a page than its unit's number.
    pub open: HashMap<UnitId, Unit>,
    /// Dropped ones that somebody may be opening at the moment, or whose extents have not been
    /// given back yet.
    pub freed: HashSet<UnitId>,
    opening: OpeningUnits,
    /// Units whose extents were given back, with the newest who may have begun to open them before
    /// that.
    gone: VecDeque<(u64, UnitId)>,
}

/// Who is opening units at the moment, in the order in which they have begun.
#[derive(Default)]
struct OpeningUnits {
    next: u64,
    now: BTreeSet<u64>,
}

impl Units {
    fn begin_opening(&mut self) -> u64 {
        self.opening.next += 1;
        self.opening.now.insert(self.opening.next);
        self.opening.next
    }

    fn end_opening(&mut self, number: u64) {
        self.opening.now.remove(&number);
        self.forget_gone();
    }

    /// The unit's extents were given back: who begins to open it from now on finds no such unit.
    fn gone(&mut self, id: UnitId) {
        self.gone.push_back((self.opening.next, id));
        self.forget_gone();
    }

    fn forget_gone(&mut self) {
        let oldest = self.opening.now.first().copied().unwrap_or(u64::MAX);
        while let Some((newest, id)) =
            self.gone.front().copied().filter(|(newest, _)| *newest < oldest)
        {
            debug_assert!(newest < oldest);
            self.freed.remove(&id);
            self.gone.pop_front();
        }
    }
}

impl Database {
    /// Makes an allocation unit. Not undone by a rollback: the caller notes it where a restart
    /// finds it, or frees it.
    pub fn create_unit(&self, id: UnitId, filegroup: u16) -> Result<Unit, TxnError> {
        self.check_online()?;
        let unit = self.store.create_unit(id, filegroup)?;
        self.units.write().open.insert(id, unit.clone());
        Ok(unit)
    }

    /// Sets the first extent of a unit aside, so that the unit can be noted before it is made.
    pub fn reserve_unit(&self, filegroup: u16) -> Result<ReservedUnit<'_>, TxnError> {
        self.check_online()?;
        Ok(self.store.reserve_unit(filegroup)?)
    }

    /// Makes an allocation unit where an extent was set aside for it. Not undone by a rollback.
    pub fn make_unit(&self, id: UnitId, reserved: ReservedUnit<'_>) -> Result<Unit, TxnError> {
        self.check_online()?;
        let unit = self.store.make_unit(id, reserved)?;
        self.units.write().open.insert(id, unit.clone());
        Ok(unit)
    }

    /// Opens an allocation unit. Ghosts are cleaned only from units that were opened here.
    pub fn open_unit(&self, first_iam: PageId) -> Result<Unit, TxnError> {
        let number = self.units.write().begin_opening();
        let opened = self.open_unit_unless_freed(first_iam);
        self.units.write().end_opening(number);
        opened
    }

    fn open_unit_unless_freed(&self, first_iam: PageId) -> Result<Unit, TxnError> {
        let unit = self.store.open_unit(first_iam)?;
        let mut units = self.units.write();
        // Dropped while it was being opened: no background work may begin in it.
        if units.freed.contains(&unit.id()) {
            return Err(PageError::NoSuchPage { page: first_iam }.into());
        }
        units.open.insert(unit.id(), unit.clone());
        drop(units);
        Ok(unit)
    }

    /// An open unit by its number.
    pub fn unit(&self, id: UnitId) -> Option<Unit> {
        self.units.read().open.get(&id).cloned()
    }

    pub(crate) fn open_units(&self) -> RwLockReadGuard<'_, Units> {
        self.units.read()
    }

    /// Gives a unit's extents back; may be called again after a crash. Nobody may use the unit any
    /// more.
    pub fn free_unit(&self, id: UnitId, first_iam: PageId) -> Result<(), TxnError> {
        self.check_online()?;
        let mut units = self.units.write();
        units.open.remove(&id);
        units.freed.insert(id);
        drop(units);
        self.store.free_unit(id, first_iam)?;
        self.units.write().gone(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_units_are_forgotten_when_nobody_can_be_opening_them() {
        let mut units = Units::default();
        let drop_one = |units: &mut Units, id: u32| {
            units.freed.insert(UnitId(id));
            units.gone(UnitId(id));
        };
        (0..1000).for_each(|id| drop_one(&mut units, id));
        assert!(units.freed.is_empty() && units.gone.is_empty());
        let old = units.begin_opening();
        drop_one(&mut units, 1);
        let young = units.begin_opening();
        drop_one(&mut units, 2);
        assert_eq!(units.freed.len(), 2, "somebody may be opening them");
        units.end_opening(old);
        assert_eq!(units.freed, HashSet::from([UnitId(2)]));
        units.end_opening(young);
        assert!(units.freed.is_empty() && units.gone.is_empty());
        // One that is dropped and whose extents are still to be given back.
        units.freed.insert(UnitId(3));
        let number = units.begin_opening();
        units.end_opening(number);
        assert_eq!(units.freed.len(), 1);
    }
}
