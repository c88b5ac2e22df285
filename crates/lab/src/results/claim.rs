//! Bounds as results have them: the figure, its interval, and what the interval, or every single
//! run, says of the bound.

use serde::{Deserialize, Serialize};

/// What was found of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All of the 95 % interval keeps the bound; of a fact that is asked of every run: every run
    /// does.
    Holds,
    /// None of it does; of such a fact: one run does not.
    Fails,
    /// Some of it does, or there are too few rounds for an interval.
    Undecided,
}

impl Verdict {
    /// As reports say it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Undecided => "undecided",
        }
    }
}

/// In how many runs a fact was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EveryResult {
    /// Runs that keep the bound.
    pub held: usize,
    /// All runs.
    pub runs: usize,
}

/// A bound and the figure for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClaimResult {
    /// What is compared with what.
    pub group: String,
    /// Which measure.
    pub what: String,
    /// The figure; null when it was not measured. Of a fact that is asked of every run the figure
    /// of the worst.
    pub value: Option<f64>,
    /// 95 % interval of the figure; null where there are too few rounds, when nothing was measured
    /// and for a fact of every run.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
    /// Of a fact that is asked of every run: in how many it was found.
    #[serde(default)]
    pub every: Option<EveryResult>,
    /// Smallest value that holds the bound.
    pub at_least: Option<f64>,
    /// Largest value that holds the bound.
    pub at_most: Option<f64>,
    /// The same comparison of the published figures.
    pub published: Option<f64>,
    /// true and false as `verdict` says it holds or fails; null when it is undecided, was not
    /// measured or has no bound.
    pub holds: Option<bool>,
    /// What was found of the bound; null when nothing was measured and for a comparison without a
    /// bound.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// What a reader must know of the verdict: why it is undecided, what it supposes, how many runs
    /// it rests on.
    #[serde(default)]
    pub remark: Option<String>,
}

impl ClaimResult {
    /// Whether a figure keeps the bound. What is no number does not.
    fn keeps(&self, value: f64) -> bool {
        !value.is_nan()
            && self.at_least.is_none_or(|b| value >= b)
            && self.at_most.is_none_or(|b| value <= b)
    }

    fn is_bounded(&self) -> bool {
        self.at_least.is_some() || self.at_most.is_some()
    }

    /// The bound in words.
    pub(crate) fn bound_text(&self) -> String {
        match (self.at_least, self.at_most) {
            (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
            (Some(low), None) => format!("at least {low:.2}"),
            (None, Some(high)) => format!("at most {high:.2}"),
            (None, None) => "no bound".into(),
        }
    }

    fn set(&mut self, verdict: Option<Verdict>) {
        self.verdict = verdict;
        self.holds = match verdict {
            Some(Verdict::Holds) => Some(true),
            Some(Verdict::Fails) => Some(false),
            Some(Verdict::Undecided) | None => None,
        };
    }

    /// Judges the bound by the whole interval, never by the figure alone.
    pub(crate) fn judge(&mut self) {
        let verdict = (self.is_bounded() && self.value.is_some()).then(|| match self.interval {
            None => Verdict::Undecided,
            Some((low, high)) if self.keeps(low) && self.keeps(high) => Verdict::Holds,
            Some((low, high)) => {
                let above = self.at_most.is_some_and(|b| low > b);
                let below = self.at_least.is_some_and(|b| high < b);
                if above || below { Verdict::Fails } else { Verdict::Undecided }
            }
        });
        self.set(verdict);
    }

    /// Judges the bound by every run: one that breaks it is enough to fail, however many keep it;
    /// fewer than `fewest` runs that all keep it decide nothing.
    pub(crate) fn judge_every(&mut self, runs: &[f64], fewest: usize) {
        let broken_by = |value: f64| {
            let above = self.at_most.map_or(f64::NEG_INFINITY, |b| value - b);
            let below = self.at_least.map_or(f64::NEG_INFINITY, |b| b - value);
            if value.is_nan() { f64::INFINITY } else { above.max(below) }
        };
        self.value = runs.iter().copied().max_by(|a, b| broken_by(*a).total_cmp(&broken_by(*b)));
        let every =
            EveryResult { held: runs.iter().filter(|v| self.keeps(**v)).count(), runs: runs.len() };
        self.every = self.value.map(|_| every);
        let verdict = (self.is_bounded() && every.runs > 0).then_some(match every {
            EveryResult { held, runs } if held < runs => Verdict::Fails,
            EveryResult { runs, .. } if runs < fewest => Verdict::Undecided,
            _ => Verdict::Holds,
        });
        self.set(verdict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(runs: &[f64], at_least: Option<f64>, at_most: Option<f64>) -> ClaimResult {
        let mut claim = ClaimResult { at_least, at_most, ..ClaimResult::default() };
        claim.judge_every(runs, 6);
        claim
    }

    #[test]
    fn one_run_is_enough_to_break_what_every_run_must_keep() {
        for n in [1, 2, 5, 6, 7, 8, 9, 16, 100] {
            let mut runs = vec![0.0; n];
            let kept = every(&runs, None, Some(0.0));
            let expected = if n < 6 { Verdict::Undecided } else { Verdict::Holds };
            assert_eq!(
                (kept.verdict, kept.every),
                (Some(expected), Some(EveryResult { held: n, runs: n })),
                "{n}"
            );
            runs[n / 2] = 500.0;
            let broken = every(&runs, None, Some(0.0));
            assert_eq!(
                (broken.verdict, broken.holds, broken.value),
                (Some(Verdict::Fails), Some(false), Some(500.0))
            );
            assert_eq!(broken.every, Some(EveryResult { held: n - 1, runs: n }), "{n}");
        }
        assert_eq!(every(&[3.0; 6], Some(2.0), None).verdict, Some(Verdict::Holds));
        assert_eq!(
            every(&[3.0, 3.0, 1.0], Some(2.0), Some(9.0)).value,
            Some(1.0),
            "the worst of them"
        );
        assert_eq!(
            every(&[3.0, f64::NAN], None, Some(9.0)).verdict,
            Some(Verdict::Fails),
            "not a number"
        );
        assert_eq!(every(&[], None, Some(0.0)).verdict, None, "not measured");
        assert_eq!(every(&[1.0; 6], None, None).verdict, None, "no bound");
    }
}
