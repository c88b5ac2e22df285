//! Errors of the page store. Cheap to clone, so that one failure can answer many waiters.

use crate::id::PageId;
use wal::Lsn;

/// What can go wrong with pages, data files and log records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// A page or a log record is not what its format says (SQL Server 824 / 5242).
    #[error("page {page} is corrupt: {what}")]
    Corrupt { page: PageId, what: &'static str },
    /// The checksum of a page that was read does not fit its bytes (824, incorrect checksum).
    #[error(
        "incorrect checksum (expected: {expected:#010x}; actual: {actual:#010x}) of page {page} at offset {offset:#018x} in file '{path}'"
    )]
    Checksum { page: PageId, path: String, offset: u64, expected: u32, actual: u32 },
    /// A page that was read names another page in its header (824, incorrect page id).
    #[error(
        "incorrect page id (expected {page}; actual {actual}) at offset {offset:#018x} in file '{path}'"
    )]
    WrongPage { page: PageId, actual: PageId, path: String, offset: u64 },
    /// A log record cannot be decoded.
    #[error("log record is corrupt: {what}")]
    Record { what: &'static str },
    /// A log record cannot be applied.
    #[error("log record {lsn} cannot be applied to page {page}: {what}")]
    Apply { lsn: Lsn, page: PageId, what: &'static str },
    /// The record builder cannot take the operation: 255 row operations or 48 KiB reached.
    #[error("log record is full")]
    RecordFull,
    /// No frame of the buffer pool became free in time (802).
    #[error("there is insufficient memory available in the buffer pool")]
    NoFrames,
    /// The filegroup is full and cannot grow (1105).
    #[error("could not allocate space because filegroup {filegroup} is full: {why}")]
    FilegroupFull { filegroup: u16, why: &'static str },
    /// No file of that number belongs to the database, or the page lies beyond its end.
    #[error("page {page} does not exist")]
    NoSuchPage { page: PageId },
    /// A file is not a data file of this database.
    #[error("file '{path}' is not a data file of this database: {why}")]
    NotADataFile { path: String, why: &'static str },
    /// A whole data file that another version has made (946, 948).
    #[error("file '{path}' has format {found}, {}", maker(*found, *known))]
    OtherFormat { path: String, found: u16, known: u16 },
    /// A file outside the instance's folder belongs to another instance (5173).
    #[error("file '{path}' {}", foreign(owner))]
    Foreign { path: String, owner: String },
    /// The file system failed (823, or 5149 when the size of a file could not be changed).
    #[error(transparent)]
    Disk(#[from] disk::DiskError),
    /// The device refuses to write pages (823). They stay in memory and in the log, and are tried
    /// again.
    #[error("page {page}{} cannot be written: {cause}", others(*pages))]
    Unwritten { page: PageId, pages: usize, cause: disk::DiskError },
    /// The log is full (9002), offline (9001) or damaged.
    #[error(transparent)]
    Log(#[from] wal::LogError),
    /// A parameter is out of its range.
    #[error("{what}")]
    Invalid { what: &'static str },
    /// An earlier failure took the database offline.
    #[error("the database is offline after a failure: {cause}")]
    Offline { cause: String },
}

fn maker(found: u16, known: u16) -> &'static str {
    match found < known {
        true => {
            "which an earlier version has made: this version does not read its index entries. Export its data with \
             that version"
        }
        false => "which a later version has made",
    }
}

fn foreign(owner: &str) -> String {
    match owner {
        "" => "lies outside the folder, which is a copy of another one, and names no instance: it may be the other one's".into(),
        owner => format!("belongs to instance {owner}, whose folder is another one"),
    }
}

/// Besides the one that is named.
fn others(pages: usize) -> String {
    match pages {
        0 | 1 => String::new(),
        2 => " and 1 other page".into(),
        n => format!(" and {} other pages", n - 1),
    }
}

impl PageError {
    /// Whether the bytes of a page in its file are damaged (824).
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, PageError::Checksum { .. } | PageError::WrongPage { .. })
    }

    pub(crate) fn corrupt(page: PageId, what: &'static str) -> PageError {
        PageError::Corrupt { page, what }
    }
}
