//! MS-TDS, the protocol between SQL Server and its clients, as data and bytes: versions 7.1 to 7.4
//! and 8.0. Guarantees: pure (no I/O, no threads, no clock); no input makes it panic; decoded data
//! takes no more memory than the caller's limit; what cannot be understood is a [`TdsError`] that
//! says how SQL Server would react.
//!
//! Bytes from a client go through [`packet::MessageReader`], which hands over whole messages (and
//! bulk load data in pieces); [`prelogin`], [`login`] and [`request`] decode those. An answer is
//! written by [`tokens::TokenWriter`] into a [`packet::MessageBuffer`], which cuts it into packets.
//! [`client`] is the other side.

mod byte;
pub mod client;
pub mod column;
pub mod decode;
pub mod encode;
pub mod error;
pub mod limits;
pub mod login;
pub mod packet;
pub mod plp;
pub mod prelogin;
pub mod reader;
pub mod request;
mod rows;
mod rowscan;
pub mod text;
mod token;
pub mod tokens;
mod typeinfo;
mod typewire;
pub mod version;

pub use column::{Column, ColumnFlags};
pub use decode::{ValuePlace, decode_value};
pub use encode::encode_value;
pub use error::{AfterError, TdsError};
pub use limits::{Budget, Grant, Limits};
pub use packet::{Event, Message, MessageBuffer, MessageReader, PacketType};
pub use reader::Reader;
pub use rows::RowColumns;
pub use text::WireCollation;
pub use tokens::TokenWriter;
pub use typeinfo::{FixedType, Size, TypeInfo};
pub use version::TdsVersion;
