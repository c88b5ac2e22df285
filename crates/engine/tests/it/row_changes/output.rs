//! OUTPUT to the client and INTO tables.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int PRIMARY KEY, n int NULL, s varchar(10) NULL)", "");
    b.check(
        "CREATE TABLE kept (no int IDENTITY, what varchar(10) DEFAULT 'none', id int NULL, n int NULL)",
        "",
    );
    b.check("INSERT t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')", "(3)");
    b
}

#[test]
fn into_a_table() {
    let mut b = bench();
    b.check(
        "INSERT t OUTPUT inserted.id, inserted.n INTO kept (id, n) VALUES (4, 40, 'w'), (5, 50, 'v')",
        "(2)",
    );
    b.check("SELECT * FROM kept ORDER BY no", "1|none|4|40\n2|none|5|50");
    b.check(
        "UPDATE t SET n = n + 1 OUTPUT 'up', deleted.n, inserted.n INTO kept WHERE id > 3",
        "(2)",
    );
    b.check(
        "DELETE t OUTPUT 'del', deleted.id, deleted.n * 2 INTO kept (what, id, n) WHERE id > 3",
        "(2)",
    );
    b.check(
        "SELECT * FROM kept WHERE no > 2 ORDER BY no",
        "3|up|40|41\n4|up|50|51\n5|del|4|82\n6|del|5|102",
    );
    // Rows of a statement that fails are not there.
    assert!(
        b.run("INSERT t OUTPUT inserted.id INTO kept (id) VALUES (9, 1, 'a'), (9, 1, 'b')")
            .starts_with("Msg 2627")
    );
    b.check("SELECT COUNT(*) FROM kept; SELECT COUNT(*) FROM t", "6\n3");
    // One row of values takes a way of its own, and so does a query over the target.
    b.check("INSERT t OUTPUT inserted.id INTO kept (id) VALUES (9, 1, 'a'); SELECT TOP (1) id FROM kept ORDER BY no DESC", "(1)\n9");
    b.check(
        "INSERT t OUTPUT inserted.id, inserted.n INTO kept (id, n) SELECT id + 100, n, s FROM t WHERE id < 3",
        "(2)",
    );
    b.check("SELECT id, n FROM kept WHERE id > 100 ORDER BY id", "101|10\n102|20");
}

#[test]
fn into_variables_and_temporary_tables() {
    let mut b = bench();
    b.check(
        "DECLARE @o TABLE (id int, n int, no int IDENTITY(10, 5))
         UPDATE t SET n += 1 OUTPUT inserted.id, deleted.n INTO @o
         SELECT * FROM @o ORDER BY id",
        "(3)\n1|10|10\n2|20|15\n3|30|20",
    );
    b.check(
        "CREATE TABLE #o (id int NOT NULL, s varchar(3))
         DELETE t OUTPUT deleted.id, deleted.s INTO #o WHERE id = 2
         SELECT * FROM #o",
        "(1)\n2|y",
    );
    let said = b.run(
        "INSERT t OUTPUT inserted.id, inserted.s INTO #o VALUES (7, 7, 'long one')
         SELECT COUNT(*) FROM t WHERE id = 7
         INSERT t (id) OUTPUT NULL, 'n' INTO #o VALUES (8)",
    );
    assert!(
        said.contains("Msg 2628: ")
            && said.contains("column 's'. Truncated value: 'lon'.\n0\nMsg 515: "),
        "{said}"
    );
    // What goes into a variable stays there when the transaction is taken back.
    b.check(
        "DECLARE @o TABLE (id int); BEGIN TRAN; DELETE t OUTPUT deleted.id INTO @o; ROLLBACK; SELECT COUNT(*) FROM @o; SELECT COUNT(*) FROM t",
        "(2)\n2\n2",
    );
}

#[test]
fn to_a_table_and_to_the_client() {
    let mut b = bench();
    b.check(
        "DECLARE @o TABLE (id int)
         UPDATE t SET n = -n OUTPUT inserted.id INTO @o OUTPUT deleted.n, inserted.n WHERE id < 3
         SELECT * FROM @o",
        "10|-10\n20|-20\n1\n2",
    );
    b.check(
        "DECLARE @o TABLE (id int); DELETE t OUTPUT deleted.id INTO @o OUTPUT deleted.id INTO @o",
        "Msg 102: Incorrect syntax near 'OUTPUT'.",
    );
    // A trigger forbids rows for the client alone.
    b.check(
        "CREATE TRIGGER w ON t AFTER INSERT AS SET NOCOUNT ON INSERT kept (what) VALUES ('fired')",
        "",
    );
    b.check("INSERT t OUTPUT inserted.id INTO kept (id) VALUES (4, 1, 'a'); SELECT what, id FROM kept ORDER BY no", "(1)\nnone|4\nfired|NULL");
    b.check(
        "INSERT t OUTPUT inserted.id INTO kept (id) OUTPUT inserted.n VALUES (5, 1, 'a')",
        "Msg 334: The target table 't' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.",
    );
}

#[test]
fn columns_of_other_sources() {
    let mut b = bench();
    b.check("CREATE TABLE u (id int, w varchar(5)); INSERT u VALUES (1, 'one'), (2, 'two')", "(2)");
    b.check(
        "UPDATE t SET n = 0 OUTPUT inserted.id, u.w, w FROM t JOIN u ON u.id = t.id",
        "1|one|one\n2|two|two",
    );
    b.check(
        "DELETE x OUTPUT deleted.s, u.* FROM t AS x JOIN u ON u.id = x.id WHERE u.w = 'two'",
        "y|2|two",
    );
    b.check(
        "UPDATE t SET n = 1 OUTPUT t.id FROM t JOIN u ON u.id = t.id",
        "Msg 4104: The multi-part identifier \"t.id\" could not be bound.",
    );
    b.check(
        "DELETE t OUTPUT inserted.id",
        "Msg 4104: The multi-part identifier \"inserted.id\" could not be bound.",
    );
    b.check("UPDATE t SET n = 1 OUTPUT deleted.nope", "Msg 207: Invalid column name 'nope'.");
}

#[test]
fn a_target_that_the_statement_reads() {
    let mut b = bench();
    b.check(
        "DELETE t OUTPUT deleted.id + 10, deleted.n, 'again' INTO t WHERE id < 3; SELECT * FROM t",
        "(2)\n3|30|z\n11|10|again\n12|20|again",
    );
    b.check("CREATE TABLE h (n int); INSERT h VALUES (1), (2)", "(2)");
    b.check(
        "UPDATE h SET n = n * 10 OUTPUT deleted.n INTO h; SELECT n FROM h ORDER BY n",
        "(2)\n1\n2\n10\n20",
    );
    b.check(
        "INSERT h OUTPUT inserted.n + 1 INTO h SELECT n FROM h WHERE n >= 10; SELECT COUNT(*), SUM(n) FROM h",
        "(2)\n8|95",
    );
}

#[test]
fn what_may_not_be() {
    let mut b = bench();
    b.check("CREATE TABLE par (id int PRIMARY KEY); CREATE TABLE chi (id int CONSTRAINT fk REFERENCES par); CREATE TABLE chk (id int CONSTRAINT positive CHECK (id > 0))", "");
    b.check("CREATE VIEW v AS SELECT id FROM t", "");
    for (target, error) in [
        (
            "v",
            "Msg 330: The target 'v' of the OUTPUT INTO clause cannot be a view or common table expression.",
        ),
        (
            "dbo.par",
            "Msg 332: The target table 'dbo.par' of the OUTPUT INTO clause cannot be on either side of a (primary key, foreign key) relationship. Found reference constraint 'fk'.",
        ),
        (
            "chi",
            "Msg 332: The target table 'chi' of the OUTPUT INTO clause cannot be on either side of a (primary key, foreign key) relationship. Found reference constraint 'fk'.",
        ),
        (
            "chk",
            "Msg 333: The target table 'chk' of the OUTPUT INTO clause cannot have any enabled check constraints or any enabled rules. Found check constraint or rule 'positive'.",
        ),
        ("nope", "Msg 208: Invalid object name 'nope'."),
        ("@nope", "Msg 1087: Must declare the table variable \"@nope\"."),
        ("kept (id, nope)", "Msg 207: Invalid column name 'nope'."),
        (
            "kept (id, n)",
            "Msg 120: The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT values must match the number of INSERT columns.",
        ),
        (
            "kept",
            "Msg 213: Column name or number of supplied values does not match table definition.",
        ),
    ] {
        b.check(&format!("DELETE t OUTPUT deleted.id INTO {target}"), error);
    }
    b.check(
        "WITH c AS (SELECT id FROM kept) DELETE t OUTPUT deleted.id INTO c",
        "Msg 330: The target 'c' of the OUTPUT INTO clause cannot be a view or common table expression.",
    );
    b.check("CREATE TRIGGER w ON kept FOR DELETE AS PRINT 'x'", "");
    b.check(
        "DELETE t OUTPUT deleted.id INTO kept (id)",
        "Msg 331: The target table 'kept' of the OUTPUT INTO clause cannot have any enabled triggers.",
    );
    b.check(
        "DISABLE TRIGGER w ON kept; DELETE t OUTPUT deleted.id INTO kept (id) WHERE id = 1",
        "(1)",
    );
    b.check(
        "DELETE t OUTPUT (SELECT 1)",
        "Msg 10705: Subqueries are not allowed in the OUTPUT clause.",
    );
    b.check(
        "DELETE t OUTPUT COUNT(*)",
        "Msg 158: An aggregate may not appear in the OUTPUT clause.",
    );
    b.check("DELETE t OUTPUT $action", "Msg 126: Invalid pseudocolumn \"$action\".");
    b.check("SET IDENTITY_INSERT kept ON; DELETE t OUTPUT deleted.id INTO kept (id); DELETE t OUTPUT deleted.id, 1 INTO kept (no, id) WHERE id = 2; SET IDENTITY_INSERT kept OFF; SELECT no FROM kept",
        "Msg 545: Explicit value must be specified for identity column in table 'kept' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.\n(1)\n1\n2");
    b.check("DELETE t OUTPUT deleted.id INTO kept (no)", "Msg 544: Cannot insert explicit value for identity column in table 'kept' when IDENTITY_INSERT is set to OFF.");
}

#[test]
fn inside_a_trigger_and_a_transaction() {
    let mut b = bench();
    b.check("CREATE TRIGGER w ON t AFTER DELETE AS SET NOCOUNT ON UPDATE t SET n = 0 OUTPUT 'trig', inserted.id INTO kept (what, id) WHERE id > 1", "");
    b.check("BEGIN TRAN; DELETE t WHERE id = 1; SELECT what, id FROM kept; ROLLBACK; SELECT COUNT(*) FROM kept; SELECT SUM(n) FROM t", "(1)\ntrig|2\ntrig|3\n0\n60");
}

#[test]
fn a_share_of_the_rows() {
    let mut b = bench();
    b.check("UPDATE TOP (50) PERCENT t SET n = 0; SELECT COUNT(*) FROM t WHERE n = 0", "(2)\n2");
    b.check("DELETE TOP (10) PERCENT FROM t; SELECT COUNT(*) FROM t", "(1)\n2");
    b.check(
        "DELETE TOP (0) PERCENT t; DELETE TOP (101) PERCENT t",
        "(0)\nMsg 1031: Percent values must be between 0 and 100.",
    );
    b.check(
        "DECLARE @p float = 100; DELETE TOP (@p) PERCENT t WHERE id > 0; SELECT COUNT(*) FROM t",
        "(2)\n0",
    );
}
