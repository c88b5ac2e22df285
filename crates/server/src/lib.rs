//! The TDS server: it listens, encrypts, lets clients log in and runs their requests on sessions of the engine.
//! Entry point: [`Server::start`]. Guarantees: an idle connection holds no thread and no buffers; what a client sends is
//! checked before it is used and cannot bring the server down; a client that reads slowly, or sends half a packet, holds
//! up nobody else; a stop lets requests end until the deadline and loses no commit that was acknowledged.

pub mod certificate;
mod client;
mod connection;
mod counters;
mod hub;
mod load;
mod login;
mod metrics;
pub mod options;
mod output;
pub mod password;
mod poller;
pub mod pool;
mod request;
mod serve;
mod throttle;
mod tls;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::Instance;
use mio::net::TcpListener;
use mio::{Interest, Poll, Waker};

pub use options::{Encryption, ServerError, ServerOptions};

use crate::hub::{Hub, Shard};
use crate::metrics::MetricsServer;
use crate::poller::{Poller, WAKE};
use crate::pool::Pool;
use crate::tls::TlsConfigs;

/// Cores that one poller serves.
const CORES_PER_POLLER: usize = 8;
/// How long requests that were stopped may take to end.
const AFTER_DEADLINE: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it at once.
pub struct Server {
    hub: Arc<Hub>,
    addresses: Vec<SocketAddr>,
    pollers: Vec<JoinHandle<()>>,
    metrics: Option<MetricsServer>,
}

/// Asks a server to stop, from any thread.
#[derive(Clone)]
pub struct StopHandle {
    hub: Arc<Hub>,
}

impl StopHandle {
    /// [`Server::wait`] returns.
    pub fn stop(&self) {
        self.hub.request_stop();
    }
}

impl Server {
    /// Listens; clients are answered when this returns.
    ///
    /// # Errors
    /// An address cannot be had, the certificate cannot be used, passwords would be readable on a network.
    pub fn start(instance: Arc<Instance>, options: ServerOptions) -> Result<Server, ServerError> {
        options.check()?;
        let tls = match options.encryption {
            Encryption::Off => None,
            _ => Some(TlsConfigs::new(&identity(&options)?)?),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let polls =
            (0..cores.div_ceil(CORES_PER_POLLER)).map(|_| Poll::new()).collect::<Result<Vec<_>, _>>()?;
        let mut listeners = Vec::new();
        for (at, address) in options.listen.iter().enumerate().take(poller::MAX_LISTENERS) {
            let failed = |e| ServerError::Listen(*address, e);
            let mut listener = TcpListener::bind(*address).map_err(failed)?;
            polls[0].registry().register(&mut listener, poller::listener_token(at), Interest::READABLE)?;
            listeners.push(listener);
        }
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
        let mut shards = Vec::new();
        for poll in &polls {
            let registry = poll.registry().try_clone()?;
            shards.push(Shard::new(registry, Waker::new(poll.registry(), WAKE)?));
        }
        let max_workers = options.max_workers;
        let hub = Arc::new(Hub::new(instance, options, tls, shards));
        let served = Arc::downgrade(&hub);
        hub.set_pool(Pool::new(max_workers, move |connection| {
            if let Some(hub) = served.upgrade() {
                serve::serve(&hub, &connection);
            }
        })?);
        let metrics = match hub.options.metrics {
            Some(address) => {
                Some(MetricsServer::start(address, &hub).map_err(|e| ServerError::Listen(address, e))?)
            }
            None => None,
        };
        let mut server = Server { hub, addresses, pollers: Vec::new(), metrics };
        for (index, poll) in polls.into_iter().enumerate() {
            let poller = Poller { index, poll, listeners: std::mem::take(&mut listeners) };
            let hub = server.hub.clone();
            let body = move || poller.run(&hub);
            server.pollers.push(std::thread::Builder::new().name("poller".into()).spawn(body)?);
        }
        Ok(server)
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
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
        StopHandle { hub: self.hub.clone() }
    }

    /// Waits until [`StopHandle::stop`] or the statement SHUTDOWN asks for its end. [`Server::stop`] has to follow.
    pub fn wait(&self) {
        self.hub.wait_for_stop();
    }

    /// Stops: no new connections, idle ones end at once, requests may finish until `timeout` has passed and are cancelled then.
    /// Whether everything has ended; the instance is still open.
    pub fn stop(mut self, timeout: Duration) -> bool {
        self.stop_within(timeout)
    }

    fn stop_within(&mut self, timeout: Duration) -> bool {
        self.hub.begin_stop();
        if !self.hub.wait_empty(Instant::now() + timeout) {
            self.hub.end_all();
            self.hub.wait_empty(Instant::now() + AFTER_DEADLINE);
        }
        let ended = self.hub.pool().is_none_or(|pool| pool.stop(Instant::now() + AFTER_DEADLINE));
        self.hub.end_pollers();
        drop(self.metrics.take());
        for poller in self.pollers.drain(..) {
            // A panic of it was reported by the panic hook.
            let _ = poller.join();
        }
        ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.pollers.is_empty() {
            self.stop_within(Duration::ZERO);
        }
    }
}

/// The certificate of the options.
fn identity(options: &ServerOptions) -> Result<certificate::Identity, certificate::CertificateError> {
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
