//! A study as data: arms (one configuration each and the steps that are run on it), published
//! figures, bounds, needs.

use targets::device::REAL;
use targets::work::{Config, Knob, Work};

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
pub struct StudyNeeds {
    /// Bytes of disk at its peak.
    pub disk: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Rough seconds of one round of all arms on a small machine.
    pub seconds_per_run: f64,
}

/// A counter that is shown as a figure of its own beside a step's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterFigure {
    /// How often the log went on in another VLF.
    VlfChanges,
    /// Log writes that made the device read first.
    ReadModifyWrites,
    /// Size of a log write.
    BytesPerLogWrite,
}

impl CounterFigure {
    /// Its name after the step's.
    pub fn name(self) -> &'static str {
        match self {
            CounterFigure::VlfChanges => "VLF changes",
            CounterFigure::ReadModifyWrites => "read-modify-writes",
            CounterFigure::BytesPerLogWrite => "bytes per log write",
        }
    }
}

/// How a measured step that would be over too soon is repeated within a run.
#[derive(Clone, Debug, Default)]
pub struct Repeat {
    /// Until its figures of seconds, or the time that it took, come to so many together; 0 = once.
    pub least: f64,
    /// What later repeats do in turn instead of the step's work; as much work, and in the end
    /// nothing has changed. Empty: the same work. The repeats end with a whole round of turns.
    pub turns: Vec<Work>,
    /// What is done before each further repeat, neither measured nor counted.
    pub between: Vec<Work>,
}

/// A step on a configuration. Without a measure it prepares the next one.
#[derive(Clone, Debug)]
pub struct StudyStep {
    /// Name of what is measured.
    pub measure: Option<&'static str>,
    /// Level under which it is recorded when it is not the arm's.
    pub level: Option<&'static str>,
    /// What is done.
    pub work: Work,
    /// Whether it is repeated.
    pub repeat: Repeat,
    /// Counters that are figures.
    pub counts: Vec<CounterFigure>,
    /// Its figure is only a part of the study's total: too short to say anything by itself.
    pub only_in_total: bool,
}

impl StudyStep {
    /// A preparation.
    pub fn prepare(work: impl Into<Work>) -> StudyStep {
        StudyStep {
            measure: None,
            level: None,
            work: work.into(),
            repeat: Repeat::default(),
            counts: vec![],
            only_in_total: false,
        }
    }

    /// A measured step.
    pub fn measure(measure: &'static str, work: impl Into<Work>) -> StudyStep {
        StudyStep { measure: Some(measure), ..StudyStep::prepare(work) }
    }

    /// The same, repeated until it has taken so many seconds; before each further repeat comes what
    /// lies `between`.
    pub fn repeated(mut self, least: f64, between: Vec<Work>) -> StudyStep {
        self.repeat = Repeat { least, turns: vec![], between };
        self
    }

    /// The same, repeated until it has taken so many seconds: after the step's own work these, in
    /// turn.
    pub fn in_turns(mut self, least: f64, turns: Vec<Work>) -> StudyStep {
        self.repeat = Repeat { least, turns, between: vec![] };
        self
    }

    /// The same with other work before each further repeat.
    pub fn between(mut self, works: Vec<Work>) -> StudyStep {
        self.repeat.between = works;
        self
    }

    /// The same, no figure of its own: it is only a part of the study's total.
    pub fn only_in_total(mut self) -> StudyStep {
        self.only_in_total = true;
        self
    }

    /// The same under another level than the arm's.
    pub fn at_level(mut self, level: &'static str) -> StudyStep {
        self.level = Some(level);
        self
    }

    /// The same with counters as figures.
    pub fn counting(mut self, counts: &[CounterFigure]) -> StudyStep {
        self.counts = counts.to_vec();
        self
    }
}

/// One configuration and what is run on it; a run of an arm is the unit that is interleaved and
/// resumed.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What is varied, e.g. `VLFs`.
    pub factor: &'static str,
    /// Its value, e.g. `20000`.
    pub level: String,
    /// The database.
    pub config: Config,
    /// Steps in order.
    pub steps: Vec<StudyStep>,
    /// Where it runs.
    pub on: ArmDevice,
}

/// The devices that an arm runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmDevice {
    /// Every device of the run that no arm has to itself.
    Any,
    /// The disk that is there, and no model.
    Real,
    /// This device, which runs no arms but those made for it; the part of it, where it has parts.
    Own(&'static str, &'static str),
}

impl ArmDevice {
    /// The part of the device.
    pub fn part(self) -> &'static str {
        if let ArmDevice::Own(_, part) = self { part } else { "" }
    }
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
pub enum PrintedFigure {
    /// A figure and its unit.
    Figure(f64, &'static str),
    /// Only the ratio to his own baseline.
    Ratio(f64),
}

/// A published figure.
#[derive(Clone, Debug)]
pub struct PublishedFigure {
    /// Which cell.
    pub cell: CellRef,
    /// What was printed.
    pub printed: PrintedFigure,
    /// Only beside cells of the device of this name.
    pub device: Option<&'static str>,
}

/// An author's share of one wait type in all waiting.
#[derive(Clone, Debug)]
pub struct PublishedWait {
    /// Factor of the arm.
    pub factor: &'static str,
    /// Its level.
    pub level: String,
    /// Wait type.
    pub wait_type: String,
    /// Share, 0 to 1.
    pub share: f64,
    /// The device that he had.
    pub device: &'static str,
}

/// Cells that are given once more as parts of the largest of them, as some authors print theirs.
#[derive(Clone, Debug)]
pub struct Normalised {
    /// Cells of this factor ...
    pub factor: &'static str,
    /// ... and these measures ...
    pub measures: Vec<&'static str>,
    /// ... are cells of this factor too, each over the largest of its round.
    pub as_factor: &'static str,
}

/// Unit of normalised cells.
pub(crate) const OF_THE_LARGEST: &str = "of the largest";

/// A condition without which a study has measured nothing: it then fails, after the first round.
#[derive(Clone, Debug)]
pub struct Check {
    /// This cell ...
    pub cell: CellRef,
    /// ... is at least so many times ...
    pub times: f64,
    /// ... this one, or so many itself if that one is less than 1.
    pub other: CellRef,
    /// What it would mean if not.
    pub otherwise: &'static str,
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
    /// A cell against the one of several with the best median (the largest rate or the shortest
    /// time), run by run.
    ToBest(CellRef, Vec<CellRef>),
    /// The cell's median itself.
    Value(CellRef),
    /// A fact that must be true of every run: one run that breaks the bound fails it, whatever the
    /// others are.
    Every(CellRef),
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
    /// Only on the devices of these names; empty = on all.
    pub devices: &'static [&'static str],
}

impl Claim {
    /// A ratio that may be at most so much.
    pub fn at_most(
        group: &'static str,
        what: &str,
        above: CellRef,
        below: CellRef,
        bound: f64,
    ) -> Claim {
        Claim {
            group,
            what: what.into(),
            compare: Compare::Ratio(above, below),
            at_least: None,
            at_most: Some(bound),
            published: None,
            devices: &[],
        }
    }

    /// The same without a bound: beside a published figure.
    pub fn unbounded(mut self) -> Claim {
        (self.at_least, self.at_most) = (None, None);
        self
    }

    /// The same on these devices only.
    pub fn on(mut self, devices: &'static [&'static str]) -> Claim {
        self.devices = devices;
        self
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
    pub published: Vec<PublishedFigure>,
    /// The author's shares of waits.
    pub published_waits: Vec<PublishedWait>,
    /// Bounds.
    pub claims: Vec<Claim>,
    /// Conditions of each round.
    pub checks: Vec<Check>,
    /// What it takes.
    pub needs: StudyNeeds,
    /// A table of cells over the largest of them.
    pub normalised: Option<Normalised>,
    /// A measure that is the sum of others of the same run.
    pub total: Option<(&'static str, Vec<&'static str>)>,
    /// Its data as part of the published ones, 0 to 1: modelled disks and caches are that much
    /// smaller.
    pub share: f64,
    /// Device models on which it also runs unless devices are named; the real disk always comes
    /// first.
    pub models: Vec<&'static str>,
}

impl Study {
    /// Whether any arm spreads its files over more than one device.
    pub(crate) fn most_arrays(&self) -> u32 {
        self.arms.iter().map(|a| a.config.data.arrays).max().unwrap_or(1)
    }

    /// Rough seconds of one run of one arm.
    pub(crate) fn seconds_per_arm(&self) -> f64 {
        self.needs.seconds_per_run / self.arms.len().max(1) as f64
    }

    /// The published figure or ratio of a cell on a device.
    pub fn printed(
        &self,
        device: &str,
        factor: &str,
        level: &str,
        measure: &str,
    ) -> Option<PrintedFigure> {
        let of_it = |c: &CellRef| c.factor == factor && c.level == level && c.measure == measure;
        let found =
            self.published.iter().find(|p| of_it(&p.cell) && p.device.is_none_or(|d| d == device));
        found.map(|p| p.printed)
    }

    /// Whether an arm runs on the device of that name.
    pub(crate) fn runs_on(&self, arm: &Arm, device: &str) -> bool {
        match arm.on {
            ArmDevice::Own(own, _) => own == device,
            ArmDevice::Real => device.starts_with(REAL),
            ArmDevice::Any => {
                !self.arms.iter().any(|a| matches!(a.on, ArmDevice::Own(own, _) if own == device))
            }
        }
    }
}
