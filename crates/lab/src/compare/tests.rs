//! What a comparison promises: one build is told from itself in at most four of a hundred
//! comparisons, and a slowdown of 5 % is found, on made-up noise and on recorded runs.

use super::check::{FindingCounts, deal_many};
use super::interleave::Interleave;
use super::*;
use crate::report;
use crate::results::Verdict;
use std::path::Path;

/// A study of `cells` steps and a baseline each, whose runs have noise of that size, now and then a
/// spike, and a machine whose pace drifts.
fn made_up(rounds: usize, cells: usize, noise: f64, seed: u64) -> Results {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut study = StudyResult { study: "made-up".into(), ..StudyResult::default() };
    let mut pace = 1.0;
    for round in 0..rounds {
        pace *= 0.95 + 0.1 * random.f64();
        for cell in 0..cells {
            for level in ["base", "other"] {
                let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                let spike = if random.f64() < 0.05 { 1.5 } else { 1.0 };
                let seconds = pace * (1.0 + cell as f64) * (noise * normal).exp() * spike;
                let (unit, value) =
                    if cell == 0 { ("rows/s", 1e4 / seconds) } else { ("s", seconds) };
                study.record_in(round, "f", level, &format!("m{cell}"), unit, value);
            }
        }
    }
    study.finish(&|_| Some(("f", "base")));
    Results { studies: vec![study], ..Results::default() }
}

/// Recorded on a machine that compiled other programs meanwhile: 80 rounds of two statements, and
/// 72 rounds of vlf-count at quick scale. Neighbouring rounds differ by 3 to 75 % (medians of the
/// cells).
fn recorded() -> [Results; 2] {
    [include_str!("recorded.json"), include_str!("recorded-busy.json")]
        .map(|t| serde_json::from_str(t).unwrap())
}

/// The same runs with a fifth of their distance to the median: noise as it was recorded, of the
/// size that a quiet machine has.
fn calmed(mut results: Results) -> Results {
    for cell in results.studies.iter_mut().flat_map(|s| &mut s.cells) {
        let median = cell.median;
        cell.runs.iter_mut().for_each(|v| *v = median * (*v / median).powf(0.2));
    }
    results
}

#[test]
fn one_build_is_not_told_from_itself_and_five_percent_are_found() {
    let [statements, busy] = recorded();
    for (name, results) in
        [("made up", made_up(200, 4, 0.03, 1)), ("statements", statements), ("busy", busy)]
    {
        // In full noise: what is the same is never found to differ.
        let same = deal_many(&results, 300, 24, 1.0, 7).unwrap();
        assert!(same.none * 100 >= 95 * 300, "{name}: {same:?}");
        let results = if name == "made up" { results } else { calmed(results) };
        let same = deal_many(&results, 300, 24, 1.0, 8).unwrap();
        assert!(same.none * 100 >= 95 * 300, "{name}: {same:?}");
        let slower = deal_many(&results, 100, 24, 1.05, 7).unwrap();
        assert!(slower.slower >= 95 && slower.faster == 0, "{name}: {slower:?}");
        let faster = deal_many(&results, 100, 24, 1.0 / 1.05, 7).unwrap();
        assert!(faster.faster >= 95 && faster.slower == 0, "{name}: {faster:?}");
    }
}

#[test]
fn too_few_rounds_say_so() {
    let results = made_up(40, 4, 0.001, 2);
    let few = deal_many(&results, 20, 6, 1.5, 3).unwrap();
    assert_eq!(
        few,
        FindingCounts { too_few: 20, ..FindingCounts::default() },
        "however large the difference"
    );
    assert_eq!(deal_many(&results, 20, 7, 1.5, 3).unwrap().slower, 20);
    let error = deal_many(&results, 1, 21, 1.0, 3).unwrap_err().to_string();
    assert!(error.contains("has 40 rounds: a comparison of 21 rounds takes 42"), "{error}");
}

/// One side's cell is slower: that cell is named, and no other.
#[test]
fn the_cell_that_is_slower_is_named() {
    let a = Results {
        origin: ResultsOrigin { interleaved: "x".into(), ..ResultsOrigin::default() },
        ..made_up(16, 3, 0.01, 4)
    };
    let mut b = Results { origin: a.origin.clone(), ..made_up(16, 3, 0.01, 5) };
    b.studies[0].cell_mut("f", "other", "m1").unwrap().runs.iter_mut().for_each(|v| *v *= 2.0);
    let out = compare(&a, &b).unwrap();
    assert_eq!(out.finding, Finding::Slower);
    let slower: Vec<(&str, &str)> = out.studies[0]
        .cells
        .iter()
        .filter(|c| c.difference.as_ref().is_some_and(|d| d.finding == Finding::Slower))
        .map(|c| (c.level.as_str(), c.measure.as_str()))
        .collect();
    assert_eq!(slower, [("other", "m1")]);
    let text = terminal(&out);
    assert!(
        text.contains("measured in turns") && text.contains("B is slower.") && text.contains('~'),
        "{text}"
    );
}

/// Runs that were made one after the other on a machine of another pace: only what they measured
/// against their own baselines is compared.
#[test]
fn separate_runs_are_compared_by_their_own_baselines() {
    let (a, mut b) = (made_up(20, 2, 0.01, 6), made_up(20, 2, 0.01, 7));
    for cell in &mut b.studies[0].cells {
        // A slower machine.
        let factor = if cell.unit == "s" { 1.4 } else { 1.0 / 1.4 };
        cell.runs.iter_mut().for_each(|v| *v *= factor);
    }
    let out = compare(&a, &b).unwrap();
    assert_eq!(out.finding, Finding::NoDifference, "{}", terminal(&out));
    let compared = |level: &str| {
        out.studies[0].cells.iter().filter(|c| c.level == level).all(|c| c.difference.is_some())
    };
    assert!(compared("other") && !compared("base"));
    assert!(out.remarks[0].contains("two separate runs"), "{:?}", out.remarks);
    b.studies[0].cell_mut("f", "other", "m1").unwrap().runs.iter_mut().for_each(|v| *v *= 1.1);
    let out = compare(&a, &b).unwrap();
    assert_eq!(out.finding, Finding::Slower, "{}", terminal(&out));
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let a = made_up(8, 1, 0.01, 1);
    let mut b = a.clone();
    b.studies[0].scale = "paper".into();
    assert!(compare(&a, &b).unwrap_err().to_string().contains("no study in common"));
}

/// A build that writes results as `lab run` does: a shell script that copies what lies beside it,
/// slower by a digit of its own.
fn build(folder: &Path, name: &str, seconds: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let mut results = made_up(1, 1, 0.0, 1);
    results.studies[0].cells.retain(|c| c.level == "base");
    results.studies[0].cells[0].unit = "s".into();
    results.studies[0].cells[0].runs = vec![4711.0];
    results.origin.commit = name.into();
    let text = serde_json::to_string(&results).unwrap().replace("4711.0", seconds);
    std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --out ] && out=$2; shift; done\n\
         [ -e {0}/stop ] && echo stopped >&2 && exit 1\nmkdir -p \"$out\" && cp {0}/{name}.json \"$out/results.json\" && echo {name} >> {0}/calls\n",
        folder.display()
    );
    let path = folder.join(name);
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn two_builds_take_turns_and_an_interrupted_comparison_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let run = |rounds: usize, resume: bool| {
        let request = Interleave {
            binaries: [build(folder.path(), "old", "1.0"), build(folder.path(), "new", "1.25")],
            arguments: vec!["vlf-count".into()],
            only_second: vec![],
            rounds,
            seed: 3,
        };
        request.run(&out, "ringwood lab compare", resume, &mut |_| {})
    };
    let [a, b] = run(10, false).unwrap();
    let compared = compare(&a, &b).unwrap();
    assert!(compared.interleaved && compared.finding == Finding::Slower, "{}", terminal(&compared));
    assert!((compared.studies[0].all.as_ref().unwrap().ratio - 1.25).abs() < 1e-9);
    assert_eq!((a.origin.commit.as_str(), b.origin.commit.as_str()), ("old", "new"));
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 20);
    let first: std::collections::HashSet<&str> = calls.chunks(2).map(|round| round[0]).collect();
    assert_eq!(first.len(), 2, "the coin falls on both sides");
    assert!(calls.chunks(2).all(|round| round[0] != round[1]));
    // What it has is left alone; with other options it is refused.
    let [again, _] = run(10, true).unwrap();
    assert_eq!(again.studies[0].cells, a.studies[0].cells);
    assert!(run(11, true).unwrap_err().to_string().contains("other options"));
    // Interrupted: one side has a round more than the other.
    let mut half = a.clone();
    half.studies[0].cells[0].runs.truncate(6);
    half.studies[0].cells[0].rounds.truncate(6);
    let mut more = b.clone();
    more.studies[0].cells[0].runs.truncate(7);
    more.studies[0].cells[0].rounds.truncate(7);
    let [fa, fb] = super::interleave::folders(&out);
    report::write_all(&half, &fa).unwrap();
    report::write_all(&more, &fb).unwrap();
    let [a, b] = run(10, true).unwrap();
    assert_eq!(a.studies[0].cells[0].rounds, (0..10).collect::<Vec<_>>());
    assert_eq!(b.studies[0].cells[0].rounds, (0..10).collect::<Vec<_>>());
    std::fs::write(folder.path().join("stop"), "").unwrap();
    let error = run(10, false).unwrap_err().to_string();
    assert!(error.contains("stopped"), "{error}");
}

/// `wire` and `tpcc` keep no journal.
#[test]
fn builds_whose_runs_have_no_journal_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let binaries = [build(folder.path(), "old", "1.0"), build(folder.path(), "new", "1.0")];
    for binary in &binaries {
        // It knows of repeats.
        let script = std::fs::read_to_string(binary).unwrap();
        let help = "#!/bin/sh\n[ \"$3\" = --help ] && echo --repeats-from && exit 0\n";
        std::fs::write(binary, script.replacen("#!/bin/sh\n", help, 1)).unwrap();
    }
    let arguments = vec!["wire".into()];
    let request = Interleave { binaries, arguments, only_second: vec![], rounds: 2, seed: 3 };
    let [a, b] = request.run(&folder.path().join("out"), "", false, &mut |_| {}).unwrap();
    assert_eq!((a.studies[0].cells[0].runs.len(), b.studies[0].cells[0].runs.len()), (2, 2));
}

/// The bounds of a study and a comparison do not share their words.
#[test]
fn findings_have_words() {
    for finding in [Finding::Slower, Finding::Faster, Finding::NoDifference, Finding::TooFewRounds]
    {
        assert!(
            [Verdict::Holds, Verdict::Fails, Verdict::Undecided]
                .iter()
                .all(|v| v.word() != finding.words())
        );
    }
}
