//! The threads that look after sockets while no worker does, and what all of them do with an event.
//! Workers that are free wait for sockets themselves ([`Hub`] is the pool's [`Arrivals`]); a poller
//! takes their place while all of its lane's are at work: then it queues requests, accepts
//! connections and listens for attentions. While workers are free it sleeps. Guarantees: while a
//! server runs some thread waits for each socket, or will within [`LONG_LEAVE`]; nobody blocks on a
//! client.

use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::connection::Connection;
use crate::hub::Hub;
use crate::pool::{Arrivals, ArrivedWork};
use crate::readiness::{self, LISTENERS, MOST, ReadySource, room};

/// How long a poller leaves its lane alone after it was of use, or was called: workers that become
/// free in that time find their requests by themselves, which costs less.
const STEP: Duration = Duration::from_micros(250);
/// How long it leaves a lane alone whose workers take one request after another; at most so long
/// after calls that were of no use.
const LEAVE: Duration = Duration::from_millis(1);
/// The same at most, where it looks again and again and finds them so.
const LONG_LEAVE: Duration = Duration::from_millis(4);
/// After the system could not be asked.
const REST: Duration = Duration::from_millis(10);

/// How long a poller leaves its lane alone: for twice as long each time that it is not needed. To
/// wake it and to look what the workers do costs system calls, which a lane with much to do would
/// have thousands of times a second.
#[derive(Debug)]
struct Pause {
    next: Duration,
    shortest: Duration,
    longest: Duration,
}

impl Pause {
    const fn new(shortest: Duration, longest: Duration) -> Pause {
        Pause { next: shortest, shortest, longest }
    }

    /// It is not needed: leaves the lane alone.
    fn take(&mut self) -> Duration {
        let now = self.next;
        self.next = (2 * now).min(self.longest);
        now
    }

    /// It was of use.
    fn reset(&mut self) {
        self.next = self.shortest;
    }
}

/// Waits for the sockets of a lane while no worker does, until the server has ended.
pub fn run(hub: &Arc<Hub>, lane: usize) {
    let mut room = room::<MOST>();
    let mut after_call = Pause::new(STEP, LEAVE);
    let mut after_look = Pause::new(LEAVE, LONG_LEAVE);
    let mut served = 0;
    // Of the pool, which has no other one where it is that for administrators.
    let own = if lane == hub.lanes() { 0 } else { lane };
    let free = || !hub.is_ended() && hub.pool_in(lane).is_some_and(|pool| pool.has_idle(own));
    while !hub.is_ended() {
        if free() {
            hub.shard(lane).bed.sleep(free);
            std::thread::sleep(after_call.take());
            continue;
        }
        let before =
            std::mem::replace(&mut served, hub.pool_in(lane).map_or(0, |pool| pool.served(own)));
        if served != before && hub.pool_in(lane).is_some_and(|pool| !pool.most_block()) {
            // What a poller has taken waits for the poller, which has to wait for a core itself:
            // workers come back for more.
            std::thread::sleep(after_look.take());
            continue;
        }
        after_call.reset();
        after_look.reset();
        let events = match hub.shard(lane).readiness.wait(&mut room, None) {
            Ok(events) => events,
            Err(e) => {
                hub.instance
                    .error_log()
                    .write("Server", &format!("Error: 17054. Waiting for sockets: {e}"));
                return hub.request_stop();
            }
        };
        for event in events {
            match readiness::ready(event) {
                ReadySource::Bell => {
                    hub.pool_in(lane).into_iter().for_each(|pool| pool.pass_on_wake())
                }
                ready => {
                    if let Some(connection) = take(hub, ready) {
                        let urgent = connection.is_in_transaction();
                        hub.submit(connection, urgent);
                    }
                }
            }
        }
        if hub.pool_in(lane).is_some_and(|pool| pool.is_busy()) {
            std::thread::sleep(STEP);
        }
    }
}

/// Does what a socket's event asks for; the connection that has a request and is the caller's now.
fn take(hub: &Hub, ready: ReadySource) -> Option<Arc<Connection>> {
    let ReadySource::Source { id, readable, writable, over } = ready else { return None };
    if id >= LISTENERS {
        hub.accept_from((id - LISTENERS) as usize);
        return None;
    }
    let connection = hub.find(id as usize)?;
    let taken = connection.ready(readable, writable, over).then_some(connection)?;
    hub.withdraw(&taken);
    Some(taken)
}

thread_local! {
    /// The server of this worker. It is kept from the wait for a request to the end of that and to
    /// the next wait: all workers change the count of its users, and a request would four times.
    static OWN: RefCell<Option<Arc<Hub>>> = const { RefCell::new(None) };
}

/// Takes the server of this worker, if it is there, for as long as the worker does something with
/// it.
pub fn take_hub(hub: &Weak<Hub>) -> Option<Arc<Hub>> {
    let own = OWN.take().or_else(|| hub.upgrade())?;
    debug_assert!(std::ptr::eq(Arc::as_ptr(&own), hub.as_ptr()), "a worker is of one server");
    Some(own)
}

/// The worker keeps it for what comes next.
pub fn keep_hub(own: Arc<Hub>) {
    OWN.set(Some(own));
}

/// Does something with the server, if it is there: where the thread is a worker that has kept it,
/// without a change of the count of its users.
pub fn borrow_hub<R>(hub: &Weak<Hub>, work: impl FnOnce(&Hub) -> R) -> Option<R> {
    let Some(own) = OWN.take() else { return hub.upgrade().map(|hub| work(&hub)) };
    debug_assert!(std::ptr::eq(Arc::as_ptr(&own), hub.as_ptr()), "a worker is of one server");
    let done = work(&own);
    keep_hub(own);
    Some(done)
}

/// Does something with the server of this worker, if it is there.
fn with_hub<R>(hub: &Weak<Hub>, work: impl FnOnce(&Arc<Hub>) -> R) -> Option<R> {
    let own = take_hub(hub)?;
    let done = work(&own);
    keep_hub(own);
    Some(done)
}

/// Where the workers of a pool wait.
pub struct Sockets {
    /// The server.
    pub hub: Weak<Hub>,
    /// The pool's first lane among those of the server.
    pub first: usize,
}

impl Arrivals<Arc<Connection>> for Sockets {
    fn wait(&self, lane: usize, timeout: Option<Duration>) -> ArrivedWork<Arc<Connection>> {
        let arrived = with_hub(&self.hub, |hub| {
            let mut room = room::<1>();
            match hub.shard(self.first + lane).readiness.wait(&mut room, timeout) {
                Ok([]) => ArrivedWork::Late,
                Ok([event, ..]) => take(hub, readiness::ready(event))
                    .map_or(ArrivedWork::Nothing, ArrivedWork::Request),
                Err(_) => {
                    // The poller says so.
                    std::thread::sleep(REST);
                    ArrivedWork::Nothing
                }
            }
        });
        arrived.unwrap_or_else(|| {
            std::thread::sleep(REST);
            ArrivedWork::Late
        })
    }

    fn wake(&self, lane: usize) {
        borrow_hub(&self.hub, |hub| hub.shard(self.first + lane).readiness.ring());
    }

    fn deserted(&self, lane: usize) {
        borrow_hub(&self.hub, |hub| hub.shard(self.first + lane).bed.call());
    }

    fn leave(&self) {
        drop(OWN.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poller_that_is_not_needed_looks_less_often() {
        let mut pause = Pause::new(STEP, LEAVE);
        let taken: Vec<_> = (0..5).map(|_| pause.take().as_micros()).collect();
        assert_eq!(taken, [250, 500, 1000, 1000, 1000]);
        pause.reset();
        assert_eq!(pause.take(), STEP);
    }
}
