//! UPDATE of one row by its whole key, which takes a way of its own: it does what the usual way does, whatever the values;
//! it waits for what the usual way waits for; and nothing is lost while the table changes around it.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use engine::Session;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use text::{Bench, Text};

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
        let (set, also) =
            set.split_once("WHERE_TOO").map_or((*set, String::new()), |(a, p)| (a, format!("AND {p}")));
        // TOP keeps the statement on the usual way.
        let said = ["UPDATE t", "UPDATE TOP (1) u"].map(|update| {
            b.run(&format!("DECLARE @x int = {x}, @id int = {id}; {update} SET {set} WHERE id = @id {also}"))
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
    b.check("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t VALUES (1, 1), (2, 2), (3, 3)", "(3)");
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

/// Threads count up rows by their keys, in transactions that are partly rolled back, while others split and merge the leaves,
/// build the table anew, and read it.
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
                        let keys: Vec<i32> = (0..rng.usize(1..5)).map(|_| rng.i32(0..100) * 10).collect();
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
                    let said = say(&mut session, &format!("SET NOCOUNT ON; DECLARE @r int = {r}; {work}"));
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
