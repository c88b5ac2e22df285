//! Isolation levels and lock hints with several sessions: who sees what, who waits for whom, who must give way.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use engine::Session;
use text::{Bench, Text};

/// A session beside the bench's own, in the same database.
struct Other(Session);

impl Other {
    fn new(b: &Bench) -> Other {
        let mut session = b.instance.session().unwrap();
        session.use_database("t").unwrap();
        Other(session)
    }

    fn run(&mut self, sql: &str) -> String {
        let mut text = Text::default();
        self.0.execute(sql, &mut text);
        text.out.trim().to_owned()
    }

    #[track_caller]
    fn check(&mut self, sql: &str, expected: &str) {
        assert_eq!(self.run(sql), expected, "{sql}");
    }
}

const SNAPSHOT: &str = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT";

/// A bench whose database allows SNAPSHOT isolation, with table `a` of keys 1 to 3, and a second session.
fn snapshots() -> (Bench, Other) {
    let mut b = Bench::new();
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
    b.check("CREATE TABLE a (id int PRIMARY KEY, n int); INSERT a VALUES (1, 10), (2, 20), (3, 30)", "(3)");
    let mut other = Other::new(&b);
    other.check(SNAPSHOT, "");
    (b, other)
}

#[test]
fn snapshot_isolation_must_be_allowed_and_come_first() {
    let (mut b, mut s) = snapshots();
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION OFF", "");
    assert!(s.run("SELECT n FROM a").starts_with(
        "Msg 3952: Snapshot isolation transaction failed accessing database 't' because snapshot isolation is not allowed"
    ));
    assert!(s.run("UPDATE a SET n = 0").starts_with("Msg 3952"));
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
    s.check("SELECT COUNT(*) FROM a", "3");
    s.check("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN; SELECT COUNT(*) FROM a", "3");
    assert!(s.run(&format!("{SNAPSHOT}; SELECT COUNT(*) FROM a")).starts_with(
        "Msg 3951: Transaction failed in database 't' because the statement was run under snapshot isolation but"
    ));
    s.check("SELECT @@TRANCOUNT", "0");
}

#[test]
fn a_snapshot_transaction_reads_one_moment() {
    let (mut b, mut s) = snapshots();
    s.check("BEGIN TRAN; SELECT SUM(n) FROM a", "60");
    b.check("UPDATE a SET n = n + 1; INSERT a VALUES (4, 40); DELETE a WHERE id = 1", "(3)\n(1)\n(1)");
    s.check("SELECT SUM(n) FROM a; SELECT n FROM a WHERE id = 1", "60\n10");
    // Own work is seen besides; another level in between sees what is now.
    s.check("INSERT a VALUES (9, 1); SELECT SUM(n) FROM a", "(1)\n61");
    s.check("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT SUM(n) FROM a", "93");
    s.check(&format!("{SNAPSHOT}; SELECT SUM(n) FROM a; COMMIT; SELECT SUM(n) FROM a"), "61\n93");
}

#[test]
fn a_change_of_what_others_changed_is_a_conflict() {
    let (mut b, mut s) = snapshots();
    let conflict = "Msg 3960: Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot \
                    isolation to access table 'dbo.a' directly or indirectly in database 't' to update, delete, or \
                    insert the row that has been modified or deleted by another transaction. Retry the transaction or \
                    change the isolation level for the update/delete statement.";
    for (theirs, mine) in [
        ("UPDATE a SET n = n + 1 WHERE id = 2", "UPDATE a SET n = 0 WHERE id = 2"),
        ("UPDATE a SET n = n + 1 WHERE id = 2", "DELETE a WHERE n = 21"),
        ("DELETE a WHERE id = 3", "UPDATE a SET n = 0 WHERE id = 3"),
    ] {
        s.check("BEGIN TRAN; SELECT COUNT(*) FROM a WHERE id < 3", "2");
        b.check(theirs, "(1)");
        s.check(mine, conflict);
        s.check("SELECT @@TRANCOUNT", "0");
    }
    // What was not changed since may be changed, own changes too; a change that was rolled back is none.
    s.check("BEGIN TRAN; SELECT COUNT(*) FROM a", "2");
    b.check("BEGIN TRAN; UPDATE a SET n = 7 WHERE id = 1; ROLLBACK", "(1)");
    s.check("UPDATE a SET n = 11 WHERE id = 1; UPDATE a SET n = n + 1 WHERE id = 1", "(1)\n(1)");
    b.check("UPDATE a SET n = 0 WHERE id = 2", "(1)");
    s.check("COMMIT; SELECT n FROM a", "12\n0");
}

#[test]
fn a_snapshot_refuses_newer_definitions() {
    let (mut b, mut s) = snapshots();
    b.check("CREATE TABLE c (x int); INSERT c VALUES (1)", "(1)");
    for ddl in [
        "ALTER TABLE a ALTER COLUMN n bigint",
        "CREATE INDEX ix ON a (n)",
        "ALTER INDEX ix ON a REBUILD",
        "TRUNCATE TABLE a",
        "DROP TABLE a; CREATE TABLE a (id int PRIMARY KEY, n int)",
    ] {
        s.check("BEGIN TRAN; SELECT COUNT(*) FROM c", "1");
        b.check(ddl, "");
        assert!(
            s.run("SELECT COUNT(*) FROM a").starts_with(
                "Msg 3961: Snapshot isolation transaction failed in database 't' because the object accessed by the \
                 statement has been modified by a DDL statement in another concurrent transaction since the start of \
                 this transaction."
            ),
            "{ddl}"
        );
        s.check("SELECT @@TRANCOUNT", "0");
    }
    // Rolled back, it has not happened; one's own is allowed where it is not DDL on rows that others may see.
    s.check("BEGIN TRAN; SELECT COUNT(*) FROM c", "1");
    b.check("BEGIN TRAN; ALTER TABLE a ADD z int; ROLLBACK", "");
    s.check(
        "SELECT COUNT(*) FROM a; CREATE TABLE mine (x int); INSERT mine VALUES (5); SELECT x FROM mine",
        "0\n(1)\n5",
    );
    assert!(
        s.run("ALTER TABLE a ADD z int")
            .starts_with("Msg 3964: Transaction failed because this DDL statement")
    );
    s.check("SELECT @@TRANCOUNT; ALTER TABLE a ADD z int", "0");
}
