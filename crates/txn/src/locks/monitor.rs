//! The thread that looks for deadlocks: when, and how often.
//! Guarantees: it sleeps while nobody waits; a wait that turns out long has a search soon after,
//! and searches go on every 5 seconds as long as anybody waits, every 100 ms while deadlocks are
//! being found; searches take at most one hundredth of a processor's time, unless one of them takes
//! over 20 ms: they are never more than 2 seconds late.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::time::{ClockId, clock_gettime};

use super::manager::LockManager;

/// Between searches when nothing happens.
const LONGEST: Duration = Duration::from_secs(5);
/// Between searches once a deadlock was found.
const SHORTEST: Duration = Duration::from_millis(100);
/// A search begins no earlier after another than this many times the processor's time that it took,
/// which is not more for a machine that is busy with something else.
const REST: u32 = 100;
/// But no later than this.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// What a search has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SearchResult {
    /// Requests that waited.
    pub waiting: usize,
    /// Deadlocks that were broken.
    pub broken: usize,
    /// A cycle had changed when it was looked at again.
    pub unsure: bool,
    /// The processor's time that it took to tell of them.
    pub telling: Duration,
}

#[derive(Debug, Default)]
struct MonitorState {
    /// The thread is there.
    started: bool,
    /// A wait has turned out long since the last search began.
    asked: bool,
    stopped: bool,
}

#[derive(Debug, Default)]
struct MonitorShared {
    state: Mutex<MonitorState>,
    changed: Condvar,
}

/// The monitor's bell.
#[derive(Debug, Default)]
pub(super) struct Monitor(Arc<MonitorShared>);

impl Monitor {
    /// The manager is no more: the thread ends.
    pub fn stop(&self) {
        self.0.state.lock().stopped = true;
        self.0.changed.notify_one();
    }
}

impl LockManager {
    /// A wait has turned out long: deadlocks are to be looked for.
    pub(super) fn ask_monitor(&self) {
        let mut state = self.monitor.0.state.lock();
        if !state.started {
            let (shared, manager) = (self.monitor.0.clone(), self.me.clone());
            let thread = std::thread::Builder::new().name("deadlocks".into());
            state.started = thread.spawn(move || watch(&shared, || manager.upgrade())).is_ok();
        }
        if state.started {
            if !std::mem::replace(&mut state.asked, true) {
                self.monitor.0.changed.notify_one();
            }
            return;
        }
        drop(state);
        // Without a thread, who waits looks; the next one tries to start it again.
        self.find_deadlocks();
    }
}

/// How long until the next search, after one that has found this.
fn next_pause(before: Duration, found: SearchResult) -> Duration {
    if found.broken > 0 || found.unsure { SHORTEST } else { (before * 2).clamp(SHORTEST, LONGEST) }
}

/// How long until a search may begin, after one that took so much of the processor's time.
fn rest(took: Duration) -> Duration {
    took.saturating_mul(REST).min(LONGEST_REST)
}

/// The processor's time of this thread.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanos)
}

/// Searches until the manager is no more.
fn watch(shared: &MonitorShared, manager: impl Fn() -> Option<Arc<LockManager>>) {
    let (mut pause, mut waiting) = (LONGEST, false);
    let mut earliest = Instant::now();
    while shared.sleep(waiting.then_some(pause), earliest) {
        let Some(manager) = manager() else { return };
        let start = processor_time();
        let found = manager.find_deadlocks();
        drop(manager);
        pause = next_pause(pause, found);
        waiting = found.waiting > 0;
        let took = processor_time().saturating_sub(start);
        earliest = Instant::now() + rest(took.saturating_sub(found.telling));
    }
}

impl MonitorShared {
    /// Sleeps until the next search, `pause` away unless it is asked for, but not before
    /// `earliest`. False: the manager is no more.
    fn sleep(&self, pause: Option<Duration>, earliest: Instant) -> bool {
        let next = pause.map(|pause| Instant::now() + pause);
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            if state.stopped {
                return false;
            }
            let due = state.asked || next.is_some_and(|next| next <= now);
            if due && earliest <= now {
                state.asked = false;
                return true;
            }
            match if due { Some(earliest) } else { next } {
                Some(until) => {
                    self.changed.wait_until(&mut state, until);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_take_a_hundredth_of_a_processor_and_come_in_time() {
        assert_eq!(rest(Duration::from_micros(30)), Duration::from_millis(3));
        assert_eq!(rest(Duration::from_secs(1)), LONGEST_REST);
        assert_eq!(rest(Duration::MAX), LONGEST_REST);
    }

    #[test]
    fn searches_come_closer_together_while_deadlocks_are_found() {
        let none = SearchResult { waiting: 9, ..SearchResult::default() };
        let some = SearchResult { broken: 1, ..none };
        assert_eq!(next_pause(LONGEST, none), LONGEST);
        assert_eq!(next_pause(LONGEST, some), SHORTEST);
        assert_eq!(next_pause(LONGEST, SearchResult { unsure: true, ..none }), SHORTEST);
        let mut pause = SHORTEST;
        for _ in 0..10 {
            pause = next_pause(pause, none);
        }
        assert_eq!(pause, LONGEST);
    }
}
