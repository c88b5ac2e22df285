//! The clock of a device and the precise wait for a moment of it.
//!
//! A wait sleeps until shortly before the moment and spins for the rest. How early it must wake is learnt from how late
//! earlier sleeps were, between 5 and 80 microseconds: 1 sleep in 100 is later, and spinning stays as short as that allows.
//!
//! A thread that wakes while every processor is busy would wait for its turn, a few milliseconds on a machine of few processors: the
//! measured program would slow down its own device. So a waiting thread is a real-time one until its moment, where the system
//! grants it: it runs at once when it wakes, whatever else runs.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadId, ThreadPriority, ThreadSchedulePolicy,
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

    /// Returns when the device's time is `moment`; returns how much later than that the wait ended, in real time.
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
    let _raised = Raised::now(target);
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

/// Waits that are shorter end while the thread spins.
const WORTH_RAISING: Duration = Duration::from_micros(100);
/// The system has refused; there is no use in asking again.
static REFUSED: AtomicBool = AtomicBool::new(false);

const REAL_TIME: ThreadSchedulePolicy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
const NORMAL: ThreadSchedulePolicy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
/// An ordinary thread's priority, nice 0, on the library's scale of 0 to 99.
const ORDINARY: u8 = 48;

/// This thread is a real-time one while it lives. Only threads of ordinary priority become one: what someone has lowered stays low.
struct Raised {
    thread: ThreadId,
    ordinary: ThreadPriority,
}

impl Raised {
    fn now(target: Instant) -> Option<Raised> {
        let long = target.saturating_duration_since(Instant::now()) > WORTH_RAISING;
        if !long || REFUSED.load(Relaxed) {
            return None;
        }
        // What the system knows as a process's priority is that of one thread.
        let nice = rustix::process::getpriority_process(Some(rustix::thread::gettid())).ok()?;
        let ordinary = ThreadPriority::Crossplatform(ORDINARY.try_into().ok()?);
        let thread = thread_priority::thread_native_id();
        if nice != 0 {
            return None;
        }
        match thread_priority::set_thread_priority_and_policy(thread, ThreadPriority::Min, REAL_TIME) {
            Ok(()) => Some(Raised { thread, ordinary }),
            Err(_) => {
                REFUSED.store(true, Relaxed);
                None
            }
        }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // Lowering is never refused.
        let _ = thread_priority::set_thread_priority_and_policy(self.thread, self.ordinary, NORMAL);
    }
}

/// A thread's timer slack is 50 microseconds by default. If the system refuses to shorten it, the wait learns to wake earlier.
fn shorten_slack() {
    SLACK_SET.with(|set| {
        if !set.replace(true) {
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1_000));
        }
    });
}

/// Steps of a quantile that is tracked continuously: it settles where one sleep in `UP / DOWN` is later.
const UP: u64 = 2_000;
const DOWN: u64 = 20;

/// Waking early costs a little spinning, waking late a wrong measurement.
fn learn(late: Duration) {
    let known = LATENESS.load(Relaxed);
    let next = if late.as_nanos() > u128::from(known) { known + UP } else { known - DOWN.min(known) };
    LATENESS.store(next.clamp(LEAST_SPIN, MOST_SPIN), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_an_ordinary_one_after_its_wait() {
        let priority = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("known");
        let before = (thread_priority::thread_schedule_policy().expect("known"), priority());
        sleep_until(Instant::now() + 2 * WORTH_RAISING);
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
