//! Plans as text: each file `data/plans/NAME.sql` has a part that is run and, after the line `--
//! plans`, batches whose plans are shown. `NAME.plan` has the expected text. With the environment's
//! `RINGWOOD_PLANS=write` the expected texts are written instead of compared: look at the
//! difference before you commit it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::support::text::Bench;

/// The batches of a script: the parts between lines `GO`.
fn batches(script: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in script.lines() {
        match (line.trim().eq_ignore_ascii_case("GO"), all.last_mut()) {
            (false, Some(batch)) => {
                batch.push_str(line);
                batch.push('\n');
            }
            _ => all.push(String::new()),
        }
    }
    all.retain(|batch| !batch.trim().is_empty());
    all
}

/// The plans of a script, each after its text.
fn plans(script: &str) -> String {
    let (setup, queries) = script.split_once("-- plans\n").expect("a line `-- plans`");
    let mut bench = Bench::new();
    for batch in batches(setup) {
        let said = bench.run(&batch);
        assert!(!said.contains("Msg "), "{batch}\n{said}");
    }
    bench.check("SET SHOWPLAN_TEXT ON", "");
    let mut out = String::new();
    for query in batches(queries) {
        let shown = bench.run(&query);
        assert!(!shown.contains("Msg "), "{query}\n{shown}");
        let lines = shown.lines().filter(|line| line.contains("|--"));
        let plan: Vec<&str> = lines.map(str::trim_end).collect();
        let _ = writeln!(out, "{}\n{}\n", query.trim_end(), plan.join("\n"));
    }
    out
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/plans");
    let files = std::fs::read_dir(folder).expect("the folder of plans");
    let paths = files.map(|file| file.expect("a file").path());
    let mut scripts: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "sql")).collect();
    scripts.sort();
    scripts
}

#[test]
fn plans_are_as_they_were() {
    let write = std::env::var("RINGWOOD_PLANS").is_ok_and(|how| how == "write");
    let scripts = scripts();
    assert!(!scripts.is_empty());
    for script in scripts {
        let found = plans(&std::fs::read_to_string(&script).expect("a script"));
        let expected = script.with_extension("plan");
        if write {
            std::fs::write(&expected, found).expect("the expected plans are written");
            continue;
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        assert!(wanted == found, "{}: the plans are\n{found}", expected.display());
    }
}

/// The plan of a query as text.
fn shown(b: &mut Bench, query: &str) -> String {
    b.check("SET SHOWPLAN_TEXT ON", "");
    let plan = b.run(query);
    b.check("SET SHOWPLAN_TEXT OFF", "");
    plan.lines().filter(|line| line.contains("|--")).collect::<Vec<_>>().join("\n")
}

#[test]
fn row_counts_survive_a_clean_stop() {
    let mut b = Bench::new();
    b.check("SET NOCOUNT ON; CREATE TABLE small (id int CONSTRAINT pk_s PRIMARY KEY, n int); INSERT small VALUES (1, 1), (2, 2)", "");
    b.check(
        "CREATE TABLE large (id int CONSTRAINT pk_l PRIMARY KEY, n int);
         WITH r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 30000)
         INSERT large SELECT i, i FROM r OPTION (MAXRECURSION 0)",
        "",
    );
    let query = "SELECT COUNT(*) FROM large AS l, small AS s WHERE l.n = s.n";
    let before = shown(&mut b, query);
    // The small table is kept, the large one passes by.
    assert!(before.find("pk_l") < before.find("pk_s"), "{before}");
    let mut b = b.restart();
    assert_eq!(shown(&mut b, query), before);
    b.check("SET NOCOUNT ON; DELETE large WHERE id > 1", "");
    b.check("INSERT small SELECT id + 10, n FROM small", "");
    let mut b = b.restart();
    let after = shown(&mut b, query);
    assert!(after.find("pk_s") < after.find("pk_l"), "{after}");
}

#[test]
fn plans_as_xml() {
    let mut b = Bench::new();
    b.run("CREATE TABLE a (id int PRIMARY KEY, x int) CREATE TABLE b (id int PRIMARY KEY, a_id int) CREATE INDEX i ON b (a_id)");
    b.run("SET SHOWPLAN_XML ON");
    let shown =
        b.run("SELECT COUNT(*) FROM a JOIN b ON b.a_id = a.id WHERE a.x < 5 AND '<&>' = 'y'");
    assert!(
        shown.starts_with("<?xml version=\"1.0\" encoding=\"utf-16\"?><ShowPlanXML xmlns="),
        "{shown}"
    );
    assert!(
        shown.contains("StatementText=\"SELECT COUNT(*)") && shown.contains("&lt;&amp;&gt;"),
        "{shown}"
    );
    let shown = b.run("UPDATE b SET a_id = 1 WHERE id = 7");
    b.run("SET SHOWPLAN_XML OFF");
    for part in [
        "StatementType=\"UPDATE\"",
        "<RelOp NodeId=\"0\" PhysicalOp=\"Clustered Index Update\" LogicalOp=\"Update\"",
        "<Object Database=\"[t]\" Schema=\"[dbo]\" Table=\"[b]\" Index=\"[",
        "PhysicalOp=\"Clustered Index Seek\"",
        "</IndexScan></RelOp></Update></RelOp></QueryPlan></StmtSimple></Statements></Batch></BatchSequence></ShowPlanXML>",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    // Every element that is opened is closed, in order.
    let mut open: Vec<&str> = Vec::new();
    for tag in shown.split('<').skip(2).filter_map(|part| part.split('>').next()) {
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.extend(tag.split(' ').next()),
        }
    }
    assert!(open.is_empty());
    assert_eq!(b.run("SELECT COUNT(*) FROM b").trim(), "0", "nothing has run");
}

#[test]
fn plans_have_costs() {
    let mut b = Bench::new();
    b.run("CREATE TABLE a (id int PRIMARY KEY, x int); INSERT a SELECT object_id, 1 FROM sys.all_objects");
    b.run("SET SHOWPLAN_ALL ON");
    let shown = b.run("SELECT a.x FROM a JOIN a AS b ON b.id = a.x ORDER BY a.x");
    b.run("SET SHOWPLAN_ALL OFF");
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .filter(|line| line.contains("PLAN_ROW"))
        .map(|line| line.split('|').rev().collect())
        .collect();
    assert!(rows.len() > 2, "{shown}");
    // From the end: executions, parallel, kind, warnings, output list, total cost.
    let costs: Vec<f64> = rows.iter().map(|row| row[5].parse().expect("a number")).collect();
    assert!(costs.iter().all(|cost| *cost > 0.0 && *cost <= costs[0]), "{costs:?}");
}
