//! Packets, login and requests, in both directions.

mod answers;
mod logins;
mod packets;
mod requests;

use ringwood_tds as tds;
use ringwood_tds::client::{ClientCodec, Token, TokenReader, message};
use ringwood_tds::login::{Feature, Login7, feature};
use ringwood_tds::packet::{Event, Message, MessageBuffer, MessageReader, PacketType, status};
use ringwood_tds::prelogin::{AfterPrelogin, Encryption, Prelogin, ServerEncryption};
use ringwood_tds::request::rpc::procedure_id;
use ringwood_tds::request::{
    Begin, Headers, Procedure, RpcParam, RpcReader, RpcRequest, RpcValue, SqlBatch, TableColumn,
    TableValue, TransactionRequest,
};
use ringwood_tds::tokens::{ColumnSource, DoneKind, DoneStatus, EnvChange, ReturnValue, command};
use ringwood_tds::{
    ColumnFlags, Limits, Size, TdsError, TdsVersion, TokenWriter, TypeInfo, WireCollation,
};
use types::{SqlError, Value};

const VERSIONS: [TdsVersion; 6] = [
    TdsVersion::V7_1,
    TdsVersion::V7_2,
    TdsVersion::V7_3A,
    TdsVersion::V7_3B,
    TdsVersion::V7_4,
    TdsVersion::V8_0,
];

fn one_message(bytes: &[u8]) -> Message {
    let mut reader = MessageReader::new(1 << 20, false);
    let mut input = bytes;
    match reader.read(&mut input).unwrap() {
        Some(Event::Message(message)) => {
            assert!(input.is_empty() && !reader.is_mid_message());
            message
        }
        other => panic!("{other:?}"),
    }
}
