//! What a run of studies is asked for.

use super::journal::Journal;
use super::order::drawn_seed;
use super::rounds::Rounds;
use crate::LabError;
use crate::study::Scale;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a run of studies is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names, or `all`.
    pub studies: Vec<String>,
    /// Size.
    pub scale: Scale,
    /// Rounds; each arm runs once a round.
    pub runs: usize,
    /// Go on after those rounds until every bound is decided, with at most so many rounds.
    pub until_decided: Option<usize>,
    /// Targets, names or the address of a server; empty = Ringwood.
    pub targets: Vec<String>,
    /// The command that ends and starts that server.
    pub restart_with: Option<String>,
    /// Devices; empty = the real disk and the models that a study names itself.
    pub devices: Vec<String>,
    /// Kinds of files that lie on mounts of their own.
    pub mounts: BTreeMap<String, PathBuf>,
    /// Folder for databases and results.
    pub out: PathBuf,
    /// Go on with an interrupted run.
    pub resume: bool,
    /// Seed of the order of runs; drawn from the clock unless given, of a resumed run the one that
    /// it was begun with.
    pub seed: Option<u64>,
    /// After how many rounds databases that are kept are made again, at least 1.
    pub fresh_every: usize,
    /// Folder of an earlier run whose numbers of repeats are taken instead of a calibration
    /// round's.
    pub repeats_from: Option<PathBuf>,
    /// Show progress on standard error.
    pub progress: bool,
    /// The ringwood command, for the runs that kill a process.
    pub program: Option<PathBuf>,
    /// Percent by which each measured step is made slower: for tests of `lab compare`, else 0.
    pub slow_down: f64,
    /// Commit of the build; empty where it is not known.
    pub commit: String,
    /// The command line, for the report.
    pub command: String,
}

impl Options {
    /// How many rounds there are.
    pub fn rounds(&self) -> Result<Rounds, LabError> {
        match self.until_decided {
            None => Ok(Rounds::fixed(self.runs)),
            Some(most) => Rounds::until_decided(self.runs, most),
        }
    }

    /// The seed of the run.
    /// Errors: it is to be that of an interrupted run, and there is none.
    pub(super) fn drawn(&self) -> Result<u64, LabError> {
        match self.seed {
            Some(seed) => Ok(seed),
            None if self.resume => Ok(Journal::request_of(&self.out)?.seed),
            None => Ok(drawn_seed()),
        }
    }
}

/// What tests of planning and running ask for.
#[cfg(test)]
pub(super) fn for_tests(out: &std::path::Path) -> Options {
    Options {
        studies: vec!["data-files".into()],
        scale: Scale::Paper,
        runs: 5,
        until_decided: None,
        targets: vec![],
        restart_with: None,
        devices: vec![],
        mounts: BTreeMap::new(),
        out: out.into(),
        resume: false,
        seed: Some(1),
        fresh_every: 1,
        repeats_from: None,
        progress: false,
        program: None,
        slow_down: 0.0,
        commit: String::new(),
        command: String::new(),
    }
}
