//! RESTORE LOG of backups in which data files came and went, and differential backups of other
//! files: rows, points in time, power loss.

use crate::support::restore::{
    BASE, DIFFERENTIAL, FILES, FULL, LOG, compare, open, source, with_differential,
};
use crate::support::text::{self, fails, run, say};
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;

#[test]
fn added_files_go_where_move_says() {
    let (disk, instance, _) = source();
    let list = say(&instance, "RESTORE FILELISTONLY FROM DISK = 'l.trn'");
    assert!(list.contains("more|"), "{list}");
    for recover in ["RECOVERY", "NORECOVERY; RESTORE DATABASE C WITH RECOVERY"] {
        run(&instance, FULL);
        run(&instance, &format!("{LOG}, {recover}"));
        compare(&instance);
        assert_eq!(say(&instance, FILES), "S|c.mdf\nmore|copy/c2.ndf\nfast|copy/c3.ndf");
    }
    assert_eq!(say(&instance, "SELECT name FROM C.sys.filegroups"), "PRIMARY\ng");
    assert!(!disk::Disk::exists(&*disk, Path::new("/data/s4.ndf")).unwrap());
    // They are files like any other, after a restart too.
    run(
        &instance,
        "USE C; SET NOCOUNT ON; INSERT g SELECT a, 'again' FROM t; ALTER DATABASE C ADD FILE (NAME = last, FILENAME = 'c9.ndf', SIZE = 1MB)",
    );
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM C..g"), "1203");
    assert!(instance.check_database("C").unwrap().is_clean());
}

#[test]
fn a_point_in_time_has_its_files() {
    let (disk, instance, [before, behind]) = source();
    run(&instance, FULL);
    run(&instance, &format!("{LOG}, STOPAT = '{before}'"));
    assert_eq!(say(&instance, "SELECT a FROM C..t ORDER BY a"), "-1\n0");
    assert_eq!(say(&instance, FILES), "S|c.mdf");
    assert!(!disk::Disk::exists(&*disk, Path::new("/data/copy/c2.ndf")).unwrap());
    run(&instance, FULL);
    let brief = ", MOVE 'brief' TO 'copy/c4.ndf'";
    run(&instance, &format!("{LOG}{brief}, STOPAT = '{behind}'"));
    assert_eq!(
        say(&instance, FILES),
        "S|c.mdf\nmore|copy/c2.ndf\nfast|copy/c3.ndf\nbrief|copy/c4.ndf"
    );
    compare(&instance);
}

#[test]
fn a_differential_restore_takes_no_other_file() {
    let (disk, instance) = with_differential();
    let listed = "SELECT name, physical_name FROM sys.master_files WHERE database_id = DB_ID('C') ORDER BY file_id";
    // Onto another base: nothing has changed.
    run(&instance, &BASE.replace("f.bak", "e.bak"));
    let before = say(&instance, listed);
    fails(&instance, DIFFERENTIAL, &[3136, 3013]);
    assert_eq!(say(&instance, listed), before);
    // Where it was is the source's file.
    run(&instance, BASE);
    let before = say(&instance, listed);
    fails(&instance, "RESTORE DATABASE C FROM DISK = 'd.bak'", &[1834, 3156, 3119, 3013]);
    disk::Disk::write_small_atomic(&*disk, Path::new("/data/taken.ndf"), b"somebody's").unwrap();
    let taken = DIFFERENTIAL.replace("copy/c3.ndf", "taken.ndf");
    fails(&instance, &taken, &[3142, 3156, 3119, 3013]);
    assert_eq!(
        disk::Disk::read_small(&*disk, Path::new("/data/taken.ndf")).unwrap(),
        b"somebody's"
    );
    // The place of its own files, the log too.
    for (name, other) in [("c.mdf", "'S'(1)"), ("c.ldf", "'S_log'(2)")] {
        let said = fails(&instance, &DIFFERENTIAL.replace("copy/c3.ndf", name), &[3176, 3013]);
        let claimed = format!("Msg 3176: File '{name}' is claimed by 'two'(4) and {other}.");
        assert!(said.starts_with(&claimed), "{said}");
    }
    assert_eq!(say(&instance, listed), before);
    run(&instance, DIFFERENTIAL);
    assert_eq!(say(&instance, FILES), "S|c.mdf\ntwo|copy/c3.ndf");
    assert!(!disk::Disk::exists(&*disk, Path::new("/data/c2.ndf")).unwrap());
    compare(&instance);
}

/// The files of a full backup go to different places, of a new database and over one that is there.
#[test]
fn two_files_of_a_full_restore_have_two_places() {
    let (disk, instance) = with_differential();
    let same = BASE.replace("c2.ndf", "./c.mdf");
    fails(&instance, &same, &[3176, 3013]);
    assert!(!disk::Disk::exists(&*disk, Path::new("/data/c.mdf")).unwrap());
    run(
        &instance,
        &format!("{BASE}; RESTORE DATABASE C WITH RECOVERY; INSERT C..t VALUES (7, 'x')"),
    );
    fails(&instance, &same, &[3176, 3013]);
    assert_eq!(say(&instance, "SELECT a FROM C..t"), "7");
}

/// A new file may have the place of a file that the differential backup has lost.
#[test]
fn a_new_file_at_the_place_of_a_lost_one() {
    let disk = Arc::new(SimDisk::new(15));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE S ON (NAME = S, FILENAME = 's.mdf', SIZE = 4MB) LOG ON (NAME = S_log, FILENAME = 's.ldf')",
    );
    run(&instance, "ALTER DATABASE S SET RECOVERY FULL");
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = one, FILENAME = 's2.ndf', SIZE = 4MB)");
    let fill = |from: u32, rows: u32| {
        let text = format!(
            "USE S; SET NOCOUNT ON; DECLARE @i int = {from}; WHILE @i < {from} + {rows} BEGIN \
             INSERT t VALUES (@i, 'x'); SET @i += 1 END"
        );
        run(&instance, &text);
    };
    run(
        &instance,
        "USE S; CREATE TABLE t (a int PRIMARY KEY, b char(3000)); CREATE TABLE g (a int, b int)",
    );
    fill(0, 600);
    run(&instance, "BACKUP DATABASE S TO DISK = 'f.bak'");
    run(&instance, "USE S; TRUNCATE TABLE t; DBCC SHRINKFILE (one, EMPTYFILE)");
    run(&instance, "ALTER DATABASE S REMOVE FILE one");
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = two, FILENAME = 's3.ndf', SIZE = 4MB)");
    run(&instance, "BACKUP DATABASE S TO DISK = 'd.bak' WITH DIFFERENTIAL");
    fill(1000, 211);
    run(&instance, "BACKUP LOG S TO DISK = 'l.trn'");
    run(&instance, BASE);
    run(&instance, &format!("{}, NORECOVERY", DIFFERENTIAL.replace("copy/c3.ndf", "c2.ndf")));
    run(&instance, "RESTORE LOG C FROM DISK = 'l.trn'");
    assert_eq!(say(&instance, FILES), "S|c.mdf\ntwo|c2.ndf");
    compare(&instance);
    // Read back from the files: a backup takes whole extents, with the pages that were never used.
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    compare(&instance);
    run(&instance, "BACKUP DATABASE C TO DISK = 'c.bak'; RESTORE VERIFYONLY FROM DISK = 'c.bak'");
}

/// Whatever I/O a differential restore fails at, its database has all its files: nothing is left
/// when it is dropped.
#[test]
fn a_failed_differential_restore_leaves_no_file() {
    let (disk, instance) = with_differential();
    run(&instance, BASE);
    instance.close().unwrap();
    drop(instance);
    let count = |disk: &SimDisk| disk.io_count() + disk.read_count();
    let ios = {
        let disk = disk.crash(0);
        let instance = open(&disk);
        let before = count(&disk);
        run(&instance, DIFFERENTIAL);
        count(&disk) - before
    };
    let (mut failed, mut crashed) = (0, 0);
    for (n, crash) in (1..=ios).step_by(ios as usize / 30 + 1).flat_map(|n| [(n, false), (n, true)])
    {
        let mut disk = disk.crash(n);
        let mut instance = open(&disk);
        if crash {
            disk.crash_at(disk.io_count() + n);
        } else {
            disk.fail(sim::OpKind::Any, n, sim::Fault::Io);
        }
        let said = say(&instance, DIFFERENTIAL);
        failed += usize::from(!crash && said.contains("Msg "));
        if disk.has_crashed() {
            drop(instance);
            disk = disk.crash(n);
            instance = open(&disk);
            crashed += 1;
        }
        disk.clear_faults();
        run(&instance, "DROP DATABASE C");
        for name in ["c.mdf", "c.ldf", "c2.ndf", "copy/c3.ndf"] {
            let left = disk::Disk::exists(&disk, &Path::new("/data").join(name)).unwrap();
            assert!(!left, "I/O {n} of {ios}, crash {crash}: {name} stays ({said})");
        }
    }
    assert!(failed > 5 && crashed > 5, "{failed} failed, {crashed} crashed");
}

/// A copy of a file that has grown can be cut to what the file was made with, as the file itself.
#[test]
fn a_copy_keeps_its_least_size() {
    let disk = Arc::new(SimDisk::new(13));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE S ON (NAME = S, FILENAME = 's.mdf', SIZE = 4MB, FILEGROWTH = 1MB) LOG ON (NAME = S_log, FILENAME = 's.ldf')",
    );
    run(
        &instance,
        "ALTER DATABASE S SET RECOVERY FULL; USE S; CREATE TABLE t (a int, b char(8000))",
    );
    let fill = "USE S; SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 600 BEGIN INSERT t VALUES (@i, 'x'); SET @i += 1 END";
    run(&instance, "BACKUP DATABASE S TO DISK = 'f.bak'");
    run(&instance, fill);
    run(&instance, "BACKUP DATABASE S TO DISK = 'd.bak' WITH DIFFERENTIAL");
    run(&instance, "BACKUP DATABASE S TO DISK = 'g.bak' WITH COPY_ONLY");
    let minimum = |db: &str| {
        let said = say(&instance, &format!("USE {db}; DBCC SHRINKFILE (S, TRUNCATEONLY)"));
        let row = said.lines().find(|line| line.contains('|')).expect("a row").to_string();
        row.split('|').skip(2).take(2).map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    let whole = FULL.replace("f.bak", "g.bak").replace("NORECOVERY", "RECOVERY");
    let both = format!("{FULL}; RESTORE DATABASE C FROM DISK = 'd.bak'");
    for restore in [whole, both] {
        run(&instance, &restore);
        let found = minimum("C");
        assert!(found[0] > 512 && found[1] == 512, "{found:?}");
    }
    assert_eq!(minimum("S"), minimum("C"));
}

/// File 3 goes in the log and comes again after a restart, as another file of another filegroup:
/// its number says so, not its name.
#[test]
fn a_number_that_is_given_again_has_the_new_name() {
    let disk = Arc::new(SimDisk::new(12));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE S ON (NAME = S, FILENAME = 's.mdf', SIZE = 4MB) LOG ON (NAME = S_log, FILENAME = 's.ldf')",
    );
    run(&instance, "ALTER DATABASE S SET RECOVERY FULL; ALTER DATABASE S ADD FILEGROUP g");
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = one, FILENAME = 's2.ndf', SIZE = 1MB)");
    run(&instance, "BACKUP DATABASE S TO DISK = 'f.bak'");
    run(&instance, "ALTER DATABASE S REMOVE FILE one");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    run(
        &instance,
        "ALTER DATABASE S ADD FILE (NAME = two, FILENAME = 's3.ndf', SIZE = 2MB) TO FILEGROUP g",
    );
    run(&instance, "ALTER DATABASE S MODIFY FILE (NAME = S, NEWNAME = other)");
    run(
        &instance,
        "USE S; SET NOCOUNT ON; CREATE TABLE t (a int, b char(3000)) ON g; CREATE TABLE g (a int, b int)",
    );
    run(
        &instance,
        "USE S; SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 300 BEGIN INSERT t VALUES (@i, 'x'); SET @i += 1 END",
    );
    run(&instance, "BACKUP LOG S TO DISK = 'l.trn'");
    let names = "SELECT file_id, name, data_space_id FROM S.sys.database_files WHERE type = 0 ORDER BY file_id";
    let expected = "1|other|1\n3|two|2";
    assert_eq!(say(&instance, names), expected);
    for recover in ["RECOVERY", "NORECOVERY; RESTORE DATABASE C WITH RECOVERY"] {
        run(&instance, &format!("{FULL}, MOVE 'one' TO 'c2.ndf'"));
        run(&instance, &format!("RESTORE LOG C FROM DISK = 'l.trn' WITH {recover}"));
        assert_eq!(say(&instance, &names.replace("S.sys", "C.sys")), expected);
        compare(&instance);
    }
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, names), expected);
    assert_eq!(say(&instance, &names.replace("S.sys", "C.sys")), expected);
}

/// Power goes at I/Os of RESTORE LOG; the statement can be given again.
#[test]
fn power_loss_while_files_are_made() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    instance.close().unwrap();
    drop(instance);
    let (mut repeated, mut done) = (0, 0);
    text::power_loss(&disk, open, LOG, 40, |instance, _, at| {
        if say(instance, "SELECT state FROM sys.databases WHERE name = 'C'") == "1" {
            let again = say(instance, LOG);
            // The log was restored, and only the recovery was not.
            if again.contains("Msg 4326") || again.contains("Msg 3117") {
                run(instance, "RESTORE DATABASE C WITH RECOVERY");
            } else {
                assert!(!again.contains("Msg "), "I/O {at}: {again}");
            }
            repeated += 1;
        } else {
            done += 1;
        }
        assert_eq!(say(instance, FILES), "S|c.mdf\nmore|copy/c2.ndf\nfast|copy/c3.ndf", "I/O {at}");
        compare(instance);
    });
    assert!(repeated > 10, "{repeated} repeated, {done} done");
}
