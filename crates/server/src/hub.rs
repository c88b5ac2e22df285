//! What all parts of a running server share: options, connections, worker threads, what is to
//! happen later.

mod listeners;

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use engine::Instance;
use parking_lot::{Condvar, Mutex};

use crate::admission::Admission;
use crate::connection::Connection;
use crate::counters::Counters;
use crate::dedicated::Dedicated;
use crate::options::ServerOptions;
use crate::pool::Pool;
use crate::shard::Shard;
use crate::throttle::Throttle;
use crate::timers::{DueTask, Timers};
use crate::tls::TlsConfigs;

/// Connections beyond the limit that get an answer; further ones are dropped at once.
const SURPLUS: usize = 64;
/// Idle connections are looked through at most so often.
const IDLE_LOOK: Duration = Duration::from_millis(250);

/// The server's shared state.
pub struct Hub {
    /// Itself.
    pub own: Weak<Hub>,
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
    /// What is to be done later.
    pub timers: Timers,
    /// Which requests may take a worker thread.
    pub admission: Admission<Connection>,
    /// The connection for administrators, if there is one.
    pub dedicated: Option<Dedicated>,
    pool: OnceLock<Pool<Arc<Connection>>>,
    listeners: Mutex<Vec<TcpListener>>,
    /// A listener could not accept for want of descriptors: its event comes only once.
    again: AtomicBool,
    shards: Vec<Shard>,
    next_id: AtomicUsize,
    count: AtomicUsize,
    stopping: AtomicBool,
    /// Nothing is left to do for pollers and clock.
    ended: AtomicBool,
    /// Connections have ended, or a stop was asked for.
    changed: Condvar,
    /// Goes with `changed`.
    stop: Mutex<bool>,
}

impl Hub {
    /// The state of a server that has no connection yet. [`Hub::set_pool`] must follow.
    pub fn new(
        instance: Arc<Instance>,
        options: ServerOptions,
        tls: Option<TlsConfigs>,
        shards: Vec<Shard>,
        dedicated: Option<Dedicated>,
    ) -> Arc<Hub> {
        let admission = Admission::new(options.max_workers, options.login_share, shards.len());
        Arc::new_cyclic(|own| Hub {
            own: own.clone(),
            instance,
            options,
            tls,
            throttle: Throttle::new(),
            counters: Arc::new(Counters::new()),
            timers: Timers::default(),
            admission,
            dedicated,
            pool: OnceLock::new(),
            listeners: Mutex::default(),
            again: AtomicBool::new(false),
            shards,
            next_id: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            changed: Condvar::new(),
            stop: Mutex::new(false),
        })
    }

    /// The threads that run requests.
    pub fn set_pool(&self, pool: Pool<Arc<Connection>>) {
        let _ = self.pool.set(pool);
    }

    /// The threads that run requests; none before the server has started.
    pub fn pool(&self) -> Option<&Pool<Arc<Connection>>> {
        self.pool.get()
    }

    /// The threads that run the requests of a connection.
    pub fn pool_of(&self, connection: &Connection) -> Option<&Pool<Arc<Connection>>> {
        if connection.dedicated { self.dedicated.as_ref()?.pool() } else { self.pool() }
    }

    /// The threads that wait for the sockets of a lane.
    pub fn pool_in(&self, lane: usize) -> Option<&Pool<Arc<Connection>>> {
        if lane == self.lanes() { self.dedicated.as_ref()?.pool() } else { self.pool() }
    }

    /// Gives a connection to a worker.
    pub fn submit(&self, connection: Arc<Connection>, urgent: bool) {
        self.withdraw(&connection);
        if self.instance.request_phases().is_on() {
            connection.begin_wait();
        }
        if let Some(pool) = self.pool_of(&connection) {
            pool.submit(connection, urgent);
        }
    }

    // ---- connections ----

    /// A number for a new connection, and whether there are as many as are allowed; `None` when
    /// there are too many.
    pub fn admit(&self, dedicated: bool) -> Option<(usize, bool)> {
        if let (true, Some(lane)) = (dedicated, &self.dedicated) {
            if let Some(oldest) = lane.end_oldest() {
                self.close(&oldest);
            }
            return Some((lane.next_id(), false));
        }
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
        let (id, opened) = (connection.id, connection.opened);
        let shard = self.shard_of(id);
        shard.connections.enter(connection, |connection| {
            shard.readiness.watch(connection.socket(), id as u64)?;
            self.count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        self.timers.add(opened + self.options.login_timeout, DueTask::Login(id));
        Ok(())
    }

    /// The connection of an event.
    pub fn find(&self, id: usize) -> Option<Arc<Connection>> {
        self.shard_of(id).connections.find(id)
    }

    /// The lane of a connection, but for those of administrators.
    pub fn lane_of(&self, id: usize) -> usize {
        id % self.shards.len()
    }

    fn shard_of(&self, id: usize) -> &Shard {
        match &self.dedicated {
            Some(dedicated) if Dedicated::has(id) => &dedicated.shard,
            _ => &self.shards[self.lane_of(id)],
        }
    }

    /// A lane; the one after the last is that for administrators.
    pub fn shard(&self, lane: usize) -> &Shard {
        match &self.dedicated {
            Some(dedicated) if lane == self.lanes() => &dedicated.shard,
            _ => &self.shards[lane],
        }
    }

    /// Lanes, but for that for administrators.
    pub fn lanes(&self) -> usize {
        self.shards.len()
    }

    fn all_shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().chain(self.dedicated.as_ref().map(|dedicated| &dedicated.shard))
    }

    // ---- connections that end ----

    /// Closes a connection that the caller owns: its session ends, its transaction is rolled back.
    pub fn close(&self, connection: &Connection) {
        connection.client().end();
        connection.hang_up();
        let gone = self.shard_of(connection.id).connections.remove(connection.id);
        if gone.is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
            if let (true, Some(dedicated)) = (connection.dedicated, &self.dedicated) {
                dedicated.left(connection.id, &self.instance);
            }
            let _stop = self.stop.lock();
            self.changed.notify_all();
        }
        self.release(connection);
    }

    /// Connections now.
    pub fn connections(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    // ---- later ----

    /// Gives a connection that the caller owns to a worker after a while.
    pub fn later(&self, connection: Arc<Connection>, delay: Duration) {
        if self.is_stopping() {
            return self.close(&connection);
        }
        self.timers.add(Instant::now() + delay, DueTask::Resume(connection));
    }

    /// Does what is due at its time, until the server has ended.
    pub fn keep_time(&self) {
        while !self.is_ended() {
            for due in self.timers.wait() {
                self.is_due(due);
            }
        }
    }

    /// Does what is due now.
    fn is_due(&self, due: DueTask) {
        match due {
            DueTask::Resume(connection) => self.submit(connection, false),
            DueTask::Login(id) => self.end_found(id, |connection| !connection.is_logged_in()),
            DueTask::End(id) => self.end_found(id, |_| true),
            DueTask::Kept(id) => self.send_kept(id),
            DueTask::Idle => self.end_idle(),
            DueTask::Accept => self.accept_again(),
        }
    }

    fn send_kept(&self, id: usize) {
        let memory = self.instance.memory();
        if let Some(again) = self.find(id).and_then(|connection| connection.send_kept(memory)) {
            self.timers.add(again, DueTask::Kept(id));
        }
    }

    fn end_found(&self, id: usize, is_over: impl FnOnce(&Connection) -> bool) {
        if let Some(connection) = self.find(id)
            && is_over(&connection)
            && connection.end()
        {
            self.submit(connection, true);
        }
    }

    /// Ends connections that have been idle for too long; the next look is when the next one may
    /// have been.
    fn end_idle(&self) {
        let Some(limit) = self.options.idle_timeout else { return };
        let now = Instant::now();
        let mut next = now + limit;
        for connection in self.all() {
            let Some(since) = connection.idle_since().filter(|_| connection.is_logged_in()) else {
                continue;
            };
            if since + limit > now {
                next = next.min(since + limit);
            } else if connection.end() {
                self.submit(connection, true);
            }
        }
        self.timers.add(next.max(now + IDLE_LOOK), DueTask::Idle);
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
        if let Some(dedicated) = &self.dedicated {
            dedicated.stop_listening();
        }
        for due in self.timers.take_all() {
            match due {
                DueTask::Resume(connection) => self.close(&connection),
                // Its request may go on.
                DueTask::Kept(id) => self.send_kept(id),
                _ => {}
            }
        }
        for connection in self.all() {
            self.close_idle(&connection);
        }
    }

    /// A worker has left a connection. That may have been after a stop has looked through all.
    pub fn left(&self, connection: &Connection) {
        if self.is_stopping() {
            self.close_idle(connection);
        }
    }

    fn close_idle(&self, connection: &Connection) {
        if connection.take_if_idle_since(Instant::now()) {
            self.close(connection);
        }
    }

    /// Lets the pollers and the clock end. No worker may wait for sockets any more.
    pub fn end_threads(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.timers.ring();
        for shard in self.all_shards() {
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
        // Before the first one ends: what would begin in its place is ended as well.
        self.admission.close();
        for connection in self.all() {
            if connection.end() {
                self.withdraw(&connection);
                self.close(&connection);
            }
        }
    }

    fn all(&self) -> Vec<Arc<Connection>> {
        self.all_shards().flat_map(|shard| shard.connections.all()).collect()
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

#[cfg(test)]
mod tests;
