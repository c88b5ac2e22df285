//! Conditions that are tested on the bytes of rows: a read, a change and a read under locks have
//! the rows that they have where values are made first.

use crate::support::text::{Bench, say};

/// 3,000 rows: texts with blanks, accents, letters in both cases and NULL among them.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE h (v int NOT NULL, s varchar(40), n nvarchar(40), c char(8),
                         w varchar(40) COLLATE Latin1_General_CI_AS, b varbinary(8), d date,
                         p decimal(9, 2), f bit, t tinyint)
         INSERT h SELECT value,
                CASE value % 9 WHEN 0 THEN NULL WHEN 1 THEN 'stra' + CHAR(223) + 'e'
                               WHEN 2 THEN 'ALPHA ' WHEN 3 THEN 'alpha' WHEN 4 THEN ''
                               ELSE CONCAT(CHAR(97 + value % 26), 'x', value % 50) END,
                CASE value % 8 WHEN 0 THEN NULL WHEN 1 THEN N'İst' WHEN 2 THEN N'Łódź' WHEN 3 THEN N'ŁÓDŹ  '
                               ELSE CONCAT(N'ж', value % 40) END,
                CHAR(65 + value % 26),
                CASE value % 5 WHEN 0 THEN 'co-op' WHEN 1 THEN 'Coop' WHEN 2 THEN CHAR(233)
                               ELSE CONCAT('w', value % 30) END,
                CAST(value % 300 AS binary(4)), DATEADD(day, value % 400, '20200101'), value % 77,
                value % 3 % 2, value % 200
             FROM GENERATE_SERIES(1, 3000)
         CREATE TABLE k (v int PRIMARY KEY, s varchar(40), n nvarchar(40), c char(8),
                         w varchar(40) COLLATE Latin1_General_CI_AS, b varbinary(8), d date,
                         p decimal(9, 2), f bit, t tinyint)
         INSERT k SELECT * FROM h
         SELECT * INTO i FROM k
         ALTER TABLE i ADD PRIMARY KEY (v)
         CREATE INDEX by_d ON i (d, s) INCLUDE (n, c, w, b, p, f, t)",
    );
    b
}

const KNOWN: &str =
    "DECLARE @s nvarchar(4000) = N'Alpha', @t varchar(20) = 'mx', @n nvarchar(20) = N'łódź',
    @wide nvarchar(20) = N'漢', @null varchar(20), @c char(1) = 'q', @w nvarchar(20) = N'COOP',
    @b varbinary(8) = 0x0000002A0000, @d date = '20200305', @p decimal(9, 2) = 12, @v int = 1500";

/// The condition with each column as it is, and as something that is computed of it.
fn both(condition: &str) -> [String; 2] {
    let columns = ["s", "n", "c", "w", "b", "d", "p", "f", "t", "v"]
        .map(|name| (format!("{{{name}}}"), name.to_owned()));
    let as_it_is =
        columns.iter().fold(condition.to_owned(), |text, (at, name)| text.replace(at, name));
    let computed = columns.iter().fold(condition.to_owned(), |text, (at, name)| {
        text.replace(at, &format!("IIF(v < 0, NULL, {name})"))
    });
    [as_it_is, computed]
}

const CONDITIONS: [&str; 30] = [
    "{s} = @s",
    "{s} <> @s",
    "@s < {s}",
    "{s} BETWEEN @c AND @s",
    "{s} NOT BETWEEN @c AND @t",
    "{s} = @s AND {c} = @c",
    "{s} >= @t AND {w} = @w",
    "{s} = @wide",
    "{s} < @wide",
    "{s} = @null OR {v} < 10",
    "NOT ({s} = @s) AND {v} > @v",
    "{s} IN (@s, @t, 'straSSe', NULL)",
    "{s} NOT IN (@s, '', 'ax0')",
    "{s} IS NULL",
    "{s} IS NOT NULL AND {v} <= @v",
    "{s} IS DISTINCT FROM @s",
    "{s} = 'strasse' OR {s} = ''",
    "{s} COLLATE Latin1_General_CS_AS = 'alpha'",
    "{s} COLLATE Latin1_General_BIN2 > @t",
    "{n} = @n",
    "{n} <> N'ist' AND {n} > N'a'",
    "{n} >= N'Ж2' OR {n} IS NULL",
    "{w} = @w",
    "{w} <> 'é'",
    "{w} > 'co-op' AND LEN({s}) > 2",
    "{b} = @b OR {b} > 0x0000010A",
    "{d} = @d OR {d} < '20200110'",
    "{f} = 0 AND {s} = @s",
    "{t} < @v AND {t} IN (7, 300) AND {s} >= @t",
    "{p} >= @p AND {p} < 20 AND {s} LIKE 'a%'",
];

#[test]
fn reads_have_the_same_rows() {
    let mut b = bench();
    let mut some = 0;
    for condition in CONDITIONS {
        let [as_it_is, computed] = both(condition);
        for table in ["h", "k", "i"] {
            let want =
                b.run(&format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} WHERE {computed}"));
            assert!(!want.contains("Msg "), "{computed}: {want}");
            some += usize::from(!want.trim().starts_with('0'));
            for hint in [
                "",
                "WITH (HOLDLOCK)",
                "WITH (REPEATABLEREAD)",
                "WITH (UPDLOCK)",
                "WITH (READCOMMITTEDLOCK)",
                "WITH (NOLOCK)",
            ] {
                let by_index = match hint.strip_prefix("WITH (") {
                    Some(others) => format!("WITH (INDEX(by_d), {others}"),
                    None => "WITH (INDEX(by_d))".to_owned(),
                };
                let hint = if table == "i" { by_index.as_str() } else { hint };
                let sql =
                    format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} {hint} WHERE {as_it_is}");
                assert_eq!(b.run(&sql), want, "{sql}");
            }
            // Where the statement sets a variable of the condition, values are made first.
            let sets =
                format!("{KNOWN} SELECT @s = COUNT(*), @n = SUM(v) FROM {table} WHERE {as_it_is}");
            let given = b.run(&format!("{sets} SELECT CAST(@s AS int), CAST(@n AS int)"));
            assert_eq!(given, want, "{sets}");
        }
    }
    assert!(some >= 60, "{some} have rows");
}

#[test]
fn changes_have_the_same_rows() {
    let mut b = bench();
    for condition in CONDITIONS {
        let [as_it_is, computed] = both(condition);
        for table in ["h", "k"] {
            let count =
                b.run(&format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} WHERE {computed}"));
            let rest = b.run(&format!(
                "{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} WHERE IIF({computed}, 1, 0) = 0"
            ));
            let gone = b.run(&format!(
                "{KNOWN} BEGIN TRANSACTION
                 UPDATE {table} SET d = NULL WHERE {as_it_is}
                 DECLARE @updated int = @@ROWCOUNT
                 ROLLBACK
                 BEGIN TRANSACTION
                 DELETE {table} WHERE {as_it_is}
                 IF @updated <> @@ROWCOUNT SELECT 'other rows were updated'
                 SELECT COUNT(*), SUM(v) FROM {table}
                 ROLLBACK"
            ));
            assert_eq!(gone, rest, "{as_it_is} of {table}, which {count} are");
        }
    }
}

/// Columns that only the condition asks for are no part of what is made of the rows.
#[test]
fn what_others_ask_for_is_made() {
    let mut b = bench();
    for table in ["h", "k", "i WITH (INDEX(by_d))"] {
        for (asked, computed) in [
            (
                "SELECT COUNT(s), MIN(LEN(s)) FROM # WHERE s = @s",
                "SELECT COUNT(s), MIN(LEN(s)) FROM # WHERE s + '' = @s",
            ),
            (
                "SELECT TOP 3 d, c FROM # WHERE d > @d AND s > @t ORDER BY v",
                "SELECT TOP 3 d, c FROM # WHERE DATEADD(day, 0, d) > @d AND s + '' > @t ORDER BY v",
            ),
            (
                "SELECT d, COUNT(*) FROM # WHERE d < '20200104' AND s <> @s GROUP BY d ORDER BY d",
                "SELECT d, COUNT(*) FROM # WHERE DATEADD(day, 0, d) < '20200104' AND s + '' <> @s
                 GROUP BY d ORDER BY d",
            ),
            (
                "SELECT COUNT(*) FROM (SELECT DISTINCT c FROM # WHERE s = @s AND f = 0) x",
                "SELECT COUNT(*) FROM (SELECT DISTINCT c FROM # WHERE s + '' = @s AND f ^ 0 = 0) x",
            ),
            (
                "SELECT COUNT(*), SUM(x.v) FROM (SELECT * FROM # WHERE t = 7) x JOIN h ON h.v = x.v + 200
                 WHERE h.s <> @t AND x.s <> h.s",
                "SELECT COUNT(*), SUM(x.v) FROM (SELECT * FROM # WHERE t + 0 = 7) x JOIN h ON h.v = x.v + 200
                 WHERE h.s + '' <> @t AND x.s + '' <> h.s",
            ),
        ] {
            let [asked, computed] =
                [asked, computed].map(|sql| b.run(&format!("{KNOWN} {}", sql.replace('#', table))));
            assert_eq!(asked, computed, "{table}");
            assert!(!asked.contains("Msg ") && asked.trim() != "0", "{table}: {asked}");
        }
    }
}

/// Texts outside their rows, and such that were there before: neither is passed over.
#[test]
fn texts_outside_rows_are_read() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE o (v int PRIMARY KEY, a varchar(8000), b varchar(8000), m varchar(max))
         INSERT o SELECT value, REPLICATE(CHAR(97 + value % 2), IIF(value % 3 = 0, 6000, 5)),
                         REPLICATE(CHAR(97 + value % 4), IIF(value % 2 = 0, 5000, 7)),
                         IIF(value % 5 = 0, NULL, REPLICATE(CAST('m' AS varchar(max)), value * 100))
            FROM GENERATE_SERIES(1, 240)",
    );
    for (condition, rows) in [
        ("a = REPLICATE('B', 6000)", "40"),
        ("b = REPLICATE('a', 5000) AND a = REPLICATE('a', 6000)", "20"),
        ("b = 'BBBBBBB' AND a > 'b'", "60"),
        ("m IS NULL AND a IS NOT NULL", "48"),
        ("m = REPLICATE(CAST('M' AS varchar(max)), 10100)", "1"),
    ] {
        assert_eq!(
            b.run(&format!("SELECT COUNT(*) FROM o WHERE {condition}")).trim(),
            rows,
            "{condition}"
        );
    }
}

/// Each run of a statement has the values that its variables have then.
#[test]
fn variables_have_other_values_in_the_next_run() {
    let mut b = bench();
    let sql = "DECLARE @i int = 0, @s varchar(20), @all varchar(100) = ''
        WHILE @i < 4
        BEGIN
            SET @s = CHOOSE(@i + 1, 'ALPHA', 'none', NULL, '')
            SET @all += CONCAT((SELECT COUNT(*) FROM h WHERE s = @s), ' ')
            SET @i += 1
        END
        SELECT @all";
    assert_eq!(b.run(sql).trim(), "668 0 0 333");
    let outer = "SELECT SUM(f.c) FROM (VALUES ('alpha'), ('STRASSE'), (NULL), ('')) g(x)
        CROSS APPLY (SELECT COUNT(*) c FROM h WHERE s = g.x) f";
    assert_eq!(b.run(outer).trim(), "1001");
}

const OTHER_VARIABLES: &str =
    "DECLARE @e float = 2.125, @r real = 2.125, @m money = 2.5, @p decimal(9, 2) = 3.25,
    @dt datetime = '2020-01-01T00:00:00.500', @d2 datetime2(7) = '2020-01-01 00:00:00.01',
    @ti time(7) = '08:00:20.5', @o datetimeoffset(7) = '2020-01-01 03:00:00 +01:00',
    @g uniqueidentifier = CAST(CONVERT(binary(16), 33) AS uniqueidentifier), @x sql_variant = 7,
    @l bigint = 30000000000, @tiny tinyint = 3, @none bigint";

/// The column of each is in braces.
const OTHER_CONDITIONS: [&str; 26] = [
    "{e} = 0",
    "{e} > -0.5 AND {e} <= @p",
    "{e} <> @e",
    "{r} = @e",
    "{r} >= @r",
    "{m} = @m",
    "{q} < @m",
    "{m} IN (1.125, @m, NULL)",
    "{dt} = @dt",
    "{dt} <= @d2",
    "{dt} = '2020-01-01T00:00:00.011'",
    "{sd} >= @dt",
    "{sd} = '20200101 00:20'",
    "{d2} = @d2 OR {d2} < @dt",
    "{ti} BETWEEN '08:00:10' AND @ti",
    "{o} = @o",
    "{o} <> @o AND {o} > '2020-01-01 03:00 +02:00'",
    "{g} = @g",
    "{g} > @g OR {g} IS NULL",
    "{x} = 4",
    "{x} > @x",
    "{l} = @l OR {y} = @l",
    "{l} < @m",
    "{y} >= @tiny AND {y} IN (3, 70000)",
    "NOT ({y} = @none OR {y} < 3)",
    "{l} IS DISTINCT FROM @none AND {y} > @p",
];

/// Numbers, times and similar values, beside variables of the same type and of others.
#[test]
fn columns_of_other_types_have_the_same_rows() {
    let mut b = Bench::new();
    let made = b.run(
        "SET NOCOUNT ON
         CREATE TABLE f (v int PRIMARY KEY, e float, r real, m money, q smallmoney, dt datetime,
                         sd smalldatetime, d2 datetime2(3), ti time(2), o datetimeoffset(2),
                         g uniqueidentifier, x sql_variant, l bigint, y smallint)
         INSERT f SELECT value, IIF(value % 7 = 0, -1 * 0e0, value % 50 / 4e0), value % 50 / 8e0,
                value % 60 / 8.0, value % 60 / 8.0,
                DATEADD(millisecond, value * 10 % 1000, CAST('20200101' AS datetime)),
                DATEADD(minute, value % 90, CAST('20200101' AS smalldatetime)),
                DATEADD(millisecond, value * 10 % 1000, CAST('20200101' AS datetime2(3))),
                DATEADD(second, value % 100, CAST('08:00' AS time(2))),
                CAST(CONCAT('2020-01-01 0', value % 9, ':00:00 +0', value % 5, ':00') AS datetimeoffset(2)),
                CAST(CONVERT(binary(16), value % 70) AS uniqueidentifier),
                IIF(value % 3 = 1, CAST('abc' AS sql_variant), CAST(value % 20 AS sql_variant)),
                CAST(value % 80 AS bigint) * 10000000000, value % 100 - 50
             FROM GENERATE_SERIES(1, 2000)
         UPDATE f SET e = NULL, m = NULL, dt = NULL, o = NULL, g = NULL, y = NULL WHERE v % 11 = 0",
    );
    assert_eq!(made, "");
    let names = ["e", "r", "m", "q", "dt", "sd", "d2", "ti", "o", "g", "x", "l", "y"];
    let mut some = 0;
    for condition in OTHER_CONDITIONS {
        let with = |column: &dyn Fn(&str) -> String| {
            let put =
                |text: String, name: &&str| text.replace(&format!("{{{name}}}"), &column(name));
            names.iter().fold(condition.to_owned(), put)
        };
        let computed = with(&|name| format!("IIF(v < 0, NULL, {name})"));
        let as_it_is = with(&|name| name.to_owned());
        let want =
            b.run(&format!("{OTHER_VARIABLES} SELECT COUNT(*), SUM(v) FROM f WHERE {computed}"));
        assert!(!want.contains("Msg "), "{computed}: {want}");
        some += usize::from(!want.trim().starts_with("0|"));
        for hint in ["", "WITH (READCOMMITTEDLOCK)", "WITH (UPDLOCK)"] {
            let sql =
                format!("{OTHER_VARIABLES} SELECT COUNT(*), SUM(v) FROM f {hint} WHERE {as_it_is}");
            assert_eq!(b.run(&sql), want, "{sql}");
        }
    }
    assert!(some >= 18, "{some} have rows");
}

/// Rows that were there before a column have what it was added with, and a column that was dropped
/// takes no other's place.
#[test]
fn rows_older_than_a_column_are_found_by_it() {
    let mut b = bench();
    let changed = [
        "ALTER TABLE h ADD y varchar(10) NOT NULL DEFAULT 'old', z int NULL, g bit NULL",
        "UPDATE h SET y = 'NEW', z = v, g = v % 2 WHERE v % 3 = 0",
    ];
    for sql in changed {
        assert_eq!(b.run(sql), "", "{sql}");
    }
    for dropped in [false, true] {
        if dropped {
            assert_eq!(b.run("ALTER TABLE h DROP COLUMN c"), "");
        }
        for (condition, rows) in [
            ("y = 'OLD'", "2000"),
            ("y <> 'old'", "1000"),
            ("y > 'new'", "2000"),
            ("z IS NULL", "2000"),
            ("z > 1500", "500"),
            ("g = 1", "500"),
            ("g <> 1 AND y = 'new'", "500"),
            ("g IS NULL AND s = 'alpha' AND y = 'old'", "334"),
            ("NOT (z = 3)", "999"),
        ] {
            assert_eq!(
                b.run(&format!("SELECT COUNT(*) FROM h WHERE {condition}")).trim(),
                rows,
                "{condition}"
            );
        }
    }
}

/// What a snapshot reads are the versions of its moment; a change in it finds the rows of these, by
/// columns too that nothing but a view's condition asks for.
#[test]
fn a_snapshot_tests_its_own_versions() {
    let mut b = bench();
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
    b.check("CREATE VIEW changed AS SELECT v, d FROM h WHERE t = 250 AND s = 'changed'", "");
    b.check("SET TRANSACTION ISOLATION LEVEL SNAPSHOT", "");
    b.check("BEGIN TRANSACTION SELECT COUNT(*) FROM h WHERE s = 'alpha'", "668");
    for table in ["h", "k", "i"] {
        let changes = format!(
            "USE t UPDATE {table} SET s = 'changed', t = 250 WHERE s = 'alpha'
             DELETE {table} WHERE s = ''"
        );
        let said = say(&b.instance, &changes);
        assert!(!said.contains("Msg "), "{said}");
    }
    for counts in [[668, 0, 333, 0], [0, 668, 0, 668]] {
        for table in ["h", "k", "i WITH (INDEX(by_d))", "i"] {
            for (condition, rows) in
                ["s = 'ALPHA'", "s = 'Changed'", "s = ''", "t = 250"].iter().zip(counts)
            {
                b.check(
                    &format!("SELECT COUNT(*) FROM {table} WHERE {condition}"),
                    &rows.to_string(),
                );
            }
        }
        b.check("IF @@TRANCOUNT > 0 COMMIT", "");
    }
    b.check(
        "BEGIN TRANSACTION
         UPDATE h SET n = s WHERE s = 'changed' AND t = 250
         SELECT @@ROWCOUNT, (SELECT COUNT(*) FROM h WHERE n = N'CHANGED')
         UPDATE changed SET d = NULL
         SELECT @@ROWCOUNT, (SELECT COUNT(*) FROM h WHERE d IS NULL)
         ROLLBACK",
        "668|668
         668|668",
    );
}

/// A part that is unknown does not keep the next one from failing, as it does not on values.
#[test]
fn errors_of_later_parts_are_not_hidden() {
    let mut b = bench();
    for table in ["h", "k"] {
        // The text of row 2700 is NULL.
        for condition in
            ["s <> 'none' AND 1 / (v - 2700) >= 0", "s + '' <> 'none' AND 1 / (v - 2700) >= 0"]
        {
            b.fails(&format!("SELECT COUNT(*) FROM {table} WHERE {condition}"), 8134);
            b.fails(&format!("DELETE {table} WHERE {condition}"), 8134);
        }
    }
}
