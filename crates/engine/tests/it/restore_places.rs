//! Places of the data files that a restore adds: errors, other places in a statement that is given
//! again, power loss.

use crate::support::restore::{FILES, FULL, LOG, compare, open, source};
use crate::support::text::{self, fails, run, say};
use engine::Instance;
use sim::{Fault, OpKind, SimDisk};
use std::path::Path;
use std::sync::Arc;

/// Gives a RESTORE LOG that makes its files and cannot list them.
#[track_caller]
fn fails_at_its_list(disk: &SimDisk, instance: &Arc<Instance>, sql: &str) {
    disk.fail_on(Path::new("/data/c.mdf"), OpKind::Write, 1, Fault::Io);
    let said = say(instance, sql);
    disk.clear_faults();
    assert!(said.contains("Msg 3013") && !said.contains("Msg 3156"), "{said}");
}

/// Gives a RESTORE LOG until it fails after its files: the log is announced by the last write of
/// its file before it is rolled forward.
#[track_caller]
fn fails_behind_its_files(disk: &SimDisk, instance: &Arc<Instance>, sql: &str, last: &str) {
    for n in 1.. {
        disk.fail_on(Path::new("/data/c.ldf"), OpKind::Write, n, Fault::Io);
        let said = say(instance, sql);
        disk.clear_faults();
        assert!(said.contains("Msg 3013"), "{said}");
        if disk::Disk::exists(disk, &Path::new("/data").join(last)).unwrap() {
            return;
        }
    }
}

#[test]
fn a_file_that_cannot_be_made_has_its_errors() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    // Where it was is the source's file.
    let said = fails(&instance, "RESTORE LOG C FROM DISK = 'l.trn'", &[1834, 3156, 3119, 3013]);
    assert!(
        said.contains(
            "Msg 3156: File 'more' cannot be restored to 's2.ndf'. Use WITH MOVE to identify a valid"
        ),
        "{said}"
    );
    disk::Disk::write_small_atomic(&*disk, Path::new("/data/taken.ndf"), b"somebody's").unwrap();
    let taken = "RESTORE LOG C FROM DISK = 'l.trn' WITH MOVE 'more' TO 'taken.ndf', MOVE 'fast' TO 'c3.ndf'";
    let said = fails(&instance, taken, &[5170, 3156, 3119, 3013]);
    assert!(
        said.starts_with("Msg 5170: Cannot create file 'taken.ndf' because it already exists."),
        "{said}"
    );
    assert_eq!(
        disk::Disk::read_small(&*disk, Path::new("/data/taken.ndf")).unwrap(),
        b"somebody's"
    );
    disk.fail_on(Path::new("/data/copy/c2.ndf"), OpKind::SetLen, 1, Fault::NoSpace);
    fails(&instance, LOG, &[5123, 3156, 3119, 3013]);
    run(&instance, LOG);
    compare(&instance);
}

/// The places of all files are checked before the first is made, and one that cannot be made takes
/// the others with it.
#[test]
fn a_failing_statement_leaves_no_file() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    let listed = "SELECT name, physical_name FROM sys.master_files WHERE database_id = DB_ID('C') ORDER BY file_id";
    let before = say(&instance, listed);
    let there =
        |name: &str| disk::Disk::exists(&*disk, &Path::new("/data/copy").join(name)).unwrap();
    // The second one would be the source's file.
    fails(
        &instance,
        "RESTORE LOG C FROM DISK = 'l.trn' WITH MOVE 'more' TO 'copy/c2.ndf'",
        &[1834, 3156, 3119, 3013],
    );
    assert!(!there("c2.ndf"));
    assert_eq!(say(&instance, listed), before);
    // Both would be the same.
    let same = LOG.replace("c3.ndf", "c2.ndf");
    let said = fails(&instance, &same, &[5170, 3156, 3119, 3013]);
    assert!(said.contains("Msg 3156: File 'fast' cannot be restored to 'copy/c2.ndf'."), "{said}");
    assert!(!there("c2.ndf"));
    disk.fail_on(Path::new("/data/copy/c3.ndf"), OpKind::SetLen, 1, Fault::NoSpace);
    let said = fails(&instance, LOG, &[5123, 3156, 3119, 3013]);
    assert!(said.contains("Msg 3156: File 'fast' cannot be restored to 'copy/c3.ndf'."), "{said}");
    assert!(!there("c2.ndf") && !there("c3.ndf"));
    assert_eq!(say(&instance, listed), before);
    run(&instance, LOG);
    compare(&instance);
}

/// Files that a failed attempt has made go where MOVE says now, and nothing of it stays.
#[test]
fn a_repeated_statement_moves_the_files() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    let there = |name: &str| disk::Disk::exists(&*disk, &Path::new("/data").join(name)).unwrap();
    fails_behind_its_files(&disk, &instance, LOG, "copy/c3.ndf");
    let elsewhere = LOG.replace("copy/", "else/");
    run(&instance, &elsewhere);
    assert_eq!(say(&instance, FILES), "S|c.mdf\nmore|else/c2.ndf\nfast|else/c3.ndf");
    assert!(!there("copy/c2.ndf") && !there("copy/c3.ndf"));
    compare(&instance);
}

/// Power goes at I/Os of RESTORE LOG, and the statement that is given again says other places.
#[test]
fn power_loss_and_other_places() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    instance.close().unwrap();
    lose_power_and_move(&disk, &["copy", "else"]);
}

/// A first attempt has put the files somewhere already, so that the one that dies moves them.
#[test]
fn power_loss_while_files_move() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    instance.close().unwrap();
    drop(instance);
    let third = LOG.replace("copy/", "third/");
    let disk = (1..)
        .map(|at| {
            let disk = disk.crash(at);
            let instance = open(&disk);
            disk.crash_at(disk.io_count() + at);
            say(&instance, &third);
            disk.crash(at)
        })
        .find(|disk| disk::Disk::exists(disk, Path::new("/data/third/c3.ndf")).unwrap())
        .unwrap();
    lose_power_and_move(&disk, &["copy", "else", "third"]);
}

fn lose_power_and_move(disk: &SimDisk, places: &[&str]) {
    let (mut moved, mut stayed) = (0, 0);
    text::power_loss(disk, open, LOG, 40, |instance, disk, at| {
        let restoring = say(instance, "SELECT state FROM sys.databases WHERE name = 'C'") == "1";
        let elsewhere = LOG.replace("copy/", "else/");
        let again = if restoring { say(instance, &elsewhere) } else { "Msg 3117".into() };
        if restoring && (again.contains("Msg 4326") || again.contains("Msg 3117")) {
            run(instance, "RESTORE DATABASE C WITH RECOVERY");
        } else {
            assert!(!restoring || !again.contains("Msg "), "I/O {at}: {again}");
        }
        // Once the log is announced its files are where they were made.
        let files = |folder: &str| format!("S|c.mdf\nmore|{folder}/c2.ndf\nfast|{folder}/c3.ndf");
        let found = say(instance, FILES);
        let (now, gone): (Vec<&str>, Vec<&str>) =
            places.iter().copied().partition(|folder| found == files(folder));
        assert_eq!(now.len(), 1, "I/O {at}: {found}");
        *(if now == ["else"] { &mut moved } else { &mut stayed }) += 1;
        compare(instance);
        for folder in gone {
            for name in ["c2.ndf", "c3.ndf"] {
                let path = Path::new("/data").join(folder).join(name);
                let left = disk::Disk::exists(disk, &path).unwrap();
                assert!(!left, "I/O {at}: {} stays", path.display());
            }
        }
    });
    assert!(moved > 5 && stayed > 1, "{moved} moved, {stayed} stayed");
}

/// A place that a failed attempt has given up again is anybody's, and what another database has
/// made there stays.
#[test]
fn a_place_that_was_given_up_is_free() {
    for (restart, add) in [(false, false), (true, false), (false, true)] {
        let (disk, mut instance, _) = source();
        let there =
            |name: &str| disk::Disk::exists(&*disk, &Path::new("/data").join(name)).unwrap();
        run(&instance, FULL);
        fails_behind_its_files(&disk, &instance, LOG, "copy/c3.ndf");
        let elsewhere = LOG.replace("copy/", "else/");
        fails_behind_its_files(&disk, &instance, &elsewhere, "else/c3.ndf");
        assert!(!there("copy/c2.ndf"));
        let place = if add { "else/b.mdf" } else { "copy/c2.ndf" };
        let create = format!(
            "CREATE DATABASE B ON (NAME = B, FILENAME = '{place}') LOG ON (NAME = B_log, FILENAME = 'b.ldf')"
        );
        run(&instance, &create);
        if add {
            run(
                &instance,
                "ALTER DATABASE B ADD FILE (NAME = B2, FILENAME = 'copy/c2.ndf', SIZE = 1MB)",
            );
        }
        if restart {
            instance.close().unwrap();
            drop(instance);
            instance = open(&disk);
        }
        run(&instance, &elsewhere);
        compare(&instance);
        assert!(there("copy/c2.ndf") && !there("copy/c3.ndf"));
        instance.close().unwrap();
        drop(instance);
        let instance = open(&disk);
        assert_eq!(say(&instance, "DBCC CHECKDB ('B') WITH NO_INFOMSGS"), "");
        run(&instance, "DROP DATABASE B; DROP DATABASE C");
        assert!(!there("copy/c2.ndf") && !there("else/c2.ndf"));
    }
}

/// The place of a file that a failed attempt has made is the restored database's, even when
/// somebody has removed the file.
#[test]
fn a_place_of_a_failed_attempt_is_not_free() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    fails_behind_its_files(&disk, &instance, LOG, "copy/c3.ndf");
    disk::Disk::remove(&*disk, Path::new("/data/copy/c2.ndf")).unwrap();
    let create = "CREATE DATABASE B ON (NAME = B, FILENAME = 'copy/c2.ndf') LOG ON (NAME = B_log, FILENAME = 'b.ldf')";
    let said = say(&instance, create);
    assert!(
        said.contains(
            "Msg 1834: The file 'copy/c2.ndf' cannot be overwritten.  It is being used by database 'C'."
        ),
        "{said}"
    );
    run(&instance, "DROP DATABASE C");
    run(&instance, create);
}

/// Whatever fails while the list of files is written to the primary file, the statement can be
/// given again, and nothing stays.
#[test]
fn a_list_that_cannot_be_written() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    instance.close().unwrap();
    drop(instance);
    let (mut made, mut not_made, mut moved) = (0, 0, 0);
    for kind in [OpKind::Read, OpKind::Write, OpKind::Sync] {
        for n in 1.. {
            let disk = disk.crash(n);
            let instance = open(&disk);
            let there =
                |name: &str| disk::Disk::exists(&disk, &Path::new("/data").join(name)).unwrap();
            disk.fail_on(Path::new("/data/c.mdf"), kind, n, Fault::Io);
            let said = say(&instance, LOG);
            disk.clear_faults();
            if !said.contains("Msg ") {
                assert!(n > 1);
                break;
            }
            let files = there("copy/c2.ndf") && there("copy/c3.ndf");
            *(if files { &mut made } else { &mut not_made }) += 1;
            // To the same places and to others.
            let folder = ["copy", "else"][n as usize % 2];
            if say(&instance, "SELECT state FROM sys.databases WHERE name = 'C'") == "1" {
                let again = say(&instance, &LOG.replace("copy", folder));
                // The log was restored, and only the recovery was not.
                if again.contains("Msg 4326") {
                    run(&instance, "RESTORE DATABASE C WITH RECOVERY");
                } else {
                    assert!(!again.contains("Msg "), "{kind:?} {n}: {said}\n{again}");
                }
            }
            // Once the log is announced its files are where they were made.
            let found = say(&instance, FILES);
            let at = |folder: &str| {
                found == format!("S|c.mdf\nmore|{folder}/c2.ndf\nfast|{folder}/c3.ndf")
            };
            let (now, gone) = if at("else") { ("else", "copy") } else { ("copy", "else") };
            assert!(at(now), "{kind:?} {n}: {found}");
            moved += usize::from(now == "else");
            for name in ["c2.ndf", "c3.ndf"] {
                assert!(!there(&format!("{gone}/{name}")), "{kind:?} {n}: {gone}/{name} stays");
            }
            compare(&instance);
        }
    }
    assert!(made > 3 && not_made > 1 && moved > 3, "{made} made, {not_made} not, {moved} moved");
}

/// What an attempt has left goes, however many others fail in whatever way after it; also with the
/// database.
#[test]
fn what_attempts_leave_goes() {
    for dropped in [false, true] {
        let (disk, instance, _) = source();
        let there =
            |name: &str| disk::Disk::exists(&*disk, &Path::new("/data").join(name)).unwrap();
        run(&instance, FULL);
        fails_at_its_list(&disk, &instance, LOG);
        fails_at_its_list(&disk, &instance, &LOG.replace("copy/", "else/"));
        assert!(there("copy/c2.ndf") && there("else/c3.ndf"));
        let third = LOG.replace("copy/", "third/");
        disk.fail_on(Path::new("/data/third/c3.ndf"), OpKind::SetLen, 1, Fault::NoSpace);
        fails(&instance, &third, &[5123, 3156, 3119, 3013]);
        disk.fail_on(Path::new("/data/databases.registry"), OpKind::Name, 1, Fault::Io);
        let said = say(&instance, &third);
        disk.clear_faults();
        assert!(said.contains("Msg 5120"), "{said}");
        if dropped {
            run(&instance, "DROP DATABASE C");
        } else {
            run(&instance, &third);
            assert_eq!(say(&instance, FILES), "S|c.mdf\nmore|third/c2.ndf\nfast|third/c3.ndf");
            compare(&instance);
        }
        for name in ["copy/c2.ndf", "copy/c3.ndf", "else/c2.ndf", "else/c3.ndf"] {
            assert!(!there(name), "{name} stays");
        }
        // Nobody announces it any more: what is put there later stays.
        disk::Disk::write_small_atomic(&*disk, Path::new("/data/copy/c2.ndf"), b"somebody's")
            .unwrap();
        instance.close().unwrap();
        drop(instance);
        drop(open(&disk));
        assert!(there("copy/c2.ndf"));
    }
}
