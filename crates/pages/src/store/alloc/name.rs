//! How a unit is found: by an IAM page of its chain, which is its name, and by the root of the
//! B+tree in it. Both may move.
//!
//! The name is the first IAM page, except between the moment when another one is named and the
//! first one's leaving the chain; opening a unit goes back to the head of the chain. The root is
//! known as far as somebody has noted it.

use super::unit::{Unit, iam_of};
use crate::error::PageError;
use crate::id::{PageId, UnitId};
use crate::store::Store;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Unit {
    /// The IAM page that names it: the first of its chain, except for a moment when that is about
    /// to go.
    #[must_use]
    pub fn first_iam(&self) -> PageId {
        self.0.name.lock().0
    }

    /// Root of the B+tree in the unit; none if nobody has said.
    #[must_use]
    pub fn root(&self) -> PageId {
        self.0.name.lock().1
    }

    /// The root of the B+tree in the unit is here now.
    pub fn note_root(&self, root: PageId) {
        self.0.name.lock().1 = root;
    }

    /// Whether a transaction that has not ended is moving the root: its copy must not take the
    /// root's place yet.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.0.moving.load(Ordering::SeqCst)
    }

    /// A transaction that moves the root begins, or has ended.
    pub fn set_moving(&self, moving: bool) {
        self.0.moving.store(moving, Ordering::SeqCst);
    }
}

impl Store {
    /// Another IAM page of its chain is the unit's name from now on.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] when that is no IAM page of the unit.
    pub fn rename_unit(&self, unit: &Unit, name: PageId) -> Result<(), PageError> {
        iam_of(&*self.read(name)?, name, Some(unit.id()))?;
        let mut units = self.alloc.units.lock();
        units.insert(name, Arc::clone(&unit.0));
        unit.0.name.lock().0 = name;
        Ok(())
    }

    /// An IAM page of the unit that is past no bar; the unit gets another extent if there is none.
    ///
    /// # Errors
    /// [`PageError::FilegroupFull`]; log and I/O.
    pub fn open_iam(&self, unit: &Unit) -> Result<PageId, PageError> {
        let _turn = unit.0.turn.lock();
        for _ in 0..2 {
            if let Some(page) = unit.iam_pages().into_iter().find(|page| !self.is_barred(*page)) {
                return Ok(page);
            }
            self.extend_unit(unit)?;
        }
        Err(PageError::Invalid { what: "a new extent is barred" })
    }

    /// The first IAM page of the chain that this one is in.
    pub(super) fn chain_head(&self, unit: UnitId, name: PageId) -> Result<PageId, PageError> {
        let mut seen = HashSet::new();
        let mut at = name;
        loop {
            let page = self.read(at)?;
            iam_of(&page, at, Some(unit))?;
            if page.prev().is_none() {
                return Ok(at);
            }
            if !seen.insert(at) {
                return Err(PageError::corrupt(at, "the IAM chain runs in a circle"));
            }
            at = page.prev();
        }
    }
}
