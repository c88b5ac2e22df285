//! Clients that stop in the middle, leave in the middle, or want something before they have logged
//! in: nobody else is held up, and nothing of theirs stays.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use crate::support::{Client, TestServer};
use engine::{DataType, Value};
use tds::client::ClientCodec;
use tds::encode::type_of;
use tds::login::Login7;
use tds::prelogin::Encryption;
use tds::request::{Begin, Procedure, RpcParam, RpcRequest, TransactionRequest};
use tds::{Column, ColumnFlags, TdsVersion};

/// Others are answered within this, whatever somebody does.
const SOON: Duration = Duration::from_secs(10);

fn soon(what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
}

/// Waits until only so many connections are left.
fn wait_for_connections(server: &TestServer, left: usize) {
    let deadline = Instant::now() + SOON;
    while server.server.as_ref().unwrap().connections() > left {
        assert!(Instant::now() < deadline, "connections stay");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn who_leaves_while_a_request_runs_leaves_no_locks() {
    let server = TestServer::start();
    let mut other = server.client();
    other.run("create table t (id int primary key, n int) insert t values (1, 0)");
    // Also when it has sent more requests meanwhile, behind which its end stands.
    for (leave, ahead) in
        [Shutdown::Write, Shutdown::Both].into_iter().flat_map(|l| [0, 1, 3].map(|n| (l, n)))
    {
        let mut client = server.client();
        client.run("begin tran update t set n = 1 where id = 1");
        client.send(
            &client.codec.batch("waitfor delay '00:01:00' update t set n = 2 where id = 1 commit"),
        );
        std::thread::sleep(Duration::from_millis(50));
        for _ in 0..ahead {
            client.send(&client.codec.batch("select 1"));
        }
        client.socket.shutdown(leave).unwrap();
        drop(client);
        soon("an update of the same row", || other.run("update t set n = n + 10 where id = 1"));
    }
    assert_eq!(other.int("select n from t"), 60);
    wait_for_connections(&server, 1);
}

fn load_columns() -> [Column; 2] {
    [
        Column::new("id", type_of(DataType::Int), ColumnFlags::default()),
        Column::new("t", type_of(DataType::NVarChar(types::Len::N(100))), ColumnFlags::NULLABLE),
    ]
}

/// Announces a bulk load and sends some of its packets, all of them whole.
fn half_a_load(client: &mut Client) {
    client.run("insert bulk t (id int, t nvarchar(100))");
    let rows: Vec<Vec<Value>> =
        (0..5000).map(|n| vec![Value::Int(n), Value::str("a row of the load")]).collect();
    let bytes = client.codec.bulk(&load_columns(), &rows, true).unwrap();
    let packets = bytes.len() / 4096 / 2;
    client.send(&bytes[..packets * 4096]);
}

#[test]
fn who_leaves_in_a_bulk_load_leaves_no_rows() {
    let server = TestServer::start();
    let mut other = server.client();
    other.run("create table t (id int primary key, t nvarchar(100))");
    for _ in 0..2 {
        let mut client = server.client();
        half_a_load(&mut client);
        std::thread::sleep(Duration::from_millis(50));
        drop(client);
        soon("the rows of a load that was left", || {
            other.run("insert t values (1, 'x')");
            assert_eq!(other.int("select count(*) from t with (tablockx)"), 1);
            other.run("delete t");
        });
    }
    wait_for_connections(&server, 1);
}

/// What comes of a load when all its rows are there may take long as well.
#[test]
fn an_attention_ends_a_load_that_has_all_its_rows() {
    let server = TestServer::start();
    let mut other = server.client();
    other.run("create table t (id int, t nvarchar(100))");
    other.run("create trigger g on t for insert as waitfor delay '0:02:00'");
    let load = |client: &mut Client| {
        client.run("insert bulk t (id int, t nvarchar(100)) with (fire_triggers)");
        let rows = [vec![Value::Int(1), Value::Null]];
        client.send(&client.codec.bulk(&load_columns(), &rows, true).unwrap());
        std::thread::sleep(Duration::from_millis(200));
    };
    let mut client = server.client();
    load(&mut client);
    soon("an attention behind a load", || {
        client.send(&client.codec.attention());
        while !client.read().unwrap().is_attention() {}
        assert_eq!(client.int("select count(*) from t"), 0);
    });
    load(&mut client);
    soon("the end of a client behind its load", || {
        drop(client);
        assert_eq!(other.int("select count(*) from t with (tablockx)"), 0);
    });
}

#[test]
fn a_bulk_load_that_stalls_holds_up_nobody_else() {
    let server = TestServer::with(|options| options.max_workers = 4);
    let mut other = server.client();
    other.run("create table t (id int primary key, t nvarchar(100)) create table u (n int)");
    let mut stalled: Vec<Client> = (0..16).map(|_| server.client()).collect();
    for client in &mut stalled {
        client.run("insert bulk t (id int, t nvarchar(100))");
        let bytes =
            client.codec.bulk(&load_columns(), &[vec![Value::Int(1), Value::Null]], true).unwrap();
        // Not even a whole packet.
        client.send(&bytes[..bytes.len() / 2]);
    }
    std::thread::sleep(Duration::from_millis(50));
    soon("a statement beside stalled loads", || {
        other.run("insert u values (1)");
        assert_eq!(other.int("select count(*) from u"), 1);
    });
    soon("a new connection beside stalled loads", || {
        assert_eq!(server.client().int("select 1"), 1)
    });
    // They are ended like any other session.
    soon("the end of stalled loads", || {
        let sessions = other.batch(
            "select session_id from sys.dm_exec_sessions where is_user_process = 1 and session_id <> @@spid",
        );
        for row in sessions.rows() {
            // One that has ended by itself is no error.
            other.batch(&format!("kill {}", row[0].as_i64().unwrap()));
        }
        wait_for_connections(&server, 1);
    });
    assert_eq!(other.int("select count(*) from t"), 0);
}

#[test]
fn half_a_request_in_a_transaction_stalls_its_own_session_alone() {
    let server = TestServer::with(|options| options.max_workers = 4);
    let mut other = server.client();
    other.run("create table t (id int primary key, n int) insert t values (1, 0), (2, 0)");
    let mut stalled: Vec<Client> = (0..16).map(|_| server.client()).collect();
    for client in &mut stalled {
        let bytes = client.codec.batch("update t set n = 1 where id = 1");
        client.send(&bytes[..bytes.len() - 5]);
    }
    soon("an update beside half requests", || other.run("update t set n = 2 where id = 1"));
    // Whole, they are carried out.
    let mut last = stalled.pop().unwrap();
    let bytes = last.codec.batch("update t set n = 1 where id = 1");
    last.send(&bytes[bytes.len() - 5..]);
    assert!(last.read().unwrap().errors().is_empty());
    assert_eq!(other.int("select n from t where id = 1"), 1);
}

#[test]
fn nothing_is_carried_out_before_the_login() {
    let server = TestServer::start();
    let mut owner = server.client();
    owner.run("create table reached (n int)");
    let codec = ClientCodec::new(TdsVersion::V7_4);
    let wanted = "insert reached values (1)";
    let text =
        RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(wanted));
    let columns = [Column::new("n", type_of(DataType::Int), ColumnFlags::NULLABLE)];
    let begin = TransactionRequest::Begin(Begin { isolation: 0, name: String::new() });
    let messages = [
        codec.batch(wanted),
        codec.rpc(&[RpcRequest::new(Procedure::Id(10), vec![text])]).unwrap(),
        codec
            .rpc(&[RpcRequest::new(Procedure::Name("sp_reset_connection".into()), vec![])])
            .unwrap(),
        codec.transaction(&begin),
        codec.bulk(&columns, &[vec![Value::Int(1)]], true).unwrap(),
        codec.attention(),
    ];
    for (at, bytes) in messages.iter().enumerate() {
        // As the first thing, after PRELOGIN, and after a login that was refused.
        let mut client = Client::open(server.address);
        client.send(bytes);
        assert!(client.is_closed(), "message {at} first");
        let mut client = Client::open(server.address);
        client.prelogin(Encryption::NotSupported);
        client.send(bytes);
        assert!(client.is_closed(), "message {at} after PRELOGIN");
        // Failed logins are answered ever later.
        if at > 1 {
            continue;
        }
        let mut client = Client::open(server.address);
        client.prelogin(Encryption::NotSupported);
        let mut sent = codec.login(&Login7::new(TdsVersion::V7_4, "sa", "wrong"));
        sent.extend(bytes);
        client.send(&sent);
        let refused = client.read().unwrap();
        assert_eq!(refused.error_numbers(), [18456], "message {at} after a refused login");
        assert!(client.is_closed(), "message {at} after a refused login");
    }
    assert_eq!(owner.int("select count(*) from reached"), 0);
}

/// Requests with and without pauses between them, with long ones among them that keep workers,
/// attentions to those, and clients that send and leave at once: every request is answered soon,
/// and nobody stays.
#[test]
fn no_request_is_forgotten() {
    let server = TestServer::start();
    let end = Instant::now() + Duration::from_secs(5);
    std::thread::scope(|scope| {
        for seed in 0..24_u64 {
            let server = &server;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut client = server.client();
                while Instant::now() < end {
                    match random.u32(0..40) {
                        0 => {
                            client.send(&client.codec.batch("waitfor delay '00:01:00'"));
                            std::thread::sleep(Duration::from_millis(random.u64(0..20)));
                            client.send(&client.codec.attention());
                            let end = "an attention's answer";
                            soon(end, || while !client.read().unwrap().is_attention() {});
                        }
                        1 => {
                            client.send(&client.codec.batch("select 1"));
                            client = server.client();
                        }
                        2 => soon("a pause", || client.run("waitfor delay '00:00:00.020'")),
                        3..8 => std::thread::sleep(Duration::from_micros(random.u64(0..3_000))),
                        n => soon("a request", || {
                            assert_eq!(client.int(&format!("select {n} + 1")), i64::from(n) + 1)
                        }),
                    }
                }
            });
        }
    });
    wait_for_connections(&server, 0);
}

/// Attentions are answered by threads that no request holds: they wait for no client.
#[test]
fn who_reads_no_answers_to_attentions_holds_up_nobody() {
    let server = TestServer::start();
    let mut other = server.client();
    other.socket.set_read_timeout(Some(SOON)).unwrap();
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let mut silent: Vec<Client> = (0..2 * cores + 2).map(|_| server.client()).collect();
    std::thread::scope(|scope| {
        for client in &mut silent {
            scope.spawn(move || {
                client.socket.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
                let attentions = client.codec.attention().repeat(1000);
                // Until it is dropped, or nobody reads what it sends.
                for _ in 0..4000 {
                    if client.try_send(&attentions).is_err() {
                        break;
                    }
                }
            });
        }
    });
    soon("a request beside unread answers", || assert_eq!(other.int("select 1 + 1"), 2));
    wait_for_connections(&server, 1);
}
