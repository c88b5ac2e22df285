//! The rows of a result set, some at a time. How the values of a column are written, the code page
//! of its texts above all, is found out once for all its values; what is stored as the client wants
//! it is copied.
//! Guarantees: the bytes are those of [`TokenWriter::row`], or the error is; a row that cannot be
//! written leaves nothing, those before it stay.

use types::{CodePage, ResultRows, RowItems, StoredCell, Value};

use crate::decode::ValuePlace;
use crate::encode::{after_pointer, counted, encode_value};
use crate::error::TdsError;
use crate::plp;
use crate::text::{WireCollation, push_utf16};
use crate::token;
use crate::tokens::TokenWriter;
use crate::typeinfo::{Size, TypeInfo};
use crate::version::TdsVersion;

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ColumnContent {
    /// Texts in a code page.
    Narrow(CodePage),
    /// Texts in UTF-16LE.
    Wide,
    Bytes,
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Money,
    DateTime,
    Date,
    /// Each is looked at by itself.
    Other,
}

impl ColumnContent {
    /// Numbers and dates that are written as they are held.
    fn of_number(ty: TypeInfo) -> ColumnContent {
        match ty {
            TypeInfo::Bit => ColumnContent::Bit,
            TypeInfo::Int(1) => ColumnContent::TinyInt,
            TypeInfo::Int(2) => ColumnContent::SmallInt,
            TypeInfo::Int(4) => ColumnContent::Int,
            TypeInfo::Int(8) => ColumnContent::BigInt,
            TypeInfo::Float(8) => ColumnContent::Float,
            TypeInfo::Money(8) => ColumnContent::Money,
            TypeInfo::DateTime(8) => ColumnContent::DateTime,
            TypeInfo::Date => ColumnContent::Date,
            _ => ColumnContent::Other,
        }
    }
}

/// What stands around a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    /// Its length in two bytes, which is at most this.
    Counted(u16),
    /// A text pointer and its length in four bytes.
    Pointer,
    /// Those of one chunk.
    Chunk,
    /// Its length in a byte.
    Sized,
    /// Nothing.
    Bare,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RowColumn {
    ty: TypeInfo,
    content: ColumnContent,
    frame: Frame,
    null_len: usize,
}

impl RowColumn {
    fn of(ty: TypeInfo) -> RowColumn {
        // Texts of a page that is not supported fail one by one.
        let narrow = |collation: WireCollation| {
            collation.code_page().map_or(ColumnContent::Other, ColumnContent::Narrow)
        };
        let (content, frame) = match ty {
            TypeInfo::Char(size, collation) | TypeInfo::VarChar(Size::Bytes(size), collation) => {
                (narrow(collation), Frame::Counted(size))
            }
            TypeInfo::VarChar(Size::Max, collation) => (narrow(collation), Frame::Chunk),
            TypeInfo::Text(collation) => (narrow(collation), Frame::Pointer),
            TypeInfo::NChar(size, _) | TypeInfo::NVarChar(Size::Bytes(size), _) => {
                (ColumnContent::Wide, Frame::Counted(size))
            }
            TypeInfo::NVarChar(Size::Max, _) => (ColumnContent::Wide, Frame::Chunk),
            TypeInfo::NText(_) => (ColumnContent::Wide, Frame::Pointer),
            TypeInfo::Binary(size) | TypeInfo::VarBinary(Size::Bytes(size)) => {
                (ColumnContent::Bytes, Frame::Counted(size))
            }
            TypeInfo::VarBinary(Size::Max) => (ColumnContent::Bytes, Frame::Chunk),
            TypeInfo::Image => (ColumnContent::Bytes, Frame::Pointer),
            TypeInfo::Fixed(fixed) => (ColumnContent::of_number(fixed.nullable()), Frame::Bare),
            other => (ColumnContent::of_number(other), Frame::Sized),
        };
        RowColumn { ty, content, frame, null_len: ty.null_len() }
    }

    /// Appends a value within what stands around it.
    #[inline]
    fn put(&self, out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) -> Result<(), TdsError> {
        let whole = |out: &mut Vec<u8>| {
            value(out);
            Ok(())
        };
        match self.frame {
            Frame::Counted(limit) => counted(limit, out, whole),
            Frame::Pointer => after_pointer(ValuePlace::Row, out, whole),
            Frame::Chunk => plp::write_with(out, whole),
            Frame::Sized | Frame::Bare => whole(out),
        }
    }

    /// Appends a value of so many bytes.
    #[inline]
    fn put_bytes<const N: usize>(&self, bytes: [u8; N], out: &mut Vec<u8>) -> Result<(), TdsError> {
        if self.frame == Frame::Sized {
            out.push(N as u8);
        }
        out.extend_from_slice(&bytes);
        Ok(())
    }

    #[inline]
    fn put_value(&self, value: &Value, out: &mut Vec<u8>) -> Result<(), TdsError> {
        match (self.content, value) {
            (ColumnContent::Narrow(page), Value::Str(text)) => {
                self.put(out, |out| page.encode(text, out))
            }
            (ColumnContent::Wide, Value::Str(text)) => self.put(out, |out| push_utf16(text, out)),
            (ColumnContent::Int, Value::Int(n)) => self.put_bytes(n.to_le_bytes(), out),
            (ColumnContent::BigInt, Value::BigInt(n)) => self.put_bytes(n.to_le_bytes(), out),
            (ColumnContent::SmallInt, Value::SmallInt(n)) => self.put_bytes(n.to_le_bytes(), out),
            (ColumnContent::TinyInt, Value::TinyInt(n)) => self.put_bytes([*n], out),
            (ColumnContent::Bit, Value::Bit(bit)) => self.put_bytes([u8::from(*bit)], out),
            (ColumnContent::Float, Value::Float(f)) => self.put_bytes(f.to_le_bytes(), out),
            // The high half comes first.
            (ColumnContent::Money, Value::Money(units)) => {
                self.put_bytes(units.rotate_left(32).to_le_bytes(), out)
            }
            (ColumnContent::DateTime, Value::DateTime { days, ticks }) => {
                let ([a, b, c, d], [e, f, g, h]) = (days.to_le_bytes(), ticks.to_le_bytes());
                self.put_bytes([a, b, c, d, e, f, g, h], out)
            }
            (ColumnContent::Date, Value::Date(days)) => {
                let [a, b, c, _] = days.to_le_bytes();
                self.put_bytes([a, b, c], out)
            }
            _ => encode_value(value, &self.ty, out),
        }
    }
}

/// What a row is made of.
trait RowItem {
    fn is_null(&self) -> bool;
    fn put(&self, column: &RowColumn, out: &mut Vec<u8>) -> Result<(), TdsError>;
}

impl RowItem for Value {
    #[inline]
    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    #[inline]
    fn put(&self, column: &RowColumn, out: &mut Vec<u8>) -> Result<(), TdsError> {
        column.put_value(self, out)
    }
}

impl RowItem for StoredCell<'_> {
    #[inline]
    fn is_null(&self) -> bool {
        StoredCell::is_null(self)
    }

    #[inline]
    fn put(&self, column: &RowColumn, out: &mut Vec<u8>) -> Result<(), TdsError> {
        match (self, column.content) {
            (StoredCell::Value(value), _) => column.put_value(value, out),
            (StoredCell::Ascii(bytes), ColumnContent::Narrow(_))
            | (StoredCell::Wide(bytes), ColumnContent::Wide)
            | (StoredCell::Bytes(bytes), ColumnContent::Bytes) => {
                column.put(out, |out| out.extend_from_slice(bytes))
            }
            _ => column.put_value(&self.to_value(), out),
        }
    }
}

/// The columns of a result set, for its rows.
#[derive(Clone, Debug, Default)]
pub struct RowColumns {
    columns: Vec<RowColumn>,
    /// Bytes of the marks where all of a row is NULL.
    most_marks: usize,
    longest_row: Option<usize>,
}

impl RowColumns {
    /// Takes the columns of another result set.
    pub fn set(&mut self, types: impl Iterator<Item = TypeInfo>) {
        self.columns.clear();
        self.columns.extend(types.map(RowColumn::of));
        self.most_marks = self.columns.iter().map(|column| column.null_len).sum();
        self.longest_row = self.columns.iter().map(|column| column.ty.longest()).sum();
    }

    /// Their types.
    pub fn types(&self) -> impl Iterator<Item = TypeInfo> + '_ {
        self.columns.iter().map(|column| column.ty)
    }

    /// The bytes of values that a row has at most; nothing where one may be of any length.
    pub fn longest_row(&self) -> Option<usize> {
        self.longest_row
    }

    /// Whether the NULLs' marks take more than a bitmap of all columns.
    #[inline]
    fn nulls_pay<T: RowItem>(&self, row: &[T]) -> bool {
        let nulls = row.iter().zip(&self.columns).filter(|(item, _)| item.is_null());
        let marks: usize = nulls.map(|(_, column)| column.null_len).sum();
        marks > self.columns.len().div_ceil(8)
    }

    /// Rows until `most` bytes are written, at least one; how many.
    fn put_rows<T: RowItem>(
        &self,
        (items, count): (&[T], usize),
        version: TdsVersion,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, TdsError> {
        let width = self.columns.len();
        let bitmaps = version >= TdsVersion::V7_3B && self.most_marks > width.div_ceil(8);
        let end = out.len().saturating_add(most);
        for i in 0..count {
            let row = items.get(i * width..(i + 1) * width).ok_or(OTHER_WIDTH)?;
            let start = out.len();
            let put = if bitmaps && self.nulls_pay(row) {
                self.put_with_bitmap(row, out)
            } else {
                self.put_all(row, out)
            };
            if let Err(e) = put {
                out.truncate(start);
                return Err(e);
            }
            if out.len() >= end {
                return Ok(i + 1);
            }
        }
        Ok(count)
    }

    /// ROW.
    #[inline]
    fn put_all<T: RowItem>(&self, row: &[T], out: &mut Vec<u8>) -> Result<(), TdsError> {
        out.push(token::ROW);
        row.iter().zip(&self.columns).try_for_each(|(item, column)| item.put(column, out))
    }

    /// NBCROW.
    fn put_with_bitmap<T: RowItem>(&self, row: &[T], out: &mut Vec<u8>) -> Result<(), TdsError> {
        out.push(token::NBCROW);
        let bitmap = out.len();
        out.resize(bitmap + self.columns.len().div_ceil(8), 0);
        for (i, (item, column)) in row.iter().zip(&self.columns).enumerate() {
            if item.is_null() {
                out[bitmap + i / 8] |= 1 << (i % 8);
            } else {
                item.put(column, out)?;
            }
        }
        Ok(())
    }
}

const OTHER_WIDTH: TdsError = TdsError::Mismatch { value: "row", ty: "row of another length" };

impl TokenWriter<'_> {
    /// As [`TokenWriter::row`] for one row after another, until `most` bytes are written, but for
    /// at least one of them. How many they were.
    ///
    /// Errors: as [`TokenWriter::row`]; the rows before the one that is wrong stay.
    pub fn rows(
        &mut self,
        columns: &RowColumns,
        rows: &ResultRows<'_>,
        most: usize,
    ) -> Result<usize, TdsError> {
        if columns.columns.len() != rows.width() {
            return Err(OTHER_WIDTH);
        }
        let (version, out) = self.room();
        match rows.items() {
            RowItems::Values(values) => columns.put_rows((values, rows.len()), version, most, out),
            RowItems::Cells(cells) => columns.put_rows((cells, rows.len()), version, most, out),
        }
    }
}
