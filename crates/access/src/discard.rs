//! Large values that no row names any more: a list of them in a B+tree of its own, and the freeing
//! of their pages.
//!
//! The transaction that replaces or deletes a value puts it on the list; a rollback takes it off
//! again, so the list holds exactly the values whose last version is going. An entry's value is
//! freed once every snapshot sees the entry's transaction: nobody can reach an older version of the
//! row then. The record that frees the first pages of a value also removes its entry, so a crash
//! leaves either the entry with what remains of the value, or neither; and no value that begins on
//! the same page later can be taken for it.

use crate::btree::node::leaf_entry;
use crate::btree::search::lower_bound;
use crate::btree::{BTree, Cursor, Direction};
use crate::error::{AccessError, corrupt};
use crate::lob::{LobPointer, LobSpace, free_pages};
use crate::record::with_record;
use crate::{Outcome, ReadMode, RowBatch, Writer};
use pages::{PageId, TxnId, Unit, UnitId};
use std::ops::Bound;

/// Unit u32 and first page (file u16, page u32), big-endian.
const KEY: usize = 10;

/// The list of discarded values of a database.
#[derive(Clone, Debug)]
pub struct DiscardedValues {
    tree: BTree,
}

/// A value on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscardedValue {
    /// The LOB space it is in, and where that unit begins.
    pub unit: UnitId,
    pub first_iam: PageId,
    pub value: LobPointer,
    /// The transaction that discarded it.
    pub txn: TxnId,
}

fn key_of(unit: UnitId, first: PageId) -> [u8; KEY] {
    let mut key = [0; KEY];
    key[..4].copy_from_slice(&unit.0.to_be_bytes());
    key[4..6].copy_from_slice(&first.file.to_be_bytes());
    key[6..].copy_from_slice(&first.page.to_be_bytes());
    key
}

impl DiscardedValue {
    fn decode(key: &[u8], value: &[u8], txn: TxnId) -> Option<DiscardedValue> {
        let (&[u0, u1, u2, u3, f0, f1, p0, p1, p2, p3], []) = key.split_first_chunk::<KEY>()?
        else {
            return None;
        };
        let first = PageId::new(u16::from_be_bytes([f0, f1]), u32::from_be_bytes([p0, p1, p2, p3]));
        let (len, iam) = value.split_first_chunk::<8>()?;
        Some(DiscardedValue {
            unit: UnitId(u32::from_be_bytes([u0, u1, u2, u3])),
            first_iam: PageId::from_bytes(iam.try_into().ok()?),
            value: LobPointer { first, len: u64::from_le_bytes(*len) },
            txn,
        })
    }
}

/// A walk over the list, in the order of the values' places.
#[derive(Debug)]
pub struct DiscardedScan {
    cursor: Cursor,
    batch: RowBatch,
}

impl DiscardedScan {
    /// Fills `out` with some of the entries, those of running transactions too; false at the end.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn next(&mut self, out: &mut Vec<DiscardedValue>) -> Result<bool, AccessError> {
        out.clear();
        if !self.cursor.next_batch(ReadMode::Dirty, &mut self.batch)? {
            return Ok(false);
        }
        let batch = &self.batch;
        for i in 0..batch.len() {
            let entry = DiscardedValue::decode(batch.key(i), batch.row(i), batch.header(i).txn);
            out.push(entry.ok_or_else(|| corrupt(batch.page(), "entry of no discarded value"))?);
        }
        Ok(true)
    }
}

impl DiscardedValues {
    /// The list that is kept in this tree.
    pub fn new(tree: BTree) -> DiscardedValues {
        DiscardedValues { tree }
    }

    /// The tree, for checks.
    pub fn tree(&self) -> &BTree {
        &self.tree
    }

    /// Puts a value on the list: the transaction has replaced or deleted the last row version that
    /// names it.
    ///
    /// # Errors
    /// `Lob` when the value is on the list already; no space; I/O and the log's errors.
    pub fn add(
        &self,
        w: &mut dyn Writer,
        space: &LobSpace,
        value: LobPointer,
    ) -> Result<(), AccessError> {
        if value.first.is_none() {
            return Ok(());
        }
        let mut entry = [0; 14];
        entry[..8].copy_from_slice(&value.len.to_le_bytes());
        entry[8..].copy_from_slice(&space.first_iam()?.to_bytes());
        match self.tree.insert(w, &key_of(space.unit_id(), value.first), &entry)? {
            Outcome::Done(()) => Ok(()),
            _ => Err(AccessError::Lob { page: value.first, what: "value is discarded twice" }),
        }
    }

    /// All entries.
    pub fn scan(&self) -> DiscardedScan {
        self.scan_range(&[], Bound::Unbounded)
    }

    fn scan_range(&self, lower: &[u8], upper: Bound<&[u8]>) -> DiscardedScan {
        let cursor = self.tree.cursor(Bound::Included(lower), upper, Direction::Forward);
        DiscardedScan { cursor, batch: RowBatch::new() }
    }

    /// The values of one LOB space that are on the list.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn of_unit(&self, unit: UnitId) -> Result<Vec<LobPointer>, AccessError> {
        let low = unit.0.to_be_bytes();
        let high = unit.0.checked_add(1).map(u32::to_be_bytes);
        let upper = high.as_ref().map_or(Bound::Unbounded, |h| Bound::Excluded(h.as_slice()));
        let mut scan = self.scan_range(&low, upper);
        let (mut some, mut all) = (Vec::new(), Vec::new());
        while scan.next(&mut some)? {
            all.extend(some.iter().map(|d| d.value));
        }
        Ok(all)
    }

    /// Frees the pages of a value and takes it off the list; returns how many pages. Every snapshot
    /// must see the entry's transaction, which has committed. `unit` is the space's unit, `None`
    /// when that has been dropped.
    ///
    /// # Errors
    /// Damaged pages, I/O, the log's errors.
    pub fn free(&self, entry: &DiscardedValue, unit: Option<Unit>) -> Result<u64, AccessError> {
        let Some(unit) = unit else {
            self.remove(entry, None, &[])?;
            return Ok(0);
        };
        debug_assert_eq!(unit.id(), entry.unit);
        let space = LobSpace::new(self.tree.space.store.clone(), unit);
        let chain = space.remains(entry.value)?;
        let head = space.free_tail(&chain)?;
        self.remove(entry, Some(&space), head)?;
        Ok(chain.len() as u64)
    }

    /// One system record: the pages are free and the entry is gone.
    fn remove(
        &self,
        entry: &DiscardedValue,
        space: Option<&LobSpace>,
        pages: &[PageId],
    ) -> Result<(), AccessError> {
        let store = &self.tree.space.store;
        let key = key_of(entry.unit, entry.value.first);
        let mut leaf = self.tree.descend_write(&key, None)?;
        let (slot, found) = lower_bound(&leaf, &key)?;
        if !found || leaf_entry(&leaf, slot)?.header.txn != entry.txn {
            return Err(corrupt(leaf.id(), "a discarded value's entry has vanished"));
        }
        with_record(|rec| {
            rec.system();
            rec.page(leaf.id());
            rec.remove(slot, 1)?;
            match space {
                Some(space) if !pages.is_empty() => {
                    free_pages(space.space(), &mut store.system(), rec, pages, Some(&mut leaf))
                }
                _ => Ok(store.change(&mut store.system(), rec, &mut [&mut leaf]).map(drop)?),
            }
        })?;
        let (id, empty) = (leaf.id(), leaf.slot_count() == 0);
        drop(leaf);
        if empty && id != self.tree.root {
            self.tree.unlink(&key, id, TxnId(0))?;
        }
        Ok(())
    }
}
