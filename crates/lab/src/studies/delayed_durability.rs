//! delayed-durability: 50,000 one-row inserts as one transaction, as durable commits and as delayed ones. Beside them the
//! same log writes without an engine, and what many sessions make of durable commits.

use crate::frame::{Arm, Baseline, CellRef, Claim, Compare, Needs, Printed, Published, Scale, Step, Study};
use crate::work::{Config, DataLayout, Durability, Knob, LogBlock, LogLayout, Work};

const FACTOR: &str = "commits";
const SESSIONS: &str = "sessions";
const ONE: &str = "one transaction";
const DURABLE: &str = "per row, durable";
const DELAYED: &str = "per row, delayed";
const RAW: &str = "raw write + fdatasync";
const ROWS: &str = "one-row inserts";
const COMMITS: &str = "durable commits";

/// Sizes of each database's data file and log in KB: both stay larger than the rows.
fn sizes(scale: Scale) -> (u64, u64) {
    if scale == Scale::Tiny { (8 << 10, 16 << 10) } else { (64 << 10, 128 << 10) }
}

fn arm(scale: Scale, factor: &'static str, level: &str, steps: Vec<Step>) -> Arm {
    let (data_kb, log_kb) = sizes(scale);
    let key: String = level.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Arm {
        factor,
        level: level.into(),
        config: Config {
            key: format!("{factor}-{key}"),
            memory: 256 << 20,
            data: DataLayout { files: 1, arrays: 1, size_kb: data_kb },
            log: LogLayout { initial_kb: log_kb, growth_kb: 64 << 10, fill_to_kb: 0, final_kb: log_kb },
            block: LogBlock::Default,
            full_recovery: false,
            customers: 0,
            keep: true,
            commit_memory: false,
            limit_s: 600,
        },
        steps: [vec![Step::prepare(Work::MakeOneRow)], steps].concat(),
    }
}

fn claims() -> Vec<Claim> {
    let cell = |level: &str| CellRef::new(FACTOR, level, ROWS);
    let group = "Time against one transaction";
    let durable = Claim {
        at_most: None,
        ..Claim::at_most(group, DURABLE, cell(DURABLE), cell(ONE), 0.0).published(12.0 / 0.3)
    };
    let sessions = Claim {
        group: "Durable commits a second",
        what: "64 sessions against 1".into(),
        compare: Compare::Ratio(CellRef::new(SESSIONS, "64", COMMITS), CellRef::new(SESSIONS, "1", COMMITS)),
        at_least: Some(8.0),
        at_most: None,
        published: None,
        device: None,
    };
    vec![
        Claim::at_most(group, DELAYED, cell(DELAYED), cell(ONE), 2.5).published(1.2 / 0.3),
        durable,
        Claim::at_most(
            "Time against the same writes without an engine",
            DURABLE,
            cell(DURABLE),
            cell(RAW),
            1.15,
        ),
        sessions,
    ]
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let (rows, alone, each) = match scale {
        Scale::Tiny => (100, 50, 5),
        Scale::Quick => (10_000, 2_000, 200),
        Scale::Standard | Scale::Paper => (50_000, 20_000, 2_000),
    };
    let raw = Step { measure: Some(ROWS), level: Some(RAW), work: Work::RawWrites };
    let (data_kb, log_kb) = sizes(scale);
    let published = |level: &str, value: f64| Published {
        cell: CellRef::new(FACTOR, level, ROWS),
        printed: Printed::Figure(value, "s"),
    };
    Study {
        name: "delayed-durability",
        question: "What does a durable commit of each row cost, and how much of it does delayed durability save?",
        source: "Tibor Karaszi, \"Do you want improved performance?\", SQL Server 2014, one spinning disk, 50,000 rows",
        knob: Knob::Durability,
        sizes: format!("{rows} rows; 1 session with {alone} commits, 64 sessions with {each} each"),
        arms: vec![
            arm(scale, FACTOR, ONE, vec![Step::measure(ROWS, Work::LoopInserts(rows))]),
            arm(
                scale,
                FACTOR,
                DURABLE,
                vec![Step::measure(ROWS, Work::Commits(rows, Durability::Full)), raw],
            ),
            arm(scale, FACTOR, DELAYED, vec![Step::measure(ROWS, Work::Commits(rows, Durability::Delayed))]),
            arm(scale, SESSIONS, "1", vec![Step::measure(COMMITS, Work::SessionCommits(1, alone))]),
            arm(scale, SESSIONS, "64", vec![Step::measure(COMMITS, Work::SessionCommits(64, each))]),
        ],
        baselines: vec![
            Baseline { factor: FACTOR, to_factor: FACTOR, to_level: ONE.into() },
            Baseline { factor: SESSIONS, to_factor: SESSIONS, to_level: "1".into() },
        ],
        published: vec![published(ONE, 0.3), published(DURABLE, 12.0), published(DELAYED, 1.2)],
        claims: claims(),
        needs: Needs {
            // Five databases, and as much again for growth, the instances' own files and the raw writes.
            disk: 2 * 5 * ((data_kb + log_kb) << 10),
            memory: 512 << 20,
            seconds_per_run: match scale {
                Scale::Tiny => 1.0,
                Scale::Quick => 3.0,
                Scale::Standard | Scale::Paper => 15.0,
            },
        },
        total: None,
        models: vec![],
    }
}
