//! The rows of a result set. How the texts of a column are written, their code page above all, is
//! found out once for all its values; what is stored as the client wants it is copied.
//! Guarantee: the bytes are those of [`TokenWriter::row`], or the error is.

use types::{CodePage, StoredCell, Value};

use crate::decode::Place;
use crate::encode::{after_pointer, counted, encode_value};
use crate::error::TdsError;
use crate::plp;
use crate::text::{WireCollation, push_utf16};
use crate::tokens::{TokenWriter, token};
use crate::typeinfo::{Size, TypeInfo};
use crate::version::TdsVersion;

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    /// Texts in a code page.
    Narrow(CodePage),
    /// Texts in UTF-16LE.
    Wide,
    Bytes,
    /// Each is looked at by itself.
    Other,
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
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RowColumn {
    ty: TypeInfo,
    content: Content,
    frame: Frame,
    null_len: usize,
}

impl RowColumn {
    fn of(ty: TypeInfo) -> RowColumn {
        // Texts of a page that is not supported fail one by one.
        let narrow = |collation: WireCollation| collation.code_page().map_or(Content::Other, Content::Narrow);
        let (content, frame) = match ty {
            TypeInfo::Char(size, collation) | TypeInfo::VarChar(Size::Bytes(size), collation) => {
                (narrow(collation), Frame::Counted(size))
            }
            TypeInfo::VarChar(Size::Max, collation) => (narrow(collation), Frame::Chunk),
            TypeInfo::Text(collation) => (narrow(collation), Frame::Pointer),
            TypeInfo::NChar(size, _) | TypeInfo::NVarChar(Size::Bytes(size), _) => {
                (Content::Wide, Frame::Counted(size))
            }
            TypeInfo::NVarChar(Size::Max, _) => (Content::Wide, Frame::Chunk),
            TypeInfo::NText(_) => (Content::Wide, Frame::Pointer),
            TypeInfo::Binary(size) | TypeInfo::VarBinary(Size::Bytes(size)) => {
                (Content::Bytes, Frame::Counted(size))
            }
            TypeInfo::VarBinary(Size::Max) => (Content::Bytes, Frame::Chunk),
            TypeInfo::Image => (Content::Bytes, Frame::Pointer),
            _ => (Content::Other, Frame::Counted(0)),
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
            Frame::Pointer => after_pointer(Place::Row, out, whole),
            Frame::Chunk => plp::write_with(out, whole),
        }
    }

    #[inline]
    fn put_value(&self, value: &Value, out: &mut Vec<u8>) -> Result<(), TdsError> {
        match (self.content, value) {
            (Content::Narrow(page), Value::Str(text)) => self.put(out, |out| page.encode(text, out)),
            (Content::Wide, Value::Str(text)) => self.put(out, |out| push_utf16(text, out)),
            _ => encode_value(value, &self.ty, out),
        }
    }
}

/// What a row is made of.
trait Item {
    fn is_null(&self) -> bool;
    fn put(&self, column: &RowColumn, out: &mut Vec<u8>) -> Result<(), TdsError>;
}

impl Item for Value {
    #[inline]
    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    #[inline]
    fn put(&self, column: &RowColumn, out: &mut Vec<u8>) -> Result<(), TdsError> {
        column.put_value(self, out)
    }
}

impl Item for StoredCell<'_> {
    #[inline]
    fn is_null(&self) -> bool {
        StoredCell::is_null(self)
    }

    #[inline]
    fn put(&self, column: &RowColumn, out: &mut Vec<u8>) -> Result<(), TdsError> {
        match (self, column.content) {
            (StoredCell::Value(value), _) => column.put_value(value, out),
            (StoredCell::Ascii(bytes), Content::Narrow(_))
            | (StoredCell::Wide(bytes), Content::Wide)
            | (StoredCell::Bytes(bytes), Content::Bytes) => {
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
}

impl RowColumns {
    /// Takes the columns of another result set.
    pub fn set(&mut self, types: impl Iterator<Item = TypeInfo>) {
        self.columns.clear();
        self.columns.extend(types.map(RowColumn::of));
    }

    /// Their types.
    pub fn types(&self) -> impl Iterator<Item = TypeInfo> + '_ {
        self.columns.iter().map(|column| column.ty)
    }

    /// Whether the NULLs' marks take more than a bitmap of all columns.
    #[inline]
    fn nulls_pay<T: Item>(&self, row: &[T]) -> bool {
        let nulls = row.iter().zip(&self.columns).filter(|(item, _)| item.is_null());
        let marks: usize = nulls.map(|(_, column)| column.null_len).sum();
        marks > self.columns.len().div_ceil(8)
    }

    #[inline]
    fn put_row<T: Item>(&self, row: &[T], version: TdsVersion, out: &mut Vec<u8>) -> Result<(), TdsError> {
        if self.columns.len() != row.len() {
            return Err(TdsError::Mismatch { value: "row", ty: "row of another length" });
        }
        let start = out.len();
        let bitmap = version >= TdsVersion::V7_3B && self.nulls_pay(row);
        let put = if bitmap { self.put_with_bitmap(row, out) } else { self.put_all(row, out) };
        if put.is_err() {
            out.truncate(start);
        }
        put
    }

    /// ROW.
    #[inline]
    fn put_all<T: Item>(&self, row: &[T], out: &mut Vec<u8>) -> Result<(), TdsError> {
        out.push(token::ROW);
        row.iter().zip(&self.columns).try_for_each(|(item, column)| item.put(column, out))
    }

    /// NBCROW.
    fn put_with_bitmap<T: Item>(&self, row: &[T], out: &mut Vec<u8>) -> Result<(), TdsError> {
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

impl TokenWriter<'_> {
    /// As [`TokenWriter::row`], of a row among many.
    #[inline]
    pub fn row_of(&mut self, columns: &RowColumns, row: &[Value]) -> Result<(), TdsError> {
        let (version, out) = self.room();
        columns.put_row(row, version, out)
    }

    /// The same of a row that is stored: as if its cells were the values that they stand for.
    #[inline]
    pub fn stored_row(&mut self, columns: &RowColumns, row: &[StoredCell<'_>]) -> Result<(), TdsError> {
        let (version, out) = self.room();
        columns.put_row(row, version, out)
    }
}
