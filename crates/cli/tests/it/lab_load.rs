//! `lab run tpcc` and `lab run wire` on servers of their own, at a tiny scale: every figure is
//! there, conditions 1 to 4 hold after the runs and after a SIGKILL, and nothing is left.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn lab(arguments: &[&str], out: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["lab", "run"])
        .args(arguments)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap()
}

fn study(arguments: &[&str], out: &Path) -> Value {
    let output = lab(arguments, out);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let left: Vec<_> = std::fs::read_dir(out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|n| n.to_string_lossy().starts_with("scratch")), "{left:?}");
    let text = std::fs::read_to_string(out.join("results.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["studies"][0].take()
}

fn median(study: &Value, factor: &str, measure: &str) -> f64 {
    let cells = study["cells"].as_array().unwrap();
    let cell = cells
        .iter()
        .find(|c| c["factor"] == factor && c["level"] == "Ringwood" && c["measure"] == measure);
    cell.unwrap_or_else(|| panic!("{factor}, {measure} is missing"))["median"].as_f64().unwrap()
}

#[test]
fn tpcc_keeps_its_conditions() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("r");
    let arguments =
        ["tpcc", "--scale", "tiny", "--warehouses", "2", "--connections", "1", "5", "--runs", "1"];
    let study = study(
        &[&arguments[..], &["--seconds", "1", "--ramp", "0.1", "--memory", "64"]].concat(),
        &out,
    );
    for factor in [
        "procedures, 1 connection",
        "procedures, 5 connections",
        "statements, 1 connection",
        "statements, 5 connections",
    ] {
        assert!(median(&study, factor, "new orders a minute (tpmC)") > 0.0);
        for kind in ["new order", "payment", "order status", "delivery", "stock level"] {
            let of = |share: &str| median(&study, factor, &format!("{kind}, {share}"));
            assert!(
                of("p50") > 0.0 && of("p50") <= of("p95") && of("p95") <= of("p99"),
                "{factor}, {kind}"
            );
        }
    }
    let setup: Vec<&str> =
        study["setup"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    for mode in ["procedures", "statements"] {
        let killed = format!("SIGKILL in a run of {mode}, 5 connections: conditions 1 to 4 hold");
        assert!(setup.iter().any(|l| l.contains(&killed)), "{setup:?}");
    }
}

#[test]
fn the_wire_s_figures_are_there() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("r");
    let arguments = [
        "wire",
        "--scale",
        "tiny",
        "--runs",
        "1",
        "--seconds",
        "0.3",
        "--inserting",
        "4",
        "--selecting",
        "1",
        "2",
    ];
    let study = study(&[&arguments[..], &["--idle", "20", "--memory", "64"]].concat(), &out);
    for factor in [
        "durable one-row inserts, 4 connections",
        "prepared SELECT by primary key, 1 connection",
        "prepared SELECT by primary key, 2 connections",
        "beside 20 idle connections",
    ] {
        assert!(
            median(&study, factor, "calls") > 0.0
                && median(&study, factor, "p50") <= median(&study, factor, "p99")
        );
    }
    assert!(median(&study, "a new server", "start to first answer") > 0.0);
    assert!(median(&study, "a new server", "idle memory") > 1.0);
    assert!(median(&study, "idle connections", "memory of each") < 1_000.0);
}

#[test]
fn what_makes_no_sense_is_said() {
    let out = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (&["tpcc", "vlf-count"][..], "run alone"),
        (&["wire", "--target", "mssql://sa:secret@localhost/"], "not on mssql://sa@localhost/"),
        (&["tpcc", "--target", "mssql://sa:secret@localhost/?colour=red"], "colour=red"),
        (&["tpcc", "--target", "mssql://sa:secret@127.0.0.1:1/"], "sa@127.0.0.1:1"),
    ] {
        let output = lab(arguments, &out.path().join("r"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(said) && !text.contains("secret"),
            "{arguments:?}: {text}"
        );
    }
}
