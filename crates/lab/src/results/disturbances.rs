//! What disturbed the runs of a study: a machine that was late below a modelled device, and the
//! place of a run in its round.

use serde::{Deserialize, Serialize};

/// How late the machine was below a modelled device, over the measured steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateResult {
    /// Requests that were waited for.
    pub requests: i64,
    /// Those that ended later than the model's time by more than the tolerance.
    pub late: i64,
    /// The delay of all requests together as part of their time in the model.
    pub delay: f64,
    /// The tolerance, in words.
    pub tolerance: String,
    /// Runs of which more than 1 % of the requests were late, or whose delays were more than 5 % of
    /// the model's time: arm, round from 1, share of late requests. They are left out of medians,
    /// intervals and verdicts.
    pub marked: Vec<(String, usize, f64)>,
    /// All runs.
    pub runs: usize,
}

impl LateResult {
    /// Share of late requests, 0 to 1.
    pub fn share(&self) -> f64 {
        self.late as f64 / self.requests.max(1) as f64
    }

    /// In words, for a report.
    pub fn text(&self) -> String {
        let marked = match self.marked.len() {
            0 => format!(
                "none of the {} runs had more than 1 %, or delays of more than 5 % of its time",
                self.runs
            ),
            n => format!(
                "MARKED: {n} of {} runs had more than 1 %, or delays of more than 5 % of their time: they measured this machine, not \
                 the device, and are left out of medians, intervals and verdicts",
                self.runs
            ),
        };
        format!(
            "Late requests: {:.2} % of {} ({}), {marked}. All delays together are {:.2} % of the model's time.",
            self.share() * 100.0,
            self.requests,
            self.tolerance,
            self.delay * 100.0
        )
    }
}

/// How much longer a run took because others had run before it in its round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionResult {
    /// Time in the later half of a round over that of the same configuration in the earlier half of
    /// a neighbouring round.
    pub ratio: f64,
    /// Its 95 % interval by Student's t over the pairs of rounds; null for fewer than two.
    pub interval: Option<(f64, f64)>,
    /// Pairs of rounds.
    pub pairs: usize,
}

impl PositionResult {
    /// In words, for a report.
    pub fn text(&self) -> String {
        let interval = match self.interval {
            Some((low, high)) => format!(" ({low:.3} .. {high:.3})"),
            None => String::new(),
        };
        format!(
            "Position in the round: a run in the later half takes {:.3}{interval} times as long as the same in the earlier half, \
             by {} pairs of rounds with opposite orders.",
            self.ratio, self.pairs
        )
    }
}
