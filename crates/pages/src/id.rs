//! Identifiers: pages, allocation units, transactions; and where the fixed pages of a file lie.
//!
//! Everything here is pure arithmetic, total for every input value.

use std::fmt;

/// Bytes of a page.
pub const PAGE_SIZE: usize = 8192;
/// Pages of an extent; extents are uniform and aligned.
pub const EXTENT_PAGES: u32 = 8;
/// Pages that one PFS page describes, one byte each.
pub(crate) const PFS_INTERVAL: u32 = 8088;
/// Pages that one GAM or IAM page describes, one bit per extent.
pub(crate) const GAM_INTERVAL: u32 = 511_232;
/// Extents that one GAM or IAM page describes.
pub(crate) const GAM_EXTENTS: u32 = GAM_INTERVAL / EXTENT_PAGES;
/// The boot page, in file 1 only.
pub const BOOT_PAGE: PageId = PageId { file: 1, page: 9 };
/// Directory of the last doublewrite batch, in file 1 only.
pub(crate) const DWB_DIRECTORY: u32 = 15;
/// First page of the doublewrite area in file 1.
pub(crate) const DWB_FIRST: u32 = 16;
/// Pages of the doublewrite area.
pub(crate) const DWB_PAGES: u32 = 256;

/// A page of a database: file number from 1, page number from 0. `(0, 0)` means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    pub file: u16,
    pub page: u32,
}

impl PageId {
    pub const NONE: PageId = PageId { file: 0, page: 0 };

    #[must_use]
    pub const fn new(file: u16, page: u32) -> PageId {
        PageId { file, page }
    }

    #[must_use]
    pub const fn is_none(self) -> bool {
        self.file == 0 && self.page == 0
    }

    /// Six little-endian bytes: page, file.
    #[must_use]
    #[inline]
    pub fn to_bytes(self) -> [u8; 6] {
        let p = self.page.to_le_bytes();
        let f = self.file.to_le_bytes();
        [p[0], p[1], p[2], p[3], f[0], f[1]]
    }

    #[must_use]
    #[inline]
    pub fn from_bytes(b: [u8; 6]) -> PageId {
        PageId {
            page: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            file: u16::from_le_bytes([b[4], b[5]]),
        }
    }

    /// The PFS page that holds this page's byte.
    #[must_use]
    pub fn pfs_page(self) -> PageId {
        let base = self.page / PFS_INTERVAL * PFS_INTERVAL;
        PageId { file: self.file, page: if base == 0 { 1 } else { base } }
    }

    /// The GAM page that holds this page's extent.
    #[must_use]
    pub(crate) fn gam_page(self) -> PageId {
        // The last interval begins below 2^32 - 2, so the sum cannot overflow.
        PageId { file: self.file, page: self.page / GAM_INTERVAL * GAM_INTERVAL + 2 }
    }

    /// The extent this page belongs to.
    #[must_use]
    pub fn extent(self) -> ExtentId {
        ExtentId { file: self.file, extent: self.page / EXTENT_PAGES }
    }

    /// Whether this is the place of a PFS page.
    #[must_use]
    pub fn is_pfs(self) -> bool {
        self.page == 1 || (self.page != 0 && self.page.is_multiple_of(PFS_INTERVAL))
    }

    /// Whether this is the place of a GAM page.
    #[must_use]
    pub fn is_gam(self) -> bool {
        self.page % GAM_INTERVAL == 2
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.page)
    }
}

/// Eight adjacent pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentId {
    pub file: u16,
    /// Page number of the first page divided by eight.
    pub extent: u32,
}

impl ExtentId {
    #[must_use]
    pub fn first_page(self) -> PageId {
        PageId { file: self.file, page: self.extent * EXTENT_PAGES }
    }

    pub fn pages(self) -> impl Iterator<Item = PageId> {
        let first = self.first_page();
        (0..EXTENT_PAGES).map(move |i| PageId { file: first.file, page: first.page + i })
    }

    /// Whether the extent holds fixed pages (headers, maps, boot page, doublewrite area) and is
    /// never handed out.
    #[must_use]
    pub fn is_system(self) -> bool {
        let first = self.extent.saturating_mul(EXTENT_PAGES);
        let fixed = if self.file == 1 { DWB_FIRST + DWB_PAGES } else { 2 * EXTENT_PAGES };
        first < fixed || first.is_multiple_of(PFS_INTERVAL) || first.is_multiple_of(GAM_INTERVAL)
    }
}

impl fmt::Display for ExtentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.extent * EXTENT_PAGES)
    }
}

/// Allocation unit: one heap, one index or one LOB space. Never reused within a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Transaction: 48 bits. 0 is the system, whose records are redone and never undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnId(pub u64);

impl TxnId {
    pub const SYSTEM: TxnId = TxnId(0);
    /// The largest id that fits in a row header.
    pub const MAX: TxnId = TxnId((1 << 48) - 1);

    #[must_use]
    #[inline]
    pub fn to_bytes(self) -> [u8; 6] {
        debug_assert!(self <= TxnId::MAX, "transaction id {} exceeds 48 bits", self.0);
        let b = self.0.to_le_bytes();
        [b[0], b[1], b[2], b[3], b[4], b[5]]
    }

    #[must_use]
    #[inline]
    pub fn from_bytes(b: [u8; 6]) -> TxnId {
        TxnId(u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], 0, 0]))
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_pages_never_collide() {
        for g in 0..2000u32 {
            let gam = PageId::new(1, g * GAM_INTERVAL + 2);
            assert!(gam.is_gam() && !gam.is_pfs(), "{gam}");
            assert!(gam.extent().is_system(), "{gam}");
        }
        for k in 0..10_000u32 {
            let pfs = PageId::new(1, k * PFS_INTERVAL).pfs_page();
            assert!(pfs.is_pfs() && !pfs.is_gam() && pfs.extent().is_system(), "{pfs}");
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let last = PageId::new(u16::MAX, u32::MAX);
        assert!(last.gam_page().page <= u32::MAX - 5);
        assert_eq!(PageId::from_bytes(last.to_bytes()), last);
        assert_eq!(last.extent().pages().count(), 8);
        assert_eq!(TxnId::from_bytes(TxnId::MAX.to_bytes()), TxnId::MAX);
    }
}
