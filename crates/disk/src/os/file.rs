//! One file of the operating system: reading, writing durably and not, growing it, giving it up.

use super::OpenFiles;
use crate::buf::AlignedBuf;
use crate::data::Data;
use crate::error::{DiskError, Op};
use crate::kernel::FileHandle;
use crate::lock;
use crate::stats::FileStats;
use crate::transfer::{KernelFile, Launch};
use crate::{BlockFile, Sectors, check_aligned};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};
use std::io::IoSliceMut;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

/// Zeros are written in pieces of this size.
const ZERO_CHUNK: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct OsFile {
    pub(super) handle: FileHandle,
    pub(super) device: u64,
    /// False on a scratch disk, where nothing is synced.
    pub(super) durable: bool,
    /// False once the kernel has refused `RWF_DSYNC`.
    pub(super) dsync: AtomicBool,
    /// Requests of a batch in flight at a time.
    pub(super) depth: usize,
    /// Its entry in the disk's list of files that are open for writing.
    pub(super) listed: Option<(Arc<OpenFiles>, (u64, u64))>,
}

impl Drop for OsFile {
    fn drop(&mut self) {
        if self.handle.gate.shut() {
            self.unlist();
        }
    }
}

impl OsFile {
    fn unlist(&self) {
        let Some((list, key)) = &self.listed else { return };
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        match list.get_mut(key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(list.remove(key)),
        }
    }

    fn check_all(&self, offset: u64, bufs: &[&[u8]]) -> Result<u64, DiskError> {
        let mut at = offset;
        for buf in bufs {
            check_aligned(&self.handle.path, self.handle.sectors, at, buf)?;
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
            rustix::fs::fallocate(&self.handle.fd, FallocateFlags::empty(), offset, len)
        }) {
            Ok(()) => Ok(()),
            // This file system has no such call: setting the length is all that can be done.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if self.len()? < offset.saturating_add(len) => {
                let end = offset.saturating_add(len);
                self.truncate(end)
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(self.handle.fail(Op::Allocate, offset, errno)),
        }
    }

    /// Sets the length, not yet durable.
    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        retry_on_intr(|| rustix::fs::ftruncate(&self.handle.fd, len))
            .map_err(|errno| self.handle.fail(Op::SetLength, len, errno))
    }

    /// Syncs content and length.
    fn full_sync(&self, offset: u64) -> Result<(), DiskError> {
        if !self.durable {
            return Ok(());
        }
        rustix::fs::fsync(&self.handle.fd)
            .map_err(|errno| self.handle.fail(Op::Sync, offset, errno))
    }

    fn data_sync(&self) -> Result<(), DiskError> {
        if !self.durable {
            return Ok(());
        }
        rustix::fs::fdatasync(&self.handle.fd).map_err(|errno| self.handle.fail(Op::Sync, 0, errno))
    }
}

fn zeros() -> &'static AlignedBuf {
    static ZEROS: OnceLock<AlignedBuf> = OnceLock::new();
    ZEROS.get_or_init(|| AlignedBuf::new(ZERO_CHUNK))
}

impl BlockFile for OsFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError> {
        check_aligned(&self.handle.path, self.handle.sectors, offset, buf)?;
        let start = Instant::now();
        let bytes = buf.len() as u64;
        self.handle.read_all(offset, &mut [IoSliceMut::new(buf)], 0)?;
        self.handle.stats.count_read(bytes, start.elapsed());
        Ok(())
    }

    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        let bytes = self.check_all(offset, bufs)?;
        let _passage = self.handle.changing(Op::Write)?;
        let start = Instant::now();
        self.handle.write_all(offset, bufs, ReadWriteFlags::empty())?;
        self.handle.stats.count_write(bytes, start.elapsed());
        self.handle.note_rmw(offset, bytes);
        Ok(())
    }

    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        let bytes = self.check_all(offset, bufs)?;
        let _passage = self.handle.changing(Op::Write)?;
        let start = Instant::now();
        let durable = self.durable
            && self.dsync.load(Ordering::Relaxed)
            && self.handle.write_all(offset, bufs, ReadWriteFlags::DSYNC)?;
        if !durable {
            self.handle.write_all(offset, bufs, ReadWriteFlags::empty())?;
            self.data_sync()?;
            // Only now it is certain that the flag was refused and not the transfer. A scratch disk
            // needs neither.
            self.dsync.store(false, Ordering::Relaxed);
        }
        self.handle.stats.count_durable_write(bytes, start.elapsed());
        self.handle.note_rmw(offset, bytes);
        Ok(())
    }

    fn sync(&self) -> Result<(), DiskError> {
        let start = Instant::now();
        self.data_sync()?;
        self.handle.stats.count_sync(start.elapsed());
        Ok(())
    }

    fn len(&self) -> Result<u64, DiskError> {
        let stat = rustix::fs::fstat(&self.handle.fd)
            .map_err(|errno| self.handle.fail(Op::Length, 0, errno))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        let _passage = self.handle.changing(Op::SetLength)?;
        self.truncate(len)?;
        self.full_sync(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let _passage = self.handle.changing(Op::Allocate)?;
        self.reserve(offset, len)?;
        self.full_sync(offset)
    }

    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let _passage = self.handle.changing(Op::Write)?;
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
        self.handle.sectors
    }

    fn device(&self) -> u64 {
        self.device
    }

    fn is_direct(&self) -> bool {
        self.handle.direct
    }

    fn stats(&self) -> &FileStats {
        &self.handle.stats
    }

    fn path(&self) -> &Path {
        &self.handle.path
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn launch<'s>(&'s self, _offset: u64, _data: &mut Data<'_>) -> Launch<'s> {
        Launch::Kernel(KernelFile(&self.handle))
    }

    fn release(&self) {
        if self.handle.gate.shut() {
            self.unlist();
        }
        lock::give(&self.handle.fd);
    }
}
