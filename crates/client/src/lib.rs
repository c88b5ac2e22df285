//! A blocking client of servers that speak TDS: what `ringwood sql --server`, `ringwood top
//! --server`, `ringwood health`, the lab and tests over the wire use. Entry point:
//! [`Connection::connect`]. Guarantees: an answer is handed over token by token as it arrives, and
//! is kept whole only for who asks for a [`Reply`]; a request can be cancelled from any thread at
//! any time, and the connection is good for the next one afterwards; a password is sent in the
//! clear only where the caller wants no encryption at all, or where the server has no TLS, the
//! client asked for no more, and the address is a loopback one. Texts of batches and of [`text`]
//! are any UTF-8; those in values are as `types::units` holds them, so that no unit of UTF-16 is
//! lost.

mod bulk;
mod calls;
mod connection;
mod options;
pub mod probe;
mod reply;
mod tls;
mod wire;

pub use bulk::BulkLoad;
pub use calls::{PreparedStatement, int, text};
pub use connection::{CancelHandle, Connection};
pub use options::{ClientError, Encryption, Options, ServerName, Trust, parse_server};
pub use reply::{Reply, ReplyRows};
pub use tds::client::{ServerMessage, Token};
pub use tds::request::{Procedure, RpcParam, RpcRequest};
pub use tds::tokens::{DoneKind, DoneStatus, command};
pub use tds::{Column, ColumnFlags, TypeInfo};
