//! The threads that look after sockets while no worker does, and what all of them do with an event.
//! Workers that are free wait for sockets themselves ([`Hub`] is the pool's [`Arrivals`]); a poller
//! takes their place while all of its lane's are at work: then it queues requests, accepts
//! connections and listens for attentions. While workers are free it sleeps. Guarantees: while a
//! server runs some thread waits for each socket, or will within [`LEAVE`]; nobody blocks on a
//! client.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::connection::Connection;
use crate::counters::Count;
use crate::hub::Hub;
use crate::pool::{Arrivals, Arrived};
use crate::readiness::{self, MOST, Ready, room};
use crate::wire::Wire;

/// Most listeners; they have the numbers from [`LISTENERS`] on.
pub const MAX_LISTENERS: usize = 64;
/// The number of the first listener.
pub const LISTENERS: u64 = 1 << 62;
/// The place of the listener for administrators among them.
pub const DEDICATED: usize = MAX_LISTENERS;
/// How long a poller leaves its lane alone after it was of use, or was called: workers that become
/// free in that time find their requests by themselves, which costs less.
pub const STEP: Duration = Duration::from_micros(250);
/// How long it leaves a lane alone whose workers take one request after another.
const LEAVE: Duration = Duration::from_millis(1);
/// After the system could not be asked.
const REST: Duration = Duration::from_millis(10);

/// Most connections that are accepted at a time: whoever accepts has other things to do, and comes
/// back.
const MOST_ACCEPTED: usize = 1024;

/// Where a poller sleeps while its lane has free workers.
#[derive(Debug, Default)]
pub struct Bed {
    asleep: AtomicBool,
    /// Held while `asleep` changes.
    change: Mutex<()>,
    called: Condvar,
}

impl Bed {
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
    fn sleep(&self, still: impl Fn() -> bool) {
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

/// Waits for the sockets of a lane while no worker does, until the server has ended.
pub fn run(hub: &Arc<Hub>, lane: usize) {
    let mut room = room::<MOST>();
    let mut served = 0;
    // Of the pool, which has no other one where it is that for administrators.
    let own = if lane == hub.lanes() { 0 } else { lane };
    let free = || !hub.is_ended() && hub.pool_in(lane).is_some_and(|pool| pool.has_idle(own));
    while !hub.is_ended() {
        if free() {
            hub.shard(lane).bed.sleep(free);
            std::thread::sleep(STEP);
            continue;
        }
        let before =
            std::mem::replace(&mut served, hub.pool_in(lane).map_or(0, |pool| pool.served(own)));
        if served != before && hub.pool_in(lane).is_some_and(|pool| !pool.most_block()) {
            // What a poller has taken waits for the poller, which has to wait for a core itself:
            // workers come back for more.
            std::thread::sleep(LEAVE);
            continue;
        }
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
                Ready::Bell => hub.pool_in(lane).into_iter().for_each(|pool| pool.pass_on_wake()),
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
fn take(hub: &Hub, ready: Ready) -> Option<Arc<Connection>> {
    let Ready::Source { id, readable, writable, over } = ready else { return None };
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

/// Does something with the server of this worker, if it is there.
pub fn with_hub<R>(hub: &Weak<Hub>, work: impl FnOnce(&Arc<Hub>) -> R) -> Option<R> {
    let own = OWN.take().or_else(|| hub.upgrade())?;
    debug_assert!(std::ptr::eq(Arc::as_ptr(&own), hub.as_ptr()), "a worker is of one server");
    let done = work(&own);
    OWN.set(Some(own));
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
    fn wait(&self, lane: usize, timeout: Option<Duration>) -> Arrived<Arc<Connection>> {
        let arrived = with_hub(&self.hub, |hub| {
            let mut room = room::<1>();
            match hub.shard(self.first + lane).readiness.wait(&mut room, timeout) {
                Ok([]) => Arrived::Late,
                Ok([event, ..]) => {
                    take(hub, readiness::ready(event)).map_or(Arrived::Nothing, Arrived::Request)
                }
                Err(_) => {
                    // The poller says so.
                    std::thread::sleep(REST);
                    Arrived::Nothing
                }
            }
        });
        arrived.unwrap_or_else(|| {
            std::thread::sleep(REST);
            Arrived::Late
        })
    }

    fn wake(&self, lane: usize) {
        if let Some(hub) = self.hub.upgrade() {
            hub.shard(self.first + lane).readiness.ring();
        }
    }

    fn deserted(&self, lane: usize) {
        if let Some(hub) = self.hub.upgrade() {
            hub.shard(self.first + lane).bed.call();
        }
    }

    fn leave(&self) {
        drop(OWN.take());
    }
}

/// Accepts what there is, up to a number.
///
/// # Errors
/// The system has no descriptor or memory for more, or there may be more.
pub fn accept_all(listener: &TcpListener, hub: &Hub, dedicated: bool) -> io::Result<()> {
    accept_some(listener, MOST_ACCEPTED, |socket, peer| {
        let Some((id, surplus)) = hub.admit(dedicated) else { return };
        // Answers are written whole; a lost peer is noticed even while nothing is sent.
        let _ = socket.set_nodelay(true);
        let _ = rustix::net::sockopt::set_socket_keepalive(&socket, true);
        hub.counters.add(Count::Connections, 1);
        let wire = Wire::new(hub.tls.clone(), hub.counters.clone(), hub.instance.memory());
        // Where this fails the client has gone away again.
        if let Ok(connection) = Connection::new(id, socket, peer, surplus, dedicated, wire) {
            let _ = hub.enter(connection);
        }
    })
}

fn accept_some(
    listener: &TcpListener,
    most: usize,
    mut enter: impl FnMut(TcpStream, SocketAddr),
) -> io::Result<()> {
    for _ in 0..most {
        match listener.accept() {
            Ok((socket, peer)) => enter(socket, peer),
            Err(e) => match e.kind() {
                ErrorKind::WouldBlock => return Ok(()),
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => return Err(e),
            },
        }
    }
    Err(io::Error::other("there may be more connections to accept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who connects without end leaves the thread that accepts to others.
    #[test]
    fn so_many_are_accepted_at_a_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let _clients: Vec<TcpStream> =
            (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut accepted = 0;
        assert!(accept_some(&listener, 3, |_, _| accepted += 1).is_err());
        assert_eq!(accepted, 3);
        assert!(accept_some(&listener, 3, |_, _| accepted += 1).is_ok());
        assert_eq!(accepted, 5);
    }
}
