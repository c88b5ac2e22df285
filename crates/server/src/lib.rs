//! The TDS server: it listens, encrypts, lets clients log in and runs their requests on sessions of
//! the engine. Entry point: [`Server::start`]. Guarantees: an idle connection holds no thread and
//! no buffers; what a client sends is checked before it is used and cannot bring the server down; a
//! client that reads slowly, or sends half a packet, holds up nobody else; a stop lets requests end
//! until the deadline and loses no commit that was acknowledged.

mod admission;
mod certificate;
mod client;
mod command;
mod connection;
mod connections;
mod counters;
mod dedicated;
mod hub;
mod load;
mod login;
mod metrics;
mod options;
mod output;
pub mod password;
mod poller;
mod pool;
mod readiness;
mod request;
mod serve;
mod shard;
mod throttle;
mod timers;
mod tls;
mod turns;
mod wire;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::Instance;

pub use options::{Encryption, ServerError, ServerOptions};

use crate::connection::Connection;
use crate::dedicated::Dedicated;
use crate::hub::Hub;
use crate::metrics::MetricsServer;
use crate::poller::Sockets;
use crate::pool::{HeldLoad, Pool};
use crate::readiness::MAX_LISTENERS;
use crate::shard::Shard;
use crate::tls::TlsConfigs;

/// Cores that one lane serves: its workers wait for the same sockets.
const CORES_PER_LANE: usize = 8;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// How long requests that were stopped may take to end.
const AFTER_DEADLINE: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it at once.
pub struct Server {
    hub: Arc<Hub>,
    addresses: Vec<SocketAddr>,
    /// Pollers and clock.
    threads: Vec<JoinHandle<()>>,
    metrics: Option<MetricsServer>,
}

/// Asks a server to stop, from any thread.
#[derive(Clone)]
pub struct StopHandle {
    hub: Weak<Hub>,
}

impl StopHandle {
    /// [`Server::wait`] returns.
    pub fn stop(&self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.request_stop();
        }
    }
}

impl Server {
    /// Listens; clients are answered when this returns.
    ///
    /// # Errors
    /// An address cannot be had, the certificate cannot be used, passwords would be readable on a
    /// network.
    pub fn start(instance: Arc<Instance>, options: ServerOptions) -> Result<Server, ServerError> {
        options.check()?;
        let tls = match options.encryption {
            Encryption::Off => None,
            _ => Some(TlsConfigs::new(&identity(&options)?)?),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shards = (0..cores.div_ceil(CORES_PER_LANE))
            .map(|_| Shard::new())
            .collect::<Result<Vec<_>, _>>()?;
        let mut listeners = Vec::new();
        for address in options.listen.iter().take(MAX_LISTENERS) {
            listeners.push(listen(*address).map_err(|e| ServerError::Listen(*address, e))?);
        }
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
        let dedicated = options.admin_listen.map(listen_for_administrators).transpose()?;
        let hub = Hub::new(instance, options, tls, shards, dedicated);
        hub.instance.set_packets(hub.counters.clone());
        let stopped = StopHandle { hub: Arc::downgrade(&hub) };
        hub.instance.on_shutdown(Box::new(move || stopped.stop()));
        // One that has waited for the disk finds its core taken; another one goes on meanwhile.
        hub.set_pool(pool(&hub, 2 * cores.max(2), hub.lanes(), 0, hub.load())?);
        if let Some(dedicated) = &hub.dedicated {
            dedicated.set_pool(pool(&hub, dedicated::THREADS, 1, hub.lanes(), dedicated::NoLoad)?);
        }
        let metrics = match hub.options.metrics {
            Some(address) => Some(
                MetricsServer::start(address, &hub).map_err(|e| ServerError::Listen(address, e))?,
            ),
            None => None,
        };
        let mut server = Server { hub, addresses, threads: Vec::new(), metrics };
        let lanes = server.hub.lanes() + usize::from(server.hub.dedicated.is_some());
        for lane in 0..lanes {
            server.start_thread("poller", move |hub| poller::run(hub, lane))?;
        }
        server.start_thread("clock", |hub| hub.keep_time())?;
        server.hub.listen(listeners)?;
        Ok(server)
    }

    fn start_thread(
        &mut self,
        name: &str,
        run: impl FnOnce(&Arc<Hub>) + Send + 'static,
    ) -> std::io::Result<()> {
        let hub = self.hub.clone();
        self.threads.push(std::thread::Builder::new().name(name.into()).spawn(move || run(&hub))?);
        Ok(())
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where it listens for the dedicated administrator connection.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.hub.dedicated.as_ref().map(|dedicated| dedicated.address)
    }

    /// Where metrics are to be had.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(MetricsServer::address)
    }

    /// Connections now.
    pub fn connections(&self) -> usize {
        self.hub.connections()
    }

    /// What stops it from elsewhere.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle { hub: Arc::downgrade(&self.hub) }
    }

    /// Waits until [`StopHandle::stop`] or the statement SHUTDOWN asks for its end.
    /// [`Server::stop`] has to follow.
    pub fn wait(&self) {
        self.hub.wait_for_stop();
    }

    /// Stops: no new connections, idle ones end at once, requests may finish until `timeout` has
    /// passed and are cancelled then. Whether everything has ended; the instance is still open.
    pub fn stop(mut self, timeout: Duration) -> bool {
        self.stop_within(timeout)
    }

    fn stop_within(&mut self, timeout: Duration) -> bool {
        self.hub.begin_stop();
        if !self.hub.wait_empty(Instant::now() + timeout) {
            self.hub.end_all();
            self.hub.wait_empty(Instant::now() + AFTER_DEADLINE);
        }
        let end = Instant::now() + AFTER_DEADLINE;
        let dedicated = self.hub.dedicated.as_ref().and_then(Dedicated::pool);
        let pools = [self.hub.pool(), dedicated];
        let mut ended = true;
        for pool in pools.into_iter().flatten() {
            ended &= pool.stop(end);
        }
        self.hub.end_threads();
        drop(self.metrics.take());
        for thread in self.threads.drain(..) {
            // A panic of it was reported by the panic hook.
            let _ = thread.join();
        }
        ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop_within(Duration::ZERO);
        }
    }
}

/// A pool whose workers wait for the sockets of so many lanes from `first` on.
fn pool(
    hub: &Arc<Hub>,
    base: usize,
    lanes: usize,
    first: usize,
    load: impl HeldLoad + 'static,
) -> std::io::Result<Pool<Arc<Connection>>> {
    let sockets = Sockets { hub: Arc::downgrade(hub), first };
    let served = Arc::downgrade(hub);
    Pool::new(base, lanes, sockets, load, move |connection| {
        if let Some(hub) = poller::take_hub(&served) {
            serve::serve(&hub, &connection);
            poller::keep_hub(hub);
        }
    })
}

/// What belongs to the dedicated administrator connection.
fn listen_for_administrators(address: SocketAddr) -> Result<Dedicated, ServerError> {
    let listener = listen(address).map_err(|e| ServerError::Listen(address, e))?;
    Ok(Dedicated::new(listener)?)
}

/// A listener that does not block.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The certificate of the options.
fn identity(
    options: &ServerOptions,
) -> Result<certificate::Identity, certificate::CertificateError> {
    if let Some((certificate, key)) = &options.certificate {
        return certificate::load(certificate, key);
    }
    let mut names = vec!["localhost".to_string(), "127.0.0.1".to_string(), "::1".to_string()];
    if let Ok(host) = rustix::system::uname().nodename().to_str()
        && !host.is_empty()
        && host != "localhost"
    {
        names.push(host.to_string());
    }
    certificate::load_or_make(&options.folder, &names)
}
