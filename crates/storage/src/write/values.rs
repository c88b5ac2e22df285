//! A row as bytes, and its values that do not fit in it.
//! Guarantees: values of an update that are not set stay where they are outside the row; a large value that no row has any more is
//! discarded in the transaction that made it so.

use super::RowWriter;
use crate::{TableStore, access_error, corrupt_row};
use access::lob::LobPointer;
use catalog::Db;
use catalog::errors::db_error;
use std::sync::Arc;
use txn::Txn;
use types::{EncodeValue, Field, SqlError, Value};

/// Values of a MAX column that are longer than this many stored bytes always live outside the row.
const IN_ROW: usize = 8000;

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
    pub(super) fn encode_keeping(
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

    /// After an attempt to change `row` to `self.row`: which row has lost a large value, the old one or (if it is still there)
    /// the new one that was not stored, discards it.
    pub(super) fn settle_values(
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
}

/// Where the columns that an update does not set keep their values outside the row.
pub(super) fn kept_pointers(
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
