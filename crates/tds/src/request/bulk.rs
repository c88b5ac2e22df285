//! Bulk load data: rows that arrive in pieces. Guarantees: memory is bounded by the longest row, which the caller
//! limits; a row that arrives in many pieces is looked at once per piece, not from its beginning again.

use types::Value;

use crate::column::{Column, Sender};
use crate::decode::{Place, decode_value};
use crate::error::TdsError;
use crate::limits::{Limits, MAX_COLUMNS};
use crate::plp;
use crate::reader::Reader;
use crate::tokens::token;
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// What the reader has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BulkEvent {
    /// Nothing complete: feed more.
    NeedMore,
    /// The columns are known: [`BulkReader::columns`].
    Columns,
    /// A row is in the caller's buffer.
    Row,
    /// The message is over.
    End,
}

/// How far a row that is not yet complete was looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// Bytes from the row's token on.
    at: usize,
    column: usize,
    in_chunks: bool,
    active: bool,
}

/// Takes bytes in any pieces and gives rows.
#[derive(Debug)]
pub struct BulkReader {
    version: TdsVersion,
    limit: usize,
    buffer: Vec<u8>,
    /// Bytes at the front of the buffer that are used up.
    used: usize,
    columns: Vec<Column>,
    types: Vec<TypeInfo>,
    has_columns: bool,
    scan: Scan,
    ended: bool,
    done: bool,
}

impl BulkReader {
    /// A reader at the beginning of a message; the limit is that of a row's bytes.
    pub fn new(version: TdsVersion, limits: Limits) -> BulkReader {
        BulkReader {
            version,
            limit: limits.memory,
            buffer: Vec::new(),
            used: 0,
            columns: Vec::new(),
            types: Vec::new(),
            has_columns: false,
            scan: Scan::default(),
            ended: false,
            done: false,
        }
    }

    /// Adds bytes. Take out all rows with [`BulkReader::next_row`] before more is fed: what is fed is kept.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that no more bytes come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The columns, after [`BulkEvent::Columns`].
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The next thing in the message; a row replaces what was in `row`. After an error the rest of the message
    /// cannot be read: its bytes are to be thrown away.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> Result<BulkEvent, TdsError> {
        if self.done {
            return if self.used == self.buffer.len() {
                Ok(if self.ended { BulkEvent::End } else { BulkEvent::NeedMore })
            } else {
                Err(TdsError::Malformed { what: "bulk load data after DONE", at: self.used })
            };
        }
        let Some(&first) = self.buffer.get(self.used) else {
            return Ok(if self.ended { BulkEvent::End } else { BulkEvent::NeedMore });
        };
        let result = match first {
            token::COLMETADATA if !self.has_columns => self.read_columns(),
            token::ROW | token::NBCROW if self.has_columns => self.read_row(first, row),
            token::DONE => self.read_done(),
            _ => return Err(TdsError::Malformed { what: "token of bulk load data", at: self.used }),
        };
        match result {
            Err(TdsError::Truncated { .. }) if !self.ended && !self.scan_is_complete() => {
                if self.buffer.len() - self.used > self.limit {
                    return Err(TdsError::TooLarge { what: "a row of bulk load data", limit: self.limit });
                }
                Ok(BulkEvent::NeedMore)
            }
            other => other,
        }
    }

    fn scan_is_complete(&self) -> bool {
        self.scan.active && self.scan.column == self.types.len()
    }

    fn read_columns(&mut self) -> Result<BulkEvent, TdsError> {
        let mut reader = Reader::new(&self.buffer[self.used + 1..], "columns of bulk load data");
        let columns = Column::read_all(&mut reader, self.version, Sender::BulkLoad)?;
        if columns.is_empty() || columns.len() > MAX_COLUMNS {
            return Err(reader.malformed("number of columns of bulk load data"));
        }
        self.used += 1 + reader.position();
        self.types = columns.iter().map(|c| c.ty).collect();
        self.columns = columns;
        self.has_columns = true;
        Ok(BulkEvent::Columns)
    }

    fn read_done(&mut self) -> Result<BulkEvent, TdsError> {
        let mut reader = Reader::new(&self.buffer[self.used + 1..], "DONE of bulk load data");
        reader.bytes(if self.version >= TdsVersion::V7_2 { 12 } else { 8 })?;
        self.used += 1 + reader.position();
        self.done = true;
        let mut none = Vec::new();
        self.next_row(&mut none)
    }

    fn read_row(&mut self, kind: u8, row: &mut Vec<Value>) -> Result<BulkEvent, TdsError> {
        if self.scan.active {
            self.continue_scan()?;
        }
        let mut reader = Reader::new(&self.buffer[self.used + 1..], "row of bulk load data");
        row.clear();
        match decode_row(&mut reader, kind, &self.types, row) {
            Ok(()) => {
                self.used += 1 + reader.position();
                self.scan = Scan::default();
                Ok(BulkEvent::Row)
            }
            Err(error @ TdsError::Truncated { .. }) if !self.scan.active => {
                self.scan.active = true;
                self.scan.at = 1;
                self.continue_scan()?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Walks over the values that have arrived; `Truncated` until the row is complete.
    fn continue_scan(&mut self) -> Result<(), TdsError> {
        let row = &self.buffer[self.used..];
        let has_bitmap = row.first() == Some(&token::NBCROW);
        let bitmap_len = if has_bitmap { self.types.len().div_ceil(8) } else { 0 };
        let bitmap = row.get(1..1 + bitmap_len).ok_or(TdsError::Truncated { what: "row", at: row.len() })?;
        self.scan.at = self.scan.at.max(1 + bitmap_len);
        while let Some(ty) = self.types.get(self.scan.column) {
            let i = self.scan.column;
            let is_null = has_bitmap && bitmap[i / 8] & (1 << (i % 8)) != 0;
            if !is_null {
                let rest = row.get(self.scan.at..).unwrap_or(&[]);
                let mut reader = Reader::new(rest, "row of bulk load data");
                if ty.is_chunked() {
                    self.scan.at += skip_chunks(&mut reader, &mut self.scan.in_chunks)?;
                } else {
                    skip_value(&mut reader, ty)?;
                    self.scan.at += reader.position();
                }
                if self.scan.in_chunks {
                    return Err(reader.truncated());
                }
            }
            self.scan.column += 1;
        }
        Ok(())
    }
}

/// Reads the values of a row after its token.
pub(crate) fn decode_row(
    reader: &mut Reader<'_>,
    kind: u8,
    types: &[TypeInfo],
    row: &mut Vec<Value>,
) -> Result<(), TdsError> {
    let bitmap = if kind == token::NBCROW { reader.bytes(types.len().div_ceil(8))? } else { &[] };
    for (i, ty) in types.iter().enumerate() {
        let is_null = bitmap.get(i / 8).is_some_and(|bits| bits & (1 << (i % 8)) != 0);
        row.push(if is_null { Value::Null } else { decode_value(reader, ty, Place::Row)? });
    }
    Ok(())
}

/// Passes over whole chunks; the bytes passed. `in_chunks` stays set while the value goes on.
fn skip_chunks(reader: &mut Reader<'_>, in_chunks: &mut bool) -> Result<usize, TdsError> {
    if !*in_chunks {
        if reader.u64()? == plp::NULL {
            return Ok(reader.position());
        }
        *in_chunks = true;
    }
    loop {
        let passed = reader.position();
        let Ok(len) = reader.u32() else { return Ok(passed) };
        if len == 0 {
            *in_chunks = false;
            return Ok(reader.position());
        }
        if reader.bytes(len as usize).is_err() {
            return Ok(passed);
        }
    }
}

/// Passes over a value that does not come in chunks.
fn skip_value(reader: &mut Reader<'_>, ty: &TypeInfo) -> Result<(), TdsError> {
    let len = match ty {
        TypeInfo::Null => 0,
        TypeInfo::Fixed(fixed) => fixed.wire().1,
        TypeInfo::Variant => reader.u32()? as usize,
        _ if ty.is_old_large_object() => match reader.u8()? {
            0 => 0,
            pointer => {
                reader.bytes(usize::from(pointer) + 8)?;
                reader.u32()? as usize
            }
        },
        _ if ty.null_len() == 2 => match reader.u16()? {
            0xFFFF => 0,
            len => usize::from(len),
        },
        _ => usize::from(reader.u8()?),
    };
    reader.bytes(len).map(|_| ())
}
