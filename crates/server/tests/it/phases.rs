//! Where the time of requests goes: each request is counted once in each phase that it was in, the
//! phases together are the whole, in time and in the processor's, and nothing is counted while
//! nobody has asked.

use std::time::Instant;

use crate::support::TestServer;
use engine::status::PhaseStatus;
use engine::{DataType, Value};
use tds::encode::type_of;
use tds::request::rpc::procedure_id;
use tds::request::{Procedure, RpcParam, RpcRequest};

/// (requests, nanoseconds) of a phase.
fn of(phases: &[PhaseStatus], name: &str) -> (u64, u64) {
    phases.iter().find(|phase| phase.name == name).map_or((0, 0), |phase| (phase.count, phase.ns))
}

#[test]
fn requests_are_timed_by_phase_while_somebody_asks() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (n int)");
    let times = || server.instance.status().phases;
    assert!(times().is_empty(), "nobody has asked");
    let shown = "select count(*) from sys.dm_ringwood_request_phases where request_count = 0 and is_measured = 0";
    assert_eq!(client.int(shown), 9);
    client.run("dbcc traceon (15001, -1) with no_infomsgs");
    let begun = Instant::now();
    for n in 0..20 {
        client.run(&format!("insert t values ({n})"));
    }
    client.run("waitfor delay '0:00:00.2'");
    client.int("select count(*) from t");
    let took = begun.elapsed().as_nanos() as u64;
    client.run("dbcc traceoff (15001, -1) with no_infomsgs");
    client.int("select count(*) from t");
    let phases = times();
    // The request that switched it on was not timed, the one that switched it off was.
    for name in ["RECEIVE", "DECODE", "RUN", "ENCODE", "SEND", "FIND PLAN", "TOTAL"] {
        assert_eq!(of(&phases, name).0, 23, "{name}: {phases:?}");
    }
    let waits = of(&phases, "WAIT FOR LOG").0;
    assert!((20..=23).contains(&waits), "{waits} requests have waited for the log");
    let parts: u64 =
        phases.iter().filter(|phase| phase.name != "TOTAL").map(|phase| phase.ns).sum();
    let total = of(&phases, "TOTAL").1;
    assert_eq!(parts, total);
    assert!(of(&phases, "RUN").1 >= 200_000_000, "the pause is in it");
    let processor: u64 =
        phases.iter().filter(|phase| phase.name != "TOTAL").map(|phase| phase.cpu_ns).sum();
    let whole = phases.iter().find(|phase| phase.name == "TOTAL").map_or(0, |phase| phase.cpu_ns);
    assert_eq!(processor, whole);
    // All that the pause and the waits for the log are is time that passes.
    assert!(whole > 0 && whole + 150_000_000 < total, "{whole} of {total} ns");
    // The one that has switched it off ended after the clock was looked at.
    let last = phases.iter().find(|phase| phase.name == "TOTAL").map_or(0, |phase| phase.max_ns);
    assert!(total <= took + last, "{total} of {took} ns");
    let shown = "select count(*) from sys.dm_ringwood_request_phases where phase <> 'WAIT FOR WORKER' \
                 and request_count >= 20 and p50_us <= p99_us and p99_us <= max_us \
                 and total_us <= request_count * max_us \
                 and p50_cpu_us <= p99_cpu_us and p99_cpu_us <= max_cpu_us and total_cpu_us <= total_us";
    assert_eq!(client.int(shown), 8);
    client.run("dbcc traceon (15001, -1) with no_infomsgs");
    client.int("select 1");
    // Its own time is counted when it has been answered.
    client.int("select 1");
    let again = of(&times(), "TOTAL").0;
    assert!((1..=2).contains(&again), "it begins again: {again}");
}

/// What a session finds again of itself it has looked for all the same.
#[test]
fn calls_of_one_text_look_for_their_plan() {
    let server = TestServer::start();
    let mut client = server.client();
    let text = |text: &str| {
        RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(text))
    };
    client.run("dbcc traceon (15001, -1) with no_infomsgs");
    for n in 0..10 {
        let value = RpcParam::new("", type_of(DataType::Int), Value::Int(n));
        let params = vec![text("select @a"), text("@a int"), value];
        let call = RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params);
        let bytes = client.codec.rpc(&[call]).unwrap();
        client.send(&bytes);
        assert_eq!(client.read().unwrap().rows(), [[Value::Int(n)]]);
    }
    client.run("dbcc traceoff (15001, -1) with no_infomsgs");
    client.int("select 1");
    let phases = server.instance.status().phases;
    for name in ["FIND PLAN", "RUN", "TOTAL"] {
        assert_eq!(of(&phases, name).0, 11, "{name}: {phases:?}");
    }
}

/// Requests that wait for the log together are counted one by one.
#[test]
fn requests_that_follow_one_another_are_each_counted() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create database d");
    client.run("use d create table t (n int)");
    client.run("dbcc traceon (15001, -1) with no_infomsgs");
    let bytes: Vec<u8> =
        (0..20).flat_map(|n| client.codec.batch(&format!("insert t values ({n})"))).collect();
    client.send(&bytes);
    for _ in 0..20 {
        assert!(client.read().unwrap().errors().is_empty());
    }
    client.run("dbcc traceoff (15001, -1) with no_infomsgs");
    client.int("select 1");
    let phases = server.instance.status().phases;
    for name in ["RECEIVE", "DECODE", "RUN", "ENCODE", "TOTAL"] {
        assert_eq!(of(&phases, name).0, 21, "{name}: {phases:?}");
    }
    assert!(of(&phases, "WAIT FOR LOG").0 < 20, "{phases:?}");
    let parts: u64 =
        phases.iter().filter(|phase| phase.name != "TOTAL").map(|phase| phase.ns).sum();
    assert_eq!(parts, of(&phases, "TOTAL").1);
}
