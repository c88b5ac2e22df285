//! Limits at their exact edge: the last value that works, and the first that does not. Those that
//! are simple to write down are in limit_values.rs; here the edge is searched for, or far away.

use crate::support::text::Bench;

/// So many items with a comma between them.
fn listed(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

/// The largest number between two for which a batch works: for the smaller one it does, for the
/// larger one it is this error.
fn last_allowed(
    b: &mut Bench,
    (mut works, mut fails): (usize, usize),
    number: i32,
    sql: impl Fn(usize) -> String,
) -> usize {
    let said = b.run(&sql(works));
    assert!(!said.contains("Msg "), "{works}: {said}");
    b.fails(&sql(fails), number);
    while fails - works > 1 {
        let middle = works + (fails - works) / 2;
        match b.run(&sql(middle)).contains("Msg ") {
            true => fails = middle,
            false => works = middle,
        }
    }
    works
}

#[test]
fn a_row_of_8061_bytes_is_the_first_that_is_too_long() {
    let mut b = Bench::new();
    // No value of 24 bytes leaves a row: a pointer and what it stands for would be longer.
    b.run("CREATE TABLE rows_of (id int, a char(8000), d char(22), c varchar(24))");
    let insert = |n: usize| format!("INSERT rows_of VALUES (1, 'x', 'd', REPLICATE('y', {n}))");
    let last = last_allowed(&mut b, (10, 24), 511, insert);
    b.check(
        &insert(last + 1),
        "Msg 511: Cannot create a row of size 8061 which is greater than the allowable maximum row size of 8060.",
    );
    b.check(
        &format!("SELECT MAX(LEN(c)) FROM rows_of HAVING MAX(LEN(c)) = {last}"),
        &last.to_string(),
    );
}

#[test]
fn a_key_of_1901_bytes_is_the_first_that_is_too_long() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE [clustered] (a varbinary(4000) NOT NULL) CREATE CLUSTERED INDEX i ON [clustered] (a)",
    );
    b.run("CREATE TABLE heap (a varbinary(4000)) CREATE INDEX i ON heap (a)");
    b.run("CREATE TABLE two (a varchar(4000), n int) CREATE INDEX i ON two (n, a)");
    let bytes = |n: usize| format!("CAST(REPLICATE('x', {n}) AS varbinary(4000))");
    let inserts: [&dyn Fn(usize) -> String; 3] = [
        &|n| format!("INSERT [clustered] VALUES ({})", bytes(n)),
        &|n| format!("INSERT heap VALUES ({})", bytes(n)),
        &|n| format!("INSERT two VALUES (REPLICATE('x', {n}), 1)"),
    ];
    for insert in inserts {
        let last = last_allowed(&mut b, (1_600, 1_950), 1946, insert);
        let said = b.run(&insert(last + 1));
        assert!(said.contains("Msg 1946: ") && said.contains("1901 bytes"), "{last}: {said}");
    }
}

#[test]
fn blocks_nest_to_4000() {
    let mut b = Bench::new();
    // The block of the statement itself, and one for each name.
    let chain = |blocks: usize| {
        let names: Vec<String> =
            (1..blocks - 1).map(|i| format!("c{i} AS (SELECT a FROM c{})", i - 1)).collect();
        format!("WITH c0 AS (SELECT 1 a), {} SELECT a FROM c{}", names.join(", "), blocks - 2)
    };
    b.check(&chain(10), "1");
    b.fails(&chain(4_001), 8631);
    b.check(&format!("SET NOEXEC ON; {}", chain(4_000)), "");
    b.check("SET NOEXEC OFF SELECT 1", "1");
}

/// Levels of eight windows, a sort, TOP and what they are made from: with few blocks and sources
/// they have many operators, which are counted where they are shown.
#[test]
fn operators_nest_to_16384() {
    let mut b = Bench::with(|options| options.memory_bytes = Some(512 << 20));
    let windows =
        listed(8, |i| format!("ROW_NUMBER() OVER (ORDER BY a + {i})")).replace(", ", " + ");
    let chain = |levels: usize| {
        let level = |i: usize| {
            format!("c{} AS (SELECT TOP (9) {windows} a FROM c{i} ORDER BY a DESC)", i + 1)
        };
        format!("WITH c0 AS (SELECT 1 a), {} SELECT a FROM c{levels}", listed(levels, level))
    };
    b.run("SET SHOWPLAN_TEXT ON");
    let operators = [10, 20].map(|levels| b.run(&chain(levels)).matches("|--").count());
    b.run("SET SHOWPLAN_TEXT OFF");
    let of_level = (operators[1] - operators[0]) / 10;
    let most = 10 + (16_384 - operators[0]) / of_level;
    // Before blocks, sources and windows are too many.
    assert!(most < 4_000 && most * (2 + 8) < 16_384, "{operators:?}");
    b.run("SET NOEXEC ON");
    b.check(&chain(most), "");
    b.fails(&chain(most + 1), 8623);
    b.run("SET NOEXEC OFF");
    b.check(&chain(100), "8");
}

#[test]
fn keys_of_groups_and_orders_are_8060() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (a int NOT NULL) INSERT t VALUES (1), (1), (2)");
    let keys = |n: usize| listed(n, |i| format!("a + {i}"));
    let group = |n: usize| format!("SELECT COUNT(*) FROM t GROUP BY {} ORDER BY 1", keys(n));
    let order = |n: usize| format!("SELECT a FROM t ORDER BY {}", keys(n));
    for (query, rows) in [(&group as &dyn Fn(usize) -> String, "1\n2"), (&order, "1\n1\n2")] {
        b.check(&query(8_060), rows);
        b.fails(&query(8_061), 8618);
    }
    // Their number counts and not their size.
    let wide = listed(5, |i| format!("CAST(a + {i} AS char(8000)) AS c{i}"));
    let columns = listed(5, |i| format!("c{i}"));
    b.check(
        &format!(
            "SELECT COUNT(*) FROM (SELECT {wide} FROM t) q GROUP BY {columns} ORDER BY {columns}"
        ),
        "2\n1",
    );
}

#[test]
fn sets_of_groups_are_4096() {
    let mut b = Bench::new();
    let columns = |n: usize| listed(n, |i| format!("c{i}"));
    b.run(&format!("CREATE TABLE t ({})", listed(13, |i| format!("c{i} int"))));
    b.run(&format!("INSERT t VALUES ({})", listed(13, |i| i.to_string())));
    let count =
        |sets: &str| format!("SELECT COUNT(*) FROM (SELECT COUNT(*) n FROM t GROUP BY {sets}) x");
    b.check(&count(&format!("CUBE ({})", columns(12))), "4096");
    b.fails(&count(&format!("GROUPING SETS (CUBE ({}), ())", columns(12))), 10_703);
    b.fails(&count(&format!("CUBE ({})", columns(13))), 10_703);
}

#[test]
fn a_value_has_2147483647_bytes() {
    let mut b = Bench::new();
    let length = |n: u64| format!("SELECT LEN(REPLICATE(CAST('x' AS varchar(max)), {n}))");
    // The largest that fits takes 2 GB of memory: `expr/src/large.rs` tests its edge.
    b.check(
        &length(2_147_483_648),
        "Msg 7119: Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes.",
    );
}

#[test]
fn documents_of_a_session_are_1000() {
    let mut b = Bench::new();
    let prepare = "EXEC sp_xml_preparedocument @h OUTPUT, N'<a/>'";
    b.check(
        &format!("DECLARE @i int = 0, @h int WHILE @i < 1000 BEGIN {prepare} SET @i += 1 END SELECT @i, @h"),
        "1000|1999",
    );
    b.fails(&format!("DECLARE @h int {prepare}"), 6624);
    b.check(&format!("DECLARE @h int EXEC sp_xml_removedocument 1 {prepare} SELECT @h"), "2001");
}

#[test]
fn documents_nest_to_128() {
    let mut b = Bench::new();
    let xml = |n: usize| {
        format!("SELECT DATALENGTH(CAST('{}{}' AS xml))", "<a>".repeat(n), "</a>".repeat(n))
    };
    assert!(!b.run(&xml(128)).contains("Msg "));
    b.fails(&xml(129), 6335);
    let json =
        |n: usize| format!("SELECT JSON_QUERY('{}{}', '$[0]')", "[".repeat(n), "]".repeat(n));
    assert!(!b.run(&json(128)).contains("Msg "));
    b.fails(&json(129), 13_609);
    let value = |n: usize, mode: &str| {
        format!("SELECT LEN(JSON_VALUE('{{\"a\":\"' + REPLICATE('x', {n}) + '\"}}', '{mode} $.a'))")
    };
    b.check(&value(4_000, "strict"), "4000");
    b.fails(&value(4_001, "strict"), 13_625);
    b.check(&value(4_001, "lax"), "NULL");
}

#[test]
fn documents_go_out_in_pieces_of_2033_characters() {
    let mut b = Bench::new();
    for form in ["JSON PATH", "XML PATH"] {
        let said = b.run(&format!("SELECT REPLICATE('x', 5000) AS a FOR {form}"));
        let lengths: Vec<usize> = said.lines().map(str::len).collect();
        assert_eq!(lengths[..2], [2_033, 2_033], "{form}");
        assert_eq!(lengths.len(), 3, "{form}");
    }
}

#[test]
fn settings_have_their_ranges() {
    let mut b = Bench::new();
    let mut check = |allowed: &[&str], refused: &[(&str, i32)]| {
        for sql in allowed {
            b.check(sql, "");
        }
        for (sql, number) in refused {
            b.fails(sql, *number);
        }
    };
    let level = "ALTER DATABASE t SET COMPATIBILITY_LEVEL =";
    check(
        &[&format!("{level} 90"), &format!("{level} 160")],
        &[
            (&format!("{level} 80"), 15_048),
            (&format!("{level} 170"), 15_048),
            (&format!("{level} 95"), 15_048),
        ],
    );
    let window = |what: &str| format!("ALTER DATABASE t SET DELAYED_DURABILITY = FORCED ({what})");
    check(
        &[
            &window("WINDOW_MS = 1"),
            &window("WINDOW_MS = 60000"),
            &window("WINDOW_KB = 4"),
            &window("WINDOW_KB = 65536"),
        ],
        &[
            (&window("WINDOW_MS = 0"), 5005),
            (&window("WINDOW_MS = 60001"), 5005),
            (&window("WINDOW_KB = 3"), 5005),
            (&window("WINDOW_KB = 65537"), 5005),
        ],
    );
    check(
        &["CREATE SEQUENCE longest AS decimal(18)"],
        &[("CREATE SEQUENCE longer AS decimal(19)", 40_510)],
    );
    check(
        &[
            "DECLARE @t TABLE (a varchar(8000), c nvarchar(4000), d binary(8000))",
            "DECLARE @d decimal(38, 38)",
        ],
        &[
            ("DECLARE @t varchar(8001)", 131),
            ("DECLARE @t nvarchar(4001)", 131),
            ("DECLARE @t binary(8001)", 131),
            ("DECLARE @d decimal(39)", 2750),
            ("DECLARE @d datetime2(8)", 1002),
        ],
    );
}

#[test]
fn rows_that_break_a_constraint_are_shown_200_at_a_time() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (n int) INSERT t SELECT value FROM GENERATE_SERIES(1, 201)");
    b.run("ALTER TABLE t WITH NOCHECK ADD CONSTRAINT negative CHECK (n < 0)");
    for (with, lines) in [("NO_INFOMSGS", 200), ("NO_INFOMSGS, ALL_ERRORMSGS", 201)] {
        let said = b.run(&format!("DBCC CHECKCONSTRAINTS ('t') WITH {with}"));
        assert_eq!(said.lines().count(), lines, "{with}");
    }
}

#[test]
fn a_backup_has_64_devices() {
    let mut b = Bench::new();
    let backup = |n: usize| {
        let devices = listed(n, |_| "DISK = 'NUL'".into());
        format!("BACKUP DATABASE t TO {devices}")
    };
    assert!(!b.run(&backup(64)).contains("Msg "));
    let said = b.run(&backup(65));
    let text =
        "Msg 3205: Too many backup devices specified for backup or restore; only 64 are allowed.";
    assert!(said.starts_with(text), "{said}");
    let restore = backup(65).replace("BACKUP DATABASE t TO", "RESTORE DATABASE u FROM");
    b.fails(&restore, 3205);
}

#[test]
fn an_index_has_a_column_once() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (a int, c int, d int)");
    for (index, twice) in [
        ("CREATE INDEX i ON t (a, a)", 'a'),
        ("CREATE INDEX i ON t (a) INCLUDE (a)", 'a'),
        ("CREATE INDEX i ON t (c, a) INCLUDE (d, a)", 'a'),
        ("CREATE INDEX i ON t (c) INCLUDE (a, A)", 'A'),
        ("CREATE TABLE u (a int, c int, INDEX i (a) INCLUDE (c, a))", 'a'),
        ("DECLARE @t TABLE (a int, c int, INDEX i (c) INCLUDE (a, a))", 'a'),
    ] {
        let said = b.run(index);
        let text = format!(
            "Msg 1909: Cannot use duplicate column names in index. Column name '{twice}' listed more than once."
        );
        assert!(said.starts_with(&text), "{index}: {said}");
    }
    b.check("CREATE INDEX i ON t (a, c) INCLUDE (d)", "");
}
