//! Batches, calls and transaction requests.

use super::*;

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
            types::variant::of(
                Value::str("v"),
                types::DataType::SqlVariant,
                types::Collation::DEFAULT,
            ),
        ),
    ];
    if version >= TdsVersion::V7_3A {
        let column =
            |ty, default| TableColumn { user_type: 0, flags: ColumnFlags::NULLABLE, ty, default };
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
        let param = RpcParam {
            name: "@t".into(),
            by_ref: false,
            default: false,
            value: RpcValue::Table(table),
        };
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
    let param = RpcParam {
        name: "@t".into(),
        by_ref: false,
        default: false,
        value: RpcValue::Table(table),
    };
    let call = RpcRequest::new(Procedure::Name("p".into()), vec![param]);
    let message =
        one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(std::slice::from_ref(&call)).unwrap());
    let mut reader = RpcReader::new(&message.payload, TdsVersion::V7_4, Limits::default()).unwrap();
    let got = reader.next_call().unwrap().unwrap();
    let RpcValue::Table(table) = &got.params[0].value else { panic!("{got:?}") };
    assert_eq!((table.columns.len(), table.rows().count()), (0, 0));
}

#[test]
fn errors_name_the_parameter() {
    let int = RpcParam::new("@n", TypeInfo::Int(4), Value::Int(1));
    let call = RpcRequest::new(Procedure::Name("p".into()), vec![int.clone(), int.clone()]);
    let mut payload =
        one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(&[call]).unwrap()).payload;
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
fn nulls_of_types_that_take_no_bytes() {
    let call = RpcRequest::new(Procedure::Name("p".into()), Vec::new());
    let payload = one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(&[call]).unwrap()).payload;
    let read = |param: &[u8]| {
        let bytes = [&payload[..], &[0, 0], param].concat();
        let mut reader = RpcReader::new(&bytes, TdsVersion::V7_4, Limits::default()).unwrap();
        reader.next_call().map(|call| call.unwrap().params[0].scalar().clone())
    };
    for id in [0x24, 0x26, 0x68, 0x6D, 0x6E, 0x6F] {
        assert_eq!(read(&[id, 0, 0]).unwrap(), Value::Null, "{id:x}");
        // There is no value of such a type.
        let error = read(&[id, 0, 1, 1]).unwrap_err().to_sql_error();
        assert_eq!(error.number, 8016, "{id:x}: {}", error.message);
    }
    for id in [0x6A, 0x6C] {
        assert_eq!(read(&[id, 0, 18, 2, 0]).unwrap(), Value::Null, "{id:x}");
        assert_eq!(read(&[id, 0, 0, 0, 0]).unwrap(), Value::Null, "{id:x}");
        assert_eq!(
            read(&[id, 0, 18, 2, 5, 1, 1, 0, 0, 0]).unwrap_err().to_sql_error().number,
            8016
        );
    }
    for id in [0xA7, 0xE7, 0xAF, 0xEF] {
        assert_eq!(
            read(&[id, 0, 0, 9, 4, 0xD0, 0, 0x34, 0xFF, 0xFF]).unwrap(),
            Value::Null,
            "{id:x}"
        );
    }
    for id in [0xA5, 0xAD] {
        assert_eq!(read(&[id, 0, 0, 0xFF, 0xFF]).unwrap(), Value::Null, "{id:x}");
    }
}

/// So many bytes, and the most that were taken at once.
struct Bytes {
    left: usize,
    taken: usize,
    most: usize,
}

impl tds::Grant for Bytes {
    fn take(&mut self, bytes: usize) -> bool {
        let enough = bytes <= self.left - self.taken;
        if enough {
            self.taken += bytes;
            self.most = self.most.max(self.taken);
        }
        enough
    }

    fn give_all(&mut self) {
        self.taken = 0;
    }
}

#[test]
fn values_of_a_call_are_granted_until_the_next_one() {
    let ty = tds::encode::type_of(types::DataType::VarChar(types::Len::Max));
    let long = || RpcParam::new("@s", ty, Value::str("x".repeat(70_000)));
    let call = |params: usize| RpcRequest::new(Procedure::Name("p".into()), vec![long(); params]);
    let payload =
        one_message(&ClientCodec::new(TdsVersion::V7_4).rpc(&[call(3), call(3), call(6)]).unwrap());
    let mut memory = Bytes { left: 300_000, taken: 0, most: 0 };
    let mut reader = RpcReader::new(&payload.payload, TdsVersion::V7_4, Limits::default()).unwrap();
    reader.set_grant(&mut memory);
    assert_eq!(reader.next_call().unwrap().unwrap().params.len(), 3);
    assert_eq!(
        reader.next_call().unwrap().unwrap().params.len(),
        3,
        "the first call's values are gone"
    );
    let refused = reader.next_call().unwrap_err();
    assert_eq!((refused.to_sql_error().number, refused.after()), (701, tds::AfterError::Continue));
    assert!(memory.most > 200_000 && memory.most <= 300_000, "{}", memory.most);
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
