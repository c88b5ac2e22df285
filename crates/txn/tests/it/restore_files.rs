//! Log backups in which data files come and go: restored, up to any of these points, and with power
//! loss in between.

use std::path::Path;
use std::sync::Arc;

use crate::support::chain::{
    RestoredCopy, Rig, TakenBackup, check, devices, now_us, restore_to, restore_with_crashes,
};
use crate::support::*;
use disk::Disk;
use ringwood_txn::backup::{BackupError, MediaSet, RestoreNext, RollTo, SetKind, restore_log};
use ringwood_txn::{Database, Durability};
use sim::{Fault, OpKind};

/// A data file, where no restored database looks for it.
fn add(rig: &Rig, filegroup: u16, mb: u64) -> u16 {
    let id = rig.db.store().next_file_id();
    let spec = pages::FileSpec {
        id,
        name: format!("more{id}"),
        path: format!("db/more{id}.ndf").into(),
        filegroup,
        size: mb << 20,
        growth: pages::FileGrowth::Bytes(1 << 20),
        max_size: None,
    };
    let _held = rig.db.hold_files().unwrap();
    rig.db.add_file(&spec).unwrap();
    id
}

fn remove(rig: &Rig, id: u16) {
    let _held = rig.db.hold_files().unwrap();
    assert!(rig.db.remove_file(id).unwrap());
    rig.disk.remove(Path::new(&format!("db/more{id}.ndf"))).unwrap();
}

/// Number, logical name and filegroup of each data file.
fn files(db: &Arc<Database>) -> Vec<(u16, String, u16)> {
    db.store().files().into_iter().map(|f| (f.spec.id, f.spec.name, f.spec.filegroup)).collect()
}

/// Commits more rows than the files have extents open for.
fn fill(rig: &mut Rig) {
    let mut txn = rig.db.begin(51).unwrap();
    for id in 1000..1100 {
        let payload = vec![b'a' + (id % 20) as u8; 2500];
        assert_eq!(rig.table.insert(&mut txn, id, &payload).unwrap(), TriedChange::Done);
        rig.now.insert(id, payload);
    }
    txn.commit(Durability::Full).unwrap();
    rig.points.push((now_us(), rig.now.clone()));
}

/// What there was at a moment: the time, the rows, the files.
type RestorePoint = (u64, Model, Vec<(u16, String, u16)>);

fn point(rig: &mut Rig, points: &mut Vec<RestorePoint>) {
    let (time, model) = rig.points.last().unwrap().clone();
    points.push((time.max(now_us()), model, files(&rig.db)));
    let now = now_us();
    while now_us() <= now + 1 {
        std::hint::spin_loop();
    }
}

/// A chain of a full and two log backups. A file comes that rows go into, one comes and goes within
/// a log backup, one comes in the first and goes in the second.
fn chain(seed: u64) -> (Rig, Vec<TakenBackup>, Vec<RestorePoint>) {
    let mut rig = Rig::new(seed, false);
    let mut points = Vec::new();
    rig.work(150).unwrap();
    let mut chain = vec![rig.backup(SetKind::Full, &["full.bak"]).unwrap()];
    rig.work(100).unwrap();
    point(&mut rig, &mut points);
    let used = add(&rig, 1, 16);
    point(&mut rig, &mut points);
    rig.work(100).unwrap();
    fill(&mut rig);
    rig.db.limit_file(1, pages::FileGrowth::Percent(20), Some(64 << 20)).unwrap();
    let short = add(&rig, 3, 1);
    point(&mut rig, &mut points);
    rig.work(20).unwrap();
    remove(&rig, short);
    let long = add(&rig, 2, 1);
    rig.work(20).unwrap();
    point(&mut rig, &mut points);
    chain.push(rig.backup(SetKind::Log, &["one.trn"]).unwrap());
    rig.work(100).unwrap();
    point(&mut rig, &mut points);
    remove(&rig, long);
    rig.work(200).unwrap();
    chain.push(rig.backup(SetKind::Log, &["two.trn"]).unwrap());
    let taken = rig.db.store().allocated_extents(used).unwrap().len();
    assert!(taken > 1, "rows have gone into the new file");
    (rig, chain, points)
}

#[test]
fn a_chain_brings_its_files() {
    let (rig, chain, _) = chain(3);
    for last in [RestoreNext::More, RestoreNext::Last] {
        let copy = RestoredCopy::new(&rig.disk, &format!("copy{last:?}"));
        copy.step(&chain[0], None, RestoreNext::More).unwrap();
        let one = copy.step(&chain[1], None, RestoreNext::More).unwrap();
        assert_eq!(one.files.iter().map(|f| f.id).collect::<Vec<_>>(), [1, 2, 3, 5]);
        copy.step(&chain[2], None, last).unwrap();
        let db = copy.recover().unwrap();
        check(&db, &rig.now).unwrap();
        assert_eq!(files(&db), files(&rig.db));
        assert_eq!(db.store().files()[0].spec.growth, pages::FileGrowth::Percent(20));
        // And the database goes on with them.
        drop(db);
        let db = copy.recover().unwrap();
        check(&db, &rig.now).unwrap();
        assert_eq!(
            db.store().files()[2].spec.path,
            copy.target.log_path.with_file_name("added3.ndf")
        );
    }
}

#[test]
fn a_point_in_time_has_the_files_of_its_time() {
    let (rig, chain, points) = chain(4);
    for (n, (stop, model, list)) in points.iter().enumerate() {
        let copy = RestoredCopy::new(&rig.disk, &format!("copy{n}"));
        let db = restore_to(&copy, &chain, *stop).unwrap_or_else(|e| panic!("point {n}: {e}"));
        check(&db, model).unwrap_or_else(|e| panic!("point {n}: {e}"));
        assert_eq!(files(&db), *list, "point {n}");
    }
}

/// The log whose file has no place is not announced: the step can be repeated.
#[test]
fn a_file_without_a_place_changes_nothing() {
    let (rig, chain, _) = chain(5);
    let copy = RestoredCopy::new(&rig.disk, "copy");
    copy.step(&chain[0], None, RestoreNext::More).unwrap();
    let mut media = MediaSet::open(&devices(&rig.disk, &chain[1].files), false).unwrap();
    let to = RollTo { stop_us: None, place: &mut |_| Err(0) };
    let refused =
        restore_log(&copy.env(), &mut media, 1, &copy.target, to, RestoreNext::More, &mut |_| true);
    assert!(matches!(refused, Err(BackupError::NoPlace { name, .. }) if name == "more3"));
    // A place that cannot be had is no better.
    rig.disk.fail_on(Path::new("copy/x.ndf"), OpKind::SetLen, 1, Fault::NoSpace);
    let to = RollTo {
        stop_us: None,
        place: &mut |_| Ok(vec!["copy/x.ndf".into(), "copy/y.ndf".into()]),
    };
    let refused =
        restore_log(&copy.env(), &mut media, 1, &copy.target, to, RestoreNext::More, &mut |_| true);
    assert!(matches!(refused, Err(BackupError::CannotMake { name, .. }) if name == "more3"));
    assert!(!rig.disk.exists(Path::new("copy/x.ndf")).unwrap());
    chain[1..].iter().for_each(|taken| drop(copy.step(taken, None, RestoreNext::More).unwrap()));
    check(&copy.recover().unwrap(), &rig.now).unwrap();
}

/// Power goes at any I/O of a step that makes files: the step can be repeated, or left: a file that
/// was made for it is no part of the database then.
#[test]
fn crashes_while_files_are_made() {
    let mut crashes = 0;
    for seed in 0..12 {
        let (rig, chain, _) = chain(seed + 20);
        let mut rng = fastrand::Rng::with_seed(seed);
        crashes += restore_with_crashes(&mut rng, rig.disk.crash(seed), &chain, &rig.now, seed);
    }
    assert!(crashes > 10, "{crashes} crashes");
    let (rig, chain, points) = chain(50);
    let (mut with, mut without) = (0, 0);
    for at in (1..).step_by(2) {
        let disk = rig.disk.crash(at);
        let copy = RestoredCopy::new(&disk, "copy");
        copy.step(&chain[0], None, RestoreNext::More).unwrap();
        disk.crash_at(disk.io_count() + at);
        let done = copy.step(&chain[1], None, RestoreNext::More);
        if !disk.has_crashed() {
            done.unwrap();
            break;
        }
        let copy = RestoredCopy { disk: disk.crash(at), ..copy };
        let db = copy.recover().unwrap_or_else(|e| panic!("I/O {at}: {e}"));
        let faults = Table::open(&db).unwrap().faults(&db).unwrap();
        assert!(faults.is_empty(), "I/O {at}: {faults:?}");
        // The step counts as a whole or not at all.
        let (found, before) = (files(&db), files_of(&chain[0]));
        assert!(found == points[3].2 || found == before, "I/O {at}: {found:?}");
        *(if found == before { &mut without } else { &mut with }) += 1;
    }
    assert!(with > 0 && without > 0, "{with} with the files, {without} without");
}

fn files_of(full: &TakenBackup) -> Vec<(u16, String, u16)> {
    full.done.header.files.iter().map(|f| (f.id, f.name.clone(), f.filegroup)).collect()
}
