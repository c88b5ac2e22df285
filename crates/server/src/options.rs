//! What a server can be told at its start, and the errors of starting one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::certificate::CertificateError;

/// Which connections are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// No TLS at all, passwords are readable on the way: for loopback addresses only.
    Off,
    /// As the client wants it: the login alone, or everything.
    Optional,
    /// Everything on every connection.
    Required,
    /// TDS 8.0 alone: TLS before anything else.
    Strict,
}

/// How a server listens and what it allows.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Addresses to listen at; port 0 takes any free one.
    pub listen: Vec<SocketAddr>,
    /// Which connections are encrypted.
    pub encryption: Encryption,
    /// PEM files of certificate and key; made in `folder` when `None`.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Where the certificate that is made lives.
    pub folder: PathBuf,
    /// Clients at other than loopback addresses may send a password without TLS.
    pub allow_plain_login: bool,
    /// Connections at a time; more are refused with error 17809.
    pub max_connections: usize,
    /// Where the dedicated administrator connection is to be had; port 0 takes any free one.
    /// Nowhere when `None`.
    pub admin_listen: Option<SocketAddr>,
    /// Worker threads for requests that run, and as many more for requests that wait.
    pub max_workers: usize,
    /// Of 100 parts of the worker threads, what one login may hold while no other one holds any: 1
    /// to 100.
    pub login_share: usize,
    /// From accepting a connection to the end of its login.
    pub login_timeout: Duration,
    /// A logged-in connection that asks for nothing for so long is closed.
    pub idle_timeout: Option<Duration>,
    /// A client that takes nothing of an answer for so long is closed.
    pub send_timeout: Option<Duration>,
    /// Largest request in bytes.
    pub max_message: usize,
    /// Address for metrics, which everyone who reaches it can read; port 0 takes any free one.
    pub metrics: Option<SocketAddr>,
}

impl ServerOptions {
    /// The usual options with an address and the data folder.
    pub fn new(listen: SocketAddr, folder: impl Into<PathBuf>) -> ServerOptions {
        ServerOptions::listening(vec![listen], folder)
    }

    /// The usual options with several addresses.
    pub fn listening(listen: Vec<SocketAddr>, folder: impl Into<PathBuf>) -> ServerOptions {
        ServerOptions {
            listen,
            encryption: Encryption::Optional,
            certificate: None,
            folder: folder.into(),
            allow_plain_login: false,
            max_connections: 32_767,
            admin_listen: None,
            max_workers: 512,
            login_share: 50,
            login_timeout: Duration::from_secs(15),
            idle_timeout: None,
            send_timeout: None,
            max_message: 128 << 20,
            metrics: None,
        }
    }

    /// # Errors
    /// Passwords would cross a network without TLS.
    pub(crate) fn check(&self) -> Result<(), ServerError> {
        if !(1..=100).contains(&self.login_share) {
            return Err(ServerError::Share(self.login_share));
        }
        let open = self
            .listen
            .iter()
            .chain(&self.admin_listen)
            .find(|address| !address.ip().is_loopback());
        match open {
            Some(address) if self.encryption == Encryption::Off => {
                Err(ServerError::PlainPasswords(*address))
            }
            _ => Ok(()),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address cannot be had.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Encryption is off at an address that others can reach.
    #[error("without encryption passwords can be read on the way: {0} is not a loopback address")]
    PlainPasswords(SocketAddr),
    /// The share of a login is no part of 100.
    #[error("a login's share of the worker threads is 1 to 100 percent, not {0}")]
    Share(usize),
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The key and the certificate do not go together.
    #[error("certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// A thread or a descriptor could not be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
}
