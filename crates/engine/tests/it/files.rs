//! Data files that come, grow, fill up and go; read-only databases; tempdb; what a crash leaves of
//! a file.

use crate::support::text::{self, Bench, say};
use engine::Instance;
use sim::{Fault, OpKind, SimDisk};
use std::path::Path;
use std::sync::Arc;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 8 << 20).expect("the instance opens")
}

const CREATE: &str =
    "CREATE DATABASE f ON (NAME = f1, FILENAME = 'f1.mdf', SIZE = 4MB, FILEGROWTH = 1MB)
                      LOG ON (NAME = l, FILENAME = 'l.ldf', SIZE = 2MB)";
const FILL: &str = "SET NOCOUNT ON; DECLARE @i int = 0;
                    WHILE @i < 400 BEGIN INSERT f..big VALUES (@i, REPLICATE('x', 7000)); SET @i += 1 END";
const USED: &str = "SELECT COUNT(*) FROM f.sys.database_files WHERE type = 0";

fn filled() -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(31);
    let instance = open(&disk);
    assert_eq!(say(&instance, CREATE), "");
    say(
        &instance,
        "ALTER DATABASE f SET RECOVERY SIMPLE; EXEC('USE f CREATE TABLE big (id int, words char(7000))')",
    );
    (disk, instance)
}

/// Extents in use of a file, by its size and its free space in pages.
fn pages_of(instance: &Arc<Instance>, file: &str) -> i64 {
    say(instance, &format!("SELECT size FROM f.sys.database_files WHERE name = '{file}'"))
        .parse()
        .unwrap()
}

#[test]
fn an_added_file_takes_its_share_at_once_and_stays() {
    let (disk, instance) = filled();
    assert_eq!(say(&instance, FILL), "");
    let before = pages_of(&instance, "f1");
    let add = "ALTER DATABASE f ADD FILE (NAME = f2, FILENAME = 'more/f2.ndf', SIZE = 16MB, FILEGROWTH = 1MB)";
    assert_eq!(say(&instance, add), "");
    // What is free in the new file is far more than what the old one has: it does not grow any
    // more.
    assert_eq!(say(&instance, FILL), "");
    assert_eq!(pages_of(&instance, "f1"), before);
    assert!(say(&instance, "ALTER DATABASE f REMOVE FILE f2").starts_with(
        "Msg 5042: The file 'f2' cannot be removed because it is not empty.\nMsg 5069"
    ));
    assert!(say(&instance, add).starts_with("Msg 1828"));
    assert!(
        say(&instance, "ALTER DATABASE f ADD FILE (NAME = f3, FILENAME = 'more/f2.ndf')")
            .starts_with("Msg 5170")
    );
    assert!(
        say(&instance, "ALTER DATABASE f ADD FILE (NAME = f3) TO FILEGROUP nowhere")
            .starts_with("Msg 5011")
    );
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, USED), "2");
    assert_eq!(say(&instance, "SELECT COUNT(*), MAX(LEN(words)) FROM f..big"), "800|7000");
    assert!(instance.check_database("f").unwrap().is_clean());
}

#[test]
fn files_grow_by_their_step_up_to_their_limit() {
    let (_, instance) = filled();
    assert_eq!(
        say(
            &instance,
            "ALTER DATABASE f MODIFY FILE (NAME = f1, MAXSIZE = 6MB, FILEGROWTH = 512KB)"
        ),
        ""
    );
    say(&instance, FILL);
    let said = say(&instance, FILL);
    assert!(
        said.contains(
            "Msg 1105: Could not allocate space in database 'f' because the 'PRIMARY' filegroup is full"
        ),
        "{said}"
    );
    assert_eq!(pages_of(&instance, "f1"), 768);
    assert_eq!(
        say(
            &instance,
            "SELECT max_size, growth, is_percent_growth FROM f.sys.database_files WHERE name = 'f1'"
        ),
        "768|64|0"
    );
    assert!(
        say(&instance, "ALTER DATABASE f MODIFY FILE (NAME = f1, SIZE = 5MB)")
            .starts_with("Msg 5039")
    );
    assert!(
        say(&instance, "ALTER DATABASE f MODIFY FILE (NAME = f1, SIZE = 9MB)")
            .starts_with("Msg 5103")
    );
    assert_eq!(
        say(
            &instance,
            "ALTER DATABASE f MODIFY FILE (NAME = f1, SIZE = 16MB, MAXSIZE = UNLIMITED)"
        ),
        ""
    );
    assert_eq!(pages_of(&instance, "f1"), 2048);
    assert_eq!(say(&instance, &format!("{FILL}; SELECT 1")), "1");
    assert_eq!(pages_of(&instance, "f1"), 2048);
}

#[test]
fn filegroups_and_empty_files_come_and_go() {
    let (disk, instance) = filled();
    assert_eq!(say(&instance, "ALTER DATABASE f ADD FILEGROUP fg"), "");
    let add = "ALTER DATABASE f ADD FILE (NAME = g1, FILENAME = 'g1.ndf', SIZE = 1MB), (NAME = g2, FILENAME = 'g2.ndf', SIZE = 1MB) TO FILEGROUP fg";
    assert_eq!(say(&instance, add), "");
    say(
        &instance,
        "EXEC('USE f CREATE TABLE ing (a int, b char(2000)) ON fg INSERT ing VALUES (1, ''x'')')",
    );
    assert!(say(&instance, "ALTER DATABASE f REMOVE FILEGROUP fg").starts_with("Msg 5042"));
    say(&instance, "EXEC('USE f DROP TABLE ing')");
    for _ in 0..200 {
        // The dropped table's extents are freed in the background.
        if !say(&instance, "ALTER DATABASE f REMOVE FILE g1").starts_with("Msg 5042") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!disk::Disk::exists(&disk, Path::new("/data/g1.ndf")).unwrap());
    assert!(say(&instance, "ALTER DATABASE f REMOVE FILE g1").starts_with("Msg 5009"));
    assert!(say(&instance, "ALTER DATABASE f REMOVE FILE f1").starts_with("Msg 5020"));
    assert_eq!(
        say(
            &instance,
            "ALTER DATABASE f ADD FILE (NAME = g1, FILENAME = 'g1.ndf', SIZE = 1MB) TO FILEGROUP fg"
        ),
        ""
    );
    assert_eq!(say(&instance, USED), "3");
    say(&instance, "EXEC('USE f CREATE TABLE ing (a int) ON fg INSERT ing VALUES (1)')");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, "SELECT a FROM f..ing"), "1");
    assert!(instance.check_database("f").unwrap().is_clean());
}

/// DBCC SHRINKFILE of file f1: the numbers of its row.
fn shrink(instance: &Arc<Instance>, how: &str) -> Vec<i64> {
    let said = say(instance, &format!("EXEC('USE f DBCC SHRINKFILE (f1{how}) WITH NO_INFOMSGS')"));
    let row = said.lines().last().unwrap_or_default();
    row.split('|').map(|n| n.parse().unwrap_or_else(|_| panic!("{how}: {said}"))).collect()
}

/// Shrinks until the dropped tables' extents, which are freed in the background, are gone.
fn shrink_to(instance: &Arc<Instance>, how: &str, pages: i64) -> Vec<i64> {
    for _ in 0..200 {
        let row = shrink(instance, how);
        if row[2] <= pages {
            return row;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("file f1 stays at {} pages", pages_of(instance, "f1"));
}

#[test]
fn data_files_give_free_space_back() {
    let (disk, instance) = filled();
    say(&instance, "EXEC('USE f CREATE TABLE keep (a int) INSERT keep VALUES (4)')");
    say(&instance, FILL);
    let grown = pages_of(&instance, "f1");
    assert!(grown > 700, "{grown} pages");
    let row = shrink(&instance, ", TRUNCATEONLY");
    assert_eq!((row[1], row[2], row[3]), (1, pages_of(&instance, "f1"), 512), "{row:?}");
    assert!(row[4] > 600 && row[4] <= row[2] && row[5] == row[4], "{row:?}");
    // A table after the free space.
    say(&instance, FILL);
    say(
        &instance,
        "EXEC('USE f CREATE TABLE behind (a int, b char(7000)) INSERT behind VALUES (5, ''x'')')",
    );
    say(&instance, "EXEC('USE f DROP TABLE big')");
    // The dropped table's extents are freed in the background; then what is after them is moved to
    // the front.
    shrink_to(&instance, ", 5", 640);
    assert_eq!(say(&instance, "SELECT a, LEN(b) FROM f..behind"), "5|1");
    assert!(instance.check_database("f").unwrap().is_clean());
    say(&instance, "EXEC('USE f DROP TABLE behind')");
    // Down to the size that it was made with, to a smaller one, to the last extent in use.
    let row = shrink_to(&instance, "", 512);
    assert_eq!((row[2], row[3]), (512, 512));
    let row = shrink_to(&instance, ", 3, TRUNCATEONLY", 440);
    assert_eq!((row[2], row[2]), (row[3], pages_of(&instance, "f1")), "the minimum follows");
    assert_eq!(say(&instance, "SELECT a FROM f..keep"), "4");
    assert!(instance.check_database("f").unwrap().is_clean());
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(pages_of(&instance, "f1"), row[2]);
    // It grows again; SHRINKDATABASE shows the files that have become shorter.
    say(&instance, "EXEC('USE f CREATE TABLE big (id int, words char(7000))')");
    say(&instance, FILL);
    assert!(pages_of(&instance, "f1") > 600);
    say(&instance, "EXEC('USE f DROP TABLE big')");
    for n in 0.. {
        assert!(n < 200, "the space is not given back");
        let said = say(&instance, "DBCC SHRINKDATABASE (f, 10) WITH NO_INFOMSGS");
        if said.lines().any(|line| line.contains("|1|")) && pages_of(&instance, "f1") < 512 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(instance.check_database("f").unwrap().is_clean());
    say(&instance, "ALTER DATABASE f SET READ_ONLY");
    assert!(
        say(&instance, "EXEC('USE f DBCC SHRINKFILE (f1, TRUNCATEONLY)')").contains("Msg 3906")
    );
}

/// Power goes at I/Os of a statement that cuts a file.
#[test]
fn a_crash_in_shrinkfile_is_not_in_the_way() {
    let grow = "ALTER DATABASE f MODIFY FILE (NAME = f1, SIZE = 9MB)";
    let cut = "EXEC('USE f DBCC SHRINKFILE (f1, 5) WITH NO_INFOMSGS')";
    let done = "SELECT COUNT(*) FROM f.sys.database_files WHERE name = 'f1' AND size = 640";
    power_loss(&[CREATE, grow], cut, done, u64::MAX);
}

#[test]
fn a_read_only_database_is_not_written() {
    let mut b = Bench::new();
    b.check("CREATE TABLE r (a int) INSERT r VALUES (1)", "(1)");
    b.check("BEGIN TRAN UPDATE r SET a = 2", "(1)");
    let read_only = "ALTER DATABASE t SET READ_ONLY WITH NO_WAIT";
    assert!(say(&b.instance, read_only).starts_with("Msg 5070"));
    b.check("COMMIT", "");
    assert_eq!(say(&b.instance, read_only), "");
    for change in [
        "INSERT r VALUES (1)",
        "UPDATE r SET a = 0",
        "DELETE r",
        "TRUNCATE TABLE r",
        "CREATE TABLE s (a int)",
        "SELECT * INTO s FROM r",
    ] {
        b.check(
            change,
            "Msg 3906: Failed to update database \"t\" because the database is read-only.",
        );
    }
    b.check("SELECT a FROM r; ALTER DATABASE t SET READ_WRITE; DELETE r", "2\n(1)");
}

#[test]
fn tempdb_is_new_at_each_start() {
    let disk = SimDisk::new(32);
    let instance = open(&disk);
    say(&instance, "EXEC('USE tempdb CREATE TABLE mine (a int)')");
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM tempdb.sys.tables"), "1");
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(
        say(&instance, "SELECT COUNT(*) FROM tempdb.sys.tables; SELECT DB_ID('tempdb')"),
        "0\n2"
    );
    // And after a crash.
    say(&instance, "EXEC('USE tempdb CREATE TABLE mine (a int)')");
    let after = open(&disk.crash(1));
    assert_eq!(say(&after, "SELECT COUNT(*) FROM tempdb.sys.tables"), "0");
}

#[test]
fn a_database_gives_its_collation_to_its_columns() {
    let mut b = Bench::new();
    b.check("ALTER DATABASE t COLLATE Latin1_General_CS_AS", "");
    b.check(
        "CREATE TABLE c (a varchar(9), b varchar(9) COLLATE Latin1_General_CI_AS) INSERT c VALUES ('x', 'x')",
        "(1)",
    );
    b.check("SELECT COUNT(*) FROM c WHERE a = 'X'; SELECT COUNT(*) FROM c WHERE b = 'X'", "0\n1");
    b.check(
        "ALTER DATABASE t COLLATE nonsense",
        "Msg 448: Invalid collation 'nonsense'.\nMsg 5069: ALTER DATABASE statement failed.",
    );
    b.check(
        "SET DATEFORMAT mdy; SET DATEFORMAT xyz",
        "Msg 2741: SET DATEFORMAT date order 'xyz' is invalid.",
    );
}

/// Power goes at I/Os of a statement; afterwards the statement either has happened or can be given
/// again, and nothing of the first try is in the way.
fn power_loss(prepare: &[&str], statement: &str, done: &str, tries: u64) {
    let disk = SimDisk::new(33);
    let instance = open(&disk);
    prepare.iter().for_each(|sql| drop(say(&instance, sql)));
    instance.close().unwrap();
    drop(instance);
    text::power_loss(&disk, open, statement, tries, |instance, _, at| {
        if say(instance, done) == "0" {
            let said = say(instance, statement);
            assert!(!said.contains("Msg"), "I/O {at}: {said}");
        }
        assert_eq!(say(instance, done), "1", "I/O {at}");
        let usable = say(
            instance,
            "EXEC('USE f CREATE TABLE z (a int) INSERT z VALUES (7) SELECT a FROM z')",
        );
        assert!(usable.ends_with("(1)\n7"), "I/O {at}: {usable}");
        assert!(instance.check_database("f").unwrap().is_clean());
    });
}

#[test]
fn a_crash_in_create_database_is_not_in_the_way() {
    power_loss(&[], CREATE, "SELECT COUNT(*) FROM sys.databases WHERE name = 'f'", 60);
}

#[test]
fn a_crash_in_add_file_is_not_in_the_way() {
    let add = "ALTER DATABASE f ADD FILE (NAME = f2, FILENAME = 'f2.ndf', SIZE = 1MB)";
    power_loss(
        &[CREATE],
        add,
        "SELECT COUNT(*) FROM f.sys.database_files WHERE name = 'f2'",
        u64::MAX,
    );
}

#[test]
fn a_crash_in_remove_file_is_not_in_the_way() {
    let add = "ALTER DATABASE f ADD FILE (NAME = f2, FILENAME = 'f2.ndf', SIZE = 1MB)";
    let remove = "ALTER DATABASE f REMOVE FILE f2";
    let gone = "SELECT 1 - COUNT(*) FROM f.sys.database_files WHERE name = 'f2'";
    power_loss(&[CREATE, add], remove, gone, u64::MAX);
}

/// Which file it was is said, whatever the system refuses; and nothing stays.
#[test]
fn a_file_that_cannot_be_made_is_named() {
    for fault in [Fault::Io, Fault::NoSpace, Fault::FileLimit] {
        for file in ["f1.mdf", "l.ldf"] {
            let disk = SimDisk::new(32);
            let instance = open(&disk);
            disk.fail_on(&Path::new("/data").join(file), OpKind::SetLen, 1, fault);
            let said = say(&instance, CREATE);
            assert!(
                said.starts_with("Msg 5123: ") && said.contains(&format!("physical file '{file}'")),
                "{said}"
            );
            assert_eq!(say(&instance, CREATE), "");
        }
    }
}
