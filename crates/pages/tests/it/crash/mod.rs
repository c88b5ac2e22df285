//! Power loss at any I/O: after doublewrite repair and redo from the last checkpoint every page is
//! what replaying the whole surviving log from the beginning makes of it, and every flushed record
//! has survived.

mod area;
mod faults;
mod refused;

use crate::support::{Db, TestTxn, create, new_page, open, spec};
use ringwood_pages::{
    ApplyCtx, BeforeImage, Lsn, PAGE_SIZE, Page, PageError, PageId, PageMut, PageType,
    RecordBuilder, RecordView, RowUpdate, TxnId, Unit, UnitId, apply,
};
use sim::SimDisk;
use std::collections::BTreeMap;

struct PageLoad {
    rng: fastrand::Rng,
    units: Vec<(Unit, Vec<PageId>)>,
    next_unit: u32,
    txn: u64,
    flushed: Lsn,
}

fn io(e: &PageError) -> bool {
    matches!(
        e,
        PageError::Disk(_)
            | PageError::Unwritten { .. }
            | PageError::Log(_)
            | PageError::Offline { .. }
            | PageError::FilegroupFull { .. }
    )
}

impl PageLoad {
    fn step(&mut self, db: &Db) -> Result<(), PageError> {
        self.txn += 1;
        match self.rng.u32(0..100) {
            0..2 => self.create_unit(db),
            2 => self.free_unit(db),
            3..20 => self.grow_unit(db),
            20..23 => self.free_page(db),
            23 => self.free_most(db),
            24..26 => self.reformat(db),
            26..29 => db.checkpoint(),
            29..34 => {
                let end = db.log.end();
                db.log.flush_all()?;
                // Everything before `end` is durable now; `end` itself may be a record that does
                // not exist yet.
                self.flushed = self.flushed.max(db.log.durable_lsn().min(end));
                Ok(())
            }
            34 => {
                let half = db.store.min_rec_lsn().unwrap_or(Lsn::ZERO);
                db.store.write_dirty(half).map(drop)
            }
            _ => self.rows(db),
        }
    }

    fn create_unit(&mut self, db: &Db) -> Result<(), PageError> {
        if self.units.len() < 4 {
            self.next_unit += 1;
            let unit = db.store.create_unit(UnitId(self.next_unit), 1)?;
            self.units.push((unit, Vec::new()));
        }
        Ok(())
    }

    fn free_unit(&mut self, db: &Db) -> Result<(), PageError> {
        if self.units.len() < 2 {
            return Ok(());
        }
        let (unit, _) = self.units.swap_remove(self.rng.usize(0..self.units.len()));
        db.store.free_unit(unit.id(), unit.first_iam())?;
        db.store.free_unit(unit.id(), unit.first_iam())
    }

    fn grow_unit(&mut self, db: &Db) -> Result<(), PageError> {
        let n = self.rng.usize(0..self.units.len());
        let (unit, pages) = &mut self.units[n];
        if pages.len() < 60 {
            pages.push(new_page(&db.store, unit, PageType::Data)?);
        }
        Ok(())
    }

    fn free_page(&mut self, db: &Db) -> Result<(), PageError> {
        let n = self.rng.usize(0..self.units.len());
        let (unit, pages) = &mut self.units[n];
        if pages.is_empty() {
            return Ok(());
        }
        let id = pages.swap_remove(self.rng.usize(0..pages.len()));
        {
            let mut maps = db.store.latch_maps(&[id])?;
            let mut rec = RecordBuilder::new();
            rec.system();
            maps.free(&mut rec, id)?;
            let mut list: Vec<&mut PageMut<'_>> = maps.pages().collect();
            db.store.change(&mut db.store.system(), &mut rec, &mut list)?;
        }
        unit.note_freed(&[id]);
        Ok(())
    }

    /// A unit loses most of its pages, and gives the extents back that this leaves empty.
    fn free_most(&mut self, db: &Db) -> Result<(), PageError> {
        let keep = self.rng.usize(0..3);
        let n = self.rng.usize(0..self.units.len());
        while self.units[n].1.len() > keep {
            let (unit, pages) = &mut self.units[n];
            let Some(id) = pages.pop() else { break };
            let mut maps = db.store.latch_maps(&[id])?;
            let mut rec = RecordBuilder::new();
            rec.system();
            maps.free(&mut rec, id)?;
            let mut list: Vec<&mut PageMut<'_>> = maps.pages().collect();
            db.store.change(&mut db.store.system(), &mut rec, &mut list)?;
            drop(list);
            drop(maps);
            unit.note_freed(&[id]);
        }
        db.store.release_idle(&self.units[n].0, self.rng.bool()).map(drop)
    }

    fn reformat(&mut self, db: &Db) -> Result<(), PageError> {
        let n = self.rng.usize(0..self.units.len());
        let (unit, pages) = &self.units[n];
        let Some(&id) = self.rng.choice(pages) else { return Ok(()) };
        let mut page = db.store.fresh(id)?;
        let mut rec = RecordBuilder::new();
        rec.system();
        rec.page(id);
        rec.format(PageType::Data, 0, unit.id(), PageId::NONE, PageId::NONE, PageId::NONE)?;
        db.store.change(&mut db.store.system(), &mut rec, &mut [&mut page]).map(drop)
    }

    /// One record over one or two pages.
    fn rows(&mut self, db: &Db) -> Result<(), PageError> {
        let n = self.rng.usize(0..self.units.len());
        let pages = &self.units[n].1;
        let mut ids: Vec<PageId> = (0..2).filter_map(|_| self.rng.choice(pages).copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut latched =
            ids.iter().map(|&id| db.store.write(id)).collect::<Result<Vec<_>, _>>()?;
        let mut rec = RecordBuilder::new();
        for page in &latched {
            rec.page(page.page_id());
            self.row(page, &mut rec)?;
        }
        if rec.row_ops() == 0 {
            return Ok(());
        }
        let mut sink = TestTxn { log: &db.log, id: TxnId(self.txn), last: Lsn::ZERO };
        let mut list: Vec<&mut PageMut<'_>> = latched.iter_mut().collect();
        db.store.change(&mut sink, &mut rec, &mut list)?;
        for page in &latched {
            page.verify()?;
        }
        Ok(())
    }

    fn row(&mut self, page: &Page, rec: &mut RecordBuilder) -> Result<(), PageError> {
        let mut bytes = vec![0; self.rng.usize(1..1200)];
        self.rng.fill(&mut bytes);
        let slot = self.rng.u16(0..=page.slot_count());
        if slot == page.slot_count() {
            if page.fits(bytes.len() + 18, false) {
                rec.insert(slot, 0, None, &bytes)?;
            }
            return Ok(());
        }
        let Some((old, body)) = page.row(slot)? else { return Ok(()) };
        match self.rng.u8(0..3) {
            0 => rec.ghost(slot, &old, None),
            1 => {
                let n = body.len().min(bytes.len());
                rec.update(&RowUpdate {
                    slot,
                    flags: 0,
                    old: &old,
                    key: None,
                    at: 0,
                    before: BeforeImage::whole(&body[..n]),
                    new_bytes: &bytes[..n],
                })
            }
            _ if page.free_bytes() + body.len() >= bytes.len() => {
                rec.replace(slot, 0, &old, None, body, &bytes)
            }
            _ => Ok(()),
        }
    }
}

/// Pages as replaying the whole log from its start makes them.
fn replay(db: &Db) -> BTreeMap<PageId, Box<Page>> {
    let mut pages: BTreeMap<PageId, Box<Page>> = BTreeMap::new();
    for entry in db.log.scan(Lsn::ZERO) {
        let (lsn, bytes) = entry.unwrap();
        let view = RecordView::decode(&bytes).unwrap();
        for op in view.ops() {
            let op = op.unwrap();
            let page = pages.entry(op.page).or_insert_with(|| blank(op.page));
            apply(page, op.page, &op.op, &ApplyCtx { lsn, txn: view.txn(), index: op.index })
                .unwrap();
        }
    }
    pages
}

/// An allocation map that was never written; formatting gives the type without other means of this
/// test.
fn blank(id: PageId) -> Box<Page> {
    let mut page = Page::zeroed();
    let kind = if id.is_pfs() {
        PageType::Pfs
    } else if id.is_gam() {
        PageType::Gam
    } else if id.page == 0 {
        // Growth notes its turn there.
        PageType::FileHeader
    } else {
        return page;
    };
    let none = PageId::NONE;
    let op = ringwood_pages::PageOp::Format {
        kind,
        level: 0,
        unit: UnitId(0),
        prev: none,
        next: none,
        root: none,
    };
    apply(&mut page, id, &op, &ApplyCtx { lsn: Lsn::ZERO, txn: TxnId(0), index: 0 }).unwrap();
    page
}

fn compare(db: &Db, seed: u64) {
    for (id, expected) in replay(db) {
        let page = match db.store.read(id) {
            Ok(page) => page,
            // A checkpoint may have borrowed the extent of a page that is free.
            Err(e) if e.is_damage() && is_free(db, id) => continue,
            Err(e) => panic!("seed {seed}: {e}"),
        };
        // LSN and checksum differ by construction: the replay sets none.
        let same = |a: usize, b: usize| page.bytes()[a..b] == expected.bytes()[a..b];
        assert!(
            same(0, 36) && same(52, PAGE_SIZE),
            "seed {seed}: page {id} differs: {:?} / {expected:?}",
            *page
        );
    }
}

fn is_free(db: &Db, id: PageId) -> bool {
    !id.is_pfs() && !id.is_gam() && id.page > 0 && db.store.pfs_byte(id).unwrap() & 0x40 == 0
}

fn start(seed: u64, files: u16, frames: u64) -> (Db, PageLoad) {
    let specs: Vec<_> = (1..=files).map(|id| spec(id, 1, 0)).collect();
    let db = create(SimDisk::new(seed), frames, &specs).unwrap();
    let load = load_of(&db, seed, 1);
    (db, load)
}

/// A load without units.
fn load_of_none(seed: u64) -> PageLoad {
    let rng = fastrand::Rng::with_seed(seed);
    PageLoad { rng, units: Vec::new(), next_unit: 5000, txn: 5_000_000, flushed: Lsn::ZERO }
}

/// A load whose units and transactions have numbers from there on.
fn load_of(db: &Db, seed: u64, from: u32) -> PageLoad {
    PageLoad {
        rng: fastrand::Rng::with_seed(seed),
        units: vec![(db.store.create_unit(UnitId(from), 1).unwrap(), Vec::new())],
        next_unit: from,
        txn: u64::from(from) * 1000,
        flushed: Lsn::ZERO,
    }
}

impl PageLoad {
    fn fill(&mut self, db: &Db, pages: usize) {
        for _ in 0..pages {
            self.grow_unit(db).unwrap();
            self.create_unit(db).unwrap();
        }
    }
}

/// Sessions and checkpoints until the disk dies; what it kept, and what was flushed.
fn until_the_power_fails(
    db: Db,
    mut loads: [PageLoad; 2],
    steps: u32,
    seed: u64,
) -> (SimDisk, Lsn) {
    let ended = |result: Result<(), PageError>| match result {
        Ok(()) => false,
        Err(e) if io(&e) => true,
        Err(e) => panic!("seed {seed}: {e}"),
    };
    std::thread::scope(|scope| {
        for load in &mut loads {
            let db = &db;
            scope.spawn(move || (0..steps).find(|_| ended(load.step(db))));
        }
        scope.spawn(|| (0..200).find(|_| ended(db.checkpoint())));
    });
    let flushed = loads[0].flushed.max(loads[1].flushed);
    let after = db.disk.crash(seed ^ 0x5eed);
    drop((loads, db));
    (after, flushed)
}

fn crash_once(seed: u64) {
    let files = if seed.is_multiple_of(3) { 3 } else { 1 };
    let (db, mut load) = start(seed, files, if seed.is_multiple_of(2) { 24 } else { 200 });
    let begin = db.disk.io_count();
    let steps = load.rng.usize(20..400);
    db.disk.crash_at(begin + load.rng.u64(1..250));
    for _ in 0..steps {
        match load.step(&db) {
            Ok(()) => {}
            Err(e) if io(&e) => break,
            Err(e) => panic!("seed {seed}: {e}"),
        }
    }
    let flushed = load.flushed;
    let after = db.disk.crash(seed ^ 0x5eed);
    drop(load);
    drop(db);
    // A second crash in the middle of recovery must not matter either.
    if seed.is_multiple_of(4) {
        after.crash_at(after.io_count() + seed % 37);
        drop(open(after.clone(), 24));
        let again = after.crash(seed + 1);
        finish(again, seed, flushed);
    } else {
        finish(after, seed, flushed);
    }
}

fn finish(disk: SimDisk, seed: u64, flushed: Lsn) {
    let db = open(disk, 64).unwrap_or_else(|e| panic!("seed {seed}: opening failed: {e}"));
    let last = db.log.scan(Lsn::ZERO).map(|e| e.unwrap().0).last().unwrap_or(Lsn::ZERO);
    assert!(last >= flushed, "seed {seed}: flushed {flushed}, survived {last}");
    compare(&db, seed);
    db.checkpoint().unwrap();
    let disk = db.disk.clone();
    // The lazy writer may hold the store for a moment longer.
    db.log.close().unwrap();
    db.store.release_files();
    drop(db);
    let db = open(disk, 64).unwrap();
    assert_eq!(db.store.dirty_pages(), 0, "seed {seed}: a checkpoint leaves nothing to redo");
    compare(&db, seed);
}

#[test]
fn power_loss_anywhere() {
    // PAGES_SEEDS=from,count explores further.
    let given = std::env::var("PAGES_SEEDS").ok();
    let given = given.as_deref().and_then(|s| s.split_once(','));
    let (from, count) = given.map_or((0, 120), |(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
    for seed in from..from + count {
        crash_once(seed);
    }
}

/// Sessions, eviction and checkpoints at the same time: several batches are on their way when the
/// power fails.
#[test]
fn power_loss_while_checkpoints_and_evictions_meet() {
    let runs = std::env::var("PAGES_BATCH_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    for seed in 0..runs {
        let (db, first) = start(seed, 1 + seed as u16 % 2 * 2, 96);
        let mut loads = [first, load_of(&db, seed + 1000, 1001)];
        loads.iter_mut().for_each(|load| load.fill(&db, 250));
        db.checkpoint().unwrap();
        db.disk.crash_at(db.disk.io_count() + loads[0].rng.u64(1..3000));
        let (after, flushed) = until_the_power_fails(db, loads, 3000, seed);
        finish(after, seed, flushed);
    }
}

#[test]
fn a_clean_run_matches_its_log() {
    for seed in 0..10 {
        let (db, mut load) = start(seed, 2, 24);
        for _ in 0..400 {
            load.step(&db).unwrap();
        }
        compare(&db, seed);
        db.checkpoint().unwrap();
        assert!(db.store.min_rec_lsn().is_none());
    }
}

fn insert_row(db: &Db, id: PageId, value: &[u8]) -> Lsn {
    let mut page = db.store.write(id).unwrap();
    let mut rec = RecordBuilder::new();
    rec.page(id);
    rec.insert(page.slot_count(), 0, None, value).unwrap();
    let mut sink = TestTxn { log: &db.log, id: TxnId(7), last: Lsn::ZERO };
    db.store.change(&mut sink, &mut rec, &mut [&mut page]).unwrap()
}
