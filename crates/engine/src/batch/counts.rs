//! What running the statements of a batch has cost: for sys.dm_exec_query_stats and its kin.
//! Each session counts for itself, in words that only its own thread writes (so a count is a load and a store, no atomic step); whoever asks adds
//! them up. Executions and rows are exact. Time is measured where it is long enough to be worth it: a statement that took less than
//! [`SHORT`] is measured again after [`APART`] executions, and stands for those between.
//! Guarantee: what a session has counted stays with the batch when the session goes: the next session counts on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use catalog::Db;
use catalog::query_store::{Executions, Sample};
use catalog::usage::Times;
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
    /// A value that stands for some executions.
    #[inline]
    fn add(&self, value: u64, times: u64) {
        self.total.store(self.total.load(Relaxed).wrapping_add(value.wrapping_mul(times)), Relaxed);
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
    /// In nanoseconds.
    elapsed: Range,
    worker: Range,
    /// When it began last, as far as that was measured: microseconds since 1970.
    began: AtomicU64,
    /// Executions until the next measurement, and since the last.
    skip: AtomicU64,
    pending: AtomicU64,
    /// Of the measured executions since somebody asked last.
    recent_elapsed: Recent,
    recent_worker: Recent,
    /// What has been asked for.
    settled: Mutex<Settled>,
}

/// Of measured values: least and greatest since they were taken, the sum of all squares (of microseconds). Whoever takes them may lose one that
/// comes at that moment.
#[derive(Debug)]
struct Recent {
    least: AtomicU64,
    greatest: AtomicU64,
    squares: AtomicU64,
}

impl Default for Recent {
    fn default() -> Recent {
        let zero = AtomicU64::default;
        Recent { least: AtomicU64::new(u64::MAX), greatest: zero(), squares: zero() }
    }
}

impl Recent {
    fn add(&self, nanos: u64, times: u64) {
        self.least.store(self.least.load(Relaxed).min(nanos), Relaxed);
        self.greatest.store(self.greatest.load(Relaxed).max(nanos), Relaxed);
        let micros = nanos as f64 / 1000.0;
        let sum = f64::from_bits(self.squares.load(Relaxed)) + micros * micros * times as f64;
        self.squares.store(sum.to_bits(), Relaxed);
    }
}

/// What of a count has been asked for: executions, rows, and of both times the nanoseconds and the squares.
#[derive(Debug, Default)]
struct Settled {
    executions: u64,
    rows: u64,
    elapsed: (u64, f64),
    worker: (u64, f64),
}

/// The beginning of an execution that is measured.
#[derive(Debug)]
pub struct Begun {
    at: Instant,
    worker: Duration,
}

impl Count {
    /// An execution begins; some are measured.
    #[inline]
    pub fn begin(&self) -> Option<Begun> {
        let skip = self.skip.load(Relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, Relaxed);
            return None;
        }
        Some(self.begun())
    }

    #[cold]
    fn begun(&self) -> Begun {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.began.store(u64::try_from(since.as_micros()).unwrap_or(u64::MAX), Relaxed);
        Begun { at: Instant::now(), worker: worker_time() }
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
        let pending = self.pending.load(Relaxed);
        let time = |range: &Range, recent: &Recent, settled: &mut (u64, f64)| {
            let last = range.last.load(Relaxed);
            // Those that were not measured stand for the last that was.
            let total = range.total.load(Relaxed).wrapping_add(pending.wrapping_mul(last));
            let micros = last as f64 / 1000.0;
            let squares = f64::from_bits(recent.squares.load(Relaxed)) + micros * micros * pending as f64;
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
        let Settled { elapsed, worker, rows, .. } = &mut *settled;
        let all = self.rows.total.load(Relaxed);
        let rows = Sample {
            total: all.saturating_sub(std::mem::replace(rows, all)) as f64,
            squares: 0.0,
            last: self.rows.last.load(Relaxed),
            least: self.rows.least.load(Relaxed),
            greatest: self.rows.greatest.load(Relaxed),
        };
        Some(Executions {
            times: Times { count, last: self.began.load(Relaxed) },
            duration: time(&self.elapsed, &self.recent_elapsed, elapsed),
            processor: time(&self.worker, &self.recent_worker, worker),
            rows,
        })
    }

    /// It has come to its end, and these were its rows.
    #[inline]
    pub fn end(&self, begun: Option<Begun>, rows: u64) {
        self.rows.add(rows, 1);
        self.ended(begun);
    }

    /// It has come to its end; nobody counts rows of it.
    #[inline]
    pub fn ended(&self, begun: Option<Begun>) {
        self.executions.store(self.executions.load(Relaxed) + 1, Relaxed);
        match begun {
            Some(begun) => self.measured(&begun),
            None => self.pending.store(self.pending.load(Relaxed) + 1, Relaxed),
        }
    }

    #[cold]
    fn measured(&self, begun: &Begun) {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let elapsed = nanos(begun.at.elapsed());
        let worker = nanos(worker_time().saturating_sub(begun.worker)).min(elapsed);
        let times = 1 + self.pending.swap(0, Relaxed);
        self.elapsed.add(elapsed, times);
        self.worker.add(worker, times);
        self.recent_elapsed.add(elapsed, times);
        self.recent_worker.add(worker, times);
        self.skip.store(if elapsed < SHORT { APART } else { 0 }, Relaxed);
    }
}

/// Time of this thread's processor.
pub(super) fn worker_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// The counts of one session for one batch.
#[derive(Debug)]
pub struct Counts {
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
    list: Mutex<Vec<Arc<Counts>>>,
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
    pub fn take(&self, db: &Arc<Db>) -> Arc<Counts> {
        self.home.get_or_init(|| Arc::downgrade(db));
        self.counts()
    }

    /// The database that it runs in, if it has run.
    pub fn home(&self) -> Option<Arc<Db>> {
        self.home.get()?.upgrade()
    }

    fn counts(&self) -> Arc<Counts> {
        let mut list = self.list.lock();
        // Nobody else has those that only the list holds, and nobody gets them but here.
        if let Some(free) = list.iter().find(|counts| Arc::strong_count(counts) == 1) {
            return free.clone();
        }
        let statements = (0..self.statements).map(|_| Count::default()).collect();
        let counts = Arc::new(Counts { run: Count::default(), statements });
        list.push(counts.clone());
        counts
    }

    /// Does something with the counts that all sessions have for a statement.
    pub fn each(&self, statement: usize, mut work: impl FnMut(&Count)) {
        self.list.lock().iter().filter_map(|counts| counts.statements.get(statement)).for_each(&mut work);
    }

    /// Of a statement, or of the whole batch.
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
            for (sums, range, unit) in [
                (&mut total.rows, &count.rows, 1),
                (&mut total.elapsed, &count.elapsed, 1000),
                (&mut total.worker, &count.worker, 1000),
            ] {
                sums.add(range, unit, latest, first);
            }
            first = false;
        }
        total
    }
}

impl Sums {
    fn add(&mut self, range: &Range, unit: u64, latest: bool, first: bool) {
        let least = range.least.load(Relaxed);
        let least = if least == u64::MAX { 0 } else { least / unit };
        self.total += range.total.load(Relaxed) / unit;
        self.least = if first { least } else { self.least.min(least) };
        self.greatest = self.greatest.max(range.greatest.load(Relaxed) / unit);
        if latest {
            self.last = range.last.load(Relaxed) / unit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_statement_is_measured_now_and_then_and_counted_always() {
        let counts = CountsOfBatch::new(1);
        let own = counts.counts();
        let mut measured = 0;
        for n in 0..1000 {
            let begun = own.statements[0].begin();
            measured += u64::from(begun.is_some());
            own.statements[0].end(begun, n % 3);
        }
        let total = counts.total(Some(0));
        assert_eq!((total.executions, total.rows.total), (1000, 999));
        assert_eq!((total.rows.least, total.rows.greatest, total.rows.last), (0, 2, 0));
        // A machine that stops for a while may make some of them long.
        assert!((4..100).contains(&measured), "{measured}");
        assert_eq!(counts.total(None).executions, 0);
    }

    #[test]
    fn a_session_that_goes_leaves_its_counts_to_the_next() {
        let counts = CountsOfBatch::new(1);
        let (one, other) = (counts.counts(), counts.counts());
        assert!(!Arc::ptr_eq(&one, &other));
        one.statements[0].end(None, 5);
        other.statements[0].end(None, 7);
        let address = Arc::as_ptr(&one);
        drop(one);
        let next = counts.counts();
        assert_eq!(Arc::as_ptr(&next), address);
        next.statements[0].end(None, 1);
        let total = counts.total(Some(0));
        assert_eq!(
            (total.executions, total.rows.total, total.rows.least, total.rows.greatest),
            (3, 13, 1, 7)
        );
    }
}
