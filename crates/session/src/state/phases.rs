//! Where the time of requests goes: one clock for each thread that serves a request, and histograms
//! of each phase over all requests, of the time that has passed and of the processor's time that
//! the thread has had in it.
//! Guarantees: each moment of a request belongs to one phase, the innermost that was entered, so
//! the phases together are the whole; while nobody measures no clock is read: a request pays a load
//! of a flag, and each place that tells of a phase a look at a flag of its thread.

mod histogram;

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use histogram::Histogram;
pub use histogram::{CountedTimes, TIME_CLASSES, class_bound, percentile};

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
pub const PHASE_NAMES: [&str; PHASES + 1] = [
    "WAIT FOR WORKER",
    "RECEIVE",
    "DECODE",
    "FIND PLAN",
    "RUN",
    "WAIT FOR LOG",
    "ENCODE",
    "SEND",
    "TOTAL",
];

/// Parts of the histograms, each for some of the threads.
const PARTS: usize = 8;
/// Readings of the clocks from which it is told what one takes.
const READINGS: usize = 100;

/// What was counted of one phase, or of requests as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    pub name: &'static str,
    /// Requests that were in it.
    pub count: u64,
    /// How long they were.
    pub elapsed: CountedTimes,
    /// The processor's time that their threads have had meanwhile.
    pub processor: CountedTimes,
}

/// The times of one phase.
#[derive(Default)]
struct Counted {
    elapsed: Histogram,
    processor: Histogram,
}

/// The histograms of an instance.
#[derive(Default)]
pub struct RequestPhases {
    on: AtomicBool,
    /// Processor's time that a reading of the clocks takes at least.
    reading_ns: AtomicU64,
    /// Made when they are measured for the first time.
    parts: OnceLock<Vec<[Counted; PHASES + 1]>>,
}

/// What the clocks show where one phase ends and the next one begins. The thread's own clock is a
/// call of the system: what it takes is of neither.
#[derive(Clone, Copy)]
struct ClockReadings {
    ends: Instant,
    processor_ns: u64,
    begins: Instant,
}

impl ClockReadings {
    fn now() -> ClockReadings {
        #[cfg(test)]
        READ.set(READ.get() + 1);
        let ends = Instant::now();
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = time.tv_sec.unsigned_abs();
        let processor_ns =
            seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.unsigned_abs());
        ClockReadings { ends, processor_ns, begins: Instant::now() }
    }

    /// Processor's time from one reading to the next one with nothing between them: the least of
    /// some, so that what is taken off a phase was never its own.
    fn least_between() -> u64 {
        let mut before = ClockReadings::now();
        let between = (0..READINGS).map(|_| {
            let now = ClockReadings::now();
            let passed = now.processor_ns.saturating_sub(before.processor_ns);
            before = now;
            passed
        });
        between.min().unwrap_or_default()
    }
}

/// Time that has passed, and the processor's time of it, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Spent {
    elapsed: u64,
    processor: u64,
}

/// The clock of a request.
#[derive(Clone, Copy)]
struct Clock {
    since: ClockReadings,
    phase: Phase,
    /// What it was in before it began to wait for the log.
    before_log: Option<Phase>,
    /// It has turned out to be a request.
    counts: bool,
    /// What a reading takes of the processor's time.
    reading_ns: u64,
    spent: [Spent; PHASES],
    entered: [bool; PHASES],
}

impl Clock {
    /// That of a request that is received from now on.
    fn new(since: ClockReadings, waited: Option<Duration>, reading_ns: u64) -> Clock {
        let (mut spent, mut entered) = ([Spent::default(); PHASES], [false; PHASES]);
        // Another thread's processor has had nothing to do with it.
        spent[Phase::Worker as usize].elapsed = waited.map_or(0, |waited| waited.as_nanos() as u64);
        entered[Phase::Worker as usize] = waited.is_some();
        entered[Phase::Receive as usize] = true;
        Clock {
            since,
            phase: Phase::Receive,
            before_log: None,
            counts: false,
            reading_ns,
            spent,
            entered,
        }
    }

    fn switch(&mut self, to: Phase) -> Phase {
        let (now, since) = (ClockReadings::now(), self.since);
        let elapsed = (now.ends - since.begins).as_nanos() as u64;
        let processor =
            now.processor_ns.saturating_sub(since.processor_ns).saturating_sub(self.reading_ns);
        let spent = &mut self.spent[self.phase as usize];
        spent.elapsed += elapsed;
        // The two clocks are not read in one moment.
        spent.processor += processor.min(elapsed);
        self.since = now;
        self.entered[to as usize] = true;
        std::mem::replace(&mut self.phase, to)
    }
}

#[cfg(test)]
thread_local! {
    /// Readings of the clocks by this thread.
    static READ: Cell<u64> = const { Cell::new(0) };
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
            let parts = self.parts.get_or_init(|| {
                (0..PARTS).map(|_| std::array::from_fn(|_| Counted::default())).collect()
            });
            let histograms = parts.iter().flatten().flat_map(|of| [&of.elapsed, &of.processor]);
            histograms.for_each(Histogram::clear);
            self.reading_ns.store(ClockReadings::least_between(), Relaxed);
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
        let clock = Clock::new(ClockReadings::now(), waited, self.reading_ns.load(Relaxed));
        CLOCK.set(Some(clock));
        TIMED.set(true);
        Timing(Some(self))
    }

    /// The request that this thread times has run, and another one of its connection follows, which
    /// was received together with it: what is yet to come, the wait for the log and the way back
    /// for both, is of that one.
    #[inline]
    pub fn next_request(&self) {
        if TIMED.get() {
            self.next_timed();
        }
    }

    #[cold]
    fn next_timed(&self) {
        if let Some(mut clock) = CLOCK.take() {
            clock.switch(Phase::Receive);
            CLOCK.set(Some(Clock::new(clock.since, None, clock.reading_ns)));
            if clock.counts {
                self.add(&clock);
            }
        }
    }

    fn add(&self, clock: &Clock) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let Some(parts) = self.parts.get() else { return };
        if PART.get() == 0 {
            PART.set(NEXT.fetch_add(1, Relaxed) % PARTS + 1);
        }
        let Some(phases) = parts.get(PART.get() - 1) else { return };
        let times = clock.spent.iter().zip(clock.entered);
        for (counted, (spent, _)) in phases.iter().zip(times).filter(|(_, (_, entered))| *entered) {
            counted.add(*spent);
        }
        phases[PHASES].add(Spent {
            elapsed: clock.spent.iter().map(|spent| spent.elapsed).sum(),
            processor: clock.spent.iter().map(|spent| spent.processor).sum(),
        });
    }

    /// What was counted since it was switched on last; all zero where it never was.
    pub fn times(&self) -> Vec<PhaseTimes> {
        let parts = self.parts.get().map(Vec::as_slice).unwrap_or_default();
        let of = |(phase, name): (usize, &&'static str)| {
            let counted = || parts.iter().map(move |part| &part[phase]);
            let elapsed = Histogram::sum(counted().map(|of| &of.elapsed));
            let processor = Histogram::sum(counted().map(|of| &of.processor));
            PhaseTimes { name, count: elapsed.count(), elapsed, processor }
        };
        PHASE_NAMES.iter().enumerate().map(of).collect()
    }
}

impl Counted {
    fn add(&self, spent: Spent) {
        self.elapsed.add(spent.elapsed);
        self.processor.add(spent.processor);
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
mod tests;
