//! Writing rows of a table: the base row, its large values, its nonclustered entries. Guarantees: a
//! row and its entries change together or the statement fails and is rolled back; a statement that
//! meets a row of a running transaction waits for it without holding a latch; a unique violation
//! names the constraint and the key. The owner of a lock on an entry that a change takes out is
//! waited for before the row is changed (`entry_locks`).

mod context;
mod entries;
mod entry_locks;
mod locator;
mod values;

pub use context::{StoredRow, ValueChange, WriteContext};
pub use entries::{Image, duplicate, entry_key, entry_value, touches};
pub use entry_locks::any_locked;
pub use locator::Locator;

use super::left::EndedTxns;
use super::row::fetch;
use super::{Base, IndexStore, TableStore, access_error};
use access::{Outcome, ReadMode, RowBatch};
use catalog::Db;
use catalog::errors::db_error;
use std::cell::Cell;
use std::ops::Bound;
use std::sync::Arc;
use txn::Txn;
use types::{SqlError, Value, msg};

/// Bytes of the uniquifier after the key of a clustered index that is not unique.
const UNIQUIFIER: usize = 4;

/// Buffers of a statement that writes.
#[derive(Default)]
pub struct RowWriter {
    pub row: Vec<u8>,
    key: Vec<u8>,
    entry: Vec<u8>,
    entry_key: Vec<u8>,
    batch: RowBatch,
    /// Values outside a row that it has lost.
    lost: crate::Pointers,
    /// Those that it keeps.
    kept: crate::Pointers,
    /// The index whose key the last row that failed has repeated.
    pub repeated: Option<i32>,
}

thread_local! {
    /// Buffers between two statements of a thread: a one-row statement allocates nothing.
    static SPARE: Cell<Option<Box<RowWriter>>> = const { Cell::new(None) };
}

/// Waits for the lock that forbade the last change.
pub fn wait_for_lock(db: &Arc<Db>, txn: &mut Txn) -> Result<(), SqlError> {
    txn.wait_for_lock().map_err(|e| db_error(db, &e))
}

impl RowWriter {
    /// Takes the thread's buffers, or makes new ones.
    #[inline]
    pub fn take() -> Box<RowWriter> {
        SPARE.take().unwrap_or_default()
    }

    /// Gives them back to the thread.
    #[inline]
    pub fn give(self: Box<RowWriter>) {
        SPARE.set(Some(self));
    }

    /// Inserts a row: base and entries. Errors: 2601, 2627.
    pub fn insert(&mut self, cx: &mut WriteContext<'_>, values: &[Value]) -> Result<(), SqlError> {
        self.encode(cx, values)?;
        let rid = match &cx.store.base {
            Base::Heap(heap) => Some(heap.insert(cx.txn, &self.row).map_err(|e| cx.error(e))?),
            Base::Tree(_) => {
                self.insert_clustered(cx, values)?;
                None
            }
        };
        if cx.store.indexes.is_empty() {
            return Ok(());
        }
        let locator = match rid {
            Some(rid) => rid.to_bytes().to_vec(),
            None => self.key.clone(),
        };
        self.entries(cx, Image::New { values, locator: &locator }, &|_| true)
    }

    /// Inserts `self.row` into the clustered index; `self.key` is its whole key then.
    fn insert_clustered(
        &mut self,
        cx: &mut WriteContext<'_>,
        values: &[Value],
    ) -> Result<(), SqlError> {
        let store = cx.store;
        let Base::Tree(tree) = &store.base else {
            return Err(SqlError::internal("a heap has no key"));
        };
        self.key.clear();
        store.clustered_key(values, &mut self.key);
        let prefix = self.key.len();
        let mut uniquifier = 0u32;
        loop {
            if store.table.uniquifier {
                self.key.truncate(prefix);
                self.key.extend_from_slice(&uniquifier.to_be_bytes());
            }
            match tree.insert(cx.txn, &self.key, &self.row).map_err(|e| cx.error(e))? {
                Outcome::Done(()) => return Ok(()),
                Outcome::Wait(other) => cx.wait(other)?,
                Outcome::Locked => cx.wait_for_lock()?,
                Outcome::Duplicate if store.table.uniquifier => {
                    uniquifier = self.next_uniquifier(cx.db, store, prefix)?;
                }
                Outcome::Duplicate => {
                    self.repeated = Some(store.table.storage.index_id);
                    return Err(duplicate(store, &store.table.storage, values));
                }
                Outcome::Changed | Outcome::Missing => {
                    return Err(SqlError::internal("an insert met a row that it did not look for"));
                }
            }
        }
    }

    /// Inserts a row under a key whose uniquifier is taken; returns the key that it got.
    pub fn insert_with_uniquifier(
        &mut self,
        cx: &mut WriteContext<'_>,
        key: &[u8],
        row: &[u8],
    ) -> Result<Vec<u8>, SqlError> {
        let store = cx.store;
        let Base::Tree(tree) = &store.base else {
            return Err(SqlError::internal("a heap has no key"));
        };
        let prefix = key.len().saturating_sub(UNIQUIFIER);
        self.key.clear();
        self.key.extend_from_slice(&key[..prefix]);
        loop {
            let uniquifier = self.next_uniquifier(cx.db, store, prefix)?;
            self.key.truncate(prefix);
            self.key.extend_from_slice(&uniquifier.to_be_bytes());
            match tree.insert(cx.txn, &self.key, row).map_err(|e| cx.error(e))? {
                Outcome::Done(()) => return Ok(self.key.clone()),
                Outcome::Wait(other) => cx.wait(other)?,
                Outcome::Locked => cx.wait_for_lock()?,
                _ => {}
            }
        }
    }

    /// One more than the largest uniquifier of the rows with this key.
    fn next_uniquifier(
        &mut self,
        db: &Arc<Db>,
        store: &TableStore,
        prefix: usize,
    ) -> Result<u32, SqlError> {
        let Base::Tree(tree) = &store.base else { return Ok(0) };
        let lower = self.key[..prefix].to_vec();
        let upper = super::keys::after_prefix(lower.clone());
        let mut cursor = tree.cursor(
            Bound::Included(&lower),
            super::keys::borrowed(&upper),
            access::Direction::Backward,
        );
        let more = cursor
            .next_batch(ReadMode::Current, &mut self.batch)
            .map_err(|e| access_error(db, e))?;
        let last = if more { self.batch.key(0).get(prefix..prefix + UNIQUIFIER) } else { None };
        let last = last.and_then(|b| <[u8; 4]>::try_from(b).ok()).map_or(0, u32::from_be_bytes);
        last.checked_add(1).ok_or_else(|| SqlError::of(msg::UNIQUIFIER_EXHAUSTED, []))
    }

    /// Deletes a row with the values `old`: base first, then its large values and entries.
    pub fn delete(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: StoredRow<'_>,
        old: &[Value],
    ) -> Result<Outcome<()>, SqlError> {
        self.wait_for_entries(cx, row, old, &|_| true)?;
        let outcome = match (&cx.store.base, row.locator) {
            (Base::Heap(heap), Locator::Rid(rid)) => heap.delete(cx.txn, *rid, &row.header),
            (Base::Tree(tree), Locator::Key(key)) => tree.delete(cx.txn, key, &row.header),
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        let outcome = outcome.map_err(|e| cx.error(e))?;
        if outcome == Outcome::Done(()) {
            self.discard_values(cx, row.bytes)?;
        }
        if outcome == Outcome::Done(()) && !cx.store.indexes.is_empty() {
            let old = Image::Old { values: old, locator: &row.locator.bytes() };
            self.entries(cx, old, &|_| true)?;
        }
        Ok(outcome)
    }

    /// Changes the values of a row. What has to wait until all rows of the statement have given up
    /// their old keys is in the result.
    pub fn update(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: StoredRow<'_>,
        change: ValueChange<'_>,
    ) -> Result<Outcome<RemainingWrite>, SqlError> {
        let (store, ValueChange { old, new, columns }) = (cx.store, change);
        if let Locator::Key(key) = row.locator
            && store.table.storage.key.iter().any(|(c, _)| columns.contains(c))
        {
            self.key.clear();
            store.clustered_key(new, &mut self.key);
            if !key.starts_with(&self.key) {
                // Another place in the index: the row is deleted here and inserted there.
                return Ok(self.delete(cx, row, old)?.map_done(RemainingWrite::Row));
            }
        }
        let touched = |index: &IndexStore| touches(index, columns);
        self.wait_for_entries(cx, row, old, &touched)?;
        let kept = values::kept_pointers(store, row.bytes, columns)?;
        self.encode_keeping(cx, new, kept)?;
        let outcome = match (&store.base, row.locator) {
            (Base::Heap(heap), Locator::Rid(rid)) => {
                heap.update(cx.txn, *rid, &row.header, &self.row)
            }
            (Base::Tree(tree), Locator::Key(key)) => {
                tree.update(cx.txn, key, &row.header, &self.row)
            }
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        let outcome = outcome.map_err(|e| cx.error(e))?;
        self.settle_values(cx, row.bytes, outcome == Outcome::Done(()))?;
        if outcome != Outcome::Done(()) || !store.indexes.iter().any(touched) {
            return Ok(outcome.map_done(RemainingWrite::Nothing));
        }
        let bytes = row.locator.bytes();
        self.entries(cx, Image::Old { values: old, locator: &bytes }, &touched)?;
        if store.indexes.iter().any(|i| touched(i) && i.def.unique) {
            return Ok(Outcome::Done(RemainingWrite::Entries(bytes)));
        }
        self.entries(cx, Image::New { values: new, locator: &bytes }, &touched)?;
        Ok(Outcome::Done(RemainingWrite::Nothing))
    }

    /// Does what [`RowWriter::update`] left for later; `columns` are those that were set.
    pub fn finish_update(
        &mut self,
        cx: &mut WriteContext<'_>,
        rest: &RemainingWrite,
        new: &[Value],
        columns: &[usize],
    ) -> Result<(), SqlError> {
        match rest {
            RemainingWrite::Nothing => Ok(()),
            RemainingWrite::Row => self.insert(cx, new),
            RemainingWrite::Entries(locator) => {
                let new = Image::New { values: new, locator };
                self.entries(cx, new, &|i| touches(i, columns))
            }
        }
    }
}

/// What is left of the update of a row: new keys may be those that other rows of the statement are
/// giving up, so they go in when all old ones are out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemainingWrite {
    Nothing,
    /// The whole row, under its new clustered key.
    Row,
    /// Its entries in the changed indexes, with this locator.
    Entries(Vec<u8>),
}

trait MapDone {
    fn map_done<T>(self, value: T) -> Outcome<T>;
}

impl MapDone for Outcome<()> {
    fn map_done<T>(self, value: T) -> Outcome<T> {
        match self {
            Outcome::Done(()) => Outcome::Done(value),
            Outcome::Wait(txn) => Outcome::Wait(txn),
            Outcome::Locked => Outcome::Locked,
            Outcome::Changed => Outcome::Changed,
            Outcome::Missing => Outcome::Missing,
            Outcome::Duplicate => Outcome::Duplicate,
        }
    }
}

/// Reads the newest version of a row as its writer has left it, waiting for the transaction that is
/// changing it; false when it is deleted.
pub fn read_current(
    db: &Arc<Db>,
    txn: &Txn,
    store: &TableStore,
    locator: &Value,
    batch: &mut RowBatch,
) -> Result<bool, SqlError> {
    let read = |batch: &mut RowBatch| fetch(db, store, locator, ReadMode::Current, batch);
    EndedTxns::default().row((db, txn), true, batch, read)
}
