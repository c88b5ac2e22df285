//! Writes that wait: what a test holds back so that it sees what goes on meanwhile, at any speed of
//! the machine.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Writes to a file wait while this exists ([`SimDisk::hold_writes`](crate::SimDisk::hold_writes)).
#[derive(Debug, Default)]
pub struct Hold(Arc<HoldGate>);

#[derive(Debug, Default)]
pub(crate) struct HoldGate {
    state: Mutex<HoldState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct HoldState {
    released: bool,
    waiting: u64,
}

impl Hold {
    pub(crate) fn gate(&self) -> Arc<HoldGate> {
        Arc::clone(&self.0)
    }

    /// Returns once a write waits.
    pub fn wait_for_writer(&self) {
        let mut state = self.0.state.lock();
        while state.waiting == 0 {
            self.0.changed.wait(&mut state);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.state.lock().released = true;
        self.0.changed.notify_all();
    }
}

impl HoldGate {
    /// Waits until the hold is dropped.
    pub fn pass(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.changed.notify_all();
        while !state.released {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
    }
}
