//! MERGE: its clauses, what goes with each action, what may not be.

use crate::support::text::{Bench, Text};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int PRIMARY KEY, n int NULL, s varchar(10) DEFAULT 'new')", "");
    b.check("CREATE TABLE src (id int, n int)", "");
    b.check("INSERT t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'); INSERT src VALUES (2, 200), (3, 300), (4, 400)", "(3)\n(3)");
    b
}

const ROWS: &str = "SELECT id, n, s FROM t ORDER BY id";

#[test]
fn every_clause() {
    let mut b = bench();
    b.check(
        "MERGE INTO t USING src AS x ON x.id = t.id
         WHEN MATCHED AND x.n > 250 THEN DELETE
         WHEN MATCHED THEN UPDATE SET n = x.n, s = 'upd'
         WHEN NOT MATCHED BY TARGET THEN INSERT (id, n) VALUES (x.id, x.n)
         WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n += 1;
         SELECT @@ROWCOUNT",
        "(4)\n4",
    );
    b.check(ROWS, "1|11|a\n2|200|upd\n4|400|new");
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN DELETE;", "(2)");
    b.check(ROWS, "1|11|a");
    b.check("MERGE t USING src ON src.id = t.id WHEN NOT MATCHED AND src.n < 400 THEN INSERT VALUES (id, n, DEFAULT);", "(2)");
    b.check(ROWS, "1|11|a\n2|200|new\n3|300|new");
    b.check("MERGE t USING src ON src.id = t.id WHEN NOT MATCHED BY SOURCE THEN DELETE;", "(1)");
    b.check("MERGE t USING src ON src.id = t.id WHEN NOT MATCHED BY SOURCE AND t.n > 5 THEN DELETE WHEN MATCHED AND t.n = 200 THEN UPDATE SET n = NULL;", "(1)");
    b.check(ROWS, "2|NULL|new\n3|300|new");
    b.check("CREATE TABLE d (a int DEFAULT 7, b int IDENTITY); MERGE d USING (VALUES (1), (2)) AS v (x) ON 1 = 0 WHEN NOT MATCHED THEN INSERT DEFAULT VALUES; SELECT * FROM d; SELECT SCOPE_IDENTITY()", "(2)\n7|1\n7|2\n2");
}

#[test]
fn sources_of_every_kind() {
    let mut b = bench();
    b.check("WITH c AS (SELECT id, MAX(n) AS n FROM src GROUP BY id) MERGE t AS g USING c ON g.id = c.id WHEN MATCHED THEN UPDATE SET g.n = c.n;", "(2)");
    b.check("MERGE t USING (VALUES (1, 5), (9, 9)) AS v (id, n) ON v.id = t.id WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n);", "(2)");
    b.check(ROWS, "1|5|a\n2|200|b\n3|300|c\n9|9|new");
    // The source may be the target, or have none of its rows.
    b.check("MERGE t USING t AS o ON o.id = t.id + 1 WHEN MATCHED THEN UPDATE SET n = o.n WHEN NOT MATCHED BY SOURCE THEN DELETE;", "(4)");
    b.check(ROWS, "1|200|a\n2|300|b");
    b.check("MERGE t USING src JOIN (SELECT 4 AS k) AS j ON j.k = src.id ON t.id = 1 WHEN MATCHED THEN UPDATE SET s = CAST(src.n + k AS varchar(9));", "(1)");
    b.check(ROWS, "1|200|404\n2|300|b");
    b.check("DECLARE @t TABLE (id int, n int); INSERT @t VALUES (2, 0); MERGE @t AS t USING src ON src.id = t.id WHEN MATCHED THEN UPDATE SET n = src.n WHEN NOT MATCHED THEN INSERT VALUES (id, n); SELECT * FROM @t ORDER BY id", "(1)\n(3)\n2|200\n3|300\n4|400");
    b.check("CREATE TABLE #t (id int, n int); MERGE #t USING src ON 1 = 0 WHEN NOT MATCHED THEN INSERT VALUES (id, n); SELECT SUM(n) FROM #t", "(3)\n900");
    b.check("MERGE src USING t ON src.id = t.id AND t.s IN (SELECT s FROM t WHERE n > 250) WHEN MATCHED AND EXISTS (SELECT 1 FROM t WHERE id = src.id) THEN UPDATE SET n = (SELECT MAX(id) FROM t);", "(1)");
    b.check("SELECT id, n FROM src ORDER BY id", "2|2\n3|300\n4|400");
}

#[test]
fn output_with_actions() {
    let mut b = bench();
    b.check(
        "CREATE TABLE log (what nvarchar(10), old int, new int, src int)
         MERGE t USING src ON src.id = t.id
         WHEN MATCHED THEN UPDATE SET n = src.n
         WHEN NOT MATCHED THEN INSERT (id, n) VALUES (id, n)
         WHEN NOT MATCHED BY SOURCE THEN DELETE
         OUTPUT $action, deleted.id, inserted.id, src.n INTO log
         OUTPUT lower($action), isnull(inserted.id, deleted.id);
         SELECT * FROM log ORDER BY COALESCE(old, new)",
        "update|2\nupdate|3\ndelete|1\ninsert|4\nDELETE|1|NULL|NULL\nUPDATE|2|2|200\nUPDATE|3|3|300\nINSERT|NULL|4|400",
    );
    b.check(ROWS, "2|200|b\n3|300|c\n4|400|new");
    // New numbers beside what they came from.
    b.check("CREATE TABLE i (no int IDENTITY(100, 1), n int); MERGE i USING src ON 1 = 0 WHEN NOT MATCHED THEN INSERT (n) VALUES (src.n) OUTPUT src.id, inserted.no;", "2|100\n3|101\n4|102");
}

#[test]
fn a_row_twice() {
    let mut b = bench();
    b.check("INSERT src VALUES (2, 201)", "(1)");
    let twice = "Msg 8672: The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.";
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN UPDATE SET n = src.n;", twice);
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED AND src.n = 201 THEN DELETE WHEN MATCHED THEN UPDATE SET n = src.n;", twice);
    b.check(ROWS, "1|10|a\n2|20|b\n3|30|c");
    b.check(
        "MERGE t USING src ON src.id = t.id WHEN MATCHED AND src.n = 201 THEN UPDATE SET n = src.n;",
        "(1)",
    );
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN DELETE;", "(2)");
    b.check(ROWS, "1|10|a");
}

#[test]
fn keys_that_pass_from_row_to_row() {
    let mut b = bench();
    b.check("CREATE UNIQUE INDEX u ON t (n)", "");
    // A deleted row's keys are free for a new row, and updated ones change places.
    b.check("MERGE t USING (VALUES (1, 20), (2, 10), (5, 30)) AS v (id, n) ON v.id = t.id WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n) WHEN NOT MATCHED BY SOURCE THEN DELETE;", "(4)");
    b.check(ROWS, "1|20|a\n2|10|b\n5|30|new");
    b.check("MERGE t USING (VALUES (1, 2), (2, 1)) AS v (id, k) ON v.id = t.id WHEN MATCHED THEN UPDATE SET id = v.k;", "(2)");
    b.check(ROWS, "1|10|b\n2|20|a\n5|30|new");
    let said = b.run("MERGE t USING (VALUES (6, 60), (7, 10)) AS v (id, n) ON v.id = t.id WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n);");
    assert!(said.starts_with("Msg 2601"), "{said}");
    b.check(ROWS, "1|10|b\n2|20|a\n5|30|new");
}

#[test]
fn triggers_once_for_each_action() {
    let mut b = bench();
    b.check("CREATE TABLE log (no int IDENTITY, what varchar(20), rows int, ins int, del int)", "");
    for (what, event) in
        [("D", "DELETE"), ("U", "UPDATE"), ("I", "INSERT"), ("IU", "INSERT, UPDATE")]
    {
        b.check(&format!("CREATE TRIGGER w{what} ON t AFTER {event} AS SET NOCOUNT ON INSERT log SELECT '{what}', @@ROWCOUNT, (SELECT COUNT(*) FROM inserted), (SELECT COUNT(*) FROM deleted)"), "");
    }
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED THEN INSERT (id) VALUES (id) WHEN NOT MATCHED BY SOURCE THEN DELETE;", "(4)");
    b.check("SELECT what, ins, del FROM log ORDER BY no", "I|1|0\nIU|1|0\nU|2|2\nIU|2|2\nD|0|1");
    b.check(
        "DELETE log; MERGE t USING src ON src.id = t.id WHEN MATCHED AND t.n > 0 THEN DELETE;",
        "(5)\n(0)",
    );
    b.check("SELECT what, ins, del FROM log", "D|0|0");
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN DELETE OUTPUT deleted.id;", "Msg 334: The target table 't' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.");
}

#[test]
fn constraints_and_cascades() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE par (id int PRIMARY KEY, n int NOT NULL CONSTRAINT positive CHECK (n > 0))",
        "",
    );
    b.check(
        "CREATE TABLE chi (id int PRIMARY KEY, p int NULL CONSTRAINT fk REFERENCES par ON DELETE CASCADE)",
        "",
    );
    b.check("CREATE TABLE hard (p int CONSTRAINT hk REFERENCES par)", "");
    b.check("INSERT par VALUES (1, 1), (2, 2), (3, 3); INSERT chi VALUES (10, 1), (20, 2); INSERT hard VALUES (3)", "(3)\n(2)\n(1)");
    b.check("MERGE par USING (VALUES (2)) AS v (id) ON v.id = par.id WHEN MATCHED THEN DELETE; SELECT id FROM chi", "(1)\n10");
    b.check("MERGE par USING (VALUES (1)) AS v (id) ON v.id = par.id WHEN MATCHED THEN UPDATE SET n = 0;", "Msg 547: The MERGE statement conflicted with the CHECK constraint \"positive\". The conflict occurred in database \"t\", table \"dbo.par\", column 'n'.");
    b.check("MERGE chi USING (VALUES (11, 99)) AS v (id, p) ON v.id = chi.id WHEN NOT MATCHED THEN INSERT VALUES (id, p);", "Msg 547: The MERGE statement conflicted with the FOREIGN KEY constraint \"fk\". The conflict occurred in database \"t\", table \"dbo.par\", column 'id'.");
    b.check("MERGE par USING (VALUES (3)) AS v (id) ON v.id = par.id WHEN MATCHED THEN DELETE;", "Msg 547: The MERGE statement conflicted with the REFERENCE constraint \"hk\". The conflict occurred in database \"t\", table \"dbo.hard\", column 'p'.");
    // The key goes and comes in one statement.
    b.check("MERGE par USING (VALUES (4, 3)) AS v (k, id) ON v.k = par.id WHEN NOT MATCHED THEN INSERT VALUES (id, 33) WHEN NOT MATCHED BY SOURCE AND par.id = 3 THEN DELETE; SELECT * FROM par ORDER BY id", "(2)\n1|1\n3|33");
    b.check("MERGE par USING (VALUES (1)) AS v (id) ON v.id = par.id WHEN MATCHED THEN UPDATE SET n = NULL;", "Msg 515: Cannot insert the value NULL into column 'n', table 't.dbo.par'; column does not allow nulls. UPDATE fails.");
    b.check("CREATE TABLE self (id int PRIMARY KEY, up int REFERENCES self); MERGE self USING (VALUES (2, 1), (1, NULL)) AS v (id, up) ON 1 = 0 WHEN NOT MATCHED THEN INSERT VALUES (id, up); SELECT COUNT(*) FROM self", "(2)\n2");
}

#[test]
fn what_may_not_be() {
    let mut b = bench();
    for (clauses, error) in [
        (
            "WHEN MATCHED THEN INSERT VALUES (1, 1, 'x')",
            "10711: An action of type 'INSERT' is not allowed in the 'WHEN MATCHED' clause of a MERGE statement.",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE THEN INSERT VALUES (1, 1, 'x')",
            "10711: An action of type 'INSERT' is not allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE statement.",
        ),
        (
            "WHEN NOT MATCHED THEN DELETE",
            "10710: An action of type 'DELETE' is not allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.",
        ),
        (
            "WHEN NOT MATCHED THEN UPDATE SET n = 1",
            "10710: An action of type 'UPDATE' is not allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.",
        ),
        (
            "WHEN MATCHED AND 1 = 1 THEN DELETE WHEN MATCHED THEN DELETE",
            "10714: An action of type 'DELETE' cannot appear more than once in a 'WHEN MATCHED' clause of a MERGE statement.",
        ),
        (
            "WHEN MATCHED THEN DELETE WHEN MATCHED AND 1 = 1 THEN UPDATE SET n = 1",
            "5324: In a MERGE statement, a 'WHEN MATCHED' clause with a search condition cannot appear after a 'WHEN MATCHED' clause with no search condition.",
        ),
        (
            "WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)",
            "5333: The identifier 't.id' cannot be bound. Only source columns and columns in the clause scope are allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE AND src.n = 1 THEN DELETE",
            "5334: The identifier 'src.n' cannot be bound. Only target columns and columns in the clause scope are allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE statement.",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = src.n",
            "5334: The identifier 'src.n' cannot be bound. Only target columns and columns in the clause scope are allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE statement.",
        ),
        (
            "WHEN MATCHED THEN UPDATE SET n = z.n",
            "4104: The multi-part identifier \"z.n\" could not be bound.",
        ),
        (
            "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (1)",
            "109: There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.",
        ),
        (
            "WHEN NOT MATCHED THEN INSERT (id, nope) VALUES (1, 1)",
            "207: Invalid column name 'nope'.",
        ),
    ] {
        b.check(&format!("MERGE t USING src ON src.id = t.id {clauses};"), &format!("Msg {error}"));
    }
    b.check("MERGE t USING t ON 1 = 1 WHEN MATCHED THEN DELETE;", "Msg 5318: In a MERGE statement, the source and target cannot have the same name or alias. Use different aliases for the source and target to ensure that they have unique names in the MERGE statement.");
    b.check(
        "MERGE t USING src ON src.id = t.id WHEN MATCHED THEN DELETE",
        "Msg 10713: A MERGE statement must be terminated by a semi-colon (;).",
    );
    b.check("DECLARE @v int; MERGE t USING src ON src.id = t.id WHEN MATCHED THEN UPDATE SET @v = n = 1;", "Msg 10723: In a MERGE statement, a variable cannot be set to a column and expression in the same assignment in the SET clause of an UPDATE action. Assignments of the form 'SET @variable = column = expression' are not valid in the SET clause of an UPDATE action in a MERGE statement. Modify the SET clause to only specify assignments of the form 'SET @variable = column' or 'SET @variable = expression'.");
    b.check(
        "MERGE sys.objects USING src ON 1 = 0 WHEN MATCHED THEN DELETE;",
        "Msg 259: Ad hoc updates to system catalogs are not allowed.",
    );
    b.check(ROWS, "1|10|a\n2|20|b\n3|30|c");
}

#[test]
fn top_and_variables() {
    let mut b = bench();
    b.check("MERGE TOP (2) t USING src ON src.id = t.id WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 0; SELECT COUNT(*) FROM t WHERE n = 0", "(2)\n2");
    b.check("MERGE TOP (50) PERCENT t USING (VALUES (11), (12), (13)) AS v (id) ON v.id = t.id WHEN NOT MATCHED THEN INSERT (id) VALUES (id);", "(2)");
    b.check("DECLARE @n int = 0; MERGE t USING src ON 1 = 0 WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 1, @n = @n + 1; SELECT @n - @@ROWCOUNT", "(5)\n0");
    b.check("SET ROWCOUNT 1; MERGE t USING src ON 1 = 0 WHEN NOT MATCHED BY SOURCE THEN DELETE; SET ROWCOUNT 0; SELECT COUNT(*) FROM t", "(1)\n4");
}

#[test]
fn two_sessions() {
    let mut b = bench();
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let mut say = |sql: &str| {
        let mut text = Text::default();
        other.execute(sql, &mut text);
        text.out.trim().to_owned()
    };
    let upsert = "MERGE t WITH (HOLDLOCK) USING (VALUES (7, 1)) AS v (id, n) ON v.id = t.id WHEN MATCHED THEN UPDATE SET n += v.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n);";
    b.check("BEGIN TRAN", "");
    b.check(upsert, "(1)");
    // The key is taken before it is there for others.
    assert!(say(&format!("SET LOCK_TIMEOUT 0; {upsert}")).starts_with("Msg 1222"));
    b.check("COMMIT", "");
    assert_eq!(say(upsert), "(1)");
    b.check("SELECT n FROM t WHERE id = 7", "2");
    // A row that was read for MERGE does not change before it is changed.
    b.check(
        "BEGIN TRAN; MERGE t USING src ON src.id = t.id WHEN MATCHED AND src.n < 0 THEN DELETE;",
        "(0)",
    );
    assert!(say("UPDATE t SET n = 0 WHERE id = 2").starts_with("Msg 1222"));
    b.check("ROLLBACK", "");
    assert_eq!(say("UPDATE t SET n = 0 WHERE id = 2"), "(1)");
}

#[test]
fn the_plan_is_shown() {
    let mut b = bench();
    b.run("SET SHOWPLAN_TEXT ON");
    let said = b.run("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN DELETE;");
    assert!(said.contains("Clustered Index Merge(Merge, OBJECT:([t].[dbo].[t]"), "{said}");
    b.run("SET SHOWPLAN_TEXT OFF");
    b.check("MERGE t USING src ON src.id = t.id WHEN MATCHED THEN DELETE; SELECT occurrence FROM sys.dm_exec_query_optimizer_info WHERE counter = 'merge stmt'", "(2)\n2");
}
