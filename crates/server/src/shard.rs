//! What belongs to one lane: a share of the connections, their sockets, and the place where its
//! poller sleeps while workers wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::connection::Connection;
use crate::connections::Connections;
use crate::readiness::Readiness;

/// What belongs to one lane: a share of the connections, the workers that wait for them and their
/// poller.
pub struct Shard {
    /// Of its sockets.
    pub readiness: Readiness,
    /// Of its poller.
    pub bed: PollerBed,
    /// Its share of the connections.
    pub connections: Connections,
}

impl Shard {
    /// A lane without connections.
    ///
    /// # Errors
    /// The system has no descriptors.
    pub fn new() -> std::io::Result<Shard> {
        Ok(Shard {
            readiness: Readiness::new()?,
            bed: PollerBed::default(),
            connections: Connections::default(),
        })
    }

    /// Where there are so many connections or more: the oldest that has not logged in and that no
    /// worker has.
    pub fn oldest_beyond(&self, most: usize) -> Option<Arc<Connection>> {
        let connections = self.connections.all();
        let strangers =
            connections.iter().filter(|c| !c.is_logged_in() && c.idle_since().is_some());
        strangers
            .min_by_key(|connection| connection.id)
            .filter(|_| connections.len() >= most)
            .cloned()
    }
}

/// Where a poller sleeps while its lane has free workers.
#[derive(Debug, Default)]
pub struct PollerBed {
    asleep: AtomicBool,
    /// Held while `asleep` changes.
    change: Mutex<()>,
    called: Condvar,
}

impl PollerBed {
    /// Wakes the poller, if it sleeps. What was changed before is seen by it, or by this call that
    /// it goes to sleep.
    pub fn call(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            let _change = self.change.lock();
            self.asleep.store(false, Ordering::SeqCst);
            self.called.notify_one();
        }
    }

    /// Sleeps until a call, unless `still` has ceased to hold.
    pub fn sleep(&self, still: impl Fn() -> bool) {
        let mut change = self.change.lock();
        self.asleep.store(true, Ordering::SeqCst);
        if !still() {
            self.asleep.store(false, Ordering::SeqCst);
        }
        while self.asleep.load(Ordering::SeqCst) {
            self.called.wait(&mut change);
        }
    }
}
