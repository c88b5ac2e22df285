//! log-block-size: durable one-row inserts of four payload classes with the log's write unit as the
//! engine chooses it, forced to 512 bytes, forced to 4,096, and by trace flag 1800 as the author
//! set it. On a device that writes whole 4,096-byte sectors a smaller or shifted write makes it
//! read first. The author's device hid that: it reported 512. So the study runs on a model that
//! reports its sectors and on one that hides them, and on devices whose sectors really have 512
//! bytes, where blocks of 4,096 cost something.

use crate::study::{
    Arm, ArmDevice, Baseline, CellRef, Claim, Compare, CounterFigure, Normalised, OF_THE_LARGEST,
    PrintedFigure, PublishedFigure, Scale, Study, StudyNeeds, StudyStep,
};
use targets::work::{Config, DataLayout, Knob, LogBlock, LogLayout, TsqlWork, Work};

const FACTOR: &str = "log block";
/// The author's table: each cell over the largest.
const TABLE: &str = "log block, rows over the largest";
const DEFAULT: &str = "default";
const SMALL: &str = "512";
const LARGE: &str = "4096";
const FLAG: &str = "-T1800";
/// A commit of 100 bytes: what many applications write.
const TINY: (&str, u32) = ("payload of 100 bytes", 100);

/// A class of payload.
struct Class {
    /// The measure of the size that stands for it.
    name: &'static str,
    /// That size (the first is the author's script), and two more of the class.
    bytes: u32,
    more: [(&'static str, u32); 2],
    /// Measure of the sizes of its log writes.
    writes: &'static str,
    /// Measure of the same writes without an engine.
    raw: &'static str,
    /// The author's rows over the largest, with 512 and with the flag.
    small: f64,
    large: f64,
}

const CLASSES: [Class; 4] = [
    Class {
        name: "payload < 4096",
        bytes: 4_000,
        more: [("payload < 4096, 1000 bytes", 1_000), ("payload < 4096, 2500 bytes", 2_500)],
        writes: "log writes of payload < 4096",
        raw: "log writes alone, payload < 4096",
        small: 0.30,
        large: 1.00,
    },
    Class {
        name: "payload 4096..8192",
        bytes: 6_144,
        more: [
            ("payload 4096..8192, 4608 bytes", 4_608),
            ("payload 4096..8192, 7680 bytes", 7_680),
        ],
        writes: "log writes of payload 4096..8192",
        raw: "log writes alone, payload 4096..8192",
        small: 0.28,
        large: 0.91,
    },
    Class {
        name: "payload 8192..16384",
        bytes: 12_288,
        more: [
            ("payload 8192..16384, 9216 bytes", 9_216),
            ("payload 8192..16384, 15360 bytes", 15_360),
        ],
        writes: "log writes of payload 8192..16384",
        raw: "log writes alone, payload 8192..16384",
        small: 0.27,
        large: 0.78,
    },
    Class {
        name: "payload 16384..32768",
        bytes: 24_576,
        more: [
            ("payload 16384..32768, 18432 bytes", 18_432),
            ("payload 16384..32768, 30720 bytes", 30_720),
        ],
        writes: "log writes of payload 16384..32768",
        raw: "log writes alone, payload 16384..32768",
        small: 0.25,
        large: 0.74,
    },
];

/// The device that reports its sectors of 4,096 bytes, the one that hides them as the author's did,
/// and those that have none.
const REPORTS: &str = "ssd-512e";
const HIDES: &str = "ssd-4k-hidden";
const HONEST_512: [&str; 2] = ["ssd-512n", "hdd-7200"];
const WITH_4096: [&str; 2] = [REPORTS, HIDES];
const WHOLE_SECTORS: [&str; 3] = ["real", REPORTS, HIDES];
/// A session that commits one row after the other makes at least this part of the log writes that
/// its device can make one after the other without an engine. Each row is one write.
const LEAST_OF_RAW: f64 = 0.5;

struct Sizes {
    ms: u64,
    log_mb: u64,
    memory: u64,
    /// All sizes of a class, write sizes, the flag, and small commits; else the classes alone.
    whole: bool,
}

fn sizes(scale: Scale) -> Sizes {
    let (ms, log_mb, memory) = match scale {
        Scale::Tiny => (30, 16, 32 << 20),
        Scale::Quick => ((super::LEAST * 1000.0) as u64, 96, 256 << 20),
        Scale::Standard => (1_000, 1 << 10, 1 << 30),
        Scale::Paper => (30_000, 12 << 10, 2 << 30),
    };
    Sizes { ms, log_mb, memory, whole: scale != Scale::Quick }
}

fn levels(s: &Sizes) -> Vec<(&'static str, LogBlock)> {
    let mut levels = vec![
        (DEFAULT, LogBlock::Default),
        (SMALL, LogBlock::Forced(512)),
        (LARGE, LogBlock::Forced(4096)),
    ];
    if s.whole {
        levels.push((FLAG, LogBlock::Flag1800));
    }
    levels
}

/// The rows of one size, and how large their writes are.
fn rows(s: &Sizes, measure: &'static str, bytes: u32) -> Vec<StudyStep> {
    let counts = [CounterFigure::ReadModifyWrites, CounterFigure::BytesPerLogWrite];
    vec![
        StudyStep::prepare(Work::MakePayload),
        StudyStep::measure(measure, Work::Payload(bytes, s.ms)).counting(&counts),
    ]
}

fn arm(s: &Sizes, level: &'static str, block: LogBlock) -> Arm {
    let mut steps = Vec::new();
    for class in &CLASSES {
        steps.extend(rows(s, class.name, class.bytes));
        if level == DEFAULT {
            steps.push(StudyStep::measure(class.raw, Work::RawWrites));
        }
        if s.whole {
            steps.push(StudyStep::measure(class.writes, TsqlWork::WriteSizes(class.bytes)));
            steps.extend(class.more.iter().flat_map(|(measure, bytes)| rows(s, measure, *bytes)));
        }
    }
    if s.whole {
        steps.extend(rows(s, TINY.0, TINY.1));
    }
    Arm {
        factor: FACTOR,
        level: level.into(),
        config: Config {
            key: level.replace('-', ""),
            memory: s.memory,
            data: DataLayout { files: 1, arrays: 1, size_kb: s.log_mb << 10 },
            log: LogLayout {
                initial_kb: s.log_mb << 10,
                growth_kb: 64 << 10,
                fill_to_kb: 0,
                final_kb: s.log_mb << 10,
            },
            block,
            full_recovery: false,
            customers: 0,
            keep: true,
            commit_memory: false,
            limit_s: 600,
            processors: None,
        },
        steps,
        on: ArmDevice::Any,
    }
}

fn cell(level: &str, measure: &str) -> CellRef {
    CellRef::new(FACTOR, level, measure)
}

fn ratio(group: &'static str, what: &str, above: CellRef, below: CellRef) -> Claim {
    Claim::at_most(group, what, above, below, 0.0).unbounded()
}

/// The default against the best column, and what it makes the device do.
fn of_the_default() -> Vec<Claim> {
    let mut claims = Vec::new();
    for class in &CLASSES {
        let all = [DEFAULT, SMALL, LARGE].iter().map(|l| cell(l, class.name)).collect();
        claims.push(Claim {
            compare: Compare::ToBest(cell(DEFAULT, class.name), all),
            at_least: Some(0.98),
            devices: &WHOLE_SECTORS,
            ..ratio(
                "Rows with the default against the best column",
                class.name,
                cell(DEFAULT, class.name),
                cell(LARGE, class.name),
            )
        });
    }
    for class in &CLASSES {
        let reads = format!("{}, read-modify-writes", class.name);
        claims.push(Claim {
            compare: Compare::Every(cell(DEFAULT, &reads)),
            at_most: Some(0.0),
            ..ratio(
                "Read-modify-writes with the default",
                &reads,
                cell(DEFAULT, &reads),
                cell(DEFAULT, &reads),
            )
        });
    }
    claims
}

/// 512 against 4,096. On a model of such sectors the bound is one of the model, which was made to
/// have the author's ratio, and not of the engine: it says that the model still has it.
fn of_the_model() -> Vec<Claim> {
    let forced = "Rows with blocks of 512 bytes against 4,096, on a model of 4,096-byte sectors (a test of the model)";
    let claim = |class: &Class| Claim {
        at_least: Some(0.15),
        at_most: Some(0.45),
        published: Some(class.small / class.large),
        devices: &WITH_4096,
        ..ratio(forced, class.name, cell(SMALL, class.name), cell(LARGE, class.name))
    };
    CLASSES.iter().map(claim).collect()
}

/// His decline over the payloads, beside ours: less of it means that more of a commit's time does
/// not depend on its size. It is bounded by what the same device does with the same writes and no
/// engine, whatever that device is.
fn of_the_decline() -> Vec<Claim> {
    let mut claims = Vec::new();
    for class in &CLASSES[1..] {
        for (group, level, small, large) in [
            (
                "Rows against those of the smallest payload, 512",
                SMALL,
                class.small,
                CLASSES[0].small,
            ),
            (
                "Rows against those of the smallest payload, 4096",
                LARGE,
                class.large,
                CLASSES[0].large,
            ),
        ] {
            let claim =
                ratio(group, class.name, cell(level, class.name), cell(level, CLASSES[0].name));
            claims.push(claim.published(small / large));
        }
    }
    for class in &CLASSES {
        let alone = format!("{}, {}", class.raw, crate::raw::RATE);
        claims.push(Claim {
            at_least: Some(LEAST_OF_RAW),
            ..ratio(
                "Rows a second against as large log writes a second without an engine",
                class.name,
                cell(DEFAULT, class.name),
                cell(DEFAULT, &alone),
            )
        });
    }
    claims
}

/// What the default costs where nothing of it is needed: no bound, the price is what it is.
fn of_small_sectors() -> Vec<Claim> {
    let mut claims = Vec::new();
    for measure in CLASSES.iter().map(|c| c.name).chain([TINY.0]) {
        let group = "Rows with the default against 512, on devices of 512-byte sectors";
        claims.push(
            ratio(group, measure, cell(DEFAULT, measure), cell(SMALL, measure)).on(&HONEST_512),
        );
        let bytes = format!("{measure}, bytes per log write");
        let group =
            "Bytes of a log write with the default against 512, on devices of 512-byte sectors";
        claims.push(
            ratio(group, measure, cell(DEFAULT, &bytes), cell(SMALL, &bytes)).on(&HONEST_512),
        );
    }
    claims
}

fn claims(s: &Sizes) -> Vec<Claim> {
    let mut claims = of_the_default();
    claims.extend(of_the_model());
    claims.extend(of_the_decline());
    if s.whole {
        claims.extend(of_small_sectors());
    }
    claims
}

/// His table beside ours: the unit is the same.
fn published(s: &Sizes) -> Vec<PublishedFigure> {
    let flag = if s.whole { FLAG } else { LARGE };
    let cells = CLASSES.iter().flat_map(|c| [(SMALL, c.name, c.small), (flag, c.name, c.large)]);
    cells
        .map(|(level, measure, value)| PublishedFigure {
            cell: CellRef::new(TABLE, level, measure),
            printed: PrintedFigure::Figure(value, OF_THE_LARGEST),
            device: None,
        })
        .collect()
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let arms: Vec<Arm> =
        levels(&s).into_iter().map(|(level, block)| arm(&s, level, block)).collect();
    let steps = arms[0].steps.iter().filter(|step| step.measure.is_some()).count();
    let baseline = |factor| Baseline { factor, to_factor: factor, to_level: LARGE.into() };
    Study {
        name: "log-block-size",
        question: "What does the unit of log writes cost where the device's sector is 4,096 bytes?",
        source: "VMware, \"Enhancing Microsoft SQL Server Performance on VMware Cloud on AWS and VMware vSAN with the SQL Server Trace Flag 1800\", 2021 (rows in 30 s over the largest)",
        knob: Knob::LogBlock,
        sizes: format!(
            "rows of {} bytes{}, each a durable transaction, {} s per payload",
            CLASSES.iter().map(|c| c.bytes.to_string()).collect::<Vec<_>>().join(", "),
            if s.whole { " and two more sizes of each class" } else { "" },
            s.ms as f64 / 1000.0
        ),
        baselines: vec![baseline(FACTOR), baseline(TABLE)],
        published: published(&s),
        published_waits: vec![],
        claims: claims(&s),
        checks: vec![],
        needs: StudyNeeds {
            disk: arms.len() as u64 * 2 * (s.log_mb << 20),
            memory: s.memory + (256 << 20),
            seconds_per_run: arms.len() as f64 * (steps as f64 * s.ms as f64 / 1000.0 + 0.5),
        },
        arms,
        normalised: Some(Normalised {
            factor: FACTOR,
            measures: CLASSES.iter().map(|c| c.name).collect(),
            as_factor: TABLE,
        }),
        total: None,
        share: 1.0,
        models: match scale {
            // The disk that is there stands for the one that reports: 0.3 s a payload add up.
            Scale::Quick => vec![HIDES],
            Scale::Tiny => vec![REPORTS, HIDES, HONEST_512[0]],
            Scale::Standard | Scale::Paper => vec![REPORTS, HIDES, HONEST_512[0], HONEST_512[1]],
        },
    }
}
