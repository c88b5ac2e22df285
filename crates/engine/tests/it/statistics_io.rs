//! SET STATISTICS IO: what each statement has read of each table, by the pages that the tables
//! have.

use crate::support::text::{self, Bench};

/// Reads of a table that a batch has told: scans, then logical, physical and ahead, those of large
/// values last.
#[derive(Debug, PartialEq, Eq)]
struct Reads {
    table: String,
    scans: u64,
    own: [u64; 3],
    large: [u64; 3],
}

fn number_after(line: &str, what: &str) -> u64 {
    let at = line.find(what).unwrap_or_else(|| panic!("'{what}' in {line}"));
    let digits = line[at + what.len()..].trim_start();
    digits.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn reads_in(said: &str) -> Vec<Reads> {
    let tables = said.lines().filter(|line| line.starts_with("Table '"));
    let of = |line: &str| {
        let kind = |prefix: &str| {
            ["logical reads", "physical reads", "read-ahead reads"]
                .map(|what| number_after(line, &format!(", {prefix}{what}")))
        };
        Reads {
            table: line.split('\'').nth(1).unwrap().to_owned(),
            scans: number_after(line, "Scan count"),
            own: kind(""),
            large: kind("lob "),
        }
    };
    tables.map(of).collect()
}

#[track_caller]
fn reads(b: &mut Bench, sql: &str) -> Vec<Reads> {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
    reads_in(&said)
}

/// The only table of which a batch has read.
#[track_caller]
fn read(b: &mut Bench, sql: &str) -> Reads {
    let mut all = reads(b, sql);
    assert_eq!(all.len(), 1, "{sql}: {all:?}");
    all.remove(0)
}

fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE big (id int PRIMARY KEY, x int, filler char(400) NOT NULL DEFAULT '', INDEX ix (x))
         INSERT big (id, x) SELECT value, value % 7 FROM GENERATE_SERIES(1, 5000)
         CREATE TABLE small (id int PRIMARY KEY, big int NOT NULL REFERENCES big)
         INSERT small VALUES (1, 10), (2, 20), (3, 30)
         CREATE TABLE wide (id int PRIMARY KEY, v varchar(max))
         INSERT wide VALUES (1, REPLICATE(CAST('x' AS varchar(max)), 100000))",
    );
    b
}

/// Pages of a table's clustered index: leaves, and how deep it is.
fn pages(b: &mut Bench, table: &str) -> (u64, u64) {
    let sql = format!(
        "SELECT page_count, index_depth FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('{table}'), 1, NULL, 'DETAILED') \
         WHERE index_level = 0 AND alloc_unit_type_desc = 'IN_ROW_DATA'"
    );
    let said = b.run(&sql);
    let (leaves, depth) = said.trim().split_once('|').unwrap_or_else(|| panic!("{said}"));
    (leaves.parse().unwrap(), depth.parse().unwrap())
}

#[test]
fn a_scan_reads_its_pages_and_a_seek_the_way_down() {
    let mut b = bench();
    let (leaves, depth) = pages(&mut b, "big");
    assert!(leaves > 200 && depth >= 2, "{leaves} leaves, {depth} deep");
    b.check("SET STATISTICS IO ON", "");
    let all = read(&mut b, "SELECT SUM(id + LEN(filler)) FROM big");
    assert_eq!((all.table.as_str(), all.scans, all.large), ("big", 1, [0; 3]));
    // Reading ahead looks at the level above now and then.
    assert!(
        (leaves..leaves + leaves / 8 + depth).contains(&all.own[0]),
        "{all:?}, {leaves} leaves, {depth} deep"
    );
    let one = read(&mut b, "SELECT filler FROM big WHERE id = 17");
    assert_eq!((one.scans, one.own[0]), (0, depth), "{one:?}");
    // The same by the operators.
    let one = read(&mut b, "SELECT COUNT(*) FROM big WHERE id = 17");
    assert_eq!((one.scans, one.own[0]), (0, depth), "{one:?}");
    let range = read(&mut b, "SELECT MAX(filler) FROM big WHERE id BETWEEN 100 AND 102");
    assert!(range.scans == 1 && (depth..depth + 3).contains(&range.own[0]), "{range:?}");
    let three = read(
        &mut b,
        "SELECT MAX(filler) FROM big WHERE id BETWEEN 1 AND 2 OR id BETWEEN 900 AND 901",
    );
    assert_eq!(three.scans, 2, "{three:?}");
    b.check("SET STATISTICS IO OFF", "");
    assert_eq!(reads(&mut b, "SELECT COUNT(*) FROM big"), []);
}

#[test]
fn each_table_has_its_line() {
    let mut b = bench();
    b.run("SET STATISTICS IO ON");
    let both = reads(
        &mut b,
        "SELECT s.id, b.x FROM small s JOIN big b ON b.id = s.big WHERE s.id < 3 OPTION (LOOP JOIN)",
    );
    let names: Vec<_> = both.iter().map(|t| t.table.as_str()).collect();
    assert_eq!(names, ["small", "big"]);
    let depth = {
        b.run("SET STATISTICS IO OFF");
        let depth = pages(&mut b, "big").1;
        b.run("SET STATISTICS IO ON");
        depth
    };
    assert_eq!(both[1].own[0], 2 * depth, "two rows are looked up: {both:?}");
    // A table that is read twice has one line.
    let twice = read(&mut b, "SELECT COUNT(*) FROM small a CROSS JOIN small b");
    assert!(twice.scans >= 2, "{twice:?}");
    // What a change checks is read, too.
    let insert = reads(&mut b, "INSERT small VALUES (4, 40)");
    let mut names: Vec<_> = insert.iter().map(|t| (t.table.as_str(), t.scans)).collect();
    names.sort_unstable();
    assert_eq!(names, [("big", 0), ("small", 0)]);
    assert!(insert.iter().all(|t| t.own[0] > 0), "{insert:?}");
    // And not what could not be changed.
    assert_eq!(reads_in(&b.run("INSERT small VALUES (4, 40)")), []);
    let of_system = reads(&mut b, "SELECT COUNT(*) FROM sys.objects");
    assert_eq!(of_system, []);
}

#[test]
fn large_values_and_pages_from_disk_count_apart() {
    let mut b = bench().restart();
    b.run("SET STATISTICS IO ON");
    let cold = read(&mut b, "SELECT LEN(v) FROM wide");
    let [logical, physical, ahead] = cold.large;
    assert!(logical >= 13 && physical + ahead >= 12, "{cold:?}");
    let warm = read(&mut b, "SELECT LEN(v) FROM wide");
    assert_eq!((warm.own[1..].to_vec(), warm.large[1..].to_vec()), (vec![0, 0], vec![0, 0]));
    assert_eq!(warm.large[0], logical);
    let scan = read(&mut b, "SELECT SUM(LEN(filler)) FROM big");
    assert!(scan.own[1] + scan.own[2] > 200, "{scan:?}");
}

#[test]
fn temporary_tables_variables_and_run_files() {
    let mut b = bench();
    b.run("SET STATISTICS IO ON; SET NOCOUNT ON");
    let said = reads(
        &mut b,
        "CREATE TABLE #t (a int) INSERT #t VALUES (1) SELECT * FROM #t
         DECLARE @v TABLE (a int PRIMARY KEY) INSERT @v VALUES (2) SELECT * FROM @v",
    );
    let names: Vec<_> = said.iter().map(|t| &t.table[..2]).collect();
    assert_eq!(names, ["#t", "#t", "#0", "#0"], "{said:?}");
    assert_eq!(said[0].table.len(), 128);
    let small = |options: &mut engine::InstanceOptions| options.query_bytes = Some(1 << 20);
    let mut b = Bench::with(small);
    b.run(
        "SET NOCOUNT ON CREATE TABLE big (id int PRIMARY KEY, filler char(400) NOT NULL)
         INSERT big SELECT value, CONCAT(value % 100, 'x') FROM GENERATE_SERIES(1, 20000)
         SET STATISTICS IO ON",
    );
    let sorted = reads_in(
        &b.run("SELECT TOP (3) * FROM (SELECT TOP (19999) * FROM big ORDER BY filler, id DESC) x"),
    );
    let names: Vec<_> = sorted.iter().map(|t| (t.table.as_str(), t.scans)).collect();
    assert_eq!(names, [("big", 1), ("Worktable", 0)], "{sorted:?}");
    assert!(sorted[1].own[0] > 0 && sorted[1].own[0] == sorted[1].own[1], "{sorted:?}");
}

#[test]
fn statements_of_modules_tell_their_own() {
    let mut b = bench();
    for module in [
        "CREATE FUNCTION f (@id int) RETURNS int AS BEGIN RETURN (SELECT MAX(x) FROM big WHERE id <= @id) END",
        "CREATE PROCEDURE p AS SELECT COUNT(*) FROM small IF EXISTS (SELECT * FROM big WHERE x = 3) PRINT 'yes'",
        "CREATE TABLE log (n int)",
        "CREATE TRIGGER tr ON small AFTER UPDATE AS INSERT log SELECT COUNT(*) FROM inserted",
    ] {
        b.check(module, "");
    }
    b.run("SET STATISTICS IO ON");
    let said = b.run("EXEC p");
    let lines: Vec<_> = said.lines().map(|l| l.split(". ").next().unwrap()).collect();
    assert_eq!(lines, ["3", "Table 'small'", "Table 'big'", "yes"], "{said}");
    let call = reads(&mut b, "SELECT id, dbo.f(id) FROM small");
    let names: Vec<_> = call.iter().map(|t| (t.table.as_str(), t.scans)).collect();
    assert_eq!(names, [("small", 1), ("big", 3)], "{call:?}");
    let trigger = reads(&mut b, "UPDATE small SET big = 50 WHERE id = 1");
    let mut names: Vec<_> = trigger.iter().map(|t| t.table.as_str()).collect();
    assert_eq!(names.first(), Some(&"log"), "{trigger:?}");
    names.sort_unstable();
    assert_eq!(names, ["big", "log", "small"], "{trigger:?}");
    // The session that is traced is this one only.
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let mut out = text::Text::default();
    other.execute("SELECT COUNT(*) FROM big", &mut out);
    assert_eq!(out.out, "5000\n");
}

#[test]
fn a_program_sends_itself_no_packets() {
    let mut b = Bench::new();
    b.check("SELECT @@PACK_RECEIVED, @@PACK_SENT, @@PACKET_ERRORS", "0|0|0");
}
