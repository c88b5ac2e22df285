//! Identity columns: ALTER TABLE ADD of one, values given by hand, and both after a power failure.

use crate::support::text::{Bench, power_loss, run, say, try_open};
use sim::SimDisk;

#[test]
fn rows_get_numbers() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (k varchar(5) PRIMARY KEY); INSERT t VALUES ('c'), ('a'), ('b')",
        "(3)",
    );
    b.check("ALTER TABLE t ADD id int IDENTITY (10, 5) CONSTRAINT uid UNIQUE", "");
    b.check("SELECT k, id FROM t ORDER BY k", "a|10\nb|15\nc|20");
    b.check("INSERT t (k) VALUES ('d'); INSERT t VALUES ('e'); SELECT id FROM t WHERE k >= 'd'; SELECT SCOPE_IDENTITY(), IDENT_CURRENT('t')", "(1)\n(1)\n25\n30\n30|30");
    b.check("ALTER TABLE t ADD other int IDENTITY", "Msg 2744: Multiple identity columns specified for table 't'. Only one identity column per table is allowed.");
    b.check("CREATE TABLE e (a int); ALTER TABLE e ADD id bigint IDENTITY (-5, -1) PRIMARY KEY; INSERT e VALUES (1), (2); SELECT id FROM e ORDER BY a", "(2)\n-5\n-6");
    b.check("CREATE TABLE h (a int); INSERT h SELECT value FROM GENERATE_SERIES(1, 2000); ALTER TABLE h ADD id smallint IDENTITY; SELECT MIN(id), MAX(id), COUNT(DISTINCT id) FROM h", "(2000)\n1|2000|2000");
    b.check("CREATE TABLE s (a int); INSERT s SELECT value FROM GENERATE_SERIES(1, 300)", "(300)");
    let said = b.run("ALTER TABLE s ADD id tinyint IDENTITY");
    assert!(said.starts_with("Msg 8115") || said.starts_with("Msg 220"), "{said}");
    b.check("SELECT COUNT(*) FROM s; SELECT COL_LENGTH('s', 'id')", "300\nNULL");
    // What is taken back is taken back.
    b.check("BEGIN TRAN; ALTER TABLE s ADD id int IDENTITY; ROLLBACK; ALTER TABLE s ADD id int IDENTITY (7, 1); INSERT s VALUES (0); SELECT id FROM s WHERE a = 0", "(1)\n307");
    let mut b = b.restart();
    b.check("INSERT s VALUES (-1); SELECT id FROM s WHERE a = -1; INSERT t VALUES ('f'); SELECT id FROM t WHERE k = 'f'", "(1)\n308\n(1)\n35");
}

/// Values that are given by hand are noted on disk in blocks, as those that are made: not one by
/// one.
#[test]
fn values_by_hand_are_noted_in_blocks() {
    let mut b = Bench::new();
    b.check("CREATE TABLE n (id int IDENTITY PRIMARY KEY, v int); CREATE TABLE d (id int IDENTITY (-1, -1), v int)", "");
    let commits =
        "SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL) WHERE Operation = 'LOP_COMMIT_XACT'";
    let before: i64 = b.run(commits).trim().parse().expect("a number");
    b.check(
        "SET IDENTITY_INSERT n ON; INSERT n (id, v) SELECT value, 0 FROM GENERATE_SERIES(1, 5000)",
        "(5000)",
    );
    b.check("SET IDENTITY_INSERT n OFF; SET IDENTITY_INSERT d ON; INSERT d (id, v) SELECT -value, 0 FROM GENERATE_SERIES(1, 5000)", "(5000)");
    let after: i64 = b.run(commits).trim().parse().expect("a number");
    assert!(after - before < 40, "{} commits for two statements", after - before);
    b.check("SET IDENTITY_INSERT d OFF; INSERT n (v) VALUES (1); INSERT d (v) VALUES (1); SELECT MAX(id) FROM n; SELECT MIN(id) FROM d", "(1)\n(1)\n5001\n-5001");
    // A value beyond what was made moves the counter, one below does not, and a clean stop keeps
    // it.
    b.check("SET IDENTITY_INSERT n ON; INSERT n (id, v) VALUES (9000, 2); INSERT n (id, v) VALUES (8000, 2); SET IDENTITY_INSERT n OFF; INSERT n (v) VALUES (3); SELECT MAX(id) FROM n", "(1)\n(1)\n(1)\n9001");
    let mut b = b.restart();
    b.check(
        "INSERT n (v) VALUES (4); INSERT d (v) VALUES (4); SELECT MAX(id) FROM n; SELECT MIN(id) FROM d",
        "(1)\n(1)\n9002\n-5002",
    );
}

/// After a power failure a value that is made is above every value of a row that is there, given by
/// hand or made.
#[test]
fn no_value_is_made_twice_after_a_power_loss() {
    let disk = SimDisk::new(23);
    let open = |disk: &SimDisk| try_open(disk, 64 << 20).expect("it opens");
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    run(
        &instance,
        "USE d; CREATE TABLE n (id bigint IDENTITY PRIMARY KEY, v int); INSERT n VALUES (0)",
    );
    drop(instance);
    let sql = "USE d; SET IDENTITY_INSERT n ON; DECLARE @i int = 1;
               WHILE @i < 12 BEGIN INSERT n (id, v) VALUES (@i * 400, 1); SET @i += 1 END;
               BEGIN TRAN; INSERT n (id, v) SELECT 9000 + value, 2 FROM GENERATE_SERIES(1, 1500); COMMIT;
               SET IDENTITY_INSERT n OFF; INSERT n VALUES (3)";
    power_loss(&disk, open, sql, 40, |instance, _, at| {
        let said = say(
            instance,
            "USE d; DECLARE @most bigint = (SELECT MAX(id) FROM n); INSERT n VALUES (4); SELECT IIF(SCOPE_IDENTITY() > @most, 'above', 'twice')",
        );
        assert!(said.contains("above"), "at {at}: {said}");
        assert_eq!(say(instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "at {at}");
    });
}
