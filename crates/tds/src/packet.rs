//! Packets: the eight-byte header and the messages that they carry. Guarantees: a reader keeps at
//! most its limit of payload, nothing of a message that is refused, and nothing between messages; a
//! writer's packets are full except the last, and only the last says so.

use crate::error::TdsError;

/// Bytes of a packet's header.
pub const HEADER: usize = 8;
/// Packet size before a login has agreed on one.
pub const DEFAULT_PACKET_SIZE: usize = 4096;
/// Smallest and largest packet size, header included.
pub(crate) const MIN_PACKET_SIZE: usize = 512;
/// Largest packet size, header included.
pub const MAX_PACKET_SIZE: usize = 32767;
/// The bits of a status that ask for a reset.
const RESETS: u8 = status::RESET_CONNECTION | status::RESET_KEEP_TRANSACTION;
/// Bytes of payload that a server's message has room for before it needs more: columns and a few
/// short rows.
const SHORT_ANSWER: usize = 512;

/// What a message is; the first byte of each of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum PacketType {
    SqlBatch,
    /// The login of versions before 7.0.
    OldLogin,
    Rpc,
    /// Everything that a server sends.
    Reply,
    Attention,
    BulkLoad,
    FedAuthToken,
    TransactionManager,
    Login7,
    Sspi,
    /// PRELOGIN, and TLS records during the handshake.
    Prelogin,
}

impl PacketType {
    /// The byte in the header.
    pub fn byte(self) -> u8 {
        match self {
            PacketType::SqlBatch => 0x01,
            PacketType::OldLogin => 0x02,
            PacketType::Rpc => 0x03,
            PacketType::Reply => 0x04,
            PacketType::Attention => 0x06,
            PacketType::BulkLoad => 0x07,
            PacketType::FedAuthToken => 0x08,
            PacketType::TransactionManager => 0x0E,
            PacketType::Login7 => 0x10,
            PacketType::Sspi => 0x11,
            PacketType::Prelogin => 0x12,
        }
    }

    /// The type of a header's byte.
    pub fn from_byte(byte: u8) -> Option<PacketType> {
        Some(match byte {
            0x01 => PacketType::SqlBatch,
            0x02 => PacketType::OldLogin,
            0x03 => PacketType::Rpc,
            0x04 => PacketType::Reply,
            0x06 => PacketType::Attention,
            0x07 => PacketType::BulkLoad,
            0x08 => PacketType::FedAuthToken,
            0x0E => PacketType::TransactionManager,
            0x10 => PacketType::Login7,
            0x11 => PacketType::Sspi,
            0x12 => PacketType::Prelogin,
            _ => return None,
        })
    }
}

/// Bits of a packet's status byte.
pub mod status {
    /// Last packet of its message.
    pub const END_OF_MESSAGE: u8 = 0x01;
    /// With the end of the message: the message is not to be carried out.
    pub const IGNORE: u8 = 0x02;
    /// Reset the session before carrying out the message.
    pub const RESET_CONNECTION: u8 = 0x08;
    /// Reset, but leave the transaction.
    pub const RESET_KEEP_TRANSACTION: u8 = 0x10;
}

/// One whole message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub kind: PacketType,
    /// Status byte of the first packet: the reset bits are there; those of a message that an
    /// attention has withdrawn are the attention's.
    pub status: u8,
    /// The sender withdrew it before its end: carry out nothing, answer with a DONE that says so.
    pub ignored: bool,
    /// There was no room for it: it was read to its end and not kept ([`MessageReader::refuse`]).
    pub refused: bool,
    /// Session id in the first packet's header: 0 from clients.
    pub spid: u16,
    pub payload: Vec<u8>,
}

impl Message {
    /// Whether the session is to be reset first; both reset bits together mean that the transaction
    /// stays.
    pub fn resets(&self) -> bool {
        self.status & RESETS != 0
    }

    /// Whether a reset leaves the transaction open.
    pub fn keeps_transaction(&self) -> bool {
        self.status & status::RESET_KEEP_TRANSACTION != 0
    }
}

/// What the reader found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    Message(Message),
    /// Some bytes of a bulk load, in order.
    Bulk {
        /// Status byte of the message's first packet.
        status: u8,
        bytes: &'a [u8],
        /// No more of this message comes.
        last: bool,
        /// With `last`: the sender withdrew the message.
        ignored: bool,
    },
}

/// What was found in packets of any type: a whole message, or a piece of one of the type that is
/// streamed.
#[derive(Debug)]
pub(crate) enum PacketContent<'a> {
    Message(Message),
    Piece { status: u8, bytes: &'a [u8], last: bool, ignored: bool },
}

/// A message that is being received.
#[derive(Debug)]
struct CurrentMessage {
    kind: PacketType,
    status: u8,
    spid: u16,
    payload: Vec<u8>,
    /// It is read to its end and not kept.
    refused: bool,
    /// Status of the packet at hand, and how many of its bytes are still to come.
    packet_status: u8,
    left: usize,
}

/// Cuts a stream of bytes into messages.
#[derive(Debug)]
pub struct MessageReader {
    limit: usize,
    /// What is larger is refused as a message; otherwise it is an error of the stream.
    reads_on: bool,
    max_packet: usize,
    streams: Option<PacketType>,
    header: [u8; HEADER],
    header_len: usize,
    current: Option<CurrentMessage>,
    /// Packets that have begun.
    packets: u64,
}

impl MessageReader {
    /// A reader that refuses messages of more than `limit` bytes. With `streams_bulk`, bulk load
    /// data comes in pieces and is not limited.
    pub fn new(limit: usize, streams_bulk: bool) -> MessageReader {
        MessageReader::streaming(limit, streams_bulk.then_some(PacketType::BulkLoad))
    }

    /// A client's reader: answers come in pieces and are not limited.
    pub(crate) fn of_answers() -> MessageReader {
        MessageReader::streaming(0, Some(PacketType::Reply))
    }

    fn streaming(limit: usize, streams: Option<PacketType>) -> MessageReader {
        MessageReader {
            limit,
            reads_on: false,
            max_packet: MAX_PACKET_SIZE,
            streams,
            header: [0; HEADER],
            header_len: 0,
            current: None,
            packets: 0,
        }
    }

    /// Bytes that are held of a message that is not complete.
    pub fn held(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.payload.len())
    }

    /// Changes the limit of a message: a login needs less than a request. From now on larger
    /// messages are refused, and the stream goes on behind them.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.reads_on = true;
    }

    /// Lets go of the message that is not complete: what is still to come of it is read and not
    /// kept, and its event says so.
    pub fn refuse(&mut self) {
        if let Some(current) = &mut self.current {
            current.refused = true;
            current.payload = Vec::new();
        }
    }

    /// Largest packet to accept: what the login agreed on. It is never taken below the size before
    /// login.
    pub fn set_max_packet(&mut self, size: usize) {
        self.max_packet = size.clamp(DEFAULT_PACKET_SIZE, MAX_PACKET_SIZE);
    }

    /// Packets that have begun since this was asked last.
    pub fn take_packets(&mut self) -> u64 {
        std::mem::take(&mut self.packets)
    }

    /// Whether part of a message has arrived.
    pub fn is_mid_message(&self) -> bool {
        self.header_len > 0 || self.current.is_some()
    }

    /// Reads from the front of `input`, which it shortens, until something is complete; `None` when
    /// all of `input` is used up. After an error the stream has no known position any more: close
    /// it.
    pub fn read<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, TdsError> {
        Ok(self.step(input)?.map(|step| match step {
            PacketContent::Message(message) => Event::Message(message),
            PacketContent::Piece { status, bytes, last, ignored } => {
                Event::Bulk { status, bytes, last, ignored }
            }
        }))
    }

    pub(crate) fn step<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Option<PacketContent<'a>>, TdsError> {
        loop {
            if let Some(event) = self.body(input)? {
                return Ok(Some(event));
            }
            if self.current.as_ref().is_some_and(|c| c.left > 0) {
                return Ok(None);
            }
            let take = input.len().min(HEADER - self.header_len);
            let (head, rest) = input.split_at(take);
            self.header[self.header_len..self.header_len + take].copy_from_slice(head);
            self.header_len += take;
            *input = rest;
            if self.header_len < HEADER {
                return Ok(None);
            }
            if let Some(event) = self.start_packet()? {
                return Ok(Some(event));
            }
        }
    }

    /// Takes in what there is of the packet at hand; an event when that ends the message or hands
    /// over a piece.
    fn body<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<PacketContent<'a>>, TdsError> {
        let Some(current) = &mut self.current else { return Ok(None) };
        let (bytes, rest) = input.split_at(input.len().min(current.left));
        *input = rest;
        current.left -= bytes.len();
        let last = current.left == 0 && current.packet_status & status::END_OF_MESSAGE != 0;
        let ignored = last && current.packet_status & status::IGNORE != 0;
        if self.streams == Some(current.kind) {
            let first = current.status;
            if last {
                self.current = None;
            } else if bytes.is_empty() {
                return Ok(None);
            }
            return Ok(Some(PacketContent::Piece { status: first, bytes, last, ignored }));
        }
        if current.payload.len() + bytes.len() > self.limit {
            if !self.reads_on {
                return Err(TdsError::TooLarge { what: "a message", limit: self.limit });
            }
            current.refused = true;
            current.payload = Vec::new();
        }
        if !current.refused {
            current.payload.extend_from_slice(bytes);
        }
        if !last {
            return Ok(None);
        }
        Ok(self.current.take().map(|c| {
            let CurrentMessage { kind, status, spid, payload, refused, .. } = c;
            PacketContent::Message(Message { kind, status, ignored, refused, spid, payload })
        }))
    }

    /// A complete header begins a packet. An attention in the middle of a message withdraws that
    /// message.
    fn start_packet(&mut self) -> Result<Option<PacketContent<'static>>, TdsError> {
        let [kind, status, len_high, len_low, spid_high, spid_low, _, _] = self.header;
        let kind = PacketType::from_byte(kind).ok_or(TdsError::Packet("unknown packet type"))?;
        let len = usize::from(u16::from_be_bytes([len_high, len_low]));
        if len < HEADER {
            return Err(TdsError::Packet("length below the header's"));
        }
        if len > self.max_packet {
            return Err(TdsError::Packet("longer than the packet size agreed on"));
        }
        match &mut self.current {
            Some(current) if current.kind == kind => {
                current.packet_status = status;
                current.left = len - HEADER;
            }
            Some(_) if kind != PacketType::Attention => {
                return Err(TdsError::Packet("type changes within a message"));
            }
            current => {
                let withdrawn = current.take();
                let resets = withdrawn.as_ref().map_or(0, |withdrawn| withdrawn.status & RESETS);
                if let Some(CurrentMessage { kind: withdrawn, status, .. }) = withdrawn
                    && self.streams == Some(withdrawn)
                {
                    // The header stays: the next call begins the attention.
                    return Ok(Some(PacketContent::Piece {
                        status,
                        bytes: &[],
                        last: true,
                        ignored: true,
                    }));
                }
                let spid = u16::from_be_bytes([spid_high, spid_low]);
                let left = len - HEADER;
                *current = Some(CurrentMessage {
                    kind,
                    status: status | resets,
                    spid,
                    payload: Vec::new(),
                    refused: false,
                    packet_status: status,
                    left,
                });
            }
        }
        self.header_len = 0;
        self.packets += 1;
        Ok(None)
    }
}

/// How many packets begin in bytes that begin with one.
pub fn packets_in(mut bytes: &[u8]) -> u64 {
    let mut packets = 0;
    while let Some(&[_, _, high, low]) = bytes.first_chunk() {
        packets += 1;
        let len = usize::from(u16::from_be_bytes([high, low])).max(HEADER);
        bytes = bytes.get(len..).unwrap_or_default();
    }
    packets
}

/// The payload of a message that is being written, and what turns it into packets.
#[derive(Debug)]
pub struct MessageBuffer {
    kind: PacketType,
    packet_size: usize,
    spid: u16,
    status: u8,
    /// Packets of this message so far; they are numbered from 1, modulo 256.
    packets: usize,
    payload: Vec<u8>,
}

impl MessageBuffer {
    /// A server's messages: type 0x04. There is room for a short answer from the beginning.
    pub fn new(packet_size: usize, spid: u16) -> MessageBuffer {
        MessageBuffer::in_room(packet_size, spid, Vec::new())
    }

    /// As [`MessageBuffer::new`], in the room of a buffer of before.
    pub fn in_room(packet_size: usize, spid: u16, mut room: Vec<u8>) -> MessageBuffer {
        room.clear();
        room.reserve_exact(SHORT_ANSWER);
        let mut buffer = MessageBuffer::of_kind(PacketType::Reply, packet_size, spid);
        buffer.payload = room;
        buffer
    }

    /// Its room, for [`MessageBuffer::in_room`].
    pub fn into_room(self) -> Vec<u8> {
        self.payload
    }

    /// Messages of any type.
    pub fn of_kind(kind: PacketType, packet_size: usize, spid: u16) -> MessageBuffer {
        let packet_size = packet_size.clamp(MIN_PACKET_SIZE, MAX_PACKET_SIZE);
        MessageBuffer { kind, packet_size, spid, status: 0, packets: 0, payload: Vec::new() }
    }

    /// The packet size in force.
    pub fn packet_size(&self) -> usize {
        self.packet_size
    }

    /// Further status bits of every packet of the next messages: a client's reset bits.
    pub fn set_status(&mut self, status: u8) {
        self.status = status;
    }

    /// Where tokens are appended.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.payload
    }

    /// Bytes of payload not yet handed over.
    pub fn pending(&self) -> usize {
        self.payload.len()
    }

    /// Whether something of the current message was handed over already.
    pub fn has_started(&self) -> bool {
        self.packets > 0
    }

    /// Appends all packets to `out` that are full while the message goes on; the bytes appended.
    /// What it keeps is at most one packet, so that the last one is never empty.
    pub fn take_full(&mut self, out: &mut Vec<u8>) -> usize {
        let room = self.packet_size - HEADER;
        let before = out.len();
        let mut at = 0;
        while self.payload.len() - at > room {
            self.packet(at..at + room, self.status, out);
            at += room;
        }
        if at > 0 {
            let len = self.payload.len();
            self.payload.copy_within(at.., 0);
            self.payload.truncate(len - at);
        }
        out.len() - before
    }

    /// Ends the message: appends the rest of its packets to `out`; the next message may begin.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let packets = 1 + self.payload.len() / (self.packet_size - HEADER);
        out.reserve(self.payload.len() + packets * HEADER);
        self.take_full(out);
        self.packet(0..self.payload.len(), self.status | status::END_OF_MESSAGE, out);
        self.payload.clear();
        self.packets = 0;
    }

    /// Ends a message that was begun and shall not be carried out (a client cancels before its
    /// end).
    pub fn finish_ignored(&mut self, out: &mut Vec<u8>) {
        self.payload.clear();
        self.packet(0..0, self.status | status::END_OF_MESSAGE | status::IGNORE, out);
        self.packets = 0;
    }

    /// Gives the memory of large messages back, keeping at most `keep` bytes of room.
    pub fn shrink(&mut self, keep: usize) {
        self.payload.shrink_to(keep);
    }

    fn packet(&mut self, range: std::ops::Range<usize>, status: u8, out: &mut Vec<u8>) {
        let len = (HEADER + range.len()) as u16;
        let [len_high, len_low] = len.to_be_bytes();
        let [spid_high, spid_low] = self.spid.to_be_bytes();
        self.packets += 1;
        let id = self.packets as u8;
        out.extend_from_slice(&[
            self.kind.byte(),
            status,
            len_high,
            len_low,
            spid_high,
            spid_low,
            id,
            0,
        ]);
        out.extend_from_slice(&self.payload[range]);
    }
}
