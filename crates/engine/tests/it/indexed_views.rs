//! Indexed views: which views can keep their rows, that they keep them on every way in which rows
//! of their tables change, what reads them; other indexes, definitions, catalog views; sessions
//! side by side; power loss.

use crate::support::text::{self, Bench, power_loss, say, try_open};
use sim::SimDisk;

const TABLES: &str = "CREATE TABLE cust (id int PRIMARY KEY, name varchar(20) NOT NULL, town varchar(20) NULL)
    CREATE TABLE ord (id int PRIMARY KEY, cid int NOT NULL, n int NOT NULL, price decimal(9, 2) NOT NULL, note varchar(20) NULL)
    INSERT cust VALUES (1, 'Ann', 'Burley'), (2, 'Bob', NULL), (3, 'Cyd', 'Poulner')
    INSERT ord VALUES (10, 1, 2, 5, 'x'), (11, 1, 3, 1, NULL), (12, 2, 1, 7, 'y')";
const JOINED: &str = "CREATE VIEW dbo.joined WITH SCHEMABINDING AS
    SELECT o.id, c.name, c.town, o.n * o.price AS total FROM dbo.ord AS o JOIN dbo.cust AS c ON c.id = o.cid WHERE o.n > 1";
const TOWNS: &str = "CREATE VIEW dbo.towns WITH SCHEMABINDING AS
    SELECT c.town, COUNT_BIG(*) AS orders, SUM(o.n) AS pieces, SUM(o.n * o.price) AS total
    FROM dbo.ord AS o, dbo.cust AS c WHERE c.id = o.cid GROUP BY c.town";

/// The rows that a view keeps are those that its query gives.
#[track_caller]
fn is_kept(b: &mut Bench, view: &str) {
    let differs = format!(
        "SELECT COUNT(*) FROM ((SELECT * FROM {view} EXCEPT SELECT * FROM {view} WITH (NOEXPAND)) UNION ALL
         (SELECT * FROM {view} WITH (NOEXPAND) EXCEPT SELECT * FROM {view})) AS d"
    );
    b.check(&differs, "0");
    let counts = format!(
        "SELECT (SELECT COUNT(*) FROM {view}) - (SELECT COUNT(*) FROM {view} WITH (NOEXPAND))"
    );
    b.check(&counts, "0");
}

#[track_caller]
fn all_kept(b: &mut Bench) {
    is_kept(b, "joined");
    is_kept(b, "towns");
}

fn bench() -> Bench {
    let mut b = Bench::new();
    for sql in [TABLES, JOINED, TOWNS] {
        assert!(!b.run(sql).contains("Msg"), "{sql}");
    }
    b.check("CREATE UNIQUE CLUSTERED INDEX cj ON joined (id)", "");
    b.check("CREATE UNIQUE CLUSTERED INDEX ct ON towns (town)", "");
    b
}

#[test]
fn rows_are_kept_on_every_way_of_changing_them() {
    let mut b = bench();
    b.check(
        "SELECT * FROM joined WITH (NOEXPAND) ORDER BY id",
        "10|Ann|Burley|10.00\n11|Ann|Burley|3.00",
    );
    b.check("SELECT * FROM towns WITH (NOEXPAND) ORDER BY town", "NULL|1|1|7.00\nBurley|2|5|13.00");
    all_kept(&mut b);
    for sql in [
        "INSERT ord VALUES (13, 3, 4, 2, NULL), (14, 1, 1, 1, NULL), (15, 9, 5, 5, NULL)",
        "UPDATE ord SET n = n + 1",
        "UPDATE ord SET price = 2 WHERE id = 10",
        "UPDATE ord SET cid = 3 WHERE id = 11",
        "UPDATE ord SET note = 'z'",
        "UPDATE cust SET town = 'Picket' WHERE id = 1",
        "UPDATE cust SET town = NULL WHERE id = 3",
        "UPDATE cust SET name = name + '!'",
        "UPDATE ord SET id = id + 100",
        "INSERT cust VALUES (9, 'Zoe', 'Burley')",
        "DELETE cust WHERE id = 2",
        "MERGE ord USING (VALUES (110, 7), (113, NULL), (500, 1)) AS s (id, n) ON s.id = ord.id
         WHEN MATCHED AND s.n IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n
         WHEN NOT MATCHED THEN INSERT (id, cid, n, price) VALUES (s.id, 9, s.n, 3);",
        "WITH q AS (SELECT TOP (2) n FROM ord ORDER BY id) UPDATE q SET n *= 2",
        "INSERT ord SELECT value, value % 4, value % 7, value, NULL FROM GENERATE_SERIES(1000, 1500)",
        "UPDATE ord SET n = 0 WHERE id % 5 = 0",
        "DELETE ord WHERE id % 3 = 0",
        "BEGIN TRAN DELETE ord ROLLBACK",
        "DELETE TOP (10) FROM ord",
        "DELETE ord",
        "INSERT ord VALUES (1, 1, 2, 3, NULL)",
    ] {
        let said = b.run(sql);
        assert!(!said.contains("Msg"), "{sql}: {said}");
        all_kept(&mut b);
    }
    // A statement that fails leaves nothing.
    b.fails("INSERT ord VALUES (2, 1, 2, 3, NULL), (1, 1, 1, 1, NULL)", 2627);
    all_kept(&mut b);
    // A change by a cascade, and by a trigger.
    b.check(
        "ALTER TABLE ord WITH NOCHECK ADD CONSTRAINT fk FOREIGN KEY (cid) REFERENCES cust ON DELETE CASCADE",
        "",
    );
    b.check("DELETE cust WHERE id = 1", "(1)");
    b.check("SELECT COUNT(*) FROM ord", "0");
    all_kept(&mut b);
    b.check("CREATE TRIGGER tr ON cust FOR INSERT AS INSERT ord SELECT id, id, 5, 5, NULL FROM inserted", "");
    b.check("INSERT cust VALUES (20, 'Tim', 'Burley')", "(1)\n(1)");
    b.check("SELECT name, total FROM joined WITH (NOEXPAND)", "Tim|25.00");
    all_kept(&mut b);
    let said = b.run("DBCC CHECKDB");
    assert!(said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"), "{said}");
}

#[test]
fn columns_are_named_by_their_tables_with_schemas() {
    let mut b = Bench::new();
    b.run(TABLES);
    b.check(
        "CREATE VIEW dbo.named WITH SCHEMABINDING AS SELECT dbo.ord.id, dbo.ord.note, ord.price FROM dbo.ord WHERE dbo.ord.id > 0",
        "",
    );
    b.check("CREATE UNIQUE CLUSTERED INDEX c ON named (id)", "");
    b.check("INSERT ord VALUES (40, 1, 1, 1, 'x')", "(1)");
    b.check("UPDATE dbo.ord SET note = 'y' WHERE dbo.ord.id = 40", "(1)");
    b.check("SELECT note FROM named WITH (NOEXPAND) WHERE id = 40", "y");
    is_kept(&mut b, "named");
    // The names by which the engine puts changed rows there are nobody else's.
    b.check("SELECT * FROM [$deleted]", "Msg 208: Invalid object name '$deleted'.");
}

#[test]
fn a_key_holds_among_the_rows_of_a_view() {
    let mut b = Bench::new();
    b.run(TABLES);
    b.check(
        "CREATE VIEW dbo.noted WITH SCHEMABINDING AS SELECT note, id FROM dbo.ord WHERE note IS NOT NULL",
        "",
    );
    b.check("CREATE UNIQUE CLUSTERED INDEX c ON noted (note)", "");
    b.check("INSERT ord VALUES (30, 1, 1, 1, NULL), (31, 1, 1, 1, NULL)", "(2)");
    b.check(
        "INSERT ord VALUES (32, 1, 1, 1, 'x')",
        "Msg 2601: Cannot insert duplicate key row in object 'dbo.noted' with unique index 'c'. The duplicate key value is (x).",
    );
    b.check("SELECT COUNT(*) FROM ord WHERE id = 32", "0");
    is_kept(&mut b, "noted");
    b.check("DROP INDEX c ON noted", "");
    b.check("INSERT ord VALUES (32, 1, 1, 1, 'x')", "(1)");
    b.check(
        "CREATE UNIQUE CLUSTERED INDEX c ON noted (note)",
        "Msg 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.noted' \
         and the index name 'c'. The duplicate key value is (x).",
    );
    b.check("SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('noted')", "0");
    b.check(
        "SELECT * FROM noted WITH (NOEXPAND)",
        "Msg 8171: Hint 'noexpand' on object 'noted' is invalid.",
    );
}

#[test]
fn other_indexes_and_definitions() {
    let mut b = bench();
    b.check("CREATE INDEX by_name ON joined (name) INCLUDE (total)", "");
    b.check("CREATE INDEX by_total ON towns (total DESC)", "");
    b.check(
        "SELECT total FROM joined WITH (NOEXPAND, INDEX (by_name)) WHERE name = 'Ann' ORDER BY total",
        "3.00\n10.00",
    );
    b.check("UPDATE ord SET price = price + 1", "(3)");
    all_kept(&mut b);
    b.check(
        "SELECT total FROM joined WITH (NOEXPAND, INDEX (by_name)) WHERE name = 'Ann' ORDER BY total",
        "6.00\n12.00",
    );
    b.check("SELECT j.total FROM dbo.joined AS j WITH (NOEXPAND) WHERE j.id = 10", "12.00");
    b.check(
        "SELECT joined.total FROM dbo.joined WITH (NOEXPAND) WHERE dbo.joined.id = 10",
        "12.00",
    );
    b.check("SET SHOWPLAN_TEXT ON", "");
    let plan = b.run("SELECT total FROM joined WITH (NOEXPAND) WHERE id = 10");
    b.run("SET SHOWPLAN_TEXT OFF");
    assert!(
        plan.contains("Clustered Index Seek") && plan.contains("joined") && !plan.contains("cust"),
        "{plan}"
    );
    b.check(
        "SELECT OBJECT_NAME(object_id), name, index_id, type_desc, is_unique FROM sys.indexes WHERE object_id IN (OBJECT_ID('joined'),
         OBJECT_ID('towns')) ORDER BY 1, 3",
        "joined|cj|1|CLUSTERED|1\njoined|by_name|2|NONCLUSTERED|0\ntowns|ct|1|CLUSTERED|1\ntowns|by_total|2|NONCLUSTERED|0",
    );
    b.check(
        "SELECT COL_NAME(object_id, column_id), key_ordinal, is_included_column FROM sys.index_columns WHERE object_id =
         OBJECT_ID('joined') AND index_id = 2",
        "name|1|0\ntotal|0|1",
    );
    b.check(
        "SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('towns') AND index_id = 1",
        "2",
    );
    b.check("SELECT name FROM sys.tables ORDER BY name", "cust\nord");
    b.check("SELECT COUNT(*) FROM sys.objects WHERE name = 'joined'", "1");
    b.check("SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES", "4");
    b.check("ALTER INDEX ALL ON joined REBUILD", "");
    b.check("ALTER INDEX by_name ON joined REORGANIZE", "");
    all_kept(&mut b);
    // Nobody changes what a view keeps, nor reads it by another name.
    b.fails("UPDATE j SET total = 0 FROM joined AS j WITH (NOEXPAND)", 4406);
    b.fails("SELECT * FROM [$view 5]", 208);
    // The tables stay what they are.
    b.fails("DROP TABLE ord", 3729);
    b.fails("TRUNCATE TABLE ord", 3729);
    b.fails("ALTER TABLE cust DROP COLUMN town", 5074);
    b.check("ALTER TABLE cust ADD extra int NOT NULL DEFAULT 3", "");
    b.check("UPDATE cust SET name = 'Eve', extra = 4 WHERE id = 1", "(1)");
    all_kept(&mut b);
    b.check(
        "EXEC sp_rename 'joined', 'bound'",
        "Caution: Changing any part of an object name could break scripts and stored procedures.",
    );
    b.check("UPDATE ord SET n = 9 WHERE id = 10", "(1)");
    is_kept(&mut b, "bound");
    let mut b = b.restart();
    b.check("UPDATE ord SET n = 8 WHERE id = 10", "(1)");
    is_kept(&mut b, "bound");
    is_kept(&mut b, "towns");
    b.check("DROP INDEX by_name ON bound", "");
    b.check("DROP INDEX ct ON towns", "");
    b.check("SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('towns')", "0");
    b.check("ALTER VIEW bound WITH SCHEMABINDING AS SELECT id FROM dbo.ord", "");
    b.fails("SELECT * FROM bound WITH (NOEXPAND)", 8171);
    b.check("DELETE ord", "(3)");
    b.check("CREATE UNIQUE CLUSTERED INDEX c ON bound (id)", "");
    b.check("DROP VIEW bound, towns", "");
    b.check("DROP TABLE ord", "");
    let said = b.run("DBCC CHECKDB");
    assert!(said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"), "{said}");
}

#[test]
fn rights_are_those_to_the_view() {
    let mut b = bench();
    b.check(
        "CREATE USER reader WITHOUT LOGIN GRANT SELECT ON joined TO reader GRANT INSERT ON ord TO reader",
        "",
    );
    b.check(
        "EXECUTE AS USER = 'reader' SELECT COUNT(*) FROM joined WITH (NOEXPAND) INSERT ord VALUES (99, 1, 5, 5, NULL) REVERT",
        "2\n(1)",
    );
    all_kept(&mut b);
    b.check(
        "EXECUTE AS USER = 'reader' SELECT COUNT(*) FROM towns WITH (NOEXPAND)",
        "Msg 229: The SELECT permission was denied on the object 'towns', database 't', schema 'dbo'.",
    );
}

#[test]
fn only_some_views_can_keep_their_rows() {
    let mut b = Bench::new();
    b.run(TABLES);
    b.run(
        "CREATE FUNCTION dbo.f (@a int) RETURNS int WITH SCHEMABINDING AS BEGIN RETURN @a + 1 END",
    );
    b.run("CREATE VIEW dbo.other WITH SCHEMABINDING AS SELECT id FROM dbo.ord");
    let o = "dbo.ord";
    let g = "COUNT_BIG(*) AS k";
    for (query, number) in [
        (format!("SELECT DISTINCT cid AS id FROM {o}"), 10100),
        (format!("SELECT TOP (3) id FROM {o}"), 10101),
        (format!("SELECT id FROM {o} TABLESAMPLE (10 PERCENT)"), 10102),
        (format!("SELECT d.id FROM (SELECT id FROM {o}) AS d"), 10109),
        (format!("SELECT a.id FROM {o} AS a OUTER APPLY (SELECT n FROM dbo.cust) AS b"), 10110),
        (format!("SELECT a.id FROM {o} AS a INNER HASH JOIN dbo.cust AS c ON c.id = a.cid"), 10112),
        (format!("SELECT a.id FROM {o} AS a LEFT JOIN dbo.cust AS c ON c.id = a.cid"), 10113),
        (format!("SELECT id FROM {o} UNION ALL SELECT id FROM dbo.cust"), 10116),
        (format!("SELECT cid AS id, {g} FROM {o} GROUP BY ROLLUP (cid)"), 10119),
        (format!("SELECT cid AS id, {g} FROM {o} GROUP BY cid HAVING COUNT_BIG(*) > 1"), 10121),
        (format!("SELECT cid AS id, {g}, MAX(n) AS m FROM {o} GROUP BY cid"), 10125),
        (format!("SELECT cid AS id, {g}, AVG(n) AS m FROM {o} GROUP BY cid"), 10125),
        (format!("SELECT cid AS id, {g}, SUM(DISTINCT n) AS m FROM {o} GROUP BY cid"), 10126),
        (format!("SELECT id FROM {o} WHERE EXISTS (SELECT 1 FROM dbo.cust)"), 10127),
        (format!("SELECT cid AS id, COUNT(*) AS k FROM {o} GROUP BY cid"), 10136),
        (format!("WITH c AS (SELECT id FROM {o}) SELECT id FROM c"), 10137),
        (format!("SELECT cid AS id, SUM(n) AS m FROM {o} GROUP BY cid"), 10138),
        (format!("SELECT cid AS id FROM {o} GROUP BY cid"), 10138),
        (format!("SELECT id FROM {o} WITH (NOLOCK)"), 10140),
        (format!("SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r FROM {o}"), 10143),
        (format!("SELECT a.id FROM {o} AS a JOIN {o} AS b ON a.id = b.cid"), 1947),
        ("SELECT id FROM dbo.other".into(), 1937),
        (format!("SELECT id, GETDATE() AS d FROM {o}"), 1949),
        (format!("SELECT id FROM {o} WHERE note > NEWID()"), 1949),
        (format!("SELECT id, dbo.f(n) AS d FROM {o}"), 10150),
        (format!("SELECT cid AS id, {g}, SUM(LEN(note)) AS m FROM {o} GROUP BY cid"), 8662),
        (format!("SELECT {g}, SUM(n) AS id FROM {o} GROUP BY cid"), 8660),
        (format!("SELECT cid + 1 AS id, {g} FROM {o} GROUP BY cid"), 8668),
        (format!("SELECT cid, {g}, SUM(n) AS id FROM {o} GROUP BY cid"), 8661),
        (format!("SELECT CAST(id AS float) AS id FROM {o}"), 1901),
        (format!("SELECT id, CAST(note AS varchar(max)) AS m FROM {o}"), 1942),
    ] {
        b.run("DROP VIEW IF EXISTS dbo.v");
        let said = b.run(&format!("CREATE VIEW dbo.v WITH SCHEMABINDING AS {query}"));
        assert!(!said.contains("Msg"), "{query}: {said}");
        let said = b.run("CREATE UNIQUE CLUSTERED INDEX i ON dbo.v (id)");
        assert!(said.starts_with(&format!("Msg {number}:")), "{query}\n{said}");
    }
    b.run("DROP VIEW dbo.v");
    b.check("CREATE VIEW dbo.v AS SELECT id FROM dbo.ord", "");
    b.fails("CREATE UNIQUE CLUSTERED INDEX i ON dbo.v (id)", 1939);
    b.check("ALTER VIEW dbo.v WITH SCHEMABINDING AS SELECT id, n FROM dbo.ord", "");
    b.fails("CREATE UNIQUE INDEX i ON dbo.v (id)", 1940);
    b.fails("CREATE CLUSTERED INDEX i ON dbo.v (id)", 1941);
    b.fails("CREATE UNIQUE CLUSTERED INDEX i ON dbo.v (id) WITH (IGNORE_DUP_KEY = ON)", 1990);
    b.fails("CREATE UNIQUE CLUSTERED INDEX i ON dbo.v (nope)", 1911);
    b.fails("SET QUOTED_IDENTIFIER OFF CREATE UNIQUE CLUSTERED INDEX i ON dbo.v (id)", 1934);
    b.run("SET QUOTED_IDENTIFIER ON");
    b.check("CREATE UNIQUE CLUSTERED INDEX i ON dbo.v (id)", "");
    b.fails("CREATE UNIQUE CLUSTERED INDEX j ON dbo.v (n)", 1902);
    b.fails("CREATE INDEX j ON dbo.v (n) WHERE n > 1", 10610);
    b.fails("CREATE INDEX i ON dbo.v (n)", 1913);
    b.fails("DROP INDEX nope ON dbo.v", 3701);
    // Whoever changes its tables has the options on.
    b.fails("SET ANSI_WARNINGS OFF DELETE ord", 1934);
    b.run("SET ANSI_WARNINGS ON");
    b.check("DELETE ord WHERE id = 10", "(1)");
    is_kept(&mut b, "v");
}

#[test]
fn sessions_that_change_one_group_come_one_after_the_other() {
    let mut b = bench();
    let instance = b.instance.clone();
    let worker = |from: i32| {
        let instance = instance.clone();
        std::thread::spawn(move || {
            let mut session = instance.session().unwrap();
            session.use_database("t").unwrap();
            let mut done = 0;
            for i in 0..60 {
                let id = from + i;
                // A deadlock's victim tries again.
                for sql in [
                    format!("INSERT ord VALUES ({id}, {}, 2, 3, NULL)", 1 + i % 3),
                    format!("UPDATE cust SET town = 'T{}' WHERE id = {}", i % 4, 1 + i % 3),
                    format!("DELETE ord WHERE id = {}", id - 3),
                ] {
                    loop {
                        let mut out = text::Text::default();
                        session.execute(&sql, &mut out);
                        if !out.out.contains("Msg 1205") {
                            assert!(!out.out.contains("Msg"), "{sql}: {}", out.out);
                            break;
                        }
                    }
                    done += 1;
                }
            }
            done
        })
    };
    let workers: Vec<_> = [1000, 2000, 3000].into_iter().map(worker).collect();
    for worker in workers {
        assert_eq!(worker.join().unwrap(), 180);
    }
    all_kept(&mut b);
}

/// A view's rows change in the transaction of its tables' rows: after a power loss they are what
/// its query gives.
#[test]
fn after_a_power_loss_a_view_keeps_what_its_query_gives() {
    let open = |disk: &SimDisk| try_open(disk, 16 << 20).unwrap();
    let disk = SimDisk::new(5);
    let instance = open(&disk);
    text::run(&instance, "CREATE DATABASE d");
    text::run(&instance, &format!("USE d {TABLES}"));
    text::run(&instance, &format!("USE d EXEC ('{}')", JOINED.replace('\'', "''")));
    text::run(&instance, &format!("USE d EXEC ('{TOWNS}')"));
    text::run(&instance, "USE d CREATE UNIQUE CLUSTERED INDEX cj ON joined (id)");
    instance.close().unwrap();
    drop(instance);
    let work = "USE d
        INSERT ord SELECT value, value % 3 + 1, value % 5, 2, NULL FROM GENERATE_SERIES(100, 400)
        CREATE UNIQUE CLUSTERED INDEX ct ON towns (town)
        UPDATE cust SET town = 'Burley'
        UPDATE ord SET n = n + 1 WHERE id % 2 = 0
        DELETE ord WHERE id % 3 = 0
        DROP INDEX cj ON joined
        CREATE UNIQUE CLUSTERED INDEX cj ON joined (id)
        UPDATE ord SET price = 9 WHERE id % 7 = 0";
    power_loss(&disk, open, work, 12, |instance, _, at| {
        for view in ["joined", "towns"] {
            let kept = say(
                instance,
                &format!(
                    "SELECT COUNT(*) FROM d.sys.indexes WHERE object_id = OBJECT_ID('d.dbo.{view}')"
                ),
            );
            if kept == "0" {
                continue;
            }
            let view = format!("d.dbo.{view}");
            let differs = format!(
                "SELECT COUNT(*) FROM ((SELECT * FROM {view} EXCEPT SELECT * FROM {view} WITH (NOEXPAND)) UNION ALL
                 (SELECT * FROM {view} WITH (NOEXPAND) EXCEPT SELECT * FROM {view})) AS d"
            );
            assert_eq!(say(instance, &differs), "0", "{at} {view}");
        }
        let said = say(instance, "DBCC CHECKDB (d)");
        assert!(
            said.contains("CHECKDB found 0 allocation errors and 0 consistency errors"),
            "{at}: {said}"
        );
    });
}
