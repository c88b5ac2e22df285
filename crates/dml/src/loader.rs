//! Set-based insertion: rows gather in an arena and go in with one log record per page.

use access::{Outcome, Rid};
use catalog::Db;
use exec::operators::rt::Rt;
use session::state::SessionCore;
use std::sync::Arc;
use storage::left::wait;
use storage::write::{Image, Locator, RowWriter, WriteContext, duplicate, wait_for_lock};
use storage::{Base, TableStore, access_error};
use txn::Txn;
use types::{SqlError, Value};

/// Rows, and bytes of rows, that are gathered before they go in.
const ROWS: usize = 1024;
const BYTES: usize = 512 << 10;
/// Bytes of values that are kept for the indexes beside them: values outside the rows are no bytes
/// of rows.
const KEPT: usize = 2 * BYTES;

/// Rows on their way into a table.
pub struct Loader<'t> {
    db: &'t Arc<Db>,
    store: &'t TableStore,
    writer: RowWriter,
    /// Rows one after another, where each ends.
    rows: Vec<u8>,
    row_ends: Vec<usize>,
    /// Clustered keys, likewise.
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    /// All values of the rows, when there are nonclustered indexes.
    values: Vec<Value>,
    /// Bytes that these have elsewhere.
    kept: usize,
    rids: Vec<Rid>,
    scratch: Vec<Value>,
    count: u64,
}

impl<'t> Loader<'t> {
    /// For a table.
    pub fn new(db: &'t Arc<Db>, store: &'t TableStore) -> Loader<'t> {
        Loader {
            db,
            store,
            writer: RowWriter::default(),
            rows: Vec::new(),
            row_ends: Vec::new(),
            keys: Vec::new(),
            key_ends: Vec::new(),
            values: Vec::new(),
            kept: 0,
            rids: Vec::new(),
            scratch: vec![Value::Null; store.table.columns.len()],
            count: 0,
        }
    }

    /// Adds a row of values, one per column, already of the columns' types.
    pub fn add(&mut self, rt: &mut Rt<'_, '_>, values: &[Value]) -> Result<(), SqlError> {
        let plain = self.store.lob_columns.is_empty();
        if !plain || !self.store.encode_in_row(values, &mut self.rows)? {
            let txn = rt.session().txn(self.db)?;
            let mut cx = WriteContext { db: self.db, txn, store: self.store };
            self.writer.encode(&mut cx, values)?;
            self.rows.extend_from_slice(&self.writer.row);
        }
        self.row_ends.push(self.rows.len());
        if matches!(self.store.base, Base::Tree(_)) {
            self.store.clustered_key(values, &mut self.keys);
            self.key_ends.push(self.keys.len());
        }
        if !self.store.indexes.is_empty() {
            self.kept += values.iter().map(Value::heap_bytes).sum::<usize>();
            self.values.extend_from_slice(values);
        }
        self.added(rt)
    }

    /// Adds a row whose bytes are those of this table's layout.
    pub fn add_bytes(&mut self, rt: &mut Rt<'_, '_>, row: &[u8]) -> Result<(), SqlError> {
        self.rows.extend_from_slice(row);
        self.row_ends.push(self.rows.len());
        if matches!(self.store.base, Base::Tree(_)) {
            for (column, _) in &self.store.table.storage.key {
                self.scratch[*column] = self.store.column(self.db, row, *column)?;
            }
            self.store.clustered_key(&self.scratch, &mut self.keys);
            self.key_ends.push(self.keys.len());
        }
        if !self.store.indexes.is_empty() {
            self.store.all_columns(self.db, row, &mut self.scratch)?;
            self.kept += self.scratch.iter().map(Value::heap_bytes).sum::<usize>();
            self.values.extend_from_slice(&self.scratch);
        }
        self.added(rt)
    }

    /// Counts a row that was inserted without the load.
    pub fn count_unloaded(&mut self) {
        self.count += 1;
    }

    fn added(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.count += 1;
        let enough = self.row_ends.len() >= ROWS || self.rows.len() >= BYTES || self.kept >= KEPT;
        if enough { self.flush(rt) } else { Ok(()) }
    }

    /// Writes what is gathered; returns how many rows were added in all.
    pub fn finish(mut self, rt: &mut Rt<'_, '_>) -> Result<u64, SqlError> {
        self.flush(rt)?;
        Ok(self.count)
    }

    fn row_values(&self, i: usize) -> &[Value] {
        let width = self.store.table.columns.len();
        self.values.get(i * width..(i + 1) * width).unwrap_or(&[])
    }

    fn flush(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        if self.row_ends.is_empty() {
            return Ok(());
        }
        rt.check_cancel()?;
        // Where there is no room they go in again, as soon as there is.
        rt.session().with_room(|session| self.write(session))?;
        self.rows.clear();
        self.row_ends.clear();
        self.keys.clear();
        self.key_ends.clear();
        self.values.clear();
        self.kept = 0;
        Ok(())
    }

    fn write(&mut self, session: &mut SessionCore) -> Result<(), SqlError> {
        let txn = session.txn(self.db)?;
        match &self.store.base {
            Base::Heap(heap) => {
                let rows: Vec<&[u8]> = slices(&self.rows, &self.row_ends).collect();
                self.rids.clear();
                heap.insert_batch(txn, &rows, &mut self.rids)
                    .map_err(|e| access_error(self.db, e))?;
                for i in 0..self.rids.len() {
                    if !self.store.indexes.is_empty() {
                        let locator = Locator::Rid(self.rids[i]).bytes();
                        self.entries(txn, i, &locator)?;
                    }
                }
            }
            Base::Tree(_) => self.flush_tree(txn)?,
        }
        Ok(())
    }

    fn entries(&mut self, txn: &mut Txn, i: usize, locator: &[u8]) -> Result<(), SqlError> {
        let width = self.store.table.columns.len();
        let values = &self.values[i * width..(i + 1) * width];
        let row = Image::New { values, locator };
        let mut cx = WriteContext { db: self.db, txn, store: self.store };
        self.writer.entries(&mut cx, row, &|_| true)
    }

    fn flush_tree(&mut self, txn: &mut Txn) -> Result<(), SqlError> {
        let Base::Tree(tree) = &self.store.base else { return Ok(()) };
        let unique = !self.store.table.uniquifier;
        let rows: Vec<&[u8]> = slices(&self.rows, &self.row_ends).collect();
        let mut keys: Vec<(Vec<u8>, usize)> = Vec::new();
        let mut order: Vec<(&[u8], usize)> = slices(&self.keys, &self.key_ends).zip(0..).collect();
        if !order.is_sorted() {
            order.sort_unstable();
        }
        if !unique {
            // Rows with one key get numbers of their own; what is in the table already is seen when
            // it collides.
            let mut number = 0u32;
            for (at, (key, row)) in order.iter().enumerate() {
                number = if at > 0 && order[at - 1].0 == *key { number + 1 } else { 0 };
                let mut whole = key.to_vec();
                whole.extend_from_slice(&number.to_be_bytes());
                keys.push((whole, *row));
            }
            order = keys.iter().map(|(key, row)| (key.as_slice(), *row)).collect();
        }
        let entries: Vec<(&[u8], &[u8])> =
            order.iter().map(|(key, row)| (*key, rows[*row])).collect();
        let mut placed: Vec<(Vec<u8>, usize)> = Vec::new();
        let mut done = 0;
        while done < entries.len() {
            let result = tree.insert_batch(txn, &entries[done..], 100);
            let (n, outcome) = result.map_err(|e| access_error(self.db, e))?;
            done += n;
            match outcome {
                Outcome::Done(()) => break,
                Outcome::Wait(other) => wait(self.db, txn, other)?,
                Outcome::Locked => wait_for_lock(self.db, txn)?,
                Outcome::Duplicate if unique => {
                    let mut values = vec![Value::Null; self.store.table.columns.len()];
                    self.store.all_columns(self.db, entries[done].1, &mut values)?;
                    return Err(duplicate(self.store, &self.store.table.storage, &values));
                }
                Outcome::Duplicate => {
                    let mut cx = WriteContext { db: self.db, txn, store: self.store };
                    let (key, row) = entries[done];
                    let key = self.writer.insert_with_uniquifier(&mut cx, key, row)?;
                    placed.push((key, order[done].1));
                    done += 1;
                }
                Outcome::Changed | Outcome::Missing => {
                    return Err(SqlError::internal("a load met a row that it did not look for"));
                }
            }
        }
        if self.store.indexes.is_empty() {
            return Ok(());
        }
        let located: Vec<(Vec<u8>, usize)> = order
            .iter()
            .map(|(key, row)| {
                let moved = placed.iter().find(|(_, r)| r == row);
                (moved.map_or_else(|| key.to_vec(), |(key, _)| key.clone()), *row)
            })
            .collect();
        for (key, row) in located {
            debug_assert!(!self.row_values(row).is_empty());
            self.entries(txn, row, &key)?;
        }
        Ok(())
    }
}

fn slices<'b>(bytes: &'b [u8], ends: &'b [usize]) -> impl Iterator<Item = &'b [u8]> {
    let mut start = 0;
    ends.iter().map(move |end| {
        let slice = &bytes[start..*end];
        start = *end;
        slice
    })
}
