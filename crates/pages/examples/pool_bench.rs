//! Measures the buffer pool on a real file: hot reads, changes, scans and mixed access through a
//! small pool, checkpoint writes.
//!
//! `./bench pool [FOLDER]`

use ringwood_pages::{
    BeforeImage, BufferPool, FileGrowth, FileSpec, InstanceHome, Lsn, PageError, PageId, PageMut,
    PageType, PoolOptions, RecordBuilder, RowUpdate, Store, Unit, UnitId, pfs_level,
};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

type Res<T> = Result<T, PageError>;

struct Bench {
    store: Arc<Store>,
    pool: Arc<BufferPool>,
    log: Arc<wal::Log>,
    unit: Unit,
}

fn set_up(root: &Path, pool_bytes: u64) -> Res<Bench> {
    let disk: Arc<dyn disk::Disk> = Arc::new(disk::OsDisk::new(root));
    for file in ["bench.mdf", "bench.ldf"] {
        if disk.exists(Path::new(file))? {
            disk.remove(Path::new(file))?;
        }
    }
    let options = wal::LogOptions { initial_size: 256 << 20, ..wal::LogOptions::default() };
    let log = wal::Log::create(&*disk, Path::new("bench.ldf"), options)?;
    let pool =
        Arc::new(BufferPool::new(PoolOptions { bytes: pool_bytes, ..PoolOptions::default() })?);
    let spec = FileSpec {
        id: 1,
        name: "bench".into(),
        path: "bench.mdf".into(),
        filegroup: 1,
        size: 300 << 20,
        growth: FileGrowth::Bytes(64 << 20),
        max_size: None,
    };
    let store = Store::create(
        disk,
        Arc::clone(&pool),
        Arc::clone(&log) as Arc<_>,
        [1; 16],
        &[spec],
        &InstanceHome::default(),
    )?;
    let unit = store.create_unit(UnitId(1), 1)?;
    Ok(Bench { store, pool, log, unit })
}

/// One record that allocates, formats and fills a page.
fn new_page(b: &Bench, rec: &mut RecordBuilder, row: &[u8]) -> Res<PageId> {
    let reserved = b.store.alloc_page(&b.unit)?;
    let id = reserved.id();
    let mut page = b.store.fresh(id)?;
    let mut maps = b.store.latch_maps(&[id])?;
    rec.system();
    rec.page(id);
    rec.format(PageType::Data, 0, b.unit.id(), PageId::NONE, PageId::NONE, PageId::NONE)?;
    for slot in 0..11 {
        rec.insert(slot, 0, None, row)?;
    }
    maps.allocate(rec, id, pfs_level(200))?;
    let mut list: Vec<&mut PageMut<'_>> = vec![&mut page];
    list.extend(maps.pages());
    b.store.change(&mut b.store.system(), rec, &mut list)?;
    Ok(reserved.keep())
}

fn ns_each(n: u32, mut f: impl FnMut() -> Res<()>) -> Res<f64> {
    let begin = Instant::now();
    for _ in 0..n {
        f()?;
    }
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(n))
}

fn best(mut f: impl FnMut() -> Res<f64>) -> Res<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(f()?);
    }
    Ok(best)
}

fn hot_reads(b: &Bench, pages: &[PageId]) -> Res<()> {
    let one = pages[0];
    let read = |id| -> Res<()> {
        black_box(b.store.read(id)?.slot_count());
        Ok(())
    };
    println!(
        "read, one hot page, 1 thread      {:8.1} ns",
        best(|| ns_each(1_000_000, || read(one)))?
    );
    let few = &pages[..1000.min(pages.len())];
    let mut i = 0;
    let many = best(|| {
        ns_each(1_000_000, || {
            i = (i + 7) % few.len();
            read(few[i])
        })
    })?;
    println!("read, 1,000 hot pages, 1 thread   {many:8.1} ns");
    for same in [true, false] {
        let begin = Instant::now();
        std::thread::scope(|scope| -> Res<()> {
            let workers = [0usize, 1].map(|t| {
                let id = if same { few[0] } else { few[t] };
                scope.spawn(move || (0..2_000_000).try_for_each(|_| read(id)))
            });
            workers.into_iter().try_for_each(|w| w.join().unwrap_or(Err(PageError::NoFrames)))
        })?;
        let each = begin.elapsed().as_nanos() as f64 / 2_000_000.0;
        println!(
            "read, 2 threads, {} page{}   {each:8.1} ns per read and thread",
            if same { "same" } else { "own " },
            " ".repeat(5)
        );
    }
    Ok(())
}

fn changes(b: &Bench, pages: &[PageId]) -> Res<()> {
    let mut rec = RecordBuilder::new();
    let mut i = 0;
    let update = best(|| {
        ns_each(200_000, || {
            i = (i + 1) % 500;
            let mut page = b.store.write(pages[i])?;
            let Some((old, body)) = page.row(3)? else { return Ok(()) };
            rec.system();
            rec.page(pages[i]);
            rec.update(&RowUpdate {
                slot: 3,
                flags: 0,
                old: &old,
                key: None,
                at: 10,
                before: BeforeImage::whole(&body[10..18]),
                new_bytes: &[i as u8; 8],
            })?;
            b.store.change(&mut b.store.system(), &mut rec, &mut [&mut page])?;
            Ok(())
        })
    })?;
    println!("latch, build, append, apply an 8-byte update   {update:8.1} ns");
    let ghost = best(|| {
        ns_each(20_000, || {
            i = (i + 1) % 500;
            let mut page = b.store.write(pages[i])?;
            rec.system();
            rec.page(pages[i]);
            for slot in 0..11 {
                let Some((old, _)) = page.row(slot)? else { continue };
                rec.ghost(slot, &old, None)?;
            }
            b.store.change(&mut b.store.system(), &mut rec, &mut [&mut page])?;
            Ok(())
        })
    })?;
    println!("ghost a page's 11 rows in one record           {ghost:8.1} ns");
    Ok(())
}

fn scan(b: &Bench, pages: &[PageId], what: &str) -> Res<()> {
    let begin = Instant::now();
    let mut rows = 0u64;
    for chunk in pages.chunks(64) {
        b.store.prefetch(chunk)?;
        for &id in chunk {
            let page = b.store.read_scan(id)?;
            for s in 0..page.slot_count() {
                rows += u64::from(page.row(s)?.is_some());
            }
        }
    }
    let time = begin.elapsed().as_secs_f64();
    let mb = pages.len() as f64 * 8192.0 / 1e6;
    println!("scan {what:28} {rows} rows, {:6.1} ms, {:7.0} MB/s", time * 1e3, mb / time);
    Ok(())
}

/// Four threads, nine of ten accesses to a tenth of the pages, one of `one_in` a change. The pool
/// is smaller than the pages.
fn mixed(b: &Bench, pages: &[PageId], one_in: u32) -> Res<()> {
    let before = b.pool.counters().pages_read.load(Ordering::Relaxed);
    let begin = Instant::now();
    let work = |seed| -> Res<()> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut rec = RecordBuilder::new();
        for _ in 0..100_000 {
            let most = if rng.u8(0..10) > 0 { pages.len() / 10 } else { pages.len() };
            let id = pages[rng.usize(0..most)];
            if rng.u32(0..one_in) > 0 {
                black_box(b.store.read(id)?.slot_count());
                continue;
            }
            let mut page = b.store.write(id)?;
            let Some((old, body)) = page.row(3)? else { continue };
            rec.system();
            rec.page(id);
            rec.update(&RowUpdate {
                slot: 3,
                flags: 0,
                old: &old,
                key: None,
                at: 10,
                before: BeforeImage::whole(&body[10..18]),
                new_bytes: &[seed as u8; 8],
            })?;
            b.store.change(&mut b.store.system(), &mut rec, &mut [&mut page])?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        workers.into_iter().try_for_each(|w| w.join().unwrap_or(Err(PageError::NoFrames)))
    })?;
    let time = begin.elapsed().as_secs_f64();
    let read = b.pool.counters().pages_read.load(Ordering::Relaxed) - before;
    println!(
        "mixed, 4 threads, 1 of {one_in:3} a change   {:8.0} accesses/s, {read} pages read",
        400_000.0 / time
    );
    Ok(())
}

fn checkpoint(b: &Bench, what: &str) -> Res<()> {
    let begin = Instant::now();
    let report = b.store.write_dirty(Lsn::MAX)?;
    let time = begin.elapsed().as_secs_f64();
    println!(
        "checkpoint {what:28} {} pages, {:6.1} ms, {:6.0} MB/s",
        report.pages,
        time * 1e3,
        report.pages as f64 * 8192.0 / 1e6 / time
    );
    Ok(())
}

fn load(b: &Bench, count: usize) -> Res<Vec<PageId>> {
    let mut rec = RecordBuilder::new();
    let row = [7u8; 700];
    let begin = Instant::now();
    let pages = (0..count).map(|_| new_page(b, &mut rec, &row)).collect::<Res<Vec<_>>>()?;
    let us = begin.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!(
        "allocate, format, fill a page with 11 rows: {us:.2} us a page, {:.0} ns a row",
        us * 1000.0 / 11.0
    );
    Ok(pages)
}

fn main() -> Res<()> {
    let folder = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join("ringwood-pool-bench");
    std::fs::create_dir_all(&folder).map_err(|e| PageError::Offline { cause: e.to_string() })?;
    {
        println!("-- everything in the pool");
        let b = set_up(&folder, 400 << 20)?;
        let pages = load(&b, 27_273)?;
        checkpoint(&b, "(formatted, no doublewrite)")?;
        hot_reads(&b, &pages)?;
        scan(&b, &pages, "from the pool")?;
        changes(&b, &pages)?;
        checkpoint(&b, "(changed)")?;
        for &id in &pages[..8192] {
            let mut page = b.store.write(id)?;
            let Some((old, body)) = page.row(3)? else { continue };
            let mut rec = RecordBuilder::new();
            rec.system();
            rec.page(id);
            rec.update(&RowUpdate {
                slot: 3,
                flags: 0,
                old: &old,
                key: None,
                at: 0,
                before: BeforeImage::whole(&body[..4]),
                new_bytes: b"abcd",
            })?;
            b.store.change(&mut b.store.system(), &mut rec, &mut [&mut page])?;
        }
        checkpoint(&b, "(doublewrite)")?;
    }
    {
        println!("-- pool of 16 MB, data of 213 MB");
        let b = set_up(&folder, 16 << 20)?;
        let pages = load(&b, 27_273)?;
        checkpoint(&b, "(the rest)")?;
        scan(&b, &pages, "from disk")?;
        for one_in in [100, 10, 2] {
            mixed(&b, &pages, one_in)?;
        }
        b.log.flush_all()?;
        let c = b.pool.counters();
        println!("{c:?}");
    }
    drop(std::fs::remove_dir_all(&folder));
    Ok(())
}
