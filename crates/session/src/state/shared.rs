//! The state that a session publishes: KILL, attentions and system views read and change it while
//! the session runs.
//! Guarantees: a cancel ends the request that it was meant for and no later one; a session that was
//! killed begins no request any more.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use compact_str::CompactString;
use parking_lot::{Condvar, Mutex};
use types::Value;

use super::activity::Activity;
use super::cursors::SharedCursors;
use crate::query_memory::Grants;

/// State that others may look at or touch while the session runs: KILL, DMVs.
#[derive(Debug, Default)]
pub struct SessionShared {
    /// Number of the session, as the lock manager knows it.
    pub number: u32,
    /// Set by KILL and by a client's attention; polled by everything that can take long.
    pub cancel: AtomicBool,
    /// Set with `cancel` by a client's attention alone: the batch ends, its transaction stays
    /// unless XACT_ABORT is on.
    pub attention: AtomicBool,
    /// Set by KILL: the session is over.
    pub killed: AtomicBool,
    /// A batch runs right now.
    pub running: AtomicBool,
    /// principal_id of the login; 0 for a session of the program itself.
    pub login_id: AtomicI32,
    /// A request of the client is announced or runs: a cancel is for it, even before its batch
    /// begins.
    pub expected: AtomicBool,
    /// Held while a cancel finds out whether it is for anything, and while a request is announced
    /// or over.
    pub cancelling: Mutex<()>,
    /// Current database.
    pub db: AtomicI64,
    /// @@TRANCOUNT.
    pub open_transactions: AtomicU64,
    /// When it became 1: microseconds since 1970.
    pub tran_began: AtomicU64,
    /// Batches so far.
    pub batches: AtomicU64,
    /// Owner of the locks that the session may be waiting for.
    pub lock_owner: AtomicU64,
    /// The isolation level of its newest transaction, as sys.dm_exec_sessions numbers it; 0 before
    /// the first.
    pub isolation: AtomicU8,
    /// What the session calls itself.
    pub names: Mutex<ClientNames>,
    /// What it does right now.
    pub activity: Activity,
    /// Its cursors.
    pub cursors: SharedCursors,
    /// The memory that its statements have been granted.
    pub grants: Grants,
    /// Who serves the session's client, if somebody does.
    pub watcher: OnceLock<Weak<dyn SessionWatcher>>,
    /// Wakes a pause of the session that is to stop.
    pub pause: ThreadPause,
}

/// What the server that runs a session's requests wants to know of it.
pub trait SessionWatcher: Send + Sync {
    /// The request that runs begins to wait for something that may take long: a lock, WAITFOR.
    /// Called by the thread that runs it.
    fn begins_to_wait(&self);
    /// KILL has ended the session, or what ends sessions in the way of KILL.
    fn killed(&self);
}

/// Where a session's thread pauses until its time has come or somebody ends the pause.
#[derive(Debug, Default)]
pub struct ThreadPause {
    lock: Mutex<()>,
    ended: Condvar,
}

impl SessionShared {
    /// Pauses until `end`, or until the session is to stop.
    pub fn pause_until(&self, end: Instant) {
        if Instant::now() >= end {
            return;
        }
        self.begins_to_wait();
        let mut lock = self.pause.lock.lock();
        while !self.cancel.load(Ordering::Acquire) {
            if self.pause.ended.wait_until(&mut lock, end).timed_out() {
                return;
            }
        }
    }

    /// Ends a pause of the session. Whoever calls this has set `cancel` before.
    pub fn end_pause(&self) {
        // Under the lock: a pause that has found `cancel` unset waits already.
        let _lock = self.pause.lock.lock();
        self.pause.ended.notify_all();
    }

    /// The thread that runs the session's request begins to wait.
    pub fn begins_to_wait(&self) {
        if let Some(watcher) = self.watcher() {
            watcher.begins_to_wait();
        }
    }

    /// Who serves the session's client.
    pub fn watcher(&self) -> Option<Arc<dyn SessionWatcher>> {
        self.watcher.get().and_then(Weak::upgrade)
    }

    /// A request begins. A cancel from before is forgotten unless it was for this request, or is
    /// KILL's.
    pub fn begins(&self) {
        // Announced before the batch was given to this thread, or not at all.
        if !self.expected.load(Ordering::Acquire) {
            self.attention.store(false, Ordering::Release);
            self.cancel.store(false, Ordering::Release);
        }
        self.running.store(true, Ordering::Release);
        // KILL may have come before. Everybody sees what is stored above before KILL is looked for:
        // else KILL might be missed here while `runs_after_kill` misses the request, or while its
        // cancel is taken back above.
        fence(Ordering::SeqCst);
        if self.killed.load(Ordering::Acquire) {
            self.cancel.store(true, Ordering::Release);
        }
        self.activity.starts();
        // Only the session's own thread counts.
        self.batches.store(self.batches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Whether somebody asked the session to stop: polled once per page or batch of rows.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Whether the session was asked to stop by a client's attention alone, and nothing asks for
    /// the end of its transaction: neither KILL nor a client that went away.
    pub fn is_interrupted(&self) -> bool {
        self.is_cancelled()
            && self.attention.load(Ordering::Acquire)
            && !self.killed.load(Ordering::Acquire)
    }

    /// The session is over: the request that runs is to stop, and none begins any more.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        // Before the cancel: see `begins`.
        fence(Ordering::SeqCst);
        self.cancel.store(true, Ordering::Release);
    }

    /// Whether a request of a session runs that was seen to be killed. Once this is false it stays
    /// so: a request that begins finds out that the session is over, and does nothing.
    pub fn runs_after_kill(&self) -> bool {
        // See `begins`.
        fence(Ordering::SeqCst);
        self.running.load(Ordering::Acquire)
    }
}

/// What a client says of itself.
#[derive(Clone, Debug)]
pub struct ClientNames {
    pub app: CompactString,
    pub host: CompactString,
    pub login: CompactString,
    /// When the session began, as datetime.
    pub login_time: Value,
    /// The network connection that it came by.
    pub connection: Option<Arc<NetworkConnection>>,
}

/// endpoint_id of the dedicated administrator connection.
pub const DEDICATED_ENDPOINT: i32 = 1;
/// endpoint_id of all other connections over the network.
pub const TCP_ENDPOINT: i32 = 4;

/// A session's network connection, as sys.dm_exec_connections shows it.
#[derive(Clone, Debug)]
pub struct NetworkConnection {
    /// The client's address and the server's.
    pub client: SocketAddr,
    pub server: SocketAddr,
    /// The endpoint, as sys.endpoints numbers them.
    pub endpoint: i32,
    /// All of it is encrypted, not the login alone.
    pub encrypted: bool,
    /// Version of TDS as the protocol numbers it.
    pub protocol: u32,
    /// Bytes of a packet.
    pub packet_size: u32,
    /// The client's library.
    pub library: CompactString,
    /// The client's process.
    pub process: u32,
}

impl Default for ClientNames {
    fn default() -> Self {
        ClientNames {
            app: CompactString::const_new("ringwood"),
            host: CompactString::const_new("localhost"),
            login: CompactString::const_new("sa"),
            login_time: catalog::clock::now(),
            connection: None,
        }
    }
}
