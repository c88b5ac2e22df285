//! Triggers of a database: which statements fire them, what they see, what they can take back.

use crate::support::text::Bench;

#[track_caller]
fn says(b: &mut Bench, sql: &str, part: &str) {
    let said = b.run(sql);
    assert!(said.contains(part), "{sql}\n{said}");
}

/// The text of an element of EVENTDATA().
fn element(tag: &str) -> String {
    format!("EVENTDATA().value('(/EVENT_INSTANCE//{tag})[1]', 'nvarchar(max)')")
}

fn watched() -> Bench {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE log (no int IDENTITY, event varchar(30), name varchar(60), command nvarchar(max))",
        "",
    );
    b.check(
        &format!(
            "CREATE TRIGGER watch ON DATABASE FOR DDL_DATABASE_LEVEL_EVENTS AS
             SET NOCOUNT ON
             INSERT log SELECT {}, {}, {}",
            element("EventType"),
            element("ObjectName"),
            element("CommandText")
        ),
        "",
    );
    b
}

#[test]
fn each_statement_raises_its_event() {
    let mut b = watched();
    let cases = [
        ("CREATE TABLE t (id int PRIMARY KEY, a int)", "CREATE_TABLE|t"),
        ("ALTER TABLE t ADD b int", "ALTER_TABLE|t"),
        ("CREATE INDEX ix ON t (a) WHERE a > 5 AND b < 3", "CREATE_INDEX|ix"),
        ("ALTER INDEX ix ON t REBUILD", "ALTER_INDEX|ix"),
        ("CREATE STATISTICS st ON t (a)", "CREATE_STATISTICS|st"),
        ("UPDATE STATISTICS t st", "UPDATE_STATISTICS|st"),
        ("DROP STATISTICS t.st", "DROP_STATISTICS|st"),
        ("DROP INDEX ix ON t", "DROP_INDEX|ix"),
        ("CREATE VIEW v AS SELECT 1 AS one", "CREATE_VIEW|v"),
        ("CREATE OR ALTER VIEW v AS SELECT 2 AS one", "ALTER_VIEW|v"),
        ("DROP VIEW v", "DROP_VIEW|v"),
        ("CREATE OR ALTER PROCEDURE p AS SELECT 1", "CREATE_PROCEDURE|p"),
        ("ALTER PROCEDURE p AS SELECT 2", "ALTER_PROCEDURE|p"),
        ("DROP PROCEDURE IF EXISTS p", "DROP_PROCEDURE|p"),
        ("CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END", "CREATE_FUNCTION|f"),
        ("DROP FUNCTION f", "DROP_FUNCTION|f"),
        ("CREATE TRIGGER tr ON t FOR INSERT AS PRINT 'x'", "CREATE_TRIGGER|tr"),
        ("DROP TRIGGER tr", "DROP_TRIGGER|tr"),
        ("CREATE SCHEMA sc", "CREATE_SCHEMA|sc"),
        ("DROP SCHEMA sc", "DROP_SCHEMA|sc"),
        ("CREATE SEQUENCE sq", "CREATE_SEQUENCE|sq"),
        ("ALTER SEQUENCE sq RESTART", "ALTER_SEQUENCE|sq"),
        ("DROP SEQUENCE sq", "DROP_SEQUENCE|sq"),
        ("CREATE SYNONYM sy FOR t", "CREATE_SYNONYM|sy"),
        ("DROP SYNONYM sy", "DROP_SYNONYM|sy"),
        ("CREATE TYPE ty FROM int", "CREATE_TYPE|ty"),
        ("DROP TYPE ty", "DROP_TYPE|ty"),
        ("CREATE ROLE ro", "CREATE_ROLE|ro"),
        ("DROP ROLE ro", "DROP_ROLE|ro"),
        ("DROP TABLE IF EXISTS nothing, t", "DROP_TABLE|t"),
    ];
    for (sql, event) in cases {
        b.check("TRUNCATE TABLE log", "");
        b.check(sql, "");
        b.check("SELECT event + '|' + name FROM log", event);
        b.check("SELECT command FROM log", sql);
    }
    // What is temporary, fails or is not there raises nothing.
    b.check(
        "TRUNCATE TABLE log; CREATE TABLE #t (a int) DROP TABLE #t DROP TABLE IF EXISTS nothing",
        "",
    );
    says(&mut b, "CREATE TABLE log (a int)", "Msg 2714");
    b.check("SELECT COUNT(*) FROM log; SELECT EVENTDATA()", "0\nNULL");
    b.check(
        "SELECT name, parent_class_desc, parent_id, is_disabled FROM sys.triggers; SELECT COUNT(*) FROM sys.objects WHERE name = 'watch'",
        "watch|DATABASE|0|0\n0",
    );
    b.check(
        "SELECT type, type_desc, event_group_type_desc FROM sys.trigger_events WHERE type_desc = 'DROP_TABLE'",
        "23|DROP_TABLE|DDL_DATABASE_LEVEL_EVENTS",
    );
}

#[test]
fn a_trigger_takes_a_statement_back() {
    let mut b = watched();
    b.run(
        "CREATE TRIGGER safe ON DATABASE FOR DROP_TABLE, ALTER_TABLE AS
         IF EXISTS (SELECT 1 FROM log WHERE command LIKE '%keep%') BEGIN PRINT 'not that one' ROLLBACK END",
    );
    b.check("CREATE TABLE keep (a int) TRUNCATE TABLE log", "");
    let said = b.run("DROP TABLE keep");
    assert!(said.contains("not that one") && said.contains("Msg 3609"), "{said}");
    b.check("INSERT keep VALUES (1); SELECT COUNT(*) FROM log", "(1)\n0");
    says(&mut b, "BEGIN TRAN INSERT keep VALUES (2) ALTER TABLE keep ADD b int", "Msg 3609");
    b.check("SELECT @@TRANCOUNT; SELECT * FROM keep", "0\n1");
    b.check("CREATE TABLE other (a int) DROP TABLE other", "");
    // Switched off and on, changed, dropped.
    b.check("DISABLE TRIGGER safe ON DATABASE ALTER TABLE keep ADD b int", "");
    b.check("SELECT is_disabled FROM sys.triggers WHERE name = 'safe'", "1");
    b.check("ENABLE TRIGGER ALL ON DATABASE", "");
    says(&mut b, "DROP TABLE keep", "Msg 3609");
    says(&mut b, "ENABLE TRIGGER nope ON DATABASE", "Msg 1088");
    b.run("ALTER TRIGGER safe ON DATABASE FOR DROP_TABLE AS THROW 50001, 'never', 1");
    says(&mut b, "DROP TABLE keep", "Msg 50001: never");
    b.check("SELECT COUNT(*) FROM keep; DROP TRIGGER safe ON DATABASE DROP TABLE keep", "1");
    says(&mut b, "DROP TRIGGER safe ON DATABASE", "Msg 3701");
    b.check("DROP TRIGGER IF EXISTS safe ON DATABASE", "");
    let twice = b.run("CREATE TRIGGER watch ON DATABASE FOR CREATE_TABLE AS PRINT 'x'");
    assert!(twice.contains("Msg 2714"), "{twice}");
    // A table may have its name, and it no schema.
    b.check("CREATE TABLE watch (a int)", "");
    says(&mut b, "CREATE TRIGGER dbo.x ON DATABASE FOR CREATE_TABLE AS PRINT 'x'", "Msg 1094");
    says(
        &mut b,
        "CREATE TRIGGER x ON DATABASE FOR NO_SUCH_EVENT AS PRINT 'x'",
        "Msg 1084: 'NO_SUCH_EVENT' is an invalid event type.",
    );
    says(&mut b, "CREATE TRIGGER x ON DATABASE FOR RENAME AS PRINT 'x'", "Msg 40510");
    says(&mut b, "CREATE TRIGGER x ON DATABASE FOR LOGON AS PRINT 'x'", "Msg 1098");
}

#[test]
fn no_cascade_where_a_trigger_stands_instead() {
    let mut b = Bench::new();
    b.check("CREATE TABLE p (id int PRIMARY KEY) CREATE TABLE c (id int)", "");
    b.run("CREATE TRIGGER t ON c INSTEAD OF DELETE AS PRINT 'no'");
    b.check(
        "ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES p ON DELETE CASCADE",
        "Msg 1787: Cannot define foreign key constraint 'fk' with cascaded DELETE or UPDATE on table 'c' because the table has an \
         INSTEAD OF DELETE or UPDATE TRIGGER defined on it.",
    );
    b.check("ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES p ON UPDATE CASCADE", "");
}

#[test]
fn a_trigger_fires_itself_where_the_database_says_so() {
    let mut b = Bench::new();
    b.check("CREATE TABLE n (left_over int)", "");
    b.run(
        "CREATE TRIGGER again ON n FOR INSERT AS
         SET NOCOUNT ON
         INSERT n SELECT left_over - 1 FROM inserted WHERE left_over > 0",
    );
    b.check("INSERT n VALUES (3); SELECT COUNT(*) FROM n", "(1)\n2");
    b.check("ALTER DATABASE CURRENT SET RECURSIVE_TRIGGERS ON", "");
    b.check("SELECT is_recursive_triggers_on FROM sys.databases WHERE name = DB_NAME()", "1");
    says(&mut b, "INSERT n VALUES (3)", "Msg 217");
    b.run(
        "ALTER TRIGGER again ON n FOR INSERT AS
         SET NOCOUNT ON
         IF EXISTS (SELECT 1 FROM inserted WHERE left_over > 0) INSERT n SELECT left_over - 1 FROM inserted WHERE left_over > 0",
    );
    b.check(
        "TRUNCATE TABLE n; INSERT n VALUES (3); SELECT left_over FROM n ORDER BY 1",
        "(1)\n0\n1\n2\n3",
    );
}
