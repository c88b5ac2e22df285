//! CHECK and FOREIGN KEY: on every way in which rows come, change and go; cascades; switched off
//! and on; with other sessions.

use crate::support::text::{Bench, Text, fails};

const CHECK: &str = "conflicted with the CHECK constraint";
const PARENT: &str = "conflicted with the FOREIGN KEY constraint";
const CHILD: &str = "conflicted with the REFERENCE constraint";

/// A batch fails with 547 and says this.
#[track_caller]
fn breaks(b: &mut Bench, sql: &str, what: &str) {
    let said = b.run(sql);
    assert!(said.contains("Msg 547: The ") && said.contains(what), "{sql}\n{said}");
}

#[test]
fn check_holds_on_every_way_in() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE c (id int PRIMARY KEY, n int NULL CONSTRAINT positive CHECK (n > 0), s varchar(10) NULL,
                         CONSTRAINT both_or_none CHECK ((n IS NULL AND s IS NULL) OR n < 100 OR s LIKE 'big%'))",
        "",
    );
    b.check(
        "INSERT c VALUES (1, 5, NULL); INSERT c VALUES (2, NULL, NULL), (3, 200, 'bigger')",
        "(1)\n(2)",
    );
    b.check(
        "INSERT c VALUES (4, 0, 'x')",
        "Msg 547: The INSERT statement conflicted with the CHECK constraint \"positive\". The conflict occurred in \
         database \"t\", table \"dbo.c\", column 'n'.",
    );
    b.check(
        "INSERT c VALUES (4, 150, 'x')",
        "Msg 547: The INSERT statement conflicted with the CHECK constraint \"both_or_none\". The conflict occurred in \
         database \"t\", table \"dbo.c\".",
    );
    breaks(&mut b, "INSERT c VALUES (4, 1, 'x'), (5, -1, 'x')", CHECK);
    breaks(&mut b, "INSERT c SELECT id + 10, -n, s FROM c", CHECK);
    breaks(&mut b, "UPDATE c SET n = n - 5", CHECK);
    breaks(&mut b, "UPDATE c SET s = 'small' WHERE id = 3", CHECK);
    b.check("UPDATE c SET n = n + 1; SELECT SUM(n), COUNT(*) FROM c", "(3)\n207|3");
    b.check(
        "CREATE TABLE src (id int, n int, s varchar(10)); INSERT src VALUES (20, 1, 'a'), (21, -1, 'a')",
        "(2)",
    );
    breaks(&mut b, "INSERT c SELECT * FROM src", CHECK);
    b.check("SELECT COUNT(*) FROM c", "3");
    b.check(
        "SELECT name, definition FROM sys.check_constraints ORDER BY 1",
        "both_or_none|([n] IS NULL AND [s] IS NULL OR [n]<(100) OR [s] like 'big%')\npositive|([n]>(0))",
    );
}

#[test]
fn check_is_added_switched_and_dropped() {
    let mut b = Bench::new();
    b.check("CREATE TABLE c (n int); INSERT c VALUES (1), (-1)", "(2)");
    breaks(
        &mut b,
        "ALTER TABLE c ADD CONSTRAINT k CHECK (n > 0)",
        "The ALTER TABLE statement conflicted with the CHECK",
    );
    b.check("ALTER TABLE c WITH NOCHECK ADD CONSTRAINT k CHECK (n > 0)", "");
    breaks(&mut b, "INSERT c VALUES (-2)", CHECK);
    b.check("SELECT is_not_trusted, is_disabled FROM sys.check_constraints", "1|0");
    b.check("ALTER TABLE c NOCHECK CONSTRAINT k; INSERT c VALUES (-2)", "(1)");
    breaks(&mut b, "ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL", CHECK);
    b.check("DELETE c WHERE n < 0; ALTER TABLE c WITH CHECK CHECK CONSTRAINT k", "(2)");
    b.check("SELECT is_not_trusted, is_disabled FROM sys.check_constraints", "0|0");
    breaks(&mut b, "INSERT c VALUES (-2)", CHECK);
    assert!(b.run("ALTER TABLE c DROP COLUMN n").starts_with("Msg "));
    b.check("ALTER TABLE c DROP CONSTRAINT k; INSERT c VALUES (-2)", "(1)");
    b.check("ALTER TABLE c NOCHECK CONSTRAINT k", "Msg 4917: Constraint 'k' does not exist.\nMsg 4916: Could not enable or disable the constraint. See previous errors.");
    b.check("ALTER TABLE c ADD m int NULL CHECK (m < 9); INSERT c VALUES (1, 8)", "(1)");
    breaks(&mut b, "INSERT c VALUES (1, 9)", CHECK);
    fails(&b.instance, "USE t; ALTER TABLE c ADD CHECK (x > 1)", &[207]);
    fails(&b.instance, "USE t; ALTER TABLE c ADD CHECK (n > (SELECT 1))", &[1046]);
    b = b.restart();
    breaks(&mut b, "INSERT c VALUES (1, 9)", CHECK);
}

fn family() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE p (id int PRIMARY KEY, code char(3) NOT NULL UNIQUE)", "");
    b.check(
        "CREATE TABLE c (id int PRIMARY KEY, pid int NULL CONSTRAINT fk REFERENCES p, code char(3) NULL,
                         FOREIGN KEY (code) REFERENCES p (code))",
        "",
    );
    b.check("INSERT p VALUES (1, 'aaa'), (2, 'bbb'), (3, 'ccc'); INSERT c VALUES (10, 1, 'bbb'), (11, NULL, NULL)", "(3)\n(2)");
    b
}

#[test]
fn children_have_parents() {
    let mut b = family();
    b.check(
        "INSERT c VALUES (12, 9, NULL)",
        "Msg 547: The INSERT statement conflicted with the FOREIGN KEY constraint \"fk\". The conflict occurred in \
         database \"t\", table \"dbo.p\", column 'id'.",
    );
    breaks(&mut b, "INSERT c VALUES (12, 1, 'zzz')", PARENT);
    breaks(&mut b, "INSERT c VALUES (12, 1, NULL), (13, 4, NULL)", PARENT);
    breaks(&mut b, "UPDATE c SET pid = 8 WHERE id = 11", PARENT);
    b.check("UPDATE c SET pid = 3 WHERE id = 11; UPDATE c SET id = id + 100", "(1)\n(2)");
    b.check("SELECT id, pid, code FROM c ORDER BY id", "110|1|bbb\n111|3|NULL");
    b.check("INSERT c SELECT id, id, code FROM p", "(3)");
    b.check("INSERT c SELECT 50, MAX(id), NULL FROM p; SELECT COUNT(*) FROM c", "(1)\n6");
}

#[test]
fn parents_with_children_stay() {
    let mut b = family();
    b.check(
        "DELETE p WHERE id = 1",
        "Msg 547: The DELETE statement conflicted with the REFERENCE constraint \"fk\". The conflict occurred in \
         database \"t\", table \"dbo.c\", column 'pid'.",
    );
    breaks(&mut b, "DELETE p WHERE id = 2", CHILD);
    breaks(&mut b, "UPDATE p SET id = id + 100", CHILD);
    breaks(&mut b, "UPDATE p SET code = 'xxx' WHERE id = 2", CHILD);
    b.check(
        "UPDATE p SET code = 'zzz' WHERE id = 3; UPDATE p SET code = code; DELETE p WHERE id = 3",
        "(1)\n(3)\n(1)",
    );
    b.check(
        "UPDATE c SET pid = NULL, code = NULL; DELETE p; SELECT COUNT(*) FROM p",
        "(2)\n(2)\n0",
    );
    let i = b.instance.clone();
    fails(&i, "USE t; DROP TABLE p", &[3726]);
    fails(&i, "USE t; TRUNCATE TABLE p", &[4712]);
    b.check("DROP TABLE c; TRUNCATE TABLE p; DROP TABLE p", "");
}

#[test]
fn keys_may_change_places_within_a_statement() {
    let mut b = family();
    // Another row takes the key that a child refers to.
    b.check("UPDATE p SET id = CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE id END", "(3)");
    b.check("SELECT id, code FROM p ORDER BY id", "1|bbb\n2|aaa\n3|ccc");
}

#[test]
fn a_table_that_refers_to_itself() {
    let mut b = Bench::new();
    b.check("CREATE TABLE e (id int PRIMARY KEY, boss int NULL, CONSTRAINT chain FOREIGN KEY (boss) REFERENCES e (id))", "");
    // Within one statement the order does not matter.
    b.check("INSERT e VALUES (2, 1), (3, 2), (1, NULL)", "(3)");
    breaks(&mut b, "INSERT e VALUES (4, 9)", "FOREIGN KEY SAME TABLE constraint");
    breaks(&mut b, "DELETE e WHERE id = 2", "SAME TABLE REFERENCE constraint");
    b.check(
        "INSERT e VALUES (5, 5); DELETE e WHERE id IN (2, 3); DELETE e; SELECT COUNT(*) FROM e",
        "(1)\n(2)\n(2)\n0",
    );
    let i = b.instance.clone();
    fails(
        &i,
        "USE t; ALTER TABLE e ADD FOREIGN KEY (boss) REFERENCES e ON DELETE CASCADE",
        &[1785, 1750],
    );
}

#[test]
fn cascades_go_down_and_set_values() {
    let mut b = Bench::new();
    b.check("CREATE TABLE p (id int PRIMARY KEY, x int)", "");
    b.check("CREATE TABLE c (id int PRIMARY KEY, pid int NOT NULL REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE)", "");
    b.check(
        "CREATE TABLE g (id int PRIMARY KEY, cid int NULL REFERENCES c ON DELETE SET NULL)",
        "",
    );
    b.check("CREATE TABLE d (id int PRIMARY KEY, pid int NULL DEFAULT 3 REFERENCES p ON DELETE SET DEFAULT ON UPDATE SET NULL)", "");
    b.check(
        "SET NOCOUNT ON; INSERT p VALUES (1, 0), (2, 0), (3, 0); INSERT c VALUES (10, 1), (11, 1), (12, 2);
         INSERT g VALUES (100, 10), (101, 12), (102, NULL); INSERT d VALUES (1000, 1), (1001, 2)",
        "",
    );
    b.check("SET NOCOUNT OFF; DELETE p WHERE id = 1; SELECT @@ROWCOUNT", "(1)\n1");
    b.check("SELECT id, pid FROM c", "12|2");
    b.check("SELECT id, cid FROM g ORDER BY id", "100|NULL\n101|12\n102|NULL");
    b.check("SELECT id, pid FROM d ORDER BY id", "1000|3\n1001|2");
    b.check(
        "UPDATE p SET id = id + 100; SELECT id, pid FROM c; SELECT id, pid FROM d ORDER BY id",
        "(2)\n12|102\n1000|NULL\n1001|NULL",
    );
    b.check(
        "UPDATE p SET x = 1; UPDATE p SET id = id; SELECT COUNT(*) FROM c WHERE pid = 102",
        "(2)\n(2)\n1",
    );
    b.check(
        "BEGIN TRAN; DELETE p; SELECT COUNT(*) FROM c; ROLLBACK; SELECT COUNT(*) FROM c",
        "(2)\n0\n1",
    );
    // What a cascade breaks, the statement breaks.
    b.check("CREATE TABLE h (cid int REFERENCES c); INSERT h VALUES (12)", "(1)");
    breaks(&mut b, "DELETE p WHERE id = 102", CHILD);
    b.check("SELECT COUNT(*) FROM p; SELECT COUNT(*) FROM c", "2\n1");
    let i = b.instance.clone();
    fails(
        &i,
        "USE t; CREATE TABLE z (a int REFERENCES p ON DELETE CASCADE, b int REFERENCES c ON DELETE CASCADE)",
        &[1785, 1750],
    );
    fails(
        &i,
        "USE t; ALTER TABLE p ADD FOREIGN KEY (x) REFERENCES c ON DELETE CASCADE",
        &[1785, 1750],
    );
}

#[test]
fn a_cascade_that_sets_values_starts_no_delete() {
    let mut b = Bench::new();
    b.check("CREATE TABLE team (id int PRIMARY KEY); INSERT team VALUES (1), (2)", "(2)");
    b.check(
        "CREATE TABLE man (id int PRIMARY KEY, team int NULL REFERENCES team ON DELETE SET NULL)",
        "",
    );
    b.check("INSERT man VALUES (10, 1), (20, 2), (30, 1)", "(3)");
    // By way of `man` a DELETE of `team` does not come to it: its rows stay.
    b.check(
        "CREATE TABLE visit (man int REFERENCES man ON DELETE CASCADE, team int REFERENCES team ON DELETE CASCADE)",
        "",
    );
    b.check("INSERT visit VALUES (10, 1), (10, 2), (20, 1), (30, 2)", "(4)");
    b.check("DELETE team WHERE id = 1", "(1)");
    b.check("SELECT id, team FROM man ORDER BY id", "10|NULL\n20|2\n30|NULL");
    b.check("SELECT man, team FROM visit ORDER BY man", "10|2\n30|2");
    b.check("DELETE man WHERE id = 30; SELECT man, team FROM visit", "(1)\n10|2");
    // A DELETE and an UPDATE are two beginnings.
    b.check("CREATE TABLE apart (a int REFERENCES team ON DELETE CASCADE, b int REFERENCES team ON UPDATE CASCADE)", "");
    let i = b.instance.clone();
    for circle in [
        "CREATE TABLE z (a int NULL REFERENCES team ON DELETE SET NULL, b int NULL REFERENCES team ON DELETE SET NULL)",
        "CREATE TABLE z (id int PRIMARY KEY, up int NULL REFERENCES z ON DELETE SET NULL)",
        "ALTER TABLE team ADD chief int NULL REFERENCES man ON DELETE CASCADE",
    ] {
        fails(&i, &format!("USE t; {circle}"), &[1785, 1750]);
    }
}

#[test]
fn foreign_keys_of_several_columns() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE p (a int, b varchar(5), PRIMARY KEY (a, b)); INSERT p VALUES (1, 'x'), (1, 'y')",
        "(2)",
    );
    b.check(
        "CREATE TABLE c (b varchar(5), a int, CONSTRAINT two FOREIGN KEY (a, b) REFERENCES p (a, b))",
        "",
    );
    b.check("INSERT c VALUES ('x', 1), ('z', NULL), (NULL, 9)", "(3)");
    b.check(
        "INSERT c VALUES ('z', 1)",
        "Msg 547: The INSERT statement conflicted with the FOREIGN KEY constraint \"two\". The conflict occurred in \
         database \"t\", table \"dbo.p\".",
    );
    breaks(&mut b, "DELETE p WHERE b = 'x'", CHILD);
    b.check("DELETE p WHERE b = 'y'", "(1)");
    b.check(
        "SELECT OBJECT_NAME(constraint_object_id), parent_column_id, referenced_column_id FROM sys.foreign_key_columns",
        "two|2|1\ntwo|1|2",
    );
}

#[test]
fn foreign_keys_that_cannot_be() {
    let mut b = family();
    let i = b.instance.clone();
    let say = |sql: &str, number: i32| {
        fails(&i, &format!("USE t; {sql}"), &[number]);
    };
    // Of the constraint: 1750 follows.
    let refused = |sql: &str, number: i32| {
        fails(&i, &format!("USE t; {sql}"), &[number, 1750]);
    };
    refused("CREATE TABLE z (a int REFERENCES missing)", 1767);
    refused("CREATE TABLE z (a int REFERENCES p (missing))", 1770);
    refused("CREATE TABLE z (a int, FOREIGN KEY (b) REFERENCES p)", 1769);
    say("CREATE TABLE z (a int, b int, FOREIGN KEY (a, b) REFERENCES p)", 8139);
    refused("CREATE TABLE z (a bigint REFERENCES p)", 1778);
    refused("CREATE TABLE z (a char(4) REFERENCES p (code))", 1753);
    refused("CREATE TABLE z (a int REFERENCES c (pid))", 1776);
    refused("CREATE TABLE z (a int NOT NULL REFERENCES p ON DELETE SET NULL)", 1761);
    refused("CREATE TABLE z (a int NOT NULL REFERENCES p ON DELETE SET DEFAULT)", 1762);
    refused("CREATE TABLE z (a int CONSTRAINT fk REFERENCES p)", 2714);
    say("SELECT * FROM z", 208);
    fails(&i, "USE t; ALTER TABLE c DROP COLUMN pid", &[5074, 4922]);
    fails(&i, "USE t; ALTER TABLE p DROP COLUMN id", &[5074, 4922]);
    b.check("CREATE TABLE heap (a int)", "");
    refused("CREATE TABLE z (a int REFERENCES heap)", 1773);
    let name = b
        .run("SELECT name FROM sys.key_constraints WHERE type = 'PK' AND parent_object_id = OBJECT_ID('p')")
        .trim()
        .to_owned();
    fails(&i, &format!("USE t; ALTER TABLE p DROP CONSTRAINT {name}"), &[3725, 3727]);
}

#[test]
fn switched_off_and_on() {
    let mut b = family();
    b.check(
        "ALTER TABLE c NOCHECK CONSTRAINT fk; INSERT c VALUES (12, 99, NULL); DELETE p WHERE id = 1",
        "(1)\n(1)",
    );
    breaks(
        &mut b,
        "ALTER TABLE c WITH CHECK CHECK CONSTRAINT fk",
        "The ALTER TABLE statement conflicted with the FOREIGN KEY",
    );
    b.check("ALTER TABLE c CHECK CONSTRAINT fk; SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk'", "0|1");
    breaks(&mut b, "INSERT c VALUES (13, 99, NULL)", PARENT);
    b.check("UPDATE c SET pid = 3; ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL", "(3)");
    b.check("SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk'", "0|0");
    b.check("ALTER TABLE c DROP CONSTRAINT fk; DELETE p WHERE id = 3", "(1)");
    breaks(
        &mut b,
        "ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p",
        "The ALTER TABLE statement",
    );
    b.check("ALTER TABLE c WITH NOCHECK ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p", "");
    b = b.restart();
    breaks(&mut b, "INSERT c VALUES (14, 99, NULL)", PARENT);
    b.check(
        "SELECT OBJECT_NAME(parent_object_id), OBJECT_NAME(referenced_object_id), delete_referential_action_desc
         FROM sys.foreign_keys WHERE name = 'fk'",
        "c|p|NO_ACTION",
    );
}

/// Of two transactions, one that adds a child and one that takes its parent away, never do both go
/// through.
#[test]
fn a_child_and_the_end_of_its_parent_at_once() {
    let mut b = family();
    b.check("SET NOCOUNT ON; DELETE c; DELETE p; INSERT p SELECT 1, 'aaa'", "");
    let instance = b.instance.clone();
    for round in 0..40 {
        b.check(&format!("DELETE c; DELETE p; INSERT p VALUES ({round}, 'k')"), "");
        let session = |sql: String| {
            let instance = instance.clone();
            std::thread::spawn(move || {
                let mut session = instance.session().unwrap();
                session.use_database("t").unwrap();
                let mut said = Text::default();
                session.execute(&sql, &mut said);
                said.out
            })
        };
        let child = session(format!("BEGIN TRAN; INSERT c VALUES (1, {round}, NULL); COMMIT"));
        let parent = session(format!("BEGIN TRAN; DELETE p WHERE id = {round}; COMMIT"));
        let (child, parent) = (child.join().unwrap(), parent.join().unwrap());
        b.check(
            "SELECT COUNT(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.id = c.pid)",
            "0",
        );
        assert!(child.contains("Msg") || parent.contains("Msg"), "{round}: {child} {parent}");
    }
}

#[test]
fn bulk_loads_leave_constraints_out_unless_told() {
    let mut b = family();
    let db = "t.dbo.c";
    let options =
        |ignore: bool| engine::BulkOptions { ignore_constraints: ignore, ..Default::default() };
    let mut load = |ignore: bool| {
        let mut rows =
            vec![vec![engine::Value::Int(70), engine::Value::Int(77), engine::Value::Null]]
                .into_iter();
        let mut next = move |row: &mut [engine::Value]| match rows.next() {
            Some(values) => {
                row.clone_from_slice(&values);
                Ok(true)
            }
            None => Ok(false),
        };
        b.session.bulk_insert(db, &[], &options(ignore), &mut next)
    };
    assert_eq!(load(false).unwrap_err().number, 547);
    assert_eq!(load(true).unwrap(), 1);
}

#[test]
fn a_constraint_that_cannot_be_has_two_errors() {
    let mut b = Bench::new();
    let i = b.instance.clone();
    b.check(
        "CREATE TABLE k (a int NOT NULL, b int CONSTRAINT d DEFAULT 1); INSERT k VALUES (1, 1), (1, 2)",
        "(2)",
    );
    let refused = |sql: &str, number: i32| {
        fails(&i, &format!("USE t; {sql}"), &[number, 1750]);
    };
    refused("CREATE TABLE #bad (bad int NULL PRIMARY KEY)", 8111);
    refused("CREATE TABLE z (a int, b int NULL, PRIMARY KEY (a, b))", 8111);
    refused("CREATE TABLE z (a int NULL, b int NULL CONSTRAINT pk PRIMARY KEY (a))", 8111);
    refused("CREATE TABLE z (a int PRIMARY KEY, b int PRIMARY KEY)", 8110);
    refused("ALTER TABLE k ADD PRIMARY KEY (a)", 1505);
    refused("ALTER TABLE k ADD DEFAULT 2 FOR b", 1781);
    refused("ALTER TABLE k ADD CONSTRAINT d CHECK (a > 0)", 2714);
    // An index is none.
    fails(&i, "USE t; CREATE UNIQUE INDEX u ON k (a)", &[1505]);
    // A CATCH sees the last, and the client neither.
    b.check(
        "BEGIN TRY CREATE TABLE z (a int REFERENCES none) END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH",
        "1750",
    );
}

#[test]
fn a_key_of_the_table_without_a_comma_before_it_is_of_the_columns_that_it_names() {
    let mut b = Bench::new();
    b.check("CREATE TABLE k (id int, b int NULL CONSTRAINT pk PRIMARY KEY CLUSTERED (id))", "");
    b.check("CREATE TABLE one (id int, b int NULL UNIQUE (b, id))", "");
    b.check(
        "SELECT name, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('k');
         SELECT COL_NAME(object_id, column_id) FROM sys.index_columns WHERE object_id = OBJECT_ID('k')",
        "id|0\nb|1\nid",
    );
    b.check("ALTER TABLE one ADD c int NOT NULL DEFAULT 1, d int NULL CONSTRAINT pk_one PRIMARY KEY (c)", "");
    b.check(
        "SELECT name, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('one')",
        "id|1\nb|1\nc|0\nd|1",
    );
}

#[test]
fn keys_of_a_new_table_are_trusted() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE up (id int PRIMARY KEY, p int CONSTRAINT inside REFERENCES up (id));
         CREATE TABLE down (p int, CONSTRAINT below FOREIGN KEY (p) REFERENCES up);
         ALTER TABLE down ADD q int CONSTRAINT later REFERENCES up;
         ALTER TABLE down WITH NOCHECK ADD CONSTRAINT never FOREIGN KEY (q) REFERENCES up",
        "",
    );
    b.check(
        "SELECT name, is_not_trusted FROM sys.foreign_keys ORDER BY name",
        "below|0\ninside|0\nlater|0\nnever|1",
    );
}

#[test]
fn names_of_constraints_are_those_of_their_schema() {
    let mut b = Bench::new();
    b.check("EXEC ('CREATE SCHEMA s')", "");
    let table = |schema: &str| {
        format!(
            "CREATE TABLE {schema}.t (id int CONSTRAINT pk PRIMARY KEY, up int CONSTRAINT fk REFERENCES {schema}.t,
                n int CONSTRAINT df DEFAULT 1 CONSTRAINT ck CHECK (n > 0), CONSTRAINT uq UNIQUE (n))"
        )
    };
    b.check(&table("dbo"), "");
    b.check(&table("s"), "");
    b.check(
        "EXEC ('CREATE VIEW s.v AS SELECT 1 AS x'); EXEC ('CREATE VIEW dbo.v AS SELECT 2 AS x')",
        "",
    );
    b.check("SELECT (SELECT x FROM v), (SELECT x FROM s.v)", "2|1");
    b.check(
        "SELECT SCHEMA_NAME(schema_id), COUNT(*) FROM sys.objects WHERE name IN ('pk', 'fk', 'df', 'ck', 'uq')
         GROUP BY SCHEMA_NAME(schema_id) ORDER BY 1",
        "dbo|5\ns|5",
    );
    let i = b.instance.clone();
    fails(&i, "USE t; CREATE TABLE s.ck (a int)", &[2714]);
    fails(&i, "USE t; CREATE TABLE s.other (a int CONSTRAINT v CHECK (a > 0))", &[2714, 1750]);
    b.check("ALTER TABLE s.t DROP CONSTRAINT ck; INSERT s.t VALUES (1, NULL, -1)", "(1)");
    b.check("ALTER TABLE s.t ADD CONSTRAINT free CHECK (n < 0)", "");
}

#[test]
fn rows_that_a_constraint_would_refuse_are_found() {
    let mut b = Bench::new();
    b.check("DBCC CHECKCONSTRAINTS WITH NO_INFOMSGS", "");
    b.check(
        "CREATE TABLE parent (a int, b varchar(5), PRIMARY KEY (a, b)); INSERT parent VALUES (1, 'x');
         CREATE TABLE child (id int PRIMARY KEY, a int, b varchar(5), bits varbinary(4), n int);
         INSERT child VALUES (1, 1, 'x', 0xFF, 5), (2, 2, 'it''s', 0x0A, 5), (3, NULL, 'y', NULL, -5), (4, 1, NULL, 0x01, NULL)",
        "(1)\n(4)",
    );
    b.check(
        "ALTER TABLE child WITH NOCHECK ADD CONSTRAINT of_parent FOREIGN KEY (a, b) REFERENCES parent,
             CONSTRAINT positive CHECK (n > 0), CONSTRAINT small CHECK (bits < 0x10 OR n IS NULL)",
        "",
    );
    let key = "[dbo].[child]|[of_parent]|[a] = '2' AND [b] = 'it''s'";
    let positive = "[dbo].[child]|[positive]|[n] = '-5'";
    let small = "[dbo].[child]|[small]|[bits] = '0xFF' AND [n] = '5'";
    let lines = |found: &[&str]| found.join("\n");
    b.check("DBCC CHECKCONSTRAINTS WITH NO_INFOMSGS", &lines(&[positive, small, key]));
    b.check("DBCC CHECKCONSTRAINTS ('child') WITH NO_INFOMSGS", &lines(&[positive, small, key]));
    b.check("DBCC CHECKCONSTRAINTS ('dbo.of_parent') WITH NO_INFOMSGS", key);
    b.check(
        "DECLARE @id int = OBJECT_ID('positive'); DBCC CHECKCONSTRAINTS (@id) WITH NO_INFOMSGS",
        positive,
    );
    let said = b.run("DBCC CHECKCONSTRAINTS ('nowhere')");
    assert!(said.starts_with("Msg 2501"), "{said}");
    // What is switched off is asked for by name or with ALL_CONSTRAINTS.
    b.check("ALTER TABLE child NOCHECK CONSTRAINT of_parent, small", "");
    b.check("DBCC CHECKCONSTRAINTS ('child') WITH NO_INFOMSGS", positive);
    b.check(
        "DBCC CHECKCONSTRAINTS WITH ALL_CONSTRAINTS, NO_INFOMSGS",
        &lines(&[positive, small, key]),
    );
    b.check("DBCC CHECKCONSTRAINTS ('of_parent') WITH NO_INFOMSGS", key);
    // A constraint that is trusted is not looked at without being named.
    b.check(
        "UPDATE child SET n = 5 WHERE n < 0; ALTER TABLE child WITH CHECK CHECK CONSTRAINT positive",
        "(1)",
    );
    b.check("DBCC CHECKCONSTRAINTS WITH NO_INFOMSGS", "");
    // Two hundred rows, or all.
    b.check(
        "CREATE TABLE many (n int); INSERT many SELECT -value FROM GENERATE_SERIES(1, 300);
         ALTER TABLE many WITH NOCHECK ADD CONSTRAINT up CHECK (n > 0)",
        "(300)",
    );
    assert_eq!(b.run("DBCC CHECKCONSTRAINTS ('many') WITH NO_INFOMSGS").lines().count(), 200);
    assert_eq!(
        b.run("DBCC CHECKCONSTRAINTS ('many') WITH ALL_ERRORMSGS, NO_INFOMSGS").lines().count(),
        300
    );
}
