//! AFTER triggers: what they see, when they run, what their errors and their ROLLBACK do.

use crate::support::text::{Bench, fails};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int PRIMARY KEY, n int NULL, s varchar(10) NULL)", "");
    b.check("CREATE TABLE log (no int IDENTITY, what varchar(10), old int NULL, new int NULL, rows int)", "");
    b
}

const WATCH: &str = "CREATE TRIGGER watch ON a AFTER INSERT, UPDATE, DELETE AS
     DECLARE @rows int = @@ROWCOUNT
     SET NOCOUNT ON
     INSERT log (what, old, new, rows)
     SELECT CASE WHEN d.id IS NULL THEN 'insert' WHEN i.id IS NULL THEN 'delete' ELSE 'update' END, d.n, i.n, @rows
     FROM inserted AS i FULL JOIN deleted AS d ON d.id = i.id ORDER BY COALESCE(i.id, d.id)";

#[test]
fn inserted_and_deleted() {
    let mut b = bench();
    b.check(WATCH, "");
    b.check("INSERT a VALUES (1, 10, 'x'); INSERT a VALUES (2, 20, 'y'), (3, 30, 'z')", "(1)\n(2)");
    b.check(
        "UPDATE a SET n = n + 1 WHERE id > 1; DELETE a WHERE id = 1; SELECT @@ROWCOUNT",
        "(2)\n(1)\n1",
    );
    b.check(
        "SELECT what, old, new, rows FROM log ORDER BY no",
        "insert|NULL|10|1\ninsert|NULL|20|2\ninsert|NULL|30|2\nupdate|20|21|2\nupdate|30|31|2\ndelete|10|NULL|1",
    );
    // No row is a statement too.
    b.check("CREATE TRIGGER zero ON a FOR DELETE AS SET NOCOUNT ON IF NOT EXISTS (SELECT 1 FROM deleted) INSERT log VALUES ('none', 0, 0, 0)", "");
    b.check("DELETE a WHERE id = 99; SELECT what FROM log WHERE no > 6", "(0)\nnone");
    b.check(
        "INSERT a SELECT id + 10, n, s FROM a; SELECT COUNT(*) FROM log WHERE what = 'insert'",
        "(2)\n5",
    );
    b.check(
        "DROP TRIGGER watch; INSERT a VALUES (50, 1, NULL); SELECT COUNT(*) FROM log",
        "(1)\n9",
    );
}

#[test]
fn what_a_trigger_does_belongs_to_the_statement() {
    let mut b = bench();
    b.check(WATCH, "");
    b.check("BEGIN TRAN; INSERT a VALUES (1, 1, 'x'); SELECT COUNT(*) FROM log; ROLLBACK; SELECT COUNT(*) FROM log", "(1)\n1\n0");
    b.check("CREATE TRIGGER fussy ON a FOR INSERT AS IF EXISTS (SELECT 1 FROM inserted WHERE n < 0) INSERT a VALUES (1, 1, 'twice')", "");
    b.check("INSERT a VALUES (1, 1, 'x')", "(1)");
    // The error takes all of the statement back, and the trigger's own.
    let said = b.run("INSERT a VALUES (2, -1, 'y')");
    assert!(said.starts_with("Msg 2627: "), "{said}");
    b.check("SELECT COUNT(*) FROM a; SELECT COUNT(*) FROM log; SELECT @@TRANCOUNT", "1\n1\n0");
    b.check(
        "BEGIN TRY INSERT a VALUES (2, -1, 'y') END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_PROCEDURE(), @@TRANCOUNT END CATCH",
        "2627|fussy|0",
    );
    b.check("SELECT COUNT(*) FROM a", "1");
}

#[test]
fn rollback_in_a_trigger_ends_the_batch() {
    let mut b = bench();
    b.check("CREATE TRIGGER no ON a FOR INSERT AS IF EXISTS (SELECT 1 FROM inserted WHERE n = 13) BEGIN RAISERROR ('unlucky', 16, 1) ROLLBACK TRAN END", "");
    b.check(
        "BEGIN TRAN; INSERT a VALUES (1, 1, NULL); INSERT a VALUES (2, 13, NULL); SELECT 'never'",
        "(1)\nMsg 50000: unlucky\nMsg 3609: The transaction ended in the trigger. The batch has been aborted.",
    );
    b.check("SELECT COUNT(*), @@TRANCOUNT FROM a", "0|0");
    b.check(
        "INSERT a VALUES (2, 13, NULL)",
        "Msg 50000: unlucky\nMsg 3609: The transaction ended in the trigger. The batch has been aborted.",
    );
    b.check("INSERT a VALUES (2, 14, NULL); SELECT COUNT(*) FROM a", "(1)\n1");
}

#[test]
fn raiserror_warns_and_throw_stops() {
    let mut b = bench();
    b.check("CREATE TRIGGER warn ON a FOR UPDATE AS RAISERROR ('careful', 16, 1)", "");
    b.check(
        "INSERT a VALUES (1, 1, NULL); UPDATE a SET n = 2; SELECT n FROM a",
        "(1)\nMsg 50000: careful\n(1)\n2",
    );
    b.check("ALTER TRIGGER warn ON a FOR UPDATE AS THROW 50001, 'stop', 1", "");
    b.check("UPDATE a SET n = 3; SELECT 'never'", "Msg 50001: stop");
    b.check("SELECT n, @@TRANCOUNT FROM a", "2|0");
    b.check("BEGIN TRAN; DELETE a WHERE id = 9; UPDATE a SET n = 3", "(0)\nMsg 50001: stop");
    b.check("SELECT n, @@TRANCOUNT FROM a", "2|0");
}

#[test]
fn triggers_fire_triggers_but_not_themselves() {
    let mut b = bench();
    b.check("CREATE TABLE c (id int)", "");
    b.check("CREATE TRIGGER ta ON a FOR INSERT AS SET NOCOUNT ON INSERT c SELECT id FROM inserted; INSERT a SELECT id + 100, n, s FROM inserted WHERE id < 100", "");
    b.check("CREATE TRIGGER tc ON c FOR INSERT AS SET NOCOUNT ON INSERT log SELECT 'c', id, @@NESTLEVEL, 0 FROM inserted", "");
    b.check("INSERT a VALUES (1, 1, NULL)", "(1)");
    // The row that the trigger itself adds fires nothing.
    b.check(
        "SELECT id FROM a ORDER BY id; SELECT id FROM c; SELECT what, old, new FROM log",
        "1\n101\n1\nc|1|2",
    );
    b.check("CREATE TABLE x (n int); CREATE TABLE y (n int)", "");
    b.check("CREATE TRIGGER tx ON x FOR INSERT AS INSERT y SELECT n + 1 FROM inserted", "");
    b.check("CREATE TRIGGER ty ON y FOR INSERT AS INSERT x SELECT n + 1 FROM inserted", "");
    let said = b.run("SET NOCOUNT ON INSERT x VALUES (1)");
    assert!(said.contains("Msg 217: "), "{said}");
    b.check("SELECT (SELECT COUNT(*) FROM x) + (SELECT COUNT(*) FROM y), @@TRANCOUNT", "0|0");
}

#[test]
fn which_columns_were_set() {
    let mut b = bench();
    b.check(
        "CREATE TRIGGER cols ON a FOR INSERT, UPDATE AS SET NOCOUNT ON
         INSERT log (what, old, rows) SELECT CASE WHEN UPDATE(n) THEN 'n' ELSE '-' END + CASE WHEN UPDATE(s) THEN 's' ELSE '-' END,
                CAST(COLUMNS_UPDATED() AS int), (SELECT COUNT(*) FROM inserted)",
        "",
    );
    b.check("SET NOCOUNT ON; INSERT a VALUES (1, 1, 'x'); UPDATE a SET n = 2; UPDATE a SET s = s; UPDATE a SET s = 'y', n = 3", "");
    b.check("SELECT what, old, rows FROM log ORDER BY no", "ns|7|1\nn-|2|1\n-s|4|1\nns|6|1");
    assert!(b.run("IF UPDATE(n) SELECT 1").starts_with("Msg 140: "));
}

#[test]
fn disabled_dropped_and_listed() {
    let mut b = bench();
    b.check(WATCH, "");
    b.check("DISABLE TRIGGER watch ON a; INSERT a VALUES (1, 1, NULL); ALTER TABLE a ENABLE TRIGGER ALL; INSERT a VALUES (2, 1, NULL)", "(1)\n(1)");
    b.check(
        "SELECT COUNT(*) FROM log; SELECT name, is_disabled, OBJECT_NAME(parent_id) FROM sys.triggers",
        "1\nwatch|0|a",
    );
    b.check("SELECT type_desc FROM sys.trigger_events ORDER BY 1", "DELETE\nINSERT\nUPDATE");
    b = b.restart();
    b.check("INSERT a VALUES (3, 1, NULL); SELECT COUNT(*) FROM log", "(1)\n2");
    b.check("DROP TABLE a; SELECT COUNT(*) FROM sys.triggers", "0");
    b.check("CREATE TABLE a (id int)", "");
    let i = b.instance.clone();
    fails(&i, "USE t; EXEC ('CREATE TRIGGER x ON missing FOR INSERT AS SELECT 1')", &[8197]);
    fails(&i, "USE t; DISABLE TRIGGER x ON a", &[1088]);
    b.check("CREATE TRIGGER x ON a FOR INSERT AS SELECT 1", "");
    b.check("INSERT a OUTPUT inserted.id VALUES (1)", "Msg 334: The target table 'a' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.");
    b.check("SELECT * FROM inserted", "Msg 208: Invalid object name 'inserted'.");
}

#[test]
fn cascades_fire_the_triggers_of_the_tables_they_reach() {
    let mut b = bench();
    b.check("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, pid int NULL REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE)", "");
    b.check("CREATE TRIGGER tp ON p FOR DELETE AS SET NOCOUNT ON INSERT log SELECT 'p', id, 0, @@ROWCOUNT FROM deleted", "");
    b.check("CREATE TRIGGER tc ON c FOR DELETE, UPDATE AS SET NOCOUNT ON INSERT log SELECT 'c', d.pid, i.pid, 0 FROM deleted d LEFT JOIN inserted i ON i.id = d.id", "");
    b.check("INSERT p VALUES (1), (2); INSERT c VALUES (10, 1), (11, 1), (12, 2); UPDATE p SET id = 5 WHERE id = 2; DELETE p WHERE id = 1", "(2)\n(3)\n(1)\n(1)");
    b.check("SELECT what, old, new FROM log ORDER BY no", "c|2|5\np|1|0\nc|1|NULL\nc|1|NULL");
    b.check("SELECT id, pid FROM c", "12|5");
}

#[test]
fn transactions_within_a_trigger() {
    let mut b = bench();
    b.check(
        "CREATE TRIGGER t ON a FOR INSERT AS SET NOCOUNT ON
         INSERT log VALUES ('count', @@TRANCOUNT, XACT_STATE(), 0)
         BEGIN TRAN INSERT log VALUES ('inner', 0, 0, 0) COMMIT
         SAVE TRAN s INSERT log VALUES ('gone', 0, 0, 0) ROLLBACK TRAN s",
        "",
    );
    b.check(
        "INSERT a VALUES (1, 1, NULL); SELECT what, old, new FROM log ORDER BY no; SELECT @@TRANCOUNT",
        "(1)\ncount|1|1\ninner|0|0\n0",
    );
    b.check(
        "BEGIN TRAN; INSERT a VALUES (2, 1, NULL); SELECT @@TRANCOUNT; COMMIT; SELECT COUNT(*) FROM log",
        "(1)\n1\n4",
    );
}

#[test]
fn a_trigger_in_another_scope() {
    let mut b = bench();
    b.check(
        "CREATE PROCEDURE note @n int AS SET NOCOUNT ON INSERT log VALUES ('proc', @n, SCOPE_IDENTITY(), 0)",
        "",
    );
    b.check("CREATE TRIGGER t ON a FOR INSERT AS SET NOCOUNT ON DECLARE @n int; SELECT @n = n FROM inserted; EXEC note @n", "");
    b.check("CREATE TABLE i (id int IDENTITY(7, 1), n int)", "");
    b.check(
        "CREATE TRIGGER ti ON i FOR INSERT AS SET NOCOUNT ON INSERT a SELECT id, n, NULL FROM inserted",
        "",
    );
    b.check("INSERT i VALUES (44); SELECT SCOPE_IDENTITY(), @@IDENTITY", "(1)\n7|1");
    b.check("SELECT what, old, new FROM log", "proc|44|NULL");
}
