//! `lab peers`: the same work on Ringwood and its peers at equal durability, in one interleaved run.

use crate::machine;
use crate::results::StudyResult;
use crate::target::{MariaDb, Postgres, Ringwood, Sqlite, Target, Work};
use crate::{LabError, tpcc};
use disk::OsDisk;
use std::path::Path;

/// What to compare.
#[derive(Clone, Debug)]
pub struct PeerOptions {
    /// Customer rows.
    pub rows: u64,
    /// Rounds.
    pub runs: usize,
    /// Lower-case names of targets; empty = all that are installed.
    pub targets: Vec<String>,
    /// One-row inserts of the loop.
    pub loop_inserts: u64,
    /// Durable one-row commits.
    pub commits: u64,
}

fn check(target: &mut dyn Target, work: Work, rows: u64) -> Result<(), LabError> {
    let (table, expected) = match work {
        Work::InsertSelect => ("customer_tmp", rows),
        Work::Update => ("customer", rows),
        Work::Delete => ("customer", 0),
        Work::LoopInserts(n) => ("one_row", n),
        Work::DurableCommits(_) => return Ok(()),
    };
    let found = target.count(table)?;
    if found == expected {
        return Ok(());
    }
    Err(LabError::Request(format!(
        "{}: {} left {found} rows in {table}, not {expected}",
        target.name(),
        work.name()
    )))
}

/// Runs the comparison; progress goes to `say`.
pub fn run(options: &PeerOptions, out: &Path, say: &dyn Fn(&str)) -> Result<StudyResult, LabError> {
    let scratch = out.join("scratch-peers");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    // PostgreSQL runs as its own user and must be able to reach its folder.
    let scratch = scratch.canonicalize()?;
    let customers = scratch.join("customer.txt");
    tpcc::write_customers(&customers, options.rows, 1)?;
    let all: Vec<Box<dyn Target>> = vec![
        Box::new(Ringwood::new(&scratch.join("ringwood"))),
        Box::new(Postgres::new(&scratch.join("postgres"))),
        Box::new(MariaDb::new(&scratch.join("mariadb"))),
        Box::new(Sqlite::new(&scratch.join("sqlite"))),
    ];
    let mut study = StudyResult {
        study: "peers".into(),
        scale: format!("{} rows", options.rows),
        target: "all".into(),
        device: "real".into(),
        question: "How long does the studies' work take on Ringwood and on its peers, at equal durability?"
            .into(),
        meaning: String::new(),
        setup: vec![format!("{} customer rows, {} rounds, targets in turn", options.rows, options.runs)],
        cells: vec![],
        waits: vec![],
        io: vec![],
    };
    let wanted = |t: &dyn Target| {
        options.targets.is_empty() || options.targets.iter().any(|n| n.eq_ignore_ascii_case(t.name()))
    };
    let mut targets = Vec::new();
    for mut target in all.into_iter().filter(|t| wanted(t.as_ref())) {
        say(&format!("starting {}", target.name()));
        match target.prepare(&customers) {
            Ok(()) => {
                study.setup.push(target.settings());
                targets.push(target);
            }
            Err(LabError::Request(why)) if why.contains("not installed") => {
                study.setup.push(format!("{}: {why}", target.name()))
            }
            Err(other) => return Err(other),
        }
    }
    // The small work first: what an engine still does in the background after a large statement is not its cost.
    let works = [
        Work::LoopInserts(options.loop_inserts),
        Work::DurableCommits(options.commits),
        Work::InsertSelect,
        Work::Update,
        Work::Delete,
    ];
    for round in 0..options.runs {
        for target in &mut targets {
            target.reset()?;
            for work in works {
                let seconds = target.run(work)?;
                check(target.as_mut(), work, options.rows)?;
                let (value, unit) = match work {
                    Work::LoopInserts(n) | Work::DurableCommits(n) => (seconds * 1e6 / n as f64, "us"),
                    _ => (seconds, "s"),
                };
                study.record("engine", target.name(), work.name(), unit, value, None);
            }
        }
        // The floor of a durable commit, measured beside the engines: one 4 KiB block into space written before.
        let disk = OsDisk::new(&scratch);
        let (us, ..) = machine::durable_write_us(&disk, Path::new("raw.tmp"), 4096, 1_000)
            .map_err(|e| LabError::Request(e.to_string()))?;
        study.record("engine", "raw 4 KiB write + fdatasync", "durable commits", "us", us, None);
        say(&format!("round {} of {}", round + 1, options.runs));
    }
    let baseline = targets.first().map_or("", |t| t.name());
    study.finish(baseline);
    study.cells.sort_by_key(|c| works.iter().position(|w| w.name() == c.measure));
    study.meaning = format!("Ratios are times {baseline}'s: above 1 the engine is slower than {baseline}.");
    drop(targets);
    std::fs::remove_dir_all(&scratch)?;
    Ok(study)
}
