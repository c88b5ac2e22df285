//! Entries that somebody fetches by their keys one after another: each is looked for beside the one
//! before it, and the way down from the root is taken for few of them.
//!
//! What is remembered is a copy of the node right above the leaves that the ways down came by, with
//! the separators around it. The next key that lies between them leads by the copy to its leaf:
//! from the child of the key before it on, so that keys in ascending order find theirs at one of
//! the first looks. A node is copied when a second way comes by it, so that keys which lie far
//! apart cost no copies, and so that few keys cost none the first ways are not counted; who fetches
//! many in no order may keep several nodes.
//!
//! Guarantee: the answer is that of [`BTree::fetch`], whatever happens to the tree meanwhile. A
//! copy says only where to look first. No latch is held between two keys, nor is a page's version
//! relied on: the leaf it leads to is latched, and counts if it is a leaf of the tree *then* and
//! has the key, or keys on both sides of it. A change of the tree's shape (split, merge, a node
//! that leaves or a page that comes back elsewhere) is one log record under the exclusive latches
//! of all its pages, so at the moment of the look the tree is whole, its keys are in one order, and
//! a key has one place in it: where it is, or between its neighbours. If the leaf was split and the
//! key has gone to the new one, it is above all keys that are left, and the leaf does not count; if
//! the page was freed it names no root; if it was taken again for another place of the tree, the
//! key is not there and not between keys that are. In each case the copy is forgotten and the way
//! down is taken. A key that is in no leaf, and would be the first or the last of one, takes the
//! way down always. No read of a page and no wait comes of a copy.

use super::BTree;
use super::descend::{DescentRoute, Fence, LeafTarget};
use super::node::{check_node, inner_entry};
use super::search::{Between, child_between, child_from, lower_bound_between};
use super::ways::FoundEntry;
use crate::batch::RowBatch;
use crate::error::AccessError;
use crate::snapshot::ReadMode;
use pages::{Page, PageId, PageRef, PageTrace};

/// So many ways down are taken before a node is remembered: few entries cost no more than each by
/// itself.
const FEW: u64 = 8;

/// A node right above leaves, as it was when a way down came by it.
#[derive(Debug)]
struct NodeAbove {
    page: Box<Page>,
    /// The separators around it.
    low: Fence,
    high: Fence,
    /// The child by which the last key was looked for.
    slot: u16,
}

impl NodeAbove {
    /// Whether a key is below one of its children.
    #[inline]
    fn spans(&self, key: &[u8]) -> bool {
        self.low.get().is_none_or(|low| low <= key) && self.high.get().is_none_or(|high| key < high)
    }

    /// The leaf of a key, and what is known of where in it the key is.
    #[inline]
    fn leaf(&mut self, key: &[u8]) -> Option<(PageId, Between)> {
        let mut between = Between::default();
        // A damaged node is met, and named, on the way down.
        self.slot = child_from(&self.page, self.slot, key, &mut between).ok()?;
        Some((inner_entry(&self.page, self.slot).ok()?.0, between))
    }
}

/// Where the entries are that somebody has fetched from one tree. Of another tree it costs time,
/// and changes no answer.
#[derive(Debug)]
pub struct Beside {
    nodes: Vec<NodeAbove>,
    /// The one that the last key was below.
    at: usize,
    /// Most of them.
    most: usize,
    /// The nodes that the last ways down came by which are not copied.
    met: Vec<PageId>,
    /// Which of them is replaced next.
    next: usize,
    /// The separators around the node that the way down has come to.
    route: DescentRoute,
    descents: u64,
}

impl Default for Beside {
    /// Knows nothing yet, and keeps one node: for keys in ascending order.
    fn default() -> Beside {
        Beside {
            nodes: Vec::new(),
            at: 0,
            most: 1,
            met: Vec::new(),
            next: 0,
            route: DescentRoute::default(),
            descents: 0,
        }
    }
}

impl Beside {
    /// Keeps so many nodes from now on, of [`pages::PAGE_SIZE`] bytes each: for keys in no order.
    pub fn keep(&mut self, nodes: usize) {
        self.most = self.most.max(nodes);
    }

    /// How many ways from the root to a leaf were taken.
    #[must_use]
    pub fn descents(&self) -> u64 {
        self.descents
    }

    #[inline]
    fn leaf(&mut self, key: &[u8]) -> Option<(PageId, Between)> {
        if !self.nodes.get(self.at)?.spans(key) {
            self.at = self.nodes.iter().position(|node| node.spans(key))?;
        }
        self.nodes.get_mut(self.at)?.leaf(key)
    }

    /// The leaf that the last node has named is not that of the key.
    #[cold]
    fn forget(&mut self) {
        if self.at < self.nodes.len() {
            self.nodes.swap_remove(self.at);
        }
        self.at = 0;
    }

    /// A way down has come by this node, whose separators are in `route`.
    fn came_by(&mut self, node: &Page) {
        let id = node.id();
        if let Some(at) = self.nodes.iter().position(|known| known.page.id() == id) {
            self.at = at;
        } else if self.met.contains(&id) {
            self.add(node);
        } else {
            self.meet(id);
            return;
        }
        let Some(known) = self.nodes.get_mut(self.at) else { return };
        if known.page.lsn() != node.lsn() {
            (known.page, known.slot) = (Page::from_bytes(node.bytes()), 0);
        }
        known.low.set(self.route.low.get());
        known.high.set(self.route.high.get());
    }

    /// A way down has come by a node for the first time of late.
    fn meet(&mut self, node: PageId) {
        if self.met.len() < self.most {
            self.met.push(node);
        } else {
            self.next = (self.next + 1) % self.met.len();
            self.met[self.next] = node;
        }
    }

    fn add(&mut self, node: &Page) {
        let page = Page::from_bytes(node.bytes());
        let new = NodeAbove { page, low: Fence::default(), high: Fence::default(), slot: 0 };
        if self.nodes.len() < self.most {
            self.at = self.nodes.len();
            self.nodes.push(new);
        } else {
            self.at = (self.at + 1) % self.nodes.len();
            self.nodes[self.at] = new;
        }
    }
}

impl BTree {
    /// As [`BTree::fetch`], for one who fetches many entries: `beside` knows where the ones before
    /// were.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn fetch_beside(
        &self,
        beside: &mut Beside,
        key: &[u8],
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        let place = self.place_beside(beside, key)?;
        self.copy_found(place, key, mode, batch)
    }

    /// The place of a key, under a shared latch of its leaf.
    fn place_beside(
        &self,
        beside: &mut Beside,
        key: &[u8],
    ) -> Result<FoundEntry<PageRef<'_>>, AccessError> {
        if PageTrace::is_on() {
            // A lookup has as many pages as the tree has levels.
            return self.place_to_read(key);
        }
        self.space.store.check_online()?;
        if let Some((leaf, between)) = beside.leaf(key)
            && let Some(leaf) = self.space.store.try_read(leaf)
        {
            if let Some(found) = self.judge(leaf, key, between) {
                return Ok(found);
            }
            beside.forget();
        }
        match self.place_remembered(key)? {
            Some(found) => Ok(found),
            None => self.descend_beside(beside, key),
        }
    }

    /// The same from the root, by a way that `beside` remembers.
    fn descend_beside(
        &self,
        beside: &mut Beside,
        key: &[u8],
    ) -> Result<FoundEntry<PageRef<'_>>, AccessError> {
        beside.descents += 1;
        if beside.descents <= FEW {
            let (leaf, between) = self.descend_read_between(LeafTarget::Key(key), None)?;
            let (slot, found) = lower_bound_between(&leaf, key, between)?;
            return Ok((leaf, slot, found));
        }
        beside.route.clear();
        let mut between = Between::default();
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        while page.level() > 0 {
            let slot = child_between(&page, key, &mut between)?;
            if page.level() == 1 {
                beside.came_by(&page);
            } else {
                beside.route.note(&page, slot)?;
            }
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        let (slot, found) = lower_bound_between(&page, key, between)?;
        Ok((page, slot, found))
    }
}
