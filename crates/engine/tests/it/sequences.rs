//! Sequences and synonyms: made, changed, dropped, used; what a rollback, a restart and a power
//! loss leave of them.

use std::sync::Arc;

use crate::support::text::{Bench, fails, power_loss, run, say, try_open};
use engine::Instance;
use sim::SimDisk;

#[test]
fn values_go_on_and_come_once() {
    let mut b = Bench::new();
    b.check("CREATE SEQUENCE s AS int START WITH 5 INCREMENT BY 10", "");
    b.check("SELECT NEXT VALUE FOR s", "5");
    b.check("SELECT NEXT VALUE FOR dbo.s AS a, NEXT VALUE FOR s AS b", "15|15");
    b.check(
        "DECLARE @v bigint = NEXT VALUE FOR t.dbo.s; PRINT @v; SET @v = NEXT VALUE FOR s; PRINT @v",
        "25\n35",
    );
    b.check("BEGIN TRAN; SELECT NEXT VALUE FOR s; ROLLBACK; SELECT NEXT VALUE FOR s", "45\n55");
    b.check("CREATE TABLE a (id int PRIMARY KEY DEFAULT NEXT VALUE FOR s, n int, m int)", "");
    b.check(
        "INSERT a (n) VALUES (1), (2); INSERT a VALUES (NEXT VALUE FOR s, 3, NEXT VALUE FOR s)",
        "(2)\n(1)",
    );
    b.check("SELECT * FROM a", "65|1|NULL\n75|2|NULL\n85|3|85");
    b.check(
        "UPDATE a SET m = NEXT VALUE FOR s WHERE n < 3; SELECT m FROM a ORDER BY id",
        "(2)\n95\n105\n85",
    );
    b.check(
        "INSERT a (n) SELECT n + 10 FROM a; SELECT COUNT(DISTINCT id), MAX(id) FROM a",
        "(3)\n6|135",
    );
    b.check(
        "SELECT n, NEXT VALUE FOR s OVER (ORDER BY n DESC) AS v FROM a WHERE n > 10 ORDER BY n",
        "11|165\n12|155\n13|145",
    );
    b.check("CREATE SEQUENCE d; SELECT NEXT VALUE FOR d", "-9223372036854775808");
    b.check(
        "CREATE SEQUENCE e AS tinyint; SELECT NEXT VALUE FOR e, NEXT VALUE FOR d",
        "0|-9223372036854775807",
    );
    b.check("CREATE SEQUENCE f AS decimal(5) INCREMENT BY -1; SELECT NEXT VALUE FOR f", "99999");
}

#[test]
fn ends_circles_and_restarts() {
    let mut b = Bench::new();
    b.check("CREATE SEQUENCE s AS int START WITH 2 MINVALUE 1 MAXVALUE 3 NO CACHE", "");
    b.check("SELECT NEXT VALUE FOR s; SELECT NEXT VALUE FOR s", "2\n3");
    let full = "Msg 11728: The sequence object 's' has reached its minimum or maximum value. Restart the sequence object to \
                allow new values to be generated.";
    b.check("SELECT NEXT VALUE FOR s", full);
    b.check("SELECT is_exhausted, current_value FROM sys.sequences", "1|3");
    b.check("ALTER SEQUENCE s CYCLE; SELECT NEXT VALUE FOR s", "1");
    b.check(
        "ALTER SEQUENCE s RESTART WITH 3; SELECT NEXT VALUE FOR s; SELECT NEXT VALUE FOR s",
        "3\n1",
    );
    b.check("ALTER SEQUENCE s RESTART; SELECT NEXT VALUE FOR s", "2");
    b.check("BEGIN TRAN; ALTER SEQUENCE s RESTART WITH 1; SELECT NEXT VALUE FOR s; ROLLBACK; SELECT NEXT VALUE FOR s", "1\n3");
    b.check("ALTER SEQUENCE s INCREMENT BY -1; SELECT NEXT VALUE FOR s", "2");
    b.check("BEGIN TRAN; CREATE SEQUENCE x START WITH 1; SELECT NEXT VALUE FOR x; ROLLBACK", "1");
    b.check("CREATE SEQUENCE x START WITH 1; SELECT NEXT VALUE FOR x", "1");
}

#[test]
fn ranges() {
    let mut b = Bench::new();
    b.check("CREATE SEQUENCE s AS int START WITH 1 MAXVALUE 10 MINVALUE 1 CYCLE", "");
    b.check(
        "DECLARE @f sql_variant, @l sql_variant, @c int, @i sql_variant;
         EXEC sp_sequence_get_range 'dbo.s', 4, @f OUTPUT, @l OUTPUT;
         SELECT @f, @l; SELECT NEXT VALUE FOR s;
         EXEC sp_sequence_get_range @sequence_name = N's', @range_size = 7, @range_first_value = @f OUTPUT,
              @range_last_value = @l OUTPUT, @range_cycle_count = @c OUTPUT, @sequence_increment = @i OUTPUT;
         SELECT @f, @l, @c, @i; SELECT NEXT VALUE FOR s",
        "1|4\n5\n6|2|1|1\n3",
    );
    b.check("ALTER SEQUENCE s NO CYCLE", "");
    let i = b.instance.clone();
    fails(
        &i,
        "USE t; DECLARE @f sql_variant; EXEC sp_sequence_get_range 's', 70, @f OUTPUT",
        &[11732],
    );
    fails(
        &i,
        "USE t; DECLARE @f sql_variant; EXEC sp_sequence_get_range 'nothing', 70, @f OUTPUT",
        &[208],
    );
}

#[test]
fn what_no_sequence_can_be_and_where_none_can_stand() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (n int); CREATE SEQUENCE s", "");
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32| fails(&i, &format!("USE t; {sql}"), &[number]);
    refused("CREATE SEQUENCE x INCREMENT BY 0", 11700);
    refused("CREATE SEQUENCE x AS tinyint INCREMENT BY 256", 11701);
    refused("CREATE SEQUENCE x AS varchar(5)", 11702);
    refused("CREATE SEQUENCE x START WITH 1 MINVALUE 2", 11703);
    refused("CREATE SEQUENCE x MINVALUE 5 MAXVALUE 5", 11705);
    refused("CREATE SEQUENCE x CACHE 0", 11706);
    refused("CREATE SEQUENCE a", 2714);
    refused("CREATE SEQUENCE s", 2714);
    refused("CREATE TABLE s (n int)", 2714);
    refused("EXEC ('CREATE VIEW s AS SELECT 1 AS x')", 2714);
    refused("SELECT NEXT VALUE FOR nothing", 208);
    refused("SELECT NEXT VALUE FOR a", 11726);
    refused("SELECT n FROM a WHERE n = NEXT VALUE FOR s", 11720);
    refused("SELECT (SELECT NEXT VALUE FOR s)", 11719);
    refused("SELECT * FROM (SELECT NEXT VALUE FOR s AS x) AS q", 11719);
    refused("EXEC ('CREATE VIEW v AS SELECT NEXT VALUE FOR s AS x')", 11719);
    refused("SELECT SUM(NEXT VALUE FOR s) FROM a", 11725);
    refused("SELECT NEXT VALUE FOR s OVER () FROM a", 11718);
    refused("SELECT DISTINCT NEXT VALUE FOR s FROM a", 11721);
    refused("SELECT NEXT VALUE FOR s UNION ALL SELECT NEXT VALUE FOR s", 11721);
    refused("INSERT a SELECT 1 EXCEPT SELECT NEXT VALUE FOR s", 11721);
    refused("SELECT NEXT VALUE FOR s, n FROM a ORDER BY n", 11723);
    refused("DROP SEQUENCE nothing", 3701);
    refused("DROP SYNONYM s", 3701);
    b.check(
        "DROP SEQUENCE IF EXISTS nothing; CREATE TABLE d (n int CONSTRAINT df DEFAULT (NEXT VALUE FOR s))",
        "",
    );
    refused("DROP SEQUENCE s", 3729);
    b.check("DROP TABLE d; DROP SEQUENCE s", "");
}

#[test]
fn sequences_and_synonyms_in_the_catalog_also_after_a_restart() {
    let mut b = Bench::new();
    b.check("CREATE SCHEMA x", "");
    b.check(
        "CREATE SEQUENCE x.s AS smallint START WITH 7 INCREMENT BY 3 MAXVALUE 100 CYCLE CACHE 10",
        "",
    );
    b.check("CREATE TABLE a (n int); INSERT a VALUES (42); CREATE SYNONYM y FOR dbo.a", "(1)");
    b.check("SELECT NEXT VALUE FOR x.s", "7");
    for i in 0..2 {
        b.check(
            "SELECT name, type, start_value, increment, minimum_value, maximum_value, is_cycling, is_cached, cache_size,
                    TYPE_NAME(user_type_id), current_value, last_used_value FROM sys.sequences",
            &format!("s|SO|7|3|-32768|100|1|1|10|smallint|{0}|{0}", 7 + 3 * i),
        );
        b.check("SELECT name, base_object_name FROM sys.synonyms", "y|[dbo].[a]");
        b.check(
            "SELECT name, type_desc FROM sys.objects WHERE type IN ('SO', 'SN') ORDER BY name",
            "s|SEQUENCE_OBJECT\ny|SYNONYM",
        );
        b.check(
            "SELECT SEQUENCE_NAME, DATA_TYPE, CYCLE_OPTION FROM INFORMATION_SCHEMA.SEQUENCES",
            "s|smallint|1",
        );
        b.check(
            "SELECT OBJECT_NAME(OBJECT_ID('x.s', 'SO')), OBJECT_NAME(OBJECT_ID('y', 'SN'))",
            "s|y",
        );
        // A clean stop leaves no gap.
        b.check("SELECT NEXT VALUE FOR x.s, n FROM y", &format!("{}|42", 10 + 3 * i));
        b = b.restart();
    }
}

#[test]
fn synonyms_stand_for_objects_of_every_kind() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int PRIMARY KEY, n int); INSERT a VALUES (1, 10), (2, 20)", "(2)");
    b.check("CREATE VIEW v AS SELECT id FROM a", "");
    b.check("CREATE PROCEDURE p @x int AS SELECT @x + 1", "");
    b.check("CREATE FUNCTION f (@x int) RETURNS int AS BEGIN RETURN @x * 2 END", "");
    b.check("CREATE FUNCTION g (@x int) RETURNS TABLE AS RETURN SELECT n FROM a WHERE id = @x", "");
    b.check(
        "CREATE SYNONYM sa FOR a; CREATE SYNONYM sv FOR t.dbo.v; CREATE SYNONYM sp FOR dbo.p; CREATE SYNONYM sf FOR f;
         CREATE SYNONYM sg FOR g; CREATE SYNONYM later FOR dbo.b; CREATE SYNONYM two FOR sa",
        "",
    );
    b.check("SELECT sa.n, x.id FROM sa JOIN sv AS x ON x.id = sa.id ORDER BY sa.n", "10|1\n20|2");
    b.check("EXEC sp 4", "5");
    b.check("SELECT dbo.sf(21), n FROM sg(2)", "42|20");
    b.check(
        "INSERT sa VALUES (3, 30); UPDATE sa SET n += 1 WHERE id = 3; DELETE FROM sa WHERE id = 1",
        "(1)\n(1)\n(1)",
    );
    b.check("SELECT id, n FROM a ORDER BY id", "2|20\n3|31");
    b.check("SELECT * FROM later", "Msg 5313: Synonym 'later' refers to an invalid object.");
    b.check("SELECT * FROM two", "Msg 5313: Synonym 'two' refers to an invalid object.");
    b.check("CREATE TABLE b (z int); INSERT later VALUES (5); SELECT z FROM later", "(1)\n5");
    b.check("DROP SYNONYM sa; DROP SYNONYM IF EXISTS sa", "");
    b.check("SELECT * FROM sa", "Msg 208: Invalid object name 'sa'.");
    let i = b.instance.clone();
    fails(&i, "USE t; CREATE SYNONYM later FOR a", &[2714]);
    fails(&i, "USE t; DROP TABLE sv", &[3701]);
    fails(&i, "USE t; CREATE SYNONYM d.s.x FOR a", &[166]);
}

#[test]
fn rights_to_sequences() {
    let mut b = Bench::new();
    b.check("CREATE SEQUENCE s START WITH 1; CREATE USER u WITHOUT LOGIN", "");
    let i = b.instance.clone();
    fails(&i, "USE t; EXECUTE AS USER = 'u'; SELECT NEXT VALUE FOR s", &[229]);
    b.check("GRANT UPDATE ON s TO u", "");
    b.check("EXECUTE AS USER = 'u'; SELECT NEXT VALUE FOR s; REVERT", "1");
}

/// Values that a batch has shown.
fn numbers(said: &str) -> Vec<i64> {
    said.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

#[test]
fn no_value_comes_again_after_a_power_loss() {
    const MEMORY: u64 = 4 << 20;
    let open = |disk: &SimDisk| -> Arc<Instance> { try_open(disk, MEMORY).expect("it opens") };
    for cache in ["NO CACHE", "CACHE 3", "CACHE"] {
        let disk = SimDisk::new(11);
        let instance = open(&disk);
        run(&instance, "CREATE DATABASE d");
        run(
            &instance,
            &format!(
                "USE d; CREATE SEQUENCE s START WITH 1 {cache}; CREATE SEQUENCE r AS int START WITH 1 {cache}"
            ),
        );
        drop(instance);
        let sql = "USE d; DECLARE @i int = 0; WHILE @i < 8 BEGIN SELECT NEXT VALUE FOR s; SET @i += 1 END;
                   ALTER SEQUENCE r RESTART WITH 100; SELECT -(NEXT VALUE FOR r)";
        for at in 0..40 {
            let disk = disk.crash(at);
            let instance = open(&disk);
            let before = numbers(&say(&instance, "USE d; SELECT NEXT VALUE FOR s"));
            disk.crash_at(disk.io_count() + at);
            let shown = numbers(&say(&instance, sql));
            drop(instance);
            let disk = disk.crash(at + 1000);
            let instance = open(&disk);
            let after = numbers(&say(&instance, "USE d; SELECT NEXT VALUE FOR s"));
            let last =
                before.iter().chain(shown.iter().filter(|n| **n > 0)).max().copied().unwrap_or(0);
            assert!(
                after.len() == 1 && after[0] > last,
                "{cache} at {at}: {before:?} {shown:?} {after:?}"
            );
            let restarted = numbers(&say(&instance, "USE d; SELECT NEXT VALUE FOR r"));
            // Once a value of the restarted sequence was shown, it goes on after that one.
            let floor = if shown.contains(&-100) { 101 } else { 1 };
            assert!(
                restarted.len() == 1 && restarted[0] >= floor,
                "{cache} at {at}: {shown:?} {restarted:?}"
            );
            assert_eq!(say(&instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "");
        }
    }
}

#[test]
fn a_power_loss_among_definitions_leaves_all_or_none() {
    let disk = SimDisk::new(31);
    let open = |disk: &SimDisk| try_open(disk, 64 << 20).expect("it opens");
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    run(&instance, "USE d; CREATE TABLE a (i int); INSERT a VALUES (1); CREATE TABLE b (i int)");
    run(&instance, "USE d; CREATE SYNONYM x FOR a");
    for module in [
        "CREATE FUNCTION dbo.f () RETURNS int AS BEGIN RETURN 1 END",
        "CREATE FUNCTION dbo.rows () RETURNS TABLE AS RETURN (SELECT i FROM dbo.a)",
        "CREATE VIEW v AS SELECT i FROM dbo.a",
    ] {
        run(&instance, &format!("USE d; EXEC ('{module}')"));
    }
    instance.close().expect("it closes");
    drop(instance);
    let changes = "USE d; BEGIN TRAN
        DROP SYNONYM x; CREATE SYNONYM x FOR b; CREATE SEQUENCE q AS int
        EXEC ('ALTER FUNCTION dbo.f () RETURNS int AS BEGIN RETURN 2 END')
        EXEC ('DROP FUNCTION dbo.rows')
        EXEC ('CREATE TRIGGER t ON v INSTEAD OF INSERT AS INSERT dbo.b SELECT i FROM inserted')
        COMMIT";
    let (mut before, mut after) = (0, 0);
    power_loss(&disk, open, changes, 30, |instance, _, at| {
        let left = say(
            instance,
            "USE d; SELECT CONCAT((SELECT COUNT(*) FROM x), dbo.f(), ISNULL(OBJECT_ID('rows') - OBJECT_ID('rows') + 1, 0),
                 (SELECT COUNT(*) FROM sys.sequences), (SELECT COUNT(*) FROM sys.triggers))",
        );
        let left = left.lines().last().unwrap_or_default();
        if left == "11100" {
            before += 1;
            run(
                instance,
                "USE d; IF (SELECT SUM(i) FROM dbo.rows()) <> 1 RAISERROR('rows', 16, 1); INSERT v VALUES (2)",
            );
        } else {
            assert_eq!(left, "02011", "power lost at I/O {at}");
            after += 1;
            let put = "USE d; INSERT v VALUES (NEXT VALUE FOR q); IF (SELECT COUNT(*) FROM x) <> 1 RAISERROR('x', 16, 1)";
            run(instance, put);
        }
        assert_eq!(
            say(instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"),
            "",
            "power lost at I/O {at}"
        );
    });
    assert!(before > 0 && after > 0, "{before} before, {after} after");
}
