//! The record that is being undone: its row operations, what each of them replaced, and the
//! compensation records by which they are taken back.
//!
//! Of the compensation records of one record only the last names the record to undo next; the
//! others name the record itself.

use crate::error::AccessError;
use crate::record::with_record;
use crate::rid::Rid;
use crate::version::with_earlier;
use pages::{Lsn, PageId, PageOp, RecordOp, RowHeader, Store, TxnId, needs_earlier, row_key};
use smallvec::SmallVec;

/// The row operations of the record that is being undone, with what they share.
pub(crate) struct Undo<'a> {
    pub lsn: Lsn,
    pub undo_next: Lsn,
    pub ops: SmallVec<[RecordOp<'a>; 16]>,
    /// Before images that are partly in earlier records, by the number of their operation.
    looked_up: SmallVec<[(usize, Vec<u8>); 1]>,
}

/// How one row operation is taken back.
pub(crate) enum UndoneRow<'a> {
    /// The row did not exist before.
    Remove,
    /// The row gets this header, and `bytes` for its `len` bytes at `at`.
    Restore { header: RowHeader, at: usize, len: usize, bytes: &'a [u8] },
}

impl<'a> Undo<'a> {
    /// Of the record at `lsn`, without operations yet.
    pub(crate) fn new(lsn: Lsn, undo_next: Lsn) -> Undo<'a> {
        Undo { lsn, undo_next, ops: SmallVec::new(), looked_up: SmallVec::new() }
    }

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
    pub(crate) fn push(
        &mut self,
        store: &Store,
        op: RecordOp<'a>,
        txn: TxnId,
    ) -> Result<(), AccessError> {
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
    pub(crate) fn back(&self, i: usize) -> UndoneRow<'_> {
        match self.ops[i].op {
            PageOp::Ghost { old, .. } => {
                UndoneRow::Restore { header: old, at: 0, len: 0, bytes: &[] }
            }
            PageOp::Update { old, at, before, new_bytes, .. } => {
                let found = self.looked_up.iter().find(|(op, _)| *op == i);
                let bytes = found.map_or(before.head, |(_, bytes)| bytes);
                debug_assert_eq!(bytes.len(), before.len(), "the before image is whole");
                UndoneRow::Restore { header: old, at: at.into(), len: new_bytes.len(), bytes }
            }
            PageOp::Replace { old, key, old_value, new_value, .. } => UndoneRow::Restore {
                header: old,
                at: key.map_or(0, pages::value_offset),
                len: new_value.len(),
                bytes: old_value,
            },
            _ => UndoneRow::Remove,
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
