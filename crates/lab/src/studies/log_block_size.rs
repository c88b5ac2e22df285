//! log-block-size: durable one-row inserts of four payload classes with the log's write unit as the engine chooses it,
//! forced to 512 bytes, and forced to 4,096 (what trace flag 1800 does). On a device that writes whole 4,096-byte sectors
//! a smaller or shifted write makes it read first.

use crate::frame::{Arm, Baseline, CellRef, Claim, Compare, Needs, Printed, Published, Scale, Step, Study};
use crate::work::{Config, DataLayout, Knob, LogBlock, LogLayout, Work};

const FACTOR: &str = "log block";
const DEFAULT: &str = "default";
const SMALL: &str = "512";
const FLAG: &str = "4096";
/// Classes of payload, the bytes that stand for each (the first is the author's script), and his figures for 512 and
/// for 4,096, which he normalised by the largest.
const PAYLOADS: [(&str, u32, f64, f64); 4] = [
    ("payload < 4096", 4000, 0.30, 1.00),
    ("payload 4096..8192", 6144, 0.28, 0.91),
    ("payload 8192..16384", 12_288, 0.27, 0.78),
    ("payload 16384..32768", 24_576, 0.25, 0.74),
];

fn arm(level: &'static str, block: LogBlock, ms: u64, log_kb: u64, memory: u64) -> Arm {
    let steps = PAYLOADS.iter().flat_map(|(measure, bytes, ..)| {
        [Step::prepare(Work::MakePayload), Step::measure(measure, Work::Payload(*bytes, ms))]
    });
    Arm {
        factor: FACTOR,
        level: level.into(),
        config: Config {
            key: level.into(),
            memory,
            data: DataLayout { files: 1, arrays: 1, size_kb: log_kb },
            log: LogLayout { initial_kb: log_kb, growth_kb: 64 << 10, fill_to_kb: 0, final_kb: log_kb },
            block,
            full_recovery: false,
            customers: 0,
            keep: true,
            commit_memory: false,
            limit_s: 600,
        },
        steps: steps.collect(),
    }
}

fn claims() -> Vec<Claim> {
    let cell = |level: &str, measure: &str| CellRef::new(FACTOR, level, measure);
    let mut claims = Vec::new();
    for (measure, _, small, flag) in PAYLOADS {
        claims.push(Claim {
            group: "Rows with the default against the best column",
            what: measure.into(),
            compare: Compare::ToBest(
                cell(DEFAULT, measure),
                [DEFAULT, SMALL, FLAG].iter().map(|l| cell(l, measure)).collect(),
            ),
            at_least: Some(0.98),
            at_most: None,
            published: Some(small / flag),
            device: None,
        });
    }
    for (measure, _, small, flag) in PAYLOADS {
        claims.push(Claim {
            group: "Rows with 512 forced against 4096, on the model",
            what: measure.into(),
            compare: Compare::Ratio(cell(SMALL, measure), cell(FLAG, measure)),
            at_least: Some(0.15),
            at_most: Some(0.45),
            published: Some(small / flag),
            device: Some("ssd-512e"),
        });
        let reads = format!("{measure}, read-modify-writes");
        claims.push(Claim {
            group: "Read-modify-writes with the default",
            what: reads.clone(),
            compare: Compare::Value(cell(DEFAULT, &reads)),
            at_least: None,
            at_most: Some(0.0),
            published: None,
            device: None,
        });
    }
    claims
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let (ms, log_mb, memory) = match scale {
        Scale::Tiny => (40, 16, 32 << 20),
        Scale::Quick => (120, 96, 256 << 20),
        Scale::Standard => (3_000, 2 << 10, 1 << 30),
        Scale::Paper => (30_000, 12 << 10, 2 << 30),
    };
    let columns =
        [(DEFAULT, LogBlock::Default), (SMALL, LogBlock::Forced(512)), (FLAG, LogBlock::Forced(4096))];
    let mut published = Vec::new();
    for (measure, _, small, flag) in PAYLOADS {
        for (level, value) in [(SMALL, small), (FLAG, flag)] {
            published.push(Published {
                cell: CellRef::new(FACTOR, level, measure),
                printed: Printed::Figure(value, "of the largest"),
            });
        }
    }
    Study {
        name: "log-block-size",
        question: "What does the unit of log writes cost where the device's sector is 4,096 bytes?",
        source: "VMware, \"Enhancing Microsoft SQL Server Performance on VMware Cloud on AWS and VMware vSAN with the SQL Server Trace Flag 1800\", 2021 (normalised rows in 30 s)",
        knob: Knob::LogBlock,
        sizes: format!(
            "rows of {} bytes, each a durable transaction, {} s per payload",
            PAYLOADS.map(|p| p.1.to_string()).join(", "),
            ms as f64 / 1000.0
        ),
        arms: columns.iter().map(|(level, block)| arm(level, *block, ms, log_mb << 10, memory)).collect(),
        baselines: vec![Baseline { factor: FACTOR, to_factor: FACTOR, to_level: FLAG.into() }],
        published,
        claims: claims(),
        needs: Needs {
            disk: 3 * 2 * (log_mb << 20),
            memory: memory + (256 << 20),
            seconds_per_run: 3.0 * (4.0 * ms as f64 / 1000.0 + 0.5),
        },
        total: None,
        models: vec!["ssd-512e"],
    }
}
