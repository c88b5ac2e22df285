//! Isolation levels and lock hints with several sessions: what each sees, which waits for which,
//! which is the victim of a deadlock.

use crate::support::text::{Bench, Text};
use engine::Session;

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

/// A bench whose database allows SNAPSHOT isolation, with table `a` of keys 1 to 3, and a second
/// session.
fn snapshots() -> (Bench, Other) {
    let mut b = Bench::new();
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int); INSERT a VALUES (1, 10), (2, 20), (3, 30)",
        "(3)",
    );
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
    s.check(
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN; SELECT COUNT(*) FROM a",
        "3",
    );
    assert!(s.run(&format!("{SNAPSHOT}; SELECT COUNT(*) FROM a")).starts_with(
        "Msg 3951: Transaction failed in database 't' because the statement was run under snapshot isolation but"
    ));
    s.check("SELECT @@TRANCOUNT", "0");
}

#[test]
fn a_snapshot_transaction_reads_one_moment() {
    let (mut b, mut s) = snapshots();
    s.check("BEGIN TRAN; SELECT SUM(n) FROM a", "60");
    b.check(
        "UPDATE a SET n = n + 1; INSERT a VALUES (4, 40); DELETE a WHERE id = 1",
        "(3)\n(1)\n(1)",
    );
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
    // What was not changed since may be changed, own changes too; a change that was rolled back is
    // none.
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
    // Rolled back, it has not happened; one's own is allowed where it is not DDL on rows that
    // others may see.
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

/// A batch of another session that runs on its own thread.
struct Running(std::thread::JoinHandle<(Other, String)>);

impl Other {
    fn start(mut self, sql: &str) -> Running {
        let sql = sql.to_owned();
        Running(std::thread::spawn(move || {
            let said = self.run(&sql);
            (self, said)
        }))
    }

    /// Starts a batch that has to wait.
    #[track_caller]
    fn blocked(self, sql: &str) -> Running {
        let running = self.start(sql);
        std::thread::sleep(std::time::Duration::from_millis(120));
        assert!(!running.0.is_finished(), "did not wait: {sql}: {}", running.0.join().unwrap().1);
        running
    }
}

impl Running {
    fn end(self) -> (Other, String) {
        self.0.join().unwrap()
    }

    /// The batch says that its session is a deadlock's victim, and nothing else.
    #[track_caller]
    fn ends_as_victim(self) -> Other {
        let (mut other, said) = self.end();
        let session = other.run("SELECT @@SPID");
        let expected = format!(
            "Msg 1205: Transaction (Process ID {session}) was deadlocked on lock resources with another process and has \
             been chosen as the deadlock victim. Rerun the transaction."
        );
        assert_eq!(said, expected);
        other
    }

    #[track_caller]
    fn says(self, expected: &str) -> Other {
        let (other, said) = self.end();
        assert_eq!(said, expected);
        other
    }
}

const TIMEOUT: &str = "Msg 1222: Lock request time out period exceeded.";
const SERIALIZABLE: &str = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";

/// Table `a` with keys 10, 20, 30 and an index on n; table `h`, a heap, with the same rows.
fn locking() -> (Bench, Other) {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int, m int DEFAULT 0); CREATE INDEX ix ON a (n);
         INSERT a (id, n) VALUES (10, 1), (20, 2), (30, 3);
         CREATE TABLE h (id int, n int); INSERT h VALUES (10, 1), (20, 2), (30, 3)",
        "(3)\n(3)",
    );
    let other = Other::new(&b);
    (b, other)
}

/// The lost update: without UPDLOCK both would add to what they have read.
#[test]
fn updlock_prevents_the_lost_update() {
    for table in ["a", "h"] {
        let (mut b, s) = locking();
        let add = |more: i32| {
            format!(
                "BEGIN TRAN; DECLARE @n int = (SELECT n FROM {table} WITH (UPDLOCK) WHERE id = 20);
                 UPDATE {table} SET n = @n + {more} WHERE id = 20"
            )
        };
        b.check(&add(10), "(1)");
        let second = s.blocked(&(add(100) + "; COMMIT"));
        b.check("COMMIT", "");
        let mut s = second.says("(1)");
        s.check(&format!("SELECT n FROM {table} WHERE id = 20"), "112");
    }
}

#[test]
fn updlock_keeps_writers_out_and_lets_readers_read() {
    for table in ["a", "h"] {
        let (mut b, mut s) = locking();
        b.check(&format!("BEGIN TRAN; SELECT n FROM {table} WITH (UPDLOCK) WHERE id = 20"), "2");
        s.check(&format!("SELECT n FROM {table} WHERE id = 20"), "2");
        s.check(&format!("SELECT n FROM {table} WITH (REPEATABLEREAD) WHERE id = 20"), "2");
        s.check("SET LOCK_TIMEOUT 30", "");
        s.check(&format!("UPDATE {table} SET n = 5 WHERE id = 20"), TIMEOUT);
        s.check(&format!("DELETE {table} WHERE id = 20"), TIMEOUT);
        s.check(&format!("SELECT n FROM {table} WITH (UPDLOCK) WHERE id = 20"), TIMEOUT);
        // Other rows are free, new ones too.
        s.check(
            &format!(
                "UPDATE {table} SET n = n WHERE id = 10; INSERT {table} (id, n) VALUES (25, 9)"
            ),
            "(1)\n(1)",
        );
        b.check(&format!("UPDATE {table} SET n = 6 WHERE id = 20; COMMIT"), "(1)");
        s.check(
            &format!("UPDATE {table} SET n = n + 1 WHERE id = 20; SELECT SUM(n) FROM {table}"),
            "(1)\n20",
        );
    }
}

#[test]
fn repeatable_read_repeats() {
    for table in ["a", "h"] {
        let (mut b, s) = locking();
        b.check("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "");
        b.check(&format!("BEGIN TRAN; SELECT n FROM {table} WHERE id <= 20 ORDER BY id"), "1\n2");
        let writer = s.blocked(&format!("UPDATE {table} SET n = n + 10 WHERE id = 20"));
        b.check(
            &format!(
                "SELECT n FROM {table} WHERE id = 20; INSERT {table} (id, n) VALUES (15, 4); COMMIT"
            ),
            "2\n(1)",
        );
        let mut s = writer.says("(1)");
        s.check(&format!("SELECT n FROM {table} WHERE id = 20"), "12");
        // It waits for a transaction that is changing a row, and reads what was committed.
        s.check(&format!("BEGIN TRAN; UPDATE {table} SET n = 50 WHERE id = 30"), "(1)");
        let reader = Other::new(&b).blocked(&format!(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT n FROM {table} WHERE id = 30"
        ));
        s.check("ROLLBACK", "");
        reader.says("3");
    }
}

/// Rows are locked in the order in which they are read: a statement that waits for a row holds none
/// after it, so that statements that read the same rows in the same direction never deadlock. A
/// page is changed in one step where it can.
#[test]
fn a_statement_that_waits_holds_no_later_row() {
    for table in ["a", "h"] {
        for index in ["", "CREATE INDEX by_m ON {} (m)"] {
            for change in ["UPDATE {} SET m = m + 1", "DELETE {}"] {
                let (mut b, mut s) = locking();
                b.run("ALTER TABLE h ADD m int; CREATE INDEX by_id ON a (id); CREATE INDEX by_id ON h (id)");
                b.run(&index.replace("{}", table));
                b.check(&format!("BEGIN TRAN; UPDATE {table} SET n = 7 WHERE id = 20"), "(1)");
                let waiting = Other::new(&b).blocked(&change.replace("{}", table));
                let said = s.run(&format!("SET LOCK_TIMEOUT 1000; UPDATE {table} SET n = 9 FROM {table} WITH (INDEX(by_id)) WHERE id = 30"));
                assert_eq!(said, "(1)", "{table}: {change} waits for row 20 and holds row 30");
                s.check(&format!("SET LOCK_TIMEOUT 30; UPDATE {table} SET n = 9 FROM {table} WITH (INDEX(by_id)) WHERE id = 10"), TIMEOUT);
                b.check("COMMIT", "");
                waiting.says("(3)");
            }
        }
    }
}

/// A row that is read again after a wait counts once.
#[test]
fn variables_are_assigned_once_for_each_row_changed() {
    for table in ["a", "h"] {
        let (mut b, _) = locking();
        b.check(&format!("BEGIN TRAN; UPDATE {table} SET n = 70 WHERE id = 20"), "(1)");
        let waiting = Other::new(&b).blocked(&format!(
            "DECLARE @rows int = 0, @sum int = 0, @last int;
             UPDATE {table} SET @rows += 1, @sum += n, @last = n = n + 1; SELECT @rows, @sum, @last"
        ));
        b.check("COMMIT", "");
        waiting.says("(3)\n3|74|4");
    }
}

/// A row that a later statement locks more strongly and rejects is still locked as it was.
#[test]
fn a_rejected_row_keeps_its_older_lock() {
    let (mut b, mut s) = locking();
    b.check(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; SELECT n FROM a WHERE id = 20",
        "2",
    );
    b.check("SELECT COUNT(*) FROM a WITH (UPDLOCK) WHERE n + 0 = 77", "0");
    s.check("SET LOCK_TIMEOUT 30; UPDATE a SET n = 5 WHERE id = 10", "(1)");
    s.check("UPDATE a SET n = 5 WHERE id = 20", TIMEOUT);
    b.check("COMMIT", "");
}

#[test]
fn serializable_has_no_phantoms() {
    for (read, intruder, free) in [
        (
            "id BETWEEN 12 AND 28",
            "INSERT a (id, n) VALUES (15, 0)",
            "INSERT a (id, n) VALUES (5, 0)",
        ),
        (
            "id BETWEEN 12 AND 28",
            "INSERT a (id, n) VALUES (28, 0)",
            "UPDATE a SET n = 4 WHERE id = 10",
        ),
        ("id > 20", "INSERT a (id, n) VALUES (31, 0)", "INSERT a (id, n) VALUES (15, 0)"),
        ("id = 15", "INSERT a (id, n) VALUES (15, 0)", "INSERT a (id, n) VALUES (25, 0)"),
        ("id = 99", "INSERT a (id, n) VALUES (99, 0)", "INSERT a (id, n) VALUES (25, 0)"),
        ("id = 20", "DELETE a WHERE id = 20", "INSERT a (id, n) VALUES (19, 0), (21, 0)"),
        ("n = 2", "INSERT a (id, n) VALUES (99, 2)", "INSERT a (id, n) VALUES (98, 9)"),
        ("n = 2", "UPDATE a SET n = 2 WHERE id = 10", "UPDATE a SET m = 1 WHERE id = 10"),
        ("n = 2 AND m = 1", "UPDATE a SET m = 1 WHERE id = 20", "INSERT a (id, n) VALUES (98, 9)"),
        ("n = 7", "UPDATE a SET n = 7 WHERE id = 10", "UPDATE a SET m = 1 WHERE id = 10"),
    ] {
        let (mut b, mut s) = locking();
        let hint = if read.starts_with('n') { "WITH (INDEX(ix))" } else { "" };
        let count = format!("SELECT COUNT(*) FROM a {hint} WHERE {read}");
        b.check(SERIALIZABLE, "");
        let before = b.run(&format!("BEGIN TRAN; {count}"));
        let said = s.run(&format!("SET LOCK_TIMEOUT 2000; {free}"));
        assert!(!said.contains("Msg"), "{read}: {free}: {said}");
        let s = s.blocked(intruder);
        b.check(&count, &before);
        b.check("COMMIT", "");
        let (_, said) = s.end();
        assert!(!said.contains("Msg"), "{read}: {intruder}: {said}");
        assert_ne!(b.run(&count), before, "{read}: {intruder} would have been a phantom");
    }
}

#[test]
fn a_serializable_scan_of_a_heap_locks_the_table() {
    let (mut b, s) = locking();
    b.check("BEGIN TRAN; SELECT COUNT(*) FROM h WITH (HOLDLOCK)", "3");
    let s = s.blocked("INSERT h VALUES (40, 4)");
    b.check("SELECT COUNT(*) FROM h; COMMIT", "3");
    s.says("(1)").check("SELECT COUNT(*) FROM h", "4");
}

/// Deleted keys that are still there as ghosts, and keys of a transaction that rolls back, do not
/// open a gap.
#[test]
fn gaps_hold_beside_ghosts_and_rollbacks() {
    let (mut b, mut s) = locking();
    s.check("DELETE a WHERE id = 20", "(1)");
    b.check(
        &format!("{SERIALIZABLE}; BEGIN TRAN; SELECT COUNT(*) FROM a WHERE id BETWEEN 11 AND 29"),
        "0",
    );
    s.check("SET LOCK_TIMEOUT 30; INSERT a (id, n) VALUES (20, 2)", TIMEOUT);
    s.check("INSERT a (id, n) VALUES (12, 2)", TIMEOUT);
    s.check("INSERT a (id, n) VALUES (28, 2)", TIMEOUT);
    b.check("COMMIT", "");
    // The key that ends the range is another transaction's insert: the reader waits for its fate.
    s.check("SET LOCK_TIMEOUT -1; BEGIN TRAN; INSERT a (id, n) VALUES (25, 2)", "(1)");
    let reader = Other::new(&b).blocked(&format!(
        "{SERIALIZABLE}; BEGIN TRAN; SELECT COUNT(*) FROM a WHERE id BETWEEN 11 AND 22"
    ));
    s.check("ROLLBACK", "");
    let mut reader = reader.says("0");
    s.check("SET LOCK_TIMEOUT 30; INSERT a (id, n) VALUES (21, 2)", TIMEOUT);
    reader.check("COMMIT", "");
    s.check("INSERT a (id, n) VALUES (21, 2)", "(1)");
}

#[test]
fn own_inserts_into_a_locked_range_stay_locked_ranges() {
    let (mut b, mut s) = locking();
    b.check(
        &format!("{SERIALIZABLE}; BEGIN TRAN; SELECT COUNT(*) FROM a WHERE id BETWEEN 11 AND 29"),
        "1",
    );
    b.check("INSERT a (id, n) VALUES (25, 0)", "(1)");
    s.check("SET LOCK_TIMEOUT 30; INSERT a (id, n) VALUES (23, 2)", TIMEOUT);
    s.check("INSERT a (id, n) VALUES (27, 2)", TIMEOUT);
    b.check("SELECT COUNT(*) FROM a WHERE id BETWEEN 11 AND 29; COMMIT", "2");
    s.check("INSERT a (id, n) VALUES (23, 2)", "(1)");
}

/// Each of two transactions takes back its own of two rows if the sum allows it: one of them must
/// see the other.
#[test]
fn serializable_prevents_write_skew() {
    let (mut b, s) = locking();
    b.check(&format!("{SERIALIZABLE}; BEGIN TRAN; SELECT SUM(n) FROM a WHERE id <= 20"), "3");
    let mut s = s;
    s.check(&format!("{SERIALIZABLE}; BEGIN TRAN; SELECT SUM(n) FROM a WHERE id <= 20"), "3");
    // The one that has written less gives way: a tie goes to the newer wait, so the batch's own is
    // the older.
    b.check("SET DEADLOCK_PRIORITY HIGH", "");
    let second = s.blocked("UPDATE a SET n = n - 2 WHERE id = 20");
    b.check("UPDATE a SET n = n - 2 WHERE id = 10; COMMIT", "(1)");
    let mut s = second.ends_as_victim();
    s.check("SELECT @@TRANCOUNT; SELECT SUM(n) FROM a WHERE id <= 20", "0\n1");
}

#[test]
fn a_deadlock_has_one_victim() {
    let (mut b, s) = locking();
    b.check(
        "SET DEADLOCK_PRIORITY HIGH; BEGIN TRAN; SELECT n FROM a WITH (XLOCK) WHERE id = 10",
        "1",
    );
    let mut s = s;
    s.check("BEGIN TRAN; SELECT n FROM a WITH (UPDLOCK) WHERE id = 20", "2");
    let second =
        s.blocked("SELECT n FROM a WITH (REPEATABLEREAD) WHERE id = 10; SELECT 'not reached'");
    b.check("UPDATE a SET n = 7 WHERE id = 20; COMMIT", "(1)");
    second.ends_as_victim().check("SELECT n FROM a WHERE id = 20", "7");
    // In an expression, inside TRY: the victim's locks are free before it says ROLLBACK.
    b.check("BEGIN TRAN; SELECT n FROM a WITH (XLOCK) WHERE id = 10", "1");
    let mut s = Other::new(&b);
    s.check("BEGIN TRAN; SELECT n FROM a WITH (XLOCK) WHERE id = 20", "7");
    let second = s.blocked(
        "BEGIN TRY IF EXISTS (SELECT * FROM a WITH (XLOCK) WHERE id = 10) PRINT 'had it' END TRY
         BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE(); WAITFOR DELAY '00:00:00.300'; ROLLBACK END CATCH",
    );
    b.check("SELECT n FROM a WITH (XLOCK) WHERE id = 20; COMMIT", "7");
    second.says("1205|-1").check("SELECT @@TRANCOUNT", "0");
}

/// Insert if it is not there: with UPDLOCK and HOLDLOCK the second waits and finds the first one's
/// row.
#[test]
fn the_upsert_pattern_works() {
    for table in ["a", "h"] {
        let (mut b, s) = locking();
        let upsert = format!(
            "BEGIN TRAN;
             IF EXISTS (SELECT * FROM {table} WITH (UPDLOCK, HOLDLOCK) WHERE id = 15)
                 UPDATE {table} SET n = n + 1 WHERE id = 15
             ELSE INSERT {table} (id, n) VALUES (15, 0)"
        );
        b.check(&upsert, "(1)");
        let second = s.blocked(&(upsert + "; COMMIT"));
        b.check("COMMIT", "");
        second.says("(1)").check(&format!("SELECT n FROM {table} WHERE id = 15"), "1");
    }
}

/// A table as a queue: each takes the first row that nobody has.
#[test]
fn readpast_takes_what_is_free() {
    for table in ["a", "h"] {
        let (mut b, mut s) = locking();
        let take = format!(
            "BEGIN TRAN; SELECT TOP (1) id FROM {table} WITH (UPDLOCK, READPAST) ORDER BY id"
        );
        let take = if table == "a" { take } else { take.replace(" ORDER BY id", "") };
        b.check(&take, "10");
        s.check(&take, "20");
        let mut third = Other::new(&b);
        third
            .check(&format!("DELETE TOP (1) FROM {table} WITH (READPAST) OUTPUT deleted.id"), "30");
        third.check(&take, "");
        s.check(&format!("DELETE {table} WHERE id = 20; COMMIT"), "(1)");
        // A reader goes past X, not past U.
        third.check(&format!("SELECT id FROM {table} WITH (READPAST)"), "10");
        third.check(&format!("SELECT id FROM {table} WITH (READPAST, XLOCK)"), "");
        b.check("COMMIT", "");
        third.check(&format!("COMMIT; SELECT id FROM {table} WITH (READPAST)"), "10");
    }
}

#[test]
fn table_hints_lock_tables() {
    let (mut b, mut s) = locking();
    s.check("SET LOCK_TIMEOUT 30", "");
    b.check("BEGIN TRAN; SELECT COUNT(*) FROM a WITH (TABLOCKX)", "3");
    s.check(
        "SELECT COUNT(*) FROM a; SELECT COUNT(*) FROM a WITH (TABLOCK)",
        &format!("3\n{TIMEOUT}"),
    );
    s.check("UPDATE a SET n = 0 WHERE id = 10", TIMEOUT);
    b.check("COMMIT; BEGIN TRAN; SELECT COUNT(*) FROM a WITH (TABLOCK)", "3");
    s.check("UPDATE a SET n = 0 WHERE id = 10", "(1)");
    b.check("SELECT COUNT(*) FROM a WITH (TABLOCK, HOLDLOCK)", "3");
    s.check(
        "UPDATE a SET n = 1 WHERE id = 10; SELECT COUNT(*) FROM a WITH (TABLOCK)",
        &format!("{TIMEOUT}\n3"),
    );
    b.check("COMMIT; BEGIN TRAN; INSERT a WITH (TABLOCKX) (id, n) VALUES (99, 0)", "(1)");
    s.check("INSERT a (id, n) VALUES (98, 0)", TIMEOUT);
    b.check("COMMIT", "");
}

#[test]
fn nowait_and_read_committed_by_locks() {
    let (mut b, mut s) = locking();
    b.check("BEGIN TRAN; UPDATE a SET n = 100 WHERE id = 20", "(1)");
    s.check("SELECT n FROM a WITH (READCOMMITTEDLOCK, NOWAIT) WHERE id = 20", TIMEOUT);
    s.check("UPDATE a WITH (NOWAIT) SET n = 5 WHERE id = 20", TIMEOUT);
    let reader = s.blocked("SELECT n FROM a WITH (READCOMMITTEDLOCK) WHERE id = 20");
    b.check("COMMIT", "");
    let mut s = reader.says("100");
    // Its locks are gone with the row: nobody waits for it.
    s.check("BEGIN TRAN; SELECT n FROM a WITH (READCOMMITTEDLOCK) ORDER BY id", "1\n100\n3");
    b.check("SET LOCK_TIMEOUT 30; UPDATE a SET n = 7", "(3)");
    s.check("SELECT n FROM a WITH (READCOMMITTEDLOCK) WHERE id = 20; COMMIT", "7");
}

#[test]
fn hints_that_make_no_sense_are_errors() {
    let (mut b, _) = locking();
    let conflict = "Msg 1047: Conflicting locking hints specified.";
    b.check("SELECT * FROM a WITH (NOLOCK, UPDLOCK)", conflict);
    b.check("SELECT * FROM a WITH (NOLOCK, HOLDLOCK)", conflict);
    b.check("SELECT * FROM a WITH (SERIALIZABLE, REPEATABLEREAD)", conflict);
    b.check("SELECT * FROM a WITH (READPAST, HOLDLOCK)", "Msg 650: You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.");
    b.check("UPDATE a WITH (NOLOCK) SET n = 1", "Msg 1065: The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements.");
    b.check("SELECT * FROM a WITH (FASTER)", "Msg 321: \"FASTER\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.");
    b.check("SELECT COUNT(*) FROM a WITH (ROWLOCK, INDEX(ix))", "3");
}

#[test]
fn many_row_locks_become_a_table_lock() {
    let (mut b, mut s) = locking();
    b.run("DECLARE @i int = 0; SET NOCOUNT ON; WHILE @i < 6000 BEGIN INSERT a (id, n) VALUES (100 + @i, 0); SET @i += 1 END");
    b.check("BEGIN TRAN; SELECT COUNT(*) FROM a WITH (UPDLOCK) WHERE id > 50", "6000");
    let locks = b.run("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY'");
    assert_eq!(locks.trim(), "5000");
    s.check("SET LOCK_TIMEOUT 30; UPDATE a SET n = 1 WHERE id = 10", TIMEOUT);
    b.check("ROLLBACK", "");
    b.check("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type IN ('KEY', 'RID')", "0");
    s.check("UPDATE a SET n = 1 WHERE id = 10", "(1)");
}

/// Many sessions add to counters they have read; with the locks nothing is lost, whatever the
/// order.
#[test]
fn counters_under_contention() {
    let (mut b, _) = locking();
    b.check("CREATE TABLE log (id int IDENTITY PRIMARY KEY, k int, n int)", "");
    for (hint, level) in [
        ("WITH (UPDLOCK)", "READ COMMITTED"),
        ("", "SERIALIZABLE"),
        ("", "REPEATABLE READ"),
        ("", "SNAPSHOT"),
    ] {
        b.run("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON; UPDATE a SET n = 0; UPDATE h SET n = 0; DELETE log");
        b.check("SELECT @@TRANCOUNT, (SELECT SUM(n) FROM a) + (SELECT SUM(n) FROM h) + (SELECT COUNT(*) FROM log)", "0|0");
        let sessions: Vec<_> = (0..4)
            .map(|i| {
                let table = ["a", "h"][i % 2];
                let mut other = Other::new(&b);
                other.run(&format!("SET NOCOUNT ON; SET TRANSACTION ISOLATION LEVEL {level}"));
                other.start(&format!(
                    "DECLARE @i int = 0, @done int = 0, @n int, @k int;
                     WHILE @i < 60 BEGIN
                         SET @k = (@i % 3 + 1) * 10;
                         BEGIN TRY
                             BEGIN TRAN;
                             SET @n = (SELECT n FROM {table} {hint} WHERE id = @k);
                             UPDATE {table} SET n = @n + 1 WHERE id = @k;
                             INSERT log (k, n) VALUES (@k, @n);
                             COMMIT;
                             SET @done += 1
                         END TRY
                         BEGIN CATCH
                             IF ERROR_NUMBER() NOT IN (1205, 3960) THROW;
                             IF @@TRANCOUNT > 0 ROLLBACK
                         END CATCH
                         SET @i += 1
                     END
                     SELECT @done"
                ))
            })
            .collect();
        let done: i32 = sessions.into_iter().map(|s| s.end().1.parse::<i32>().unwrap()).sum();
        assert!(done > 0);
        b.check(
            "SELECT (SELECT SUM(n) FROM a) + (SELECT SUM(n) FROM h), (SELECT COUNT(*) FROM log)",
            &format!("{done}|{done}"),
        );
    }
}

/// Each transaction puts a row into a bucket that it has found empty. Serializable ones never leave
/// two in one.
#[test]
fn at_most_one_row_per_bucket() {
    let (mut b, _) = locking();
    b.check(
        "CREATE TABLE slots (id int PRIMARY KEY, v int); INSERT slots VALUES (-1, 0), (500, 0)",
        "(2)",
    );
    let sessions: Vec<_> = (0..4)
        .map(|i| {
            let hint = ["WITH (HOLDLOCK)", "WITH (UPDLOCK, SERIALIZABLE)"][i % 2];
            Other::new(&b).start(&format!(
                "SET NOCOUNT ON; DECLARE @i int = 0, @k int;
                 WHILE @i < 80 BEGIN
                     SET @k = @i * 7 % 40 * 10;
                     BEGIN TRY
                         BEGIN TRAN;
                         IF NOT EXISTS (SELECT * FROM slots {hint} WHERE id BETWEEN @k AND @k + 9)
                             INSERT slots VALUES (@k + @i * 3 % 7 + {i}, {i});
                         IF @i % 9 = {i} DELETE slots WHERE id BETWEEN @k AND @k + 9;
                         COMMIT
                     END TRY
                     BEGIN CATCH
                         IF ERROR_NUMBER() <> 1205 THROW;
                         ROLLBACK
                     END CATCH
                     SET @i += 1
                 END"
            ))
        })
        .collect();
    for session in sessions {
        session.says("");
    }
    b.check("SELECT id / 10 FROM slots WHERE id >= 0 GROUP BY id / 10 HAVING COUNT(*) > 1", "");
    let rows: i32 = b.run("SELECT COUNT(*) FROM slots").trim().parse().unwrap();
    assert!(rows > 20, "{rows}");
}

/// A value that was joined with the rows before one of them has changed is of the row as it is
/// changed.
#[test]
fn joined_values_are_of_the_row_that_is_changed() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE part (id int PRIMARY KEY, k int, total int)
         CREATE TABLE stock (k int, v int)
         INSERT part SELECT value, value % 20, 0 FROM GENERATE_SERIES(1, 200)
         INSERT stock SELECT value % 20, value % 20 FROM GENERATE_SERIES(1, 2000)",
    );
    b.check("BEGIN TRAN; UPDATE part SET k = 7 WHERE id = 150", "(1)");
    let waiting = Other::new(&b).blocked(
        "UPDATE part SET total = (SELECT SUM(v) FROM stock WHERE stock.k = part.k);
         SELECT COUNT(*), SUM(total) FROM part WHERE total = k * 100; SELECT k, total FROM part WHERE id = 150",
    );
    b.check("COMMIT", "");
    // Ten of each of twenty, and one of 10 that has become one of 7.
    waiting.says("(200)\n200|189700\n7|700");
}
