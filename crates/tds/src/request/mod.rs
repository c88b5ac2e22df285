//! What clients ask for after login: SQL batches, remote procedure calls, transaction requests,
//! bulk loads.

pub mod bulk;
pub mod rpc;
pub mod transaction;
pub mod tvp;

pub use bulk::{BulkEvent, BulkReader};
pub use rpc::{Procedure, RpcParam, RpcReader, RpcRequest, RpcValue};
pub use transaction::{Begin, TransactionRequest};
pub use tvp::{TableColumn, TableValue};

use crate::error::TdsError;
use crate::reader::Reader;
use crate::text::{from_utf16, push_utf16};
use crate::version::TdsVersion;

const HEADER_QUERY_NOTIFICATION: u16 = 1;
const HEADER_TRANSACTION: u16 = 2;
const HEADER_TRACE: u16 = 3;

/// ALL_HEADERS: what stands in front of batches, calls and transaction requests from 7.2 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Headers {
    /// The transaction that the client believes to be in: the id of ENVCHANGE 8, or 0.
    pub transaction: u64,
    /// Requests that the client has under way; 1 without MARS.
    pub outstanding: u32,
    /// The client wants to be told when the result changes, which Ringwood does not do.
    pub wants_notification: bool,
    /// Activity id and sequence number.
    pub activity: Option<[u8; 20]>,
}

impl Headers {
    /// Reads the headers; there are none before 7.2.
    pub fn read(reader: &mut Reader<'_>, version: TdsVersion) -> Result<Headers, TdsError> {
        let mut headers = Headers::default();
        if version < TdsVersion::V7_2 {
            return Ok(headers);
        }
        let total = reader.u32()? as usize;
        let rest = total.checked_sub(4).ok_or_else(|| reader.malformed("ALL_HEADERS"))?;
        let mut all = Reader::new(reader.bytes(rest)?, "ALL_HEADERS");
        while !all.is_empty() {
            let len = all.u32()? as usize;
            let len = len.checked_sub(4).ok_or_else(|| all.malformed("header length"))?;
            let mut header = Reader::new(all.bytes(len)?, "header of a request");
            match header.u16()? {
                HEADER_QUERY_NOTIFICATION => headers.wants_notification = true,
                HEADER_TRANSACTION => {
                    headers.transaction = header.u64()?;
                    headers.outstanding = header.u32()?;
                }
                HEADER_TRACE => headers.activity = Some(header.array()?),
                _ => return Err(all.malformed("header type")),
            }
        }
        Ok(headers)
    }

    /// Appends the headers; nothing before 7.2.
    pub fn write(&self, version: TdsVersion, out: &mut Vec<u8>) {
        if version < TdsVersion::V7_2 {
            return;
        }
        let total: u32 = if self.activity.is_some() { 22 + 26 } else { 22 };
        out.extend_from_slice(&total.to_le_bytes());
        out.extend_from_slice(&18u32.to_le_bytes());
        out.extend_from_slice(&HEADER_TRANSACTION.to_le_bytes());
        out.extend_from_slice(&self.transaction.to_le_bytes());
        out.extend_from_slice(&self.outstanding.to_le_bytes());
        if let Some(activity) = &self.activity {
            out.extend_from_slice(&26u32.to_le_bytes());
            out.extend_from_slice(&HEADER_TRACE.to_le_bytes());
            out.extend_from_slice(activity);
        }
    }
}

/// A batch of statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlBatch {
    pub headers: Headers,
    pub text: String,
}

impl SqlBatch {
    /// Reads a batch.
    pub fn parse(payload: &[u8], version: TdsVersion) -> Result<SqlBatch, TdsError> {
        let mut reader = Reader::new(payload, "SQL batch");
        let headers = Headers::read(&mut reader, version)?;
        let text = reader.rest();
        if text.len() % 2 == 1 {
            return Err(reader.malformed("text of a SQL batch"));
        }
        Ok(SqlBatch { headers, text: from_utf16(text) })
    }

    /// Appends the message's payload.
    pub fn write(&self, version: TdsVersion, out: &mut Vec<u8>) {
        self.headers.write(version, out);
        push_utf16(&self.text, out);
    }
}
