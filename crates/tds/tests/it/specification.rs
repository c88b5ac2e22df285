//! The messages that the MS-TDS specification shows in section 4, read and written.

use ringwood_tds::client::{Token, TokenReader};
use ringwood_tds::login::Login7;
use ringwood_tds::packet::{Event, Message, MessageBuffer, MessageReader, PacketType};
use ringwood_tds::request::rpc::write_calls;
use ringwood_tds::request::{
    BulkEvent, BulkReader, Procedure, RpcReader, RpcRequest, RpcValue, SqlBatch,
};
use ringwood_tds::tokens::{DoneKind, DoneStatus, EnvChange, command};
use ringwood_tds::{
    ColumnFlags, FixedType, Limits, TdsVersion, TokenWriter, TypeInfo, WireCollation,
};
use types::{SqlError, Value};

fn hex(text: &str) -> Vec<u8> {
    text.split_ascii_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn message(bytes: &[u8]) -> Message {
    let mut input = bytes;
    match MessageReader::new(1 << 16, false).read(&mut input) {
        Ok(Some(Event::Message(message))) if input.is_empty() => message,
        other => panic!("{other:?}, {} bytes left", input.len()),
    }
}

fn calls(message: &Message) -> Vec<RpcRequest> {
    let mut reader = RpcReader::new(&message.payload, TdsVersion::V7_4, Limits::default()).unwrap();
    let mut calls = Vec::new();
    while let Some(call) = reader.next_call().unwrap() {
        calls.push(call);
    }
    let mut again = Vec::new();
    write_calls(&reader.headers(), &calls, TdsVersion::V7_4, &mut again).unwrap();
    assert_eq!(again, message.payload);
    calls
}

#[test]
fn login_request() {
    let bytes =
        hex("10 01 00 90 00 00 01 00 88 00 00 00 02 00 09 72 00 10 00 00 00 00 00 07 00 01 00 00 00 00 00 00
         E0 03 00 00 00 00 00 00 09 04 00 00 5E 00 08 00 6E 00 02 00 72 00 00 00 72 00 07 00 80 00 00 00
         80 00 00 00 80 00 04 00 88 00 00 00 88 00 00 00 00 50 8B E2 B7 8F 88 00 00 00 88 00 00 00 88 00
         00 00 00 00 00 00 73 00 6B 00 6F 00 73 00 74 00 6F 00 76 00 31 00 73 00 61 00 4F 00 53 00 51 00
         4C 00 2D 00 33 00 32 00 4F 00 44 00 42 00 43 00");
    let message = message(&bytes);
    assert_eq!(message.kind, PacketType::Login7);
    let login = Login7::parse(&message.payload).unwrap();
    assert_eq!(login.version, TdsVersion::V7_2);
    assert_eq!(
        (login.host.as_str(), login.user.as_str(), login.app.as_str()),
        ("skostov1", "sa", "OSQL-32")
    );
    assert_eq!((login.library.as_str(), login.password.0.as_str()), ("ODBC", ""));
    assert!(login.options.odbc && login.options.language_fatal && login.options.database_fatal);
    assert_eq!((login.client_version, login.client_pid), (0x0700_0000, 256));
    assert_eq!(login.client_id, [0x00, 0x50, 0x8B, 0xE2, 0xB7, 0x8F]);
    let mut again = Vec::new();
    login.write(&mut again);
    assert_eq!(again, message.payload);
}

#[test]
fn login_response() {
    let bytes =
        hex("04 01 01 61 00 00 01 00 E3 1B 00 01 06 6D 00 61 00 73 00 74 00 65 00 72 00 06 6D 00 61 00 73 00
         74 00 65 00 72 00 AB 58 00 45 16 00 00 02 00 25 00 43 00 68 00 61 00 6E 00 67 00 65 00 64 00 20
         00 64 00 61 00 74 00 61 00 62 00 61 00 73 00 65 00 20 00 63 00 6F 00 6E 00 74 00 65 00 78 00 74
         00 20 00 74 00 6F 00 20 00 27 00 6D 00 61 00 73 00 74 00 65 00 72 00 27 00 2E 00 00 00 00 00 00
         00 E3 08 00 07 05 09 04 D0 00 34 00 E3 17 00 02 0A 75 00 73 00 5F 00 65 00 6E 00 67 00 6C 00 69
         00 73 00 68 00 00 E3 13 00 04 04 34 00 30 00 39 00 36 00 04 34 00 30 00 39 00 36 00 AB 5C 00 47
         16 00 00 01 00 27 00 43 00 68 00 61 00 6E 00 67 00 65 00 64 00 20 00 6C 00 61 00 6E 00 67 00 75
         00 61 00 67 00 65 00 20 00 73 00 65 00 74 00 74 00 69 00 6E 00 67 00 20 00 74 00 6F 00 20 00 75
         00 73 00 5F 00 65 00 6E 00 67 00 6C 00 69 00 73 00 68 00 2E 00 00 00 00 00 00 00 AD 36 00 01 72
         09 00 02 16 4D 00 69 00 63 00 72 00 6F 00 73 00 6F 00 66 00 74 00 20 00 53 00 51 00 4C 00 20 00
         53 00 65 00 72 00 76 00 65 00 72 00 00 00 00 00 00 00 00 00 FD 00 00 00 00 00 00 00 00 00 00 00
         00");
    let mut buffer = MessageBuffer::new(4096, 0);
    let mut writer = TokenWriter::new(buffer.payload(), TdsVersion::V7_2);
    writer.env_change(EnvChange::Database { new: "master", old: "master" });
    writer.info(&SqlError::new(5701, 0, 2, "Changed database context to 'master'."), "", "");
    writer
        .env_change(EnvChange::Collation { new: WireCollation([9, 4, 0xD0, 0, 0x34]), old: None });
    writer.env_change(EnvChange::Language { new: "us_english", old: "" });
    writer.env_change(EnvChange::PacketSize { new: 4096, old: 4096 });
    writer.info(&SqlError::new(5703, 0, 1, "Changed language setting to us_english."), "", "");
    writer.login_ack(TdsVersion::V7_2.number(), "Microsoft SQL Server\0\0", (0, 0, 0));
    writer.done(DoneKind::Done, DoneStatus::FINAL, 0, None);
    let mut out = Vec::new();
    buffer.finish(&mut out);
    assert_eq!(out, bytes);
    let tokens = TokenReader::read_all(&message(&bytes).payload, TdsVersion::V7_2).unwrap();
    assert_eq!(tokens.len(), 8);
    assert!(matches!(&tokens[6], Token::LoginAck { version: 0x7209_0002, .. }));
}

#[test]
fn rpc_request() {
    let bytes =
        hex("03 01 00 2F 00 00 01 00 16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 01 00 00 00 00 04 00
         66 00 6F 00 6F 00 33 00 00 00 00 02 26 02 00");
    let calls = calls(&message(&bytes));
    assert_eq!(calls[0].procedure, Procedure::Name("foo3".into()));
    assert!(calls[0].params[0].default && calls[0].params[0].scalar().is_null());
    assert!(matches!(calls[0].params[0].value, RpcValue::Scalar { ty: TypeInfo::Int(2), .. }));
}

#[test]
fn rpc_response() {
    let bytes =
        hex("04 01 00 27 00 00 01 00 FF 11 00 C1 00 01 00 00 00 00 00 00 00 79 00 00 00 00 FE 00 00 E0 00 00
         00 00 00 00 00 00 00");
    let mut buffer = MessageBuffer::new(4096, 0);
    let mut writer = TokenWriter::new(buffer.payload(), TdsVersion::V7_4);
    writer.done(DoneKind::InProc, DoneStatus::MORE, command::SELECT, Some(1));
    writer.return_status(0);
    writer.done(DoneKind::Proc, DoneStatus::FINAL, command::EXECUTE, None);
    let mut out = Vec::new();
    buffer.finish(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn bulk_load() {
    let bytes =
        hex("07 01 00 26 00 00 01 00 81 01 00 00 00 00 00 05 00 32 02 63 00 31 00 D1 00 FD 00 00 00 00 00 00
         00 00 00 00 00 00");
    let mut reader = BulkReader::new(TdsVersion::V7_4, Limits::default());
    reader.feed(&message(&bytes).payload);
    reader.end();
    let mut row = Vec::new();
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::Columns));
    let column = &reader.columns()[0];
    assert_eq!((column.name.as_str(), column.ty), ("c1", TypeInfo::Fixed(FixedType::Bit)));
    assert_eq!(column.flags, ColumnFlags::NULLABLE.with(ColumnFlags::UPDATABLE));
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::Row));
    assert!(matches!(row[..], [Value::Bit(false)]));
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::End));
}

#[test]
fn table_valued_parameter() {
    let bytes =
        hex("03 01 00 52 00 00 01 00 16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 01 03 00
         66 00 6F 00 6F 00 00 00 00 00 F3 00 03 64 00 62 00 6F 00 07 74 00 76 00 70 00 74 00 79 00 70 00
         65 00 01 00 00 00 00 00 00 00 26 01 00 00 01 01 02 00");
    let calls = calls(&message(&bytes));
    let RpcValue::Table(table) = &calls[0].params[0].value else { panic!("{calls:?}") };
    assert_eq!((table.schema.as_str(), table.type_name.as_str()), ("dbo", "tvptype"));
    assert_eq!(table.columns[0].ty, TypeInfo::Int(1));
    assert!(matches!(table.values[..], [Value::TinyInt(2)]));
}

#[test]
fn sql_batch() {
    // The header is the specification's.
    let mut payload =
        hex("16 00 00 00 12 00 00 00 02 00 00 00 00 00 00 00 00 01 00 00 00 00 0A 00");
    payload.extend(hex("73 00 65 00 6C 00 65 00 63 00 74 00 20 00 31 00 0A 00"));
    let batch = SqlBatch::parse(&payload, TdsVersion::V7_2).unwrap();
    assert_eq!(batch.text, "\nselect 1\n");
    assert_eq!((batch.headers.transaction, batch.headers.outstanding), (0x0100_0000_0000_0000, 0));
}
