//! A range of an index's first column and a value of its second one, by the number of different
//! values of the first: the plan that is chosen, beside a read of all that the range holds and a
//! scan from end to end.

use std::time::Duration;

use ringwood_engine::{Session, Value};

use crate::Wanted;
use crate::measure::{Done, Rows, in_turns, seconds};
use crate::statements::{rows, run, run_prepared};

/// Different values of the first column; each has as many of the second one as there are rows left.
const VALUES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Hints: as it is planned, the range, the scan.
const WAYS: [&str; 3] = ["INDEX(i)", "FORCESEEK (i (a))", "INDEX(i), FORCESCAN"];
const LEVELS: [(&str, &str); 2] = [("READ COMMITTED", ""), ("SERIALIZABLE", ", HOLDLOCK")];
/// Shorter runs are repeated for so long.
const LEAST: Duration = Duration::from_millis(10);

/// Whether the plan passes over a column.
pub fn passes(session: &mut Session, sql: &str) -> Done<bool> {
    run(session, "SET SHOWPLAN_TEXT ON")?;
    let shown = rows(session, sql)?;
    run(session, "SET SHOWPLAN_TEXT OFF")?;
    Ok(shown.iter().flatten().filter_map(Value::as_str).any(|line| line.contains("EACH ")))
}

/// Prints a row for each number of values and each level.
pub fn measure(session: &mut Session, wanted: &Wanted) -> Done<()> {
    let labels = &[("isolation level", 16), ("plan", 6)];
    let figures = &[
        ("values", 0),
        ("rows", 0),
        ("chosen ms", 3),
        ("range ms", 3),
        ("scan ms", 3),
        ("range ratio", 2),
        ("scan ratio", 2),
    ];
    let mut printed = Rows::new(wanted.json, "past", labels, figures);
    for values in VALUES.into_iter().filter(|values| *values <= wanted.rows / 2) {
        let made = format!(
            "CREATE TABLE p (a int NOT NULL, b int NOT NULL, pad char(40) NOT NULL)
             INSERT p SELECT value % {values}, value / {values}, 'text' FROM GENERATE_SERIES(0, {} - 1)
             CREATE INDEX i ON p (a, b)",
            wanted.rows
        );
        run(session, &made)?;
        // One that each value of the first column has.
        let second = wanted.rows / values / 2;
        for (level, lock) in LEVELS {
            let texts = WAYS.map(|hint| {
                format!("SELECT COUNT(*), MAX(a) FROM p WITH ({hint}{lock}) WHERE a >= 0 AND b = {second}")
            });
            let found = rows(session, &texts[0])?;
            let found = found.first().and_then(|row| row.first()?.as_i64()).unwrap_or(0);
            let plan = if passes(session, &texts[0])? { "past" } else { "other" };
            let mut prepared = Vec::new();
            for text in &texts {
                prepared.push(session.prepare(text, &[])?);
            }
            let turns = in_turns::<3>(wanted.rounds, |way| {
                let run = || run_prepared(session, &prepared[way], &[]);
                Ok(seconds(LEAST, run)? * 1e3)
            })?;
            let [chosen, range, scan] = [0, 1, 2].map(|way| turns.median(way));
            let ratios = [turns.ratio(1, 0), turns.ratio(2, 0)];
            let figures = [values.into(), found as f64, chosen, range, scan, ratios[0], ratios[1]];
            printed.row(&[level, plan], &figures);
        }
        run(session, "DROP TABLE p")?;
    }
    Ok(())
}
