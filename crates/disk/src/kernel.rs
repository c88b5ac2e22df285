//! An open file as the kernel reads and writes it: from buffers to an operation of the kernel, and
//! from its result to bytes moved or an error. An operation that the kernel did only in part is
//! finished here with ordinary calls.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::{Errno, ReadWriteFlags};

use crate::data::Data;
use crate::error::{DiskError, Op, failure};
use crate::lock::{WriteGate, WritePassage};
use crate::port::{self, IoBackend};
use crate::stats::FileStats;
use crate::{Sectors, check_aligned};

/// Buffers per system call; Linux allows 1,024.
const IOV_MAX: usize = 1024;

/// What moving bytes needs of an open file.
#[derive(Debug)]
pub(crate) struct FileHandle {
    pub path: PathBuf,
    pub fd: OwnedFd,
    /// I/O bypasses the page cache.
    pub direct: bool,
    pub sectors: Sectors,
    pub backend: IoBackend,
    pub stats: FileStats,
    /// Shut when the file has been released, or is only read.
    pub gate: WriteGate,
}

impl FileHandle {
    /// To be held while the file's content or length changes.
    pub(crate) fn changing(&self, op: Op) -> Result<WritePassage<'_>, DiskError> {
        self.gate.enter().ok_or_else(|| DiskError::Released { op, path: self.path.clone() })
    }

    pub(crate) fn fail(&self, op: Op, offset: u64, errno: Errno) -> DiskError {
        if matches!(op, Op::Write | Op::Sync) {
            self.stats.count_failure();
        }
        failure(op, &self.path, offset, errno)
    }

    pub(crate) fn backend(&self) -> IoBackend {
        self.backend
    }

    /// The request as the kernel needs it. `None` when it is better done immediately: one that is
    /// not aligned (an error), one that has no bytes or too many buffers, and a write to the page
    /// cache, which is a copy in memory.
    pub(crate) fn operation(&self, offset: u64, data: &mut Data<'_>) -> Option<port::Op> {
        let fits = |count: usize| (1..=IOV_MAX).contains(&count) && data.len() > 0;
        let (bufs, count, write) = match &data {
            Data::Read(bufs) => (bufs.as_ptr().cast(), bufs.len(), false),
            Data::Write(bufs) => (bufs.as_ptr().cast(), bufs.len(), true),
        };
        if !fits(count) || write && !self.direct || self.check(offset, data).is_err() {
            return None;
        }
        Some(port::Op { fd: self.fd.as_raw_fd(), write, offset, bufs, count: count as u32 })
    }

    /// Does the request with ordinary calls.
    pub(crate) fn move_now(&self, offset: u64, data: &mut Data<'_>) -> Result<(), DiskError> {
        self.check(offset, data)?;
        self.move_from(0, offset, data)
    }

    /// The outcome of an operation that returned `result`: bytes moved, or a negative error number.
    pub(crate) fn settle(
        &self,
        offset: u64,
        data: &mut Data<'_>,
        result: i32,
    ) -> Result<(), DiskError> {
        let retried =
            [Errno::INTR, Errno::AGAIN, Errno::CANCELED].map(|errno| -errno.raw_os_error());
        match u64::try_from(result) {
            Ok(moved) if moved == data.len() => Ok(()),
            Ok(moved) => self.move_from(moved, offset, data),
            Err(_) if retried.contains(&result) => self.move_from(0, offset, data),
            Err(_) => {
                let op = if data.is_write() { Op::Write } else { Op::Read };
                Err(self.fail(op, offset, Errno::from_raw_os_error(-result)))
            }
        }
    }

    /// Counts a request that has succeeded.
    pub(crate) fn count(&self, write: bool, offset: u64, bytes: u64, took: Duration) {
        if write {
            self.stats.count_write(bytes, took);
            self.note_rmw(offset, bytes);
        } else {
            self.stats.count_read(bytes, took);
        }
    }

    fn check(&self, offset: u64, data: &Data<'_>) -> Result<(), DiskError> {
        let mut at = offset;
        let mut one = |buf: &[u8]| {
            check_aligned(&self.path, self.sectors, at, buf)?;
            at += buf.len() as u64;
            Ok(())
        };
        match data {
            Data::Read(bufs) => bufs.iter().try_for_each(|buf| one(buf)),
            Data::Write(bufs) => bufs.iter().try_for_each(|buf| one(buf)),
        }
    }

    /// Moves what is left after the first `skip` bytes.
    fn move_from(&self, skip: u64, offset: u64, data: &mut Data<'_>) -> Result<(), DiskError> {
        match data {
            Data::Read(bufs) => self.read_all(offset, bufs, skip as usize),
            Data::Write(bufs) => {
                let mut left: Vec<IoSlice<'_>> = bufs.iter().map(|buf| IoSlice::new(buf)).collect();
                let mut rest = &mut left[..];
                IoSlice::advance_slices(&mut rest, skip as usize);
                let rest: Vec<&[u8]> = rest.iter().map(|buf| &**buf).collect();
                self.write_all(offset + skip, &rest, ReadWriteFlags::empty()).map(drop)
            }
        }
    }

    /// Fills the buffers after their first `skip` bytes, in as many calls as it takes.
    pub(crate) fn read_all(
        &self,
        offset: u64,
        bufs: &mut [IoSliceMut<'_>],
        skip: usize,
    ) -> Result<(), DiskError> {
        let wanted: usize = bufs.iter().map(|buf| buf.len()).sum();
        let mut left: Vec<IoSliceMut<'_>> =
            bufs.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
        let mut rest = &mut left[..];
        IoSliceMut::advance_slices(&mut rest, skip);
        let mut done = skip;
        let short = |got: usize| {
            let (wanted, got) = (wanted as u64, got as u64);
            Err(DiskError::ShortRead { path: self.path.clone(), offset, wanted, got })
        };
        while done < wanted {
            let group = rest.len().min(IOV_MAX);
            match rustix::io::preadv(&self.fd, &mut rest[..group], offset + done as u64) {
                Ok(0) => return short(done),
                Ok(n) => {
                    done += n;
                    IoSliceMut::advance_slices(&mut rest, n);
                }
                Err(Errno::INTR) => {}
                // Direct reads must not start inside a sector: the file ended there.
                Err(Errno::INVAL) if !done.is_multiple_of(self.sectors.logical as usize) => {
                    return short(done);
                }
                Err(errno) => return Err(self.fail(Op::Read, offset + done as u64, errno)),
            }
        }
        Ok(())
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

    /// Counts a direct write that covers physical sectors only in part. Writes to the page cache
    /// are not counted, because it is unknown in which pieces they reach the device.
    pub(crate) fn note_rmw(&self, offset: u64, bytes: u64) {
        if self.direct && self.sectors.partial(offset, bytes) > 0 {
            self.stats.count_rmw();
        }
    }
}
