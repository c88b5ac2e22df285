//! The dedicated administrator connection: a listener, sockets, threads and a session of its own,
//! which depend on nothing that the connections of others use up.
//! Guarantees: one session at a time, of a sysadmin; strangers who connect there hold no thread,
//! and the oldest of them makes room for the newest.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use engine::{Instance, SqlError};
use parking_lot::Mutex;
use types::msg;

use crate::connection::Connection;
use crate::pool::{HeldLoad, Pool};
use crate::readiness::{DEDICATED, LISTENERS};
use crate::shard::Shard;

/// Connections that have this bit in their number came by this listener.
const BIT: usize = 1 << 61;
/// Connections at a time, of which one has a session.
const MOST: usize = 64;
/// Threads: one runs the session's request, one looks after who comes meanwhile.
pub const THREADS: usize = 2;

/// What belongs to the dedicated administrator connection.
pub struct Dedicated {
    /// Its sockets.
    pub shard: Shard,
    /// Where it listens.
    pub address: SocketAddr,
    listener: Mutex<Option<TcpListener>>,
    pool: OnceLock<Pool<Arc<Connection>>>,
    next_id: AtomicUsize,
    /// The connection that has the session.
    session: Mutex<Option<usize>>,
}

/// Its requests are no load of others, and others none of its.
pub struct NoLoad;

impl HeldLoad for NoLoad {
    fn held(&self) -> usize {
        0
    }

    fn waiting(&self) -> usize {
        0
    }
}

impl Dedicated {
    /// With a listener that does not block. [`Dedicated::set_pool`] must follow.
    ///
    /// # Errors
    /// The system has no descriptors.
    pub fn new(listener: TcpListener) -> std::io::Result<Dedicated> {
        Ok(Dedicated {
            shard: Shard::new()?,
            address: listener.local_addr()?,
            listener: Mutex::new(Some(listener)),
            pool: OnceLock::new(),
            next_id: AtomicUsize::new(BIT),
            session: Mutex::new(None),
        })
    }

    /// Its threads.
    pub fn set_pool(&self, pool: Pool<Arc<Connection>>) {
        let _ = self.pool.set(pool);
    }

    /// Its threads; none before the server has started.
    pub fn pool(&self) -> Option<&Pool<Arc<Connection>>> {
        self.pool.get()
    }

    /// Whether a connection of this number came by its listener.
    pub fn has(id: usize) -> bool {
        id & BIT != 0
    }

    /// Accepts connections from now on, and says so in the error log.
    ///
    /// # Errors
    /// The system cannot watch the listener.
    pub fn listen(&self, instance: &Instance) -> std::io::Result<()> {
        let listener = self.listener.lock();
        let Some(listener) = &*listener else { return Ok(()) };
        self.shard.readiness.watch(listener, LISTENERS + DEDICATED as u64)?;
        let remote = !self.address.ip().is_loopback();
        instance.set_remote_admin(remote);
        let from = if remote { "remotely" } else { "locally" };
        let port = self.address.port();
        let text = format!(
            "Dedicated admin connection support was established for listening {from} on port {port}."
        );
        instance.error_log().write("Server", &text);
        Ok(())
    }

    /// Accepts no more.
    pub fn stop_listening(&self) {
        *self.listener.lock() = None;
    }

    /// Accepts what there is, by `accept`; false: the system has no descriptors for more.
    pub fn accept(&self, accept: impl FnOnce(&TcpListener) -> std::io::Result<()>) -> bool {
        let listener = self.listener.lock();
        listener.as_ref().is_none_or(|listener| accept(listener).is_ok())
    }

    /// Where there are many connections: the oldest that has not logged in, which ends now. The
    /// caller closes it.
    pub fn end_oldest(&self) -> Option<Arc<Connection>> {
        self.shard.oldest_beyond(MOST).filter(|oldest| oldest.end())
    }

    /// A number for a new connection.
    pub fn next_id(&self) -> usize {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A connection wants the session.
    ///
    /// # Errors
    /// 17810: another one has it.
    pub fn begin_session(&self, id: usize) -> Result<(), SqlError> {
        let mut session = self.session.lock();
        if session.is_none() {
            *session = Some(id);
            return Ok(());
        }
        Err(SqlError::of(msg::DEDICATED_CONNECTION_TAKEN, []))
    }

    /// A connection has ended.
    pub fn left(&self, id: usize, instance: &Instance) {
        let mut session = self.session.lock();
        if *session == Some(id) {
            *session = None;
            let text = "Dedicated administrator connection has been disconnected. This is an informational message only. \
                        No user action is required.";
            instance.error_log().write("Server", text);
        }
    }
}
