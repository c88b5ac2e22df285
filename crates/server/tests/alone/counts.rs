//! What a request costs besides its work, counted: its answer leaves in one piece, whoever sends it
//! waits once for the next one, and no thread is woken that has nothing to do with it.

use std::fs;
use std::io::Read;

use crate::alone;
use crate::support::{Client, TestServer};
use tds::request::rpc::{Procedure, RpcParam, RpcRequest, procedure_id};
use tds::{Size, TypeInfo, WireCollation};
use types::Value;

/// Requests of a connection that sends one after another.
const REQUESTS: u64 = 2_000;

/// How often the threads of these names have begun to wait.
fn waits(names: &[&str]) -> u64 {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let folder = task.unwrap().path();
        // A thread may end meanwhile.
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        if names.contains(&read("comm").trim_end()) {
            let status = read("status");
            let mut lines = status.lines();
            let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            sum += count.map_or(0, |count| count.trim().parse().unwrap());
        }
    }
    sum
}

#[test]
fn a_request_wakes_the_thread_that_serves_it_alone() {
    let _alone = alone();
    let server = TestServer::start();
    let mut client = server.client();
    // Until all threads are there that the server begins with.
    (0..200).for_each(|_| client.run("select 1"));
    let (others, workers) = (["poller", "clock", "workers"], ["worker"]);
    let (others_before, workers_before) = (waits(&others), waits(&workers));
    for _ in 0..REQUESTS {
        client.run("if @@trancount > 0 commit tran");
    }
    let (others, workers) = (waits(&others) - others_before, waits(&workers) - workers_before);
    // Where the machine has other work, a worker may lose its core on the way back to wait.
    assert!(others < REQUESTS / 10, "{others} waits of threads that serve no request");
    assert!(workers < REQUESTS * 5 / 4, "{workers} waits for {REQUESTS} requests");
}

/// A call of sp_executesql.
fn execute_sql(text: &str) -> RpcRequest {
    let ty = TypeInfo::NVarChar(Size::Max, WireCollation::DATABASE);
    let text = RpcParam::new("", ty, Value::str(text));
    RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), vec![text])
}

/// Reads once, which must bring a whole message and nothing more.
fn read_in_one(client: &mut Client, what: &str) {
    let mut room = vec![0; 64 << 10];
    let len = client.socket.read(&mut room).unwrap();
    let mut left = &room[..len];
    loop {
        assert!(left.len() >= 8, "{what}: {len} bytes end in a header");
        let packet = usize::from(u16::from_be_bytes([left[2], left[3]]));
        assert!(left.len() >= packet, "{what}: {len} bytes end in a packet");
        let is_last = left[1] & 1 != 0;
        left = &left[packet..];
        if is_last {
            break;
        }
    }
    assert!(left.is_empty(), "{what}: something follows the message");
}

#[test]
fn an_answer_leaves_in_one_piece() {
    let _alone = alone();
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, n int)");
    client.run("insert t select value, value from generate_series(1, 500)");
    for _ in 0..20 {
        for text in [
            "",
            ";",
            "if @@trancount > 0 commit tran",
            "select n from t where id = 7",
            // Some packets.
            "select id, n from t order by id",
            "update t set n = n + 1 where id = 7; select @@rowcount; print 'done'",
            "select 1 / 0",
            "begin tran; update t set n = 0 where id = 9; commit",
        ] {
            client.send(&client.codec.batch(text));
            read_in_one(&mut client, text);
        }
        for texts in [&[";"][..], &["select n from t where id = 7"], &["select 1", "select 2", ";"]]
        {
            let calls: Vec<_> = texts.iter().map(|text| execute_sql(text)).collect();
            client.send(&client.codec.rpc(&calls).unwrap());
            read_in_one(&mut client, texts[0]);
        }
    }
}
