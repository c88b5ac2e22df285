//! log-growth: a log that grows by 1 MB against one that grows by 1,024 MB: the growing itself and
//! what DBCC LOGINFO lists before and after it, 80,000 updates of one 8,000-byte row on the grown
//! log and while it grows, growing and updating together, the backup of the log and the full backup
//! before it. The author names a second way, the SIMPLE recovery model with a transaction that
//! holds the log: it is measured beside.

use super::size_name;
use crate::study::{
    Arm, ArmDevice, Baseline, CellRef, Claim, PrintedFigure, PublishedFigure, Scale, Study,
    StudyNeeds, StudyStep,
};
use targets::work::{Config, DataLayout, Knob, LogBlock, LogLayout, TsqlWork, Work};

const FACTOR: &str = "growth step";
const BEFORE: &str = "VLFs before growing";
const AFTER: &str = "VLFs after growing";
const GROWING: &str = "growing";
const PREGROWN: &str = "updates, pre-grown";
const AUTOGROW: &str = "updates, autogrow";
const SIMPLE: &str = "updates, pre-grown, SIMPLE";
const TOGETHER: &str = "growing and updates";
const BACKUP: &str = "log backup";
const FULL: &str = "full backup";

/// How a log of an arm comes to its size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogOrigin {
    Pregrown,
    Autogrow,
    Simple,
}

struct Sizes {
    small_kb: u64,
    large_kb: u64,
    to_kb: u64,
    updates: u64,
    data_kb: u64,
    memory: u64,
}

fn sizes(scale: Scale) -> Sizes {
    // The log is grown to more than twice what the updates write, as a rollback may need as much
    // again: else the updates would grow it once more, by a small step here and a large one there.
    // The author: FILEGROWTH 1024KB and 1024000KB, a log of 2,048 MB, 80,000 updates, 1.5 GB of
    // memory.
    let (small_kb, large_kb, to_kb, updates, data_kb, memory) = match scale {
        Scale::Tiny => (128, 4 << 10, 8 << 10, 200, 16 << 10, 32 << 20),
        // The growing alone takes 0.3 s.
        Scale::Quick => (512, 128_000, 512 << 10, 25_000, 64 << 10, 128 << 20),
        Scale::Standard => (512, 512_000, 1 << 20, 50_000, 512 << 10, 512 << 20),
        Scale::Paper => (1024, 1_024_000, 2_048_000, 80_000, 5_120_000, 1 << 30),
    };
    Sizes { small_kb, large_kb, to_kb, updates, data_kb, memory }
}

fn steps(s: &Sizes, step_kb: u64, how: LogOrigin) -> Vec<StudyStep> {
    let wide = StudyStep::prepare(Work::MakeWide);
    match how {
        LogOrigin::Pregrown => vec![
            StudyStep::measure(BEFORE, TsqlWork::CountVlfs),
            StudyStep::measure(GROWING, Work::GrowLog { step_kb, to_kb: s.to_kb }),
            StudyStep::measure(AFTER, TsqlWork::CountVlfs),
            wide,
            StudyStep::measure(FULL, TsqlWork::FullBackup),
            StudyStep::measure(PREGROWN, Work::RowUpdates(s.updates)),
            StudyStep::measure(BACKUP, Work::LogBackup),
        ],
        LogOrigin::Autogrow => {
            vec![wide, StudyStep::measure(AUTOGROW, Work::RowUpdates(s.updates))]
        }
        LogOrigin::Simple => vec![
            StudyStep::prepare(Work::GrowLog { step_kb, to_kb: s.to_kb }),
            wide,
            StudyStep::measure(SIMPLE, TsqlWork::HeldRowUpdates(s.updates)),
        ],
    }
}

fn arm(s: &Sizes, step_kb: u64, how: LogOrigin) -> Arm {
    let level = size_name(step_kb);
    let name = match how {
        LogOrigin::Pregrown => "pregrown",
        LogOrigin::Autogrow => "autogrow",
        LogOrigin::Simple => "simple",
    };
    Arm {
        factor: FACTOR,
        config: Config {
            key: format!("{name}-{}", level.replace(' ', "")),
            memory: s.memory,
            data: DataLayout { files: 1, arrays: 1, size_kb: s.data_kb },
            log: LogLayout { initial_kb: 1024, growth_kb: step_kb, fill_to_kb: 0, final_kb: 0 },
            block: LogBlock::Default,
            full_recovery: how != LogOrigin::Simple,
            customers: 0,
            keep: false,
            commit_memory: false,
            limit_s: 600,
            processors: None,
        },
        level,
        steps: steps(s, step_kb, how),
        on: ArmDevice::Any,
    }
}

fn claims(small: &str, large: &str) -> Vec<Claim> {
    let cell = |level: &str, measure: &str| CellRef::new(FACTOR, level, measure);
    let claim = |measure: &str, bound| {
        let group = "Time with small steps against large ones";
        Claim::at_most(group, measure, cell(small, measure), cell(large, measure), bound)
    };
    vec![
        claim(GROWING, 1.10).published(1.7),
        claim(PREGROWN, 1.03),
        claim(AUTOGROW, 1.05),
        claim(TOGETHER, 1.08),
        claim(SIMPLE, 1.03),
        claim(BACKUP, 1.05).published(2.0),
    ]
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let (small, large) = (size_name(s.small_kb), size_name(s.large_kb));
    let cell = |level: &str, measure: &str| CellRef::new(FACTOR, level, measure);
    let ratio = |measure: &str, value| PublishedFigure {
        cell: cell(&small, measure),
        printed: PrintedFigure::Ratio(value),
        device: None,
    };
    let mut published = vec![ratio(GROWING, 1.7), ratio(BACKUP, 2.0)];
    if scale == Scale::Paper {
        // What he counted after growing, at his own sizes.
        published.extend([(&small, 8_000.0), (&large, 20.0)].map(|(level, vlfs)| {
            PublishedFigure {
                cell: cell(level, AFTER),
                printed: PrintedFigure::Figure(vlfs, "VLFs"),
                device: None,
            }
        }));
    }
    let how = if scale == Scale::Quick {
        vec![LogOrigin::Pregrown, LogOrigin::Autogrow]
    } else {
        vec![LogOrigin::Pregrown, LogOrigin::Autogrow, LogOrigin::Simple]
    };
    let mut claims = claims(&small, &large);
    claims.retain(|c| scale != Scale::Quick || c.what != SIMPLE);
    Study {
        name: "log-growth",
        question: "What do small growth steps of the log cost: while it grows, in 80,000 updates, and in a log backup?",
        source: "Ezequiel, \"Can log files growth affect DML?\", SQL Server 2008 SP1 (steps of 1 MB and 1,000 MB; ratios are what his text says)",
        knob: Knob::LogGrowth,
        sizes: format!(
            "log of {} MB by steps of {small} and {large}, {} updates of one 8,000-byte row in one transaction, full recovery model unless said",
            s.to_kb >> 10,
            s.updates
        ),
        arms: how
            .iter()
            .flat_map(|how| [arm(&s, s.small_kb, *how), arm(&s, s.large_kb, *how)])
            .collect(),
        baselines: vec![Baseline { factor: FACTOR, to_factor: FACTOR, to_level: large.clone() }],
        published,
        published_waits: vec![],
        claims,
        checks: vec![],
        needs: StudyNeeds {
            disk: (s.data_kb << 10) + 3 * (s.to_kb << 10),
            memory: s.memory + (256 << 20),
            seconds_per_run: match scale {
                Scale::Tiny => 1.0,
                Scale::Quick => 5.0,
                Scale::Standard => 25.0,
                Scale::Paper => 80.0,
            },
        },
        normalised: None,
        total: Some((TOGETHER, vec![GROWING, PREGROWN])),
        share: 1.0,
        models: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log bytes of one update at most; 8,297 to 8,402 were measured.
    const UPDATE: u64 = 8_500;

    #[test]
    fn updates_on_the_grown_log_do_not_grow_it() {
        for scale in [Scale::Tiny, Scale::Quick, Scale::Standard, Scale::Paper] {
            let s = sizes(scale);
            assert!(
                2 * s.updates * UPDATE < s.to_kb << 10,
                "{} updates in {} KB",
                s.updates,
                s.to_kb
            );
        }
    }
}
