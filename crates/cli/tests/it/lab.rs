//! The studies from the command line at a tiny scale: every cell is measured, the report says what
//! it must, an interrupted or killed run goes on where it stopped, and what makes no sense is
//! refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

fn command(arguments: &[&str], out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
    command.arg("lab").args(arguments).arg("--out").arg(out);
    command
}

fn lab(arguments: &[&str], out: &Path) -> Output {
    command(arguments, out).output().unwrap()
}

/// Starts it and kills it (SIGKILL) as soon as `when` says so, which must be before it ends.
fn kill_when(arguments: &[&str], out: &Path, when: impl Fn() -> bool) {
    let mut child =
        command(arguments, out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !when() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "{arguments:?} ended before it could be killed"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "{arguments:?} ended by itself");
}

fn scratch(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out).unwrap().flatten();
    entries
        .filter(|e| e.file_name().to_string_lossy().starts_with("scratch"))
        .map(|e| e.path())
        .collect()
}

fn succeed(arguments: &[&str], out: &Path) -> Value {
    let output = lab(arguments, out);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    serde_json::from_str(&std::fs::read_to_string(out.join("results.json")).unwrap()).unwrap()
}

fn study<'a>(results: &'a Value, name: &str, device: &str) -> &'a Value {
    let studies = results["studies"].as_array().unwrap();
    studies
        .iter()
        .find(|s| s["study"] == name && s["device"] == device)
        .unwrap_or_else(|| panic!("{name} on {device} is missing"))
}

fn cell<'a>(study: &'a Value, factor: &str, level: &str, measure: &str) -> &'a Value {
    let cells = study["cells"].as_array().unwrap();
    cells
        .iter()
        .find(|c| c["factor"] == factor && c["level"] == level && c["measure"] == measure)
        .unwrap_or_else(|| panic!("{factor} {level} {measure} is missing in {}", study["missing"]))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().map(|v| v.as_f64().unwrap()).collect()
}

/// The figures of all runs, also of those that measured a late machine instead of the modelled
/// device.
fn values(cell: &Value) -> Vec<f64> {
    [numbers(&cell["runs"]), numbers(&cell["late"])].concat()
}

/// Their median.
fn middle(cell: &Value) -> f64 {
    let mut values = values(cell);
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The rounds with a run that measured this machine instead of the modelled device.
fn late_rounds(study: &Value) -> BTreeSet<u64> {
    let marked = study["late"]["marked"].as_array().into_iter().flatten();
    marked.map(|run| run[1].as_u64().unwrap()).collect()
}

/// How many rounds a study must have of which so many were asked for: one more for each that has
/// such a run, half as many at most.
fn rounds_of(study: &Value, asked: usize) -> usize {
    asked + late_rounds(study).len().min(asked.div_ceil(2))
}

/// Every figure is a number above zero (but for counts), there is one for each round, and the
/// median is that of the runs that measured the device: of all rounds but the late ones at least.
fn check_cells(study: &Value, asked: usize) {
    let cells = study["cells"].as_array().unwrap();
    assert!(!cells.is_empty(), "{} has no cells: {}", study["study"], study["missing"]);
    let (rounds, late) = (rounds_of(study, asked), late_rounds(study).len());
    for cell in cells {
        let values = values(cell);
        // A table over the largest cell has the rounds of which all cells count.
        let table = cell["unit"] == "of the largest";
        assert!(values.len() == rounds || (table && late > 0 && values.len() < rounds), "{cell}");
        assert!(
            numbers(&cell["runs"]).len() + late >= rounds,
            "{late} of {rounds} rounds are late: {cell}"
        );
        let count = ["writes", "pages", "changes", "rows", "lines"]
            .iter()
            .any(|unit| cell["unit"] == *unit);
        assert!(values.iter().all(|v| v.is_finite() && (count || *v > 0.0)), "{cell}");
        assert_eq!(cell["median"].is_number(), !numbers(&cell["runs"]).is_empty(), "{cell}");
        assert_ne!(cell["published"], Value::String("".into()));
    }
}

/// One round: what further ones add is the same for each study, and other tests have it.
#[test]
fn all_studies_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    let results = succeed(&["run", "all", "--scale", "tiny", "--runs", "1"], &out);
    for (name, device) in [
        ("vlf-count", "real"),
        ("data-files", "real"),
        ("data-files", "iscsi-8x15000"),
        ("data-files", "2x-iscsi-raid10-4x15000"),
        ("data-files", "spindles-15000"),
        ("delayed-durability", "real"),
        ("delayed-durability", "hdd-7200"),
        ("delayed-durability", "hdd-7200-cache"),
        ("log-growth", "real"),
        ("log-block-size", "real"),
        ("log-block-size", "ssd-512e"),
        ("log-block-size", "ssd-4k-hidden"),
        ("log-block-size", "ssd-512n"),
    ] {
        let study = study(&results, name, device);
        check_cells(study, 1);
        assert_eq!(study["rounds"]["done"], rounds_of(study, 1), "{name} on {device}");
        assert_eq!(study["target"], "ringwood");
        assert_eq!(study["disclosure"].is_string(), device != "real", "{name} on {device}");
        let late = &study["late"];
        assert_eq!(late.is_object(), device != "real", "{name} on {device}: {late}");
        if late.is_object() {
            let count = |field: &str| late[field].as_i64().unwrap();
            assert!(
                count("requests") > 10 && (0..=count("requests")).contains(&count("late")),
                "{late}"
            );
        }
        assert!(!study["io"].as_array().unwrap().is_empty(), "{name} on {device} has no I/O");
        for wait in study["waits"].as_array().unwrap() {
            let (count, ms) = (wait["count"].as_i64().unwrap(), wait["ms"].as_i64().unwrap());
            assert!(count > 0 && ms >= 0, "{name} on {device}: {wait}");
        }
    }
    check_contents(&results);
    let seed = results["origin"]["seed"].as_u64().unwrap();
    let setup = study(&results, "vlf-count", "real")["setup"].to_string();
    assert!(setup.contains(&format!("balanced over the rounds, seed {seed}")), "{setup}");
    assert!(setup.contains("databases made again for each run"), "{setup}");
    for delayed in study(&results, "delayed-durability", "real")["claims"].as_array().unwrap() {
        // One run that keeps a fact decides nothing, one that breaks it would.
        if delayed["every"].is_object() {
            assert_eq!(delayed["verdict"], "undecided", "{delayed}");
            assert_eq!(delayed["every"]["runs"], 1, "{delayed}");
        }
    }
    let html = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        html.contains("Measured on a model") && html.contains("<svg") && html.contains("vlf-count")
    );
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"));
    assert!(scratch(&out).is_empty(), "{:?}", scratch(&out));
}

fn check_contents(results: &Value) {
    let vlf = study(results, "vlf-count", "real");
    let trigger = "update, trigger that reads inserted and deleted";
    for measure in [
        "insert",
        "update",
        trigger,
        "delete",
        "log backup",
        "recovery",
        "mix of short transactions",
    ] {
        assert_eq!(cell(vlf, "VLFs", "16", measure)["ratio_to_baseline"], 1.0);
        for level in ["1000", "1000, remedied"] {
            assert!(cell(vlf, "VLFs", level, measure)["ratio_to_baseline"].as_f64().unwrap() > 0.0);
        }
    }
    // His seconds are of other sizes: only their ratio stands beside ours.
    let update = cell(vlf, "VLFs", "1000", "update");
    assert!(
        update["published"].is_null()
            && (update["published_ratio"].as_f64().unwrap() - 8.93).abs() < 0.01
    );
    // The steps run in the small VLFs, and the remedy leaves large ones.
    let changes = |level: &str, measure: &str| {
        let cell = cell(vlf, "VLFs", level, &format!("{measure}, VLF changes"));
        cell["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .fold(f64::INFINITY, f64::min)
    };
    for measure in ["insert", "update"] {
        assert!(changes("1000", measure) >= 20.0 * changes("16", measure).max(1.0), "{measure}");
        assert!(changes("1000, remedied", measure) <= 8.0, "{measure}");
    }
    assert!(
        cell(vlf, "VLFs", "16", "update")["repeats"][0].as_u64().unwrap() >= 2,
        "update and back"
    );
    let many = vlf["setup"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .find(|s| s.starts_with("1000:"));
    let vlfs: u32 =
        many.unwrap().split("MB in ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((980..1100).contains(&vlfs), "{many:?}");
    let files = study(results, "data-files", "2x-iscsi-raid10-4x15000");
    for count in ["1", "2", "4", "8", "16"] {
        for factor in ["files on one array", "files on two arrays"] {
            for measure in ["load", "checkpoint", "load and checkpoint"] {
                cell(files, factor, count, measure);
            }
        }
    }
    let published = study(results, "data-files", "iscsi-8x15000");
    let best = cell(published, "Test 2: files on two arrays of four", "8", "load");
    assert!((best["published_ratio"].as_f64().unwrap() - 1.0 / 1.06).abs() < 1e-9);
    assert_eq!(published["published_waits"].as_array().unwrap().len(), 6);
    for on_other in [files, study(results, "data-files", "real")] {
        let cells = on_other["cells"].as_array().unwrap();
        assert!(
            cells.iter().all(|c| c["published_ratio"].is_null()),
            "his hardware alone has his figures"
        );
    }
    let spindles = study(results, "data-files", "spindles-15000");
    for level in [
        "1 file, one spindle",
        "8 files, one spindle",
        "1 file, eight spindles",
        "8 files, eight spindles",
    ] {
        cell(spindles, "scattered pages", level, "checkpoint of scattered pages");
    }
    let real = study(results, "data-files", "real");
    cell(real, "files, one row a page", "8", "load");
    cell(real, "files added later", "1, then 7 added", "second load");
    cell(real, "files and sessions", "8 files, 64 sessions", "load");
    cell(real, "files and processors", "8 files, 1 processor", "load");
    let delayed = study(results, "delayed-durability", "real");
    let missing = |level: &str| {
        let cell = cell(delayed, "end of the process", level, "missing of the acknowledged");
        cell["runs"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).fold(0.0, f64::max)
    };
    assert_eq!((missing("clean stop"), missing("kill after sp_flush_log")), (0.0, 0.0));
    // Of 1,500 rows of 104 bytes and more the window holds at most 590.
    assert!((0.0..=590.0).contains(&missing("kill, window 60 KB")));
    let outage = |level: &str| {
        values(cell(delayed, "outage under 64 sessions", level, "missing of the acknowledged"))
    };
    for level in ["power failure, durable", "stop of the system, durable"] {
        assert_eq!(outage(level), [0.0], "{level}");
    }
    for level in ["power failure, window 60 KB", "stop of the system, window 60 KB"] {
        assert!(
            outage(level).iter().all(|missing| *missing <= 590.0),
            "{level}: {:?}",
            outage(level)
        );
    }
    let rate = |device: &str| {
        let study = study(results, "delayed-durability", device);
        let cell =
            cell(study, "commits on one disk", "per row, durable", "one-row inserts a second");
        middle(cell)
    };
    assert!(rate("hdd-7200") < 150.0, "one commit a revolution: {}", rate("hdd-7200"));
    assert!(rate("hdd-7200-cache") > 10.0 * rate("hdd-7200"), "a cache answers at once");
    let time =
        |level| cell(delayed, "commits", level, "one-row inserts")["median"].as_f64().unwrap();
    // How they compare depends on what else the machine does.
    assert!(time("per row, durable") > 0.0 && time("raw write + fdatasync") > 0.0);
    for device in ["ssd-512e", "ssd-4k-hidden"] {
        let blocks = study(results, "log-block-size", device);
        let reads =
            |level| middle(cell(blocks, "log block", level, "payload < 4096, read-modify-writes"));
        let whole = (reads("default"), reads("4096"), reads("-T1800"));
        assert_eq!(whole, (0.0, 0.0, 0.0), "{device}: whole sectors need no reading");
        assert!(
            reads("512") > 0.0,
            "{device}: 512-byte blocks on 4,096-byte sectors make the device read first"
        );
    }
    let blocks = study(results, "log-block-size", "ssd-4k-hidden");
    if blocks["late"]["marked"].as_array().unwrap().is_empty() {
        let table =
            |level: &str| cell(blocks, "log block, rows over the largest", level, "payload < 4096");
        assert_eq!(
            (table("512")["published"].as_f64(), table("-T1800")["published"].as_f64()),
            (Some(0.3), Some(1.0))
        );
        assert!(table("512")["median"].as_f64().unwrap() <= 1.0);
    }
    for source in ["by fn_dblog", "by file statistics"] {
        let measure = format!("log writes of payload < 4096, {source}");
        let bytes = |level: &str| middle(cell(blocks, "log block", level, &measure));
        assert_eq!(
            (bytes("-T1800"), bytes("4096")),
            (8192.0, 8192.0),
            "{source}: the row and its records"
        );
        assert!(bytes("512") < 8192.0, "{source}: {}", bytes("512"));
    }
    let growth = study(results, "log-growth", "real");
    for measure in
        ["updates, autogrow", "updates, pre-grown, SIMPLE", "growing and updates", "full backup"]
    {
        cell(growth, "growth step", "128 KB", measure);
    }
    let vlfs = |level: &str, when: &str| {
        cell(growth, "growth step", level, &format!("VLFs {when} growing"))["median"]
            .as_f64()
            .unwrap()
    };
    // 1 MB makes 4 VLFs, each growth of 128 KB two: 7 MB are 56 of them.
    assert_eq!((vlfs("128 KB", "before"), vlfs("128 KB", "after")), (4.0, 4.0 + 2.0 * 56.0));
    assert!(vlfs("4 MB", "after") < 20.0);
    let lines = cell(growth, "growth step", "4 MB", "full backup, lines of STATS = 1")["median"]
        .as_f64()
        .unwrap();
    assert_eq!(lines, 100.0, "one line a percent");
    let pages =
        |level| cell(growth, "growth step", level, "log backup, pages")["median"].as_f64().unwrap();
    assert!(pages("128 KB") > 100.0, "200 updates of 8,000 bytes are in the backup");
    assert!(
        (0.8..1.25).contains(&(pages("128 KB") / pages("4 MB"))),
        "the same log, however it grew"
    );
}

/// Cuts the journal of two studies as an interruption would and goes on: what was finished stays as
/// it was, the rest is measured. The second study has a calibration round, which counts too.
#[test]
fn an_interrupted_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    let run = |runs: &'static str| {
        let studies = ["run", "log-growth", "data-files", "--device", "spindles-15000"];
        [&studies[..], &["--scale", "tiny", "--runs", runs]].concat()
    };
    succeed(&run("2"), &out);
    let journal = out.join("runs.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let kept = lines.len() - 9;
    let mut cut = lines[..kept].join("\n");
    cut.push('\n');
    cut.push_str(&lines[kept][..40]);
    std::fs::write(&journal, &cut).unwrap();
    std::fs::remove_file(out.join("results.json")).unwrap();
    let resumed = |runs: &'static str| [&run(runs)[..], &["--resume"]].concat();
    let other = lab(&resumed("3"), &out);
    assert!(String::from_utf8_lossy(&other.stderr).contains("runs 2, now 3"));
    let results = succeed(&resumed("2"), &out);
    for name in ["log-growth", "data-files"] {
        check_cells(study(&results, name, "spindles-15000"), 2);
    }
    let again = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(again.lines().take(kept).collect::<Vec<_>>(), lines[..kept]);
    let calibrations = |journal: &str| journal.matches("{\"calibration\":").count();
    assert_eq!((calibrations(&again), calibrations(&whole)), (4, 4));
    check_journal(&again, &results, 2);
}

/// The journal has each arm of each study once in each round, and nothing else but its head and the
/// calibration round.
fn check_journal(journal: &str, results: &Value, asked: usize) {
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let runs: Vec<Value> = lines.filter(|line| line["round"].is_u64()).collect();
    let of_run = |run: &Value| {
        ["study", "device", "arm"].map(|field| run[field].as_str().unwrap().to_owned())
    };
    let mut rounds: BTreeMap<[String; 3], Vec<u64>> = BTreeMap::new();
    for run in &runs {
        rounds.entry(of_run(run)).or_default().push(run["round"].as_u64().unwrap());
    }
    for ([name, device, arm], mut rounds) in rounds {
        rounds.sort_unstable();
        let all: Vec<u64> = (0..rounds_of(study(results, &name, &device), asked) as u64).collect();
        assert_eq!(rounds, all, "{arm} of {name} on {device}");
    }
    let calibrations = journal.matches("{\"calibration\":").count();
    assert_eq!(journal.lines().count(), 1 + calibrations + runs.len());
}

/// Twice in the middle of a run, with databases that are kept for all rounds and one that a child
/// is about to crash.
#[test]
fn a_killed_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    let arguments = ["run", "vlf-count", "--scale", "tiny", "--runs", "3", "--fresh-every", "3"];
    let resumed = [&arguments[..], &["--resume"]].concat();
    let journal = || std::fs::read_to_string(out.join("runs.jsonl")).unwrap_or_default();
    let ended = |runs: usize| move |text: String| text.matches('\n').count() > runs;
    kill_when(&arguments, &out, || ended(1)(journal()));
    let first = journal();
    assert!(!scratch(&out).is_empty() && !out.join("results.json").exists());
    kill_when(&resumed, &out, || ended(3)(journal()));
    assert!(!scratch(&out).is_empty());
    let results = succeed(&resumed, &out);
    check_cells(study(&results, "vlf-count", "real"), 3);
    assert!(scratch(&out).is_empty());
    let all = journal();
    check_journal(&all, &results, 3);
    let rounds = rounds_of(study(&results, "vlf-count", "real"), 3);
    assert_eq!(all.lines().count(), 1 + 3 * rounds, "three arms, each once in a round");
    assert!(all.starts_with(&first[..=first.rfind('\n').unwrap()]), "what was measured stays");
}

/// The child of a recovery run whose parent was gone before it could ask to die with it.
#[test]
fn a_child_that_is_left_behind_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ringwood"));
    child.args(["lab", "victim", "--parent", &gone.id().to_string()]);
    child
        .args(["--database", "lab", "--bytes", "1", "--memory", "67108864", "--data"])
        .arg(folder.path());
    let output = child.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && errors.contains("which asked for this, has ended"),
        "{errors}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_wrong_address_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    let arguments = ["run", "log-growth", "--scale", "tiny", "--runs", "1", "--notify"];
    let mail = if cfg!(feature = "mail") {
        "to=, who gets the mail, is missing"
    } else {
        "this build sends no mails"
    };
    for (url, text) in [
        ("hooks.example.org/s3cret", "--notify: this is not a URL"),
        ("mailto:s3cret@example.org", "must begin with http://"),
        ("smtp://lab:s3cret@mail.example.org/?from=lab@example.org", mail),
    ] {
        let output = lab(&[&arguments[..], &[url]].concat(), &out);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(text), "{url}: {errors}");
        assert!(!errors.contains("s3cret") && !out.exists(), "{url}: {errors}");
    }
    // A receiver that cannot be reached does not make a good run a bad one.
    let url = "http://lab:s3cret@127.0.0.1:1/s3cret";
    let output = lab(&[&arguments[..], &[url]].concat(), &out);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.contains("http://127.0.0.1:1: "), "{errors}");
    for file in ["runs.jsonl", "results.json", "report.html"] {
        assert!(!std::fs::read_to_string(out.join(file)).unwrap().contains("s3cret"), "{file}");
    }
    assert!(!errors.contains("s3cret"), "{errors}");
}

#[test]
fn what_makes_no_sense_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    if cfg!(feature = "peers") {
        let results = succeed(
            &["run", "log-growth", "--scale", "tiny", "--runs", "1", "--target", "sqlite"],
            &out,
        );
        let study = study(&results, "log-growth", "real");
        assert!(study["cells"].as_array().unwrap().is_empty());
        assert!(
            study["meaning"].as_str().unwrap().starts_with("No meaning here: SQLite"),
            "{study}"
        );
    }
    for (arguments, text) in [
        (vec!["run", "no-such-study"], "there is no study"),
        (vec!["run", "vlf-count", "--target", "oracle"], "there is no target"),
        (vec!["run", "vlf-count", "--device", "floppy"], "floppy"),
        (vec!["run", "vlf-count", "--resume"], "nothing to resume"),
        (vec!["run", "vlf-count", "--device-path", "tape=/tmp"], "none of data"),
        (vec!["run", "vlf-count", "--until-decided", "6"], "more rounds than --runs 6 are needed"),
        (vec!["run", "vlf-count", "--until-decided", "40"], "at least --runs 8"),
    ] {
        let out = folder.path().join("other");
        std::fs::create_dir_all(&out).unwrap();
        let output = lab(&arguments, &out);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(text), "{arguments:?}: {errors}");
    }
}

/// The same studies on the peers that are installed; SQLite comes with the build.
#[cfg(feature = "peers")]
#[test]
fn peers_run_the_studies_that_they_have_a_knob_for() {
    let installed = |program: &str| {
        let found = |dir: PathBuf| dir.join(program).is_file();
        program.is_empty() || std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(found)
    };
    let folder = tempfile::tempdir().unwrap();
    for (target, program, studies) in [
        ("sqlite", "", &["delayed-durability"][..]),
        ("postgres", "postgres", &["delayed-durability", "log-growth", "data-files"]),
        ("mariadb", "mariadbd", &["delayed-durability", "log-block-size", "data-files"]),
    ] {
        if !installed(program) {
            eprintln!("{target} is not installed: not tested");
            continue;
        }
        for name in studies {
            let out = folder.path().join(format!("{target}-{name}"));
            let results =
                succeed(&["run", name, "--scale", "tiny", "--runs", "1", "--target", target], &out);
            check_cells(study(&results, name, "real"), 1);
        }
    }
}

/// The comparison itself, with those that are installed: every row has a figure for each, or says
/// why not.
#[cfg(feature = "peers")]
#[test]
fn the_comparison_has_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = ["--rows", "300", "--loop-inserts", "100", "--commits", "20", "--delayed", "100"];
    let more = ["--load-rows", "1024", "--updates", "20", "--seconds", "0.05", "--runs", "1"];
    let results = succeed(&[&["peers"][..], &sizes, &more].concat(), folder.path());
    let study = study(&results, "peers", "real");
    check_cells(study, 1);
    for measure in [
        "loop inserts",
        "durable commits",
        "durable commits, one client",
        "durable commits, one client, p50",
        "durable commits, one client, p95",
        "durable commits, one client, p99",
        "delayed commits",
        "16 connections insert",
        "16 connections insert, with its checkpoint",
        "updates of an 8,000-byte row",
        "updates of an 8,000-byte row, with its checkpoint",
        "insert-select",
        "insert-select, with its checkpoint",
        "update",
        "update, with its checkpoint",
        "update, no checkpoint before it",
        "delete",
        "delete, with its checkpoint",
    ] {
        assert_eq!(cell(study, "engine", "Ringwood", measure)["ratio_to_baseline"], 1.0);
        assert!(
            cell(study, "engine", "SQLite", measure)["ratio_to_baseline"].as_f64().unwrap() > 0.0
        );
    }
    let engines =
        study["cells"].as_array().unwrap().iter().filter(|c| c["measure"] == "delete").count();
    let missing = study["missing"].as_array().unwrap().len();
    assert_eq!(engines + missing, 5, "{}", study["missing"]);
    let served = cell(study, "engine", "Ringwood, served", "durable commits, one client, p50");
    assert!(served["ratio_to_baseline"].as_f64().unwrap() > 0.0, "{served}");
    let setup = study["setup"].to_string();
    assert!(setup.contains("SQLite 3.") && setup.contains("in process"), "{setup}");
}

/// A build without the other engines' clients says how to get them.
#[cfg(not(feature = "peers"))]
#[test]
fn other_engines_need_a_feature() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "delayed-durability", "--scale", "tiny", "--target", "postgres"];
    for arguments in [&["peers"][..], &["peers", "--target", "sqlite"], &run] {
        let output = lab(arguments, folder.path());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && errors.contains("--features peers"),
            "{arguments:?}: {errors}"
        );
    }
}

const SMALL: [&str; 15] = [
    "peers",
    "--rows",
    "300",
    "--loop-inserts",
    "100",
    "--commits",
    "20",
    "--delayed",
    "0",
    "--load-rows",
    "0",
    "--updates",
    "0",
    "--seconds",
    "0",
];

/// A comparison that is killed has the results of its finished rounds.
#[test]
fn a_killed_comparison_has_its_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    let file = out.join("results.json");
    kill_when(&[&SMALL[..], &["--target", "ringwood", "--runs", "1000"]].concat(), &out, || {
        file.exists()
    });
    let results: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let study = study(&results, "peers", "real");
    let runs = cell(study, "engine", "Ringwood", "delete")["runs"].as_array().unwrap().len();
    assert!((1..1000).contains(&runs));
    check_cells(study, runs);
    let note = format!("rounds {} to 1000: not measured yet", runs + 1);
    assert_eq!(study["missing"][0], note.as_str());
    let report = Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["lab", "report", "--out"])
        .arg(&out)
        .output();
    assert!(report.unwrap().status.success());
}

/// An engine that cannot be started is left out, with the reason; the other one is measured to the
/// end.
#[cfg(feature = "peers")]
#[test]
fn an_engine_that_fails_does_not_lose_the_comparison() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r");
    let program = folder.path().join("mariadb-install-db");
    std::fs::write(&program, "#!/bin/sh\necho no room >&2\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::copy(&program, folder.path().join("mariadbd")).unwrap();
    let path = std::env::join_paths(
        [folder.path().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let arguments = [&SMALL[..], &["--target", "mariadb", "ringwood", "--runs", "2"]].concat();
    let output = command(&arguments, &out).env("PATH", path.unwrap()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.contains("left out: MariaDB: "), "{errors}");
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    let study = study(&results, "peers", "real");
    check_cells(study, 2);
    let missing = study["missing"].as_array().unwrap();
    assert_eq!(missing.len(), 1);
    let why = missing[0].as_str().unwrap();
    assert!(
        why.starts_with("MariaDB: mariadb-install-db: ") && why.contains("no room"),
        "{missing:?}"
    );
    assert!(scratch(&out).is_empty());
}

/// Two builds in turns, two folders against each other, and the exit code that says what was found.
#[test]
fn builds_and_folders_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_ringwood");
    let out = folder.path().join("turns");
    let run = ["compare", "log-growth", "--binaries", program, program, "--rounds", "2"];
    let output = lab(
        &[&run[..], &["--device", "real", "--scale", "tiny", "--slow-down", "50"]].concat(),
        &out,
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "two rounds show nothing: {text}{errors}");
    assert!(text.contains("measured in turns") && text.contains("Too few rounds"), "{text}");
    let side = |name: &str| -> Value {
        let path = out.join(name).join("results.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let (a, b) = (side("a"), side("b"));
    assert!(
        a["origin"]["interleaved"] == b["origin"]["interleaved"]
            && a["origin"]["interleaved"] != ""
    );
    assert_eq!(study(&a, "log-growth", "real")["cells"][0]["runs"].as_array().unwrap().len(), 2);
    assert!(study(&b, "log-growth", "real")["setup"].to_string().contains("slower by 50 %"));
    let compared = |arguments: &[&str]| {
        let output =
            Command::new(program).arg("lab").arg("compare").args(arguments).output().unwrap();
        let both = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&both).into_owned())
    };
    let [a, b] = ["a", "b"].map(|side| out.join(side).display().to_string());
    let (code, json) = compared(&[&a, &b, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(
        code == Some(2) && json["interleaved"] == true && json["finding"] == "too_few_rounds",
        "{json}"
    );
    for (arguments, text) in [
        (&["--check", &a][..], "has 2 rounds"),
        (&[&a], "two folders of results are compared"),
        (&[&a, "/nowhere"], "No such file"),
    ] {
        let (code, said) = compared(arguments);
        assert!(code == Some(2) && said.contains(text), "{arguments:?}: {said}");
    }
    let (code, said) = compared(&["--check", &a, "--rounds", "1", "--comparisons", "7"]);
    assert!(code == Some(0) && said.contains("too few rounds 7"), "{said}");
}
