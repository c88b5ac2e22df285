//! The 18 bytes with which each versioned row begins: who wrote this version, and in which log
//! record.

use crate::id::TxnId;
use wal::Lsn;

/// Bytes of a row header.
pub const ROW_HEADER: usize = 18;

/// The row is deleted; its bytes stay until every snapshot sees the delete.
pub const GHOST: u8 = 1;
/// The content is a stub: the 6-byte id of the page, and the slot, where the row went.
pub const FORWARD: u8 = 2;
/// The row is the target of a stub; scans return it at one of the two places.
pub const FORWARDED: u8 = 4;
/// All flags that exist.
pub(crate) const ROW_FLAGS: u8 = GHOST | FORWARD | FORWARDED;

/// Header of one row version: flags u8, transaction u48, LSN (10 bytes), index u8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RowHeader {
    pub flags: u8,
    /// The transaction that wrote this version.
    pub txn: TxnId,
    /// The log record that wrote it; [`Lsn::ZERO`] when there is no earlier version to go to.
    pub lsn: Lsn,
    /// Which versioned row operation of that record.
    pub index: u8,
}

impl RowHeader {
    /// Splits a slot's content into header and body. `None` when it is shorter than a header.
    #[must_use]
    #[inline]
    pub fn split(content: &[u8]) -> Option<(RowHeader, &[u8])> {
        let (head, body) = content.split_first_chunk::<ROW_HEADER>()?;
        Some((RowHeader::from_bytes(head), body))
    }

    #[must_use]
    #[inline]
    pub fn from_bytes(b: &[u8; ROW_HEADER]) -> RowHeader {
        RowHeader {
            flags: b[0],
            txn: TxnId::from_bytes([b[1], b[2], b[3], b[4], b[5], b[6]]),
            lsn: Lsn {
                vlf: u32::from_le_bytes([b[7], b[8], b[9], b[10]]),
                block: u32::from_le_bytes([b[11], b[12], b[13], b[14]]),
                slot: u16::from_le_bytes([b[15], b[16]]),
            },
            index: b[17],
        }
    }

    #[must_use]
    #[inline]
    pub fn to_bytes(&self) -> [u8; ROW_HEADER] {
        let [a, b, c, d, e, f] = self.txn.to_bytes();
        let [l0, l1, l2, l3, l4, l5, l6, l7, l8, l9] = lsn_to_bytes(self.lsn);
        [self.flags, a, b, c, d, e, f, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, self.index]
    }

    #[must_use]
    #[inline]
    pub fn is_ghost(&self) -> bool {
        self.flags & GHOST != 0
    }

    #[must_use]
    pub fn is_forward(&self) -> bool {
        self.flags & FORWARD != 0
    }

    #[must_use]
    pub fn is_forwarded(&self) -> bool {
        self.flags & FORWARDED != 0
    }
}

/// An LSN as ten little-endian bytes, the form used in pages and records.
#[inline]
pub(crate) fn lsn_to_bytes(lsn: Lsn) -> [u8; 10] {
    // Spelled out: copies of slices are calls, also where their length is known.
    let ([a, b, c, d], [e, f, g, h]) = (lsn.vlf.to_le_bytes(), lsn.block.to_le_bytes());
    let [i, j] = lsn.slot.to_le_bytes();
    [a, b, c, d, e, f, g, h, i, j]
}

#[inline]
pub(crate) fn lsn_from_bytes(b: &[u8; 10]) -> Lsn {
    Lsn {
        vlf: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        block: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
        slot: u16::from_le_bytes([b[8], b[9]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        let h = RowHeader {
            flags: GHOST | FORWARDED,
            txn: TxnId(0x1234_5678_9abc),
            lsn: Lsn { vlf: 7, block: 0xffff_fffe, slot: 300 },
            index: 255,
        };
        let mut row = h.to_bytes().to_vec();
        row.extend_from_slice(b"body");
        let (back, body) = RowHeader::split(&row).unwrap();
        assert_eq!((back, body), (h, &b"body"[..]));
        assert!(RowHeader::split(&row[..17]).is_none());
    }
}
