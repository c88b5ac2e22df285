//! The threads that wait for sockets: they accept connections and hand those that have something to read to the workers.
//! They read themselves only while a request of the connection runs, and never block on a client.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Poll, Token};

use crate::connection::Connection;
use crate::counters::Count;
use crate::hub::Hub;
use crate::wire::Wire;

/// The token of a poller's waker.
pub const WAKE: Token = Token(usize::MAX);
/// Listeners have the tokens below this, downwards.
const LISTENERS: usize = usize::MAX - 1;
/// Most listeners.
pub const MAX_LISTENERS: usize = 64;
/// After the system had no descriptor for a connection.
const REST: Duration = Duration::from_millis(100);

/// The token of a listener.
pub fn listener_token(index: usize) -> Token {
    Token(LISTENERS - index)
}

/// One poller.
pub struct Poller {
    /// Its number.
    pub index: usize,
    /// What it waits with.
    pub poll: Poll,
    /// The server's listeners, at the first poller.
    pub listeners: Vec<TcpListener>,
}

impl Poller {
    /// Waits and hands over until the server stops.
    pub fn run(mut self, hub: &Arc<Hub>) {
        let mut events = Events::with_capacity(256);
        // A listener that could not accept for want of descriptors is tried again: its event comes only once.
        let mut again = false;
        loop {
            let mut sleep = hub.look(self.index);
            if again {
                sleep = Some(sleep.map_or(REST, |s| s.min(REST)));
            }
            match self.poll.poll(&mut events, sleep) {
                Err(e) if e.kind() != ErrorKind::Interrupted => {
                    hub.instance
                        .error_log()
                        .write("Server", &format!("Error: 17054. Waiting for sockets: {e}"));
                    hub.request_stop();
                    return;
                }
                _ => {}
            }
            if hub.is_stopping() {
                self.listeners.clear();
            }
            if hub.is_ended() {
                return;
            }
            if hub.instance.shutdown_requested() {
                hub.request_stop();
            }
            if std::mem::take(&mut again) {
                again = self.listeners.iter().any(|listener| accept_all(listener, hub).is_err());
            }
            for event in &events {
                match event.token() {
                    WAKE => {}
                    Token(id) if id > LISTENERS - MAX_LISTENERS => {
                        if let Some(listener) = self.listeners.get(LISTENERS - id) {
                            again |= accept_all(listener, hub).is_err();
                        }
                    }
                    Token(id) => {
                        if let Some(connection) = hub.find(id)
                            && connection.ready(event.is_readable() || event.is_error(), event.is_writable())
                        {
                            let urgent = connection.is_in_transaction();
                            hub.submit(connection, urgent);
                        }
                    }
                }
            }
        }
    }
}

/// Accepts what there is.
///
/// # Errors
/// The system has no descriptor or memory for more.
fn accept_all(listener: &TcpListener, hub: &Hub) -> io::Result<()> {
    loop {
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(e) => match e.kind() {
                ErrorKind::WouldBlock => return Ok(()),
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                _ => return Err(e),
            },
        };
        let Some((id, surplus)) = hub.admit() else { continue };
        // Answers are written whole; a lost peer is noticed even while nothing is sent.
        let _ = socket.set_nodelay(true);
        let _ = rustix::net::sockopt::set_socket_keepalive(&socket, true);
        hub.counters.add(Count::Connections, 1);
        let wire = Wire::new(hub.tls.clone(), hub.counters.clone());
        // Where this fails the client has gone away again.
        if let Ok(connection) = Connection::new(id, socket, peer, surplus, wire) {
            let _ = hub.enter(connection);
        }
    }
}
