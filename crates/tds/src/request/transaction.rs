//! Transaction manager requests: BEGIN, COMMIT, ROLLBACK and SAVE as messages of their own.

use crate::error::TdsError;
use crate::reader::Reader;
use crate::request::Headers;
use crate::text::{from_utf16, push_utf16};
use crate::version::TdsVersion;

const GET_DTC_ADDRESS: u16 = 0;
const PROPAGATE: u16 = 1;
const BEGIN: u16 = 5;
const PROMOTE: u16 = 6;
const COMMIT: u16 = 7;
const ROLLBACK: u16 = 8;
const SAVE: u16 = 9;

/// A transaction to begin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Begin {
    /// 0 leaves the level, 1 READ UNCOMMITTED, 2 READ COMMITTED, 3 REPEATABLE READ, 4 SERIALIZABLE,
    /// 5 SNAPSHOT.
    pub isolation: u8,
    pub name: String,
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionRequest {
    Begin(Begin),
    Commit { name: String, then: Option<Begin> },
    Rollback { name: String, then: Option<Begin> },
    Save { name: String },
}

impl TransactionRequest {
    /// Reads a request. Distributed transactions are `Unsupported`; an isolation level above 5 is
    /// `Malformed`.
    pub fn parse(
        payload: &[u8],
        version: TdsVersion,
    ) -> Result<(Headers, TransactionRequest), TdsError> {
        let mut reader = Reader::new(payload, "transaction manager request");
        let headers = Headers::read(&mut reader, version)?;
        let request = match reader.u16()? {
            BEGIN => TransactionRequest::Begin(begin(&mut reader)?),
            COMMIT => TransactionRequest::Commit {
                name: name(&mut reader)?,
                then: and_begin(&mut reader)?,
            },
            ROLLBACK => TransactionRequest::Rollback {
                name: name(&mut reader)?,
                then: and_begin(&mut reader)?,
            },
            SAVE => TransactionRequest::Save { name: name(&mut reader)? },
            GET_DTC_ADDRESS | PROPAGATE | PROMOTE => {
                return Err(TdsError::Unsupported("a distributed transaction"));
            }
            _ => return Err(reader.malformed("type of a transaction manager request")),
        };
        Ok((headers, request))
    }

    /// Appends the message's payload.
    pub fn write(&self, headers: &Headers, version: TdsVersion, out: &mut Vec<u8>) {
        headers.write(version, out);
        let (kind, ending) = match self {
            TransactionRequest::Begin(begin) => {
                out.extend_from_slice(&BEGIN.to_le_bytes());
                return write_begin(begin, out);
            }
            TransactionRequest::Save { name } => {
                out.extend_from_slice(&SAVE.to_le_bytes());
                return write_name(name, out);
            }
            TransactionRequest::Commit { name, then } => (COMMIT, (name, then)),
            TransactionRequest::Rollback { name, then } => (ROLLBACK, (name, then)),
        };
        out.extend_from_slice(&kind.to_le_bytes());
        write_name(ending.0, out);
        match ending.1 {
            Some(begin) => {
                out.push(1);
                write_begin(begin, out);
            }
            None => out.push(0),
        }
    }
}

/// B_VARBYTE: the length counts bytes.
fn name(reader: &mut Reader<'_>) -> Result<String, TdsError> {
    let bytes = reader.b_varbyte()?;
    if bytes.len() % 2 == 1 {
        return Err(reader.malformed("transaction name"));
    }
    Ok(from_utf16(bytes))
}

fn begin(reader: &mut Reader<'_>) -> Result<Begin, TdsError> {
    let isolation = reader.u8()?;
    if isolation > 5 {
        return Err(reader.malformed("isolation level"));
    }
    Ok(Begin { isolation, name: name(reader)? })
}

fn and_begin(reader: &mut Reader<'_>) -> Result<Option<Begin>, TdsError> {
    if reader.u8()? & 1 == 0 { Ok(None) } else { begin(reader).map(Some) }
}

fn write_name(name: &str, out: &mut Vec<u8>) {
    let name = crate::text::first_utf16(name, 127);
    let at = out.len();
    out.push(0);
    push_utf16(name, out);
    out[at] = (out.len() - at - 1) as u8;
}

fn write_begin(begin: &Begin, out: &mut Vec<u8>) {
    out.push(begin.isolation);
    write_name(&begin.name, out);
}
