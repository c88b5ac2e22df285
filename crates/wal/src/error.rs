//! Errors of the log.

use disk::DiskError;

use crate::Lsn;

/// What can go wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// No VLF can be reused and the file cannot grow (error 9002). `cause` is set if growing was
    /// tried and failed.
    #[error("the transaction log is full")]
    Full { cause: Option<DiskError> },
    /// An earlier write or sync of the log failed; the log takes nothing more until it is opened
    /// again.
    #[error("the log is offline after a failed write: {cause}")]
    Offline { cause: DiskError },
    /// Reading, creating or opening failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file is no log, or of another version.
    #[error("'{path}' is not a log file of this version")]
    NotALog { path: String },
    /// Header or map are damaged, the file is too short, or a block that must be there is not.
    #[error("the log is damaged at byte {offset}: {reason}")]
    Corrupt { offset: u64, reason: &'static str },
    /// Log that was durable cannot be read: what opening found at `from` is damaged, and it knows
    /// of log up to `to`, which is not part of the range. Records from there on are not the end of
    /// the log but missing from it (error 9004).
    #[error(
        "the log is damaged at byte {offset}: the log records from {from} to {to} were durable and are missing ({reason})"
    )]
    Missing { offset: u64, from: Lsn, to: Lsn, reason: &'static str },
    /// No such record: truncated, not yet appended, or never a valid LSN.
    #[error("no log record at {lsn}")]
    NoRecord { lsn: Lsn },
    /// A record is longer than [`MAX_RECORD`](crate::MAX_RECORD) or than a VLF holds.
    #[error("a log record of {len} bytes is too large")]
    RecordTooLarge { len: usize },
    /// An option is out of range, or the device cannot work with the alignment of the file.
    #[error("invalid log option: {reason}")]
    Option { reason: &'static str },
}
