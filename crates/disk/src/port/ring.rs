//! Requests in flight through io_uring: one ring for each thread that moves batches, made at its
//! first batch.
//!
//! # Guarantees
//! - Every request that was pushed is reaped before the lease of the ring ends, also when a panic
//!   unwinds: the kernel never accesses memory that its owner has back. When the kernel refuses to
//!   wait, the process ends.
//! - Where no ring is available, the caller gets the reason, once for each thread at most.

use std::cell::RefCell;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, types};

use super::{Completion, Op};

/// Requests that a ring takes at a time.
pub(crate) const ENTRIES: usize = 256;
/// How long the kernel may gather completions before it wakes the thread, where it supports that.
const GATHER: Duration = Duration::from_micros(40);

thread_local! {
    /// The thread's ring while no batch uses it.
    static RING: RefCell<Option<Box<Ring>>> = const { RefCell::new(None) };
}

pub(crate) struct Ring {
    uring: IoUring,
    /// Requests pushed and not reaped.
    in_flight: usize,
    ready: Vec<Completion>,
    /// The kernel supports gathering completions for a while.
    gathers: bool,
    /// The kernel supports a time limit for waiting.
    timed: bool,
}

/// A ring for the length of one batch.
pub(crate) struct RingLease(Option<Box<Ring>>);

impl RingLease {
    /// The thread's ring, or a new one.
    pub fn take() -> Result<RingLease, String> {
        if let Some(ring) = RING.with(|ring| ring.borrow_mut().take()) {
            return Ok(RingLease(Some(ring)));
        }
        supported()?;
        Ring::new()
            .map(|ring| RingLease(Some(Box::new(ring))))
            .map_err(|error| format!("io_uring: {error}"))
    }

    pub fn get(&mut self) -> &mut Ring {
        match &mut self.0 {
            Some(ring) => ring,
            None => unreachable!("a lease has its ring until it ends"),
        }
    }
}

impl Drop for RingLease {
    fn drop(&mut self) {
        if let Some(mut ring) = self.0.take() {
            ring.drain();
            // At the end of a thread its storage no longer exists; the ring is then dropped.
            let _ = RING.try_with(|place| *place.borrow_mut() = Some(ring));
        }
    }
}

/// Whether the kernel has rings, allows them and supports the four operations. A reason that can
/// change, such as a limit that is reached, is not remembered: the kernel is asked again the next
/// time.
fn supported() -> Result<(), String> {
    static KNOWN: OnceLock<Result<(), String>> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return known.clone();
    }
    let asked = ask();
    let lasting = match &asked {
        Ok(()) => true,
        Err(error) => matches!(error.raw_os_error(), Some(1 | 38) | None), // not allowed, not there, too old
    };
    let told = asked.map_err(|error| format!("io_uring: {error}"));
    if lasting { KNOWN.get_or_init(|| told).clone() } else { told }
}

fn ask() -> std::io::Result<()> {
    let uring = IoUring::new(8)?;
    let mut probe = Probe::new();
    uring.submitter().register_probe(&mut probe)?;
    let wanted =
        [opcode::Read::CODE, opcode::Write::CODE, opcode::Readv::CODE, opcode::Writev::CODE];
    if wanted.iter().all(|code| probe.is_supported(*code)) && uring.params().is_feature_nodrop() {
        Ok(())
    } else {
        Err(std::io::Error::other("the kernel is too old"))
    }
}

impl Ring {
    fn new() -> std::io::Result<Ring> {
        let entries = ENTRIES as u32;
        // Completions are then handled when this thread asks for them, not one by one as they
        // arrive (Linux 6.1).
        let lazy = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
        let uring = match lazy {
            Ok(uring) => uring,
            Err(error) if error.raw_os_error() == Some(22) => IoUring::new(entries)?,
            Err(error) => return Err(error),
        };
        let timed = uring.params().is_feature_ext_arg();
        let gathers = timed && uring.params().is_feature_min_timeout();
        Ok(Ring { uring, in_flight: 0, ready: Vec::with_capacity(ENTRIES), gathers, timed })
    }

    /// Puts a request into the queue; the kernel gets it with the next [`wait`](Self::wait).
    ///
    /// # Safety
    /// The file and the memory that the operation names stay valid, and no other code uses that
    /// memory, until its completion was handed over or the lease has ended.
    pub unsafe fn push(&mut self, index: u32, op: &Op) {
        debug_assert!(self.in_flight < ENTRIES);
        let fd = types::Fd(op.fd as RawFd);
        let (first, count) = (op.bufs, op.count);
        let entry = if count == 1 {
            // SAFETY: one element at least; the caller keeps it valid.
            let (at, len) = unsafe { ((*first).at, (*first).len as u32) };
            match op.write {
                true => opcode::Write::new(fd, at, len).offset(op.offset).build(),
                false => opcode::Read::new(fd, at, len).offset(op.offset).build(),
            }
        } else {
            match op.write {
                true => opcode::Writev::new(fd, first.cast(), count).offset(op.offset).build(),
                false => opcode::Readv::new(fd, first.cast(), count).offset(op.offset).build(),
            }
        };
        let entry = entry.user_data(u64::from(index));
        // SAFETY: the caller keeps file and memory valid until the completion.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            // Full only if the kernel has not taken what was pushed earlier.
            self.enter(0, None);
        }
        self.in_flight += 1;
    }

    /// Submits what was pushed and waits until something is done, at most for `limit`. What is done
    /// is in `out`.
    pub fn wait(&mut self, limit: Option<Duration>, out: &mut Vec<Completion>) {
        self.reap();
        if self.ready.is_empty() && self.in_flight > 0 {
            self.enter(1, limit);
            self.reap();
        } else {
            self.enter(0, None);
        }
        out.append(&mut self.ready);
    }

    fn reap(&mut self) {
        for done in self.uring.completion() {
            self.in_flight -= 1;
            self.ready.push(Completion { index: done.user_data() as u32, result: done.result() });
        }
    }

    /// One system call that submits, and waits for `least` completions.
    fn enter(&mut self, least: usize, limit: Option<Duration>) {
        let entered = if least == 0 {
            self.uring.submit()
        } else if limit.is_some() && !self.timed {
            // An old kernel cannot limit the wait: check again soon.
            let entered = self.uring.submit();
            std::thread::sleep(Duration::from_micros(50));
            entered
        } else {
            let time = limit.map(types::Timespec::from);
            let mut args = types::SubmitArgs::new();
            let mut least = least;
            if self.gathers && limit.is_none_or(|limit| limit > GATHER) {
                // Wait for a quarter of the requests together when they end that fast, else for
                // each.
                least = (self.in_flight / 4).max(1);
                args = args.min_wait_usec(GATHER.as_micros() as u32);
            }
            match &time {
                Some(time) => self.uring.submitter().submit_with_args(least, &args.timespec(time)),
                None if self.gathers => self.uring.submitter().submit_with_args(least, &args),
                None => self.uring.submit_and_wait(least),
            }
        };
        match entered.map_err(|error| error.raw_os_error().unwrap_or(0)) {
            // Done; interrupted; the time is over; what is finished must be reaped first.
            Ok(_) | Err(4 | 62 | 11 | 16) => {}
            Err(code) => give_up(code),
        }
    }

    /// Waits for everything that is in flight and discards it.
    fn drain(&mut self) {
        self.reap();
        while self.in_flight > 0 {
            self.enter(1, None);
            self.reap();
        }
        self.ready.clear();
    }
}

/// The kernel still has requests on memory that other code owns, and there is no way to learn of
/// their end.
fn give_up(code: i32) -> ! {
    eprintln!(
        "io_uring cannot be waited for (operating system error {code}); requests are in flight: the process ends"
    );
    std::process::abort()
}
