//! Block files: the only crate that calls the kernel for database, log and backup files.
//!
//! [`Disk`] is a namespace of files, [`BlockFile`] one open file. [`OsDisk`] implements them with
//! aligned direct I/O (`O_DIRECT`) where the file system allows it and with the page cache
//! elsewhere; crate `sim` implements them in memory with faults and power loss.
//!
//! # Guarantees
//! - Reads and writes are exact: they move every requested byte or return a typed error.
//! - Many requests are in flight at a time by [`transfer`]: io_uring, or threads where there is
//!   none.
//! - A write is durable only after [`BlockFile::sync`], [`BlockFile::write_durable`] or
//!   [`BlockFile::write_zeros`] has returned.
//! - Creating, removing and renaming a file, and `write_small_atomic`, are durable when they
//!   return.
//! - A small file that is kept by [`mirrored`] has two copies: neither damage to one nor its loss
//!   loses anything.
//! - Nothing is retried after a failed write or sync: the caller decides, and for a log the
//!   decision is to stop.
//! - An open file is locked against every other handle, of this process and of others, from before
//!   its first transfer until it is [released](BlockFile::release) or dropped. Handles that only
//!   read share the lock with each other. A file that another process, or another disk of this
//!   process, has open is not removed.
//!
//! # Not here: page formats, log blocks, caching.
#![allow(unsafe_code)]

mod allocator;
mod buf;
mod data;
mod error;
mod kernel;
mod lock;
mod memory;
pub mod mirrored;
mod named;
mod os;
mod pieces;
mod port;
mod prefetch;
mod probe;
mod readonly;
mod shared;
mod sizes;
mod stats;
mod transfer;
mod volume;

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use allocator::{
    CountingAllocator, hand_over, limit_heap, start_heap, take_over, thread_holds, trim_heap,
};
pub use buf::AlignedBuf;
pub use data::Data;
pub use error::{DiskError, Op, who};
pub use memory::Memory;
pub use named::{AnyFile, FoundKind, NamedPlace, OpenRule, look_up, read_named};
pub use os::OsDisk;
pub use port::{IoBackend, io_fallback, on_io_fallback};
pub use prefetch::prefetch;
pub use readonly::ReadOnlyDisk;
pub use shared::{ClaimError, RangeClaim, SharedBuf};
pub use stats::{
    FileStats, LATENCY_BUCKETS, SIZE_BUCKETS, StatsSnapshot, latency_bucket_limit_us,
    size_bucket_label,
};
pub use transfer::{
    CountedRequest, IoOptions, KernelFile, Launch, Request, RequestDone, Timer, transfer,
};
pub use volume::Volume;

/// Alignment in bytes of every buffer that this crate hands out; enough for any device that direct
/// I/O meets.
pub const BUFFER_ALIGN: usize = 4096;

/// Sector sizes of the device under a file, in bytes, powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sectors {
    /// Smallest unit that can be read or written; at least 512.
    pub logical: u32,
    /// Unit that the device writes without reading first, and that power loss leaves whole; at
    /// least `logical`.
    pub physical: u32,
}

impl Sectors {
    /// How many physical sectors (0, 1 or 2) a write of `len` bytes at `offset` covers only in
    /// part: those at its two ends.
    pub fn partial(&self, offset: u64, len: u64) -> u32 {
        let unit = u64::from(self.physical.max(1));
        let end = offset.saturating_add(len);
        let (head, tail) = (!offset.is_multiple_of(unit), !end.is_multiple_of(unit));
        match (head, tail) {
            _ if len == 0 => 0,
            (true, true) if offset / unit == (end - 1) / unit => 1,
            _ => u32::from(head) + u32::from(tail),
        }
    }
}

/// How [`Disk::open`] treats a missing or an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A new, empty file; [`DiskError::Exists`] if the name is taken. The name is durable on
    /// return.
    Create,
    /// An existing file; [`DiskError::NotFound`] otherwise.
    Open,
    /// An existing file that is only read; others may read it at the same time. Writing to it is an
    /// error.
    Read,
}

/// What distinguishes a file or folder from its copies: a copy has another inode or another time of
/// birth, a renamed one the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Number of the device; it may be another one after a restart of the machine.
    pub device: u64,
    /// Number on the device.
    pub inode: u64,
    /// Nanoseconds since 1970; 0 where the file system does not report it.
    pub born_ns: i64,
}

/// One open file. Offsets and lengths are bytes and multiples of the logical sector; buffers are
/// aligned to it too ([`AlignedBuf`] always is). Anything else returns [`DiskError::Misaligned`].
pub trait BlockFile: Send + Sync + Debug {
    /// Fills `buf` from `offset`; [`DiskError::ShortRead`] if the file ends earlier.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError>;

    /// Writes all of `buf`. Not durable until the next [`sync`](Self::sync).
    fn write_at(&self, offset: u64, buf: &[u8]) -> Result<(), DiskError> {
        self.write_gather(offset, &[buf])
    }

    /// Writes any number of buffers one after the other. Not durable until the next
    /// [`sync`](Self::sync).
    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError>;

    /// Writes the buffers one after the other and makes these bytes durable. Earlier writes are not
    /// covered: they need a [`sync`](Self::sync) of their own.
    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError>;

    /// Makes every finished write of this file durable. After an error the state of unsynced data
    /// stays unknown.
    fn sync(&self) -> Result<(), DiskError>;

    /// Length of the file in bytes.
    fn len(&self) -> Result<u64, DiskError>;

    /// True if the file has no bytes.
    fn is_empty(&self) -> Result<bool, DiskError> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file or extends it with zeros (without allocating space); durable on return.
    fn set_len(&self, len: u64) -> Result<(), DiskError>;

    /// Reserves space for `offset..offset + len`, extending the file if needed; new bytes read as
    /// zeros. Durable on return.
    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError>;

    /// Writes real zeros over `offset..offset + len` in large writes, extending the file if needed;
    /// durable on return. Space prepared like this is overwritten later without a journal commit of
    /// the file system.
    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError>;

    /// Sector sizes of the device that holds the file.
    fn sectors(&self) -> Sectors;

    /// Number of the device that holds the file. Writes to files of different devices gain from
    /// being in flight at the same time.
    fn device(&self) -> u64;

    /// True if I/O bypasses the page cache.
    fn is_direct(&self) -> bool;

    /// Counters since the file was opened.
    fn stats(&self) -> &FileStats;

    /// The path that the file was opened by.
    fn path(&self) -> &Path;

    /// Requests of one batch that are worth having in flight at a time on the file's device, at
    /// least 1.
    fn depth(&self) -> usize {
        32
    }

    /// Puts a request of a batch in flight; only [`transfer`] calls this. By default the request is
    /// done immediately.
    fn launch<'s>(&'s self, offset: u64, data: &mut Data<'_>) -> Launch<'s> {
        Launch::Done(transfer::one_by_one(self, offset, data))
    }

    /// Which of `count` requests that are held ([`Launch::Held`]) is done next, from 0.
    fn next_to_land(&self, count: usize) -> usize {
        debug_assert!(count > 0);
        0
    }

    /// Does a request that was held, and counts it.
    fn land(&self, ticket: u64, offset: u64, data: &mut Data<'_>) -> Result<(), DiskError> {
        let _ = ticket;
        transfer::one_by_one(self, offset, data)
    }

    /// Releases the file while handles to it still exist: waits for the writes that are in flight,
    /// refuses all later ones ([`DiskError::Released`]) and ends the lock.
    fn release(&self);
}

/// An exclusive lock on an instance folder; released when dropped.
#[derive(Debug)]
pub struct DiskLock(#[allow(dead_code)] Box<dyn LockGuard>);

impl DiskLock {
    /// Wraps the implementation's guard.
    pub fn new(guard: impl LockGuard + 'static) -> Self {
        DiskLock(Box::new(guard))
    }
}

/// What a [`Disk`] keeps alive while a [`DiskLock`] exists; dropping it releases the lock.
pub trait LockGuard: Send + Sync + Debug {}

/// A namespace of files. Relative paths are relative to the disk's root (the instance folder).
pub trait Disk: Send + Sync + Debug {
    /// Opens or creates a block file, and locks it.
    ///
    /// # Errors
    /// [`DiskError::Locked`] when another handle has it open, unless both only read; nothing has
    /// been changed then.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError>;
    /// Where a name from outside leads: without links, and what is there. A disk without links has
    /// what the name says.
    fn look_up(&self, path: &Path) -> Result<NamedPlace, DiskError> {
        let unknown = FileIdentity { device: 0, inode: 0, born_ns: 0 };
        let found = self.exists(path)?.then(|| {
            let identity = self.identity(path).unwrap_or(unknown);
            FoundKind::File(identity)
        });
        Ok(NamedPlace { real: path.to_path_buf(), found })
    }
    /// Opens or creates a block file by a name from outside: the place of the rule, without
    /// following a link. A disk without links and special files opens `path`.
    ///
    /// # Errors
    /// [`DiskError::Refused`] when something else is there by now than what the rule allows; as
    /// [`open`](Self::open).
    fn open_named(
        &self,
        path: &Path,
        mode: OpenMode,
        rule: &dyn OpenRule,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        let _ = rule;
        self.open(path, mode)
    }
    /// Removes the file of a name from outside: that at the place of the rule, without following a
    /// link. A disk without links and special files removes `path`.
    ///
    /// # Errors
    /// [`DiskError::Refused`] as [`open_named`](Self::open_named); as [`remove`](Self::remove).
    fn remove_named(&self, path: &Path, rule: &dyn OpenRule) -> Result<(), DiskError> {
        let _ = rule;
        self.remove(path)
    }
    /// Removes a file; durable on return. One that this disk has open itself may be removed.
    ///
    /// # Errors
    /// [`DiskError::Locked`] when another process, or another disk of this process, has it open.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;
    /// Renames a file, replacing the target if there is one; durable on return.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    /// True if a file or folder of that name exists.
    fn exists(&self, path: &Path) -> Result<bool, DiskError>;
    /// Creates a folder and its parents; durable on return.
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError>;
    /// Paths of the entries of a folder (folder joined with name), sorted.
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError>;
    /// Reads a whole small file (at most [`SMALL_FILE_MAX`] bytes).
    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError>;
    /// Replaces a small file: after a crash there is the old or the new content, and the new one
    /// once this returned. A real file is accessible to its owner only (permissions 0600).
    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError>;
    /// Adds bytes to the end of a file of text, which is made if it is not there (permissions
    /// 0600); its folder must be there. They outlive the process on return, and a power failure
    /// where `durable` is asked for.
    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError>;
    /// Bytes that may still be allocated on the volume that holds `path` (or would hold it).
    fn free_space(&self, path: &Path) -> Result<u64, DiskError>;
    /// Absolute path of the file, and the file system that holds it; `None` where there is no such
    /// thing.
    fn volume(&self, path: &Path) -> Option<Volume> {
        let _ = path;
        None
    }
    /// Takes the exclusive lock named by `path` without waiting; [`DiskError::Locked`] if another
    /// holder has it.
    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError>;
    /// Takes the lock named by `path`, shared with others that take it so; the file must exist, and
    /// is not written.
    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError>;
    /// What distinguishes a file or folder from its copies.
    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError>;
    /// True if a file is in a folder and nowhere else: no link leads out of the folder to it, and
    /// it has no second name. A copy of the folder then has a copy of the file.
    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError>;
}

/// Largest file that [`Disk::read_small`] and [`Disk::write_small_atomic`] handle, in bytes.
pub const SMALL_FILE_MAX: u64 = 16 << 20;

/// Checks that a transfer fits the sectors; shared by all implementations so that tests on one hold
/// for the others.
pub fn check_aligned(
    path: &Path,
    sectors: Sectors,
    offset: u64,
    buf: &[u8],
) -> Result<(), DiskError> {
    let unit = sectors.logical as usize;
    let aligned = offset.is_multiple_of(unit as u64)
        && buf.len().is_multiple_of(unit)
        && (buf.as_ptr() as usize).is_multiple_of(unit);
    if aligned {
        Ok(())
    } else {
        Err(DiskError::Misaligned {
            path: path.to_path_buf(),
            offset,
            len: buf.len() as u64,
            sector: sectors.logical,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_sectors_are_those_at_the_ends() {
        let sectors = Sectors { logical: 512, physical: 4096 };
        assert_eq!(sectors.partial(0, 4096), 0);
        assert_eq!(sectors.partial(4096, 0), 0);
        assert_eq!(sectors.partial(512, 512), 1);
        assert_eq!(sectors.partial(0, 512), 1);
        assert_eq!(sectors.partial(3584, 1024), 2);
        assert_eq!(sectors.partial(3584, 512), 1);
        assert_eq!(sectors.partial(512, 8192), 2);
        assert_eq!(sectors.partial(4096, 4608), 1);
        assert_eq!(Sectors { logical: 512, physical: 512 }.partial(512, 1024), 0);
    }
}
