//! Backup and restore: full, differential and log backups while work goes on, and databases built
//! again from them, up to their end or to a point in time.
//!
//! A **full backup** is a checkpoint, a copy of the allocated extents as they are met (pages of
//! different moments), and the log from that checkpoint (or the oldest transaction then active) to
//! the moment the copy was done. A **differential** one leaves out extents in which no page has an
//! LSN from the base's redo point on. A **log backup** is the log from the end of the last one to
//! what is durable, block by block as it lies in the file. Restoring lays the pages, builds the log
//! file again with the same sequence numbers and VLF sizes, and runs the same redo as a restart:
//! there is no second way to apply a log record. A data file that the log adds is made before redo
//! meets it (`files`). Undo comes with recovery, which ends the restore.
//!
//! Between the steps of a restore the database is closed: data files with all pages redone, and a
//! log file that holds what the undo of its open transactions may need. Nothing is appended to that
//! log, so the next step can go on after it. What backups must know of a database (end of the last
//! log backup, base of the next differential, recovery fork) is in the log's header, where it
//! survives the loss of the data files.
//!
//! # Not here
//! Statements, messages, msdb, the list of databases: the engine.

mod device;
mod error;
mod files;
mod log_pieces;
mod media;
mod piece;
mod restore;
mod set;
mod take;
mod write;

pub use crate::backup_state::{BackupBase, BackupState, RestoreState};
pub use device::{
    BackupDevice, BackupReader, BackupWriter, FileDevice, NullDevice, UNIT, URL_MAX, UrlDevices,
    UrlRequest,
};
pub use error::BackupError;
pub use files::PlaceFiles;
pub use media::{MediaLabel, MediaSet, SetEntry};
pub use restore::{
    RestoreNext, RestoreTarget, RestoredStep, RollTo, check_differential, mark_restoring,
    restore_data, restore_log, restore_state, verify,
};
pub use set::{SetEnd, SetFile, SetHeader, SetKind};
pub use take::{BackupDone, BackupProgress, BackupSpec, backup_closed_log};
pub use write::ExistingSets;
