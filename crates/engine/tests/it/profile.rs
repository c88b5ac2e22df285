//! SET STATISTICS PROFILE and XML: what each operator did, after the statement's own results.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE a (id int PRIMARY KEY, x int)
         CREATE TABLE b (id int PRIMARY KEY, a int)
         DECLARE @i int = 0
         WHILE @i < 300 BEGIN
             INSERT a VALUES (@i, @i % 10)
             INSERT b VALUES (@i, @i * 2)
             SET @i += 1
         END",
    );
    b
}

/// `rows|executes|operator` of each line of the profile that a statement gives; the statement
/// itself has no operator.
fn profile(b: &mut Bench, sql: &str) -> Vec<String> {
    b.run("SET STATISTICS PROFILE ON");
    let said = b.run(sql);
    b.run("SET STATISTICS PROFILE OFF");
    let lines =
        said.lines().filter(|line| line.contains("|PLAN_ROW|") || line.contains("|STATEMENT|"));
    let short = |line: &str| {
        let (counts, rest) = line.split_at(line.match_indices('|').nth(1).unwrap().0);
        // A line of the tree has a bar of its own before the operator.
        let tree = rest.split_once("|--").map_or("", |(_, tree)| tree);
        format!("{counts}|{}", tree.split(['(', '|']).next().unwrap())
    };
    lines.map(short).collect()
}

#[test]
fn what_asks_for_no_column_is_tested_before_rows_are_read() {
    let mut b = bench();
    let query = |on: &str, test: &str| {
        format!("DECLARE @on int = {on} SELECT COUNT(*) FROM a WHERE {test} AND x < 5")
    };
    let rows = [("1", "150", "1"), ("0", "0", "0"), ("NULL", "0", "0")];
    for (on, count, started) in rows {
        let found = profile(&mut b, &query(on, "@on = 1"));
        let filter = format!("{count}|1|Filter");
        let scan = format!("{count}|{started}|Clustered Index Scan");
        assert!(found.contains(&filter) && found.contains(&scan), "{on}: {found:?}");
        // What might fail is asked of the rows.
        let on_rows = b.run(&query(on, "1 / (@on + 1) = 0"));
        let shown = b.run(&query(on, "@on = 1"));
        assert_eq!(shown.trim(), count);
        assert_eq!(shown, on_rows, "{on}");
    }
    // A value of the row around it: two rows of twenty have x = 1.
    let apply = "SELECT a.id, c.n FROM a OUTER APPLY (SELECT TOP (1) b.id AS n FROM b \
                 WHERE a.x = 1 AND b.a >= a.id ORDER BY b.id) c WHERE a.id < 20";
    let found = profile(&mut b, apply);
    assert!(found.iter().any(|line| line.ends_with("|20|Filter")), "{found:?}");
    assert!(found.iter().any(|line| line.ends_with("|2|Clustered Index Scan")), "{found:?}");
    let given = b.run(apply);
    let pairs: Vec<&str> = given.lines().filter(|line| !line.ends_with("NULL")).collect();
    assert_eq!(pairs, ["1|1", "11|6"], "{given}");
    // A variable that the statement sets is no such value.
    let sets = "DECLARE @on int = 1 SELECT @on = x FROM a WHERE @on = 1";
    let found = profile(&mut b, sets);
    assert!(!found.iter().any(|line| line.ends_with("|Filter")), "{found:?}");
}

#[test]
fn operators_are_counted() {
    let mut b = bench();
    let query = "SELECT COUNT(*) FROM a WHERE x < 5";
    let found = profile(&mut b, query);
    assert_eq!(found[0], "1|1|", "{found:?}");
    assert!(found.contains(&"150|1|Clustered Index Scan".to_owned()), "{found:?}");
    // A limit stops what is below.
    let found = profile(&mut b, "SELECT TOP (3) id FROM a ORDER BY id");
    assert_eq!((found[0].as_str(), found[1].as_str()), ("3|1|", "3|1|Top"), "{found:?}");
    // The right side of an apply runs for each row of the left.
    let apply = "SELECT a.id, c.n FROM a CROSS APPLY (SELECT TOP (1) b.id AS n FROM b WHERE b.a >= a.id ORDER BY b.id) c WHERE a.id < 7";
    let found = profile(&mut b, apply);
    assert!(found.contains(&"7|7|Top".to_owned()), "{found:?}");
    // So does a correlated subquery; one that is not, once.
    let each = "SELECT (SELECT COUNT(*) FROM b WHERE b.a > a.x) FROM a WHERE id < 4";
    let found = profile(&mut b, each);
    assert!(found.contains(&"4|4|Stream Aggregate".to_owned()), "{found:?}");
    let once = "SELECT id FROM a WHERE x > (SELECT AVG(x) FROM a)";
    let found = profile(&mut b, once);
    assert!(found.contains(&"1|1|Stream Aggregate".to_owned()), "{found:?}");
    // A key that is not there, and a recursive query.
    assert_eq!(profile(&mut b, "SELECT x FROM a WHERE id = -1")[1], "0|1|Clustered Index Seek");
    let recursive =
        "WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r";
    let found = profile(&mut b, recursive);
    assert!(found.contains(&"5|1|Concatenation".to_owned()), "{found:?}");
    assert!(found.iter().any(|line| line.ends_with("|5|Table Spool")), "{found:?}");
    // The statement's own rows come first and stay what they are; so does @@ROWCOUNT.
    b.run("SET STATISTICS PROFILE ON");
    let said = b.run("SELECT x FROM a WHERE id = 3 SELECT @@ROWCOUNT + 41");
    assert!(said.starts_with("3\n1|1|SELECT x FROM a WHERE id = 3|"), "{said}");
    assert!(said.contains("\n42\n"), "{said}");
    // A statement that fails gives no profile.
    let said = b.run("SELECT 1 / (x - x) FROM a");
    assert!(said.contains("Msg 8134") && !said.contains("PLAN_ROW"), "{said}");
}

#[test]
fn changes_are_counted() {
    let mut b = bench();
    b.run("CREATE TABLE c (id int PRIMARY KEY, x int) CREATE TABLE log (n int)");
    let found = profile(&mut b, "INSERT c SELECT id, x FROM a WHERE id < 20");
    assert_eq!(found[..2], ["20|1|", "20|1|Clustered Index Insert"], "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("20|1|Clustered Index Se")), "{found:?}");
    // Whole rows are copied as bytes otherwise.
    b.run("TRUNCATE TABLE c");
    let found = profile(&mut b, "INSERT c SELECT * FROM a");
    assert_eq!(
        found[..3],
        ["300|1|", "300|1|Clustered Index Insert", "300|1|Clustered Index Scan"]
    );
    b.check("SELECT COUNT(*), SUM(x) FROM c", "300|1350");
    let found = profile(&mut b, "UPDATE c SET x = b.id FROM c JOIN b ON b.a = c.id");
    assert_eq!(found[..2], ["150|1|", "150|1|Clustered Index Update"], "{found:?}");
    assert!(found.contains(&"300|1|Clustered Index Scan".to_owned()), "{found:?}");
    // Rows of the statement itself are counted by nobody.
    let found = profile(&mut b, "INSERT c VALUES (1000, 1)");
    assert_eq!(found, ["1|1|", "1|1|Clustered Index Insert", "NULL|NULL|Constant Scan"]);
    // A trigger's statement has a profile of its own, and the statement around it keeps its
    // counters.
    b.run("CREATE TRIGGER t ON c AFTER DELETE AS INSERT log SELECT id FROM deleted");
    let found = profile(&mut b, "DELETE c WHERE id < 5");
    assert!(
        found.contains(&"5|1|Table Insert".to_owned())
            && found.contains(&"5|1|Deleted Scan".to_owned()),
        "{found:?}"
    );
    assert!(found.contains(&"5|1|Clustered Index Delete".to_owned()), "{found:?}");
    let found = profile(&mut b, "SELECT id INTO copy FROM a WHERE id < 9");
    assert_eq!(found[..2], ["9|1|", "9|1|Table Insert"], "{found:?}");
}

#[test]
fn documents_have_what_operators_did() {
    let mut b = bench();
    b.run("SET STATISTICS XML ON");
    let said = b.run("SELECT COUNT(*) FROM a WHERE x < 5");
    assert!(said.starts_with("150\n<?xml"), "{said}");
    let counters = said.matches("<RunTimeCountersPerThread Thread=\"0\"").count();
    assert_eq!(counters, said.matches("<RelOp ").count(), "{said}");
    let scan = "<RunTimeCountersPerThread Thread=\"0\" ActualRows=\"150\" ActualEndOfScans=\"1\" ActualExecutions=\"1\" ActualElapsedms=";
    assert!(said.contains(scan), "{said}");
    b.run("SET STATISTICS XML OFF");
    b.check("SELECT COUNT(*) FROM a WHERE x < 5", "150");
    b.run("SET SHOWPLAN_XML ON");
    assert!(!b.run("SELECT COUNT(*) FROM a").contains("RunTime"));
}
