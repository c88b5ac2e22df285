//! Little-endian and varint primitives of the log record format. Reading is checked: it never panics.

use crate::error::PageError;
use crate::id::PageId;
use wal::Lsn;

#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push((v as u8) | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

#[inline]
pub(crate) fn put_page_id(out: &mut Vec<u8>, id: PageId) {
    put_varint(out, u64::from(id.page));
    put_varint(out, u64::from(id.file));
}

/// Numbers that go into a record together: one look at its room instead of one for each byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) bytes: [u8; HEAD],
    pub(crate) len: usize,
}

/// No operation has more bytes of numbers in front of, between or behind its parts than half of this.
pub(crate) const HEAD: usize = 128;
/// Parts up to this length go with the numbers.
pub(crate) const SHORT_PART: usize = 16;

impl Default for Head {
    #[inline]
    fn default() -> Head {
        Head { bytes: [0; HEAD], len: 0 }
    }
}

impl Head {
    #[inline]
    pub(crate) fn push(&mut self, b: u8) {
        debug_assert!(self.len < HEAD);
        self.bytes[self.len % HEAD] = b;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.push((v as u8) | 0x80);
            v >>= 7;
        }
        self.push(v as u8);
    }

    #[inline]
    pub(crate) fn page_id(&mut self, id: PageId) {
        self.varint(id.page.into());
        self.varint(id.file.into());
    }

    #[inline]
    pub(crate) fn lsn(&mut self, lsn: Lsn) {
        self.varint(lsn.vlf.into());
        self.varint(lsn.block.into());
        self.varint(lsn.slot.into());
    }
}

#[inline]
pub(crate) fn put_bytes(out: &mut Vec<u8>, b: &[u8]) {
    put_varint(out, b.len() as u64);
    out.extend_from_slice(b);
}

/// Reads the encoded form from front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

// Made only when needed: building and dropping an error on every read would show in the cost of a change.
#[cold]
fn short() -> PageError {
    PageError::Record { what: "record ends too early" }
}

#[cold]
fn range<T>(_: T) -> PageError {
    PageError::Record { what: "number out of range" }
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, PageError> {
        let (&b, rest) = self.rest.split_first().ok_or_else(short)?;
        self.rest = rest;
        Ok(b)
    }

    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], PageError> {
        let (b, rest) = self.rest.split_at_checked(n).ok_or_else(short)?;
        self.rest = rest;
        Ok(b)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], PageError> {
        let (b, rest) = self.rest.split_first_chunk::<N>().ok_or_else(short)?;
        self.rest = rest;
        Ok(b)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, PageError> {
        match *self.rest {
            [b, ref rest @ ..] if b < 0x80 => {
                self.rest = rest;
                Ok(u64::from(b))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, PageError> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.u8()?;
            let bits = u64::from(b & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(range(()));
            }
            v |= bits << shift;
            if b & 0x80 == 0 {
                return Ok(v);
            }
        }
        Err(range(()))
    }

    #[inline]
    pub(crate) fn u16v(&mut self) -> Result<u16, PageError> {
        u16::try_from(self.varint()?).map_err(range)
    }

    #[inline]
    pub(crate) fn u32v(&mut self) -> Result<u32, PageError> {
        u32::try_from(self.varint()?).map_err(range)
    }

    #[inline]
    pub(crate) fn page_id(&mut self) -> Result<PageId, PageError> {
        let page = self.u32v()?;
        Ok(PageId { page, file: self.u16v()? })
    }

    #[inline]
    pub(crate) fn lsn(&mut self) -> Result<Lsn, PageError> {
        let vlf = self.u32v()?;
        let block = self.u32v()?;
        Ok(Lsn { vlf, block, slot: self.u16v()? })
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], PageError> {
        let n = self.u16v()?;
        self.take(n as usize)
    }
}
