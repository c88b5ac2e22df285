//! How the requests of connections come to worker threads: which may begin at once, which are
//! queued until there is a thread, and what happens when a session waits or is ended by KILL.
//! Guarantees: a request that is queued costs no thread; an attention, KILL and the end of its
//! connection take it out of the queue.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use engine::session::SessionWatcher;

use crate::admission::{AdmissionOutcome, Class, Purpose, Slot};
use crate::connection::{Connection, NextInput};
use crate::hub::Hub;
use crate::poller::borrow_hub;
use crate::pool::HeldLoad;
use crate::timers::DueTask;

/// A session that KILL has ended has so long to tell its client.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What has become of a request that found no thread.
pub enum QueuePlace {
    /// It has one now.
    Admitted(Option<NextInput>),
    /// Its connection is in the queue, and another worker's when its turn has come.
    Left,
    /// Something else has come that is to be looked at first.
    Again,
}

/// What the requests of all connections but that for administrators hold.
struct HeldRequests(Weak<Hub>);

impl HeldLoad for HeldRequests {
    fn held(&self) -> usize {
        borrow_hub(&self.0, |hub| hub.admission.held()).unwrap_or_default()
    }

    fn waiting(&self) -> usize {
        let waiting = |hub: &Hub| hub.admission.held_for(Purpose::Waiting);
        borrow_hub(&self.0, waiting).unwrap_or_default()
    }
}

/// Hears of waits and of the end of a connection's session.
struct Watcher {
    hub: Weak<Hub>,
    connection: Weak<Connection>,
}

impl SessionWatcher for Watcher {
    fn begins_to_wait(&self) {
        if let (Some(hub), Some(connection)) = (self.hub.upgrade(), self.connection.upgrade()) {
            hub.waits(&connection);
        }
    }

    fn killed(&self) {
        let (Some(hub), Some(connection)) = (self.hub.upgrade(), self.connection.upgrade()) else {
            return;
        };
        if connection.end_if_free() {
            hub.submit(connection, true);
        } else {
            // Its request has been stopped and tells its client, if that reads.
            hub.timers.add(Instant::now() + LAST_WORDS, DueTask::End(connection.id));
        }
    }
}

impl Hub {
    /// What the requests on those threads hold.
    pub fn load(&self) -> impl HeldLoad + use<> {
        HeldRequests(self.own.clone())
    }

    /// Whether a request may run on the worker that asks: it holds a thread then until
    /// [`Hub::release`].
    pub fn may_begin(&self, connection: &Connection, class: Class) -> bool {
        // While all connections are ended nothing runs any more but their ends.
        if connection.dedicated || self.admission.is_closed() {
            return true;
        }
        let mut held = connection.slot();
        if held.is_some() {
            return true;
        }
        let Some(pool) = self.pool() else { return false };
        let share = connection.share().unwrap_or(self.admission.strangers());
        *held = self.admission.enter(share, class, self.lane_of(connection.id), pool.crowd());
        if held.is_some() {
            pool.may_grow();
        }
        held.is_some()
    }

    /// Puts a request for which there is no thread into the queue.
    pub fn enter_queue(
        &self,
        connection: &Arc<Connection>,
        class: Class,
        next: Option<NextInput>,
    ) -> QueuePlace {
        let share = connection.share().unwrap_or(self.admission.strangers());
        let lane = self.lane_of(connection.id);
        if self.instance.request_phases().is_on() {
            connection.begin_wait();
        }
        let mut next = next;
        let mut begin = |ticket| connection.enter_queue(ticket, next.take());
        let (entry, begun) = self.admission.queue(share, class, lane, connection, &mut begin);
        self.begin(begun);
        match entry {
            AdmissionOutcome::Admitted(slot) => {
                *connection.slot() = Some(slot);
                QueuePlace::Admitted(next)
            }
            AdmissionOutcome::Refused => QueuePlace::Again,
            AdmissionOutcome::Queued(_) if connection.listen_in_queue() => {
                self.withdraw(connection);
                QueuePlace::Again
            }
            AdmissionOutcome::Queued(_) => QueuePlace::Left,
        }
    }

    /// Clears the place in the queue that a connection had, which the caller has taken out of it.
    pub fn withdraw(&self, connection: &Connection) {
        if let Some(ticket) = connection.take_withdrawn() {
            self.admission.withdraw(ticket);
        }
    }

    /// The request of a connection has ended: its thread goes to another one.
    pub fn release(&self, connection: &Connection) {
        let held = connection.slot().take();
        if let Some(slot) = held {
            self.begin(self.admission.leave(slot));
        }
    }

    /// The request of a connection waits for something that may take long.
    fn waits(&self, connection: &Connection) {
        let begun = connection.slot().as_mut().map(|slot| self.admission.waits(slot));
        self.begin(begun.unwrap_or_default());
        if let Some(pool) = self.pool() {
            pool.may_grow();
        }
    }

    /// Requests leave the queue, with the threads that they may take.
    fn begin(&self, begun: Vec<(Arc<Connection>, Slot)>) {
        for (connection, slot) in begun {
            *connection.slot() = Some(slot);
            let urgent = connection.is_in_transaction();
            self.submit(connection, urgent);
        }
    }

    /// Lets a worker wait for its client.
    pub fn stalled(&self, connection: &Connection, wait: &mut dyn FnMut()) {
        self.waits(connection);
        wait();
    }

    /// What the session of a connection tells of itself goes there.
    pub fn watcher_of(&self, connection: &Connection) -> Option<Arc<dyn SessionWatcher>> {
        let connection = Arc::downgrade(&self.find(connection.id)?);
        Some(Arc::new(Watcher { hub: self.own.clone(), connection }))
    }
}
