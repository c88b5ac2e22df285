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
