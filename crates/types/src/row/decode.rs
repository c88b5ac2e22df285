//! Bytes of a row into values: all columns, some, one, or a column's bytes as they are.
//!
//! Columns that the row does not have yet are NULL. Any bytes give values or [`Corrupt`], never a
//! panic.

use super::{Column, Field, HEADER, OFF_ROW, RowLayout, RowPlace, STATUS_VARIABLE};
use crate::error::Corrupt;
use crate::rowcell::{Cell, decode_bytes, decode_bytes_into, decode_fixed_into};
use crate::value::Value;

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
pub struct RowParts<'a> {
    pub(super) row: &'a [u8],
    pub(super) fixed_end: usize,
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

impl<'a> RowParts<'a> {
    /// Of a row's bytes.
    ///
    /// Errors: `Short` when it is cut off.
    #[inline]
    pub fn of(row: &'a [u8]) -> Result<RowParts<'a>, Corrupt> {
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
            return Ok(RowParts { row, fixed_end, columns, nulls, ends: &[], data: nulls_end });
        }
        let count = u16_at(row, nulls_end).ok_or_else(|| short(nulls_end + 2))?;
        let data = nulls_end + 2 + 2 * count;
        let ends = row.get(nulls_end + 2..data).ok_or_else(|| short(data))?;
        Ok(RowParts { row, fixed_end, columns, nulls, ends, data })
    }

    /// NULL, or not in this row because the column is younger than it.
    #[inline]
    pub(super) fn is_null(&self, i: usize) -> bool {
        i >= self.columns || self.nulls.get(i / 8).is_none_or(|byte| byte >> (i % 8) & 1 == 1)
    }

    /// A variable column's bytes and whether they are a pointer.
    #[inline]
    pub(super) fn variable(
        &self,
        column: usize,
        index: usize,
    ) -> Result<(&'a [u8], bool), Corrupt> {
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
    /// The parts of a row of this layout, for [`RowLayout::decode_parts`].
    ///
    /// Errors: `Short` when it is cut off.
    #[inline]
    pub fn parts<'a>(&self, row: &'a [u8]) -> Result<RowParts<'a>, Corrupt> {
        if self.bare { self.bare_parts(row) } else { RowParts::of(row) }
    }

    fn bare_parts<'a>(&self, row: &'a [u8]) -> Result<RowParts<'a>, Corrupt> {
        let short = |needed: usize| Corrupt::Short { len: row.len(), needed };
        let (fixed_end, columns, nulls_end) =
            (self.fixed_end, self.columns.len(), self.min_row_size());
        let nulls = row.get(fixed_end..nulls_end).ok_or_else(|| short(nulls_end))?;
        if row.len() == nulls_end {
            return Ok(RowParts { row, fixed_end, columns, nulls, ends: &[], data: nulls_end });
        }
        let data = nulls_end + 2 * self.variable.len();
        let ends = row.get(nulls_end..data).ok_or_else(|| short(data))?;
        Ok(RowParts { row, fixed_end, columns, nulls, ends, data })
    }

    /// The text of one char column through its stretch's text; `None` when that is not all ASCII or
    /// not all there.
    #[inline]
    fn run_text<'a>(
        &self,
        parts: &RowParts<'a>,
        cache: &mut RunText<'a>,
        run: u16,
        from: usize,
        to: usize,
    ) -> Option<&'a str> {
        if cache.run != usize::from(run) {
            let &(start, end) = self.runs.get(usize::from(run))?;
            // Older rows may end inside the stretch.
            let (start, end) = (usize::from(start), usize::from(end).min(parts.fixed_end));
            let bytes = parts.row.get(start..end).filter(|bytes| crate::units::is_ascii(bytes));
            let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
            *cache = RunText { run: usize::from(run), start, text };
        }
        cache.text?.get(from - cache.start..to - cache.start)
    }

    /// One column into its place; `Some` is the pointer that stands for it.
    #[inline(always)]
    fn decode_into<'a>(
        &self,
        parts: &RowParts<'a>,
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
            RowPlace::Fixed { offset, width } => {
                let (from, to) = (usize::from(offset), usize::from(offset) + usize::from(width));
                if to > parts.fixed_end {
                    return Err(Corrupt::Fixed { column: i });
                }
                if let (Cell::Char { run }, Some(cache)) = (column.cell, cache)
                    && let Some(text) = self.run_text(parts, cache, run, from, to)
                {
                    place.set_text(text);
                    return Ok(None);
                }
                let bytes = parts.row.get(from..to).ok_or(Corrupt::Fixed { column: i })?;
                decode_fixed_into(column.cell, bytes, place).ok_or(Corrupt::Value { column: i })?;
            }
            RowPlace::Variable { index } => {
                let (bytes, pointer) = parts.variable(i, usize::from(index))?;
                if pointer {
                    return Ok(Some(bytes));
                }
                decode_bytes_into(column.cell, bytes, place).ok_or(Corrupt::Value { column: i })?;
            }
        }
        Ok(None)
    }

    /// One column, or the pointer that stands for it.
    pub fn decode_field<'a>(&self, row: &'a [u8], i: usize) -> Result<Field<'a>, Corrupt> {
        let mut value = Value::Null;
        let pointer = self.decode_into(&self.parts(row)?, &mut None, i, &mut value)?;
        Ok(pointer.map_or(Field::Value(value), Field::Lob))
    }

    /// One column. Error: `OffRow` when a pointer stands for it.
    pub fn decode_column(&self, row: &[u8], i: usize) -> Result<Value, Corrupt> {
        match self.decode_field(row, i)? {
            Field::Value(value) => Ok(value),
            Field::Lob(_) => Err(Corrupt::OffRow { column: i }),
        }
    }

    /// All columns into the first [`RowLayout::len`] places of `out`. Error: `OffRow` when one is a
    /// pointer.
    pub fn decode_all(&self, row: &[u8], out: &mut [Value]) -> Result<(), Corrupt> {
        self.decode_all_with(row, out, |column, _| Err(Corrupt::OffRow { column }))
    }

    /// All columns, with a function that fetches what a pointer stands for: (column, pointer) ->
    /// value.
    pub fn decode_all_with<E: From<Corrupt>>(
        &self,
        row: &[u8],
        out: &mut [Value],
        mut fetch: impl FnMut(usize, &[u8]) -> Result<Value, E>,
    ) -> Result<(), E> {
        let parts = self.parts(row)?;
        let mut cache = Some(RunText { run: usize::MAX, start: 0, text: None });
        for (i, place) in out.iter_mut().enumerate().take(self.columns.len()) {
            if let Some(pointer) = self.decode_into(&parts, &mut cache, i, place)? {
                *place = fetch(i, pointer)?;
            }
        }
        Ok(())
    }

    /// Column `wanted[k]` into `out[k]`. Error: `OffRow` when one is a pointer.
    pub fn decode_some(
        &self,
        row: &[u8],
        wanted: &[u16],
        out: &mut [Value],
    ) -> Result<(), Corrupt> {
        self.decode_some_with(row, wanted, out, |column, _| Err(Corrupt::OffRow { column }))
    }

    /// As [`RowLayout::decode_some`], with a function that fetches what a pointer stands for.
    pub(crate) fn decode_some_with<E: From<Corrupt>>(
        &self,
        row: &[u8],
        wanted: &[u16],
        out: &mut [Value],
        mut fetch: impl FnMut(usize, &[u8]) -> Result<Value, E>,
    ) -> Result<(), E> {
        self.decode_parts_with(&self.parts(row)?, wanted, out, &mut fetch)
    }

    /// As [`RowLayout::decode_some`], of a row whose parts are known.
    #[inline]
    pub fn decode_parts(
        &self,
        parts: &RowParts<'_>,
        wanted: &[u16],
        out: &mut [Value],
    ) -> Result<(), Corrupt> {
        self.decode_parts_with(parts, wanted, out, &mut |column, _: &[u8]| {
            Err(Corrupt::OffRow { column })
        })
    }

    #[inline]
    fn decode_parts_with<E: From<Corrupt>>(
        &self,
        parts: &RowParts<'_>,
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

    /// Whether a fixed column that is not a bit has a value in this row, so that it can be written
    /// in place.
    #[inline]
    pub fn has_fixed(&self, parts: &RowParts<'_>, i: usize) -> bool {
        let Some(Column { cell, place: RowPlace::Fixed { offset, width } }) = self.columns.get(i)
        else {
            return false;
        };
        let end = usize::from(*offset) + usize::from(*width);
        !parts.is_null(i) && end <= parts.fixed_end && !matches!(cell, Cell::Bit { .. })
    }

    /// A column's bytes as stored, for comparing without decoding; `None` for NULL, pointers, bits
    /// (they share a byte) and rows that are not sound.
    pub fn raw_column<'a>(&self, row: &'a [u8], i: usize) -> Option<&'a [u8]> {
        let parts = self.parts(row).ok()?;
        let column = self.columns.get(i)?;
        if parts.is_null(i) || matches!(column.cell, Cell::Bit { .. }) {
            return None;
        }
        self.cell_bytes(&parts, i)
    }

    /// The value that [`RowLayout::value_to_bytes`] wrote.
    pub fn value_from_bytes(&self, i: usize, bytes: &[u8]) -> Result<Value, Corrupt> {
        let column = self.columns.get(i).ok_or(Corrupt::NoColumn { column: i })?;
        decode_bytes(column.cell, bytes).ok_or(Corrupt::Value { column: i })
    }
}
