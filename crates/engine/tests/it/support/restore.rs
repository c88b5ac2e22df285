//! Databases whose backups have data files that came and went, and the statements that restore them
//! as `C`.

#![allow(dead_code)] // each test file uses its part

use super::text::{self, run, say};
use engine::Instance;
use sim::SimDisk;
use std::sync::Arc;

pub fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 16 << 20).expect("the instance opens")
}

fn now(instance: &Arc<Instance>) -> String {
    run(instance, "WAITFOR DELAY '00:00:00.01'");
    let now = say(instance, "SELECT CONVERT(varchar(30), SYSUTCDATETIME(), 126)");
    run(instance, "WAITFOR DELAY '00:00:00.01'");
    now
}

const ROWS: &str = "SELECT COUNT(*), SUM(CHECKSUM(a, b)) FROM";
pub const FILES: &str =
    "SELECT name, physical_name FROM C.sys.database_files WHERE type = 0 ORDER BY file_id";
pub const FULL: &str = "RESTORE DATABASE C FROM DISK = 'f.bak' WITH NORECOVERY, REPLACE, MOVE 'S' TO 'c.mdf', \
                    MOVE 'S_log' TO 'c.ldf'";
pub const LOG: &str = "RESTORE LOG C FROM DISK = 'l.trn' WITH MOVE 'more' TO 'copy/c2.ndf', MOVE 'fast' TO 'copy/c3.ndf'";

/// A database whose log backup adds `more` (with rows in it), a filegroup with `fast`, and a file
/// that goes again. Returns the times before and after.
pub fn source() -> (Arc<SimDisk>, Arc<Instance>, [String; 2]) {
    let disk = Arc::new(SimDisk::new(9));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE S ON (NAME = S, FILENAME = 's.mdf', SIZE = 4MB) LOG ON (NAME = S_log, FILENAME = 's.ldf')",
    );
    run(&instance, "ALTER DATABASE S SET RECOVERY FULL");
    run(
        &instance,
        "USE S; CREATE TABLE t (a int PRIMARY KEY, b char(3000)); INSERT t VALUES (0, 'first')",
    );
    run(&instance, "BACKUP DATABASE S TO DISK = 'f.bak'");
    run(&instance, "INSERT S..t VALUES (-1, 'before')");
    let before = now(&instance);
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = more, FILENAME = 's2.ndf', SIZE = 8MB)");
    run(&instance, "ALTER DATABASE S ADD FILEGROUP g");
    run(
        &instance,
        "ALTER DATABASE S ADD FILE (NAME = fast, FILENAME = 's3.ndf', SIZE = 1MB) TO FILEGROUP g",
    );
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
pub fn compare(instance: &Arc<Instance>) {
    for table in ["t", "g"] {
        let rows = |db: &str| say(instance, &format!("{ROWS} {db}..{table}"));
        assert_eq!(rows("C"), rows("S"));
    }
    assert_eq!(say(instance, "DBCC CHECKDB ('C') WITH NO_INFOMSGS"), "");
}

/// A database whose differential backup has lost file `one` of the full one and has a new one,
/// `two`.
pub fn with_differential() -> (Arc<SimDisk>, Arc<Instance>) {
    let disk = Arc::new(SimDisk::new(14));
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE S ON (NAME = S, FILENAME = 's.mdf', SIZE = 4MB) LOG ON (NAME = S_log, FILENAME = 's.ldf')",
    );
    run(&instance, "ALTER DATABASE S SET RECOVERY FULL");
    run(
        &instance,
        "USE S; CREATE TABLE t (a int PRIMARY KEY, b char(3000)); CREATE TABLE g (a int, b int)",
    );
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = one, FILENAME = 's2.ndf', SIZE = 1MB)");
    run(&instance, "BACKUP DATABASE S TO DISK = 'e.bak'");
    run(&instance, "BACKUP DATABASE S TO DISK = 'f.bak'");
    run(&instance, "ALTER DATABASE S REMOVE FILE one");
    run(&instance, "ALTER DATABASE S ADD FILE (NAME = two, FILENAME = 's3.ndf', SIZE = 8MB)");
    run(
        &instance,
        "USE S; SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 600 BEGIN INSERT t VALUES (@i, 'x'); SET @i += 1 END",
    );
    run(&instance, "BACKUP DATABASE S TO DISK = 'd.bak' WITH DIFFERENTIAL");
    (disk, instance)
}

pub const BASE: &str = "RESTORE DATABASE C FROM DISK = 'f.bak' WITH NORECOVERY, REPLACE, MOVE 'S' TO 'c.mdf', \
                    MOVE 'S_log' TO 'c.ldf', MOVE 'one' TO 'c2.ndf'";
pub const DIFFERENTIAL: &str =
    "RESTORE DATABASE C FROM DISK = 'd.bak' WITH MOVE 'two' TO 'copy/c3.ndf'";
