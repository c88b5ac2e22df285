//! INSERT, UPDATE, DELETE, SELECT INTO: values, defaults, identity, errors, indexes kept in step,
//! conflicts of sessions.

use crate::support::text::{Bench, Text};

#[test]
fn insert_values_defaults_identity() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int IDENTITY(10, 5) PRIMARY KEY, a varchar(5) NOT NULL DEFAULT 'dflt', n int, d decimal(6,2) DEFAULT 1.5)", "");
    b.check("INSERT t (n) VALUES (1), (2); INSERT t VALUES ('x', DEFAULT, DEFAULT); INSERT t DEFAULT VALUES; SELECT * FROM t",
        "(2)\n(1)\n(1)\n10|dflt|1|1.50\n15|dflt|2|1.50\n20|x|NULL|1.50\n25|dflt|NULL|1.50");
    b.check("SELECT SCOPE_IDENTITY(), @@IDENTITY, IDENT_CURRENT('t')", "25|25|25");
    b.check("INSERT t (id) VALUES (1)", "Msg 544: Cannot insert explicit value for identity column in table 't' when IDENTITY_INSERT is set to OFF.");
    b.check("SET IDENTITY_INSERT t ON; INSERT t (id, n) VALUES (100, 9); SET IDENTITY_INSERT t OFF; INSERT t (n) VALUES (8); SELECT id, n FROM t WHERE id > 50",
        "(1)\n(1)\n100|9\n105|8");
    b.check("INSERT t VALUES (NULL, 1, 1)", "Msg 515: Cannot insert the value NULL into column 'a', table 't.dbo.t'; column does not allow nulls. INSERT fails.");
    b.check("INSERT t VALUES ('toolong', 1, 1)",
        "Msg 2628: String or binary data would be truncated in table 't.dbo.t', column 'a'. Truncated value: 'toolo'.");
    b.check(
        "INSERT t VALUES ('a', 1)",
        "Msg 213: Column name or number of supplied values does not match table definition.",
    );
    b.check("INSERT t (a, n) VALUES ('a')", "Msg 109: There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.");
    b.check(
        "INSERT t (a, d) VALUES ('a', 12345.678)",
        "Msg 8115: Arithmetic overflow error converting numeric to data type numeric.",
    );
    b.check("INSERT t (zzz) VALUES (1)", "Msg 207: Invalid column name 'zzz'.");
}

#[test]
fn unique_keys() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int CONSTRAINT pk PRIMARY KEY, a varchar(10) CONSTRAINT uq UNIQUE, n int); CREATE UNIQUE INDEX ux ON t (n)", "");
    b.check("INSERT t VALUES (1, 'a', 1), (2, 'b', 2)", "(2)");
    b.check("INSERT t VALUES (1, 'c', 3)", "Msg 2627: Violation of PRIMARY KEY constraint 'pk'. Cannot insert duplicate key in object 'dbo.t'. The duplicate key value is (1).");
    b.check("INSERT t VALUES (3, 'A', 3)", "Msg 2627: Violation of UNIQUE KEY constraint 'uq'. Cannot insert duplicate key in object 'dbo.t'. The duplicate key value is (A).");
    b.check("INSERT t VALUES (3, 'c', 2)", "Msg 2601: Cannot insert duplicate key row in object 'dbo.t' with unique index 'ux'. The duplicate key value is (2).");
    b.check("UPDATE t SET n = 1 WHERE id = 2", "Msg 2601: Cannot insert duplicate key row in object 'dbo.t' with unique index 'ux'. The duplicate key value is (1).");
    b.check(
        "SELECT * FROM t; SELECT a FROM t WHERE n = 2; SELECT n FROM t WHERE a = 'B'",
        "1|a|1\n2|b|2\nb\n2",
    );
    b.check(
        "DELETE t WHERE id = 1; INSERT t VALUES (1, 'a', 1); SELECT COUNT(*) FROM t WHERE a = 'a'",
        "(1)\n(1)\n1",
    );
}

#[test]
fn update_forms() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int PRIMARY KEY, a char(5), v varchar(20), n int, bit1 bit);
             CREATE INDEX ix ON t (n) INCLUDE (v);
             INSERT t VALUES (1, 'a', 'one', 10, 0), (2, 'b', 'two', 20, 1), (3, NULL, NULL, NULL, NULL)",
        "(3)",
    );
    b.check(
        "UPDATE t SET a = 'xy', n += 5 WHERE id < 3; SELECT * FROM t",
        "(2)\n1|xy   |one|15|0\n2|xy   |two|25|1\n3|NULL|NULL|NULL|NULL",
    );
    b.check("SELECT v FROM t WHERE n = 15; SELECT COUNT(*) FROM t WHERE n = 10", "one\n0");
    b.check(
        "UPDATE t SET a = 'q', v = 'longer than it was' WHERE a IS NULL; SELECT a, v FROM t WHERE id = 3",
        "(1)\nq    |longer than it was",
    );
    b.check("UPDATE t SET id = id + 1; SELECT id, n FROM t ORDER BY id", "(3)\n2|15\n3|25\n4|NULL");
    b.check("CREATE TABLE u (k int PRIMARY KEY, n int UNIQUE); INSERT u VALUES (1, 1), (2, 2), (3, 3);
             UPDATE u SET n = n % 3 + 1; UPDATE u SET k = 4 - k; SELECT k, n FROM u ORDER BY k; SELECT k FROM u WHERE n = 2",
        "(3)\n(3)\n(3)\n1|1\n2|3\n3|2\n3");
    b.check("UPDATE x SET n = s.k FROM t x JOIN (VALUES (2, 200), (4, 400)) s(id, k) ON s.id = x.id; SELECT id, n FROM t ORDER BY id",
        "(2)\n2|200\n3|25\n4|400");
    b.check("DECLARE @o int; UPDATE TOP (1) t SET @o = n, n = n + 1 WHERE n > 100; SELECT @o, COUNT(*) FROM t WHERE n IN (201, 401)", "(1)\n200|1");
    b.check(
        "UPDATE t SET n = (SELECT MAX(n) FROM t) WHERE id = 3; SELECT n FROM t WHERE id = 3",
        "(1)\n400",
    );
    b.check("UPDATE t SET v = REPLICATE('z', 30)", "Msg 2628: String or binary data would be truncated in table 't.dbo.t', column 'v'. Truncated value: 'zzzzzzzzzzzzzzzzzzzz'.");
    b.check("UPDATE t SET id = NULL", "Msg 515: Cannot insert the value NULL into column 'id', table 't.dbo.t'; column does not allow nulls. UPDATE fails.");
    b.check(
        "UPDATE t SET bit1 = ~bit1 WHERE bit1 IS NOT NULL; SELECT SUM(CAST(bit1 AS int)) FROM t",
        "(2)\n1",
    );
    b.check("UPDATE nowhere SET a = 1", "Msg 208: Invalid object name 'nowhere'.");
}

#[test]
fn delete_forms() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE t (id int, n int); CREATE INDEX ix ON t (n); CREATE TABLE k (n int);
           INSERT k VALUES (1), (2), (3);
           DECLARE @i int = 0; WHILE @i < 300 BEGIN INSERT t VALUES (@i, @i % 10); SET @i += 1 END",
    );
    b.check(
        "DELETE t WHERE n = 5; SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t WHERE n = 5",
        "(30)\n270\n0",
    );
    b.check(
        "DELETE x FROM t x JOIN k ON k.n = x.n WHERE x.id < 100; SELECT COUNT(*) FROM t",
        "(30)\n240",
    );
    b.check("DELETE TOP (7) FROM t; SELECT COUNT(*) FROM t", "(7)\n233");
    b.check(
        "DELETE FROM t WHERE EXISTS (SELECT * FROM k WHERE k.n = t.n); SELECT COUNT(*) FROM t",
        "(60)\n173",
    );
    b.check("BEGIN TRAN; DELETE t; SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*), COUNT(DISTINCT id) FROM t WHERE n >= 0", "(173)\n0\n173|173");
}

#[test]
fn output_clause() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int IDENTITY PRIMARY KEY, n int)", "");
    b.check("INSERT t OUTPUT inserted.id, inserted.n * 2 AS twice VALUES (5), (6)", "1|10\n2|12");
    b.check("UPDATE t SET n = n + 1 OUTPUT deleted.n, inserted.n WHERE id = 2", "6|7");
    b.check("DELETE t OUTPUT deleted.*; SELECT COUNT(*) FROM t", "1|5\n2|7\n0");
}

#[test]
fn halloween() {
    let mut b = Bench::new();
    b.run(
        "CREATE TABLE t (id int, pay int); CREATE INDEX ix ON t (pay);
           DECLARE @i int = 0; WHILE @i < 200 BEGIN INSERT t VALUES (@i, @i); SET @i += 1 END",
    );
    b.check(
        "UPDATE t WITH (INDEX(ix)) SET pay = pay + 100 WHERE pay >= 50; SELECT MAX(pay), SUM(pay) FROM t",
        "(150)\n299|34900",
    );
    b.check("INSERT t SELECT id + 1000, pay FROM t; SELECT COUNT(*) FROM t", "(200)\n400");
    b.check("UPDATE t SET pay = pay + 1; SELECT SUM(pay) FROM t", "(400)\n70200");
}

#[test]
fn select_into_and_large_values() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int IDENTITY, big varchar(max), wide nvarchar(max));
             INSERT t VALUES (REPLICATE(CAST('abc' AS varchar(max)), 20000), N'ünï'), (NULL, REPLICATE(CAST(N'x' AS nvarchar(max)), 9000))", "(2)");
    b.check(
        "SELECT LEN(big), LEN(wide), RIGHT(big, 4), LEFT(wide, 3) FROM t",
        "60000|3|cabc|ünï\nNULL|9000|NULL|xxx",
    );
    b.check(
        "UPDATE t SET big = big + 'END' WHERE id = 1; SELECT LEN(big), RIGHT(big, 5) FROM t WHERE id = 1",
        "(1)\n60003|bcEND",
    );
    b.check(
        "SELECT id, big AS b2, id * 2 AS twice INTO c FROM t; SELECT id, LEN(b2), twice FROM c",
        "(2)\n1|60003|2\n2|NULL|4",
    );
    b.check("INSERT c (b2, twice) VALUES ('n', 0); SELECT MAX(id) FROM c", "(1)\n3");
    b.check("SELECT * INTO e FROM t WHERE 1 = 2; SELECT COUNT(*) FROM e", "(0)\n0");
    b.check("SELECT 1 INTO f", "Msg 1038: An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias to a valid name.");
}

#[test]
fn repeated_clustered_keys() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (k int, v int); CREATE CLUSTERED INDEX c ON t (k); CREATE INDEX i ON t (v);
             INSERT t VALUES (1, 1), (1, 2), (2, 3), (1, 4); INSERT t VALUES (1, 5); INSERT t SELECT k, v + 10 FROM t", "(4)\n(1)\n(5)");
    b.check("SELECT COUNT(*), SUM(v) FROM t WHERE k = 1; SELECT k FROM t WHERE v = 13", "8|64\n2");
    b.check("DELETE t WHERE v = 2; INSERT t VALUES (1, 6); UPDATE t SET v = 0 WHERE k = 1; SELECT COUNT(*) FROM t WHERE v = 0", "(1)\n(1)\n(8)\n8");
}

/// Two sessions: the second waits for the row of the first and goes on from what it finds.
#[test]
fn writers_wait_for_rows() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t VALUES (1, 0), (2, 0)");
    b.check("BEGIN TRAN; UPDATE t SET n = n + 1 WHERE id = 1", "(1)");
    let instance = b.instance.clone();
    let other = std::thread::spawn(move || {
        let mut session = instance.session().unwrap();
        session.use_database("t").unwrap();
        let mut text = Text::default();
        session.execute(
            "SELECT n FROM t WHERE id = 1; UPDATE t SET n = n + 10; SELECT n FROM t",
            &mut text,
        );
        text.out
    });
    std::thread::sleep(std::time::Duration::from_millis(150));
    b.check("COMMIT", "");
    assert_eq!(other.join().unwrap(), "0\n(2)\n11\n10\n");
    b.check("BEGIN TRAN; DELETE t WHERE id = 2", "(1)");
    let mut second = b.instance.session().unwrap();
    second.use_database("t").unwrap();
    let mut text = Text::default();
    second.execute(
        "SET LOCK_TIMEOUT 50; UPDATE t SET n = 5 WHERE id = 2; SELECT COUNT(*) FROM t",
        &mut text,
    );
    assert_eq!(text.out, "Msg 1222: Lock request time out period exceeded.\n2\n");
    b.check("ROLLBACK; SELECT COUNT(*) FROM t", "2");
}

/// Subqueries of SET read the table as it was before the statement. Row by row they would meet rows
/// that have been changed already, and miss those whose new keys wait for the end.
#[test]
fn subqueries_of_set_meet_no_change_of_their_statement() {
    let sum = "(SELECT SUM(x.pos) FROM p AS x WITH (INDEX(by_pos)) WHERE x.pos <= p.pos)";
    let changes = [
        format!("UPDATE p SET pos = {sum}"),
        format!("UPDATE TOP (4) p SET pos = {sum}"),
        format!("UPDATE p SET m = 1, pos = CASE WHEN id > 0 THEN {sum} END"),
        format!(
            "MERGE p USING (VALUES (1), (2), (3), (4)) AS s (id) ON s.id = p.id
             WHEN MATCHED THEN UPDATE SET pos = {sum}"
        ),
    ];
    let levels = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "READ UNCOMMITTED"];
    for (key, unique) in [("PRIMARY KEY", "UNIQUE"), ("NOT NULL", "UNIQUE"), ("PRIMARY KEY", "")] {
        for (versions, level) in
            levels.into_iter().map(|level| ("OFF", level)).chain([("ON", levels[0])])
        {
            let mut b = Bench::new();
            b.check(
                &format!(
                    "CREATE TABLE p (id int {key}, pos int NOT NULL, m int)
                     CREATE {unique} INDEX by_pos ON p (pos)
                     CREATE {unique} INDEX by_id ON p (id) INCLUDE (m)
                     INSERT p VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)"
                ),
                "(3)",
            );
            b.check(&format!("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT {versions}"), "");
            b.check(&format!("SET TRANSACTION ISOLATION LEVEL {level}"), "");
            for change in &changes {
                // What the transaction has done before is seen.
                b.check(
                    &format!(
                        "BEGIN TRAN; INSERT p VALUES (4, 40, 0); {change}; SELECT pos FROM p ORDER BY id; ROLLBACK"
                    ),
                    "(1)\n(4)\n10\n30\n60\n100",
                );
            }
            b.check(
                "UPDATE p SET m = (SELECT COUNT(*) FROM p AS x WITH (INDEX(by_id)) WHERE x.id <= p.id);
                 SELECT m FROM p ORDER BY id",
                "(3)\n1\n2\n3",
            );
            b.check(
                "UPDATE p SET id = 100 * (SELECT COUNT(*) FROM p AS x WHERE x.id <= p.id);
                 SELECT id FROM p ORDER BY id",
                "(3)\n100\n200\n300",
            );
            b.check(
                "MERGE p USING (VALUES (1), (2), (3), (4)) AS s (n) ON p.id = 100 * s.n WHEN MATCHED THEN UPDATE SET m = 7
                 WHEN NOT MATCHED THEN INSERT VALUES (n, n, (SELECT SUM(x.m) FROM p AS x WITH (INDEX(by_id)) WHERE n < x.id));
                 SELECT id, m FROM p ORDER BY id",
                "(4)\n4|6\n100|7\n200|7\n300|7",
            );
            b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
        }
    }
}
