//! The thread that does what is due: time limits of connections, sessions that KILL has ended, delayed answers, listeners that could
//! not accept for want of descriptors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::hub::Hub;

/// How often connections are looked through.
const LOOK: Duration = Duration::from_secs(1);
/// After the system had no descriptor for a connection.
const REST: Duration = Duration::from_millis(100);

/// Wakes the clock before its time.
#[derive(Debug, Default)]
pub struct Alarm {
    rung: Mutex<bool>,
    change: Condvar,
}

impl Alarm {
    /// There is something new to be done, or the end.
    pub fn ring(&self) {
        *self.rung.lock() = true;
        self.change.notify_one();
    }

    fn sleep(&self, end: Instant) {
        let mut rung = self.rung.lock();
        while !*rung {
            if self.change.wait_until(&mut rung, end).timed_out() {
                break;
            }
        }
        *rung = false;
    }
}

/// Does what is due until the server has ended.
pub fn run(hub: &Arc<Hub>) {
    let mut look = Instant::now() + LOOK;
    while !hub.is_ended() {
        let now = Instant::now();
        let mut next = hub.begin_delayed(now);
        if now >= look {
            hub.look(now);
            look = now + LOOK;
        }
        if !hub.accept_again() {
            next = Some(next.map_or(now + REST, |n| n.min(now + REST)));
        }
        if hub.instance.shutdown_requested() {
            hub.request_stop();
        }
        hub.alarm.sleep(next.map_or(look, |n| n.min(look)));
    }
}
