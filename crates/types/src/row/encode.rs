//! Values into the bytes of a row: the whole row, one fixed column in place, or one value by
//! itself.

use super::{
    Column, EncodeValue, MAX_ROW, OFF_ROW, RowLayout, RowPlace, STATUS_NULL_BITMAP,
    STATUS_OVERFLOW, STATUS_VARIABLE,
};
use crate::error::SqlError;
use crate::rowcell::{Cell, encode_bytes, encode_fixed};
use crate::value::Value;

impl RowLayout {
    /// Appends a row of these values, one per column. MAX values are stored in the row as long as
    /// it fits.
    ///
    /// Errors: 511 when the row exceeds [`MAX_ROW`], 2628 when a string is longer than its column,
    /// 3624 when a value is not of its column's type (`convert` comes first). On an error `out` is
    /// as before.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), SqlError> {
        self.encode_from(values.len(), |i| EncodeValue::Value(&values[i]), out)
    }

    /// As [`RowLayout::encode`], with pointers for the variable columns whose values live
    /// elsewhere.
    pub fn encode_fields(
        &self,
        values: &[EncodeValue<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
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
        result.and(if size > MAX_ROW {
            Err(SqlError::row_too_large(size, MAX_ROW))
        } else {
            Ok(())
        })
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
        let (fixed, tail) = row.split_at_mut(self.fixed_end);
        if !self.bare {
            fixed[0] = STATUS_NULL_BITMAP;
            fixed[2..4].copy_from_slice(&(self.fixed_end as u16).to_le_bytes());
            tail[..2].copy_from_slice(&(self.columns.len() as u16).to_le_bytes());
        }
        let nulls = &mut tail[self.count_bytes()..];
        // How many variable columns must be written: up to the last one that is not empty.
        let mut written = 0;
        for (i, column) in self.columns.iter().enumerate() {
            let item = value(i);
            if matches!(item, EncodeValue::Value(Value::Null)) {
                nulls[i / 8] |= 1 << (i % 8);
                continue;
            }
            match (column.place, item) {
                (RowPlace::Fixed { offset, width }, EncodeValue::Value(v)) => {
                    let slot = usize::from(offset)..usize::from(offset) + usize::from(width);
                    encode_fixed(column.cell, v, &mut fixed[slot])?;
                }
                (RowPlace::Variable { index }, EncodeValue::Value(v)) => {
                    let empty = match v {
                        Value::Str(s) => s.is_empty(),
                        Value::Bytes(b) => b.is_empty(),
                        _ => false,
                    };
                    if !empty {
                        written = usize::from(index) + 1;
                    }
                }
                (RowPlace::Variable { index }, EncodeValue::LobPointer(_)) => {
                    written = usize::from(index) + 1;
                    if !self.bare && !self.types[i].ty.is_lob() {
                        fixed[0] |= STATUS_OVERFLOW;
                    }
                }
                (RowPlace::Fixed { .. }, EncodeValue::LobPointer(_)) => {
                    return Err(SqlError::internal("only variable columns hold pointers"));
                }
            }
        }
        if written == 0 {
            return Ok(());
        }
        if self.bare {
            return self.encode_variable(value, start, self.variable.len(), out);
        }
        row[0] |= STATUS_VARIABLE;
        out.extend_from_slice(&(written as u16).to_le_bytes());
        self.encode_variable(value, start, written, out)
    }

    /// The ends of so many variable columns, and their data.
    fn encode_variable<'a>(
        &self,
        value: &impl Fn(usize) -> EncodeValue<'a>,
        start: usize,
        written: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        let ends = out.len();
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

    /// Writes a value that is not NULL over a fixed-length column of a row whose place
    /// [`RowLayout::fixed_place`] tells.
    ///
    /// Errors: 3624 when the value is not of the column's type or the column has no such place; the
    /// place may be overwritten in part then.
    pub fn put_fixed(&self, i: usize, value: &Value, place: &mut [u8]) -> Result<(), SqlError> {
        if let (Some(Column { cell: Cell::Int, .. }), Value::Int(n)) = (self.columns.get(i), value)
            && let Ok(place) = <&mut [u8; 4]>::try_from(&mut *place)
        {
            *place = n.to_le_bytes();
            return Ok(());
        }
        match self.columns.get(i) {
            Some(Column { cell, place: RowPlace::Fixed { width, .. } })
                if !matches!(cell, Cell::Bit { .. }) && usize::from(*width) == place.len() =>
            {
                place.fill(0);
                encode_fixed(*cell, value, place)
            }
            _ => Err(SqlError::internal("only fixed columns are written in place")),
        }
    }

    /// Bytes of a variable column's value in a row, for choosing what goes outside; `scratch` is
    /// overwritten.
    ///
    /// Errors: those of [`RowLayout::value_to_bytes`].
    pub fn stored_len(
        &self,
        i: usize,
        value: &Value,
        scratch: &mut Vec<u8>,
    ) -> Result<usize, SqlError> {
        if let (Some(Column { cell, .. }), Value::Str(text)) = (self.columns.get(i), value)
            && crate::units::is_ascii(text.as_bytes())
        {
            match cell {
                Cell::NVarChar { .. } => return Ok(text.len() * 2),
                Cell::VarChar { .. } | Cell::PageVarChar { .. } | Cell::Xml => {
                    return Ok(text.len());
                }
                _ => {}
            }
        }
        match (value, self.columns.get(i).map(|column| column.cell)) {
            (Value::Null, _) => Ok(0),
            (Value::Bytes(bytes), Some(Cell::VarBinary { .. })) => Ok(bytes.len()),
            _ => {
                scratch.clear();
                self.value_to_bytes(i, value, scratch)?;
                Ok(scratch.len())
            }
        }
    }

    /// The stored form of one column's value without a row around it: what a value outside the row
    /// consists of.
    pub fn value_to_bytes(
        &self,
        i: usize,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        match self.columns.get(i) {
            Some(column) if matches!(column.place, RowPlace::Variable { .. }) => {
                encode_bytes(column.cell, value, out)
            }
            _ => Err(SqlError::internal("only variable columns are stored outside the row")),
        }
    }
}
