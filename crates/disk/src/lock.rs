//! Locks of the operating system on files: an instance that has a file open keeps other instances
//! out of it, wherever it lies.
//!
//! The locks are those of `flock`: they belong to the open file, not to the process (a second
//! handle of the same process is refused too, and closing some other handle releases nothing), they
//! end with the process, and `/proc/locks` shows which process holds one. A file system that has no
//! locks is an error and not a lock that is silently missing.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::{DiskError, Op, failure};
use crate::{FileIdentity, LockGuard};

/// How long a lock is waited for that belongs to a process that has ended, or to one that cannot be
/// found.
const LINGER: Duration = Duration::from_secs(3);

/// Takes the lock of an open file without waiting for a running process that has it.
///
/// # Errors
/// [`DiskError::Locked`] with the process that has it, as far as the system reports that;
/// [`DiskError::Io`] where the file system has no locks.
pub(crate) fn take(fd: impl AsFd, path: &Path, shared: bool) -> Result<(), DiskError> {
    let kind = match shared {
        true => FlockOperation::NonBlockingLockShared,
        false => FlockOperation::NonBlockingLockExclusive,
    };
    let end = Instant::now() + LINGER;
    loop {
        match rustix::fs::flock(&fd, kind) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(failure(Op::Lock, path, 0, errno)),
        }
        // No running process has it: the kernel closes the files of a killed process a little later
        // than the process ends if it had requests in flight (io_uring). Or the holder is not
        // visible from here.
        let holder = holder(&fd);
        if holder.is_some_and(is_running) || Instant::now() >= end {
            return Err(DiskError::Locked { path: path.to_path_buf(), holder });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// False for a process that was killed and not yet waited for by its parent, or that no longer
/// exists.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // "4711 (any (name)) S ...": the state follows the last bracket.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X' | 'x'))
}

/// Releases the lock of an open file.
pub(crate) fn give(fd: impl AsFd) {
    // It cannot fail for an open file; and if it did, the lock would end with the handle.
    let _ = rustix::fs::flock(&fd, FlockOperation::Unlock);
}

/// The process that holds a lock on an open file, as far as the system reports it.
fn holder(fd: impl AsFd) -> Option<u32> {
    let stat = rustix::fs::fstat(&fd).ok()?;
    let text = std::fs::read_to_string("/proc/locks").ok()?;
    let device = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    holder_in(&text, device, stat.st_ino)
}

/// Finds the holder in the text of `/proc/locks`. Some file systems show another device number
/// there than in `stat`: an entry of the same inode number on another device is taken if there is
/// no better one.
fn holder_in(text: &str, device: (u32, u32), inode: u64) -> Option<u32> {
    let mut other = None;
    for line in text.lines() {
        // 12: FLOCK  ADVISORY  WRITE 4711 fd:01:1234567 0 EOF
        // A process that waits for a lock has an arrow after the number.
        let mut fields = line.split_whitespace().skip(1);
        if fields.next() != Some("FLOCK") {
            continue;
        }
        let (pid, place) = (fields.nth(2), fields.next());
        let (Some(pid), Some(place)) = (pid.and_then(|p| p.parse::<u32>().ok()), place) else {
            continue;
        };
        let mut parts = place.split(':');
        let hex = |part: Option<&str>| part.and_then(|p| u32::from_str_radix(p, 16).ok());
        let (major, minor) = (hex(parts.next()), hex(parts.next()));
        if pid == 0 || parts.next().and_then(|p| p.parse::<u64>().ok()) != Some(inode) {
            continue;
        }
        if (major, minor) == (Some(device.0), Some(device.1)) {
            return Some(pid);
        }
        other = other.or(Some(pid));
    }
    other
}

/// A lock on a file that is opened for the lock only.
#[derive(Debug)]
pub(crate) struct FileLock {
    pub _fd: OwnedFd,
}

/// The kernel drops the lock with the descriptor, also when the process dies.
impl LockGuard for FileLock {}

/// What distinguishes an open file or folder from its copies.
pub(crate) fn identity(fd: impl AsFd, path: &Path) -> Result<FileIdentity, DiskError> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let stat = rustix::fs::fstat(&fd).map_err(|errno| failure(Op::Open, path, 0, errno))?;
    let born = statx(&fd, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let born = born.filter(|s| s.stx_mask & StatxFlags::BTIME.bits() != 0).map_or(0, |s| {
        (i128::from(s.stx_btime.tv_sec) * 1_000_000_000 + i128::from(s.stx_btime.tv_nsec)) as i64
    });
    Ok(FileIdentity { device: stat.st_dev, inode: stat.st_ino, born_ns: born })
}

/// Set in a [`WriteGate`] that is shut.
const SHUT: u32 = 1 << 31;

/// Lets writes through until it is shut; shutting it waits for those that are in flight. So nothing
/// of this process reaches a file any more once its lock has been released.
#[derive(Debug, Default)]
pub(crate) struct WriteGate(AtomicU32);

/// A write that is in flight.
#[derive(Debug)]
pub(crate) struct WritePassage<'g>(&'g WriteGate);

impl WriteGate {
    /// `None` once the gate is shut.
    pub fn enter(&self) -> Option<WritePassage<'_>> {
        let passage = WritePassage(self);
        (self.0.fetch_add(1, Ordering::AcqRel) & SHUT == 0).then_some(passage)
    }

    /// Shuts the gate; returns when nothing is in flight any more. False if it was shut before.
    pub fn shut(&self) -> bool {
        let before = self.0.fetch_or(SHUT, Ordering::AcqRel);
        while self.0.load(Ordering::Acquire) != SHUT {
            std::thread::sleep(Duration::from_micros(50));
        }
        before & SHUT == 0
    }
}

impl Drop for WritePassage<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found() {
        let text = "1: POSIX  ADVISORY  WRITE 7 fd:01:55 0 EOF\n\
                    2: FLOCK  ADVISORY  WRITE 8 00:2a:55 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 9 fd:01:55 0 EOF\n\
                    3: -> FLOCK  ADVISORY  WRITE 10 fd:01:55 0 EOF\n\
                    4: OFDLCK ADVISORY  READ -1 fd:01:56 0 EOF\nnonsense\n\n";
        assert_eq!(holder_in(text, (0xfd, 1), 55), Some(9));
        assert_eq!(holder_in(text, (0x10, 3), 55), Some(8), "another device number");
        assert_eq!(holder_in(text, (0xfd, 1), 56), None);
    }

    #[test]
    fn a_gate_waits_for_who_is_inside() {
        let gate = WriteGate::default();
        let inside = gate.enter().expect("open");
        std::thread::scope(|scope| {
            let shut = scope.spawn(|| gate.shut());
            while gate.enter().is_some() {
                std::thread::yield_now();
            }
            assert!(!shut.is_finished());
            drop(inside);
            assert!(shut.join().expect("no panic"));
        });
        assert!(gate.enter().is_none() && !gate.shut());
    }
}
