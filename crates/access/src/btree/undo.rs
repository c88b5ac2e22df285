//! Undo of index entries: by key, wherever splits have moved them.

use super::BTree;
use super::node::leaf_entry;
use super::search::lower_bound;
use crate::Writer;
use crate::error::AccessError;
use crate::undo::{Undo, UndoneRow, compensate};
use pages::{PageId, PageMut, RecordBuilder, Store};
use std::sync::Arc;

/// What one look at a leaf came to.
struct UndoPass {
    /// Operations `..end` are still to be undone.
    end: usize,
    /// Free bytes that the next one needs before it can be.
    room: Option<usize>,
    /// The record has operations.
    some: bool,
    ghosts: bool,
}

impl BTree {
    /// Undoes operations from `end - 1` down, as far as they are on one leaf; returns the new end.
    pub(crate) fn undo(
        store: &Arc<Store>,
        root: PageId,
        undo: &Undo<'_>,
        end: usize,
        w: &mut dyn Writer,
    ) -> Result<usize, AccessError> {
        let unit = store.read(root)?.unit();
        let tree = BTree::by_id(Arc::clone(store), unit, root);
        let key = undo.key(end - 1);
        let mut leaf = tree.descend_write(key, None)?;
        // How far the record will reach decides what it names as next, so it is built for that at
        // once.
        let probe = tree.reach(&leaf, undo, end)?;
        if let (true, Some(need)) = (probe.end == end, probe.room) {
            drop(leaf);
            tree.make_room(key, need)?;
            return Ok(end);
        }
        let reach = probe.end;
        let pass = compensate(undo.next_after(reach), root, |rec| {
            rec.page(leaf.id());
            let pass = undo_leaf(rec, &leaf, undo, end, reach)?;
            if pass.some {
                store.change(w, rec, &mut [&mut leaf])?;
            }
            Ok(pass)
        })?;
        let page = leaf.id();
        // The rows of an insert that is taken back leave nothing, and the page can go.
        let ghosts = pass.ghosts || (pass.some && leaf.slot_count() == 0 && page != root);
        drop(leaf);
        if ghosts {
            w.ghosted(unit, page);
        }
        if let Some(need) = pass.room {
            tree.make_room(key, need)?;
        }
        Ok(pass.end)
    }

    /// The first operation that goes into the same record as `end - 1`: descending keys of this
    /// leaf, room for all.
    fn reach(
        &self,
        leaf: &PageMut<'_>,
        undo: &Undo<'_>,
        end: usize,
    ) -> Result<UndoPass, AccessError> {
        let mut probe = RecordBuilder::new();
        probe.compensation(undo.lsn);
        probe.root(self.root)?;
        probe.page(leaf.id());
        undo_leaf(&mut probe, leaf, undo, end, 0)
    }
}

/// Adds the compensation of operations `first..end` to the record, the last first, until one does
/// not fit.
fn undo_leaf(
    rec: &mut RecordBuilder,
    leaf: &PageMut<'_>,
    undo: &Undo<'_>,
    end: usize,
    first: usize,
) -> Result<UndoPass, AccessError> {
    let mut pass = UndoPass { end, room: None, some: false, ghosts: false };
    let mut free = leaf.free_bytes();
    let mut removed_from = u16::MAX;
    while pass.end > first {
        let i = pass.end - 1;
        let (slot, found) = lower_bound(leaf, undo.key(i))?;
        if !found {
            // On another leaf, or undone before: only the one the leaf was looked up for is known
            // to be gone.
            if i + 1 < end {
                break;
            }
            pass.end = i;
            continue;
        }
        let entry = leaf_entry(leaf, slot)?;
        if !undo.made(i, &entry.header) {
            pass.end = i;
            continue;
        }
        if slot >= removed_from {
            break; // its slot number has shifted
        }
        let size = leaf.slot(slot)?.len();
        match undo.back(i) {
            UndoneRow::Remove => {
                rec.remove(slot, 1)?;
                removed_from = slot;
                free += size + pages::SLOT_SIZE;
            }
            UndoneRow::Restore { header, at, len, bytes } => {
                if bytes.len() > len + free {
                    pass.room = (i + 1 == end).then_some(bytes.len() - len);
                    break;
                }
                if rec.room() < bytes.len() + 128 {
                    break;
                }
                rec.restore(slot, &header, at as u16, len as u16, bytes)?;
                free = free + len - bytes.len();
                pass.ghosts |= header.is_ghost();
            }
        }
        pass.some = true;
        pass.end = i;
    }
    Ok(pass)
}
