//! The clock of a device and the precise wait for a moment of it.
//!
//! A wait sleeps until shortly before the moment and spins for the rest. How early it must wake is
//! learnt from how late earlier sleeps were, between 5 and 80 microseconds: 1 sleep in 100 is
//! later, and spinning stays as short as that allows.
//!
//! A thread that wakes while every processor is busy would wait for its turn, a few milliseconds on
//! a machine of few processors: the measured program would slow down its own device. So a thread
//! that waits, for the bytes to be moved on the real disk and for the moment, is a real-time one
//! meanwhile, where the system grants it: it runs at once when it wakes, whatever else runs.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
};

use crate::params::Nanos;

const LEAST_SPIN: u64 = 5_000;
const MOST_SPIN: u64 = 80_000;

/// Device time: real time since `start`, times the device's scale.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    scale: f64,
}

impl Clock {
    pub fn new(scale: f64) -> Self {
        Clock { start: Instant::now(), scale }
    }

    /// The device's time now.
    pub fn now(&self) -> Nanos {
        (self.start.elapsed().as_nanos() as f64 * self.scale) as Nanos
    }

    /// Real time until the device's time is `moment`, or how long ago that was.
    pub fn until(&self, moment: Nanos) -> Result<Duration, Duration> {
        let target = self.start + self.real(moment);
        let now = Instant::now();
        if target > now { Ok(target - now) } else { Err(now - target) }
    }

    /// Returns when the device's time is `moment`; returns how much later than that the wait ended,
    /// in real time.
    pub fn wait_until(&self, moment: Nanos) -> Duration {
        let target = self.start + self.real(moment);
        sleep_until(target);
        Instant::now().saturating_duration_since(target)
    }

    /// A span of the device's time in real time.
    pub fn real(&self, span: Nanos) -> Duration {
        Duration::from_nanos((span as f64 / self.scale) as u64)
    }
}

/// How late sleeps end, nanoseconds: 99 of 100, over all threads, end earlier.
static LATENESS: AtomicU64 = AtomicU64::new(30_000);

thread_local! {
    static SLACK_SET: Cell<bool> = const { Cell::new(false) };
}

fn sleep_until(target: Instant) {
    let _urgent = UrgentScope::begin();
    let spin = Duration::from_nanos(LATENESS.load(Relaxed).clamp(LEAST_SPIN, MOST_SPIN));
    let wake = target.checked_sub(spin).unwrap_or(target);
    let now = Instant::now();
    if wake > now {
        shorten_slack();
        std::thread::sleep(wake - now);
        learn(Instant::now().saturating_duration_since(wake));
    }
    while Instant::now() < target {
        std::hint::spin_loop();
    }
}

/// The system has refused; there is no use in asking again.
static REFUSED: AtomicBool = AtomicBool::new(false);

const REAL_TIME: ThreadSchedulePolicy =
    ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
const NORMAL: ThreadSchedulePolicy =
    ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
/// An ordinary thread's priority, nice 0, on the library's scale of 0 to 99.
const ORDINARY: u8 = 48;

thread_local! {
    /// How many waits within each other this thread is in.
    static WAITS: Cell<u32> = const { Cell::new(0) };
}

/// This thread is a real-time one from now on, until [`end_urgent`] was called as often as this.
/// Only threads of ordinary priority become one: what someone has lowered stays low.
pub(crate) fn begin_urgent() {
    let outer = WAITS.with(|waits| waits.replace(waits.get() + 1));
    if outer > 0 || REFUSED.load(Relaxed) {
        return;
    }
    // What the system knows as a process's priority is that of one thread.
    let nice = rustix::process::getpriority_process(Some(rustix::thread::gettid()));
    if nice == Ok(0) && set(ThreadPriority::Min, REAL_TIME).is_none() {
        REFUSED.store(true, Relaxed);
    }
}

/// See [`begin_urgent`].
pub(crate) fn end_urgent() {
    let waits = WAITS.with(|waits| {
        let left = waits.get().saturating_sub(1);
        waits.set(left);
        left
    });
    if waits == 0 && !REFUSED.load(Relaxed) {
        // Lowering is never refused. A thread that was not raised has another priority than the
        // ordinary one, or has it already.
        let nice = rustix::process::getpriority_process(Some(rustix::thread::gettid()));
        if nice == Ok(0)
            && let Ok(ordinary) = ORDINARY.try_into()
        {
            set(ThreadPriority::Crossplatform(ordinary), NORMAL);
        }
    }
}

fn set(priority: ThreadPriority, policy: ThreadSchedulePolicy) -> Option<()> {
    let thread = thread_priority::thread_native_id();
    thread_priority::set_thread_priority_and_policy(thread, priority, policy).ok()
}

/// [`begin_urgent`] and [`end_urgent`] around a scope.
pub(crate) struct UrgentScope;

impl UrgentScope {
    pub fn begin() -> UrgentScope {
        begin_urgent();
        UrgentScope
    }
}

impl Drop for UrgentScope {
    fn drop(&mut self) {
        end_urgent();
    }
}

/// A thread's timer slack is 50 microseconds by default. If the system refuses to shorten it, the
/// wait learns to wake earlier.
fn shorten_slack() {
    SLACK_SET.with(|set| {
        if !set.replace(true) {
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1_000));
        }
    });
}

/// Steps of a quantile that is tracked continuously: it settles where one sleep in `UP / DOWN` is
/// later.
const UP: u64 = 2_000;
const DOWN: u64 = 20;

/// Waking early costs a little spinning, waking late a wrong measurement.
fn learn(late: Duration) {
    let known = LATENESS.load(Relaxed);
    let next =
        if late.as_nanos() > u128::from(known) { known + UP } else { known - DOWN.min(known) };
    LATENESS.store(next.clamp(LEAST_SPIN, MOST_SPIN), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_an_ordinary_one_after_its_wait() {
        let priority =
            || rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("known");
        let before = (thread_priority::thread_schedule_policy().expect("known"), priority());
        begin_urgent();
        sleep_until(Instant::now() + Duration::from_millis(1));
        end_urgent();
        assert_eq!((thread_priority::thread_schedule_policy().expect("known"), priority()), before);
    }

    #[test]
    fn a_wait_never_ends_early() {
        for scale in [1.0, 10.0, 0.5] {
            let clock = Clock::new(scale);
            for step in [1_000, 50_000, 400_000] {
                let moment = clock.now() + step;
                clock.wait_until(moment);
                assert!(clock.now() + 10 >= moment, "scale {scale}, step {step}");
            }
            assert!(clock.wait_until(0) > Duration::ZERO);
            assert_eq!(clock.real(1_000), Duration::from_nanos((1_000.0 / scale) as u64));
        }
    }
}
