//! Ghost cleanup: deleted rows go for good once every snapshot sees the delete, and pages without
//! rows with them.

use crate::btree::BTree;
use crate::cleanup::PageCleanup;
use crate::error::AccessError;
use crate::heap::Heap;
use crate::space::is_gone;
use pages::{Page, PageId, PageType, Store, TxnId, Unit};
use std::collections::HashSet;
use std::sync::Arc;

/// Removes from a page the ghosts whose transactions are `< oldest`: every snapshot, present and
/// future, must see them, and they must have ended. A page that is not the unit's any more, or not
/// there, is left alone.
///
/// # Errors
/// Damaged pages, I/O, the log's errors.
pub fn cleanup_page(
    store: &Arc<Store>,
    unit: &Unit,
    page: PageId,
    oldest: TxnId,
) -> Result<PageCleanup, AccessError> {
    let latched = match store.write(page) {
        // Its file has become shorter, or is gone.
        Err(e) if is_gone(store, page, &e) => return Ok(PageCleanup::default()),
        latched => latched?,
    };
    if latched.unit() != unit.id() {
        return Ok(PageCleanup::default());
    }
    match latched.page_type() {
        Some(PageType::Index) if latched.level() == 0 && !latched.root().is_none() => {
            if latched.ghost_count() == 0 && latched.slot_count() > 0 {
                return Ok(PageCleanup::default());
            }
            BTree::open(Arc::clone(store), unit.clone(), root_of(unit, &latched))
                .cleanup(latched, oldest)
        }
        Some(PageType::Data) => Heap::new(Arc::clone(store), unit.clone()).cleanup(latched, oldest),
        _ => Ok(PageCleanup::default()),
    }
}

/// A root that has moved left its old place in the other nodes' headers.
fn root_of(unit: &Unit, leaf: &Page) -> PageId {
    if unit.root().is_none() { leaf.root() } else { unit.root() }
}

/// Takes those of the leaves out of their index that are still empty; returns how many.
///
/// # Errors
/// Damaged pages, I/O, the log's errors.
pub fn unlink_empty(
    store: &Arc<Store>,
    unit: &Unit,
    leaves: &HashSet<PageId>,
) -> Result<usize, AccessError> {
    let Some(&any) = leaves.iter().next() else { return Ok(0) };
    let root = match store.read(any) {
        Err(e) if is_gone(store, any, &e) => return Ok(0),
        page => root_of(unit, &*page?),
    };
    if root.is_none() {
        return Ok(0);
    }
    BTree::open(Arc::clone(store), unit.clone(), root).unlink_empty(leaves)
}
