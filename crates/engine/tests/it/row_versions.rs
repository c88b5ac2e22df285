//! rowversion: values that only grow, given by the table itself in every change, and what a power
//! loss leaves of the counter.

use std::sync::Arc;

use crate::support::text::{self, Bench, fails, run, say, try_open};
use engine::{DataType, Instance, SqlError};
use sim::SimDisk;

#[test]
fn every_insert_and_update_gives_a_new_value() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int, v rowversion); SELECT @@DBTS",
        "0x00000000000007D0",
    );
    b.check(
        "INSERT a (id, n) VALUES (1, 10), (2, 20); INSERT a VALUES (3, 30, DEFAULT)",
        "(2)\n(1)",
    );
    b.check(
        "SELECT id, v FROM a",
        "1|0x00000000000007D1\n2|0x00000000000007D2\n3|0x00000000000007D3",
    );
    // By key, where nothing but fixed bytes would change, and all rows.
    b.check(
        "UPDATE a SET n = 11 WHERE id = 1; SELECT CAST(v AS bigint) FROM a",
        "(1)\n2004\n2002\n2003",
    );
    b.check("UPDATE a SET n = n; SELECT CAST(v AS bigint) FROM a", "(3)\n2005\n2006\n2007");
    b.check(
        "UPDATE a SET n = 5 WHERE id = 9; DELETE a WHERE id = 2; SELECT CAST(@@DBTS AS int)",
        "(0)\n(1)\n2007",
    );
    b.check("DECLARE @n int; UPDATE a SET @n = n; SELECT CAST(@@DBTS AS int)", "(2)\n2007");
    // A rollback gives nothing back.
    b.check(
        "BEGIN TRAN; UPDATE a SET n = 1 WHERE id = 1; ROLLBACK; SELECT CAST(v AS bigint) FROM a",
        "(1)\n2005\n2007",
    );
    b.check("UPDATE a SET n = 1 WHERE id = 1; SELECT CAST(v AS bigint) FROM a", "(1)\n2009\n2007");
    // One counter for the database, another for each.
    b.check(
        "CREATE TABLE b (timestamp); INSERT b DEFAULT VALUES; SELECT * FROM b",
        "(1)\n0x00000000000007DA",
    );
    b.check("CREATE TABLE #t (n int, v timestamp); INSERT #t (n) VALUES (1); UPDATE #t SET n = 2; SELECT n FROM #t WHERE v < @@DBTS", "(1)\n(1)\n2");
    b.check("DECLARE @t TABLE (n int, v rowversion NOT NULL); INSERT @t (n) VALUES (1), (2); UPDATE @t SET n += 1;
             SELECT COUNT(DISTINCT v), COUNT(*) FROM @t", "(2)\n(2)\n2|2");
}

#[test]
fn through_every_way_of_changing_rows() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int, v rowversion); INSERT a (id, n) VALUES (1, 1), (2, 2)",
        "(2)",
    );
    b.check(
        "MERGE a USING (VALUES (1), (7)) AS s (id) ON s.id = a.id WHEN MATCHED THEN UPDATE SET n = 100
         WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 0) OUTPUT $action, CAST(deleted.v AS int), CAST(inserted.v AS int);",
        "UPDATE|2001|2003\nINSERT|NULL|2004",
    );
    b.check(
        "UPDATE a SET n = 3 OUTPUT inserted.v, deleted.v WHERE id = 2",
        "0x00000000000007D5|0x00000000000007D2",
    );
    b.check(
        "INSERT a (id, n) OUTPUT inserted.v SELECT id + 10, n FROM a WHERE id = 2",
        "0x00000000000007D6",
    );
    b.check(
        "WITH c AS (SELECT n FROM a WHERE id = 7) UPDATE c SET n = 8; SELECT v FROM a WHERE id = 7",
        "(1)\n0x00000000000007D7",
    );
    b.check("DECLARE c CURSOR FOR SELECT n FROM a WHERE id = 1 FOR UPDATE; OPEN c; FETCH c; UPDATE a SET n = 9 WHERE CURRENT OF c;
             DEALLOCATE c; SELECT v FROM a WHERE id = 1", "100\n(1)\n0x00000000000007D8");
    b.check("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON UPDATE CASCADE, v rowversion);
             INSERT p VALUES (1); INSERT c (id, p) VALUES (1, 1); UPDATE p SET id = 2; SELECT p, v FROM c", "(1)\n(1)\n(1)\n2|0x00000000000007DA");
    b.check("CREATE TABLE log (old varbinary(8), new varbinary(8))", "");
    b.check("CREATE TRIGGER t ON c AFTER UPDATE AS INSERT log SELECT d.v, i.v FROM inserted i JOIN deleted d ON d.id = i.id", "");
    b.check(
        "UPDATE c SET p = 2; SELECT * FROM log",
        "(1)\n(1)\n0x00000000000007DA|0x00000000000007DB",
    );
    b.check("CREATE VIEW w AS SELECT id, v FROM a", "");
    b.check(
        "CREATE TRIGGER wt ON w INSTEAD OF INSERT AS INSERT a (id) SELECT id FROM inserted",
        "",
    );
    b.check(
        "INSERT w (id) VALUES (50); SELECT v FROM a WHERE id = 50",
        "(1)\n(1)\n0x00000000000007DC",
    );
    // Copies keep the values.
    b.check(
        "SELECT id, v INTO k FROM a WHERE id < 3; SELECT k.id FROM k JOIN a ON a.v = k.v ORDER BY 1",
        "(2)\n1\n2",
    );
    b.check("SELECT TYPE_NAME(system_type_id), max_length, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('k') AND name = 'v'", "timestamp|8|0");
    b.check(
        "UPDATE k SET id = 0 WHERE id = 1; SELECT v FROM k WHERE id = 0",
        "(1)\n0x00000000000007DD",
    );
    b.check("INSERT k (id) SELECT id FROM k; SELECT COUNT(DISTINCT v) FROM k", "(2)\n4");
}

#[test]
fn in_indexes_comparisons_and_conversions() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int PRIMARY KEY, v rowversion, INDEX iv (v)); INSERT a (id) SELECT value FROM GENERATE_SERIES(1, 300)", "(300)");
    b.check(
        "DECLARE @v rowversion = (SELECT v FROM a WHERE id = 298); SELECT id FROM a WHERE v > @v",
        "299\n300",
    );
    b.check(
        "UPDATE a SET id = 500 WHERE id = 7; SELECT id FROM a WHERE v = (SELECT MAX(v) FROM a)",
        "(1)\n500",
    );
    b.check(
        "SELECT id FROM a WITH (INDEX(iv)) WHERE v BETWEEN 0x00000000000007D1 AND CAST(2002 AS rowversion)",
        "1\n2",
    );
    b.check("SELECT COUNT(*) FROM a WHERE v > CAST(2200 AS bigint)", "101");
    b.check(
        "SELECT CAST(1 AS timestamp), CAST(0x0102 AS rowversion), CAST(CAST(258 AS rowversion) AS int)",
        "0x0000000000000001|0x0102000000000000|258",
    );
    b.check("SELECT CONVERT(varchar(20), CAST(1 AS rowversion), 1), DATALENGTH(@@DBTS), ISNULL(CAST(NULL AS rowversion), 0x01)", "0x0000000000000001|8|0x0100000000000000");
    b.check("CREATE TABLE h (v rowversion NULL, n int); INSERT h (n) VALUES (1), (2); SELECT v FROM h ORDER BY v DESC", "(2)\n0x00000000000008FF\n0x00000000000008FE");
    b.check("CREATE TABLE u (v rowversion PRIMARY KEY, n int); INSERT u (n) VALUES (1), (2), (3); UPDATE u SET n = n + 1; SELECT n FROM u ORDER BY v", "(3)\n(3)\n2\n3\n4");
    b.check("UPDATE u SET n = 9 WHERE n = 2; SELECT n FROM u ORDER BY v", "(1)\n3\n4\n9");
    let i = b.instance.clone();
    fails(&i, "SELECT CAST(N'a' AS rowversion) + CAST(1 AS float)", &[206]);
    fails(&i, "SELECT CAST(@@DBTS AS rowversion) + CAST(NEWID() AS rowversion)", &[529]);
    fails(&i, "SELECT CONVERT(date, CAST(1 AS rowversion))", &[529]);
    fails(&i, "SELECT CONVERT(nvarchar(9), CAST(1 AS rowversion))", &[529]);
}

#[test]
fn what_no_statement_may_do() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int, v rowversion); INSERT a (id) VALUES (1)", "(1)");
    let explicit = "Msg 273: Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the \
                    timestamp column, or insert a DEFAULT into the timestamp column.";
    b.check("INSERT a VALUES (1, 0x01)", explicit);
    b.check("INSERT a SELECT * FROM a", explicit);
    b.check(
        "INSERT a VALUES (1)",
        "Msg 213: Column name or number of supplied values does not match table definition.",
    );
    b.check("MERGE a USING (VALUES (9)) AS s (x) ON a.id = s.x WHEN NOT MATCHED THEN INSERT (id, v) VALUES (1, 0x02);", explicit);
    b.check("UPDATE a SET v = 0x01", "Msg 272: Cannot update a timestamp column.");
    b.check("UPDATE a SET v = DEFAULT", "Msg 272: Cannot update a timestamp column.");
    b.check(
        "CREATE TABLE x (v rowversion, w timestamp)",
        "Msg 2738: A table can only have one timestamp column. Because table 'x' already has one, the column 'w' cannot be added.",
    );
    b.check(
        "ALTER TABLE a ADD w rowversion",
        "Msg 2738: A table can only have one timestamp column. Because table 'a' already has one, the column 'w' cannot be added.",
    );
    b.check(
        "CREATE TABLE x (v rowversion DEFAULT 0x01)",
        "Msg 1755: Defaults cannot be created on columns of data type timestamp. Table 'x', column 'v'.",
    );
    b.check(
        "ALTER TABLE a ALTER COLUMN v binary(8)",
        "Msg 4928: Cannot alter column 'v' because it is 'timestamp'.",
    );
    b.check(
        "ALTER TABLE a ALTER COLUMN id rowversion",
        "Msg 4927: Cannot alter column 'id' to be data type timestamp.",
    );
    b.check(
        "CREATE TABLE x (v rowversion(8))",
        "Msg 2716: Column, parameter, or variable #1: Cannot specify a column width on data type rowversion.",
    );
}

#[test]
fn tables_that_are_altered_and_the_catalog() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int IDENTITY PRIMARY KEY, n int); INSERT a VALUES (5), (6), (7)",
        "(3)",
    );
    b.check(
        "ALTER TABLE a ADD v rowversion; SELECT id, CAST(v AS int) FROM a",
        "1|2001\n2|2002\n3|2003",
    );
    b.check("UPDATE a SET n = 1 WHERE id = 2; ALTER TABLE a ALTER COLUMN n bigint; SELECT id, CAST(v AS int) FROM a", "(1)\n1|2001\n2|2004\n3|2003");
    b.check("ALTER TABLE a ADD w rowversion NULL", "Msg 2738: A table can only have one timestamp column. Because table 'a' already has one, the column 'w' cannot be added.");
    b.check(
        "ALTER TABLE a DROP COLUMN v; ALTER TABLE a ADD w rowversion NULL; SELECT CAST(w AS int) FROM a",
        "2005\n2006\n2007",
    );
    b.check(
        "SELECT name, system_type_id, user_type_id, max_length, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('a') AND name = 'w'",
        "w|189|189|8|1",
    );
    b.check(
        "SELECT name, system_type_id, max_length FROM sys.types WHERE system_type_id = 189",
        "timestamp|189|8",
    );
    b.check(
        "SELECT DATA_TYPE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.COLUMNS WHERE COLUMN_NAME = 'w'",
        "timestamp|NULL",
    );
    b.check("EXEC sp_special_columns 'a', NULL, NULL, 'V'", "NULL|w|-2|timestamp|8|8|NULL|1");
    b.check("SELECT TYPE_NAME(189), TYPE_ID('timestamp'), COL_LENGTH('a', 'w')", "timestamp|189|8");
    b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
}

#[test]
fn the_lowest_value_that_may_still_come() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, v rowversion); SELECT MIN_ACTIVE_ROWVERSION()",
        "0x00000000000007D1",
    );
    let mut other = b.instance.session().unwrap();
    let mut said = text::Text::default();
    other.execute("USE t; BEGIN TRAN; INSERT a (id) VALUES (1), (2)", &mut said);
    b.check(
        "INSERT a (id) VALUES (3); SELECT CAST(@@DBTS AS int), CAST(MIN_ACTIVE_ROWVERSION() AS int)",
        "(1)\n2003|2001",
    );
    other.execute("COMMIT", &mut said);
    b.check("SELECT CAST(@@DBTS AS int), CAST(MIN_ACTIVE_ROWVERSION() AS int)", "2003|2004");
    let mut b = b.restart();
    b.check("INSERT a (id) VALUES (4); SELECT id FROM a WHERE v > 2003", "(1)\n4");
}

#[test]
fn bulk_loads_give_values_too() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int, v rowversion, s varchar(10))", "");
    let mut rows = vec![
        vec![engine::Value::Int(1), engine::Value::str("x")],
        vec![engine::Value::Int(2), engine::Value::Null],
    ];
    let mut source = move |place: &mut [engine::Value]| -> Result<bool, SqlError> {
        match rows.pop() {
            None => Ok(false),
            Some(row) => {
                place.clone_from_slice(&row);
                Ok(true)
            }
        }
    };
    let loaded = b.session.bulk_insert("a", &[], &engine::BulkOptions::default(), &mut source);
    assert_eq!(loaded.unwrap(), 2);
    b.check("SELECT id, CAST(v AS int), s FROM a", "2|2001|NULL\n1|2002|x");
    assert_eq!(DataType::RowVersion.to_string(), "timestamp");
}

/// The numbers that a batch has shown.
fn numbers(said: &str) -> Vec<i64> {
    said.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

#[test]
fn no_value_comes_twice_after_a_power_loss() {
    let open = |disk: &SimDisk| -> Arc<Instance> { try_open(disk, 4 << 20).expect("it opens") };
    let disk = SimDisk::new(23);
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    run(&instance, "USE d; CREATE TABLE a (id int IDENTITY PRIMARY KEY, n int, v rowversion)");
    drop(instance);
    // Values are shown that no commit has made durable, by OUTPUT and by the counter itself.
    let sql = "USE d; DECLARE @i int = 0;
               BEGIN TRAN; INSERT a (n) OUTPUT CAST(inserted.v AS bigint) VALUES (0); UPDATE a SET n += 1 OUTPUT CAST(inserted.v AS bigint); ROLLBACK
               WHILE @i < 6 BEGIN INSERT a (n) VALUES (@i); SELECT CAST(@@DBTS AS bigint); SET @i += 1 END
               INSERT a (n) SELECT value FROM GENERATE_SERIES(1, 5000); SELECT CAST(@@DBTS AS bigint)";
    for at in 0..40 {
        let disk = disk.crash(at);
        let instance = open(&disk);
        let before = numbers(&say(&instance, "USE d; SELECT CAST(@@DBTS AS bigint)"));
        disk.crash_at(disk.io_count() + at);
        let shown = numbers(&say(&instance, sql));
        drop(instance);
        let disk = disk.crash(at + 1000);
        let instance = open(&disk);
        let after = numbers(&say(
            &instance,
            "USE d; SET NOCOUNT ON; INSERT a (n) OUTPUT CAST(inserted.v AS bigint) VALUES (-1)",
        ));
        let last = before.iter().chain(&shown).max().copied().unwrap_or(0);
        assert!(after.len() == 1 && after[0] > last, "at {at}: {before:?} {shown:?} {after:?}");
        let twice = "SELECT COUNT(*) FROM (SELECT v FROM d..a GROUP BY v HAVING COUNT(*) > 1) AS q";
        assert_eq!(say(&instance, twice), "0", "at {at}");
        assert_eq!(say(&instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "at {at}");
    }
}
