//! A row as bytes, and its values that do not fit in it.
//! Guarantees: values of an update that are not set stay where they are outside the row, or come
//! back into it where it has room for them again; a value outside that no row has any more is
//! discarded in the transaction that made it so.

use super::{RowWriter, UNIQUIFIER, WriteContext};
use crate::{Base, TableStore, corrupt_row};
use access::lob::LobPointer;
use access::{MAX_ENTRY_LEN, MAX_KEY_LEN};
use catalog::LEAST_OUTSIDE;
use catalog::errors::db_error;
use types::row::has_overflow;
use types::{EncodeValue, Field, MAX_ROW, SqlError, Value};

/// Values of a MAX column that are longer than this many stored bytes always live outside the row.
const IN_ROW: usize = 8000;
/// Bytes of a pointer.
const POINTER: usize = 16;

/// A column whose value is outside the row, and where.
type PlacedValue = (usize, [u8; POINTER]);

impl TableStore {
    /// Appends a row if it fits with all its values in it; false when some have to go outside: then
    /// `out` is as before.
    ///
    /// Errors: 511 when no value may; those of [`types::RowLayout::encode`].
    pub fn encode_in_row(&self, values: &[Value], out: &mut Vec<u8>) -> Result<bool, SqlError> {
        let start = out.len();
        match self.table.layout.encode(values, out) {
            Err(e) if e.number == 511 && self.has_outside() => return Ok(false),
            result => result?,
        }
        let fits = self.fits_leaf(out.len() - start, values);
        if !fits {
            out.truncate(start);
        }
        Ok(fits)
    }

    /// Whether the bytes of a row of another table with this layout can be a row of this one.
    pub fn takes_bytes(&self, row: &[u8]) -> bool {
        let always = matches!(self.base, Base::Heap(_)) || row.len() + MAX_KEY_LEN <= MAX_ENTRY_LEN;
        !has_overflow(row) && (always || !self.has_outside())
    }

    /// Whether a row of so many bytes has room beside its key in a leaf. Without values that could
    /// go elsewhere the tree says so.
    #[inline]
    fn fits_leaf(&self, len: usize, values: &[Value]) -> bool {
        len + MAX_KEY_LEN <= MAX_ENTRY_LEN || !self.has_outside() || len <= self.room(values)
    }

    /// Most bytes of a row with these values.
    fn room(&self, values: &[Value]) -> usize {
        let Base::Tree(_) = self.base else { return MAX_ROW };
        let mut key = Vec::new();
        self.clustered_key(values, &mut key);
        let key = key.len() + if self.table.uniquifier { UNIQUIFIER } else { 0 };
        // The tree refuses a key that is longer.
        MAX_ROW.min(MAX_ENTRY_LEN - key.min(MAX_KEY_LEN))
    }
}

impl RowWriter {
    /// Encodes a row into `self.row`; values that do not fit go outside first.
    pub fn encode(&mut self, cx: &mut WriteContext<'_>, values: &[Value]) -> Result<(), SqlError> {
        self.encode_keeping(cx, values, Vec::new())
    }

    /// As `encode`; the columns of `placed` have their values outside the row already.
    pub(super) fn encode_keeping(
        &mut self,
        cx: &mut WriteContext<'_>,
        values: &[Value],
        placed: Vec<PlacedValue>,
    ) -> Result<(), SqlError> {
        let store = cx.store;
        self.row.clear();
        if placed.is_empty() && store.lob_columns.is_empty() {
            if store.encode_in_row(values, &mut self.row)? {
                return Ok(());
            }
        } else if placed.iter().all(|(column, _)| store.lob_columns.contains(column)) {
            let kept = |c: &usize| placed.iter().any(|(column, _)| column == c);
            let long = store.lob_columns.iter().any(|c| !kept(c) && about(&values[*c]) > IN_ROW);
            if !long {
                match store.table.layout.encode_fields(&fields(values, &placed), &mut self.row) {
                    Ok(()) if store.fits_leaf(self.row.len(), values) => return Ok(()),
                    Ok(()) => {}
                    Err(e) if e.number == 511 => {}
                    Err(e) => return Err(e),
                }
            }
        }
        let planned = ValuePlacer::of(store, values, placed)?;
        self.place(cx, values, planned)
    }

    /// Writes the values that go outside, and encodes the row.
    fn place(
        &mut self,
        cx: &mut WriteContext<'_>,
        values: &[Value],
        planned: ValuePlacer,
    ) -> Result<(), SqlError> {
        let store = cx.store;
        let ValuePlacer { leaving, mut placed, .. } = planned;
        for column in leaving {
            let large = store.lob_columns.contains(&column);
            let space = match &store.lob {
                Some(space) if large => space,
                _ if large => return Err(SqlError::internal("no space for a large value")),
                _ => store.overflow_to_write(cx.db)?,
            };
            let mut bytes = Vec::new();
            store.table.layout.value_to_bytes(column, &values[column], &mut bytes)?;
            let pointer: LobPointer = space.write(cx.txn, &bytes).map_err(|e| cx.error(e))?;
            placed.push((column, pointer.to_bytes()));
        }
        self.row.clear();
        store.table.layout.encode_fields(&fields(values, &placed), &mut self.row)
    }

    /// A row's values outside it that `self.kept` does not name are discarded: they are freed when
    /// no snapshot needs them.
    fn discard_lost(&mut self, cx: &mut WriteContext<'_>, row: &[u8]) -> Result<(), SqlError> {
        let (db, store) = (cx.db, cx.store);
        self.lost.clear();
        store.pointers(row, &mut self.lost);
        let large = (store.lob.as_ref(), &self.lost.large, &self.kept.large);
        let overflow = (store.overflow_space(db)?, &self.lost.overflow, &self.kept.overflow);
        for (space, lost, kept) in [large, overflow] {
            let Some(space) = space else { continue };
            for value in lost.iter().filter(|v| !kept.contains(v)) {
                cx.txn.discard(space, *value).map_err(|e| db_error(db, &e))?;
            }
        }
        Ok(())
    }

    /// The values outside a row that has been deleted are discarded.
    pub fn discard_values(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: &[u8],
    ) -> Result<(), SqlError> {
        if cx.store.lob_columns.is_empty() && !has_overflow(row) {
            return Ok(());
        }
        self.kept.clear();
        self.discard_lost(cx, row)
    }

    /// After an attempt to change `row` to `self.row`: which row has lost a value outside, the old
    /// one or (if it is still there) the new one that was not stored, discards it.
    pub(super) fn settle_values(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: &[u8],
        done: bool,
    ) -> Result<(), SqlError> {
        let store = cx.store;
        if store.lob_columns.is_empty() && !has_overflow(row) && !has_overflow(&self.row) {
            return Ok(());
        }
        self.kept.clear();
        if done {
            store.pointers(&self.row, &mut self.kept);
            return self.discard_lost(cx, row);
        }
        store.pointers(row, &mut self.kept);
        let unused = std::mem::take(&mut self.row);
        let result = self.discard_lost(cx, &unused);
        self.row = unused;
        result
    }
}

/// Where the columns that an update does not set keep their values outside the row.
pub(super) fn kept_pointers(
    store: &TableStore,
    row: &[u8],
    changed: &[usize],
) -> Result<Vec<PlacedValue>, SqlError> {
    let mut kept = Vec::new();
    let overflow: &[usize] = if has_overflow(row) { &store.overflow_columns } else { &[] };
    for column in store.lob_columns.iter().chain(overflow).filter(|c| !changed.contains(c)) {
        let field = store.table.layout.decode_field(row, *column);
        if let Field::Lob(bytes) = field.map_err(|e| corrupt_row(&store.table, &e))?
            && let Ok(pointer) = bytes.try_into()
        {
            kept.push((*column, pointer));
        }
    }
    Ok(kept)
}

/// Which values of a row go outside so that it fits.
struct ValuePlacer {
    /// Bytes that each column's value takes wherever it is, and those that it takes in the row.
    whole: Vec<usize>,
    inside: Vec<usize>,
    /// Columns whose values are to be written outside.
    leaving: Vec<usize>,
    /// Columns whose values are there already and stay.
    placed: Vec<PlacedValue>,
}

impl ValuePlacer {
    /// The largest values leave until the row fits. Values of columns that are not MAX ones and
    /// were outside come back, the smallest first, as long as the row has room for them.
    ///
    /// Errors: 511 when the row does not fit without all that may leave it.
    fn of(
        store: &TableStore,
        values: &[Value],
        placed: Vec<PlacedValue>,
    ) -> Result<ValuePlacer, SqlError> {
        let layout = &store.table.layout;
        let mut whole = vec![0; values.len()];
        let mut scratch = Vec::new();
        for (column, value) in values.iter().enumerate().filter(|(c, _)| layout.is_variable(*c)) {
            // Nobody asks for the length of a MAX value that stays outside.
            let stays =
                store.lob_columns.contains(&column) && placed.iter().any(|(c, _)| *c == column);
            whole[column] =
                if stays { POINTER } else { layout.stored_len(column, value, &mut scratch)? };
        }
        let inside = whole.clone();
        let mut planned = ValuePlacer { whole, inside, leaving: Vec::new(), placed };
        planned.placed.iter().for_each(|(column, _)| planned.inside[*column] = POINTER);
        let large = store.lob_columns.iter().filter(|c| planned.whole[**c] > IN_ROW);
        for column in large.copied().collect::<Vec<_>>() {
            planned.leave(column);
        }
        let room = store.room(values);
        let mut size = layout.row_size(|c| planned.inside[c]);
        let mut order: Vec<usize> =
            store.lob_columns.iter().chain(&store.overflow_columns).copied().collect();
        order.retain(|c| planned.inside[*c] > LEAST_OUTSIDE);
        order.sort_by_key(|c| std::cmp::Reverse(planned.inside[*c]));
        for column in order {
            if size <= room {
                break;
            }
            size -= planned.inside[column] - POINTER;
            planned.leave(column);
        }
        if size > room {
            return Err(SqlError::row_too_large(size, room));
        }
        planned.bring_back(store, room - size);
        Ok(planned)
    }

    fn leave(&mut self, column: usize) {
        self.inside[column] = POINTER;
        self.leaving.push(column);
    }

    /// Values come back into a row that has so many bytes left.
    fn bring_back(&mut self, store: &TableStore, mut free: usize) {
        let movable = |(column, _): &PlacedValue| store.overflow_columns.contains(column);
        let mut back: Vec<usize> =
            self.placed.iter().filter(|p| movable(p)).map(|(c, _)| *c).collect();
        back.sort_by_key(|c| self.whole[*c]);
        for column in back {
            let more = self.whole[column].saturating_sub(POINTER);
            if more > free {
                break;
            }
            free -= more;
            self.inside[column] = self.whole[column];
            self.placed.retain(|(c, _)| *c != column);
        }
    }
}

fn fields<'v>(values: &'v [Value], placed: &'v [PlacedValue]) -> Vec<EncodeValue<'v>> {
    let field = |(i, value)| match placed.iter().find(|(column, _)| *column == i) {
        Some((_, bytes)) => EncodeValue::LobPointer(bytes),
        None => EncodeValue::Value(value),
    };
    values.iter().enumerate().map(field).collect()
}

/// About how many bytes a value takes in a row.
fn about(value: &Value) -> usize {
    match value {
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        _ => 0,
    }
}
