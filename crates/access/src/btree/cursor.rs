//! Range cursors: the rows of one leaf at a time, forward or backward, between bounds.
//!
//! No latch is held between two calls. A forward cursor remembers the next leaf and the last key it
//! passed; when the next leaf may no longer be the neighbour it was, it finds its place again by
//! key. That its left link names the page the cursor comes from is not enough: both pages may have
//! been freed and be neighbours elsewhere in the tree by now, so no page of the tree may have been
//! freed meanwhile. A backward cursor descends from the root, to the leaf below the lower fence of
//! the one it left. Either way each visible row comes exactly once, in key order.

use super::BTree;
use super::ahead::LeafAhead;
use super::descend::{DescentRoute, LeafTarget};
use super::node::{leaf_entry, leaf_key};
use super::search::{lower_bound, upper_bound};
use super::ways::FoundEntry;
use crate::batch::{RowBatch, RowRef, RowState};
use crate::error::{AccessError, corrupt};
use crate::snapshot::ReadMode;
use crate::visible::{all_visible, judge, resolve_batch, watches_writers};
use pages::{Lsn, PAGE_SIZE, Page, PageId, PageRef, ROW_HEADER, RowHeader};
use std::ops::Bound;

/// Which way a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

#[derive(Clone, Copy, Debug)]
enum CursorState {
    /// Find the place by the bound that moves along.
    Seek,
    /// The same, which leads to the leaf that was read last: there is more of the range on it.
    Rest,
    /// The right neighbour of the leaf that was read last.
    Next(Neighbour),
    End,
}

/// The leaf to the right of one that was read.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    page: PageId,
    from: PageId,
    /// The last change of `from` when it was read.
    lsn: Lsn,
    /// Of the tree's unit, when `from` was read.
    freed: u64,
}

/// The leaves that a search for the next rows went over before it came to the one that has them.
#[derive(Clone, Copy, Debug, Default)]
enum PassedLeaves {
    /// It began on that leaf.
    #[default]
    None,
    /// This one, and its last change when it was read.
    One(PageId, Lsn),
    Several,
}

impl PassedLeaves {
    fn and(self, neighbour: Neighbour) -> PassedLeaves {
        match self {
            PassedLeaves::None => PassedLeaves::One(neighbour.from, neighbour.lsn),
            _ => PassedLeaves::Several,
        }
    }
}

/// A scan over a range of an index. See the module's documentation.
#[derive(Debug)]
pub struct Cursor {
    tree: BTree,
    /// What is left of the range: one end moves along with the scan.
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    state: CursorState,
    /// Between the place where the last batch was looked for and its leaf.
    passed: PassedLeaves,
    route: DescentRoute,
    ahead: LeafAhead,
    /// Searches by key in a row that found no further row.
    misses: u32,
    /// Most slots that are read of a leaf at once.
    most: u16,
}

/// How many times as many slots are read of a leaf when those before were not enough.
const GROWTH: u16 = 8;

/// Searches by key that may find a leaf whose neighbour is changing at that moment; beyond, the
/// links are damaged.
const MISSES_MAX: u32 = 10_000;

impl Cursor {
    pub(super) fn new(
        tree: BTree,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Cursor {
        Cursor {
            tree,
            lower: lower.map(<[u8]>::to_vec),
            upper: upper.map(<[u8]>::to_vec),
            direction,
            state: CursorState::Seek,
            passed: PassedLeaves::None,
            route: DescentRoute::default(),
            ahead: LeafAhead::new(direction),
            misses: 0,
            most: u16::MAX,
        }
    }

    /// A few rows are probably all that is wanted: the next batches have no more slots than this,
    /// then more and more.
    #[must_use]
    pub fn beginning_with(mut self, few: u16) -> Cursor {
        self.at_most(few);
        self
    }

    /// The next batch has no more slots than this, those after it more and more.
    pub fn at_most(&mut self, few: u16) {
        self.most = few.max(1);
    }

    /// Whether the last batch would be the same if it were looked for again, where the batch before
    /// it ended: nothing has changed since, neither on its leaf nor on the one before
    /// ([`Cursor::came_as_read`]).
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn is_as_read(&self, batch: &RowBatch) -> Result<bool, AccessError> {
        Ok(self.came_as_read()? && self.tree.is_as_read(batch)?)
    }

    /// Whether the leaf that a forward scan came from to that of its last batch is as it was read.
    /// Rows before the first one of the batch would be there. False too where it is not known, and
    /// of a scan that goes backward.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn came_as_read(&self) -> Result<bool, AccessError> {
        match (self.direction, self.passed) {
            (Direction::Backward, _) | (_, PassedLeaves::Several) => Ok(false),
            (_, PassedLeaves::None) => Ok(true),
            (_, PassedLeaves::One(page, lsn)) => self.tree.space.is_unchanged(page, lsn),
        }
    }

    /// Fills `batch` with the rows of the next leaf that has visible rows in the range; false at
    /// the end.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn next_batch(
        &mut self,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        batch.clear();
        self.passed = PassedLeaves::None;
        while !matches!(self.state, CursorState::End) {
            match self.direction {
                Direction::Forward => self.leaf_forward(mode, batch)?,
                Direction::Backward => self.leaf_backward(mode, batch)?,
            }
            // A leaf counts once, however many times it is read.
            if !matches!(self.state, CursorState::Rest | CursorState::End) {
                self.ahead.read_one(&self.tree, &self.lower, &self.upper);
            }
            resolve_batch(&self.tree.space.store, batch, mode, true)?;
            batch.drop_gone();
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        batch.clear();
        Ok(false)
    }

    fn leaf_forward(
        &mut self,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<(), AccessError> {
        let (mut next, mut unreadable) = (None, None);
        if let CursorState::Next(neighbour) = self.state {
            match neighbour.read(&self.tree) {
                Ok(found) => {
                    if found.is_some() {
                        self.passed = self.passed.and(neighbour);
                    }
                    next = found;
                }
                // Perhaps it has left the tree meanwhile: then the search by key does not meet it.
                Err(e) => unreadable = Some((neighbour.from, neighbour.page, e)),
            }
        }
        let page = match next {
            Some(page) => page,
            None => {
                if !matches!(self.state, CursorState::Rest) {
                    self.ahead.lost();
                }
                self.passed = PassedLeaves::None;
                let leaf = seek(&self.tree, &self.lower, &mut self.route)?;
                if let Some((_, _, e)) =
                    unreadable.filter(|(from, page, _)| (leaf.id(), leaf.next()) == (*from, *page))
                {
                    return Err(e);
                }
                self.misses += 1;
                if self.misses > MISSES_MAX {
                    return Err(corrupt(
                        leaf.id(),
                        "the leaf's right neighbour does not lead back to it",
                    ));
                }
                leaf
            }
        };
        self.tree.space.store.note_ghosts(&page);
        let begin = first_slot(&page, &self.lower)?;
        let (rest, last) = end_slot(&page, begin, &self.upper)?;
        let end = begin + portion(&mut self.most, rest - begin);
        copy_rows(&page, begin, end, mode, batch)?;
        self.state = if end < rest {
            CursorState::Rest
        } else if last || page.next().is_none() {
            CursorState::End
        } else {
            let freed = self.tree.space.store.freed_count(self.tree.unit_id());
            CursorState::Next(Neighbour {
                page: page.next(),
                from: page.id(),
                lsn: page.lsn(),
                freed,
            })
        };
        if end > begin {
            let key = leaf_key(page.slot(end - 1)?)
                .ok_or_else(|| corrupt(page.id(), "index entry is cut short"))?;
            move_bound(&mut self.lower, key);
            self.misses = 0;
        }
        Ok(())
    }

    fn leaf_backward(
        &mut self,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<(), AccessError> {
        let target = match &self.upper {
            Bound::Unbounded => LeafTarget::Last,
            Bound::Included(k) => LeafTarget::Key(k),
            Bound::Excluded(k) => LeafTarget::Before(k),
        };
        let page = self.tree.descend_read(target, Some(&mut self.route))?;
        self.tree.space.store.note_ghosts(&page);
        let rest = first_slot(&page, &self.lower)?;
        let (end, _) = end_slot(&page, rest, &self.upper)?;
        let begin = end - portion(&mut self.most, end - rest);
        copy_rows(&page, begin, end, mode, batch)?;
        batch.reverse();
        self.state = CursorState::End;
        if begin > rest {
            let key = leaf_key(page.slot(begin)?)
                .ok_or_else(|| corrupt(page.id(), "index entry is cut short"))?;
            move_bound(&mut self.upper, key);
            self.state = CursorState::Rest;
        } else if begin == 0
            && let Some(low) = self.route.low.get()
        {
            move_bound(&mut self.upper, low);
            self.state = CursorState::Seek;
        }
        Ok(())
    }
}

/// How many slots of a leaf are read, of so many in the range; the next time it may be more.
fn portion(most: &mut u16, slots: u16) -> u16 {
    let portion = slots.min(*most);
    *most = most.saturating_mul(GROWTH);
    portion
}

/// The leaf where the rest of the range begins.
fn seek<'t>(
    tree: &'t BTree,
    lower: &Bound<Vec<u8>>,
    route: &mut DescentRoute,
) -> Result<PageRef<'t>, AccessError> {
    let target = match lower {
        Bound::Unbounded => LeafTarget::First,
        Bound::Included(k) | Bound::Excluded(k) => LeafTarget::Key(k),
    };
    tree.descend_read(target, Some(route))
}

impl Neighbour {
    /// The page if it still is the right neighbour of the leaf the cursor comes from.
    fn read<'t>(&self, tree: &'t BTree) -> Result<Option<PageRef<'t>>, AccessError> {
        let store = &tree.space.store;
        let next = store.read(self.page)?;
        let same = tree.is_own_leaf(&next) && next.prev() == self.from;
        Ok(Some(next).filter(|_| same && store.freed_count(tree.unit_id()) == self.freed))
    }
}

/// The range goes on beyond this key. Keeps the buffer.
fn move_bound(bound: &mut Bound<Vec<u8>>, key: &[u8]) {
    let mut buf = match std::mem::replace(bound, Bound::Unbounded) {
        Bound::Included(b) | Bound::Excluded(b) => b,
        Bound::Unbounded => Vec::new(),
    };
    buf.clear();
    buf.extend_from_slice(key);
    *bound = Bound::Excluded(buf);
}

fn first_slot(page: &Page, lower: &Bound<Vec<u8>>) -> Result<u16, AccessError> {
    if page.slot_count() == 0 {
        return Ok(0);
    }
    let first =
        leaf_key(page.slot(0)?).ok_or_else(|| corrupt(page.id(), "index entry is cut short"))?;
    match lower {
        Bound::Unbounded => Ok(0),
        // The usual case of a scan that came from the leaf to the left.
        Bound::Included(k) | Bound::Excluded(k) if first > k.as_slice() => Ok(0),
        Bound::Included(k) => Ok(lower_bound(page, k)?.0),
        Bound::Excluded(k) => upper_bound(page, k),
    }
}

/// Slot after the last one in the range, and whether the range ends on this leaf.
fn end_slot(page: &Page, begin: u16, upper: &Bound<Vec<u8>>) -> Result<(u16, bool), AccessError> {
    let count = page.slot_count();
    let end = match upper {
        Bound::Unbounded => count,
        Bound::Included(k) => upper_bound(page, k)?,
        Bound::Excluded(k) => lower_bound(page, k)?.0,
    };
    Ok((end.max(begin), end < count))
}

/// Copies the slots' rows into the batch as far as the page alone tells that they may be part of
/// the result.
pub(super) fn copy_rows(
    page: &Page,
    begin: u16,
    end: u16,
    mode: ReadMode<'_>,
    batch: &mut RowBatch,
) -> Result<(), AccessError> {
    batch.begin_page(page);
    if begin >= end {
        return Ok(());
    }
    let whole = usize::from(end - begin) * 3 > usize::from(page.slot_count());
    let base = page.bytes().as_ptr() as usize;
    if whole {
        batch.put(page.bytes());
    }
    let clean = all_visible(page, mode);
    let newest = watches_writers(page, mode, batch);
    for slot in begin..end {
        let content = page.slot(slot)?;
        let key_len =
            leaf_key(content).ok_or_else(|| corrupt(page.id(), "index entry is cut short"))?.len();
        if newest && let Some((header, _)) = RowHeader::split(content) {
            batch.writers.saw(header.txn);
        }
        let state = if clean {
            RowState::Live
        } else {
            let (header, _) = RowHeader::split(content).unwrap_or_default();
            judge(&header, mode)
        };
        if state == RowState::Gone {
            continue;
        }
        let head =
            if whole { (content.as_ptr() as usize - base) as u32 } else { batch.put(content) };
        let skip = (ROW_HEADER + 2 + key_len) as u32;
        debug_assert!(!whole || head as usize + content.len() <= PAGE_SIZE);
        batch.push(RowRef {
            head,
            at: head + skip,
            len: content.len() as u32 - skip,
            key_len: key_len as u16,
            slot,
            tail: 0,
            state,
        });
    }
    Ok(())
}

impl BTree {
    /// The version of the entry with this key that the reader sees, as the only row of `batch`;
    /// false if there is none.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn fetch(
        &self,
        key: &[u8],
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        let place = self.place_to_read(key)?;
        self.copy_found(place, key, mode, batch)
    }

    /// The reader's version of the entry at a place that was looked for.
    pub(super) fn copy_found(
        &self,
        (leaf, slot, found): FoundEntry<PageRef<'_>>,
        key: &[u8],
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        if !found {
            batch.clear();
            return Ok(false);
        }
        debug_assert!(leaf_entry(&leaf, slot).is_ok_and(|e| e.key == key));
        copy_rows(&leaf, slot, slot + 1, mode, batch)?;
        drop(leaf);
        resolve_batch(&self.space.store, batch, mode, true)?;
        batch.drop_gone();
        Ok(!batch.is_empty())
    }

    /// Whether no entry of the leaf that a batch was copied from has changed since.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn is_as_read(&self, batch: &RowBatch) -> Result<bool, AccessError> {
        self.space.is_as_read(batch)
    }

    /// A scan of the keys within the bounds.
    pub fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) -> Cursor {
        Cursor::new(self.clone(), lower, upper, direction)
    }
}
