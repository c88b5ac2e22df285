//! The statements of the engine's `nested_sql` through the server, sent by crate `client`: a
//! worker's stack is another one than a test's, and what a client gives up by an attention ends.

#[path = "../../../engine/tests/it/support/nested_sql/mod.rs"]
mod nested_sql;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::{PASSWORD, TestServer};
use client::{ClientError, Connection, Encryption, Options, Trust};
use nested_sql::{Rule, SCHEMA, batches};
use types::Value;

/// How long a statement runs before its client sends an attention.
const LIMIT: Duration = Duration::from_millis(200);
/// How long its answer may take then. The machine may have other things to do.
const PATIENCE: Duration = Duration::from_secs(20);

fn connect(server: &TestServer) -> Connection {
    let mut options = Options::new("127.0.0.1", server.address.port(), "sa", PASSWORD);
    options.encryption = Encryption::Optional;
    options.trust = Trust::Any;
    options.database = "tempdb".into();
    Connection::connect(&options).unwrap()
}

/// Runs a batch, which is given up after the limit.
fn timed(client: &mut Connection, name: &str, batch: &str) {
    let (cancel, (ended, over)) = (client.cancel_handle(), mpsc::channel::<()>());
    let watch = std::thread::spawn(move || {
        while over.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            cancel.cancel();
        }
    });
    let began = Instant::now();
    let answer = client.query(batch);
    let took = began.elapsed();
    drop(ended);
    watch.join().unwrap();
    assert!(took < LIMIT + PATIENCE, "{name}: {took:?}");
    let broken = matches!(&answer, Err(ClientError::Io(_) | ClientError::Protocol(_)));
    assert!(!broken, "{name}: {answer:?}");
}

fn run_all(rules: &'static [Rule]) {
    let server = TestServer::start();
    let mut client = connect(&server);
    for batch in batches(SCHEMA) {
        client.query(batch).unwrap();
    }
    for rule in rules {
        for batch in batches(&(rule.text)(2_000)) {
            timed(&mut client, rule.name, batch);
        }
        client.query(&format!("IF @@TRANCOUNT > 0 ROLLBACK {}", rule.undo)).unwrap();
    }
    let row = client.query("SELECT COUNT(*) FROM t").unwrap().into_rows().next().unwrap();
    assert_eq!(row, [Value::Int(3)]);
}

#[test]
fn expressions_end() {
    run_all(nested_sql::EXPRESSIONS);
}

#[test]
fn queries_end() {
    run_all(nested_sql::QUERIES);
}

#[test]
fn documents_end() {
    run_all(nested_sql::DOCUMENTS);
}

#[test]
fn statements_end() {
    run_all(nested_sql::STATEMENTS);
}
