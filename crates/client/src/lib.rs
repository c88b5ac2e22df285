//! A blocking client of servers that speak TDS 7.4 or 8.0: what `ringwood sql --server`, `ringwood top --server`,
//! `ringwood health` and tests over the wire use. Entry point: [`Connection::connect`].
//! Guarantees: an answer is handed over token by token as it arrives and is never kept whole; a batch can be cancelled from any
//! thread at any time, and the connection is good for the next one afterwards; a password is sent in the clear only where
//! the server has no TLS, the client asked for no more, and the address is a loopback one.

mod connection;
mod options;
pub mod probe;
mod tls;
mod wire;

pub use connection::{CancelHandle, Connection};
pub use options::{ClientError, Encryption, Options, Trust, parse_server};
pub use tds::client::{ServerMessage, Token};
pub use tds::tokens::{DoneKind, DoneStatus};
pub use tds::{Column, ColumnFlags};
