//! Ghost removal from leaves, and unlinking of leaves that have become empty.

use super::BTree;
use super::node::{check_node, child_for, inner_entry, leaf_entry};
use crate::error::AccessError;
use crate::ghost::Cleanup;
use crate::record::with_record;
use crate::space;
use pages::{Link, PageId, PageMut, PageType, TxnId};

impl BTree {
    /// Removes the ghosts of one leaf whose transactions every snapshot sees (`< oldest`), and the leaf itself if that
    /// leaves it empty and its parent has others.
    pub(crate) fn cleanup(&self, leaf: PageMut<'_>, oldest: TxnId) -> Result<Cleanup, AccessError> {
        let mut leaf = leaf;
        let mut result = Cleanup::default();
        let mut key = Vec::new();
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
                    continue;
                }
                rec.remove(slot, 1)?;
                result.removed += 1;
                key.clear();
                key.extend_from_slice(entry.key);
            }
            if result.removed > 0 {
                self.space.store.change(&mut self.space.store.system(), rec, &mut [&mut leaf])?;
            }
            Ok::<_, AccessError>(())
        })?;
        let (id, empty) = (leaf.id(), leaf.slot_count() == 0);
        drop(leaf);
        if result.removed > 0 && empty && id != self.root {
            result.unlinked = self.unlink(&key, id)?;
        }
        Ok(result)
    }

    /// Takes an empty leaf out of the tree; false if it is not empty, not where `key` leads, or its parent's only
    /// child.
    pub(crate) fn unlink(&self, key: &[u8], id: PageId) -> Result<bool, AccessError> {
        let mut parent = self.space.store.write(self.root)?;
        if check_node(&parent, self.unit_id()).is_err() {
            // A root that has moved, and nobody has said where to.
            return Ok(false);
        }
        while parent.level() > 1 {
            let child = self.space.store.write(inner_entry(&parent, child_for(&parent, key)?)?.0)?;
            self.check_child(&parent, &child)?;
            parent = child;
        }
        if parent.level() == 0 || parent.slot_count() < 2 {
            return Ok(false);
        }
        let slot = child_for(&parent, key)?;
        if inner_entry(&parent, slot)?.0 != id {
            return Ok(false);
        }
        // The parent's latch keeps the leaf in its place; its left neighbour may be another parent's and is checked.
        let prev = self.space.store.read(id)?.prev();
        let mut left = if prev.is_none() { None } else { Some(self.space.store.write(prev)?) };
        if left.as_ref().is_some_and(|l| !self.is_own_leaf(l) || l.next() != id) {
            return Ok(false);
        }
        let mut leaf = self.space.store.write(id)?;
        self.check_child(&parent, &leaf)?;
        if leaf.slot_count() != 0 || leaf.prev() != prev {
            return Ok(false);
        }
        let mut right = if leaf.next().is_none() { None } else { Some(self.space.store.write(leaf.next())?) };
        with_record(|rec| {
            rec.system();
            if let Some(left) = &left {
                rec.page(left.id());
                rec.set_link(Link::Next, leaf.next())?;
            }
            if let Some(right) = &right {
                rec.page(right.id());
                rec.set_link(Link::Prev, prev)?;
            }
            rec.page(parent.id());
            rec.remove(slot, 1)?;
            if slot == 0 {
                // The next child becomes the first, whose separator is minus infinity.
                let next = inner_entry(&parent, 1)?.0;
                rec.replace_raw(0, &next.to_bytes())?;
            }
            rec.page(id);
            // Another LSN and no root: whoever remembers the page sees that it is no leaf of the tree any more.
            rec.format(PageType::Index, 0, leaf.unit(), PageId::NONE, PageId::NONE, PageId::NONE)?;
            let mut all: smallvec::SmallVec<[&mut PageMut<'_>; 4]> =
                smallvec::smallvec![&mut parent, &mut leaf];
            all.extend(left.as_mut());
            all.extend(right.as_mut());
            space::change_and_free(&self.space, &mut self.space.store.system(), rec, &mut all, &[id])?;
            Ok(true)
        })
    }
}
