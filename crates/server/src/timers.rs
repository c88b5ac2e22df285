//! What is to be done at its time: time limits of connections, the end of sessions that KILL has
//! ended, delayed answers, answers that were kept back for a request that takes long, listeners
//! that could not accept for want of descriptors. Whoever waits for it sleeps until something is
//! due, or something new is that comes earlier.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::connection::Connection;

/// Something to be done at a time.
pub enum DueTask {
    /// A connection that the clock has goes to a worker.
    Resume(Arc<Connection>),
    /// The login of a connection has to be done by now.
    Login(usize),
    /// The session of a connection has to be over by now: KILL has ended it.
    End(usize),
    /// Answers of a connection that were kept back may leave.
    Kept(usize),
    /// Connections may have been idle for too long.
    Idle,
    /// Listeners may accept again.
    Accept,
}

/// What is to be done, by its time.
#[derive(Default)]
pub struct Timers {
    list: Mutex<TimerList>,
    changed: Condvar,
}

#[derive(Default)]
struct TimerList {
    /// The number tells those of the same time apart.
    due: BTreeMap<(Instant, u64), DueTask>,
    next: u64,
    rung: bool,
}

impl Timers {
    /// It is to be done at this time, or a little later.
    pub fn add(&self, at: Instant, due: DueTask) {
        let mut list = self.list.lock();
        list.next += 1;
        let key = (at, list.next);
        list.due.insert(key, due);
        if list.due.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.changed.notify_one();
        }
    }

    /// [`Timers::wait`] returns.
    pub fn ring(&self) {
        self.list.lock().rung = true;
        self.changed.notify_one();
    }

    /// What is due, as soon as something is; nothing after a ring.
    pub fn wait(&self) -> Vec<DueTask> {
        let mut list = self.list.lock();
        loop {
            let later = list.due.split_off(&(Instant::now(), u64::MAX));
            let due = std::mem::replace(&mut list.due, later);
            if !due.is_empty() || std::mem::take(&mut list.rung) {
                return due.into_values().collect();
            }
            match list.due.first_key_value().map(|((at, _), _)| *at) {
                None => self.changed.wait(&mut list),
                Some(at) => {
                    self.changed.wait_until(&mut list, at);
                }
            }
        }
    }

    /// Everything, whenever it was due.
    pub fn take_all(&self) -> Vec<DueTask> {
        std::mem::take(&mut self.list.lock().due).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_due_comes_at_its_time_and_what_is_new_before_it() {
        let timers = Arc::new(Timers::default());
        let now = Instant::now();
        timers.add(now + Duration::from_secs(3600), DueTask::Idle);
        timers.add(now, DueTask::Login(1));
        timers.add(now, DueTask::Login(2));
        assert!(matches!(timers.wait().as_slice(), [DueTask::Login(1), DueTask::Login(2)]));
        let waiter = {
            let timers = timers.clone();
            std::thread::spawn(move || timers.wait().len())
        };
        std::thread::sleep(Duration::from_millis(20));
        timers.add(Instant::now() + Duration::from_millis(20), DueTask::Accept);
        assert_eq!(waiter.join().unwrap(), 1);
        timers.ring();
        assert!(timers.wait().is_empty());
        assert!(matches!(timers.take_all().as_slice(), [DueTask::Idle]));
    }
}
