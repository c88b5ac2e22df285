//! Backups and restores: what is restored is what was there, at the end of a backup or at any point
//! in time.

use crate::support;
use ringwood_txn as txn;

use std::sync::Arc;

use crate::support::chain::{
    RestoredCopy, Rig, TakenBackup, check, devices, format, restore_to, restore_with_crashes, spec,
    target,
};
use crate::support::*;
use sim::{Fault, OpKind, SimDisk};
use txn::backup::{
    BackupError, BackupSpec, ExistingSets, MediaSet, RestoreNext, SetKind, backup_closed_log,
    mark_restoring, verify,
};
use txn::{LogReuseWait, RecoveryModel, TxnError};

#[test]
fn a_full_backup_under_load_is_the_database_at_its_end() {
    for background in [false, true] {
        let mut rig = Rig::new(11, background);
        rig.work(600).unwrap();
        let taken = rig.backup(SetKind::Full, &["bak/full.bak"]).unwrap();
        let model = rig.now.clone();
        rig.work(200).unwrap();
        let copy = RestoredCopy { background, ..RestoredCopy::new(&rig.disk, "copy") };
        copy.step(&taken, None, RestoreNext::Last).unwrap();
        let db = copy.recover().unwrap();
        assert!(db.recovery_report().rolled_back > 0, "transactions were open");
        check(&db, &model).unwrap();
        let pages: u64 = taken.done.end.pages.iter().map(|p| p.1).sum();
        assert!(pages > 20 && pages < 1200, "{pages} pages: only what is allocated");
    }
}

#[test]
fn the_log_waits_for_its_backup() {
    let mut rig = Rig::new(5, false);
    rig.work(100).unwrap();
    assert!(rig.db.truncates_at_checkpoint(), "no chain yet");
    assert!(matches!(rig.backup(SetKind::Log, &["x.trn"]), Err(BackupError::NoFullBackup)));
    assert!(matches!(rig.backup(SetKind::Differential, &["x.bak"]), Err(BackupError::NoBase)));
    rig.backup_as(&["copy.bak"], &BackupSpec { copy_only: true, ..spec(SetKind::Full) }).unwrap();
    assert!(matches!(rig.backup(SetKind::Log, &["x.trn"]), Err(BackupError::NoFullBackup)));
    let full = rig.backup(SetKind::Full, &["full.bak"]).unwrap();
    assert!(full.done.header.begins_chain && !rig.db.truncates_at_checkpoint());
    rig.work(2000).unwrap();
    rig.quiet();
    rig.db.checkpoint().unwrap();
    assert_eq!(rig.db.log_reuse_wait(), LogReuseWait::LogBackup);
    // It goes on waiting when the database is opened again.
    rig.db.close().unwrap();
    rig.db = open(env(Arc::new(rig.disk.clone()), 600, false), support::chain::options()).unwrap();
    rig.table = Table::open(&rig.db).unwrap();
    rig.db.checkpoint().unwrap();
    assert_eq!(rig.db.log_reuse_wait(), LogReuseWait::LogBackup);
    let one = rig.backup(SetKind::Log, &["one.trn"]).unwrap();
    assert_eq!(one.done.header.first_lsn, full.done.header.first_lsn);
    assert_eq!(rig.db.log_reuse_wait(), LogReuseWait::Nothing);
    rig.work(50).unwrap();
    let two = rig.backup(SetKind::Log, &["two.trn"]).unwrap();
    assert_eq!(two.done.header.first_lsn, one.done.end.last_lsn, "log backups meet");
    rig.quiet();
    rig.db.change_settings(|s| s.recovery_model = RecoveryModel::Simple).unwrap();
    assert!(matches!(rig.backup(SetKind::Log, &["x.trn"]), Err(BackupError::Simple)));
    rig.db.change_settings(|s| s.recovery_model = RecoveryModel::BulkLogged).unwrap();
    assert!(matches!(rig.backup(SetKind::Log, &["x.trn"]), Err(BackupError::NoFullBackup)));
}

/// The model changes while a log backup runs: the chain has ended, whichever of the two is over
/// first.
#[test]
fn simple_during_a_log_backup_ends_the_chain() {
    let mut rig = Rig::new(6, false);
    rig.backup(SetKind::Full, &["full.bak"]).unwrap();
    rig.work(1000).unwrap();
    rig.quiet();
    let db = Arc::clone(&rig.db);
    let mut changed = false;
    let mut change = |_| {
        if !std::mem::replace(&mut changed, true) {
            db.change_settings(|s| s.recovery_model = RecoveryModel::Simple).unwrap();
        }
        true
    };
    db.backup(&devices(&rig.disk, &["log.trn".into()]), &spec(SetKind::Log), &mut change).unwrap();
    assert!(changed && db.backup_state().log_from.is_zero());
    rig.work(1000).unwrap();
    rig.quiet();
    let before = db.log().space().used;
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::Nothing);
    assert!(db.log().space().used < before, "the checkpoint has truncated the log");
}

/// A chain that begins again under a log backup of the one before is not moved by it.
#[test]
fn a_log_backup_does_not_move_a_chain_that_it_did_not_begin_with() {
    let mut rig = Rig::new(7, false);
    rig.backup(SetKind::Full, &["full.bak"]).unwrap();
    rig.work(200).unwrap();
    rig.quiet();
    let db = Arc::clone(&rig.db);
    let mut from = None;
    let mut change = |_| {
        from.get_or_insert_with(|| {
            db.change_settings(|s| s.recovery_model = RecoveryModel::Simple).unwrap();
            db.change_settings(|s| s.recovery_model = RecoveryModel::Full).unwrap();
            let again = devices(&rig.disk, &["again.bak".into()]);
            db.backup(&again, &spec(SetKind::Full), &mut |_| true).unwrap();
            db.backup_state().log_from
        });
        true
    };
    db.backup(&devices(&rig.disk, &["log.trn".into()]), &spec(SetKind::Log), &mut change).unwrap();
    assert_eq!(Some(db.backup_state().log_from), from);
    assert!(!from.unwrap().is_zero());
}

/// A backup is of one list of files: they come and go before it or after it.
#[test]
fn files_do_not_change_under_a_backup() {
    let mut rig = Rig::new(3, false);
    rig.work(50).unwrap();
    let db = Arc::clone(&rig.db);
    let held = db.hold_files().unwrap();
    assert!(matches!(rig.backup(SetKind::Full, &["a.bak"]), Err(BackupError::Busy)));
    drop(held);
    let mut met = 0;
    let mut refused = |_| {
        met += u32::from(matches!(db.hold_files(), Err(TxnError::FilesBusy)));
        true
    };
    db.backup(&devices(&rig.disk, &["b.bak".into()]), &spec(SetKind::Full), &mut refused).unwrap();
    assert!(met > 0);
    assert!(db.hold_files().is_ok());
}

/// The number of random points in time; the environment may ask for more.
fn points() -> usize {
    std::env::var("RINGWOOD_POINTS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

#[test]
fn any_point_in_time_can_be_restored() {
    let seeds = points().div_ceil(20) as u64;
    for seed in 0..seeds {
        point_in_time(seed);
    }
}

fn point_in_time(seed: u64) {
    let mut rig = Rig::new(seed, seed % 4 == 3);
    rig.work(150).unwrap();
    let mut fulls = vec![rig.backup(SetKind::Full, &["full0.bak", "full1.bak"]).unwrap()];
    let mut diffs: Vec<TakenBackup> = Vec::new();
    let mut logs = Vec::new();
    for i in 0..6 {
        let steps = rig.rng.u32(50..700);
        rig.work(steps).unwrap();
        match rig.rng.u32(0..4) {
            0 => diffs.push(rig.backup(SetKind::Differential, &["diff.bak"]).unwrap()),
            1 => fulls.push(rig.backup(SetKind::Full, &["again.bak"]).unwrap()),
            _ => {}
        }
        if rig.rng.bool() {
            rig.work(100).unwrap();
        }
        let name = format!("log{}.trn", i % 2);
        logs.push(rig.backup(SetKind::Log, &[&name]).unwrap());
    }
    let last = logs.last().unwrap().done.end.end_us;
    for n in 0..20 {
        let first = fulls[0].done.end.end_us;
        let (stop, model) = rig.rng.choice(&rig.points).unwrap().clone();
        if stop < first || stop > last {
            continue;
        }
        let full = rig
            .rng
            .choice(fulls.iter().filter(|f| f.done.end.end_us <= stop).collect::<Vec<_>>())
            .unwrap();
        let diff = diffs.iter().rfind(|d| {
            d.done.header.base.unwrap().set_id == full.done.header.set_id
                && d.done.end.end_us <= stop
        });
        let mut chain = vec![full.clone()];
        chain.extend(diff.filter(|_| rig.rng.bool()).cloned());
        let from = chain.last().unwrap().done.end.last_lsn;
        chain.extend(logs.iter().filter(|l| l.done.end.last_lsn >= from).cloned());
        let copy = RestoredCopy::new(&rig.disk, &format!("copy{n}"));
        let db = restore_to(&copy, &chain, stop)
            .unwrap_or_else(|e| panic!("seed {seed}, point {n}: {e}"));
        check(&db, &model)
            .unwrap_or_else(|e| panic!("seed {seed}, point {n}, chain of {}: {e}", chain.len()));
        drop(db);
        copy.remove();
    }
}

#[test]
fn a_lost_database_comes_back_from_its_tail() {
    let mut rig = Rig::new(8, false);
    rig.work(300).unwrap();
    let full = rig.backup(SetKind::Full, &["full.bak"]).unwrap();
    rig.work(300).unwrap();
    let log = rig.backup(SetKind::Log, &["log.trn"]).unwrap();
    rig.work(300).unwrap();
    // Power goes, and with it the data files; the log file stays.
    let disk = rig.disk.crash(1);
    for file in [PRIMARY, "db/test2.ndf"] {
        disk::Disk::remove(&disk, std::path::Path::new(file)).unwrap();
    }
    let tail = BackupSpec { copy_only: true, ..spec(SetKind::Log) };
    let files = vec!["tail.trn".to_string()];
    let path = std::path::Path::new(LOG);
    let done =
        backup_closed_log(&disk, path, &devices(&disk, &files), &tail, &mut |_| true).unwrap();
    assert_eq!(done.header.first_lsn, log.done.end.last_lsn);
    let tail = TakenBackup { files, position: 1, done };
    let copy = RestoredCopy::new(&disk, "back");
    for taken in [&full, &log, &tail] {
        copy.step(taken, None, RestoreNext::More).unwrap();
    }
    let db = copy.recover().unwrap();
    check(&db, &rig.now).unwrap();
}

/// Restored, worked on, backed up again: the new recovery fork has a chain of its own, and the old
/// one is refused.
#[test]
fn recovery_forks_are_told_apart() {
    let mut rig = Rig::new(4, false);
    rig.work(200).unwrap();
    let full = rig.backup(SetKind::Full, &["full.bak"]).unwrap();
    rig.work(200).unwrap();
    let (stop, at_stop) = rig.points.last().unwrap().clone();
    rig.work(200).unwrap();
    let log = rig.backup(SetKind::Log, &["log.trn"]).unwrap();
    rig.work(200).unwrap();
    let late = rig.backup(SetKind::Log, &["late.trn"]).unwrap();
    let copy = RestoredCopy::new(&rig.disk, "fork");
    let db = restore_to(&copy, &[full.clone(), log.clone()], stop).unwrap();
    let table = check(&db, &at_stop).unwrap();
    let mut fork = Rig { db, table, now: at_stop, disk: rig.disk.clone(), ..Rig::new(9, false) };
    fork.work(100).unwrap();
    let new = fork.backup(SetKind::Log, &["new.trn"]).unwrap();
    assert_eq!(new.done.header.fork_lsn, new.done.header.first_lsn);
    let wanted = fork.now.clone();
    let again = RestoredCopy::new(&rig.disk, "again");
    again.step(&full, None, RestoreNext::More).unwrap();
    assert!(matches!(
        again.step(&new, None, RestoreNext::More),
        Err(BackupError::TooRecent { .. })
    ));
    assert!(matches!(
        again.step(&late, None, RestoreNext::More),
        Err(BackupError::TooRecent { .. })
    ));
    again.step(&log, Some(stop), RestoreNext::More).unwrap();
    assert!(
        matches!(again.step(&late, None, RestoreNext::More), Err(BackupError::OtherFork)),
        "cut before"
    );
    assert!(matches!(again.step(&log, None, RestoreNext::More), Err(BackupError::OtherFork)));
    again.step(&new, None, RestoreNext::Last).unwrap();
    check(&again.recover().unwrap(), &wanted).unwrap();
    assert!(
        matches!(again.step(&new, None, RestoreNext::More), Err(BackupError::NotReady)),
        "it is recovered"
    );
    // Beyond the fork the new chain does not fit.
    let other = RestoredCopy::new(&rig.disk, "other");
    for taken in [&full, &log] {
        other.step(taken, None, RestoreNext::More).unwrap();
    }
    assert!(matches!(other.step(&new, None, RestoreNext::More), Err(BackupError::OtherFork)));
}

#[test]
fn the_order_of_a_chain_is_checked() {
    let mut rig = Rig::new(6, false);
    rig.work(100).unwrap();
    let first = rig.backup(SetKind::Full, &["a.bak"]).unwrap();
    rig.work(100).unwrap();
    let log = rig.backup(SetKind::Log, &["a.trn"]).unwrap();
    let second = rig.backup(SetKind::Full, &["b.bak"]).unwrap();
    rig.work(100).unwrap();
    let diff = rig.backup(SetKind::Differential, &["b.bak"]).unwrap();
    assert_eq!(diff.position, 2, "behind the full backup");
    let copy = RestoredCopy::new(&rig.disk, "copy");
    assert!(
        matches!(copy.step(&log, None, RestoreNext::More), Err(BackupError::NoLog)),
        "nothing restored yet"
    );
    copy.step(&first, None, RestoreNext::More).unwrap();
    assert!(matches!(copy.step(&diff, None, RestoreNext::More), Err(BackupError::OtherBase)));
    copy.step(&log, None, RestoreNext::More).unwrap();
    let new = RestoredCopy::new(&rig.disk, "new");
    new.step(&second, None, RestoreNext::More).unwrap();
    assert!(matches!(new.step(&log, None, RestoreNext::More), Err(BackupError::TooEarly { .. })));
    assert!(matches!(
        new.step(&log, Some(1), RestoreNext::More),
        Err(BackupError::TooEarly { .. })
    ));
    new.step(&diff, None, RestoreNext::More).unwrap();
    check(&new.recover().unwrap(), &rig.now).unwrap();
    // Another database's log.
    let mut foreign = Rig { disk: rig.disk.clone(), ..Rig::new(77, false) };
    foreign.work(50).unwrap();
    let alien = foreign.backup_as(&["alien.bak"], &spec(SetKind::Full)).unwrap();
    let third = RestoredCopy::new(&rig.disk, "third");
    third.step(&alien, None, RestoreNext::More).unwrap();
    // Both were made with the same identity, so that alone does not tell them apart; the fork and
    // the LSNs do.
    assert!(third.step(&log, None, RestoreNext::More).is_err());
}

#[test]
fn a_tail_backup_leaves_the_database_restoring() {
    let mut rig = Rig::new(6, false);
    rig.work(100).unwrap();
    let full = rig.backup(SetKind::Full, &["a.bak"]).unwrap();
    rig.work(100).unwrap();
    rig.quiet();
    rig.db.close().unwrap();
    let tail = BackupSpec { tail: true, ..spec(SetKind::Log) };
    let files = vec!["tail.trn".to_string()];
    let (disk, path) = (rig.disk.clone(), std::path::Path::new(LOG));
    let done =
        backup_closed_log(&disk, path, &devices(&disk, &files), &tail, &mut |_| true).unwrap();
    mark_restoring(&disk, &Default::default(), path).unwrap();
    let tail = TakenBackup { files, position: 1, done };
    let copy = RestoredCopy::new(&disk, "copy");
    copy.step(&full, None, RestoreNext::More).unwrap();
    copy.step(&tail, None, RestoreNext::More).unwrap();
    let db = copy.recover().unwrap();
    let table = check(&db, &rig.now).unwrap();
    // The copy works on, and its log goes back to where the tail was taken: the roles have changed.
    let mut other =
        Rig { db, table, disk: disk.clone(), now: rig.now.clone(), ..Rig::new(3, false) };
    other.work(80).unwrap();
    other.quiet();
    let back = other.backup(SetKind::Log, &["back.trn"]).unwrap();
    let mut origin = target("db");
    origin.files = vec![(1, PRIMARY.into()), (2, "db/test2.ndf".into())];
    origin.log_path = LOG.into();
    let origin = RestoredCopy { disk: disk.clone(), target: origin, background: false };
    origin.step(&back, None, RestoreNext::More).unwrap();
    check(&origin.recover().unwrap(), &other.now).unwrap();
}

#[test]
fn failing_devices_harm_nobody() {
    let mut rig = Rig::new(2, false);
    rig.work(300).unwrap();
    let good = rig.backup(SetKind::Full, &["good.bak"]).unwrap();
    let before = rig.db.backup_state();
    for (kind, name) in
        [(SetKind::Full, "bad.bak"), (SetKind::Log, "bad.trn"), (SetKind::Log, "good.bak")]
    {
        for nth in 1..4 {
            rig.work(20).unwrap();
            let path = std::path::Path::new(name);
            rig.disk.fail_on(path, OpKind::Write, nth, Fault::NoSpace);
            let failed = rig.backup_as(&[name], &spec(kind));
            assert!(
                matches!(failed, Err(BackupError::Write { .. })),
                "{name} {nth}: {:?}",
                failed.err()
            );
            rig.disk.clear_faults();
            assert_eq!(disk::Disk::exists(&rig.disk, path).unwrap(), name == "good.bak");
        }
    }
    assert_eq!(rig.db.backup_state(), before, "neither chain nor base has moved");
    let copy = RestoredCopy::new(&rig.disk, "copy");
    copy.step(&good, None, RestoreNext::More).unwrap();
    let log = rig.backup(SetKind::Log, &["good.bak"]).unwrap();
    assert_eq!(log.position, 2);
    copy.step(&log, None, RestoreNext::Last).unwrap();
    check(&copy.recover().unwrap(), &rig.now).unwrap();
    let missing = devices(&rig.disk, &["none.bak".to_string()]);
    assert!(matches!(MediaSet::open(&missing, false), Err(BackupError::Open { .. })));
}

#[test]
fn a_stripe_that_fails_at_the_end_leaves_none_behind() {
    for background in [false, true] {
        let mut rig = Rig::new(3, background);
        rig.work(200).unwrap();
        let stripes = ["a.bak", "b.bak", "c.bak"];
        for broken in stripes {
            rig.disk.fail_on(std::path::Path::new(broken), OpKind::Sync, 1, Fault::Io);
            let failed = rig.backup(SetKind::Full, &stripes);
            assert!(
                matches!(failed, Err(BackupError::Write { .. })),
                "{broken}: {:?}",
                failed.err()
            );
            for stripe in stripes {
                assert!(
                    !disk::Disk::exists(&rig.disk, std::path::Path::new(stripe)).unwrap(),
                    "{broken}: {stripe}"
                );
            }
        }
        let full = rig.backup(SetKind::Full, &stripes).unwrap();
        let copy = RestoredCopy { background, ..RestoredCopy::new(&rig.disk, "copy") };
        copy.step(&full, None, RestoreNext::Last).unwrap();
        check(&copy.recover().unwrap(), &rig.now).unwrap();
    }
}

#[test]
fn media_sets_and_their_families() {
    let mut rig = Rig::new(2, false);
    rig.work(200).unwrap();
    let full = rig.backup(SetKind::Full, &["a.bak", "b.bak", "c.bak"]).unwrap();
    let some = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(ToString::to_string).collect();
        MediaSet::open(&devices(&rig.disk, &files), false).map(drop)
    };
    assert!(matches!(some(&["a.bak", "c.bak"]), Err(BackupError::Families { need: 3, given: 2 })));
    assert!(matches!(some(&["a.bak", "a.bak", "b.bak"]), Err(BackupError::OtherMedia { .. })));
    some(&["c.bak", "a.bak", "b.bak"]).unwrap();
    assert!(matches!(
        rig.backup(SetKind::Log, &["a.bak"]),
        Err(BackupError::Families { need: 3, given: 1 })
    ));
    let log = rig.backup(SetKind::Log, &["b.bak", "c.bak", "a.bak"]).unwrap();
    assert_eq!(log.position, 2);
    let copy = RestoredCopy::new(&rig.disk, "copy");
    copy.step(&full, None, RestoreNext::More).unwrap();
    copy.step(&log, None, RestoreNext::Last).unwrap();
    check(&copy.recover().unwrap(), &rig.now).unwrap();
    let over = BackupSpec { existing: ExistingSets::Overwrite, ..spec(SetKind::Log) };
    assert_eq!(rig.backup_as(&["a.bak"], &over).unwrap().position, 1);
    let file =
        disk::Disk::open(&rig.disk, std::path::Path::new("text"), disk::OpenMode::Create).unwrap();
    file.write_at(0, &disk::AlignedBuf::from_slice(&[b'x'; 8192])).unwrap();
    drop(file);
    for existing in [ExistingSets::Append, ExistingSets::Overwrite] {
        let refused = rig.backup_as(&["text"], &BackupSpec { existing, ..spec(SetKind::Log) });
        assert!(matches!(refused, Err(BackupError::NotBackup { .. })));
    }
    rig.backup_as(&["text"], &format(SetKind::Log)).unwrap();
}

/// Flipped bits and cut files are errors, never a panic and never another database.
#[test]
fn damaged_backups_are_refused() {
    let mut rig = Rig::new(2, false);
    rig.work(150).unwrap();
    let full = rig.backup(SetKind::Full, &["a.bak"]).unwrap();
    rig.work(60).unwrap();
    let log = rig.backup(SetKind::Log, &["a.bak"]).unwrap();
    let path = std::path::Path::new("a.bak");
    let len = disk::Disk::open(&rig.disk, path, disk::OpenMode::Open).unwrap().len().unwrap();
    let (mut refused, mut fine) = (0, 0);
    for seed in 0..150u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk: SimDisk = rig.disk.crash(seed);
        if rng.u32(0..3) == 0 {
            let cut = rng.u64(0..len / 4096) * 4096;
            disk::Disk::open(&disk, path, disk::OpenMode::Open).unwrap().set_len(cut).unwrap();
        } else {
            // Headers are hit more often than their share.
            let at = if rng.bool() {
                rng.u64(0..len / 4096) * 4096 + rng.u64(0..64)
            } else {
                rng.u64(0..len)
            };
            disk.rot(path, at).unwrap();
        }
        let copy = RestoredCopy::new(&disk, "copy");
        let files = vec!["a.bak".to_string()];
        let verified = |at: u16| {
            let mut media = MediaSet::open(&devices(&disk, &files), false)?;
            verify(&mut media, at, &mut |_| true).map(drop)
        };
        let (good_full, good_log) = (verified(1), verified(2));
        let restored = copy
            .step(&full, None, RestoreNext::More)
            .and_then(|_| copy.step(&log, None, RestoreNext::Last));
        match restored {
            Ok(_) => {
                fine += 1;
                check(&copy.recover().unwrap(), &rig.now)
                    .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
                assert!(good_full.is_ok() && good_log.is_ok(), "seed {seed}");
            }
            Err(e) => {
                refused += 1;
                let number = e.number();
                assert!(
                    [3203, 3241, 3242, 3189, 4038].contains(&number),
                    "seed {seed}: {number} {e}"
                );
                assert!(
                    good_full.is_err() || good_log.is_err(),
                    "seed {seed}: verified, and then {e}"
                );
            }
        }
    }
    // Padding may be hit without harm.
    assert!(refused > 80 && fine > 5, "refused {refused}, fine {fine}");
}

/// A backup of an earlier version, whose index entries are not read, is refused before anything is
/// restored.
#[test]
fn backups_of_earlier_versions_are_refused() {
    let mut rig = Rig::new(13, false);
    rig.work(50).unwrap();
    let taken = rig.backup(SetKind::Full, &["old.bak"]).unwrap();
    let path = std::path::Path::new("old.bak");
    let file = disk::Disk::open(&rig.disk, path, disk::OpenMode::Open).unwrap();
    let mut bytes = disk::AlignedBuf::new(file.len().unwrap() as usize);
    file.read_at(0, &mut bytes).unwrap();
    // The header of the set is a piece whose content begins with the version.
    let is_header = |at: &usize| bytes[*at..].starts_with(b"RWBK") && bytes[*at + 6] == 2;
    let at = (0..bytes.len()).step_by(4096).find(is_header).expect("a set");
    assert_eq!(bytes[at + 26], 0, "it is not compressed");
    assert_eq!(bytes[at + 64..at + 66], [4, 0]);
    bytes[at + 64] = 3;
    let stored = bytes[at + 40..].first_chunk().map_or(0, |len| u32::from_le_bytes(*len)) as usize;
    let crc = crc32c::crc32c(&bytes[at..at + 60]);
    let crc = crc32c::crc32c_append(crc, &bytes[at + 64..at + 64 + stored]);
    bytes[at + 60..at + 64].copy_from_slice(&crc.to_le_bytes());
    file.write_durable(at as u64, &[&bytes[at..at + 4096]]).unwrap();
    drop(file);
    let error = RestoredCopy::new(&rig.disk, "copy")
        .step(&taken, None, RestoreNext::Last)
        .expect_err("it is of an earlier version");
    assert!(matches!(error, BackupError::Version { found: 3, known: 4, .. }), "{error}");
    assert_eq!(error.number(), 3169);
}

/// Power goes at any I/O of a backup or of a restore step: the database is what it was, an
/// unfinished backup is not there or is refused, and the steps can be repeated from the first one
/// that was not reported done.
#[test]
fn crashes_during_backups_and_restores() {
    let (mut in_backup, mut in_restore) = (0, 0);
    for seed in 0..25 {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0xBAC);
        let mut rig = Rig::new(seed, false);
        rig.work(120).unwrap();
        let full = rig.backup(SetKind::Full, &["full.bak"]).unwrap();
        rig.work(150).unwrap();
        let log = rig.backup(SetKind::Log, &["log.trn"]).unwrap();
        rig.work(150).unwrap();
        let (kind, name) = if rng.bool() {
            (SetKind::Log, "log.trn")
        } else {
            (SetKind::Differential, "diff.bak")
        };
        rig.disk.crash_at(rig.disk.io_count() + rng.u64(1..12));
        let last = rig.backup(kind, &[name]).ok();
        in_backup += u32::from(last.is_none());
        let disk = rig.disk.crash(rng.u64(..));
        // The database itself.
        let db = open(env(Arc::new(disk.clone()), 600, false), support::chain::options()).unwrap();
        check(&db, &rig.now).unwrap_or_else(|e| panic!("seed {seed}, after the crash: {e}"));
        assert!(!db.truncates_at_checkpoint(), "seed {seed}: the chain goes on");
        let mut rig = Rig {
            table: Table::open(&db).unwrap(),
            db,
            disk,
            now: rig.now.clone(),
            ..Rig::new(seed + 500, false)
        };
        let end = rig.backup(SetKind::Log, &["end.trn"]).unwrap();
        assert!(end.done.header.first_lsn >= log.done.end.last_lsn);
        let mut chain = vec![full.clone(), log.clone()];
        chain.extend(last.filter(|t| t.done.header.kind == SetKind::Log));
        chain.push(end);
        in_restore += restore_with_crashes(&mut rng, rig.disk.clone(), &chain, &rig.now, seed);
    }
    assert!(
        in_backup > 5 && in_restore > 10,
        "{in_backup} crashes in backups, {in_restore} in restores"
    );
}
