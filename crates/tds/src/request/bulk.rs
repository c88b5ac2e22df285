//! Bulk load data: rows that arrive in pieces. Guarantees: memory is bounded by the longest row,
//! which the caller limits; a row that arrives in many pieces is looked at once per piece, not from
//! its beginning again.

use types::Value;
use types::datatype::MAX_BYTES;

use crate::column::{Column, Sender};
use crate::error::TdsError;
use crate::limits::{Limits, MAX_COLUMNS};
use crate::reader::Reader;
use crate::rowscan::RowScan;
use crate::token;
use crate::typeinfo::{Size, TypeInfo};
use crate::version::TdsVersion;

/// Room that the buffer keeps behind a large row.
const KEEP: usize = 64 << 10;

/// Bytes of a DONE, and of one with a row count of four bytes, behind the token.
const DONE: usize = 12;
const SHORT_DONE: usize = 8;

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
    scan: RowScan,
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
            scan: RowScan::default(),
            ended: false,
            done: false,
        }
    }

    /// Adds bytes. Take out all rows with [`BulkReader::next_row`] before more is fed: what is fed
    /// is kept.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
            if self.buffer.len() < KEEP {
                self.buffer.shrink_to(KEEP);
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Memory that is held by bytes that are not used up.
    pub fn held(&self) -> usize {
        self.buffer.capacity()
    }

    /// Says that no more bytes come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The columns, after [`BulkEvent::Columns`].
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The next thing in the message; a row replaces what was in `row`. After an error the rest of
    /// the message cannot be read: its bytes are to be thrown away.
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
            token::ROW | token::NBCROW if self.has_columns => self.read_row(row),
            token::DONE => self.read_done(),
            _ => {
                return Err(TdsError::Malformed { what: "token of bulk load data", at: self.used });
            }
        };
        match result {
            Err(TdsError::Truncated { .. })
                if !self.ended && !self.scan.is_complete(&self.types) =>
            {
                if self.buffer.len() - self.used > self.limit {
                    return Err(TdsError::TooLarge {
                        what: "a row of bulk load data",
                        limit: self.limit,
                    });
                }
                Ok(BulkEvent::NeedMore)
            }
            other => other,
        }
    }

    fn read_columns(&mut self) -> Result<BulkEvent, TdsError> {
        let mut reader = Reader::new(&self.buffer[self.used + 1..], "columns of bulk load data");
        let columns = Column::read_all(&mut reader, self.version, Sender::BulkLoad)?;
        if columns.is_empty() || columns.len() > MAX_COLUMNS {
            return Err(reader.malformed("number of columns of bulk load data"));
        }
        self.used += 1 + reader.position();
        self.types = columns.iter().map(|c| of_values(c.ty)).collect();
        self.columns = columns;
        self.has_columns = true;
        Ok(BulkEvent::Columns)
    }

    fn read_done(&mut self) -> Result<BulkEvent, TdsError> {
        let mut reader = Reader::new(&self.buffer[self.used + 1..], "DONE of bulk load data");
        // Some clients count rows in four bytes in every version.
        let short =
            self.version < TdsVersion::V7_2 || self.ended && reader.remaining() == SHORT_DONE;
        reader.bytes(if short { SHORT_DONE } else { DONE })?;
        self.used += 1 + reader.position();
        self.done = true;
        let mut none = Vec::new();
        self.next_row(&mut none)
    }

    fn read_row(&mut self, row: &mut Vec<Value>) -> Result<BulkEvent, TdsError> {
        row.clear();
        self.used += self.scan.read(&self.buffer[self.used..], &self.types, row)?;
        Ok(BulkEvent::Row)
    }
}

/// The type of a column's values: texts and bytes that are described with no length have some all
/// the same (JDBC describes texts of times so).
fn of_values(ty: TypeInfo) -> TypeInfo {
    let room = Size::Bytes(MAX_BYTES);
    match ty {
        TypeInfo::Char(0, collation) => TypeInfo::Char(MAX_BYTES, collation),
        TypeInfo::NChar(0, collation) => TypeInfo::NChar(MAX_BYTES, collation),
        TypeInfo::Binary(0) => TypeInfo::Binary(MAX_BYTES),
        TypeInfo::VarChar(Size::Bytes(0), collation) => TypeInfo::VarChar(room, collation),
        TypeInfo::NVarChar(Size::Bytes(0), collation) => TypeInfo::NVarChar(room, collation),
        TypeInfo::VarBinary(Size::Bytes(0)) => TypeInfo::VarBinary(room),
        other => other,
    }
}
