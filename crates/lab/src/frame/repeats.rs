//! How often each step is repeated within a run: found in the calibration round, before anything is
//! measured, and the same in all rounds.
//!
//! All levels of a step take the same number, that of the fastest. If each level chose by itself,
//! one of 0.31 s would be measured once and cold, and one of 0.29 s twice and half warm: their
//! ratio would be of that too. Only a level that would then take more than [`EVEN`] times the least
//! seconds takes fewer. Where a step is repeated, its first repeat warms up and is left out of the
//! figure, at all levels.

use super::journal::{Calibration, SingleRepeat};
use crate::study::{Arm, StudyStep};
use std::collections::BTreeMap;

/// A step is not repeated more often than this, however short it is.
pub(super) const MOST_REPEATS: usize = 2_000;
/// A level takes as many repeats as the fastest up to so many times the least seconds.
const EVEN: f64 = 4.0;

/// How often a step is done in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RepeatCount {
    /// Until its least seconds are over: what one takes is to be found out.
    Calibrating,
    /// A number that is known beforehand.
    Fixed {
        /// How often.
        count: usize,
        /// Whether the first is left out of the figure.
        warm_up: bool,
    },
}

/// Whether a step needs a calibration.
pub(super) fn is_repeated(step: &StudyStep) -> bool {
    step.measure.is_some() && step.repeat.least > 0.0
}

/// The level under which a step is recorded.
pub(super) fn level_of<'a>(arm: &'a Arm, step: &'a StudyStep) -> &'a str {
    step.level.unwrap_or(&arm.level)
}

/// The numbers of repeats of a study's steps on one target and device.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// By factor, level and measure.
    fixed: BTreeMap<(String, String, String), RepeatCount>,
}

impl Repeats {
    /// What follows from the calibration round.
    pub fn of<'a>(arms: &[&Arm], calibrations: impl Iterator<Item = &'a Calibration>) -> Repeats {
        // Of each step of a factor the levels with their seconds.
        let mut steps: BTreeMap<(String, String), Vec<SingleRepeat>> = BTreeMap::new();
        for calibration in calibrations {
            for single in &calibration.steps {
                let key = (calibration.factor.clone(), single.measure.clone());
                steps.entry(key).or_default().push(single.clone());
            }
        }
        let mut repeats = Repeats::default();
        for ((factor, measure), levels) in steps {
            let step_of = |level: &str| {
                let of_factor = arms.iter().filter(|arm| arm.factor == factor);
                let mut steps =
                    of_factor.flat_map(|arm| arm.steps.iter().map(move |step| (arm, step)));
                let found = steps.find(|(arm, step)| {
                    step.measure == Some(measure.as_str()) && level_of(arm, step) == level
                });
                found.map(|(_, step)| step)
            };
            let fastest = levels.iter().map(|l| l.seconds).fold(f64::INFINITY, f64::min);
            for single in &levels {
                let Some(step) = step_of(&single.level) else { continue };
                let times = fixed(step, single.seconds, fastest);
                repeats
                    .fixed
                    .insert((factor.clone(), single.level.clone(), measure.clone()), times);
            }
        }
        repeats
    }

    /// How often that step of that arm is done.
    pub fn times(&self, arm: &Arm, step: &StudyStep) -> RepeatCount {
        let key = (arm.factor, level_of(arm, step), step.measure.unwrap_or_default());
        let found = self.fixed.get(&(key.0.to_owned(), key.1.to_owned(), key.2.to_owned()));
        // What is not repeated, and what the calibration round could not measure, is done once.
        found.copied().unwrap_or(RepeatCount::Fixed { count: whole(step, 1), warm_up: false })
    }
}

/// The number of repeats of a level whose single repeat takes `seconds`, beside one that takes the
/// `fastest`.
fn fixed(step: &StudyStep, seconds: f64, fastest: f64) -> RepeatCount {
    let until =
        |least: f64, one: f64| (least / one).ceil().clamp(1.0, MOST_REPEATS as f64) as usize;
    let common = until(step.repeat.least, fastest);
    if common == 1 {
        return RepeatCount::Fixed { count: whole(step, 1), warm_up: false };
    }
    let most = ((EVEN * step.repeat.least / seconds).floor() as usize)
        .max(until(step.repeat.least, seconds));
    RepeatCount::Fixed { count: whole(step, common.min(most) + 1), warm_up: true }
}

/// Repeats end with a whole round of turns, which leaves things as the first of them found them.
fn whole(step: &StudyStep, count: usize) -> usize {
    count.next_multiple_of(step.repeat.turns.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::work::Work;

    fn arm(level: &str, steps: Vec<StudyStep>) -> Arm {
        let mut arm = crate::studies::all(crate::study::Scale::Tiny).remove(0).arms.remove(0);
        (arm.factor, arm.level, arm.steps) = ("f", level.into(), steps);
        arm
    }

    fn step(turns: usize) -> StudyStep {
        StudyStep::measure("m", Work::Update).in_turns(0.3, vec![Work::Update; turns])
    }

    /// The numbers of levels that take that long.
    fn numbers(turns: usize, seconds: &[f64]) -> Vec<RepeatCount> {
        let levels: Vec<String> = (0..seconds.len()).map(|i| i.to_string()).collect();
        let arms: Vec<Arm> = levels.iter().map(|level| arm(level, vec![step(turns)])).collect();
        let calibrations: Vec<Calibration> = levels
            .iter()
            .zip(seconds)
            .map(|(level, seconds)| Calibration {
                factor: "f".into(),
                steps: vec![SingleRepeat {
                    level: level.clone(),
                    measure: "m".into(),
                    seconds: *seconds,
                }],
                ..Calibration::default()
            })
            .collect();
        let repeats = Repeats::of(&arms.iter().collect::<Vec<_>>(), calibrations.iter());
        arms.iter().map(|arm| repeats.times(arm, &arm.steps[0])).collect()
    }

    fn warm(count: usize) -> RepeatCount {
        RepeatCount::Fixed { count, warm_up: true }
    }

    fn cold(count: usize) -> RepeatCount {
        RepeatCount::Fixed { count, warm_up: false }
    }

    #[test]
    fn all_levels_take_the_number_of_the_fastest() {
        // On both sides of the least.
        assert_eq!(numbers(0, &[0.29, 0.31]), [warm(3), warm(3)]);
        assert_eq!(numbers(0, &[0.04, 0.05, 0.10]), [warm(9); 3]);
        assert_eq!(numbers(0, &[0.30, 0.5]), [cold(1); 2], "long steps are done once");
        // Only who is much slower takes fewer: 1.2 s at most, and the first is left out all the
        // same.
        assert_eq!(numbers(0, &[0.004, 0.11, 0.55, 2.0]), [warm(76), warm(11), warm(3), warm(2)]);
        assert_eq!(numbers(0, &[0.0, 0.3]), [warm(MOST_REPEATS + 1), warm(5)]);
    }

    #[test]
    fn repeats_end_with_a_whole_round_of_turns() {
        assert_eq!(numbers(2, &[0.1, 0.11]), [warm(4); 2]);
        assert_eq!(numbers(2, &[0.16, 0.2]), [warm(4); 2], "three, and one more for the turns");
        assert_eq!(numbers(2, &[1.0, 2.0]), [cold(2); 2]);
    }

    #[test]
    fn what_was_not_calibrated_is_done_once() {
        let arm = arm("x", vec![step(0), StudyStep::measure("n", Work::Update), step(2)]);
        let repeats = Repeats::default();
        let times: Vec<RepeatCount> =
            arm.steps.iter().map(|step| repeats.times(&arm, step)).collect();
        assert_eq!(times, [cold(1), cold(1), cold(2)]);
        assert!(is_repeated(&arm.steps[0]) && !is_repeated(&arm.steps[1]));
        assert!(!is_repeated(&StudyStep::prepare(Work::Checkpoint)));
    }
}
