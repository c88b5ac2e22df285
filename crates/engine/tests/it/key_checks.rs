//! Plans of what follows a change (tests of foreign keys, cascades, rows of indexed views) that
//! were made while the other table was empty and are kept while it grows: they seek it, and read as
//! much of a large table as of a small one. Of many rows at once the different keys are sought.

use crate::support::text::{Bench, Text};

/// Pages that a batch has read of a table; of all tables without a name.
#[track_caller]
fn reads(b: &mut Bench, sql: &str, table: &str) -> u64 {
    b.check("SET STATISTICS IO ON", "");
    let said = b.run(sql);
    b.check("SET STATISTICS IO OFF", "");
    assert!(!said.contains("Msg "), "{sql}: {said}");
    let of = |line: &&str| match table {
        "" => line.starts_with("Table '"),
        name => line.starts_with(&format!("Table '{name}'")),
    };
    let number = |line: &str| {
        let at =
            line.find(", logical reads ").expect("a count of reads") + ", logical reads ".len();
        let digits: String = line[at..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a number")
    };
    said.lines().filter(of).map(number).sum()
}

/// A statement with `@a` and `@b`: one text and one plan for all values.
fn call(sql: &str, a: i64, b: &str) -> String {
    format!("EXEC sp_executesql N'{sql}', N'@a bigint, @b bigint', {a}, {b}")
}

fn quiet(b: &mut Bench, sql: &str) {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
}

/// More than the way down an index, and far less than the pages of a large table.
const FEW: u64 = 12;

#[test]
fn a_new_row_seeks_a_parent_that_was_empty_when_its_plan_was_made() {
    for insert in [
        "INSERT child VALUES (@a, @b)",
        "INSERT child SELECT @a, @b",
        "MERGE child AS c USING (SELECT @a AS a, @b AS b) AS s ON c.id = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b);",
    ] {
        let mut b = Bench::new();
        quiet(
            &mut b,
            "CREATE TABLE parent (id bigint NOT NULL PRIMARY KEY)
             CREATE TABLE child (id bigint NOT NULL PRIMARY KEY, p bigint REFERENCES parent (id))",
        );
        quiet(&mut b, &call(insert, -1, "NULL"));
        quiet(&mut b, "INSERT parent SELECT value FROM GENERATE_SERIES(0, 19999)");
        let read = reads(&mut b, &call(insert, 1, "12345"), "parent");
        assert!((1..=FEW).contains(&read), "{insert}: {read}");
        b.fails(&call(insert, 2, "20000"), 547);
    }
}

#[test]
fn a_row_that_refers_to_its_own_table_seeks_it() {
    let mut b = Bench::new();
    quiet(
        &mut b,
        "CREATE TABLE tree (id bigint NOT NULL PRIMARY KEY, up bigint NULL REFERENCES tree (id))",
    );
    let insert = "INSERT tree VALUES (@a, @b)";
    quiet(&mut b, &call(insert, 0, "NULL"));
    quiet(&mut b, "INSERT tree SELECT value, value - 1 FROM GENERATE_SERIES(1, 20000)");
    let read = reads(&mut b, &call(insert, 30_000, "12345"), "tree");
    assert!((1..=FEW).contains(&read), "{read}");
    b.fails(&call(insert, 30_001, "40000"), 547);
}

#[test]
fn a_parent_that_goes_seeks_children_that_were_not_there_when_its_plan_was_made() {
    for (action, change) in [
        ("", "DELETE node WHERE id = @a AND id > @b"),
        ("", "UPDATE node SET id = id + 100000 WHERE id = @a AND id > @b"),
        ("ON DELETE CASCADE", "DELETE node WHERE id = @a AND id > @b"),
        ("ON DELETE SET NULL", "DELETE node WHERE id = @a AND id > @b"),
        ("ON UPDATE CASCADE", "UPDATE node SET id = id + 100000 WHERE id = @a AND id > @b"),
        ("ON UPDATE SET NULL", "UPDATE node SET id = id + 100000 WHERE id = @a AND id > @b"),
    ] {
        let mut b = Bench::new();
        quiet(
            &mut b,
            &format!(
                "CREATE TABLE node (id bigint NOT NULL PRIMARY KEY)
                 CREATE TABLE leaf (id int NOT NULL PRIMARY KEY, node bigint NULL REFERENCES node (id) {action},
                     pad char(100) NOT NULL DEFAULT 'x', INDEX by_node (node))
                 INSERT node SELECT value FROM GENERATE_SERIES(0, 9999)"
            ),
        );
        quiet(&mut b, &call(change, 9_000, "0"));
        quiet(
            &mut b,
            "INSERT leaf (id, node) SELECT value, value % 1000 FROM GENERATE_SERIES(1, 20000)",
        );
        let read = reads(&mut b, &call(change, 9_001, "0"), "leaf");
        assert!(read <= FEW, "{action} {change}: {read}");
        // One that has children, of which there are twenty.
        let said = b.run(&call(change, 7, "0"));
        assert_eq!(said.contains("Msg 547:"), action.is_empty(), "{action} {change}: {said}");
        let left = match action {
            "" => "20",
            _ => "0",
        };
        b.check("SELECT COUNT(*) FROM leaf WHERE node = 7", left);
    }
}

#[test]
fn many_rows_are_tested_by_a_plan_of_their_own() {
    let mut b = Bench::new();
    quiet(
        &mut b,
        "CREATE TABLE parent (id int NOT NULL PRIMARY KEY)
         CREATE TABLE child (id int NOT NULL PRIMARY KEY, p int NULL REFERENCES parent (id), INDEX by_parent (p))
         INSERT parent VALUES (1), (2), (3)",
    );
    let insert = "INSERT child SELECT value, value % 3 + 1 FROM GENERATE_SERIES(@a, @b)";
    let read = reads(&mut b, &call(insert, 1, "5000"), "parent");
    assert!((1..100).contains(&read), "not one seek for each row: {read}");
    b.fails(
        &call("INSERT child SELECT value, value FROM GENERATE_SERIES(@a, @b)", 6_000, "7000"),
        547,
    );
    b.check("SELECT COUNT(*) FROM child", "5000");
    b.fails("UPDATE child SET p = 4 WHERE id = 4000 OR p < 4", 547);
    quiet(&mut b, "UPDATE child SET p = NULL WHERE p = 1");
    quiet(&mut b, "INSERT parent SELECT value FROM GENERATE_SERIES(10, 3000)");
    b.check("DELETE parent WHERE id > 5", "(2991)");
    b.fails("DELETE parent WHERE id > 1", 547);
    b.check("DELETE parent WHERE id = 1; SELECT COUNT(*) FROM parent", "(1)\n2");
}

/// An index that begins with a part of a key has many rows for each: it is not sought for each of
/// many rows at any cost.
#[test]
fn an_index_that_has_a_part_of_a_key_is_used_where_it_pays() {
    let mut b = Bench::new();
    quiet(
        &mut b,
        "CREATE TABLE node (tenant int NOT NULL, id int NOT NULL, PRIMARY KEY (tenant, id))
         CREATE TABLE leaf (id int NOT NULL PRIMARY KEY, tenant int NULL, node int NULL, INDEX by_tenant (tenant),
             FOREIGN KEY (tenant, node) REFERENCES node (tenant, id))
         INSERT node SELECT 1, value FROM GENERATE_SERIES(1, 2000)
         INSERT leaf SELECT value, 1, value % 1000 + 1 FROM GENERATE_SERIES(1, 3000)",
    );
    let read = reads(&mut b, "DELETE node WHERE tenant = 1 AND id > 1000", "leaf");
    assert!((1..1_000).contains(&read), "{read}");
    b.fails("DELETE node WHERE tenant = 1 AND id > 999", 547);
}

#[test]
fn of_two_indexes_the_better_one_is_sought_when_a_table_has_grown() {
    let mut b = Bench::new();
    quiet(
        &mut b,
        "CREATE TABLE node (tenant bigint NOT NULL, id bigint NOT NULL, PRIMARY KEY (tenant, id))
         CREATE TABLE leaf (id int NOT NULL PRIMARY KEY, tenant bigint NULL, node bigint NULL,
             INDEX by_tenant (tenant) INCLUDE (node), INDEX by_node (tenant, node),
             FOREIGN KEY (tenant, node) REFERENCES node (tenant, id))
         INSERT node SELECT 1, value FROM GENERATE_SERIES(1, 2000)",
    );
    let delete = "DELETE node WHERE tenant = @a AND id = @b";
    quiet(&mut b, &call(delete, 1, "2000"));
    quiet(&mut b, "INSERT leaf SELECT value, 1, value % 1000 + 1 FROM GENERATE_SERIES(1, 20000)");
    let read = reads(&mut b, &call(delete, 1, "1999"), "leaf");
    assert!((1..=FEW).contains(&read), "{read}");
    b.fails(&call(delete, 1, "7"), 547);
}

/// Two loads of parents with their children, each in a transaction: neither waits for the other,
/// however few parents there are.
#[test]
fn a_test_of_many_rows_waits_for_nobody_elses_parents() {
    for parents in [3, 150] {
        let mut b = Bench::new();
        quiet(
            &mut b,
            &format!(
                "CREATE TABLE parent (id int NOT NULL PRIMARY KEY)
                 CREATE TABLE child (id int NOT NULL PRIMARY KEY, p int NULL REFERENCES parent (id), INDEX by_p (p))
                 INSERT parent SELECT value FROM GENERATE_SERIES(1, {parents})"
            ),
        );
        let load = |first: i32| {
            format!(
                "SET LOCK_TIMEOUT 2000 SET NOCOUNT ON BEGIN TRAN INSERT parent VALUES ({first})
                 INSERT child SELECT {first} * 1000 + value, {first} FROM GENERATE_SERIES(1, 900)"
            )
        };
        let mut other = b.instance.session().unwrap();
        other.use_database("t").unwrap();
        quiet(&mut b, &load(1000));
        let mut out = Text::default();
        other.execute(&load(2000), &mut out);
        other.execute("COMMIT", &mut out);
        assert_eq!(out.out.trim(), "", "{parents} parents");
        quiet(&mut b, "COMMIT");
        b.check("SELECT COUNT(*), COUNT(DISTINCT p) FROM child", "1800|2");
        // Many rows with few keys, of which one has no parent.
        let some = "INSERT child SELECT value, NULLIF(value % 4, 0) FROM GENERATE_SERIES(1, 2000)";
        quiet(&mut b, some);
        let wrong = some.replace("value %", "1 + value %").replace("(1, 2000)", "(3001, 5000)");
        match parents {
            3 => b.fails(&wrong, 547),
            _ => quiet(&mut b, &wrong),
        }
    }
}

#[test]
fn the_rows_of_a_view_are_sought() {
    let mut b = Bench::new();
    quiet(
        &mut b,
        "CREATE TABLE sale (id bigint NOT NULL PRIMARY KEY, item bigint NOT NULL, n int NOT NULL)",
    );
    for sql in [
        "CREATE VIEW dbo.items WITH SCHEMABINDING AS
         SELECT item, COUNT_BIG(*) AS sales, SUM(n) AS pieces FROM dbo.sale GROUP BY item",
        "CREATE UNIQUE CLUSTERED INDEX ci ON items (item)",
        "CREATE VIEW dbo.large WITH SCHEMABINDING AS SELECT id, item FROM dbo.sale WHERE n > 0",
        "CREATE UNIQUE CLUSTERED INDEX cl ON large (id)",
    ] {
        quiet(&mut b, sql);
    }
    let (insert, delete) =
        ("INSERT sale VALUES (@a, @b, 1)", "DELETE sale WHERE id = @a AND item = @b");
    quiet(&mut b, &call(insert, -1, "-1"));
    quiet(&mut b, &call(delete, -1, "-1"));
    quiet(&mut b, "INSERT sale SELECT value, value, 1 FROM GENERATE_SERIES(1, 20000)");
    for (sql, item) in [(insert, "30000"), (delete, "30000"), (insert, "77"), (delete, "77")] {
        let read = reads(&mut b, &call(sql, 30_000, item), "");
        assert!(read <= 4 * FEW, "{sql} {item}: {read}");
    }
    b.check("SELECT sales, pieces FROM items WITH (NOEXPAND) WHERE item = 77", "1|1");
    b.check("SELECT COUNT(*) FROM items WITH (NOEXPAND)", "20000");
    b.check("SELECT COUNT(*) FROM large WITH (NOEXPAND)", "20000");
}
