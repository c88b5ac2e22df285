//! How late the machine was below a modelled device: the sums of a study's runs, and which runs are
//! marked. A marked run measured this machine and not the device: it is in no median, interval or
//! verdict.

use super::journal::RunRecord;
use crate::results::LateResult;
use targets::work::late::{LATE, LATE_US, MODELLED_US, REQUESTS};

/// A run with a larger share of late requests is marked.
const MARKED: f64 = 0.01;
/// So is a run whose delays come to more than this part of its time in the model, however short
/// each single one was.
const MARKED_DELAY: f64 = 0.05;

fn count(record: &RunRecord, name: &str) -> i64 {
    record.counters.counts.get(name).copied().unwrap_or(0)
}

/// The share of a run's requests that were late, and its delays as part of the time in the model.
fn shares(record: &RunRecord) -> (f64, f64) {
    let part = |name: &str, of: &str| count(record, name) as f64 / count(record, of).max(1) as f64;
    (part(LATE, REQUESTS), part(LATE_US, MODELLED_US))
}

/// Whether a run measured this machine and not the device.
pub(super) fn is_marked(record: &RunRecord) -> bool {
    let (late, delay) = shares(record);
    late > MARKED || delay > MARKED_DELAY
}

/// The late requests of the runs; nothing where none was on a model.
pub(super) fn late(records: &[&RunRecord]) -> Option<LateResult> {
    let sum = |name: &str| -> i64 { records.iter().map(|r| count(r, name)).sum() };
    let requests = sum(REQUESTS);
    if requests == 0 {
        return None;
    }
    let marked = records.iter().filter(|r| is_marked(r));
    Some(LateResult {
        requests,
        late: sum(LATE),
        delay: sum(LATE_US) as f64 / sum(MODELLED_US).max(1) as f64,
        tolerance: format!(
            "later than the model by more than {} us and more than {:.0} % of their own time",
            model::LATE_AFTER.as_micros(),
            model::LATE_SHARE * 100.0
        ),
        marked: marked.map(|r| (r.arm.clone(), r.round + 1, shares(r).0)).collect(),
        runs: records.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use targets::work::Counters;

    fn record(arm: &str, requests: i64, late: i64) -> RunRecord {
        let counts = [
            (REQUESTS, requests),
            (LATE, late),
            (MODELLED_US, 1_000 * requests),
            (LATE_US, 500 * late),
        ];
        let counts: BTreeMap<String, i64> = counts.map(|(name, n)| (name.to_owned(), n)).into();
        RunRecord {
            arm: arm.into(),
            round: 2,
            counters: Counters { counts, ..Counters::default() },
            ..RunRecord::default()
        }
    }

    #[test]
    fn a_run_with_more_than_one_percent_is_marked() {
        let (good, bad, real) =
            (record("a", 1_000, 10), record("b", 1_000, 11), RunRecord::default());
        let found = late(&[&good, &bad]).unwrap();
        assert_eq!((found.requests, found.late, found.runs), (2_000, 21, 2));
        assert_eq!(found.marked, [("b".to_owned(), 3, 0.011)]);
        assert!((found.delay - 0.00525).abs() < 1e-12);
        let text = found.text();
        assert!(
            text.starts_with(
                "Late requests: 1.05 % of 2000 (later than the model by more than 25 us"
            ),
            "{text}"
        );
        assert!(text.contains("MARKED: 1 of 2 runs"), "{text}");
        assert!(late(&[&good]).unwrap().text().contains("none of the 1 runs"));
        assert_eq!(late(&[&real]), None);
        assert!(is_marked(&bad) && !is_marked(&good) && !is_marked(&real));
    }

    /// Many requests that are each a little late, none of them beyond the tolerance.
    #[test]
    fn a_run_whose_delays_add_up_is_marked() {
        let mut run = record("a", 1_000, 0);
        for (us, marked) in [(50_000, false), (50_001, true)] {
            run.counters.counts.insert(LATE_US.to_owned(), us);
            assert_eq!(is_marked(&run), marked, "{us} us of 1,000,000");
        }
    }
}
