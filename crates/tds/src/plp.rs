//! Partially length-prefixed values (PLP): MAX types and xml, in chunks after a total that may be
//! unknown. Guarantees: a total on the wire is never believed for an allocation.

use std::borrow::Cow;

use crate::error::TdsError;
use crate::reader::Reader;

/// Total that stands for NULL.
pub const NULL: u64 = u64::MAX;
/// Total that is not known beforehand.
const UNKNOWN: u64 = u64::MAX - 1;
/// Longest value of a MAX type: 2^31 - 1 bytes.
const MAX_VALUE: usize = i32::MAX as usize;

/// Appends a NULL.
pub(crate) fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&NULL.to_le_bytes());
}

/// Begins a value that comes in pieces: its total in bytes, or `None` if it is not known.
pub fn write_start(total: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&total.unwrap_or(UNKNOWN).to_le_bytes());
}

/// Appends a chunk; an empty one would end the value and is left out.
pub fn write_chunk(chunk: &[u8], out: &mut Vec<u8>) {
    for part in chunk.chunks(MAX_VALUE) {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
}

/// Ends a value that comes in pieces.
pub fn write_end(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
}

/// Appends a value of one chunk with its exact total.
pub(crate) fn write_with(
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<(), TdsError>,
) -> Result<(), TdsError> {
    let at = out.len();
    out.extend_from_slice(&[0; 12]);
    value(out)?;
    let len = out.len() - at - 12;
    if len > MAX_VALUE {
        return Err(TdsError::ValueTooLong { len, limit: MAX_VALUE });
    }
    out[at..at + 8].copy_from_slice(&(len as u64).to_le_bytes());
    if len == 0 {
        // Total 0 and the terminator, which is what the chunk's length already is.
        return Ok(());
    }
    out[at + 8..at + 12].copy_from_slice(&(len as u32).to_le_bytes());
    write_end(out);
    Ok(())
}

/// Reads a value; `None` for NULL. Borrows when it came in one chunk. `Chunks` if the chunks
/// contradict the total.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, id: u8) -> Result<Option<Cow<'a, [u8]>>, TdsError> {
    let total = reader.u64()?;
    if total == NULL {
        return Ok(None);
    }
    let mut value: Cow<'a, [u8]> = Cow::Borrowed(&[]);
    loop {
        let len = reader.u32()? as usize;
        if len == 0 {
            break;
        }
        let chunk = reader.bytes(len)?;
        if value.is_empty() {
            value = Cow::Borrowed(chunk);
        } else {
            value.to_mut().extend_from_slice(chunk);
        }
    }
    if (total != UNKNOWN && total != value.len() as u64) || value.len() > MAX_VALUE {
        return Err(TdsError::Chunks(id));
    }
    Ok(Some(value))
}
