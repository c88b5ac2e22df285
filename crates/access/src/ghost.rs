//! Ghost cleanup: deleted rows go for good once every snapshot sees the delete.

use crate::btree::BTree;
use crate::error::AccessError;
use crate::heap::Heap;
use pages::{PageError, PageId, PageType, Store, TxnId, Unit, pfs_level};
use std::sync::Arc;

/// What a visit to a page did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Ghosts removed.
    pub removed: usize,
    /// Ghosts that somebody may still need: visit the page again later.
    pub remaining: usize,
    /// The page was an empty leaf and left its index.
    pub unlinked: bool,
}

/// Removes from a page the ghosts whose transactions are `< oldest`: every snapshot, present and future, must see
/// them, and they must have ended. A page that is not the unit's any more, or not there, is left
/// alone.
///
/// # Errors
/// Damaged pages, I/O, the log's errors.
pub fn cleanup_page(
    store: &Arc<Store>,
    unit: &Unit,
    page: PageId,
    oldest: TxnId,
) -> Result<Cleanup, AccessError> {
    let latched = match store.write(page) {
        // Its file has become shorter, or is gone.
        Err(PageError::NoSuchPage { .. }) => return Ok(Cleanup::default()),
        latched => latched?,
    };
    if latched.unit() != unit.id() {
        return Ok(Cleanup::default());
    }
    if latched.ghost_count() == 0 {
        if latched.page_type() == Some(PageType::Data) {
            // Undo has emptied slots and could not tell the unit.
            unit.note_level(page, pfs_level(latched.free_bytes()));
        }
        return Ok(Cleanup::default());
    }
    match latched.page_type() {
        Some(PageType::Index) if latched.level() == 0 && !latched.root().is_none() => {
            // A root that has moved left its old place in the other nodes' headers.
            let root = if unit.root().is_none() { latched.root() } else { unit.root() };
            BTree::open(Arc::clone(store), unit.clone(), root).cleanup(latched, oldest)
        }
        Some(PageType::Data) => Heap::new(Arc::clone(store), unit.clone()).cleanup(latched, oldest),
        _ => Ok(Cleanup::default()),
    }
}
