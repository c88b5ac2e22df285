//! vlf-count: what 20,000 virtual log files cost instead of 16. The log is made as the author of the published experiment
//! made it: 512 KB to begin with, small steps, a dummy table of char(8000) filled until the log has half its size, then
//! truncation and one expansion.

use crate::frame::{Arm, Baseline, CellRef, Claim, Needs, Printed, Published, Scale, Step, Study};
use crate::work::{Config, DataLayout, Knob, LogBlock, LogLayout, Work};

const FACTOR: &str = "VLFs";
const FEW: &str = "16";

/// Sizes of a scale. Rows and log shrink together; the number of VLFs does not (but for tests).
struct Sizes {
    rows: u64,
    /// VLFs of the many.
    many: u64,
    /// Growth step of that log, KB; two VLFs a step.
    step_kb: u64,
    data_kb: u64,
    memory: u64,
    commit_memory: bool,
}

fn sizes(scale: Scale) -> Sizes {
    let (rows, many, step_kb, data_mb, memory) = match scale {
        Scale::Tiny => (2_000, 400, 128, 16, 64 << 20),
        Scale::Quick => (50_000, 20_000, 128, 512, 1 << 30),
        Scale::Standard => (1_000_000, 20_000, 256, 6 << 10, 4 << 30),
        Scale::Paper => (3_000_000, 20_000, 512, 20 << 10, 8 << 30),
    };
    let commit_memory = matches!(scale, Scale::Standard | Scale::Paper);
    Sizes { rows, many, step_kb, data_kb: data_mb << 10, memory, commit_memory }
}

fn arm(s: &Sizes, level: &str) -> Arm {
    let stepped_kb = s.step_kb * s.many / 2;
    let final_kb = stepped_kb * 2;
    let log = if level == FEW {
        LogLayout { initial_kb: final_kb, growth_kb: final_kb / 16, fill_to_kb: 0, final_kb }
    } else {
        LogLayout { initial_kb: 512, growth_kb: s.step_kb, fill_to_kb: stepped_kb, final_kb }
    };
    Arm {
        factor: FACTOR,
        level: level.into(),
        config: Config {
            key: level.into(),
            memory: s.memory,
            data: DataLayout { files: 1, arrays: 1, size_kb: s.data_kb },
            log,
            block: LogBlock::Default,
            full_recovery: true,
            customers: s.rows,
            keep: true,
            commit_memory: s.commit_memory,
            limit_s: 600,
        },
        steps: vec![
            Step::prepare(Work::MakeCustomer),
            Step::prepare(Work::LogBackup),
            Step::measure("insert", Work::InsertSelect),
            Step::prepare(Work::Checkpoint),
            Step::measure("update", Work::Update),
            Step::prepare(Work::Checkpoint),
            Step::measure("delete", Work::Delete),
            Step::prepare(Work::Checkpoint),
            Step::measure("log backup", Work::LogBackup),
            // The log of one round must fit: it is given back before it is filled again.
            Step::prepare(Work::MakeCustomer),
            Step::prepare(Work::LogBackup),
            Step::measure("recovery", Work::Recovery(s.rows)),
            Step::prepare(Work::LogBackup),
        ],
    }
}

/// The author's seconds: insert, update, delete.
const PUBLISHED: [(&str, f64, f64); 3] =
    [("insert", 281.0, 1069.0), ("update", 174.0, 1554.0), ("delete", 193.0, 936.0)];

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let many = s.many.to_string();
    let cell = |level: &str, measure: &str| CellRef::new(FACTOR, level, measure);
    let seconds = |level: &str, measure: &str, value: f64| Published {
        cell: cell(level, measure),
        printed: Printed::Figure(value, "s"),
    };
    let claims = ["insert", "update", "delete", "recovery", "log backup"].map(|measure| {
        let claim = Claim::at_most(
            "Time with many VLFs against 16",
            measure,
            cell(&many, measure),
            cell(FEW, measure),
            1.03,
        );
        match PUBLISHED.iter().find(|p| p.0 == measure) {
            Some((_, few, many)) => claim.published(many / few),
            None => claim,
        }
    });
    let log_bytes = s.step_kb * s.many * 1024;
    Study {
        name: "vlf-count",
        question: "What do insert, update, delete, log backup and restart recovery cost on a log of 20,000 virtual log files instead of 16?",
        source: "Linchi Shea, \"Performance impact: a large number of virtual log files\", SQL Server 2008",
        knob: Knob::LogPieces,
        sizes: format!(
            "{} customer rows, log {} MB, buffer pool {} MB",
            s.rows,
            log_bytes >> 20,
            s.memory >> 20
        ),
        arms: vec![arm(&s, FEW), arm(&s, &many)],
        baselines: vec![Baseline { factor: FACTOR, to_factor: FACTOR, to_level: FEW.into() }],
        published: PUBLISHED
            .iter()
            .flat_map(|(measure, few, large)| [seconds(FEW, measure, *few), seconds(&many, measure, *large)])
            .collect(),
        claims: claims.into(),
        needs: Needs {
            // Both databases, the rows as text, the run file of the sort that makes the clustered index, and a backup of the
            // log that a round fills (1,600 bytes a row).
            disk: 2 * (log_bytes + (s.data_kb << 10)) + s.rows * 700 + s.rows * 800 + s.rows * 2_000,
            // Besides the buffer pool: that sort, which holds at most 1 GB.
            memory: s.memory + (512 << 20) + (s.rows * 1_000).min(1 << 30),
            seconds_per_run: match scale {
                Scale::Tiny => 2.0,
                Scale::Quick => 9.0,
                Scale::Standard => 30.0,
                Scale::Paper => 120.0,
            },
        },
        total: None,
        models: vec![],
    }
}
