//! The configurations of data-files and what is run on each.

use super::{
    CHECKPOINT, CONNECTIONS, COUNTS, LATER, LOAD, ONE, PAGE, PROCESSOR_COUNTS, PROCESSORS,
    PUBLISHED, SCATTERED, SECOND, SESSION_COUNTS, SESSIONS, SPINDLES, TEST_1, TEST_2, TWO,
    WRITE_SCATTERED,
};
use crate::study::{Arm, ArmDevice, Scale, StudyStep};
use targets::work::{Config, DataLayout, LoadRow, LogBlock, LogLayout, TsqlWork, Work};

/// Levels of files that are added later.
pub(super) const EIGHT: &str = "8 from the start";
pub(super) const ADDED: &str = "1, then 7 added";
const ONLY_ONE: &str = "1 all the time";

pub(super) struct Sizes {
    /// All rows of a load of short ones.
    pub rows: u64,
    /// All rows of a load of one a page.
    pub page_rows: u64,
    pub data_kb: u64,
    pub log_kb: u64,
    pub memory: u64,
    /// Part of the published size.
    pub share: f64,
    /// Pages of the scattered table, and every how many are changed.
    scattered: (u64, u64),
}

pub(super) fn sizes(scale: Scale) -> Sizes {
    // The author: 160 GB of files, 100 GB of rows, an 8 GB log; far more than his memory.
    let (rows, page_rows, data_kb, log_kb, memory, scattered) = match scale {
        Scale::Tiny => (16 * 128, 16 * 64, 64 << 10, 8 << 10, 8 << 20, (240, 6)),
        // Smaller ones measure how long the files' last syncs take.
        Scale::Quick => (110_592, 16_384, 192 << 10, 96 << 10, 32 << 20, (2_400, 6)),
        Scale::Standard => (2_000_000, 250_000, 4 << 20, 256 << 10, 256 << 20, (12_000, 6)),
        Scale::Paper => (100_000_000, 13_107_200, 160 << 20, 8 << 20, 8 << 30, (240_000, 6)),
    };
    let share = data_kb as f64 / f64::from(160 << 20);
    Sizes { rows, page_rows, data_kb, log_kb, memory, share, scattered }
}

fn config(s: &Sizes, key: String, files: u32, arrays: u32) -> Config {
    Config {
        key,
        memory: s.memory,
        data: DataLayout { files, arrays, size_kb: s.data_kb },
        log: LogLayout {
            initial_kb: s.log_kb,
            growth_kb: 64 << 10,
            fill_to_kb: 0,
            final_kb: s.log_kb,
        },
        block: LogBlock::Default,
        full_recovery: false,
        customers: 0,
        keep: false,
        commit_memory: false,
        limit_s: 600,
        processors: None,
    }
}

/// A checkpoint of what a load of quick scale has left dirty is over too soon to be a figure.
fn checkpoint(scale: Scale) -> StudyStep {
    let step = StudyStep::measure(CHECKPOINT, Work::Checkpoint);
    if scale == Scale::Quick { step.only_in_total() } else { step }
}

/// A load of short rows into a heap, and its checkpoint.
fn heap(scale: Scale, s: &Sizes, connections: u32) -> Vec<StudyStep> {
    let each = s.rows / u64::from(connections);
    vec![
        StudyStep::prepare(Work::MakeLoad),
        StudyStep::measure(LOAD, Work::Load(connections, each)),
        checkpoint(scale),
        StudyStep::prepare(Work::CheckLoad(connections, each)),
    ]
}

/// A load of one row a page under a clustered index, and its checkpoint.
fn pages(scale: Scale, s: &Sizes) -> Vec<StudyStep> {
    let each = s.page_rows / u64::from(CONNECTIONS);
    let all = targets::work::loaded(CONNECTIONS, each);
    vec![
        StudyStep::prepare(TsqlWork::MakeRows(LoadRow::Page)),
        StudyStep::measure(LOAD, TsqlWork::InsertRows(LoadRow::Page, CONNECTIONS, each)),
        checkpoint(scale),
        StudyStep::prepare(TsqlWork::CheckRows(all)),
    ]
}

fn arm(factor: &'static str, level: String, config: Config, steps: Vec<StudyStep>) -> Arm {
    Arm { factor, level, config, steps, on: ArmDevice::Any }
}

fn on_real(arm: Arm) -> Arm {
    Arm { on: ArmDevice::Real, ..arm }
}

/// The level of so many files and sessions.
pub(super) fn session_level(files: u32, sessions: u32) -> String {
    format!("{files} {}, {sessions} sessions", if files == 1 { "file" } else { "files" })
}

/// The level of so many files and processors.
pub(super) fn processor_level(files: u32, processors: u32) -> String {
    let name =
        |count: u32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", name(files, "file"), name(processors, "processor"))
}

/// A load into a database that had a load before; more files came between the two, or not.
fn later(s: &Sizes, level: &'static str) -> Arm {
    let each = s.rows / 2 / u64::from(CONNECTIONS);
    let (files, key) = match level {
        EIGHT => (8, "later-eight"),
        ADDED => (1, "later-added"),
        _ => (1, "later-one"),
    };
    let mut steps =
        vec![StudyStep::prepare(Work::MakeLoad), StudyStep::prepare(Work::Load(CONNECTIONS, each))];
    if level == ADDED {
        let each_kb = (s.data_kb / 8).max(4096) / 64 * 64;
        steps.push(StudyStep::prepare(TsqlWork::AddFiles { from: 1, to: 8, arrays: 1, each_kb }));
    }
    steps.push(StudyStep::prepare(Work::Checkpoint));
    steps.push(StudyStep::measure(SECOND, Work::Load(CONNECTIONS, each)));
    let both = targets::work::loaded(CONNECTIONS, each) * 2;
    steps.push(StudyStep::prepare(TsqlWork::CheckRows(both)));
    on_real(arm(LATER, level.into(), config(s, key.into(), files, 1), steps))
}

/// Pages all over a table are changed and written: by how much do eight spindles help, and do
/// files?
fn scattered(s: &Sizes, files: u32, part: &'static str) -> Arm {
    let (pages, step) = s.scattered;
    let key = format!("scattered-{files}-{}", part.replace(' ', "-"));
    // The table stays in memory: writing is what is measured.
    let config = Config {
        memory: s.memory.max((pages * 8192 * 2).next_multiple_of(1 << 20)),
        ..config(s, key, files, 1)
    };
    let scatter = TsqlWork::Scatter { pages, step };
    Arm {
        on: ArmDevice::Own(SPINDLES, part),
        ..arm(
            SCATTERED,
            format!("{files} {}, {part}", if files == 1 { "file" } else { "files" }),
            config,
            vec![
                StudyStep::prepare(TsqlWork::MakeScattered(pages)),
                StudyStep::prepare(scatter.clone()),
                StudyStep::measure(WRITE_SCATTERED, Work::Checkpoint)
                    .repeated(super::super::LEAST, vec![scatter.into()]),
            ],
        )
    }
}

pub(super) fn arms(scale: Scale) -> Vec<Arm> {
    let s = sizes(scale);
    let mut arms = Vec::new();
    for (arrays, factor) in [(1, ONE), (2, TWO)] {
        arms.extend(COUNTS.map(|files| {
            let config = config(&s, format!("{files}-on-{arrays}"), files, arrays);
            arm(factor, files.to_string(), config, heap(scale, &s, CONNECTIONS))
        }));
    }
    if scale == Scale::Quick {
        return arms;
    }
    for files in [1, 8] {
        let config = config(&s, format!("page-{files}"), files, 1);
        arms.push(on_real(arm(PAGE, files.to_string(), config, pages(scale, &s))));
    }
    for (factor, part, arrays) in [(TEST_1, "one array", 1), (TEST_2, "two arrays", 2)] {
        arms.extend(COUNTS.map(|files| {
            let config = config(&s, format!("test-{arrays}-{files}"), files, arrays);
            let arm = arm(factor, files.to_string(), config, pages(scale, &s));
            Arm { on: ArmDevice::Own(PUBLISHED, part), ..arm }
        }));
    }
    arms.extend([ONLY_ONE, EIGHT, ADDED].map(|level| later(&s, level)));
    for sessions in SESSION_COUNTS {
        arms.extend([1, 8].map(|files| {
            let config = config(&s, format!("sessions-{sessions}-{files}"), files, 1);
            on_real(arm(
                SESSIONS,
                session_level(files, sessions),
                config,
                heap(scale, &s, sessions),
            ))
        }));
    }
    for processors in PROCESSOR_COUNTS {
        arms.extend([1, 8].map(|files| {
            let config = Config {
                processors: Some(processors),
                ..config(&s, format!("processors-{processors}-{files}"), files, 1)
            };
            let level = processor_level(files, processors);
            on_real(arm(PROCESSORS, level, config, heap(scale, &s, CONNECTIONS)))
        }));
    }
    for part in ["one spindle", "eight spindles"] {
        arms.extend([1, 8].map(|files| scattered(&s, files, part)));
    }
    arms
}
