//! DBCC SHRINKFILE that moves pages: EMPTYFILE, sizes below what is in use at the end, other
//! sessions meanwhile, power loss.

use crate::support::text::{self, Text, run, say};
use engine::Instance;
use sim::SimDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 16 << 20).expect("the instance opens")
}

const CREATE: &str =
    "CREATE DATABASE f ON (NAME = f1, FILENAME = 'f1.mdf', SIZE = 4MB, FILEGROWTH = 1MB),
                      FILEGROUP fg (NAME = g1, FILENAME = 'g1.ndf', SIZE = 2MB, FILEGROWTH = 1MB)
                      LOG ON (NAME = l, FILENAME = 'l.ldf', SIZE = 2MB)";
const ADD: &str =
    "ALTER DATABASE f ADD FILE (NAME = g2, FILENAME = 'g2.ndf', SIZE = 2MB, FILEGROWTH = 1MB)
                   TO FILEGROUP fg";
const EMPTY: &str = "EXEC('USE f DBCC SHRINKFILE (g1, EMPTYFILE) WITH NO_INFOMSGS')";
const REMOVE: &str = "ALTER DATABASE f REMOVE FILE g1";

/// What the tables of `fill` hold, in one line.
const STATE: &str = "SELECT COUNT(*), SUM(id), SUM(LEN(words)) FROM f..tree;
                     SELECT COUNT(*), SUM(id), SUM(LEN(words)) FROM f..pile;
                     SELECT COUNT(*), SUM(id), SUM(LEN(words)) FROM f..large;
                     SELECT COUNT(*) FROM f..tree WHERE words LIKE 'b%';
                     SELECT id FROM f..pile WHERE k = 17;
                     SELECT COUNT(*) FROM f..small";

/// An instance with these tables, and a second file for them to go to.
fn filled(disk: &SimDisk, rows: u32) -> Arc<Instance> {
    let instance = open(disk);
    fill(&instance, rows);
    run(&instance, ADD);
    instance
}

/// A clustered table with a second index, a heap with one, one with large values, one without rows:
/// all begin in g1.
fn fill(instance: &Arc<Instance>, rows: u32) {
    run(instance, CREATE);
    run(
        instance,
        "EXEC('USE f CREATE TABLE tree (id int PRIMARY KEY, words varchar(800)) ON fg
                     CREATE INDEX by_words ON tree (words)
                     CREATE TABLE pile (id int, k int, words varchar(800)) ON fg
                     CREATE INDEX by_k ON pile (k)
                     CREATE TABLE large (id int PRIMARY KEY, words varchar(max)) ON fg
                     CREATE TABLE small (id int PRIMARY KEY) ON fg')",
    );
    run(
        instance,
        &format!(
            "SET NOCOUNT ON; DECLARE @i int = 0;
             WHILE @i < {rows} BEGIN
                 INSERT f..tree VALUES (@i, REPLICATE(CHAR(97 + @i % 20), 300 + @i % 50));
                 INSERT f..pile VALUES (@i * 2, @i, REPLICATE('p', 300));
                 IF @i % 20 = 0 INSERT f..large VALUES (@i, REPLICATE(CAST('x' AS varchar(max)), 20000 + @i));
                 SET @i += 1
             END"
        ),
    );
}

fn used(instance: &Arc<Instance>, file: &str) -> i64 {
    let said = say(
        instance,
        &format!("EXEC('USE f DBCC SHRINKFILE ({file}, TRUNCATEONLY) WITH NO_INFOMSGS')"),
    );
    said.split('|').nth(4).and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

fn clean(instance: &Arc<Instance>) {
    let report = instance.check_database("f").unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_file_is_emptied_and_removed() {
    let disk = SimDisk::new(51);
    let instance = open(&disk);
    fill(&instance, 900);
    let state = say(&instance, STATE);
    assert!(state.starts_with("900|"), "{state}");
    assert!(say(&instance, EMPTY).contains(
        "Msg 2555: Cannot move all contents of file \"g1\" to other places to \
        complete the emptyfile operation."
    ));
    run(&instance, ADD);
    assert!(
        say(&instance, REMOVE)
            .contains("Msg 5042: The file 'g1' cannot be removed because it is not empty.")
    );
    assert!(say(&instance, "BEGIN TRAN EXEC('USE f DBCC SHRINKFILE (g1, EMPTYFILE)') ROLLBACK").contains(
        "Msg 8920: Cannot perform a shrinkfile operation inside a user transaction. Terminate the transaction and \
         reissue the statement."
    ));
    let mut names = Text::default();
    names.names = true;
    instance.session().unwrap().execute(EMPTY, &mut names);
    let columns = "[DbId|FileId|CurrentSize|MinimumSize|UsedPages|EstimatedPages]\n";
    let (_, row) = names.out.split_once(columns).unwrap_or_else(|| panic!("{}", names.out));
    let row = row.trim().split('|').map(|n| n.parse().unwrap());
    let row: Vec<i64> = row.collect();
    assert!(row[1] == 3 && row[4] <= 16 && row[3] == 256, "{row:?}");
    assert_eq!(say(&instance, STATE), state);
    clean(&instance);
    // Nothing new goes there, after a restart neither.
    let more = "SET NOCOUNT ON; DECLARE @i int = 10000;
                WHILE @i < 10300 BEGIN INSERT f..tree VALUES (@i, REPLICATE('m', 700)); SET @i += 1 END;
                DELETE f..tree WHERE id >= 10000";
    let size = used(&instance, "g1");
    run(&instance, more);
    run(&instance, "EXEC('USE f CREATE TABLE later (a int) ON fg INSERT later VALUES (1)')");
    assert_eq!(used(&instance, "g1"), size);
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    run(&instance, more);
    assert_eq!((used(&instance, "g1"), say(&instance, STATE)), (size, state.clone()));
    // As after a rollback that found room nowhere else, and a restart.
    let storage = instance.database("f").unwrap().storage().unwrap();
    storage.store().unbar(3);
    run(&instance, "EXEC('USE f CREATE TABLE extra (words char(7000)) ON fg')");
    run(
        &instance,
        "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 200 BEGIN INSERT f..extra VALUES ('e'); SET @i += 1 END",
    );
    storage.bar_file(3, 0).unwrap();
    drop(storage);
    assert!(used(&instance, "g1") > size, "something is in the emptied file");
    run(&instance, EMPTY);
    run(&instance, REMOVE);
    clean(&instance);
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, STATE), state);
    run(&instance, more);
    clean(&instance);
    // The tables can be changed and dropped where they are now.
    run(
        &instance,
        "EXEC('USE f ALTER INDEX ALL ON tree REBUILD TRUNCATE TABLE pile DROP TABLE large')",
    );
    clean(&instance);
}

#[test]
fn what_cannot_be_moved_stays() {
    let disk = SimDisk::new(52);
    let instance = open(&disk);
    fill(&instance, 600);
    let state = say(&instance, STATE);
    // No room: the other file cannot grow.
    run(
        &instance,
        "ALTER DATABASE f ADD FILE (NAME = g2, FILENAME = 'g2.ndf', SIZE = 512KB, FILEGROWTH = 0) TO FILEGROUP fg",
    );
    let full = "Msg 2556: There is insufficient space in the filegroup to complete the emptyfile operation.";
    let said = say(&instance, EMPTY);
    assert!(said.contains(full), "{said}");
    assert_eq!(say(&instance, STATE), state);
    clean(&instance);
    // It takes new pages as before.
    let before = used(&instance, "g1");
    run(
        &instance,
        "SET NOCOUNT ON; DECLARE @i int = 10000;
         WHILE @i < 10200 BEGIN INSERT f..tree VALUES (@i, REPLICATE('m', 700)); SET @i += 1 END",
    );
    assert!(used(&instance, "g1") > before);
    clean(&instance);
    // The system tables of the primary file stay, user tables go.
    run(&instance, "ALTER DATABASE f ADD FILE (NAME = f2, FILENAME = 'f2.ndf', SIZE = 4MB)");
    run(
        &instance,
        "EXEC('USE f CREATE TABLE first (id int PRIMARY KEY, words char(4000))')
         SET NOCOUNT ON; DECLARE @i int = 0;
         WHILE @i < 200 BEGIN INSERT f..first VALUES (@i, 'x'); SET @i += 1 END",
    );
    let before = used(&instance, "f1");
    let said = say(&instance, "EXEC('USE f DBCC SHRINKFILE (f1, EMPTYFILE)')");
    assert!(said.contains("Msg 2555: Cannot move all contents of file \"f1\""), "{said}");
    assert!(used(&instance, "f1") < before);
    assert_eq!(say(&instance, "SELECT COUNT(*), SUM(id) FROM f..first"), "200|19900");
    clean(&instance);
    for (how, error) in
        [("NONSENSE", 102), ("EMPTYFILE, NOTRUNCATE", 102), ("3, NOTRUNCATE, TRUNCATEONLY", 102)]
    {
        let said = say(&instance, &format!("EXEC('USE f DBCC SHRINKFILE (g1, {how})')"));
        assert!(said.contains(&format!("Msg {error}")), "{said}");
    }
}

#[test]
fn a_file_shrinks_by_moving_its_end() {
    let disk = SimDisk::new(53);
    let instance = open(&disk);
    run(&instance, CREATE);
    let size = || -> i64 {
        say(&instance, "SELECT size FROM f.sys.database_files WHERE name = 'g1'").parse().unwrap()
    };
    let shrink = |how: &str| {
        let said =
            say(&instance, &format!("EXEC('USE f DBCC SHRINKFILE (g1{how}) WITH NO_INFOMSGS')"));
        assert!(!said.contains("Msg"), "{said}");
    };
    let insert = |table: &str, rows: u32| {
        run(
            &instance,
            &format!(
                "SET NOCOUNT ON; DECLARE @i int = 0;
                 WHILE @i < {rows} BEGIN INSERT f..{table} VALUES (@i, 'x'); SET @i += 1 END"
            ),
        );
    };
    run(&instance, "EXEC('USE f CREATE TABLE big (id int, words char(7000)) ON fg')");
    insert("big", 500);
    // Behind it: a tree, a heap with an index, large values, and a small table.
    run(
        &instance,
        "EXEC('USE f CREATE TABLE tree (id int PRIMARY KEY, words char(1000)) ON fg
                     CREATE TABLE pile (id int, words char(1000)) ON fg CREATE INDEX i ON pile (id)
                     CREATE TABLE large (id int, words varchar(max)) ON fg
                     CREATE TABLE small (id int PRIMARY KEY, words char(9)) ON fg')",
    );
    insert("tree", 300);
    insert("pile", 300);
    insert("small", 3);
    run(&instance, "INSERT f..large VALUES (1, REPLICATE(CAST('x' AS varchar(max)), 100000))");
    let state = "SELECT COUNT(*), SUM(id) FROM f..tree; SELECT COUNT(*), SUM(id) FROM f..pile WHERE id > 10;
                 SELECT id, LEN(words) FROM f..large; SELECT COUNT(*), SUM(id) FROM f..small";
    let rows = say(&instance, state);
    let grown = size();
    assert!(grown > 600, "{grown} pages");
    run(&instance, "EXEC('USE f DROP TABLE big')");
    // The dropped table's extents are freed in the background.
    for n in 0.. {
        assert!(n < 400, "the space is not given back");
        if used(&instance, "g1") < 300 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let grown = size();
    shrink(", 3, NOTRUNCATE");
    assert_eq!((size(), say(&instance, state)), (grown, rows.clone()));
    shrink(", TRUNCATEONLY");
    assert!(size() <= 384, "{} pages after the end was moved", size());
    assert_eq!(say(&instance, state), rows);
    clean(&instance);
    insert("tree", 0);
    run(&instance, "EXEC('USE f CREATE TABLE big (id int, words char(7000)) ON fg')");
    insert("big", 300);
    run(&instance, "EXEC('USE f CREATE TABLE last (id int PRIMARY KEY, words char(7000)) ON fg')");
    insert("last", 50);
    run(&instance, "EXEC('USE f DROP TABLE big')");
    for n in 0.. {
        assert!(n < 400, "the file stays at {} pages", size());
        run(&instance, "DBCC SHRINKDATABASE (f, 30) WITH NO_INFOMSGS");
        if size() < 384 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(say(&instance, "SELECT COUNT(*), SUM(id) FROM f..last"), "50|1225");
    assert_eq!(say(&instance, state), rows);
    clean(&instance);
}

#[test]
fn other_sessions_work_on() {
    let disk = SimDisk::new(54);
    let instance = filled(&disk, 400);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for who in 0..3 {
            let (instance, stop) = (&instance, &stop);
            scope.spawn(move || {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    let id = 1_000 + 100_000 * who + n;
                    run(
                        instance,
                        &format!(
                            "SET NOCOUNT ON; BEGIN TRAN
                             INSERT f..tree VALUES ({id}, REPLICATE('n', {}));
                             INSERT f..pile VALUES ({id}, {id}, 'n');
                             UPDATE f..tree SET words = words + 'u' WHERE id = {id};
                             COMMIT
                             BEGIN TRAN
                             UPDATE f..tree SET words = REPLICATE('r', 700) WHERE id >= {id} OR id = {};
                             DELETE f..pile WHERE k = {id};
                             ROLLBACK",
                            100 + n % 600,
                            100 * who + n % 100,
                        ),
                    );
                    n += 1;
                }
                let said = say(
                    instance,
                    &format!(
                        "SELECT COUNT(*) FROM f..pile WHERE k BETWEEN {} AND {}",
                        1_000 + 100_000 * who,
                        90_000 + 100_000 * who
                    ),
                );
                assert_eq!(said, n.to_string(), "session {who}");
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let said = say(
                    &instance,
                    "SELECT COUNT(*), SUM(id) FROM f..tree WHERE id < 1000;
                                           SELECT COUNT(*) FROM f..pile WHERE k < 1000",
                );
                assert_eq!(said, "400|79800\n400");
            }
        });
        let done = say(&instance, EMPTY);
        std::thread::sleep(std::time::Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        assert!(!done.contains("Msg"), "{done}");
    });
    run(&instance, REMOVE);
    clean(&instance);
    let counts = say(&instance, "SELECT COUNT(*) FROM f..tree; SELECT COUNT(*) FROM f..pile");
    assert_eq!(counts.lines().next(), counts.lines().last(), "{counts}");
}

#[test]
fn open_transactions_are_waited_for_and_can_be_rolled_back() {
    let disk = SimDisk::new(55);
    let instance = filled(&disk, 500);
    let state = say(&instance, STATE);
    let mut session = instance.session().unwrap();
    session.use_database("f").unwrap();
    let mut mine = |sql: &str| {
        let mut text = Text::default();
        session.execute(sql, &mut text);
        text.out.trim().to_string()
    };
    assert_eq!(
        mine("SET NOCOUNT ON; BEGIN TRAN UPDATE tree SET words = REPLICATE('t', 750); DELETE tree WHERE id % 7 = 0;
             INSERT tree VALUES (7777, 'new'); UPDATE pile SET words = 't'"),
        ""
    );
    // Nodes move under the open transaction; the roots would need the table.
    let limited =
        "SET LOCK_TIMEOUT 50; EXEC('USE f DBCC SHRINKFILE (g1, EMPTYFILE) WITH NO_INFOMSGS')";
    let said = say(&instance, limited);
    assert!(said.contains("Msg 1222"), "{said}");
    assert!(used(&instance, "g2") > 16, "some nodes have moved");
    assert_eq!(mine("SELECT COUNT(*), MAX(LEN(words)) FROM tree"), "429|750");
    assert_eq!(mine("ROLLBACK"), "");
    assert_eq!(say(&instance, STATE), state);
    clean(&instance);
    run(&instance, EMPTY);
    assert_eq!(say(&instance, STATE), state);
    run(&instance, REMOVE);
    clean(&instance);
}

#[test]
fn a_snapshot_sees_what_it_saw() {
    let disk = SimDisk::new(56);
    let instance = open(&disk);
    run(&instance, CREATE);
    run(&instance, "ALTER DATABASE f SET ALLOW_SNAPSHOT_ISOLATION ON");
    run(&instance, "EXEC('USE f CREATE TABLE t (id int PRIMARY KEY, words varchar(900)) ON fg')");
    run(
        &instance,
        "ALTER DATABASE f ADD FILE (NAME = g2, FILENAME = 'g2.ndf', SIZE = 8MB) TO FILEGROUP fg",
    );
    run(
        &instance,
        "SET NOCOUNT ON; DECLARE @i int = 0;
         WHILE @i < 2000 BEGIN INSERT f..t VALUES (@i, REPLICATE('a', 800)); SET @i += 1 END",
    );
    assert!(used(&instance, "g2") > 16);
    let mut session = instance.session().unwrap();
    session.use_database("f").unwrap();
    let mut mine = |sql: &str| {
        let mut text = Text::default();
        session.execute(sql, &mut text);
        text.out.trim().to_string()
    };
    let seen = "SELECT COUNT(*), SUM(id), MIN(words), MAX(LEN(words)) FROM t";
    let before = mine(&format!("SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN {seen}"));
    assert!(before.starts_with("2000|1999000|a"), "{before}");
    run(&instance, "UPDATE f..t SET words = 'b' WHERE id % 3 = 0; DELETE f..t WHERE id % 5 = 0");
    // The root and the first IAM page are in g1: only nodes move.
    run(&instance, "EXEC('USE f DBCC SHRINKFILE (g2, EMPTYFILE) WITH NO_INFOMSGS')");
    run(&instance, "ALTER DATABASE f REMOVE FILE g2");
    assert_eq!(mine(seen), before);
    assert_eq!(mine("COMMIT"), "");
    clean(&instance);
}

/// Power goes at I/Os of EMPTYFILE: every row is there, the database is sound, and it can be done
/// again.
#[test]
fn power_loss_in_emptyfile() {
    let disk = SimDisk::new(57);
    let instance = filled(&disk, 60);
    let state = say(&instance, STATE);
    instance.close().unwrap();
    drop(instance);
    let whole = format!("{EMPTY} {REMOVE}");
    text::power_loss(&disk, open, &whole, 40, |instance, _, at| {
        let there = say(instance, "SELECT COUNT(*) FROM f.sys.database_files WHERE name = 'g1'");
        assert_eq!(say(instance, STATE), state, "I/O {at}: {:#?}", instance.error_log().lines());
        clean(instance);
        if there == "1" {
            run(instance, &whole);
        }
        assert_eq!(say(instance, STATE), state, "I/O {at}, done again");
        run(
            instance,
            "INSERT f..tree VALUES (5000, 'z'); INSERT f..large VALUES (5000, REPLICATE('z', 8000))",
        );
        clean(instance);
    });
}

/// The same at every I/O where little more than a root and a first IAM page moves, with ghosts that
/// are left to clean.
#[test]
fn power_loss_while_heads_move() {
    let disk = SimDisk::new(58);
    let instance = open(&disk);
    run(&instance, CREATE);
    run(&instance, "EXEC('USE f CREATE TABLE t (id int PRIMARY KEY, words char(900)) ON fg')");
    run(
        &instance,
        "SET NOCOUNT ON; DECLARE @i int = 1;
         WHILE @i <= 20 BEGIN INSERT f..t VALUES (@i, 'x'); SET @i += 1 END; DELETE f..t WHERE id <= 8",
    );
    run(&instance, ADD);
    instance.close().unwrap();
    drop(instance);
    text::power_loss(&disk, open, EMPTY, 1 << 20, |instance, _, at| {
        let state = || say(instance, "SELECT COUNT(*), SUM(id) FROM f..t WHERE id < 1000");
        assert_eq!(state(), "12|174", "I/O {at}: {:#?}", instance.error_log().lines());
        run(instance, "DELETE f..t WHERE id = 9; INSERT f..t VALUES (9, 'y'), (1000, 'z')");
        clean(instance);
        run(instance, &format!("{EMPTY} {REMOVE}"));
        assert_eq!(state(), "12|174", "I/O {at}, done again");
        clean(instance);
    });
}
