//! `lab peers`: the same work on Ringwood and its peers at equal durability, in one interleaved
//! run. Each engine runs alone: it is started for its turn of a round and stopped after it; the raw
//! floor of the disk has a turn too, and so have the kinds of work within a turn. Results are
//! written after each round; an engine that fails is left out from there on, its error is in the
//! results, and the others go on.

mod tasks;

use crate::frame::{balanced, seed_of};
use crate::machine::{self, Machine, ProcessorTimes};
use crate::results::{Results, ResultsOrigin, RoundsResult, StudyResult};
use crate::verdict::{self, RAW};
use crate::{LabError, report};
use disk::OsDisk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use targets::device::{Device, REAL};
use targets::work::{Config, DataLayout, LogBlock, LogLayout, Work};
use targets::{Target, TargetPlace, customers};
use tasks::{CONNECTIONS, Task, TaskTime, groups, take, with_checkpoint};

/// What to compare.
#[derive(Clone, Debug)]
pub struct PeerOptions {
    /// Customer rows.
    pub rows: u64,
    /// Rounds.
    pub runs: usize,
    /// Names of targets; empty = all that are installed.
    pub targets: Vec<String>,
    /// One-row inserts of the loop.
    pub loop_inserts: u64,
    /// Durable one-row commits, again and again until `seconds` have passed.
    pub commits: u64,
    /// Delayed one-row commits, likewise.
    pub delayed: u64,
    /// Seconds that commits take at least.
    pub seconds: f64,
    /// Rows that 16 connections insert together.
    pub load_rows: u64,
    /// Updates of one 8,000-byte row.
    pub updates: u64,
    /// Seconds after which a piece of work is stopped; its time is then a lower bound.
    pub limit: u64,
    /// Seed of the order of engines, and of the kinds of work.
    pub seed: u64,
    /// After how many rounds databases are made again, at least 1.
    pub fresh_every: usize,
    /// The ringwood command, for the one that is served.
    pub program: Option<PathBuf>,
    /// Commit of the build; empty where it is not known.
    pub commit: String,
    /// The command line, for the report.
    pub command: String,
}

const FACTOR: &str = "engine";

fn config(options: &PeerOptions) -> Config {
    let gb = 1 << 20;
    // As in the comparison that the project began with, and smaller where the rows are few.
    let log_kb = if options.rows < 10_000 { 256 << 10 } else { 4 * gb };
    Config {
        key: "peers".into(),
        memory: if options.rows < 10_000 { 128 << 20 } else { 2 << 30 },
        data: DataLayout { files: 1, arrays: 1, size_kb: log_kb },
        log: LogLayout { initial_kb: log_kb, growth_kb: 64 << 10, fill_to_kb: 0, final_kb: log_kb },
        block: LogBlock::Default,
        full_recovery: false,
        customers: options.rows,
        // Each engine is stopped while the others are measured, and finds its rows again.
        keep: true,
        commit_memory: false,
        limit_s: options.limit,
        processors: None,
    }
}

/// An engine and where it works.
struct Engine {
    target: Box<dyn Target>,
    place: TargetPlace,
    /// What it said of its settings when it was made.
    said: Vec<String>,
}

/// The engines that were asked for, each made, given its best settings and stopped again. One that
/// cannot be is noted.
fn make(
    options: &PeerOptions,
    scratch: &Path,
    study: &mut StudyResult,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Engine>, LabError> {
    let rows = scratch.join("customer.txt");
    customers::write_customers(&rows, options.rows, 1)?;
    let mut engines = Vec::new();
    let names: Vec<String> = match options.targets.is_empty() {
        true => targets::NAMES.map(str::to_owned).to_vec(),
        false => options.targets.clone(),
    };
    for name in names {
        let mut target = targets::find(&name, None)?;
        say(&format!("making {}", target.title()));
        let place = TargetPlace {
            folder: scratch.join(target.name()),
            device: Device::named(REAL, &BTreeMap::new())?,
            customers: Some(rows.clone()),
            program: options.program.clone(),
            fresh: true,
        };
        std::fs::create_dir_all(&place.folder)?;
        let mut tried = || -> Result<(Vec<String>, Vec<String>), LabError> {
            let said = target.set_up(&place, &config(options))?;
            say(&format!("trying settings of {}", target.title()));
            let tuned = target.tune()?;
            target.tear_down()?;
            Ok((said, tuned))
        };
        match tried() {
            Ok((said, tuned)) => {
                study.setup.extend(tuned);
                engines.push(Engine { target, place, said });
            }
            Err(why) => leave_out(study, target.as_mut(), &why.to_string(), say),
        }
    }
    Ok(engines)
}

/// Stops a target that failed and notes why; what it had measured stays.
fn leave_out(
    study: &mut StudyResult,
    target: &mut dyn Target,
    why: &str,
    say: &mut dyn FnMut(&str),
) {
    let text = format!("{}: {why}", target.title());
    say(&format!("left out: {text}"));
    study.missing.push(text);
    // Its server may be gone already; the scratch folder goes at the end.
    let _ = target.tear_down();
}

/// One piece of work on one target; its cells get the values, or the limit as a lower bound.
fn measure(
    study: &mut StudyResult,
    round: usize,
    target: &mut dyn Target,
    task: &Task,
    options: &PeerOptions,
) -> Result<(), LabError> {
    let title = target.title();
    let stopped = study.cell_of(FACTOR, title, task.name).is_some_and(|c| c.note.is_some());
    let result = if stopped { Err(LabError::TimeLimit(options.limit)) } else { take(target, task) };
    let limited = matches!(result, Err(LabError::TimeLimit(_)));
    let taken = match result {
        Ok(taken) => taken,
        Err(LabError::TimeLimit(limit)) => {
            let limit = limit as f64;
            TaskTime {
                seconds: limit,
                times: 1,
                checkpoint: task.postpones.then_some(0.0),
                more: vec![],
            }
        }
        Err(LabError::Unsupported(why)) => {
            let text = format!("{title}, {}: {why}", task.name);
            if !study.missing.contains(&text) {
                study.missing.push(text);
            }
            return Ok(());
        }
        Err(other) => return Err(other),
    };
    let mut record = |measure: &str, unit: &str, value: f64| {
        study.record_in(round, FACTOR, title, measure, unit, value);
        if limited && let Some(cell) = study.cell_mut(FACTOR, title, measure) {
            cell.note = Some(format!("stopped after {} s: a lower bound", options.limit));
        }
    };
    match (task.count, &task.work) {
        (Some(n), _) => record(task.name, "us", taken.seconds * 1e6 / (n * taken.times) as f64),
        // Its figure is in microseconds already.
        (None, Work::Latencies(_)) => record(task.name, "us", taken.seconds),
        (None, _) => record(task.name, "s", taken.seconds),
    }
    for figure in taken.more.iter().filter(|f| f.unit == "us") {
        record(&format!("{}, {}", task.name, figure.measure), "us", figure.value);
    }
    if let Some(checkpoint) = taken.checkpoint {
        record(&with_checkpoint(task.name), "s", taken.seconds + checkpoint);
    }
    Ok(())
}

fn empty(options: &PeerOptions) -> StudyResult {
    StudyResult {
        study: "peers".into(),
        scale: format!("{} rows", options.rows),
        target: "all".into(),
        device: REAL.into(),
        question: "How long does the studies' work take on Ringwood and on its peers, at equal durability?"
            .into(),
        setup: vec![format!(
            "{} customer rows, {} rounds; in each the engines and the raw writes one after the other, and on each engine the kinds of \
             work, in orders that are balanced over the rounds (seed {}), all others stopped; databases made again every {} rounds; commits for \
             {} s each; {} rows by {CONNECTIONS} connections; {} updates of an 8,000-byte row in one transaction",
            options.rows,
            options.runs,
            options.seed,
            options.fresh_every,
            options.seconds,
            options.load_rows,
            options.updates
        )],
        rounds: Some(RoundsResult {
            looks: vec![options.runs],
            done: 0,
            confidence: stats::CONFIDENCE,
            fresh_every: options.fresh_every,
        }),
        ..StudyResult::default()
    }
}

/// Runs the comparison; progress goes to `say`. What was measured is in `out` after each round.
/// Errors: no engine lasted to the end; what was measured before is in `out` all the same.
pub fn run(
    options: &PeerOptions,
    out: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Results, LabError> {
    #[cfg(not(feature = "peers"))]
    if options.targets.is_empty() {
        return Err(targets::without_peers());
    }
    std::fs::create_dir_all(out)?;
    let origin = ResultsOrigin {
        begun: machine::utc_now(),
        commit: options.commit.clone(),
        command: options.command.clone(),
        seed: Some(options.seed),
        ..ResultsOrigin::default()
    };
    let machine = Machine::probe(out);
    let scratch = out.join("scratch-peers");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    // PostgreSQL runs as its own user and must be able to reach its folder.
    let scratch = scratch.canonicalize()?;
    let mut study = empty(options);
    let engines = make(options, &scratch, &mut study, say)?;
    let results = Results {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        origin,
        machine,
        studies: vec![study],
    };
    let compared = Comparison { options, out, scratch: &scratch, results }.run(engines, say);
    if let Err(why) = std::fs::remove_dir_all(&scratch) {
        say(&format!("{} is left behind: {why}", scratch.display()));
    }
    compared
}

/// A comparison on its way: one study, whose results grow.
struct Comparison<'a> {
    options: &'a PeerOptions,
    out: &'a Path,
    scratch: &'a Path,
    results: Results,
}

impl Comparison<'_> {
    fn study(&mut self) -> &mut StudyResult {
        &mut self.results.studies[0]
    }

    fn run(
        mut self,
        mut engines: Vec<Engine>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Results, LabError> {
        let titles: Vec<&'static str> = engines.iter().map(|e| e.target.title()).collect();
        let groups = groups(self.options);
        let begin = ProcessorTimes::now();
        for round in 0..self.options.runs {
            for index in balanced(self.options.seed, titles.len() + 1, round) {
                let Some(title) = titles.get(index) else {
                    self.raw_writes(round)?;
                    continue;
                };
                // Engines that failed in an earlier round have no place any more.
                let Some(engine) = engines.iter_mut().find(|e| e.target.title() == *title) else {
                    continue;
                };
                if let Err(why) = self.round(round, engine, &groups, say) {
                    let why = format!("failed in round {}: {why}", round + 1);
                    leave_out(self.study(), engine.target.as_mut(), &why, say);
                    engines.retain(|e| e.target.title() != *title);
                }
            }
            if engines.is_empty() {
                break;
            }
            self.study().steal =
                ProcessorTimes::now().zip(begin).and_then(|(now, then)| now.steal_since(&then));
            self.write(&titles, &groups, round + 1)?;
        }
        if engines.is_empty() {
            self.write(&titles, &groups, self.options.runs)?;
            return Err(LabError::Request(format!(
                "no engine is left. {}",
                self.study().missing.join("\n")
            )));
        }
        Ok(self.results)
    }

    /// All of the work on one engine, which is started for it and stopped again.
    fn round(
        &mut self,
        round: usize,
        engine: &mut Engine,
        groups: &[Vec<Task>],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let (options, runs) = (self.options, self.options.runs);
        let Engine { target, place, said } = engine;
        place.fresh = round.is_multiple_of(options.fresh_every.max(1));
        let mut settings = target.set_up(place, &config(options))?;
        if settings == [targets::MADE_EARLIER] {
            settings = said.clone();
        }
        for line in settings {
            if !self.study().setup.contains(&line) {
                self.study().setup.push(line);
            }
        }
        // The same for all engines of a round.
        for group in balanced(seed_of(options.seed, "work"), groups.len(), round) {
            for task in &groups[group] {
                say(&format!("round {} of {runs}: {}, {}", round + 1, target.title(), task.name));
                measure(self.study(), round, target.as_mut(), task, options)
                    .map_err(|e| LabError::Request(format!("{}: {e}", task.name)))?;
            }
        }
        target.tear_down()
    }

    fn raw_writes(&mut self, round: usize) -> Result<(), LabError> {
        let disk = OsDisk::new(self.scratch);
        let (us, ..) = machine::durable_write_us(&disk, Path::new("raw.tmp"), 4096, 1_000)
            .map_err(|e| LabError::Request(e.to_string()))?;
        self.study().record_in(round, FACTOR, RAW, "durable commits", "us", us);
        Ok(())
    }

    /// Writes what there is after a round.
    fn write(
        &mut self,
        titles: &[&'static str],
        groups: &[Vec<Task>],
        round: usize,
    ) -> Result<(), LabError> {
        let runs = self.options.runs;
        if let Some(rounds) = &mut self.study().rounds {
            rounds.done = round;
        }
        let tasks: Vec<&Task> = groups.iter().flatten().collect();
        finish(self.study(), titles, &tasks);
        let mut results = self.results.clone();
        if round < runs {
            results.studies[0]
                .missing
                .push(format!("rounds {} to {runs}: not measured yet", round + 1));
        }
        report::write_all(&results, self.out)?;
        report::write_table(&results, self.out)
    }
}

/// Ratios to the first target, cells by work and then in the targets' order, and the meaning.
fn finish(study: &mut StudyResult, titles: &[&'static str], tasks: &[&Task]) {
    let baseline = titles.first().copied().unwrap_or_default();
    study.finish(&|_| Some((FACTOR, baseline)));
    for cell in study.cells.iter_mut().filter(|c| c.note.is_some()) {
        // A lower bound has no interval.
        (cell.ci95, cell.ratio_ci95) = (None, None);
    }
    let place = |level: &str| titles.iter().position(|t| *t == level).unwrap_or(titles.len());
    // A task's own row, its percentiles in their order, its row with the checkpoint; the longest
    // name that fits is the task's.
    let task_of = |measure: &str| {
        let own = tasks.iter().enumerate().filter(|(_, t)| {
            measure
                .strip_prefix(t.name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        });
        own.max_by_key(|(_, t)| t.name.len()).map(|(i, _)| i)
    };
    study.cells.sort_by(|a, b| {
        let key =
            |c: &crate::results::Cell| (task_of(&c.measure), c.measure.clone(), place(&c.level));
        key(a).cmp(&key(b))
    });
    study.meaning = verdict::meaning(study, baseline);
}

#[cfg(test)]
mod tests;
