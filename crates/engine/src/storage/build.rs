//! Building an index from the rows of its table: entries are collected, sorted and loaded page by page.

use super::write::{Locator, duplicate, entry_key, entry_value};
use super::{Base, IndexStore, TableStore, access_error, open_index};
use crate::catalog::{IndexDef, TableDef};
use crate::context::ExecCtx;
use crate::instance::Db;
use access::{Outcome, ReadMode, RowBatch};
use std::ops::Bound;
use std::sync::Arc;
use types::{SqlError, Value};

/// Entries loaded at a time.
const LOAD: usize = 4096;

/// Takes the rows of a table: where each is, its bytes.
pub type RowVisitor<'f> = &'f mut dyn FnMut(&mut ExecCtx<'_>, &Locator, &[u8]) -> Result<(), SqlError>;

/// Reads all rows of a table, newest versions, page by page. The caller holds the table's schema lock, so no other
/// transaction is writing it.
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
            let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, access::Direction::Forward);
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

/// Fills an empty nonclustered index from its table's rows. Errors: 1505 when a unique key would repeat.
pub fn build_index(
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    index: &Arc<IndexDef>,
) -> Result<(), SqlError> {
    let base = TableStore::open(db, table)?;
    let target = open_index(db, table, index)?;
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut values = vec![Value::Null; table.columns.len()];
    let wanted: Vec<u16> = target.columns.iter().map(|c| *c as u16).collect();
    let mut decoded = vec![Value::Null; wanted.len()];
    let mut memory = crate::exec::memory::MemoryGrant::default();
    for_each_row(ctx, db, &base, &mut |_, locator, row| {
        base.columns(db, row, &wanted, &mut decoded)?;
        for (column, value) in target.columns.iter().zip(&mut decoded) {
            values[*column] = std::mem::take(value);
        }
        let locator = locator.bytes();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        entry_key(&target, &values, &locator, &mut key);
        entry_value(&target, &values, &locator, &mut value)?;
        memory.reserve(key.len() + value.len() + 64)?;
        entries.push((key, value));
        Ok(())
    })?;
    entries.sort_unstable();
    if index.unique
        && let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0)
    {
        return Err(repeated(&base, &target, &pair[0].1));
    }
    load(ctx, db, &target, &entries)
}

fn load(
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    target: &IndexStore,
    entries: &[(Vec<u8>, Vec<u8>)],
) -> Result<(), SqlError> {
    let fill = if target.def.fill_factor == 0 { 100 } else { target.def.fill_factor };
    for group in entries.chunks(LOAD) {
        ctx.session.check_cancel()?;
        let rows: Vec<(&[u8], &[u8])> = group.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect();
        let txn = ctx.session.txn(db)?;
        let (_, outcome) = target.tree.insert_batch(txn, &rows, fill).map_err(|e| access_error(db, e))?;
        if outcome != Outcome::Done(()) {
            return Err(SqlError::internal("a new index had entries already"));
        }
    }
    Ok(())
}

/// 1505: a unique index cannot be made over rows that repeat its key.
fn repeated(base: &TableStore, target: &IndexStore, entry: &[u8]) -> SqlError {
    let mut values = vec![Value::Null; base.table.columns.len()];
    for (at, column) in target.columns.iter().enumerate() {
        if let Ok(value) = target.layout.decode_column(entry, at) {
            values[*column] = value;
        }
    }
    create_repeats(base, &target.def, &values)
}

fn create_repeats(base: &TableStore, index: &IndexDef, values: &[Value]) -> SqlError {
    let text = duplicate(base, index, values).message;
    let key = text.rsplit_once("The duplicate key value is ").map_or("", |(_, key)| key);
    let text = format!(
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '{}.{}' \
         and the index name '{}'. The duplicate key value is {key}",
        base.table.schema, base.table.name, index.name
    );
    SqlError::new(1505, 16, 1, text)
}
