//! Two builds in one interleaved run: in each round both run the studies once, which of them first
//! is thrown by a coin. Each build's results are in a folder of their own, up to date after each
//! round. Both repeat short steps as often: as the calibration round of the first run found.

use crate::machine::utc_now;
use crate::results::{Results, ResultsOrigin};
use crate::{LabError, report};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interleave {
    /// The ringwood commands, the one of before first.
    pub binaries: [PathBuf; 2],
    /// What `lab run` gets: studies and options, without `--runs`, `--seed` and `--out`.
    pub arguments: Vec<String>,
    /// What the second build gets besides, e.g. to be made slower by a test.
    pub only_second: Vec<String>,
    /// Rounds.
    pub rounds: usize,
    /// Seed of the coin and of the order within each round.
    pub seed: u64,
}

const SIDES: [&str; 2] = ["a", "b"];
const REQUEST: &str = "compare.json";
/// The journal whose numbers of repeats both builds take.
const CALIBRATION: &str = "calibration";
const JOURNAL: &str = "runs.jsonl";

/// The folders of the results of A and of B.
pub fn folders(out: &Path) -> [PathBuf; 2] {
    SIDES.map(|side| out.join(side))
}

impl Interleave {
    /// Runs the rounds that `out` does not have yet; `command` is how it was asked for, progress
    /// goes to `say`. Errors: a build fails, or `resume` finds another run there.
    pub fn run(
        &self,
        out: &Path,
        command: &str,
        resume: bool,
        say: &mut dyn FnMut(&str),
    ) -> Result<[Results; 2], LabError> {
        std::fs::create_dir_all(out)?;
        let mut sides = if resume { self.resume(out)? } else { self.begin(out, command)? };
        let done =
            |sides: &[Results; 2]| sides.each_ref().map(rounds_of).into_iter().min().unwrap_or(0);
        for round in done(&sides)..self.rounds {
            let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add((round as u64) << 32));
            let mut order = [0, 1];
            random.shuffle(&mut order);
            for side in order {
                // A round of which an interrupted run had finished one half.
                if rounds_of(&sides[side]) > round {
                    continue;
                }
                say(&format!(
                    "round {} of {}: {}",
                    round + 1,
                    self.rounds,
                    self.binaries[side].display()
                ));
                let new = self.one(side, round, out)?;
                add(&mut sides[side], new, round);
                report::write_all(&sides[side], &folders(out)[side])?;
            }
        }
        Ok(sides)
    }

    fn begin(&self, out: &Path, command: &str) -> Result<[Results; 2], LabError> {
        for folder in folders(out).into_iter().chain([out.join(CALIBRATION)]) {
            if folder.exists() {
                std::fs::remove_dir_all(&folder)?;
            }
        }
        std::fs::write(out.join(REQUEST), serde_json::to_string_pretty(self)?)?;
        let begun = utc_now();
        let origin = ResultsOrigin {
            interleaved: format!("{begun}, seed {}", self.seed),
            begun,
            command: command.into(),
            seed: Some(self.seed),
            ..ResultsOrigin::default()
        };
        Ok(SIDES.map(|_| Results { origin: origin.clone(), ..Results::default() }))
    }

    fn resume(&self, out: &Path) -> Result<[Results; 2], LabError> {
        if request_of(out)? != *self {
            let path = out.join(REQUEST);
            return Err(LabError::Request(format!(
                "{} was begun with other options",
                path.display()
            )));
        }
        let [a, b] = folders(out);
        match (report::read(&a), report::read(&b)) {
            (Ok(a), Ok(b)) => Ok([a, b]),
            // Nothing is lost but a first half of a first round.
            _ => self.begin(out, ""),
        }
    }

    /// One round of one build.
    fn one(&self, side: usize, round: usize, out: &Path) -> Result<Results, LabError> {
        let folder = out.join(format!("{}-round", SIDES[side]));
        let mut command = Command::new(&self.binaries[side]);
        command.args(["lab", "run"]).args(&self.arguments);
        if side == 1 {
            command.args(&self.only_second);
        }
        let seed = self.seed.wrapping_add(round as u64);
        let calibration = out.join(CALIBRATION);
        if calibration.exists() && self.takes_repeats(side) {
            command.arg("--repeats-from").arg(&calibration);
        }
        command.args(["--runs", "1", "--seed", &seed.to_string(), "--out"]).arg(&folder);
        let output =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            return Err(LabError::Request(format!(
                "{} ended with {}: {}",
                self.binaries[side].display(),
                output.status,
                String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default()
            )));
        }
        let results = report::read(&folder)?;
        // Tasks that are measured by the clock have no repeats, and no journal.
        let journal = folder.join(JOURNAL);
        if journal.is_file() && !calibration.exists() && self.takes_repeats(side) {
            std::fs::create_dir_all(&calibration)?;
            std::fs::copy(journal, calibration.join(JOURNAL))?;
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(results)
    }

    /// Whether a build knows `--repeats-from`: one of before it had a calibration round does not.
    fn takes_repeats(&self, side: usize) -> bool {
        let mut command = Command::new(&self.binaries[side]);
        command.args(["lab", "run", "--help"]).stdin(Stdio::null()).stderr(Stdio::null());
        command
            .output()
            .is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("--repeats-from"))
    }
}

/// What an interrupted comparison was asked for.
fn request_of(out: &Path) -> Result<Interleave, LabError> {
    let text = std::fs::read_to_string(out.join(REQUEST)).map_err(|e| {
        LabError::Request(format!("there is no comparison to resume in {}: {e}", out.display()))
    })?;
    Ok(serde_json::from_str(&text)?)
}

/// The seed of an interrupted comparison.
pub fn seed_of(out: &Path) -> Result<u64, LabError> {
    Ok(request_of(out)?.seed)
}

/// Rounds that results have.
fn rounds_of(results: &Results) -> usize {
    let cells = results.studies.iter().flat_map(|s| &s.cells);
    cells.flat_map(|c| c.rounds.iter().copied()).max().map_or(0, |r| r + 1)
}

/// Adds a run of one round to the rounds before it. Where a run of it measured this machine and not
/// the modelled device a second round has made up for it: of each cell the first figure that
/// measured the device counts.
fn add(sum: &mut Results, new: Results, round: usize) {
    if sum.studies.is_empty() {
        let origin = ResultsOrigin { commit: new.origin.commit.clone(), ..sum.origin.clone() };
        *sum = Results { origin, studies: vec![], ..new.clone() };
    }
    for study in new.studies {
        let same = |s: &&mut crate::results::StudyResult| {
            (&s.study, &s.target, &s.device) == (&study.study, &study.target, &study.device)
        };
        let known = match sum.studies.iter_mut().find(same) {
            Some(known) => known,
            None => {
                sum.studies.push(crate::results::StudyResult {
                    cells: vec![],
                    claims: vec![],
                    rounds: None,
                    ..study.clone()
                });
                let last = sum.studies.len() - 1;
                &mut sum.studies[last]
            }
        };
        for cell in &study.cells {
            if let Some(value) = cell.runs.first() {
                known.record_in(
                    round,
                    &cell.factor,
                    &cell.level,
                    &cell.measure,
                    &cell.unit,
                    *value,
                );
            }
        }
        let base = |factor: &str| -> Option<(String, String)> {
            study.cells.iter().find(|c| c.factor == factor).and_then(|c| c.baseline.clone())
        };
        let bases: Vec<(String, Option<(String, String)>)> =
            study.cells.iter().map(|c| (c.factor.clone(), base(&c.factor))).collect();
        known.finish(&|factor| {
            let found = bases.iter().find(|(f, _)| f == factor)?.1.as_ref()?;
            Some((found.0.as_str(), found.1.as_str()))
        });
        known.meaning = "One side of a comparison: see `lab compare`.".into();
    }
}
