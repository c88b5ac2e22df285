//! The way to a leaf without the way down: each thread remembers the separators of inner nodes
//! right above leaves, so that the next key that is looked for by itself leads to its leaf at once.
//! The root and what lies between are then not latched, which sessions would meet at. Guarantees:
//! what is remembered is only where to look first. The leaf counts if it is a leaf of the tree now,
//! and has the key or keys on both sides of it: a key has one place in a tree. Else the way down is
//! taken. No read of a page and no wait comes of a guess. Where pages that are asked for are
//! counted, no guess is made: a seek has as many as the tree has levels. What a thread keeps is
//! bounded, whatever trees it visits; a tree whose nodes change, or are too many, costs a few
//! instructions.

use super::BTree;
use super::descend::LeafTarget;
use super::insert::at_end;
use super::node::{check_node, inner_entry};
use super::search::{
    Between, child_between, has_key, head_of, inner_head, likely_slot, lower_bound_between,
};
use crate::error::AccessError;
use pages::{Page, PageId, PageMut, PageRef, PageTrace, UnitId};
use std::cell::RefCell;
use std::ops::Deref;

/// Trees that a thread remembers.
const TREES: usize = 8;
/// Most leaves of a node that are remembered.
const LEAVES: usize = 512;
/// Keys that are looked for in vain before a node is learned; one more for so many of its leaves.
const PATIENCE: u32 = 4;
const LEAVES_PER_MISS: u32 = 4;
/// The same where there was nothing to learn, and at most where what was learned was no good.
const NOTHING: u32 = 1 << 10;
const LONGEST: u32 = 1 << 16;
/// Of [`AHEAD`] keys that are looked for ahead, [`ASTRAY`] may turn out to be elsewhere; then the
/// rest of the [`AHEAD`] is not looked for.
const AHEAD: u32 = 1 << 10;
const ASTRAY: u32 = 1 << 5;

/// A node above leaves: its separators as numbers, ascending, and its leaves.
struct RememberedNode {
    store: u16,
    unit: UnitId,
    root: PageId,
    /// What the first leaf's keys are not below, then the separators.
    heads: Vec<u64>,
    leaves: Vec<PageId>,
    /// What the last leaf's keys are not above.
    high: Option<u64>,
    hits: u32,
    misses: u32,
    /// Misses after which it is learned again.
    patience: u32,
    /// Keys whose entries were looked for ahead, of the last [`AHEAD`], and how many of them were
    /// elsewhere.
    ahead: u32,
    astray: u32,
    /// Where the last entry went that was added at the end of the tree; not forgotten with the
    /// node.
    last: PageId,
    /// The number of its key: smaller ones do not go there.
    last_head: u64,
}

/// Where a key may be.
struct LeafGuess {
    leaf: PageId,
    between: Between,
}

/// Where an entry is expected. Only where to look first: it may be elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedEntry {
    leaf: PageId,
    slot: u16,
}

#[derive(Default)]
struct RememberedWays {
    list: Vec<RememberedNode>,
    /// Whose place the next one takes.
    next: usize,
}

thread_local! {
    static WAYS: RefCell<RememberedWays> = const { RefCell::new(RememberedWays { list: Vec::new(), next: 0 }) };
}

impl RememberedWays {
    #[inline]
    fn of(&mut self, tree: &BTree) -> Option<&mut RememberedNode> {
        self.list.iter_mut().find(|way| way.is_of(tree))
    }

    #[cold]
    fn add(&mut self, tree: &BTree) {
        let place = match self.list.len() < TREES {
            true => {
                self.list.push(RememberedNode::new());
                self.list.len() - 1
            }
            false => {
                self.next = (self.next + 1) % TREES;
                self.next
            }
        };
        let way = &mut self.list[place];
        (way.store, way.unit, way.root) = (tree.space.store.number(), tree.unit_id(), tree.root);
        way.last = PageId::NONE;
        way.forget(PATIENCE);
    }
}

impl RememberedNode {
    fn new() -> RememberedNode {
        RememberedNode {
            store: 0,
            unit: UnitId(0),
            root: PageId::NONE,
            heads: Vec::new(),
            leaves: Vec::new(),
            high: None,
            hits: 0,
            misses: 0,
            patience: PATIENCE,
            ahead: 0,
            astray: 0,
            last: PageId::NONE,
            last_head: 0,
        }
    }

    #[inline]
    fn is_of(&self, tree: &BTree) -> bool {
        self.root == tree.root
            && self.unit == tree.unit_id()
            && self.store == tree.space.store.number()
    }

    fn forget(&mut self, patience: u32) {
        self.heads.clear();
        self.leaves.clear();
        self.high = None;
        (self.hits, self.misses, self.patience) = (0, 0, patience);
        (self.ahead, self.astray) = (0, 0);
    }

    /// Where a key may be. Counted as a hit until [`RememberedNode::missed`].
    #[inline]
    fn guess(&mut self, key: &[u8]) -> Option<LeafGuess> {
        let wanted = head_of(key);
        let at = self.likely_leaf(wanted).unwrap_or_else(|| self.leaf_of(wanted));
        let (low, leaf) = (*self.heads.get(at)?, *self.leaves.get(at)?);
        let high = self.heads.get(at + 1).copied().or(self.high);
        if wanted < low || high.is_some_and(|high| wanted > high) {
            return None;
        }
        self.hits = self.hits.wrapping_add(1);
        Some(LeafGuess { leaf, between: Between::of(low, high) })
    }

    /// The leaf of a number if the leaves' keys are spread evenly, as those of ascending numbers
    /// are.
    #[inline]
    fn likely_leaf(&self, wanted: u64) -> Option<usize> {
        let (least, most) = (*self.heads.first()?, *self.heads.last()?);
        let last = self.heads.len() - 1;
        let range = most.checked_sub(least)?;
        let offset = wanted.checked_sub(least)?.min(range);
        // There are less than 1,024 leaves: after the shift the product fits.
        let shift = if range >> 54 == 0 { 0 } else { 10 };
        let at = ((offset >> shift) * last as u64).checked_div(range >> shift)? as usize;
        let begins = |at: usize| self.heads.get(at).is_some_and(|head| *head <= wanted);
        // It, or the one beside it.
        let at = if !begins(at) { at.checked_sub(1)? } else { at + usize::from(begins(at + 1)) };
        (begins(at) && !begins(at + 1)).then_some(at)
    }

    /// The leaf of a number: the last one whose keys are not above it. The standard library's
    /// search does not branch on what is compared: where a key is cannot be foretold.
    #[inline]
    fn leaf_of(&self, wanted: u64) -> usize {
        self.heads.partition_point(|head| *head <= wanted).saturating_sub(1)
    }

    /// Where a key may be, unless too many were elsewhere of late.
    #[inline]
    fn guess_ahead(&mut self, key: &[u8]) -> Option<LeafGuess> {
        self.ahead += 1;
        if self.ahead == AHEAD {
            (self.ahead, self.astray) = (0, 0);
        }
        if self.astray < ASTRAY { self.guess(key) } else { None }
    }

    /// The way down had to be taken, after a guess or without one; whether the node on it is to be
    /// learned.
    #[inline]
    fn missed(&mut self, guessed: bool) -> bool {
        self.hits = self.hits.wrapping_sub(u32::from(guessed));
        self.misses += 1;
        self.misses > self.patience
    }

    /// Learns a node above leaves, which the keys between two separators are below.
    fn learn(&mut self, node: &Page, around: Between) {
        // Of no use so far: the node is one of many, or changes all the time.
        let futile = !self.heads.is_empty() && self.hits < self.misses;
        let patience = if futile { (self.patience * 2).min(LONGEST) } else { PATIENCE };
        let count = node.slot_count();
        if usize::from(count) > LEAVES || node.level() != 1 {
            return self.forget(patience.max(NOTHING));
        }
        self.forget(patience.max(PATIENCE + u32::from(count) / LEAVES_PER_MISS));
        for slot in 0..count {
            let head =
                if slot == 0 { Some(around.low().unwrap_or(0)) } else { inner_head(node, slot) };
            let (Some(head), Ok((leaf, _))) = (head, inner_entry(node, slot)) else {
                return self.forget(NOTHING);
            };
            self.heads.push(head);
            self.leaves.push(leaf);
        }
        self.high = around.high();
    }
}

/// A leaf under a latch, the first slot in it whose key is not below the one that was looked for,
/// and whether it is that.
pub(super) type FoundEntry<P> = (P, u16, bool);

impl BTree {
    /// Where the entry with this key is expected. Has the processor fetch the entry, without
    /// waiting for it: for a caller that has other work before it needs the entry. None where the
    /// place is not known, its page is not in the pool, or its latch is not free.
    #[inline]
    pub fn look_ahead(&self, key: &[u8]) -> Option<ExpectedEntry> {
        if PageTrace::is_on() {
            return None;
        }
        let guess = WAYS.with_borrow_mut(|ways| ways.of(self)?.guess_ahead(key))?;
        let leaf = self.space.store.try_read(guess.leaf)?;
        if !self.is_own_leaf(&leaf) {
            return None;
        }
        let slot = likely_slot(&leaf, key, guess.between)?;
        leaf.prefetch(slot);
        Some(ExpectedEntry { leaf: guess.leaf, slot })
    }

    /// The place of a key where it was expected, under an exclusive latch of its leaf; nothing
    /// where that is not so.
    #[inline]
    pub(super) fn place_expected(
        &self,
        key: &[u8],
        expected: ExpectedEntry,
    ) -> Option<(PageMut<'_>, u16)> {
        if PageTrace::is_on() || self.space.store.check_online().is_err() {
            return None;
        }
        let leaf = self.space.store.try_write(expected.leaf)?;
        if self.is_own_leaf(&leaf) && has_key(&leaf, expected.slot, key) {
            return Some((leaf, expected.slot));
        }
        drop(leaf);
        WAYS.with_borrow_mut(|ways| {
            if let Some(way) = ways.of(self) {
                way.astray += 1;
            }
        });
        None
    }

    /// The place of a key, under an exclusive latch of its leaf.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    #[inline]
    pub(super) fn place_to_write(
        &self,
        key: &[u8],
    ) -> Result<FoundEntry<PageMut<'_>>, AccessError> {
        if !PageTrace::is_on() {
            self.space.store.check_online()?;
            let guess = self.guess(key);
            let guessed = guess.is_some();
            if let Some(guess) = guess
                && let Some(leaf) = self.space.store.try_write(guess.leaf)
                && let Some(found) = self.judge(leaf, key, guess.between)
            {
                return Ok(found);
            }
            self.missed(key, guessed)?;
        }
        let (leaf, between) = self.descend_write_between(key, None)?;
        let (slot, found) = lower_bound_between(&leaf, key, between)?;
        Ok((leaf, slot, found))
    }

    /// The same under a shared latch.
    ///
    /// # Errors
    /// As [`BTree::place_to_write`].
    #[inline]
    pub(super) fn place_to_read(&self, key: &[u8]) -> Result<FoundEntry<PageRef<'_>>, AccessError> {
        if !PageTrace::is_on()
            && let Some(found) = self.place_remembered(key)?
        {
            return Ok(found);
        }
        let (leaf, between) = self.descend_read_between(LeafTarget::Key(key), None)?;
        let (slot, found) = lower_bound_between(&leaf, key, between)?;
        Ok((leaf, slot, found))
    }

    /// The place of a key under a shared latch of its leaf where this thread remembers the leaf;
    /// else the way down is to be taken. Pages must not be counted.
    ///
    /// # Errors
    /// As [`BTree::place_to_write`].
    #[inline]
    pub(super) fn place_remembered(
        &self,
        key: &[u8],
    ) -> Result<Option<FoundEntry<PageRef<'_>>>, AccessError> {
        self.space.store.check_online()?;
        let guess = self.guess(key);
        let guessed = guess.is_some();
        if let Some(guess) = guess
            && let Some(leaf) = self.space.store.try_read(guess.leaf)
            && let Some(found) = self.judge(leaf, key, guess.between)
        {
            return Ok(Some(found));
        }
        self.missed(key, guessed)?;
        Ok(None)
    }

    /// The leaf of a new entry, under an exclusive latch: the last one of the tree if the entry's
    /// key is above all, as most are.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    #[inline]
    pub(super) fn leaf_to_insert(&self, key: &[u8]) -> Result<PageMut<'_>, AccessError> {
        if PageTrace::is_on() {
            return self.descend_write(key, None);
        }
        self.space.store.check_online()?;
        let head = head_of(key);
        let last = WAYS.with_borrow_mut(|ways| match ways.of(self) {
            Some(way) if way.last_head <= head => {
                way.last_head = head;
                way.last
            }
            _ => PageId::NONE,
        });
        if !last.is_none()
            && let Some(leaf) = self.space.store.try_write(last)
            && self.is_own_leaf(&leaf)
            && leaf.slot_count() > 0
            && at_end(&leaf, key).unwrap_or(false)
        {
            return Ok(leaf);
        }
        let leaf = self.descend_write(key, None)?;
        if leaf.next().is_none() && leaf.page_id() != self.root {
            let last = leaf.page_id();
            WAYS.with_borrow_mut(|ways| match ways.of(self) {
                Some(way) => (way.last, way.last_head) = (last, head),
                None => ways.add(self),
            });
        }
        Ok(leaf)
    }

    #[inline]
    fn guess(&self, key: &[u8]) -> Option<LeafGuess> {
        WAYS.with_borrow_mut(|ways| ways.of(self)?.guess(key))
    }

    /// Whether the key has its place on a page: the tree's entries are in order, so that it has
    /// none elsewhere when there are entries of a leaf on both sides of it.
    #[inline]
    pub(super) fn judge<P: Deref<Target = Page>>(
        &self,
        leaf: P,
        key: &[u8],
        between: Between,
    ) -> Option<FoundEntry<P>> {
        if !self.is_own_leaf(&leaf) {
            return None;
        }
        // Damage is found, and named, on the way down.
        let (slot, found) = lower_bound_between(&leaf, key, between).ok()?;
        (found || slot > 0 && slot < leaf.slot_count()).then_some((leaf, slot, found))
    }

    fn missed(&self, key: &[u8], guessed: bool) -> Result<(), AccessError> {
        let learns = WAYS.with_borrow_mut(|ways| match ways.of(self) {
            Some(way) => way.missed(guessed),
            None => {
                ways.add(self);
                false
            }
        });
        if learns { self.learn(key) } else { Ok(()) }
    }

    #[cold]
    fn learn(&self, key: &[u8]) -> Result<(), AccessError> {
        let mut around = Between::default();
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        while page.level() > 1 {
            let slot = child_between(&page, key, &mut around)?;
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        WAYS.with_borrow_mut(|ways| {
            if let Some(way) = ways.of(self) {
                way.learn(&page, around);
            }
        });
        Ok(())
    }
}
