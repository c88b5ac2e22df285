//! What running the statements of a batch has cost: for sys.dm_exec_query_stats and similar views.
//! Each session counts for itself, in words that only its own thread writes (so a count is a load
//! and a store, no atomic step); whoever asks adds them up. Executions and rows are exact. Time is
//! measured where it is long enough to be worth it: a statement that took less than [`SHORT`] is
//! measured again after [`APART`] executions.
//!
//! Those between are taken for as long as a short one was, and timed by a coarse clock, which costs
//! next to nothing: it says 0 of most, and of all together what they took. The larger of both sums
//! counts. What was measured stands for itself alone: one execution that has waited says nothing of
//! those before it. Guarantees: what a session has counted stays with the batch when the session
//! goes: the next session counts on. Each execution is counted from its own beginning to its own
//! end.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use catalog::Db;
use catalog::query_store::{Executions, Sample};
use catalog::usage::UseCount;
use parking_lot::Mutex;

/// Nanoseconds below which a statement is measured only now and then.
const SHORT: u64 = 50_000;
/// Executions between two measurements of a short one.
const APART: u64 = 255;

/// The sum, the last, the least and the greatest of some value.
#[derive(Debug)]
struct Range {
    total: AtomicU64,
    last: AtomicU64,
    least: AtomicU64,
    greatest: AtomicU64,
}

impl Default for Range {
    fn default() -> Range {
        let zero = AtomicU64::default;
        Range { total: zero(), last: zero(), least: AtomicU64::new(u64::MAX), greatest: zero() }
    }
}

impl Range {
    /// The value of an execution.
    #[inline]
    fn add(&self, value: u64) {
        self.total.store(self.total.load(Relaxed).wrapping_add(value), Relaxed);
        self.last.store(value, Relaxed);
        if value < self.least.load(Relaxed) {
            self.least.store(value, Relaxed);
        }
        if value > self.greatest.load(Relaxed) {
            self.greatest.store(value, Relaxed);
        }
    }
}

/// What running something has cost in one session.
#[derive(Debug, Default)]
pub struct Count {
    executions: AtomicU64,
    rows: Range,
    /// In nanoseconds, of the executions that were measured.
    elapsed: Range,
    worker: Range,
    /// Of the others what the coarse clock says, and what they are taken for.
    coarse: AtomicU64,
    taken: TimesTaken,
    /// When it began last, as far as that was measured: microseconds since 1970.
    began: AtomicU64,
    /// Executions until the next measurement, and since the last.
    skip: AtomicU64,
    pending: AtomicU64,
    /// What the last short one took.
    short: TimesTaken,
    /// Of the measured executions since somebody asked last.
    recent_elapsed: RecentTimes,
    recent_worker: RecentTimes,
    /// What has been asked for.
    settled: Mutex<SettledCounts>,
}

/// Both times of executions, in nanoseconds.
#[derive(Debug, Default)]
struct TimesTaken {
    elapsed: AtomicU64,
    worker: AtomicU64,
}

impl TimesTaken {
    /// So many executions that took as long as another one.
    fn add(&self, each: &TimesTaken, times: u64) {
        for (sum, each) in [(&self.elapsed, &each.elapsed), (&self.worker, &each.worker)] {
            let more = each.load(Relaxed).wrapping_mul(times);
            sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }
}

/// Of measured values: least and greatest since they were taken, the sum of all squares (of
/// microseconds). Whoever takes them may lose one that comes at that moment.
#[derive(Debug)]
struct RecentTimes {
    least: AtomicU64,
    greatest: AtomicU64,
    squares: AtomicU64,
}

impl Default for RecentTimes {
    fn default() -> RecentTimes {
        let zero = AtomicU64::default;
        RecentTimes { least: AtomicU64::new(u64::MAX), greatest: zero(), squares: zero() }
    }
}

impl RecentTimes {
    fn add(&self, nanos: u64) {
        self.least.store(self.least.load(Relaxed).min(nanos), Relaxed);
        self.greatest.store(self.greatest.load(Relaxed).max(nanos), Relaxed);
        self.add_squares(nanos, 1);
    }

    fn add_squares(&self, nanos: u64, times: u64) {
        let micros = nanos as f64 / 1000.0;
        let sum = f64::from_bits(self.squares.load(Relaxed)) + micros * micros * times as f64;
        self.squares.store(sum.to_bits(), Relaxed);
    }
}

/// What of a count has been asked for: executions, rows, and of both times the nanoseconds and the
/// squares.
#[derive(Debug, Default)]
struct SettledCounts {
    executions: u64,
    rows: u64,
    elapsed: (u64, f64),
    worker: (u64, f64),
}

/// The beginning of an execution.
#[derive(Debug)]
pub struct BegunExecution {
    /// By the coarse clock.
    coarse: u64,
    /// Of one that is measured.
    exact: Option<ExactTimes>,
}

#[derive(Debug)]
struct ExactTimes {
    at: Instant,
    worker: Duration,
}

impl Count {
    /// An execution begins; some are measured.
    #[inline]
    pub fn begin(&self) -> BegunExecution {
        let skip = self.skip.load(Relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, Relaxed);
            return BegunExecution { coarse: coarse_time(), exact: None };
        }
        BegunExecution { coarse: 0, exact: Some(self.begun()) }
    }

    #[cold]
    fn begun(&self) -> ExactTimes {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.began.store(u64::try_from(since.as_micros()).unwrap_or(u64::MAX), Relaxed);
        ExactTimes { at: Instant::now(), worker: worker_time() }
    }

    /// Nanoseconds of all executions, the elapsed ones and those of the processor.
    fn times(&self) -> (u64, u64) {
        let sum = |a: u64, b: u64| a.wrapping_add(b);
        let pending = self.pending.load(Relaxed);
        let taken = |sum: &AtomicU64, each: &AtomicU64| {
            sum.load(Relaxed).wrapping_add(each.load(Relaxed).wrapping_mul(pending))
        };
        let elapsed = taken(&self.taken.elapsed, &self.short.elapsed);
        let elapsed = sum(self.elapsed.total.load(Relaxed), elapsed.max(self.coarse.load(Relaxed)));
        let worker =
            sum(self.worker.total.load(Relaxed), taken(&self.taken.worker, &self.short.worker));
        (elapsed, worker.min(elapsed))
    }

    /// The executions that nobody has asked for yet; any thread may ask.
    pub fn unsettled(&self) -> Option<Executions> {
        let mut settled = self.settled.lock();
        let done = self.executions.load(Relaxed);
        let count = done.saturating_sub(settled.executions);
        if count == 0 {
            return None;
        }
        settled.executions = done;
        let (all_elapsed, all_worker) = self.times();
        let pending = self.pending.load(Relaxed);
        let time = |total: u64,
                    of: (&Range, &AtomicU64),
                    recent: &RecentTimes,
                    settled: &mut (u64, f64)| {
            let (range, short) = of;
            let last = range.last.load(Relaxed);
            // Those that were not measured are taken for as long as a short one.
            let micros = short.load(Relaxed) as f64 / 1000.0;
            let squares =
                f64::from_bits(recent.squares.load(Relaxed)) + micros * micros * pending as f64;
            let (before, squares_before) = std::mem::replace(settled, (total, squares));
            let least = recent.least.swap(u64::MAX, Relaxed);
            Sample {
                total: total.saturating_sub(before) as f64 / 1000.0,
                squares: (squares - squares_before).max(0.0),
                last: last / 1000,
                least: if least == u64::MAX { last } else { least.min(last) } / 1000,
                greatest: recent.greatest.swap(0, Relaxed).max(last) / 1000,
            }
        };
        let SettledCounts { elapsed, worker, rows, .. } = &mut *settled;
        let all = self.rows.total.load(Relaxed);
        let rows = Sample {
            total: all.saturating_sub(std::mem::replace(rows, all)) as f64,
            squares: 0.0,
            last: self.rows.last.load(Relaxed),
            least: self.rows.least.load(Relaxed),
            greatest: self.rows.greatest.load(Relaxed),
        };
        Some(Executions {
            times: UseCount { count, last: self.began.load(Relaxed) },
            duration: time(
                all_elapsed,
                (&self.elapsed, &self.short.elapsed),
                &self.recent_elapsed,
                elapsed,
            ),
            processor: time(
                all_worker,
                (&self.worker, &self.short.worker),
                &self.recent_worker,
                worker,
            ),
            rows,
        })
    }

    /// It has come to its end, and these were its rows.
    #[inline]
    pub fn end(&self, begun: BegunExecution, rows: u64) {
        self.rows.add(rows);
        self.ended(begun);
    }

    /// It has come to its end; nobody counts rows of it.
    #[inline]
    pub fn ended(&self, begun: BegunExecution) {
        self.executions.store(self.executions.load(Relaxed) + 1, Relaxed);
        if let Some(exact) = begun.exact {
            return self.measured(&exact);
        }
        self.pending.store(self.pending.load(Relaxed) + 1, Relaxed);
        let passed = coarse_time().saturating_sub(begun.coarse);
        if passed > 0 {
            self.coarse.store(self.coarse.load(Relaxed).wrapping_add(passed), Relaxed);
        }
    }

    #[cold]
    fn measured(&self, begun: &ExactTimes) {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let elapsed = nanos(begun.at.elapsed());
        let worker = nanos(worker_time().saturating_sub(begun.worker)).min(elapsed);
        let is_short = elapsed < SHORT;
        if is_short {
            self.short.elapsed.store(elapsed, Relaxed);
            self.short.worker.store(worker, Relaxed);
        }
        let between = self.pending.swap(0, Relaxed);
        self.taken.add(&self.short, between);
        self.recent_elapsed.add_squares(self.short.elapsed.load(Relaxed), between);
        self.recent_worker.add_squares(self.short.worker.load(Relaxed), between);
        self.elapsed.add(elapsed);
        self.worker.add(worker);
        self.recent_elapsed.add(elapsed);
        self.recent_worker.add(worker);
        self.skip.store(if is_short { APART } else { 0 }, Relaxed);
    }
}

/// Time of this thread's processor.
pub fn worker_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// A clock that goes on every few milliseconds and costs next to nothing, in nanoseconds.
fn coarse_time() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    let nanos = u64::from(now.tv_nsec.unsigned_abs() as u32);
    now.tv_sec.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// The counts of one session for one batch.
#[derive(Debug)]
pub struct BatchCounts {
    /// Of the batch as a whole.
    pub run: Count,
    /// By the number of the statement.
    pub statements: Box<[Count]>,
}

/// The counts of all sessions for one batch.
#[derive(Debug)]
pub struct CountsOfBatch {
    statements: usize,
    /// When the batch was compiled.
    pub created: SystemTime,
    list: Mutex<Vec<Arc<BatchCounts>>>,
    /// The database that it runs in.
    home: OnceLock<Weak<Db>>,
}

/// A value over all executions: total, last, least, greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub total: u64,
    pub last: u64,
    pub least: u64,
    pub greatest: u64,
}

/// What running something has cost in all sessions; times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub executions: u64,
    pub rows: Sums,
    pub elapsed: Sums,
    pub worker: Sums,
    /// Microseconds since 1970; 0 for never.
    pub began: u64,
}

impl CountsOfBatch {
    pub fn new(statements: usize) -> CountsOfBatch {
        CountsOfBatch {
            statements,
            created: SystemTime::now(),
            list: Mutex::default(),
            home: OnceLock::new(),
        }
    }

    /// The counts for a session: those that a session has left, or new ones.
    pub fn take(&self, db: &Arc<Db>) -> Arc<BatchCounts> {
        self.home.get_or_init(|| Arc::downgrade(db));
        self.counts()
    }

    /// The database that it runs in, if it has run.
    pub fn home(&self) -> Option<Arc<Db>> {
        self.home.get()?.upgrade()
    }

    fn counts(&self) -> Arc<BatchCounts> {
        let mut list = self.list.lock();
        // Nobody else has those that only the list holds, and nobody gets them but here.
        if let Some(free) = list.iter().find(|counts| Arc::strong_count(counts) == 1) {
            return free.clone();
        }
        let statements = (0..self.statements).map(|_| Count::default()).collect();
        let counts = Arc::new(BatchCounts { run: Count::default(), statements });
        list.push(counts.clone());
        counts
    }

    /// Does something with the counts that all sessions have for a statement.
    pub fn each(&self, statement: usize, mut work: impl FnMut(&Count)) {
        self.list
            .lock()
            .iter()
            .filter_map(|counts| counts.statements.get(statement))
            .for_each(&mut work);
    }

    /// The total of a statement, or of the whole batch.
    pub fn total(&self, statement: Option<usize>) -> Total {
        let list = self.list.lock();
        let counts = list.iter().filter_map(|counts| match statement {
            None => Some(&counts.run),
            Some(at) => counts.statements.get(at),
        });
        let mut total = Total::default();
        let mut first = true;
        for count in counts.filter(|count| count.executions.load(Relaxed) > 0) {
            let began = count.began.load(Relaxed);
            let latest = began >= total.began;
            total.executions += count.executions.load(Relaxed);
            total.began = total.began.max(began);
            let (elapsed, worker) = count.times();
            for (sums, range, all, unit) in [
                (&mut total.rows, &count.rows, count.rows.total.load(Relaxed), 1),
                (&mut total.elapsed, &count.elapsed, elapsed, 1000),
                (&mut total.worker, &count.worker, worker, 1000),
            ] {
                sums.add(range, all, unit, (latest, first));
            }
            first = false;
        }
        total
    }
}

impl Sums {
    fn add(&mut self, range: &Range, all: u64, unit: u64, (latest, first): (bool, bool)) {
        let least = range.least.load(Relaxed);
        let least = if least == u64::MAX { 0 } else { least / unit };
        self.total += all / unit;
        self.least = if first { least } else { self.least.min(least) };
        self.greatest = self.greatest.max(range.greatest.load(Relaxed) / unit);
        if latest {
            self.last = range.last.load(Relaxed) / unit;
        }
    }
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;
