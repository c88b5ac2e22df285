//! How a batch ends from outside: a client's attention, a client that goes away, KILL, SHUTDOWN.

use ringwood_engine::{Instance, InstanceOptions, Session, Sink, SqlError, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Keeps error numbers and the last value; fails at the message `gone`.
#[derive(Default)]
struct Client {
    errors: Vec<i32>,
    messages: Vec<String>,
    last: Option<Value>,
}

impl Sink for Client {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.last = row.first().cloned();
        Ok(())
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        if message.message == "gone" {
            return Err(SqlError::new(0, 16, 1, "the client went away"));
        }
        self.messages.push(message.message.clone());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.errors.push(error.number);
        Ok(())
    }
}

fn open(folder: &std::path::Path) -> Arc<Instance> {
    Instance::open(InstanceOptions { memory_bytes: Some(32 << 20), ..InstanceOptions::new(folder) }).unwrap()
}

fn run(session: &mut Session, batch: &str) -> Client {
    let mut client = Client::default();
    session.execute(batch, &mut client);
    client
}

/// Runs a batch and sends an attention once it waits or loops.
fn attention(session: &mut Session, batch: &str) -> Vec<i32> {
    let cancel = session.cancel_handle();
    let begun = Instant::now();
    let errors = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(session, batch).errors);
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
        running.join().unwrap()
    });
    assert!(begun.elapsed() < Duration::from_secs(20), "{batch}");
    errors
}

#[test]
fn an_attention_ends_the_batch_and_keeps_the_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let instance = open(folder.path());
    let mut session = instance.session().unwrap();
    run(&mut session, "create table t (i int)");
    let works = [
        "waitfor delay '0:1'",
        "declare @i int = 0 while 1 = 1 set @i = 1",
        "select count_big(*) from sys.all_columns a, sys.all_columns b, sys.all_columns c, sys.all_columns d",
        "begin try waitfor delay '0:1' end try begin catch insert t values (-1) end catch",
        // Functions that take the square of their arguments' length.
        "declare @a varchar(max) = replicate(cast('a' as varchar(max)), 4000000)
         declare @x varchar(max) = replace(@a, 'a', 'x') select translate(@a, @x, @x)",
        "declare @a varchar(max) = replicate(cast('a' as varchar(max)), 4000000)
         select replace(@a + @a + 'b', @a + 'c', '')",
        "declare @x xml = replicate(cast('<a>1</a>' as varchar(max)), 100000)
         select @x.query('for $a in /a, $b in /a where $a = $b and $a = \"2\" return $a')",
    ];
    for work in works {
        run(&mut session, "begin tran insert t values (1)");
        assert_eq!(
            attention(&mut session, &format!("insert t values (2) {work} insert t values (3)")),
            [3617]
        );
        assert_eq!(session.trancount(), 1, "{work}");
        let sum = run(&mut session, "select sum(i) from t").last;
        assert_eq!(sum, Some(Value::Int(3)), "{work}");
        run(&mut session, "rollback");
    }
    // The statement itself is taken back.
    run(&mut session, "begin tran insert t values (1)");
    let all = "sys.all_columns a, sys.all_columns b, sys.all_columns c, sys.all_columns d";
    assert_eq!(attention(&mut session, &format!("insert t select 1 from {all}")), [3617]);
    assert_eq!(run(&mut session, "select count(*) from t").last, Some(Value::Int(1)));
    run(&mut session, "rollback");
    // XACT_ABORT asks for more.
    run(&mut session, "set xact_abort on begin tran insert t values (1)");
    assert_eq!(attention(&mut session, "waitfor delay '0:1'"), [3617]);
    assert_eq!(session.trancount(), 0);
    assert_eq!(run(&mut session, "select count(*) from t").last, Some(Value::Int(0)));
}

#[test]
fn a_client_that_goes_away_ends_its_batch_beyond_any_catch() {
    let folder = tempfile::tempdir().unwrap();
    let instance = open(folder.path());
    let mut session = instance.session().unwrap();
    run(&mut session, "create table t (i int)");
    run(
        &mut session,
        "begin tran insert t values (1)
         begin try print 'gone' end try begin catch insert t values (2) commit end catch
         insert t values (3)",
    );
    assert_eq!(session.trancount(), 0);
    assert_eq!(run(&mut session, "select count(*) from t").last, Some(Value::Int(0)));
}

#[test]
fn no_batch_begins_after_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let instance = open(folder.path());
    let mut session = instance.session().unwrap();
    let mut other = instance.session().unwrap();
    run(&mut session, "create table t (i int)");
    let client = run(&mut session, "insert t values (1) shutdown insert t values (2)");
    assert_eq!(client.messages, ["Server shut down by request from login sa."]);
    assert!(client.errors.is_empty() && instance.shutdown_requested());
    assert_eq!(run(&mut session, "insert t values (3)").errors, [6005]);
    assert_eq!(run(&mut other, "insert t values (4)").errors, [6005]);
    assert_eq!(instance.session().map(drop).unwrap_err().number, 6005);
    drop((session, other));
    instance.close().unwrap();
    drop(instance);
    let instance = open(folder.path());
    assert_eq!(run(&mut instance.session().unwrap(), "select sum(i) from t").last, Some(Value::Int(1)));
}

#[test]
fn shutdown_with_nowait_ends_the_batches_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let instance = open(folder.path());
    let mut session = instance.session().unwrap();
    let mut other = instance.session().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || run(&mut other, "waitfor delay '0:1'").errors);
        std::thread::sleep(Duration::from_millis(200));
        run(&mut session, "shutdown with nowait");
        assert_eq!(waiting.join().unwrap(), [3617]);
    });
}
