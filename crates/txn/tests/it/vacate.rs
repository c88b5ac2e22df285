//! Nodes of B+trees that move to another file: rows, versions and undo find their way; extents come
//! back; crashes.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::chain::{Rig, check, options};
use crate::support::*;
use access::{Direction, ReadMode, RowBatch};
use ringwood_txn::{Database, DbState, Durability, TxnError};
use sim::SimDisk;
use wal::Growth;

/// Moves the nodes of both trees out of a file and gives their extents back; how many extents are
/// left of each.
fn vacate(db: &Database, table: &Table, file: u16) -> Result<Vec<usize>, TxnError> {
    db.bar_file(file, 0)?;
    let mut left = Vec::new();
    for tree in [&table.by_id, &table.by_text] {
        assert!(db.move_nodes::<TxnError>(tree, file, false, &mut || Ok(()))?);
        left.push(db.release_barred(tree.unit_id(), file)?);
    }
    db.store().unbar(file);
    Ok(left)
}

/// Extents of a tree in a file, and whether its first IAM page is there.
fn extents(db: &Database, tree: &access::BTree, file: u16) -> (usize, bool) {
    let unit = db.unit(tree.unit_id()).unwrap();
    let here = unit.extents().iter().filter(|e| e.file == file).count();
    (here, unit.first_iam().file == file)
}

fn fill(db: &Arc<Database>, table: &Table, model: &mut Model, ids: std::ops::Range<u64>) {
    let mut txn = db.begin(51).unwrap();
    for id in ids {
        let payload = vec![b'a' + (id % 20) as u8; 900];
        assert_eq!(table.insert(&mut txn, id, &payload).unwrap(), TriedChange::Done);
        model.insert(id, payload);
    }
    txn.commit(Durability::Full).unwrap();
}

#[test]
fn nodes_move_and_their_extents_come_back() {
    let mut rig = Rig::new(1, false);
    fill(&rig.db, &rig.table, &mut rig.now, 1000..2600);
    let (db, table) = (rig.db.clone(), rig.table.clone());
    let before = db.snapshot();
    let old = rig.now.clone();
    let mut ended = 0;
    for round in 0..6u64 {
        for file in [1, 2] {
            // Transactions that go on, and versions that a snapshot still needs.
            rig.work(60).unwrap();
            let held: Vec<_> = [&table.by_id, &table.by_text].map(|t| extents(&db, t, file)).into();
            let left = vacate(&db, &table, file).unwrap();
            for (left, (held, head)) in left.into_iter().zip(held) {
                assert_eq!(
                    left,
                    usize::from(head),
                    "only the extent with first IAM page and root stays"
                );
                ended += held - left;
            }
            assert_eq!(table.read_all(before.mode()).unwrap().unwrap(), old);
            if round % 2 == 0 {
                rig.work(40).unwrap();
                rig.quiet();
                check(&db, &rig.now).unwrap();
            }
        }
    }
    assert!(ended > 200, "{ended} extents have moved");
    rig.quiet();
    drop((before, table));
    db.clean_ghosts().unwrap();
    check(&db, &rig.now).unwrap();
    drop(db);
    rig.db.close().unwrap();
    let db = open(env(Arc::new(rig.disk.clone()), 600, false), options()).unwrap();
    let table = check(&db, &rig.now).unwrap();
    fill(&db, &table, &mut rig.now, 5000..5300);
    check(&db, &rig.now).unwrap();
}

#[test]
fn a_transaction_is_undone_where_its_rows_have_gone() {
    let mut rig = Rig::new(2, false);
    fill(&rig.db, &rig.table, &mut rig.now, 1000..1800);
    let (db, table) = (rig.db.clone(), rig.table.clone());
    for (n, restart) in [false, true].into_iter().enumerate() {
        let mut txn = db.begin(51).unwrap();
        for id in (1000..1800).step_by(3) {
            match id % 2 {
                0 => {
                    assert_eq!(
                        table.update(&mut txn, id, &vec![b'z'; 1500]).unwrap(),
                        TriedChange::Done
                    )
                }
                _ => assert_eq!(table.delete(&mut txn, id).unwrap(), TriedChange::Done),
            }
        }
        for id in 3000..3200 {
            assert_eq!(table.insert(&mut txn, id, &[b'n'; 700]).unwrap(), TriedChange::Done);
        }
        for file in [1, 2, 1] {
            vacate(&db, &table, file).unwrap();
        }
        if !restart {
            txn.rollback().unwrap();
            check(&db, &rig.now).unwrap();
            continue;
        }
        db.log().flush_all().unwrap();
        let disk = rig.disk.crash(n as u64);
        let db = open(env(Arc::new(disk), 600, false), options()).unwrap();
        check(&db, &rig.now).unwrap();
        txn.rollback().unwrap();
    }
}

#[test]
fn a_file_is_vacated_inside_as_far_as_there_is_room() {
    let mut rig = Rig::new(3, false);
    let (db, table) = (rig.db.clone(), rig.table.clone());
    // Room in front of what comes next.
    let units: Vec<_> = (0..60)
        .map(|i| pages::UnitId(1000 + i))
        .map(|id| (id, db.create_unit(id, 1).unwrap().first_iam()))
        .collect();
    fill(&db, &table, &mut rig.now, 1000..1400);
    units.into_iter().for_each(|(id, iam)| db.free_unit(id, iam).unwrap());
    let mut rooms = Vec::new();
    for file in [1, 2] {
        let end = db.store().file_usage(file).unwrap().end;
        for page in [end - 64, 320] {
            db.bar_file(file, page).unwrap();
            let (mut left, mut room) = (0, true);
            for tree in [&table.by_id, &table.by_text] {
                room &= db.move_nodes::<TxnError>(tree, file, true, &mut || Ok(())).unwrap();
                left += db.release_barred(tree.unit_id(), file).unwrap();
            }
            rooms.push(room);
            let behind = db.store().behind_bar(file).unwrap() as usize;
            assert!(!room || left <= behind, "{left} extents of trees, {behind} in all");
            db.store().unbar(file);
            check(&db, &rig.now).unwrap();
        }
    }
    assert!(rooms.contains(&true), "{rooms:?}");
}

/// The page that a cursor has read and the one it goes to next become neighbours again, for other
/// keys: it must not take them for what they were.
#[test]
fn a_cursor_that_waits_misses_no_row_when_its_pages_are_used_elsewhere() {
    let mut rig = Rig::new(6, false);
    let (db, table) = (rig.db.clone(), rig.table.clone());
    let last = 2600;
    fill(&db, &table, &mut rig.now, 1000..last);
    for first in (1000..1800).step_by(100) {
        let mut batch = RowBatch::new();
        let mut cursor = table.by_id.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let mut ids: Vec<u64> = Vec::new();
        let mut read = |ids: &mut Vec<u64>| {
            let more = cursor.next_batch(ReadMode::Dirty, &mut batch).unwrap();
            let id = |i| u64::from_be_bytes(batch.key(i).try_into().unwrap());
            ids.extend((0..batch.len()).map(id));
            more
        };
        while ids.last().is_none_or(|&id| id < first + 300) {
            assert!(read(&mut ids));
        }
        // Fewer leaves in front, so that the pages in their order get later keys.
        let mut txn = db.begin(51).unwrap();
        for id in first..first + 100 {
            assert_eq!(table.delete(&mut txn, id).unwrap(), TriedChange::Done);
        }
        txn.commit(Durability::Full).unwrap();
        db.clean_ghosts().unwrap();
        for file in [1, 2, 1, 2] {
            vacate(&db, &table, file).unwrap();
        }
        while read(&mut ids) {}
        assert_eq!(ids, (first..last).collect::<Vec<_>>());
    }
}

#[test]
fn sessions_work_on_while_nodes_move() {
    let log = log_options(16 << 20, Growth::Bytes(16 << 20), true);
    let db = create(env(Arc::new(SimDisk::new(4)), 900, true), log, DbState::initial()).unwrap();
    let table = Table::create(&db).unwrap();
    let mut model = Model::new();
    fill(&db, &table, &mut model, 10_000..11_200);
    let stop = AtomicBool::new(false);
    let models = std::thread::scope(|scope| {
        let session = |who: u64| {
            let (db, table, stop) = (&db, &table, &stop);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(who);
                let mut mine = Model::new();
                while !stop.load(Ordering::Relaxed) {
                    let mut txn = db.begin(51).unwrap();
                    let mut next = mine.clone();
                    for _ in 0..rng.usize(1..30) {
                        let id = rng.u64(0..300) * 4 + who;
                        let payload = vec![b'a' + rng.u8(0..20); rng.usize(0..900)];
                        let tried = match (next.contains_key(&id), rng.u8(0..3)) {
                            (false, _) => {
                                next.insert(id, payload.clone());
                                table.insert(&mut txn, id, &payload)
                            }
                            (true, 0) => {
                                next.remove(&id);
                                table.delete(&mut txn, id)
                            }
                            (true, _) => {
                                next.insert(id, payload.clone());
                                table.update(&mut txn, id, &payload)
                            }
                        };
                        assert_eq!(tried.unwrap(), TriedChange::Done);
                    }
                    if rng.u8(0..3) == 0 {
                        txn.rollback().unwrap();
                    } else {
                        txn.commit(Durability::Full).unwrap();
                        mine = next;
                    }
                }
                mine
            })
        };
        let sessions: Vec<_> = (0..3).map(session).collect();
        let reader = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = db.snapshot();
                let rows = table.read_all(snapshot.mode()).unwrap().unwrap();
                assert_eq!(rows.range(10_000..).count(), 1200);
            }
        });
        for round in 0..40 {
            vacate(&db, &table, 1 + round % 2).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        sessions.into_iter().map(|s| s.join().unwrap()).collect::<Vec<_>>()
    });
    models.into_iter().for_each(|mine| model.extend(mine));
    let _held = db.hold_background();
    check(&db, &model).unwrap();
}

/// Power goes at any I/O while a file is vacated: all rows are there, and it can be done again.
#[test]
fn crashes_while_nodes_move() {
    let mut rig = Rig::new(5, false);
    fill(&rig.db, &rig.table, &mut rig.now, 1000..1250);
    rig.work(100).unwrap();
    rig.quiet();
    let mut crashed = 0;
    for at in 1.. {
        let disk = rig.disk.crash(at);
        let db = open(env(Arc::new(disk.clone()), 600, false), options()).unwrap();
        let table = Table::open(&db).unwrap();
        let mut model = rig.now.clone();
        fill(&db, &table, &mut model, 5000..5060);
        // One that never ends: its rows go back where they are then.
        let mut open_txn = db.begin(51).unwrap();
        for id in (1000..1250).step_by(5) {
            assert_eq!(table.update(&mut open_txn, id, b"never").unwrap(), TriedChange::Done);
        }
        disk.crash_at(disk.io_count() + at);
        let mut done = Ok(());
        for file in [2, 1] {
            let mut steps = 0;
            let mut flush = || {
                steps += 1;
                if steps % 3 == 0 { db.log().flush_all().map_err(TxnError::from) } else { Ok(()) }
            };
            done = done.and_then(|()| {
                db.bar_file(file, 0)?;
                for tree in [&table.by_id, &table.by_text] {
                    db.move_nodes(tree, file, false, &mut flush)?;
                    db.release_barred(tree.unit_id(), file)?;
                }
                db.store().unbar(file);
                db.checkpoint().map(drop)
            });
        }
        let stopped = disk.has_crashed();
        db.abandon();
        drop((open_txn, table, db));
        let db = open(env(Arc::new(disk.crash(at + 77)), 600, false), options()).unwrap();
        let table = check(&db, &model).unwrap_or_else(|e| panic!("I/O {at}: {e}"));
        for file in [2, 1] {
            vacate(&db, &table, file).unwrap();
        }
        check(&db, &model).unwrap_or_else(|e| panic!("I/O {at}, again: {e}"));
        fill(&db, &table, &mut model, 7000..7040);
        check(&db, &model).unwrap_or_else(|e| panic!("I/O {at}, later: {e}"));
        if !stopped {
            done.unwrap();
            break;
        }
        crashed += 1;
    }
    assert!(crashed > 20, "{crashed} crashes");
}

/// What was emptied stays shut, after a restart too; a bar does not.
#[test]
fn an_emptied_file_stays_empty() {
    let mut rig = Rig::new(6, false);
    let used = |db: &Database| db.store().file_usage(2).unwrap().used;
    rig.db.bar_file(2, 0).unwrap();
    let before = used(&rig.db);
    fill(&rig.db, &rig.table, &mut rig.now, 1000..1600);
    assert_eq!(used(&rig.db), before);
    for emptied in [false, true] {
        if emptied {
            rig.db.bar_file(2, 0).unwrap();
            rig.db.note_emptied(2).unwrap();
        }
        let before = used(&rig.db);
        let db = open(env(Arc::new(rig.disk.crash(9)), 600, false), options()).unwrap();
        let table = check(&db, &rig.now).unwrap();
        fill(&db, &table, &mut rig.now.clone(), 5000..5300);
        assert_eq!(used(&db) == before, emptied);
    }
}
