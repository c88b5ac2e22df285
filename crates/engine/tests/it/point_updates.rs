//! UPDATE of one row by its whole key, which takes a way of its own: it does what the usual way
//! does, whatever the values; it waits for what the usual way waits for; and nothing is lost while
//! the table changes around it.

use crate::support::text::{self, Bench, Text};
use engine::Session;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

const TABLE: &str =
    "(id int PRIMARY KEY, a tinyint, b smallint, c int NOT NULL, d bigint, e decimal(9, 2), f float,
    g money, h datetime, i char(5), j binary(4), k bit, l date, m uniqueidentifier, v varchar(30))";

/// SET clauses; `@x` is a number from -400 to 400.
const SETS: &[&str] = &[
    "c = c + 1",
    "c = c + @x, a = 7",
    "a = a + @x",
    "a = @x % 200, d = d * 1000",
    "b = b * @x",
    "d = d + CAST(c AS bigint) * 100000",
    "e = e + @x / 100.0",
    "f = f / @x",
    "g = g - @x",
    "h = '2024-02-29T10:11:12', c = -c",
    "i = 'ab'",
    "i = 'too long', c = 3",
    "j = 0x0102",
    "k = 1, c = @x",
    "k = ~k",
    "l = '2020-01-01'",
    "m = '6F9619FF-8B86-D011-B42D-00C04FC964FF'",
    "a = NULL",
    "c = NULL",
    "c = CASE WHEN @x > 100 THEN c + 1 WHEN b IS NULL THEN NULL ELSE -1 END",
    "c = COALESCE(b, a, @x)",
    "b = 5 WHERE_TOO c > 0",
    "d = c / @x WHERE_TOO a IN (7, @x, 9)",
    "v = 'changed', c = 1",
    "c = c",
    "d = 9223372036854775807, c = @x",
    "c = (SELECT MAX(id) FROM t)",
    "c = ABS(@x)",
];

#[test]
fn the_short_way_does_what_the_usual_way_does() {
    let mut b = Bench::new();
    b.run(&format!("CREATE TABLE t {TABLE}; CREATE TABLE u {TABLE}"));
    for table in ["t", "u"] {
        b.run(&format!(
            "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 200 BEGIN
                 INSERT {table} (id, a, b, c, d, e, f, g, i, k, v)
                 VALUES (@i, @i % 100, CASE @i % 4 WHEN 0 THEN NULL ELSE @i END, @i, @i, @i, @i, @i, 'x', 0, 'v');
                 SET @i += 1 END; SET NOCOUNT OFF"
        ));
    }
    let state = |b: &mut Bench, table: &str| {
        b.run(&format!(
            "SELECT id, a, b, c, d, e, f, g, h, i, j, k, l, m, v FROM {table}; DBCC CHECKTABLE ({table}) WITH NO_INFOMSGS"
        ))
    };
    let mut rng = fastrand::Rng::with_seed(17);
    let (mut changed, mut failed) = (0, 0);
    for round in 0..3_000 {
        let (id, x, set) = (rng.i32(-2..203), rng.i32(-400..400), rng.choice(SETS).unwrap());
        let (set, also) = set
            .split_once("WHERE_TOO")
            .map_or((*set, String::new()), |(a, p)| (a, format!("AND {p}")));
        // TOP keeps the statement on the usual way.
        let said = ["UPDATE t", "UPDATE TOP (1) u"].map(|update| {
            b.run(&format!(
                "DECLARE @x int = {x}, @id int = {id}; {update} SET {set} WHERE id = @id {also}"
            ))
        });
        assert_eq!(said[0].replace("t.dbo.t", "t.dbo.u"), said[1], "{set} {also}, @x = {x}");
        changed += usize::from(said[0].contains("(1)"));
        failed += usize::from(said[0].contains("Msg"));
        match rng.u8(0..20) {
            0 => drop(b.run("IF @@TRANCOUNT = 0 BEGIN TRAN ELSE SAVE TRAN s")),
            1 => drop(b.run("IF @@TRANCOUNT > 0 ROLLBACK")),
            2 => drop(b.run("IF @@TRANCOUNT > 0 COMMIT")),
            3 => drop(b.run(&format!("DELETE t WHERE id = {id}; DELETE u WHERE id = {id}"))),
            _ => {}
        }
        if round % 500 == 0 {
            assert_eq!(state(&mut b, "t"), state(&mut b, "u"));
        }
    }
    b.run("IF @@TRANCOUNT > 0 COMMIT");
    assert_eq!(state(&mut b, "t"), state(&mut b, "u"));
    assert!(changed > 1_000 && failed > 200, "{changed} changed, {failed} failed");
    let (before, mut b) = (state(&mut b, "t"), b.restart());
    assert_eq!(state(&mut b, "t"), before);
}

/// A second session of the bench's database.
fn other(b: &Bench) -> Session {
    let mut session = b.instance.session().unwrap();
    session.use_database("t").unwrap();
    session
}

fn say(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out.trim().to_owned()
}

#[test]
fn rows_of_others_are_waited_for() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t VALUES (1, 1), (2, 2), (3, 3)",
        "(3)",
    );
    let mut s = other(&b);
    say(&mut s, "SET LOCK_TIMEOUT 0");
    let update = "UPDATE t SET n = n + 100 WHERE id = 2";
    for taken in [
        "UPDATE t SET n = 0 WHERE id = 2",
        "DELETE t WHERE id = 2",
        "UPDATE t SET id = 20 WHERE id = 2",
        "SELECT n FROM t WITH (UPDLOCK) WHERE id = 2",
        "SELECT n FROM t WITH (HOLDLOCK) WHERE id = 2",
        "SELECT n FROM t WITH (TABLOCKX)",
    ] {
        b.run("BEGIN TRAN");
        b.run(taken);
        let said = say(&mut s, update);
        assert!(said.starts_with("Msg 1222"), "{taken}: {said}");
        b.run("ROLLBACK");
    }
    assert_eq!(say(&mut s, update), "(1)");
    b.check("SELECT n FROM t", "1\n102\n3");
    // What one reads while another's change is open is what was there before.
    b.run("BEGIN TRAN; UPDATE t SET n = n * 2 WHERE id = 1; UPDATE t SET n = n * 2 WHERE id = 1");
    assert_eq!(say(&mut s, "SELECT n FROM t WHERE id = 1"), "1");
    b.check("SELECT n FROM t WHERE id = 1; ROLLBACK; SELECT n FROM t WHERE id = 1", "4\n1");
    // A table that is another one under the same name.
    let update = "UPDATE t SET n += 1 WHERE id = 3";
    b.check(update, "(1)");
    b.check("TRUNCATE TABLE t", "");
    b.check(update, "(0)");
    b.check(
        "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, pad char(9), n int); INSERT t VALUES (3, 'p', 8)",
        "(1)",
    );
    b.check(&format!("{update}; SELECT n FROM t"), "(1)\n9");
    b.check("CREATE INDEX ix ON t (n)", "");
    b.check(&format!("{update}; SELECT id FROM t WHERE n = 10"), "(1)\n3");
}

/// Threads count up rows by their keys, in transactions that are partly rolled back, while others
/// split and merge the leaves, build the table again, and read it.
#[test]
fn counts_are_right_while_the_table_moves() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL, pad char(200))");
    b.run(
        "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 100 BEGIN INSERT t VALUES (@i * 10, 0, 'p'); SET @i += 1 END",
    );
    let (stop, sum) = (AtomicBool::new(false), AtomicI64::new(0));
    std::thread::scope(|scope| {
        let counters: Vec<_> = (0..3)
            .map(|n| {
                let (mut session, sum) = (other(&b), &sum);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(n);
                    for _ in 0..400 {
                        let rolls_back = rng.u8(0..4) == 0;
                        let keys: Vec<i32> =
                            (0..rng.usize(1..5)).map(|_| rng.i32(0..100) * 10).collect();
                        let mut text = String::from("SET NOCOUNT ON; BEGIN TRAN;\n");
                        for key in &keys {
                            text += &format!("UPDATE t SET n = n + 1 WHERE id = {key};\n");
                        }
                        text += if rolls_back { "ROLLBACK" } else { "COMMIT" };
                        let said = say(&mut session, &text);
                        if said.is_empty() {
                            if !rolls_back {
                                sum.fetch_add(keys.len() as i64, Ordering::Relaxed);
                            }
                        } else {
                            assert!(said.starts_with("Msg 1205"), "{said}");
                            say(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
                        }
                    }
                })
            })
            .collect();
        for work in [
            "INSERT t SELECT id + 1 + @r % 9, 0, 'q' FROM t WHERE id % 10 = 0 AND id BETWEEN @r * 7 % 900 AND @r * 7 % 900 + 90",
            "DELETE t WHERE id % 10 <> 0 AND id BETWEEN @r * 3 % 900 AND @r * 3 % 900 + 200",
            "ALTER INDEX ALL ON t REBUILD; WAITFOR DELAY '00:00:00.020'",
            "IF (SELECT COUNT(*) FROM t WHERE id % 10 = 0) <> 100 THROW 50000, 'rows are missing', 1",
        ] {
            let (mut session, stop) = (other(&b), &stop);
            scope.spawn(move || {
                let mut r = 0;
                while !stop.load(Ordering::Relaxed) {
                    r += 1;
                    let said =
                        say(&mut session, &format!("SET NOCOUNT ON; DECLARE @r int = {r}; {work}"));
                    let expected = ["", "Msg 1205", "Msg 2627"];
                    assert!(
                        expected.iter().any(|e| said == *e || !e.is_empty() && said.starts_with(e)),
                        "{said}"
                    );
                }
            });
        }
        let ended: Vec<_> = counters.into_iter().map(|counter| counter.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|counter| counter.unwrap());
    });
    b.check("SELECT SUM(n) FROM t WHERE id % 10 = 0", &sum.load(Ordering::Relaxed).to_string());
    b.check("DBCC CHECKTABLE (t) WITH NO_INFOMSGS", "");
}

/// Statements that one instance's session prepares and the other's sends as texts.
const PREPARED: &[&str] = &[
    "UPDATE t SET c = c + 1 WHERE id = @id",
    "UPDATE t SET c = c + @x, a = 7 WHERE id = @id",
    "UPDATE t SET d = d + c / @x WHERE id = @id",
    "UPDATE t SET b = b * @x WHERE id = @id AND c > 0",
    "UPDATE t SET a = @x WHERE id = @id",
    "UPDATE t SET v = 'changed' WHERE id = @id",
    "UPDATE t SET c = NULL WHERE id = @id",
    "INSERT t (id, c) VALUES (@id, @x)",
    "INSERT t (id, c, a) VALUES (@id, 1, @x)",
    "INSERT t (id, c) VALUES (@id, 1 / @x), (@id + 1, 2)",
    "DELETE t WHERE id = @id",
    "SELECT c, b, v FROM t WHERE id = @id",
    "SELECT 100 / c FROM t WHERE id = @id",
    "SELECT id FROM t WHERE c = @x",
    "SELECT @x = c FROM t WHERE id = @id; SELECT @x",
    "MERGE t AS m USING (SELECT @id AS id) AS s ON m.id = s.id WHEN MATCHED THEN UPDATE SET c = @x;",
];

/// What happens between them in both.
const BETWEEN: &[&str] = &[
    "SET NOCOUNT ON",
    "SET NOCOUNT OFF",
    "SET XACT_ABORT ON",
    "SET XACT_ABORT OFF",
    "SET IMPLICIT_TRANSACTIONS ON",
    "SET IMPLICIT_TRANSACTIONS OFF",
    "SET ANSI_WARNINGS OFF; SET ARITHABORT OFF",
    "SET ANSI_WARNINGS ON; SET ARITHABORT ON",
    "SET ROWCOUNT 1",
    "SET ROWCOUNT 0",
    "SET STATISTICS IO ON",
    "SET STATISTICS IO OFF",
    "SET NOEXEC ON",
    "SET NOEXEC OFF",
    "SET FMTONLY ON",
    "SET FMTONLY OFF",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
    "IF @@TRANCOUNT < 2 BEGIN TRAN ELSE SAVE TRAN s",
    "IF @@TRANCOUNT < 2 BEGIN TRAN",
    "IF @@TRANCOUNT > 0 ROLLBACK",
    "IF @@TRANCOUNT > 0 COMMIT",
    "CREATE INDEX ix ON t (c)",
    "DROP INDEX IF EXISTS ix ON t",
    "CREATE TRIGGER r ON t AFTER INSERT, UPDATE AS PRINT CONCAT('fired ', @@NESTLEVEL)",
    "DROP TRIGGER IF EXISTS r",
    "CREATE TRIGGER i ON t INSTEAD OF UPDATE AS PRINT 'instead'",
    "DROP TRIGGER IF EXISTS i",
    "ALTER TABLE t ADD CONSTRAINT k CHECK (c <> 7 AND c < 100)",
    "ALTER TABLE t DROP CONSTRAINT IF EXISTS k",
    "UPDATE STATISTICS t",
    "ALTER INDEX ALL ON t REBUILD",
    "DBCC FREEPROCCACHE WITH NO_INFOMSGS",
    "DECLARE c CURSOR GLOBAL FOR SELECT 1; OPEN c; FETCH c",
    "IF CURSOR_STATUS('global', 'c') >= -1 BEGIN FETCH c; CLOSE c; DEALLOCATE c END",
];

/// What a prepared statement says.
fn say_prepared(
    session: &mut Session,
    prepared: &engine::session::Prepared,
    values: &[i32],
) -> String {
    let values: Vec<engine::Value> = values.iter().map(|n| engine::Value::Int(*n)).collect();
    let mut text = Text::default();
    session.execute_prepared(prepared, &values, &mut text).unwrap();
    text.out
}

#[test]
fn a_prepared_statement_does_what_its_text_does() {
    let (mut prepares, mut sends) = (Bench::new(), Bench::new());
    for b in [&mut prepares, &mut sends] {
        b.run(&format!("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON; CREATE TABLE t {TABLE}"));
        b.check(
            // Some leaves: a thread then knows where the rows are.
            "INSERT t (id, a, b, c, d, v) SELECT value, value % 100, NULLIF(value % 4, 0), value, value, 'v'
             FROM GENERATE_SERIES(0, 600)",
            "(601)",
        );
    }
    // But for the names of constraints that nobody has given them, and for how many pages were
    // read: ghosts go in the background.
    let alike = |said: &str| -> Vec<String> {
        let same = |line: &str| {
            let line = line.split("PK__").next().unwrap_or(line);
            line.split(", logical reads").next().unwrap_or(line).to_owned()
        };
        said.lines().map(same).collect()
    };
    let mut rng = fastrand::Rng::with_seed(29);
    let mut prepared = std::collections::HashMap::new();
    let mut changed = 0;
    for round in 0..5_000 {
        if rng.u8(0..6) == 0 {
            let between = rng.choice(BETWEEN).unwrap();
            let [own, others] = [&mut prepares, &mut sends].map(|b| alike(&b.run(between)));
            assert_eq!(own, others, "{between}, round {round}");
            continue;
        }
        let text = *rng.choice(PREPARED).unwrap();
        let (x, id) = (rng.i32(-3..120), rng.i32(-1..603));
        // More than once: the second time all is known of the statement.
        for _ in 0..rng.u32(1..4) {
            let statement = prepared.entry(text).or_insert_with(|| {
                let params = ["@x", "@id"].map(|name| (name, engine::DataType::Int));
                prepares.session.prepare(text, &params).unwrap()
            });
            let own = say_prepared(&mut prepares.session, statement, &[x, id]);
            let others = sends.run(&format!("DECLARE @x int = {x}, @id int = {id}; {text}"));
            assert_eq!(alike(&own), alike(&others), "{text}, @x = {x}, @id = {id}, round {round}");
            changed += usize::from(own.contains("(1)"));
        }
        let after = "SELECT @@TRANCOUNT, XACT_STATE(), SCOPE_IDENTITY()";
        let [own, others] = [&mut prepares, &mut sends].map(|b| b.run(after));
        assert_eq!(own, others, "after {text}, @x = {x}, @id = {id}, round {round}");
    }
    assert!(changed > 500, "{changed}");
    let states = [prepares, sends].map(|mut b| {
        for end in
            ["SET NOEXEC OFF", "SET FMTONLY OFF", "SET ROWCOUNT 0", "IF @@TRANCOUNT > 0 COMMIT"]
        {
            b.run(end);
        }
        let state = "SELECT id, a, b, c, d, v FROM t; DBCC CHECKTABLE (t) WITH NO_INFOMSGS";
        let before = b.run(state);
        assert_eq!(b.restart().run(state), before);
        before
    });
    assert_eq!(states[0], states[1]);
}

/// What is counted of statements, and what stops them, is the same on the short way.
#[test]
fn prepared_statements_are_counted_and_stopped() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL); INSERT t VALUES (1, 0), (2, 0), (3, 0)");
    let mut s = other(&b);
    let id = [("@id", engine::DataType::Int)];
    let update = s.prepare("UPDATE t SET n = n + 1 WHERE id = @id", &id).unwrap();
    let select = s.prepare("SELECT n FROM t WHERE id = @id", &id).unwrap();
    for n in 0..500 {
        assert_eq!(
            say_prepared(&mut s, &update, &[n % 5]),
            format!("({})\n", i32::from((1..4).contains(&(n % 5))))
        );
        assert_eq!(say_prepared(&mut s, &select, &[9]), "");
    }
    let counted = "SELECT q.execution_count, q.total_rows, q.min_rows, q.max_rows, q.last_rows FROM sys.dm_exec_query_stats q
        CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) x WHERE x.text LIKE";
    b.check(&format!("{counted} 'UPDATE t SET n = n%'"), "500|300|0|1|0");
    b.check(&format!("{counted} 'SELECT n FROM t WHERE id%'"), "500|0|0|0|0");
    // What others see of the session.
    let session = format!("FROM sys.dm_exec_sessions WHERE session_id = {}", s.spid());
    b.check(
        &format!("SELECT row_count, prev_error, status, open_transaction_count {session}"),
        "0|0|sleeping|0",
    );
    say(&mut s, "BEGIN TRAN");
    assert_eq!(say_prepared(&mut s, &update, &[2]), "(1)\n");
    b.check(
        &format!("SELECT row_count, prev_error, status, open_transaction_count {session}"),
        "1|0|sleeping|1",
    );
    assert_eq!(say(&mut s, "SELECT @@ROWCOUNT; ROLLBACK"), "1");
    // A cancel that came before the request had a thread.
    let handle = s.cancel_handle();
    for prepared in [&update, &select] {
        handle.expect_request();
        handle.cancel();
        let said = say_prepared(&mut s, prepared, &[1]);
        assert!(said.starts_with("Msg 3617") || said.contains("cancel"), "{said}");
        assert!(handle.request_over());
        assert!(!say_prepared(&mut s, prepared, &[1]).contains("Msg"));
    }
    // Rows and tables of others.
    say(&mut s, "SET LOCK_TIMEOUT 0");
    for taken in [
        "UPDATE t SET n = 0 WHERE id = 2",
        "DELETE t WHERE id = 2",
        "SELECT n FROM t WITH (TABLOCKX)",
    ] {
        b.run("BEGIN TRAN");
        b.run(taken);
        let said = say_prepared(&mut s, &update, &[2]);
        assert!(said.starts_with("Msg 1222"), "{taken}: {said}");
        assert_eq!(
            say_prepared(&mut s, &update, &[3]).starts_with("Msg 1222"),
            taken.contains("TABLOCKX")
        );
        b.run("ROLLBACK");
        assert_eq!(say_prepared(&mut s, &update, &[2]), "(1)\n");
    }
    // A database that takes no changes.
    b.run("ALTER DATABASE t SET READ_ONLY WITH ROLLBACK IMMEDIATE");
    let mut s = other(&b);
    let update = s.prepare("UPDATE t SET n = n + 1 WHERE id = @id", &id).unwrap();
    for _ in 0..3 {
        assert!(say_prepared(&mut s, &update, &[2]).starts_with("Msg 3906"));
    }
    b.run("ALTER DATABASE t SET READ_WRITE");
    for _ in 0..3 {
        assert_eq!(say_prepared(&mut s, &update, &[2]), "(1)\n");
    }
}

/// Power loss under prepared updates of single rows, among inserts that split their leaves: what
/// was acknowledged is there, once.
#[test]
fn prepared_updates_outlive_a_power_loss() {
    for seed in 0..8 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk = sim::SimDisk::new(seed);
        let instance = text::try_open(&disk, 8 << 20).unwrap();
        text::run(&instance, "CREATE DATABASE t");
        let mut session = instance.session().unwrap();
        session.use_database("t").unwrap();
        say(
            &mut session,
            "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL, pad char(300) NOT NULL DEFAULT 'p')",
        );
        say(&mut session, "INSERT t (id, n) SELECT value * 10, 0 FROM GENERATE_SERIES(0, 199)");
        let params = [("@id", engine::DataType::Int)];
        let update = session.prepare("UPDATE t SET n = n + 1 WHERE id = @id", &params).unwrap();
        let insert = session.prepare("INSERT t (id, n) VALUES (@id, 0)", &params).unwrap();
        disk.crash_at(disk.io_count() + rng.u64(30..250));
        let (mut acknowledged, mut tried): (_, Option<(bool, Vec<usize>)>);
        acknowledged = vec![0; 200];
        'run: loop {
            let transaction = rng.u8(0..3) == 0;
            let keys: Vec<usize> = (0..rng.usize(1..6)).map(|_| rng.usize(0..200)).collect();
            tried = Some((transaction, keys.clone()));
            if transaction {
                say(&mut session, "BEGIN TRAN");
            }
            for (at, key) in keys.iter().enumerate() {
                if say_prepared(&mut session, &update, &[*key as i32 * 10]) != "(1)\n" {
                    break 'run;
                }
                if !transaction {
                    acknowledged[*key] += 1;
                    tried = Some((false, keys[at + 1..].to_vec()));
                }
            }
            if transaction {
                if !say(&mut session, "COMMIT").is_empty() {
                    break 'run;
                }
                keys.iter().for_each(|key| acknowledged[*key] += 1);
            }
            tried = None;
            let new = rng.i32(0..200) * 10 + rng.i32(1..10);
            let said = say_prepared(&mut session, &insert, &[new]);
            if said != "(1)\n" && !said.starts_with("Msg 2627") {
                break;
            }
        }
        drop(session);
        drop(instance);
        let instance = text::try_open(&disk.crash(seed + 100), 8 << 20).unwrap();
        let mut session = instance.session().unwrap();
        session.use_database("t").unwrap();
        assert_eq!(say(&mut session, "DBCC CHECKTABLE (t) WITH NO_INFOMSGS"), "", "seed {seed}");
        let found = say(&mut session, "SELECT n FROM t WHERE id % 10 = 0 ORDER BY id");
        let found: Vec<i32> = found.lines().map(|n| n.parse().unwrap()).collect();
        // What the power loss has met may have become durable: a statement, or a transaction as a
        // whole.
        let mut also = acknowledged.clone();
        if let Some((transaction, keys)) = tried {
            let met = if transaction { keys.len() } else { 1 };
            keys.iter().take(met).for_each(|key| also[*key] += 1);
        }
        assert!(
            found == acknowledged || found == also,
            "seed {seed}: {found:?}, acknowledged {acknowledged:?}"
        );
    }
}
