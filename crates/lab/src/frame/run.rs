//! A run of studies: every study that was planned runs, one after the other. Results are written
//! after each, so that an interrupted run has a report too.

use super::assemble::{RunFacts, assemble};
use super::driver::Job;
use super::journal::{Journal, Request};
use super::options::Options;
use super::plan::{PlannedStudy, chosen, plan, plan_all, scratch_folder};
use super::progress::Progress;
use super::rounds::Rounds;
use crate::machine::{self, Machine};
use crate::results::{Results, ResultsOrigin, Verdict};
use crate::study::Study;
use crate::{LabError, report};
use std::path::{Path, PathBuf};
use targets::{TargetPlace, customers};

/// Customer rows for a study that copies them.
fn customers(study: &Study, folder: &Path) -> Result<Option<PathBuf>, LabError> {
    let rows = study.arms.iter().map(|a| a.config.customers).max().unwrap_or(0);
    if rows == 0 {
        return Ok(None);
    }
    let path = folder.join("customer.txt");
    customers::write_customers(&path, rows, 1)?;
    Ok(Some(path))
}

/// What the whole run has in common.
struct WholeRun<'a> {
    options: &'a Options,
    seed: u64,
}

fn job<'a>(
    study: &'a Study,
    planned: &'a mut PlannedStudy,
    folder: PathBuf,
    run: &WholeRun<'_>,
    customers: Option<PathBuf>,
) -> Result<Job<'a>, LabError> {
    let options = run.options;
    let rounds = options.rounds()?;
    let about = about(planned, run, &rounds);
    let decided = move |journal: &Journal| {
        let claims = assemble(study, &about, journal).claims;
        claims.iter().all(|c| c.verdict != Some(Verdict::Undecided))
    };
    Ok(Job {
        study,
        arms: planned.arms.iter().map(|i| &study.arms[*i]).collect(),
        device: planned.device.name(),
        place: TargetPlace {
            folder,
            device: planned.device.clone(),
            customers,
            program: options.program.clone(),
            fresh: false,
        },
        target: planned.target.as_mut(),
        rounds,
        decided: Box::new(decided),
        seed: run.seed,
        fresh_every: options.fresh_every,
        slow_down: options.slow_down,
    })
}

fn about(planned: &PlannedStudy, run: &WholeRun<'_>, rounds: &Rounds) -> RunFacts {
    RunFacts {
        scale: run.options.scale.name(),
        target: planned.target.name().into(),
        device: planned.device.name(),
        knob: planned.knob,
        disclosure: planned.device.disclosure(),
        left_out: planned.left_out.clone(),
        seed: run.seed,
        rounds: rounds.clone(),
        fresh_every: run.options.fresh_every,
        slow_down: run.options.slow_down,
    }
}

fn results(
    chosen: &[Study],
    planned: &[PlannedStudy],
    run: &WholeRun<'_>,
    journal: &Journal,
) -> Result<Results, LabError> {
    let rounds = run.options.rounds()?;
    let studies = planned
        .iter()
        .map(|p| assemble(&chosen[p.study], &about(p, run, &rounds), journal))
        .collect();
    Ok(Results {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        origin: journal.origin.clone(),
        machine: journal.machine.clone(),
        studies,
    })
}

/// The journal of the run, new or that of an interrupted one, with the numbers of repeats that are
/// to be taken over.
fn journal(run: &WholeRun<'_>, chosen: &[Study]) -> Result<Journal, LabError> {
    let options = run.options;
    let request = Request {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        studies: chosen.iter().map(|s| s.name.to_owned()).collect(),
        scale: options.scale.name().into(),
        runs: options.runs,
        until_decided: options.until_decided,
        targets: options.targets.iter().map(|t| targets::shown(t)).collect(),
        devices: options.devices.clone(),
        seed: run.seed,
        fresh_every: options.fresh_every,
        slow_down: options.slow_down,
    };
    let mut journal = if options.resume {
        Journal::resume(&options.out, &request)?
    } else {
        let origin = ResultsOrigin {
            begun: machine::utc_now(),
            commit: options.commit.clone(),
            command: options.command.clone(),
            seed: Some(run.seed),
            ..ResultsOrigin::default()
        };
        Journal::create(&options.out, &request, Machine::probe(&options.out), origin)?
    };
    if let Some(earlier) = &options.repeats_from {
        journal
            .calibrate_from(earlier, options.scale.name())
            .map_err(|e| LabError::Request(format!("--repeats-from: {e}")))?;
    }
    Ok(journal)
}

/// Runs the studies. Results and report are in `options.out`, up to date after each study.
pub fn run(options: &Options) -> Result<Results, LabError> {
    std::fs::create_dir_all(&options.out)?;
    let options = Options { out: options.out.canonicalize()?, ..options.clone() };
    options.rounds()?;
    let chosen = chosen(&options)?;
    let mut planned = plan_all(&chosen, &options)?;
    let run = WholeRun { options: &options, seed: options.drawn()? };
    let mut journal = journal(&run, &chosen)?;
    let mut progress = Progress::new(options.progress);
    for line in plan(&options)? {
        progress.say(&line);
    }
    progress.say(&format!("order of runs by --seed {}", run.seed));
    for p in &mut planned {
        let study = &chosen[p.study];
        let job = job(study, p, PathBuf::new(), &run, None)?;
        let runs = job.left(&journal) + job.left_to_calibrate(&journal);
        progress.plan(&job.kind(), runs, study.seconds_per_arm());
    }
    for index in 0..planned.len() {
        let study = &chosen[planned[index].study];
        let folder = scratch_folder(&options.out, study, &planned[index]);
        run_one(study, &mut planned[index], folder, &run, &mut journal, &mut progress)?;
        report::write_all(&results(&chosen, &planned, &run, &journal)?, &options.out)?;
    }
    progress.end();
    results(&chosen, &planned, &run, &journal)
}

fn run_one(
    study: &Study,
    planned: &mut PlannedStudy,
    folder: PathBuf,
    run: &WholeRun<'_>,
    journal: &mut Journal,
    progress: &mut Progress,
) -> Result<(), LabError> {
    let device = planned.device.clone();
    if job(study, planned, folder.clone(), run, None)?.left(journal) == 0 {
        return device.clear(&folder);
    }
    // Where there is nothing to go on with, only what was being removed may be left.
    if !run.options.resume || !folder.exists() {
        planned.target.clear(&folder)?;
        device.clear(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let rows = customers(study, &folder)?;
    job(study, planned, folder.clone(), run, rows)?.run(journal, progress)?;
    planned.target.clear(&folder)?;
    device.clear(&folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::options::for_tests as options;
    use targets::device::going;

    #[test]
    fn what_was_being_removed_is_gone_before_a_resumed_run_begins() {
        let out = tempfile::tempdir().unwrap();
        let options = Options { resume: true, ..options(out.path()) };
        let mut study = chosen(&options).unwrap().remove(0);
        let mut planned = plan_all(std::slice::from_ref(&study), &options).unwrap().remove(0);
        let folder = scratch_folder(out.path(), &study, &planned);
        std::fs::create_dir_all(going(&folder)).unwrap();
        // No file can be called so: the first run fails, and nothing is removed at the end.
        study.arms.iter_mut().for_each(|a| a.config.key = "\0".into());
        let request = Request {
            ringwood: String::new(),
            studies: vec![],
            scale: String::new(),
            runs: 1,
            until_decided: None,
            targets: vec![],
            devices: vec![],
            seed: 1,
            fresh_every: 1,
            slow_down: 0.0,
        };
        let mut journal = Journal::create(
            out.path(),
            &request,
            Machine::probe(out.path()),
            ResultsOrigin::default(),
        )
        .unwrap();
        let mut progress = Progress::new(false);
        let run = WholeRun { options: &options, seed: 1 };
        let ran = run_one(&study, &mut planned, folder.clone(), &run, &mut journal, &mut progress);
        assert!(ran.is_err() && folder.exists());
        assert!(!going(&folder).exists());
    }
}
