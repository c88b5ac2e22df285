//! Conditions that are tested on the bytes of rows: a read, a change and a read under locks have the
//! rows that they have where values are made first.

use crate::support::text::Bench;

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

const KNOWN: &str = "DECLARE @s nvarchar(4000) = N'Alpha', @t varchar(20) = 'mx', @n nvarchar(20) = N'łódź',
    @wide nvarchar(20) = N'漢', @null varchar(20), @c char(1) = 'q', @w nvarchar(20) = N'COOP',
    @b varbinary(8) = 0x0000002A0000, @d date = '20200305', @p decimal(9, 2) = 12, @v int = 1500";

/// The condition with each column as it is, and as something that is computed of it.
fn both(condition: &str) -> [String; 2] {
    let columns = ["s", "n", "c", "w", "b", "d", "p", "f", "t", "v"]
        .map(|name| (format!("{{{name}}}"), name.to_owned()));
    let as_it_is = columns.iter().fold(condition.to_owned(), |text, (at, name)| text.replace(at, name));
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
            let want = b.run(&format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} WHERE {computed}"));
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
                let sql = format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} {hint} WHERE {as_it_is}");
                assert_eq!(b.run(&sql), want, "{sql}");
            }
            // Where the statement sets a variable of the condition, values are made first.
            let sets = format!("{KNOWN} SELECT @s = COUNT(*), @n = SUM(v) FROM {table} WHERE {as_it_is}");
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
            let count = b.run(&format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} WHERE {computed}"));
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
        assert_eq!(b.run(&format!("SELECT COUNT(*) FROM o WHERE {condition}")).trim(), rows, "{condition}");
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
