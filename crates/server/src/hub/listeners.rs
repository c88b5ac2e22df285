//! How connections come in: listeners that are watched, and what they have accepted.
//! Guarantees: a listener that could not accept for want of descriptors is asked again; who
//! connects without end does not keep the thread that accepts.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Hub;
use crate::connection::Connection;
use crate::counters::ServerCount;
use crate::dedicated::Dedicated;
use crate::readiness::{DEDICATED, LISTENERS};
use crate::timers::DueTask;
use crate::wire::Wire;

/// Most connections that are accepted at a time: whoever accepts has other things to do, and comes
/// back.
const MOST_ACCEPTED: usize = 1024;
/// After the system had no descriptor for a connection, or there were more.
const REST: Duration = Duration::from_millis(100);

impl Hub {
    /// Accepts connections from now on; the listeners do not block.
    ///
    /// # Errors
    /// The system cannot watch them.
    pub fn listen(&self, all: Vec<TcpListener>) -> std::io::Result<()> {
        let mut listeners = self.listeners.lock();
        *listeners = all;
        for (at, listener) in listeners.iter().enumerate() {
            self.shards[0].readiness.watch(listener, LISTENERS + at as u64)?;
        }
        self.dedicated.as_ref().map_or(Ok(()), |dedicated| dedicated.listen(&self.instance))?;
        if let Some(limit) = self.options.idle_timeout {
            self.timers.add(Instant::now() + limit, DueTask::Idle);
        }
        Ok(())
    }

    /// A listener has connections.
    pub fn accept_from(&self, index: usize) {
        let failed = match (&self.dedicated, index) {
            (Some(dedicated), DEDICATED) => !self.accept_dedicated(dedicated),
            _ => self
                .listeners
                .lock()
                .get(index)
                .is_some_and(|listener| self.accept_all(listener, false).is_err()),
        };
        if failed && !self.again.swap(true, Ordering::Relaxed) {
            self.timers.add(Instant::now() + REST, DueTask::Accept);
        }
    }

    /// Accepts what could not be accepted before.
    pub(super) fn accept_again(&self) {
        self.again.store(false, Ordering::Relaxed);
        let listeners = self.listeners.lock();
        // Of each, whatever becomes of the others.
        let mut all = true;
        for listener in listeners.iter() {
            all &= self.accept_all(listener, false).is_ok();
        }
        drop(listeners);
        let dedicated =
            self.dedicated.as_ref().is_none_or(|dedicated| self.accept_dedicated(dedicated));
        let failed = !all || !dedicated;
        if failed && !self.again.swap(true, Ordering::Relaxed) {
            self.timers.add(Instant::now() + REST, DueTask::Accept);
        }
    }

    /// Accepts what there is by the listener for administrators; false: the system has no
    /// descriptors for more.
    fn accept_dedicated(&self, dedicated: &Dedicated) -> bool {
        dedicated.accept(|listener| self.accept_all(listener, true))
    }

    /// Accepts what there is, up to a number.
    ///
    /// # Errors
    /// The system has no descriptor or memory for more, or there may be more.
    fn accept_all(&self, listener: &TcpListener, dedicated: bool) -> io::Result<()> {
        accept_some(listener, MOST_ACCEPTED, |socket, peer| {
            let Some((id, surplus)) = self.admit(dedicated) else { return };
            // Answers are written whole; a lost peer is noticed even while nothing is sent.
            let _ = socket.set_nodelay(true);
            let _ = rustix::net::sockopt::set_socket_keepalive(&socket, true);
            self.counters.add(ServerCount::Connections, 1);
            let wire = Wire::new(self.tls.clone(), self.counters.clone(), self.instance.memory());
            // Where this fails the client has gone away again.
            if let Ok(connection) = Connection::new(id, socket, peer, surplus, dedicated, wire) {
                let _ = self.enter(connection);
            }
        })
    }
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

    /// A client that connects without end leaves the thread that accepts to other clients.
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
