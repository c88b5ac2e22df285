//! The plan that is chosen for a join is not much worse than what its author could have forced:
//! random joins over skewed, repeated and dependent keys, each as it is planned and with each
//! operator of OPTION and the written order. What counts is the work that the executor counts,
//! rows, starts of operators, pairs of rows that conditions are tested on and pages that are read,
//! and not the time.
//!
//! `RINGWOOD_QUERIES` says how many queries (30 without it), `RINGWOOD_SEED` where to begin. The
//! example `join_times` measures the same queries by time.

#[path = "../../examples/support/join_queries.rs"]
mod join_queries;

use crate::support::text::Bench;
use join_queries::{FORCED, Joins, tables};

/// Rows of each table.
const ROWS: u32 = 600;
/// The chosen plan may do so much more than the best one.
const WORSE: u64 = 3;
/// Less work than this is not looked at: less than a millisecond.
const LITTLE: u64 = 3_000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The numbers behind a text, wherever it stands.
fn sum_behind(said: &str, text: &str) -> u64 {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    said.split(text).skip(1).filter_map(|rest| digits(rest).parse::<u64>().ok()).sum()
}

/// What a query gives and what it does; none when the hints leave no plan.
fn worked(b: &mut Bench, sql: &str) -> Option<(String, u64)> {
    let rows = b.run(sql);
    if rows.contains("Msg 8622") {
        return None;
    }
    assert!(!rows.contains("Msg "), "{sql}\n{rows}");
    b.run("SET STATISTICS XML ON SET STATISTICS IO ON");
    let said = b.run(sql);
    b.run("SET STATISTICS XML OFF SET STATISTICS IO OFF");
    let counted = ["ActualRows=\"", "ActualExecutions=\"", "ActualRowsRead=\"", "logical reads "];
    let work: Vec<u64> = counted.iter().map(|text| sum_behind(&said, text)).collect();
    assert!(work[1] > 0 && work[3] > 0, "{sql}\n{said}");
    Some((rows, work.iter().sum()))
}

#[test]
fn no_forced_plan_does_a_third_of_the_chosen_ones_work() {
    let (seed, queries) = (number("RINGWOOD_SEED", 1), number("RINGWOOD_QUERIES", 30));
    let mut b = Bench::new();
    assert_eq!(b.run(&tables(ROWS)), "");
    let (mut worse, mut compared) = (Vec::new(), 0);
    for at in seed..seed + queries {
        let sql = Joins::new(at).query();
        let (rows, chosen) = worked(&mut b, &sql).expect("a plan without hints");
        for force in FORCED {
            let Some((forced, work)) = worked(&mut b, &format!("{sql} OPTION ({force})")) else {
                continue;
            };
            assert_eq!(forced, rows, "seed {at}: {sql} OPTION ({force})");
            compared += 1;
            if chosen > LITTLE && chosen > work * WORSE {
                worse.push(format!("seed {at}: {chosen} units, {force} {work}: {sql}"));
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
    assert!(compared > queries * 2, "{compared} forced plans of {queries} queries");
}

/// The counters tell pairs that conditions are tested on from those that keys find.
#[test]
fn pairs_are_counted_by_every_operator() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE a (k int NOT NULL, i int NOT NULL, v int, PRIMARY KEY (k, i))
         INSERT a SELECT value % 4, value, value FROM GENERATE_SERIES(1, 100)",
    );
    // 25 rows of each of four keys.
    for (hint, pairs) in [("HASH", 4 * 25 * 25), ("MERGE", 4 * 25 * 25)] {
        let sql =
            format!("SELECT COUNT(*) FROM a INNER {hint} JOIN a b ON a.k = b.k AND a.v < b.v");
        b.run("SET STATISTICS XML ON");
        let said = b.run(&sql);
        b.run("SET STATISTICS XML OFF");
        assert_eq!(sum_behind(&said, "ActualRowsRead=\""), pairs, "{hint}: {said}");
        b.check(&sql, "1200");
    }
    b.run("SET STATISTICS XML ON");
    let said =
        b.run("SELECT COUNT(*) FROM a JOIN a b ON a.v < b.v OPTION (LOOP JOIN, FORCE ORDER)");
    b.run("SET STATISTICS XML OFF");
    assert_eq!(sum_behind(&said, "ActualRowsRead=\""), 100 * 100, "{said}");
}
