//! Crate `client` against the server: batches, calls, prepared statements, transactions and bulk
//! loads, cancelled and failed ones too, over a plain and an encrypted connection.

use std::sync::mpsc;
use std::time::Duration;

use crate::support::{PASSWORD, TestServer};
use client::{
    ClientError, Connection, Encryption, Options, Procedure, RpcParam, RpcRequest, Token, Trust,
};
use client::{TypeInfo, int, text};
use ringwood_server::Encryption as Mode;
use tds::{Size, WireCollation};
use types::Value;

fn connect(server: &TestServer, encryption: Encryption) -> Result<Connection, ClientError> {
    let mut options = Options::new("127.0.0.1", server.address.port(), "sa", PASSWORD);
    options.encryption = encryption;
    options.trust = Trust::Any;
    options.database = "tempdb".into();
    Connection::connect(&options)
}

fn value(client: &mut Connection, query: &str) -> Value {
    client.query(query).unwrap().into_rows().next().unwrap().remove(0)
}

/// The number and line of the server's error.
fn error<T>(result: Result<T, ClientError>) -> (i32, u32) {
    match result {
        Err(ClientError::Server(e)) => (e.number, e.line),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn an_answer_is_kept_with_all_that_it_has() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    let reply = client
        .query("print 'one'; select 1 as a, N'two' as b where 1 = 0; select 3 as c union all select 4; raiserror('five', 5, 1)")
        .unwrap();
    assert_eq!(reply.results.len(), 2);
    assert_eq!(
        reply.results[0].columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert!(reply.results[0].rows.is_empty());
    assert_eq!(reply.results[1].rows, [[Value::Int(3)], [Value::Int(4)]]);
    let said: Vec<_> = reply.messages.iter().map(|m| (&*m.message, m.severity)).collect();
    assert_eq!(said, [("one", 0), ("five", 5)]);
    assert_eq!((reply.count, reply.status), (Some(2), None));

    assert_eq!(
        error(client.query("select 1;\n\nselect 1 / 0; raiserror('later', 16, 1)")),
        (8134, 3)
    );
    assert_eq!(
        client.query("create table #t (a int); insert #t values (1), (2)").unwrap().count,
        Some(2)
    );
    assert_eq!(value(&mut client, "select sum(a) from #t"), Value::Int(3));
}

#[test]
fn procedures_give_results_outputs_and_a_status() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    client
        .query(
            "create procedure p @a int, @b nvarchar(10) = N'def', @twice int = 0 output as \
             begin set @twice = 2 * @a; select @b; if @a < 0 throw 50001, N'negative', 1; return @a + 1 end",
        )
        .unwrap();
    let call = |a: i32, b: Option<&str>| {
        let mut params = vec![int("@a", a)];
        params.extend(b.map(|b| text("@b", b)));
        params.push(RpcParam::new("@twice", TypeInfo::Int(4), Value::Null).output());
        RpcRequest::new(Procedure::Name("p".into()), params)
    };
    let reply = client.call(&call(20, Some("gr\u{fc}n \u{1f333}"))).unwrap();
    assert_eq!((reply.status, reply.outputs.as_slice()), (Some(21), [Value::Int(40)].as_slice()));
    assert_eq!(reply.results[0].rows, [[Value::str("gr\u{fc}n \u{1f333}")]]);
    assert_eq!(client.call(&call(1, None)).unwrap().results[0].rows, [[Value::str("def")]]);
    assert_eq!(error(client.call(&call(-1, None))).0, 50001);
    let unknown = RpcRequest::new(Procedure::Name("no_such".into()), vec![]);
    assert_eq!(error(client.call(&unknown)).0, 2812);
    // A value that is not of its type never leaves; the connection has not noticed.
    let wrong = RpcParam::new("@a", TypeInfo::Int(4), Value::str("x"));
    let wrong = RpcRequest::new(Procedure::Name("p".into()), vec![wrong]);
    assert!(matches!(client.call(&wrong), Err(ClientError::Request(_))));
    assert_eq!(client.call(&call(1, None)).unwrap().status, Some(2));
}

/// Half of a character in a parameter, a batch's text, a table, a key and an output is there and
/// back.
#[test]
fn halves_of_characters_go_there_and_back() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    client.query("create table #h (v nvarchar(5) primary key, m nvarchar(max))").unwrap();
    client.query("create procedure p @v nvarchar(9) output as begin insert #h values (@v, @v); set @v = reverse(@v) end").unwrap();
    let units = [0x61, 0xD83D, 0x20AC, 0xDE42];
    let backwards: Vec<u16> = units.iter().rev().copied().collect();
    let half = Value::Str(types::units::text_of(units.into_iter()));
    let ty = TypeInfo::NVarChar(Size::Bytes(18), WireCollation::DATABASE);
    let params = vec![RpcParam::new("@v", ty, half.clone()).output()];
    let call = RpcRequest::new(Procedure::Name("p".into()), params);
    let reply = client.call(&call).unwrap();
    assert_eq!(reply.outputs, [Value::Str(types::units::text_of(backwards.into_iter()))]);
    assert_eq!(
        client.query("select v, m from #h").unwrap().results[0].rows,
        [[half.clone(), half.clone()]]
    );
    assert_eq!(error(client.call(&call)).0, 2627);
    let seek =
        "select count(*) from #h where v = N'a' + nchar(0xD83D) + N'\u{20ac}' + nchar(0xDE42)";
    assert_eq!(value(&mut client, seek), Value::Int(1));
    let bytes = "select convert(varbinary(8), v) from #h";
    assert_eq!(
        value(&mut client, bytes),
        Value::bytes(vec![0x61, 0, 0x3D, 0xD8, 0xAC, 0x20, 0x42, 0xDE])
    );
}

#[test]
fn prepared_statements_run_again_and_again() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    client.query("create table #t (id int primary key, v nvarchar(max))").unwrap();
    let insert = client.prepare("@id int, @v nvarchar(max)", "insert #t values (@id, @v)").unwrap();
    let select = client.prepare("@id int", "select v from #t where id = @id").unwrap();
    assert_ne!(insert, select);
    let long = "x\u{fc}".repeat(4_000);
    for (id, v) in [(1, "one"), (2, ""), (3, long.as_str())] {
        assert_eq!(client.call(&insert.with([int("", id), text("", v)])).unwrap().count, Some(1));
        let reply = client.call(&select.with([int("", id)])).unwrap();
        assert_eq!(reply.results[0].rows, [[Value::str(v)]], "{id}");
    }
    assert_eq!(error(client.call(&insert.with([int("", 1), text("", "again")]))).0, 2627);
    assert_eq!(client.call(&select.with([int("", 9)])).unwrap().into_rows().count(), 0);
    assert_eq!(error(client.prepare("@a int", "select @a +")).0, 102);
}

#[test]
fn a_session_that_only_calls_has_the_time_of_its_calls() {
    let server = TestServer::start();
    let mut calls = connect(&server, Encryption::Optional).unwrap();
    let select = calls.prepare("@a int", "select @a").unwrap();
    calls.call(&select.with([int("", 1)])).unwrap();
    let mut other = connect(&server, Encryption::Optional).unwrap();
    let longest = value(&mut other, "select max(total_elapsed_time) from sys.dm_exec_sessions");
    assert!(longest.as_i64().is_some_and(|ms| (0..600_000).contains(&ms)), "{longest:?}");
    let began = "select count(*) from sys.dm_exec_sessions where last_request_start_time < dateadd(day, -1, getdate())";
    assert_eq!(value(&mut other, began), Value::Int(0));
}

#[test]
fn transactions_begin_and_end_by_requests() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    client.query("create table t (a int)").unwrap();
    client.begin().unwrap();
    client.query("insert t values (1)").unwrap();
    assert_eq!(value(&mut client, "select @@trancount"), Value::Int(1));
    client.commit().unwrap();
    assert_eq!(
        value(&mut client, "select @@trancount + 10 * (select count(*) from t)"),
        Value::Int(10)
    );
    client.begin().unwrap();
    client.query("insert t values (2); rollback").unwrap();
    assert_eq!(error(client.commit()).0, 3902);
    assert_eq!(value(&mut client, "select count(*) from t"), Value::Int(1));
}

#[test]
fn bulk_loads_take_what_the_server_does_not_make() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    client
        .query(
            "create table t (id int identity, n tinyint not null, [o]]k] decimal(10, 3), v rowversion, \
             w varchar(20), m nvarchar(max), d datetime)",
        )
        .unwrap();
    let row = |n: i32| -> Vec<Value> {
        let w = if n % 3 == 0 { Value::Null } else { Value::str(format!("row {n}")) };
        let day = Value::DateTime { days: n, ticks: 0 };
        vec![Value::Int(n % 200), Value::Int(n), w, Value::str("m".repeat(n as usize % 50)), day]
    };
    let mut load = client.bulk_load("dbo.t").unwrap();
    let names: Vec<_> = load.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["n", "o]k", "w", "m", "d"]);
    for n in 0..30_000 {
        load.row(&row(n)).unwrap();
    }
    assert_eq!(load.finish().unwrap(), 30_000);
    let check = "select concat(count(*), ' ', sum(cast([o]]k] as int)), ' ', count(w), ' ', max(len(m)), ' ', \
                 max(datediff(day, '19000101', d))) from t";
    assert_eq!(value(&mut client, check), Value::str("30000 449985000 20000 49 29999"));

    // One that is given up in the middle, at once or after many packets, loads nothing.
    for rows in [0, 3, 20_000] {
        let mut load = client.bulk_load("t").unwrap();
        (0..rows).for_each(|n| load.row(&row(n)).unwrap());
        drop(load);
        assert_eq!(value(&mut client, "select count(*) from t"), Value::Int(30_000), "{rows}");
    }
    // A value that does not fit its column is known here, one that breaks a rule of the table at
    // the server.
    let mut load = client.bulk_load("t").unwrap();
    let wide = vec![Value::Int(300), Value::Null, Value::Null, Value::Null, Value::Null];
    assert!(matches!(load.row(&wide), Err(ClientError::Request(_))));
    assert!(matches!(load.row(&wide[1..]), Err(ClientError::Request(_))));
    load.row(&row(5)).unwrap();
    assert_eq!(load.finish().unwrap(), 1);
    client.query("create table u (a int primary key)").unwrap();
    let mut load = client.bulk_load("u").unwrap();
    (0..20_000).for_each(|n| load.row(&[Value::Int(n % 15_000)]).unwrap());
    assert_eq!(error(load.finish()).0, 2627);
    assert_eq!(value(&mut client, "select count(*) from u"), Value::Int(0));
    assert_eq!(error(client.bulk_load("no_such")).0, 208);
}

#[test]
fn a_call_is_cancelled_from_another_thread_or_from_its_rows() {
    let server = TestServer::start();
    let mut client = connect(&server, Encryption::Optional).unwrap();
    client.query("create procedure waits as waitfor delay '0:01:00'").unwrap();
    let cancel = client.cancel_handle();
    let (send, done) = mpsc::channel::<()>();
    let canceller = std::thread::spawn(move || {
        // Until the call is over: a cancel that comes before it has no effect.
        while done.recv_timeout(Duration::from_millis(20)).is_err() {
            cancel.cancel();
        }
    });
    let waits = RpcRequest::new(Procedure::Name("waits".into()), vec![]);
    let reply = client.call(&waits).unwrap();
    send.send(()).unwrap();
    canceller.join().unwrap();
    assert_eq!(reply.status, None);
    let many = client.prepare("@n int", "select value from generate_series(1, @n)").unwrap();
    let mut rows = 0;
    let call = many.with([int("", 100_000_000)]);
    client
        .call_each(&call, &mut |token| {
            rows += u32::from(matches!(token, Token::Row(_)));
            rows < 10
        })
        .unwrap();
    assert_eq!(rows, 10);
    assert_eq!(value(&mut client, "select 1"), Value::Int(1));
}

#[test]
fn what_is_encrypted_is_what_both_sides_agree_on() {
    let encrypted = |client: &mut Connection| {
        value(
            client,
            "select encrypt_option from sys.dm_exec_connections where session_id = @@spid",
        )
    };
    let (yes, no) = (Value::str("TRUE"), Value::str("FALSE"));
    let server = TestServer::start();
    for (encryption, expected) in [
        (Encryption::None, &no),
        (Encryption::Optional, &no),
        (Encryption::Mandatory, &yes),
        (Encryption::Strict, &yes),
    ] {
        let mut client = connect(&server, encryption).unwrap();
        assert_eq!(encrypted(&mut client), *expected, "{encryption:?}");
        client.query("create table #t (a int)").unwrap();
        let mut load = client.bulk_load("#t").unwrap();
        (0..5_000).for_each(|n| load.row(&[Value::Int(n)]).unwrap());
        assert_eq!(load.finish().unwrap(), 5_000, "{encryption:?}");
    }
    let server = TestServer::with(|o| o.encryption = Mode::Required);
    assert!(matches!(connect(&server, Encryption::None), Err(ClientError::OnlyEncrypted)));
    let mut client = connect(&server, Encryption::Optional).unwrap();
    assert_eq!(encrypted(&mut client), yes);
}
