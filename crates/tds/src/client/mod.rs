//! The client's side: requests as messages, answers as data. It speaks exactly what the server's
//! side reads, and lets tests send wrong bytes through [`message`].

mod answer;
mod bulk;
mod tokens;

pub use answer::{AnswerReader, AnswerToken};
pub use bulk::BulkWriter;
pub use tokens::{ServerMessage, Token, TokenReader};

use types::Value;

use crate::column::Column;
use crate::error::TdsError;
use crate::login::Login7;
use crate::packet::{MessageBuffer, PacketType};
use crate::prelogin::Prelogin;
use crate::request::rpc::write_calls;
use crate::request::{Headers, RpcRequest, SqlBatch, TransactionRequest};
use crate::version::TdsVersion;

/// The packets of a message with any payload. `status` adds bits such as
/// [`RESET_CONNECTION`](crate::packet::status::RESET_CONNECTION) to each packet.
pub fn message(kind: PacketType, payload: &[u8], packet_size: usize, status: u8) -> Vec<u8> {
    let mut buffer = MessageBuffer::of_kind(kind, packet_size, 0);
    buffer.set_status(status);
    buffer.payload().extend_from_slice(payload);
    let mut out = Vec::new();
    buffer.finish(&mut out);
    out
}

/// What a connection has agreed on, as the client's messages need it.
#[derive(Clone, Copy, Debug)]
pub struct ClientCodec {
    pub version: TdsVersion,
    pub packet_size: usize,
    /// The transaction of the last ENVCHANGE 8; 0 for none.
    pub transaction: u64,
    /// Status bits of the next requests.
    pub status: u8,
}

impl ClientCodec {
    /// Before login: packets of 4096 bytes, no transaction.
    pub fn new(version: TdsVersion) -> ClientCodec {
        ClientCodec {
            version,
            packet_size: crate::packet::DEFAULT_PACKET_SIZE,
            transaction: 0,
            status: 0,
        }
    }

    fn headers(&self) -> Headers {
        Headers { transaction: self.transaction, outstanding: 1, ..Headers::default() }
    }

    fn message(&self, kind: PacketType, payload: &[u8]) -> Vec<u8> {
        message(kind, payload, self.packet_size, self.status)
    }

    /// PRELOGIN.
    pub fn prelogin(&self, prelogin: &Prelogin) -> Vec<u8> {
        let mut payload = Vec::new();
        prelogin.write(&mut payload);
        self.message(PacketType::Prelogin, &payload)
    }

    /// LOGIN7.
    pub fn login(&self, login: &Login7) -> Vec<u8> {
        let mut payload = Vec::new();
        login.write(&mut payload);
        self.message(PacketType::Login7, &payload)
    }

    /// A SQL batch.
    pub fn batch(&self, text: &str) -> Vec<u8> {
        let mut payload = Vec::new();
        SqlBatch { headers: self.headers(), text: text.to_owned() }
            .write(self.version, &mut payload);
        self.message(PacketType::SqlBatch, &payload)
    }

    /// Remote procedure calls in one message.
    pub fn rpc(&self, calls: &[RpcRequest]) -> Result<Vec<u8>, TdsError> {
        let mut payload = Vec::new();
        write_calls(&self.headers(), calls, self.version, &mut payload)?;
        Ok(self.message(PacketType::Rpc, &payload))
    }

    /// A transaction manager request.
    pub fn transaction(&self, request: &TransactionRequest) -> Vec<u8> {
        let mut payload = Vec::new();
        request.write(&self.headers(), self.version, &mut payload);
        self.message(PacketType::TransactionManager, &payload)
    }

    /// An attention.
    pub fn attention(&self) -> Vec<u8> {
        message(PacketType::Attention, &[], self.packet_size, 0)
    }

    /// Bulk load data of some rows; `with_done` adds the DONE that most clients send at the end.
    pub fn bulk(
        &self,
        columns: &[Column],
        rows: &[Vec<Value>],
        with_done: bool,
    ) -> Result<Vec<u8>, TdsError> {
        let mut load = BulkWriter::new(self, columns);
        rows.iter().try_for_each(|row| load.row(row))?;
        let mut out = Vec::new();
        load.finish(with_done, &mut out);
        Ok(out)
    }
}
