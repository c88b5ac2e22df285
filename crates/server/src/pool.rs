//! The worker threads that run requests. A request may block: on locks, on the disk, on a client
//! that reads slowly. The pool starts with twice as many threads as cores and grows while requests
//! wait although the cores have time left and its threads block, or while no thread gets to the
//! next request; threads that find no work for a while end. A thread without work waits where work
//! arises ([`Arrivals`]): what comes while threads are free reaches one of them without another
//! thread in between. The queue is for what comes while none is free. How many requests may run is
//! not the pool's to say ([`HeldLoad`]): it has as many threads as there are requests that may run,
//! and those that it begins with to find out what comes. Guarantees: whatever runs or waits, some
//! threads look at what comes; a request that a free thread finds takes no lock that all threads
//! share; the thread that starts others sleeps unless requests wait that it can start a thread for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::process::Pid;
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};

/// How long requests may wait before the pool looks whether it has to grow.
const LOOK: Duration = Duration::from_millis(2);
/// The same after looks that have found no reason to: each doubles the pause until the next one, up
/// to this.
const LONG_LOOK: Duration = Duration::from_millis(32);
/// Most threads that such a look asks the system of.
const LOOKED_AT: usize = 64;
/// A thread beyond those that it starts with that finds no work for so long ends.
const LINGER: Duration = Duration::from_secs(10);
/// After so many requests a worker lets other threads have its core. One that finds a request at
/// once each time would go on until the system takes the core from it, which is mostly in the
/// middle of a request: its client waits then for as long as others have turns.
const YIELD: u32 = 6;
/// Stack of a worker: nested modules and deep expressions recurse. Only what is touched takes
/// memory.
const STACK: usize = 8 << 20;
/// One request in so many is an ordinary one even while urgent ones wait.
const FAIR: u64 = 8;
/// How often threads that wait are woken at the end, until all have heard.
const RING_AGAIN: Duration = Duration::from_millis(1);

/// Where threads without work wait for it. It has lanes, each for some of the threads, so that
/// cores do not share one.
pub trait Arrivals<T>: Send + Sync {
    /// Waits in a lane until something comes, somebody wakes a thread of it, or the time has
    /// passed, if one is given.
    fn wait(&self, lane: usize, timeout: Option<Duration>) -> ArrivedWork<T>;
    /// Wakes one thread that waits in the lane; if none does, the next one that would.
    fn wake(&self, lane: usize);
    /// The last free thread of the lane has work now: what comes next finds none.
    fn deserted(&self, lane: usize);
    /// The thread that says so keeps nothing of the server: it ends, or has waited in vain.
    fn leave(&self) {}
}

/// What the requests hold that run on the pool's threads.
pub trait HeldLoad: Send + Sync {
    /// Threads that requests may take: those that run, and those that may begin.
    fn held(&self) -> usize;
    /// How many of them wait for something that may take long.
    fn waiting(&self) -> usize;
}

/// What a wait has brought.
#[derive(Debug)]
pub enum ArrivedWork<T> {
    /// A request.
    Request(T),
    /// Nothing, but the queue may have something.
    Nothing,
    /// Nothing for all the time.
    Late,
}

/// Worker threads that run `T`.
pub struct Pool<T> {
    shared: Arc<PoolShared<T>>,
}

struct PoolShared<T> {
    state: Mutex<PoolState<T>>,
    /// Requests in the queue.
    queued: AtomicUsize,
    /// Workers there are: a look without the lock.
    begun: AtomicUsize,
    stopped: AtomicBool,
    lanes: Vec<PoolLane>,
    arrivals: Box<dyn Arrivals<T>>,
    load: Box<dyn HeldLoad>,
    /// Requests wait and no thread is free, or there may be more threads than before.
    grow: Condvar,
    /// How often the watcher has looked whether threads are needed.
    looks: AtomicU64,
    /// The last worker has ended.
    ended: Condvar,
    /// Threads beside those whose requests wait.
    base: usize,
    run: Box<dyn Fn(T) + Send + Sync>,
}

/// What the threads of a lane change with each request; on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct PoolLane {
    /// Threads that wait for work.
    idle: AtomicUsize,
    /// Requests run so far.
    served: AtomicU64,
}

struct PoolState<T> {
    urgent: VecDeque<T>,
    ordinary: VecDeque<T>,
    workers: usize,
    /// Their threads, from when they run.
    threads: Vec<Pid>,
    /// Workers started so far: the next one's lane.
    started: usize,
    /// Requests taken from the queue so far.
    taken: u64,
    /// Most workers there have been.
    peak: usize,
}

impl<T> PoolState<T> {
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
    /// A pool of `base` threads, and as many more as `load` has, in so many lanes; they start when
    /// there is work. `run` must not unwind: a panic of it is caught and dropped.
    ///
    /// # Errors
    /// The thread that watches over the pool cannot be started.
    pub fn new(
        base: usize,
        lanes: usize,
        arrivals: impl Arrivals<T> + 'static,
        load: impl HeldLoad + 'static,
        run: impl Fn(T) + Send + Sync + 'static,
    ) -> io::Result<Pool<T>> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let shared = Arc::new(PoolShared {
            state: Mutex::new(PoolState {
                urgent: VecDeque::new(),
                ordinary: VecDeque::new(),
                workers: 0,
                threads: Vec::new(),
                started: 0,
                taken: 0,
                peak: 0,
            }),
            queued: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            lanes: (0..lanes.max(1)).map(|_| PoolLane::default()).collect(),
            arrivals: Box::new(arrivals),
            load: Box::new(load),
            grow: Condvar::new(),
            looks: AtomicU64::new(0),
            ended: Condvar::new(),
            base,
            run: Box::new(run),
        });
        let watched = shared.clone();
        std::thread::Builder::new().name("workers".into()).spawn(move || watched.watch(cores))?;
        Ok(Pool { shared })
    }

    /// Runs `item` on a worker, soon.
    pub fn submit(&self, item: T, urgent: bool) {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        if shared.is_stopped() {
            return;
        }
        if urgent {
            state.urgent.push_back(item)
        } else {
            state.ordinary.push_back(item)
        }
        // Before the idle ones are counted: a thread that begins to wait counts itself first and
        // looks here then.
        shared.queued.fetch_add(1, Ordering::SeqCst);
        if shared.waiting() == 0 {
            drop(state);
            return shared.wake_one();
        }
        if state.workers < shared.base + shared.load.waiting() {
            shared.start_worker(&mut state);
        }
        shared.grow.notify_one();
    }

    /// A wake has reached somebody who does not take work: it is passed on.
    pub fn pass_on_wake(&self) {
        if self.shared.queued.load(Ordering::SeqCst) > 0 {
            self.shared.wake_one();
        }
    }

    /// A request may take a thread that it could not before: where others wait in the queue one may
    /// be started for them.
    pub fn may_grow(&self) {
        if self.shared.queued.load(Ordering::SeqCst) > 0 {
            // Under the lock: the watcher looks and begins to wait under it.
            let _state = self.shared.state.lock();
            self.shared.grow.notify_one();
        }
    }

    /// Threads that there are, and requests that wait for one: no more run, or are about to.
    pub fn crowd(&self) -> usize {
        self.shared.begun.load(Ordering::SeqCst) + self.shared.queued.load(Ordering::SeqCst)
    }

    /// Whether requests wait for a worker.
    pub fn is_busy(&self) -> bool {
        self.shared.waiting() > 0
    }

    /// Whether a thread of the lane waits for work.
    pub fn has_idle(&self, lane: usize) -> bool {
        self.shared.lanes[lane].idle.load(Ordering::SeqCst) > 0
    }

    /// Requests that threads of the lane have run so far.
    pub fn served(&self, lane: usize) -> u64 {
        self.shared.lanes[lane].served.load(Ordering::Relaxed)
    }

    /// Whether most of the threads that are at work wait for something else than a core.
    pub fn most_block(&self) -> bool {
        let threads = self.shared.state.lock().threads.clone();
        self.shared.most_block(&threads)
    }

    /// (threads now, most threads there have been).
    pub fn threads(&self) -> (usize, usize) {
        let state = self.shared.state.lock();
        (state.workers, state.peak)
    }

    /// Takes no more work, drops what waits and lets the threads end; returns when all have, or at
    /// the deadline. Whether all have.
    pub fn stop(&self, deadline: Instant) -> bool {
        let shared = &self.shared;
        shared.stopped.store(true, Ordering::SeqCst);
        let mut state = shared.state.lock();
        let dropped = (std::mem::take(&mut state.urgent), std::mem::take(&mut state.ordinary));
        shared.queued.store(0, Ordering::SeqCst);
        shared.grow.notify_all();
        while state.workers > 0 && Instant::now() < deadline {
            // One wake reaches one thread.
            (0..shared.lanes.len()).for_each(|lane| shared.arrivals.wake(lane));
            shared.ended.wait_for(&mut state, RING_AGAIN);
        }
        let all = state.workers == 0;
        drop(state);
        drop(dropped);
        all
    }
}

impl<T: Send + 'static> PoolShared<T> {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn idle(&self) -> usize {
        self.lanes.iter().map(|lane| lane.idle.load(Ordering::SeqCst)).sum()
    }

    /// Requests in the queue beyond those for which a thread is free.
    fn waiting(&self) -> usize {
        self.queued.load(Ordering::SeqCst).saturating_sub(self.idle())
    }

    fn served(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.served.load(Ordering::Relaxed)).sum()
    }

    fn wake_one(&self) {
        if let Some(lane) = self.lanes.iter().position(|lane| lane.idle.load(Ordering::SeqCst) > 0)
        {
            self.arrivals.wake(lane);
        }
        // Otherwise they have found work meanwhile, and seen that the queue has some, too.
    }

    /// One worker more. Where the system has no thread for it, those that are there go on.
    fn start_worker(self: &Arc<Self>, state: &mut PoolState<T>) -> bool {
        let (shared, lane) = (self.clone(), state.started % self.lanes.len());
        let body = move || shared.work_on(lane);
        let started =
            std::thread::Builder::new().name("worker".into()).stack_size(STACK).spawn(body).is_ok();
        if started {
            state.started += 1;
            state.workers += 1;
            self.begun.store(state.workers, Ordering::SeqCst);
            state.peak = state.peak.max(state.workers);
        }
        started
    }

    fn work_on(self: &Arc<Self>, lane: usize) {
        self.state.lock().threads.push(gettid());
        let mut in_a_row = 0_u32;
        // The last free thread of the lane may have left the lane to this one.
        let mut is_new = true;
        while !self.is_stopped() {
            in_a_row = in_a_row.wrapping_add(1);
            if in_a_row.is_multiple_of(YIELD) {
                std::thread::yield_now();
            }
            let taken = self.take();
            if std::mem::take(&mut is_new)
                && taken.is_some()
                && self.lanes[lane].idle.load(Ordering::SeqCst) == 0
            {
                // It has work before it has ever been free.
                self.arrivals.deserted(lane);
            }
            if let Some(item) = taken {
                self.serve(lane, item);
                continue;
            }
            match self.wait(lane) {
                ArrivedWork::Request(item) => self.serve(lane, item),
                ArrivedWork::Nothing => {}
                ArrivedWork::Late => {
                    // It may end.
                    self.arrivals.leave();
                    let mut state = self.state.lock();
                    let enough = self.base + self.load.waiting();
                    if self.queued.load(Ordering::SeqCst) == 0 && state.workers > enough {
                        return self.end(&mut state);
                    }
                }
            }
        }
        self.arrivals.leave();
        self.end(&mut self.state.lock());
    }

    /// The thread has left the arrivals, which may have ended with it: before it is counted as
    /// ended, as whoever waits for the last one is to find nothing kept, and not under the lock.
    fn end(&self, state: &mut PoolState<T>) {
        let own = gettid();
        state.threads.retain(|thread| *thread != own);
        state.workers -= 1;
        self.begun.store(state.workers, Ordering::SeqCst);
        if state.workers == 0 {
            self.ended.notify_all();
        }
    }

    fn take(&self) -> Option<T> {
        if self.queued.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let item = state.take()?;
        let left = self.queued.fetch_sub(1, Ordering::SeqCst) - 1;
        drop(state);
        if left > 0 {
            // Rings that come in one moment are heard once: whoever hears one passes it on, as
            // threads that wait without a limit would not look by themselves.
            self.wake_one();
        }
        Some(item)
    }

    /// The last free thread of a lane has work: another one takes its place, as long as the pool
    /// has not all that it begins with beside those whose requests wait. A client that sends one
    /// request after another would have the poller called for each of them otherwise. False: none
    /// was started.
    fn adds_spare(self: &Arc<Self>, lane: usize) -> bool {
        let enough = self.base + self.load.waiting();
        if self.begun.load(Ordering::Relaxed) >= enough || self.is_stopped() {
            return false;
        }
        let mut state = self.state.lock();
        while state.workers < enough {
            let next = state.started % self.lanes.len();
            if !self.start_worker(&mut state) {
                break;
            }
            if next == lane {
                return true;
            }
        }
        false
    }

    fn wait(self: &Arc<Self>, lane: usize) -> ArrivedWork<T> {
        let idle = &self.lanes[lane].idle;
        idle.fetch_add(1, Ordering::SeqCst);
        let nothing = self.queued.load(Ordering::SeqCst) == 0 && !self.is_stopped();
        // Those that the pool begins with stay: the system sets no timer for each of their waits.
        // Whoever begins to wait while there are more has one, so that as many end.
        let linger = (self.begun.load(Ordering::SeqCst) > self.base).then_some(LINGER);
        let arrived = if nothing { self.arrivals.wait(lane, linger) } else { ArrivedWork::Nothing };
        if idle.fetch_sub(1, Ordering::SeqCst) == 1 && !self.adds_spare(lane) {
            self.arrivals.deserted(lane);
        }
        // What was put into the queue for this thread may have to be another's now.
        if matches!(arrived, ArrivedWork::Request(_)) && self.waiting() > 0 {
            // Under the lock: the watcher looks and begins to wait under it.
            let _state = self.state.lock();
            self.grow.notify_one();
        }
        arrived
    }

    fn serve(&self, lane: usize, item: T) {
        // The request's owner has done what a panic needs; this keeps the thread.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.run)(item)));
        self.lanes[lane].served.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether most of the threads that are at work wait for something else than a core: a look at
    /// some of them.
    fn most_block(&self, threads: &[Pid]) -> bool {
        let some = &threads[threads.len().saturating_sub(LOOKED_AT)..];
        let runnable = some.iter().filter(|thread| is_runnable(**thread)).count();
        // Those without work wait for requests; of the ones looked at as many as of all.
        let idle = (self.idle() * some.len()).checked_div(threads.len()).unwrap_or_default();
        let at_work = some.len().saturating_sub(idle);
        at_work > 2 * runnable
    }

    /// Adds workers while requests wait that the cores would have time for.
    fn watch(self: &Arc<Self>, cores: usize) {
        let mut state = self.state.lock();
        let mut pause = LOOK;
        loop {
            // Where no thread may be started nothing is looked at: whoever changes that says so.
            while (self.waiting() == 0 || self.room(&state) == 0) && !self.is_stopped() {
                self.grow.wait(&mut state);
                pause = LOOK;
            }
            if self.is_stopped() {
                return;
            }
            let threads = state.threads.clone();
            drop(state);
            let needed = self.needs_threads(&threads, pause, cores);
            state = self.state.lock();
            let waiting = self.waiting();
            if waiting == 0 || self.is_stopped() {
                pause = LOOK;
                continue;
            }
            if !needed {
                pause = (pause * 2).min(LONG_LOOK);
                continue;
            }
            pause = LOOK;
            let more = waiting.min((state.workers / 4).max(1)).min(self.room(&state));
            for _ in 0..more {
                if !self.start_worker(&mut state) {
                    // The system has none: it may have one a little later.
                    pause = LONG_LOOK;
                    break;
                }
            }
        }
    }

    /// Threads that may be started: beside those that requests hold there are as many as the pool
    /// begins with.
    fn room(&self, state: &PoolState<T>) -> usize {
        (self.base + self.load.held()).saturating_sub(state.workers)
    }

    /// Looks for a while whether requests that wait need more threads: none of them was begun, or
    /// the threads block while the cores have time left.
    fn needs_threads(&self, threads: &[Pid], pause: Duration, cores: usize) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let (served, used, began) = (self.served(), cpu_time(), Instant::now());
        std::thread::sleep(pause);
        let (used, passed) = (cpu_time().saturating_sub(used), began.elapsed());
        // More threads help where those that are there block, not where they wait for cores that
        // others use, too. The system is only asked of each of them where the cores have time.
        self.served() == served
            || used + passed / 2 < passed * cores as u32 && self.most_block(threads)
    }
}

/// Whether a thread of this process has a core or waits for one.
fn is_runnable(thread: Pid) -> bool {
    // All that is looked at is in the first bytes, so one read is enough.
    let mut room = [0; 128];
    let stat = File::open(format!("/proc/self/task/{}/stat", thread.as_raw_nonzero()));
    let read = stat.and_then(|mut stat| stat.read(&mut room));
    // The state follows the name, which is in parentheses and may have such in it.
    let state = |len: usize| room[..len].rsplit(|byte| *byte == b')').next();
    read.is_ok_and(|len| state(len).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"R")))
}

/// CPU time of the process so far.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec.clamp(0, 999_999_999) as u32)
}

#[cfg(test)]
mod tests;
