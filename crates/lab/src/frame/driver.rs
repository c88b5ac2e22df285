//! The driver: runs the arms of one study on one target and device, interleaved in an order that is
//! balanced over the rounds, each run written to the journal before the next begins. Before the
//! first round comes a calibration round, of the arms that have steps which are repeated. It knows
//! no study and no target.

use super::checks;
use super::journal::{Calibration, Journal, MeasuredFigure, RunRecord, SingleRepeat, StepRecord};
use super::late::is_marked;
use super::order::{balanced, seed_of};
use super::progress::Progress;
use super::repeats::{RepeatCount, Repeats, is_repeated, level_of};
use super::rounds::Rounds;
use super::steps::{self, DoneStep};
use crate::LabError;
use crate::machine::ProcessorTimes;
use crate::results::larger_is_better;
use crate::study::{Arm, Study, StudyStep};
use std::collections::BTreeSet;
use std::time::Instant;
use targets::work::{Figure, Work};
use targets::{Target, TargetPlace, processors};

/// One study on one target and device.
pub struct Job<'a> {
    /// The study.
    pub study: &'a Study,
    /// The arms that have a meaning here.
    pub arms: Vec<&'a Arm>,
    /// The engine.
    pub target: &'a mut dyn Target,
    /// Where it works.
    pub place: TargetPlace,
    /// As results name the device.
    pub device: String,
    /// Rounds.
    pub rounds: Rounds,
    /// Whether a journal decides all of the study's bounds, asked at each look.
    pub decided: Box<dyn Fn(&Journal) -> bool + 'a>,
    /// Seed of the order.
    pub seed: u64,
    /// After how many rounds databases that are kept are made again.
    pub fresh_every: usize,
    /// By how many percent each measured step is made slower: a test's slowdown, else 0.
    pub slow_down: f64,
}

impl Job<'_> {
    /// How the progress bar calls runs like these.
    pub fn kind(&self) -> String {
        format!("{} on {}, {}", self.study.name, self.target.name(), self.device)
    }

    /// Runs that are not in the journal yet and may still come.
    pub fn left(&self, journal: &Journal) -> usize {
        (0..self.end(journal)).map(|round| self.left_in(round, journal)).sum()
    }

    fn left_in(&self, round: usize, journal: &Journal) -> usize {
        let (name, target) = (self.study.name, self.target.name());
        let done = |arm: &Arm| journal.has(name, target, &self.device, &arm.config.key, round);
        self.arms.iter().filter(|a| !done(a)).count()
    }

    /// After how many rounds it ends, as far as the journal tells: at the first look whose rounds
    /// are all there and decide the bounds, else with the last planned one and those that make up
    /// for others.
    fn end(&self, journal: &Journal) -> usize {
        let (most, looks) = (self.rounds.most(), self.rounds.looks());
        // Rounds beyond a look were begun because that look did not decide.
        let next = (0..most).find(|round| self.left_in(*round, journal) > 0).unwrap_or(most);
        let begun = next < most && self.left_in(next, journal) < self.arms.len();
        if next < most && looks.contains(&next) && !begun && (self.decided)(journal) {
            return next;
        }
        most + self.rounds.made_up(self.late_rounds(journal))
    }

    /// Rounds of which a run measured this machine and not the device. Without others in their
    /// place so few could be left that nothing is decided.
    fn late_rounds(&self, journal: &Journal) -> usize {
        let records = journal.of(self.study.name, self.target.name(), &self.device);
        let late: BTreeSet<usize> = records.filter(|r| is_marked(r)).map(|r| r.round).collect();
        late.len()
    }

    /// The arms of a round in their order.
    fn order(&self, round: usize) -> Vec<usize> {
        let name = format!("{}/{}/{}", self.study.name, self.target.name(), self.device);
        balanced(seed_of(self.seed, &name), self.arms.len(), round)
    }

    /// The arms that the calibration round does not have yet.
    fn uncalibrated(&self, journal: &Journal) -> Vec<usize> {
        let (name, target) = (self.study.name, self.target.name());
        let needed = |arm: &Arm| arm.steps.iter().any(is_repeated);
        let done = |arm: &Arm| journal.is_calibrated(name, target, &self.device, &arm.config.key);
        (0..self.arms.len()).filter(|i| needed(self.arms[*i]) && !done(self.arms[*i])).collect()
    }

    /// Runs of the calibration round that are not in the journal yet; none where nothing is left to
    /// measure.
    pub fn left_to_calibrate(&self, journal: &Journal) -> usize {
        if self.left(journal) == 0 { 0 } else { self.uncalibrated(journal).len() }
    }

    /// The calibration round: how long one repeat of each step takes that is repeated.
    fn calibrate(
        &mut self,
        journal: &mut Journal,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let kind = self.kind();
        for index in self.uncalibrated(journal) {
            let arm = self.arms[index];
            progress.now(&format!("{kind}: {}, calibration", arm.config.key));
            let begin = Instant::now();
            let mut unmeasured = RunRecord::default();
            let steps = self.run_arm(arm, &mut unmeasured, None, false)?;
            let seconds = begin.elapsed().as_secs_f64();
            progress.finished(&kind, seconds);
            journal.push_calibration(Calibration {
                study: self.study.name.into(),
                target: self.target.name().into(),
                device: self.device.clone(),
                arm: arm.config.key.clone(),
                factor: arm.factor.into(),
                steps,
                seconds,
            })?;
        }
        Ok(())
    }

    /// Runs what is not in the journal.
    pub fn run(&mut self, journal: &mut Journal, progress: &mut Progress) -> Result<(), LabError> {
        if self.left(journal) > 0 {
            self.calibrate(journal, progress)?;
        }
        let found = journal.calibrations_of(self.study.name, self.target.name(), &self.device);
        let repeats = Repeats::of(&self.arms, found);
        let (mut round, mut planned) = (0, self.end(journal));
        while round < self.end(journal) {
            for (order, index) in self.order(round).into_iter().enumerate() {
                self.run_one(round, order, self.arms[index], &repeats, journal, progress)?;
            }
            self.check(round, journal)?;
            round += 1;
            // Those of the round that turned out to need another one in its place.
            let more = self.end(journal).saturating_sub(planned);
            progress.more(&self.kind(), more * self.arms.len());
            planned += more;
        }
        Ok(())
    }

    /// One arm in one round, unless the journal has it.
    fn run_one(
        &mut self,
        round: usize,
        order: usize,
        arm: &Arm,
        repeats: &Repeats,
        journal: &mut Journal,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let (kind, name, target) = (self.kind(), self.study.name, self.target.name());
        if journal.has(name, target, &self.device, &arm.config.key, round) {
            return Ok(());
        }
        progress.now(&format!("{kind}: {}", arm.config.key));
        let begin = Instant::now();
        let mut record = RunRecord {
            study: name.into(),
            target: target.into(),
            device: self.device.clone(),
            arm: arm.config.key.clone(),
            factor: arm.factor.into(),
            level: arm.level.clone(),
            round,
            order: round * self.arms.len() + order,
            ..RunRecord::default()
        };
        let processors = ProcessorTimes::now();
        let fresh = round.is_multiple_of(self.fresh_every.max(1));
        self.run_arm(arm, &mut record, Some(repeats), fresh)?;
        record.seconds = begin.elapsed().as_secs_f64();
        record.steal =
            ProcessorTimes::now().zip(processors).and_then(|(now, then)| now.steal_since(&then));
        progress.finished(&kind, record.seconds);
        journal.push(record)
    }

    /// Whether a round has measured what the study is about. Cells that were not measured are no
    /// matter.
    fn check(&self, round: usize, journal: &Journal) -> Result<(), LabError> {
        let records: Vec<&RunRecord> = journal
            .of(self.study.name, self.target.name(), &self.device)
            .filter(|r| r.round == round)
            .collect();
        match checks::broken(&self.study.checks, &records) {
            Some(what) => {
                Err(LabError::Request(format!("{} has measured nothing: {what}", self.kind())))
            }
            None => Ok(()),
        }
    }

    /// One run of one arm, with the numbers of repeats that are known, or to find them out: then
    /// what one repeat takes of each step that is repeated. What the target does not support is
    /// noted and the run goes on.
    fn run_arm(
        &mut self,
        arm: &Arm,
        record: &mut RunRecord,
        repeats: Option<&Repeats>,
        fresh: bool,
    ) -> Result<Vec<SingleRepeat>, LabError> {
        let mut singles = Vec::new();
        // Before the engine begins: its threads and processes have the limit then.
        let _limit = arm.config.processors.map(processors::limit).transpose()?;
        let place = TargetPlace {
            device: self.place.device.part(arm.on.part()),
            fresh,
            ..self.place.clone()
        };
        match self.target.set_up(&place, &arm.config) {
            Ok(settings) => record.settings = settings,
            Err(LabError::Unsupported(why)) => {
                record.missing.push(("set-up".into(), why));
                return self.target.tear_down().map(|()| singles);
            }
            Err(other) => return Err(other),
        }
        let mut last = DoneStep::default();
        for step in &arm.steps {
            let times =
                repeats.map_or(RepeatCount::Calibrating, |repeats| repeats.times(arm, step));
            match self.slowed(step, times, &last) {
                Ok(done) if step.measure.is_some() => {
                    record_step(record, arm, step, &done);
                    singles.extend(single(arm, step, &done));
                    last = done;
                }
                Ok(_) => {}
                Err(LabError::Unsupported(why)) => {
                    let what =
                        step.measure.map_or_else(|| format!("{:?}", step.work), str::to_owned);
                    record.missing.push((what, why));
                }
                Err(LabError::TimeLimit(seconds)) => {
                    let what = step.measure.unwrap_or_default().to_owned();
                    record.missing.push((what, format!("stopped after {seconds} s")));
                }
                Err(other) => return Err(other),
            }
        }
        self.total(arm, record);
        let parts: Vec<&str> =
            arm.steps.iter().filter(|s| s.only_in_total).filter_map(|s| s.measure).collect();
        record.measured.retain(|m| !parts.contains(&m.figure.measure.as_str()));
        self.target.tear_down().map(|()| singles)
    }

    /// The step, made slower where a test asks for it: the time is spent, and counts.
    fn slowed(
        &mut self,
        step: &StudyStep,
        times: RepeatCount,
        last: &DoneStep,
    ) -> Result<DoneStep, LabError> {
        let begin = Instant::now();
        let mut done = steps::run(self.target, step, times, last)?;
        if step.measure.is_some() && self.slow_down > 0.0 {
            let (share, taken) = (self.slow_down / 100.0, begin.elapsed());
            while begin.elapsed() < taken.mul_f64(1.0 + share) {
                std::hint::spin_loop();
            }
            for figure in &mut done.figures {
                match figure.unit.as_str() {
                    "s" | "us" => figure.value *= 1.0 + share,
                    rate if larger_is_better(rate) => figure.value /= 1.0 + share,
                    _ => {}
                }
            }
        }
        Ok(done)
    }

    /// Adds the study's total when all its parts were measured.
    fn total(&self, arm: &Arm, record: &mut RunRecord) {
        let Some((name, parts)) = &self.study.total else { return };
        let values: Vec<f64> = record
            .measured
            .iter()
            .filter(|m| parts.contains(&m.figure.measure.as_str()))
            .map(|m| m.figure.value)
            .collect();
        if values.len() == parts.len() {
            let figure = Figure::named(name, "s", values.iter().sum());
            record.measured.push(MeasuredFigure {
                level: arm.level.clone(),
                figure,
                ..MeasuredFigure::default()
            });
        }
    }
}

/// What one repeat of a step took that is repeated.
fn single(arm: &Arm, step: &StudyStep, done: &DoneStep) -> Option<SingleRepeat> {
    let seconds = done.single().filter(|_| is_repeated(step))?;
    let measure = step.measure.unwrap_or_default().to_owned();
    Some(SingleRepeat { level: level_of(arm, step).to_owned(), measure, seconds })
}

/// Puts a measured step into the record of its run.
fn record_step(record: &mut RunRecord, arm: &Arm, step: &StudyStep, done: &DoneStep) {
    let measure = step.measure.unwrap_or_default();
    let level = level_of(arm, step).to_owned();
    record.counters.add(&done.counters);
    let times = done.times() as u64;
    record.steps.push(StepRecord {
        level: level.clone(),
        measure: measure.to_owned(),
        rows: rows(&step.work, arm, &done.figures).map(|rows| rows * times),
        counters: done.counters.clone(),
    });
    record.measured.extend(done.figures.iter().map(|figure| {
        let own = figure.measure == measure && times > 1;
        let (repeats, first) =
            if own { (done.repeats.clone(), done.warm_up) } else { (vec![], None) };
        MeasuredFigure { level: level.clone(), figure: figure.clone(), repeats, first }
    }));
}

/// Rows that a step has changed.
fn rows(work: &Work, arm: &Arm, figures: &[Figure]) -> Option<u64> {
    match work {
        Work::Payload(_, ms) => {
            let rate = figures.iter().find(|f| f.unit == "rows/s")?.value;
            Some((rate * *ms as f64 / 1000.0).round() as u64)
        }
        _ => work.rows(arm.config.customers),
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
