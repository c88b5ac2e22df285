//! One step of a run: its work, done again within the run as often as it takes to be measured, and
//! what was counted around it. Knows no study and no target.

use super::repeats::{MOST_REPEATS, RepeatCount};
use crate::study::{CounterFigure, StudyStep};
use crate::{LabError, raw};
use std::time::Instant;
use targets::Target;
use targets::work::{Counters, Figure, Work};

/// A step that was done.
#[derive(Debug, Default)]
pub(super) struct DoneStep {
    /// Its figures; of a step that was repeated the means (of rates the harmonic ones) without a
    /// repeat that warms up.
    pub figures: Vec<Figure>,
    /// The first figure of each repeat that counts, in order.
    pub repeats: Vec<f64>,
    /// The first figure of the repeat that warms up.
    pub warm_up: Option<f64>,
    /// The seconds of each repeat.
    pub seconds: Vec<f64>,
    /// What was counted around its work, all repeats together.
    pub counters: Counters,
}

impl DoneStep {
    /// How often the work was done.
    pub fn times(&self) -> usize {
        self.seconds.len()
    }

    /// What one repeat counted.
    pub fn each(&self, count: i64) -> f64 {
        count as f64 / self.times().max(1) as f64
    }

    /// Seconds of one repeat, without the first where there are more.
    pub fn single(&self) -> Option<f64> {
        let warm = if self.times() > 1 { &self.seconds[1..] } else { &self.seconds[..] };
        (!warm.is_empty()).then(|| warm.iter().sum::<f64>() / warm.len() as f64)
    }
}

/// Does a step that often. `last` is the measured step before it, whose log writes
/// [`Work::RawWrites`] does again.
pub(super) fn run(
    target: &mut dyn Target,
    step: &StudyStep,
    times: RepeatCount,
    last: &DoneStep,
) -> Result<DoneStep, LabError> {
    let Some(measure) = step.measure else {
        work(target, &step.work, last)?;
        return Ok(DoneStep::default());
    };
    let (mut done, mut all) = (DoneStep::default(), Vec::new());
    loop {
        let turn = match step.repeat.turns.len() {
            n if n == 0 || all.is_empty() => &step.work,
            n => &step.repeat.turns[(all.len() - 1) % n],
        };
        let before = target.counters()?;
        let begin = Instant::now();
        let figures = work(target, turn, last)?;
        let took = begin.elapsed().as_secs_f64();
        done.counters.add(&target.counters()?.since(&before));
        // What a figure of seconds leaves out (checks, taking back) does not count.
        let first = figures.first();
        done.seconds.push(first.filter(|f| f.unit == "s").map_or(took, |f| f.value));
        done.repeats.push(first.map_or(took, |f| f.value));
        all.push(figures);
        if is_enough(step, times, &done.seconds) {
            break;
        }
        for between in &step.repeat.between {
            work(target, between, last)?;
        }
    }
    if matches!(times, RepeatCount::Fixed { warm_up: true, .. }) && all.len() > 1 {
        all.remove(0);
        done.warm_up = Some(done.repeats.remove(0));
    }
    done.figures = means(all).into_iter().map(|f| named(measure, f)).collect();
    let shown = step.counts.iter().filter_map(|count| shown(*count, measure, &done));
    let shown: Vec<Figure> = shown.collect();
    done.figures.extend(shown);
    Ok(done)
}

/// Whether the repeats so far, which took that long, are all.
fn is_enough(step: &StudyStep, times: RepeatCount, seconds: &[f64]) -> bool {
    match times {
        RepeatCount::Fixed { count, .. } => seconds.len() >= count,
        RepeatCount::Calibrating => {
            // A step that is repeated ends with the last of its turns, which leaves things as the
            // first found them.
            let turns = step.repeat.turns.len();
            let whole = turns < 2 || seconds.len().is_multiple_of(turns);
            seconds.len() >= MOST_REPEATS
                || (seconds.iter().sum::<f64>() >= step.repeat.least && whole)
        }
    }
}

fn work(target: &mut dyn Target, work: &Work, last: &DoneStep) -> Result<Vec<Figure>, LabError> {
    let Work::RawWrites = work else { return target.run(work) };
    let log = last.counters.file("log").filter(|l| l.writes > 0);
    let unsupported =
        || LabError::Unsupported("this target does not say how it wrote its log".into());
    let log = log.ok_or_else(unsupported)?;
    let (folder, disk) = target.log_folder().ok_or_else(unsupported)?;
    let each = |n: i64| last.each(n).round() as i64;
    raw::same_writes(disk.as_ref(), &folder, each(log.writes), each(log.bytes_written))
}

/// The mean of each figure over the repeats; of rates the harmonic one, which is all work over all
/// time.
fn means(all: Vec<Vec<Figure>>) -> Vec<Figure> {
    let n = all.len() as f64;
    let mut sums: Vec<Figure> = Vec::new();
    for figure in all.into_iter().flatten() {
        let value = if is_rate(&figure) { 1.0 / figure.value } else { figure.value };
        match sums.iter_mut().find(|s| s.measure == figure.measure && s.unit == figure.unit) {
            Some(sum) => sum.value += value,
            None => sums.push(Figure { value, ..figure }),
        }
    }
    for sum in &mut sums {
        sum.value = if is_rate(sum) { n / sum.value } else { sum.value / n };
    }
    sums
}

fn is_rate(figure: &Figure) -> bool {
    figure.unit.ends_with("/s")
}

/// A counter as a figure of one repeat; nothing where the target does not count it.
fn shown(count: CounterFigure, measure: &str, done: &DoneStep) -> Option<Figure> {
    let log = done.counters.file("log");
    let (unit, value) = match count {
        CounterFigure::VlfChanges => {
            ("changes", done.each(*done.counters.counts.get("vlf_changes")?))
        }
        CounterFigure::ReadModifyWrites => ("writes", done.each(log?.partial_writes)),
        CounterFigure::BytesPerLogWrite => {
            let log = log.filter(|l| l.writes > 0)?;
            ("bytes", log.bytes_written as f64 / log.writes as f64)
        }
    };
    Some(Figure::named(&format!("{measure}, {}", count.name()), unit, value))
}

/// A figure under its full name.
fn named(measure: &str, mut figure: Figure) -> Figure {
    figure.measure = match figure.measure.as_str() {
        "" => measure.to_owned(),
        more => format!("{measure}, {more}"),
    };
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Repeat;
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Arc;
    use targets::TargetPlace;
    use targets::work::{Config, Knob};

    /// Does no work: each piece takes `seconds`, changes VLF three times and is noted.
    struct PretendedTarget {
        seconds: f64,
        done: Vec<Work>,
    }

    impl Target for PretendedTarget {
        fn name(&self) -> &'static str {
            "pretended"
        }
        fn title(&self) -> &'static str {
            "Pretended"
        }
        fn knob(&self, _: Knob) -> Result<&'static str, &'static str> {
            Ok("")
        }
        fn set_up(&mut self, _: &TargetPlace, _: &Config) -> Result<Vec<String>, LabError> {
            Ok(vec![])
        }
        fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
            self.done.push(work.clone());
            Ok(match work {
                Work::Payload(..) => vec![Figure::new("rows/s", 10.0 * self.done.len() as f64)],
                _ => vec![
                    Figure::new("s", self.seconds),
                    Figure::named("pages", "pages", self.done.len() as f64),
                ],
            })
        }
        fn counters(&mut self) -> Result<Counters, LabError> {
            let changes = 3 * self.done.len() as i64;
            let counts = BTreeMap::from([("vlf_changes".to_owned(), changes)]);
            Ok(Counters { counts, ..Counters::default() })
        }
        fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
            None
        }
        fn tear_down(&mut self) -> Result<(), LabError> {
            Ok(())
        }
    }

    fn step(repeat: Repeat) -> StudyStep {
        StudyStep {
            repeat,
            counts: vec![CounterFigure::VlfChanges],
            ..StudyStep::measure("update", Work::Update)
        }
    }

    #[test]
    fn a_short_step_is_repeated_and_its_figure_is_the_mean() {
        let mut target = PretendedTarget { seconds: 0.07, done: vec![] };
        let repeat = Repeat { least: 0.3, turns: vec![], between: vec![Work::Checkpoint] };
        let done = run(&mut target, &step(repeat), RepeatCount::Calibrating, &DoneStep::default())
            .unwrap();
        assert_eq!(done.repeats, [0.07; 5], "0.35 s");
        let works = target.done.iter().filter(|w| **w == Work::Update).count();
        assert_eq!((works, target.done.len()), (5, 9), "what lies between is done four times");
        let figure = |name: &str| done.figures.iter().find(|f| f.measure == name).unwrap().value;
        assert!((figure("update") - 0.07).abs() < 1e-12);
        assert_eq!(figure("update, pages"), 5.0, "of 1, 3, 5, 7, 9");
        // Three each: what lies between is not counted.
        assert_eq!((figure("update, VLF changes"), done.counters.counts["vlf_changes"]), (3.0, 15));
    }

    #[test]
    fn a_number_that_is_known_is_kept_and_the_first_repeat_only_warms_up() {
        let mut target = PretendedTarget { seconds: 0.07, done: vec![] };
        let step = step(Repeat { least: 0.3, turns: vec![], between: vec![Work::Checkpoint] });
        let mut figures = |times| {
            target.done.clear();
            let done = run(&mut target, &step, times, &DoneStep::default()).unwrap();
            let pages = done.figures.iter().find(|f| f.measure == "update, pages").unwrap().value;
            let changes =
                done.figures.iter().find(|f| f.measure == "update, VLF changes").unwrap().value;
            (done.times(), done.repeats.len(), done.warm_up, pages, changes)
        };
        // Pages of 1, 3, 5: the counters' means are of all repeats.
        assert_eq!(
            figures(RepeatCount::Fixed { count: 3, warm_up: false }),
            (3, 3, None, 3.0, 3.0)
        );
        assert_eq!(
            figures(RepeatCount::Fixed { count: 3, warm_up: true }),
            (3, 2, Some(0.07), 4.0, 3.0)
        );
        assert_eq!(
            figures(RepeatCount::Fixed { count: 1, warm_up: false }),
            (1, 1, None, 1.0, 3.0)
        );
    }

    #[test]
    fn turns_end_with_the_last_of_them() {
        let mut target = PretendedTarget { seconds: 0.1, done: vec![] };
        let turns = vec![Work::Delete, Work::Update];
        let repeat = Repeat { least: 0.25, turns, between: vec![] };
        let done = run(&mut target, &step(repeat), RepeatCount::Calibrating, &DoneStep::default())
            .unwrap();
        assert!(
            done.repeats.len() == 4 && (done.single().unwrap() - 0.1).abs() < 1e-12,
            "{done:?}"
        );
        assert_eq!(target.done, [Work::Update, Work::Delete, Work::Update, Work::Delete]);
    }

    #[test]
    fn a_long_step_is_done_once_and_rates_are_means_of_times() {
        let mut target = PretendedTarget { seconds: 0.5, done: vec![] };
        let repeat = Repeat { least: 0.3, ..Repeat::default() };
        let done = run(&mut target, &step(repeat), RepeatCount::Calibrating, &DoneStep::default())
            .unwrap();
        assert_eq!((done.repeats.clone(), done.single()), (vec![0.5], Some(0.5)));
        let rates = |values: [f64; 2]| values.map(|v| vec![Figure::new("rows/s", v)]).to_vec();
        let mean = means(rates([10.0, 30.0])).remove(0);
        assert!((mean.value - 15.0).abs() < 1e-9, "as much work at each rate");
    }
}
