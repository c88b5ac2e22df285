//! NOT IN of a subquery as an anti join: the same rows as of the form that is computed row by row,
//! with NULL on either side, on both, on none, and of queries without rows.

use crate::support::text::Bench;
use crate::support::work::profile;

/// The plan's text.
fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

const ANTI: &str = "Left Anti Semi Join";

/// `o` has 40 rows, `i` none, `f` 60 without a NULL, `n` 60 with some, and `x` is `n` with an index
/// on y. Of the columns k and y may be NULL, h and z may not.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE o (id int PRIMARY KEY, g int NULL, k int NULL, h int NOT NULL)
         INSERT o SELECT value, NULLIF(value % 6, 5), NULLIF(value % 30, 7), value % 30 FROM GENERATE_SERIES(1, 40)",
    );
    for (table, y, rows, index) in [
        ("i", "value", 0, ""),
        ("f", "value % 25 * 2", 60, ""),
        ("n", "NULLIF(value % 25 * 2, 8)", 60, ""),
        ("x", "NULLIF(value % 25 * 2, 8)", 60, ", INDEX by_y (y)"),
    ] {
        b.run(&format!(
            "SET NOCOUNT ON
             CREATE TABLE {table} (id int IDENTITY PRIMARY KEY, g int NULL, y int NULL, z bigint NOT NULL{index})
             IF {rows} > 0 INSERT {table} SELECT NULLIF(value % 6, 4), {y}, value % 25 * 2 FROM GENERATE_SERIES(1, {rows})"
        ));
    }
    b
}

/// The rows that satisfy a condition in WHERE, and those of which it is true where it is no join.
#[track_caller]
fn same(b: &mut Bench, condition: &str) {
    let rows = |condition: &str| format!("SELECT id FROM o WHERE {condition} ORDER BY id");
    let joined = b.run(&format!(
        "SELECT id INTO #found FROM o WHERE {condition}; SELECT id FROM #found ORDER BY id; DROP TABLE #found"
    ));
    let joined: Vec<&str> = joined.lines().filter(|line| !line.starts_with('(')).collect();
    let row_by_row = b.run(&rows(&format!("CASE WHEN {condition} THEN 1 ELSE 0 END = 1")));
    assert!(!row_by_row.contains("Msg "), "{condition}: {row_by_row}");
    assert_eq!(joined, row_by_row.lines().collect::<Vec<_>>(), "{condition}");
    let ordered = b.run(&rows(condition));
    assert_eq!(ordered, row_by_row, "{condition}");
}

#[test]
fn rows_are_those_of_the_form_without_a_join() {
    let mut b = bench();
    for table in ["i", "f", "n", "x"] {
        for outer in ["o.k", "o.h", "o.k + 1", "o.h % 4", "CAST(NULL AS int)", "4"] {
            for inner in ["y", "z", "y + 1"] {
                for rest in [
                    "",
                    " WHERE s.y IS NOT NULL",
                    " WHERE s.z > 20",
                    " WHERE s.z > 1000",
                    " WHERE s.g = o.g",
                    " WHERE s.g = o.g AND s.y IS NOT NULL",
                    " WHERE s.g > o.g AND s.z < 40",
                    " WHERE s.g = o.g AND s.z = o.h",
                ] {
                    let test = format!("{outer} NOT IN (SELECT s.{inner} FROM {table} AS s{rest})");
                    same(&mut b, &test);
                }
                let query = format!("SELECT s.{inner} FROM {table} AS s WHERE s.g = o.g");
                same(&mut b, &format!("{outer} <> ALL ({query}) AND o.k IS NOT NULL"));
                same(&mut b, &format!("NOT ({outer} IN ({query})) AND o.h > 3"));
                same(&mut b, &format!("NOT ({outer} NOT IN ({query}))"));
            }
        }
    }
}

#[test]
fn it_is_an_anti_join_where_that_says_the_same() {
    let mut b = bench();
    for (condition, joined) in [
        // Of a query that needs the row: whatever may be NULL.
        ("k NOT IN (SELECT y FROM n WHERE n.g = o.g)", true),
        ("h NOT IN (SELECT z FROM f WHERE f.g = o.g)", true),
        ("NOT (k IN (SELECT z FROM f WHERE f.g = o.g))", true),
        // Of one that does not: where it is known that it gives no NULL, or an index tells.
        ("h NOT IN (SELECT z FROM f)", true),
        ("k NOT IN (SELECT z FROM f WHERE y > 3)", true),
        ("h % 4 NOT IN (SELECT y FROM n WHERE y IS NOT NULL)", true),
        ("k NOT IN (SELECT y FROM x)", true),
        ("k NOT IN (SELECT y FROM n)", false),
        // One row: the values are kept, and looked at once.
        ("id = 7 AND k NOT IN (SELECT y FROM n)", false),
    ] {
        let shown = plan(&mut b, &format!("SELECT COUNT(*) FROM o WHERE {condition}"));
        assert_eq!(shown.contains(ANTI), joined, "{condition}: {shown}");
    }
}

#[test]
fn a_query_that_needs_the_row_runs_once() {
    let mut b = bench();
    b.run("CREATE TABLE big (id int PRIMARY KEY, g int NULL, k int NULL) INSERT big SELECT value, value % 50, NULLIF(value, 9) FROM GENERATE_SERIES(1, 3000)");
    let sql = "SELECT COUNT(*) FROM big AS o WHERE o.k NOT IN (SELECT s.k + 1 FROM big AS s WHERE s.g = o.g AND s.id > 2000)";
    let all = profile(&mut b, sql);
    let scans = all
        .iter()
        .filter(|counted| counted.operator.contains("Scan") || counted.operator.contains("Seek"));
    let starts: u64 = scans.map(|counted| counted.executions).sum();
    assert!((2..10).contains(&starts), "{starts} reads of a table");
}

#[test]
fn a_few_rows_are_sought_in_a_large_query() {
    let mut b = bench();
    b.run("CREATE TABLE big (id int PRIMARY KEY, k int NOT NULL, y int NULL, INDEX by_k (k), INDEX by_y (y)) INSERT big SELECT value, value, value FROM GENERATE_SERIES(20, 20000)");
    for column in ["k", "y"] {
        let sql = format!("SELECT COUNT(*) FROM o WHERE h NOT IN (SELECT {column} FROM big)");
        // 1 to 30 come, 20 to 29 are there; 30 % 30 is 0.
        b.check(&sql, "30");
        let read: u64 = profile(&mut b, &sql).iter().map(|counted| counted.rows).sum();
        assert!(read < 1_000, "{sql}: {read} rows of operators");
    }
    b.run("INSERT big VALUES (1, 1, NULL)");
    b.check("SELECT COUNT(*) FROM o WHERE h NOT IN (SELECT y FROM big)", "0");
}

/// A join has no place that a dynamic cursor could go on from.
#[test]
fn a_dynamic_cursor_stays_one() {
    let mut b = bench();
    b.run("CREATE TABLE big (id int PRIMARY KEY, k int NOT NULL, INDEX by_k (k)) INSERT big SELECT value, value FROM GENERATE_SERIES(20, 20000)");
    b.check(
        "DECLARE c CURSOR DYNAMIC TYPE_WARNING FOR SELECT id FROM o WHERE h NOT IN (SELECT k FROM big) AND id > 19
         OPEN c FETCH c CLOSE c DEALLOCATE c",
        "30",
    );
}

/// A value that changes is computed once for a row, not for each row that it is compared with.
#[test]
fn a_value_that_changes_is_one_value_for_a_row() {
    let mut b = bench();
    b.run("CREATE TABLE pair (g int NOT NULL, y int NULL) INSERT pair SELECT value % 5, value / 5 * 2 FROM GENERATE_SERIES(0, 9)");
    // 0 and 2 are there for each g.
    b.check(
        "SELECT COUNT(*) FROM o WHERE g < 5
         AND CASE WHEN NEWID() < NEWID() THEN 0 ELSE 2 END NOT IN (SELECT y FROM pair WHERE pair.g = o.g)",
        "0",
    );
}

/// Nothing to hash or to seek by: a run for each row reads what its own conditions leave.
#[test]
fn ranges_of_each_row_are_sought() {
    let mut b = bench();
    b.run("CREATE TABLE big (id int PRIMARY KEY, k int NOT NULL, y int NULL, INDEX by_k (k) INCLUDE (y)) INSERT big SELECT value, value, value FROM GENERATE_SERIES(1, 20000)");
    let sql = "SELECT COUNT(*) FROM o WHERE h NOT IN (SELECT y FROM big WHERE big.k BETWEEN o.h + 100 AND o.h + 101)";
    b.check(sql, "40");
    let read: u64 = profile(&mut b, sql).iter().map(|counted| counted.rows).sum();
    assert!(read < 1_000, "{read} rows of operators");
}

/// What a change reads of its own table is as it was before the change, when each row is tested.
#[test]
fn changes_see_their_table_as_it_was() {
    let mut b = bench();
    for condition in [
        "k NOT IN (SELECT s.k FROM o AS s WHERE s.g = o.g AND s.id <> o.id AND s.k IS NOT NULL)",
        "k NOT IN (SELECT s.h FROM o AS s WHERE s.id > 15)",
        "h NOT IN (SELECT s.h FROM o AS s WHERE s.id > 15)",
        "h + 10 NOT IN (SELECT s.h FROM o AS s)",
        "h NOT IN (SELECT s.k FROM o AS s)",
    ] {
        let counted = b.run(&format!(
            "SELECT COUNT(*) FROM o WHERE CASE WHEN {condition} THEN 1 ELSE 0 END = 1"
        ));
        for change in ["DELETE o", "UPDATE o SET h = -1, k = -1"] {
            let sql = format!("BEGIN TRAN {change} WHERE {condition} SELECT @@ROWCOUNT ROLLBACK");
            b.check(&sql, &counted);
        }
    }
}

/// A group without keys is there or not: what is asked once is asked of the group, not of its rows.
#[test]
fn a_total_is_left_out_as_a_whole() {
    let mut b = bench();
    for (query, total) in [
        ("SELECT y FROM x", ""),
        ("SELECT y FROM x WHERE y IS NOT NULL", "820"),
        ("SELECT y FROM x WHERE y > 1000", "820"),
        ("SELECT z + 820 FROM f", ""),
    ] {
        b.check(&format!("SELECT SUM(id) FROM o HAVING SUM(id) NOT IN ({query})"), total);
    }
}
