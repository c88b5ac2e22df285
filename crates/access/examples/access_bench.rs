//! Times the hot paths of the access layer on a real store with real files in a temporary folder.
//!
//! `./bench access`

extern crate ringwood_access as access;

#[path = "../tests/it/support/mod.rs"]
mod support;

use access::{
    BTree, Change, Direction, EntryChange, Heap, HeapChange, LobSpace, Outcome, ReadMode, RowBatch,
};
use disk::OsDisk;
use std::error::Error;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use support::Db;

const ROWS: u32 = 300_000;
const ROW: usize = 700;

/// Processor time of this thread, so that what else the machine does counts little; wall-clock time
/// where the system does not tell it.
struct Instant {
    begin: Duration,
}

impl Instant {
    fn now() -> Instant {
        Instant { begin: thread_time() }
    }

    fn elapsed(&self) -> Duration {
        thread_time().saturating_sub(self.begin)
    }
}

fn thread_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let wall = START.get_or_init(std::time::Instant::now).elapsed();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).map_or(wall, Duration::from_nanos)
}

/// Best and median of several runs.
fn times(
    runs: usize,
    mut f: impl FnMut() -> Result<Duration, Box<dyn Error>>,
) -> Result<(f64, f64), Box<dyn Error>> {
    let mut all = Vec::new();
    for _ in 0..runs {
        all.push(f()?.as_secs_f64());
    }
    all.sort_by(f64::total_cmp);
    Ok((all[0], all[all.len() / 2]))
}

fn show(what: &str, unit: &str, factor: f64, (best, median): (f64, f64)) {
    println!("{what:<58} {:>10.3} {unit} median, {:>10.3} best", median * factor, best * factor);
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::create_fast(Arc::new(OsDisk::new(folder.path())), 1 << 30, 1 << 30)?;
    heap(&db)?;
    btree(&db)?;
    lobs(&db)?;
    Ok(())
}

fn rows() -> Vec<Vec<u8>> {
    (0..ROWS).map(|i| [&i.to_be_bytes()[..], &[i as u8; ROW - 4]].concat()).collect()
}

fn heap(db: &Arc<Db>) -> Result<(), Box<dyn Error>> {
    let heap = Heap::new(db.store.clone(), db.unit(10));
    let rows = rows();
    let refs: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    let begin = Instant::now();
    let mut txn = db.begin();
    let mut rids = Vec::with_capacity(rows.len());
    for group in refs.chunks(1000) {
        heap.insert_batch(&mut txn, group, &mut rids)?;
    }
    txn.commit()?;
    println!(
        "{:<58} {:>10.3} ms",
        "heap: insert_batch of 300,000 rows of 700 bytes",
        begin.elapsed().as_secs_f64() * 1e3
    );
    let mut batch = RowBatch::new();
    show(
        "heap: full scan of 300,000 rows, snapshot",
        "ms",
        1e3,
        times(9, || {
            let snapshot = db.snapshot(pages::TxnId(0));
            let begin = Instant::now();
            let (mut scan, mut n) = (heap.scan()?, 0);
            while scan.next_batch(snapshot.mode(), &mut batch)? {
                n += batch.len();
            }
            assert_eq!(n, rows.len());
            Ok(begin.elapsed())
        })?,
    );
    let small = Heap::new(db.store.clone(), db.unit(11));
    for len in [100, 700] {
        show(
            &format!("heap: single-row insert of {len} bytes"),
            "us",
            1e6 / 50_000.0,
            times(5, || {
                let row = vec![1; len];
                let mut txn = db.begin();
                let begin = Instant::now();
                for _ in 0..50_000 {
                    small.insert(&mut txn, &row)?;
                }
                let time = begin.elapsed();
                txn.commit()?;
                Ok(time)
            })?,
        );
    }
    show(
        "heap: fetch by RID",
        "us",
        1e6 / rids.len() as f64,
        times(3, || {
            let begin = Instant::now();
            for &rid in &rids {
                assert!(heap.fetch(rid, ReadMode::Current, &mut batch)?);
            }
            Ok(begin.elapsed())
        })?,
    );
    let mut txn = db.begin();
    let (mut scan, mut all) = (heap.scan()?, Vec::new());
    while scan.next_batch(ReadMode::Current, &mut batch)? {
        all.push((0..batch.len()).map(|i| (batch.rid(i), batch.header(i))).collect::<Vec<_>>());
    }
    let begin = Instant::now();
    for page in &all {
        let mut changes: Vec<_> =
            page.iter().map(|r| HeapChange::new(r.0, r.1, Change::Delete)).collect();
        heap.apply_batch(&mut txn, &mut changes)?;
    }
    let time = begin.elapsed();
    txn.commit()?;
    println!(
        "{:<58} {:>10.3} us",
        "heap: ghost of a page's 11 rows",
        time.as_secs_f64() * 1e6 / all.len() as f64
    );
    Ok(())
}

fn btree(db: &Arc<Db>) -> Result<(), Box<dyn Error>> {
    let tree = BTree::create(db.store.clone(), db.unit(20))?;
    let rows = rows();
    let refs: Vec<(&[u8], &[u8])> = rows.iter().map(|r| r.split_at(4)).collect();
    let mut txn = db.begin();
    let begin = Instant::now();
    for group in refs.chunks(1000) {
        assert_eq!(tree.insert_batch(&mut txn, group, 100)?.1, Outcome::Done(()));
    }
    println!(
        "{:<58} {:>10.3} ms",
        "btree: insert_batch of 300,000 sorted rows of 700 bytes",
        begin.elapsed().as_secs_f64() * 1e3
    );
    txn.commit()?;
    let mut batch = RowBatch::new();
    for direction in [Direction::Forward, Direction::Backward] {
        show(
            &format!("btree: full scan {direction:?}, snapshot"),
            "ms",
            1e3,
            times(9, || {
                let snapshot = db.snapshot(pages::TxnId(0));
                let begin = Instant::now();
                let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, direction);
                let mut n = 0;
                while cursor.next_batch(snapshot.mode(), &mut batch)? {
                    n += batch.len();
                }
                assert_eq!(n, rows.len());
                Ok(begin.elapsed())
            })?,
        );
    }
    show(
        "btree: fetch by random key",
        "us",
        1e6 / 200_000.0,
        times(3, || {
            let mut rng = fastrand::Rng::with_seed(1);
            let snapshot = db.snapshot(pages::TxnId(0));
            let begin = Instant::now();
            for _ in 0..200_000 {
                let key = rng.u32(0..ROWS).to_be_bytes();
                assert!(tree.fetch(&key, snapshot.mode(), &mut batch)?);
            }
            Ok(begin.elapsed())
        })?,
    );
    let mut unit = 21;
    for (what, random) in [("ascending", false), ("random", true)] {
        show(
            &format!("btree: single-row insert of 100 bytes, {what}"),
            "us",
            1e6 / 100_000.0,
            times(3, || {
                let small = BTree::create(db.store.clone(), db.unit(unit))?;
                unit += 1;
                let mut keys: Vec<u32> = (0..100_000).collect();
                if random {
                    fastrand::Rng::with_seed(2).shuffle(&mut keys);
                }
                let mut txn = db.begin();
                let begin = Instant::now();
                for key in &keys {
                    small.insert(&mut txn, &key.to_be_bytes(), &[7; 96])?;
                }
                let time = begin.elapsed();
                txn.commit()?;
                Ok(time)
            })?,
        );
    }
    update_and_delete(db, &tree)
}

fn update_and_delete(db: &Arc<Db>, tree: &BTree) -> Result<(), Box<dyn Error>> {
    let mut batch = RowBatch::new();
    let value = vec![9; ROW - 4];
    for (what, change) in
        [("update of 500 bytes", Change::Update(&value)), ("ghost", Change::Delete)]
    {
        let mut txn = db.begin();
        let mut all = Vec::new();
        let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        while cursor.next_batch(ReadMode::Current, &mut batch)? {
            let row = |i| (batch.key(i).to_vec(), batch.slot(i), batch.header(i));
            all.push((0..batch.len()).map(row).collect::<Vec<_>>());
        }
        let begin = Instant::now();
        for page in &all {
            let mut changes: Vec<_> =
                page.iter().map(|r| EntryChange::new(&r.0, r.1, r.2, change)).collect();
            tree.apply_batch(&mut txn, &mut changes)?;
        }
        let time = begin.elapsed();
        let what = format!("btree: {what} of a page's 11 rows");
        println!("{what:<58} {:>10.3} us", time.as_secs_f64() * 1e6 / all.len() as f64);
        let before = db.snapshot(pages::TxnId(0));
        let begin = Instant::now();
        let (mut cursor, mut n) =
            (tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward), 0);
        while n < 30_000 && cursor.next_batch(before.mode(), &mut batch)? {
            n += batch.len();
        }
        let each = begin.elapsed().as_secs_f64() * 1e6 / n as f64;
        println!("{:<58} {each:>10.3} us", "btree: row read one version back, in scan order");
        let begin = Instant::now();
        txn.rollback()?;
        println!(
            "{:<58} {:>10.3} ms",
            "btree: rollback of the 300,000 rows",
            begin.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}

fn lobs(db: &Arc<Db>) -> Result<(), Box<dyn Error>> {
    let space = LobSpace::new(db.store.clone(), db.unit(30));
    let bytes = vec![5; 64 << 20];
    let mut txn = db.begin();
    let begin = Instant::now();
    let pointer = space.write(&mut txn, &bytes)?;
    let write = begin.elapsed().as_secs_f64();
    txn.commit()?;
    let mut out = Vec::with_capacity(bytes.len());
    let begin = Instant::now();
    space.read(pointer, &mut out)?;
    let read = begin.elapsed().as_secs_f64();
    assert!(out == bytes);
    println!("lob: 64 MB written in {:.1} ms, read in {:.1} ms", write * 1e3, read * 1e3);
    Ok(())
}
