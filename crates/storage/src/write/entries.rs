//! The entries of a row in the nonclustered indexes: keys, values, what a second one under a key is
//! told. Guarantees: an entry that is to be deleted and is not there is 8646, not ignored; included
//! values never make an entry too long: the largest are left to the base row where it would be.

use super::{RowWriter, WriteContext};
use crate::entry::EntryFormat;
use crate::{IndexStore, TableStore, access_error};
use access::{MAX_ENTRY_LEN, MAX_KEY_LEN, Outcome, ReadMode};
use catalog::{Db, LEAST_OUTSIDE, RowFilter};
use std::sync::Arc;
use types::{EncodeValue, MAX_ROW, SqlError, Value, encode_key_part, msg};

/// Stands in an entry for a value that only the base row has.
const IN_BASE_ROW: &[u8] = &[0];

/// A row as its index entries see it: what goes in, or what has to go.
#[derive(Clone, Copy, Debug)]
pub enum Image<'r> {
    New { values: &'r [Value], locator: &'r [u8] },
    Old { values: &'r [Value], locator: &'r [u8] },
}

impl RowWriter {
    /// Puts a row's entries into the indexes that `wanted` names, or takes them out: of those with
    /// a filter where the row satisfies it.
    pub fn entries(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: Image<'_>,
        wanted: &dyn Fn(&IndexStore) -> bool,
    ) -> Result<(), SqlError> {
        let (Image::New { values, locator } | Image::Old { values, locator }) = row;
        for index in cx.store.indexes.iter().filter(|i| wanted(i) && i.admits(values)) {
            entry_key(index, values, locator, &mut self.entry_key);
            match row {
                Image::New { .. } => {
                    entry_value(index, values, locator, self.entry_key.len(), &mut self.entry)?;
                    self.insert_entry(cx, index, values)?;
                }
                Image::Old { .. } => self.delete_entry(cx, index)?,
            }
        }
        Ok(())
    }

    /// Inserts `self.entry` under `self.entry_key`.
    fn insert_entry(
        &mut self,
        cx: &mut WriteContext<'_>,
        index: &IndexStore,
        values: &[Value],
    ) -> Result<(), SqlError> {
        loop {
            let outcome = index.tree.insert(cx.txn, &self.entry_key, &self.entry);
            match outcome.map_err(|e| cx.error(e))? {
                Outcome::Done(()) => return Ok(()),
                Outcome::Wait(other) => cx.wait(other)?,
                Outcome::Locked => cx.wait_for_lock()?,
                Outcome::Duplicate => {
                    self.repeated = Some(index.def.index_id);
                    return Err(duplicate(cx.store, &index.def, values));
                }
                Outcome::Changed | Outcome::Missing => {
                    return Err(SqlError::internal("an entry met a row that it did not look for"));
                }
            }
        }
    }

    /// Deletes the entry with `self.entry_key`. The base row is ours, so no other transaction can
    /// be changing it; one that has locked it is waited for.
    fn delete_entry(
        &mut self,
        cx: &mut WriteContext<'_>,
        index: &IndexStore,
    ) -> Result<(), SqlError> {
        let (db, store) = (cx.db, cx.store);
        let fail = |e| access_error(db, e);
        loop {
            let found = index
                .tree
                .fetch(&self.entry_key, ReadMode::Current, &mut self.batch)
                .map_err(fail)?;
            if !found || self.batch.is_ghost(0) {
                return Err(no_entry(db, store, index));
            }
            let header = self.batch.header(0);
            match index.tree.delete(cx.txn, &self.entry_key, &header).map_err(fail)? {
                Outcome::Done(()) => return Ok(()),
                Outcome::Locked => cx.wait_for_lock()?,
                _ => return Err(no_entry(db, store, index)),
            }
        }
    }
}

/// Whether an index holds one of the columns, or has rows by it.
pub fn touches(index: &IndexStore, columns: &[usize]) -> bool {
    let tested = |filter: &Arc<RowFilter>| filter.columns().any(|c| columns.contains(&c));
    index.columns.iter().any(|c| columns.contains(c))
        || index.def.filter.as_ref().is_some_and(tested)
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

/// The value of a row's entry, whose key has so many bytes.
pub fn entry_value(
    index: &IndexStore,
    values: &[Value],
    locator: &[u8],
    key: usize,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    let format = &index.format;
    let (keys, included) = format.row_columns();
    let columns = keys.iter().chain(included);
    let mut fields: smallvec::SmallVec<[EncodeValue<'_>; 8]> =
        columns.map(|c| EncodeValue::Value(&values[*c])).collect();
    let room = MAX_ENTRY_LEN.saturating_sub(key.min(MAX_KEY_LEN) + format.behind_row(locator));
    match format.row().encode_fields(&fields, out) {
        // A key that is too long is refused by the tree.
        Ok(()) if key > MAX_KEY_LEN || out.len() <= room => {}
        Err(e) if e.number != 511 => return Err(e),
        _ => {
            shorten(format, &mut fields, MAX_ROW.min(room))?;
            out.clear();
            format.row().encode_fields(&fields, out)?;
        }
    }
    format.end_value(locator, out);
    Ok(())
}

/// Leaves the largest included values of an entry to the base row until it has room.
fn shorten(
    format: &EntryFormat,
    fields: &mut [EncodeValue<'_>],
    room: usize,
) -> Result<(), SqlError> {
    let layout = format.row();
    let (mut bytes, mut scratch) = (vec![0; fields.len()], Vec::new());
    for (at, field) in fields.iter().enumerate().filter(|(at, _)| layout.is_variable(*at)) {
        if let EncodeValue::Value(value) = field {
            bytes[at] = layout.stored_len(at, value, &mut scratch)?;
        }
    }
    let mut size = layout.row_size(|at| bytes[at]);
    let mut order: Vec<usize> = (format.row_columns().0.len()..fields.len()).collect();
    order.retain(|at| bytes[*at] > LEAST_OUTSIDE);
    order.sort_by_key(|at| std::cmp::Reverse(bytes[*at]));
    for at in order {
        if size <= room {
            break;
        }
        size -= bytes[at] - IN_BASE_ROW.len();
        fields[at] = EncodeValue::LobPointer(IN_BASE_ROW);
    }
    Ok(())
}

/// 8646: a row has no entry in an index.
fn no_entry(db: &Db, store: &TableStore, index: &IndexStore) -> SqlError {
    SqlError::of(
        msg::INDEX_ENTRY_MISSING,
        [&index.def.index_id, &store.table.object_id, &db.name()],
    )
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
            return SqlError::of(msg::DUPLICATE_KEY_ROW, [&object, &index.name, &key]);
        }
    };
    SqlError::of(msg::DUPLICATE_KEY_OF_CONSTRAINT, [&kind, &index.name, &object, &key])
}
