//! Work that a statement leaves to a thread of its database because nobody has to wait for it:
//! statistics that are to be measured again. The thread is started with the first such work.
//! Guarantees: work runs in the order in which it was left, at most once, and never after the
//! database is closed; it may never run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{AfterPanic, Database, Status};
use crate::background::Bell;

/// Some work.
pub type Errand = Box<dyn FnOnce() + Send>;

/// How long the thread sleeps at most: one that was started while the database closed ends then.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// What is to be done.
#[derive(Default)]
pub(crate) struct Errands {
    queue: Mutex<ErrandQueue>,
    bell: Arc<Bell>,
}

#[derive(Default)]
struct ErrandQueue {
    waiting: VecDeque<Errand>,
    has_thread: bool,
}

impl Database {
    /// Leaves work to the database's thread. False: it has none, the caller may do it itself.
    pub fn leave(self: &Arc<Self>, work: Errand) -> bool {
        if !self.has_background() || self.status() != Status::Online {
            return false;
        }
        let errands = self.errands();
        let mut queue = errands.queue.lock();
        if !queue.has_thread {
            let name = format!("errands-{}", self.id());
            let rounds = |d: &Arc<Database>| d.run_errands();
            if self
                .spawn(&name, &errands.bell, Some(LONGEST_SLEEP), AfterPanic::GoOn, rounds)
                .is_err()
            {
                return false;
            }
            queue.has_thread = true;
        }
        queue.waiting.push_back(work);
        drop(queue);
        errands.bell.poke();
        true
    }

    fn run_errands(&self) {
        while self.status() == Status::Online {
            let Some(work) = self.errands().queue.lock().waiting.pop_front() else { return };
            work();
        }
    }
}
