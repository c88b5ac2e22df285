//! What all parts of a running server share: options, connections, the pool, what is to happen later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use engine::Instance;
use mio::{Registry, Waker};
use parking_lot::{Condvar, Mutex};

use crate::connection::Connection;
use crate::counters::Counters;
use crate::options::ServerOptions;
use crate::pool::Pool;
use crate::throttle::Throttle;
use crate::tls::TlsConfigs;

/// How often connections are looked through for time limits and ended sessions.
const LOOK: Duration = Duration::from_secs(1);
/// Connections beyond the limit that get an answer; further ones are dropped at once.
const SURPLUS: usize = 64;

/// The server's shared state.
pub struct Hub {
    /// The databases.
    pub instance: Arc<Instance>,
    /// What the server was told.
    pub options: ServerOptions,
    /// TLS, if there is any.
    pub tls: Option<TlsConfigs>,
    /// Failed logins.
    pub throttle: Throttle,
    /// What happens, counted.
    pub counters: Arc<Counters>,
    pool: OnceLock<Pool<Arc<Connection>>>,
    shards: Vec<Shard>,
    next_id: AtomicUsize,
    count: AtomicUsize,
    delayed: Mutex<Vec<(Instant, Arc<Connection>)>>,
    stopping: AtomicBool,
    /// Nothing is left to do for the pollers.
    ended: AtomicBool,
    /// Connections have ended, or a stop was asked for.
    changed: Condvar,
    /// Goes with `changed`.
    stop: Mutex<bool>,
}

/// What belongs to one poller.
pub struct Shard {
    registry: Registry,
    waker: Waker,
    connections: Mutex<HashMap<usize, Arc<Connection>>>,
}

impl Shard {
    /// The part of a poller with this registry.
    pub fn new(registry: Registry, waker: Waker) -> Shard {
        Shard { registry, waker, connections: Mutex::default() }
    }
}

impl Hub {
    /// The state of a server that has no connection yet. [`Hub::set_pool`] must follow.
    pub fn new(
        instance: Arc<Instance>,
        options: ServerOptions,
        tls: Option<TlsConfigs>,
        shards: Vec<Shard>,
    ) -> Hub {
        Hub {
            instance,
            options,
            tls,
            throttle: Throttle::new(),
            counters: Arc::new(Counters::new()),
            pool: OnceLock::new(),
            shards,
            next_id: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            delayed: Mutex::default(),
            stopping: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            changed: Condvar::new(),
            stop: Mutex::new(false),
        }
    }

    /// The threads that run requests.
    pub fn set_pool(&self, pool: Pool<Arc<Connection>>) {
        let _ = self.pool.set(pool);
    }

    /// The threads that run requests; none before the server has started.
    pub fn pool(&self) -> Option<&Pool<Arc<Connection>>> {
        self.pool.get()
    }

    /// Gives a connection to a worker.
    pub fn submit(&self, connection: Arc<Connection>, urgent: bool) {
        if let Some(pool) = self.pool.get() {
            pool.submit(connection, urgent);
        }
    }

    /// Lets a worker wait for its client.
    pub fn stalled(&self, wait: &mut dyn FnMut()) {
        match self.pool.get() {
            Some(pool) => pool.stalled(wait),
            None => wait(),
        }
    }

    /// A number for a new connection; `None` when there are too many.
    pub fn admit(&self) -> Option<(usize, bool)> {
        let count = self.count.load(Ordering::Relaxed);
        if count >= self.options.max_connections + SURPLUS {
            return None;
        }
        Some((self.next_id.fetch_add(1, Ordering::Relaxed), count >= self.options.max_connections))
    }

    /// Registers a connection with one of the pollers.
    ///
    /// # Errors
    /// The system cannot watch it.
    pub fn enter(&self, mut connection: Connection) -> std::io::Result<()> {
        let shard = self.shard(connection.id);
        let token = mio::Token(connection.id);
        let interest = mio::Interest::READABLE | mio::Interest::WRITABLE;
        // In the list first: its events may come at once.
        let mut connections = shard.connections.lock();
        shard.registry.register(connection.socket_mut(), token, interest)?;
        connections.insert(connection.id, Arc::new(connection));
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The connection of an event.
    pub fn find(&self, id: usize) -> Option<Arc<Connection>> {
        self.shard(id).connections.lock().get(&id).cloned()
    }

    fn shard(&self, id: usize) -> &Shard {
        &self.shards[id % self.shards.len()]
    }

    /// Closes a connection that the caller owns: its session ends, its transaction is rolled back.
    pub fn close(&self, connection: &Connection) {
        connection.client().end();
        connection.hang_up();
        let gone = self.shard(connection.id).connections.lock().remove(&connection.id);
        if gone.is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
            let _stop = self.stop.lock();
            self.changed.notify_all();
        }
    }

    /// Connections now.
    pub fn connections(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Gives a connection that the caller owns to a worker after a while.
    pub fn later(&self, connection: Arc<Connection>, delay: Duration) {
        if self.is_stopping() {
            return self.close(&connection);
        }
        self.delayed.lock().push((Instant::now() + delay, connection));
        self.wake();
    }

    fn wake(&self) {
        for shard in &self.shards {
            // A poller that is gone needs no waking.
            let _ = shard.waker.wake();
        }
    }

    /// What is due at the poller of a number; how long it may sleep then.
    pub fn look(&self, shard: usize) -> Option<Duration> {
        let now = Instant::now();
        let mut next = None;
        if shard == 0 {
            let mut delayed = self.delayed.lock();
            let (due, later): (Vec<_>, _) = delayed.drain(..).partition(|(at, _)| *at <= now);
            *delayed = later;
            next = delayed.iter().map(|(at, _)| at.saturating_duration_since(now)).min();
            drop(delayed);
            for (_, connection) in due {
                self.submit(connection, false);
            }
        }
        let all: Vec<_> = {
            let connections = self.shards[shard].connections.lock();
            connections.values().filter(|c| self.is_over(c, now)).cloned().collect()
        };
        for connection in all {
            if connection.end() {
                self.submit(connection, true);
            }
        }
        let any = !self.shards[shard].connections.lock().is_empty();
        if any || self.instance.shutdown_requested() {
            Some(next.map_or(LOOK, |n| n.min(LOOK)))
        } else {
            next
        }
    }

    /// Whether a connection's time is over, or KILL has ended its session.
    fn is_over(&self, connection: &Connection, now: Instant) -> bool {
        if !connection.is_logged_in() {
            return now.saturating_duration_since(connection.opened) > self.options.login_timeout;
        }
        if let Some(limit) = self.options.idle_timeout
            && let Some(since) = connection.idle_since()
            && now.saturating_duration_since(since) > limit
        {
            return true;
        }
        connection.is_killed()
    }

    // ---- stop ----

    /// Whether the server is being stopped.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Asks for the end of the server: [`Hub::wait_for_stop`] returns.
    pub fn request_stop(&self) {
        *self.stop.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until somebody asks for the end, by [`Hub::request_stop`] or SHUTDOWN.
    pub fn wait_for_stop(&self) {
        let mut stop = self.stop.lock();
        while !*stop {
            self.changed.wait(&mut stop);
        }
    }

    /// Takes no more connections and ends those that are idle; requests that run go on.
    pub fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake();
        let delayed = std::mem::take(&mut *self.delayed.lock());
        for (_, connection) in delayed {
            self.close(&connection);
        }
        for connection in self.all() {
            if connection.take_if_idle_since(Instant::now()) {
                self.close(&connection);
            }
        }
    }

    /// Lets the pollers end.
    pub fn end_pollers(&self) {
        self.ended.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the pollers may end.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Ends all connections; what runs is stopped.
    pub fn end_all(&self) {
        for connection in self.all() {
            if connection.end() {
                self.close(&connection);
            }
        }
    }

    fn all(&self) -> Vec<Arc<Connection>> {
        self.shards.iter().flat_map(|s| s.connections.lock().values().cloned().collect::<Vec<_>>()).collect()
    }

    /// Waits until there are no connections or the deadline has come; whether there are none.
    pub fn wait_empty(&self, deadline: Instant) -> bool {
        let mut stop = self.stop.lock();
        while self.connections() > 0 {
            if self.changed.wait_until(&mut stop, deadline).timed_out() {
                return self.connections() == 0;
            }
        }
        true
    }
}
