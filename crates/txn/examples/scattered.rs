//! What a checkpoint of scattered pages, redo of scattered updates and the scan of a fragmented
//! index make of a disk, beside raw requests of the same size in the same run; or how much faster
//! they are on a modelled array than on one of its disks.
//!
//! `./bench scattered [FOLDER [LEAVES [ROUNDS]]]` (defaults: a temporary folder, 40000 leaves of 8
//! KB, 5): pages a second over the raw disk's random requests of 8 KB a second at 32 in flight,
//! median of the rounds, raw and engine in turns. `... scattered -- --array [SPINDLES [LEAVES
//! [SCALE]]]` (defaults 8, 16000 and 2): disks of 15,000 rpm without a cache, striped (crate model,
//! with a clock SCALE times as fast), the log on a real disk: pages a second on one disk and on the
//! array, and the share of requests that the machine below made late.
//!
//! Prints one line of JSON for each figure.

#[path = "../tests/it/support/mod.rs"]
mod support;

use ringwood_txn as txn;

use std::io::{IoSlice, IoSliceMut};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use access::{BTree, Direction, Outcome, ReadMode, RowBatch};
use disk::{AlignedBuf, Data, Disk, IoOptions, OpenMode, OsDisk, Request, transfer};
use model::{Medium, ModelDisk, Routes, builtin};
use pages::{FileGrowth, FileSpec, PageId, UnitId};
use support::env;
use txn::{CreateSpec, Database, DbState, Durability, Phase};
use wal::{Growth, LogOptions};

const PAGE: usize = 8192;
/// Of so many leaves one is changed in a round: on the real disk, and on a modelled one, which is
/// faster at writing what lies near together.
const OF: u64 = 6;
const OF_MODEL: u64 = 16;
/// One row fills a leaf more than half.
const ROW: usize = 4200;
const DATA: &str = "data/s.mdf";
const LOG: &str = "log/s.ldf";

fn log_options() -> LogOptions {
    support::log_options(256 << 20, Growth::Bytes(64 << 20), true)
}

fn shuffled(n: u64) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..n).collect();
    fastrand::Rng::with_seed(3).shuffle(&mut keys);
    keys
}

/// A database with an index whose leaves lie in the order of the insertions, which is no order of
/// the keys.
fn load(disk: &Arc<dyn Disk>, leaves: u64) {
    for folder in ["data", "log"] {
        disk.create_dir_all(Path::new(folder)).expect("a folder");
    }
    let file = FileSpec {
        id: 1,
        name: "s".into(),
        path: DATA.into(),
        filegroup: 1,
        size: leaves * PAGE as u64 * 9 / 8 + (128 << 20),
        growth: FileGrowth::Bytes(64 << 20),
        max_size: None,
    };
    let settings = DbState::initial();
    let spec = CreateSpec {
        guid: [7; 16],
        files: vec![file],
        log_path: LOG.into(),
        log: log_options(),
        settings,
    };
    let db = Database::create(env(disk.clone(), frames(leaves), false), spec).expect("a database");
    let unit = db.create_unit(UnitId(100), 1).expect("a unit");
    let tree = BTree::create(db.store().clone(), unit.clone()).expect("an index");
    let mut meta = unit.first_iam().to_bytes().to_vec();
    meta.extend_from_slice(&tree.root().to_bytes());
    db.change_settings(|s| s.meta = meta).expect("settings");
    for keys in shuffled(leaves).chunks(5000) {
        let mut t = db.begin(51).expect("a transaction");
        for key in keys {
            let done = tree.insert(&mut t, &key.to_be_bytes(), &[1; ROW]).expect("an insert");
            assert_eq!(done, Outcome::Done(()));
        }
        t.commit(Durability::Full).expect("a commit");
        db.checkpoint().expect("a checkpoint");
    }
    db.close().expect("closed");
}

fn frames(leaves: u64) -> u64 {
    leaves * 5 / 4 + 2000
}

fn open(
    disk: &Arc<dyn Disk>,
    leaves: u64,
    progress: &mut dyn FnMut(Phase, u8),
) -> (Arc<Database>, BTree) {
    let env = env(disk.clone(), frames(leaves), false);
    let db = Database::open(env, Path::new(DATA), Path::new(LOG), log_options(), progress)
        .expect("opened");
    let meta = db.settings().meta.clone();
    let page = |i: usize| PageId::from_bytes(meta[i * 6..i * 6 + 6].try_into().expect("six bytes"));
    let tree = BTree::open(db.store().clone(), db.open_unit(page(0)).expect("the unit"), page(1));
    (db, tree)
}

/// Changes one leaf of `of`, in an order of its own; returns how many.
fn update(db: &Arc<Database>, tree: &BTree, leaves: u64, of: u64, round: u64) -> u64 {
    let mut t = db.begin(51).expect("a transaction");
    let mut batch = RowBatch::new();
    let mut value = [1; ROW];
    value[100] = round as u8 + 2;
    let mut changed = 0;
    for key in shuffled(leaves)
        .into_iter()
        .filter(|key| key.wrapping_mul(0x9e37_79b9) / 64 % of == round % of)
    {
        let key = key.to_be_bytes();
        assert!(tree.fetch(&key, ReadMode::Current, &mut batch).expect("a row"));
        let done = tree.update(&mut t, &key, &batch.header(0), &value).expect("an update");
        assert_eq!(done, Outcome::Done(()));
        changed += 1;
    }
    t.commit(Durability::Full).expect("a commit");
    changed
}

fn scan(tree: &BTree, direction: Direction) -> u64 {
    let (mut batch, mut rows) = (RowBatch::new(), 0);
    let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, direction);
    while cursor.next_batch(ReadMode::Current, &mut batch).expect("a leaf") {
        rows += batch.len() as u64;
    }
    rows
}

/// Pages a second of one round.
#[derive(Default)]
struct PageRates {
    checkpoint: Vec<f64>,
    redo: Vec<f64>,
    scan: Vec<f64>,
    scan_back: Vec<f64>,
    raw_reads: Vec<f64>,
    raw_writes: Vec<f64>,
}

fn round(disk: &Arc<dyn Disk>, leaves: u64, of: u64, round: u64, figures: &mut PageRates) {
    // Scans of a cold pool, which warm it for the updates.
    let (db, tree) = open(disk, leaves, &mut |_, _| {});
    let start = Instant::now();
    assert_eq!(scan(&tree, Direction::Forward), leaves);
    figures.scan.push(leaves as f64 / start.elapsed().as_secs_f64());
    let changed = update(&db, &tree, leaves, of, 2 * round);
    let dirty = db.store().dirty_pages();
    let start = Instant::now();
    db.checkpoint().expect("a checkpoint");
    figures.checkpoint.push(dirty as f64 / start.elapsed().as_secs_f64());
    assert!(dirty as u64 >= changed);
    update(&db, &tree, leaves, of, 2 * round + 1);
    let dirty = db.store().dirty_pages();
    db.abandon();
    drop((db, tree));
    let (start, mut took) = (Instant::now(), 0.0);
    let (db, tree) = open(disk, leaves, &mut |phase, percent| {
        if phase == Phase::Redo && percent == 100 {
            took = start.elapsed().as_secs_f64();
        }
    });
    figures.redo.push(dirty as f64 / took);
    db.close().expect("closed");
    drop((db, tree));
    let (db, tree) = open(disk, leaves, &mut |_, _| {});
    let start = Instant::now();
    assert_eq!(scan(&tree, Direction::Backward), leaves);
    figures.scan_back.push(leaves as f64 / start.elapsed().as_secs_f64());
    db.close().expect("closed");
}

/// Random requests of 8 KB on a file as large, 32 in flight.
fn raw(folder: &Path, leaves: u64, figures: &mut PageRates) {
    let disk = OsDisk::new(folder).with_io(IoOptions { depth: Some(32), ..IoOptions::default() });
    let (path, bytes) = (Path::new("raw.tmp"), leaves * PAGE as u64);
    let there = disk.exists(path).expect("a folder");
    let file =
        disk.open(path, if there { OpenMode::Open } else { OpenMode::Create }).expect("a file");
    if !there {
        file.write_zeros(0, bytes).expect("space");
    }
    let count = (leaves / OF) as usize;
    let mut places = shuffled(leaves);
    places.truncate(count);
    let offsets: Vec<u64> = places.iter().map(|page| page * PAGE as u64).collect();
    let mut buf = AlignedBuf::new(count * PAGE);
    // The engine's frames have their memory when they are read into; so has this.
    buf.fill(1);
    let end = &mut |_: usize, _: &mut Request<'_>, result: Result<(), disk::DiskError>| {
        result.expect("I/O")
    };
    let mut slices: Vec<IoSliceMut<'_>> = buf.chunks_mut(PAGE).map(IoSliceMut::new).collect();
    let each = slices.chunks_mut(1).zip(&offsets);
    let mut requests: Vec<Request<'_>> = each
        .map(|(one, &offset)| Request { file: &*file, offset, data: Data::Read(one) })
        .collect();
    let start = Instant::now();
    transfer(&mut requests, end);
    figures.raw_reads.push(count as f64 / start.elapsed().as_secs_f64());
    let slices: Vec<IoSlice<'_>> = buf.chunks(PAGE).map(IoSlice::new).collect();
    let each = slices.chunks(1).zip(&offsets);
    let mut requests: Vec<Request<'_>> = each
        .map(|(one, &offset)| Request { file: &*file, offset, data: Data::Write(one) })
        .collect();
    let start = Instant::now();
    transfer(&mut requests, end);
    file.sync().expect("a sync");
    figures.raw_writes.push(count as f64 / start.elapsed().as_secs_f64());
}

fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn on_the_real_disk(folder: &Path, leaves: u64, rounds: u64) {
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::new(folder));
    load(&disk, leaves);
    let mut figures = PageRates::default();
    for n in 0..rounds {
        raw(folder, leaves, &mut figures);
        round(&disk, leaves, OF, n, &mut figures);
    }
    let PageRates { checkpoint, redo, scan, scan_back, raw_reads, raw_writes } = &figures;
    for (name, ours, raw) in [
        ("checkpoint of scattered pages", checkpoint, raw_writes),
        ("redo of scattered updates", redo, raw_reads),
        ("scan of a fragmented index", scan, raw_reads),
        ("the same backwards", scan_back, raw_reads),
    ] {
        let ratios: Vec<f64> = ours.iter().zip(raw).map(|(ours, raw)| ours / raw).collect();
        println!(
            "{{\"what\": \"{name}\", \"pages a second\": {:.0}, \"raw at 32 in flight\": {:.0}, \"ratio\": {:.2}}}",
            median(ours),
            median(raw),
            median(&ratios)
        );
    }
}

fn on_a_model(folder: &Path, spindles: u32, leaves: u64, scale: f64) -> (PageRates, f64) {
    let mut device = builtin("hdd-15000").expect("a device");
    device.time_scale = scale;
    device.link_rate = 0;
    if let Medium::Disks(disks) = &mut device.medium {
        (disks.spindles, disks.mirrored) = (spindles, false);
    }
    let real: Arc<dyn Disk> = Arc::new(OsDisk::scratch(folder));
    // Loaded without the model, which knows nothing of contents.
    load(&real, leaves);
    let model = Arc::new(ModelDisk::for_measuring(device, folder).expect("a device"));
    let mut routes = Routes::new(folder, real);
    routes.place_disk(Path::new("data"), model.clone());
    let disk: Arc<dyn Disk> = Arc::new(routes);
    let mut figures = PageRates::default();
    round(&disk, leaves, OF_MODEL, 0, &mut figures);
    let late = model.host_late();
    (figures, late.late as f64 / late.requests.max(1) as f64)
}

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        args.get(at).map_or(default, |text| text.parse().expect("a number"))
    };
    if args.first().is_some_and(|arg| arg == "--array") {
        let (spindles, leaves, scale) =
            (number(1, 8) as u32, number(2, 16_000), number(3, 2) as f64);
        let (one, late_one) = on_a_model(&scratch.path().join("one"), 1, leaves, scale);
        let (many, late_many) = on_a_model(&scratch.path().join("many"), spindles, leaves, scale);
        println!(
            "{{\"late requests on one disk\": {late_one:.4}, \"on {spindles}\": {late_many:.4}}}"
        );
        for (name, one, many) in [
            ("checkpoint of scattered pages", &one.checkpoint, &many.checkpoint),
            ("redo of scattered updates", &one.redo, &many.redo),
            ("scan of a fragmented index", &one.scan, &many.scan),
            ("the same backwards", &one.scan_back, &many.scan_back),
        ] {
            let (one, many) = (median(one), median(many));
            println!(
                "{{\"what\": \"{name}\", \"pages a second on one disk\": {one:.0}, \"on {spindles}\": {many:.0}, \"ratio\": {:.2}}}",
                many / one
            );
        }
        return;
    }
    let folder = args.first().map_or_else(|| scratch.path().to_path_buf(), PathBuf::from);
    on_the_real_disk(&folder, number(1, 40_000), number(2, 5));
}
