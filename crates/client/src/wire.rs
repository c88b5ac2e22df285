//! A blocking socket with TLS in its three forms. One thread reads; any thread may send meanwhile,
//! which is how a running request is cancelled.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::ClientConnection;
use tds::packet::HEADER;
use tds::{PacketType, client};

use crate::options::ClientError;

/// Bytes read from a socket at a time: at first, and where answers are long. A connection that is
/// idle should take little.
const READ: (usize, usize) = (4 << 10, 32 << 10);
/// How long a server may take to read a request. It reads while it runs one, so this is no limit
/// for requests.
const SEND: Duration = Duration::from_secs(60);

/// What all threads share.
pub struct SharedSocket {
    socket: TcpStream,
    tls: Mutex<Option<Box<ClientConnection>>>,
}

impl SharedSocket {
    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.tls.lock() {
            None => (&self.socket).write_all(bytes),
            Some(tls) => {
                tls.writer().write_all(bytes)?;
                while tls.wants_write() {
                    tls.write_tls(&mut &self.socket)?;
                }
                Ok(())
            }
        }
    }

    /// Bytes without TLS's part, added to `to`; returns when there is at least one.
    ///
    /// # Errors
    /// The connection has ended, is broken, or nothing came in time.
    fn receive(&self, room: &mut Vec<u8>, to: &mut Vec<u8>) -> Result<(), ClientError> {
        let before = to.len();
        while to.len() == before {
            // Without the lock, so that others can send while this thread waits.
            let n = match (&self.socket).read(room) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(late().into()),
                Err(e) => return Err(e.into()),
            };
            match &mut *self.tls.lock() {
                None => to.extend_from_slice(&room[..n]),
                Some(tls) => feed(tls, &room[..n], to)?,
            }
            if n == room.len() && n < READ.1 {
                room.resize(2 * n, 0);
            }
        }
        Ok(())
    }

    /// Ends both directions.
    pub fn hang_up(&self) {
        // It may have ended already.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Encrypted bytes in, plain ones out.
fn feed(tls: &mut ClientConnection, mut bytes: &[u8], to: &mut Vec<u8>) -> Result<(), ClientError> {
    while !bytes.is_empty() {
        // After the server's end nothing is taken any more, however often it is offered.
        if tls.read_tls(&mut bytes)? == 0 {
            return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
        }
        let state = tls.process_new_packets()?;
        let at = to.len();
        to.resize(at + state.plaintext_bytes_to_read(), 0);
        tls.reader().read_exact(&mut to[at..])?;
    }
    Ok(())
}

fn late() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the server does not answer in time")
}

/// The reading side.
pub struct Wire {
    pub shared: Arc<SharedSocket>,
    room: Vec<u8>,
    /// Bytes that were received and are not used yet.
    received: Vec<u8>,
    used: usize,
    /// The login must be done by then.
    until: Option<Instant>,
}

impl Wire {
    /// A connection whose login must be done at a time.
    ///
    /// # Errors
    /// The socket's.
    pub fn new(socket: TcpStream, until: Instant) -> io::Result<Wire> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(SEND))?;
        let shared = Arc::new(SharedSocket { socket, tls: Mutex::new(None) });
        Ok(Wire {
            shared,
            room: vec![0; READ.0],
            received: Vec::new(),
            used: 0,
            until: Some(until),
        })
    }

    /// From now on an answer may take as long as it likes.
    ///
    /// # Errors
    /// The socket's.
    pub fn logged_in(&mut self) -> io::Result<()> {
        self.until = None;
        self.shared.socket.set_read_timeout(None)
    }

    /// Nothing of it leaves this machine.
    pub fn is_loopback(&self) -> bool {
        self.shared.socket.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// # Errors
    /// The connection is broken.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.shared.send(bytes)
    }

    /// What has arrived and is not used yet.
    pub fn ready(&self) -> &[u8] {
        &self.received[self.used..]
    }

    /// So many bytes of [`Wire::ready`] are used.
    pub(crate) fn use_up(&mut self, bytes: usize) {
        self.used += bytes;
        debug_assert!(self.used <= self.received.len());
    }

    /// Waits for more bytes.
    ///
    /// # Errors
    /// The connection has ended, or the login takes too long.
    pub fn more(&mut self) -> Result<(), ClientError> {
        if self.used == self.received.len() {
            self.received.clear();
            self.used = 0;
        }
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late().into());
            }
            self.shared.socket.set_read_timeout(Some(left))?;
        }
        self.shared.receive(&mut self.room, &mut self.received)
    }

    fn exactly(&mut self, count: usize) -> Result<Vec<u8>, ClientError> {
        while self.received.len() - self.used < count {
            self.more()?;
        }
        let bytes = self.received[self.used..self.used + count].to_vec();
        self.use_up(count);
        Ok(bytes)
    }

    /// The payload of a whole message: of PRELOGIN and of handshakes.
    ///
    /// # Errors
    /// The connection has ended, what came is not TDS.
    pub fn message(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut payload = Vec::new();
        loop {
            let header = self.exactly(HEADER)?;
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let known =
                [PacketType::Reply.byte(), PacketType::Prelogin.byte()].contains(&header[0]);
            if !known || !(HEADER..=tds::packet::MAX_PACKET_SIZE).contains(&length) {
                return Err(io::Error::new(ErrorKind::InvalidData, "the answer is not TDS").into());
            }
            payload.extend_from_slice(&self.exactly(length - HEADER)?);
            if payload.len() > tds::login::MAX_LOGIN {
                return Err(io::Error::new(ErrorKind::InvalidData, "the answer is too long").into());
            }
            if header[1] & 1 != 0 {
                return Ok(payload);
            }
        }
    }

    /// TLS from the first byte on.
    ///
    /// # Errors
    /// The handshake fails.
    pub fn strict(&mut self, mut tls: Box<ClientConnection>) -> Result<(), ClientError> {
        let until = self.until;
        while tls.is_handshaking() {
            if let Some(until) = until {
                let left =
                    until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
                self.shared.socket.set_read_timeout(Some(left))?;
            }
            match tls.complete_io(&mut &self.shared.socket) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(late().into()),
                Err(e) => return Err(e.into()),
            }
        }
        *self.shared.tls.lock() = Some(tls);
        Ok(())
    }

    /// A handshake inside TDS packets.
    ///
    /// # Errors
    /// The handshake fails.
    pub fn shake_hands(&mut self, mut tls: Box<ClientConnection>) -> Result<(), ClientError> {
        let mut plain = Vec::new();
        loop {
            let mut flight = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut flight)?;
            }
            if !flight.is_empty() {
                let size = tds::packet::DEFAULT_PACKET_SIZE;
                self.send(&client::message(PacketType::Prelogin, &flight, size, 0))?;
            }
            if !tls.is_handshaking() {
                break;
            }
            let payload = self.message()?;
            feed(&mut tls, &payload, &mut plain)?;
        }
        // What came behind the handshake is encrypted already.
        let rest = self.received.split_off(self.used);
        self.received.clear();
        self.used = 0;
        feed(&mut tls, &rest, &mut self.received)?;
        *self.shared.tls.lock() = Some(tls);
        Ok(())
    }

    /// From now on both sides send in the clear.
    pub fn end_tls(&mut self) {
        *self.shared.tls.lock() = None;
    }
}
