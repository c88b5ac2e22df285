//! Little-endian and varint primitives of the log record format. Reading is checked: it never
//! panics.

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
    /// A short part that begins within the first [`HEAD`] bytes has room.
    pub(crate) bytes: [u8; HEAD + SHORT_PART],
    pub(crate) len: usize,
}

/// No operation has more bytes of numbers in front of, between or behind its parts than half of
/// this.
pub(crate) const HEAD: usize = 128;
/// Parts up to this length go with the numbers.
pub(crate) const SHORT_PART: usize = 16;

impl Default for Head {
    #[inline]
    fn default() -> Head {
        Head { bytes: [0; HEAD + SHORT_PART], len: 0 }
    }
}

impl Head {
    #[inline]
    pub(crate) fn push(&mut self, b: u8) {
        debug_assert!(self.len < HEAD);
        self.bytes[self.len % HEAD] = b;
        self.len += 1;
    }

    #[inline(always)] // the numbers of one record are many calls
    pub(crate) fn varint(&mut self, v: u64) {
        if v < 0x80 {
            return self.push(v as u8);
        }
        if v >= 1 << 21 {
            return self.long_varint(v);
        }
        // Two bytes or three, as one word: what is too much of it is written over.
        let more = v >= 1 << 14;
        let word =
            (v | 0x80) & 0xff | (v >> 7 & 0x7f | u64::from(more) << 7) << 8 | (v >> 14) << 16;
        debug_assert!(self.len < HEAD);
        if let Some(to) = self.bytes[self.len % HEAD..].first_chunk_mut() {
            *to = (word as u32).to_le_bytes();
        }
        self.len += 2 + usize::from(more);
    }

    fn long_varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.push((v as u8) | 0x80);
            v >>= 7;
        }
        self.push(v as u8);
    }

    /// Up to [`SHORT_PART`] bytes.
    #[inline(always)] // mostly of a length that is known
    pub(crate) fn short(&mut self, part: &[u8]) {
        debug_assert!(part.len() <= SHORT_PART && self.len + part.len() <= HEAD);
        let at = self.len % HEAD;
        if let Some(to) = self.bytes[at..].first_chunk_mut() {
            copy_short(to, part);
        }
        self.len += part.len();
    }

    #[inline]
    pub(crate) fn page_id(&mut self, id: PageId) {
        self.varint(id.page.into());
        self.varint(id.file.into());
    }

    #[inline(always)]
    pub(crate) fn lsn(&mut self, lsn: Lsn) {
        self.varint(lsn.vlf.into());
        self.varint(lsn.block.into());
        self.varint(lsn.slot.into());
    }
}

/// Copies up to [`SHORT_PART`] bytes: in words that overlap, as a call for a copy of any length
/// costs more.
#[inline(always)]
fn copy_short(to: &mut [u8; SHORT_PART], from: &[u8]) {
    let len = from.len();
    if let (Some(first), Some(last)) = (from.first_chunk::<8>(), from.last_chunk::<8>()) {
        to[..8].copy_from_slice(first);
        to[len - 8..len].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (from.first_chunk::<4>(), from.last_chunk::<4>()) {
        to[..4].copy_from_slice(first);
        to[len - 4..len].copy_from_slice(last);
    } else if let [first, rest @ ..] = from {
        // Up to three bytes.
        to[0] = *first;
        if let [middle @ .., last] = rest {
            to[1] = *middle.first().unwrap_or(last);
            to[len - 1] = *last;
        }
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

// Made only when needed: building and dropping an error on every read would show in the cost of a
// change.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_back() {
        let ends = (0..64).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        for n in ends.chain([u64::MAX, 0x1234, 0x12_3456, 0x1234_5678]) {
            let (mut head, mut plain) = (Head::default(), Vec::new());
            head.varint(n);
            head.push(0xEE);
            put_varint(&mut plain, n);
            plain.push(0xEE);
            assert_eq!(&head.bytes[..head.len], plain, "{n:#x}");
            assert_eq!(Reader { rest: &plain }.varint().unwrap(), n);
        }
    }

    #[test]
    fn short_parts_are_copied_whole() {
        for len in 0..=SHORT_PART {
            let part: Vec<u8> = (1..=len as u8).collect();
            let mut head = Head::default();
            head.push(0xEE);
            head.short(&part);
            assert_eq!(
                (head.len, &head.bytes[1..=len], head.bytes[len + 1]),
                (len + 1, &part[..], 0)
            );
        }
    }
}
