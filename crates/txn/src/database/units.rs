//! The allocation units of a database that are open, and the making and freeing of units.

use super::Database;
use crate::error::TxnError;
use pages::{PageError, PageId, ReservedUnit, Unit, UnitId};
use parking_lot::RwLockReadGuard;
use std::collections::{HashMap, HashSet};

/// Allocation units by number.
#[derive(Default)]
pub(crate) struct Units {
    /// The open ones: ghost cleanup knows no more of a page than its unit's number.
    pub open: HashMap<UnitId, Unit>,
    /// Those whose extents were given back since the database was opened.
    pub freed: HashSet<UnitId>,
}

impl Database {
    /// Makes an allocation unit. Not undone by a rollback: the caller notes it where a restart finds it, or frees it.
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

    /// Gives a unit's extents back; may be called again after a crash. Nobody may use the unit any more.
    pub fn free_unit(&self, id: UnitId, first_iam: PageId) -> Result<(), TxnError> {
        self.check_online()?;
        let mut units = self.units.write();
        units.open.remove(&id);
        units.freed.insert(id);
        drop(units);
        Ok(self.store.free_unit(id, first_iam)?)
    }
}
