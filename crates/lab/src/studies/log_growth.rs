//! log-growth: a log that grows by 1 MB against one that grows by 1,024 MB: the growing itself, 80,000 updates of one
//! 8,000-byte row on the grown log and while it grows, and the backup of the log.

use super::size_name;
use crate::frame::{Arm, Baseline, CellRef, Claim, Needs, Printed, Published, Scale, Step, Study};
use crate::work::{Config, DataLayout, Knob, LogBlock, LogLayout, Work};

const FACTOR: &str = "growth step";
const GROWING: &str = "growing";
const PREGROWN: &str = "updates, pre-grown";
const AUTOGROW: &str = "updates, autogrow";
const BACKUP: &str = "log backup";

struct Sizes {
    small_kb: u64,
    large_kb: u64,
    to_kb: u64,
    updates: u64,
    data_kb: u64,
    memory: u64,
}

fn sizes(scale: Scale) -> Sizes {
    // The author: FILEGROWTH 1024KB and 1024000KB, a log of 2,048 MB, 80,000 updates, 1.5 GB of memory.
    let (small_kb, large_kb, to_kb, updates, data_kb, memory) = match scale {
        Scale::Tiny => (128, 4 << 10, 8 << 10, 200, 16 << 10, 32 << 20),
        Scale::Quick => (128, 64_000, 128 << 10, 5_000, 64 << 10, 128 << 20),
        Scale::Standard => (512, 512_000, 1 << 20, 40_000, 512 << 10, 512 << 20),
        Scale::Paper => (1024, 1_024_000, 2 << 20, 80_000, 5_120_000, 1 << 30),
    };
    Sizes { small_kb, large_kb, to_kb, updates, data_kb, memory }
}

fn arm(s: &Sizes, step_kb: u64, pre_grown: bool) -> Arm {
    let level = size_name(step_kb);
    let key = format!("{}-{}", if pre_grown { "pregrown" } else { "autogrow" }, level.replace(' ', ""));
    let steps = if pre_grown {
        vec![
            Step::measure(GROWING, Work::GrowLog { step_kb, to_kb: s.to_kb }),
            Step::prepare(Work::MakeWide),
            Step::measure(PREGROWN, Work::RowUpdates(s.updates)),
            Step::measure(BACKUP, Work::LogBackup),
        ]
    } else {
        vec![Step::prepare(Work::MakeWide), Step::measure(AUTOGROW, Work::RowUpdates(s.updates))]
    };
    Arm {
        factor: FACTOR,
        level,
        config: Config {
            key,
            memory: s.memory,
            data: DataLayout { files: 1, arrays: 1, size_kb: s.data_kb },
            log: LogLayout { initial_kb: 1024, growth_kb: step_kb, fill_to_kb: 0, final_kb: 0 },
            block: LogBlock::Default,
            full_recovery: true,
            customers: 0,
            keep: false,
            commit_memory: false,
            limit_s: 600,
        },
        steps,
    }
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let (small, large) = (size_name(s.small_kb), size_name(s.large_kb));
    let cell = |level: &str, measure: &str| CellRef::new(FACTOR, level, measure);
    let claim = |measure: &str, bound| {
        Claim::at_most(
            "Time with small steps against large ones",
            measure,
            cell(&small, measure),
            cell(&large, measure),
            bound,
        )
    };
    let ratio =
        |measure: &str, value| Published { cell: cell(&small, measure), printed: Printed::Ratio(value) };
    Study {
        name: "log-growth",
        question: "What do small growth steps of the log cost: while it grows, in 80,000 updates, and in a log backup?",
        source: "Ezequiel, \"Can log files growth affect DML?\", SQL Server 2008 SP1 (steps of 1 MB and 1,024 MB; ratios are what his text says)",
        knob: Knob::LogGrowth,
        sizes: format!(
            "log of {} MB by steps of {small} and {large}, {} updates of one 8,000-byte row in one transaction, full recovery model",
            s.to_kb >> 10,
            s.updates
        ),
        arms: vec![
            arm(&s, s.small_kb, true),
            arm(&s, s.large_kb, true),
            arm(&s, s.small_kb, false),
            arm(&s, s.large_kb, false),
        ],
        baselines: vec![Baseline { factor: FACTOR, to_factor: FACTOR, to_level: large.clone() }],
        published: vec![ratio(GROWING, 1.7), ratio(BACKUP, 2.0)],
        claims: vec![
            claim(GROWING, 1.10).published(1.7),
            claim(PREGROWN, 1.03),
            claim(AUTOGROW, 1.05),
            claim(BACKUP, 1.05).published(2.0),
        ],
        needs: Needs {
            disk: (s.data_kb << 10) + 3 * (s.to_kb << 10),
            memory: s.memory + (256 << 20),
            seconds_per_run: match scale {
                Scale::Tiny => 1.0,
                Scale::Quick => 4.0,
                Scale::Standard => 20.0,
                Scale::Paper => 60.0,
            },
        },
        total: None,
        models: vec![],
    }
}
