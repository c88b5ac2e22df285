//! Undo of one log record: every row operation of it is taken back, the last first, by compensation
//! records.
//!
//! Undo is logical: an index entry is found by its key wherever it is now, a heap row through its
//! home slot. It is undone only if it still carries the version that the record made; so undoing a
//! record again after a crash skips what was undone before. Of the compensation records of one
//! record only the last names the record to undo next; the others name the record itself.

use crate::btree::BTree;
use crate::error::AccessError;
use crate::heap::Heap;
use crate::lob;
use crate::rid::Rid;
use crate::version::with_earlier;
use crate::{Writer, record::with_record};
use pages::{
    Lsn, PageId, PageOp, PageType, RecordOp, RecordView, RowHeader, Store, TxnId, needs_earlier,
    row_key,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// The row operations of the record that is being undone, with what they share.
pub(crate) struct Undo<'a> {
    pub lsn: Lsn,
    pub undo_next: Lsn,
    pub ops: SmallVec<[RecordOp<'a>; 16]>,
    /// Before images that are partly in earlier records, by the number of their operation.
    looked_up: SmallVec<[(usize, Vec<u8>); 1]>,
}

/// How one row operation is taken back.
pub(crate) enum Back<'a> {
    /// The row did not exist before.
    Remove,
    /// The row gets this header, and `bytes` for its `len` bytes at `at`.
    Restore { header: RowHeader, at: usize, len: usize, bytes: &'a [u8] },
}

impl<'a> Undo<'a> {
    /// What the compensation record of the operations `..=first` names as next: this record until
    /// all is undone.
    pub(crate) fn next_after(&self, first: usize) -> Lsn {
        if first == 0 { self.undo_next } else { self.lsn }
    }

    /// Whether a row is the version that operation `i` made.
    pub(crate) fn made(&self, i: usize, header: &RowHeader) -> bool {
        header.lsn == self.lsn && header.index == self.ops[i].index
    }

    /// Adds an operation, with all that taking it back needs.
    fn push(&mut self, store: &Store, op: RecordOp<'a>, txn: TxnId) -> Result<(), AccessError> {
        if let (Some(old), PageOp::Update { at, before, .. }) = (needs_earlier(&op.op), op.op) {
            let mut bytes = Vec::with_capacity(before.len());
            with_earlier(store, op.page, &old, txn, &mut Vec::new(), |earlier| {
                Ok(before.append_to(at.into(), Some(earlier), &mut bytes)?)
            })?;
            self.looked_up.push((self.ops.len(), bytes));
        }
        self.ops.push(op);
        Ok(())
    }

    /// How operation `i` is taken back.
    pub(crate) fn back(&self, i: usize) -> Back<'_> {
        match self.ops[i].op {
            PageOp::Ghost { old, .. } => Back::Restore { header: old, at: 0, len: 0, bytes: &[] },
            PageOp::Update { old, at, before, new_bytes, .. } => {
                let found = self.looked_up.iter().find(|(op, _)| *op == i);
                let bytes = found.map_or(before.head, |(_, bytes)| bytes);
                debug_assert_eq!(bytes.len(), before.len(), "the before image is whole");
                Back::Restore { header: old, at: at.into(), len: new_bytes.len(), bytes }
            }
            PageOp::Replace { old, key, old_value, new_value, .. } => Back::Restore {
                header: old,
                at: key.map_or(0, pages::value_offset),
                len: new_value.len(),
                bytes: old_value,
            },
            _ => Back::Remove,
        }
    }

    /// Key of operation `i`; the home of a forwarded heap row.
    pub(crate) fn key(&self, i: usize) -> &'a [u8] {
        row_key(&self.ops[i].op).unwrap_or_default()
    }

    /// Home of the heap row of operation `i`.
    pub(crate) fn rid(&self, i: usize) -> Rid {
        if let Ok(home) = self.key(i).try_into() {
            return Rid::from_bytes(home);
        }
        let slot = match self.ops[i].op {
            PageOp::Insert { slot, .. }
            | PageOp::Ghost { slot, .. }
            | PageOp::Update { slot, .. } => slot,
            _ => 0,
        };
        Rid { page: self.ops[i].page, slot }
    }
}

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
    let mut undo = Undo { lsn, undo_next, ops: SmallVec::new(), looked_up: SmallVec::new() };
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

/// Runs `f` with the thread's record builder set to a compensation.
pub(crate) fn compensate<T>(
    next: Lsn,
    root: PageId,
    f: impl FnOnce(&mut pages::RecordBuilder) -> Result<T, AccessError>,
) -> Result<T, AccessError> {
    with_record(|rec| {
        rec.compensation(next);
        if !root.is_none() {
            rec.root(root)?;
        }
        f(rec)
    })
}
