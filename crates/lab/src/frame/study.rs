//! A study as data: arms (one configuration each and the steps that are run on it), published figures, bounds, needs.

use crate::work::{Config, Knob, Work};

/// How large a study runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Less than a second a run: proves that everything works. For tests.
    Tiny,
    /// Seconds: the shape, for a first look and for CI.
    Quick,
    /// Minutes: figures to rely on.
    Standard,
    /// The author's own sizes.
    Paper,
}

impl Scale {
    /// Those that a person would choose.
    pub const ALL: [Scale; 3] = [Scale::Quick, Scale::Standard, Scale::Paper];

    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Tiny => "tiny",
            Scale::Quick => "quick",
            Scale::Standard => "standard",
            Scale::Paper => "paper",
        }
    }
}

/// What a study takes, before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Bytes of disk at its peak.
    pub disk: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Rough seconds of one round of all arms on a small machine.
    pub seconds_per_run: f64,
}

/// A step on a configuration. Without a measure it prepares the next one.
#[derive(Clone, Debug)]
pub struct Step {
    /// Name of what is measured.
    pub measure: Option<&'static str>,
    /// Level under which it is recorded when it is not the arm's.
    pub level: Option<&'static str>,
    /// What is done.
    pub work: Work,
}

impl Step {
    /// A preparation.
    pub fn prepare(work: Work) -> Step {
        Step { measure: None, level: None, work }
    }

    /// A measured step.
    pub fn measure(measure: &'static str, work: Work) -> Step {
        Step { measure: Some(measure), level: None, work }
    }
}

/// One configuration and what is run on it; a run of an arm is the unit that is interleaved and resumed.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What is varied, e.g. `VLFs`.
    pub factor: &'static str,
    /// Its value, e.g. `20000`.
    pub level: String,
    /// The database.
    pub config: Config,
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// A cell of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRef {
    /// Factor.
    pub factor: &'static str,
    /// Level.
    pub level: String,
    /// Measure.
    pub measure: String,
}

impl CellRef {
    /// By its three names.
    pub fn new(factor: &'static str, level: &str, measure: &str) -> CellRef {
        CellRef { factor, level: level.into(), measure: measure.into() }
    }
}

/// What the author printed.
#[derive(Clone, Copy, Debug)]
pub enum Printed {
    /// A figure and its unit.
    Figure(f64, &'static str),
    /// Only the ratio to his own baseline.
    Ratio(f64),
}

/// A published figure.
#[derive(Clone, Debug)]
pub struct Published {
    /// Which cell.
    pub cell: CellRef,
    /// What was printed.
    pub printed: Printed,
}

/// Which cells of a factor the others are compared with: the same measure at that factor and level.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Cells of this factor ...
    pub factor: &'static str,
    /// ... refer to this one ...
    pub to_factor: &'static str,
    /// ... at this level.
    pub to_level: String,
}

/// What is compared by a bound.
#[derive(Clone, Debug)]
pub enum Compare {
    /// The median of the ratios of two cells, run by run.
    Ratio(CellRef, CellRef),
    /// A cell against the one of several with the best median (the largest rate or the shortest time), run by run.
    ToBest(CellRef, Vec<CellRef>),
    /// The cell's median itself.
    Value(CellRef),
}

/// A bound on a figure, with what was published for the same comparison.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Claims of one group make one sentence: "20,000 VLFs against 16".
    pub group: &'static str,
    /// This one within the group: "update".
    pub what: String,
    /// What is compared.
    pub compare: Compare,
    /// Smallest value that holds the bound.
    pub at_least: Option<f64>,
    /// Largest value that holds the bound.
    pub at_most: Option<f64>,
    /// The same comparison of the published figures, where there is one.
    pub published: Option<f64>,
    /// Only on devices whose name contains this.
    pub device: Option<&'static str>,
}

impl Claim {
    /// A ratio that may be at most so much.
    pub fn at_most(group: &'static str, what: &str, above: CellRef, below: CellRef, bound: f64) -> Claim {
        Claim {
            group,
            what: what.into(),
            compare: Compare::Ratio(above, below),
            at_least: None,
            at_most: Some(bound),
            published: None,
            device: None,
        }
    }

    /// The same with the published ratio.
    pub fn published(mut self, ratio: f64) -> Claim {
        self.published = Some(ratio);
        self
    }
}

/// A study at one scale.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name on the command line.
    pub name: &'static str,
    /// The question, one sentence.
    pub question: &'static str,
    /// Where the published figures stand.
    pub source: &'static str,
    /// What it turns.
    pub knob: Knob,
    /// Sizes in words, for the report.
    pub sizes: String,
    /// Configurations.
    pub arms: Vec<Arm>,
    /// What ratios refer to.
    pub baselines: Vec<Baseline>,
    /// The author's figures.
    pub published: Vec<Published>,
    /// Bounds.
    pub claims: Vec<Claim>,
    /// What it takes.
    pub needs: Needs,
    /// A measure that is the sum of others of the same run.
    pub total: Option<(&'static str, Vec<&'static str>)>,
    /// Device models on which it also runs unless devices are named; the real disk always comes first.
    pub models: Vec<&'static str>,
}

impl Study {
    /// Whether any arm spreads its files over more than one device.
    pub fn most_arrays(&self) -> u32 {
        self.arms.iter().map(|a| a.config.data.arrays).max().unwrap_or(1)
    }

    /// Rough seconds of one run of one arm.
    pub fn seconds_per_arm(&self) -> f64 {
        self.needs.seconds_per_run / self.arms.len().max(1) as f64
    }

    /// The published figure or ratio of a cell.
    pub fn printed(&self, factor: &str, level: &str, measure: &str) -> Option<Printed> {
        self.published
            .iter()
            .find(|p| p.cell.factor == factor && p.cell.level == level && p.cell.measure == measure)
            .map(|p| p.printed)
    }
}
