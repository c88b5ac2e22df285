//! What a page holds, as its type byte says.

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageType {
    /// Rows of a heap.
    Data = 1,
    /// A B+tree node.
    Index = 2,
    /// Pieces of large values.
    Lob = 3,
    /// Which extents of the interval are in use.
    Gam = 8,
    /// Which extents of the interval belong to one unit.
    Iam = 10,
    /// One byte per page: in use, fullness.
    Pfs = 11,
    /// The database's own data.
    Boot = 13,
    /// Directory of the last doublewrite batch.
    Doublewrite = 14,
    /// What file this is.
    FileHeader = 15,
}

impl PageType {
    #[inline]
    #[must_use]
    pub fn from_u8(t: u8) -> Option<PageType> {
        Some(match t {
            1 => PageType::Data,
            2 => PageType::Index,
            3 => PageType::Lob,
            8 => PageType::Gam,
            10 => PageType::Iam,
            11 => PageType::Pfs,
            13 => PageType::Boot,
            14 => PageType::Doublewrite,
            15 => PageType::FileHeader,
            _ => return None,
        })
    }

    /// Whether pages of this type have a slot array.
    #[must_use]
    #[inline]
    pub fn is_slotted(self) -> bool {
        matches!(self, PageType::Data | PageType::Index | PageType::Lob)
    }
}
