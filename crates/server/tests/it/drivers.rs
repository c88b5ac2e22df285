//! What some drivers send and others do not, byte by byte: requests that are withdrawn before their
//! end, calls that are prepared, types and lengths that no value needs.

use crate::support::{Client, TestServer, TokenAnswer};
use engine::{DataType, Value};
use tds::client::{Token, message};
use tds::encode::type_of;
use tds::request::rpc::procedure_id;
use tds::request::{Headers, Procedure, RpcParam, RpcRequest, RpcValue, TableColumn, TableValue};
use tds::tokens::DoneStatus;
use tds::{ColumnFlags, PacketType};

fn nvarchar(text: &str) -> RpcParam {
    RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(text))
}

fn int(n: i32) -> RpcParam {
    RpcParam::new("", type_of(DataType::Int), Value::Int(n))
}

/// The last packet of a message that was begun, which withdraws it.
fn end_ignored(kind: u8) -> [u8; 8] {
    [kind, 0x03, 0, 8, 0, 0, 2, 0]
}

/// The answer is one DONE, which says that the request failed.
fn assert_ignored(client: &mut Client, what: &str) {
    let answer = client.read().unwrap();
    let [Token::Done { status, .. }] = answer.tokens.as_slice() else {
        panic!("{what}: {answer:?}")
    };
    assert!(status.contains(DoneStatus::ERROR), "{what}: {answer:?}");
    assert!(!status.contains(DoneStatus::ATTENTION), "{what}: {answer:?}");
}

#[test]
fn a_message_that_ends_ignored_is_answered() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int)");
    let long = format!("insert t values (1) /* {} */", "x".repeat(3500));
    let batch = client.codec.batch(&long);
    let call = RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), vec![nvarchar(&long)]);
    let mut call = client.codec.rpc(&[call]).unwrap();
    // Only the last packet says that the message ends; the first four kilobytes are enough of it.
    call.truncate(4096);
    for (kind, bytes) in [(0x01, &batch[..4096]), (0x03, &call[..])] {
        client.send(bytes);
        client.send(&end_ignored(kind));
        assert_ignored(&mut client, &format!("message of type {kind}"));
        assert_eq!(client.int("select count(*) from t"), 0);
    }
    // A message that is nothing but its end, and one in a transaction, which stays.
    client.send(&end_ignored(0x0E));
    assert_ignored(&mut client, "a transaction request");
    client.run("begin tran insert t values (2)");
    client.send(&end_ignored(0x01));
    assert_ignored(&mut client, "in a transaction");
    assert_eq!(client.int("select @@trancount"), 1);
    client.run("commit");
    // An attention behind it is answered on its own.
    client.send(&end_ignored(0x01));
    client.send(&client.codec.attention());
    while !client.read().unwrap().is_attention() {}
    assert_eq!(client.int("select count(*) from t"), 1);
}

/// Of a connection that comes out of a pool: the first request of its next user asks for the reset.
#[test]
fn a_request_that_is_withdrawn_resets_the_session_all_the_same() {
    let server = TestServer::start();
    let mut client = server.client();
    let mut first = client.codec.batch(&format!("select 1 /* {} */", "x".repeat(5000)));
    first.truncate(4096);
    first[1] |= 0x08;
    for attention in [false, true] {
        client.run("create table #of_another_user (id int)");
        client.run("set context_info 0x01");
        client.send(&first);
        let answer = if attention {
            client.send(&client.codec.attention());
            client.read().unwrap()
        } else {
            client.send(&end_ignored(0x01));
            client.read().unwrap()
        };
        // The acknowledgement of the reset.
        assert_eq!(answer.env_changes(), [18], "{answer:?}");
        assert_eq!(answer.error_numbers(), [0; 0]);
        assert!(
            answer
                .dones()
                .iter()
                .all(|(status, _)| status.contains(DoneStatus::ERROR) || attention)
        );
        let answered =
            if attention && !answer.is_attention() { client.read().unwrap() } else { answer };
        assert_eq!(answered.is_attention(), attention);
        assert_eq!(
            client.int("select count(*) from tempdb.sys.tables where name like '#of[_]%'"),
            0
        );
        assert_eq!(client.int("select isnull(len(context_info()), 0)"), 0);
    }
}

#[test]
fn a_bulk_load_that_ends_ignored_loads_nothing() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key)");
    let columns = [tds::Column::new("id", type_of(DataType::Int), ColumnFlags::default())];
    let rows: Vec<Vec<Value>> = (0..10_000).map(|n| vec![Value::Int(n)]).collect();
    let bytes = client.codec.bulk(&columns, &rows, true).unwrap();
    for packets in [0, 1, 5] {
        client.run("insert bulk t (id int)");
        client.send(&bytes[..4096 * packets]);
        client.send(&end_ignored(0x07));
        assert_ignored(&mut client, &format!("{packets} packets"));
        assert_eq!(client.int("select count(*) from t"), 0);
    }
    // The load that was announced is over with it.
    client.send(&bytes);
    assert_eq!(client.read().unwrap().error_numbers(), [4022]);
}

fn send_call(client: &mut Client, procedure: Procedure, params: Vec<RpcParam>) -> TokenAnswer {
    let bytes = client.codec.rpc(&[RpcRequest::new(procedure, params)]).unwrap();
    client.send(&bytes);
    client.read().unwrap()
}

#[test]
fn a_call_is_prepared_by_number_and_by_name() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run(
        "create procedure twice @a int, @b int output as set @b = 2 * @a; select @a; return 5",
    );
    for procedure in [
        Procedure::Id(procedure_id::PREP_EXEC_RPC),
        Procedure::Name("sp_prepexecrpc".into()),
        Procedure::Name("sys.sp_prepexecrpc".into()),
    ] {
        let params =
            vec![int(0).output(), nvarchar("{? = CALL dbo.twice(?, ?)}"), int(21), int(0).output()];
        let answer = send_call(&mut client, procedure, params);
        assert!(answer.errors().is_empty(), "{answer:?}");
        assert_eq!(answer.rows(), [[Value::Int(21)]]);
        assert!(answer.tokens.iter().any(|t| matches!(t, Token::ReturnStatus(5))), "{answer:?}");
        let values: Vec<i64> = answer
            .tokens
            .iter()
            .filter_map(|t| {
                if let Token::ReturnValue { value, .. } = t { value.as_i64() } else { None }
            })
            .collect();
        let [handle, 42] = values[..] else { panic!("{answer:?}") };
        let run = Procedure::Id(procedure_id::EXECUTE);
        let answer = send_call(&mut client, run, vec![int(handle as i32), int(4), int(0).output()]);
        assert_eq!(answer.rows(), [[Value::Int(4)]]);
        let end = Procedure::Id(procedure_id::UNPREPARE);
        assert!(send_call(&mut client, end, vec![int(handle as i32)]).errors().is_empty());
    }
}

/// The bytes of a call whose parameters are these bytes.
fn raw_call(client: &Client, name: &str, params: &[&[u8]]) -> Vec<u8> {
    let mut payload = Vec::new();
    Headers { outstanding: 1, ..Headers::default() }.write(client.codec.version, &mut payload);
    payload.extend_from_slice(&(name.len() as u16).to_le_bytes());
    payload.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    payload.extend_from_slice(&[0, 0]);
    params.iter().for_each(|param| payload.extend_from_slice(param));
    message(PacketType::Rpc, &payload, 4096, 0)
}

#[test]
fn a_document_comes_back_as_one() {
    let server = TestServer::start();
    let mut client = server.client();
    client
        .run("create procedure p @x xml output as set @x = concat('<r>', cast(@x as nvarchar(max)), '</r>')");
    let document = || RpcParam::new("", tds::TypeInfo::Xml, Value::str("<a />")).output();
    let text = || vec![nvarchar("exec p @P0 out"), nvarchar("@P0 xml output"), document()];
    for (procedure, params) in [
        (Procedure::Name("p".into()), vec![document()]),
        (Procedure::Id(procedure_id::EXECUTE_SQL), text()),
    ] {
        let answer = send_call(&mut client, procedure, params);
        assert!(answer.errors().is_empty(), "{answer:?}");
        let returned = answer.tokens.iter().find_map(|token| match token {
            Token::ReturnValue { ty: tds::TypeInfo::Xml, value, .. } => Some(value.clone()),
            _ => None,
        });
        assert_eq!(returned, Some(Value::str("<r><a/></r>")), "{answer:?}");
    }
    // What is none is an error, also where nothing looks at it.
    client.run("create procedure q @x xml as select 1");
    let broken = RpcParam::new("", tds::TypeInfo::Xml, Value::str("<a>"));
    let answer = send_call(&mut client, Procedure::Name("q".into()), vec![broken]);
    assert!(!answer.errors().is_empty(), "{answer:?}");
}

#[test]
fn nulls_of_types_of_no_length() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run(
        "create procedure nulls @g uniqueidentifier, @n int, @d decimal(9, 2) as select @g, @n, @d",
    );
    let params: [&[u8]; 3] = [&[0, 0, 0x24, 0, 0], &[0, 0, 0x26, 0, 0], &[0, 0, 0x6C, 0, 0, 0, 0]];
    let call = raw_call(&client, "nulls", &params);
    client.send(&call);
    let answer = client.read().unwrap();
    assert!(answer.errors().is_empty(), "{answer:?}");
    assert_eq!(answer.rows(), [[Value::Null, Value::Null, Value::Null]]);
    // A value of no length is none.
    let call = raw_call(&client, "nulls", &[&[0, 0, 0x26, 0, 4, 1, 0, 0, 0]]);
    client.send(&call);
    assert_eq!(client.read().unwrap().error_numbers(), [8016]);
}

#[test]
fn loads_as_drivers_describe_them() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (at time(0), price decimal(9, 2), id uniqueidentifier)");
    client.run("insert bulk t (at varchar(16), price decimal(9, 2), id uniqueidentifier)");
    // Texts of no length, a decimal of a length that none has, a row count of four bytes.
    let mut load = vec![0x81, 3, 0];
    let columns: [&[u8]; 3] = [&[0xA7, 0, 0, 9, 4, 0xD0, 0, 0x34], &[0x6A, 38, 9, 2], &[0x24, 0]];
    for described in columns {
        load.extend_from_slice(&[0, 0, 0, 0, 1, 0]);
        load.extend_from_slice(described);
        load.extend_from_slice(&[1, b'c', 0]);
    }
    load.extend_from_slice(b"\xD1\x08\x0012:34:56\x05\x01\x7B\0\0\0\0");
    load.extend_from_slice(b"\xD1\xFF\xFF\0\0");
    load.extend_from_slice(&[0xFD, 0, 0, 0, 0, 0, 0, 0, 0]);
    client.send(&message(PacketType::BulkLoad, &load, 4096, 0));
    let answer = client.read().unwrap();
    assert!(answer.errors().is_empty(), "{answer:?}");
    let text = "select concat_ws('|', at, price) from t order by price desc";
    let found: Vec<String> =
        client.batch(text).rows().iter().map(|row| row[0].to_string()).collect();
    assert_eq!(found, ["12:34:56|1.23", ""]);
}

#[test]
fn tables_as_drivers_describe_them() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create type lines as table (word varchar(10), price decimal(9, 2))");
    client.run("create procedure p @l lines readonly as select word, price from @l");
    // No value needs a precision.
    let price = tds::TypeInfo::Decimal { precision: 0, scale: 0, numeric: true };
    let column =
        |ty| TableColumn { user_type: 0, flags: ColumnFlags::NULLABLE, ty, default: false };
    let table = TableValue {
        schema: "dbo".into(),
        type_name: "lines".into(),
        columns: vec![column(type_of(DataType::NVarChar(types::Len::N(10)))), column(price)],
        column_order: Vec::new(),
        // A character that the column's code page has not.
        values: vec![Value::str("a\u{3bb}"), Value::Null],
    };
    let param = RpcParam {
        name: "@l".into(),
        by_ref: false,
        default: false,
        value: RpcValue::Table(table),
    };
    let answer = send_call(&mut client, Procedure::Name("p".into()), vec![param]);
    assert!(answer.errors().is_empty(), "{answer:?}");
    assert_eq!(answer.rows(), [[Value::str("a?"), Value::Null]]);
}

#[test]
fn the_order_of_rows_is_told_behind_their_columns() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (a int primary key, b int, c varchar(10))");
    client.run("insert t values (1, 5, 'x'), (2, 4, 'y')");
    for (text, order) in [
        ("select a, b from t order by b desc, a", Some(vec![2, 1])),
        ("select top (1) a, b as n from t order by n", Some(vec![2])),
        ("select c, a from t order by 2 offset 1 rows", Some(vec![2])),
        ("select a from t where a = 1 order by a", Some(vec![1])),
        ("select a from t union select b from t order by a", Some(vec![1])),
        ("select a from t order by b", None),
        ("select a from t", None),
        ("select a, (select max(b) from t) from t order by a", Some(vec![1])),
        ("select a from t order by a for xml raw", None),
    ] {
        let tokens = client.batch(text).tokens;
        let at = tokens.iter().position(|token| matches!(token, Token::Columns(_))).unwrap();
        let told = match &tokens[at + 1] {
            Token::Order(columns) => Some(columns.clone()),
            _ => None,
        };
        assert_eq!(told, order, "{text}: {tokens:?}");
        let all = tokens.iter().filter(|token| matches!(token, Token::Order(_))).count();
        assert_eq!(all, usize::from(order.is_some()), "{text}: {tokens:?}");
    }
}
