//! Where a row of a heap is.

use pages::PageId;
use std::fmt;

/// Row identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rid {
    pub page: PageId,
    pub slot: u16,
}

impl Rid {
    /// Eight bytes: page, file, slot, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let p = self.page.to_bytes();
        let s = self.slot.to_le_bytes();
        [p[0], p[1], p[2], p[3], p[4], p[5], s[0], s[1]]
    }

    #[must_use]
    pub fn from_bytes(b: [u8; 8]) -> Rid {
        let page = PageId::from_bytes([b[0], b[1], b[2], b[3], b[4], b[5]]);
        Rid { page, slot: u16::from_le_bytes([b[6], b[7]]) }
    }
}

impl fmt::Display for Rid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.page, self.slot)
    }
}
