//! Figures of the transaction room on a real file: durable single-row commits against raw durable
//! writes of the same size, inserts within a transaction, snapshots, locks. `txn_bench [FOLDER]`
//! (default: a temporary folder).

#[path = "../tests/it/support/mod.rs"]
mod support;

use ringwood_txn as txn;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use disk::{AlignedBuf, BlockFile, Disk, OpenMode, OsDisk};
use support::{create, env, log_options};
use txn::{
    Database, DbState, DelayedDurability, Durability, LockMode, LockOwner, LockTarget, Resource,
    WaitArgs,
};
use wal::Growth;

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

/// Nanoseconds that this thread has been on a processor; wall time where the system does not tell.
fn processor_ns(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = text.split_whitespace().next().and_then(|n| n.parse().ok());
    on_cpu.unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

/// Nanoseconds of processor time per call of `f`, median of five rounds.
fn ns(n: u32, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    let round = |f: &mut dyn FnMut()| {
        let before = processor_ns(start);
        for _ in 0..n {
            f();
        }
        (processor_ns(start) - before) / f64::from(n)
    };
    median((0..5).map(|_| round(&mut f)).collect())
}

fn main() {
    let scratch = tempfile::tempdir().expect("temporary folder");
    let folder =
        std::env::args().nth(1).map_or_else(|| scratch.path().to_path_buf(), PathBuf::from);
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::new(&folder));
    let log = log_options(256 << 20, Growth::Bytes(64 << 20), true);
    let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
    let db = create(env(disk.clone(), 20_000, true), log, settings).expect("database");
    let unit = db.create_unit(pages::UnitId(100), 1).expect("unit");
    let heap = access::Heap::new(db.store().clone(), unit);
    commits(&db, &heap, &*disk);
    inserts(&db, &heap);
    snapshots(&db);
    locks(&db);
    db.close().expect("close");
}

fn one_insert(db: &Arc<Database>, heap: &access::Heap, row: &[u8], durability: Durability) {
    let mut t = db.begin(51).expect("begin");
    heap.insert(&mut t, row).expect("insert");
    t.commit(durability).expect("commit");
}

/// One-row commits and raw writes take turns, so that both meet the same disk.
fn commits(db: &Arc<Database>, heap: &access::Heap, disk: &dyn Disk) {
    let raw = disk.open(Path::new("db/raw"), OpenMode::Create).expect("raw file");
    raw.write_zeros(0, 64 << 20).expect("prepare");
    let row = [b'r'; 200];
    for _ in 0..200 {
        one_insert(db, heap, &row, Durability::Full);
    }
    let align = db.log().alignment() as usize;
    let buf = AlignedBuf::new(align);
    let (mut ours, mut theirs, mut at) = (Vec::new(), Vec::new(), 0u64);
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..50 {
            one_insert(db, heap, &row, Durability::Full);
        }
        ours.push(start.elapsed().as_secs_f64() * 1e6 / 50.0);
        let start = Instant::now();
        for _ in 0..50 {
            write_raw(&*raw, &mut at, &buf);
        }
        theirs.push(start.elapsed().as_secs_f64() * 1e6 / 50.0);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "durable one-row commit: {ours:.1} us; raw durable write of {align} bytes: {theirs:.1} us; ratio {:.3}",
        ours / theirs
    );
    let delayed = ns(20_000, || one_insert(db, heap, &row, Durability::Delayed));
    println!("delayed one-row commit: {:.2} us", delayed / 1000.0);
    let threads = 8;
    let start = Instant::now();
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| (0..500).for_each(|_| one_insert(db, heap, &row, Durability::Full)));
        }
    });
    println!(
        "{threads} sessions: {:.0} durable commits/s",
        500.0 * f64::from(threads) / start.elapsed().as_secs_f64()
    );
}

fn write_raw(file: &dyn BlockFile, at: &mut u64, buf: &AlignedBuf) {
    file.write_durable(*at, &[buf]).expect("raw write");
    *at = (*at + buf.len() as u64) % (60 << 20);
}

fn inserts(db: &Arc<Database>, heap: &access::Heap) {
    let row = [b'i'; 200];
    let mut t = db.begin(51).expect("begin");
    let each = ns(40_000, || {
        black_box(heap.insert(&mut t, &row).expect("insert"));
    });
    println!("insert of 200 bytes within a transaction: {:.2} us", each / 1000.0);
    let start = Instant::now();
    t.rollback().expect("rollback");
    println!(
        "rollback of 200,000 inserts: {:.2} us each",
        start.elapsed().as_secs_f64() * 1e6 / 200_000.0
    );
    let empty = ns(200_000, || drop(db.begin(51).expect("begin").commit(Durability::Full)));
    println!("empty transaction: {empty:.0} ns");
}

fn snapshots(db: &Arc<Database>) {
    let take = ns(1_000_000, || drop(black_box(db.snapshot())));
    let mut s = db.snapshot();
    let renew = ns(1_000_000, || s.renew(pages::TxnId(0)));
    println!("snapshot: take and drop {take:.0} ns, renew {renew:.0} ns");
}

fn locks(db: &Arc<Database>) {
    let mut o = LockOwner::new(db.locks().clone(), 51);
    let table = Resource { db: 5, what: LockTarget::Table(7) };
    let args = WaitArgs::default();
    let pair = ns(1_000_000, || {
        o.lock(table, LockMode::IX, args).expect("lock");
        o.unlock(&table);
    });
    o.lock(table, LockMode::IX, args).expect("lock");
    let again = ns(1_000_000, || o.lock(black_box(table), LockMode::IX, args).expect("lock"));
    println!("table intent lock and unlock: {pair:.0} ns; lock held already: {again:.1} ns");
}
