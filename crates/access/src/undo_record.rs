//! Undo of one log record: every row operation of it is taken back, the last first, by compensation
//! records.
//!
//! Undo is logical: an index entry is found by its key wherever it is now, a heap row through its
//! home slot. It is undone only if it still carries the version that the record made; so undoing a
//! record again after a crash skips what was undone before.

use crate::Writer;
use crate::btree::BTree;
use crate::error::AccessError;
use crate::heap::Heap;
use crate::lob;
use crate::undo::Undo;
use pages::{Lsn, PageId, PageOp, PageType, RecordView, Store};
use smallvec::SmallVec;
use std::sync::Arc;

/// Undoes the row operations and the new pages (of large values, of a root that was to move) of one
/// change record of `w`'s transaction. `undo_next` is the transaction's record before it.
/// Restartable: what was undone already is skipped.
///
/// # Errors
/// Damaged pages, I/O, the log's errors; the rollback cannot go on then.
pub fn undo_record(
    store: &Arc<Store>,
    lsn: Lsn,
    rec: &RecordView<'_>,
    w: &mut dyn Writer,
    undo_next: Lsn,
) -> Result<(), AccessError> {
    if rec.is_system() {
        return Ok(());
    }
    let mut undo = Undo::new(lsn, undo_next);
    let mut fresh: SmallVec<[PageId; 8]> = SmallVec::new();
    for op in rec.ops() {
        let op = op?;
        if op.op.is_versioned() {
            undo.push(store, op, rec.txn())?;
        } else if let PageOp::Format { kind: PageType::Lob | PageType::Index, .. } = op.op {
            fresh.push(op.page);
        }
    }
    debug_assert!(fresh.is_empty() || undo.ops.is_empty(), "a record makes rows or pages");
    if !fresh.is_empty() {
        return lob::undo_pages(store, lsn, &fresh, w, undo_next);
    }
    // Ends are exclusive: operations `..end` are still to be undone.
    let mut end = undo.ops.len();
    while end > 0 {
        end = if rec.root().is_none() {
            Heap::undo(store, &undo, end, w)?
        } else {
            BTree::undo(store, rec.root(), &undo, end, w)?
        };
    }
    Ok(())
}
