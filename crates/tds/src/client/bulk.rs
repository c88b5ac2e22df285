//! Bulk load data as a client sends it, row by row. Guarantees: whole packets can be taken at any
//! time, so that no more than one packet and one row are kept; a row that cannot be written leaves
//! nothing behind.

use types::Value;

use crate::client::ClientCodec;
use crate::column::{Column, Sender};
use crate::encode::encode_value;
use crate::error::TdsError;
use crate::packet::{MessageBuffer, PacketType};
use crate::token;
use crate::tokens::{DoneKind, DoneStatus, TokenWriter};
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// Writes the message of a bulk load.
#[derive(Debug)]
pub struct BulkWriter {
    buffer: MessageBuffer,
    types: Vec<TypeInfo>,
    version: TdsVersion,
}

impl BulkWriter {
    /// A message that begins with these columns.
    pub fn new(codec: &ClientCodec, columns: &[Column]) -> BulkWriter {
        let mut buffer = MessageBuffer::of_kind(PacketType::BulkLoad, codec.packet_size, 0);
        buffer.set_status(codec.status);
        Column::write_all(columns, codec.version, Sender::BulkLoad, buffer.payload());
        BulkWriter { buffer, types: columns.iter().map(|c| c.ty).collect(), version: codec.version }
    }

    /// A row.
    ///
    /// Errors: `Mismatch`, `ValueTooLong` for values that are not those of the columns.
    pub fn row(&mut self, values: &[Value]) -> Result<(), TdsError> {
        if values.len() != self.types.len() {
            return Err(TdsError::Mismatch { value: "row", ty: "row of another length" });
        }
        let out = self.buffer.payload();
        let start = out.len();
        out.push(token::ROW);
        let mut fields = values.iter().zip(&self.types);
        let written = fields.try_for_each(|(value, ty)| encode_value(value, ty, out));
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// Appends the packets that are full to `out`.
    pub fn take_full(&mut self, out: &mut Vec<u8>) {
        self.buffer.take_full(out);
    }

    /// Ends the message; `with_done` adds the DONE that most clients send at the end.
    pub fn finish(mut self, with_done: bool, out: &mut Vec<u8>) {
        if with_done {
            let mut tokens = TokenWriter::new(self.buffer.payload(), self.version);
            tokens.done(DoneKind::Done, DoneStatus::FINAL, 0, None);
        }
        self.buffer.finish(out);
    }

    /// Ends the message so that the server loads nothing; it answers with one DONE, which says that
    /// it failed.
    pub fn withdraw(mut self, out: &mut Vec<u8>) {
        self.buffer.finish_ignored(out);
    }
}
