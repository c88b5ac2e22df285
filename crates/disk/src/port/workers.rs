//! Requests in flight through threads, for kernels and containers without io_uring: a pool that all
//! batches share.
//!
//! Guarantees as in `ring`: each request that was pushed has ended before the port ends. Threads
//! are started as they are needed, at most [`MOST`], and end when they had nothing to do for
//! [`IDLE`].

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::{Completion, Op};

/// Threads of the pool, and so requests in flight of the whole process.
pub(crate) const MOST: usize = 64;
/// A thread ends when it had no work for this long.
const IDLE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Pool {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

struct Job {
    index: u32,
    op: Op,
    reply: Arc<WorkerReply>,
}

#[derive(Default)]
struct WorkerReply {
    done: Mutex<Vec<Completion>>,
    some: Condvar,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: VecDeque::new(), threads: 0, idle: 0 });
static WORK: Condvar = Condvar::new();

/// One batch's requests.
#[derive(Default)]
pub(crate) struct WorkerPort {
    reply: Arc<WorkerReply>,
    in_flight: usize,
}

impl WorkerPort {
    /// Passes a request to the pool.
    ///
    /// # Safety
    /// As for a ring: file and memory stay valid until the completion was handed over or the port
    /// is dropped.
    pub unsafe fn push(&mut self, index: u32, op: Op) {
        self.in_flight += 1;
        let job = Job { index, op, reply: Arc::clone(&self.reply) };
        let mut pool = POOL.lock();
        if pool.idle <= pool.jobs.len() && pool.threads < MOST {
            let started = std::thread::Builder::new().name("disk-io".into()).spawn(work);
            pool.threads += usize::from(started.is_ok());
        }
        if pool.threads == 0 {
            // Not a single thread can be started.
            drop(pool);
            return job.run();
        }
        pool.jobs.push_back(job);
        drop(pool);
        WORK.notify_one();
    }

    /// Waits until something is done, at most for `limit`. What is done is in `out`.
    pub fn wait(&mut self, limit: Option<Duration>, out: &mut Vec<Completion>) {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut done = self.reply.done.lock();
        while done.is_empty() && self.in_flight > 0 {
            match deadline {
                None => self.reply.some.wait(&mut done),
                Some(deadline) => {
                    if self.reply.some.wait_until(&mut done, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        self.in_flight -= done.len();
        out.append(&mut done);
    }
}

impl Drop for WorkerPort {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        while self.in_flight > 0 {
            self.wait(None, &mut rest);
        }
    }
}

impl Job {
    fn run(self) {
        // The port that waits for the completion gets one, also if this panics.
        let result = match catch_unwind(AssertUnwindSafe(|| self.op.run_now())) {
            Ok(Ok(bytes)) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Ok(Err(errno)) => -errno.raw_os_error(),
            Err(_) => -Errno::IO.raw_os_error(),
        };
        self.reply.done.lock().push(Completion { index: self.index, result });
        self.reply.some.notify_one();
    }
}

/// Body of a thread of the pool.
fn work() {
    let mut pool = POOL.lock();
    loop {
        if let Some(job) = pool.jobs.pop_front() {
            drop(pool);
            job.run();
            pool = POOL.lock();
            continue;
        }
        pool.idle += 1;
        let over = WORK.wait_for(&mut pool, IDLE).timed_out();
        pool.idle -= 1;
        if over && pool.jobs.is_empty() {
            pool.threads -= 1;
            return;
        }
    }
}

impl Op {
    /// Does the operation with one system call of this thread; returns the bytes that were moved.
    fn run_now(&self) -> Result<usize, Errno> {
        // SAFETY: the code that pushed the operation keeps the file open until it has ended.
        let fd = unsafe { BorrowedFd::borrow_raw(self.fd) };
        loop {
            let moved = if self.write {
                // SAFETY: `count` buffers that stay valid until the end of the operation; `Buf` is
                // laid out as IoSlice is.
                let bufs =
                    unsafe { std::slice::from_raw_parts(self.bufs.cast(), self.count as usize) };
                rustix::io::pwritev(fd, bufs, self.offset)
            } else {
                // SAFETY: as above, and no other code uses the buffers until then; `Buf` is laid
                // out as IoSliceMut is.
                let bufs = unsafe {
                    std::slice::from_raw_parts_mut(self.bufs.cast_mut().cast(), self.count as usize)
                };
                rustix::io::preadv(fd, bufs, self.offset)
            };
            match moved {
                Err(Errno::INTR) => {}
                other => return other,
            }
        }
    }
}
