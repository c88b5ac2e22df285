//! One file of the operating system: reading, writing durably and not, growing it, giving it up.

use super::{OpenFiles, failure};
use crate::buf::AlignedBuf;
use crate::error::{DiskError, Op};
use crate::lock::{self, Gate, Passage};
use crate::port::IoBackend;
use crate::stats::FileStats;
use crate::transfer::{Data, KernelFile, Launch};
use crate::{BlockFile, Sectors, check_aligned};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

/// Buffers per system call; Linux allows 1,024.
pub(crate) const IOV_MAX: usize = 1024;

/// Zeros are written in pieces of this size.
const ZERO_CHUNK: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct OsFile {
    pub(crate) path: PathBuf,
    pub(crate) fd: OwnedFd,
    pub(crate) direct: bool,
    pub(crate) sectors: Sectors,
    pub(super) device: u64,
    /// False on a scratch disk, where nothing is synced.
    pub(super) durable: bool,
    /// False once the kernel has refused `RWF_DSYNC`.
    pub(super) dsync: AtomicBool,
    pub(crate) backend: IoBackend,
    /// Requests of a batch in flight at a time.
    pub(super) depth: usize,
    pub(crate) stats: FileStats,
    /// Shut when the file has been released, or is only read.
    pub(super) gate: Gate,
    /// Its entry in the disk's list of files that are open for writing.
    pub(super) listed: Option<(Arc<OpenFiles>, (u64, u64))>,
}

impl Drop for OsFile {
    fn drop(&mut self) {
        if self.gate.shut() {
            self.unlist();
        }
    }
}

impl OsFile {
    /// To be held while the file's content or length changes.
    pub(crate) fn changing(&self, op: Op) -> Result<Passage<'_>, DiskError> {
        self.gate.enter().ok_or_else(|| DiskError::Released { op, path: self.path.clone() })
    }

    fn unlist(&self) {
        let Some((list, key)) = &self.listed else { return };
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        match list.get_mut(key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(list.remove(key)),
        }
    }

    pub(crate) fn fail(&self, op: Op, offset: u64, errno: Errno) -> DiskError {
        if matches!(op, Op::Write | Op::Sync) {
            self.stats.count_failure();
        }
        failure(op, &self.path, offset, errno)
    }

    /// Writes everything, in as many calls as it takes. Returns false if the kernel refused the
    /// flags before a byte was written.
    pub(crate) fn write_all(
        &self,
        offset: u64,
        bufs: &[&[u8]],
        flags: ReadWriteFlags,
    ) -> Result<bool, DiskError> {
        let mut at = offset;
        for group in bufs.chunks(IOV_MAX) {
            let mut slices: Vec<IoSlice<'_>> = group.iter().map(|buf| IoSlice::new(buf)).collect();
            let mut rest = &mut slices[..];
            while !rest.is_empty() {
                let wrote = if flags.is_empty() {
                    rustix::io::pwritev(&self.fd, rest, at)
                } else {
                    rustix::io::pwritev2(&self.fd, rest, at, flags)
                };
                match wrote {
                    // A device that accepts nothing and reports no error is out of space.
                    Ok(0) if rest.iter().any(|buf| !buf.is_empty()) => {
                        return Err(self.fail(Op::Write, at, Errno::NOSPC));
                    }
                    Ok(0) => break,
                    Ok(n) => {
                        at += n as u64;
                        IoSlice::advance_slices(&mut rest, n);
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
                        if !flags.is_empty() && at == offset =>
                    {
                        return Ok(false);
                    }
                    Err(errno) => return Err(self.fail(Op::Write, at, errno)),
                }
            }
        }
        Ok(true)
    }

    fn check_all(&self, offset: u64, bufs: &[&[u8]]) -> Result<u64, DiskError> {
        let mut at = offset;
        for buf in bufs {
            check_aligned(&self.path, self.sectors, at, buf)?;
            at += buf.len() as u64;
        }
        Ok(at - offset)
    }

    /// Reserves space for these bytes, not yet durable.
    fn reserve(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        if len == 0 {
            return Ok(());
        }
        match retry_on_intr(|| {
            rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), offset, len)
        }) {
            Ok(()) => Ok(()),
            // This file system has no such call: setting the length is all that can be done.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if self.len()? < offset.saturating_add(len) => {
                let end = offset.saturating_add(len);
                self.truncate(end)
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(self.fail(Op::Allocate, offset, errno)),
        }
    }

    /// Sets the length, not yet durable.
    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        retry_on_intr(|| rustix::fs::ftruncate(&self.fd, len))
            .map_err(|errno| self.fail(Op::SetLength, len, errno))
    }

    /// Syncs content and length.
    fn full_sync(&self, offset: u64) -> Result<(), DiskError> {
        if !self.durable {
            return Ok(());
        }
        rustix::fs::fsync(&self.fd).map_err(|errno| self.fail(Op::Sync, offset, errno))
    }

    /// Counts a direct write that covers physical sectors only in part. Writes to the page cache
    /// are not counted, because it is unknown in which pieces they reach the device.
    pub(crate) fn note_rmw(&self, offset: u64, bytes: u64) {
        if self.direct && self.sectors.partial(offset, bytes) > 0 {
            self.stats.count_rmw();
        }
    }

    fn data_sync(&self) -> Result<(), DiskError> {
        if !self.durable {
            return Ok(());
        }
        rustix::fs::fdatasync(&self.fd).map_err(|errno| self.fail(Op::Sync, 0, errno))
    }
}

fn zeros() -> &'static AlignedBuf {
    static ZEROS: OnceLock<AlignedBuf> = OnceLock::new();
    ZEROS.get_or_init(|| AlignedBuf::new(ZERO_CHUNK))
}

impl BlockFile for OsFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError> {
        check_aligned(&self.path, self.sectors, offset, buf)?;
        let start = Instant::now();
        let bytes = buf.len() as u64;
        self.read_all(offset, &mut [IoSliceMut::new(buf)], 0)?;
        self.stats.count_read(bytes, start.elapsed());
        Ok(())
    }

    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        let bytes = self.check_all(offset, bufs)?;
        let _passage = self.changing(Op::Write)?;
        let start = Instant::now();
        self.write_all(offset, bufs, ReadWriteFlags::empty())?;
        self.stats.count_write(bytes, start.elapsed());
        self.note_rmw(offset, bytes);
        Ok(())
    }

    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        let bytes = self.check_all(offset, bufs)?;
        let _passage = self.changing(Op::Write)?;
        let start = Instant::now();
        let durable = self.durable
            && self.dsync.load(Ordering::Relaxed)
            && self.write_all(offset, bufs, ReadWriteFlags::DSYNC)?;
        if !durable {
            self.write_all(offset, bufs, ReadWriteFlags::empty())?;
            self.data_sync()?;
            // Only now it is certain that the flag was refused and not the transfer. A scratch disk
            // needs neither.
            self.dsync.store(false, Ordering::Relaxed);
        }
        self.stats.count_durable_write(bytes, start.elapsed());
        self.note_rmw(offset, bytes);
        Ok(())
    }

    fn sync(&self) -> Result<(), DiskError> {
        let start = Instant::now();
        self.data_sync()?;
        self.stats.count_sync(start.elapsed());
        Ok(())
    }

    fn len(&self) -> Result<u64, DiskError> {
        let stat = rustix::fs::fstat(&self.fd).map_err(|errno| self.fail(Op::Length, 0, errno))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        let _passage = self.changing(Op::SetLength)?;
        self.truncate(len)?;
        self.full_sync(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let _passage = self.changing(Op::Allocate)?;
        self.reserve(offset, len)?;
        self.full_sync(offset)
    }

    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let _passage = self.changing(Op::Write)?;
        let zeros = zeros();
        let end = offset.saturating_add(len);
        let mut at = offset;
        // Before anything is written: the space comes in few extents, and a full volume is noticed
        // in time.
        self.reserve(offset, len)?;
        while at < end {
            let piece = (end - at).min(ZERO_CHUNK as u64) as usize;
            self.write_gather(at, &[&zeros[..piece]])?;
            at += piece as u64;
        }
        self.sync()
    }

    fn sectors(&self) -> Sectors {
        self.sectors
    }

    fn device(&self) -> u64 {
        self.device
    }

    fn is_direct(&self) -> bool {
        self.direct
    }

    fn stats(&self) -> &FileStats {
        &self.stats
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn launch<'s>(&'s self, _offset: u64, _data: &mut Data<'_>) -> Launch<'s> {
        Launch::Kernel(KernelFile(self))
    }

    fn release(&self) {
        if self.gate.shut() {
            self.unlist();
        }
        lock::give(&self.fd);
    }
}
