//! The driver on an engine that does nothing: how many rounds it takes, and where it goes on after
//! an interruption.

use super::*;
use crate::frame::assemble::{RunFacts, assemble};
use crate::frame::journal::Request;
use crate::machine::Machine;
use crate::results::{ResultsOrigin, StudyResult, Verdict};
use crate::study::{CellRef, Claim};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use targets::device::{Device, REAL};
use targets::work::late::{LATE, MODELLED_US, REQUESTS};
use targets::work::{Config, Counters, Durability, Knob, WaitCount};

/// Each arm takes a second; the second one `slow` times that, give or take a tenth.
struct FakeTarget {
    slow: f64,
    arm: String,
    runs: usize,
    /// Runs after which it fails.
    lasts: usize,
    /// Each set-up: which arm, and whether it had to be made again.
    set_ups: Vec<(String, bool)>,
    /// Runs, from 1 on, in which one request of ten was late.
    late: Vec<usize>,
}

impl FakeTarget {
    fn new(slow: f64) -> FakeTarget {
        FakeTarget {
            slow,
            arm: String::new(),
            runs: 0,
            lasts: usize::MAX,
            set_ups: vec![],
            late: vec![],
        }
    }
}

impl Target for FakeTarget {
    fn name(&self) -> &'static str {
        "fake"
    }
    fn title(&self) -> &'static str {
        "Fake"
    }
    fn knob(&self, _: Knob) -> Result<&'static str, &'static str> {
        Ok("nothing")
    }
    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        self.arm = config.key.clone();
        self.set_ups.push((config.key.clone(), place.fresh));
        Ok(vec![])
    }
    fn run(&mut self, _: &Work) -> Result<Vec<Figure>, LabError> {
        if self.runs == self.lasts {
            return Err(LabError::Request("killed".into()));
        }
        self.runs += 1;
        // The same in each process: by the number of the run. From round to round the one is slower
        // and the other faster.
        let round = (self.runs - 1) / 2;
        let part = 0.02 + 0.01 * (round * 7 % 5) as f64;
        let noise =
            if round.is_multiple_of(2) == (self.arm == "slow") { 1.0 + part } else { 1.0 - part };
        let seconds = if self.arm == "slow" { self.slow * noise } else { noise };
        // Short numbers: they are the same after they were read from a journal.
        Ok(Figure::seconds((seconds * 1000.0).round() / 1000.0))
    }
    fn counters(&mut self) -> Result<Counters, LabError> {
        let count = self.runs as i64 * 3;
        let wait = WaitCount { wait_type: "WRITELOG".into(), count, us: count * 1000 };
        let late = self.late.iter().filter(|run| **run <= self.runs).count() as i64;
        let requests = 100 * self.runs as i64;
        let counts = [
            ("vlf_changes", count),
            (REQUESTS, requests),
            (LATE, 10 * late),
            (MODELLED_US, 1000 * requests),
        ];
        let counts = counts.map(|(name, count)| (name.to_owned(), count)).into();
        Ok(Counters { waits: vec![wait], counts, ..Counters::default() })
    }
    fn log_folder(&self) -> Option<(std::path::PathBuf, Arc<dyn disk::Disk>)> {
        None
    }
    fn tear_down(&mut self) -> Result<(), LabError> {
        Ok(())
    }
}

/// Two arms of a real study, with one bound between them.
fn study() -> Study {
    let mut study = crate::studies::all(crate::study::Scale::Tiny)
        .into_iter()
        .find(|s| s.name == "delayed-durability")
        .unwrap();
    study.arms.truncate(2);
    for (arm, level) in study.arms.iter_mut().zip(["fast", "slow"]) {
        (arm.factor, arm.level, arm.config.key) = ("f", level.into(), level.into());
        arm.steps = vec![StudyStep::measure("m", Work::Commits(10, Durability::Full))];
    }
    let cell = |level| CellRef::new("f", level, "m");
    study.claims = vec![Claim::at_most("slow against fast", "m", cell("slow"), cell("fast"), 1.5)];
    (study.baselines, study.published, study.total) = (vec![], vec![], None);
    study
}

/// The study on that engine.
fn job<'a>(
    study: &'a Study,
    target: &'a mut FakeTarget,
    folder: &Path,
    rounds: &Rounds,
    decided: impl Fn(&Journal) -> bool + 'a,
) -> Job<'a> {
    Job {
        study,
        arms: study.arms.iter().collect(),
        target,
        place: TargetPlace {
            folder: folder.into(),
            device: Device::named(REAL, &BTreeMap::new()).unwrap(),
            customers: None,
            program: None,
            fresh: false,
        },
        device: REAL.into(),
        rounds: rounds.clone(),
        decided: Box::new(decided),
        seed: 1,
        fresh_every: 1,
        slow_down: 0.0,
    }
}

/// Runs it in `folder`, up to `lasts` runs of arms; how many rounds the journal has, and the result
/// where it has ended.
fn run(
    folder: &Path,
    rounds: &Rounds,
    slow: f64,
    lasts: usize,
    resume: bool,
) -> (usize, Option<StudyResult>) {
    let study = study();
    let request = Request { runs: rounds.looks()[0], ..Request::default() };
    let mut journal = match resume {
        true => Journal::resume(folder, &request).unwrap(),
        false => {
            Journal::create(folder, &request, Machine::default(), ResultsOrigin::default()).unwrap()
        }
    };
    let about = RunFacts {
        scale: "tiny",
        target: "fake".into(),
        device: REAL.into(),
        knob: Ok("nothing"),
        disclosure: None,
        left_out: vec![],
        seed: 1,
        rounds: rounds.clone(),
        fresh_every: 1,
        slow_down: 0.0,
    };
    let decided = |journal: &Journal| {
        let claims = assemble(&study, &about, journal).claims;
        claims.iter().all(|c| c.verdict != Some(Verdict::Undecided))
    };
    let mut target = FakeTarget { runs: journal.records.len(), lasts, ..FakeTarget::new(slow) };
    let mut job = job(&study, &mut target, folder, rounds, decided);
    let ran = job.run(&mut journal, &mut Progress::new(false));
    let left = job.left(&journal);
    assert_eq!(ran.is_ok(), left == 0);
    let done = journal.records.iter().map(|r| r.round + 1).max().unwrap_or(0);
    (done, ran.ok().map(|()| assemble(&study, &about, &journal)))
}

#[test]
fn it_ends_at_the_first_look_that_decides_and_says_so() {
    let rounds = Rounds::until_decided(8, 40).unwrap();
    let verdict = |slow: f64| {
        let folder = tempfile::tempdir().unwrap();
        let (done, result) = run(folder.path(), &rounds, slow, usize::MAX, false);
        let result = result.unwrap();
        let about = result.rounds.clone().unwrap();
        assert_eq!((about.done, about.looks), (done, vec![8, 16, 32, 40]));
        assert!((about.confidence - 0.9875).abs() < 1e-12);
        assert_eq!(result.cells[0].runs.len(), done);
        (done, result.claims[0].verdict.unwrap())
    };
    assert_eq!(verdict(1.2), (8, Verdict::Holds));
    assert_eq!(verdict(2.0), (8, Verdict::Fails));
    assert_eq!(verdict(1.5), (40, Verdict::Undecided), "there is a most");
}

#[test]
fn fixed_rounds_are_fixed_and_one_round_decides_nothing() {
    for (n, verdict) in [(1, Verdict::Undecided), (5, Verdict::Undecided), (6, Verdict::Fails)] {
        let folder = tempfile::tempdir().unwrap();
        let (done, result) = run(folder.path(), &Rounds::fixed(n), 3.0, usize::MAX, false);
        assert_eq!((done, result.unwrap().claims[0].verdict), (n, Some(verdict)));
    }
}

#[test]
fn a_killed_run_goes_on_and_ends_where_it_would_have_ended() {
    let rounds = Rounds::until_decided(8, 40).unwrap();
    for slow in [1.2, 1.5] {
        let folder = tempfile::tempdir().unwrap();
        let (whole, expected) = run(folder.path(), &rounds, slow, usize::MAX, false);
        // Before the first look, in it, after it, and after its end.
        for lasts in [0, 5, 15, 16, 17, 31] {
            let folder = tempfile::tempdir().unwrap();
            let (begun, ended) = run(folder.path(), &rounds, slow, lasts, false);
            assert_eq!(begun, lasts.div_ceil(2).min(whole));
            assert_eq!(ended.is_some(), lasts >= 2 * whole);
            let (done, result) = run(folder.path(), &rounds, slow, usize::MAX, true);
            let (result, expected) = (result.unwrap(), expected.as_ref().unwrap());
            assert_eq!(
                (done, &result.cells),
                (whole, &expected.cells),
                "killed after {lasts} runs"
            );
            assert_eq!(result.steps, expected.steps);
        }
    }
}

#[test]
fn counts_are_those_of_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let (_, result) = run(folder.path(), &Rounds::fixed(2), 1.0, usize::MAX, false);
    let steps = result.unwrap().steps;
    assert_eq!(steps.len(), 2);
    for step in steps {
        assert_eq!((step.measure.as_str(), step.runs, step.rows), ("m", 2, Some(20)));
        assert_eq!(step.counts["vlf_changes"], 6, "3 in each run");
        assert_eq!((step.waits[0].count, step.waits[0].share), (6, 1.0));
    }
}

/// Steps of one second each that are repeated until 2.5 s are over.
fn repeated(slow: f64) -> (Study, FakeTarget) {
    let mut study = study();
    for arm in &mut study.arms {
        arm.steps = arm.steps.drain(..).map(|step| step.repeated(2.5, vec![])).collect();
    }
    (study, FakeTarget::new(slow))
}

#[test]
fn all_levels_repeat_as_often_as_the_calibration_round_found() {
    let folder = tempfile::tempdir().unwrap();
    let (study, mut target) = repeated(1.2);
    let request = Request::default();
    let mut journal =
        Journal::create(folder.path(), &request, Machine::default(), ResultsOrigin::default())
            .unwrap();
    let rounds = Rounds::fixed(3);
    let mut job = job(&study, &mut target, folder.path(), &rounds, |_| false);
    assert_eq!((job.left(&journal), job.left_to_calibrate(&journal)), (6, 2));
    job.run(&mut journal, &mut Progress::new(false)).unwrap();
    assert_eq!((job.left(&journal), job.left_to_calibrate(&journal)), (0, 0));
    drop(job);
    assert_eq!(journal.calibrations.len(), 2);
    for record in &journal.records {
        let measured = &record.measured[0];
        // Three of about a second, and the first, which only warms up.
        assert_eq!(measured.repeats.len(), 3, "{record:?}");
        assert!(measured.first.is_some());
        let mean = measured.repeats.iter().sum::<f64>() / 3.0;
        assert!((measured.figure.value - mean).abs() < 1e-9, "{record:?}");
        assert_eq!(record.steps[0].rows, Some(40), "all four have changed rows");
    }
    // An interrupted run takes the numbers that it had found.
    let calls = target.runs;
    let mut again = Journal::resume(folder.path(), &request).unwrap();
    again.records.truncate(4);
    let mut job = self::job(&study, &mut target, folder.path(), &rounds, |_| false);
    assert_eq!((job.left(&again), job.left_to_calibrate(&again)), (2, 0));
    job.run(&mut again, &mut Progress::new(false)).unwrap();
    drop(job);
    assert_eq!(target.runs - calls, 2 * 4, "nothing but two runs of four repeats");
}

#[test]
fn kept_databases_are_made_again_every_so_many_rounds() {
    for (fresh_every, expected) in [
        (1, [true; 6]),
        (2, [true, false, true, false, true, false]),
        (4, [true, false, false, false, true, false]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let study = study();
        let mut target = FakeTarget::new(1.0);
        let mut journal = Journal::create(
            folder.path(),
            &Request::default(),
            Machine::default(),
            ResultsOrigin::default(),
        )
        .unwrap();
        let rounds = Rounds::fixed(6);
        let mut job =
            Job { fresh_every, ..job(&study, &mut target, folder.path(), &rounds, |_| false) };
        job.run(&mut journal, &mut Progress::new(false)).unwrap();
        drop(job);
        for arm in ["fast", "slow"] {
            let made: Vec<bool> =
                target.set_ups.iter().filter(|s| s.0 == arm).map(|s| s.1).collect();
            assert_eq!(made, expected, "{arm}, every {fresh_every}");
        }
    }
}

/// Runs 3 and 4 are of the second round, run 14 is of the one that makes up for it.
#[test]
fn rounds_with_late_runs_are_made_up_for() {
    for (late, rounds) in
        [(vec![], 6), (vec![3], 7), (vec![3, 4], 7), (vec![3, 14], 8), ((1..50).collect(), 9)]
    {
        let folder = tempfile::tempdir().unwrap();
        let study = study();
        let mut target = FakeTarget { late: late.clone(), ..FakeTarget::new(1.0) };
        let mut journal = Journal::create(
            folder.path(),
            &Request::default(),
            Machine::default(),
            ResultsOrigin::default(),
        )
        .unwrap();
        let fixed = Rounds::fixed(6);
        let mut job = job(&study, &mut target, folder.path(), &fixed, |_| false);
        job.run(&mut journal, &mut Progress::new(false)).unwrap();
        assert_eq!((journal.records.len(), job.left(&journal)), (2 * rounds, 0), "late: {late:?}");
    }
}

/// Killed before the late run, in the last planned round, behind it and within the round that makes
/// up for the late one.
#[test]
fn a_killed_run_makes_up_for_rounds_too() {
    for (lasts, left) in [(2, 10), (11, 3), (12, 2), (13, 1), (14, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let study = study();
        let (fixed, request) = (Rounds::fixed(6), Request::default());
        let mut journal =
            Journal::create(folder.path(), &request, Machine::default(), ResultsOrigin::default())
                .unwrap();
        let mut target = FakeTarget { late: vec![3], lasts, ..FakeTarget::new(1.0) };
        let mut first = job(&study, &mut target, folder.path(), &fixed, |_| false);
        let ran = first.run(&mut journal, &mut Progress::new(false));
        assert_eq!(
            (ran.is_ok(), first.left(&journal)),
            (left == 0, left),
            "killed after {lasts} runs"
        );
        drop(first);
        let mut journal = Journal::resume(folder.path(), &request).unwrap();
        let mut target =
            FakeTarget { late: vec![3], runs: journal.records.len(), ..FakeTarget::new(1.0) };
        let mut second = job(&study, &mut target, folder.path(), &fixed, |_| false);
        second.run(&mut journal, &mut Progress::new(false)).unwrap();
        assert_eq!(
            (journal.records.len(), second.left(&journal)),
            (14, 0),
            "killed after {lasts} runs"
        );
    }
}

#[test]
fn two_rounds_have_opposite_orders() {
    let folder = tempfile::tempdir().unwrap();
    let study = study();
    let mut target = FakeTarget::new(1.0);
    let mut journal = Journal::create(
        folder.path(),
        &Request::default(),
        Machine::default(),
        ResultsOrigin::default(),
    )
    .unwrap();
    job(&study, &mut target, folder.path(), &Rounds::fixed(6), |_| false)
        .run(&mut journal, &mut Progress::new(false))
        .unwrap();
    let ran: Vec<&str> = target.set_ups.iter().map(|s| s.0.as_str()).collect();
    for pair in ran.chunks(4) {
        assert!(pair[0] != pair[1] && pair[0] == pair[3] && pair[1] == pair[2], "{ran:?}");
    }
}
