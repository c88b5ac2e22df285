//! data-files: does it help to spread the data over several files, on one array and on two? 16
//! connections insert; what dirty pages are left is written by a checkpoint.
//!
//! The published test had the same eight spindles and two links in both of its parts (Test 1: one
//! array of them, Test 2: two arrays of half each); they are the parts of the model
//! `iscsi-8x15000`, and only there its figures stand beside. Its row is not in the post; a sister
//! post of the same series has one row a page under a clustered index. Beside that, as before, a
//! heap of rows of about 1,000 bytes, on the disk that is there and on two arrays of doubled
//! hardware.

mod arms;

use crate::study::{
    Baseline, CellRef, Claim, Compare, PrintedFigure, PublishedFigure, PublishedWait, Scale, Study,
    StudyNeeds,
};
use arms::{Sizes, sizes};
use targets::work::Knob;

/// Factors: what is varied, where, with which rows.
const ONE: &str = "files on one array";
const TWO: &str = "files on two arrays";
const PAGE: &str = "files, one row a page";
const TEST_1: &str = "Test 1: files on one array of eight";
const TEST_2: &str = "Test 2: files on two arrays of four";
const LATER: &str = "files added later";
const SESSIONS: &str = "files and sessions";
const PROCESSORS: &str = "files and processors";
const SCATTERED: &str = "scattered pages";
const COUNTS: [u32; 5] = [1, 2, 4, 8, 16];
const CONNECTIONS: u32 = 16;
/// Sessions of which the number is varied.
const SESSION_COUNTS: [u32; 4] = [1, 4, 16, 64];
/// Processors of which the number is varied, as far as the machine has them: the author ties the
/// number of files to it.
const PROCESSOR_COUNTS: [u32; 4] = [1, 2, 4, 8];
const LOAD: &str = "load";
const CHECKPOINT: &str = "checkpoint";
const TOTAL: &str = "load and checkpoint";
const SECOND: &str = "second load";
const WRITE_SCATTERED: &str = "checkpoint of scattered pages";
/// Devices: the published hardware, twice as much of it, and spindles alone.
const PUBLISHED: &str = "iscsi-8x15000";
const DOUBLED: &str = "2x-iscsi-raid10-4x15000";
const SPINDLES: &str = "spindles-15000";

fn count(factor: &'static str, files: u32, measure: &str) -> CellRef {
    CellRef::new(factor, &files.to_string(), measure)
}

/// Each number of files against the best.
fn against_best(
    group: &'static str,
    factor: &'static str,
    devices: &'static [&'static str],
) -> Vec<Claim> {
    let all = || COUNTS.iter().map(|c| count(factor, *c, TOTAL)).collect();
    let claim = |files: &u32| Claim {
        group,
        what: files.to_string(),
        compare: Compare::ToBest(count(factor, *files, TOTAL), all()),
        at_least: None,
        at_most: Some(1.03),
        published: None,
        devices,
    };
    COUNTS.iter().map(claim).collect()
}

/// How many times as fast the second cell is as the first.
fn speed(
    group: &'static str,
    what: &str,
    slow: CellRef,
    fast: CellRef,
    at_least: Option<f64>,
) -> Claim {
    Claim {
        group,
        what: what.into(),
        compare: Compare::Ratio(slow, fast),
        at_least,
        at_most: None,
        published: None,
        devices: &[],
    }
}

/// The two ends of the author's curve: eight files are his best, sixteen are worse again. What he
/// timed is the load, with the checkpoints that fell into it.
fn curve(
    group: &'static str,
    factor: &'static str,
    devices: &'static [&'static str],
) -> [Claim; 2] {
    let load = |files| count(factor, files, LOAD);
    let claim = |above, below: u32, most| {
        let what = format!("{above} files against {below}");
        Claim::at_most(group, &what, load(above), load(below), most).on(devices)
    };
    [claim(16, 8, 1.03), claim(8, 1, 1.0).unbounded()]
}

/// 8 files against 1, by how many processors there are.
fn by_processors() -> Vec<Claim> {
    let group = "Time of 8 files against 1, by processors";
    let claim = |count: &u32| {
        let cell = |files| CellRef::new(PROCESSORS, &arms::processor_level(files, *count), LOAD);
        Claim::at_most(group, &count.to_string(), cell(8), cell(1), 1.03)
    };
    PROCESSOR_COUNTS.iter().map(claim).collect()
}

fn claims(scale: Scale) -> Vec<Claim> {
    let mut claims = against_best("Time on one array against the best number of files", ONE, &[]);
    claims.extend(curve("Time of the load on one array", ONE, &[]));
    if scale == Scale::Quick {
        return claims;
    }
    claims.extend(against_best(
        "Test 1: time against the best number of files",
        TEST_1,
        &[PUBLISHED],
    ));
    // One file is on one of the two arrays, with half the disks: its time is shown and not bounded.
    let test_2 =
        against_best("Test 2: time against the best number of files", TEST_2, &[PUBLISHED]);
    claims.extend(
        test_2.into_iter().map(|claim| if claim.what == "1" { claim.unbounded() } else { claim }),
    );
    claims.extend(curve("Test 1: time of the load", TEST_1, &[PUBLISHED]));
    claims.extend(curve("Test 2: time of the load", TEST_2, &[PUBLISHED]));
    claims.extend(by_processors());
    // An array of one file is on one device: two files are the least that two arrays can share.
    // Only the data's hardware is doubled: most of a load is waits for the one array of the log, so
    // its ratio is shown and not bounded.
    for (measure, at_least) in [(LOAD, None), (CHECKPOINT, Some(1.8))] {
        let group = "Doubled hardware: speed of eight files on two arrays against eight on one";
        let claim = speed(group, measure, count(ONE, 8, measure), count(TWO, 8, measure), at_least);
        claims.push(claim.on(&[DOUBLED]));
    }
    // His figure is the time of the test; ours with the checkpoint of all that is left to be
    // written stands beside it.
    let group = "Speed of eight files on two arrays (Test 2) against one file on one (Test 1)";
    let best =
        |measure| speed(group, measure, count(TEST_1, 1, measure), count(TEST_2, 8, measure), None);
    claims.push(best(LOAD).published(1.06).on(&[PUBLISHED]));
    claims.push(best(TOTAL).on(&[PUBLISHED]));
    let group = "Speed of eight spindles against one, scattered pages";
    for files in ["1 file", "8 files"] {
        let cell = |spindles: &str| {
            CellRef::new(SCATTERED, &format!("{files}, {spindles}"), WRITE_SCATTERED)
        };
        let claim = speed(group, files, cell("one spindle"), cell("eight spindles"), Some(6.0));
        claims.push(claim.on(&[SPINDLES]));
    }
    claims.push(Claim::at_most(
        "Time of one row a page on 8 files against 1",
        TOTAL,
        count(PAGE, 8, TOTAL),
        count(PAGE, 1, TOTAL),
        1.03,
    ));
    for sessions in SESSION_COUNTS {
        let cell = |files: u32| CellRef::new(SESSIONS, &arms::session_level(files, sessions), LOAD);
        let group = "Time of 8 files against 1, by sessions";
        claims.push(Claim::at_most(group, &sessions.to_string(), cell(8), cell(1), 1.03));
    }
    let later = |level: &str| CellRef::new(LATER, level, SECOND);
    claims.push(Claim::at_most(
        "Time of a load into 8 files, 7 of them added after a first load",
        "against 8 from the start",
        later(arms::ADDED),
        later(arms::EIGHT),
        1.03,
    ));
    claims
}

/// What the author printed: the ratio of his best case, and what he told a reader of two files.
fn published(scale: Scale) -> Vec<PublishedFigure> {
    if scale == Scale::Quick {
        return vec![];
    }
    let ratio = |cell, ratio| PublishedFigure {
        cell,
        printed: PrintedFigure::Ratio(ratio),
        device: Some(PUBLISHED),
    };
    vec![ratio(count(TEST_2, 8, LOAD), 1.0 / 1.06), ratio(count(TEST_1, 2, LOAD), 1.03)]
}

/// His shares of all waits in Test 2: of eight files and of one.
fn published_waits(scale: Scale) -> Vec<PublishedWait> {
    if scale == Scale::Quick {
        return vec![];
    }
    let shares =
        [("PAGELATCH_EX", 0.38, 0.39), ("PAGELATCH_SH", 0.19, 0.21), ("WRITELOG", 0.12, 0.13)];
    let of = |level: &str, wait_type: &str, share| PublishedWait {
        factor: TEST_2,
        level: level.into(),
        wait_type: wait_type.into(),
        share,
        device: PUBLISHED,
    };
    shares
        .iter()
        .flat_map(|(wait, eight, one)| [of("8", wait, *eight), of("1", wait, *one)])
        .collect()
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s: Sizes = sizes(scale);
    let baseline = |factor, to_factor, to_level: &str| Baseline {
        factor,
        to_factor,
        to_level: to_level.into(),
    };
    Study {
        name: "data-files",
        question: "Do several data files make 16 inserting connections faster, on one array and on two?",
        source: "Paul Randal, \"Benchmarking: do multiple data files make a difference?\", 2010 (means of five runs)",
        knob: Knob::DataFiles,
        sizes: format!(
            "{} rows of about 1,000 bytes, or {} of one a page, by {CONNECTIONS} connections; data files of {} MB together, log {} MB, buffer pool {} MB",
            s.rows,
            s.page_rows,
            s.data_kb >> 10,
            s.log_kb >> 10,
            s.memory >> 20
        ),
        arms: arms::arms(scale),
        baselines: vec![
            baseline(ONE, ONE, "1"),
            baseline(TWO, ONE, "1"),
            baseline(PAGE, PAGE, "1"),
            baseline(TEST_1, TEST_1, "1"),
            baseline(TEST_2, TEST_1, "1"),
            baseline(LATER, LATER, arms::EIGHT),
            baseline(SESSIONS, SESSIONS, &arms::session_level(1, CONNECTIONS)),
            baseline(PROCESSORS, PROCESSORS, &arms::processor_level(1, 1)),
            baseline(SCATTERED, SCATTERED, "1 file, one spindle"),
        ],
        published: published(scale),
        published_waits: published_waits(scale),
        claims: claims(scale),
        checks: vec![],
        needs: StudyNeeds {
            disk: (s.data_kb + s.log_kb) << 10,
            memory: s.memory + (256 << 20),
            seconds_per_run: match scale {
                Scale::Tiny => 3.0,
                Scale::Quick => 5.0,
                Scale::Standard => 300.0,
                Scale::Paper => 15_000.0,
            },
        },
        normalised: None,
        total: Some((TOTAL, vec![LOAD, CHECKPOINT])),
        share: s.share,
        // Slow disks take their time: at quick scale only when they are asked for by --device.
        models: if scale == Scale::Quick { vec![] } else { vec![PUBLISHED, DOUBLED, SPINDLES] },
    }
}
