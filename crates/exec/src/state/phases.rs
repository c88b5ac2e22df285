//! Where the time of requests goes: one clock for each thread that serves a request, and histograms
//! of each phase over all requests.
//! Guarantees: each moment of a request belongs to one phase, the innermost that was entered, so
//! the phases together are the whole; while nobody measures, a request pays a load of a flag, and
//! each place that tells of a phase a look at a flag of its thread.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is complete, or its connection can be read, and no thread is free.
    Worker,
    /// Its bytes are read, decrypted and put together.
    Receive,
    /// What it asks for is read out of the message.
    Decode,
    /// Its plan is looked for, or made.
    Plan,
    /// It runs; what is no other phase, waits for locks and pages among it.
    Run,
    /// It waits for the log.
    Log,
    /// Its answer becomes tokens and packets.
    Encode,
    /// Its answer is handed to the system, encrypted before; also while the client does not read.
    Send,
}

/// Phases.
const PHASES: usize = 8;
/// Their names, and that of a request as a whole.
pub const PHASE_NAMES: [&str; PHASES + 1] =
    ["WAIT FOR WORKER", "RECEIVE", "DECODE", "FIND PLAN", "RUN", "WAIT FOR LOG", "ENCODE", "SEND", "TOTAL"];

/// Classes of times: for each power of two of nanoseconds four. The last one has no bound: 2^41, 37
/// minutes.
pub const TIME_CLASSES: usize = 160;
/// Parts of the histograms, each for some of the threads.
const PARTS: usize = 8;

/// The class of a time in nanoseconds.
fn class_of(ns: u64) -> usize {
    if ns < 4 {
        return ns as usize;
    }
    let power = ns.ilog2() as usize;
    let quarter = (ns >> (power - 2)) as usize & 3;
    ((power - 1) * 4 + quarter).min(TIME_CLASSES - 1)
}

/// The least time in nanoseconds that is above a class.
pub fn class_bound(class: usize) -> u64 {
    if class < 4 {
        return class as u64 + 1;
    }
    let (power, quarter) = (class / 4 + 1, class as u64 % 4);
    (5 + quarter) << (power - 2)
}

/// The time in nanoseconds that so large a part of what was counted does not exceed; none where
/// nothing was.
pub fn percentile(classes: &[u64], part: f64) -> Option<u64> {
    let all: u64 = classes.iter().sum();
    let wanted = ((all as f64 * part).ceil() as u64).max(1);
    let mut seen = 0;
    let reached = |count: &u64| {
        seen += count;
        seen >= wanted
    };
    classes.iter().position(reached).map(class_bound)
}

/// Times of one phase.
struct Histogram {
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
    classes: [AtomicU64; TIME_CLASSES],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            total_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            classes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Histogram {
    fn add(&self, ns: u64) {
        self.total_ns.fetch_add(ns, Relaxed);
        self.longest_ns.fetch_max(ns, Relaxed);
        self.classes[class_of(ns)].fetch_add(1, Relaxed);
    }

    fn clear(&self) {
        let counters = [&self.total_ns, &self.longest_ns].into_iter().chain(&self.classes);
        counters.for_each(|counter| counter.store(0, Relaxed));
    }
}

/// What was counted of one phase, or of requests as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    pub name: &'static str,
    /// Requests that were in it.
    pub count: u64,
    pub total_ns: u64,
    pub longest_ns: u64,
    /// Requests by their time in it.
    pub classes: Vec<u64>,
}

/// The histograms of an instance.
#[derive(Default)]
pub struct RequestPhases {
    on: AtomicBool,
    /// Made when they are measured for the first time.
    parts: OnceLock<Vec<[Histogram; PHASES + 1]>>,
}

/// The clock of a request.
#[derive(Clone, Copy)]
struct Clock {
    since: Instant,
    phase: Phase,
    /// What it was in before it began to wait for the log.
    before_log: Option<Phase>,
    /// It has turned out to be a request.
    counts: bool,
    spent_ns: [u64; PHASES],
    entered: [bool; PHASES],
}

impl Clock {
    fn switch(&mut self, to: Phase) -> Phase {
        let now = Instant::now();
        self.spent_ns[self.phase as usize] += (now - self.since).as_nanos() as u64;
        self.since = now;
        self.entered[to as usize] = true;
        std::mem::replace(&mut self.phase, to)
    }
}

thread_local! {
    /// The thread's request is timed.
    static TIMED: Cell<bool> = const { Cell::new(false) };
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
    /// The part of the histograms that the thread counts in, 1 more; 0 before it has one.
    static PART: Cell<usize> = const { Cell::new(0) };
}

/// Works on the clock of this thread's request, if that is timed.
#[inline]
fn with_clock<T>(work: impl FnOnce(&mut Clock) -> T) -> Option<T> {
    if TIMED.get() { on_clock(work) } else { None }
}

#[cold]
fn on_clock<T>(work: impl FnOnce(&mut Clock) -> T) -> Option<T> {
    CLOCK.with_borrow_mut(|clock| clock.as_mut().map(work))
}

/// The request of this thread is in another phase until this is dropped.
#[must_use]
pub struct InPhase(Option<Phase>);

/// The request of this thread enters a phase.
#[inline]
pub fn enter(phase: Phase) -> InPhase {
    InPhase(with_clock(|clock| clock.switch(phase)))
}

impl Drop for InPhase {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            with_clock(|clock| clock.switch(before));
        }
    }
}

/// This thread begins to wait for the log.
#[inline]
pub(super) fn log_wait_begins() {
    with_clock(|clock| clock.before_log = Some(clock.switch(Phase::Log)));
}

/// This thread has waited for the log.
#[inline]
pub(super) fn log_wait_ends() {
    with_clock(|clock| clock.before_log.take().map(|before| clock.switch(before)));
}

/// What this thread has read is a request: it will be counted.
#[inline]
pub fn is_request() {
    with_clock(|clock| {
        clock.counts = true;
        clock.switch(Phase::Decode)
    });
}

/// Times what this thread does until it is dropped.
#[must_use]
pub struct Timing<'a>(Option<&'a RequestPhases>);

impl RequestPhases {
    /// Whether requests are timed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Begins to time requests, from nothing, or ends it: what was counted stays.
    pub fn switch(&self, on: bool) {
        if on && !self.is_on() {
            let parts = self
                .parts
                .get_or_init(|| (0..PARTS).map(|_| std::array::from_fn(|_| Histogram::default())).collect());
            parts.iter().flatten().for_each(Histogram::clear);
        }
        self.on.store(on, Relaxed);
    }

    /// This thread begins to look after a connection: it receives. `waited`: the connection has
    /// waited for it.
    #[inline]
    pub fn begin(&self, waited: Option<Duration>) -> Timing<'_> {
        if self.is_on() { self.begin_timed(waited) } else { Timing(None) }
    }

    #[cold]
    fn begin_timed(&self, waited: Option<Duration>) -> Timing<'_> {
        let (mut spent_ns, mut entered) = ([0; PHASES], [false; PHASES]);
        spent_ns[Phase::Worker as usize] = waited.map_or(0, |waited| waited.as_nanos() as u64);
        entered[Phase::Worker as usize] = waited.is_some();
        entered[Phase::Receive as usize] = true;
        let clock = Clock {
            since: Instant::now(),
            phase: Phase::Receive,
            before_log: None,
            counts: false,
            spent_ns,
            entered,
        };
        CLOCK.set(Some(clock));
        TIMED.set(true);
        Timing(Some(self))
    }

    fn add(&self, clock: &Clock) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let Some(parts) = self.parts.get() else { return };
        if PART.get() == 0 {
            PART.set(NEXT.fetch_add(1, Relaxed) % PARTS + 1);
        }
        let Some(histograms) = parts.get(PART.get() - 1) else { return };
        let times = clock.spent_ns.iter().zip(clock.entered);
        for (histogram, (ns, _)) in histograms.iter().zip(times).filter(|(_, (_, entered))| *entered) {
            histogram.add(*ns);
        }
        histograms[PHASES].add(clock.spent_ns.iter().sum());
    }

    /// What was counted since it was switched on last; all zero where it never was.
    pub fn times(&self) -> Vec<PhaseTimes> {
        let parts = self.parts.get().map(Vec::as_slice).unwrap_or_default();
        let of = |(phase, name): (usize, &&'static str)| {
            let mut times = PhaseTimes { name, classes: vec![0; TIME_CLASSES], ..PhaseTimes::default() };
            for histogram in parts.iter().map(|part| &part[phase]) {
                times.total_ns += histogram.total_ns.load(Relaxed);
                times.longest_ns = times.longest_ns.max(histogram.longest_ns.load(Relaxed));
                for (sum, class) in times.classes.iter_mut().zip(&histogram.classes) {
                    *sum += class.load(Relaxed);
                }
            }
            times.count = times.classes.iter().sum();
            times
        };
        PHASE_NAMES.iter().enumerate().map(of).collect()
    }
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        let Some(phases) = self.0 else { return };
        TIMED.set(false);
        if let Some(mut clock) = CLOCK.take().filter(|clock| clock.counts) {
            clock.switch(clock.phase);
            phases.add(&clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_one_another_and_are_a_quarter_wide() {
        for ns in (0..5_000).chain([1 << 20, (1 << 33) - 1, 1 << 33, (1 << 40) + 12_345]) {
            let class = class_of(ns);
            assert!(ns < class_bound(class), "{ns}");
            assert!(class == 0 || ns >= class_bound(class - 1), "{ns}");
            assert!(ns < 4 || class_bound(class) - class_bound(class - 1) <= ns / 4, "{ns}");
        }
        assert_eq!(class_of(u64::MAX), TIME_CLASSES - 1);
    }

    #[test]
    fn percentiles_are_bounds_of_classes() {
        let mut classes = vec![0; TIME_CLASSES];
        assert_eq!(percentile(&classes, 0.5), None);
        (classes[class_of(100)], classes[class_of(1_000)]) = (99, 1);
        assert_eq!(percentile(&classes, 0.5), Some(112));
        assert_eq!(percentile(&classes, 0.99), Some(112));
        assert_eq!(percentile(&classes, 1.0), Some(1_024));
    }

    #[test]
    fn each_moment_is_of_one_phase_and_only_requests_count() {
        let phases = RequestPhases::default();
        drop(phases.begin(None));
        assert!(phases.times().iter().all(|times| times.count == 0));
        phases.switch(true);
        drop(phases.begin(None));
        assert!(phases.times().iter().all(|times| times.count == 0), "nothing came");
        let begun = Instant::now();
        {
            let _timing = phases.begin(Some(Duration::from_millis(3)));
            is_request();
            let _run = enter(Phase::Run);
            std::thread::sleep(Duration::from_millis(2));
            log_wait_begins();
            std::thread::sleep(Duration::from_millis(5));
            log_wait_ends();
            drop(enter(Phase::Encode));
        }
        let most = begun.elapsed().as_nanos() as u64 + 3_000_000;
        let times = phases.times();
        let of = |name: &str| times.iter().find(|times| times.name == name).unwrap();
        let counts: Vec<u64> = times.iter().map(|times| times.count).collect();
        assert_eq!(counts, [1, 1, 1, 0, 1, 1, 1, 0, 1]);
        assert_eq!(of("WAIT FOR WORKER").total_ns, 3_000_000);
        assert!(of("RUN").total_ns >= 2_000_000 && of("WAIT FOR LOG").total_ns >= 5_000_000);
        let sum: u64 = times[..PHASES].iter().map(|times| times.total_ns).sum();
        assert!(sum == of("TOTAL").total_ns && sum <= most);
        // What is not timed tells of no phase.
        drop(enter(Phase::Send));
        phases.switch(false);
        assert_eq!(phases.times(), times);
        phases.switch(true);
        assert!(phases.times().iter().all(|times| times.count == 0), "it begins anew");
    }
}
