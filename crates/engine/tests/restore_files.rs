//! RESTORE LOG of backups in which data files came and went: rows, places, points in time, errors, power loss.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use engine::Instance;
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;
use text::say;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 16 << 20).expect("the instance opens")
}

#[track_caller]
fn run(instance: &Arc<Instance>, sql: &str) {
    let said = say(instance, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
}

#[track_caller]
fn fails(instance: &Arc<Instance>, sql: &str, numbers: &[i32]) -> String {
    let said = say(instance, sql);
    let found: Vec<i32> =
        said.lines().filter_map(|line| line.strip_prefix("Msg ")?.split(':').next()?.parse().ok()).collect();
    assert_eq!(found, numbers, "{sql}\n{said}");
    said
}

fn now(instance: &Arc<Instance>) -> String {
    run(instance, "WAITFOR DELAY '00:00:00.01'");
    let now = say(instance, "SELECT CONVERT(varchar(30), SYSUTCDATETIME(), 126)");
    run(instance, "WAITFOR DELAY '00:00:00.01'");
    now
}

const ROWS: &str = "SELECT COUNT(*), SUM(CHECKSUM(a, b)) FROM";
const FILES: &str = "SELECT name, physical_name FROM C.sys.database_files WHERE type = 0 ORDER BY file_id";
const FULL: &str = "RESTORE DATABASE C FROM DISK = 'f.bak' WITH NORECOVERY, REPLACE, MOVE 'S' TO 'c.mdf', \
                    MOVE 'S_log' TO 'c.ldf'";
const LOG: &str =
    "RESTORE LOG C FROM DISK = 'l.trn' WITH MOVE 'more' TO 'copy/c2.ndf', MOVE 'fast' TO 'copy/c3.ndf'";

/// A database whose log backup adds `more` (with rows in it), a filegroup with `fast`, and a file that goes again. Returns
/// the times before and behind.
fn source() -> (Arc<SimDisk>, Arc<Instance>, [String; 2]) {
    let disk = Arc::new(SimDisk::new(9));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE S ON (NAME = S, FILENAME = 's.mdf', SIZE = 4MB) LOG ON (NAME = S_log, FILENAME = 's.ldf')",
    );
    run(&instance, "ALTER DATABASE S SET RECOVERY FULL");
    run(&instance, "USE S; CREATE TABLE t (a int PRIMARY KEY, b char(3000)); INSERT t VALUES (0, 'first')");
    run(&instance, "BACKUP DATABASE S TO DISK = 'f.bak'");
    run(&instance, "INSERT S..t VALUES (-1, 'before')");
    let before = now(&instance);
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = more, FILENAME = 's2.ndf', SIZE = 8MB)");
    run(&instance, "ALTER DATABASE S ADD FILEGROUP g");
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = fast, FILENAME = 's3.ndf', SIZE = 1MB) TO FILEGROUP g");
    run(
        &instance,
        "ALTER DATABASE S ADD FILE (NAME = brief, FILENAME = 's4.ndf', SIZE = 1MB) TO FILEGROUP g",
    );
    run(
        &instance,
        "USE S; SET NOCOUNT ON; CREATE TABLE g (a int, b varchar(9)) ON g; INSERT g VALUES (1, 'fast'); DECLARE @i int = 1; \
         WHILE @i <= 1200 BEGIN INSERT t VALUES (@i, REPLICATE('x', @i % 2900)); SET @i += 1; END",
    );
    let behind = now(&instance);
    run(&instance, "ALTER DATABASE S REMOVE FILE brief");
    run(&instance, "BACKUP LOG S TO DISK = 'l.trn'");
    (disk, instance, [before, behind])
}

/// The copy is the source.
fn compare(instance: &Arc<Instance>) {
    for table in ["t", "g"] {
        let rows = |db: &str| say(instance, &format!("{ROWS} {db}..{table}"));
        assert_eq!(rows("C"), rows("S"));
    }
    assert_eq!(say(instance, "DBCC CHECKDB ('C') WITH NO_INFOMSGS"), "");
}

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
    // They are files like any other, behind a restart too.
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
    assert_eq!(say(&instance, FILES), "S|c.mdf\nmore|copy/c2.ndf\nfast|copy/c3.ndf\nbrief|copy/c4.ndf");
    compare(&instance);
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
    assert_eq!(disk::Disk::read_small(&*disk, Path::new("/data/taken.ndf")).unwrap(), b"somebody's");
    disk.fail_on(Path::new("/data/copy/c2.ndf"), sim::OpKind::SetLen, 1, sim::Fault::NoSpace);
    fails(&instance, LOG, &[5123, 3156, 3119, 3013]);
    run(&instance, LOG);
    compare(&instance);
}

/// Power goes at I/Os of RESTORE LOG; the statement can be given again.
#[test]
fn power_loss_while_files_are_made() {
    let (disk, instance, _) = source();
    run(&instance, FULL);
    instance.close().unwrap();
    drop(instance);
    let ios = {
        let disk = disk.crash(0);
        let instance = open(&disk);
        let before = disk.io_count();
        run(&instance, LOG);
        disk.io_count() - before
    };
    let (mut repeated, mut done) = (0, 0);
    for at in (1..=ios).step_by(ios as usize / 40 + 1) {
        let disk = disk.crash(at);
        let instance = open(&disk);
        disk.crash_at(disk.io_count() + at);
        say(&instance, LOG);
        drop(instance);
        let disk = disk.crash(at + 1000);
        let instance = open(&disk);
        if say(&instance, "SELECT state FROM sys.databases WHERE name = 'C'") == "1" {
            let again = say(&instance, LOG);
            // The log was restored, and only the recovery was not.
            if again.contains("Msg 4326") || again.contains("Msg 3117") {
                run(&instance, "RESTORE DATABASE C WITH RECOVERY");
            } else {
                assert!(!again.contains("Msg "), "I/O {at}: {again}");
            }
            repeated += 1;
        } else {
            done += 1;
        }
        assert_eq!(say(&instance, FILES), "S|c.mdf\nmore|copy/c2.ndf\nfast|copy/c3.ndf", "I/O {at}");
        compare(&instance);
    }
    assert!(repeated > 10, "{repeated} repeated, {done} done");
}
