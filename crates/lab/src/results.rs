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
    /// Median of the runs.
    pub median: f64,
    /// 95 % interval of the median; null for one run.
    pub ci95: Option<[f64; 2]>,
    /// Median of the ratios to the baseline level's runs of the same round; 1 for the baseline itself.
    pub ratio_to_baseline: Option<f64>,
    /// The published figure for the same cell, in the same unit; null where none was published.
    pub published: Option<f64>,
    /// The published figure's ratio to the published baseline.
    #[serde(default)]
    pub published_ratio: Option<f64>,
}

/// One wait type at one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wait {
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
    /// Level of the factor.
    pub level: String,
    /// `data` or `log`.
    pub file: String,
    /// Writes.
    pub writes: i64,
    /// Bytes written.
    pub bytes_written: i64,
    /// Reads.
    pub reads: i64,
    /// Bytes read.
    pub bytes_read: i64,
}

impl StudyResult {
    /// Fills medians, intervals and ratios from the runs; `baseline` is the level that ratios refer to.
    pub fn finish(&mut self, baseline: &str) {
        let bases: Vec<(String, Vec<f64>, Option<f64>)> = self
            .cells
            .iter()
            .filter(|c| c.level == baseline)
            .map(|c| (c.measure.clone(), c.runs.clone(), c.published))
            .collect();
        for cell in &mut self.cells {
            cell.median = stats::median(&cell.runs).unwrap_or(f64::NAN);
            cell.ci95 = stats::median_interval(&cell.runs).map(|(low, high)| [low, high]);
            if let Some((_, runs, published)) = bases.iter().find(|(measure, ..)| *measure == cell.measure) {
                cell.ratio_to_baseline = stats::paired_ratio(&cell.runs, runs);
                cell.published_ratio = match (cell.published, published) {
                    (Some(here), Some(base)) if *base > 0.0 => Some(here / base),
                    _ => None,
                };
            }
        }
    }

    /// The cell of a level and measure.
    pub fn cell(&self, level: &str, measure: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.level == level && c.measure == measure)
    }

    /// Adds one run's figure, making its cell on the first.
    pub fn record(
        &mut self,
        factor: &str,
        level: &str,
        measure: &str,
        unit: &str,
        value: f64,
        published: Option<f64>,
    ) {
        if let Some(cell) = self.cells.iter_mut().find(|c| c.level == level && c.measure == measure) {
            cell.runs.push(value);
            return;
        }
        self.cells.push(Cell {
            factor: factor.into(),
            level: level.into(),
            measure: measure.into(),
            unit: unit.into(),
            runs: vec![value],
            median: value,
            ci95: None,
            ratio_to_baseline: None,
            published,
            published_ratio: None,
        });
    }
}
