//! The studies: each is a question, a factor with its levels, measures with their published figures, and a driver.

pub mod vlf_count;

use crate::LabError;
use crate::results::StudyResult;
use std::path::PathBuf;

/// How large a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Seconds: the shape, for a first look and for CI.
    Quick,
    /// Minutes: figures to rely on.
    Standard,
    /// The author's own sizes.
    Paper,
}

impl Scale {
    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Standard => "standard",
            Scale::Paper => "paper",
        }
    }
}

/// What a run of studies was asked for.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Size.
    pub scale: Scale,
    /// Rounds; each level runs once a round.
    pub runs: usize,
    /// Folder for databases and results.
    pub out: PathBuf,
    /// Print progress to standard error.
    pub progress: bool,
}

/// A study.
pub trait Study {
    /// Name on the command line.
    fn name(&self) -> &'static str;
    /// The question, one sentence.
    fn question(&self) -> &'static str;
    /// Where the published figures stand.
    fn source(&self) -> &'static str;
    /// What it needs at a scale: (bytes of disk, rough seconds at 5 runs).
    fn needs(&self, scale: Scale) -> (u64, u64);
    /// Runs it.
    fn run(&self, options: &RunOptions) -> Result<StudyResult, LabError>;
}

/// All studies, in the order in which `run all` takes them.
pub fn all() -> Vec<Box<dyn Study>> {
    vec![Box::new(vlf_count::VlfCount)]
}

/// The study of a name.
pub fn find(name: &str) -> Option<Box<dyn Study>> {
    all().into_iter().find(|s| s.name() == name)
}
