//! A cursor over bytes of the other side. Guarantees: never reads past the end (`Truncated`), never
//! allocates more than the bytes that are there.

use crate::error::TdsError;
use crate::text;

/// Reads little-endian fields one after the other.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    data: &'a [u8],
    at: usize,
    what: &'static str,
}

macro_rules! number {
    ($name:ident, $ty:ty) => {
        /// The next field as a little-endian number.
        #[inline]
        pub fn $name(&mut self) -> Result<$ty, TdsError> {
            Ok(<$ty>::from_le_bytes(self.array()?))
        }
    };
}

impl<'a> Reader<'a> {
    /// A reader at the first byte; `what` names the structure in errors.
    pub fn new(data: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { data, at: 0, what }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.at == self.data.len()
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.data[self.at..];
        self.at = self.data.len();
        rest
    }

    /// The error that the bytes end too early.
    pub fn truncated(&self) -> TdsError {
        TdsError::Truncated { what: self.what, at: self.data.len() }
    }

    /// The error that something here cannot be right.
    pub fn malformed(&self, what: &'static str) -> TdsError {
        TdsError::Malformed { what, at: self.at }
    }

    /// The next `n` bytes.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], TdsError> {
        match self.data[self.at..].get(..n) {
            Some(bytes) => {
                self.at += n;
                Ok(bytes)
            }
            None => Err(self.truncated()),
        }
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], TdsError> {
        match self.data[self.at..].first_chunk::<N>() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => Err(self.truncated()),
        }
    }

    /// The next byte without reading it.
    pub fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    number!(u8, u8);
    number!(u16, u16);
    number!(u32, u32);
    number!(u64, u64);
    number!(i16, i16);
    number!(i32, i32);
    number!(i64, i64);

    /// An unsigned number of 1 to 8 bytes.
    pub(crate) fn uint(&mut self, bytes: usize) -> Result<u64, TdsError> {
        debug_assert!(bytes <= 8);
        let mut wide = [0u8; 8];
        wide[..bytes].copy_from_slice(self.bytes(bytes)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// UTF-16 text of `units` units.
    pub fn utf16(&mut self, units: usize) -> Result<String, TdsError> {
        let bytes = units.checked_mul(2).ok_or_else(|| self.truncated())?;
        Ok(text::from_utf16(self.bytes(bytes)?))
    }

    /// B_VARCHAR: UTF-16 text after its number of units in one byte.
    pub(crate) fn b_varchar(&mut self) -> Result<String, TdsError> {
        let units = self.u8()?;
        self.utf16(usize::from(units))
    }

    /// US_VARCHAR: UTF-16 text after its number of units in two bytes.
    pub(crate) fn us_varchar(&mut self) -> Result<String, TdsError> {
        let units = self.u16()?;
        self.utf16(usize::from(units))
    }

    /// B_VARBYTE: bytes after their number in one byte.
    pub(crate) fn b_varbyte(&mut self) -> Result<&'a [u8], TdsError> {
        let n = self.u8()?;
        self.bytes(usize::from(n))
    }
}
