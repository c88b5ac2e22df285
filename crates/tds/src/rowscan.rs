//! Rows whose bytes arrive in pieces. Guarantees: each value is decoded once, when its row is
//! complete; what has arrived is walked over once, however many pieces the row comes in.

use types::Value;

use crate::decode::{ValuePlace, decode_value};
use crate::error::TdsError;
use crate::plp;
use crate::reader::Reader;
use crate::token;
use crate::typeinfo::TypeInfo;

/// How far a row that is not yet complete was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowScan {
    /// Bytes from the row's token on.
    at: usize,
    column: usize,
    in_chunks: bool,
    active: bool,
}

impl RowScan {
    /// Whether the whole row was walked over: that it cannot be decoded is then final.
    pub(crate) fn is_complete(&self, types: &[TypeInfo]) -> bool {
        self.active && self.column == types.len()
    }

    /// Reads the row whose token is the first of `bytes`; the bytes that it took. `Truncated` until
    /// it is complete; the next call must bring the same bytes and more.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        types: &[TypeInfo],
        row: &mut Vec<Value>,
    ) -> Result<usize, TdsError> {
        if self.active {
            self.advance(bytes, types)?;
        }
        let mut reader = Reader::new(bytes, "row");
        match reader.u8().and_then(|kind| decode_row(&mut reader, kind, types, row)) {
            Ok(()) => {
                *self = RowScan::default();
                Ok(reader.position())
            }
            Err(error @ TdsError::Truncated { .. }) if !self.active => {
                self.active = true;
                self.advance(bytes, types)?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Walks over the values that have arrived; `Truncated` until the row is complete.
    fn advance(&mut self, row: &[u8], types: &[TypeInfo]) -> Result<(), TdsError> {
        let has_bitmap = row.first() == Some(&token::NBCROW);
        let bitmap_len = if has_bitmap { types.len().div_ceil(8) } else { 0 };
        let bitmap =
            row.get(1..1 + bitmap_len).ok_or(TdsError::Truncated { what: "row", at: row.len() })?;
        self.at = self.at.max(1 + bitmap_len);
        while let Some(ty) = types.get(self.column) {
            let i = self.column;
            let is_null = has_bitmap && bitmap[i / 8] & (1 << (i % 8)) != 0;
            if !is_null {
                let mut reader = Reader::new(row.get(self.at..).unwrap_or(&[]), "row");
                if ty.is_chunked() {
                    self.at += skip_chunks(&mut reader, &mut self.in_chunks)?;
                } else {
                    skip_value(&mut reader, ty)?;
                    self.at += reader.position();
                }
                if self.in_chunks {
                    return Err(reader.truncated());
                }
            }
            self.column += 1;
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
        row.push(if is_null { Value::Null } else { decode_value(reader, ty, ValuePlace::Row)? });
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
