//! The pieces of a backup: each has a header and a CRC-32C over all of it.
//!
//! | at | bytes | field |
//! |----|-------|-------|
//! | 0  | 4  | magic `RWBK` |
//! | 4  | 2  | format version |
//! | 6  | 2  | kind |
//! | 8  | 16 | media set |
//! | 24 | 2  | position of the backup set; 0 for the media header |
//! | 26 | 2  | flags: 1 = LZ4 |
//! | 28 | 8  | number of the piece within the set, over all families |
//! | 36 | 4  | length of the content |
//! | 40 | 4  | length as stored |
//! | 44 | 16 | zero |
//! | 60 | 4  | CRC-32C of the header before it and the stored content |
//!
//! The content follows, then zeros up to a multiple of 4 KB.
//!
//! # Guarantees
//! A header that is damaged is none; content is as long as its header says and has its checksum, or
//! it is damaged.

use std::ops::Deref;

use disk::AlignedBuf;

use super::device::UNIT;
use crate::codec::{Dec, Enc};

const MAGIC: [u8; 4] = *b"RWBK";
const VERSION: u16 = 1;
const HEADER: usize = 64;
const CRC_AT: usize = 60;
const LZ4: u16 = 1;
/// Longest content of a piece in bytes.
const PIECE_MAX: usize = 4 << 20;

/// What a piece holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum PieceKind {
    Media = 1,
    SetHeader = 2,
    Pages = 3,
    LogStart = 4,
    LogBlocks = 5,
    SetEnd = 6,
}

impl PieceKind {
    fn from_u16(b: u16) -> Option<PieceKind> {
        use PieceKind::*;
        [Media, SetHeader, Pages, LogStart, LogBlocks, SetEnd].into_iter().find(|k| *k as u16 == b)
    }
}

/// A piece's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceHeader {
    pub kind: PieceKind,
    pub media: [u8; 16],
    pub position: u16,
    pub number: u64,
    flags: u16,
    raw: u32,
    stored: u32,
}

impl PieceHeader {
    /// Bytes on the device.
    pub fn total(&self) -> u64 {
        (HEADER as u64 + u64::from(self.stored)).next_multiple_of(UNIT as u64)
    }

    pub fn decode(bytes: &[u8]) -> Option<PieceHeader> {
        let d = &mut Dec(bytes);
        if d.take(4)? != MAGIC || d.u16()? != VERSION {
            return None;
        }
        let kind = PieceKind::from_u16(d.u16()?)?;
        let (media, position, flags) = (d.guid()?, d.u16()?, d.u16()?);
        let (number, raw, stored) = (d.u64()?, d.u32()?, d.u32()?);
        let fits = raw as usize <= PIECE_MAX && stored <= raw && flags & !LZ4 == 0;
        fits.then_some(PieceHeader { kind, media, position, number, flags, raw, stored })
    }

    /// The verified content of the piece that `bytes` begin with and that this header was read
    /// from.
    pub fn content(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let stored = bytes.get(HEADER..HEADER + self.stored as usize)?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..CRC_AT]), stored);
        let kept = Dec(&bytes[CRC_AT..HEADER]).u32();
        if kept != Some(crc) || PieceHeader::decode(bytes).as_ref() != Some(self) {
            return None;
        }
        let raw = self.raw as usize;
        let out = match self.flags & LZ4 {
            0 => stored.to_vec(),
            _ => lz4_flex::block::decompress(stored, raw).ok()?,
        };
        (out.len() == raw).then_some(out)
    }
}

/// What a piece's header says besides its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceIdentity<'a> {
    pub kind: PieceKind,
    pub media: &'a [u8; 16],
    pub position: u16,
    pub number: u64,
}

/// A piece ready to be written.
pub(crate) struct PackedPiece {
    buf: AlignedBuf,
    len: usize,
}

impl PackedPiece {
    /// Builds one, in a buffer that is no longer needed if there is one: memory that is new for
    /// each piece costs a backup more than its checksums.
    pub fn new(
        about: PieceIdentity<'_>,
        content: &[u8],
        compress: bool,
        spare: Option<PackedPiece>,
    ) -> PackedPiece {
        debug_assert!(content.len() <= PIECE_MAX);
        let room =
            if compress { lz4_flex::block::get_maximum_output_size(content.len()) } else { 0 };
        let need = (HEADER + room.max(content.len())).next_multiple_of(UNIT);
        let spare = spare.map(|packed| packed.buf).filter(|buf| buf.len() >= need);
        let mut buf = spare.unwrap_or_else(|| AlignedBuf::new(need));
        let small = match compress {
            // What does not get smaller is kept as it is.
            true => {
                lz4_flex::block::compress_into(content, &mut buf[HEADER..]).unwrap_or(usize::MAX)
            }
            false => usize::MAX,
        };
        let packed = small < content.len();
        let stored = small.min(content.len());
        if !packed {
            buf[HEADER..HEADER + stored].copy_from_slice(content);
        }
        let mut e = Enc(Vec::with_capacity(HEADER));
        e.0.extend_from_slice(&MAGIC);
        e.u16(VERSION).u16(about.kind as u16).guid(about.media).u16(about.position);
        e.u16(if packed { LZ4 } else { 0 });
        e.u64(about.number).u32(content.len() as u32).u32(stored as u32);
        e.0.resize(CRC_AT, 0);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&e.0), &buf[HEADER..HEADER + stored]);
        e.u32(crc);
        buf[..HEADER].copy_from_slice(&e.0);
        let len = (HEADER + stored).next_multiple_of(UNIT);
        buf[HEADER + stored..len].fill(0);
        PackedPiece { buf, len }
    }
}

impl Deref for PackedPiece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buf[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(media: &[u8; 16], number: u64) -> PieceIdentity<'_> {
        PieceIdentity { kind: PieceKind::LogBlocks, media, position: 1, number }
    }

    /// A buffer that held something longer shows nothing of it, compressed or not.
    #[test]
    fn a_used_buffer_makes_the_same_piece_as_a_new_one() {
        let media = [7; 16];
        let noise: Vec<u8> =
            (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for content in [&noise[..9_000], &[5; 9_000], &[], &noise[..1]] {
            for compress in [false, true] {
                let fresh = PackedPiece::new(about(&media, 2), content, compress, None);
                let used = PackedPiece::new(about(&media, 1), &noise, false, None);
                let at = used.buf.as_ptr();
                let again = PackedPiece::new(about(&media, 2), content, compress, Some(used));
                assert_eq!((again.buf.as_ptr(), again.len), (at, fresh.len));
                assert!(*again == *fresh);
                let header = PieceHeader::decode(&again).unwrap();
                assert_eq!(header.total(), again.len as u64);
                assert_eq!(header.content(&again).unwrap(), content);
            }
        }
    }
}
