//! The 22 queries of TPC-H on a hundredth of scale factor 1: their plans as text, and the same rows
//! whatever order the joins are taken in. `RINGWOOD_PLANS=write` writes `data/tpch.plan` instead of
//! comparing it: look at the difference.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::text::Bench;
use engine::{BulkOptions, Value};

const SCALE: f64 = 0.01;

fn loaded() -> Bench {
    let mut b = Bench::new();
    b.check("ALTER DATABASE t SET RECOVERY SIMPLE", "");
    for table in tpch::TABLES {
        b.check(
            &table
                .create
                .replace("PRIMARY KEY", &format!("CONSTRAINT pk_{} PRIMARY KEY", table.name)),
            "",
        );
        let mut rows = tpch::rows(table.name, SCALE);
        let mut next = |row: &mut [Value]| match rows.next() {
            None => Ok(false),
            Some(values) => {
                row.clone_from_slice(&values);
                Ok(true)
            }
        };
        b.session.bulk_insert(table.name, &[], &BulkOptions::default(), &mut next).unwrap();
    }
    b
}

/// Rows in an order of their own: queries leave ties open.
fn sorted(said: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn plans_and_answers() {
    let mut b = loaded();
    let mut plans = String::new();
    let mut empty = 0;
    for number in 1..=22 {
        let query = tpch::query(number, SCALE);
        b.check("SET SHOWPLAN_TEXT ON", "");
        let shown = b.run(&query);
        b.check("SET SHOWPLAN_TEXT OFF", "");
        let lines: Vec<&str> =
            shown.lines().filter(|l| l.contains("|--")).map(str::trim_end).collect();
        let _ = writeln!(plans, "-- Q{number}\n{}\n", lines.join("\n"));
        let answer = b.run(&query);
        assert!(!answer.contains("Msg "), "Q{number}: {answer}");
        empty += usize::from(answer.trim().is_empty());
        // As written these three pair every row of one table with every row of another.
        if ![2, 8, 9].contains(&number) {
            let forced = b.run(&format!("{query}\nOPTION (FORCE ORDER)"));
            assert_eq!(sorted(&answer), sorted(&forced), "Q{number}");
        }
    }
    // At this size few suppliers are left for the choosiest queries.
    assert!(empty <= 2, "{empty} queries found nothing");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tpch.plan");
    if std::env::var("RINGWOOD_PLANS").is_ok_and(|how| how == "write") {
        std::fs::write(&file, plans).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(wanted == plans, "{}: the plans are\n{plans}", file.display());
}
