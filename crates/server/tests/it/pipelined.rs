//! Requests whose client does not wait for the answer before it: they wait for the log together,
//! are answered in their order, no answer leaves before what it tells is durable, none waits for a
//! request that takes long, and a log that cannot be flushed is told in the place of all of them.

use std::time::Instant;

use crate::support::on_disk::{WAITS, client_in_d, inserts, on_disk, rows_left};
use crate::support::{Client, PASSWORD, TestServer, TokenAnswer};
use engine::{DataType, Value};
use sim::{Fault, OpKind};
use tds::encode::type_of;
use tds::prelogin::Encryption;
use tds::tokens::DoneStatus;

/// Messages of one INSERT each, one behind the other.
fn messages(client: &Client, from: i32, count: i32) -> Vec<u8> {
    (from..from + count).flat_map(|n| client.codec.rpc(&inserts(n, 1)).unwrap()).collect()
}

/// How many statements an answer tells to have changed one row.
fn told(answer: &TokenAnswer) -> usize {
    let dones = answer.dones().into_iter();
    dones.filter(|(status, rows)| status.contains(DoneStatus::COUNT) && *rows == 1).count()
}

#[test]
fn requests_that_come_together_wait_for_the_log_together() {
    let server = TestServer::start();
    let mut watcher = server.client();
    watcher.run("create database d");
    watcher.run("create table d..t (n int not null primary key)");
    for encryption in [Encryption::NotSupported, Encryption::On] {
        let mut client = Client::connect(server.address, encryption, "sa", PASSWORD, "d").unwrap();
        // The text is known when it is measured.
        client.run("delete t");
        client.send(&messages(&client, 0, 2));
        assert_eq!(told(&client.read().unwrap()) + told(&client.read().unwrap()), 2);
        let before = watcher.int(WAITS);
        // A query among them is answered in its turn, a statement that fails too.
        let mut bytes = messages(&client, 100, 20);
        bytes.extend(client.codec.batch("select max(n) from t"));
        bytes.extend(messages(&client, 110, 1));
        bytes.extend(messages(&client, 200, 20));
        client.send(&bytes);
        for n in 0..42 {
            let answer = client.read().unwrap();
            match n {
                20 => assert_eq!(answer.rows(), [[Value::Int(119)]]),
                21 => assert_eq!(answer.error_numbers(), [2627]),
                _ => assert_eq!((told(&answer), answer.errors().len()), (1, 0), "{n}"),
            }
        }
        let waits = watcher.int(WAITS) - before;
        assert!(waits <= 20, "{waits} waits for 41 commits");
        assert_eq!(client.int("select count(*) from t"), 42);
    }
}

/// With what a power failure leaves at the moment in which an answer has come.
#[test]
fn no_answer_leaves_before_what_it_tells_is_durable() {
    let (disk, server, _) = on_disk(41);
    let mut client = client_in_d(&server);
    let mut rows = 0;
    for burst in 0..6 {
        let count = 1 + 9 * burst;
        client.send(&messages(&client, rows, count));
        for n in 1..=count {
            assert_eq!(told(&client.read().unwrap()), 1);
            if n == 1 || n == count || n == count / 2 {
                let found = rows_left(&server, disk.crash_keeping(|_| false));
                assert!(
                    found >= i64::from(rows + n),
                    "{} rows were told, {found} are left",
                    rows + n
                );
            }
        }
        rows += count;
    }
}

#[test]
fn an_answer_does_not_wait_for_a_request_that_takes_long() {
    let (disk, server, _) = on_disk(42);
    let (mut client, mut holder) = (client_in_d(&server), client_in_d(&server));
    holder.run("create table u (n int) insert u values (1)");
    for round in 0..3 {
        holder.run("begin tran update u set n = 2");
        let mut bytes = messages(&client, 2 * round, 2);
        bytes.extend(client.codec.batch("update u set n = 3"));
        client.send(&bytes);
        // The last one waits for the holder's lock; it holds nobody's answer up.
        for n in 1..=2 {
            assert_eq!(told(&client.read().unwrap()), 1);
            let found = rows_left(&server, disk.crash_keeping(|_| false));
            assert!(found >= i64::from(2 * round + n), "{found} rows are left");
        }
        holder.run("commit");
        assert_eq!(told(&client.read().unwrap()), 1);
    }
}

#[test]
fn an_attention_stops_the_request_that_runs_alone() {
    let (_disk, server, _) = on_disk(43);
    let mut client = client_in_d(&server);
    let begun = Instant::now();
    let mut bytes = messages(&client, 0, 3);
    bytes.extend(
        client.codec.batch("insert t values (10) waitfor delay '0:10:00' insert t values (11)"),
    );
    bytes.extend(client.codec.attention());
    client.send(&bytes);
    for _ in 0..3 {
        assert_eq!(told(&client.read().unwrap()), 1);
    }
    let stopped = client.read().unwrap();
    assert!(!stopped.is_attention() && told(&stopped) <= 1, "{stopped:?}");
    assert!(client.read().unwrap().is_attention());
    assert!(begun.elapsed().as_secs() < 60);
    let rows = 3 + told(&stopped) as i64;
    assert!(client.int("select count(*) from t") >= rows);
    // The connection goes on, with requests that follow one another.
    client.send(&messages(&client, 20, 5));
    for _ in 0..5 {
        assert_eq!(told(&client.read().unwrap()), 1);
    }
}

/// A client that writes what it has to write at once, between other requests.
#[test]
fn a_bulk_load_may_come_together_with_its_announcement() {
    let (_disk, server, _) = on_disk(46);
    server.client().run("create table d..loaded (n int not null primary key, w nvarchar(100))");
    let column = |name: &str, ty| tds::Column::new(name, ty, tds::ColumnFlags::default());
    let columns = [
        column("n", type_of(DataType::Int)),
        column("w", type_of(DataType::NVarChar(types::Len::N(100)))),
    ];
    let announce = "insert bulk loaded (n int, w nvarchar(100))";
    let mut from = 0;
    for encryption in [Encryption::NotSupported, Encryption::On] {
        let mut client = Client::connect(server.address, encryption, "sa", PASSWORD, "d").unwrap();
        for count in [0, 1, 3, 30_000] {
            let rows: Vec<Vec<Value>> = (from..from + count)
                .map(|n| vec![Value::Int(n), Value::str(format!("row {n}"))])
                .collect();
            let load = client.codec.bulk(&columns, &rows, true).unwrap();
            let mut bytes = messages(&client, from, 2);
            bytes.extend(client.codec.batch(announce));
            bytes.extend(&load);
            bytes.extend(client.codec.batch("select count(*) from loaded"));
            // The client's side of TLS takes no more at once.
            bytes.chunks(32 << 10).for_each(|piece| client.send(piece));
            assert_eq!(told(&client.read().unwrap()) + told(&client.read().unwrap()), 2);
            assert_eq!(client.read().unwrap().error_numbers(), [0; 0]);
            let loaded = client.read().unwrap();
            assert_eq!(
                (loaded.error_numbers(), loaded.dones().last().unwrap().1),
                (vec![], count as u64)
            );
            from += count;
            assert_eq!(client.read().unwrap().rows(), [[Value::Int(from)]]);
            from += 2;
            client.run(&format!(
                "insert loaded values ({}, '') insert loaded values ({}, '')",
                from - 2,
                from - 1
            ));
        }
        // Rows that nobody expects, as their announcement has failed: an error of the load alone.
        let rows = [vec![Value::Int(-1), Value::Null]];
        let mut bytes = client.codec.batch("insert bulk nothing (n int)");
        bytes.extend(client.codec.bulk(&columns, &rows, true).unwrap());
        client.send(&bytes);
        assert!(!client.read().unwrap().errors().is_empty());
        assert_eq!(client.read().unwrap().error_numbers(), [4022]);
        assert_eq!(client.int("select count(*) from loaded where n < 0"), 0);
    }
}

#[test]
fn a_failed_flush_takes_the_place_of_all_answers() {
    let (disk, server, log) = on_disk(44);
    let mut client = client_in_d(&server);
    disk.fail_on(&log, OpKind::Any, 1, Fault::Io);
    client.send(&messages(&client, 0, 10));
    let answer = client.read().unwrap();
    let errors = answer.errors();
    assert!(errors.len() == 1 && errors[0].severity >= 20, "{errors:?}");
    assert_eq!(told(&answer), 0, "{answer:?}");
    assert!(client.is_closed());
    let mut other = server.client();
    let state = other.value("select state_desc from sys.databases where name = 'd'");
    assert_eq!(state.as_str(), Some("SUSPECT"));
}

/// The flush fails while a request goes on behind answers that are kept back: they are never told.
#[test]
fn what_was_kept_back_is_lost_with_a_flush_that_fails_meanwhile() {
    let (disk, server, log) = on_disk(45);
    let (mut client, mut holder) = (client_in_d(&server), client_in_d(&server));
    holder.run("create table u (n int) insert u values (1)");
    holder.run("begin tran update u set n = 2");
    disk.fail_on(&log, OpKind::Any, 1, Fault::Io);
    let mut bytes = messages(&client, 0, 3);
    bytes.extend(client.codec.batch("update u set n = 3"));
    client.send(&bytes);
    // The holder cannot commit any more either; its end lets the other one go on.
    let mut other = server.client();
    let (state, begun) = ("select state_desc from sys.databases where name = 'd'", Instant::now());
    while other.value(state).as_str() != Some("SUSPECT") {
        assert!(begun.elapsed().as_secs() < 60, "nobody has flushed the log");
        std::thread::yield_now();
    }
    drop(holder);
    let answer = client.read().unwrap();
    assert!(answer.errors().iter().any(|error| error.severity >= 20), "{answer:?}");
    assert_eq!(told(&answer), 0, "{answer:?}");
    assert!(client.is_closed());
}
