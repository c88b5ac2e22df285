//! The HTTP side: GET of /metrics. A thread accepts, each client has a thread of its own for a few
//! seconds at most.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use rustix::event::{PollFd, PollFlags, poll};

use crate::hub::Hub;

/// Clients at a time; others are let go without an answer.
const CLIENTS: usize = 8;
/// How long nobody is accepted where the system has no descriptors.
const REST: Duration = Duration::from_millis(100);
/// How long a client may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest request.
const REQUEST: usize = 8 << 10;
/// Most lines of a request.
const HEADERS: usize = 64;
/// The format of `prometheus_client`.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers at an address until it is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens.
    ///
    /// # Errors
    /// The address or a thread cannot be had.
    pub fn start(address: SocketAddr, hub: &Arc<Hub>) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let registry = Arc::new(super::registry(hub));
        let (stop, stopped) = UnixStream::pair()?;
        let body = move || accept(&listener, &registry, &stopped);
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(body)?;
        Ok(MetricsServer { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of it was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, registry: &Arc<Registry>, stopped: &UnixStream) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        let end = PollFlags::IN | PollFlags::HUP;
        let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(stopped, end)];
        match poll(&mut fds, None) {
            Ok(_) if fds[1].revents().is_empty() => {}
            Err(rustix::io::Errno::INTR) => continue,
            _ => return,
        }
        let (client, _) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(e) => {
                let gone =
                    [ErrorKind::WouldBlock, ErrorKind::Interrupted, ErrorKind::ConnectionAborted];
                // Without descriptors the client stays there, and the next look finds it at once.
                if !gone.contains(&e.kind()) {
                    std::thread::sleep(REST);
                }
                continue;
            }
        };
        if clients.fetch_add(1, Ordering::AcqRel) >= CLIENTS {
            clients.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (registry, count) = (registry.clone(), clients.clone());
        let body = move || {
            let _leaves = Leaves(&count);
            // A client that goes away or stalls is no error.
            let _ = answer(client, &registry);
        };
        if std::thread::Builder::new().name("scrape".into()).spawn(body).is_err() {
            clients.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn answer(mut client: TcpStream, registry: &Registry) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_write_timeout(Some(PATIENCE))?;
    let request = read(&mut client)?;
    let (status, kind, body) = respond(&request, registry);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    if !request.starts_with(b"HEAD ") {
        client.write_all(body.as_bytes())?;
    }
    client.shutdown(std::net::Shutdown::Write)
}

/// A request to the end of its headers.
fn read(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut room = [0; 2048];
    while !request.windows(4).any(|w| w == b"\r\n\r\n") && request.len() < REQUEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut room)? {
            0 => break,
            n => request.extend_from_slice(&room[..n]),
        }
    }
    Ok(request)
}

/// Status, type and text of an answer.
fn respond(request: &[u8], registry: &Registry) -> (&'static str, &'static str, String) {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let complete = parsed.parse(request).is_ok_and(|status| status.is_complete());
    let (method, path) = match (complete, parsed.method, parsed.path) {
        (true, Some(method), Some(path)) => (method, path),
        _ => return ("400 Bad Request", PLAIN, "This is no HTTP request.\n".into()),
    };
    if !matches!(method, "GET" | "HEAD") {
        return ("405 Method Not Allowed", PLAIN, "GET is what there is.\n".into());
    }
    if path.split('?').next() != Some("/metrics") {
        return ("404 Not Found", PLAIN, "The metrics are at /metrics.\n".into());
    }
    match super::text_of(registry) {
        Ok(text) => ("200 OK", OPEN_METRICS, text),
        Err(error) => ("500 Internal Server Error", PLAIN, format!("{error}\n")),
    }
}
