//! A value of the second column of a clustered key, and none of the first, by the number of
//! different values of the first: the plan that is chosen beside a scan (FORCESCAN), for all rows
//! and for the largest value of the first column that has one.

use std::time::Duration;

use ringwood_engine::Session;

use crate::Wanted;
use crate::measure::{Done, Rows, in_turns, seconds};
use crate::seeks_past::passes;
use crate::statements::{run, run_prepared};

/// Different values of the first column; each has as many of the second one as there are rows left.
const VALUES: [u32; 5] = [2, 10, 50, 1_000, 10_000];
const WAYS: [&str; 2] = ["", "FORCESCAN"];
const LEVELS: [(&str, &str); 2] = [("READ COMMITTED", ""), ("SERIALIZABLE", "HOLDLOCK")];
const LISTS: [&str; 2] = ["COUNT(*), MAX(pad)", "MAX(a)"];
/// Shorter runs are repeated for so long.
const LEAST: Duration = Duration::from_millis(10);

/// Prints a row for each number of values, each list and each level.
pub fn measure(session: &mut Session, wanted: &Wanted) -> Done<()> {
    let labels = &[("isolation level", 16), ("list", 20), ("plan", 6)];
    let figures = &[("values", 0), ("chosen ms", 3), ("scan ms", 3), ("scan ratio", 2)];
    let mut printed = Rows::new(wanted.json, "skip", labels, figures);
    for values in VALUES.into_iter().filter(|values| *values <= wanted.rows / 2) {
        let made = format!(
            "CREATE TABLE f (a int NOT NULL, b int NOT NULL, pad char(40) NOT NULL, PRIMARY KEY (a, b))
             INSERT f SELECT value % {values}, value / {values}, 'text' FROM GENERATE_SERIES(0, {} - 1)",
            wanted.rows
        );
        run(session, &made)?;
        // One that each value of the first column has.
        let second = wanted.rows / values / 2;
        for (level, lock) in LEVELS {
            for list in LISTS {
                let texts = WAYS.map(|way| {
                    let hints: Vec<&str> =
                        [lock, way].into_iter().filter(|hint| !hint.is_empty()).collect();
                    let hints = hints.join(", ");
                    let hints = if hints.is_empty() { hints } else { format!("WITH ({hints})") };
                    format!("SELECT {list} FROM f {hints} WHERE b = {second}")
                });
                let plan = if passes(session, &texts[0])? { "skip" } else { "other" };
                let mut prepared = Vec::new();
                for text in &texts {
                    prepared.push(session.prepare(text, &[])?);
                }
                let turns = in_turns::<2>(wanted.rounds, |way| {
                    let run = || run_prepared(session, &prepared[way], &[]);
                    Ok(seconds(LEAST, run)? * 1e3)
                })?;
                let figures = [values.into(), turns.median(0), turns.median(1), turns.ratio(1, 0)];
                printed.row(&[level, list, plan], &figures);
            }
        }
        run(session, "DROP TABLE f")?;
    }
    Ok(())
}
