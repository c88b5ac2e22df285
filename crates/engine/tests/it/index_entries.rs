//! Entries of nonclustered indexes, seen through T-SQL: how large they are, that an index of any
//! kind says what its table says (now, before, after a restart, a rebuild and a restore).

use crate::support::text::{Bench, Text};
use engine::Session;

/// Bytes of the largest and of the smallest entry of an index, and pages of its leaves.
fn entries(b: &mut Bench, table: &str, index: &str) -> (u32, u32, u32) {
    let id = b.run(&format!(
        "SELECT index_id FROM sys.indexes WHERE object_id = OBJECT_ID('{table}') AND name = '{index}'"
    ));
    let said = b.run(&format!(
        "SELECT min_record_size_in_bytes, max_record_size_in_bytes, page_count
         FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('{table}'), {}, NULL, 'DETAILED') WHERE index_level = 0",
        id.trim()
    ));
    let number = |n: &str| n.parse::<u32>().unwrap_or_else(|_| panic!("{said}"));
    let numbers: Vec<u32> = said.trim().split('|').map(number).collect();
    (numbers[0], numbers[1], numbers[2])
}

#[test]
fn entries_are_as_small_as_they_can_be() {
    let mut b = Bench::new();
    for (table, key) in [("heap", "NOT NULL"), ("tree", "NOT NULL PRIMARY KEY")] {
        b.check(
            &format!(
                "CREATE TABLE {table} (id int {key}, a int NOT NULL, b int NOT NULL, c int NOT NULL, s varchar(40));
                 CREATE INDEX ix_1 ON {table} (a); CREATE INDEX ix_3 ON {table} (a, b, c);
                 CREATE UNIQUE INDEX ux_1 ON {table} (a); CREATE INDEX ix_more ON {table} (a) INCLUDE (b);
                 CREATE UNIQUE INDEX ux_more ON {table} (a) INCLUDE (b);
                 CREATE INDEX ix_own ON {table} (b) INCLUDE (id); CREATE INDEX ix_text ON {table} (s);
                 INSERT {table} SELECT value, value, value % 7, value % 11, 'ten letter' FROM GENERATE_SERIES(1, 500)"
            ),
            "(500)",
        );
    }
    // A RID has 8 bytes, the clustered key of an int that is not NULL 5.
    for (index, heap, tree) in [
        ("ix_1", 33, 30),
        ("ix_3", 43, 40),
        ("ux_1", 33, 30),
        ("ix_more", 38, 35),
        ("ux_more", 38, 37),
        // The clustered key has the included column.
        ("ix_own", 38, 30),
        ("ix_text", 53, 52),
    ] {
        for (table, bytes) in [("heap", heap), ("tree", tree)] {
            let (least, most, _) = entries(&mut b, table, index);
            assert_eq!((least, most), (bytes, bytes), "{index} of {table}");
        }
    }
}

/// 172 entries of 43 bytes, with 4 for the slot of each, are on a page.
#[test]
fn ascending_entries_fill_their_pages() {
    let mut b = Bench::new();
    b.run("CREATE TABLE h (a int NOT NULL, b int NOT NULL, c int NOT NULL) CREATE INDEX i ON h (a, b, c)");
    let rows = 20_000u32;
    let full = rows.div_ceil(172);
    let fill = "SELECT value, value % 7, value % 11 FROM GENERATE_SERIES";
    b.check(&format!("INSERT h {fill}(1, {})", rows / 2), "(10000)");
    // One by one, as a session has them.
    b.check(
        &format!(
            "SET NOCOUNT ON DECLARE @i int = {} WHILE @i < {rows} BEGIN SET @i += 1 INSERT h VALUES (@i, @i % 7, @i % 11) END",
            rows / 2
        ),
        "",
    );
    let (_, _, pages) = entries(&mut b, "h", "i");
    assert!((full..=full + 2).contains(&pages), "{pages} pages for {full}");
    b.check("ALTER INDEX i ON h REBUILD", "");
    let (_, _, pages) = entries(&mut b, "h", "i");
    assert!((full..=full + 1).contains(&pages), "{pages} pages for {full}");
    b.check("SELECT COUNT(*), SUM(a), SUM(b) FROM h WITH (INDEX (i))", "20000|200010000|59998");
    b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
}

const COLUMNS: &str = "id int NOT NULL, i int, b bigint, d decimal(9, 2), d2 decimal(30, 3), m money, dd date,
     dt datetime2(3), dt0 datetime, ds smalldatetime, dz datetimeoffset(0), tt time(2), g uniqueidentifier, y bit,
     s varchar(30), n nvarchar(20), c char(4), f float, x varbinary(8)";

/// Each with the condition of its filter.
const INDEXES: [(&str, &str, &str); 14] = [
    ("(i)", "", "i"),
    ("(i DESC, s, b) INCLUDE (d)", "", "i, s, b, d"),
    ("(s, i) INCLUDE (n, x)", "", "s, i, n, x"),
    ("(s DESC)", "", "s"),
    ("(b, d DESC, m, dd, dt, dt0, ds, tt, g DESC, y)", "", "b, d, m, dd, dt, dt0, ds, tt, g, y"),
    ("(d2 DESC, i) INCLUDE (dz, c)", "", "d2, i, dz, c"),
    ("(f, i DESC) INCLUDE (s)", "", "f, i, s"),
    ("(dz DESC, dt DESC, i)", "", "dz, dt, i"),
    ("(x, g)", "", "x, g"),
    ("(c, n, id)", "", "c, n, id"),
    ("(i) INCLUDE (id, s)", "i > 20", "i, id, s"),
    ("UNIQUE (id, s)", "", "id, s"),
    ("UNIQUE (id DESC) INCLUDE (n, i, f)", "", "id, n, i, f"),
    ("UNIQUE (n, id)", "", "n, id"),
];

/// What comes behind the columns of a table: a heap, and clustered keys of all kinds.
const BASES: [&str; 6] = [
    "",
    "CREATE UNIQUE CLUSTERED INDEX base ON t (id)",
    "CREATE CLUSTERED INDEX base ON t (i)",
    "CREATE CLUSTERED INDEX base ON t (s DESC, i)",
    "CREATE UNIQUE CLUSTERED INDEX base ON t (dd DESC, f, id)",
    "CREATE CLUSTERED INDEX base ON t (y, x)",
];

/// Rows of these ids, in which every column but the first has NULLs.
fn rows(from: u32, to: u32) -> String {
    let column =
        |n: u32, value: &str| format!("CASE WHEN v % {} = 0 THEN NULL ELSE {value} END", n + 3);
    let values = [
        "v % 41",
        "CAST(v AS bigint) * 10000000000 - 77",
        "CAST(v AS decimal(9, 2)) / 4 - 10",
        "CAST(CONCAT(v, '000000000000.125') AS decimal(30, 3))",
        "CAST(v AS money) / 7 - 3",
        "DATEADD(day, v, CAST('1999-12-31' AS date))",
        "DATEADD(millisecond, v * 77, CAST('1753-01-01 00:00:01' AS datetime2(3)))",
        "DATEADD(minute, v, CAST('18000505' AS datetime))",
        "DATEADD(minute, v, CAST('20000101' AS smalldatetime))",
        "TODATETIMEOFFSET(DATEADD(hour, v, CAST('2020-01-01' AS datetime2(0))), '+02:00')",
        "DATEADD(second, v, CAST('10:00:00.25' AS time(2)))",
        "CAST(CAST(v AS binary(16)) AS uniqueidentifier)",
        "CAST(v % 2 AS bit)",
        "CASE v % 4 WHEN 0 THEN '' WHEN 1 THEN 'Text' ELSE 'tEXT ' + CAST(v % 9 AS varchar(9)) + SPACE(v % 3) END",
        "CASE v % 3 WHEN 0 THEN N'' ELSE N'Größe ' + CAST(v % 13 AS nvarchar(9)) END",
        "CAST(v % 17 AS char(4))",
        "CAST(v AS float) / 3 - 20",
        "CAST(v % 300 AS varbinary(8))",
    ];
    let values: Vec<String> = (0..).zip(values).map(|(n, value)| column(n, value)).collect();
    format!(
        "SELECT v, {} FROM (SELECT value AS v FROM GENERATE_SERIES({from}, {to})) AS r",
        values.join(", ")
    )
}

fn filled(b: &mut Bench, base: &str) {
    b.check(&format!("CREATE TABLE t ({COLUMNS})"), "");
    if !base.is_empty() {
        b.check(base, "");
    }
    for (n, (index, filter, _)) in INDEXES.iter().enumerate() {
        // Half of the indexes have rows come to them, half are made over rows that are there.
        if n == INDEXES.len() / 2 {
            b.check(&format!("INSERT t {}", rows(1, 150)), "(150)");
        }
        let (unique, columns) =
            index.strip_prefix("UNIQUE ").map_or(("", *index), |rest| ("UNIQUE", rest));
        let filter = if filter.is_empty() { String::new() } else { format!("WHERE {filter}") };
        b.check(&format!("CREATE {unique} INDEX i{n} ON t {columns} {filter}"), "");
    }
    b.check(&format!("INSERT t {}", rows(151, 200)), "(50)");
}

fn sorted(said: &str) -> Vec<String> {
    assert!(!said.contains("Msg "), "{said}");
    // Blanks at the end of a line belong to a value.
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Each index by itself, and with the rows behind it, says what the table says.
#[track_caller]
fn indexes_say_what_the_table_says(what: &str, mut say: impl FnMut(&str) -> String) {
    for (n, (index, filter, columns)) in INDEXES.iter().enumerate() {
        let filter = if filter.is_empty() { String::new() } else { format!("WHERE {filter}") };
        for columns in [*columns, "*"] {
            let mut read = |hint: &str| {
                sorted(&say(&format!("SELECT {columns} FROM t WITH (INDEX ({hint})) {filter}")))
            };
            let expected = read("0");
            assert!(expected.len() > 20, "{what}: {} rows", expected.len());
            assert_eq!(read(&format!("i{n}")), expected, "{what}: {columns} by {index}");
        }
    }
}

fn tell(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out
}

#[test]
fn indexes_of_all_kinds_say_what_their_table_says() {
    for base in BASES {
        let mut b = Bench::new();
        b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
        filled(&mut b, base);
        indexes_say_what_the_table_says(base, |sql| b.run(sql));
        let mut reader = b.instance.session().unwrap();
        reader.use_database("t").unwrap();
        tell(&mut reader, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN");
        let before = sorted(&tell(&mut reader, "SELECT * FROM t"));
        for change in [
            "DELETE t WHERE id % 7 = 0",
            "UPDATE t SET i = i + 1, s = UPPER(s) + '!' WHERE id % 5 = 0",
            "UPDATE t SET n = n + N'x', f = -f, x = NULL WHERE id % 3 = 0",
            "UPDATE t SET id = id + 1000, dd = DATEADD(day, 1, dd), y = 0 WHERE id % 11 = 0",
            "DELETE t WHERE id % 13 = 1",
        ] {
            let said = b.run(change);
            assert!(said.starts_with('(') && !said.contains("Msg "), "{change}: {said}");
        }
        indexes_say_what_the_table_says(&format!("{base}, changed"), |sql| b.run(sql));
        // Versions from before the changes.
        assert_eq!(sorted(&tell(&mut reader, "SELECT * FROM t")), before, "{base}");
        indexes_say_what_the_table_says(&format!("{base}, before"), |sql| tell(&mut reader, sql));
        tell(&mut reader, "COMMIT");
        drop(reader);
        b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
        // What was deleted comes again, on its ghosts or beside them; a rollback takes changes
        // back.
        b.check(&format!("INSERT t {} WHERE v % 7 = 0", rows(1, 150)), "(21)");
        b.run(
            "BEGIN TRAN DELETE t WHERE id % 2 = 0 UPDATE t SET i = -i, s = NULL, n = NULL ROLLBACK",
        );
        let mut b = b.restart();
        indexes_say_what_the_table_says(&format!("{base}, restarted"), |sql| b.run(sql));
        b.check("ALTER INDEX ALL ON t REBUILD", "");
        indexes_say_what_the_table_says(&format!("{base}, rebuilt"), |sql| b.run(sql));
        let rows = sorted(&b.run("SELECT * FROM t"));
        for sql in [
            "BACKUP DATABASE t TO DISK = 't.bak'",
            "DELETE t",
            "USE master RESTORE DATABASE t FROM DISK = 't.bak' WITH REPLACE",
            "USE t",
        ] {
            let said = b.run(sql);
            assert!(!said.contains("Msg "), "{sql}: {said}");
        }
        assert_eq!(sorted(&b.run("SELECT * FROM t")), rows, "{base}");
        indexes_say_what_the_table_says(&format!("{base}, restored"), |sql| b.run(sql));
        b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
    }
}

/// A unique index whose key repeats names the value, whatever part of the entry it is read from.
#[test]
fn keys_that_repeat_are_named() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE t (a int, s varchar(20), f float, d date)
         INSERT t VALUES (5, 'Word', 0.5, '2020-02-29'), (5, 'wORD', 0.5, '2020-02-29')",
    );
    for (columns, value) in [
        ("a", "(5)"),
        ("s", "(wORD)"),
        ("a, s, d", "(5, wORD, 2020-02-29)"),
        ("d DESC, f", "(2020-02-29, "),
    ] {
        let said = b.run(&format!("CREATE UNIQUE INDEX u ON t ({columns})"));
        assert!(
            said.contains("Msg 1505") && said.contains(&format!("value is {value}")),
            "{columns}: {said}"
        );
    }
}
