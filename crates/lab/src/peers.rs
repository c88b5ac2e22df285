//! `lab peers`: the same work on Ringwood and its peers at equal durability, in one interleaved run.

use crate::device::{Device, REAL};
use crate::machine;
use crate::results::StudyResult;
use crate::target::{self, Place, Target};
use crate::work::{Config, DataLayout, Durability, Figure, LogBlock, LogLayout, Work};
use crate::{LabError, tpcc};
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
        limit_s: options.limit,
    }
}

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
            Err(LabError::Request(why)) if why.contains("not installed") => {
                study.missing.push(format!("{}: {why}", target.title()));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(targets)
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
        target.run(&task.work)
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
        source: String::new(),
        knob: String::new(),
        disclosure: None,
        meaning: String::new(),
        setup: vec![format!(
            "{} customer rows, {} rounds, targets in turn; {} rows by {CONNECTIONS} connections; {} updates of an 8,000-byte row in one transaction",
            options.rows, options.runs, options.load_rows, options.updates
        )],
        cells: vec![],
        waits: vec![],
        io: vec![],
        claims: vec![],
        missing: vec![],
    }
}

/// Runs the comparison; progress goes to `say`.
pub fn run(options: &PeerOptions, out: &Path, say: &mut dyn FnMut(&str)) -> Result<StudyResult, LabError> {
    let scratch = out.join("scratch-peers");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    // PostgreSQL runs as its own user and must be able to reach its folder.
    let scratch = scratch.canonicalize()?;
    let mut study = empty(options);
    let mut targets = start(options, &scratch, &mut study, say)?;
    let tasks = tasks(options);
    let mut order: Vec<usize> = (0..targets.len()).collect();
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..options.runs {
        random.shuffle(&mut order);
        for index in &order {
            for task in &tasks {
                say(&format!(
                    "round {} of {}: {}, {}",
                    round + 1,
                    options.runs,
                    targets[*index].title(),
                    task.name
                ));
                measure(&mut study, targets[*index].as_mut(), task, options)?;
            }
        }
        let disk = OsDisk::new(&scratch);
        let (us, ..) = machine::durable_write_us(&disk, Path::new("raw.tmp"), 4096, 1_000)
            .map_err(|e| LabError::Request(e.to_string()))?;
        study.record(FACTOR, RAW, "durable commits", "us", us);
    }
    let titles: Vec<&'static str> = targets.iter().map(|t| t.title()).collect();
    for target in &mut targets {
        target.tear_down()?;
    }
    finish(&mut study, &titles, &tasks);
    std::fs::remove_dir_all(&scratch)?;
    Ok(study)
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
    let rest = if behind.is_empty() { String::new() } else { format!(", not in {}", behind.join(", ")) };
    study.meaning = format!(
        "Ratios are times {baseline}'s: above 1 the engine is slower than {baseline}. {baseline} is first in {ahead} of {} rows{rest}.",
        ahead + behind.len()
    );
}
