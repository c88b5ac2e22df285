//! Writing rows of a table: encoding (large values moved out of the row), the base row, the nonclustered entries.
//! Guarantees: a row and its entries change together or the statement fails and is rolled back; a statement that meets a row of a
//! running transaction waits for it without holding a latch; a unique violation names the constraint and the key.

use super::row::fetch;
use super::{Base, IndexStore, TableStore, access_error, corrupt_row, value_rid};
use access::lob::LobPointer;
use access::{Outcome, ReadMode, Rid, RowBatch};
use catalog::errors::db_error;
use catalog::{Db, IndexFilter};
use pages::{RowHeader, TxnId};
use std::cell::Cell;
use std::ops::Bound;
use std::sync::Arc;
use txn::Txn;
use types::{EncodeValue, Field, SqlError, Value, encode_key_part};

/// Values of a MAX column that are longer than this many stored bytes always live outside the row.
const IN_ROW: usize = 8000;
/// Bytes of the uniquifier after the key of a clustered index that is not unique.
const UNIQUIFIER: usize = 4;

/// Where a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locator {
    Rid(Rid),
    Key(Vec<u8>),
}

impl Locator {
    /// As bytes, as a nonclustered entry keeps it.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Locator::Rid(rid) => rid.to_bytes().to_vec(),
            Locator::Key(key) => key.clone(),
        }
    }

    /// As a value of a plan.
    pub fn value(&self) -> Value {
        match self {
            Locator::Rid(rid) => super::rid_value(*rid),
            Locator::Key(key) => Value::bytes(key.clone()),
        }
    }

    /// From a value of a plan.
    pub fn of(value: &Value) -> Result<Locator, SqlError> {
        match value {
            Value::Bytes(key) => Ok(Locator::Key(key.to_vec())),
            other => match value_rid(other) {
                Some(rid) => Ok(Locator::Rid(rid)),
                None => Err(SqlError::internal("a value that is no locator")),
            },
        }
    }
}

/// Buffers of a statement that writes.
#[derive(Default)]
pub struct RowWriter {
    pub row: Vec<u8>,
    key: Vec<u8>,
    entry: Vec<u8>,
    entry_key: Vec<u8>,
    batch: RowBatch,
    /// Large values that a row has lost.
    lost: Vec<LobPointer>,
    /// The index whose key the last row that failed has repeated.
    pub repeated: Option<i32>,
}

/// A row as its index entries see it: what goes in, or what has to go.
#[derive(Clone, Copy, Debug)]
pub enum Image<'r> {
    New { values: &'r [Value], locator: &'r [u8] },
    Old { values: &'r [Value], locator: &'r [u8] },
}

thread_local! {
    /// Buffers between two statements of a thread: a one-row statement allocates nothing.
    static SPARE: Cell<Option<Box<RowWriter>>> = const { Cell::new(None) };
}

/// Runs `f` with buffers that are kept from statement to statement.
pub fn with_writer<T>(f: impl FnOnce(&mut RowWriter) -> T) -> T {
    let mut writer = SPARE.take().unwrap_or_default();
    let result = f(&mut writer);
    SPARE.set(Some(writer));
    result
}

/// Waits until a row's writer has ended.
pub fn wait(db: &Arc<Db>, txn: &Txn, other: TxnId) -> Result<(), SqlError> {
    txn.wait_for(other).map_err(|e| db_error(db, &e))
}

/// Waits for the lock that forbade the last change.
pub fn wait_for_lock(db: &Arc<Db>, txn: &mut Txn) -> Result<(), SqlError> {
    txn.wait_for_lock().map_err(|e| db_error(db, &e))
}

impl RowWriter {
    /// Encodes a row into `self.row`; values that do not fit go to the large value space first.
    pub fn encode(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        values: &[Value],
    ) -> Result<(), SqlError> {
        self.encode_keeping(db, txn, store, values, Vec::new())
    }

    /// As `encode`; the columns of `pointers` have their values outside the row already.
    fn encode_keeping(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        values: &[Value],
        pointers: Vec<(usize, [u8; 16])>,
    ) -> Result<(), SqlError> {
        self.row.clear();
        if store.lob_columns.is_empty() {
            return store.table.layout.encode(values, &mut self.row);
        }
        let kept = |c: &usize| pointers.iter().any(|(column, _)| column == c);
        let long = store.lob_columns.iter().any(|c| !kept(c) && stored_len(&values[*c]) > IN_ROW);
        if !long {
            match store.table.layout.encode_fields(&fields(values, &pointers), &mut self.row) {
                Err(e) if e.number == 511 => {}
                result => return result,
            }
        }
        self.encode_off_row(db, txn, store, values, pointers)
    }

    fn encode_off_row(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        values: &[Value],
        mut pointers: Vec<(usize, [u8; 16])>,
    ) -> Result<(), SqlError> {
        let Some(lob) = &store.lob else { return Err(SqlError::internal("no space for large values")) };
        let mut order = store.lob_columns.clone();
        order.retain(|c| !pointers.iter().any(|(column, _)| column == c));
        order.sort_by_key(|c| std::cmp::Reverse(stored_len(&values[*c])));
        for column in order {
            let length = stored_len(&values[column]);
            let fits = length <= IN_ROW && {
                self.row.clear();
                let fields = fields(values, &pointers);
                match store.table.layout.encode_fields(&fields, &mut self.row) {
                    Ok(()) => return Ok(()),
                    Err(e) if e.number == 511 => false,
                    Err(e) => return Err(e),
                }
            };
            if fits || length <= 24 {
                continue;
            }
            let mut bytes = Vec::with_capacity(length);
            store.table.layout.value_to_bytes(column, &values[column], &mut bytes)?;
            let pointer: LobPointer = lob.write(txn, &bytes).map_err(|e| access_error(db, e))?;
            pointers.push((column, pointer.to_bytes()));
        }
        self.row.clear();
        store.table.layout.encode_fields(&fields(values, &pointers), &mut self.row)
    }

    /// Inserts a row: base and entries. Errors: 2601, 2627.
    pub fn insert(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        values: &[Value],
    ) -> Result<(), SqlError> {
        self.encode(db, txn, store, values)?;
        let rid = match &store.base {
            Base::Heap(heap) => Some(heap.insert(txn, &self.row).map_err(|e| access_error(db, e))?),
            Base::Tree(_) => {
                self.insert_clustered(db, txn, store, values)?;
                None
            }
        };
        if store.indexes.is_empty() {
            return Ok(());
        }
        let locator = match rid {
            Some(rid) => rid.to_bytes().to_vec(),
            None => self.key.clone(),
        };
        self.entries(db, txn, store, Image::New { values, locator: &locator }, &|_| true)
    }

    /// Inserts `self.row` into the clustered index; `self.key` is its whole key then.
    fn insert_clustered(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        values: &[Value],
    ) -> Result<(), SqlError> {
        let Base::Tree(tree) = &store.base else { return Err(SqlError::internal("a heap has no key")) };
        self.key.clear();
        store.clustered_key(values, &mut self.key);
        let prefix = self.key.len();
        let mut uniquifier = 0u32;
        loop {
            if store.table.uniquifier {
                self.key.truncate(prefix);
                self.key.extend_from_slice(&uniquifier.to_be_bytes());
            }
            match tree.insert(txn, &self.key, &self.row).map_err(|e| access_error(db, e))? {
                Outcome::Done(()) => return Ok(()),
                Outcome::Wait(other) => wait(db, txn, other)?,
                Outcome::Locked => wait_for_lock(db, txn)?,
                Outcome::Duplicate if store.table.uniquifier => {
                    uniquifier = self.next_uniquifier(db, store, prefix)?;
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
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        key: &[u8],
        row: &[u8],
    ) -> Result<Vec<u8>, SqlError> {
        let Base::Tree(tree) = &store.base else { return Err(SqlError::internal("a heap has no key")) };
        let prefix = key.len().saturating_sub(UNIQUIFIER);
        self.key.clear();
        self.key.extend_from_slice(&key[..prefix]);
        loop {
            let uniquifier = self.next_uniquifier(db, store, prefix)?;
            self.key.truncate(prefix);
            self.key.extend_from_slice(&uniquifier.to_be_bytes());
            match tree.insert(txn, &self.key, row).map_err(|e| access_error(db, e))? {
                Outcome::Done(()) => return Ok(self.key.clone()),
                Outcome::Wait(other) => wait(db, txn, other)?,
                Outcome::Locked => wait_for_lock(db, txn)?,
                _ => {}
            }
        }
    }

    /// One more than the largest uniquifier of the rows with this key.
    fn next_uniquifier(&mut self, db: &Arc<Db>, store: &TableStore, prefix: usize) -> Result<u32, SqlError> {
        let Base::Tree(tree) = &store.base else { return Ok(0) };
        let lower = self.key[..prefix].to_vec();
        let upper = super::keys::after_prefix(lower.clone());
        let mut cursor =
            tree.cursor(Bound::Included(&lower), super::keys::borrowed(&upper), access::Direction::Backward);
        let more = cursor.next_batch(ReadMode::Current, &mut self.batch).map_err(|e| access_error(db, e))?;
        let last = if more { self.batch.key(0).get(prefix..prefix + UNIQUIFIER) } else { None };
        let last = last.and_then(|b| <[u8; 4]>::try_from(b).ok()).map_or(0, u32::from_be_bytes);
        last.checked_add(1).ok_or_else(|| {
            let text = "The maximum system-generated unique value for a duplicate group was exceeded for index with \
                        partition ID 0. Dropping and re-creating the index may resolve this; otherwise, use another \
                        clustering key.";
            SqlError::new(666, 16, 2, text)
        })
    }

    /// Puts a row's entries into the indexes that `wanted` names, or takes them out: of those with a filter where the row satisfies it.
    pub fn entries(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        row: Image<'_>,
        wanted: &dyn Fn(&IndexStore) -> bool,
    ) -> Result<(), SqlError> {
        let (Image::New { values, locator } | Image::Old { values, locator }) = row;
        for index in store.indexes.iter().filter(|i| wanted(i) && i.admits(values)) {
            entry_key(index, values, locator, &mut self.entry_key);
            match row {
                Image::New { .. } => {
                    entry_value(index, values, locator, &mut self.entry)?;
                    self.insert_entry(db, txn, store, index, values)?;
                }
                Image::Old { .. } => self.delete_entry(db, txn, store, index)?,
            }
        }
        Ok(())
    }

    /// Inserts `self.entry` under `self.entry_key`.
    fn insert_entry(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        index: &IndexStore,
        values: &[Value],
    ) -> Result<(), SqlError> {
        loop {
            let outcome = index.tree.insert(txn, &self.entry_key, &self.entry);
            match outcome.map_err(|e| access_error(db, e))? {
                Outcome::Done(()) => return Ok(()),
                Outcome::Wait(other) => wait(db, txn, other)?,
                Outcome::Locked => wait_for_lock(db, txn)?,
                Outcome::Duplicate => {
                    self.repeated = Some(index.def.index_id);
                    return Err(duplicate(store, &index.def, values));
                }
                Outcome::Changed | Outcome::Missing => {
                    return Err(SqlError::internal("an entry met a row that it did not look for"));
                }
            }
        }
    }

    /// Deletes the entry with `self.entry_key`. The base row is ours, so no other transaction can be changing it; one that has locked
    /// it is waited for.
    fn delete_entry(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        index: &IndexStore,
    ) -> Result<(), SqlError> {
        let fail = |e| access_error(db, e);
        loop {
            let found =
                index.tree.fetch(&self.entry_key, ReadMode::Current, &mut self.batch).map_err(fail)?;
            if !found || self.batch.is_ghost(0) {
                return Err(no_entry(db, store, index));
            }
            let header = self.batch.header(0);
            match index.tree.delete(txn, &self.entry_key, &header).map_err(fail)? {
                Outcome::Done(()) => return Ok(()),
                Outcome::Locked => wait_for_lock(db, txn)?,
                _ => return Err(no_entry(db, store, index)),
            }
        }
    }

    /// A row's large values that `kept` does not name are discarded: they are freed when no snapshot needs them.
    fn discard_lost(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        row: &[u8],
        kept: &[LobPointer],
    ) -> Result<(), SqlError> {
        let Some(space) = &store.lob else { return Ok(()) };
        self.lost.clear();
        store.pointers(row, &mut self.lost);
        for value in self.lost.iter().filter(|v| !kept.contains(v)) {
            txn.discard(space, *value).map_err(|e| db_error(db, &e))?;
        }
        Ok(())
    }

    /// The large values of a row that has been deleted are discarded.
    pub fn discard_values(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        row: &[u8],
    ) -> Result<(), SqlError> {
        self.discard_lost(db, txn, store, row, &[])
    }

    /// Deletes a row that the caller has just read as `row`: base first, then its large values and entries.
    #[allow(clippy::too_many_arguments)] // a row is all of these
    pub fn delete(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        locator: &Locator,
        header: &RowHeader,
        row: &[u8],
        old: &[Value],
    ) -> Result<Outcome<()>, SqlError> {
        let outcome = match (&store.base, locator) {
            (Base::Heap(heap), Locator::Rid(rid)) => heap.delete(txn, *rid, header),
            (Base::Tree(tree), Locator::Key(key)) => tree.delete(txn, key, header),
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        let outcome = outcome.map_err(|e| access_error(db, e))?;
        if outcome == Outcome::Done(()) {
            self.discard_values(db, txn, store, row)?;
        }
        if outcome == Outcome::Done(()) && !store.indexes.is_empty() {
            let old = Image::Old { values: old, locator: &locator.bytes() };
            self.entries(db, txn, store, old, &|_| true)?;
        }
        Ok(outcome)
    }

    /// Changes a row that the caller has just read as `row` from `old` to `new`; `changed` are the columns that were set.
    /// What has to wait until all rows of the statement have given up their old keys is said in the result.
    #[allow(clippy::too_many_arguments)] // a row is all of these
    pub fn update(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        locator: &Locator,
        header: &RowHeader,
        row: &[u8],
        old: &[Value],
        new: &[Value],
        changed: &[usize],
    ) -> Result<Outcome<Rest>, SqlError> {
        if let Locator::Key(key) = locator
            && store.table.storage.key.iter().any(|(c, _)| changed.contains(c))
        {
            self.key.clear();
            store.clustered_key(new, &mut self.key);
            if !key.starts_with(&self.key) {
                // Another place in the index: the row is deleted here and inserted there.
                let outcome = self.delete(db, txn, store, locator, header, row, old)?;
                return Ok(outcome.map_done(Rest::Row));
            }
        }
        let kept = kept_pointers(store, row, changed)?;
        self.encode_keeping(db, txn, store, new, kept)?;
        let outcome = match (&store.base, locator) {
            (Base::Heap(heap), Locator::Rid(rid)) => heap.update(txn, *rid, header, &self.row),
            (Base::Tree(tree), Locator::Key(key)) => tree.update(txn, key, header, &self.row),
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        let outcome = outcome.map_err(|e| access_error(db, e))?;
        self.settle_values(db, txn, store, row, outcome == Outcome::Done(()))?;
        let touched = |index: &IndexStore| touches(index, changed);
        if outcome != Outcome::Done(()) || !store.indexes.iter().any(touched) {
            return Ok(outcome.map_done(Rest::Nothing));
        }
        let bytes = locator.bytes();
        self.entries(db, txn, store, Image::Old { values: old, locator: &bytes }, &touched)?;
        if store.indexes.iter().any(|i| touched(i) && i.def.unique) {
            return Ok(Outcome::Done(Rest::Entries(bytes)));
        }
        self.entries(db, txn, store, Image::New { values: new, locator: &bytes }, &touched)?;
        Ok(Outcome::Done(Rest::Nothing))
    }

    /// After an attempt to change `row` to `self.row`: which row has lost a large value, the old one or (if it is still there)
    /// the new one that was not stored, discards it.
    fn settle_values(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        row: &[u8],
        done: bool,
    ) -> Result<(), SqlError> {
        if store.lob_columns.is_empty() {
            return Ok(());
        }
        let mut kept = Vec::new();
        if done {
            store.pointers(&self.row, &mut kept);
            return self.discard_lost(db, txn, store, row, &kept);
        }
        store.pointers(row, &mut kept);
        let unused = std::mem::take(&mut self.row);
        let result = self.discard_lost(db, txn, store, &unused, &kept);
        self.row = unused;
        result
    }

    /// Does what [`RowWriter::update`] left for later.
    pub fn finish_update(
        &mut self,
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        rest: &Rest,
        new: &[Value],
        changed: &[usize],
    ) -> Result<(), SqlError> {
        match rest {
            Rest::Nothing => Ok(()),
            Rest::Row => self.insert(db, txn, store, new),
            Rest::Entries(locator) => {
                let new = Image::New { values: new, locator };
                self.entries(db, txn, store, new, &|i| touches(i, changed))
            }
        }
    }
}

/// What is left of the update of a row: new keys may be those that other rows of the statement are giving up, so they
/// go in when all old ones are out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// The whole row, under its new clustered key.
    Row,
    /// Its entries in the changed indexes, with this locator.
    Entries(Vec<u8>),
}

/// Whether an index holds one of the columns, or has rows by it.
pub fn touches(index: &IndexStore, columns: &[usize]) -> bool {
    let tested = |filter: &Arc<IndexFilter>| filter.columns().any(|c| columns.contains(&c));
    index.columns.iter().any(|c| columns.contains(c)) || index.def.filter.as_ref().is_some_and(tested)
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

/// Reads the newest version of a row, waiting for the transaction that is changing it; false when it is deleted.
pub fn read_current(
    db: &Arc<Db>,
    txn: &Txn,
    store: &TableStore,
    locator: &Value,
    batch: &mut RowBatch,
) -> Result<bool, SqlError> {
    use access::Writer;
    loop {
        if !fetch(db, store, locator, ReadMode::Current, batch)? {
            return Ok(false);
        }
        let writer = batch.header(0).txn;
        if txn.active_elsewhere(writer) {
            wait(db, txn, writer)?;
            continue;
        }
        return Ok(!batch.is_ghost(0));
    }
}

/// Where the columns that an update does not set keep their values outside the row.
fn kept_pointers(
    store: &TableStore,
    row: &[u8],
    changed: &[usize],
) -> Result<Vec<(usize, [u8; 16])>, SqlError> {
    let mut kept = Vec::new();
    for column in store.lob_columns.iter().filter(|c| !changed.contains(c)) {
        let field = store.table.layout.decode_field(row, *column);
        if let Field::Lob(bytes) = field.map_err(|e| corrupt_row(&store.table, &e))?
            && let Ok(pointer) = bytes.try_into()
        {
            kept.push((*column, pointer));
        }
    }
    Ok(kept)
}

fn fields<'v>(values: &'v [Value], pointers: &'v [(usize, [u8; 16])]) -> Vec<EncodeValue<'v>> {
    let field = |(i, value)| match pointers.iter().find(|(column, _)| *column == i) {
        Some((_, bytes)) => EncodeValue::LobPointer(bytes),
        None => EncodeValue::Value(value),
    };
    values.iter().enumerate().map(field).collect()
}

/// About how many bytes a value takes in a row.
fn stored_len(value: &Value) -> usize {
    match value {
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        _ => 0,
    }
}

/// 8646: a row has no entry in an index.
fn no_entry(db: &Db, store: &TableStore, index: &IndexStore) -> SqlError {
    let text = format!(
        "Unable to find index entry in index ID {}, of table {}, in database '{}'. The indicated index is corrupt or \
         there is a problem with the current update plan. Run DBCC CHECKDB or DBCC CHECKTABLE.",
        index.def.index_id,
        store.table.object_id,
        db.name()
    );
    SqlError::new(8646, 21, 1, text)
}

/// The key of a row's entry.
pub fn entry_key(index: &IndexStore, values: &[Value], locator: &[u8], out: &mut Vec<u8>) {
    out.clear();
    for (part, (column, _)) in index.parts.iter().zip(&index.def.key) {
        encode_key_part(&values[*column], part, out);
    }
    if !index.def.unique {
        out.extend_from_slice(locator);
    }
}

/// The value of a row's entry.
pub fn entry_value(
    index: &IndexStore,
    values: &[Value],
    locator: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    let locator = Value::bytes(locator.to_vec());
    let fields: smallvec::SmallVec<[EncodeValue<'_>; 8]> =
        index.columns.iter().map(|c| &values[*c]).chain([&locator]).map(EncodeValue::Value).collect();
    index.layout.encode_fields(&fields, out)
}

/// 2627 for a constraint, 2601 for an index.
pub fn duplicate(store: &TableStore, index: &catalog::IndexDef, values: &[Value]) -> SqlError {
    let table = &store.table;
    let shown = index.key.iter().map(|(column, _)| {
        let text = types::display::format_value(&values[*column], table.columns[*column].ty);
        if values[*column].is_null() { "<NULL>".to_owned() } else { text.trim_end().to_owned() }
    });
    let key = shown.collect::<Vec<_>>().join(", ");
    let object = format!("{}.{}", table.schema, table.name);
    let kind = match (index.primary_key, index.unique_constraint) {
        (Some(_), _) => "PRIMARY KEY",
        (_, Some(_)) => "UNIQUE KEY",
        _ => {
            let text = format!(
                "Cannot insert duplicate key row in object '{object}' with unique index '{}'. The duplicate key \
                 value is ({key}).",
                index.name
            );
            return SqlError::new(2601, 14, 1, text);
        }
    };
    let text = format!(
        "Violation of {kind} constraint '{}'. Cannot insert duplicate key in object '{object}'. The duplicate key \
         value is ({key}).",
        index.name
    );
    SqlError::new(2627, 14, 1, text)
}
