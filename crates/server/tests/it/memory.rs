//! What clients hold of the server's memory: messages that come, messages that wait, values of
//! calls. All of it is charged, and who finds no memory is told so and goes on.

use std::time::{Duration, Instant};

use crate::support::{Client, TestServer};
use engine::{DataType, Value};
use memory::Clerk;
use tds::PacketType;
use tds::client::message;
use tds::column::ColumnFlags;
use tds::encode::type_of;
use tds::prelogin::Encryption;
use tds::request::{Procedure, RpcParam, RpcRequest, RpcValue, TableColumn, TableValue};

const MB: usize = 1 << 20;

/// What is charged for messages, once that is so much, or as it is after some seconds.
fn packets(server: &TestServer, want: impl Fn(usize) -> bool) -> usize {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let held = server.instance.memory().held(Clerk::Packets);
        if want(held) || Instant::now() > end {
            return held;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_message_without_memory_is_an_error_of_its_request() {
    let server = TestServer::of_memory(96 * MB as u64);
    let mut client = server.client();
    client.run("create table #kept (n int) insert #kept values (7)");
    // 60 MB: more than one may have of the memory.
    let answer = client.batch(&format!("select 1 -- {}", "x".repeat(30 * MB)));
    assert_eq!(answer.error_numbers(), [701]);
    assert_eq!(client.int("select n from #kept"), 7, "the session goes on");
    assert_eq!(packets(&server, |held| held == 0), 0);
}

#[test]
fn a_refused_message_still_resets_its_session() {
    let server = TestServer::of_memory(96 * MB as u64);
    let mut client = server.client();
    client.run("create table #gone (n int)");
    let mut bytes = client.codec.batch(&format!("select 1 -- {}", "x".repeat(30 * MB)));
    // The reset is asked for in the first packet.
    bytes[1] |= 0x08;
    client.send(&bytes);
    assert_eq!(client.read().unwrap().error_numbers(), [701]);
    assert_eq!(client.batch("select n from #gone").error_numbers(), [208]);
}

#[test]
fn messages_that_come_are_charged_before_and_after_the_login() {
    let server = TestServer::start();
    let mut strangers: Vec<Client> = (0..10)
        .map(|_| {
            let mut client = Client::open(server.address);
            client.prelogin(Encryption::NotSupported);
            client
        })
        .collect();
    for client in &mut strangers {
        // A login is 128 KB at most; this one does not say that it has ended.
        let body = vec![0; 3500];
        for _ in 0..16 {
            let mut packet = message(PacketType::Login7, &body, 4096, 0);
            packet[1] = 0;
            client.send(&packet);
        }
    }
    let held = packets(&server, |held| held >= 10 * 50_000);
    assert!(held >= 10 * 50_000, "{held}");
    drop(strangers);
    assert_eq!(packets(&server, |held| held == 0), 0);
    let mut client = server.client();
    let bytes = client.codec.batch(&format!("select 1 -- {}", "x".repeat(20_000)));
    let (half, rest) = bytes.split_at(30_000);
    client.send(half);
    let held = packets(&server, |held| held >= 28_000);
    assert!(held >= 28_000, "{held}");
    client.send(rest);
    assert!(client.read().unwrap().errors().is_empty());
    assert_eq!(packets(&server, |held| held == 0), 0);
}

#[test]
fn a_message_that_waits_for_the_one_before_is_charged() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&client.codec.batch("waitfor delay '00:00:05'"));
    client.send(&client.codec.batch(&format!("select 5 -- {}", "x".repeat(MB))));
    let held = packets(&server, |held| held >= 2 * MB);
    assert!((2 * MB..3 * MB).contains(&held), "{held}");
    client.read().unwrap();
    assert_eq!(client.read().unwrap().rows(), [[Value::Int(5)]]);
    assert_eq!(packets(&server, |held| held == 0), 0);
}

/// A table of one column without values.
fn nulls(rows: usize) -> RpcParam {
    let column = TableColumn {
        user_type: 0,
        flags: ColumnFlags::NULLABLE,
        ty: type_of(DataType::Int),
        default: false,
    };
    let value = TableValue {
        schema: "dbo".into(),
        type_name: "numbers".into(),
        columns: vec![column],
        column_order: Vec::new(),
        values: vec![Value::Null; rows],
    };
    RpcParam { name: "@n".into(), by_ref: false, default: false, value: RpcValue::Table(value) }
}

#[test]
fn rows_of_a_call_are_charged_while_they_are_read() {
    let server = TestServer::of_memory(96 * MB as u64);
    let mut client = server.client();
    client.run("create type numbers as table (n int)");
    client.run("create procedure p @n numbers readonly as select count(*) from @n");
    let mut call = |rows| {
        let request = RpcRequest::new(Procedure::Name("dbo.p".into()), vec![nulls(rows)]);
        let bytes = client.codec.rpc(&[request]).unwrap();
        client.send(&bytes);
        client.read().unwrap()
    };
    // 6 MB on the wire, 96 MB of values.
    assert_eq!(call(3 * MB).error_numbers(), [701]);
    assert_eq!(call(1000).rows(), [[Value::Int(1000)]], "the connection goes on");
    assert_eq!(packets(&server, |held| held == 0), 0);
}

#[test]
fn what_waits_for_a_client_is_charged_and_little() {
    let server = TestServer::start();
    let clients: Vec<Client> = (0..4)
        .map(|_| {
            let mut client = server.client();
            client.send(
                &client.codec.batch("select replicate('x', 8000) from generate_series(1, 20000)"),
            );
            client
        })
        .collect();
    let held = packets(&server, |held| held > 0);
    assert!(held > 0 && held <= clients.len() * 256 * 1024, "{held}");
    drop(clients);
    assert_eq!(packets(&server, |held| held == 0), 0);
}
