//! Scans under locks of tables with long rows: large values, values outside the row, rows of some
//! kilobytes. They give what a scan of a snapshot gives, in its order, and the rows before an
//! error.

use crate::support::text::Bench;

/// Rows of a table: many pages of them.
const ROWS: u32 = 300;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(&format!(
        "CREATE TABLE w (id int PRIMARY KEY, n int NOT NULL, a text, b varchar(8000), c nvarchar(200),
                         d varchar(100), e varbinary(50), f varchar(8000));
         INSERT w SELECT value, value % 7, REPLICATE('a', value % 30), REPLICATE('b', value % 5 * 100),
                         NULLIF(REPLICATE(N'\u{10D}', value % 4), N''), 'caf\u{e9} ' + STR(value, 5),
                         CAST(value AS varbinary(50)), REPLICATE('f', 600)
         FROM generate_series(1, {ROWS});
         UPDATE w SET a = REPLICATE(CAST('L' AS varchar(max)), 20000) WHERE id % 50 = 0;
         UPDATE w SET b = REPLICATE('B', 8000), f = REPLICATE('F', 8000) WHERE id % 60 = 0;
         UPDATE w SET a = NULL, b = NULL, d = '' WHERE id % 11 = 0"
    ));
    b.check("SELECT COUNT(*) FROM w", &ROWS.to_string());
    b
}

const LOCKS: [&str; 7] = [
    "SERIALIZABLE",
    "REPEATABLEREAD",
    "READCOMMITTEDLOCK",
    "UPDLOCK",
    "XLOCK, HOLDLOCK",
    "TABLOCK, HOLDLOCK",
    "READPAST, UPDLOCK",
];

#[test]
fn long_rows_are_read_under_locks_as_without() {
    let mut b = bench();
    for range in [
        "1 = 1",
        "id BETWEEN 37 AND 203",
        "id > 100 AND id < 290 AND n <> 3",
        "id IN (5, 60, 61, 150, 300)",
        "id > 290 AND f LIKE 'f%'",
    ] {
        for order in ["id", "id DESC"] {
            let rows =
                |hint: &str| format!("SELECT * FROM w {hint} WHERE {range} ORDER BY {order}");
            let expected = b.run(&rows(""));
            assert!(expected.lines().count() > 4, "{range}: {expected}");
            for locks in LOCKS {
                let said = b.run(&rows(&format!("WITH ({locks})")));
                assert!(said == expected, "{range}, {order}, {locks}");
            }
        }
    }
}

/// In a transaction, twice: what is locked already is read once more as it was.
#[test]
fn a_range_of_long_rows_is_read_again_under_its_locks() {
    let mut b = bench();
    let rows = "SELECT * FROM w WHERE id > 40 AND id < 190";
    let expected = b.run(rows);
    let twice =
        format!("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; {rows}; {rows}; COMMIT");
    let said = b.run(&twice);
    assert!(said == format!("{expected}{expected}"), "{}", said.len());
}

#[test]
fn long_rows_before_an_error_are_given() {
    let mut b = bench();
    let rows = |hint: &str| {
        format!("SELECT id, a, f FROM w {hint} WHERE id BETWEEN 30 AND 60 AND 60 / (id - 45) <> 1")
    };
    let expected = b.run(&rows(""));
    assert!(expected.starts_with("30|") && expected.contains("Msg 8134:"), "{expected}");
    for locks in ["SERIALIZABLE", "TABLOCK, HOLDLOCK"] {
        assert_eq!(b.run(&rows(&format!("WITH ({locks})"))), expected, "{locks}");
    }
}

#[test]
fn long_rows_are_changed_as_they_are_read() {
    let mut b = bench();
    let sum = |b: &mut Bench| b.run("SELECT SUM(n) FROM w").trim().parse::<i64>().unwrap();
    let before = sum(&mut b);
    b.check(
        "UPDATE w WITH (SERIALIZABLE) SET n = n + 1, f = b WHERE id BETWEEN 10 AND 209",
        "(200)",
    );
    assert_eq!(sum(&mut b), before + 200);
    b.check("DELETE w WITH (SERIALIZABLE) WHERE id > 250", "(50)");
    b.check("SELECT COUNT(*), MAX(id) FROM w WITH (SERIALIZABLE) WHERE id > 0", "250|250");
}
