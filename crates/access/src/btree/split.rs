//! Making room: page splits, one log record each.
//!
//! A split takes exclusive latches from the root down, two levels at a time. Inner pages that might
//! not take one more separator are split on the way, so a split never has to climb. The root keeps
//! its place for life: when it is full, its content goes to two new pages and the root becomes
//! their parent. Entries only ever move to the right.

use super::BTree;
use super::node::{check_node, fits, inner_bytes, inner_entry, leaf_entry, leaf_key, separator};
use super::search::{child_for, lower_bound};
use crate::error::{AccessError, corrupt};
use crate::record::with_record;
use crate::space::NewPage;
use pages::{Link, Lsn, Page, PageId, PageMut, PageType, RecordBuilder, SLOT_SIZE};

/// Bytes of an inner entry in front of its separator.
const CHILD: usize = 6;
/// Separator length that inner pages are asked to have room for before the true one is known.
const USUAL_SEPARATOR: usize = 64;

/// Where a page is cut: entries from `at` on go to the new page, which begins at `separator`.
struct PageCut {
    at: u16,
    separator: Vec<u8>,
}

impl BTree {
    /// Splits until the leaf for `key` has `need` free bytes (contents and slots), or one split is
    /// done: the caller looks again. `need` must fit an empty leaf.
    pub(crate) fn make_room(&self, key: &[u8], need: usize) -> Result<(), AccessError> {
        let mut reserve = USUAL_SEPARATOR.max(key.len());
        loop {
            let root = self.space.store.write(self.root)?;
            check_node(&root, self.unit_id())?;
            let full = if root.level() == 0 {
                if root.free_bytes() >= need {
                    return Ok(());
                }
                true
            } else {
                !fits(&root, CHILD + reserve)
            };
            if full {
                self.split_root(root, key)?;
                continue;
            }
            match self.split_below(root, key, need, reserve)? {
                None => return Ok(()),
                Some(longer) => reserve = longer,
            }
        }
    }

    /// Goes down from an inner root with room. `Some(n)`: an inner page turned out to need room for
    /// a separator of n bytes; start again.
    fn split_below<'s>(
        &'s self,
        root: PageMut<'s>,
        key: &[u8],
        need: usize,
        reserve: usize,
    ) -> Result<Option<usize>, AccessError> {
        let mut parent = root;
        loop {
            let slot = child_for(&parent, key)?;
            let mut child = self.space.store.write(inner_entry(&parent, slot)?.0)?;
            self.check_child(&parent, &child)?;
            let leaf = child.level() == 0;
            if leaf && child.free_bytes() >= need {
                return Ok(None);
            }
            if !leaf && fits(&child, CHILD + reserve) {
                parent = child;
                continue;
            }
            let cut = if leaf { cut_leaf(&child, key, need)? } else { cut_inner(&child, key)? };
            if !fits(&parent, CHILD + cut.separator.len()) {
                return Ok(Some(cut.separator.len().max(reserve + 1)));
            }
            self.split_child(&mut parent, slot, &mut child, &cut)?;
            if leaf {
                return Ok(None);
            }
        }
    }

    /// Splits a page below a parent with room for the separator.
    fn split_child<'s>(
        &'s self,
        parent: &mut PageMut<'s>,
        slot: u16,
        child: &mut PageMut<'s>,
        cut: &PageCut,
    ) -> Result<(), AccessError> {
        let mut right =
            if child.next().is_none() { None } else { Some(self.space.store.write(child.next())?) };
        if let Some(right) = &right {
            check_node(right, self.unit_id())?;
        }
        let mut new = self.space.take()?;
        with_record(|rec| {
            rec.system();
            let count = child.slot_count() - cut.at;
            new.format(rec, child.level(), child.id(), child.next(), self.root)?;
            move_entries(rec, child, cut.at, count)?;
            rec.page(child.id());
            if count > 0 {
                rec.remove(cut.at, count)?;
            }
            rec.set_link(Link::Next, new.id())?;
            if let Some(right) = &right {
                rec.page(right.id());
                rec.set_link(Link::Prev, new.id())?;
            }
            rec.page(parent.id());
            let mut entry = Vec::with_capacity(CHILD + cut.separator.len());
            inner_bytes(new.id(), &cut.separator, &mut entry);
            rec.insert_raw(slot + 1, &entry)?;
            match &mut right {
                Some(right) => NewPage::change(
                    &self.space.store,
                    &mut self.space.store.system(),
                    rec,
                    &mut [child, right, parent],
                    &mut [&mut new],
                    None,
                ),
                None => NewPage::change(
                    &self.space.store,
                    &mut self.space.store.system(),
                    rec,
                    &mut [child, parent],
                    &mut [&mut new],
                    None,
                ),
            }
        })?;
        self.space.store.ghosts_moved(new.page());
        Ok(())
    }

    /// Moves the root's content to two new pages; the root becomes their parent.
    fn split_root<'s>(&'s self, mut root: PageMut<'s>, key: &[u8]) -> Result<(), AccessError> {
        let cut = if root.level() == 0 { cut_leaf(&root, key, 0)? } else { cut_inner(&root, key)? };
        let mut left = self.space.take()?;
        let mut right = self.space.take()?;
        let level = root.level();
        if level + 1 >= super::node::MAX_LEVELS {
            return Err(corrupt(self.root, "index is too deep"));
        }
        with_record(|rec| {
            rec.system();
            left.format(rec, level, PageId::NONE, right.id(), self.root)?;
            copy_entries(rec, &root, 0, cut.at, 0)?;
            right.format(rec, level, left.id(), PageId::NONE, self.root)?;
            move_entries(rec, &root, cut.at, root.slot_count() - cut.at)?;
            rec.page(self.root);
            // What it names stays: see `settle_root`.
            let named = root.root();
            rec.format(PageType::Index, level + 1, root.unit(), PageId::NONE, PageId::NONE, named)?;
            let mut entry = Vec::with_capacity(CHILD + cut.separator.len());
            inner_bytes(left.id(), &[], &mut entry);
            rec.insert_raw(0, &entry)?;
            inner_bytes(right.id(), &cut.separator, &mut entry);
            rec.insert_raw(1, &entry)?;
            NewPage::change(
                &self.space.store,
                &mut self.space.store.system(),
                rec,
                &mut [&mut root],
                &mut [&mut left, &mut right],
                None,
            )
        })?;
        [left.page(), right.page()]
            .into_iter()
            .for_each(|page| self.space.store.ghosts_moved(page));
        Ok(())
    }
}

/// Puts entries as they are into the page that the record is at.
pub(super) fn copy_entries(
    rec: &mut RecordBuilder,
    page: &Page,
    from: u16,
    count: u16,
    to: u16,
) -> Result<(), AccessError> {
    for i in 0..count {
        rec.insert_raw(to + i, page.slot(from + i)?)?;
    }
    Ok(())
}

/// Puts entries into the new right page; there the first separator of an inner page becomes minus
/// infinity.
fn move_entries(
    rec: &mut RecordBuilder,
    page: &Page,
    from: u16,
    count: u16,
) -> Result<(), AccessError> {
    if page.level() == 0 || count == 0 {
        return copy_entries(rec, page, from, count, 0);
    }
    rec.insert_raw(0, &inner_entry(page, from)?.0.to_bytes())?;
    copy_entries(rec, page, from + 1, count - 1, 1)
}

fn key_at(page: &Page, slot: u16) -> Result<&[u8], AccessError> {
    leaf_key(page.slot(slot)?).ok_or_else(|| corrupt(page.id(), "index entry is cut short"))
}

/// Where to cut a leaf that is to take `need` more bytes at `key`.
///
/// A key behind the last entry gets a page of its own: ascending inserts leave full pages behind.
/// So do those that ascend in the middle of the tree, as the rows of each customer do: the cut is
/// where the run goes on. The last leaf keeps nine tenths of its entries when a key comes close to
/// its end, as those of sessions side by side do. Otherwise the cut balances the bytes, the new
/// entry counted in.
fn cut_leaf(page: &Page, key: &[u8], need: usize) -> Result<PageCut, AccessError> {
    let count = page.slot_count();
    if count == 0 {
        return Err(corrupt(page.id(), "entry does not fit an empty page"));
    }
    let (pos, found) = lower_bound(page, key)?;
    if pos == count {
        return Ok(PageCut {
            at: count,
            separator: separator(key_at(page, count - 1)?, key).to_vec(),
        });
    }
    let at = if found { None } else { end_of_ascent(page, pos)? };
    if let Some(at) = at {
        let right = key_at(page, at)?;
        // A key that belongs before the cut stays left.
        let low = key_at(page, at - 1)?;
        let low = if pos == at && key > low { key } else { low };
        return Ok(PageCut { at, separator: separator(low, right).to_vec() });
    }
    let mut total = need;
    for s in 0..count {
        total += page.slot(s)?.len() + SLOT_SIZE;
    }
    // Left of a cut at s: entries 0..s, and the new bytes if they belong before s. Entry 0 stays
    // left unless the new entry alone shall have the left page.
    let (mut best, mut best_max, mut left) = (1.min(count - 1), usize::MAX, 0);
    for s in 0..count {
        // A grown entry (`found`) goes right when the cut is at its own slot.
        let new_left = if found { pos < s } else { pos <= s };
        let bytes = left + if new_left { need } else { 0 };
        if (s > 0 || (new_left && !found)) && bytes.max(total - bytes) < best_max {
            (best, best_max) = (s, bytes.max(total - bytes));
        }
        left += page.slot(s)?.len() + SLOT_SIZE;
    }
    if count == 1 && best == 0 && found {
        return Err(corrupt(page.id(), "entry does not fit an empty page"));
    }
    let right = key_at(page, best)?;
    // The separator must lie above everything that stays left, the new key included if it belongs
    // there.
    let mut low = if best > 0 { key_at(page, best - 1)? } else { &[] };
    if pos == best && !found && key > low {
        low = key;
    }
    Ok(PageCut { at: best, separator: separator(low, right).to_vec() })
}

/// Entries before a new one that make it one of a run: as many as a quarter of the leaf, within
/// these.
const RUN: (u16, u16) = (4, 16);

/// Where to cut a leaf at whose place `pos` keys arrive in ascending order, or nearly so.
fn end_of_ascent(page: &Page, pos: u16) -> Result<Option<u16>, AccessError> {
    let count = page.slot_count();
    let run = (count / 4).clamp(RUN.0, RUN.1);
    if pos >= run && pos < count {
        let mut last = written(page, pos - run)?;
        let mut ascends = true;
        for slot in pos - run + 1..pos {
            let now = written(page, slot)?;
            ascends &= now > last;
            last = now;
        }
        // A run that others have come after is over.
        for slot in (0..pos - run).chain(pos..count) {
            ascends = ascends && written(page, slot)? < last;
        }
        if ascends {
            return Ok(Some(pos));
        }
    }
    let tail = count / 10;
    let ends = page.next().is_none() && tail > 0 && pos >= count - tail;
    Ok(ends.then_some(count - tail))
}

/// When an entry was written, as far as entries are compared.
fn written(page: &Page, slot: u16) -> Result<(Lsn, u8), AccessError> {
    let header = leaf_entry(page, slot)?.header;
    Ok((header.lsn, header.index))
}

/// Where to cut an inner page. The separator of the first entry that moves goes up to the parent.
fn cut_inner(page: &Page, key: &[u8]) -> Result<PageCut, AccessError> {
    let count = page.slot_count();
    if count < 2 {
        return Err(corrupt(page.id(), "inner index page with one child is full"));
    }
    let at = if page.next().is_none() && child_for(page, key)? == count - 1 {
        count - 1
    } else {
        let (mut half, mut at) = ((pages::PAGE_SIZE - page.free_bytes()) / 2, 0);
        while at < count - 1 {
            let Some(rest) = half.checked_sub(page.slot(at)?.len() + SLOT_SIZE) else { break };
            (half, at) = (rest, at + 1);
        }
        at.max(1)
    };
    Ok(PageCut { at, separator: inner_entry(page, at)?.1.to_vec() })
}
