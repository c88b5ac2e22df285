//! Plans as text: each file `data/plans/NAME.sql` has a part that is run and, after the line `-- plans`, batches whose plans
//! are shown. `NAME.plan` has the expected text. With the environment's `RINGWOOD_PLANS=write` the expected texts are
//! written instead of compared: look at the difference before you commit it.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use text::Bench;

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
