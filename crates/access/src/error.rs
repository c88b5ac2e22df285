//! Errors of heaps, B+trees and LOBs. Cheap to clone.

use pages::{Lsn, PageError, PageId};

/// What can go wrong when rows are read or changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AccessError {
    /// The page store or the log failed, or a page on disk is damaged.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The row version that a header points to is not in the log.
    #[error("log record {lsn} holds no version of the row on page {page}")]
    NoVersion { lsn: Lsn, page: PageId },
    /// A row or an index entry is longer than a page can hold (SQL Server 511).
    #[error("a row of {len} bytes is longer than the maximum of {max} bytes")]
    RowTooLong { len: usize, max: usize },
    /// A key is longer than an index allows (1946).
    #[error("a key of {len} bytes is longer than the maximum of {max} bytes")]
    KeyTooLong { len: usize, max: usize },
    /// A LOB pointer or a range of it is not valid.
    #[error("large value at page {page}: {what}")]
    Lob { page: PageId, what: &'static str },
    /// A page changed under the caller again and again: a damaged structure, not a busy one.
    #[error("page {page} could not be reached: {what}")]
    Unstable { page: PageId, what: &'static str },
}

/// Shorthand for damage found on a page.
pub(crate) fn corrupt(page: PageId, what: &'static str) -> AccessError {
    AccessError::Page(PageError::Corrupt { page, what })
}
