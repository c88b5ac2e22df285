//! One wait for the log a message: for calls of one message, for loops, for what others have
//! committed; no byte leaves before what it tells is durable, nobody else is held up, and a log
//! that cannot be flushed is told in the place of all that was not sent.

use crate::support::TestServer;
use crate::support::on_disk::{WAITS, client_in_d, inserts, on_disk, rows_left};
use sim::{Fault, OpKind};
use tds::tokens::{DoneStatus, command};

#[test]
fn calls_of_one_message_wait_once() {
    let server = TestServer::start();
    let (mut client, mut watcher) = (server.client(), server.client());
    client.run("create database d");
    client.run("use d create table t (n int not null primary key)");
    let before = watcher.int(WAITS);
    for message in 0..4 {
        let mut calls = inserts(message * 100, 100);
        // One of them fails and leaves the others.
        calls.extend(inserts(message * 100, 1));
        let bytes = client.codec.rpc(&calls).unwrap();
        client.send(&bytes);
        let answer = client.read().unwrap();
        assert_eq!(answer.error_numbers(), [2627]);
        let dones = answer.dones();
        let told = dones.iter().filter(|(status, rows)| {
            status.contains(DoneStatus::COUNT) && *rows == 1 && !status.contains(DoneStatus::ERROR)
        });
        assert_eq!(told.count(), 100);
    }
    let waits = watcher.int(WAITS) - before;
    assert!(waits <= 8, "{waits} waits for 4 messages");
    assert_eq!(watcher.int("select count(*) from d..t"), 400);
}

#[test]
fn a_failed_flush_takes_the_place_of_the_answer() {
    let (disk, server, log) = on_disk(2);
    let mut client = client_in_d(&server);
    disk.fail_on(&log, OpKind::Any, 1, Fault::Io);
    let bytes = client.codec.rpc(&inserts(0, 10)).unwrap();
    client.send(&bytes);
    let answer = client.read().unwrap();
    let errors = answer.errors();
    assert!(errors.len() == 1 && errors[0].severity >= 20, "{errors:?}");
    assert!(
        answer.dones().iter().all(|(status, _)| !status.contains(DoneStatus::COUNT)),
        "{answer:?}"
    );
    assert!(client.is_closed());
    let mut other = server.client();
    let state = other.value("select state_desc from sys.databases where name = 'd'");
    assert_eq!(state.as_str(), Some("SUSPECT"));
}

#[test]
fn a_connection_ends_where_part_of_the_answer_was_sent() {
    let (disk, server, log) = on_disk(3);
    let mut client = client_in_d(&server);
    // The second wait of the request fails: the rows before it fill some packets.
    let text = "select replicate('x', 8000) from (values (1), (2), (3), (4), (5), (6), (7), (8)) v (n) \
                insert t values (1) select replicate('y', 8000) from (values (1), (2), (3), (4), (5), (6), (7), (8)) v (n)";
    disk.fail_on(&log, OpKind::Any, 1, Fault::Io);
    client.send(&client.codec.batch(text));
    let failed = loop {
        match client.read_packet() {
            Ok((status, ..)) => assert_eq!(status & 1, 0, "the message may not come to its end"),
            Err(error) => break error,
        }
    };
    assert!(!matches!(
        failed.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    ));
    assert!(server.client().batch("select n from d..t").errors().iter().any(|e| e.severity >= 14));
}

#[test]
fn bytes_leave_when_what_they_tell_is_durable() {
    let (disk, server, _) = on_disk(4);
    let mut client = client_in_d(&server);
    let text = "declare @n int = 0 while @n < 6000 begin set @n += 1 insert t values (@n) end";
    client.send(&client.codec.batch(text));
    let (mut tokens, mut told, mut looks) = (Vec::new(), 0, 0);
    loop {
        let (status, _, payload) = client.read_packet().unwrap();
        let left = disk.crash_keeping(|_| false);
        tokens.extend_from_slice(&payload);
        // Nothing but DONEs of 13 bytes: kind, status, command, rows.
        let whole = tokens.len() / 13 * 13;
        for done in tokens.drain(..whole).collect::<Vec<u8>>().chunks_exact(13) {
            assert_eq!(done[0], 0xFD);
            told += i64::from(u16::from_le_bytes([done[3], done[4]]) == command::INSERT);
        }
        if looks < 5 || status & 1 != 0 {
            looks += 1;
            let found = rows_left(&server, left);
            assert!(found >= told, "the client was told of {told} rows, {found} are left");
        }
        if status & 1 != 0 {
            break;
        }
    }
    assert!(told == 6000 && looks > 1, "{told} rows told, {looks} times");
}

#[test]
fn one_that_waits_holds_up_nobody_and_can_be_cancelled_and_killed() {
    let (disk, server, log) = on_disk(5);
    let (mut one, mut two, mut other) =
        (client_in_d(&server), client_in_d(&server), server.client());
    let (first, second) = (one.int("select @@spid"), two.int("select @@spid"));
    let hold = disk.hold_writes(&log);
    one.send(&one.codec.batch("insert t values (1) insert t values (2)"));
    hold.wait_for_writer();
    let mut wait_for = |session: i64| {
        let waits = format!(
            "select count(*) from sys.dm_exec_requests where session_id = {session} and wait_type = 'WRITELOG'"
        );
        while other.int(&waits) == 0 {
            std::thread::yield_now();
        }
    };
    // It has run, and waits: others see it, and are answered.
    wait_for(first);
    two.send(&two.codec.batch("insert t values (3)"));
    wait_for(second);
    one.send(&one.codec.attention());
    other.run(&format!("kill {second}"));
    drop(hold);
    let answer = one.read().unwrap();
    let told = answer
        .dones()
        .iter()
        .filter(|(status, rows)| status.contains(DoneStatus::COUNT) && *rows == 1)
        .count();
    assert_eq!(told, 2, "{answer:?}");
    assert!(one.read().unwrap().is_attention());
    assert_eq!(one.int("select count(*) from t"), 3);
    while !two.is_closed() {
        let _ = two.read_packet();
    }
}
