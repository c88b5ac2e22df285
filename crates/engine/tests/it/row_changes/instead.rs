//! INSTEAD OF triggers of tables and views.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int IDENTITY PRIMARY KEY, v int NOT NULL DEFAULT 9 CONSTRAINT small CHECK (v < 1000)); CREATE TABLE log (no int IDENTITY, what varchar(30), id int NULL, v int NULL)", "");
    b
}

#[test]
fn of_tables() {
    let mut b = bench();
    b.check("CREATE TRIGGER ii ON t INSTEAD OF INSERT AS SET NOCOUNT ON INSERT log SELECT 'I', id, v FROM inserted", "");
    b.check("INSERT t (v) VALUES (100), (2000); SELECT @@ROWCOUNT; SELECT COUNT(*) FROM t; SELECT what, id, v FROM log ORDER BY v", "(2)\n2\n0\nI|0|100\nI|0|2000");
    b.check("DELETE log; INSERT t DEFAULT VALUES; INSERT t (v) SELECT v FROM t; INSERT t (v) VALUES (NULL); SELECT what, id, v FROM log ORDER BY no", "(2)\n(1)\n(0)\n(1)\nI|0|9\nI|0|NULL");
    // No number was used.
    b.check(
        "DROP TRIGGER ii; INSERT t (v) VALUES (1), (2), (3); SELECT MAX(id) FROM t; DELETE log",
        "(3)\n3\n(2)",
    );
    b.check("CREATE TRIGGER iu ON t INSTEAD OF UPDATE AS SET NOCOUNT ON INSERT log SELECT CASE WHEN UPDATE(v) THEN 'v' END, d.id, i.v - d.v FROM inserted i JOIN deleted d ON d.id = i.id", "");
    b.check("UPDATE t SET v = v + 1000 WHERE id > 1; SELECT @@ROWCOUNT; SELECT SUM(v) FROM t; SELECT what, id, v FROM log ORDER BY no", "(2)\n2\n6\nv|2|1000\nv|3|1000");
    b.check("CREATE TRIGGER idel ON t INSTEAD OF DELETE AS SET NOCOUNT ON INSERT log SELECT 'D', id, v FROM deleted", "");
    b.check("DELETE log; DELETE t WHERE id < 3; DELETE FROM t WHERE v IN (SELECT v FROM t WHERE id = 3); SELECT COUNT(*) FROM t; SELECT what, id FROM log ORDER BY no", "(2)\n(2)\n(1)\n3\nD|1\nD|2\nD|3");
    b.check("SELECT name, is_instead_of_trigger FROM sys.triggers ORDER BY name", "idel|1\niu|1");
    b.check("SELECT OBJECTPROPERTY(OBJECT_ID('t'), 'HasInsteadOfTrigger'), OBJECTPROPERTY(OBJECT_ID('t'), 'HasAfterTrigger')", "1|0");
    b.check("DISABLE TRIGGER idel ON t; DELETE t WHERE id = 1; ENABLE TRIGGER idel ON t; DELETE t; SELECT COUNT(*) FROM t", "(1)\n(2)\n2");
}

#[test]
fn the_body_reaches_the_table() {
    let mut b = bench();
    b.check("CREATE TRIGGER ii ON t INSTEAD OF INSERT AS SET NOCOUNT ON INSERT t (v) SELECT v + 1 FROM inserted WHERE v > 0", "");
    b.check("CREATE TRIGGER ia ON t AFTER INSERT AS SET NOCOUNT ON INSERT log SELECT 'after', id, v FROM inserted", "");
    b.check(
        "INSERT t (v) VALUES (5), (-5); SELECT id, v FROM t; SELECT what, id, v FROM log",
        "(2)\n1|6\nafter|1|6",
    );
    // Constraints hold for what the body does.
    let said = b.run("INSERT t (v) VALUES (999)");
    assert!(said.starts_with("Msg 547"), "{said}");
    b.check("SELECT COUNT(*) FROM t; SELECT @@TRANCOUNT", "1\n0");
    b.check("CREATE TRIGGER iu ON t INSTEAD OF UPDATE AS SET NOCOUNT ON UPDATE t SET v = i.v * 2 FROM t JOIN inserted i ON i.id = t.id; INSERT t (v) VALUES (50)", "");
    b.check("UPDATE t SET v = 7; SELECT v FROM t ORDER BY id", "(1)\n14\n51");
    // Through a procedure it is another change: it goes round, to the end of the nesting.
    b.check("CREATE PROCEDURE add_one AS INSERT t (v) VALUES (1)", "");
    b.check("CREATE TRIGGER idel ON t INSTEAD OF DELETE AS SET NOCOUNT ON DELETE t WHERE id IN (SELECT id FROM deleted) AND v > 20", "");
    b.check("DELETE t; SELECT v FROM t", "(2)\n14");
}

#[test]
fn of_views() {
    let mut b = bench();
    b.check("CREATE TABLE a (id int PRIMARY KEY, n varchar(10)); CREATE TABLE q (id int PRIMARY KEY, aid int, q int); INSERT a VALUES (1, 'one'), (2, 'two'); INSERT q VALUES (10, 1, 5), (11, 1, 6), (12, 2, 7)", "(2)\n(3)");
    b.check(
        "CREATE VIEW jv AS SELECT q.id, a.n, q.q, q.q * 2 AS twice FROM a JOIN q ON a.id = q.aid",
        "",
    );
    b.check("CREATE TRIGGER ji ON jv INSTEAD OF INSERT AS SET NOCOUNT ON INSERT log SELECT CONCAT(n, twice), id, q FROM inserted", "");
    b.check("INSERT jv (id, n, q, twice) VALUES (1, 'x', 2, 3); INSERT jv SELECT id, 'y', NULL, 0 FROM a; SELECT what, id, v FROM log ORDER BY no", "(1)\n(2)\nx3|1|2\ny0|1|NULL\ny0|2|NULL");
    b.check("CREATE TRIGGER ju ON jv INSTEAD OF UPDATE AS SET NOCOUNT ON INSERT log SELECT CONCAT(d.n, '>', i.n, CASE WHEN UPDATE(twice) THEN '!' END), i.id, i.q FROM inserted i JOIN deleted d ON d.id = i.id", "");
    b.check("DELETE log; UPDATE jv SET n = 'z', q += 1 WHERE twice < 14; UPDATE jv SET twice = 1 WHERE id = 12; SELECT what, id, v FROM log ORDER BY no", "(3)\n(2)\n(1)\none>z|10|6\none>z|11|7\ntwo>two!|12|7");
    b.check("CREATE TRIGGER jd ON jv INSTEAD OF DELETE AS SET NOCOUNT ON DELETE q FROM q JOIN deleted d ON d.id = q.id", "");
    b.check("DELETE jv WHERE n = 'one'; DELETE jv WHERE id = 99; SELECT id FROM q", "(2)\n(0)\n12");
    b.check(
        "CREATE VIEW vagg AS SELECT aid AS g, SUM(q) AS s, COUNT(*) AS c FROM q GROUP BY aid",
        "",
    );
    b.check("CREATE TRIGGER au ON vagg INSTEAD OF UPDATE AS SELECT d.s, i.s, i.c FROM deleted d JOIN inserted i ON i.g = d.g", "");
    b.check("UPDATE vagg SET s = s + 100 WHERE g = 2", "7|107|1\n(1)");
    b.check("DECLARE @x int = 7; UPDATE vagg SET @x = s = @x + 1; SELECT @x", "7|8|1\n(1)\n8");
    b.check("DECLARE @o TABLE (id int); DELETE jv OUTPUT deleted.id INTO @o; SELECT id FROM @o; SELECT COUNT(*) FROM q", "(1)\n12\n0");
    b.check("DELETE TOP (1) jv; UPDATE TOP (50) PERCENT jv SET n = 'x'", "(0)\n(0)");
}

#[test]
fn what_may_not_be() {
    let mut b = bench();
    b.check("CREATE VIEW v AS SELECT id, v FROM t", "");
    b.check(
        "CREATE TRIGGER x ON v AFTER INSERT AS PRINT 'x'",
        "Msg 8197: The object 'v' does not exist or is invalid for this operation.",
    );
    b.check("CREATE TRIGGER x ON v INSTEAD OF UPDATE, INSERT AS PRINT 'x'", "");
    b.check("CREATE TRIGGER y ON v INSTEAD OF INSERT AS PRINT 'x'", "Msg 2111: Cannot create trigger 'y' on view 'v' because an INSTEAD OF INSERT trigger already exists on this object.");
    b.check("CREATE TRIGGER y ON v INSTEAD OF DELETE AS PRINT 'gone'", "");
    b.check("UPDATE v SET v = 1 FROM v JOIN t ON t.id = v.id", "Msg 414: UPDATE is not allowed because the statement updates view \"v\" which participates in a join and has an INSTEAD OF UPDATE trigger.");
    b.check("DELETE a FROM v a JOIN t ON t.id = a.id", "Msg 415: DELETE is not allowed because the statement updates view \"v\" which participates in a join and has an INSTEAD OF DELETE trigger.");
    b.check(
        "UPDATE a SET v = 1 FROM v AS a WHERE a.id = 1; UPDATE v SET nope = 1",
        "x\n(0)\nMsg 207: Invalid column name 'nope'.",
    );
    b.check("INSERT v (v) OUTPUT inserted.v VALUES (1)", "Msg 334: The target table 'v' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.");
    b.check("CREATE VIEW w AS SELECT id FROM v", "");
    assert!(b.run("DELETE w").starts_with("Msg 40517: A change of a query over a view"));
    b.check("DROP VIEW v; SELECT COUNT(*) FROM sys.triggers", "0");
    b.check(
        "CREATE TABLE par (id int PRIMARY KEY); CREATE TABLE chi (id int REFERENCES par ON DELETE CASCADE)",
        "",
    );
    b.check("CREATE TRIGGER x ON chi INSTEAD OF DELETE AS PRINT 'x'", "Msg 2113: Cannot create INSTEAD OF DELETE or INSTEAD OF UPDATE TRIGGER 'x' on table 'chi'. This is because the table has a FOREIGN KEY with cascading DELETE or UPDATE.");
}

#[test]
fn merge_and_triggers() {
    let mut b = bench();
    b.check("INSERT t (v) VALUES (1), (2)", "(2)");
    b.check("CREATE TRIGGER ii ON t INSTEAD OF INSERT AS SET NOCOUNT ON INSERT log SELECT 'I', id, v FROM inserted", "");
    b.check("MERGE t USING (VALUES (1, 10), (5, 50)) AS s (id, v) ON s.id = t.id WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v); SELECT what, id, v FROM log; SELECT COUNT(*) FROM t", "(1)\nI|0|50\n2");
    let said = b.run("MERGE t USING (VALUES (1, 10), (5, 50)) AS s (id, v) ON s.id = t.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v);");
    assert!(
        said.starts_with(
            "Msg 5316: The target 't' of the MERGE statement has an INSTEAD OF trigger on some, but not all,"
        ),
        "{said}"
    );
    b.check("CREATE TRIGGER iu ON t INSTEAD OF UPDATE AS SET NOCOUNT ON INSERT log SELECT 'U', id, v FROM inserted", "");
    b.check("DELETE log; MERGE t USING (VALUES (1, 10), (5, 50)) AS s (id, v) ON s.id = t.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v); SELECT what, id, v FROM log ORDER BY no; SELECT SUM(v) FROM t", "(1)\n(2)\nI|0|50\nU|1|10\n3");
}

#[test]
fn after_a_restart() {
    let mut b = bench();
    b.check("CREATE VIEW v AS SELECT id, v FROM t", "");
    b.check("CREATE TRIGGER x ON v INSTEAD OF INSERT AS SET NOCOUNT ON INSERT log SELECT 'view', id, v FROM inserted", "");
    b.check("CREATE TRIGGER y ON t INSTEAD OF INSERT AS SET NOCOUNT ON INSERT log SELECT 'table', id, v FROM inserted", "");
    let mut b = b.restart();
    b.check(
        "INSERT v VALUES (4, 4); INSERT t (v) VALUES (5); SELECT what, id, v FROM log ORDER BY no",
        "(1)\n(1)\nview|4|4\ntable|0|5",
    );
}
