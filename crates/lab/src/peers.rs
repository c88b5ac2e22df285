//! `lab peers`: the same work on Ringwood and its peers at equal durability, in one interleaved run. Results are written after
//! each round; an engine that fails is left out from there on, its error is in the results, and the others go on.

use crate::device::{Device, REAL};
use crate::machine::{self, Machine};
use crate::results::{Results, StudyResult};
use crate::target::{self, Place, Target};
use crate::work::{Config, DataLayout, Durability, Figure, LogBlock, LogLayout, Work};
use crate::{LabError, report, tpcc};
use disk::OsDisk;
use std::collections::BTreeMap;
use std::path::Path;

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
    /// Durable one-row commits.
    pub commits: u64,
    /// Delayed one-row commits.
    pub delayed: u64,
    /// Rows that 16 connections insert together.
    pub load_rows: u64,
    /// Updates of one 8,000-byte row.
    pub updates: u64,
    /// Seconds after which a piece of work is stopped; its time is then a lower bound.
    pub limit: u64,
}

const FACTOR: &str = "engine";
const CONNECTIONS: u32 = 16;
/// The floor of a durable commit, measured beside the engines: one 4 KiB block into space written before.
const RAW: &str = "raw 4 KiB write + fdatasync";

/// A measured piece of work: what prepares it, and what its seconds are divided by to get microseconds of one.
struct Task {
    name: &'static str,
    prepare: Option<Work>,
    work: Work,
    count: Option<u64>,
}

/// The small work first: what an engine still does in the background after a large statement is not its cost. Work of size 0 is
/// left out.
fn tasks(options: &PeerOptions) -> Vec<Task> {
    let task = |name, prepare, work, count| Task { name, prepare, work, count };
    let mut tasks = vec![
        task(
            "loop inserts",
            Some(Work::MakeOneRow),
            Work::LoopInserts(options.loop_inserts),
            Some(options.loop_inserts),
        ),
        task(
            "durable commits",
            Some(Work::MakeOneRow),
            Work::Commits(options.commits, Durability::Full),
            Some(options.commits),
        ),
        task(
            "delayed commits",
            Some(Work::MakeOneRow),
            Work::Commits(options.delayed, Durability::Delayed),
            Some(options.delayed),
        ),
        task(
            "16 connections insert",
            Some(Work::MakeLoad),
            Work::Load(CONNECTIONS, options.load_rows / u64::from(CONNECTIONS)),
            None,
        ),
        task("updates of an 8,000-byte row", Some(Work::MakeWide), Work::RowUpdates(options.updates), None),
        task("insert-select", Some(Work::MakeCustomer), Work::InsertSelect, None),
        task("update", None, Work::Update, None),
        task("delete", None, Work::Delete, None),
    ];
    tasks.retain(|task| {
        !matches!(
            task.work,
            Work::LoopInserts(0) | Work::Commits(0, _) | Work::Load(_, 0) | Work::RowUpdates(0)
        )
    });
    tasks
}

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
        keep: false,
        commit_memory: false,
        limit_s: options.limit,
    }
}

/// The targets that were asked for, set up. One that cannot be is noted.
fn start(
    options: &PeerOptions,
    scratch: &Path,
    study: &mut StudyResult,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Box<dyn Target>>, LabError> {
    let customers = scratch.join("customer.txt");
    tpcc::write_customers(&customers, options.rows, 1)?;
    let mut targets = Vec::new();
    let names: Vec<String> = match options.targets.is_empty() {
        true => target::NAMES.map(str::to_owned).to_vec(),
        false => options.targets.clone(),
    };
    for name in names {
        let mut target = target::find(&name)?;
        say(&format!("starting {}", target.title()));
        let place = Place {
            folder: scratch.join(target.name()),
            device: Device::named(REAL, &BTreeMap::new())?,
            customers: Some(customers.clone()),
            program: None,
        };
        std::fs::create_dir_all(&place.folder)?;
        match target.set_up(&place, &config(options)) {
            Ok(settings) => {
                study.setup.extend(settings);
                targets.push(target);
            }
            Err(why) => {
                leave_out(study, target.as_mut(), &why.to_string(), say);
            }
        }
    }
    Ok(targets)
}

/// Stops a target that failed and notes why; what it had measured stays.
fn leave_out(study: &mut StudyResult, target: &mut dyn Target, why: &str, say: &mut dyn FnMut(&str)) {
    let text = format!("{}: {why}", target.title());
    say(&format!("left out: {text}"));
    study.missing.push(text);
    // Its server may be gone already; the scratch folder goes at the end.
    let _ = target.tear_down();
}

/// One piece of work on one target; its cell gets the value, or the limit as a lower bound.
fn measure(
    study: &mut StudyResult,
    target: &mut dyn Target,
    task: &Task,
    options: &PeerOptions,
) -> Result<(), LabError> {
    let known = study.cell_of(FACTOR, target.title(), task.name);
    let stopped = known.is_some_and(|c| c.note.is_some());
    let result = if stopped {
        Err(LabError::TimeLimit(options.limit))
    } else {
        if let Some(prepare) = &task.prepare {
            target.run(prepare)?;
            target.run(&Work::Checkpoint)?;
        }
        let figures = target.run(&task.work);
        if let (Ok(_), Work::Load(connections, rows)) = (&figures, &task.work) {
            target.run(&Work::CheckLoad(*connections, *rows))?;
        }
        figures
    };
    let seconds = match result {
        Ok(figures) => figures.first().map_or(f64::NAN, |f: &Figure| f.value),
        Err(LabError::TimeLimit(limit)) => limit as f64,
        Err(LabError::Unsupported(why)) => {
            let text = format!("{}, {}: {why}", target.title(), task.name);
            if !study.missing.contains(&text) {
                study.missing.push(text);
            }
            return Ok(());
        }
        Err(other) => return Err(other),
    };
    let limited = seconds >= options.limit as f64;
    let (value, unit) = match task.count {
        Some(n) => (seconds * 1e6 / n as f64, "us"),
        None => (seconds, "s"),
    };
    study.record(FACTOR, target.title(), task.name, unit, value);
    if limited {
        let cell = study.cells.iter_mut().find(|c| c.level == target.title() && c.measure == task.name);
        if let Some(cell) = cell {
            cell.note = Some(format!("stopped after {} s: a lower bound", options.limit));
        }
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
            "{} customer rows, {} rounds, targets in turn; {} rows by {CONNECTIONS} connections; {} updates of an 8,000-byte row in one transaction",
            options.rows, options.runs, options.load_rows, options.updates
        )],
        ..StudyResult::default()
    }
}

/// Runs the comparison; progress goes to `say`. What was measured is in `out` after each round.
/// Errors: no engine lasted to the end; what was measured before is in `out` all the same.
pub fn run(options: &PeerOptions, out: &Path, say: &mut dyn FnMut(&str)) -> Result<Results, LabError> {
    std::fs::create_dir_all(out)?;
    let machine = Machine::probe(out);
    let scratch = out.join("scratch-peers");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    // PostgreSQL runs as its own user and must be able to reach its folder.
    let scratch = scratch.canonicalize()?;
    let mut study = empty(options);
    let targets = start(options, &scratch, &mut study, say)?;
    let results = Results {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        machine,
        studies: vec![study],
        ..Results::default()
    };
    let compared = Comparison { options, out, scratch: &scratch, results }.run(targets, say);
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
        mut targets: Vec<Box<dyn Target>>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Results, LabError> {
        let titles: Vec<&'static str> = targets.iter().map(|t| t.title()).collect();
        let tasks = tasks(self.options);
        let mut random = fastrand::Rng::with_seed(1);
        for round in 1..=self.options.runs {
            random.shuffle(&mut targets);
            let mut left = Vec::new();
            for mut target in targets {
                match self.round(round, target.as_mut(), &tasks, say) {
                    Ok(()) => left.push(target),
                    Err(why) => {
                        let why = format!("failed in round {round}: {why}");
                        leave_out(self.study(), target.as_mut(), &why, say);
                    }
                }
            }
            targets = left;
            if targets.is_empty() {
                break;
            }
            let raw = self.raw_writes();
            self.write(&titles, &tasks, round)?;
            raw?;
        }
        if targets.is_empty() {
            self.write(&titles, &tasks, self.options.runs)?;
            return Err(LabError::Request(format!("no engine is left. {}", self.study().missing.join("\n"))));
        }
        for mut target in targets {
            if let Err(why) = target.tear_down() {
                say(&format!("{}, when it was stopped: {why}", target.title()));
            }
        }
        Ok(self.results)
    }

    /// All of the work on one target.
    fn round(
        &mut self,
        round: usize,
        target: &mut dyn Target,
        tasks: &[Task],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let (options, runs) = (self.options, self.options.runs);
        for task in tasks {
            say(&format!("round {round} of {runs}: {}, {}", target.title(), task.name));
            measure(self.study(), target, task, options)
                .map_err(|e| LabError::Request(format!("{}: {e}", task.name)))?;
        }
        Ok(())
    }

    fn raw_writes(&mut self) -> Result<(), LabError> {
        let disk = OsDisk::new(self.scratch);
        let (us, ..) = machine::durable_write_us(&disk, Path::new("raw.tmp"), 4096, 1_000)
            .map_err(|e| LabError::Request(e.to_string()))?;
        self.study().record(FACTOR, RAW, "durable commits", "us", us);
        Ok(())
    }

    /// Writes what there is after a round.
    fn write(&mut self, titles: &[&'static str], tasks: &[Task], round: usize) -> Result<(), LabError> {
        let runs = self.options.runs;
        finish(self.study(), titles, tasks);
        let mut results = self.results.clone();
        if round < runs {
            results.studies[0].missing.push(format!("rounds {} to {runs}: not measured yet", round + 1));
        }
        report::write_all(&results, self.out)
    }
}

/// Ratios to the first target, cells by work and then in the targets' order, and the meaning.
fn finish(study: &mut StudyResult, titles: &[&'static str], tasks: &[Task]) {
    let baseline = titles.first().copied().unwrap_or_default();
    study.finish(&|_| Some((FACTOR, baseline)));
    let place = |level: &str| titles.iter().position(|t| *t == level).unwrap_or(titles.len());
    study.cells.sort_by_key(|c| (tasks.iter().position(|t| t.name == c.measure), place(&c.level)));
    let mut ahead = 0;
    let mut behind = Vec::new();
    for task in tasks {
        let others =
            study.cells.iter().filter(|c| c.measure == task.name && c.level != baseline && c.level != RAW);
        let best = others
            .filter_map(|c| Some((c.ratio_to_baseline?, c.level.clone())))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((ratio, level)) if ratio < 1.0 => {
                behind.push(format!("{} ({level} takes {ratio:.2} times as long)", task.name));
            }
            Some(_) => ahead += 1,
            None => {}
        }
    }
    if ahead + behind.len() == 0 {
        study.meaning = format!("Nothing was measured both on {baseline} and on another engine.");
        return;
    }
    let rest = if behind.is_empty() { String::new() } else { format!(", not in {}", behind.join(", ")) };
    study.meaning = format!(
        "Ratios are times {baseline}'s: above 1 the engine is slower than {baseline}. {baseline} is first in {ahead} of {} rows{rest}.",
        ahead + behind.len()
    );
}

#[cfg(test)]
mod tests;
