//! Columns of a row that go on as they are stored: texts and bytes are borrowed from the row, what
//! is small becomes a value.
//! Guarantee: a cell stands for the value that [`RowLayout::decode_column`] gives, and where that
//! is an error there is no cell.

use std::sync::Arc;

use super::{RowLayout, RowParts, RowPlace};
use crate::error::Corrupt;
use crate::rowcell::{Cell, decode_bytes_into, decode_fixed_into, latin_text, wide_text};
use crate::units;
use crate::value::Value;

/// A column of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredCell<'a> {
    Value(Value),
    /// A char or varchar that is ASCII: the bytes are the same in every code page.
    Ascii(&'a [u8]),
    /// An nchar or nvarchar: whole units of UTF-16LE.
    Wide(&'a [u8]),
    /// A binary, varbinary or another value that is held as bytes.
    Bytes(&'a [u8]),
}

impl StoredCell<'_> {
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, StoredCell::Value(Value::Null))
    }

    /// The value that it stands for.
    pub fn to_value(&self) -> Value {
        match self {
            StoredCell::Value(value) => value.clone(),
            StoredCell::Ascii(bytes) => Value::Str(latin_text(bytes)),
            StoredCell::Wide(bytes) => Value::Str(wide_text(bytes).unwrap_or_default()),
            StoredCell::Bytes(bytes) => Value::Bytes(Arc::from(*bytes)),
        }
    }
}

impl RowLayout {
    /// Whether a pointer stands for the value of some column of a row. What else is wrong with a
    /// column is told where it is read.
    ///
    /// Errors: `Short` when the row is cut off.
    #[inline]
    pub fn has_pointer(&self, row: &[u8]) -> Result<bool, Corrupt> {
        let parts = self.parts(row)?;
        let mut columns = self.variable.iter().enumerate();
        Ok(columns
            .any(|(index, &i)| matches!(parts.variable(usize::from(i), index), Ok((_, true)))))
    }

    /// The pointer that stands for a column's value; nothing where none does, and where
    /// [`RowLayout::decode_field`] is an error.
    #[inline]
    pub fn pointer<'a>(&self, parts: &RowParts<'a>, i: usize) -> Option<&'a [u8]> {
        match self.columns.get(i)?.place {
            RowPlace::Variable { index } if !parts.is_null(i) => {
                match parts.variable(i, usize::from(index)) {
                    Ok((bytes, true)) => Some(bytes),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Adds the columns of a row, in the order wanted, to what `out` has. After an error some of
    /// them may be there.
    ///
    /// Errors: as [`RowLayout::decode_some`], `OffRow` where one is a pointer.
    pub fn stored_cells<'a>(
        &self,
        row: &'a [u8],
        wanted: &[u16],
        out: &mut Vec<StoredCell<'a>>,
    ) -> Result<(), Corrupt> {
        let parts = self.parts(row)?;
        out.reserve(wanted.len());
        for &i in wanted {
            self.add_stored_cell(&parts, usize::from(i), out)?;
        }
        Ok(())
    }

    /// A value is decoded where it stays: on the way through a result it would be copied in odd
    /// pieces, which costs more than the decoding.
    #[inline]
    fn add_stored_cell<'a>(
        &self,
        parts: &RowParts<'a>,
        i: usize,
        out: &mut Vec<StoredCell<'a>>,
    ) -> Result<(), Corrupt> {
        let column = self.columns.get(i).ok_or(Corrupt::NoColumn { column: i })?;
        if parts.is_null(i) {
            out.push(StoredCell::Value(Value::Null));
            return Ok(());
        }
        let (bytes, fixed) = match column.place {
            RowPlace::Fixed { offset, width } => {
                let (from, to) = (usize::from(offset), usize::from(offset) + usize::from(width));
                if to > parts.fixed_end {
                    return Err(Corrupt::Fixed { column: i });
                }
                (parts.row.get(from..to).ok_or(Corrupt::Fixed { column: i })?, true)
            }
            RowPlace::Variable { index } => match parts.variable(i, usize::from(index))? {
                (_, true) => return Err(Corrupt::OffRow { column: i }),
                (bytes, false) => (bytes, false),
            },
        };
        match column.cell {
            Cell::Char { .. }
            | Cell::PageChar(_)
            | Cell::VarChar { .. }
            | Cell::PageVarChar { .. }
                if units::is_ascii(bytes) =>
            {
                out.push(StoredCell::Ascii(bytes));
            }
            Cell::NChar | Cell::NVarChar { .. } if bytes.len().is_multiple_of(2) => {
                out.push(StoredCell::Wide(bytes));
            }
            Cell::Binary | Cell::VarBinary { .. } => out.push(StoredCell::Bytes(bytes)),
            cell => {
                out.push(StoredCell::Value(Value::Null));
                let Some(StoredCell::Value(place)) = out.last_mut() else {
                    return Err(Corrupt::Value { column: i });
                };
                let decoded = if fixed {
                    decode_fixed_into(cell, bytes, place)
                } else {
                    decode_bytes_into(cell, bytes, place)
                };
                decoded.ok_or(Corrupt::Value { column: i })?;
            }
        }
        Ok(())
    }
}
