//! BACKUP and RESTORE as statements: messages, errors with their numbers, restores under other
//! names, points in time, tail-log backups, what msdb and the lists say, and what a restart of the
//! instance finds.

use crate::support::text::{self, Text, fails, run, say};
use engine::{Instance, InstanceOptions};
use sim::{Fault, OpKind, SimDisk};
use std::sync::Arc;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 32 << 20).expect("the instance opens")
}

const SALES: &str = "CREATE DATABASE Sales; ALTER DATABASE Sales SET RECOVERY FULL;";
/// More log than the small logs of these tests hold.
const FILL: &str = "USE Sales; SET NOCOUNT ON; DECLARE @i int = 1; WHILE @i < 20000 BEGIN UPDATE t SET b = REPLICATE(CHAR(65 + @i % 26), \
                    400) WHERE a = 1; SET @i += 1; END;";
const TABLE: &str = "USE Sales; SET NOCOUNT ON; CREATE TABLE t (a int PRIMARY KEY, b varchar(500)); INSERT t VALUES (1, 'one');";

fn sales() -> (Arc<SimDisk>, Arc<Instance>) {
    let disk = Arc::new(SimDisk::new(7));
    let instance = open(&disk);
    run(&instance, SALES);
    run(&instance, TABLE);
    (disk, instance)
}

fn add(instance: &Arc<Instance>, from: i32, to: i32) {
    run(
        instance,
        &format!(
            "USE Sales; SET NOCOUNT ON; DECLARE @i int = {from}; BEGIN TRAN; WHILE @i <= {to} BEGIN INSERT t VALUES (@i, \
             REPLICATE('x', @i % 400)); SET @i += 1; END; COMMIT;"
        ),
    );
}

fn count(instance: &Arc<Instance>, db: &str) -> String {
    say(instance, &format!("SELECT COUNT(*) FROM {db}.dbo.t"))
}

#[test]
fn messages_have_their_form() {
    let (_disk, instance) = sales();
    let said = say(&instance, "BACKUP DATABASE Sales TO DISK = 'sales.bak' WITH STATS = 50");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["50 percent processed.", "100 percent processed."], "{said}");
    assert!(
        lines[2].starts_with("Processed ")
            && lines[2].ends_with(" pages for database 'Sales', file 'Sales' on file 1.")
    );
    assert!(lines[3].ends_with(" pages for database 'Sales', file 'Sales_log' on file 1."));
    assert!(
        lines[4].starts_with("BACKUP DATABASE successfully processed ")
            && lines[4].ends_with(" MB/sec).")
    );
    assert_eq!(lines.len(), 5);
    add(&instance, 2, 500);
    let said = say(&instance, "BACKUP LOG Sales TO DISK = 'sales.bak'");
    let lines: Vec<&str> = said.lines().collect();
    let pages: u32 = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    assert!(
        pages > 10
            && lines[0].ends_with(" pages for database 'Sales', file 'Sales_log' on file 2."),
        "{said}"
    );
    assert!(
        lines[1].starts_with(&format!("BACKUP LOG successfully processed {pages} pages in 0.")),
        "{said}"
    );
    let said = say(&instance, "BACKUP DATABASE Sales TO DISK = 'nul' WITH DIFFERENTIAL, COPY_ONLY");
    assert!(said.contains("BACKUP DATABASE WITH DIFFERENTIAL successfully processed "), "{said}");
    assert_eq!(
        say(&instance, "RESTORE VERIFYONLY FROM DISK = 'sales.bak' WITH FILE = 2"),
        "The backup set on file 2 is valid."
    );
}

#[test]
fn a_chain_restores_under_another_name() {
    let (disk, instance) = sales();
    run(
        &instance,
        "BACKUP DATABASE Sales TO DISK = 'a.bak', DISK = 'b.bak' WITH COMPRESSION, CHECKSUM, NAME = 'first'",
    );
    add(&instance, 2, 300);
    run(&instance, "BACKUP LOG Sales TO DISK = 'one.trn'");
    add(&instance, 301, 400);
    run(&instance, "BACKUP DATABASE Sales TO DISK = 'diff.bak' WITH DIFFERENTIAL");
    add(&instance, 401, 500);
    run(&instance, "BACKUP LOG Sales TO DISK = 'two.trn' WITH INIT");
    let moves = "MOVE 'Sales' TO 'E:\\copy\\c.mdf', MOVE 'sales_LOG' TO 'E:\\copy\\c.ldf'";
    run(
        &instance,
        &format!(
            "RESTORE DATABASE Copy FROM DISK = 'b.bak', DISK = 'a.bak' WITH {moves}, NORECOVERY, STATS"
        ),
    );
    assert_eq!(
        say(&instance, "SELECT state, state_desc FROM sys.databases WHERE name = 'Copy'"),
        "1|RESTORING"
    );
    fails(&instance, "SELECT * FROM Copy.dbo.t", &[927]);
    fails(&instance, "RESTORE LOG Copy FROM DISK = 'two.trn' WITH NORECOVERY", &[4305, 3013]);
    // The restore goes on after a restart of the instance.
    drop(instance);
    let instance = open(&disk);
    run(&instance, "RESTORE LOG Copy FROM DISK = 'one.trn' WITH NORECOVERY");
    let said = say(&instance, "RESTORE LOG Copy FROM DISK = 'two.trn' WITH RECOVERY");
    assert!(said.contains("RESTORE LOG successfully processed "), "{said}");
    assert_eq!(count(&instance, "Copy"), "500");
    assert_eq!(say(&instance, "DBCC CHECKDB ('Copy') WITH NO_INFOMSGS"), "");
    fails(&instance, "RESTORE LOG Copy FROM DISK = 'two.trn'", &[3117, 3013]);
    // The short way: full, differential, last log.
    run(
        &instance,
        &format!(
            "RESTORE DATABASE Copy FROM DISK = 'a.bak', DISK = 'b.bak' WITH {moves}, NORECOVERY, REPLACE"
        ),
    );
    run(&instance, "RESTORE DATABASE Copy FROM DISK = 'diff.bak' WITH NORECOVERY");
    fails(&instance, "RESTORE LOG Copy FROM DISK = 'one.trn' WITH NORECOVERY", &[4326, 3013]);
    run(&instance, "RESTORE LOG Copy FROM DISK = 'two.trn' WITH NORECOVERY");
    run(&instance, "RESTORE DATABASE Copy WITH RECOVERY");
    assert_eq!(count(&instance, "Copy"), "500");
    // It is a database like any other: its chain goes on, and another restart finds it.
    run(&instance, "INSERT Copy.dbo.t VALUES (9999, 'new'); BACKUP LOG Copy TO DISK = 'copy.trn'");
    drop(instance);
    let instance = open(&disk);
    assert_eq!((count(&instance, "Copy"), count(&instance, "Sales")), ("501".into(), "500".into()));
}

#[test]
fn points_in_time() {
    let (_disk, instance) = sales();
    run(&instance, "BACKUP DATABASE Sales TO DISK = 'f.bak'");
    add(&instance, 2, 10);
    run(&instance, "WAITFOR DELAY '00:00:00.02'");
    let stop = say(&instance, "SELECT CONVERT(varchar(30), SYSUTCDATETIME(), 126)");
    run(&instance, "WAITFOR DELAY '00:00:00.02'");
    add(&instance, 11, 20);
    run(&instance, "BACKUP LOG Sales TO DISK = 'l.trn'");
    run(&instance, "WAITFOR DELAY '00:00:00.02'");
    let late = say(&instance, "SELECT CONVERT(varchar(30), SYSUTCDATETIME(), 126)");
    add(&instance, 21, 30);
    run(&instance, "BACKUP LOG Sales TO DISK = 'm.trn'");
    let full = "RESTORE DATABASE P FROM DISK = 'f.bak' WITH NORECOVERY, REPLACE, MOVE 'Sales' TO 'p.mdf', MOVE 'Sales_log' TO 'p.ldf'";
    run(&instance, full);
    fails(&instance, "RESTORE LOG P FROM DISK = 'l.trn' WITH STOPAT = '2001-01-01'", &[4335, 3013]);
    fails(&instance, "RESTORE LOG P FROM DISK = 'l.trn' WITH STOPAT = 'yesterday'", &[3250, 3013]);
    run(
        &instance,
        &format!(
            "DECLARE @when varchar(30) = '{stop}'; RESTORE LOG P FROM DISK = 'l.trn' WITH STOPAT = @when, RECOVERY"
        ),
    );
    assert_eq!(count(&instance, "P"), "10");
    run(&instance, full);
    let said = say(&instance, &format!("RESTORE LOG P FROM DISK = 'l.trn' WITH STOPAT = '{late}'"));
    assert!(
        said.starts_with(
            "This backup set contains records that were logged before the designated point"
        ),
        "{said}"
    );
    run(&instance, &format!("RESTORE LOG P FROM DISK = 'm.trn' WITH STOPAT = '{late}'"));
    assert_eq!(count(&instance, "P"), "20");
    // Data of later are no beginning for a moment before them, and what is there stays as it is.
    for early in ["2020-01-01", &stop] {
        run(&instance, "BACKUP DATABASE Sales TO DISK = 'g.bak' WITH INIT");
        let restore =
            format!("RESTORE DATABASE Sales FROM DISK = 'g.bak' WITH REPLACE, STOPAT = '{early}'");
        let said = fails(&instance, &restore, &[4338, 3013]);
        assert!(
            said.contains("The STOPAT clause specifies a point too early to allow this backup set"),
            "{said}"
        );
        assert_eq!(count(&instance, "Sales"), "30");
    }
    run(&instance, &format!("{full}, STOPAT = '{stop}'"));
}

#[test]
fn errors_have_their_numbers() {
    let (disk, instance) = sales();
    fails(&instance, "BACKUP DATABASE Nope TO DISK = 'x'", &[911, 3013]);
    fails(&instance, "BACKUP LOG Sales TO DISK = 'x'", &[4214, 3013]);
    fails(&instance, "BACKUP DATABASE Sales TO DISK = 'x' WITH DIFFERENTIAL", &[3035, 3013]);
    fails(&instance, "BACKUP LOG master TO DISK = 'x'", &[4212, 3013]);
    fails(&instance, "BACKUP DATABASE tempdb TO DISK = 'x'", &[3147, 3013]);
    fails(&instance, "BACKUP DATABASE Sales TO somewhere", &[3206, 3013]);
    fails(&instance, "BACKUP DATABASE Sales TO DISK = 'x' WITH NONSENSE", &[155]);
    fails(&instance, "BEGIN TRAN BACKUP DATABASE Sales TO DISK = 'x'; ROLLBACK", &[3021, 3013]);
    fails(
        &instance,
        "ALTER DATABASE Sales SET RECOVERY SIMPLE; BACKUP LOG Sales TO DISK = 'x'",
        &[4208, 3013],
    );
    run(
        &instance,
        "ALTER DATABASE Sales SET RECOVERY FULL; BACKUP DATABASE Sales TO DISK = 'f.bak'",
    );
    fails(&instance, "RESTORE DATABASE N FROM DISK = 'none.bak'", &[3201, 3013]);
    fails(&instance, "RESTORE DATABASE N FROM DISK = 'f.bak' WITH FILE = 2", &[4038, 3013]);
    fails(
        &instance,
        "RESTORE DATABASE N FROM DISK = 'f.bak'",
        &[1834, 3156, 1834, 3156, 3119, 3013],
    );
    fails(&instance, "RESTORE DATABASE N FROM DISK = 'f.bak' WITH MOVE 'x' TO 'y'", &[3234, 3013]);
    fails(&instance, "RESTORE LOG N FROM DISK = 'f.bak'", &[3117, 3013]);
    fails(&instance, "USE Sales; RESTORE DATABASE Sales FROM DISK = 'f.bak'", &[3102, 3013]);
    add(&instance, 2, 5);
    fails(&instance, "RESTORE DATABASE Sales FROM DISK = 'f.bak'", &[3159, 3013]);
    run(&instance, "BACKUP LOG Sales TO DISK = 'l.trn'");
    fails(&instance, "RESTORE LOG N FROM DISK = 'l.trn'", &[3118, 3013]);
    fails(&instance, "RESTORE DATABASE N WITH RECOVERY", &[3118, 3013]);
    fails(
        &instance,
        "CREATE DATABASE Other; RESTORE DATABASE Other FROM DISK = 'f.bak'",
        &[3154, 3013],
    );
    fails(&instance, "RESTORE DATABASE Other FROM DISK = 'l.trn'", &[3117, 3013]);
    // A full disk and a file that is no backup: the database goes on.
    let path = std::path::Path::new("/data/full.bak");
    disk.fail_on(path, OpKind::Write, 1, Fault::NoSpace);
    let said = say(&instance, "BACKUP DATABASE Sales TO DISK = 'full.bak'");
    assert!(
        said.contains(
            "Msg 3202: Write on \"full.bak\" failed: 112(There is not enough space on the disk.)"
        ),
        "{said}"
    );
    disk.clear_faults();
    fails(&instance, "BACKUP DATABASE Sales TO DISK = 'Sales.mdf'", &[3201, 3013]);
    fails(&instance, "RESTORE HEADERONLY FROM DISK = 'Sales.mdf'", &[3201, 3013]);
    assert_eq!(count(&instance, "Sales"), "5");
    assert_eq!(say(&instance, "DBCC CHECKDB ('Sales') WITH NO_INFOMSGS"), "");
}

#[test]
fn the_tail_of_the_log() {
    let (disk, instance) = sales();
    run(&instance, "BACKUP DATABASE Sales TO DISK = 'f.bak'");
    add(&instance, 2, 50);
    run(&instance, "BACKUP LOG Sales TO DISK = 't.trn' WITH NORECOVERY");
    assert_eq!(
        say(&instance, "SELECT state_desc FROM sys.databases WHERE name = 'Sales'"),
        "RESTORING"
    );
    run(&instance, "RESTORE DATABASE Sales WITH RECOVERY");
    assert_eq!(count(&instance, "Sales"), "50");
    add(&instance, 51, 60);
    run(&instance, "BACKUP LOG Sales TO DISK = 'u.trn' WITH NORECOVERY");
    run(&instance, "RESTORE DATABASE Sales FROM DISK = 'f.bak' WITH NORECOVERY");
    run(&instance, "RESTORE LOG Sales FROM DISK = 't.trn' WITH NORECOVERY");
    run(&instance, "RESTORE LOG Sales FROM DISK = 'u.trn' WITH RECOVERY");
    assert_eq!(count(&instance, "Sales"), "60");
    // The data file is lost, the log is not.
    run(&instance, "BACKUP DATABASE Sales TO DISK = 'g.bak'");
    add(&instance, 61, 70);
    drop(instance);
    disk::Disk::remove(&*disk, std::path::Path::new("/data/Sales.mdf")).unwrap();
    let instance = open(&disk);
    assert_eq!(
        say(&instance, "SELECT state_desc FROM sys.databases WHERE name = 'Sales'"),
        "RECOVERY_PENDING"
    );
    fails(&instance, "BACKUP LOG Sales TO DISK = 'v.trn'", &[945, 3013]);
    run(&instance, "BACKUP LOG Sales TO DISK = 'v.trn' WITH NO_TRUNCATE");
    run(&instance, "RESTORE DATABASE Sales FROM DISK = 'g.bak' WITH NORECOVERY, REPLACE");
    run(&instance, "RESTORE LOG Sales FROM DISK = 'v.trn'");
    assert_eq!(count(&instance, "Sales"), "70");
    assert_eq!(say(&instance, "DBCC CHECKDB ('Sales') WITH NO_INFOMSGS"), "");
}

#[test]
fn lists_and_history() {
    let (_disk, instance) = sales();
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM msdb.dbo.backupset"), "0");
    run(
        &instance,
        "BACKUP DATABASE Sales TO DISK = 'x.bak' WITH NAME = 'It''s', DESCRIPTION = 'd', MEDIANAME = 'm'",
    );
    run(
        &instance,
        "BACKUP LOG Sales TO DISK = 'x.bak'; BACKUP DATABASE Sales TO DISK = 'x.bak' WITH DIFFERENTIAL",
    );
    assert_eq!(
        say(
            &instance,
            "SELECT position, type, name, database_name, begins_log_chain, is_copy_only, recovery_model FROM msdb.dbo.backupset ORDER BY 1"
        ),
        "1|D|It's|Sales|1|0|FULL\n2|L|NULL|Sales|0|0|FULL\n3|I|NULL|Sales|0|0|FULL"
    );
    assert_eq!(
        say(
            &instance,
            "SELECT COUNT(*) FROM msdb.dbo.backupset f JOIN msdb.dbo.backupset d ON d.differential_base_guid = f.backup_set_uuid \
             AND d.differential_base_lsn = f.checkpoint_lsn AND d.database_backup_lsn = f.checkpoint_lsn JOIN \
             msdb.dbo.backupset l ON l.type = 'L' AND l.first_lsn = f.first_lsn AND l.last_lsn > l.first_lsn WHERE f.backup_size > 100000 \
             AND f.backup_finish_date >= f.backup_start_date AND DATEDIFF(minute, f.backup_start_date, GETUTCDATE()) < 5"
        ),
        "1"
    );
    assert_eq!(
        say(
            &instance,
            "SELECT COUNT(*) FROM msdb.dbo.backupmediafamily WHERE physical_device_name = 'x.bak'"
        ),
        "1"
    );
    assert_eq!(
        say(
            &instance,
            "SELECT DISTINCT logical_name, file_type FROM msdb.dbo.backupfile ORDER BY 1"
        ),
        "Sales|D\nSales_log|L"
    );
    let heads = say(&instance, "RESTORE HEADERONLY FROM DISK = 'x.bak'");
    assert_eq!(heads.lines().count(), 3, "{heads}");
    assert!(heads.starts_with("It's|d|1|NULL|0|1|2|"), "{heads}");
    let files = say(&instance, "RESTORE FILELISTONLY FROM DISK = 'x.bak'");
    assert!(files.starts_with("Sales|Sales.mdf|D|PRIMARY|8388608|"), "{files}");
    assert!(
        files.lines().nth(1).unwrap().starts_with("Sales_log|Sales_log.ldf|L|NULL|"),
        "{files}"
    );
    assert!(say(&instance, "RESTORE LABELONLY FROM DISK = 'x.bak'").starts_with("m|"));
    run(
        &instance,
        "RESTORE DATABASE C FROM DISK = 'x.bak' WITH MOVE 'Sales' TO 'c.mdf', MOVE 'Sales_log' TO 'c.ldf'",
    );
    assert_eq!(
        say(
            &instance,
            "SELECT destination_database_name, restore_type, recovery FROM msdb.dbo.restorehistory"
        ),
        "C|D|1"
    );
}

/// Trace flag 3505: the log of the SIMPLE model is freed by no checkpoint that nobody asked for. It
/// is the instance's own.
#[test]
fn a_trace_flag_holds_checkpoints_back() {
    let options = text::options(&SimDisk::new(8), 32 << 20);
    let other = InstanceOptions { disk: Arc::new(SimDisk::new(9)), ..options.clone() };
    let instance = Instance::open(InstanceOptions { trace_flags: vec![3505], ..options }).unwrap();
    let other = Instance::open(other).unwrap();
    for instance in [&instance, &other] {
        run(
            instance,
            "CREATE DATABASE Sales ON (NAME = Sales, FILENAME = 'Sales.mdf') LOG ON (NAME = Sales_log, FILENAME = 'Sales_log.ldf', \
             SIZE = 2MB, FILEGROWTH = 0); ALTER DATABASE Sales SET RECOVERY SIMPLE",
        );
        run(instance, TABLE);
    }
    run(&other, FILL);
    let full = |said: String| {
        assert!(said.contains("Msg 9002") && said.contains("'CHECKPOINT'"), "{said}")
    };
    full(say(&instance, FILL));
    run(&instance, "DBCC TRACEOFF (3505, -1); USE Sales; CHECKPOINT");
    run(&instance, FILL);
    // Again, by a statement this time.
    run(&instance, "DBCC TRACEON (3505, -1)");
    full(say(&instance, FILL));
}

/// The log waits for its backup, says so, and a full log of the FULL model is freed by one.
#[test]
fn a_full_log_is_freed_by_a_log_backup() {
    let disk = Arc::new(SimDisk::new(7));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE Sales ON (NAME = Sales, FILENAME = 'Sales.mdf') LOG ON (NAME = Sales_log, FILENAME = 'Sales_log.ldf', \
         SIZE = 1MB, MAXSIZE = 2MB, FILEGROWTH = 512KB)",
    );
    run(&instance, TABLE);
    run(&instance, "BACKUP DATABASE Sales TO DISK = 'f.bak'");
    let said = say(&instance, FILL);
    assert!(said.contains("Msg 9002") && said.contains("'LOG_BACKUP'"), "{said}");
    let waits = "SELECT log_reuse_wait_desc FROM sys.databases WHERE name = 'Sales'";
    assert_eq!(say(&instance, waits), "LOG_BACKUP");
    run(&instance, "BACKUP LOG Sales TO DISK = 'l.trn'");
    assert_eq!(say(&instance, waits), "NOTHING");
    run(&instance, "UPDATE Sales.dbo.t SET b = 'works'");
    run(&instance, "BACKUP LOG Sales TO DISK = 'l.trn'");
    run(
        &instance,
        "RESTORE DATABASE C FROM DISK = 'f.bak' WITH NORECOVERY, MOVE 'Sales' TO 'c.mdf', MOVE 'Sales_log' TO 'c.ldf'",
    );
    run(
        &instance,
        "RESTORE LOG C FROM DISK = 'l.trn' WITH NORECOVERY; RESTORE LOG C FROM DISK = 'l.trn' WITH FILE = 2",
    );
    assert_eq!(say(&instance, "SELECT b FROM C.dbo.t"), "works");
}

/// Work goes on in other sessions while a backup runs; the restored database is the work up to some
/// moment of the backup.
#[test]
fn work_goes_on_during_a_backup() {
    let (_disk, instance) = sales();
    add(&instance, 2, 3000);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut session = instance.session().unwrap();
            let mut n = 10_000;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let mut out = Text::default();
                let sql = format!("SET NOCOUNT ON INSERT Sales.dbo.t VALUES ({n}, REPLICATE('y', 300)); UPDATE Sales.dbo.t SET b = 'v{n}' WHERE a = {}", n % 2000 + 1);
                session.execute(&sql, &mut out);
                assert_eq!(out.out, "");
                n += 1;
            }
            n
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        for i in 0..3 {
            run(
                &instance,
                &format!(
                    "BACKUP DATABASE Sales TO DISK = 'on{i}.bak', DISK = 'on{i}b.bak' WITH FORMAT"
                ),
            );
            run(&instance, "BACKUP LOG Sales TO DISK = 'on.trn'");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let written = worker.join().unwrap() - 10_000;
        assert!(written > 20, "{written} rows: the load came to nothing");
    });
    for i in 0..3 {
        run(
            &instance,
            &format!(
                "RESTORE DATABASE C FROM DISK = 'on{i}.bak', DISK = 'on{i}b.bak' WITH REPLACE, MOVE 'Sales' TO 'c.mdf', MOVE 'Sales_log' TO 'c.ldf'"
            ),
        );
        assert_eq!(say(&instance, "DBCC CHECKDB ('C') WITH NO_INFOMSGS"), "");
        // Rows come in order, so a state has no holes.
        assert_eq!(
            say(
                &instance,
                "SELECT CASE WHEN COUNT(*) = ISNULL(MAX(a) - 9999, 0) THEN 'whole' END FROM C.dbo.t WHERE a >= 10000"
            ),
            "whole"
        );
    }
}

/// Devices with a name: they stand for their file, last as long as the instance, and go with it or
/// without.
#[test]
fn backup_devices_have_names() {
    let (disk, instance) = sales();
    let list = "SELECT name, type, type_desc, physical_name FROM sys.backup_devices";
    assert_eq!(say(&instance, list), "");
    assert_eq!(say(&instance, "EXEC sp_addumpdevice 'disk', 'Nightly', 'night.bak'"), "");
    run(
        &instance,
        "EXEC sp_addumpdevice @devtype = 'DISK', @logicalname = N'other', @physicalname = 'o.bak'",
    );
    assert_eq!(say(&instance, list), "Nightly|2|DISK|night.bak\nother|2|DISK|o.bak");
    run(&instance, "BACKUP DATABASE Sales TO NIGHTLY");
    run(&instance, "DECLARE @device sysname = 'nightly'; BACKUP LOG Sales TO @device");
    assert_eq!(
        say(&instance, "RESTORE VERIFYONLY FROM DISK = 'night.bak' WITH FILE = 2"),
        say(&instance, "RESTORE VERIFYONLY FROM Nightly WITH FILE = 2")
    );
    for (sql, number) in [
        ("EXEC sp_addumpdevice 'disk', 'NIGHTLY', 'x.bak'", 15_026),
        ("EXEC sp_addumpdevice 'tape', 'x', '/dev/st0'", 15_044),
        ("EXEC sp_addumpdevice 'disk', 'x'", 201),
        ("BEGIN TRAN; EXEC sp_addumpdevice 'disk', 'x', 'x.bak'", 15_002),
        ("EXEC sp_dropdevice 'missing'", 15_012),
        ("EXEC sp_dropdevice 'other', 'file'", 15_600),
    ] {
        fails(&instance, sql, &[number]);
    }
    fails(&instance, "BACKUP DATABASE Sales TO missing", &[3206, 3013]);
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, list), "Nightly|2|DISK|night.bak\nother|2|DISK|o.bak");
    run(
        &instance,
        "RESTORE DATABASE Again FROM Nightly WITH MOVE 'Sales' TO 'a.mdf', MOVE 'Sales_log' TO 'a.ldf'",
    );
    assert_eq!(say(&instance, "EXEC sp_dropdevice 'other'"), "Device dropped.");
    // Its file stays without the word; no file goes that is the instance's or a database's.
    run(&instance, "EXEC sp_addumpdevice 'disk', 'own', 'a.mdf'");
    fails(&instance, "EXEC sp_dropdevice 'own', 'delfile'", &[3201]);
    run(&instance, "EXEC sp_addumpdevice 'disk', 'list', 'backup-devices.registry'");
    fails(&instance, "EXEC sp_dropdevice 'list', 'delfile'", &[3201]);
    run(
        &instance,
        "EXEC sp_dropdevice 'list'; EXEC sp_addumpdevice 'disk', 'new', 'new.bak'; EXEC sp_dropdevice 'new', 'delfile'",
    );
    run(&instance, "EXEC sp_dropdevice 'own'; EXEC sp_dropdevice 'nightly', 'delfile'");
    assert_eq!(say(&instance, list), "");
    fails(&instance, "RESTORE VERIFYONLY FROM DISK = 'night.bak'", &[3201, 3013]);
}

/// The list is the old one or the new one whenever the power goes, and a damaged one is an error of
/// its statements alone.
#[test]
fn backup_devices_outlive_a_power_loss() {
    let (disk, instance) = sales();
    run(&instance, "EXEC sp_addumpdevice 'disk', 'first', 'a.bak'");
    instance.close().unwrap();
    drop(instance);
    let list = "SELECT name FROM sys.backup_devices";
    let sql = "EXEC sp_addumpdevice 'disk', 'second', 'b.bak'; EXEC sp_dropdevice 'first'";
    let mut seen = std::collections::BTreeSet::new();
    text::power_loss(&disk, open, sql, 40, |instance, _, at| {
        let said = say(instance, list);
        assert!(["first", "first\nsecond", "second"].contains(&said.as_str()), "at {at}: {said}");
        seen.insert(said);
    });
    assert!(seen.contains("second") && seen.len() > 1, "{seen:?}");
}
