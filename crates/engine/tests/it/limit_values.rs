//! The limits that docs/t-sql.md gives in numbers: what is just within works, what is just beyond
//! is the error. (Others of that table are in depth.rs, limits.rs, grouping.rs, budget.rs and
//! data/errors.)

use crate::support::text::Bench;

/// So many items with a comma between them.
fn listed(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

#[test]
fn rows_of_8060_bytes() {
    let mut b = Bench::new();
    // 7 bytes are the row's own.
    b.check("CREATE TABLE fixed (a char(8000), c char(53)) INSERT fixed VALUES ('x', 'y')", "(1)");
    b.fails("CREATE TABLE wider (a char(8000), c char(54))", 1701);
    b.fails("ALTER TABLE fixed ADD d bit NULL", 1701);
    b.fails("ALTER TABLE fixed ALTER COLUMN c char(54)", 1701);
    b.fails("SELECT a, c, c AS d INTO wider FROM fixed", 1701);
    b.check("ALTER TABLE fixed ALTER COLUMN c char(40) ALTER TABLE fixed ADD d char(13) NULL SELECT c, d FROM fixed", &format!("{:<40}|NULL", "y"));
    b.run("CREATE TABLE [varying] (id int IDENTITY, a varchar(8000), c varchar(8000))");
    b.check("INSERT [varying] (a, c) VALUES (REPLICATE('x', 8000), REPLICATE('y', 30))", "(1)");
    // Values that do not fit lie elsewhere, as far as they are more than a pointer to them.
    b.check("INSERT [varying] (a, c) VALUES (REPLICATE('x', 8000), REPLICATE('y', 8000))", "(1)");
    b.run("CREATE TABLE many (a char(8000), c char(40), d varchar(100))");
    b.fails("INSERT many VALUES ('x', 'y', REPLICATE('z', 100))", 511);
    // A (max) value lies elsewhere.
    b.run("CREATE TABLE large (a varchar(8000), c varchar(max))");
    b.check(
        "INSERT large VALUES (REPLICATE('x', 8000), REPLICATE(CAST('y' AS varchar(max)), 20000)) SELECT LEN(c) FROM large",
        "(1)\n20000",
    );
}

#[test]
fn keys_of_1900_bytes() {
    let mut b = Bench::new();
    b.run("CREATE TABLE [clustered] (a varbinary(4000) NOT NULL) CREATE UNIQUE CLUSTERED INDEX i ON [clustered] (a)");
    b.run("CREATE TABLE heap (a varbinary(4000), c int) CREATE INDEX i ON heap (a)");
    for table in ["[clustered] (a)", "heap (a)"] {
        let insert = |n: usize| {
            format!("INSERT {table} VALUES (CAST(REPLICATE('x', {n}) AS varbinary(4000)))")
        };
        b.check(&insert(1_600), "(1)");
        b.fails(&insert(1_901), 1946);
    }
    b.check("SELECT COUNT(*) FROM heap WITH (INDEX (i)) WHERE DATALENGTH(a) = 1600", "1");
}

#[test]
fn columns_of_tables_and_keys() {
    let mut b = Bench::new();
    let columns = |n: usize| listed(n, |i| format!("c{i} bit"));
    b.check(&format!("CREATE TABLE widest ({})", columns(1_024)), "");
    b.check("SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('widest')", "1024");
    b.fails(&format!("CREATE TABLE wider ({})", columns(1_025)), 1702);
    b.fails("ALTER TABLE widest ADD one_more bit NULL", 1702);
    b.fails("ALTER TABLE widest ADD one_more AS 1", 1702);
    b.fails("SELECT *, 1 AS one_more INTO wider FROM widest", 1702);
    b.fails(&format!("CREATE TABLE #wider ({})", columns(1_025)), 1702);
    let keys = |n: usize| listed(n, |i| format!("c{i}"));
    b.check(&format!("CREATE INDEX i ON widest ({})", keys(32)), "");
    b.fails(&format!("CREATE INDEX j ON widest ({})", keys(33)), 1904);
}

#[test]
fn names_of_128_characters() {
    let mut b = Bench::new();
    let name = |n: usize| "n".repeat(n);
    b.check(&format!("CREATE TABLE [{}] (a int)", name(128)), "");
    b.fails(&format!("CREATE TABLE [{}] (a int)", name(129)), 103);
    b.check(&format!("SELECT LEN(name) FROM sys.tables WHERE name = '{}'", name(128)), "128");
    b.check(&format!("CREATE DATABASE [{}]", name(123)), "");
    b.fails(&format!("CREATE DATABASE [{}]", name(124)), 103);
    b.check(&format!("SELECT LEN(name) FROM sys.databases WHERE name = '{}'", name(123)), "123");
}

#[test]
fn views_of_32_levels() {
    let mut b = Bench::new();
    b.run("CREATE VIEW v1 AS SELECT 7 AS a");
    for i in 2..=32 {
        b.check(&format!("CREATE VIEW v{i} AS SELECT a FROM v{}", i - 1), "");
    }
    b.check("SELECT a FROM v32", "7");
    b.fails("CREATE VIEW v33 AS SELECT a FROM v32", 217);
}

#[test]
fn texts_are_cut() {
    let mut b = Bench::new();
    for (printed, shown) in [(8_000, 8_000), (8_001, 8_000)] {
        let said = b.run(&format!("PRINT REPLICATE(CAST('x' AS varchar(max)), {printed})"));
        assert_eq!(said.trim_end().len(), shown);
    }
    for (raised, shown, end) in [(2_047, 2_047, "xxx"), (2_048, 2_047, "...")] {
        let said = b.run(&format!(
            "DECLARE @text varchar(8000) = REPLICATE('x', {raised}) RAISERROR (@text, 10, 1) WITH NOWAIT"
        ));
        let said = said.trim_end();
        assert_eq!(said.len(), shown, "{raised}");
        assert!(said.ends_with(end), "{raised}");
    }
}

#[test]
fn grouping_sets_of_32_keys() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (a int) INSERT t VALUES (1)");
    let keys = |n: usize| listed(n, |i| format!("a + {}", i + 1));
    b.check(
        &format!(
            "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM t GROUP BY ROLLUP ({})) x",
            keys(32)
        ),
        "33",
    );
    b.fails(&format!("SELECT COUNT(*) AS n FROM t GROUP BY ROLLUP ({})", keys(33)), 10_706);
}

#[test]
fn sizes_of_files() {
    let mut b = Bench::new();
    let create = |data: &str, log: &str| {
        format!(
            "CREATE DATABASE d ON (NAME = a, FILENAME = 'a.mdf', SIZE = {data}) LOG ON (NAME = b, FILENAME = 'b.ldf', SIZE = {log})"
        )
    };
    b.fails(&create("448KB", "1MB"), 5174);
    b.fails(&create("1MB", "448KB"), 5174);
    // 16 TB and 2 TB.
    b.fails(&create("16777217MB", "1MB"), 1842);
    b.fails(&create("1MB", "2097153MB"), 5150);
    b.check("SELECT COUNT(*) FROM sys.databases WHERE name = 'd'", "0");
    b.check(&create("512KB", "512KB"), "");
    // The data file has grown by what a new database has in it.
    let log =
        "SELECT size FROM sys.master_files WHERE database_id = DB_ID('d') AND type_desc = 'LOG'";
    b.check(log, "64");
    let unlimited = "SELECT max_size FROM sys.master_files WHERE database_id = DB_ID('d') AND type_desc = 'LOG'";
    b.check(unlimited, "268435456");
}
