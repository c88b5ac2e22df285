//! What some drivers send and others do not, byte by byte: requests that are withdrawn before their end, calls that are prepared,
//! types and lengths that no value needs.

mod support;

use engine::{DataType, Value};
use support::{Answer, Client, TestServer};
use tds::client::{Token, message};
use tds::encode::type_of;
use tds::request::rpc::procedure_id;
use tds::request::{Procedure, RpcParam, RpcRequest};
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
    let [Token::Done { status, .. }] = answer.tokens.as_slice() else { panic!("{what}: {answer:?}") };
    assert!(status.contains(DoneStatus::ERROR), "{what}: {answer:?}");
    assert!(!status.contains(DoneStatus::ATTENTION), "{what}: {answer:?}");
}

#[test]
fn a_message_that_ends_ignored_is_answered() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int)");
    let long = format!("insert t values (1) /* {} */", "x".repeat(5000));
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

fn send_call(client: &mut Client, procedure: Procedure, params: Vec<RpcParam>) -> Answer {
    let bytes = client.codec.rpc(&[RpcRequest::new(procedure, params)]).unwrap();
    client.send(&bytes);
    client.read().unwrap()
}

#[test]
fn a_call_is_prepared_by_number_and_by_name() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create procedure twice @a int, @b int output as set @b = 2 * @a; select @a; return 5");
    for procedure in [
        Procedure::Id(procedure_id::PREP_EXEC_RPC),
        Procedure::Name("sp_prepexecrpc".into()),
        Procedure::Name("sys.sp_prepexecrpc".into()),
    ] {
        let params = vec![int(0).output(), nvarchar("{? = CALL dbo.twice(?, ?)}"), int(21), int(0).output()];
        let answer = send_call(&mut client, procedure, params);
        assert!(answer.errors().is_empty(), "{answer:?}");
        assert_eq!(answer.rows(), [[Value::Int(21)]]);
        assert!(answer.tokens.iter().any(|t| matches!(t, Token::ReturnStatus(5))), "{answer:?}");
        let values: Vec<i64> = answer
            .tokens
            .iter()
            .filter_map(|t| if let Token::ReturnValue { value, .. } = t { value.as_i64() } else { None })
            .collect();
        let [handle, 42] = values[..] else { panic!("{answer:?}") };
        let run = Procedure::Id(procedure_id::EXECUTE);
        let answer = send_call(&mut client, run, vec![int(handle as i32), int(4), int(0).output()]);
        assert_eq!(answer.rows(), [[Value::Int(4)]]);
        let end = Procedure::Id(procedure_id::UNPREPARE);
        assert!(send_call(&mut client, end, vec![int(handle as i32)]).errors().is_empty());
    }
}
