//! What wakes and stops a background thread of the log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Wakes and stops a background thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
    called: AtomicBool,
}

#[derive(Debug, Default)]
struct SignalState {
    work: bool,
    stop: bool,
}

impl Signal {
    pub fn call(&self) {
        if !self.called.swap(true, Ordering::AcqRel) {
            self.state.lock().work = true;
            self.changed.notify_one();
        }
    }

    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.state.lock().stop
    }

    /// Waits for work, or until `timeout` has passed if there is one; false when the log is closed
    /// or dropped.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.state.lock();
        while !state.work && !state.stop {
            match deadline {
                None => self.changed.wait(&mut state),
                Some(deadline) if self.changed.wait_until(&mut state, deadline).timed_out() => {
                    break;
                }
                Some(_) => {}
            }
        }
        state.work = false;
        self.called.store(false, Ordering::Release);
        !state.stop
    }
}
