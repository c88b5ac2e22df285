//! Conditions with parts that are the same for all rows, which a read of many rows computes once:
//! the rows are those of constants, and what fails does so only where a row asks for it.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE h (v int NOT NULL, s varchar(20), d date)
         INSERT h SELECT value, CONCAT(CHAR(97 + value % 26), IIF(value % 7 = 0, '%', '_'), value),
                         DATEADD(day, value % 400, '20200101') FROM GENERATE_SERIES(1, 3000)
         CREATE TABLE c (v int PRIMARY KEY, s varchar(20), d date)
         CREATE INDEX by_s ON c (s)
         INSERT c SELECT * FROM h",
    );
    b
}

const KNOWN: &str =
    "DECLARE @n int = 20, @zero int = 0, @p nvarchar(20) = N'a%1', @q varchar(20) = 'b!%%',
                             @e char(1) = '!', @d date = '20200110', @null varchar(20)";

#[test]
fn what_is_the_same_for_all_rows_is_what_constants_are() {
    let mut b = bench();
    for (computed, by_hand) in [
        ("v < @n * 2 + 10", "v < 50"),
        ("-@n < v AND v <= @n + @n", "v <= 40"),
        ("v = IIF(@n > 5, @n, 3) OR v = COALESCE(@null, @n + 1)", "v IN (20, 21)"),
        ("d < DATEADD(day, @n, CAST(@d AS datetime))", "d < '20200130'"),
        ("s LIKE @p", "s LIKE 'a%1'"),
        ("s NOT LIKE @p AND v % 2 = 0", "s NOT LIKE 'a%1' AND v % 2 = 0"),
        ("s LIKE @q ESCAPE @e", "s LIKE 'b!%%' ESCAPE '!'"),
        ("s LIKE @null OR v = 7", "v = 7"),
        ("NOT (v > @n + 5)", "v <= 25"),
        ("LEN(s) < 0 AND v + 0 > 1 / @zero", "1 = 0"),
    ] {
        for table in ["h", "c"] {
            let want = b.run(&format!("SELECT COUNT(*), SUM(v) FROM {table} WHERE {by_hand}"));
            assert!(!want.contains("Msg "), "{by_hand}: {want}");
            for hint in [
                "",
                "WITH (HOLDLOCK)",
                "WITH (REPEATABLEREAD)",
                "WITH (READCOMMITTEDLOCK)",
                "WITH (NOLOCK)",
            ] {
                let sql =
                    format!("{KNOWN} SELECT COUNT(*), SUM(v) FROM {table} {hint} WHERE {computed}");
                assert_eq!(b.run(&sql), want, "{sql}");
            }
        }
    }
    for table in ["h", "c"] {
        let fails = format!("{KNOWN} SELECT COUNT(*) FROM {table} WHERE v > 1 / @zero");
        assert!(b.run(&fails).contains("Msg 8134:"));
        let pattern =
            format!("{KNOWN} SELECT COUNT(*) FROM {table} WHERE v > 2990 AND s LIKE @q ESCAPE @p");
        assert!(b.run(&pattern).contains("Msg 506:"));
        let none = pattern.replace("v > 2990", "v > 5000");
        assert_eq!(b.run(&none).trim(), "0");
    }
}

/// An error that is NULL and a message is told of if a row asks for it, and else is not.
#[test]
fn a_message_is_of_a_row_that_asked() {
    let mut b = bench();
    b.run("SET ARITHABORT OFF SET ANSI_WARNINGS OFF");
    for table in ["h", "c"] {
        let none =
            format!("{KNOWN} SELECT COUNT(*) FROM {table} WHERE LEN(s) < 0 AND v + 0 > 1 / @zero");
        assert_eq!(b.run(&none).trim(), "0");
        let all = none.replace("LEN(s) < 0", "LEN(s) > 0");
        assert_eq!(b.run(&all).trim(), "0\nDivision by zero occurred.");
    }
}

/// A variable that the statement gives values is read again for each row.
#[test]
fn what_the_statement_sets_is_not_computed_once() {
    let mut b = bench();
    let sql = "DECLARE @n int = 0 SELECT @n = @n + 1 FROM h WHERE v > 0 AND @n + 0 >= 0 SELECT @n";
    assert_eq!(b.run(sql).trim(), "3000");
    // Nor is what an outer row gives, beyond that row.
    let count = "SELECT COUNT(*) FROM h WHERE v <= g.value * 10 + 0 AND v > g.value - 1";
    let outer =
        format!("SELECT COUNT(*) FROM GENERATE_SERIES(1, 3) g WHERE ({count}) = 9 * g.value + 1");
    assert_eq!(b.run(&outer).trim(), "3");
}

/// What is drawn in the condition of a CASE is drawn for each row, as what it gives is.
#[test]
fn what_is_drawn_is_drawn_for_each_row() {
    let mut b = bench();
    for drawn in [
        "IIF(CHECKSUM(NEWID()) % 2 = 0, 0, 5000)",
        "CASE CHECKSUM(NEWID()) % 2 WHEN 0 THEN 0 ELSE 5000 END",
        "CASE WHEN CONVERT(char(36), NEWID()) LIKE '[0-7]%' THEN 0 ELSE 5000 END",
        "CASE WHEN ABS(CHECKSUM(NEWID()) % 5) IN (1, 2) THEN 0 ELSE 5000 END",
    ] {
        for table in ["h", "c"] {
            let said = b.run(&format!("SELECT COUNT(*) FROM {table} WHERE v > {drawn}"));
            let count: usize = said.trim().parse().expect("a number");
            assert!((600..2400).contains(&count), "{drawn}: {count} of 3000");
        }
    }
}
