//! The way from the root to a leaf: shared latches down, coupled, and an exclusive one on the leaf
//! that is to change.
//!
//! Latch order is top-down and, on one level, left to right. A child's latch is taken before its
//! parent's is given up, so that a page cannot be unlinked between the look at the parent and the
//! look at the page.

use super::BTree;
use super::node::{check_node, inner_entry};
use super::search::{Between, child_before, child_between};
use crate::error::{AccessError, corrupt};
use pages::{Page, PageMut, PageRef};

/// Which leaf a descent looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeafTarget<'a> {
    First,
    Last,
    /// The leaf where the key is or would be.
    Key(&'a [u8]),
    /// The leaf that holds the largest keys below this one.
    Before(&'a [u8]),
}

/// A separator met on the way down, or none: infinity.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    key: Vec<u8>,
    finite: bool,
}

impl Fence {
    pub(crate) fn get(&self) -> Option<&[u8]> {
        self.finite.then_some(self.key.as_slice())
    }

    pub(crate) fn set(&mut self, key: Option<&[u8]>) {
        self.finite = key.is_some();
        self.key.clear();
        self.key.extend_from_slice(key.unwrap_or_default());
    }
}

/// What a descent learns on its way.
#[derive(Debug, Default)]
pub(crate) struct DescentRoute {
    /// The leaf's keys are `>= low` ...
    pub low: Fence,
    /// ... and `< high`.
    pub high: Fence,
}

impl DescentRoute {
    pub(crate) fn clear(&mut self) {
        self.low.set(None);
        self.high.set(None);
    }

    pub(super) fn note(&mut self, page: &Page, slot: u16) -> Result<(), AccessError> {
        if slot > 0 {
            self.low.set(Some(inner_entry(page, slot)?.1));
        }
        if slot + 1 < page.slot_count() {
            self.high.set(Some(inner_entry(page, slot + 1)?.1));
        }
        Ok(())
    }
}

impl BTree {
    pub(crate) fn slot_of(page: &Page, target: LeafTarget<'_>) -> Result<u16, AccessError> {
        Self::slot_between(page, target, &mut Between::default())
    }

    /// The slot by which the way goes on; `between` learns where the key is.
    #[inline]
    fn slot_between(
        page: &Page,
        target: LeafTarget<'_>,
        between: &mut Between,
    ) -> Result<u16, AccessError> {
        match target {
            LeafTarget::First => Ok(0),
            LeafTarget::Last => Ok(page.slot_count().saturating_sub(1)),
            LeafTarget::Key(key) => child_between(page, key, between),
            LeafTarget::Before(key) => child_before(page, key),
        }
    }

    /// The leaf, with a shared latch.
    pub(crate) fn descend_read(
        &self,
        target: LeafTarget<'_>,
        route: Option<&mut DescentRoute>,
    ) -> Result<PageRef<'_>, AccessError> {
        Ok(self.descend_read_between(target, route)?.0)
    }

    /// As [`BTree::descend_read`], with a hint for the search in the leaf.
    pub(crate) fn descend_read_between(
        &self,
        target: LeafTarget<'_>,
        mut route: Option<&mut DescentRoute>,
    ) -> Result<(PageRef<'_>, Between), AccessError> {
        let mut between = Between::default();
        if let Some(r) = route.as_deref_mut() {
            r.clear();
        }
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        while page.level() > 0 {
            let slot = Self::slot_between(&page, target, &mut between)?;
            if let Some(r) = route.as_deref_mut() {
                r.note(&page, slot)?;
            }
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        Ok((page, between))
    }

    /// The leaf for `key`, with an exclusive latch. `high` gets the upper fence of the leaf if
    /// wanted.
    pub(crate) fn descend_write(
        &self,
        key: &[u8],
        route: Option<&mut DescentRoute>,
    ) -> Result<PageMut<'_>, AccessError> {
        Ok(self.descend_write_between(key, route)?.0)
    }

    /// As [`BTree::descend_write`], with a hint for the search in the leaf.
    pub(crate) fn descend_write_between(
        &self,
        key: &[u8],
        mut route: Option<&mut DescentRoute>,
    ) -> Result<(PageMut<'_>, Between), AccessError> {
        loop {
            let mut between = Between::default();
            if let Some(r) = route.as_deref_mut() {
                r.clear();
            }
            let mut page = self.space.store.read(self.root)?;
            check_node(&page, self.unit_id())?;
            if page.level() == 0 {
                drop(page);
                let leaf = self.space.store.write(self.root)?;
                check_node(&leaf, self.unit_id())?;
                if leaf.level() == 0 {
                    return Ok((leaf, between));
                }
                // The root was split while its latch was changed.
                continue;
            }
            loop {
                let slot = child_between(&page, key, &mut between)?;
                if let Some(r) = route.as_deref_mut() {
                    r.note(&page, slot)?;
                }
                let id = inner_entry(&page, slot)?.0;
                if page.level() == 1 {
                    let leaf = self.space.store.write(id)?;
                    self.check_child(&page, &leaf)?;
                    return Ok((leaf, between));
                }
                let child = self.space.store.read(id)?;
                self.check_child(&page, &child)?;
                page = child;
            }
        }
    }

    pub(crate) fn check_child(&self, parent: &Page, child: &Page) -> Result<(), AccessError> {
        check_node(child, self.unit_id())?;
        if child.level() + 1 != parent.level() {
            return Err(corrupt(child.id(), "index page is on another level than its parent says"));
        }
        Ok(())
    }

    /// Whether a page reached by a remembered id is still a leaf of this tree.
    pub(crate) fn is_own_leaf(&self, page: &Page) -> bool {
        check_node(page, self.unit_id()).is_ok() && page.level() == 0
    }
}
