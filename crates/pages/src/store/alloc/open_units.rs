//! The open allocation units of a store, by name and by number.
//! Guarantee: both ways lead to the same units, and finding one costs the same however many there
//! are.

use std::collections::HashMap;
use std::sync::Arc;

use super::unit::UnitInner;
use crate::id::{PageId, UnitId};

/// The open units.
#[derive(Default)]
pub(super) struct OpenUnits {
    by_name: HashMap<PageId, Arc<UnitInner>>,
    names: HashMap<UnitId, PageId>,
}

impl OpenUnits {
    /// The unit that an IAM page names.
    pub fn named(&self, name: PageId) -> Option<&Arc<UnitInner>> {
        self.by_name.get(&name)
    }

    /// The unit of a number.
    pub fn numbered(&self, id: UnitId) -> Option<&Arc<UnitInner>> {
        self.by_name.get(self.names.get(&id)?)
    }

    /// Adds a unit, or gives it another name. Whoever had the name is no longer there: its pages
    /// were freed.
    pub fn insert(&mut self, name: PageId, unit: Arc<UnitInner>) {
        self.remove(unit.id);
        let id = unit.id;
        if let Some(before) = self.by_name.insert(name, unit) {
            self.names.remove(&before.id);
        }
        self.names.insert(id, name);
        debug_assert_eq!(self.by_name.len(), self.names.len(), "each unit has one name");
    }

    /// Takes a unit out.
    pub fn remove(&mut self, id: UnitId) {
        if let Some(name) = self.names.remove(&id) {
            self.by_name.remove(&name);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }
}
