//! Requests by raw TDS: batches, calls, transactions, resets, attentions, and clients that do not
//! read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{self, Client, TestServer};
use engine::{DataType, Value};
use tds::client::Token;
use tds::encode::type_of;
use tds::packet::status;
use tds::prelogin::Encryption;
use tds::request::rpc::procedure_id;
use tds::request::{Begin, Procedure, RpcParam, RpcRequest, TransactionRequest};
use tds::tokens::{DoneKind, DoneStatus};

fn nvarchar(text: &str) -> RpcParam {
    RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(text))
}

fn int(name: &str, n: i32) -> RpcParam {
    RpcParam::new(name, type_of(DataType::Int), Value::Int(n))
}

fn call(id: u16, params: Vec<RpcParam>) -> RpcRequest {
    RpcRequest::new(Procedure::Id(id), params)
}

#[test]
fn a_batch_of_several_statements() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, w nvarchar(10))");
    let answer = client.batch("insert t values (1, N'a'), (2, null); select id, w from t order by id; print 'x'; select 1 where 1 = 0");
    assert_eq!(answer.dones().iter().map(|d| d.1).collect::<Vec<_>>(), [2, 2, 0, 0]);
    assert!(
        answer.dones()[..2].iter().all(|d| d.0.contains(DoneStatus::MORE.with(DoneStatus::COUNT)))
    );
    assert_eq!(answer.rows(), [[Value::Int(1), Value::str("a")], [Value::Int(2), Value::Null]]);
    let sets = answer.tokens.iter().filter(|t| matches!(t, Token::Columns(_))).count();
    let infos =
        answer.tokens.iter().filter(|t| matches!(t, Token::Info(m) if m.message == "x")).count();
    assert_eq!((sets, infos), (2, 1));
}

#[test]
fn errors_have_number_line_and_place() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create procedure p as\nselect 1/0");
    let answer = client.batch("select 1\n\nselect 1/0 \nselect 2");
    let error = &answer.errors()[0];
    assert_eq!(
        (error.number, error.severity, error.line, error.procedure.as_str()),
        (8134, 16, 3, "")
    );
    assert_eq!(answer.rows().len(), 2);
    assert_eq!(answer.dones().iter().filter(|d| d.0.contains(DoneStatus::ERROR)).count(), 1);
    let answer = client.batch("\nexec p");
    let error = &answer.errors()[0];
    assert_eq!((error.number, error.line, error.procedure.as_str()), (8134, 2, "p"));
    assert_eq!(client.batch("select 1 +").error_numbers(), [102]);
    assert_eq!(client.int("select 1"), 1);
}

#[test]
fn calls_by_number_and_by_name() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run(
        "create procedure twice @a int, @b int output as set @b = 2 * @a; select @a; return 5",
    );
    // sp_executesql with parameters under odd names.
    let call_text = call(
        procedure_id::EXECUTE_SQL,
        vec![nvarchar("select @x + @y"), nvarchar("@x int, @y int"), int("@x", 40), int("@y", 2)],
    );
    let bytes = client.codec.rpc(&[call_text]).unwrap();
    client.send(&bytes);
    let answer = client.read().unwrap();
    assert_eq!(answer.rows(), [[Value::Int(42)]]);
    let kinds: Vec<_> = answer
        .tokens
        .iter()
        .filter_map(|t| if let Token::Done { kind, .. } = t { Some(*kind) } else { None })
        .collect();
    assert_eq!(kinds, [DoneKind::InProc, DoneKind::Proc]);
    assert!(answer.tokens.iter().any(|t| matches!(t, Token::ReturnStatus(0))));
    // A user's procedure with an OUTPUT parameter and a return status.
    let twice = RpcRequest::new(
        Procedure::Name("dbo.twice".into()),
        vec![int("@a", 21), int("@b", 0).output()],
    );
    let bytes = client.codec.rpc(&[twice]).unwrap();
    client.send(&bytes);
    let answer = client.read().unwrap();
    assert!(answer.tokens.iter().any(|t| matches!(t, Token::ReturnStatus(5))), "{answer:?}");
    assert!(
        answer.tokens.iter().any(
            |t| matches!(t, Token::ReturnValue { name, value: Value::Int(42), .. } if name == "@b")
        ),
        "{answer:?}"
    );
    // Prepared statements: a number, runs, an end.
    let prepare = call(
        procedure_id::PREP_EXEC,
        vec![int("", 0).output(), nvarchar("@n int"), nvarchar("select @n * 10"), int("", 3)],
    );
    let bytes = client.codec.rpc(&[prepare]).unwrap();
    client.send(&bytes);
    let answer = client.read().unwrap();
    assert_eq!(answer.rows(), [[Value::Int(30)]]);
    let handle = answer.tokens.iter().find_map(|t| match t {
        Token::ReturnValue { value: Value::Int(n), .. } => Some(*n),
        _ => None,
    });
    let handle = handle.unwrap();
    // Several calls in one message: an error in one leaves the others.
    let calls = [
        call(procedure_id::EXECUTE, vec![int("", handle), int("", 4)]),
        call(procedure_id::EXECUTE, vec![int("", handle + 99), int("", 4)]),
        call(procedure_id::EXECUTE, vec![int("", handle), int("", 5)]),
        call(procedure_id::UNPREPARE, vec![int("", handle)]),
    ];
    let bytes = client.codec.rpc(&calls).unwrap();
    client.send(&bytes);
    let answer = client.read().unwrap();
    assert_eq!(answer.rows(), [[Value::Int(40)], [Value::Int(50)]]);
    assert_eq!(answer.error_numbers(), [8179]);
    let procs = answer
        .tokens
        .iter()
        .filter(|t| matches!(t, Token::Done { kind: DoneKind::Proc, .. }))
        .count();
    assert_eq!(procs, 4);
}

#[test]
fn transactions_by_request_and_by_statement() {
    let server = TestServer::start();
    let (mut one, mut two) = (server.client(), server.client());
    one.run("create table t (n int)");
    let request = |client: &mut support::Client, request: &TransactionRequest| {
        let bytes = client.codec.transaction(request);
        client.send(&bytes);
        client.read().unwrap()
    };
    let begin = TransactionRequest::Begin(Begin { isolation: 2, name: String::new() });
    assert_eq!(request(&mut one, &begin).env_changes(), [8]);
    assert_ne!(one.codec.transaction, 0);
    one.run("insert t values (1)");
    let answer = request(
        &mut one,
        &TransactionRequest::Commit { name: String::new(), then: Some(Begin::default()) },
    );
    assert_eq!(answer.env_changes(), [9, 8]);
    one.run("insert t values (2)");
    assert_eq!(
        request(&mut one, &TransactionRequest::Rollback { name: String::new(), then: None })
            .env_changes(),
        [10]
    );
    assert_eq!(two.int("select count(*) from t"), 1);
    assert_eq!(two.batch("begin tran").env_changes(), [8]);
    assert_eq!(two.batch("insert t values (3)").env_changes(), [0u8; 0]);
    assert_eq!(two.batch("commit").env_changes(), [9]);
    two.run("set implicit_transactions on");
    assert_eq!(two.batch("insert t values (4)").env_changes(), [8]);
    // The server rolls back by itself.
    assert_eq!(two.batch("set xact_abort on; select 1/0").env_changes(), [10]);
    // A transaction that is no more is not taken for another one.
    two.codec.transaction = 987;
    assert_eq!(two.batch("insert t values (5)").error_numbers(), [3971]);
    two.codec.transaction = 0;
    assert_eq!(two.int("select count(*) from t"), 2);
}

#[test]
fn a_pooled_connection_is_reset() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (n int)");
    client.run("use msdb; begin tran; create table #t (n int); set transaction isolation level serializable; insert master..t values (1)");
    client.codec.status = status::RESET_CONNECTION;
    let answer = client.batch("select db_name(), @@trancount, object_id('tempdb..#t'), (select transaction_isolation_level from sys.dm_exec_sessions where session_id = @@spid)");
    client.codec.status = 0;
    assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    assert_eq!(answer.env_changes()[0], 18);
    assert!(answer.env_changes().contains(&10) && answer.env_changes().contains(&1), "{answer:?}");
    let row: Vec<String> = answer.rows()[0].iter().map(ToString::to_string).collect();
    assert_eq!(row, ["master", "0", "NULL", "2"]);
    assert_eq!(client.int("select count(*) from t"), 0);
}

#[test]
fn an_application_role_lasts_until_its_cookie_or_the_reset() {
    let server = TestServer::start();
    let mut sa = server.client();
    for sql in [
        "create database d",
        "use d; create table t (n int); insert t values (7); create application role app with password = 'Abcdefg1!'; grant select on t to app",
        "create login ann with password = 'Hijklmn2!', default_database = d; create user ann",
    ] {
        sa.run(sql);
    }
    let mut ann =
        Client::connect(server.address, Encryption::NotSupported, "ann", "Hijklmn2!", "d").unwrap();
    let bytes = || type_of(DataType::VarBinary(types::Len::N(8000)));
    let mut params = vec![nvarchar("app"), nvarchar("Abcdefg1!"), nvarchar("none"), int("", 1)];
    params.push(RpcParam::new("", bytes(), Value::Null).output());
    let send = |client: &mut Client, name: &str, params: Vec<RpcParam>| {
        let bytes =
            client.codec.rpc(&[RpcRequest::new(Procedure::Name(name.into()), params)]).unwrap();
        client.send(&bytes);
        client.read().unwrap()
    };
    let answer = send(&mut ann, "sp_setapprole", params.clone());
    assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    let cookie = answer.tokens.iter().find_map(|t| match t {
        Token::ReturnValue { value: value @ Value::Bytes(_), .. } => Some(value.clone()),
        _ => None,
    });
    assert_eq!(ann.int("select n from t where user_name() = 'app'"), 7);
    let answer =
        send(&mut ann, "sp_unsetapprole", vec![RpcParam::new("", bytes(), cookie.unwrap())]);
    assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    assert_eq!(ann.batch("select n from t").error_numbers(), [229]);
    assert!(send(&mut ann, "sp_setapprole", params).errors().is_empty());
    ann.codec.status = status::RESET_CONNECTION;
    let answer = ann.batch("select user_name()");
    ann.codec.status = 0;
    assert_eq!(answer.rows()[0][0].to_string(), "ann");
    assert_eq!(ann.batch("select n from t").error_numbers(), [229]);
}

#[test]
fn an_attention_ends_what_runs() {
    let server = TestServer::start();
    let mut client = server.client();
    for text in [
        "waitfor delay '00:05:00'",
        "while 1 = 1 select 1",
        "declare @n int = 0; while 1 = 1 set @n += 1",
    ] {
        let (batch, attention) = (client.codec.batch(text), client.codec.attention());
        let began = Instant::now();
        client.send(&batch);
        std::thread::sleep(Duration::from_millis(50));
        client.send(&attention);
        while !client.read().unwrap().is_attention() {}
        assert!(began.elapsed() < Duration::from_secs(20), "{text}");
        assert_eq!(client.int("select 5"), 5);
    }
    // One that comes right behind its request, and one when nothing runs.
    for _ in 0..200 {
        let mut bytes = client.codec.batch("select 1");
        bytes.extend(client.codec.attention());
        client.send(&bytes);
        while !client.read().unwrap().is_attention() {}
        client.send(&client.codec.attention());
        assert!(client.read().unwrap().is_attention());
        assert_eq!(client.int("select 6"), 6);
    }
}

#[test]
fn a_cancelled_wait_for_a_lock_leaves_the_transaction() {
    let server = TestServer::start();
    let (mut holder, mut waiter) = (server.client(), server.client());
    holder.run("create table t (n int); insert t values (1)");
    holder.run("begin tran; update t set n = 2");
    waiter.run("begin tran");
    waiter.send(&waiter.codec.batch("update t set n = 3"));
    std::thread::sleep(Duration::from_millis(100));
    waiter.send(&waiter.codec.attention());
    while !waiter.read().unwrap().is_attention() {}
    assert_eq!(waiter.int("select @@trancount"), 1);
}

#[test]
fn a_client_that_does_not_read_stalls_itself_alone() {
    let server = TestServer::with(|o| o.max_workers = 4);
    let mut stalled: Vec<_> = (0..12).map(|_| server.client()).collect();
    for client in &mut stalled {
        // Far more than sockets hold.
        let big = "select top (60000) replicate('x', 1000) from sys.all_columns a cross join sys.all_columns b";
        client.send(&client.codec.batch(big));
    }
    std::thread::sleep(Duration::from_millis(300));
    let mut other = server.client();
    for _ in 0..20 {
        assert_eq!(other.int("select 1"), 1);
    }
    // Cancelling works while the output is blocked.
    let mut cancelled = stalled.pop().unwrap();
    cancelled.send(&cancelled.codec.attention());
    while !cancelled.read().unwrap().is_attention() {}
    assert_eq!(cancelled.int("select 2"), 2);
    // One reads on, the others go away.
    let mut reader = stalled.pop().unwrap();
    drop(stalled);
    assert_eq!(reader.read().unwrap().rows().len(), 60_000);
    assert_eq!(reader.int("select 3"), 3);
}

#[test]
fn a_client_that_takes_nothing_can_be_ended() {
    let server = TestServer::with(|o| o.send_timeout = Some(Duration::from_millis(500)));
    let mut client = server.client();
    client.run("create table t (n int)");
    client.send(&client.codec.batch(
        "begin tran; insert t values (1); select top (200000) replicate('x', 1000) from sys.all_columns a cross join sys.all_columns b",
    ));
    let mut other = server.client();
    let end = Instant::now() + Duration::from_secs(30);
    while other.int("select count(*) from sys.dm_exec_sessions where program_name = 'tests'") > 1 {
        assert!(
            Instant::now() < end,
            "{:?}",
            client.read().map(|a| (a.errors(), a.dones(), a.rows().len()))
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(other.int("select count(*) from t"), 0);
}

#[test]
fn commits_pass_where_all_others_wait() {
    let server = TestServer::with(|o| o.max_workers = 4);
    let mut holder = server.client();
    holder.run("create table t (n int); insert t values (0)");
    holder.run("begin tran; update t set n = n + 1");
    let address = server.address;
    let waiters: Vec<_> = (0..24)
        .map(|_| {
            std::thread::spawn(move || {
                let no = tds::prelogin::Encryption::NotSupported;
                let mut client =
                    support::Client::connect(address, no, "sa", support::PASSWORD, "").unwrap();
                client.run("update t set n = n + 1");
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    holder.run("commit");
    assert!(began.elapsed() < Duration::from_secs(5));
    waiters.into_iter().for_each(|w| w.join().unwrap());
    assert_eq!(holder.int("select n from t"), 25);
}

#[test]
fn rows_of_a_bulk_load_come_in_pieces() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, w nvarchar(100) null)");
    let column = |name: &str, ty| tds::Column::new(name, type_of(ty), tds::ColumnFlags::default());
    let columns =
        [column("id", DataType::Int), column("w", DataType::NVarChar(types::Len::N(100)))];
    let rows = |from: i32, to: i32| -> Vec<Vec<Value>> {
        let word = |n: i32| if n % 7 == 0 { Value::Null } else { Value::str(format!("row {n}")) };
        (from..to).map(|n| vec![Value::Int(n), word(n)]).collect()
    };
    for with_done in [false, true] {
        client.run("truncate table t");
        client.run("insert bulk t (id int, w nvarchar(100)) with (tablock)");
        let bytes = client.codec.bulk(&columns, &rows(0, 20_000), with_done).unwrap();
        for piece in bytes.chunks(3_001) {
            client.send(piece);
        }
        let answer = client.read().unwrap();
        assert!(answer.errors().is_empty(), "{:?}", answer.errors());
        assert_eq!(answer.dones().last().unwrap().1, 20_000);
        assert_eq!(client.int("select count(*) from t"), 20_000);
        assert_eq!(client.int("select count(*) from t where w is null"), 2_858);
    }
    // A load that fails in the middle leaves nothing, and the connection goes on.
    client.run("insert bulk t (id int, w nvarchar(100))");
    let bytes = client.codec.bulk(&columns, &rows(19_000, 40_000), true).unwrap();
    client.send(&bytes);
    assert_eq!(client.read().unwrap().error_numbers(), [2627]);
    assert_eq!(client.int("select count(*) from t"), 20_000);
    // One that nobody has announced.
    client.send(&client.codec.bulk(&columns, &rows(0, 3), true).unwrap());
    assert_eq!(client.read().unwrap().error_numbers(), [4022]);
    // One that is withdrawn.
    client.run("insert bulk t (id int, w nvarchar(100))");
    let bytes = client.codec.bulk(&columns, &rows(50_000, 60_000), true).unwrap();
    client.send(&bytes[..4096 * 5]);
    client.send(&client.codec.attention());
    while !client.read().unwrap().is_attention() {}
    assert_eq!(client.int("select count(*) from t"), 20_000);
}

#[test]
fn a_stop_under_load_loses_no_commit() {
    let mut server = TestServer::start();
    server.client().run("create table t (who int, n int, primary key (who, n))");
    let stop = AtomicBool::new(false);
    let acknowledged: Vec<i64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|who| {
                let mut client = server.client();
                let stop = &stop;
                scope.spawn(move || {
                    let mut n = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let text = format!("insert t values ({who}, {n})");
                        if client.try_send(&client.codec.batch(&text)).is_err() {
                            break;
                        }
                        match client.read() {
                            Ok(answer) if answer.errors().is_empty() => n += 1,
                            _ => break,
                        }
                    }
                    n
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        server.stop();
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    assert!(acknowledged.iter().all(|n| *n > 0), "{acknowledged:?}");
    server.instance.close().unwrap();
    let instance = engine::Instance::open(engine::InstanceOptions {
        memory_bytes: Some(64 << 20),
        ..engine::InstanceOptions::new(server.folder.path())
    })
    .unwrap();
    let mut session = instance.session().unwrap();
    let mut counts = Counts(Vec::new());
    session.execute("select who, count(*) from t group by who order by who", &mut counts);
    for (who, n) in acknowledged.iter().enumerate() {
        assert!(counts.0[who] >= *n, "{who}: {} of {n}", counts.0[who]);
    }
}

struct Counts(Vec<i64>);

impl engine::Sink for Counts {
    fn rows(&mut self, rows: &engine::ResultRows<'_>) -> Result<(), engine::SqlError> {
        rows.each(|row| {
            self.0.push(row[1].as_i64().unwrap());
            Ok(())
        })
    }

    fn error(&mut self, error: &engine::SqlError) -> Result<(), engine::SqlError> {
        panic!("{error:?}")
    }
}

/// @@PACK_RECEIVED, @@PACK_SENT and @@PACKET_ERRORS are what this server has counted.
#[test]
fn packets_are_counted() {
    let server = TestServer::start();
    let mut client = server.client();
    let counts = |client: &mut support::Client| {
        ["@@pack_received", "@@pack_sent", "@@packet_errors", "@@total_errors"]
            .map(|name| client.int(&format!("select {name}")))
    };
    let [received, sent, errors, failed] = counts(&mut client);
    assert!(
        received >= 2 && sent >= 2 && (errors, failed) == (0, 0),
        "{received} {sent} {errors} {failed}"
    );
    // One packet asks, and an answer of some 40 KB has several.
    let before = client.int("select @@pack_sent");
    client.run("select replicate(cast('x' as varchar(max)), 40000)");
    let after = client.int("select @@pack_sent");
    assert!((10..20).contains(&(after - before)), "{before} {after}");
    let before = client.int("select @@pack_received");
    client.run(&format!("print '{}'", "y".repeat(20_000)));
    let after = client.int("select @@pack_received");
    assert!((9..15).contains(&(after - before)), "{before} {after}");
    // What is no packet is an error of that connection alone.
    let mut garbage = std::net::TcpStream::connect(server.address).expect("a connection");
    std::io::Write::write_all(&mut garbage, &[0xff; 64]).expect("bytes");
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut garbage, &mut rest);
    assert_eq!(client.int("select @@packet_errors"), 1);
    let said = client.batch("exec sp_monitor");
    assert_eq!(said.rows().len(), 4);
}
