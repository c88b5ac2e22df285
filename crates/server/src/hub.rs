//! What all parts of a running server share: options, connections, the pool, what is to happen later.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use engine::Instance;
use parking_lot::{Condvar, Mutex};

use crate::clock::Alarm;
use crate::connection::Connection;
use crate::counters::Counters;
use crate::options::ServerOptions;
use crate::poller::{self, Bed};
use crate::pool::Pool;
use crate::readiness::Readiness;
use crate::throttle::Throttle;
use crate::tls::TlsConfigs;

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
    /// Of the thread that does what is due.
    pub alarm: Alarm,
    pool: OnceLock<Pool<Arc<Connection>>>,
    listeners: Mutex<Vec<TcpListener>>,
    /// A listener could not accept for want of descriptors: its event comes only once.
    again: AtomicBool,
    shards: Vec<Shard>,
    next_id: AtomicUsize,
    count: AtomicUsize,
    delayed: Mutex<Vec<(Instant, Arc<Connection>)>>,
    stopping: AtomicBool,
    /// Nothing is left to do for pollers and clock.
    ended: AtomicBool,
    /// Connections have ended, or a stop was asked for.
    changed: Condvar,
    /// Goes with `changed`.
    stop: Mutex<bool>,
}

/// What belongs to one lane: a share of the connections, the workers that wait for them and their poller.
pub struct Shard {
    /// Of its sockets.
    pub readiness: Readiness,
    /// Of its poller.
    pub bed: Bed,
    connections: Mutex<HashMap<usize, Arc<Connection>>>,
}

impl Shard {
    /// A lane without connections.
    ///
    /// # Errors
    /// The system has no descriptors.
    pub fn new() -> std::io::Result<Shard> {
        Ok(Shard { readiness: Readiness::new()?, bed: Bed::default(), connections: Mutex::default() })
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
            alarm: Alarm::default(),
            pool: OnceLock::new(),
            listeners: Mutex::default(),
            again: AtomicBool::new(false),
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

    /// Watches a connection.
    ///
    /// # Errors
    /// The system cannot.
    pub fn enter(&self, connection: Connection) -> std::io::Result<()> {
        let shard = self.shard_of(connection.id);
        // In the list first: its events may come at once.
        let mut connections = shard.connections.lock();
        shard.readiness.watch(connection.socket(), connection.id as u64)?;
        connections.insert(connection.id, Arc::new(connection));
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The connection of an event.
    pub fn find(&self, id: usize) -> Option<Arc<Connection>> {
        self.shard_of(id).connections.lock().get(&id).cloned()
    }

    fn shard_of(&self, id: usize) -> &Shard {
        &self.shards[id % self.shards.len()]
    }

    /// A lane.
    pub fn shard(&self, lane: usize) -> &Shard {
        &self.shards[lane]
    }

    /// Lanes.
    pub fn lanes(&self) -> usize {
        self.shards.len()
    }

    // ---- listeners ----

    /// Accepts connections from now on; the listeners do not block.
    ///
    /// # Errors
    /// The system cannot watch them.
    pub fn listen(&self, all: Vec<TcpListener>) -> std::io::Result<()> {
        let mut listeners = self.listeners.lock();
        *listeners = all;
        for (at, listener) in listeners.iter().enumerate() {
            self.shards[0].readiness.watch(listener, poller::LISTENERS + at as u64)?;
        }
        Ok(())
    }

    /// A listener has connections.
    pub fn accept_from(&self, index: usize) {
        let failed = self
            .listeners
            .lock()
            .get(index)
            .is_some_and(|listener| poller::accept_all(listener, self).is_err());
        if failed && !self.again.swap(true, Ordering::Relaxed) {
            self.alarm.ring();
        }
    }

    /// Accepts what could not be accepted before; whether nothing is left of it.
    pub fn accept_again(&self) -> bool {
        if !self.again.load(Ordering::Relaxed) {
            return true;
        }
        let listeners = self.listeners.lock();
        let all = listeners.iter().all(|listener| poller::accept_all(listener, self).is_ok());
        self.again.store(!all, Ordering::Relaxed);
        all
    }

    /// Closes a connection that the caller owns: its session ends, its transaction is rolled back.
    pub fn close(&self, connection: &Connection) {
        connection.client().end();
        connection.hang_up();
        let gone = self.shard_of(connection.id).connections.lock().remove(&connection.id);
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
        self.alarm.ring();
    }

    /// Gives delayed connections that are due to workers; when the next one is.
    pub fn begin_delayed(&self, now: Instant) -> Option<Instant> {
        let mut delayed = self.delayed.lock();
        let (due, later): (Vec<_>, _) = delayed.drain(..).partition(|(at, _)| *at <= now);
        *delayed = later;
        let next = delayed.iter().map(|(at, _)| *at).min();
        drop(delayed);
        for (_, connection) in due {
            self.submit(connection, false);
        }
        next
    }

    /// Ends connections whose time is over.
    pub fn look(&self, now: Instant) {
        for shard in &self.shards {
            let over: Vec<_> = {
                let connections = shard.connections.lock();
                connections.values().filter(|c| self.is_over(c, now)).cloned().collect()
            };
            for connection in over {
                if connection.end() {
                    self.submit(connection, true);
                }
            }
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
        // Closed: nobody is accepted any more.
        self.listeners.lock().clear();
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

    /// Lets the pollers and the clock end. No worker may wait for sockets any more.
    pub fn end_threads(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.alarm.ring();
        for shard in &self.shards {
            shard.bed.call();
            shard.readiness.ring();
        }
    }

    /// Whether the pollers and the clock may end.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
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
