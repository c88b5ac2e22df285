//! Random statements do not panic, hang or take too much memory: a few seconds of `./fuzz engine`.

use crate::support::random_sql;
use std::time::{Duration, Instant};

/// Statements that always run, and how long more of them do.
const STATEMENTS: u64 = 500;
const TIME: Duration = Duration::from_secs(4);

#[test]
fn random_statements_end_in_answers_or_errors() {
    let mut target = random_sql::Target::new();
    let start = Instant::now();
    let (mut good, mut wrong) = (0, Vec::new());
    for seed in 0.. {
        if seed >= STATEMENTS && start.elapsed() > TIME {
            break;
        }
        match target.try_one(seed) {
            Ok(succeeded) => good += u64::from(succeeded),
            Err(e) => wrong.push(e),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(
        good > STATEMENTS / 20,
        "only {good} statements succeed: the schema is no longer what they ask for"
    );
}
