//! The stored row body: how a table's values become bytes and back.
//!
//! ```text
//! status A | status B | end of fixed part: u16 | fixed columns | column count: u16 | null bitmap
//!          | variable column count: u16 | end offset of each: u16 | variable data
//! ```
//! The variable part is there only when some variable column is not empty (status A, bit 0x20); an end offset
//! with its high bit set marks bytes that are a pointer to a value outside the row. Fixed columns take their space
//! even when NULL; bit columns share bytes; char and varchar are in their collation's code page, nchar and nvarchar UTF-16LE.
//! Guarantees: what `encode` wrote, `decode` gives back; columns added to the layout later read as NULL from older
//! rows; no bytes whatever make `decode` panic.

use crate::collation::Collation;
use crate::datatype::DataType;
use crate::error::{Corrupt, SqlError};
use crate::rowcell::{
    Cell, decode_bytes, decode_bytes_into, decode_fixed_into, encode_bytes, encode_fixed, set_text,
};
use crate::value::Value;

/// Most bytes of a row body, pointers to values outside it included.
pub const MAX_ROW: usize = 8060;
/// Bytes before the fixed columns.
const HEADER: usize = 4;
const STATUS_NULL_BITMAP: u8 = 0x10;
const STATUS_VARIABLE: u8 = 0x20;
const OFF_ROW: u16 = 0x8000;

/// A column as the row format sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnType {
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
}

/// What goes into a column: a value, or an opaque pointer to where the value is.
#[derive(Clone, Copy, Debug)]
pub enum EncodeValue<'a> {
    Value(&'a Value),
    LobPointer(&'a [u8]),
}

/// What came out of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    Value(Value),
    /// The pointer that was stored instead of the value.
    Lob(&'a [u8]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Offset from the row's start, bytes.
    Fixed { offset: u16, width: u16 },
    /// Number among the variable columns.
    Variable { index: u16 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Column {
    cell: Cell,
    place: Place,
}

/// Where each column of a table lies in its rows. Made once per table version, shared by all its rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Vec<Column>,
    types: Vec<ColumnType>,
    /// Offset of the end of the fixed columns.
    fixed_end: usize,
    /// Column numbers of the variable columns.
    variable: Vec<u16>,
    /// Stretches of neighbouring char columns, (start, end): their text is checked in one go.
    runs: Vec<(u16, u16)>,
}

/// The text of the stretch of char columns that was read last.
#[derive(Clone, Copy)]
struct RunText<'a> {
    run: usize,
    start: usize,
    /// `None` when it is not all ASCII: then each column is read on its own.
    text: Option<&'a str>,
}

/// The parts of one row, found and bounds-checked once.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    row: &'a [u8],
    fixed_end: usize,
    columns: usize,
    nulls: &'a [u8],
    /// End offsets, two bytes each.
    ends: &'a [u8],
    /// Offset of the first variable byte.
    data: usize,
}

#[inline]
fn u16_at(row: &[u8], at: usize) -> Option<usize> {
    match row.get(at..at + 2) {
        Some(&[a, b]) => Some(usize::from(u16::from_le_bytes([a, b]))),
        _ => None,
    }
}

impl<'a> Parts<'a> {
    /// Of a row's bytes.
    ///
    /// Errors: `Short` when it is cut off.
    #[inline]
    pub fn of(row: &'a [u8]) -> Result<Parts<'a>, Corrupt> {
        let short = |needed: usize| Corrupt::Short { len: row.len(), needed };
        let fixed_end = u16_at(row, 2).ok_or_else(|| short(HEADER))?;
        if fixed_end < HEADER {
            return Err(short(HEADER));
        }
        let columns = u16_at(row, fixed_end).ok_or_else(|| short(fixed_end + 2))?;
        let nulls_at = fixed_end + 2;
        let nulls_end = nulls_at + columns.div_ceil(8);
        let nulls = row.get(nulls_at..nulls_end).ok_or_else(|| short(nulls_end))?;
        if row[0] & STATUS_VARIABLE == 0 {
            return Ok(Parts { row, fixed_end, columns, nulls, ends: &[], data: nulls_end });
        }
        let count = u16_at(row, nulls_end).ok_or_else(|| short(nulls_end + 2))?;
        let data = nulls_end + 2 + 2 * count;
        let ends = row.get(nulls_end + 2..data).ok_or_else(|| short(data))?;
        Ok(Parts { row, fixed_end, columns, nulls, ends, data })
    }

    /// NULL, or not in this row because the column is younger than it.
    #[inline]
    fn is_null(&self, i: usize) -> bool {
        i >= self.columns || self.nulls.get(i / 8).is_none_or(|byte| byte >> (i % 8) & 1 == 1)
    }

    /// A variable column's bytes and whether they are a pointer.
    #[inline]
    fn variable(&self, column: usize, index: usize) -> Result<(&'a [u8], bool), Corrupt> {
        let Some(end) = u16_at(self.ends, index * 2) else {
            // Trailing empty values are not written.
            return Ok((&[], false));
        };
        let start = match index {
            0 => self.data,
            _ => u16_at(self.ends, index * 2 - 2).unwrap_or(0) & usize::from(!OFF_ROW),
        };
        let pointer = end & usize::from(OFF_ROW) != 0;
        let end = end & usize::from(!OFF_ROW);
        if start < self.data {
            return Err(Corrupt::Offset { column });
        }
        let bytes = self.row.get(start..end).ok_or(Corrupt::Offset { column })?;
        Ok((bytes, pointer))
    }
}

impl RowLayout {
    /// Lays out the columns in their order.
    pub fn new(types: &[ColumnType]) -> RowLayout {
        let mut layout = RowLayout {
            columns: Vec::with_capacity(types.len()),
            types: types.to_vec(),
            fixed_end: HEADER,
            variable: Vec::new(),
            runs: Vec::new(),
        };
        // The byte that the next bit column goes into, and the next free bit there.
        let mut bits: Option<(usize, u8)> = None;
        for (number, column) in types.iter().enumerate() {
            let place = if column.ty.is_variable() || column.ty == DataType::SqlVariant {
                layout.variable.push(number as u16);
                Place::Variable { index: (layout.variable.len() - 1) as u16 }
            } else if column.ty == DataType::Bit {
                let (offset, bit) = bits.unwrap_or((layout.fixed_end, 0));
                layout.fixed_end = layout.fixed_end.max(offset + 1);
                bits = (bit < 7).then_some((offset, bit + 1));
                layout.columns.push(Column {
                    cell: Cell::Bit { mask: 1 << bit },
                    place: Place::Fixed { offset: offset as u16, width: 1 },
                });
                continue;
            } else {
                let width = column.ty.fixed_width();
                let offset = layout.fixed_end;
                layout.fixed_end += usize::from(width);
                Place::Fixed { offset: offset as u16, width }
            };
            layout.columns.push(Column { cell: Cell::of(column.ty, column.collation), place });
        }
        layout.find_runs();
        layout
    }

    /// Numbers the stretches of char columns and tells each of them its own.
    fn find_runs(&mut self) {
        for column in &mut self.columns {
            let (Cell::Char { run }, Place::Fixed { offset, width }) = (&mut column.cell, column.place)
            else {
                continue;
            };
            let end = offset.saturating_add(width);
            match self.runs.last_mut() {
                Some(last) if last.1 == offset => last.1 = end,
                _ => self.runs.push((offset, end)),
            }
            *run = (self.runs.len() - 1) as u16;
        }
    }

    /// The text of one char column through its stretch's text; `None` when that is not all ASCII or not all there.
    #[inline]
    fn run_text<'a>(
        &self,
        parts: &Parts<'a>,
        cache: &mut RunText<'a>,
        run: u16,
        from: usize,
        to: usize,
    ) -> Option<&'a str> {
        if cache.run != usize::from(run) {
            let &(start, end) = self.runs.get(usize::from(run))?;
            // Older rows may end inside the stretch.
            let (start, end) = (usize::from(start), usize::from(end).min(parts.fixed_end));
            let bytes = parts.row.get(start..end).filter(|bytes| crate::codepage::is_ascii(bytes));
            let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
            *cache = RunText { run: usize::from(run), start, text };
        }
        cache.text?.get(from - cache.start..to - cache.start)
    }

    /// One column into its place; `Some` is the pointer that stands for it.
    #[inline(always)]
    fn decode_into<'a>(
        &self,
        parts: &Parts<'a>,
        cache: &mut Option<RunText<'a>>,
        i: usize,
        place: &mut Value,
    ) -> Result<Option<&'a [u8]>, Corrupt> {
        let column = self.columns.get(i).ok_or(Corrupt::NoColumn { column: i })?;
        if parts.is_null(i) {
            *place = Value::Null;
            return Ok(None);
        }
        match column.place {
            Place::Fixed { offset, width } => {
                let (from, to) = (usize::from(offset), usize::from(offset) + usize::from(width));
                if to > parts.fixed_end {
                    return Err(Corrupt::Fixed { column: i });
                }
                if let (Cell::Char { run }, Some(cache)) = (column.cell, cache)
                    && let Some(text) = self.run_text(parts, cache, run, from, to)
                {
                    set_text(place, text);
                    return Ok(None);
                }
                let bytes = parts.row.get(from..to).ok_or(Corrupt::Fixed { column: i })?;
                decode_fixed_into(column.cell, bytes, place).ok_or(Corrupt::Value { column: i })?;
            }
            Place::Variable { index } => {
                let (bytes, pointer) = parts.variable(i, usize::from(index))?;
                if pointer {
                    return Ok(Some(bytes));
                }
                decode_bytes_into(column.cell, bytes, place).ok_or(Corrupt::Value { column: i })?;
            }
        }
        Ok(None)
    }

    /// The columns' types, in order.
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// How many columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// True without columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Bytes of a row whose variable columns are all empty.
    pub fn min_row_size(&self) -> usize {
        self.fixed_end + 2 + self.columns.len().div_ceil(8)
    }

    /// Bytes of the largest row that this layout could want; above [`MAX_ROW`] some rows will need values outside
    /// the row or fail with 511. MAX columns count as the 8000 bytes that may stay in the row.
    pub fn max_row_size(&self) -> usize {
        let lengths = self.variable.iter().map(|&c| {
            let ty = self.types[usize::from(c)].ty;
            usize::try_from(ty.max_length()).unwrap_or(8000) + 2
        });
        let variable: usize = lengths.sum();
        self.min_row_size() + variable + if self.variable.is_empty() { 0 } else { 2 }
    }

    /// Whether rows of this layout can be copied byte for byte into a table of the other.
    pub fn same_bytes_as(&self, other: &RowLayout) -> bool {
        self.columns == other.columns && self.fixed_end == other.fixed_end
    }

    /// Whether a column may hold a pointer instead of its value.
    pub fn is_variable(&self, i: usize) -> bool {
        self.columns.get(i).is_some_and(|c| matches!(c.place, Place::Variable { .. }))
    }

    /// Appends a row of these values, one per column. MAX values are stored in the row as long as it fits.
    ///
    /// Errors: 511 when the row exceeds [`MAX_ROW`], 2628 when a string is longer than its column, 3624 when a
    /// value is not of its column's type (`convert` comes first). On an error `out` is as before.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), SqlError> {
        self.encode_from(values.len(), |i| EncodeValue::Value(&values[i]), out)
    }

    /// As [`RowLayout::encode`], with pointers for the variable columns whose values live elsewhere.
    pub fn encode_fields(&self, values: &[EncodeValue<'_>], out: &mut Vec<u8>) -> Result<(), SqlError> {
        self.encode_from(values.len(), |i| values[i], out)
    }

    fn encode_from<'a>(
        &self,
        count: usize,
        value: impl Fn(usize) -> EncodeValue<'a>,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        if count != self.columns.len() {
            return Err(SqlError::internal("a row has as many values as its table has columns"));
        }
        if self.min_row_size() > MAX_ROW {
            return Err(SqlError::row_too_large(self.min_row_size(), MAX_ROW));
        }
        let start = out.len();
        let result = self.encode_parts(&value, start, out);
        let size = out.len() - start;
        if result.is_err() || size > MAX_ROW {
            out.truncate(start);
        }
        result.and(if size > MAX_ROW { Err(SqlError::row_too_large(size, MAX_ROW)) } else { Ok(()) })
    }

    fn encode_parts<'a>(
        &self,
        value: &impl Fn(usize) -> EncodeValue<'a>,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        let head = self.min_row_size();
        out.resize(start + head, 0);
        let row = &mut out[start..];
        let fixed_end = self.fixed_end as u16;
        row[0] = STATUS_NULL_BITMAP;
        row[2..4].copy_from_slice(&fixed_end.to_le_bytes());
        let (fixed, tail) = row.split_at_mut(self.fixed_end);
        tail[..2].copy_from_slice(&(self.columns.len() as u16).to_le_bytes());
        let nulls = &mut tail[2..];
        // How many variable columns must be written: up to the last one that is not empty.
        let mut written = 0;
        for (i, column) in self.columns.iter().enumerate() {
            let item = value(i);
            if matches!(item, EncodeValue::Value(Value::Null)) {
                nulls[i / 8] |= 1 << (i % 8);
                continue;
            }
            match (column.place, item) {
                (Place::Fixed { offset, width }, EncodeValue::Value(v)) => {
                    let slot = usize::from(offset)..usize::from(offset) + usize::from(width);
                    encode_fixed(column.cell, v, &mut fixed[slot])?;
                }
                (Place::Variable { index }, EncodeValue::Value(v)) => {
                    let empty = match v {
                        Value::Str(s) => s.is_empty(),
                        Value::Bytes(b) => b.is_empty(),
                        _ => false,
                    };
                    if !empty {
                        written = usize::from(index) + 1;
                    }
                }
                (Place::Variable { index }, EncodeValue::LobPointer(_)) => written = usize::from(index) + 1,
                (Place::Fixed { .. }, EncodeValue::LobPointer(_)) => {
                    return Err(SqlError::internal("only variable columns hold pointers"));
                }
            }
        }
        if written == 0 {
            return Ok(());
        }
        row[0] |= STATUS_VARIABLE;
        self.encode_variable(value, start, written, out)
    }

    fn encode_variable<'a>(
        &self,
        value: &impl Fn(usize) -> EncodeValue<'a>,
        start: usize,
        written: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        let ends = out.len() + 2;
        out.extend_from_slice(&(written as u16).to_le_bytes());
        out.resize(ends + 2 * written, 0);
        for (index, &number) in self.variable.iter().take(written).enumerate() {
            let number = usize::from(number);
            let flag = match value(number) {
                EncodeValue::Value(Value::Null) => 0,
                EncodeValue::Value(v) => {
                    encode_bytes(self.columns[number].cell, v, out)?;
                    0
                }
                EncodeValue::LobPointer(pointer) => {
                    out.extend_from_slice(pointer);
                    OFF_ROW
                }
            };
            let end = out.len() - start;
            if end >= usize::from(OFF_ROW) {
                return Err(SqlError::row_too_large(end, MAX_ROW));
            }
            let at = ends + 2 * index;
            out[at..at + 2].copy_from_slice(&(end as u16 | flag).to_le_bytes());
        }
        Ok(())
    }

    /// One column, or the pointer that stands for it.
    pub fn decode_field<'a>(&self, row: &'a [u8], i: usize) -> Result<Field<'a>, Corrupt> {
        let mut value = Value::Null;
        let pointer = self.decode_into(&Parts::of(row)?, &mut None, i, &mut value)?;
        Ok(pointer.map_or(Field::Value(value), Field::Lob))
    }

    /// One column. Error: `OffRow` when a pointer stands for it.
    pub fn decode_column(&self, row: &[u8], i: usize) -> Result<Value, Corrupt> {
        match self.decode_field(row, i)? {
            Field::Value(value) => Ok(value),
            Field::Lob(_) => Err(Corrupt::OffRow { column: i }),
        }
    }

    /// All columns into the first [`RowLayout::len`] places of `out`. Error: `OffRow` when one is a pointer.
    pub fn decode_all(&self, row: &[u8], out: &mut [Value]) -> Result<(), Corrupt> {
        self.decode_all_with(row, out, |column, _| Err(Corrupt::OffRow { column }))
    }

    /// All columns, with a function that fetches what a pointer stands for: (column, pointer) -> value.
    pub fn decode_all_with<E: From<Corrupt>>(
        &self,
        row: &[u8],
        out: &mut [Value],
        mut fetch: impl FnMut(usize, &[u8]) -> Result<Value, E>,
    ) -> Result<(), E> {
        let parts = Parts::of(row)?;
        let mut cache = Some(RunText { run: usize::MAX, start: 0, text: None });
        for (i, place) in out.iter_mut().enumerate().take(self.columns.len()) {
            if let Some(pointer) = self.decode_into(&parts, &mut cache, i, place)? {
                *place = fetch(i, pointer)?;
            }
        }
        Ok(())
    }

    /// Column `wanted[k]` into `out[k]`. Error: `OffRow` when one is a pointer.
    pub fn decode_some(&self, row: &[u8], wanted: &[u16], out: &mut [Value]) -> Result<(), Corrupt> {
        self.decode_some_with(row, wanted, out, |column, _| Err(Corrupt::OffRow { column }))
    }

    /// As [`RowLayout::decode_some`], with a function that fetches what a pointer stands for.
    pub fn decode_some_with<E: From<Corrupt>>(
        &self,
        row: &[u8],
        wanted: &[u16],
        out: &mut [Value],
        mut fetch: impl FnMut(usize, &[u8]) -> Result<Value, E>,
    ) -> Result<(), E> {
        self.decode_parts_with(&Parts::of(row)?, wanted, out, &mut fetch)
    }

    /// As [`RowLayout::decode_some`], of a row whose parts are known.
    #[inline]
    pub fn decode_parts(&self, parts: &Parts<'_>, wanted: &[u16], out: &mut [Value]) -> Result<(), Corrupt> {
        self.decode_parts_with(parts, wanted, out, &mut |column, _: &[u8]| Err(Corrupt::OffRow { column }))
    }

    #[inline]
    fn decode_parts_with<E: From<Corrupt>>(
        &self,
        parts: &Parts<'_>,
        wanted: &[u16],
        out: &mut [Value],
        fetch: &mut impl FnMut(usize, &[u8]) -> Result<Value, E>,
    ) -> Result<(), E> {
        let mut at = 0;
        // By numbers: to put two lists side by side costs more than to decode a number.
        while let (Some(&i), Some(place)) = (wanted.get(at), out.get_mut(at)) {
            // Columns that were picked out rarely share a stretch: each is read on its own.
            if let Some(pointer) = self.decode_into(parts, &mut None, usize::from(i), place)? {
                *place = fetch(usize::from(i), pointer)?;
            }
            at += 1;
        }
        Ok(())
    }

    /// Whether a fixed column that is not a bit has a value in this row, so that it can be written in place.
    #[inline]
    pub fn has_fixed(&self, parts: &Parts<'_>, i: usize) -> bool {
        let Some(Column { cell, place: Place::Fixed { offset, width } }) = self.columns.get(i) else {
            return false;
        };
        let end = usize::from(*offset) + usize::from(*width);
        !parts.is_null(i) && end <= parts.fixed_end && !matches!(cell, Cell::Bit { .. })
    }

    /// A column's bytes as stored, for comparing without decoding; `None` for NULL, pointers, bits (they share a
    /// byte) and rows that are not sound.
    pub fn raw_column<'a>(&self, row: &'a [u8], i: usize) -> Option<&'a [u8]> {
        let parts = Parts::of(row).ok()?;
        let column = self.columns.get(i)?;
        if parts.is_null(i) || matches!(column.cell, Cell::Bit { .. }) {
            return None;
        }
        match column.place {
            Place::Fixed { offset, width } => {
                let (from, to) = (usize::from(offset), usize::from(offset) + usize::from(width));
                if to > parts.fixed_end { None } else { parts.row.get(from..to) }
            }
            Place::Variable { index } => match parts.variable(i, usize::from(index)) {
                Ok((bytes, false)) => Some(bytes),
                _ => None,
            },
        }
    }

    /// Where a fixed column's bytes lie in every row that has the column: offset and width, for writing in place.
    /// `None` for variable columns and bits.
    pub fn fixed_place(&self, i: usize) -> Option<(usize, usize)> {
        let column = self.columns.get(i)?;
        match (column.place, column.cell) {
            (_, Cell::Bit { .. }) | (Place::Variable { .. }, _) => None,
            (Place::Fixed { offset, width }, _) => Some((usize::from(offset), usize::from(width))),
        }
    }

    /// Writes a value that is not NULL over a fixed-length column of a row whose place [`RowLayout::fixed_place`] tells.
    ///
    /// Errors: 3624 when the value is not of the column's type or the column has no such place; the place may be
    /// overwritten in part then.
    pub fn put_fixed(&self, i: usize, value: &Value, place: &mut [u8]) -> Result<(), SqlError> {
        if let (Some(Column { cell: Cell::Int, .. }), Value::Int(n)) = (self.columns.get(i), value)
            && let Ok(place) = <&mut [u8; 4]>::try_from(&mut *place)
        {
            *place = n.to_le_bytes();
            return Ok(());
        }
        match self.columns.get(i) {
            Some(Column { cell, place: Place::Fixed { width, .. } })
                if !matches!(cell, Cell::Bit { .. }) && usize::from(*width) == place.len() =>
            {
                place.fill(0);
                encode_fixed(*cell, value, place)
            }
            _ => Err(SqlError::internal("only fixed columns are written in place")),
        }
    }

    /// The stored form of one column's value without a row around it: what a value outside the row consists of.
    pub fn value_to_bytes(&self, i: usize, value: &Value, out: &mut Vec<u8>) -> Result<(), SqlError> {
        match self.columns.get(i) {
            Some(column) if matches!(column.place, Place::Variable { .. }) => {
                encode_bytes(column.cell, value, out)
            }
            _ => Err(SqlError::internal("only variable columns are stored outside the row")),
        }
    }

    /// The value that [`RowLayout::value_to_bytes`] wrote.
    pub fn value_from_bytes(&self, i: usize, bytes: &[u8]) -> Result<Value, Corrupt> {
        let column = self.columns.get(i).ok_or(Corrupt::NoColumn { column: i })?;
        decode_bytes(column.cell, bytes).ok_or(Corrupt::Value { column: i })
    }
}
