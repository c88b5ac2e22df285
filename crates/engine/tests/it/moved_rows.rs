//! Rows that get another key while a scan under locks waits for them: one that lies farther on then
//! is read there, also where the scan had read that page before.

use crate::support::text::{Bench, blocked};

/// A query that is to wait for row 3, what moves the row behind all others, and what the query says
/// then.
fn moved(b: &mut Bench, table: &str, query: &str, moves: &str, expected: &[i32]) {
    b.check(&format!("BEGIN TRAN; UPDATE {table} SET v = 1 WHERE id = 3"), "(1)");
    let waits = blocked(b, query);
    b.check(&format!("UPDATE {table} SET {moves} WHERE id = 3; COMMIT"), "(1)");
    let said = waits.join().unwrap();
    let found: Vec<i32> = said.lines().map(|line| line.trim().parse().unwrap_or(-1)).collect();
    assert_eq!(found, expected, "{query}: {said}");
}

fn bench() -> Bench {
    let mut b = Bench::new();
    // A value that may lie outside the row is read under the row's lock alone.
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY, k int, w int, v int);
         CREATE INDEX by_k ON t (k); CREATE INDEX by_w ON t (w);
         CREATE TABLE l (id int PRIMARY KEY, v int, long varchar(max))",
        "",
    );
    b.check("INSERT t SELECT value, 1, value, 0 FROM generate_series(1, 9)", "(9)");
    b.check("INSERT l SELECT value, 0, 'x' FROM generate_series(1, 9)", "(9)");
    b
}

#[test]
fn a_row_whose_clustered_key_moves_ahead_is_not_missed() {
    for hint in ["REPEATABLEREAD", "UPDLOCK", "XLOCK"] {
        let mut b = bench();
        let query = format!("SELECT id FROM t WITH (INDEX(by_k), {hint}) WHERE k = 1 AND v >= 0");
        moved(&mut b, "t", &query, "id = 20", &[1, 2, 4, 5, 6, 7, 8, 9, 20]);
        let query = format!("SELECT id FROM l WITH ({hint}) WHERE long = 'x'");
        moved(&mut b, "l", &query, "id = 20", &[1, 2, 4, 5, 6, 7, 8, 9, 20]);
    }
}

#[test]
fn a_row_whose_entry_moves_ahead_is_not_missed() {
    for hint in ["REPEATABLEREAD", "UPDLOCK", "XLOCK"] {
        let mut b = bench();
        let query = format!("SELECT id FROM t WITH (INDEX(by_w), {hint}) WHERE w > 0 AND v >= 0");
        moved(&mut b, "t", &query, "w = 20", &[1, 2, 4, 5, 6, 7, 8, 9, 3]);
    }
}

/// A key that goes back is behind the scan, as in SQL Server.
#[test]
fn a_row_whose_key_moves_back_is_behind_the_scan() {
    let mut b = bench();
    let query = "SELECT id FROM t WITH (INDEX(by_w), REPEATABLEREAD) WHERE w > 0 AND v >= 0";
    b.check("UPDATE t SET w = w + 10", "(9)");
    moved(&mut b, "t", query, "w = 1", &[1, 2, 4, 5, 6, 7, 8, 9]);
}
