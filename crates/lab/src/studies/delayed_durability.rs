//! delayed-durability: 50,000 one-row inserts as one transaction, as durable commits and as delayed
//! ones. Beside them the same log writes without an engine, what many sessions make of durable and
//! delayed commits, what is lost when the process ends, when the power fails or the operating
//! system stops under 64 sessions, and the author's single disk as a model: one that keeps its
//! word, and one that answers from its cache.

use crate::study::{
    Arm, ArmDevice, Baseline, CellRef, Claim, Compare, PrintedFigure, PublishedFigure, Scale,
    Study, StudyNeeds, StudyStep,
};
use targets::work::{
    Config, DataLayout, Durability, Knob, LogBlock, LogLayout, Outage, ProcessEnd, TsqlWork, Work,
};

const FACTOR: &str = "commits";
const SESSIONS: &str = "sessions";
const DELAYED_SESSIONS: &str = "delayed sessions";
const LOSS: &str = "end of the process";
const OUTAGE: &str = "outage under 64 sessions";
const DISK: &str = "commits on one disk";
const ONE: &str = "one transaction";
const DURABLE: &str = "per row, durable";
const DELAYED: &str = "per row, delayed";
const RAW: &str = "raw write + fdatasync";
const ROWS: &str = "one-row inserts";
const COMMITS: &str = "durable commits";
const DELAYED_COMMITS: &str = "delayed commits";
const MISSING: &str = "missing of the acknowledged";
const RATE: &str = "one-row inserts a second";
/// The author's single disk: it writes what it calls durable; it answers from its cache.
const HONEST: &str = "hdd-7200";
const CACHED: &str = "hdd-7200-cache";
/// The author's seconds for 50,000 rows.
const PUBLISHED: [(&str, f64); 3] = [(ONE, 0.3), (DURABLE, 12.0), (DELAYED, 1.2)];
const PUBLISHED_ROWS: f64 = 50_000.0;
/// Commits a second that a disk of 7,200 revolutions a minute can make durable one after the other:
/// one a revolution, and a little for the first and last of a run.
const REVOLUTIONS: f64 = 7_200.0 / 60.0 * 1.02;
/// Bytes of a row of `one_row`: each takes at least as much of the window.
const ROW_BYTES: u32 = 104;

/// How the process ends: level, window in KB, end.
static ENDS: [(&str, u32, ProcessEnd); 5] = [
    ("kill, window 60 KB", 60, ProcessEnd::Kill),
    ("kill, window 240 KB", 240, ProcessEnd::Kill),
    ("kill, window 960 KB", 960, ProcessEnd::Kill),
    ("kill after sp_flush_log", 240, ProcessEnd::FlushThenKill),
    ("clean stop", 240, ProcessEnd::Stop),
];

/// What ends under 64 sessions, at random moments: level, window in KB, outage.
static OUTAGES: [(&str, Option<u32>, Outage); 6] = [
    ("power failure, durable", None, Outage::Power),
    ("power failure, window 60 KB", Some(60), Outage::Power),
    ("power failure, window 240 KB", Some(240), Outage::Power),
    ("stop of the system, durable", None, Outage::System),
    ("stop of the system, window 60 KB", Some(60), Outage::System),
    ("stop of the system, window 240 KB", Some(240), Outage::System),
];

/// The ends of the process that a scale measures.
fn ends(scale: Scale) -> impl Iterator<Item = &'static (&'static str, u32, ProcessEnd)> {
    ENDS.iter().filter(move |e| scale != Scale::Quick || e.1 == 240)
}

/// The outages that a scale measures.
fn outages(scale: Scale) -> impl Iterator<Item = &'static (&'static str, Option<u32>, Outage)> {
    OUTAGES.iter().filter(move |o| scale != Scale::Quick || o.1 != Some(60))
}

struct Sizes {
    rows: u64,
    /// Commits of one session alone, of each of 64, and of each when they are delayed.
    alone: u64,
    each: u64,
    delayed_each: u64,
    /// Rows that are acknowledged before the process ends.
    lost_of: u64,
    /// Random moments of an outage in each run.
    moments: u32,
    /// Milliseconds of the rates on one disk.
    ms: u64,
    least: f64,
    data_kb: u64,
    log_kb: u64,
}

fn sizes(scale: Scale) -> Sizes {
    let (rows, alone, each, delayed_each, lost_of, ms) = match scale {
        // More rows than the smallest window holds.
        Scale::Tiny => (100, 50, 5, 20, 1_500, 100),
        Scale::Quick => (5_000, 5_000, 400, 2_000, 20_000, 500),
        Scale::Standard | Scale::Paper => (50_000, 20_000, 2_000, 20_000, 50_000, 3_000),
    };
    let least = if scale == Scale::Tiny { 0.0 } else { super::LEAST };
    let moments = match scale {
        Scale::Tiny => 2,
        Scale::Quick => 3,
        Scale::Standard | Scale::Paper => 20,
    };
    // Each database's files stay larger than the rows.
    let (data_kb, log_kb) =
        if scale == Scale::Tiny { (8 << 10, 16 << 10) } else { (64 << 10, 128 << 10) };
    Sizes { rows, alone, each, delayed_each, lost_of, moments, ms, least, data_kb, log_kb }
}

fn key(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn arm(s: &Sizes, factor: &'static str, level: &str, steps: Vec<StudyStep>) -> Arm {
    Arm {
        factor,
        level: level.into(),
        config: Config {
            key: key(&format!("{factor}-{level}")),
            memory: 256 << 20,
            data: DataLayout { files: 1, arrays: 1, size_kb: s.data_kb },
            log: LogLayout {
                initial_kb: s.log_kb,
                growth_kb: 64 << 10,
                fill_to_kb: 0,
                final_kb: s.log_kb,
            },
            block: LogBlock::Default,
            full_recovery: false,
            customers: 0,
            keep: true,
            commit_memory: false,
            limit_s: 600,
            processors: None,
        },
        steps: [vec![StudyStep::prepare(Work::MakeOneRow)], steps].concat(),
        on: ArmDevice::Any,
    }
}

/// The processes that end: a table for each.
fn loss(s: &Sizes, scale: Scale) -> Arm {
    let steps = ends(scale).flat_map(|(level, window_kb, end)| {
        let work = TsqlWork::Loss { rows: s.lost_of, window_kb: *window_kb, end: *end };
        [StudyStep::prepare(Work::MakeOneRow), StudyStep::measure(MISSING, work).at_level(level)]
    });
    let arm = arm(s, LOSS, "loss", steps.collect());
    // Only here the process can be killed.
    Arm { on: ArmDevice::Real, ..arm }
}

/// The power and the operating system, at moments that nobody chose.
fn outage(s: &Sizes, scale: Scale) -> Arm {
    let steps = outages(scale).map(|(level, window_kb, outage)| {
        let (moments, window_kb, outage) = (s.moments, *window_kb, *outage);
        StudyStep::measure(MISSING, TsqlWork::Outage { sessions: 64, moments, window_kb, outage })
            .at_level(level)
    });
    let arm = arm(s, OUTAGE, "outage", steps.collect());
    // Its disk is simulated, whatever the device.
    Arm { on: ArmDevice::Real, ..arm }
}

/// Rates on the author's single disk.
fn one_disk(s: &Sizes, device: &'static str) -> Vec<Arm> {
    let commits = |durability| TsqlWork::CommitsFor(s.ms, durability);
    let works = [
        (ONE, TsqlWork::InsertsFor(s.ms)),
        (DURABLE, commits(Durability::Full)),
        (DELAYED, commits(Durability::Delayed)),
    ];
    let arms = works.into_iter().map(|(level, work)| {
        let mut arm = arm(s, DISK, level, vec![StudyStep::measure(RATE, work)]);
        arm.config.key = format!("{}-{}", device, key(level));
        // A slow disk takes long to make a large log.
        (arm.config.log.initial_kb, arm.config.log.final_kb) = (16 << 10, 16 << 10);
        (arm.config.data.size_kb, arm.on) = (16 << 10, ArmDevice::Own(device, ""));
        arm
    });
    arms.collect()
}

fn arms(s: &Sizes, scale: Scale) -> Vec<Arm> {
    let measured = |work: Work| StudyStep::measure(ROWS, work).repeated(s.least, vec![]);
    let commits = |work: Work| StudyStep::measure(COMMITS, work).repeated(s.least, vec![]);
    let delayed = |count, each| {
        let work = TsqlWork::Sessions(count, each, Durability::Delayed);
        StudyStep::measure(DELAYED_COMMITS, work).repeated(s.least, vec![])
    };
    let mut arms = vec![
        arm(s, FACTOR, ONE, vec![measured(Work::LoopInserts(s.rows))]),
        arm(
            s,
            FACTOR,
            DURABLE,
            vec![
                measured(Work::Commits(s.rows, Durability::Full)),
                measured(Work::RawWrites).at_level(RAW),
            ],
        ),
        arm(s, FACTOR, DELAYED, vec![measured(Work::Commits(s.rows, Durability::Delayed))]),
        arm(s, SESSIONS, "1", vec![commits(Work::SessionCommits(1, s.alone))]),
        arm(s, SESSIONS, "64", vec![commits(Work::SessionCommits(64, s.each))]),
        arm(s, DELAYED_SESSIONS, "1", vec![delayed(1, 8 * s.delayed_each)]),
        arm(s, DELAYED_SESSIONS, "64", vec![delayed(64, s.delayed_each)]),
        loss(s, scale),
        outage(s, scale),
    ];
    if scale != Scale::Quick {
        arms.extend([HONEST, CACHED].iter().flat_map(|device| one_disk(s, device)));
    }
    arms
}

fn claims(scale: Scale) -> Vec<Claim> {
    let cell = |level: &str| CellRef::new(FACTOR, level, ROWS);
    let group = "Time against one transaction";
    let at_most = |group, what: &str, compare, most| Claim {
        group,
        what: what.into(),
        compare,
        at_least: None,
        at_most: Some(most),
        published: None,
        devices: &[],
    };
    let mut claims = vec![
        Claim::at_most(group, DELAYED, cell(DELAYED), cell(ONE), 2.5).published(1.2 / 0.3),
        Claim::at_most(group, DURABLE, cell(DURABLE), cell(ONE), 0.0)
            .published(12.0 / 0.3)
            .unbounded(),
        Claim::at_most(
            "Time against the same writes without an engine",
            DURABLE,
            cell(DURABLE),
            cell(RAW),
            1.15,
        ),
        Claim {
            group: "Durable commits a second",
            what: "64 sessions against 1".into(),
            compare: Compare::Ratio(
                CellRef::new(SESSIONS, "64", COMMITS),
                CellRef::new(SESSIONS, "1", COMMITS),
            ),
            at_least: Some(8.0),
            at_most: None,
            published: None,
            devices: &[],
        },
    ];
    for (level, window_kb, end) in ends(scale) {
        // A kill loses at most what the window holds, the other ends nothing.
        let most =
            if *end == ProcessEnd::Kill { f64::from(window_kb * 1024 / ROW_BYTES) } else { 0.0 };
        let every = Compare::Every(CellRef::new(LOSS, level, MISSING));
        claims.push(at_most("Rows missing of those that were acknowledged", level, every, most));
    }
    for (level, window_kb, _) in outages(scale) {
        let most = window_kb.map_or(0.0, |kb| f64::from(kb * 1024 / ROW_BYTES));
        let every = Compare::Every(CellRef::new(OUTAGE, level, MISSING));
        claims.push(at_most("Rows missing after an outage under 64 sessions", level, every, most));
    }
    if scale != Scale::Quick {
        let rate = |device| {
            let cell = CellRef::new(DISK, DURABLE, RATE);
            let group = "Durable commits a second of one session on one disk (12 s for 50,000 would be 4,167)";
            let claim = at_most(group, device, Compare::Value(cell), REVOLUTIONS);
            claim.published(PUBLISHED_ROWS / 12.0)
        };
        claims.push(rate(HONEST).on(&[HONEST]));
        claims.push(rate(CACHED).unbounded().on(&[CACHED]));
    }
    claims
}

fn published(scale: Scale, rows: u64) -> Vec<PublishedFigure> {
    let seconds = PUBLISHED.iter().map(|(level, value)| PublishedFigure {
        cell: CellRef::new(FACTOR, level, ROWS),
        // Seconds of his rows stand beside seconds of as many only.
        printed: match rows as f64 == PUBLISHED_ROWS {
            true => PrintedFigure::Figure(*value, "s"),
            false => PrintedFigure::Ratio(value / PUBLISHED[0].1),
        },
        device: None,
    });
    let devices = if scale == Scale::Quick { vec![] } else { vec![HONEST, CACHED] };
    let rates = devices.into_iter().flat_map(|device| {
        PUBLISHED.iter().map(move |(level, value)| PublishedFigure {
            cell: CellRef::new(DISK, level, RATE),
            printed: PrintedFigure::Figure(PUBLISHED_ROWS / value, "rows/s"),
            device: Some(device),
        })
    });
    seconds.chain(rates).collect()
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let arms = arms(&s, scale);
    let own = |factor, level: &str| Baseline { factor, to_factor: factor, to_level: level.into() };
    Study {
        name: "delayed-durability",
        question: "What does a durable commit of each row cost, how much of it does delayed durability save, and what does it lose?",
        source: "Tibor Karaszi, \"Do you want improved performance?\", SQL Server 2014, one spinning disk, 50,000 rows (12 s of durable commits cannot have been durable there: a disk without a cache makes at most one a revolution, 417 s)",
        knob: Knob::Durability,
        sizes: format!(
            "{} rows; 1 session with {} commits, 64 sessions with {} each; {} rows before a process ends; {} random moments of each outage in a run",
            s.rows, s.alone, s.each, s.lost_of, s.moments
        ),
        baselines: vec![
            own(FACTOR, ONE),
            own(SESSIONS, "1"),
            own(DELAYED_SESSIONS, "1"),
            own(LOSS, "kill, window 240 KB"),
            own(OUTAGE, "power failure, window 240 KB"),
            own(DISK, ONE),
        ],
        published: published(scale, s.rows),
        published_waits: vec![],
        claims: claims(scale),
        checks: vec![],
        needs: StudyNeeds {
            // The databases, and as much again for growth, the instances' own files and the raw
            // writes.
            disk: 2 * arms.len() as u64 * ((s.data_kb + s.log_kb) << 10),
            memory: 512 << 20,
            seconds_per_run: match scale {
                Scale::Tiny => 2.0,
                Scale::Quick => 10.0,
                Scale::Standard | Scale::Paper => 120.0,
            },
        },
        arms,
        normalised: None,
        total: None,
        share: 1.0,
        models: if scale == Scale::Quick { vec![] } else { vec![HONEST, CACHED] },
    }
}
