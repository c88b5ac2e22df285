//! Read-ahead of a range scan: the leaves to come are taken from the parents' lists of children,
//! wherever they lie, and asked for in the background. So a scan of an index whose leaves are
//! scattered has as many reads in flight as one of neighbours.
//!
//! Guarantees: what is wrong here costs time, never rows: the scan finds its leaves itself and
//! reports what cannot be read. A scan of a few leaves asks for a few. Nothing beyond the scan's
//! range is asked for.

use super::BTree;
use super::cursor::Direction;
use super::descend::{Fence, LeafTarget};
use super::node::{check_node, inner_entry};
use crate::error::AccessError;
use pages::{PageId, PageRef};
use std::collections::VecDeque;
use std::ops::Bound;

/// Leaves that a long scan is ahead of itself, and how many are asked for at a time.
const AHEAD: usize = 256;
const STEP: usize = 64;

/// The leaves that a scan will come to.
#[derive(Debug)]
pub(super) struct LeafAhead {
    direction: Direction,
    /// Nearest first; the first `asked` of them have been asked for.
    leaves: VecDeque<PageId>,
    asked: usize,
    /// Where the leaves go on behind the last of the list. None before the first list.
    beyond: Option<Fence>,
    /// The range ends within the list.
    whole: bool,
    /// Leaves that the scan has read.
    seen: u32,
}

impl LeafAhead {
    pub fn new(direction: Direction) -> LeafAhead {
        LeafAhead {
            direction,
            leaves: VecDeque::new(),
            asked: 0,
            beyond: None,
            whole: false,
            seen: 0,
        }
    }

    /// The scan has come to a leaf otherwise than from its neighbour: the list may be of another
    /// place.
    pub fn lost(&mut self) {
        self.leaves.clear();
        (self.asked, self.beyond, self.whole) = (0, None, false);
    }

    /// The scan has read a leaf, and what is left of its range lies between these bounds.
    pub fn read_one(&mut self, tree: &BTree, lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) {
        self.seen += 1;
        self.asked = self.asked.saturating_sub(usize::from(self.leaves.pop_front().is_some()));
        // Twice as many with each leaf, so that short scans read little that they do not need.
        let window = AHEAD.min(4 << self.seen.min(6));
        if self.seen < 2 || self.asked + STEP.min(window / 2) > window {
            return;
        }
        while self.leaves.len() < window && !self.whole {
            // A damaged inner page is met by the scan itself.
            if self.extend(tree, lower, upper).is_err() {
                self.whole = true;
            }
        }
        let to = window.min(self.leaves.len());
        let leaves = self.leaves.make_contiguous();
        for part in leaves[self.asked.min(to)..to].chunks(STEP) {
            tree.space.store.read_ahead(part);
        }
        self.asked = to;
    }

    /// Adds the leaves of one more parent.
    fn extend(
        &mut self,
        tree: &BTree,
        lower: &Bound<Vec<u8>>,
        upper: &Bound<Vec<u8>>,
    ) -> Result<(), AccessError> {
        let first = self.beyond.is_none();
        let fence = self.beyond.take().unwrap_or_default();
        let forward = self.direction == Direction::Forward;
        let target = match (fence.get(), forward) {
            (Some(key), true) => LeafTarget::Key(key),
            (Some(key), false) => LeafTarget::Before(key),
            (None, true) => match lower {
                Bound::Unbounded => LeafTarget::First,
                Bound::Included(key) | Bound::Excluded(key) => LeafTarget::Key(key),
            },
            (None, false) => match upper {
                Bound::Unbounded => LeafTarget::Last,
                Bound::Included(key) => LeafTarget::Key(key),
                Bound::Excluded(key) => LeafTarget::Before(key),
            },
        };
        let end = match if forward { upper } else { lower } {
            Bound::Unbounded => None,
            Bound::Included(key) | Bound::Excluded(key) => Some(&key[..]),
        };
        let before = self.leaves.len();
        let mut beyond = Fence::default();
        let inside =
            tree.leaves_beside(target, self.direction, end, &mut self.leaves, &mut beyond)?;
        if first && forward && self.leaves.len() > before {
            // The leaf that the scan has just read: its last key is where the range goes on.
            self.leaves.remove(before);
        }
        self.whole = !inside || beyond.get().is_none();
        self.beyond = Some(beyond);
        Ok(())
    }
}

impl BTree {
    /// Asks for the leaves of entries that are about to be fetched, whose keys come in their order;
    /// how many of the leaves are not in memory.
    ///
    /// # Errors
    /// A damaged node, I/O.
    pub fn ask_for<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Result<usize, AccessError> {
        let mut leaves: Vec<PageId> = Vec::new();
        let mut beyond = Fence::default();
        let mut parent = None;
        for key in keys {
            if parent.is_none() || beyond.get().is_some_and(|end| key >= end) {
                // Its latch goes before the way down begins again.
                drop(parent.take());
                parent = self.parent_of(key, &mut beyond)?;
            }
            // A tree of one leaf.
            let Some(page) = &parent else { return Ok(0) };
            let (leaf, _) = inner_entry(page, Self::slot_of(page, LeafTarget::Key(key))?)?;
            if leaves.last() != Some(&leaf) {
                leaves.push(leaf);
            }
        }
        drop(parent);
        Ok(self.space.store.read_missing(&leaves))
    }

    /// The node above the leaf of a key, and in `beyond` the key with which the next such node
    /// begins; none where the root is a leaf.
    fn parent_of(
        &self,
        key: &[u8],
        beyond: &mut Fence,
    ) -> Result<Option<PageRef<'_>>, AccessError> {
        beyond.set(None);
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        if page.level() == 0 {
            return Ok(None);
        }
        while page.level() > 1 {
            let slot = Self::slot_of(&page, LeafTarget::Key(key))?;
            if slot + 1 < page.slot_count() {
                beyond.set(Some(inner_entry(&page, slot + 1)?.1));
            }
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        Ok(Some(page))
    }

    /// Appends the leaf for `target` and those beside it, in the direction, below the same parent
    /// and not beyond `end`. `beyond` is the separator at which the next parent's leaves begin
    /// (forward) or before which they end, none at the tree's end. False when the list was cut at
    /// `end`.
    fn leaves_beside(
        &self,
        target: LeafTarget<'_>,
        direction: Direction,
        end: Option<&[u8]>,
        leaves: &mut VecDeque<PageId>,
        beyond: &mut Fence,
    ) -> Result<bool, AccessError> {
        let forward = direction == Direction::Forward;
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        while page.level() > 1 {
            let slot = Self::slot_of(&page, target)?;
            if forward && slot + 1 < page.slot_count() {
                beyond.set(Some(inner_entry(&page, slot + 1)?.1));
            } else if !forward && slot > 0 {
                beyond.set(Some(inner_entry(&page, slot)?.1));
            }
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        if page.level() == 0 {
            return Ok(true);
        }
        let at = Self::slot_of(&page, target)?;
        if forward {
            for slot in at..page.slot_count() {
                let (leaf, low) = inner_entry(&page, slot)?;
                if slot > at && end.is_some_and(|end| low > end) {
                    return Ok(false);
                }
                leaves.push_back(leaf);
            }
        } else {
            for slot in (0..=at).rev() {
                let (leaf, low) = inner_entry(&page, slot)?;
                leaves.push_back(leaf);
                if slot > 0 && end.is_some_and(|end| low < end) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
