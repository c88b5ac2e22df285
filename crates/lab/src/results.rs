//! The results of a run of studies: what `results.json`, `results.csv` and the report are made of.
//! The JSON's field names are a contract with scripts; add fields, never rename them.

use crate::machine::Machine;
use crate::stats;
use serde::{Deserialize, Serialize};

/// Everything one `lab run` found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Version of Ringwood.
    pub ringwood: String,
    /// Where it ran.
    pub machine: Machine,
    /// One entry per study, target and device.
    pub studies: Vec<StudyResult>,
}

/// One study on one target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StudyResult {
    /// Name, as in `lab list`.
    pub study: String,
    /// quick, standard or paper.
    pub scale: String,
    /// Which engine.
    pub target: String,
    /// The disk: "real" or the model's name.
    pub device: String,
    /// The question, one sentence.
    pub question: String,
    /// Where the published figures stand.
    #[serde(default)]
    pub source: String,
    /// Which setting of the target the factor is.
    #[serde(default)]
    pub knob: String,
    /// What a reader must know about a device that is not the real disk.
    #[serde(default)]
    pub disclosure: Option<String>,
    /// What the figures mean, one or two sentences made from them.
    pub meaning: String,
    /// What was run: sizes, rows, settings.
    pub setup: Vec<String>,
    /// The figures.
    pub cells: Vec<Cell>,
    /// Wait statistics, summed over the runs of each level.
    pub waits: Vec<Wait>,
    /// File I/O, summed over the runs of each level.
    pub io: Vec<Io>,
    /// Bounds and whether they hold.
    #[serde(default)]
    pub claims: Vec<ClaimResult>,
    /// What was not measured, and why.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A bound and the figure for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimResult {
    /// What is compared with what.
    pub group: String,
    /// Which measure.
    pub what: String,
    /// The figure; null when it was not measured.
    pub value: Option<f64>,
    /// 95 % interval of the figure; null for a single run, and when nothing was measured.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
    /// Smallest value that holds the bound.
    pub at_least: Option<f64>,
    /// Largest value that holds the bound.
    pub at_most: Option<f64>,
    /// The same comparison of the published figures.
    pub published: Option<f64>,
    /// Whether the figure keeps the bound; null when it was not measured. If it does not, the interval may.
    pub holds: Option<bool>,
}

impl ClaimResult {
    /// Whether a figure keeps the bound.
    pub fn keeps(&self, value: f64) -> bool {
        self.at_least.is_none_or(|b| value >= b) && self.at_most.is_none_or(|b| value <= b)
    }

    /// The figure misses the bound, but another place of its interval does not: only more rounds can tell. So it is with
    /// the figure of a single run.
    pub fn is_undecided(&self) -> bool {
        let overlaps = self.interval.is_none_or(|(low, high)| {
            self.at_most.is_none_or(|b| low <= b) && self.at_least.is_none_or(|b| high >= b)
        });
        self.holds == Some(false) && overlaps
    }
}

/// One measure at one level of the factor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// What was varied, e.g. `VLFs`.
    pub factor: String,
    /// Its value, e.g. `20000`.
    pub level: String,
    /// What was measured, e.g. `update`.
    pub measure: String,
    /// Unit of the figures, e.g. `s`.
    pub unit: String,
    /// Every run, in order.
    pub runs: Vec<f64>,
    /// The round of each run.
    #[serde(default)]
    pub rounds: Vec<usize>,
    /// Median of the runs.
    pub median: f64,
    /// 95 % interval of the median; null for one run.
    pub ci95: Option<[f64; 2]>,
    /// Median of the ratios to the baseline level's runs of the same round; 1 for the baseline itself.
    pub ratio_to_baseline: Option<f64>,
    /// The published figure for the same cell; null where none was published.
    pub published: Option<f64>,
    /// Its unit, when it is not the cell's.
    #[serde(default)]
    pub published_unit: Option<String>,
    /// The published figure's ratio to the published baseline.
    #[serde(default)]
    pub published_ratio: Option<f64>,
    /// What a reader must know, e.g. that runs were stopped at a limit and are lower bounds.
    #[serde(default)]
    pub note: Option<String>,
}

impl Cell {
    /// The runs with those of the other cell in the same rounds; rounds that only one of them has are left out.
    pub fn paired(&self, other: &Cell) -> Vec<(f64, f64)> {
        let there = |round| other.rounds.iter().zip(&other.runs).find(|(r, _)| *r == round).map(|(_, v)| *v);
        self.rounds.iter().zip(&self.runs).filter_map(|(round, here)| Some((*here, there(round)?))).collect()
    }
}

/// One wait type at one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// Factor.
    #[serde(default)]
    pub factor: String,
    /// Level of the factor.
    pub level: String,
    /// Wait type.
    pub wait_type: String,
    /// How often a task waited.
    pub count: i64,
    /// Milliseconds waited.
    pub ms: i64,
}

/// One file at one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Io {
    /// Factor.
    #[serde(default)]
    pub factor: String,
    /// Level of the factor.
    pub level: String,
    /// `data`, `log` or `backup`.
    pub file: String,
    /// Writes.
    pub writes: i64,
    /// Bytes written.
    pub bytes_written: i64,
    /// Reads.
    pub reads: i64,
    /// Bytes read.
    pub bytes_read: i64,
    /// Writes by size class: upper bound and count.
    #[serde(default)]
    pub write_sizes: Vec<(String, i64)>,
    /// Writes that begin or end inside a physical sector.
    #[serde(default)]
    pub partial_writes: i64,
}

impl StudyResult {
    /// The cell of a level and measure, whatever its factor.
    pub fn cell(&self, level: &str, measure: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.level == level && c.measure == measure)
    }

    /// The cell of a factor, level and measure.
    pub fn cell_of(&self, factor: &str, level: &str, measure: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.factor == factor && c.level == level && c.measure == measure)
    }

    /// Adds the figure of the next round.
    pub fn record(&mut self, factor: &str, level: &str, measure: &str, unit: &str, value: f64) {
        let round = self.cell_of(factor, level, measure).map_or(0, |c| c.runs.len());
        self.record_in(round, factor, level, measure, unit, value);
    }

    /// Adds a round's figure, making its cell on the first.
    pub fn record_in(
        &mut self,
        round: usize,
        factor: &str,
        level: &str,
        measure: &str,
        unit: &str,
        value: f64,
    ) {
        let found =
            self.cells.iter_mut().find(|c| c.factor == factor && c.level == level && c.measure == measure);
        if let Some(cell) = found {
            cell.runs.push(value);
            cell.rounds.push(round);
            return;
        }
        self.cells.push(Cell {
            factor: factor.into(),
            level: level.into(),
            measure: measure.into(),
            unit: unit.into(),
            runs: vec![value],
            rounds: vec![round],
            median: value,
            ci95: None,
            ratio_to_baseline: None,
            published: None,
            published_unit: None,
            published_ratio: None,
            note: None,
        });
    }

    /// Fills medians, intervals and ratios from the runs. `base` names the factor and level that a factor's cells refer to.
    pub fn finish<'a>(&mut self, base: &dyn Fn(&str) -> Option<(&'a str, &'a str)>) {
        let all = self.cells.clone();
        for cell in &mut self.cells {
            cell.median = stats::median(&cell.runs).unwrap_or(f64::NAN);
            cell.ci95 = stats::median_interval(&cell.runs).map(|(low, high)| [low, high]);
            let Some((factor, level)) = base(&cell.factor) else { continue };
            let below =
                all.iter().find(|c| c.factor == factor && c.level == level && c.measure == cell.measure);
            let Some(below) = below else { continue };
            cell.ratio_to_baseline = stats::paired_ratio(&cell.paired(below));
            if let (Some(here), Some(base)) = (cell.published, below.published)
                && base > 0.0
            {
                cell.published_ratio = Some(here / base);
            }
        }
    }
}
