//! Space that returns: waves of rows that come and go, with rollbacks, snapshots, cleanup and power
//! loss between any two I/Os. After that every row is as it should be, and when all are deleted
//! every structure is one extent again.

use std::sync::Arc;

use crate::support::txn::{Database, DbState, Durability, Env, RecoveryModel, TxnError};
use crate::support::{self, Model, Table, TriedChange, create, env, log_options, open};
use sim::SimDisk;
use wal::Growth;

fn environment(disk: &SimDisk) -> Env {
    env(Arc::new(disk.clone()), 60, false)
}

fn database(disk: &SimDisk) -> Result<Arc<Database>, TxnError> {
    let settings = DbState { recovery_model: RecoveryModel::Simple, ..DbState::initial() };
    create(environment(disk), log_options(4 << 20, Growth::Bytes(1 << 20), false), settings)
}

fn again(disk: &SimDisk) -> Result<Arc<Database>, TxnError> {
    open(environment(disk), log_options(4 << 20, Growth::Bytes(1 << 20), false))
}

#[derive(Default)]
struct KnownRows {
    sure: Model,
    maybe: Option<Model>,
}

/// One wave: rows come, most or all go, some of it is taken back.
fn wave(
    db: &Arc<Database>,
    table: &Table,
    rng: &mut fastrand::Rng,
    rows: &mut KnownRows,
) -> Result<(), TxnError> {
    let reader = (rng.u8(..3) == 0).then(|| (db.snapshot(), rows.sure.clone()));
    for going in [false, true] {
        let mut next = rows.sure.clone();
        let mut t = db.begin(1)?;
        let ids: Vec<u64> = if going {
            let keep = [0, 0, 1, 5][rng.usize(..4)];
            rows.sure.keys().copied().filter(|_| rng.u8(..10) >= keep).collect()
        } else {
            (0..rng.u64(20..200)).filter(|_| rng.u8(..8) > 0).collect()
        };
        for id in ids {
            let bytes = vec![rng.u8(..); rng.usize(1..1200)];
            let tried = match (going, next.contains_key(&id)) {
                (true, _) => table.delete(&mut t, id)?,
                (false, true) => table.update(&mut t, id, &bytes)?,
                (false, false) => table.insert(&mut t, id, &bytes)?,
            };
            assert_eq!(tried, TriedChange::Done);
            if going {
                next.remove(&id);
            } else {
                next.insert(id, bytes);
            }
        }
        if rng.u8(..3) == 0 {
            t.rollback()?;
        } else {
            rows.maybe = Some(next.clone());
            t.commit(Durability::Full)?;
            rows.sure = next;
            rows.maybe = None;
        }
        match rng.u8(..6) {
            0 => drop(db.checkpoint()?),
            1 => drop(db.clean_ghosts()?),
            2 => db.free_forgotten()?,
            3 => drop(db.reclaim(1)?),
            _ => db.free_pending()?,
        }
    }
    if let Some((snapshot, wanted)) = reader {
        let seen = table.read_all(snapshot.mode())?;
        assert!(seen.as_ref() == Ok(&wanted), "a snapshot sees something else");
    }
    Ok(())
}

fn whole(
    db: &Arc<Database>,
    table: &Table,
    rows: &KnownRows,
) -> Result<Result<(), String>, TxnError> {
    let found = match table.read_all(access::ReadMode::Dirty)? {
        Ok(found) => found,
        Err(e) => return Ok(Err(e)),
    };
    if found != rows.sure && Some(&found) != rows.maybe.as_ref() {
        return Ok(Err(format!("rows differ: {}", support::difference(&found, &rows.sure))));
    }
    let _held = db.hold_background();
    let faults = table.faults(db)?;
    Ok(if faults.is_empty() { Ok(()) } else { Err(format!("{faults:?}")) })
}

fn empty(db: &Arc<Database>, table: &Table) -> Result<Vec<usize>, TxnError> {
    let found = table.read_all(access::ReadMode::Dirty)?.expect("checked before");
    let mut t = db.begin(1)?;
    for id in found.keys() {
        assert_eq!(table.delete(&mut t, *id)?, TriedChange::Done);
    }
    t.commit(Durability::Full)?;
    db.free_forgotten()?;
    let ids = [table.heap.unit_id(), table.by_id.unit_id(), table.by_text.unit_id()];
    Ok(ids.iter().map(|id| db.unit(*id).expect("open").extent_count()).collect())
}

fn crash_run(seed: u64) -> Result<bool, String> {
    let text = |e: TxnError| format!("seed {seed}: {e}");
    let disk = SimDisk::new(seed);
    let db = database(&disk).map_err(text)?;
    let table = Table::create(&db).map_err(text)?;
    db.checkpoint().map_err(text)?;
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x57ace);
    disk.crash_at(disk.io_count() + rng.u64(1..120));
    let mut rows = KnownRows::default();
    let crashed = (0..25).any(|_| wave(&db, &table, &mut rng, &mut rows).is_err());
    drop((table, db));
    let mut disk = disk.crash(seed);
    // Sometimes once more, while recovery runs or what was left is freed.
    if rng.bool() {
        disk.crash_at(rng.u64(1..80));
        if let Ok(db) = again(&disk) {
            let _ = Table::open(&db).and_then(|_| db.free_forgotten());
        }
        disk = disk.crash(seed + 1);
    }
    let db = again(&disk).map_err(text)?;
    let table = Table::open(&db).map_err(text)?;
    whole(&db, &table, &rows).map_err(text)?.map_err(|e| format!("seed {seed}: {e}"))?;
    rows.sure = table.read_all(access::ReadMode::Dirty).map_err(text)?.expect("checked");
    rows.maybe = None;
    for _ in 0..3 {
        wave(&db, &table, &mut rng, &mut rows).map_err(text)?;
    }
    whole(&db, &table, &rows).map_err(text)?.map_err(|e| format!("seed {seed}, later: {e}"))?;
    let extents = empty(&db, &table).map_err(text)?;
    rows.sure.clear();
    whole(&db, &table, &rows).map_err(text)?.map_err(|e| format!("seed {seed}, empty: {e}"))?;
    if extents == [1, 1, 1] {
        Ok(crashed)
    } else {
        Err(format!("seed {seed}: {extents:?} extents are left"))
    }
}

/// `RINGWOOD_SPACE_SEEDS` runs more.
#[test]
fn a_crash_at_any_point_keeps_the_rows_and_leaks_no_extent() {
    let seeds =
        std::env::var("RINGWOOD_SPACE_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let crashed =
        (0..seeds).filter(|seed| crash_run(*seed).unwrap_or_else(|e| panic!("{e}"))).count();
    assert!(crashed as u64 > seeds / 2, "{crashed} of {seeds}");
}

/// Sessions that fill and empty one table, with the cleanup thread's work and readers beside them.
#[test]
fn sessions_that_come_and_go_leave_nothing() {
    let db = database(&SimDisk::new(3)).unwrap();
    let table = Table::create(&db).unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(3);
    std::thread::scope(|s| {
        for n in 0..3u64 {
            let (db, table) = (&db, &table);
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(n);
                while std::time::Instant::now() < end {
                    let ids = n * 1000..n * 1000 + rng.u64(5..80);
                    let mut t = db.begin(1).unwrap();
                    for id in ids.clone() {
                        let bytes = vec![n as u8; rng.usize(1..2000)];
                        assert_eq!(table.insert(&mut t, id, &bytes).unwrap(), TriedChange::Done);
                    }
                    if rng.bool() {
                        t.rollback().unwrap();
                        continue;
                    }
                    t.commit(Durability::Delayed).unwrap();
                    let mut t = db.begin(1).unwrap();
                    for id in ids {
                        assert_eq!(table.delete(&mut t, id).unwrap(), TriedChange::Done);
                    }
                    t.commit(Durability::Delayed).unwrap();
                }
            });
        }
        let (db, table) = (&db, &table);
        s.spawn(move || {
            while std::time::Instant::now() < end {
                db.free_pending().unwrap();
                db.release_extents(true).unwrap();
                db.checkpoint().unwrap();
            }
        });
        s.spawn(move || {
            while std::time::Instant::now() < end {
                let snapshot = db.snapshot();
                table.read_all(snapshot.mode()).unwrap().unwrap();
            }
        });
    });
    db.free_forgotten().unwrap();
    whole(&db, &table, &KnownRows::default()).unwrap().unwrap();
    assert_eq!(empty(&db, &table).unwrap(), [1, 1, 1]);
}
