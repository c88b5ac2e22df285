//! Comparisons of engines that do nothing, some of which fail.

use super::*;
use std::path::PathBuf;
use std::sync::Arc;
use targets::work::{Counters, Figure, Knob, TsqlWork};

/// An engine whose pieces of work take as many seconds as it has done before, and the last of which
/// fails.
struct FakeEngine {
    title: &'static str,
    done: usize,
    lasts: usize,
    /// What is looked at before each piece of work.
    look: Box<dyn FnMut(usize)>,
}

impl Target for FakeEngine {
    fn name(&self) -> &'static str {
        self.title
    }
    fn title(&self) -> &'static str {
        self.title
    }
    fn knob(&self, _: Knob) -> Result<&'static str, &'static str> {
        Err("none")
    }
    fn set_up(&mut self, _: &TargetPlace, _: &Config) -> Result<Vec<String>, LabError> {
        Ok(vec![])
    }
    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match work {
            Work::MakeCustomer | Work::Tsql(TsqlWork::UpdateBack) => return Ok(vec![]),
            Work::Checkpoint => return Ok(Figure::seconds(0.5)),
            _ => {}
        }
        (self.look)(self.done);
        if self.done == self.lasts {
            return Err(LabError::Request("the server is gone".into()));
        }
        self.done += 1;
        Ok(Figure::seconds(self.done as f64))
    }
    fn counters(&mut self) -> Result<Counters, LabError> {
        Ok(Counters::default())
    }
    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        None
    }
    fn tear_down(&mut self) -> Result<(), LabError> {
        Ok(())
    }
}

fn fake(title: &'static str, lasts: usize, look: impl FnMut(usize) + 'static) -> Box<dyn Target> {
    Box::new(FakeEngine { title, done: 0, lasts, look: Box::new(look) })
}

/// Four pieces of work a round.
fn compare(out: &Path, runs: usize, targets: Vec<Box<dyn Target>>) -> Result<Results, LabError> {
    let options = PeerOptions {
        rows: 1,
        runs,
        targets: vec![],
        loop_inserts: 0,
        commits: 0,
        delayed: 0,
        seconds: 0.0,
        load_rows: 0,
        updates: 0,
        limit: 1000,
        seed: 1,
        fresh_every: 1,
        program: None,
        commit: String::new(),
        command: String::new(),
    };
    let results =
        Results { ringwood: "0".into(), studies: vec![empty(&options)], ..Results::default() };
    let place = TargetPlace {
        folder: out.into(),
        device: Device::named(REAL, &BTreeMap::new())?,
        customers: None,
        program: None,
        fresh: false,
    };
    let engines = targets
        .into_iter()
        .map(|target| Engine { target, place: place.clone(), said: vec![] })
        .collect();
    Comparison { options: &options, out, scratch: out, results }.run(engines, &mut |_| {})
}

fn runs(results: &Results, level: &str, measure: &str) -> Vec<f64> {
    results.studies[0].cell(level, measure).map(|c| c.runs.clone()).unwrap_or_default()
}

#[test]
fn results_are_there_after_each_round() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_owned();
    let look = move |done: usize| {
        let written = report::read(&folder);
        if done < 4 {
            assert!(written.is_err(), "nothing in the first round");
            return;
        }
        let written = written.unwrap();
        assert_eq!(runs(&written, "A", "insert-select").len(), done / 4);
        assert_eq!(runs(&written, "A", "delete").len(), done / 4);
        assert_eq!(written.studies[0].cell("A", "delete").unwrap().ratio_to_baseline, Some(1.0));
        let rounds = format!("rounds {} to 3: not measured yet", done / 4 + 1);
        assert_eq!(written.studies[0].missing, [rounds]);
        let csv = std::fs::read_to_string(folder.join("results.csv")).unwrap();
        assert!(csv.contains("delete") && folder.join("report.html").is_file());
    };
    let results = compare(out.path(), 3, vec![fake("A", usize::MAX, look)]).unwrap();
    assert_eq!(runs(&results, "A", "delete"), [4.0, 8.0, 12.0]);
    assert_eq!(runs(&results, "A", "delete, with its checkpoint"), [4.5, 8.5, 12.5]);
    assert_eq!(runs(&results, "A", "update, no checkpoint before it"), [3.0, 7.0, 11.0]);
    assert_eq!(runs(&results, RAW, "durable commits").len(), 3, "the floor has its turns");
    let written = report::read(out.path()).unwrap();
    assert_eq!(runs(&written, "A", "delete"), [4.0, 8.0, 12.0]);
    assert!(written.studies[0].missing.is_empty());
}

#[test]
fn who_fails_is_left_out_and_the_others_go_on() {
    let out = tempfile::tempdir().unwrap();
    // The second piece of work of the second round.
    let targets =
        vec![fake("A", usize::MAX, |_| {}), fake("B", 5, |_| {}), fake("C", usize::MAX, |_| {})];
    let results = compare(out.path(), 3, targets).unwrap();
    for level in ["A", "C"] {
        assert_eq!(runs(&results, level, "delete"), [4.0, 8.0, 12.0]);
    }
    assert_eq!(runs(&results, "B", "insert-select"), [1.0, 5.0]);
    assert_eq!(
        (runs(&results, "B", "update"), runs(&results, "B", "delete")),
        (vec![2.0], vec![4.0])
    );
    let study = &report::read(out.path()).unwrap().studies[0];
    assert_eq!(study.missing, ["B: failed in round 2: update: the server is gone"]);
    assert!(study.meaning.contains("rows"), "{}", study.meaning);
}

#[test]
fn when_nobody_is_left_the_results_are_there_and_the_run_has_failed() {
    let out = tempfile::tempdir().unwrap();
    let error = compare(out.path(), 9, vec![fake("A", 5, |_| {}), fake("B", 1, |_| {})])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("no engine is left.") && error.contains("A: failed in round 2: update"),
        "{error}"
    );
    let written = report::read(out.path()).unwrap();
    assert_eq!(runs(&written, "A", "insert-select"), [1.0, 5.0]);
    assert_eq!(written.studies[0].missing.len(), 2);
    let error = compare(out.path(), 1, vec![]).unwrap_err().to_string();
    assert!(error.starts_with("no engine is left"), "{error}");
}

fn sized() -> PeerOptions {
    PeerOptions {
        rows: 1,
        runs: 6,
        targets: vec![],
        loop_inserts: 1,
        commits: 1,
        delayed: 1,
        seconds: 0.0,
        load_rows: 16,
        updates: 2,
        limit: 1000,
        seed: 1,
        fresh_every: 1,
        program: None,
        commit: String::new(),
        command: String::new(),
    }
}

/// What does not depend on what was before it is a group of its own, and what has no size is none.
#[test]
fn work_is_in_groups_that_can_take_turns() {
    let names = |options: &PeerOptions| -> Vec<Vec<&'static str>> {
        groups(options).iter().map(|group| group.iter().map(|task| task.name).collect()).collect()
    };
    let all = names(&sized());
    assert_eq!(all.len(), 7);
    assert_eq!(all[6], ["insert-select", "update", "update, no checkpoint before it", "delete"]);
    assert!(all[..6].iter().all(|group| group.len() == 1), "{all:?}");
    let few = PeerOptions { loop_inserts: 0, commits: 0, load_rows: 0, ..sized() };
    let few = names(&few);
    assert_eq!(few[0], ["delayed commits"]);
    assert_eq!((few.len(), few[1][0]), (3, "updates of an 8,000-byte row"));
}
