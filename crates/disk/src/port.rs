//! The interface to the kernel for requests in flight: a ring of io_uring, or threads where no ring
//! is available.

mod ring;
mod workers;

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use ring::RingLease;
use workers::WorkerPort;

/// How requests of a batch get to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoBackend {
    /// io_uring where it is available, else threads.
    #[default]
    Auto,
    /// Threads.
    Threads,
}

/// One buffer as the kernel sees it: the layout of `IoSlice`, `IoSliceMut` and `iovec`.
#[repr(C)]
pub(crate) struct Buf {
    pub at: *mut u8,
    pub len: usize,
}

const _: () = assert!(
    size_of::<Buf>() == size_of::<std::io::IoSlice<'_>>()
        && align_of::<Buf>() == align_of::<std::io::IoSlice<'_>>()
        && size_of::<Buf>() == size_of::<std::io::IoSliceMut<'_>>()
);

/// A read or a write of one file.
pub(crate) struct Op {
    pub fd: RawFd,
    pub write: bool,
    pub offset: u64,
    pub bufs: *const Buf,
    /// Buffers, at least one.
    pub count: u32,
}

// SAFETY: an operation is used by one thread at a time; the code that pushes it keeps file and
// memory valid until it has ended.
unsafe impl Send for Op {}

/// The end of an operation.
pub(crate) struct Completion {
    /// The index with which the operation was pushed.
    pub index: u32,
    /// Bytes moved, or the negative error number.
    pub result: i32,
}

/// The requests of one batch that the kernel has. All have ended when it is dropped.
pub(crate) enum Port {
    Ring(RingLease),
    Workers(WorkerPort),
}

impl Port {
    pub fn new(backend: IoBackend) -> Port {
        if backend == IoBackend::Threads {
            return Port::Workers(WorkerPort::default());
        }
        match RingLease::take() {
            Ok(ring) => Port::Ring(ring),
            Err(reason) => {
                note_fallback(&reason);
                Port::Workers(WorkerPort::default())
            }
        }
    }

    /// Requests that it accepts at a time.
    pub fn room(&self) -> usize {
        match self {
            Port::Ring(_) => ring::ENTRIES,
            Port::Workers(_) => workers::MOST,
        }
    }

    /// Puts a request in flight, at the latest with the next [`wait`](Self::wait).
    ///
    /// # Safety
    /// The file and the memory that the operation names stay valid, and no other code uses that
    /// memory, until its completion was handed over or the port was dropped.
    pub unsafe fn push(&mut self, index: u32, op: Op) {
        match self {
            // SAFETY: the caller's promise.
            Port::Ring(ring) => unsafe { ring.get().push(index, &op) },
            // SAFETY: the caller's promise.
            Port::Workers(workers) => unsafe { workers.push(index, op) },
        }
    }

    /// Waits until something is done, at most for `limit`. What is done is appended to `out`.
    pub fn wait(&mut self, limit: Option<Duration>, out: &mut Vec<Completion>) {
        match self {
            Port::Ring(ring) => ring.get().wait(limit, out),
            Port::Workers(workers) => workers.wait(limit, out),
        }
    }
}

/// Called when threads have to do the work.
type Hook = Box<dyn FnOnce(&str) + Send>;

/// Why threads do the work, set the first time that they have to, and the callbacks that wait for
/// that.
struct Fallback {
    reason: Option<String>,
    hooks: Vec<Hook>,
}

static FALLBACK: Mutex<Fallback> = Mutex::new(Fallback { reason: None, hooks: Vec::new() });
static FELL_BACK: AtomicBool = AtomicBool::new(false);

#[cold]
fn note_fallback(reason: &str) {
    if FELL_BACK.swap(true, Ordering::Relaxed) {
        return;
    }
    let hooks = {
        let mut fallback = FALLBACK.lock();
        fallback.reason = Some(reason.into());
        std::mem::take(&mut fallback.hooks)
    };
    hooks.into_iter().for_each(|hook| hook(reason));
}

/// Why requests go through threads instead of io_uring, if they do: the first reason since the
/// process started. Asks the kernel if that has not been done yet.
pub fn io_fallback() -> Option<String> {
    if let Err(reason) = RingLease::take().map(drop) {
        note_fallback(&reason);
    }
    FALLBACK.lock().reason.clone()
}

/// Calls `hook` with the reason when requests go through threads instead of io_uring for the first
/// time since the process started; immediately if they do already.
pub fn on_io_fallback(hook: impl FnOnce(&str) + Send + 'static) {
    let mut fallback = FALLBACK.lock();
    match fallback.reason.clone() {
        None => fallback.hooks.push(Box::new(hook)),
        Some(reason) => {
            drop(fallback);
            hook(&reason);
        }
    }
}
