//! TLS configurations and the state of TLS on one connection. Guarantees: inside TDS packets at
//! most TLS 1.2 is negotiated, because clients fail otherwise; strict connections speak ALPN
//! `tds/8.0`.

use std::io::{self, BufRead, IoSlice, Write};
use std::sync::Arc;

use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};

use crate::certificate::Identity;

/// Bytes of plain and of encrypted data that a connection keeps until the socket takes them.
const BUFFER: usize = 64 << 10;

/// The server's configurations.
#[derive(Clone, Debug)]
pub struct TlsConfigs {
    /// A handshake inside TDS packets.
    pub wrapped: Arc<ServerConfig>,
    /// TDS 8.0: TLS first.
    pub strict: Arc<ServerConfig>,
}

impl TlsConfigs {
    /// Configurations for a certificate.
    ///
    /// # Errors
    /// The key does not fit the certificate, or is of a kind that cannot be used.
    pub fn new(identity: &Identity) -> Result<TlsConfigs, rustls::Error> {
        let wrapped = identity.config(&[&TLS12])?;
        let mut strict = identity.config(&[&TLS13, &TLS12])?;
        strict.alpn_protocols = vec![b"tds/8.0".to_vec()];
        Ok(TlsConfigs { wrapped: Arc::new(wrapped), strict: Arc::new(strict) })
    }
}

/// A new server side of a connection.
///
/// # Errors
/// The configuration cannot be used.
pub fn accept(config: &Arc<ServerConfig>) -> Result<Box<ServerConnection>, rustls::Error> {
    let mut tls = ServerConnection::new(config.clone())?;
    tls.set_buffer_limit(Some(BUFFER));
    Ok(Box::new(tls))
}

/// Takes encrypted bytes and hands over what they hold, a record at a time. False: the client has
/// ended TLS, and what comes behind that is nothing of it.
///
/// # Errors
/// The bytes are no TLS, or break its rules; what there is to tell the client is still written by
/// `write_tls`.
pub fn feed(
    tls: &mut ServerConnection,
    mut bytes: &[u8],
    mut got: impl FnMut(&[u8]),
) -> io::Result<bool> {
    while !bytes.is_empty() {
        // After the client's end nothing is taken any more, however often it is offered.
        if tls.read_tls(&mut bytes)? == 0 {
            return Ok(false);
        }
        let state = tls.process_new_packets().map_err(io::Error::other)?;
        if state.plaintext_bytes_to_read() > 0 {
            plain(tls, &mut got)?;
        }
        if state.peer_has_closed() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Hands over the decrypted bytes that are there, where they are.
fn plain(tls: &mut ServerConnection, got: &mut impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = tls.reader();
    loop {
        let taken = match reader.fill_buf() {
            Ok([]) => return Ok(()),
            Ok(bytes) => {
                got(bytes);
                bytes.len()
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        };
        reader.consume(taken);
    }
}

/// Encrypts and writes bytes; how many it took. All are on the socket when that is all and
/// `wants_write` is false.
///
/// # Errors
/// The socket's, but for `WouldBlock`.
pub fn write(
    tls: &mut ServerConnection,
    socket: &mut dyn Write,
    bytes: &[u8],
) -> io::Result<usize> {
    let mut socket = Records(socket);
    let mut taken = 0;
    loop {
        while tls.wants_write() {
            match tls.write_tls(&mut socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(taken),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if taken == bytes.len() {
            return Ok(taken);
        }
        taken += tls.writer().write(&bytes[taken..])?;
    }
}

/// Writes records to a socket. One alone, which is what most answers are, needs no list of pieces.
struct Records<'a>(&'a mut dyn Write);

impl Write for Records<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, records: &[IoSlice<'_>]) -> io::Result<usize> {
        match records {
            [record] => self.0.write(record),
            records => self.0.write_vectored(records),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
