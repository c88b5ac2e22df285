//! What ghost cleanup tells of a page: the same for a page of a heap and a leaf of an index.

use pages::TxnId;

/// What a visit to a page did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCleanup {
    /// Ghosts removed.
    pub removed: usize,
    /// Ghosts that somebody may still need.
    pub remaining: usize,
    /// The newest transaction of those: visit the page again when every snapshot sees it.
    pub newest: TxnId,
    /// The page had no rows left and is free: a heap's page, or a leaf that left its index.
    pub unlinked: bool,
    /// The page is a leaf without rows; [`unlink_empty`](crate::unlink_empty) takes it out of its
    /// index.
    pub empty: bool,
    /// Something was in the way: visit the page again later.
    pub again: bool,
}
