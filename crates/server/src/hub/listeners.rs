//! How connections come in: listeners that are watched, and what they have accepted.
//! Guarantee: a listener that could not accept for want of descriptors is asked again.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Hub;
use crate::connection::Connection;
use crate::counters::Count;
use crate::dedicated::Dedicated;
use crate::readiness::{DEDICATED, LISTENERS};
use crate::timers::Due;
use crate::wire::Wire;

/// After the system had no descriptor for a connection.
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
            self.timers.add(Instant::now() + limit, Due::Idle);
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
            self.timers.add(Instant::now() + REST, Due::Accept);
        }
    }

    /// Accepts what could not be accepted before.
    pub(super) fn accept_again(&self) {
        self.again.store(false, Ordering::Relaxed);
        let listeners = self.listeners.lock();
        let all = listeners.iter().all(|listener| self.accept_all(listener, false).is_ok());
        drop(listeners);
        let dedicated =
            self.dedicated.as_ref().is_none_or(|dedicated| self.accept_dedicated(dedicated));
        let failed = !all || !dedicated;
        if failed && !self.again.swap(true, Ordering::Relaxed) {
            self.timers.add(Instant::now() + REST, Due::Accept);
        }
    }

    /// Accepts what there is by the listener for administrators; false: the system has no
    /// descriptors for more.
    fn accept_dedicated(&self, dedicated: &Dedicated) -> bool {
        dedicated.accept(|listener| self.accept_all(listener, true))
    }

    /// Accepts what there is.
    ///
    /// # Errors
    /// The system has no descriptor or memory for more.
    fn accept_all(&self, listener: &TcpListener, dedicated: bool) -> io::Result<()> {
        loop {
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                    _ => return Err(e),
                },
            };
            let Some((id, surplus)) = self.admit(dedicated) else { continue };
            // Answers are written whole; a lost peer is noticed even while nothing is sent.
            let _ = socket.set_nodelay(true);
            let _ = rustix::net::sockopt::set_socket_keepalive(&socket, true);
            self.counters.add(Count::Connections, 1);
            let wire = Wire::new(self.tls.clone(), self.counters.clone(), self.instance.memory());
            // Where this fails the client has gone away again.
            if let Ok(connection) = Connection::new(id, socket, peer, surplus, dedicated, wire) {
                let _ = self.enter(connection);
            }
        }
    }
}
