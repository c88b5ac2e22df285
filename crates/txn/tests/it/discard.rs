//! Discarded large values: they are read as long as a snapshot needs them, freed afterwards, kept
//! by a rollback, and a crash at any point leaks none.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::support::txn::check::CheckUnit;
use crate::support::txn::{Database, DbState, Durability, Txn, TxnError};
use crate::support::{create, env, log_options, open};
use access::{BTree, Direction, LobPointer, LobSpace, Outcome, ReadMode, RowBatch};
use pages::{PageId, UnitId};
use sim::SimDisk;
use wal::Growth;

/// Values by key.
type KeyedRows = BTreeMap<u64, Vec<u8>>;

/// Rows (key, pointer to a large value) in a tree, the values, the list.
struct Values {
    rows: BTree,
    space: LobSpace,
}

fn value(seed: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (seed as usize * 31 + i / 7) as u8).collect()
}

impl Values {
    fn create(db: &Arc<Database>) -> Result<Values, TxnError> {
        let mut meta = Vec::new();
        for id in [100, 101, 102] {
            let unit = db.create_unit(UnitId(id), 1)?;
            meta.extend_from_slice(&unit.first_iam().to_bytes());
            if id != 102 {
                meta.extend_from_slice(&BTree::create(db.store().clone(), unit)?.root().to_bytes());
            }
        }
        db.change_settings(|s| s.meta = meta)?;
        Values::open(db)
    }

    fn open(db: &Arc<Database>) -> Result<Values, TxnError> {
        let meta = db.settings().meta.clone();
        let page = |i: usize| PageId::from_bytes(meta[i * 6..i * 6 + 6].try_into().unwrap());
        let store = db.store().clone();
        db.set_discarded_values(BTree::open(store.clone(), db.open_unit(page(2))?, page(3)));
        Ok(Values {
            rows: BTree::open(store.clone(), db.open_unit(page(0))?, page(1)),
            space: LobSpace::new(store, db.open_unit(page(4))?),
        })
    }

    fn get(&self, key: u64, mode: ReadMode<'_>) -> Result<Option<Vec<u8>>, TxnError> {
        let mut batch = RowBatch::new();
        if !self.rows.fetch(&key.to_be_bytes(), mode, &mut batch)? || batch.is_ghost(0) {
            return Ok(None);
        }
        let mut out = Vec::new();
        self.space.read(LobPointer::from_bytes(batch.row(0))?, &mut out)?;
        Ok(Some(out))
    }

    /// Sets or (`None`) deletes a row's value, and discards the one before.
    fn put(&self, t: &mut Txn, key: u64, new: Option<&[u8]>) -> Result<(), TxnError> {
        let key = key.to_be_bytes();
        let mut batch = RowBatch::new();
        let found = self.rows.fetch(&key, ReadMode::Current, &mut batch)? && !batch.is_ghost(0);
        let new =
            new.map(|bytes| self.space.write(t, bytes)).transpose()?.map(LobPointer::to_bytes);
        let outcome = match (found, new) {
            (false, None) => return Ok(()),
            (false, Some(new)) => self.rows.insert(t, &key, &new)?,
            (true, Some(new)) => self.rows.update(t, &key, &batch.header(0), &new)?,
            (true, None) => self.rows.delete(t, &key, &batch.header(0))?,
        };
        assert_eq!(outcome, Outcome::Done(()));
        if found {
            t.discard(&self.space, LobPointer::from_bytes(batch.row(0))?)?;
        }
        Ok(())
    }

    fn all(&self) -> Result<(KeyedRows, Vec<LobPointer>), TxnError> {
        let (mut rows, mut pointers, mut batch) = (BTreeMap::new(), Vec::new(), RowBatch::new());
        let mut cursor = self.rows.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        while cursor.next_batch(ReadMode::Dirty, &mut batch)? {
            for i in 0..batch.len() {
                let pointer = LobPointer::from_bytes(batch.row(i))?;
                let mut out = Vec::new();
                self.space.read(pointer, &mut out)?;
                rows.insert(u64::from_be_bytes(batch.key(i).try_into().unwrap()), out);
                pointers.push(pointer);
            }
        }
        Ok((rows, pointers))
    }

    fn faults(&self, db: &Arc<Database>) -> Result<Vec<String>, TxnError> {
        let _held = db.hold_background();
        let unit = |id| db.unit(UnitId(id)).expect("unit is open");
        let (_, pointers) = self.all()?;
        let list = db.discarded_values().expect("list");
        let units = [
            CheckUnit::Tree(&self.rows, unit(100)),
            CheckUnit::Tree(list.tree(), unit(101)),
            CheckUnit::Lob(&self.space, &pointers, unit(102)),
        ];
        Ok(db.check(&units)?.messages())
    }

    fn used(&self, db: &Arc<Database>) -> u64 {
        db.store().unit_space(&db.unit(UnitId(102)).unwrap()).unwrap().used
    }
}

fn small(disk: &SimDisk) -> Result<Arc<Database>, TxnError> {
    let log = log_options(2 << 20, Growth::Bytes(1 << 20), false);
    create(env(Arc::new(disk.clone()), 400, false), log, DbState::initial())
}

fn reopen(disk: &SimDisk) -> Result<Arc<Database>, TxnError> {
    let log = log_options(2 << 20, Growth::Bytes(1 << 20), false);
    open(env(Arc::new(disk.clone()), 400, false), log)
}

#[test]
fn a_snapshot_reads_what_was_discarded_behind_it_and_a_rollback_keeps_it() {
    let db = small(&SimDisk::new(1)).unwrap();
    let values = Values::create(&db).unwrap();
    let (first, second) = (value(1, 300_000), value(2, 20_000));
    let mut t = db.begin(1).unwrap();
    values.put(&mut t, 7, Some(&first)).unwrap();
    t.commit(Durability::Full).unwrap();
    let used = values.used(&db);

    let mut t = db.begin(1).unwrap();
    values.put(&mut t, 7, Some(&second)).unwrap();
    assert_eq!(db.free_discarded().unwrap(), 0, "its transaction is running");
    t.rollback().unwrap();
    assert_eq!(db.free_discarded().unwrap(), 0, "it was rolled back");
    assert_eq!(values.get(7, ReadMode::Current).unwrap().unwrap(), first);
    assert_eq!(values.used(&db), used, "what was written and rolled back is free");

    let reader = db.snapshot();
    let mut t = db.begin(1).unwrap();
    values.put(&mut t, 7, Some(&second)).unwrap();
    t.commit(Durability::Full).unwrap();
    assert_eq!(db.free_discarded().unwrap(), 0, "a snapshot needs it");
    assert_eq!(values.get(7, reader.mode()).unwrap().unwrap(), first);
    assert!(values.faults(&db).unwrap().is_empty());
    drop(reader);
    assert_eq!(db.free_discarded().unwrap(), 300_000 / 8_000 + 1);
    assert_eq!(db.free_discarded().unwrap(), 0);
    assert_eq!(values.get(7, ReadMode::Current).unwrap().unwrap(), second);
    assert!(values.faults(&db).unwrap().is_empty());
    assert!(values.used(&db) < used);
}

#[test]
fn a_savepoint_gives_back_what_was_discarded_behind_it() {
    let db = small(&SimDisk::new(2)).unwrap();
    let values = Values::create(&db).unwrap();
    let mut t = db.begin(1).unwrap();
    values.put(&mut t, 1, Some(&value(1, 9_000))).unwrap();
    let save = t.savepoint().unwrap();
    values.put(&mut t, 1, Some(&value(2, 9_000))).unwrap();
    values.put(&mut t, 1, None).unwrap();
    t.rollback_to(&save).unwrap();
    t.commit(Durability::Full).unwrap();
    assert_eq!(db.free_discarded().unwrap(), 0);
    assert_eq!(values.get(1, ReadMode::Current).unwrap().unwrap(), value(1, 9_000));
    assert!(values.faults(&db).unwrap().is_empty());
}

#[test]
fn used_pages_stay_bounded() {
    let db = small(&SimDisk::new(3)).unwrap();
    let values = Values::create(&db).unwrap();
    let mut rng = fastrand::Rng::with_seed(9);
    let mut most = 0;
    for round in 0..600 {
        let mut t = db.begin(1).unwrap();
        for _ in 0..3 {
            let new = value(round, rng.usize(8_001..90_000));
            values
                .put(&mut t, rng.u64(0..10), (rng.u8(..5) > 0).then_some(new.as_slice()))
                .unwrap();
        }
        if rng.u8(..4) == 0 {
            t.rollback().unwrap()
        } else {
            t.commit(Durability::Delayed).unwrap();
        }
        db.free_discarded().unwrap();
        db.checkpoint().unwrap();
        most = most.max(values.used(&db));
    }
    // Ten rows of at most twelve pages, and what three updates discard.
    assert!(most < 170, "{most} pages");
    assert!(values.faults(&db).unwrap().is_empty());
}

#[test]
fn a_dropped_space_takes_its_entries_along() {
    let db = small(&SimDisk::new(4)).unwrap();
    let values = Values::create(&db).unwrap();
    let mut t = db.begin(1).unwrap();
    values.put(&mut t, 1, Some(&value(1, 50_000))).unwrap();
    t.commit(Durability::Full).unwrap();
    let mut t = db.begin(1).unwrap();
    values.put(&mut t, 1, None).unwrap();
    t.commit(Durability::Full).unwrap();
    let unit = db.unit(UnitId(102)).unwrap();
    db.free_unit(unit.id(), unit.first_iam()).unwrap();
    // Its extents have a new owner already.
    let other = db.create_unit(UnitId(103), 1).unwrap();
    let other = LobSpace::new(db.store().clone(), other);
    let mut t = db.begin(1).unwrap();
    let kept = other.write(&mut t, &value(5, 60_000)).unwrap();
    t.commit(Durability::Full).unwrap();
    assert_eq!(db.free_discarded().unwrap(), 0);
    let mut entries = Vec::new();
    assert!(!db.discarded_values().unwrap().scan().next(&mut entries).unwrap(), "{entries:?}");
    let mut out = Vec::new();
    other.read(kept, &mut out).unwrap();
    assert_eq!(out, value(5, 60_000));
}

/// What a crash run does until the disk dies; the model has what was acknowledged, and what may or
/// may not be there.
fn work(
    db: &Arc<Database>,
    values: &Values,
    seed: u64,
    model: &mut KnownRows,
) -> Result<(), TxnError> {
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..40 {
        let mut t = db.begin(1)?;
        let mut next = model.sure.clone();
        for _ in 0..rng.usize(1..4) {
            let key = rng.u64(0..5);
            let len = [3, 8_000, 8_001, 40_000, 300_000][rng.usize(..5)];
            let new = (rng.u8(..4) > 0).then(|| value(seed + round, len));
            values.put(&mut t, key, new.as_deref())?;
            match new {
                Some(new) => next.insert(key, new),
                None => next.remove(&key),
            };
        }
        if rng.u8(..4) == 0 {
            t.rollback()?;
        } else {
            model.maybe = Some(next.clone());
            t.commit(Durability::Full)?;
            model.sure = next;
            model.maybe = None;
        }
        match rng.u8(..6) {
            0 => drop(db.checkpoint()?),
            1..=3 => drop(db.free_discarded()?),
            _ => {}
        }
    }
    Ok(())
}

#[derive(Default)]
struct KnownRows {
    sure: KeyedRows,
    maybe: Option<KeyedRows>,
}

fn crash_run(seed: u64) -> Result<bool, String> {
    let text = |e: TxnError| format!("seed {seed}: {e}");
    let disk = SimDisk::new(seed);
    let db = small(&disk).map_err(text)?;
    let values = Values::create(&db).map_err(text)?;
    db.checkpoint().map_err(text)?;
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
    disk.crash_at(disk.io_count() + rng.u64(1..140));
    let mut model = KnownRows::default();
    let crashed = work(&db, &values, seed, &mut model).is_err();
    drop((values, db));
    let mut disk = disk.crash(seed);
    // Sometimes a second crash while recovery or the freeing of what was left runs.
    if rng.bool() {
        disk.crash_at(rng.u64(1..60));
        if let Ok(db) = reopen(&disk) {
            let _ = Values::open(&db).and_then(|_| db.free_discarded());
        }
        disk = disk.crash(seed + 1);
    }
    let db = reopen(&disk).map_err(text)?;
    let values = Values::open(&db).map_err(text)?;
    let faults = values.faults(&db).map_err(text)?;
    if !faults.is_empty() {
        return Err(format!("seed {seed} after the crash: {faults:?}"));
    }
    db.free_discarded().map_err(text)?;
    let (rows, pointers) = values.all().map_err(text)?;
    if rows != model.sure && Some(&rows) != model.maybe.as_ref() {
        return Err(format!("seed {seed}: rows {:?}", rows.keys()));
    }
    let faults = values.faults(&db).map_err(text)?;
    let live: u64 = pointers.iter().map(|p| p.pages()).sum();
    let maps = db.unit(UnitId(102)).ok_or("unit")?.iam_pages().len() as u64;
    if !faults.is_empty() || values.used(&db) != live + maps {
        return Err(format!("seed {seed}: {} pages for {live}: {faults:?}", values.used(&db)));
    }
    let mut after = KnownRows { sure: rows, maybe: None };
    work(&db, &values, seed + 1, &mut after).map_err(text)?;
    let faults = values.faults(&db).map_err(text)?;
    if faults.is_empty() { Ok(crashed) } else { Err(format!("seed {seed}, later: {faults:?}")) }
}

/// `RINGWOOD_DISCARD_SEEDS` runs more.
#[test]
fn a_crash_at_any_point_leaks_nothing() {
    let seeds =
        std::env::var("RINGWOOD_DISCARD_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let crashed =
        (0..seeds).filter(|seed| crash_run(*seed).unwrap_or_else(|e| panic!("{e}"))).count();
    assert!(crashed as u64 > seeds / 2, "{crashed} of {seeds}");
}
