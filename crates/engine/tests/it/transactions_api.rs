//! Transactions as clients see them: requests of the transaction manager, SET
//! IMPLICIT_TRANSACTIONS, what the server tells of their beginnings and ends; the reset of a
//! session; attention before a batch begins.

use crate::support::tape::{Bench, Tape, int, out, run, text};
use engine::session::Isolation;
use engine::{Session, TransactionRequest, TransactionStart};

fn ask(session: &mut Session, request: &TransactionRequest) -> Vec<String> {
    let mut tape = Tape::default();
    session.transaction(request, &mut tape);
    tape.lines
}

fn begin(name: &str, isolation: Option<Isolation>) -> TransactionStart {
    TransactionStart { name: name.into(), isolation }
}

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&["create table t (n int primary key)"]);
    b
}

/// The number in what was told of a transaction.
fn number(line: &str) -> u64 {
    line.trim_end_matches(')')
        .rsplit('(')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn requests_of_the_transaction_manager() {
    let mut b = bench();
    let start = TransactionRequest::Begin(begin("outermost", Some(Isolation::Serializable)));
    let said = ask(&mut b.session, &start);
    let first = number(&said[0]);
    assert_eq!(said, [format!("TransactionBegan({first})"), "done BeginTransaction".into()]);
    assert_eq!(b.session.transaction_number(), first);
    assert_eq!(
        b.run(
            "select transaction_isolation_level from sys.dm_exec_sessions where session_id = @@spid"
        )[1],
        "row 4"
    );
    b.run("insert t values (1)");
    assert_eq!(
        ask(&mut b.session, &TransactionRequest::Save { name: "here".into() }),
        ["done SaveTransaction"]
    );
    b.run("insert t values (2)");
    let to_here = TransactionRequest::Rollback { name: "here".into(), then: Some(begin("", None)) };
    assert_eq!(ask(&mut b.session, &to_here), ["done Rollback"]);
    // Nested ones count.
    assert_eq!(ask(&mut b.session, &start), ["done BeginTransaction"]);
    let commit = TransactionRequest::Commit { then: None };
    assert_eq!(ask(&mut b.session, &commit), ["done Commit"]);
    // The next one begins at once.
    let said = ask(
        &mut b.session,
        &TransactionRequest::Commit { then: Some(begin("", Some(Isolation::ReadCommitted))) },
    );
    let second = number(&said[1]);
    assert!(second > first);
    assert_eq!(
        said,
        [
            format!("TransactionCommitted({first})"),
            format!("TransactionBegan({second})"),
            "done Commit".into()
        ]
    );
    b.run("insert t values (3)");
    let whole = TransactionRequest::Rollback { name: "".into(), then: None };
    assert_eq!(
        ask(&mut b.session, &whole),
        [format!("TransactionRolledBack({second})"), "done Rollback".into()]
    );
    assert_eq!(b.run("select n from t")[1..], ["row 1", "done Select 1"]);
    assert_eq!(ask(&mut b.session, &whole), ["error 3903 line 0"]);
    assert_eq!(ask(&mut b.session, &commit), ["error 3902 line 0"]);
    assert_eq!(
        ask(&mut b.session, &TransactionRequest::Save { name: "x".into() }),
        ["error 628 line 0"]
    );
    assert_eq!(b.session.transaction_number(), 0);
}

#[test]
fn the_same_by_statements() {
    let mut b = bench();
    let said = b.run("begin tran insert t values (1) commit");
    let n = number(&said[0]);
    assert_eq!(
        said,
        [
            format!("TransactionBegan({n})"),
            "done BeginTransaction".into(),
            "done Insert 1".into(),
            format!("TransactionCommitted({n})"),
            "done Commit".into()
        ]
    );
    // The server rolls back by itself.
    let said = b.run("set xact_abort on begin tran insert t values (1)");
    let n = number(&said[1]);
    assert_eq!(
        said[3..],
        [
            "error 2627 line 1".to_string(),
            format!("TransactionRolledBack({n})"),
            "done Insert error".into()
        ]
    );
    // A transaction of one statement is nobody's affair, not even in a trigger.
    b.setup(&["create trigger watch on t after insert as select @@trancount"]);
    assert!(!b.run("insert t values (9)").iter().any(|l| l.starts_with("Transaction")));
}

#[test]
fn implicit_transactions() {
    let mut b = bench();
    // As JDBC sends it.
    assert_eq!(b.run("set implicit_transactions on "), ["done SetOn"]);
    // What touches no table begins none.
    assert_eq!(b.run("SELECT 1")[1], "row 1");
    b.run("declare @a int = 1 set @a = 2 print 'x'");
    assert_eq!(b.session.trancount(), 0);
    // Nor does a call leave one behind that is not its own affair.
    let said = b.call(
        "sp_executesql",
        &[text("", "insert t values (@P0)"), text("", "@P0 int"), int("", 5)],
    );
    let n = number(&said[0]);
    assert_eq!(said[1..], ["done Insert 1 nested", "status 0"]);
    assert_eq!(b.session.trancount(), 1);
    assert_eq!(
        b.run("IF @@TRANCOUNT > 0 COMMIT TRAN"),
        [format!("TransactionCommitted({n})"), "done Commit".into()]
    );
    // The first look at a table tells of it before its rows.
    let said = b.run("select n from t");
    assert!(said[0].starts_with("TransactionBegan"), "{said:?}");
    assert_eq!(said[2], "row 5");
    b.run("rollback");
    // BEGIN TRANSACTION begins two.
    b.run(
        "IF @@TRANCOUNT = 0 BEGIN BEGIN TRAN IF @@TRANCOUNT = 2 COMMIT TRAN END SAVE TRAN [S10001]",
    );
    assert_eq!(b.session.trancount(), 1);
    b.run("insert t values (6) rollback tran [S10001]");
    // The end of it, without anything between the statements.
    b.run("set implicit_transactions off IF @@TRANCOUNT > 0 COMMIT TRAN ");
    assert_eq!(b.session.trancount(), 0);
    assert_eq!(b.run("select n from t")[1..], ["row 5", "done Select 1"]);
}

#[test]
fn a_reset_leaves_nothing() {
    let mut b = bench();
    b.setup(&["create database other", "set nocount on"]);
    b.session.keep_as_login();
    b.run("begin tran insert t values (1) create table #t (n int) insert #t values (1)");
    b.run("commit begin tran insert t values (2)");
    b.run("use other set nocount off set lock_timeout 5 set transaction isolation level serializable set context_info 0x01");
    b.call("sp_prepare", &[out(int("", 0)), text("", ""), text("", "select 1")]);
    let mut tape = Tape::default();
    b.session.reset(&mut tape).unwrap();
    assert!(tape.lines[0].starts_with("TransactionRolledBack("), "{:?}", tape.lines);
    assert_eq!(tape.lines[1..], ["Database { new: \"master\", old: \"other\" }"]);
    assert_eq!(b.call("sp_execute", &[int("", 1)]), ["error 8179 line 0"]);
    // NOCOUNT is what it was at login.
    b.check("select n from t", &["columns [n Int base]", "row 1", "done Select"]);
    b.check("select * from #t", &["error 208 line 1", "done Select error"]);
    let said = b.run(
        "select @@lock_timeout, transaction_isolation_level, context_info(), @@identity from sys.dm_exec_sessions
         where session_id = @@spid",
    );
    assert_eq!(said[1], "row -1|2|NULL|NULL");
    // The login's database is gone.
    b.setup(&["use other"]);
    b.session.keep_as_login();
    b.setup(&["use master", "drop database other"]);
    assert_eq!(b.session.reset(&mut Tape::default()).unwrap_err().number, 911);
    assert_eq!(b.session.database(), "master");
}

#[test]
fn an_attention_is_for_one_request() {
    let mut b = bench();
    let handle = b.session.cancel_handle();
    // Between requests: it means nothing.
    handle.cancel();
    assert_eq!(b.run("select 1").len(), 3);
    // Before the batch begins: the batch does not run.
    handle.expect_request();
    handle.cancel();
    assert_eq!(b.run("insert t values (1)")[0], "error 3617 line 1");
    // Nor does the next call of the same request.
    assert!(
        b.call("sp_executesql", &[text("", "insert t values (2)")])
            .iter()
            .any(|l| l.starts_with("error 3617"))
    );
    assert!(handle.request_over());
    assert_eq!(b.run("select count(*) from t")[1], "row 0");
    // After the answer: it is not for the next request.
    handle.expect_request();
    b.run("select 1");
    assert!(!handle.request_over());
    handle.cancel();
    handle.expect_request();
    assert_eq!(b.run("insert t values (3)"), ["done Insert 1"]);
    handle.request_over();
}

#[test]
fn an_attention_while_waiting_for_a_lock() {
    let mut b = bench();
    b.run("begin tran insert t values (1)");
    let mut other = b.instance.session().unwrap();
    let handle = other.cancel_handle();
    handle.expect_request();
    let waiting = std::thread::spawn(move || {
        let said = run(&mut other, "insert t values (1)");
        (other, said)
    });
    while !b
        .run("select count(*) from sys.dm_os_waiting_tasks where blocking_session_id = @@spid")
        .contains(&"row 1".to_string())
    {
        std::thread::yield_now();
    }
    handle.cancel();
    let (mut other, said) = waiting.join().unwrap();
    assert_eq!(said[0], "error 3617 line 1");
    assert!(handle.request_over());
    b.run("rollback");
    assert_eq!(run(&mut other, "insert t values (1)"), ["done Insert 1"]);
}
