//! How a batch ends from outside: a client's attention, a client that goes away, KILL, SHUTDOWN.

use ringwood_engine::{Instance, InstanceOptions, ResultRows, Session, Sink, SqlError, Value};
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
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.last = row.first().cloned();
            Ok(())
        })
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
    Instance::open(InstanceOptions { memory_bytes: Some(32 << 20), ..InstanceOptions::new(folder) })
        .unwrap()
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

/// What a statement did to table variables is not taken back: they end with the batch. All else is.
#[test]
fn an_attention_leaves_table_variables_to_the_end_of_the_batch() {
    let folder = tempfile::tempdir().unwrap();
    let instance = open(folder.path());
    let mut session = instance.session().unwrap();
    run(&mut session, "create table t (i int) create table #t (i int) insert #t values (1)");
    run(
        &mut session,
        "create function f (@n bigint) returns @r table (i bigint) as
         begin insert @r select value from generate_series(cast(1 as bigint), @n) return end",
    );
    let rows = "from sys.all_columns a, sys.all_columns b, sys.all_columns c, sys.all_columns d";
    let works = [
        format!(
            "declare @v table (i int primary key, x varchar(max))
             insert @v select row_number() over (order by (select 1)), 'x' {rows}"
        ),
        format!(
            "declare @v table (i int, index ix (i)) insert @v output inserted.i into t select 1 {rows}"
        ),
        format!(
            "declare @v table (i int) insert @v values (1)
             insert #t output inserted.i into @v select 1 {rows}"
        ),
        "select count(*) from f(100000000000)".to_string(),
        format!(
            "declare @v table (i int)
             begin try insert @v select 1 {rows} end try begin catch insert t values (5) end catch"
        ),
    ];
    for tran in ["", "begin tran insert t values (1)"] {
        for work in &works {
            run(&mut session, tran);
            assert_eq!(attention(&mut session, work), [3617], "{work}");
            let open = if tran.is_empty() { 0 } else { 1 };
            assert_eq!(session.trancount(), open, "{work}");
            let seen = run(
                &mut session,
                "select concat((select count(*) from t), ' ', (select count(*) from #t))",
            )
            .last;
            assert_eq!(seen, Some(Value::Str(format!("{open} 1").into())), "{tran} {work}");
            run(&mut session, "if @@trancount > 0 rollback");
            let fresh = run(
                &mut session,
                "declare @v table (i int primary key) insert @v values (7), (8) select sum(i) from @v",
            );
            assert_eq!(fresh.last, Some(Value::Int(15)), "{work}");
        }
    }
    assert_eq!(run(&mut session, "select count(*) from t").last, Some(Value::Int(0)));
}

/// The answer to an attention does not wait until much is taken back; nothing sees it before.
#[test]
fn a_large_undo_goes_on_after_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let instance = open(folder.path());
    let mut session = instance.session().unwrap();
    let mut other = instance.session().unwrap();
    run(
        &mut session,
        "create table t (i bigint primary key, x char(100)) insert t values (0, 'a')",
    );
    run(&mut session, "create table #t (x char(4000)) insert #t values ('a')");
    let count = |session: &mut Session| {
        let seen = run(session, "select concat(count(*), ' ', max(x), ' ', sum(i)) from t");
        assert_eq!(seen.errors, [] as [i32; 0]);
        seen.last
    };
    let is = |text: &str| Some(Value::Str(text.into()));
    let padded = |n: u32, x: &str, sum: i32| format!("{n} {x:<100} {sum}");
    let insert = "insert t select value, 'b' from generate_series(10, 100000000)";
    let update =
        "declare @i int = 0 while 1 = 1 begin set @i += 1 update t set x = concat('b', @i) end";
    for (tran, rows, sum) in [("", 1u32, 0), ("begin tran insert t values (5, 'a')", 2, 5)] {
        run(&mut session, tran);
        for batch in [insert, "insert #t select 'b' from generate_series(1, 100000000)"] {
            assert_eq!(attention(&mut session, batch), [3617], "{batch}");
            assert_eq!(session.trancount(), rows - 1);
            // Who reads versions sees nothing of it.
            let seen = run(&mut other, "select count(*) from t with (readcommitted)");
            assert_eq!((seen.errors, seen.last), (vec![], Some(Value::Int(1))), "{tran} {batch}");
            assert_eq!(count(&mut session), is(&padded(rows, "a", sum)), "{tran} {batch}");
            assert_eq!(run(&mut session, "select count(*) from #t").last, Some(Value::Int(1)));
        }
        run(&mut session, "if @@trancount > 0 rollback");
        assert_eq!(count(&mut other), is(&padded(1, "a", 0)), "{tran}");
    }
    // Each statement of a loop was a transaction of its own.
    assert_eq!(attention(&mut session, update), [3617]);
    // A session that ends at once, and the instance after it.
    run(&mut session, "begin tran delete t");
    assert_eq!(attention(&mut session, insert), [3617]);
    drop(session);
    let seen = run(&mut other, "select count(*) from t").last;
    assert_eq!(seen, Some(Value::Int(1)));
    drop(other);
    instance.close().unwrap();
    drop(instance);
    let instance = open(folder.path());
    let seen =
        run(&mut instance.session().unwrap(), "select concat(count(*), ' ', sum(i)) from t").last;
    assert_eq!(seen, is("1 0"));
}

/// A power loss while the undo goes on, right after the answer and later: a restart finishes it.
#[test]
fn a_crash_in_an_undo_behind_the_answer_leaves_nothing() {
    let disk = sim::SimDisk::new(32);
    let open = |disk: &sim::SimDisk| {
        let disk = Arc::new(disk.clone());
        let options =
            InstanceOptions { memory_bytes: Some(32 << 20), disk, ..InstanceOptions::new("/data") };
        Instance::open(options).unwrap()
    };
    let instance = open(&disk);
    let mut session = instance.session().unwrap();
    let made = "create table t (i bigint primary key, x char(100)) insert t values (0, 'a')
                create table u (i bigint) insert u values (7)";
    assert_eq!(run(&mut session, made).errors, [] as [i32; 0]);
    let insert = "insert t select value, 'b' from generate_series(10, 100000000)";
    for (tran, seed) in [("", 1), ("begin tran update u set i = 8", 2)] {
        run(&mut session, tran);
        assert_eq!(attention(&mut session, insert), [3617]);
        for later in 0..4 {
            let lost = disk.crash(10 * seed + later);
            std::thread::sleep(Duration::from_millis(10 * later));
            let again = open(&lost);
            let text = "select concat((select count(*) from t), ' ', (select sum(i) from u))";
            let seen = run(&mut again.session().unwrap(), text).last;
            assert_eq!(seen, Some(Value::Str("1 7".into())), "{tran} {later}");
        }
        run(&mut session, "if @@trancount > 0 rollback");
    }
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
    assert_eq!(
        run(&mut instance.session().unwrap(), "select sum(i) from t").last,
        Some(Value::Int(1))
    );
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
