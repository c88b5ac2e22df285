//! The newest deadlocks, as reports in XML: bounded, for the ring buffer of `system_health`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

/// Reports that are kept.
const KEPT: usize = 64;

/// A deadlock that was broken.
pub struct DeadlockReport {
    pub at: SystemTime,
    /// The element `deadlock`.
    pub xml: String,
}

/// The newest of them.
#[derive(Default)]
pub struct Deadlocks(Mutex<DeadlockState>);

#[derive(Default)]
struct DeadlockState {
    kept: VecDeque<Arc<DeadlockReport>>,
    /// All since the start.
    total: u64,
}

impl Deadlocks {
    /// Those that are kept, oldest first, and how many there were.
    pub fn kept(&self) -> (Vec<Arc<DeadlockReport>>, u64) {
        let state = self.0.lock();
        (state.kept.iter().cloned().collect(), state.total)
    }

    pub fn keep(&self, report: DeadlockReport) {
        let mut state = self.0.lock();
        if state.kept.len() == KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(Arc::new(report));
        state.total += 1;
    }
}
