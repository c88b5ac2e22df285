//! Ghost removal from leaves, and unlinking of leaves without rows.
//!
//! One system record takes a leaf out of the tree, together with the inner nodes above it that have
//! no other child: links of the neighbours, the entry in the lowest node that has other children,
//! the pages in the maps. The ghosts of the leaf go with it, so that a crash leaves a leaf with
//! ghosts, which a scan meets, or none. A tree without rows is its root, an empty leaf. Latches are
//! taken top-down and left to right; where a node above the leaf goes too its neighbours are only
//! tried, because the order of two levels' neighbours cannot be kept.

use super::BTree;
use super::node::{check_node, inner_entry, leaf_entry};
use super::search::child_for;
use crate::cleanup::PageCleanup;
use crate::error::AccessError;
use crate::record::with_record;
use crate::space;
use pages::{Link, Page, PageId, PageMut, PageType, RecordBuilder, TxnId};
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;

/// How often the neighbours of a chain of nodes are tried.
const TRIES: usize = 4;

/// Nodes that have no other child, from the lowest one that has others (or the root) down.
type Path<'t> = SmallVec<[PageMut<'t>; 4]>;

/// A node that goes, and its neighbours.
struct LeavingNode<'t> {
    left: Option<PageMut<'t>>,
    right: Option<PageMut<'t>>,
}

/// What came of a try.
enum UnlinkTry {
    /// The leaf is gone, with so many ghosts.
    Done(usize),
    /// It is not what it was taken for.
    Changed,
    /// This page's latch was not to be had.
    Busy(PageId),
}

/// How many ghosts a leaf has if it has nothing else, and every snapshot sees all of them (`<
/// oldest`).
fn only_ghosts(leaf: &Page, oldest: TxnId) -> Result<Option<usize>, AccessError> {
    for slot in 0..leaf.slot_count() {
        let header = leaf_entry(leaf, slot)?.header;
        if !header.is_ghost() || header.txn >= oldest {
            return Ok(None);
        }
    }
    Ok(Some(usize::from(leaf.slot_count())))
}

impl BTree {
    /// Removes the ghosts of one leaf whose transactions every snapshot sees (`< oldest`), and the
    /// leaf itself if that leaves it empty.
    pub(crate) fn cleanup(
        &self,
        leaf: PageMut<'_>,
        oldest: TxnId,
    ) -> Result<PageCleanup, AccessError> {
        let mut leaf = leaf;
        let mut result = PageCleanup::default();
        let id = leaf.page_id();
        if id != self.root && only_ghosts(&leaf, oldest)?.is_some() {
            if leaf.slot_count() == 0 {
                return Ok(PageCleanup { empty: true, ..result });
            }
            let key = leaf_entry(&leaf, 0)?.key.to_vec();
            drop(leaf);
            let gone = self.unlink(&key, id, oldest)?;
            return Ok(PageCleanup {
                removed: gone.unwrap_or(0),
                unlinked: gone.is_some(),
                again: gone.is_none(),
                ..result
            });
        }
        with_record(|rec| {
            rec.system();
            rec.page(leaf.id());
            // From the end, so that the slots of the others stay.
            for slot in (0..leaf.slot_count()).rev() {
                let entry = leaf_entry(&leaf, slot)?;
                if !entry.header.is_ghost() {
                    continue;
                }
                if entry.header.txn >= oldest {
                    result.remaining += 1;
                    result.newest = result.newest.max(entry.header.txn);
                    continue;
                }
                rec.remove(slot, 1)?;
                result.removed += 1;
            }
            if result.removed > 0 {
                self.space.store.change(&mut self.space.store.system(), rec, &mut [&mut leaf])?;
            }
            Ok::<_, AccessError>(())
        })?;
        Ok(result)
    }

    /// Takes a leaf out of the tree that has nothing but ghosts `< oldest`, or nothing; returns how
    /// many ghosts. `None`: it has rows, is not where `key` leads, or is the root; or a neighbour
    /// was busy.
    pub(crate) fn unlink(
        &self,
        key: &[u8],
        id: PageId,
        oldest: TxnId,
    ) -> Result<Option<usize>, AccessError> {
        for _ in 0..TRIES {
            let Some(path) = self.path_to(key, id)? else { return Ok(None) };
            let done = match path.len() {
                1 if path[0].slot_count() > 1 => self.unlink_leaf(path, key, id, oldest)?,
                _ => self.unlink_chain(path, key, id, oldest)?,
            };
            match done {
                UnlinkTry::Done(ghosts) => return Ok(Some(ghosts)),
                UnlinkTry::Changed => return Ok(None),
                // Perhaps it only has to be read; the thread that has it may be waiting for what
                // was latched here.
                UnlinkTry::Busy(page) => {
                    let _ = self.space.store.read(page);
                    std::thread::yield_now();
                }
            }
        }
        Ok(None)
    }

    /// The nodes above a leaf, with exclusive latches; `None` if `key` does not lead to it.
    fn path_to(&self, key: &[u8], id: PageId) -> Result<Option<Path<'_>>, AccessError> {
        let mut path: Path<'_> = smallvec![self.space.store.write(self.root)?];
        if check_node(&path[0], self.unit_id()).is_err() {
            // A root that has moved, and nobody has said where to.
            return Ok(None);
        }
        while let Some(parent) = path.last() {
            if parent.level() == 0 {
                return Ok(None);
            }
            let below = inner_entry(parent, child_for(parent, key)?)?.0;
            if parent.level() == 1 {
                return Ok((below == id).then_some(path));
            }
            let child = self.space.store.write(below)?;
            self.check_child(parent, &child)?;
            if child.slot_count() > 1 {
                path.clear();
            }
            path.push(child);
        }
        Ok(None)
    }

    /// The leaf alone: its parent has other children.
    fn unlink_leaf<'t>(
        &'t self,
        mut path: Path<'t>,
        key: &[u8],
        id: PageId,
        oldest: TxnId,
    ) -> Result<UnlinkTry, AccessError> {
        let parent = &mut path[0];
        // The parent's latch keeps the leaf in its place; its left neighbour may be another
        // parent's and is checked.
        let prev = self.space.store.read(id)?.prev();
        let left = if prev.is_none() { None } else { Some(self.space.store.write(prev)?) };
        if left.as_ref().is_some_and(|l| !self.is_own_leaf(l) || l.next() != id) {
            return Ok(UnlinkTry::Busy(prev));
        }
        let mut leaf = self.space.store.write(id)?;
        self.check_child(parent, &leaf)?;
        if leaf.prev() != prev {
            return Ok(UnlinkTry::Busy(id));
        }
        let Some(ghosts) = only_ghosts(&leaf, oldest)? else { return Ok(UnlinkTry::Changed) };
        let right =
            if leaf.next().is_none() { None } else { Some(self.space.store.write(leaf.next())?) };
        let slot = child_for(parent, key)?;
        self.take_out(parent, Some(slot), &mut [&mut leaf], vec![LeavingNode { left, right }])?;
        Ok(UnlinkTry::Done(ghosts))
    }

    /// The leaf and the nodes above it that have no other child.
    fn unlink_chain<'t>(
        &'t self,
        mut path: Path<'t>,
        key: &[u8],
        id: PageId,
        oldest: TxnId,
    ) -> Result<UnlinkTry, AccessError> {
        let store = &self.space.store;
        let Some(leaf) = store.try_write(id) else { return Ok(UnlinkTry::Busy(id)) };
        let Some(ghosts) = only_ghosts(&leaf, oldest)? else { return Ok(UnlinkTry::Changed) };
        path.push(leaf);
        let mut neighbours = Vec::new();
        for node in &path[1..] {
            let mut beside = [None, None];
            for (side, page) in [node.prev(), node.next()].into_iter().enumerate() {
                if page.is_none() {
                    continue;
                }
                let Some(latched) = store.try_write(page) else { return Ok(UnlinkTry::Busy(page)) };
                let back = if side == 0 { latched.next() } else { latched.prev() };
                let same =
                    check_node(&latched, self.unit_id()).is_ok() && latched.level() == node.level();
                if !same || back != node.page_id() {
                    return Ok(UnlinkTry::Busy(page));
                }
                beside[side] = Some(latched);
            }
            let [left, right] = beside;
            neighbours.push(LeavingNode { left, right });
        }
        let (top, nodes) = path.split_at_mut(1);
        let Some(top) = top.first_mut() else { return Ok(UnlinkTry::Changed) };
        let slot = match top.slot_count() {
            1 => None,
            _ => Some(child_for(top, key)?),
        };
        // Only the root can be the tree's last node, and not while a copy of it is about to take
        // its place.
        if slot.is_none() && (top.page_id() != self.root || top.root() != self.root) {
            return Ok(UnlinkTry::Changed);
        }
        let mut going: SmallVec<[&mut PageMut<'_>; 4]> = nodes.iter_mut().collect();
        self.take_out(top, slot, &mut going, neighbours)?;
        Ok(UnlinkTry::Done(ghosts))
    }

    /// One record: the nodes leave the tree, and the top node loses this entry, or becomes an empty
    /// leaf.
    fn take_out<'t>(
        &'t self,
        top: &mut PageMut<'t>,
        slot: Option<u16>,
        going: &mut [&mut PageMut<'t>],
        mut neighbours: Vec<LeavingNode<'t>>,
    ) -> Result<(), AccessError> {
        with_record(|rec| {
            rec.system();
            match slot {
                Some(slot) => remove_child(rec, top, slot)?,
                None => {
                    rec.page(top.id());
                    rec.format(
                        PageType::Index,
                        0,
                        top.unit(),
                        PageId::NONE,
                        PageId::NONE,
                        self.root,
                    )?;
                }
            }
            for (node, beside) in going.iter().zip(&neighbours) {
                if let Some(left) = &beside.left {
                    rec.page(left.id());
                    rec.set_link(Link::Next, node.next())?;
                }
                if let Some(right) = &beside.right {
                    rec.page(right.id());
                    rec.set_link(Link::Prev, node.prev())?;
                }
                rec.page(node.id());
                // Another LSN and no root: a thread that remembers the page sees that it is no node
                // of the tree any more.
                rec.format(
                    PageType::Index,
                    0,
                    node.unit(),
                    PageId::NONE,
                    PageId::NONE,
                    PageId::NONE,
                )?;
            }
            let freed: SmallVec<[PageId; 4]> = going.iter().map(|node| node.page_id()).collect();
            let mut all: SmallVec<[&mut PageMut<'_>; 8]> = smallvec![top];
            all.extend(going.iter_mut().map(|node| &mut **node));
            all.extend(
                neighbours.iter_mut().flat_map(|n| n.left.iter_mut().chain(n.right.iter_mut())),
            );
            space::change_and_free(
                &self.space,
                &mut self.space.store.system(),
                rec,
                &mut all,
                &freed,
            )
        })
    }

    /// Takes these leaves out of the tree as far as they are empty; returns how many. For leaves
    /// that a rollback has emptied: no key tells where they are, so all their parents are visited.
    pub(crate) fn unlink_empty(&self, leaves: &HashSet<PageId>) -> Result<usize, AccessError> {
        let (mut from, mut seen, mut gone) = (Vec::new(), 0, 0);
        while seen < leaves.len() {
            let (found, high) = self.children_among(&from, leaves)?;
            seen += found.len();
            for (key, id) in found {
                gone += usize::from(self.unlink(&key, id, TxnId(0))?.is_some());
            }
            match high {
                Some(high) => from = high,
                None => break,
            }
        }
        Ok(gone)
    }

    /// Which of these leaves are children of the node above the leaves that `from` leads to, each
    /// with a key that leads to it, and where the next such node begins.
    #[allow(clippy::type_complexity)] // read in one place
    fn children_among(
        &self,
        from: &[u8],
        leaves: &HashSet<PageId>,
    ) -> Result<(Vec<(Vec<u8>, PageId)>, Option<Vec<u8>>), AccessError> {
        let (mut found, mut high) = (Vec::new(), None);
        let mut page = self.space.store.read(self.root)?;
        if check_node(&page, self.unit_id()).is_err() || page.level() == 0 {
            return Ok((found, high));
        }
        while page.level() > 1 {
            let slot = child_for(&page, from)?;
            if slot + 1 < page.slot_count() {
                high = Some(inner_entry(&page, slot + 1)?.1.to_vec());
            }
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        for slot in 0..page.slot_count() {
            let (id, separator) = inner_entry(&page, slot)?;
            if leaves.contains(&id) {
                let key = if slot == 0 { from } else { separator };
                found.push((key.to_vec(), id));
            }
        }
        Ok((found, high))
    }
}

/// Adds to the record that an inner node loses the child in this slot.
fn remove_child(rec: &mut RecordBuilder, node: &PageMut<'_>, slot: u16) -> Result<(), AccessError> {
    rec.page(node.page_id());
    rec.remove(slot, 1)?;
    if slot == 0 {
        // The next child becomes the first, whose separator is minus infinity.
        rec.replace_raw(0, &inner_entry(node, 1)?.0.to_bytes())?;
    }
    Ok(())
}
