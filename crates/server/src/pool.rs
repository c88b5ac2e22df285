//! The worker threads that run requests. A request may block: on locks, on the disk, on a client that reads slowly. The pool
//! starts with as many threads as cores and grows while requests wait although the cores have time left, or while no
//! thread gets to the next request; threads that find no work for a while end.
//! Guarantees: there are never more threads than the limit for ordinary requests; an urgent request (one of a session that
//! is in a transaction, whose COMMIT may be what all the others wait for) always gets a thread, whatever the limit.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::time::{ClockId, clock_gettime};

/// How long requests may wait before the pool looks whether it has to grow.
const LOOK: Duration = Duration::from_millis(2);
/// A thread beyond the cores' number that finds no work for so long ends.
const LINGER: Duration = Duration::from_secs(10);
/// Stack of a worker: nested modules and deep expressions recurse. Only what is touched takes memory.
const STACK: usize = 8 << 20;
/// One request in so many is an ordinary one even while urgent ones wait.
const FAIR: u64 = 8;

/// Worker threads that run `T`.
pub struct Pool<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// There is work, or an end to it.
    work: Condvar,
    /// Requests wait and no thread is free.
    grow: Condvar,
    /// The last worker has ended.
    ended: Condvar,
    base: usize,
    limit: usize,
    run: Box<dyn Fn(T) + Send + Sync>,
}

struct State<T> {
    urgent: VecDeque<T>,
    ordinary: VecDeque<T>,
    workers: usize,
    /// Workers that wait for work.
    idle: usize,
    /// Requests taken so far.
    taken: u64,
    /// Workers that wait for a client: they do not count for the limit.
    stalled: usize,
    /// Most workers there have been.
    peak: usize,
    stopped: bool,
}

impl<T> State<T> {
    fn waiting(&self) -> usize {
        self.urgent.len() + self.ordinary.len()
    }

    fn take(&mut self) -> Option<T> {
        let fair = self.taken % FAIR == FAIR - 1;
        let (first, second) = if fair {
            (&mut self.ordinary, &mut self.urgent)
        } else {
            (&mut self.urgent, &mut self.ordinary)
        };
        let item = first.pop_front().or_else(|| second.pop_front())?;
        self.taken += 1;
        Some(item)
    }
}

impl<T: Send + 'static> Pool<T> {
    /// A pool of up to `limit` threads; they start when there is work. `run` must not unwind: a panic of it is caught and
    /// dropped.
    ///
    /// # Errors
    /// The thread that watches over the pool cannot be started.
    pub fn new(limit: usize, run: impl Fn(T) + Send + Sync + 'static) -> io::Result<Pool<T>> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let base = cores.max(2);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                urgent: VecDeque::new(),
                ordinary: VecDeque::new(),
                workers: 0,
                idle: 0,
                taken: 0,
                stalled: 0,
                peak: 0,
                stopped: false,
            }),
            work: Condvar::new(),
            grow: Condvar::new(),
            ended: Condvar::new(),
            base,
            limit: limit.max(base),
            run: Box::new(run),
        });
        let watched = shared.clone();
        std::thread::Builder::new().name("workers".into()).spawn(move || watched.watch(cores))?;
        Ok(Pool { shared })
    }

    /// Runs `item` on a worker, soon.
    pub fn submit(&self, item: T, urgent: bool) {
        let mut state = self.shared.state.lock();
        if state.stopped {
            return;
        }
        if urgent {
            state.urgent.push_back(item)
        } else {
            state.ordinary.push_back(item)
        }
        if state.waiting() <= state.idle {
            self.shared.work.notify_one();
            return;
        }
        if state.workers < self.shared.base {
            self.shared.start_worker(&mut state);
        }
        self.shared.grow.notify_one();
    }

    /// Lets a worker wait for its client: it does not count for the limit meanwhile, so that clients who do not read cannot
    /// take all the threads.
    pub fn stalled(&self, wait: &mut dyn FnMut()) {
        self.shared.state.lock().stalled += 1;
        wait();
        self.shared.state.lock().stalled -= 1;
    }

    /// Whether requests wait for a worker.
    pub fn is_busy(&self) -> bool {
        let state = self.shared.state.lock();
        state.waiting() > state.idle
    }

    /// (threads now, most threads there have been).
    pub fn threads(&self) -> (usize, usize) {
        let state = self.shared.state.lock();
        (state.workers, state.peak)
    }

    /// Takes no more work, drops what waits and lets the threads end; returns when all have, or at the deadline. Whether all have.
    pub fn stop(&self, deadline: Instant) -> bool {
        let mut state = self.shared.state.lock();
        state.stopped = true;
        let dropped = (std::mem::take(&mut state.urgent), std::mem::take(&mut state.ordinary));
        self.shared.work.notify_all();
        self.shared.grow.notify_all();
        while state.workers > 0 {
            if self.shared.ended.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        let all = state.workers == 0;
        drop(state);
        drop(dropped);
        all
    }
}

impl<T: Send + 'static> Shared<T> {
    /// One worker more. Where the system has no thread for it, those that are there go on.
    fn start_worker(self: &Arc<Self>, state: &mut State<T>) -> bool {
        let shared = self.clone();
        let body = move || shared.work_on();
        let started = std::thread::Builder::new().name("worker".into()).stack_size(STACK).spawn(body).is_ok();
        if started {
            state.workers += 1;
            state.peak = state.peak.max(state.workers);
        }
        started
    }

    fn work_on(&self) {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                break;
            }
            if let Some(item) = state.take() {
                drop(state);
                // The request's owner has done what a panic needs; this keeps the thread.
                let _ = catch_unwind(AssertUnwindSafe(|| (self.run)(item)));
                state = self.state.lock();
                continue;
            }
            state.idle += 1;
            let late = self.work.wait_for(&mut state, LINGER).timed_out();
            state.idle -= 1;
            if late && state.waiting() == 0 && state.workers > self.base {
                break;
            }
        }
        state.workers -= 1;
        if state.workers == 0 {
            self.ended.notify_all();
        }
    }

    /// Adds workers while requests wait that the cores would have time for.
    fn watch(self: &Arc<Self>, cores: usize) {
        let mut state = self.state.lock();
        loop {
            while state.waiting() <= state.idle && !state.stopped {
                self.grow.wait(&mut state);
            }
            if state.stopped {
                return;
            }
            let (taken, used, began) = (state.taken, cpu_time(), Instant::now());
            drop(state);
            std::thread::sleep(LOOK);
            let (used, passed) = (cpu_time().saturating_sub(used), began.elapsed());
            state = self.state.lock();
            let waiting = state.waiting().saturating_sub(state.idle);
            if waiting == 0 || state.stopped {
                continue;
            }
            let stuck = state.taken == taken;
            let room = used + passed / 2 < passed * cores as u32;
            if stuck || room {
                let free = (self.limit + state.stalled).saturating_sub(state.workers);
                let most = if state.urgent.is_empty() { free } else { state.urgent.len().max(free) };
                let more = waiting.min((state.workers / 4).max(1)).min(most);
                for _ in 0..more {
                    if !self.start_worker(&mut state) {
                        break;
                    }
                }
            }
        }
    }
}

/// CPU time of the process so far.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec.clamp(0, 999_999_999) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    type Task = Box<dyn FnOnce() + Send>;

    fn pool(limit: usize) -> Pool<Task> {
        Pool::new(limit, |task: Task| task()).unwrap()
    }

    #[test]
    fn blocked_workers_make_room_for_those_that_free_them() {
        let pool = pool(100);
        let (free, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let (wait, done) = (wait.clone(), done.clone());
            pool.submit(
                Box::new(move || {
                    wait.lock().recv().unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }),
                false,
            );
        }
        pool.submit(Box::new(move || (0..50).for_each(|_| free.send(()).unwrap())), false);
        let end = Instant::now() + Duration::from_secs(30);
        while done.load(Ordering::Relaxed) < 50 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(done.load(Ordering::Relaxed), 50);
        assert!(pool.stop(end));
    }

    #[test]
    fn an_urgent_request_passes_the_limit() {
        let pool = pool(2);
        let limit = pool.shared.limit;
        let (free, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let (told, heard) = mpsc::channel();
        for _ in 0..limit + 5 {
            let wait = wait.clone();
            // Ends when the sender is gone.
            pool.submit(Box::new(move || assert!(wait.lock().recv().is_err())), false);
        }
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(pool.threads().0, limit);
        pool.submit(Box::new(move || told.send(()).unwrap()), true);
        heard.recv_timeout(Duration::from_secs(30)).unwrap();
        drop(free);
        assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
    }

    #[test]
    fn a_panic_costs_no_thread() {
        let pool = pool(2);
        let (told, heard) = mpsc::channel();
        for n in 0..10 {
            let told = told.clone();
            pool.submit(
                Box::new(move || {
                    told.send(n).unwrap();
                    std::panic::resume_unwind(Box::new(()));
                }),
                false,
            );
        }
        for _ in 0..10 {
            heard.recv_timeout(Duration::from_secs(30)).unwrap();
        }
        assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
    }
}
