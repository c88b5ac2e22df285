//! Building an index from the rows of its table: entries are collected, sorted (beyond a sort's
//! memory through run files) and loaded page by page.

use access::{IndexEntry, Outcome, ReadMode, RowBatch};
use catalog::Db;
use catalog::{IndexDef, TableDef};
use exec::operators::context::ExecCtx;
use exec::operators::external_sort::{Sorted, Sorter};
use std::ops::Bound;
use std::sync::Arc;
use storage::write::{Locator, duplicate, entry_key, entry_value};
use storage::{Base, IndexStore, TableStore, access_error, open_index};
use types::{SqlError, Value, msg};

/// Entries, and bytes of entries, that are loaded at a time.
const LOAD: usize = 4096;
const LOAD_BYTES: usize = 4 << 20;

/// Takes the rows of a table: where each is, its bytes.
pub type RowVisitor<'f> =
    &'f mut dyn FnMut(&mut ExecCtx<'_>, &Locator, &[u8]) -> Result<(), SqlError>;

/// Reads all rows of a table, newest versions, page by page. The caller holds the table's schema
/// lock, so no other transaction is writing it.
pub fn for_each_row(
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    store: &TableStore,
    f: RowVisitor<'_>,
) -> Result<(), SqlError> {
    let mut batch = RowBatch::new();
    let fail = |e| access_error(db, e);
    match &store.base {
        Base::Heap(heap) => {
            let mut scan = heap.scan().map_err(fail)?;
            while scan.next_batch(ReadMode::Dirty, &mut batch).map_err(fail)? {
                ctx.session.check_cancel()?;
                for i in 0..batch.len() {
                    f(ctx, &Locator::Rid(batch.rid(i)), batch.row(i))?;
                }
            }
        }
        Base::Tree(tree) => {
            let mut cursor =
                tree.cursor(Bound::Unbounded, Bound::Unbounded, access::Direction::Forward);
            while cursor.next_batch(ReadMode::Dirty, &mut batch).map_err(fail)? {
                ctx.session.check_cancel()?;
                for i in 0..batch.len() {
                    f(ctx, &Locator::Key(batch.key(i).to_vec()), batch.row(i))?;
                }
            }
        }
    }
    Ok(())
}

/// Fills an empty nonclustered index from its table's rows; one that is disabled stays without.
/// Errors: 1505 when a unique key would repeat.
pub fn build_index(
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    index: &Arc<IndexDef>,
) -> Result<(), SqlError> {
    if !index.is_stored() {
        return Ok(());
    }
    let base = TableStore::open(db, table)?;
    let target = open_index(db, table, index)?;
    let host = ctx.session.host();
    let share = ctx.session.shared.grants.add(ctx.session.query_memory()).share();
    let mut sorter =
        Sorter::new(host.run_files().clone(), share, None).of_session(&ctx.session.shared);
    let mut values = vec![Value::Null; table.columns.len()];
    let sources = target.sources();
    let wanted: Vec<u16> = sources.iter().map(|c| *c as u16).collect();
    let mut decoded = vec![Value::Null; wanted.len()];
    let (mut key, mut value) = (Vec::new(), Vec::new());
    for_each_row(ctx, db, &base, &mut |_, locator, row| {
        base.columns(db, row, &wanted, &mut decoded)?;
        for (column, value) in sources.iter().zip(&mut decoded) {
            values[*column] = std::mem::take(value);
        }
        if !target.admits(&values) {
            return Ok(());
        }
        let locator = locator.bytes();
        entry_key(&target, &values, &locator, &mut key);
        entry_value(&target, &values, &locator, key.len(), &mut value)?;
        sorter.push(&key, &value)
    })?;
    load(ctx, db, &base, &target, sorter.finish()?)
}

/// Entries that go in together: keys and values one after another.
#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    /// Where each key ends, where its value ends.
    ends: Vec<(usize, usize)>,
}

impl Group {
    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= LOAD || self.bytes.len() >= LOAD_BYTES
    }

    fn rows(&self) -> Vec<(&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        let entry = |(start, (key, end)): (usize, &(usize, usize))| {
            (&self.bytes[start..*key], &self.bytes[*key..*end])
        };
        starts.zip(&self.ends).map(entry).collect()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Puts sorted entries into an empty index. Error: 1505 at the first key that a unique index would
/// repeat.
fn load(
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    base: &TableStore,
    target: &IndexStore,
    mut sorted: Sorted,
) -> Result<(), SqlError> {
    let mut group = Group::default();
    let mut last: Option<Vec<u8>> = target.def.unique.then(Vec::new);
    while let Some((key, value)) = sorted.next_record()? {
        if let Some(last) = &mut last {
            if last == key {
                return Err(repeated(base, target, IndexEntry { key, value }));
            }
            last.clear();
            last.extend_from_slice(key);
        }
        group.push(key, value);
        if group.is_full() {
            load_group(ctx, db, target, &mut group)?;
        }
    }
    load_group(ctx, db, target, &mut group)
}

fn load_group(
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    target: &IndexStore,
    group: &mut Group,
) -> Result<(), SqlError> {
    ctx.session.check_cancel()?;
    let fill = if target.def.fill_factor == 0 { 100 } else { target.def.fill_factor };
    let txn = ctx.session.txn(db)?;
    let (_, outcome) =
        target.tree.insert_batch(txn, &group.rows(), fill).map_err(|e| access_error(db, e))?;
    if outcome != Outcome::Done(()) {
        return Err(SqlError::internal("a new index had entries already"));
    }
    group.clear();
    Ok(())
}

/// 1505: a unique index cannot be made over rows that repeat its key.
fn repeated(base: &TableStore, target: &IndexStore, entry: IndexEntry<'_>) -> SqlError {
    let mut values = vec![Value::Null; base.table.columns.len()];
    for (at, column) in target.columns.iter().enumerate() {
        let mut value = [Value::Null];
        if target.decode(entry, &[at as u16], &mut value).is_ok() {
            let [value] = value;
            values[*column] = value;
        }
    }
    create_repeats(base, &target.def, &values)
}

fn create_repeats(base: &TableStore, index: &IndexDef, values: &[Value]) -> SqlError {
    let text = duplicate(base, index, values).into_message();
    let key = text.rsplit_once("The duplicate key value is ").map_or("", |(_, key)| key);
    let key = key.strip_suffix('.').unwrap_or(key);
    let table = format!("{}.{}", base.table.schema, base.table.name);
    SqlError::of(msg::DUPLICATE_KEY_IN_NEW_INDEX, [&table, &index.name, &key])
}
