//! How late the machine was below a modelled device: the sums of a study's runs, and which runs are marked.

use super::journal::RunRecord;
use crate::results::LateResult;
use crate::work::late::{LATE, LATE_US, MODELLED_US, REQUESTS};

/// A run with a larger share of late requests is marked.
const MARKED: f64 = 0.01;

/// The late requests of the runs; nothing where none was on a model.
pub(super) fn late(records: &[&RunRecord]) -> Option<LateResult> {
    let of = |record: &RunRecord, name: &str| record.counters.counts.get(name).copied().unwrap_or(0);
    let sum = |name: &str| -> i64 { records.iter().map(|r| of(r, name)).sum() };
    let requests = sum(REQUESTS);
    if requests == 0 {
        return None;
    }
    let share = |r: &RunRecord| of(r, LATE) as f64 / of(r, REQUESTS).max(1) as f64;
    let marked = records.iter().filter(|r| share(r) > MARKED);
    Some(LateResult {
        requests,
        late: sum(LATE),
        delay: sum(LATE_US) as f64 / sum(MODELLED_US).max(1) as f64,
        tolerance: format!(
            "later than the model by more than {} us and more than {:.0} % of their own time",
            model::LATE_AFTER.as_micros(),
            model::LATE_SHARE * 100.0
        ),
        marked: marked.map(|r| (r.arm.clone(), r.round + 1, share(r))).collect(),
        runs: records.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Counters;
    use std::collections::BTreeMap;

    fn record(arm: &str, requests: i64, late: i64) -> RunRecord {
        let counts =
            [(REQUESTS, requests), (LATE, late), (MODELLED_US, 1_000 * requests), (LATE_US, 500 * late)];
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
        let (good, bad, real) = (record("a", 1_000, 10), record("b", 1_000, 11), RunRecord::default());
        let found = late(&[&good, &bad]).unwrap();
        assert_eq!((found.requests, found.late, found.runs), (2_000, 21, 2));
        assert_eq!(found.marked, [("b".to_owned(), 3, 0.011)]);
        assert!((found.delay - 0.00525).abs() < 1e-12);
        let text = found.text();
        assert!(
            text.starts_with("Late requests: 1.05 % of 2000 (later than the model by more than 25 us"),
            "{text}"
        );
        assert!(text.contains("MARKED: 1 of 2 runs"), "{text}");
        assert!(late(&[&good]).unwrap().text().contains("none of the 1 runs"));
        assert_eq!(late(&[&real]), None);
    }
}
