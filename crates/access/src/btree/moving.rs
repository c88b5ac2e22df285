//! Nodes that go to other pages, because their file is to be emptied or to become shorter.
//!
//! A walk visits every inner node, level by level from the root's down and on each level by key,
//! under an exclusive latch, and moves those of its children that lie past the bar of a file. One
//! system record moves a node: the new page gets its entries as they are, with the headers that
//! versions and undo go by; parent and neighbours name the new page; the old one is free. Readers
//! that remember the old page find that it left the tree, and search by key; undo searches by key
//! anyway. The root keeps its place. Guarantees: after a walk without `NoRoom` no node was past the
//! bar that was there when it began and did not have changing neighbours at that moment; a walk may
//! stop after any step.

use super::BTree;
use super::node::{check_node, inner_bytes, inner_entry};
use super::search::child_for;
use super::split::copy_entries;
use crate::error::AccessError;
use crate::record::with_record;
use crate::space::{self, NewPage};
use pages::{Link, PageId, PageMut, PageType};

/// Nodes that are moved under one latch of their parent.
const AT_ONCE: usize = 8;

/// What a step has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedNodes {
    /// So many nodes were moved; there may be more.
    Some(usize),
    /// The whole tree was visited.
    All,
    /// The file has no room in front of its bar.
    NoRoom,
}

/// A walk through an index that moves its nodes away from past the bar of a file.
#[derive(Debug)]
pub struct IndexMove {
    tree: BTree,
    file: u16,
    /// New pages come from the front of the file; else from wherever the unit gets its pages.
    inside: bool,
    /// Level of the parents to visit next, and the key where they begin.
    level: Option<u8>,
    from: Vec<u8>,
}

/// An inner node under an exclusive latch, and the key where the next one of its level begins.
struct Parent<'t> {
    page: PageMut<'t>,
    high: Option<Vec<u8>>,
}

impl BTree {
    /// A walk that moves the nodes past the bar of `file`: to its front if `inside`, else to where
    /// new pages come from.
    pub fn move_nodes(&self, file: u16, inside: bool) -> IndexMove {
        IndexMove { tree: self.clone(), file, inside, level: None, from: Vec::new() }
    }

    /// The node of this level that `key` leads to; `None` when the tree has no level so high.
    fn descend_to(&self, level: u8, key: &[u8]) -> Result<Option<Parent<'_>>, AccessError> {
        let mut high: Option<Vec<u8>> = None;
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        if page.level() <= level {
            drop(page);
            let root = self.space.store.write(self.root)?;
            check_node(&root, self.unit_id())?;
            // The root was split while its latch was changed: the caller's level is below it then.
            return Ok((root.level() == level).then_some(Parent { page: root, high: None }));
        }
        loop {
            let slot = child_for(&page, key)?;
            if slot + 1 < page.slot_count() {
                high = Some(inner_entry(&page, slot + 1)?.1.to_vec());
            }
            let id = inner_entry(&page, slot)?.0;
            if page.level() == level + 1 {
                let child = self.space.store.write(id)?;
                self.check_child(&page, &child)?;
                return Ok(Some(Parent { page: child, high }));
            }
            let child = self.space.store.read(id)?;
            self.check_child(&page, &child)?;
            page = child;
        }
    }

    /// Moves the child in this slot of its parent to the new page; false when its left neighbour is
    /// changing.
    fn move_child<'s>(
        &'s self,
        parent: &mut PageMut<'s>,
        slot: u16,
        mut new: NewPage<'s>,
    ) -> Result<bool, AccessError> {
        let (id, separator) = inner_entry(parent, slot)?;
        let mut entry = Vec::with_capacity(separator.len() + 6);
        inner_bytes(new.id(), separator, &mut entry);
        // The parent's latch keeps the child in its place; its left neighbour may be another
        // parent's and is checked.
        let prev = self.space.store.read(id)?.prev();
        let mut left = if prev.is_none() { None } else { Some(self.space.store.write(prev)?) };
        if left.as_ref().is_some_and(|l| {
            check_node(l, self.unit_id()).is_err()
                || l.level() + 1 != parent.level()
                || l.next() != id
        }) {
            return Ok(false);
        }
        let mut child = self.space.store.write(id)?;
        self.check_child(parent, &child)?;
        if child.prev() != prev {
            return Ok(false);
        }
        let next = child.next();
        let mut right = if next.is_none() { None } else { Some(self.space.store.write(next)?) };
        with_record(|rec| {
            rec.system();
            new.format(rec, child.level(), prev, next, self.root)?;
            copy_entries(rec, &child, 0, child.slot_count(), 0)?;
            if let Some(left) = &left {
                rec.page(left.id());
                rec.set_link(Link::Next, new.id())?;
            }
            if let Some(right) = &right {
                rec.page(right.id());
                rec.set_link(Link::Prev, new.id())?;
            }
            rec.page(parent.id());
            rec.replace_raw(slot, &entry)?;
            rec.page(id);
            // As for a leaf that is unlinked: a thread that remembers the page sees that it is no
            // node any more.
            rec.format(PageType::Index, 0, child.unit(), PageId::NONE, PageId::NONE, PageId::NONE)?;
            let mut all: smallvec::SmallVec<[&mut PageMut<'_>; 4]> =
                smallvec::smallvec![parent, &mut child];
            all.extend(left.as_mut());
            all.extend(right.as_mut());
            space::change_and_move(&self.space, rec, &mut all, &mut new, id)
        })?;
        self.space.store.ghosts_moved(new.page());
        Ok(true)
    }
}

impl IndexMove {
    /// Visits one inner node and moves some of its children.
    ///
    /// # Errors
    /// No space; damaged pages, I/O, the log's errors. What was moved before is moved.
    pub fn step(&mut self) -> Result<MovedNodes, AccessError> {
        let tree = self.tree.clone();
        let level = match self.level {
            Some(level) => level,
            None => tree.space.store.read(tree.root)?.level(),
        };
        if level == 0 {
            return Ok(MovedNodes::All);
        }
        self.level = Some(level);
        let Some(Parent { page: mut parent, high }) = tree.descend_to(level, &self.from)? else {
            // Only a root that was split since: its level is visited from the start.
            (self.level, self.from) = (None, Vec::new());
            return Ok(MovedNodes::Some(0));
        };
        let mut moved = 0;
        for slot in 0..parent.slot_count() {
            let id = inner_entry(&parent, slot)?.0;
            if id.file != self.file || !tree.space.store.is_barred(id) {
                continue;
            }
            if moved == AT_ONCE {
                return Ok(MovedNodes::Some(moved));
            }
            let new = match self.inside {
                true => tree.space.take_in_front(self.file)?,
                false => Some(tree.space.take()?),
            };
            let Some(new) = new else { return Ok(MovedNodes::NoRoom) };
            moved += usize::from(tree.move_child(&mut parent, slot, new)?);
        }
        match high {
            Some(high) => self.from = high,
            None => {
                self.level = Some(level - 1);
                self.from.clear();
            }
        }
        Ok(MovedNodes::Some(moved))
    }
}
