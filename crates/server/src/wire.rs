//! One connection's bytes: the socket, TLS in its three forms, and messages. Nothing here blocks.
//! Guarantees: between messages it keeps no buffers; bytes that came with a message are kept for
//! the next call; what a client may send before its login is bounded; what is held of messages is
//! charged, before the login too, and a message that finds no memory is read to its end and handed
//! over as refused.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::sync::Arc;

use memory::{Clerk, MemoryAccount, OutOfMemory, Reservation};
use rustls::ServerConnection;
use tds::packet::packets_in;
use tds::{Event, Message, MessageBuffer, MessageReader, PacketType, TdsError};

use crate::counters::{Counters, ServerCount};
use crate::tls::{self, TlsConfigs};

/// Bytes read from a socket at a time.
const READ: usize = 16 << 10;
/// After so many bytes without a whole message a worker sees to others.
const TURN: usize = 1 << 20;
/// The same of a thread that reads while a request runs: what it leaves may be looked at no sooner
/// than the request's end.
const LISTEN: usize = 16 << 20;
/// First byte of a TLS handshake record.
const TLS_HANDSHAKE: u8 = 0x16;
/// Largest PRELOGIN or LOGIN7: a login may be 128 KB by the protocol.
const LOGIN_LIMIT: usize = 128 << 10;

thread_local! {
    /// What is read from a socket before it is looked at.
    static ROOM: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The socket's, or TLS's.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What came is not the protocol.
    #[error("{0}")]
    Tds(#[from] TdsError),
    /// There is no memory for what comes.
    #[error("there is insufficient memory for a message of this size")]
    Memory(#[from] OutOfMemory),
    /// TLS cannot be had in this way.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
}

/// A whole message, and what is charged for it as long as it is there.
#[derive(Debug)]
pub struct ReceivedMessage {
    pub message: Message,
    /// `None` for a small one.
    pub memory: Option<Reservation>,
}

impl ReceivedMessage {
    /// The attention that has withdrawn it before it ran. Of the message the reset is left that it
    /// asked for.
    pub fn into_attention(self) -> ReceivedMessage {
        let kind = PacketType::Attention;
        let message =
            Message { kind, ignored: false, refused: false, payload: Vec::new(), ..self.message };
        ReceivedMessage { message, memory: None }
    }
}

impl Deref for ReceivedMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

/// What was received.
#[derive(Debug)]
pub enum ReceivedInput {
    /// A whole message.
    Message(ReceivedMessage),
    /// A piece of a bulk load.
    Bulk {
        /// The rows' bytes.
        bytes: Vec<u8>,
        /// The load's last piece.
        last: bool,
        /// The client has withdrawn it.
        ignored: bool,
    },
    /// Nothing more for now.
    Blocked,
    /// The client has closed its side.
    Closed,
}

enum WireLayer {
    Plain,
    /// TLS records inside TDS packets until the handshake is done.
    Handshake(Box<ServerConnection>),
    Tls(Box<ServerConnection>),
}

/// A connection's bytes.
pub struct Wire {
    layer: WireLayer,
    /// TLS may begin with the next byte: nothing has been read.
    fresh: bool,
    /// The last read has taken all that the socket had: until the system tells of more there is
    /// nothing.
    drained: bool,
    /// The system has told of the end, which it does once: reading goes on until the end is read.
    over: bool,
    /// The client has ended TLS: nothing of it follows.
    ended: bool,
    /// The last call has left bytes in the socket because it had read many.
    cut: bool,
    reader: MessageReader,
    /// Decrypted bytes that are not read yet.
    pending: Vec<u8>,
    at: usize,
    configs: Option<TlsConfigs>,
    counters: Arc<Counters>,
    account: Arc<MemoryAccount>,
    /// Charged for what is held of a message that is coming.
    memory: Reservation,
    /// A message that finds no memory is refused, and the connection goes on.
    logged_in: bool,
}

/// What is held of messages is charged from so many bytes on, and in steps of as many: connections
/// are many, and most hold nothing.
const CHARGED: usize = 4 << 10;

/// The work on a message is charged from so many bytes on.
pub const LARGE: usize = 64 << 10;

/// Nothing yet, of what a connection holds of messages.
fn nothing_held(account: &Arc<MemoryAccount>) -> Reservation {
    Reservation::in_steps(account, Clerk::Packets, CHARGED)
}

impl Wire {
    /// The state of a new connection; without configurations there is no TLS.
    pub fn new(
        configs: Option<TlsConfigs>,
        counters: Arc<Counters>,
        account: &Arc<MemoryAccount>,
    ) -> Wire {
        Wire {
            layer: WireLayer::Plain,
            fresh: true,
            drained: false,
            over: false,
            ended: false,
            cut: false,
            reader: MessageReader::new(LOGIN_LIMIT, true),
            pending: Vec::new(),
            at: 0,
            configs,
            counters,
            account: account.clone(),
            memory: nothing_held(account),
            logged_in: false,
        }
    }

    /// Everything is encrypted.
    pub fn is_encrypted(&self) -> bool {
        !matches!(self.layer, WireLayer::Plain)
    }

    /// The next messages may be as large as this, in packets of up to that size, as far as the
    /// account has memory for them; others are refused.
    pub fn logged_in(&mut self, max_message: usize, max_packet: usize) {
        self.logged_in = true;
        self.reader.set_limit(max_message);
        self.reader.set_max_packet(max_packet);
    }

    /// The client's next bytes are a handshake inside TDS packets.
    ///
    /// # Errors
    /// There is no certificate.
    pub fn start_handshake(&mut self) -> Result<(), WireError> {
        let Some(configs) = &self.configs else { return Err(no_tls()) };
        self.layer = WireLayer::Handshake(tls::accept(&configs.wrapped)?);
        Ok(())
    }

    /// From now on both sides send in the clear.
    pub fn end_tls(&mut self) {
        self.layer = WireLayer::Plain;
        // A client may say so of its side.
        self.ended = false;
    }

    /// What the client has sent, one message or piece at a time; carries on TLS handshakes by
    /// itself. `told` is whether the system has told of something to read since the last call,
    /// `over` whether it has ever told of the end.
    ///
    /// # Errors
    /// The connection is of no more use.
    pub fn receive(
        &mut self,
        socket: &TcpStream,
        told: bool,
        over: bool,
    ) -> Result<ReceivedInput, WireError> {
        self.receive_some(socket, (told, over), TURN)
    }

    /// The same for a thread that listens while a request runs.
    ///
    /// # Errors
    /// As [`Wire::receive`].
    pub fn listen(
        &mut self,
        socket: &TcpStream,
        told: bool,
        over: bool,
    ) -> Result<ReceivedInput, WireError> {
        self.receive_some(socket, (told, over), LISTEN)
    }

    /// Whether the last call has read so much, and nothing whole, that others come first: the
    /// socket may have more, of which the system does not tell again.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    fn receive_some(
        &mut self,
        socket: &TcpStream,
        (told, over): (bool, bool),
        most: usize,
    ) -> Result<ReceivedInput, WireError> {
        self.over |= over;
        self.drained &= !told && !over;
        self.cut = false;
        let mut taken = 0;
        let mut found = self.next()?;
        loop {
            match found.take() {
                Some(ReceivedInput::Message(message))
                    if matches!(self.layer, WireLayer::Handshake(_)) =>
                {
                    found = match self.shake_hands(socket, &message)? {
                        None => self.next()?,
                        // It came together with the end of the handshake.
                        behind => behind,
                    };
                    continue;
                }
                Some(got) => return Ok(got),
                None => {}
            }
            if self.ended {
                return Ok(ReceivedInput::Closed);
            }
            if self.drained {
                return Ok(ReceivedInput::Blocked);
            }
            if taken >= most {
                self.cut = true;
                return Ok(ReceivedInput::Blocked);
            }
            found = ROOM.with_borrow_mut(|room| -> Result<Option<ReceivedInput>, WireError> {
                let n = match (&mut &*socket).read(room) {
                    Ok(0) => return Ok(Some(ReceivedInput::Closed)),
                    Ok(n) => n,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {
                        return Ok(Some(ReceivedInput::Blocked));
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(None),
                    Err(e) => {
                        self.counters.add(ServerCount::PacketErrors, 1);
                        return Err(e.into());
                    }
                };
                self.counters.add(ServerCount::BytesReceived, n as u64);
                taken += n;
                // What comes later is told of.
                self.drained = n < room.len() && !self.over;
                self.take(&room[..n], socket)
            })?;
        }
    }

    /// Whether there may be more of which the system does not tell again: bytes that have been read
    /// and belong to no message yet, or what the last read has left in the socket, but for the end.
    pub fn may_have_more(&self) -> bool {
        self.has_more() || !self.drained && !self.over
    }

    fn has_more(&self) -> bool {
        self.at < self.pending.len()
    }

    /// Whether nothing is at hand and nothing is to be read until the system tells of more.
    pub fn has_nothing(&self) -> bool {
        let ends = self.over || self.ended;
        self.drained && !ends && !self.has_more() && !self.reader.is_mid_message()
    }

    /// What is complete in the bytes at hand. The reader may have something without any: an
    /// attention that has ended a bulk load.
    fn next(&mut self) -> Result<Option<ReceivedInput>, WireError> {
        let pending = std::mem::take(&mut self.pending);
        let mut input = &pending[std::mem::take(&mut self.at)..];
        let got = next_in(&mut self.reader, &self.counters, &mut input);
        let left = input.len();
        if left > 0 {
            self.at = pending.len() - left;
            self.pending = pending;
        }
        self.charged(got?)
    }

    /// Charges what was read, and what is held of the rest.
    fn charged(
        &mut self,
        mut got: Option<ReceivedInput>,
    ) -> Result<Option<ReceivedInput>, WireError> {
        if let Some(ReceivedInput::Message(received)) = &mut got {
            self.charge_whole(received);
        }
        self.charge()?;
        Ok(got)
    }

    /// Charges a message that is complete: what was charged for its parts goes along with it.
    fn charge_whole(&mut self, received: &mut ReceivedMessage) {
        let held = received.message.payload.len();
        if held < CHARGED {
            return;
        }
        let mut memory = std::mem::replace(&mut self.memory, nothing_held(&self.account));
        memory.give(memory.used().saturating_sub(held));
        if memory.take(held - memory.used()).is_ok() {
            received.memory = Some(memory);
        } else {
            received.message.refused = true;
            received.message.payload = Vec::new();
        }
    }

    /// Charges what has come of a message that is not complete, and of those behind one that is.
    /// Where there is no memory for it the message is refused; what was read already of the next
    /// ones, no more than two reads of the socket, is kept.
    fn charge(&mut self) -> Result<(), OutOfMemory> {
        let held = self.reader.held() + self.pending.len();
        let charged = self.memory.used();
        if held < CHARGED {
            self.memory.give(charged);
        } else if held <= charged {
            self.memory.give(charged - held);
        } else if self.memory.take(held - charged).is_err() {
            if !self.logged_in {
                return Err(OutOfMemory);
            }
            self.reader.refuse();
            self.memory.give(charged);
            self.memory.force(self.pending.len());
        }
        Ok(())
    }

    /// Bytes from the socket, where none are at hand that came before: what is complete in them is
    /// read where they are, and only the rest is kept.
    fn take(
        &mut self,
        bytes: &[u8],
        socket: &TcpStream,
    ) -> Result<Option<ReceivedInput>, WireError> {
        if std::mem::take(&mut self.fresh) && bytes.first() == Some(&TLS_HANDSHAKE) {
            let Some(configs) = &self.configs else { return Err(no_tls()) };
            self.layer = WireLayer::Tls(tls::accept(&configs.strict)?);
        }
        debug_assert!(
            self.pending.is_empty() && self.at == 0,
            "bytes that came before are read first"
        );
        let (reader, counters, pending) = (&mut self.reader, &self.counters, &mut self.pending);
        let mut found = Ok(None);
        let mut plain = |mut bytes: &[u8]| {
            if matches!(found, Ok(None)) {
                found = next_in(reader, counters, &mut bytes);
            }
            pending.extend_from_slice(bytes);
        };
        match &mut self.layer {
            WireLayer::Tls(tls) => {
                let fed = tls::feed(tls, bytes, &mut plain);
                // The handshake's next flight, or why it has failed.
                let written = tls::write(tls, &mut &*socket, &[]);
                self.ended |= !fed?;
                written?;
            }
            WireLayer::Plain | WireLayer::Handshake(_) => plain(bytes),
        }
        self.charged(found?)
    }

    /// One message of a handshake inside TDS packets; what has come behind its end.
    fn shake_hands(
        &mut self,
        socket: &TcpStream,
        message: &Message,
    ) -> Result<Option<ReceivedInput>, WireError> {
        if message.kind != PacketType::Prelogin {
            return Err(TdsError::Login("a TLS handshake was agreed on").into());
        }
        let WireLayer::Handshake(tls) = &mut self.layer else { return Ok(None) };
        let fed = tls::feed(tls, &message.payload, |_| {});
        let mut flight =
            MessageBuffer::of_kind(PacketType::Prelogin, tds::packet::DEFAULT_PACKET_SIZE, 0);
        while tls.wants_write() {
            tls.write_tls(flight.payload())?;
        }
        if flight.pending() > 0 {
            let mut bytes = Vec::new();
            flight.finish(&mut bytes);
            self.counters.add(ServerCount::PacketsSent, packets_in(&bytes));
            // The socket's buffer is empty before a login: a flight of some KB fits.
            (&mut &*socket).write_all(&bytes)?;
        }
        self.ended |= !fed?;
        if !tls.is_handshaking()
            && let WireLayer::Handshake(tls) = std::mem::replace(&mut self.layer, WireLayer::Plain)
        {
            self.layer = WireLayer::Tls(tls);
            // What came after the handshake's last packet are TLS records already.
            let rest = std::mem::take(&mut self.pending).split_off(std::mem::take(&mut self.at));
            return self.take(&rest, socket);
        }
        Ok(None)
    }

    /// Writes what the socket takes; how many bytes are on the way, and whether the socket has all
    /// of them. `begins`: those of the packets that were not counted before.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn send(
        &mut self,
        socket: &TcpStream,
        bytes: &[u8],
        begins: &[u8],
    ) -> io::Result<(usize, bool)> {
        if !begins.is_empty() {
            self.count_packets(begins);
        }
        let sent = self
            .send_some(socket, bytes)
            .inspect_err(|_| self.counters.add(ServerCount::PacketErrors, 1))?;
        self.counters.add(ServerCount::BytesSent, sent.0 as u64);
        Ok(sent)
    }

    /// Packets that are sent now or later.
    pub fn count_packets(&self, bytes: &[u8]) {
        self.counters.add(ServerCount::PacketsSent, packets_in(bytes));
    }

    fn send_some(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<(usize, bool)> {
        match &mut self.layer {
            WireLayer::Tls(tls) | WireLayer::Handshake(tls) => {
                let taken = tls::write(tls, &mut &*socket, bytes)?;
                Ok((taken, taken == bytes.len() && !tls.wants_write()))
            }
            WireLayer::Plain => {
                let mut taken = 0;
                while taken < bytes.len() {
                    match (&mut &*socket).write(&bytes[taken..]) {
                        Ok(0) => return Err(ErrorKind::WriteZero.into()),
                        Ok(n) => taken += n,
                        Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok((taken, false)),
                        Err(e) if e.kind() == ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                Ok((taken, true))
            }
        }
    }
}

/// Reads from the front of bytes, which it shortens, until something is complete.
fn next_in(
    reader: &mut MessageReader,
    counters: &Counters,
    input: &mut &[u8],
) -> Result<Option<ReceivedInput>, WireError> {
    let read = reader.read(input);
    let packets = reader.take_packets();
    if packets > 0 {
        counters.add(ServerCount::PacketsReceived, packets);
    }
    Ok(match read.inspect_err(|_| counters.add(ServerCount::PacketErrors, 1))? {
        None => None,
        Some(Event::Message(message)) => {
            Some(ReceivedInput::Message(ReceivedMessage { message, memory: None }))
        }
        Some(Event::Bulk { bytes, last, ignored, .. }) => {
            Some(ReceivedInput::Bulk { bytes: bytes.to_vec(), last, ignored })
        }
    })
}

fn no_tls() -> WireError {
    io::Error::new(ErrorKind::Unsupported, "the server is set to no encryption").into()
}

#[cfg(test)]
mod tests;
