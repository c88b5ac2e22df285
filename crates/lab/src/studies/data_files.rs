//! data-files: does it help to spread the data over several files, on one array and on two? 16 connections insert; what
//! dirty pages are left is written by a checkpoint. The published test does not print its row: here a heap of rows of
//! about 1,000 bytes, 64 in a transaction.

use crate::frame::{Arm, Baseline, CellRef, Claim, Compare, Needs, Printed, Published, Scale, Step, Study};
use crate::work::{Config, DataLayout, Knob, LogBlock, LogLayout, Work};

const ONE: &str = "files on one array";
const TWO: &str = "files on two arrays";
const COUNTS: [u32; 5] = [1, 2, 4, 8, 16];
const CONNECTIONS: u32 = 16;
const TOTAL: &str = "load and checkpoint";

struct Sizes {
    /// All rows.
    rows: u64,
    data_kb: u64,
    log_kb: u64,
    memory: u64,
}

fn sizes(scale: Scale) -> Sizes {
    // The author: 160 GB of files, 100 GB of rows, an 8 GB log; far more than his memory.
    let (rows, data_kb, log_kb, memory) = match scale {
        Scale::Tiny => (16 * 128, 64 << 10, 8 << 10, 8 << 20),
        // Smaller ones measure how long the files' last syncs take.
        Scale::Quick => (262_144, 320 << 10, 128 << 10, 64 << 20),
        Scale::Standard => (2_000_000, 4 << 20, 256 << 10, 256 << 20),
        Scale::Paper => (100_000_000, 160 << 20, 8 << 20, 8 << 30),
    };
    Sizes { rows, data_kb, log_kb, memory }
}

fn arm(s: &Sizes, arrays: u32, files: u32) -> Arm {
    Arm {
        factor: if arrays == 1 { ONE } else { TWO },
        level: files.to_string(),
        config: Config {
            key: format!("{files}-on-{arrays}"),
            memory: s.memory,
            data: DataLayout { files, arrays, size_kb: s.data_kb },
            log: LogLayout { initial_kb: s.log_kb, growth_kb: 64 << 10, fill_to_kb: 0, final_kb: s.log_kb },
            block: LogBlock::Default,
            full_recovery: false,
            customers: 0,
            keep: false,
            commit_memory: false,
            limit_s: 600,
        },
        steps: vec![
            Step::prepare(Work::MakeLoad),
            Step::measure("load", Work::Load(CONNECTIONS, s.rows / u64::from(CONNECTIONS))),
            Step::measure("checkpoint", Work::Checkpoint),
            Step::prepare(Work::CheckLoad(CONNECTIONS, s.rows / u64::from(CONNECTIONS))),
        ],
    }
}

fn claims() -> Vec<Claim> {
    let cell = |factor, count: u32, measure: &str| CellRef::new(factor, &count.to_string(), measure);
    let mut claims: Vec<Claim> = COUNTS
        .iter()
        .map(|count| Claim {
            group: "Time on one array against the best number of files",
            what: format!("{count}"),
            compare: Compare::ToBest(
                cell(ONE, *count, TOTAL),
                COUNTS.iter().map(|c| cell(ONE, *c, TOTAL)).collect(),
            ),
            at_least: None,
            at_most: Some(1.03),
            published: None,
            device: None,
        })
        .collect();
    // An array of one file is on one device: two files are the least that two arrays can share.
    for measure in ["load", "checkpoint"] {
        claims.push(Claim {
            group: "Speed of eight files on two arrays against eight on one",
            what: measure.into(),
            compare: Compare::Ratio(cell(ONE, 8, measure), cell(TWO, 8, measure)),
            at_least: Some(1.8),
            at_most: None,
            published: None,
            device: Some("2x-"),
        });
    }
    claims.push(Claim {
        group: "Speed of eight files on two arrays against one file on one",
        what: TOTAL.into(),
        compare: Compare::Ratio(cell(ONE, 1, TOTAL), cell(TWO, 8, TOTAL)),
        at_least: None,
        at_most: None,
        published: Some(1.06),
        device: Some("2x-"),
    });
    claims
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let arms = [1, 2].iter().flat_map(|arrays| COUNTS.map(|files| arm(&s, *arrays, files))).collect();
    let baseline = |factor| Baseline { factor, to_factor: ONE, to_level: "1".into() };
    Study {
        name: "data-files",
        question: "Do several data files make 16 inserting connections faster, on one array and on two?",
        source: "Paul Randal, \"Benchmarking: do multiple data files make a difference?\", 2010",
        knob: Knob::DataFiles,
        sizes: format!(
            "{} rows of about 1,000 bytes by {CONNECTIONS} connections, data files of {} MB together, log {} MB, buffer pool {} MB",
            s.rows,
            s.data_kb >> 10,
            s.log_kb >> 10,
            s.memory >> 20
        ),
        arms,
        baselines: vec![baseline(ONE), baseline(TWO)],
        published: vec![Published {
            cell: CellRef::new(TWO, "8", TOTAL),
            printed: Printed::Ratio(1.0 / 1.06),
        }],
        claims: claims(),
        needs: Needs {
            disk: (s.data_kb + s.log_kb) << 10,
            memory: s.memory + (256 << 20),
            seconds_per_run: match scale {
                Scale::Tiny => 3.0,
                Scale::Quick => 13.0,
                Scale::Standard => 150.0,
                Scale::Paper => 6_000.0,
            },
        },
        total: Some((TOTAL, vec!["load", "checkpoint"])),
        // Slow disks take their time: at quick scale only when they are asked for by --device.
        models: if scale == Scale::Quick { vec![] } else { vec!["2x-iscsi-raid10-4x15000"] },
    }
}
