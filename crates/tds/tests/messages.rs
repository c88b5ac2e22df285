//! Packets, login and requests, in both directions.

use ringwood_tds as tds;
use ringwood_tds::client::{ClientCodec, Token, TokenReader, message};
use ringwood_tds::login::{Feature, Login7, feature};
use ringwood_tds::packet::{Event, Message, MessageBuffer, MessageReader, PacketType, status};
use ringwood_tds::prelogin::{AfterPrelogin, Encryption, Prelogin, ServerEncryption};
use ringwood_tds::request::rpc::procedure_id;
use ringwood_tds::request::{
    Begin, Headers, Procedure, RpcParam, RpcReader, RpcRequest, RpcValue, SqlBatch, TableColumn, TableValue,
    TransactionRequest,
};
use ringwood_tds::tokens::{ColumnSource, DoneKind, DoneStatus, EnvChange, ReturnValue, command};
use ringwood_tds::{ColumnFlags, Limits, Size, TdsError, TdsVersion, TokenWriter, TypeInfo, WireCollation};
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

#[test]
fn packets_of_every_size_carry_messages_of_every_length() {
    for size in [512, 513, 4096, 32767] {
        for len in [0, 1, size - 9, size - 8, size - 7, 2 * (size - 8), 3 * size, 70_000] {
            let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let bytes = message(PacketType::SqlBatch, &payload, size, status::RESET_CONNECTION);
            let packets = len.div_ceil(size - 8).max(1);
            assert_eq!(bytes.len(), len + 8 * packets, "only as many packets as needed");
            let got = one_message(&bytes);
            assert_eq!(
                (got.kind, got.resets(), got.keeps_transaction()),
                (PacketType::SqlBatch, true, false)
            );
            assert_eq!(got.payload, payload);
        }
    }
}

#[test]
fn a_header_byte_for_byte() {
    let mut buffer = MessageBuffer::new(4096, 0x0133);
    buffer.payload().extend_from_slice(b"xy");
    let mut out = Vec::new();
    buffer.finish(&mut out);
    assert_eq!(out, [0x04, 0x01, 0x00, 0x0A, 0x01, 0x33, 0x01, 0x00, b'x', b'y']);
    assert!(!buffer.has_started());
}

#[test]
fn packets_go_out_while_a_message_is_made() {
    let mut buffer = MessageBuffer::new(512, 1);
    let mut out = Vec::new();
    buffer.payload().resize(504, 1);
    assert_eq!(buffer.take_full(&mut out), 0, "the last packet must not be empty");
    buffer.payload().push(2);
    assert_eq!(buffer.take_full(&mut out), 512);
    assert_eq!((out[1], buffer.pending(), buffer.has_started()), (0, 1, true));
    for _ in 0..300 {
        let len = buffer.pending() + 504;
        buffer.payload().resize(len, 3);
        buffer.take_full(&mut out);
    }
    assert!(buffer.has_started(), "also after 256 packets");
    buffer.finish(&mut out);
    let got = one_message(&out);
    assert_eq!(got.payload.len(), 505 + 300 * 504);
    assert_eq!(out[512 * 255 + 6], 0, "packet numbers are taken modulo 256");
}

#[test]
fn bytes_may_arrive_one_by_one() {
    let mut bytes = message(PacketType::Rpc, &[7; 1000], 512, 0);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    let mut reader = MessageReader::new(1000, false);
    let mut got = Vec::new();
    for byte in &bytes {
        let mut input = std::slice::from_ref(byte);
        if let Some(Event::Message(message)) = reader.read(&mut input).unwrap() {
            got.push((message.kind, message.payload.len()));
        }
    }
    assert_eq!(got, [(PacketType::Rpc, 1000), (PacketType::Attention, 0)]);
}

#[test]
fn wrong_packets_are_refused() {
    fn read(mut bytes: &[u8]) -> Result<Option<Event<'_>>, TdsError> {
        MessageReader::new(100, false).read(&mut bytes)
    }
    assert!(matches!(read(&[9, 1, 0, 8, 0, 0, 1, 0]), Err(TdsError::Packet(_))), "type");
    assert!(matches!(read(&[1, 1, 0, 7, 0, 0, 1, 0]), Err(TdsError::Packet(_))), "length");
    assert!(matches!(read(&[1, 1, 0xFF, 0xFF, 0, 0, 1, 0]), Err(TdsError::Packet(_))), "too long");
    let two_types = [1, 0, 0, 9, 0, 0, 1, 0, b'x', 3, 1, 0, 9, 0, 0, 2, 0, b'y'];
    assert!(matches!(read(&two_types), Err(TdsError::Packet(_))));
    let long = message(PacketType::SqlBatch, &[0; 101], 4096, 0);
    assert_eq!(read(&long), Err(TdsError::TooLarge { what: "a message", limit: 100 }));
}

#[test]
fn withdrawn_messages() {
    let mut buffer = MessageBuffer::of_kind(PacketType::SqlBatch, 512, 0);
    buffer.payload().resize(2000, 0);
    let mut out = Vec::new();
    buffer.take_full(&mut out);
    buffer.finish_ignored(&mut out);
    assert!(one_message(&out).ignored);

    // An attention in the middle of a message takes its place.
    let mut bytes = Vec::new();
    buffer.payload().resize(2000, 0);
    buffer.take_full(&mut bytes);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    assert_eq!(one_message(&bytes).kind, PacketType::Attention);

    // In the middle of a bulk load that is streamed, its end comes first.
    let mut buffer = MessageBuffer::of_kind(PacketType::BulkLoad, 512, 0);
    buffer.payload().resize(600, 0);
    let mut bytes = Vec::new();
    buffer.take_full(&mut bytes);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    let mut reader = MessageReader::new(0, true);
    let mut input = &bytes[..];
    let mut seen = Vec::new();
    while let Some(event) = reader.read(&mut input).unwrap() {
        seen.push(match event {
            Event::Bulk { bytes, last, ignored, .. } => (bytes.len(), last, ignored),
            Event::Message(message) => (usize::from(message.kind.byte()), true, false),
        });
    }
    assert_eq!(seen, [(504, false, false), (0, true, true), (6, true, false)]);
}

#[test]
fn bulk_data_is_streamed_beyond_the_limit() {
    let payload: Vec<u8> = (0..5000).map(|i| i as u8).collect();
    let bytes = message(PacketType::BulkLoad, &payload, 512, 0);
    let mut reader = MessageReader::new(10, true);
    let (mut got, mut ends) = (Vec::new(), 0);
    for piece in bytes.chunks(100) {
        let mut input = piece;
        while let Some(event) = reader.read(&mut input).unwrap() {
            let Event::Bulk { bytes, last, ignored, .. } = event else { panic!("{event:?}") };
            got.extend_from_slice(bytes);
            ends += usize::from(last);
            assert!(!ignored);
        }
    }
    assert_eq!((got, ends), (payload, 1));
    assert!(!reader.is_mid_message());
}

#[test]
fn prelogin_byte_for_byte() {
    // VERSION, ENCRYPTION on, INSTOPT, THREADID, MARS, FEDAUTHREQUIRED, as drivers send them.
    let payload = [
        0, 0, 31, 0, 6, 1, 0, 37, 0, 1, 2, 0, 38, 0, 1, 3, 0, 39, 0, 4, 4, 0, 43, 0, 1, 6, 0, 44, 0, 1,
        0xFF, //
        18, 0, 0, 1, 0, 0, 1, 0, 0, 0, 4, 0xD2, 0, 1,
    ];
    let client = Prelogin::parse(&payload).unwrap();
    assert_eq!(client.encryption, Some(Encryption::On));
    assert_eq!((client.thread, client.mars, client.fed_auth_required), (Some(1234), Some(false), Some(true)));
    let (reply, after) = client.reply(ServerEncryption::Optional, (16, 0, 1000));
    assert_eq!(after, AfterPrelogin::Everything);
    let mut out = Vec::new();
    reply.write(&mut out);
    let expected = [
        0, 0, 31, 0, 6, 1, 0, 37, 0, 1, 2, 0, 38, 0, 1, 3, 0, 39, 0, 0, 4, 0, 39, 0, 1, 6, 0, 40, 0, 1,
        0xFF, //
        16, 0, 3, 0xE8, 0, 0, 1, 0, 0, 0,
    ];
    assert_eq!(out, expected);
    assert_eq!(Prelogin::parse(&out).unwrap(), reply);
    for cut in 0..payload.len() {
        assert!(Prelogin::parse(&payload[..cut]).is_err(), "{cut} bytes");
    }
}

#[test]
fn the_encryption_matrix() {
    use AfterPrelogin::{Everything, Impossible, LoginOnly, Plain};
    use Encryption::{NotSupported, Off, On, Required};
    let table = [
        (Off, [(Off, LoginOnly), (Required, Everything), (NotSupported, Plain)]),
        (On, [(On, Everything), (On, Everything), (NotSupported, Impossible)]),
        (NotSupported, [(NotSupported, Plain), (Required, Impossible), (NotSupported, Plain)]),
        (Required, [(On, Everything), (On, Everything), (NotSupported, Impossible)]),
    ];
    let servers = [ServerEncryption::Optional, ServerEncryption::Forced, ServerEncryption::Unavailable];
    for (client, answers) in table {
        for (server, answer) in servers.into_iter().zip(answers) {
            assert_eq!(server.answer(client), answer, "{client:?} to {server:?}");
        }
    }
    assert_eq!(Encryption::from_byte(0x81), Some(On), "the bit of a client certificate");
    assert_eq!(Encryption::from_byte(4), Some(Required), "go-mssqldb under TDS 8.0");
}

#[test]
fn logins_of_every_version() {
    for version in VERSIONS {
        let mut login = Login7::new(version, "sa", "p\u{e4}ss {w}\u{1F600}");
        login.host = "box".into();
        login.app = "tests".into();
        login.server = "tcp:host,1433".into();
        login.library = "raw".into();
        login.language = "us_english".into();
        login.database = "shop".into();
        login.packet_size = 8000;
        login.options.read_only_intent = true;
        login.client_id = [1, 2, 3, 4, 5, 6];
        if version >= TdsVersion::V7_4 {
            login.features = vec![
                Feature { id: feature::UTF8_SUPPORT, data: vec![1] },
                Feature { id: feature::SESSION_RECOVERY, data: Vec::new() },
            ];
        }
        let bytes = ClientCodec::new(version).login(&login);
        let message = one_message(&bytes);
        assert_eq!(message.kind, PacketType::Login7);
        let parsed = Login7::parse(&message.payload).unwrap();
        assert_eq!(parsed, login, "{version:?}");
        parsed.check_supported().unwrap();
        assert!(!format!("{parsed:?}").contains("{w}"), "a password is never shown");
        for cut in 0..message.payload.len() {
            assert!(Login7::parse(&message.payload[..cut]).is_err(), "{version:?}: {cut} bytes");
        }
    }
}

#[test]
fn a_login_byte_for_byte() {
    let mut login = Login7::new(TdsVersion::V7_4, "sa", "a");
    login.options = Default::default();
    let mut out = Vec::new();
    login.write(&mut out);
    assert_eq!(out.len(), 94 + 4 + 2);
    assert_eq!(out[..8], [100, 0, 0, 0, 0x04, 0x00, 0x00, 0x74]);
    assert_eq!(out[40..48], [94, 0, 2, 0, 98, 0, 1, 0], "user and password");
    // 'a' is 0x0061: the halves of each byte change places, then 0xA5 is added modulo 2.
    assert_eq!(out[94..], [b's', 0, b'a', 0, 0xB3, 0xA5]);
}

#[test]
fn logins_that_are_refused() {
    let login = Login7::new(TdsVersion::V7_4, "u", "p");
    let unsupported = |change: fn(&mut Login7)| {
        let mut login = login.clone();
        change(&mut login);
        let mut out = Vec::new();
        login.write(&mut out);
        matches!(
            Login7::parse(&out).unwrap().check_supported(),
            Err(TdsError::Unsupported(_) | TdsError::IntegratedLogin)
        )
    };
    assert!(unsupported(|l| l.options.integrated_security = true));
    assert!(unsupported(|l| l.attach_file = "x.mdf".into()));
    assert!(unsupported(|l| l.options.user_instance = true));
    assert!(unsupported(|l| l.features.push(Feature { id: feature::FED_AUTH, data: vec![0] })));

    let mut out = Vec::new();
    login.write(&mut out);
    let with = |at: usize, byte: u8| {
        let mut bytes = out.clone();
        bytes[at] = byte;
        Login7::parse(&bytes).map(|_| ())
    };
    assert!(matches!(with(7, 0x70), Err(TdsError::Login(_))), "7.0");
    assert!(matches!(with(24, 0x01), Err(TdsError::Login(_))), "big-endian");
    assert!(matches!(with(42, 200), Err(TdsError::Login(_))), "a name of 200 characters");
    assert!(matches!(with(41, 9), Err(TdsError::Login(_))), "a field outside");
}

#[test]
fn packet_sizes_and_acknowledged_versions() {
    let mut login = Login7::new(TdsVersion::V7_4, "", "");
    for (asked, given) in [(0, 4096), (1, 512), (8000, 8000), (1 << 20, 32767)] {
        login.packet_size = asked;
        assert_eq!(login.negotiated_packet_size(4096), given);
    }
    let cases = [
        (0x7100_0000, Some(TdsVersion::V7_1)),
        (0x7209_0002, Some(TdsVersion::V7_2)),
        (0x730A_0003, Some(TdsVersion::V7_3A)),
        (0x730B_0003, Some(TdsVersion::V7_3B)),
        (0x7400_0004, Some(TdsVersion::V7_4)),
        (0x0800_0000, Some(TdsVersion::V8_0)),
        (0x7500_0000, Some(TdsVersion::V7_4)),
        (0x7000_0000, None),
        (0x0402_0000, None),
    ];
    for (number, version) in cases {
        assert_eq!(TdsVersion::negotiate(number), version, "{number:x}");
    }
    login.version_number = 0x7100_0000;
    login.version = TdsVersion::V7_1;
    assert_eq!(login.ack_number(), 0x0701_0000);
}

#[test]
fn batches() {
    for version in VERSIONS {
        let mut client = ClientCodec::new(version);
        client.transaction = 0x1122_3344_5566_7788;
        let message = one_message(&client.batch("select N'\u{20ac}\u{1F600}'"));
        let batch = SqlBatch::parse(&message.payload, version).unwrap();
        assert_eq!(batch.text, "select N'\u{20ac}\u{1F600}'");
        let transaction = if version >= TdsVersion::V7_2 { client.transaction } else { 0 };
        assert_eq!(batch.headers.transaction, transaction);
    }
    let mut out = Vec::new();
    let headers = Headers { transaction: 1, outstanding: 1, ..Headers::default() };
    SqlBatch { headers, text: "a".into() }.write(TdsVersion::V7_4, &mut out);
    let expected = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'a', 0];
    assert_eq!(out, expected);
    for (at, byte) in [(0, 3), (0, 200), (4, 17), (4, 3), (8, 9)] {
        let mut wrong = out.clone();
        wrong[at] = byte;
        assert!(SqlBatch::parse(&wrong, TdsVersion::V7_4).is_err(), "byte {at} = {byte}");
    }
}

#[test]
fn an_rpc_byte_for_byte() {
    // sp_executesql by number: N'select 1' in nvarchar(4000) and an OUTPUT int named @p.
    let mut payload = vec![0xFF, 0xFF, 10, 0, 0, 0];
    payload.extend([0, 0, 0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34, 4, 0, b's', 0, b'x', 0]);
    payload.extend([2, b'@', 0, b'p', 0, 1, 0x26, 4, 4, 42, 0, 0, 0]);
    payload.extend([0xFF, 3, 0, b'd', 0, b'.', 0, b'p', 0, 1, 0, 0, 2, 0x1F]);
    let mut with_headers = Vec::new();
    Headers { outstanding: 1, ..Headers::default() }.write(TdsVersion::V7_4, &mut with_headers);
    with_headers.extend(&payload);
    let mut reader = RpcReader::new(&with_headers, TdsVersion::V7_4, Limits::default()).unwrap();
    let first = reader.next_call().unwrap().unwrap();
    assert_eq!(first.procedure, Procedure::Id(procedure_id::EXECUTE_SQL));
    assert_eq!(first.procedure.name(), Some("sp_executesql"));
    assert_eq!(first.params[0].scalar().as_str(), Some("sx"));
    assert_eq!((first.params[1].name.as_str(), first.params[1].by_ref), ("@p", true));
    assert_eq!(first.params[1].scalar().as_i64(), Some(42));
    assert!(reader.has_more());
    let second = reader.next_call().unwrap().unwrap();
    assert_eq!(second.procedure, Procedure::Name("d.p".into()));
    assert!(second.recompile && second.params[0].default && second.params[0].scalar().is_null());
    assert!(!reader.has_more() && reader.next_call().unwrap().is_none());
}

fn sample_call(version: TdsVersion) -> RpcRequest {
    let nvarchar = TypeInfo::NVarChar(Size::Bytes(8000), WireCollation::DATABASE);
    let mut params = vec![
        RpcParam::new("", nvarchar, Value::str("select @a")),
        RpcParam::new("@a", TypeInfo::NText(WireCollation::DATABASE), Value::str("old")),
        RpcParam::new("@b", TypeInfo::Int(4), Value::Null).output(),
        RpcParam::new("@c", TypeInfo::Null, Value::Null),
        RpcParam::new(
            "@d",
            TypeInfo::Variant,
            types::variant::of(Value::str("v"), types::DataType::SqlVariant, types::Collation::DEFAULT),
        ),
    ];
    if version >= TdsVersion::V7_3A {
        let column = |ty, default| TableColumn { user_type: 0, flags: ColumnFlags::NULLABLE, ty, default };
        let table = TableValue {
            schema: "dbo".into(),
            type_name: "ids".into(),
            columns: vec![
                column(TypeInfo::Int(8), false),
                column(TypeInfo::Bit, true),
                column(nvarchar, false),
            ],
            column_order: Vec::new(),
            values: vec![
                Value::BigInt(1),
                Value::Null,
                Value::str("one"),
                Value::BigInt(2),
                Value::Null,
                Value::Null,
            ],
        };
        let param =
            RpcParam { name: "@t".into(), by_ref: false, default: false, value: RpcValue::Table(table) };
        params.push(param);
    }
    RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params)
}

#[test]
fn calls_of_every_version() {
    for version in VERSIONS {
        let mut described = RpcRequest::new(Procedure::Name("p".into()), Vec::new());
        described.no_execute = version >= TdsVersion::V7_2;
        let calls = [sample_call(version), described, sample_call(version)];
        let message = one_message(&ClientCodec::new(version).rpc(&calls).unwrap());
        let mut reader = RpcReader::new(&message.payload, version, Limits::default()).unwrap();
        for call in &calls {
            let got = reader.next_call().unwrap().unwrap();
            assert_eq!(format!("{got:?}"), format!("{call:?}"), "{version:?}");
        }
        assert!(!reader.has_more());
    }
}

#[test]
fn a_null_table() {
    let table = TableValue { type_name: "ids".into(), ..TableValue::default() };
    let param = RpcParam { name: "@t".into(), by_ref: false, default: false, value: RpcValue::Table(table) };
    let call = RpcRequest::new(Procedure::Name("p".into()), vec![param]);
    let message = one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(std::slice::from_ref(&call)).unwrap());
    let mut reader = RpcReader::new(&message.payload, TdsVersion::V7_4, Limits::default()).unwrap();
    let got = reader.next_call().unwrap().unwrap();
    let RpcValue::Table(table) = &got.params[0].value else { panic!("{got:?}") };
    assert_eq!((table.columns.len(), table.rows().count()), (0, 0));
}

#[test]
fn errors_name_the_parameter() {
    let int = RpcParam::new("@n", TypeInfo::Int(4), Value::Int(1));
    let call = RpcRequest::new(Procedure::Name("p".into()), vec![int.clone(), int.clone()]);
    let mut payload = one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(&[call]).unwrap()).payload;
    let at = payload.len() - 7;
    assert_eq!(payload[at], 0x26);
    payload[at] = 0x99;
    let mut reader = RpcReader::new(&payload, TdsVersion::V7_4, Limits::default()).unwrap();
    let error = reader.next_call().unwrap_err().to_sql_error();
    assert_eq!(error.number, 8009);
    assert_eq!(
        error.message,
        "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. \
         Parameter 2 (\"@n\"): Data type 0x99 is unknown."
    );
    assert!(!reader.has_more(), "what follows is not known");

    let many = RpcRequest::new(Procedure::Name("p".into()), vec![int.clone(); 2101]);
    let payload = one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(&[many]).unwrap()).payload;
    let mut reader = RpcReader::new(&payload, TdsVersion::V7_4, Limits::default()).unwrap();
    assert_eq!(reader.next_call().unwrap_err().to_sql_error().number, 8003);

    let few = RpcRequest::new(Procedure::Name("p".into()), vec![int; 100]);
    let payload = one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(&[few]).unwrap()).payload;
    let mut reader = RpcReader::new(&payload, TdsVersion::V7_4, Limits { memory: 1000 }).unwrap();
    assert_eq!(reader.next_call().unwrap_err().to_sql_error().number, 701);
}

#[test]
fn transaction_requests() {
    let name = || "t\u{e4}".to_owned();
    let begin = Begin { isolation: 5, name: name() };
    let requests = [
        TransactionRequest::Begin(begin.clone()),
        TransactionRequest::Commit { name: String::new(), then: None },
        TransactionRequest::Commit { name: name(), then: Some(begin.clone()) },
        TransactionRequest::Rollback { name: name(), then: Some(Begin::default()) },
        TransactionRequest::Save { name: name() },
    ];
    for version in VERSIONS {
        for request in &requests {
            let message = one_message(&ClientCodec::new(version).transaction(request));
            assert_eq!(message.kind, PacketType::TransactionManager);
            let (_, got) = TransactionRequest::parse(&message.payload, version).unwrap();
            assert_eq!(got, *request);
            for cut in 0..message.payload.len() {
                assert!(TransactionRequest::parse(&message.payload[..cut], version).is_err());
            }
        }
    }
    let parse = |bytes: &[u8]| TransactionRequest::parse(bytes, TdsVersion::V7_1);
    assert_eq!(parse(&[5, 0, 2, 2, b'x', 0]).unwrap().1, {
        TransactionRequest::Begin(Begin { isolation: 2, name: "x".into() })
    });
    assert!(matches!(parse(&[6, 0]), Err(TdsError::Unsupported(_))), "promotion");
    assert!(parse(&[5, 0, 6, 0]).is_err(), "isolation level 6");
    assert!(parse(&[77, 0]).is_err());
}

#[test]
fn tokens_byte_for_byte() {
    let mut out = Vec::new();
    let mut check = |write: &dyn Fn(&mut TokenWriter<'_>), version, expected: &[u8]| {
        out.clear();
        write(&mut TokenWriter::new(&mut out, version));
        assert_eq!(out, expected);
    };
    let coll = WireCollation([9, 4, 0xD0, 0, 0x34]);
    let v = TdsVersion::V7_4;
    let collation = [0xE3, 8, 0, 7, 5, 9, 4, 0xD0, 0, 0x34, 0];
    check(&|w| w.env_change(EnvChange::Collation { new: coll, old: None }), v, &collation);
    check(
        &|w| w.env_change(EnvChange::Database { new: "ab", old: "m" }),
        v,
        &[0xE3, 9, 0, 1, 2, b'a', 0, b'b', 0, 1, b'm', 0],
    );
    check(
        &|w| w.env_change(EnvChange::PacketSize { new: 800, old: 4096 }),
        v,
        &[0xE3, 17, 0, 4, 3, b'8', 0, b'0', 0, b'0', 0, 4, b'4', 0, b'0', 0, b'9', 0, b'6', 0],
    );
    check(
        &|w| w.env_change(EnvChange::BeginTransaction(7)),
        v,
        &[0xE3, 11, 0, 8, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    check(
        &|w| w.env_change(EnvChange::RollbackTransaction(7)),
        v,
        &[0xE3, 11, 0, 10, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0],
    );
    check(&|w| w.env_change(EnvChange::CommitTransaction(7)), TdsVersion::V7_1, &[]);
    check(&|w| w.env_change(EnvChange::ResetAck), v, &[0xE3, 3, 0, 18, 0, 0]);
    let done = |w: &mut TokenWriter<'_>| {
        w.done(DoneKind::InProc, DoneStatus::MORE, command::SELECT, Some(258));
    };
    check(&done, v, &[0xFF, 0x11, 0, 0xC1, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    check(&done, TdsVersion::V7_1, &[0xFF, 0x11, 0, 0xC1, 0, 2, 1, 0, 0]);
    let error = SqlError::new(208, 16, 1, "no").at_line(3);
    let body = [208, 0, 0, 0, 1, 16, 2, 0, b'n', 0, b'o', 0, 1, b's', 0, 0, 3, 0];
    let mut old = vec![0xAA, 18, 0];
    old.extend(body);
    check(&|w| w.error(&error, "s", ""), TdsVersion::V7_1, &old);
    let mut new = vec![0xAB, 20, 0];
    new.extend(body);
    new.extend([0, 0]);
    check(&|w| w.info(&error, "s", ""), v, &new);
    check(&|w| w.login_ack(0x7400_0004, "M", (16, 0, 1000)), v, &{
        [0xAD, 12, 0, 1, 0x74, 0, 0, 4, 1, b'M', 0, 16, 0, 3, 0xE8]
    });
    check(&|w| w.feature_ext_ack(&[(10, &[1])]), v, &[0xAE, 10, 1, 0, 0, 0, 1, 0xFF]);
    check(&|w| w.return_status(-6), v, &[0x79, 0xFA, 0xFF, 0xFF, 0xFF]);
    check(&|w| w.order(&[1, 3]), v, &[0xA9, 4, 0, 1, 0, 3, 0]);
    check(&|w| w.no_columns(), v, &[0x81, 0xFF, 0xFF]);
    let value = ReturnValue {
        ordinal: 2,
        name: "@h",
        is_function_result: false,
        user_type: 0,
        flags: ColumnFlags::default(),
        ty: TypeInfo::Int(4),
        value: &Value::Int(5),
    };
    let expected = [0xAC, 2, 0, 2, b'@', 0, b'h', 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4, 5, 0, 0, 0];
    check(&|w| w.return_value(&value).unwrap(), v, &expected);
}

#[test]
fn an_answer_comes_back_as_data() {
    for version in VERSIONS {
        let mut out = Vec::new();
        let mut writer = TokenWriter::new(&mut out, version);
        let long = SqlError::new(50000, 16, 1, "\u{20ac}".repeat(40_000));
        writer.error(&long, &"s".repeat(300), "p");
        let table = vec!["db".to_owned(), "dbo".to_owned(), "t".to_owned()];
        writer.table_names(std::slice::from_ref(&table));
        let base_name = Some("x".to_owned());
        let source =
            ColumnSource { column: 1, table: 1, expression: false, key: true, hidden: false, base_name };
        writer.column_sources(std::slice::from_ref(&source));
        writer.done(DoneKind::Done, DoneStatus::ERROR, 0, None);
        let tokens = TokenReader::read_all(&out, version).unwrap();
        let [Token::Error(error), Token::TableNames(tables), Token::ColumnSources(sources), last] =
            &tokens[..]
        else {
            panic!("{tokens:?}")
        };
        assert_eq!((error.message.chars().count(), error.server.len()), (16_000, 255));
        assert_eq!((tables, sources), (&vec![table], &vec![source]));
        assert!(matches!(last, Token::Done { status: DoneStatus::ERROR, rows: 0, .. }));
        assert!(TokenReader::read_all(&[0x42], version).is_err());
        let _ = tds::Budget::new(Limits::default());
    }
}
