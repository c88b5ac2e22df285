//! Names that an open transaction has given up: others wait for them, and get them only if the
//! transaction commits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::text::{Bench, Text, beside, blocked, run_in};

/// A batch that makes something, one that takes its name away, one that wants the name for
/// something else, and the error when that is there after all.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("CREATE TABLE a (n int)", "DROP TABLE a", "CREATE VIEW a AS SELECT 1 AS n", "2714"),
    ("CREATE VIEW a AS SELECT 1 AS n", "DROP VIEW a", "CREATE TABLE a (n int)", "2714"),
    (
        "CREATE PROCEDURE a AS SELECT 1",
        "DROP PROCEDURE a",
        "CREATE PROCEDURE a AS SELECT 2",
        "2714",
    ),
    ("CREATE SEQUENCE a", "DROP SEQUENCE a", "CREATE SYNONYM a FOR x", "2714"),
    ("CREATE SYNONYM a FOR x", "DROP SYNONYM a", "CREATE SEQUENCE a", "2714"),
    ("CREATE TYPE a FROM int", "DROP TYPE a", "CREATE TYPE a AS TABLE (n int)", "219"),
    ("CREATE TYPE a AS TABLE (n int)", "DROP TYPE a", "CREATE TYPE a FROM int", "219"),
    ("CREATE TABLE o (n int)", "EXEC sp_rename 'o', 'b'", "CREATE TABLE o (n int)", "2714"),
    (
        "CREATE TABLE o (n int)",
        "ALTER SCHEMA s TRANSFER o",
        "CREATE VIEW o AS SELECT 1 AS n",
        "2714",
    ),
    ("CREATE TABLE ##g (n int)", "DROP TABLE ##g", "CREATE TABLE ##g (n int)", "2714"),
    ("CREATE VIEW o AS SELECT 1 AS n", "EXEC sp_rename 'o', 'b'", "CREATE SEQUENCE o", "2714"),
    (
        "CREATE TABLE c (n int CONSTRAINT k CHECK (n > 0))",
        "ALTER TABLE c DROP CONSTRAINT k",
        "CREATE TABLE d (n int CONSTRAINT k PRIMARY KEY)",
        "2714",
    ),
    (
        "CREATE TABLE c (n int CONSTRAINT k CHECK (n > 0)); CREATE TABLE d (n int)",
        "DROP TABLE c",
        "ALTER TABLE d ADD CONSTRAINT k DEFAULT 1 FOR n",
        "2714",
    ),
    // A trigger goes with its table or view.
    (
        "CREATE TABLE c (n int); EXEC ('CREATE TRIGGER k ON c FOR INSERT AS SET NOCOUNT ON')",
        "DROP TABLE c",
        "CREATE PROCEDURE k AS SELECT 1",
        "2714",
    ),
    (
        "CREATE TABLE c (n int); EXEC ('CREATE TRIGGER k ON c FOR INSERT AS SET NOCOUNT ON')",
        "ALTER SCHEMA s TRANSFER c",
        "CREATE SEQUENCE k",
        "2714",
    ),
    (
        "EXEC ('CREATE VIEW c AS SELECT 1 AS n');
         EXEC ('CREATE TRIGGER k ON c INSTEAD OF INSERT AS SET NOCOUNT ON')",
        "DROP VIEW c",
        "CREATE TABLE k (n int)",
        "2714",
    ),
    // Triggers of the database have names apart.
    (
        "CREATE TRIGGER k ON DATABASE FOR CREATE_TYPE AS SET NOCOUNT ON",
        "DROP TRIGGER k ON DATABASE",
        "CREATE TRIGGER K ON DATABASE FOR DROP_TYPE AS SET NOCOUNT ON",
        "2714",
    ),
    ("CREATE TABLE ##g (n int)", "DROP TABLE ##g", "CREATE TABLE ##g (m int)", "2714"),
    (
        "CREATE PROCEDURE ##p AS SELECT 1",
        "DROP PROCEDURE ##p",
        "CREATE PROCEDURE ##p AS SELECT 2",
        "2714",
    ),
    (
        "CREATE TABLE #c (n int CONSTRAINT k PRIMARY KEY)",
        "DROP TABLE #c",
        "CREATE TABLE #d (n int CONSTRAINT k PRIMARY KEY)",
        "2714",
    ),
];

#[test]
fn a_name_is_free_when_its_transaction_has_ended() {
    for (make, give_up, want, error) in CASES {
        let mut b = Bench::new();
        b.check("CREATE SCHEMA s", "");
        b.check(make, "");
        let mut other = b.instance.session().unwrap();
        other.use_database("t").unwrap();
        let mut say = |sql: &str| {
            let mut text = Text::default();
            other.execute(sql, &mut text);
            text.out
        };
        assert_eq!(say("SET LOCK_TIMEOUT 0"), "");
        let quiet = |said: String| assert!(!said.contains("Msg"), "{give_up}: {said}");
        b.run("BEGIN TRAN");
        quiet(b.run(give_up));
        let said = say(want);
        assert!(said.contains("Msg 1222:"), "{want}: {said}");
        // It is taken back.
        b.check("ROLLBACK", "");
        let said = say(want);
        assert!(said.contains(&format!("Msg {error}:")), "{want}: {said}");
        // And it goes.
        b.run("BEGIN TRAN");
        quiet(b.run(give_up));
        b.check("COMMIT", "");
        quiet(say(want));
        drop(other);
        b.restart().check("SELECT COUNT(*) FROM sys.schemas WHERE name = 's'", "1");
    }
}

#[test]
fn the_session_itself_may_use_the_name_again_and_take_it_back() {
    let mut b = Bench::new();
    b.check("CREATE VIEW a AS SELECT 1 AS n", "");
    b.check(
        "BEGIN TRAN; DROP VIEW a; CREATE TABLE a (n int); INSERT a VALUES (2); SELECT n FROM a",
        "(1)\n2",
    );
    b.check("ROLLBACK; SELECT n FROM a", "1");
    let mut b = b.restart();
    b.check("SELECT n FROM a; SELECT COUNT(*) FROM sys.objects WHERE name = 'a'", "1\n1");
}

/// What is not there may be there again when a transaction has ended that has given up its name;
/// nobody waits for those that have given up other names.
#[test]
fn what_is_not_there_is_waited_for_by_its_name_alone() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (n int)", "");
    b.check("CREATE VIEW v AS SELECT 1 AS n", "");
    let (mut other, mut elsewhere) = (beside(&b), b.instance.session().unwrap());
    assert_eq!(run_in(&mut other, "SET LOCK_TIMEOUT 0"), "");
    assert_eq!(run_in(&mut elsewhere, "SET LOCK_TIMEOUT 0"), "");
    b.run("BEGIN TRAN");
    b.check("DROP TABLE a", "");
    b.check("DROP VIEW v", "");
    for (sql, error) in [
        ("SELECT * FROM x", "Msg 208:"),
        ("SELECT * FROM dbo.x", "Msg 208:"),
        ("SELECT * FROM sys.a", "Msg 208:"),
        ("DROP TABLE x", "Msg 3701:"),
        ("DROP TABLE IF EXISTS x", ""),
        ("CREATE TABLE x (n int)", ""),
        ("DROP TABLE IF EXISTS x", ""),
        ("SELECT * FROM a", "Msg 1222:"),
        ("SELECT * FROM DBO.A", "Msg 1222:"),
        ("SELECT * FROM t..a", "Msg 1222:"),
        ("SELECT * FROM t.dbo.a", "Msg 1222:"),
        ("SELECT * FROM v", "Msg 1222:"),
        ("DROP TABLE a", "Msg 1222:"),
        ("DROP TABLE IF EXISTS a", "Msg 1222:"),
    ] {
        let said = run_in(&mut other, sql);
        assert!(
            if error.is_empty() { said.is_empty() } else { said.contains(error) },
            "{sql}: {said}"
        );
    }
    let said = run_in(&mut elsewhere, "SELECT * FROM t.dbo.a");
    assert!(said.contains("Msg 1222:"), "{said}");
    let said = run_in(&mut elsewhere, "SELECT * FROM a");
    assert!(said.contains("Msg 208:"), "{said}");
    for sql in [
        "DROP VIEW v",
        "DROP VIEW IF EXISTS v",
        "ALTER VIEW v AS SELECT 2 AS n",
        "CREATE VIEW w AS SELECT * FROM v",
        "ALTER TABLE a ADD m int",
        "TRUNCATE TABLE a",
        "CREATE INDEX i ON a (n)",
        "DROP INDEX i ON a",
        "UPDATE STATISTICS a",
        "CREATE TRIGGER g ON v INSTEAD OF INSERT AS SET NOCOUNT ON",
        "INSERT a VALUES (1)",
    ] {
        let said = run_in(&mut other, sql);
        assert!(said.contains("Msg 1222:"), "{sql}: {said}");
    }
    b.check("ROLLBACK", "");
    assert_eq!(run_in(&mut other, "SELECT COUNT(*) FROM a; DROP TABLE IF EXISTS a"), "0");
    b.fails("SELECT * FROM a", 208);
}

#[test]
fn a_type_that_is_made_anew_meanwhile_is_another_one() {
    for (wanted, left) in [
        ("DROP TYPE a", ""),
        ("EXEC sp_rename 'a', 'c', 'USERDATATYPE'", "dbo.c|bigint"),
        ("ALTER SCHEMA s TRANSFER TYPE::a", "s.a|bigint"),
    ] {
        let mut b = Bench::new();
        b.check("CREATE SCHEMA s", "");
        b.check("CREATE TYPE a FROM int", "");
        // It is there, and locked.
        b.check(
            "BEGIN TRAN; CREATE TABLE first (n int); SAVE TRAN p; DROP TYPE a; ROLLBACK TRAN p",
            "",
        );
        let other = blocked(&b, wanted);
        b.check("DROP TYPE a; CREATE TYPE a FROM bigint; COMMIT", "");
        let said = other.join().unwrap();
        assert!(!said.contains("Msg"), "{wanted}: {said}");
        let types = "SELECT CONCAT(SCHEMA_NAME(schema_id), '.', name), TYPE_NAME(system_type_id) \
                     FROM sys.types WHERE is_user_defined = 1";
        b.check(types, left);
        b.restart().check(types, left);
    }
}

#[test]
fn a_name_is_one_things_however_many_want_it() {
    let mut b = Bench::new();
    b.check("CREATE TABLE c1 (n int); CREATE TABLE c2 (n int); CREATE TABLE told (n int)", "");
    // Each tells when it is not alone with the name.
    let alone = "IF (SELECT COUNT(*) FROM sys.objects WHERE name = 'k') > 1 INSERT told VALUES (1)";
    let one_type =
        "IF (SELECT COUNT(*) FROM sys.types WHERE name = 'y') > 1 INSERT told VALUES (2)";
    let batches = [
        format!(
            "EXEC ('CREATE VIEW k AS SELECT 1 AS n'); {alone}; BEGIN TRAN; DROP VIEW k; ROLLBACK; DROP VIEW k"
        ),
        format!(
            "CREATE SEQUENCE k; {alone}; BEGIN TRAN; DROP SEQUENCE k; ROLLBACK; DROP SEQUENCE k"
        ),
        format!(
            "ALTER TABLE c1 ADD CONSTRAINT k CHECK (n > 0); {alone}; ALTER TABLE c1 DROP CONSTRAINT k"
        ),
        format!(
            "ALTER TABLE c2 ADD CONSTRAINT k CHECK (n > 0); {alone}; ALTER TABLE c2 DROP CONSTRAINT k"
        ),
        format!(
            "CREATE TYPE y FROM int; {one_type}; BEGIN TRAN; DROP TYPE y; ROLLBACK; DROP TYPE y"
        ),
        format!("CREATE TYPE y AS TABLE (n int); {one_type}; DROP TYPE y"),
    ];
    std::thread::scope(|scope| {
        for batch in &batches {
            let instance = b.instance.clone();
            scope.spawn(move || {
                let mut session = instance.session().unwrap();
                session.use_database("t").unwrap();
                for _ in 0..60 {
                    // It gets the name or it does not.
                    session.execute(batch, &mut Text::default());
                    session.execute("IF @@TRANCOUNT > 0 ROLLBACK", &mut Text::default());
                }
            });
        }
    });
    b.check("SELECT COUNT(*) FROM told", "0");
    let mut b = b.restart();
    b.check(
        "SELECT COUNT(*) FROM (SELECT name FROM sys.objects WHERE name = 'k' UNION ALL
             SELECT name FROM sys.types WHERE name = 'y') AS x GROUP BY name HAVING COUNT(*) > 1",
        "",
    );
    // What is left, if anything is, can go.
    b.run("DROP VIEW IF EXISTS k; DROP SEQUENCE IF EXISTS k; DROP TYPE IF EXISTS y");
    b.run("ALTER TABLE c1 DROP CONSTRAINT IF EXISTS k; ALTER TABLE c2 DROP CONSTRAINT IF EXISTS k");
    b.check("SELECT COUNT(*) FROM sys.objects WHERE name = 'k'", "0");
    b.check("SELECT COUNT(*) FROM sys.types WHERE name = 'y'", "0");
}

/// What is looked for while others drop it and take it back is there, or is waited for.
#[test]
fn what_is_always_taken_back_is_never_missing() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (n int); CREATE SEQUENCE q", "");
    b.check("CREATE VIEW v AS SELECT n FROM a", "");
    b.check("CREATE PROCEDURE p AS SET NOCOUNT ON", "");
    let ended = AtomicBool::new(false);
    let wrong = std::thread::scope(|scope| {
        for give_up in ["DROP VIEW v", "DROP TABLE a", "DROP PROCEDURE p", "DROP SEQUENCE q"] {
            let (mut session, ended) = (beside(&b), &ended);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let said = run_in(&mut session, &format!("BEGIN TRAN; {give_up}; ROLLBACK"));
                    assert_eq!(said, "");
                    // The others get a turn.
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let mut session = beside(&b);
        let mut wrong = Vec::new();
        for round in 0..150 {
            // Each text is bound again.
            for sql in [
                format!("SELECT n FROM v WHERE n <> 1 -- {round}"),
                format!("SELECT n FROM dbo.a WHERE n <> 1 -- {round}"),
                format!("EXEC p -- {round}"),
                format!("DECLARE @n bigint = NEXT VALUE FOR q -- {round}"),
            ] {
                let said = run_in(&mut session, &sql);
                wrong.extend(said.contains("Msg").then(|| format!("{sql}: {said}")));
            }
        }
        ended.store(true, Ordering::Relaxed);
        wrong
    });
    assert_eq!(wrong, [""; 0]);
}

/// Names without a database are those of the database that the batch runs in.
#[test]
fn a_missing_procedure_is_waited_for() {
    let mut b = Bench::new();
    b.check("CREATE PROCEDURE p AS PRINT 'it ran'", "");
    b.check("CREATE SEQUENCE q; CREATE TABLE a (n int); CREATE TABLE other (n int)", "");
    b.check("CREATE SYNONYM called FOR dbo.a; CREATE SYNONYM run FOR p", "");
    b.check("CREATE VIEW v AS SELECT n FROM a", "");
    b.check("CREATE VIEW over_called AS SELECT n FROM called", "");
    b.check("BEGIN TRAN; DROP PROCEDURE p; DROP SEQUENCE q; DROP TABLE a", "");
    let mut elsewhere = b.instance.session().unwrap();
    assert_eq!(run_in(&mut elsewhere, "SET LOCK_TIMEOUT 0"), "");
    for (sql, error) in [
        ("EXEC t.dbo.p", "Msg 1222:"),
        ("EXEC p", "Msg 2812:"),
        ("EXEC t.dbo.run", "Msg 1222:"),
        // What a view of another database names is there.
        ("SELECT n FROM t.dbo.v", "Msg 1222:"),
        ("SELECT n FROM t.dbo.over_called", "Msg 1222:"),
        ("SELECT n FROM t..called", "Msg 1222:"),
        ("SELECT n FROM t.dbo.other JOIN nothing ON 1 = 1", "Msg 208:"),
        ("USE t; SELECT n FROM called", "Msg 1222:"),
        ("USE t; SELECT n FROM v", "Msg 1222:"),
        ("USE master; SELECT n FROM a", "Msg 208:"),
    ] {
        let said = run_in(&mut elsewhere, sql);
        assert!(said.contains(error), "{sql}: {said}");
    }
    let calls = blocked(&b, "EXEC p");
    let drops = blocked(&b, "DROP SEQUENCE q");
    b.check("ROLLBACK", "");
    assert_eq!(calls.join().unwrap(), "it ran");
    assert_eq!(drops.join().unwrap(), "");
    b.fails("DROP SEQUENCE q", 3701);
    assert_eq!(run_in(&mut elsewhere, "SELECT COUNT(*) FROM t.dbo.over_called"), "0");
}
