//! Space of a database: files grow in turn over restarts, what DELETE, ROLLBACK, TRUNCATE, DROP and
//! REBUILD leave goes back to the filegroup before anybody gets 1105, and the numbers that people
//! look at are those of the database they name.

use crate::support::text::{self, run};
use engine::Instance;
use sim::SimDisk;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 16 << 20).expect("the instance opens")
}

/// What a batch says, but for what USE says.
fn say(instance: &Arc<Instance>, sql: &str) -> String {
    let said = text::say(instance, sql);
    let lines: Vec<&str> =
        said.lines().filter(|l| !l.starts_with("Changed database context")).collect();
    lines.join("\n")
}

/// One file that may not grow.
fn fixed(megabytes: u32) -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(61);
    let instance = open(&disk);
    run(
        &instance,
        &format!(
            "CREATE DATABASE f ON (NAME = f1, FILENAME = 'f1.mdf', SIZE = {megabytes}MB, FILEGROWTH = 0)
             LOG ON (NAME = l, FILENAME = 'l.ldf', SIZE = 32MB)"
        ),
    );
    run(&instance, "ALTER DATABASE f SET RECOVERY SIMPLE");
    (disk, instance)
}

/// Inserts so many rows of half a page with one statement.
fn load(instance: &Arc<Instance>, table: &str, rows: u32) -> String {
    say(
        instance,
        &format!(
            "SET NOCOUNT ON; USE f; INSERT {table} (p) SELECT TOP ({rows}) 'x' FROM sys.all_columns a, sys.all_columns b"
        ),
    )
}

const CLUSTERED: &str = "USE f; CREATE TABLE t (id int IDENTITY PRIMARY KEY, p char(4000))";
const HEAP: &str = "USE f; CREATE TABLE t (id int IDENTITY, p char(4000))";
const OTHER: &str = "USE f; CREATE TABLE u (id int IDENTITY, p char(4000))";

/// Kilobytes that a table has set aside.
fn reserved(instance: &Arc<Instance>, table: &str) -> u64 {
    let said = say(instance, &format!("EXEC f..sp_spaceused '{table}'"));
    let kb = said.split('|').nth(2).and_then(|cell| cell.strip_suffix(" KB"));
    kb.and_then(|kb| kb.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

/// Until the cleanup thread has come by.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn clean(instance: &Arc<Instance>) {
    let report = instance.check_database("f").unwrap();
    assert!(report.is_clean(), "{:?} {:?}", report.allocation, report.consistency);
}

#[test]
fn files_grow_in_turn_over_restarts() {
    let mut disk = SimDisk::new(62);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE f ON (NAME = a, FILENAME = 'a.mdf', SIZE = 3MB, FILEGROWTH = 1MB),
                              (NAME = b, FILENAME = 'b.ndf', SIZE = 3MB, FILEGROWTH = 1MB)
         LOG ON (NAME = l, FILENAME = 'l.ldf', SIZE = 8MB)",
    );
    run(&instance, HEAP);
    let mut instance = instance;
    for n in 0..8 {
        assert_eq!(load(&instance, "t", 260), "");
        // Every other time the power fails: the order is in the files' headers, and these are
        // logged.
        if n % 2 == 0 {
            instance.close().unwrap();
            drop(instance);
        } else {
            let after = disk.crash(n);
            drop(instance);
            disk = after;
        }
        instance = open(&disk);
    }
    let sizes = say(
        &instance,
        "SELECT size / 128 FROM f.sys.database_files WHERE type = 0 ORDER BY file_id",
    );
    let sizes: Vec<i64> = sizes.lines().map(|line| line.parse().unwrap()).collect();
    assert!(sizes[0] + sizes[1] >= 10, "{sizes:?}");
    assert!((sizes[0] - sizes[1]).abs() <= 1, "{sizes:?}");
}

fn deleted_space_returns(create: &str) {
    let (_disk, instance) = fixed(24);
    run(&instance, create);
    run(&instance, OTHER);
    assert_eq!(load(&instance, "t", 4500), "");
    assert!(reserved(&instance, "t") > 17_000);
    run(&instance, "DELETE f..t");
    // At once: the statement does what the cleanup has not done yet.
    assert_eq!(load(&instance, "u", 4500), "");
    until("the deleted rows' extents go back", || reserved(&instance, "t") <= 64);
    run(&instance, "DELETE f..u");
    until("the deleted rows' extents go back", || reserved(&instance, "u") <= 64);
    assert_eq!(load(&instance, "t", 4500), "");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM f..t"), "4500");
    clean(&instance);
}

#[test]
fn space_of_deleted_rows_returns_from_a_heap() {
    deleted_space_returns(HEAP);
}

#[test]
fn space_of_deleted_rows_returns_from_an_index() {
    deleted_space_returns(CLUSTERED);
}

#[test]
fn rows_that_a_snapshot_needs_are_kept() {
    let (_disk, instance) = fixed(24);
    run(&instance, "ALTER DATABASE f SET ALLOW_SNAPSHOT_ISOLATION ON");
    run(&instance, CLUSTERED);
    run(&instance, OTHER);
    assert_eq!(load(&instance, "t", 4500), "");
    let mut reader = instance.session().unwrap();
    let mut ask = |sql: &str| {
        let mut out = text::Text::default();
        reader.execute(sql, &mut out);
        out.out.trim().to_string()
    };
    ask("SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
    ask("BEGIN TRAN");
    assert_eq!(ask("SELECT COUNT(*) FROM f..t"), "4500");
    run(&instance, "DELETE f..t");
    assert!(load(&instance, "u", 4500).starts_with("Msg 1105"));
    assert_eq!(
        ask("SELECT COUNT(*), MIN(p) FROM f..t WHERE p = 'x'").split('|').next(),
        Some("4500")
    );
    ask("COMMIT");
    assert_eq!(load(&instance, "u", 4500), "");
    clean(&instance);
}

#[test]
fn space_of_a_rollback_returns() {
    for create in [HEAP, CLUSTERED] {
        let (_disk, instance) = fixed(24);
        run(&instance, create);
        run(&instance, OTHER);
        let said = say(
            &instance,
            "SET NOCOUNT ON; USE f; BEGIN TRAN;
             INSERT t (p) SELECT TOP (4500) 'x' FROM sys.all_columns a, sys.all_columns b; ROLLBACK",
        );
        assert_eq!(said, "");
        assert_eq!(load(&instance, "u", 4500), "", "{create}");
        until("the rows that were taken back leave no pages", || reserved(&instance, "t") <= 64);
        clean(&instance);
    }
}

#[test]
fn a_load_right_behind_truncate_and_drop_finds_their_space() {
    let (_disk, instance) = fixed(24);
    run(&instance, HEAP);
    assert_eq!(load(&instance, "t", 4500), "");
    for _ in 0..3 {
        let said = say(
            &instance,
            "SET NOCOUNT ON; USE f; TRUNCATE TABLE t;
             INSERT t (p) SELECT TOP (4500) 'x' FROM sys.all_columns a, sys.all_columns b",
        );
        assert_eq!(said, "");
    }
    let said = say(
        &instance,
        "SET NOCOUNT ON; USE f; DROP TABLE t; CREATE TABLE u (id int IDENTITY PRIMARY KEY, p char(4000));
         INSERT u (p) SELECT TOP (4500) 'x' FROM sys.all_columns a, sys.all_columns b",
    );
    assert_eq!(said, "");
    clean(&instance);
}

#[test]
fn a_load_right_behind_truncate_does_not_grow_the_file() {
    let disk = SimDisk::new(63);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE f ON (NAME = f1, FILENAME = 'f1.mdf', SIZE = 24MB, FILEGROWTH = 4MB)
         LOG ON (NAME = l, FILENAME = 'l.ldf', SIZE = 32MB); ALTER DATABASE f SET RECOVERY SIMPLE",
    );
    run(&instance, HEAP);
    assert_eq!(load(&instance, "t", 4500), "");
    let size = "SELECT size / 128 FROM f.sys.database_files WHERE type = 0";
    assert_eq!(say(&instance, size), "24");
    for _ in 0..3 {
        let said = say(
            &instance,
            "SET NOCOUNT ON; USE f; TRUNCATE TABLE t;
             INSERT t (p) SELECT TOP (4500) 'x' FROM sys.all_columns a, sys.all_columns b",
        );
        assert_eq!(said, "");
    }
    assert_eq!(say(&instance, size), "24");
    // Nor does a shrink.
    run(&instance, "USE f; TRUNCATE TABLE t; DBCC SHRINKFILE (f1, 8)");
    let now: u32 = say(&instance, size).parse().unwrap();
    assert!(now <= 8, "{now}");
}

#[test]
fn truncate_needs_no_room() {
    let (_disk, instance) = fixed(8);
    run(
        &instance,
        "USE f; CREATE TABLE t (id int IDENTITY PRIMARY KEY, p char(4000), INDEX i (p))",
    );
    while load(&instance, "t", 1).is_empty() {}
    assert_eq!(say(&instance, "TRUNCATE TABLE f..t"), "");
    assert_eq!(load(&instance, "t", 100), "");
    clean(&instance);
}

#[test]
fn a_rebuild_returns_its_old_space() {
    let (_disk, instance) = fixed(24);
    run(&instance, CLUSTERED);
    run(&instance, OTHER);
    assert_eq!(load(&instance, "t", 2000), "");
    for _ in 0..6 {
        assert_eq!(say(&instance, "USE f; ALTER INDEX ALL ON t REBUILD"), "");
    }
    run(&instance, "DELETE f..t WHERE id % 10 <> 0");
    assert_eq!(say(&instance, "USE f; ALTER INDEX ALL ON t REBUILD"), "");
    assert_eq!(load(&instance, "u", 4000), "");
    until("the old tree is free", || reserved(&instance, "t") < 1_100);
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM f..t"), "200");
    clean(&instance);
}

#[test]
fn ghosts_that_a_crash_has_made_everybody_forget_are_found_when_room_is_needed() {
    for create in [HEAP, CLUSTERED] {
        let (disk, instance) = fixed(24);
        run(&instance, create);
        run(&instance, OTHER);
        assert_eq!(load(&instance, "t", 4500), "");
        run(&instance, "CHECKPOINT");
        // A reader holds the ghosts until the power fails.
        let mut reader = instance.session().unwrap();
        let mut out = text::Text::default();
        reader.execute("ALTER DATABASE f SET ALLOW_SNAPSHOT_ISOLATION ON", &mut out);
        reader.execute(
            "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM f..t",
            &mut out,
        );
        run(&instance, "DELETE f..t");
        let after = disk.crash(7);
        drop((reader, instance));
        let instance = open(&after);
        assert!(reserved(&instance, "t") > 17_000);
        assert_eq!(load(&instance, "u", 4500), "", "{create}");
        clean(&instance);
    }
}

#[test]
fn a_clean_stop_gives_space_back() {
    let (disk, instance) = fixed(24);
    run(&instance, CLUSTERED);
    assert_eq!(load(&instance, "t", 4500), "");
    run(&instance, "DELETE f..t");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert!(reserved(&instance, "t") <= 64);
    clean(&instance);
}

#[test]
fn a_failed_statement_is_not_shown_twice() {
    let (_disk, instance) = fixed(8);
    run(&instance, HEAP);
    let said = say(
        &instance,
        "USE f; INSERT t (p) OUTPUT inserted.id SELECT TOP (3000) 'x' FROM sys.all_columns a, sys.all_columns b",
    );
    assert_eq!(said.matches("Msg 1105").count(), 1, "{said}");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM f..t"), "0");
    // Variables keep what the one run gave them.
    run(
        &instance,
        "USE f; CREATE TABLE v (id int PRIMARY KEY, p varchar(8000)); CREATE TABLE w (p char(4000))",
    );
    run(
        &instance,
        "SET NOCOUNT ON; INSERT f..v SELECT TOP (300) ROW_NUMBER() OVER (ORDER BY (SELECT 1)), 'x' FROM sys.all_columns",
    );
    let said = say(
        &instance,
        "USE f; DECLARE @n int = 0; BEGIN TRY UPDATE v SET @n = @n + 1, p = REPLICATE('y', 8000) END TRY
         BEGIN CATCH PRINT ERROR_NUMBER() END CATCH; IF @n > 300 PRINT 'twice'",
    );
    assert!(!said.contains("twice"), "{said}");
}

#[test]
fn identity_after_truncate_and_a_clean_stop_begins_anew() {
    let (disk, instance) = fixed(8);
    run(&instance, HEAP);
    assert_eq!(load(&instance, "t", 5), "");
    run(&instance, "TRUNCATE TABLE f..t");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(load(&instance, "t", 2), "");
    assert_eq!(say(&instance, "SELECT MIN(id), MAX(id) FROM f..t"), "1|2");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(load(&instance, "t", 1), "");
    assert_eq!(say(&instance, "SELECT MAX(id) FROM f..t"), "3");
    // A truncation that is taken back leaves the counter behind the rows, a clean stop or not.
    assert_eq!(say(&instance, "USE f; BEGIN TRAN; TRUNCATE TABLE t; ROLLBACK"), "");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(load(&instance, "t", 1), "");
    assert_eq!(say(&instance, "SELECT MAX(id) FROM f..t"), "4");
}

#[test]
fn procedures_work_in_the_database_that_they_are_called_in() {
    let (_disk, instance) = fixed(8);
    run(&instance, HEAP);
    assert_eq!(load(&instance, "t", 100), "");
    for call in ["f..sp_spaceused", "f.dbo.sp_spaceused", "[f].[sys].[sp_spaceused]"] {
        let said = say(&instance, &format!("EXEC {call}"));
        assert!(said.starts_with("f|"), "{call}: {said}");
        let said = say(&instance, &format!("EXEC {call} 't'; SELECT DB_NAME()"));
        assert!(said.starts_with("t|100 ") && said.ends_with("master"), "{call}: {said}");
        let said = say(&instance, &format!("EXEC {call} 'f.dbo.t'"));
        assert!(said.starts_with("t|100 "), "{call}: {said}");
    }
    assert!(say(&instance, "f..sp_spaceused").starts_with("f|"));
    assert!(say(&instance, "DECLARE @p sysname = 'f..sp_spaceused'; EXEC @p").starts_with("f|"));
    assert!(say(&instance, "EXEC sp_spaceused 'f.dbo.t'").starts_with("Msg 15250"));
    assert!(say(&instance, "EXEC nosuch..sp_spaceused").starts_with("Msg 911"));
    assert_eq!(
        say(&instance, "EXEC f..sp_executesql N'SELECT DB_NAME()'; SELECT DB_NAME()"),
        "f\nmaster"
    );
    let said = say(&instance, "DBCC CHECKTABLE ('f.dbo.t')");
    assert!(said.contains("There are 100 rows in object"), "{said}");
    assert!(say(&instance, "DBCC CHECKTABLE ('f.dbo.nosuch')").starts_with("Msg 2501"));
    assert!(say(&instance, "DBCC CHECKTABLE ('nosuch.dbo.t')").starts_with("Msg 911"));
    assert!(say(&instance, "DBCC CHECKIDENT ('f.dbo.t')").contains("'100'"));
}

/// A load from a file commits its batches; what finds no room goes in again, and nothing twice.
#[test]
fn a_bulk_load_finds_the_space_of_deleted_rows() {
    let (_disk, instance) = fixed(24);
    run(&instance, CLUSTERED);
    run(&instance, "USE f; CREATE TABLE u (id int PRIMARY KEY, p char(4000), INDEX i (p))");
    assert_eq!(load(&instance, "t", 4500), "");
    let dir = std::env::temp_dir().join(format!("ringwood-space-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("rows.csv");
    let rows: String = (0..2500).map(|n| format!("{n},{}\n", n % 7)).collect();
    std::fs::write(&file, rows).unwrap();
    run(&instance, "DELETE f..t");
    for options in ["", ", BATCHSIZE = 700"] {
        let said = say(
            &instance,
            &format!(
                "USE f; BULK INSERT u FROM '{}' WITH (FIELDTERMINATOR = ','{options})",
                file.display()
            ),
        );
        assert_eq!(said, "(2500)");
        assert_eq!(say(&instance, "SELECT COUNT(*), COUNT(DISTINCT id) FROM f..u"), "2500|2500");
        run(&instance, "DELETE f..u");
    }
    std::fs::remove_dir_all(&dir).unwrap();
    clean(&instance);
}
