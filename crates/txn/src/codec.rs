//! Fields of the headers of backups, and of the state that a log keeps for them, as bytes:
//! little-endian numbers, texts with their length in front.
//! Guarantees: decoding takes any bytes and answers `None` for those that do not fit; it never asks
//! for more memory than the bytes have.

use wal::Lsn;

/// Collects fields.
#[derive(Debug, Default)]
pub(crate) struct Enc(pub Vec<u8>);

impl Enc {
    pub fn u8(&mut self, v: u8) -> &mut Self {
        self.0.push(v);
        self
    }

    pub fn flag(&mut self, v: bool) -> &mut Self {
        self.u8(v.into())
    }

    pub fn u16(&mut self, v: u16) -> &mut Self {
        self.0.extend_from_slice(&v.to_le_bytes());
        self
    }

    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.0.extend_from_slice(&v.to_le_bytes());
        self
    }

    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.0.extend_from_slice(&v.to_le_bytes());
        self
    }

    pub fn guid(&mut self, v: &[u8; 16]) -> &mut Self {
        self.0.extend_from_slice(v);
        self
    }

    pub fn lsn(&mut self, v: Lsn) -> &mut Self {
        self.0.extend_from_slice(&v.to_bytes());
        self
    }

    pub fn bytes(&mut self, v: &[u8]) -> &mut Self {
        self.u32(v.len() as u32);
        self.0.extend_from_slice(v);
        self
    }

    pub fn text(&mut self, v: &str) -> &mut Self {
        self.bytes(v.as_bytes())
    }
}

/// Takes fields off the front.
#[derive(Debug)]
pub(crate) struct Dec<'a>(pub &'a [u8]);

impl<'a> Dec<'a> {
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[b]| b)
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn guid(&mut self) -> Option<[u8; 16]> {
        self.array()
    }

    pub fn lsn(&mut self) -> Option<Lsn> {
        self.array().map(Lsn::from_bytes)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.u32()?;
        self.take(n as usize)
    }

    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// A list whose entries take at least `least` bytes each.
    pub fn list<T>(
        &mut self,
        least: usize,
        mut one: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let n = self.u32()? as usize;
        if n.checked_mul(least)? > self.0.len() {
            return None;
        }
        (0..n).map(|_| one(self)).collect()
    }
}
