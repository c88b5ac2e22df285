//! Texts that run as their shape, with literals as variables: they say what the same texts say by
//! themselves, cost no compilation and no place in the cache, and only those are taken whose plan
//! would be no other with other literals.

use std::fmt::Write;

use crate::support::text::{self, Bench};
use engine::programs::shape::{shape, text_of};
use engine::{ColumnInfo, ResultRows, Sink, SqlError};

/// Everything that a batch says, to the last detail.
#[derive(Default)]
struct All(String);

impl All {
    fn error(&mut self, what: &str, e: &SqlError) {
        let (number, severity, state, line) = (e.number, e.severity, e.state, e.line);
        let _ = writeln!(self.0, "{what} {number} {severity} {state} line {line}: {}", e.message);
    }
}

impl Sink for All {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        for c in columns {
            let _ = writeln!(self.0, "column {} {:?} {}", c.name, c.ty, c.nullable);
        }
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let _ = writeln!(self.0, "row {row:?}");
            Ok(())
        })
    }
    fn done(&mut self, end: engine::StatementEnd) -> Result<(), SqlError> {
        let _ = writeln!(self.0, "done {end:?}");
        Ok(())
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.error("message", message);
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error("error", error);
        Ok(())
    }
}

fn all(b: &mut Bench, sql: &str) -> String {
    let mut out = All::default();
    let outcome = b.session.execute(sql, &mut out);
    let _ = writeln!(out.0, "{outcome:?}");
    out.0
}

/// Two instances that go the same way: in one texts may become shapes, in the other a comment keeps
/// them from it.
struct Pair {
    shaped: Bench,
    own: Bench,
}

impl Pair {
    fn new(setup: &[&str]) -> Pair {
        let mut pair = Pair { shaped: Bench::new(), own: Bench::new() };
        for sql in setup {
            assert_eq!(pair.shaped.run(sql), pair.own.run(sql), "{sql}");
        }
        pair
    }

    /// The same in both; what it is.
    #[track_caller]
    fn same(&mut self, sql: &str) -> String {
        let (shaped, own) =
            (all(&mut self.shaped, sql), all(&mut self.own, &format!("{sql} /* */")));
        assert_eq!(shaped, own, "{sql}");
        shaped
    }

    /// How many batches were compiled for shapes by `work`.
    fn compilations(&mut self, work: impl FnOnce(&mut Pair)) -> u64 {
        let before = self.shaped.instance.compilations();
        work(self);
        self.shaped.instance.compilations() - before
    }
}

/// Literals of all types and sizes.
const LITERALS: [&str; 54] = [
    "0",
    "1",
    "-1",
    "7",
    "255",
    "256",
    "-32769",
    "2147483647",
    "2147483648",
    "-2147483648",
    "9223372036854775808",
    "007",
    "12345678901234567890123456789012345678",
    "1.5",
    "-1.5",
    ".5",
    "1.",
    "99999999.99",
    "1234567.891",
    "0.005",
    "1e5",
    "-2.5E-3",
    "1e39",
    "1e999",
    "$5",
    "-$1.25",
    "$",
    "$922337203685477.5808",
    "'5'",
    "'abc'",
    "'ABC'",
    "'abcdef'",
    "'abc  '",
    "N'abc'",
    "N'日本語'",
    "'日'",
    "'é'",
    "'it''s'",
    "''",
    "' x '",
    "'two\nlines'",
    "'a\\\nb'",
    "0x01",
    "0x",
    "0x123",
    "0x01020304",
    "NULL",
    "'2020-02-29'",
    "'20200230'",
    "'2020-02-29 12:34:56.789'",
    "'12:34'",
    "'true'",
    "'0E984725-C51C-4BF4-9960-E1C80E27ABA0'",
    "'0E984725-C51C-4BF4-9960-E1C80E27ABAZ'",
];

const TYPES: [(&str, &str); 20] = [
    ("ti", "tinyint"),
    ("si", "smallint"),
    ("i", "int"),
    ("bi", "bigint"),
    ("b", "bit"),
    ("d", "decimal(9,2)"),
    ("dd", "decimal(38,30)"),
    ("m", "money"),
    ("f", "float"),
    ("r", "real"),
    ("vc", "varchar(5)"),
    ("nv", "nvarchar(5)"),
    ("c", "char(4)"),
    ("bin", "varchar(5) COLLATE Latin1_General_BIN2"),
    ("vm", "varchar(max)"),
    ("dt", "date"),
    ("d2", "datetime"),
    ("t", "time(2)"),
    ("g", "uniqueidentifier"),
    ("vb", "varbinary(3)"),
];

fn wide_table() -> String {
    let columns: Vec<String> = TYPES.iter().map(|(name, ty)| format!("{name} {ty} NULL")).collect();
    format!("CREATE TABLE v (k int PRIMARY KEY, {})", columns.join(", "))
}

#[test]
fn rows_of_all_types_go_in_as_by_themselves() {
    let pair = &mut Pair::new(&[&wide_table()]);
    let mut k = 0;
    for (column, _) in TYPES {
        for literal in LITERALS {
            for _ in 0..3 {
                k += 1;
                pair.same(&format!("INSERT INTO v (k, {column}) VALUES ({k}, {literal})"));
            }
        }
    }
    pair.same("SELECT * FROM v ORDER BY k");
    assert!(pair.shaped.instance.compilations() * 2 < pair.own.instance.compilations());
}

#[test]
fn updates_and_conditions_say_the_same() {
    let pair = &mut Pair::new(&[&wide_table()]);
    for k in 0..4 {
        pair.same(&format!(
            "INSERT v (k, ti, si, i, bi, b, d, m, f, r, vc, nv, c, dt) VALUES ({k}, 1, 1, 1, 1, 1, 1.5, $5, 1.5, 1.5, 'abc', N'abc', \
             'abc', '2020-02-29')"
        ));
    }
    for (column, _) in TYPES {
        for literal in LITERALS {
            for k in 0..3 {
                pair.same(&format!("UPDATE v SET {column} = {literal}, si = {k} WHERE k = {k}"));
                pair.same(&format!(
                    "SELECT k, {column}, 7 AS n FROM v WHERE k = {k} AND {column} >= {literal}"
                ));
                pair.same(&format!(
                    "SELECT k FROM v WHERE ({column} <> {literal}) AND (v.k = {k});"
                ));
            }
        }
        pair.same(&format!("UPDATE v SET {column} = NULL WHERE k = 3"));
    }
    pair.same("SELECT * FROM v ORDER BY k");
}

#[test]
fn keys_of_all_types_are_found() {
    let pair = &mut Pair::new(&[]);
    for (name, ty) in TYPES.iter().filter(|(name, _)| *name != "vm") {
        pair.same(&format!("CREATE TABLE p_{name} (k {ty} NOT NULL PRIMARY KEY, n int NULL)"));
        for literal in LITERALS {
            for n in 0..3 {
                pair.same(&format!("INSERT p_{name} VALUES ({literal}, {n})"));
                pair.same(&format!("SELECT k, n FROM p_{name} WHERE k = {literal} AND n >= {n}"));
            }
        }
        // Literals in another order: a key of one type first looked for by another.
        for literal in LITERALS.iter().rev() {
            pair.same(&format!("SELECT n FROM p_{name} WHERE k = {literal}"));
            pair.same(&format!("DELETE FROM p_{name} WHERE k = {literal} AND n = 2"));
        }
        pair.same(&format!("SELECT * FROM p_{name} ORDER BY k"));
    }
}

#[test]
fn many_literals_are_few_compilations() {
    let b = &mut Bench::new();
    b.run("CREATE TABLE t (k int PRIMARY KEY, v int, name nvarchar(40))");
    let before = (b.instance.compilations(), b.instance.kept_batches());
    for k in 0..10_000 {
        b.run(&format!("INSERT t VALUES ({k}, {}, N'name {k}')", k * 7));
        b.run(&format!("UPDATE t SET v = v + 1, name = 'n{k}' WHERE k = {k}"));
        assert_eq!(
            b.run(&format!("SELECT v, name FROM t WHERE k = {k}")),
            format!("{}|n{k}\n", k * 7 + 1)
        );
        b.run(&format!("DELETE t WHERE k = {k} AND v > {}", k * 7 + i32::from(k % 2 == 0)));
    }
    b.check("SELECT COUNT(*) FROM t", "5000");
    let after = (b.instance.compilations(), b.instance.kept_batches());
    // A first text and a shape for each of the four, the shapes of other types, and the question
    // itself.
    assert!(after.0 - before.0 <= 12 && after.1 - before.1 <= 12, "{before:?} {after:?}");
}

#[test]
fn texts_that_come_again_are_kept() {
    let b = &mut Bench::new();
    b.run("CREATE TABLE t (k int PRIMARY KEY, v int)");
    for k in 0..10 {
        b.run(&format!("SELECT v FROM t WHERE k = {k}"));
    }
    let before = b.instance.compilations();
    for _ in 0..100 {
        b.run("SELECT v FROM t WHERE k = 5");
    }
    assert_eq!(b.instance.compilations() - before, 1);
    b.run("DBCC FREEPROCCACHE");
    assert!(b.instance.kept_batches() <= 1);
    b.run("SELECT v FROM t WHERE k = 5");
}

#[test]
fn only_point_accesses_are_taken() {
    let pair = &mut Pair::new(&[
        "CREATE TABLE t (k int PRIMARY KEY, v int, w int)",
        "CREATE INDEX iv ON t (v)",
        "CREATE UNIQUE INDEX iw ON t (w) WHERE w > 5",
        "CREATE TABLE u (a int, b int, n int, CONSTRAINT pu PRIMARY KEY NONCLUSTERED (a, b))",
        "DECLARE @i int = 0; BEGIN TRAN; WHILE @i < 300 BEGIN INSERT u VALUES (@i, @i, 0) SET @i = @i + 1 END; COMMIT",
    ]);
    let refused = [
        "SELECT k FROM t WHERE v = #",
        "SELECT k FROM t WHERE k > #",
        "SELECT k FROM t WHERE v > # AND w = 1",
        "UPDATE t SET w = 1 WHERE v = #",
        "DELETE t WHERE v >= #",
        "SELECT n FROM u WHERE a = #",
        "SELECT k FROM t AS x WHERE k = # OR k = 1",
        "SELECT name FROM sys.tables WHERE object_id = #",
    ];
    for text in refused {
        let count = pair.compilations(|pair| {
            (0..20).for_each(|n| drop(pair.same(&text.replace('#', &n.to_string()))));
        });
        assert!(count >= 20, "{text}: {count}");
    }
    let taken = [
        "SELECT k FROM t WHERE k = #",
        "SELECT n FROM u WHERE a = # AND b = #",
        "SELECT COUNT(*) FROM t WHERE k = # AND v IS NOT NULL",
        "UPDATE u SET n = # WHERE b = 1 AND a = #",
        "DELETE FROM t WHERE k = #;",
        "SELECT t.v FROM t JOIN u ON u.a = t.k AND u.b = t.k WHERE t.k = #",
        "INSERT t (k, v) OUTPUT inserted.v, inserted.k VALUES (#, -#)",
        "\n\n INSERT INTO [t] VALUES\n(1#, #, NULL),\n(2#, 5 + 1, DEFAULT)",
    ];
    for text in taken {
        let count = pair.compilations(|pair| {
            (0..20).for_each(|n| drop(pair.same(&text.replace('#', &n.to_string()))));
        });
        assert!(count <= 3, "{text}: {count}");
    }
    pair.same("SELECT * FROM t ORDER BY k");
}

#[test]
fn a_table_that_grows_is_looked_at_again() {
    let b = &mut Bench::new();
    b.run("CREATE TABLE u (a int PRIMARY KEY NONCLUSTERED, n int)");
    let ask = |b: &mut Bench, from: i32| {
        let before = b.instance.compilations();
        (from..from + 200).for_each(|n| drop(b.run(&format!("SELECT n FROM u WHERE a = {n}"))));
        b.instance.compilations() - before
    };
    // How an empty table is read is the planner's business; a table with rows is sought.
    ask(b, 0);
    b.run("DECLARE @i int = 0; BEGIN TRAN; WHILE @i < 500 BEGIN INSERT u VALUES (@i, @i) SET @i = @i + 1 END; COMMIT");
    assert!(ask(b, 1000) < 80);
    assert_eq!(ask(b, 2000), 0);
}

/// The text of the shape, or nothing.
fn shape_of(text: &str) -> String {
    let mut key = String::new();
    shape(text, &mut key).map_or(String::new(), |_| text_of(&key).to_owned())
}

#[test]
fn what_has_a_shape() {
    for (text, expected) in [
        ("select a, 5 from t where k=5", "select a, 5 from t where k=@1"),
        (
            "SELECT TOP 3 a FROM t WHERE k = 'x''y' AND 5 = j AND n<>-1.5;",
            "SELECT TOP 3 a FROM t WHERE k = @1 AND 5 = j AND n<>-@2;",
        ),
        (
            "update t set a=5,b=6+1,[c]=N'x' where (k >= 0x01)",
            "update t set a=@1,b=6+1,[c]=@2 where (k >= @3)",
        ),
        ("DELETE FROM dbo.t WHERE k = $5", "DELETE FROM dbo.t WHERE k = @1"),
        (
            "insert t values(1,-2,abs(3),4+5,null),(6,7,8,9,'')",
            "insert t values(@1,-@2,abs(3),4+5,null),(@3,@4,8,9,@5)",
        ),
    ] {
        let expected = expected.replace("(@3,@4,8,9,@5)", "(@3,@4,@5,@6,@7)");
        assert_eq!(shape_of(text), expected, "{text}");
    }
    for text in [
        "select a from t",
        "select a from t where k = 5 or j = 6",
        "select a from t where k in (5)",
        "select a from t where k like 'x'",
        "select a from t where k between 1 and 5",
        "select a from t where k = 5 order by a",
        "select a from t where k = 5 group by a",
        "select a from t where k = 5 option (recompile)",
        "select a from t with (nolock) where k = 5",
        "select a into b from t where k = 5",
        "select a from t where k = 5 union select 1",
        "select (select 1) from t where k = 5",
        "select a from t where k = (select 5)",
        "select a from t where k = 5 -- x",
        "select a from t where /* x */ k = 5",
        "select a from t where k = 5AND j = 6",
        "select a from t where k = 5; select 2",
        "select a from t where k = @k",
        "select @x = a from t where k = 5",
        "select a from #t where k = 5",
        "select a from [#t] where k = 5",
        "select a from t where d = {d '2020-01-01'}",
        "select a from t where k = 5 + 1",
        "select a from t where k = 1e999",
        "select a from t where isnull(k, 1) = 5",
        "select a from t where k = 'x",
        "update t set a = 5",
        "update top (3) t set a = 5 where k = 5",
        "update t set a = 5 from t where k = 5",
        "update t set a = 5 output inserted.a, x = 5 where k = 5",
        "update t set a += 5 where b",
        "insert t select 5",
        "insert t values (5) select 1",
        "insert t values ((select 5))",
        "insert t default values",
        "exec p 5",
        "with c as (select 1 a) select a from c where a = 5",
        "set rowcount 5",
        "",
    ] {
        assert_eq!(shape_of(text), "", "{text}");
    }
    assert_eq!(shape_of(&format!("select a from t where k = '{}'", "x".repeat(5000))), "");
    assert_eq!(shape_of(&format!("insert t values ({}1)", "1,".repeat(64))), "");
}

#[test]
fn errors_and_their_consequences() {
    let pair = &mut Pair::new(&[
        "CREATE TABLE t (k int PRIMARY KEY, v tinyint NOT NULL CHECK (v <> 13), s varchar(3) NULL)",
        "CREATE TABLE log (n int IDENTITY, k int, rows int)",
        "CREATE TABLE r (k int PRIMARY KEY REFERENCES t (k))",
        "CREATE TRIGGER tr ON t AFTER INSERT, UPDATE AS DECLARE @n int = @@ROWCOUNT; INSERT log (k, rows) SELECT k, @n FROM inserted",
    ]);
    for options in ["SET XACT_ABORT OFF", "SET XACT_ABORT ON", "SET NOCOUNT ON", "SET ROWCOUNT 1"] {
        pair.same(options);
        pair.same("BEGIN TRAN");
        for (k, v, s) in [
            (1, "1", "'a'"),
            (2, "2", "'b'"),
            (2, "3", "'c'"),
            (3, "300", "'d'"),
            (4, "-1", "'e'"),
            (5, "13", "'f'"),
            (6, "'x'", "'g'"),
        ] {
            for (v, s) in [(v, s), (v, "'long'"), ("NULL", s)] {
                pair.same(&format!("INSERT t VALUES ({k}, {v}, {s})"));
                pair.same("SELECT @@ROWCOUNT, @@ERROR, @@TRANCOUNT, XACT_STATE()");
                pair.same(&format!("\nUPDATE t SET v = {v},\n s = {s} WHERE k = {k}"));
                pair.same("SELECT @@ROWCOUNT, @@ERROR, @@TRANCOUNT, XACT_STATE()");
            }
            pair.same(&format!("INSERT r VALUES ({})", k * 2));
        }
        pair.same("SELECT * FROM log ORDER BY n");
        pair.same("IF @@TRANCOUNT > 0 ROLLBACK");
    }
}

#[test]
fn a_shape_follows_the_schema() {
    let pair = &mut Pair::new(&["CREATE TABLE t (k int PRIMARY KEY, v int)"]);
    let steps = [
        "INSERT t VALUES (1, 2)",
        "ALTER TABLE t ADD w varchar(3) NULL",
        "ALTER TABLE t ALTER COLUMN v varchar(2) NULL",
        "CREATE UNIQUE INDEX iv ON t (v)",
        "DROP INDEX iv ON t",
        "DROP TABLE t",
        "CREATE TABLE t (k varchar(10) PRIMARY KEY, v date)",
        "CREATE TABLE IF_NOT (x int)",
        "DROP TABLE t",
        "CREATE TABLE t (k int, v int)",
        "CREATE UNIQUE CLUSTERED INDEX ik ON t (k)",
    ];
    for step in steps {
        pair.same(step);
        for n in 10..14 {
            pair.same(&format!("INSERT t VALUES ({n}, {n})"));
            pair.same(&format!("INSERT t (k, v, w) VALUES ({n}5, {n}, '{n}')"));
            pair.same(&format!("SELECT * FROM t WHERE k = {n}"));
            pair.same(&format!("SELECT k FROM t WHERE v = {n}"));
            pair.same(&format!("DELETE t WHERE k = {n}"));
        }
    }
    // Tables of the session, and names that it does not show.
    for n in 0..4 {
        pair.same("CREATE TABLE #t (k int PRIMARY KEY, v int)");
        for k in 0..3 {
            pair.same(&format!("INSERT #t VALUES ({k}, {n})"));
            pair.same(&format!("SELECT v FROM #t WHERE k = {k}"));
        }
        pair.same("DROP TABLE #t");
    }
    pair.same("CREATE TABLE i (id int IDENTITY PRIMARY KEY, v int)");
    for step in
        ["SET IDENTITY_INSERT i OFF", "SET IDENTITY_INSERT i ON", "SET IDENTITY_INSERT i OFF"]
    {
        pair.same(step);
        for n in 20..24 {
            pair.same(&format!("INSERT i (id, v) VALUES ({n}, {n})"));
            pair.same(&format!("INSERT i (v) VALUES ({n})"));
        }
        pair.same("SELECT SCOPE_IDENTITY()");
    }
    pair.same("SELECT * FROM i ORDER BY id");
}

#[test]
fn options_and_modes_hold() {
    let pair = &mut Pair::new(&[
        "CREATE TABLE t (k int PRIMARY KEY, v int, s varchar(9))",
        "INSERT t VALUES (5, NULL, '5')",
    ]);
    let modes = [
        ("SET ANSI_NULLS OFF", "SET ANSI_NULLS ON"),
        ("SET QUOTED_IDENTIFIER OFF", "SET QUOTED_IDENTIFIER ON"),
        ("SET NOEXEC ON", "SET NOEXEC OFF"),
        ("SET FMTONLY ON", "SET FMTONLY OFF"),
        ("SET PARSEONLY ON", "SET PARSEONLY OFF"),
        (
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        ),
        ("SET IMPLICIT_TRANSACTIONS ON", "SET IMPLICIT_TRANSACTIONS OFF"),
    ];
    for (on, off) in modes {
        for step in [off, on, off] {
            pair.same(step);
            for n in 3..7 {
                pair.same(&format!("SELECT s FROM t WHERE k = {n}"));
                pair.same(&format!("SELECT s FROM t WHERE k = {n} AND v = NULL"));
                pair.same(&format!("SELECT \"s\" FROM t WHERE k = {n} AND s <> \"k\""));
                pair.same(&format!("UPDATE t SET v = {n} WHERE k = {n} AND v = 100"));
            }
            pair.same("SELECT @@TRANCOUNT; IF @@TRANCOUNT > 0 COMMIT");
        }
    }
    // A plan is shown of the text as it is.
    pair.shaped.run("SET SHOWPLAN_TEXT ON");
    let shown = pair.shaped.run("SELECT s FROM t WHERE k = 7");
    assert!(shown.contains("k = 7") && !shown.contains('@'), "{shown}");
}

#[test]
fn views_show_the_shape_and_what_was_sent() {
    let b = &mut Bench::new();
    b.run("CREATE TABLE t (k int PRIMARY KEY, v int)");
    for k in 0..5 {
        b.run(&format!("  SELECT v FROM t\n WHERE k = {k}"));
    }
    let spid = b.session.spid();
    let mut other = b.instance.session().unwrap();
    let mut ask = |sql: String| {
        let mut out = text::Text::default();
        other.execute(&sql, &mut out);
        out.out
    };
    let text = ask(format!(
        "SELECT t.text FROM sys.dm_exec_connections c CROSS APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) t \
         WHERE c.session_id = {spid}"
    ));
    assert_eq!(text, "  SELECT v FROM t\n WHERE k = @1\n");
    let input = ask(format!("SELECT event_info FROM sys.dm_exec_input_buffer({spid}, NULL)"));
    assert_eq!(input, "  SELECT v FROM t\n WHERE k = 4\n");
    b.run("SELECT 1");
    let input = ask(format!("SELECT event_info FROM sys.dm_exec_input_buffer({spid}, NULL)"));
    assert_eq!(input, "SELECT 1\n");
}

#[test]
fn a_running_shape_lies_within_its_text() {
    let b = &mut Bench::new();
    b.run("CREATE TABLE t (k int PRIMARY KEY, v int)");
    b.run("INSERT t VALUES (1, 1), (2, 2), (3, 3), (123456789, 4)");
    for k in 1..4 {
        b.run(&format!("UPDATE t SET v = 0 WHERE k = {k}"));
    }
    let mut holder = b.instance.session().unwrap();
    holder.use_database("t").unwrap();
    holder
        .execute("BEGIN TRAN; UPDATE t SET v = 9 WHERE k = 123456789", &mut text::Text::default());
    let spid = b.session.spid();
    let cancel = b.session.cancel_handle();
    let session = &mut b.session;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            session.execute("UPDATE t SET v = 555 WHERE k = 123456789", &mut text::Text::default());
        });
        let ask = format!(
            "SELECT SUBSTRING(t.text, r.statement_start_offset / 2 + 1, (CASE r.statement_end_offset WHEN -1 THEN DATALENGTH(t.text) \
             ELSE r.statement_end_offset END - r.statement_start_offset) / 2 + 1) \
             FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t WHERE r.session_id = {spid} \
             AND r.wait_type IS NOT NULL"
        );
        let shown = loop {
            let mut out = text::Text::default();
            holder.execute(&ask, &mut out);
            if !out.out.is_empty() {
                break out.out;
            }
            std::thread::yield_now();
        };
        let running = engine::views::sessions::running(&b.instance);
        cancel.cancel();
        let _ = waiting.join();
        assert_eq!(shown, "UPDATE t SET v = @1 WHERE k = @2\n");
        let text = running.into_iter().find(|r| r.session == spid).map(|r| (r.command, r.text));
        assert_eq!(
            text,
            Some(("UPDATE".into(), "UPDATE t SET v = 555 WHERE k = 123456789".into()))
        );
    });
}
