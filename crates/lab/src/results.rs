//! The results of a run of studies: what `results.json`, `results.csv` and the report are made of.
//! The JSON's field names are a contract with scripts; add fields, never rename them.

mod claim;
mod disturbances;

pub use claim::{ClaimResult, EveryResult, Verdict};
pub use disturbances::{LateResult, PositionResult};

use crate::machine::Machine;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use targets::work::IoCount;

/// Whether larger values of a unit are better.
pub(crate) fn larger_is_better(unit: &str) -> bool {
    unit.ends_with("/s") || unit.ends_with("/min")
}

/// Everything one `lab run` found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Version of Ringwood.
    pub ringwood: String,
    /// Where the figures come from.
    #[serde(default)]
    pub origin: ResultsOrigin,
    /// Where it ran.
    pub machine: Machine,
    /// One entry per study, target and device.
    pub studies: Vec<StudyResult>,
}

/// When, from which build and by which command results were made. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsOrigin {
    /// When the run began: UTC, as `2026-11-23 07:20:00`.
    pub begun: String,
    /// Commit of the build; `+` at its end where the sources had changes that were not committed.
    pub commit: String,
    /// The command line, without what is secret.
    pub command: String,
    /// Seed of the order of runs; null where there is none.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Names the interleaved run of two builds that these results are one side of; empty for all
    /// others.
    #[serde(default)]
    pub interleaved: String,
}

/// One study on one target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Wait statistics, summed over the steps and runs of each level; step by step they are in
    /// `steps`.
    pub waits: Vec<LevelWait>,
    /// File I/O, summed over the steps and runs of each level; step by step it is in `steps`.
    pub io: Vec<Io>,
    /// What was counted around each measured step.
    #[serde(default)]
    pub steps: Vec<StepResult>,
    /// How many rounds there were to be, and how sure intervals are.
    #[serde(default)]
    pub rounds: Option<RoundsResult>,
    /// Share of the processors' time that a hypervisor gave to others during the runs, 0 to 1; null
    /// where the system does not say.
    #[serde(default)]
    pub steal: Option<f64>,
    /// Of a modelled device: how late the machine below it was; null on the real disk.
    #[serde(default)]
    pub late: Option<LateResult>,
    /// What the place of a run in its round costs; null where no two rounds had opposite orders.
    #[serde(default)]
    pub position: Option<PositionResult>,
    /// The author's shares of waits, for the levels that he gave them for.
    #[serde(default)]
    pub published_waits: Vec<WaitShare>,
    /// Bounds and whether they hold.
    #[serde(default)]
    pub claims: Vec<ClaimResult>,
    /// What was not measured, and why.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// How many rounds a study had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundsResult {
    /// Rounds after which it was looked at whether the bounds are decided; the last is the most
    /// that were planned. One number for a run whose rounds were fixed.
    pub looks: Vec<usize>,
    /// Rounds that were finished. More than were planned where some of them had runs that measured
    /// this machine and not a modelled device: as many more as these, and half as many as were
    /// planned at most.
    pub done: usize,
    /// Confidence of each interval. Above 0.95 where there is more than one look: then the
    /// intervals that the looks at one bound could have shown hold together with 0.95.
    pub confidence: f64,
    /// After how many rounds the databases were made again. Rounds on the same database are not
    /// independent: each such group of rounds counts once in an interval.
    #[serde(default = "each_round")]
    pub fresh_every: usize,
}

/// What results of before had not said, and what is so where nothing is kept.
fn each_round() -> usize {
    1
}

/// Numbers that are no numbers are null in JSON.
fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// One measure at one level of the factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Of how many repeats of the step within each run the run's figure is the mean; empty where it
    /// was never repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<usize>,
    /// The first, cold repeat of each run where it is left out of the figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<f64>,
    /// Figures of runs that measured this machine and not the modelled device: they are in no
    /// median, interval or ratio. A fact that is asked of every run is asked of them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<f64>,
    /// Arithmetic mean of the runs: what some authors print. Null without any.
    #[serde(default, deserialize_with = "number_or_null")]
    pub mean: f64,
    /// Place of each run in the order of all runs of the study; empty where that is not known.
    #[serde(default)]
    pub order: Vec<usize>,
    /// Median of the runs; null without any.
    #[serde(deserialize_with = "number_or_null")]
    pub median: f64,
    /// 95 % interval of the median; null for fewer than six runs.
    pub ci95: Option<[f64; 2]>,
    /// Smallest and largest run.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// Factor and level of the baseline; null where there is none.
    #[serde(default)]
    pub baseline: Option<(String, String)>,
    /// Ratio to the baseline level's runs of the same rounds (Hodges-Lehmann estimate); 1 for the
    /// baseline itself.
    pub ratio_to_baseline: Option<f64>,
    /// 95 % interval of that ratio; null for fewer than six rounds and for the baseline itself.
    #[serde(default)]
    pub ratio_ci95: Option<[f64; 2]>,
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
    /// The runs with those of the other cell in the same rounds; rounds that only one of them has
    /// are left out.
    pub(crate) fn paired(&self, other: &Cell) -> Vec<(f64, f64)> {
        let there = |round| {
            other.rounds.iter().zip(&other.runs).find(|(r, _)| *r == round).map(|(_, v)| *v)
        };
        self.rounds
            .iter()
            .zip(&self.runs)
            .filter_map(|(round, here)| Some((*here, there(round)?)))
            .collect()
    }

    /// The same with one pair for each group of so many rounds, which had the same databases:
    /// geometric means of the rounds.
    pub(crate) fn paired_by(&self, other: &Cell, fresh_every: usize) -> Vec<(f64, f64)> {
        if fresh_every <= 1 {
            return self.paired(other);
        }
        let there = |round| {
            other.rounds.iter().zip(&other.runs).find(|(r, _)| *r == round).map(|(_, v)| *v)
        };
        let here = self.rounds.iter().zip(&self.runs);
        let both =
            here.filter_map(|(round, a)| Some((*round, (*a, there(round)?)))).collect::<Vec<_>>();
        let side = |of: fn(&(f64, f64)) -> f64| {
            grouped(both.iter().map(|(round, pair)| (*round, of(pair))), fresh_every)
        };
        side(|pair| pair.0).into_iter().zip(side(|pair| pair.1)).collect()
    }

    /// The runs, one for each group of so many rounds.
    pub fn grouped(&self, fresh_every: usize) -> Vec<f64> {
        if fresh_every <= 1 {
            return self.runs.clone();
        }
        grouped(self.rounds.iter().copied().zip(self.runs.iter().copied()), fresh_every)
    }
}

/// The geometric mean of each group of so many rounds that has any, in the order of the rounds.
fn grouped(values: impl Iterator<Item = (usize, f64)>, fresh_every: usize) -> Vec<f64> {
    let mut sums: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    for (round, value) in values {
        let (sum, count) = sums.entry(round / fresh_every).or_default();
        (*sum, *count) = (*sum + value.ln(), *count + 1);
    }
    sums.into_values().map(|(sum, count)| (sum / count as f64).exp()).collect()
}

/// What was counted around one measured step at one level, summed over its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Factor.
    pub factor: String,
    /// Level of the factor.
    pub level: String,
    /// The step's measure.
    pub measure: String,
    /// How many runs the sums are of.
    pub runs: usize,
    /// Rows that the step changed, all runs together; null where that is not known.
    pub rows: Option<u64>,
    /// Waits.
    pub waits: Vec<StepWait>,
    /// File I/O.
    pub io: Vec<IoCount>,
    /// Other counts by their names, e.g. `vlf_changes`.
    pub counts: BTreeMap<String, i64>,
}

impl StepResult {
    /// Bytes of log that were written for each row.
    pub(crate) fn log_bytes_per_row(&self) -> Option<f64> {
        let log = self.io.iter().find(|i| i.file == "log")?;
        let rows = self.rows.filter(|r| *r > 0)?;
        Some(log.bytes_written as f64 / rows as f64)
    }
}

/// A published share of one wait type in all waiting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitShare {
    /// Factor.
    pub factor: String,
    /// Level of the factor.
    pub level: String,
    /// Wait type.
    pub wait_type: String,
    /// Share, 0 to 1.
    pub share: f64,
}

/// One wait type of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepWait {
    /// Wait type.
    pub wait_type: String,
    /// How often a task waited.
    pub count: i64,
    /// Milliseconds waited.
    pub ms: f64,
    /// Its share of all milliseconds waited in the step, 0 to 1.
    pub share: f64,
}

/// One wait type at one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LevelWait {
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
    pub(crate) fn cell_of(&self, factor: &str, level: &str, measure: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.factor == factor && c.level == level && c.measure == measure)
    }

    /// The same, to be changed.
    pub(crate) fn cell_mut(
        &mut self,
        factor: &str,
        level: &str,
        measure: &str,
    ) -> Option<&mut Cell> {
        self.cells
            .iter_mut()
            .find(|c| c.factor == factor && c.level == level && c.measure == measure)
    }

    /// Adds the figure of the next round.
    pub fn record(&mut self, factor: &str, level: &str, measure: &str, unit: &str, value: f64) {
        let round = self.cell_of(factor, level, measure).map_or(0, |c| c.runs.len());
        self.record_in(round, factor, level, measure, unit, value);
    }

    /// Adds a round's figure, making its cell on the first.
    pub(crate) fn record_in(
        &mut self,
        round: usize,
        factor: &str,
        level: &str,
        measure: &str,
        unit: &str,
        value: f64,
    ) {
        if let Some(cell) = self.cell_mut(factor, level, measure) {
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
            repeats: vec![],
            first: vec![],
            late: vec![],
            mean: value,
            order: vec![],
            median: value,
            ci95: None,
            range: None,
            baseline: None,
            ratio_to_baseline: None,
            ratio_ci95: None,
            published: None,
            published_unit: None,
            published_ratio: None,
            note: None,
        });
    }

    /// Notes the figure of a run that measured this machine instead of the device, making its cell
    /// on the first.
    pub(crate) fn record_late(
        &mut self,
        factor: &str,
        level: &str,
        measure: &str,
        unit: &str,
        value: f64,
    ) {
        if self.cell_of(factor, level, measure).is_none() {
            self.record_in(0, factor, level, measure, unit, value);
            if let Some(cell) = self.cell_mut(factor, level, measure) {
                (cell.runs, cell.rounds) = (vec![], vec![]);
            }
        }
        if let Some(cell) = self.cell_mut(factor, level, measure) {
            cell.late.push(value);
        }
    }

    /// Confidence of this study's intervals.
    pub(crate) fn confidence(&self) -> f64 {
        self.rounds.as_ref().map_or(stats::CONFIDENCE, |r| r.confidence)
    }

    /// After how many rounds its databases were made again.
    pub fn fresh_every(&self) -> usize {
        self.rounds.as_ref().map_or(1, |r| r.fresh_every.max(1))
    }

    /// Fills medians, intervals and ratios from the runs. `base` names the factor and level that a
    /// factor's cells refer to.
    pub fn finish<'a>(&mut self, base: &dyn Fn(&str) -> Option<(&'a str, &'a str)>) {
        let (confidence, every) = (self.confidence(), self.fresh_every());
        let all = self.cells.clone();
        for cell in &mut self.cells {
            // Without runs there is no mean, as there is no median.
            cell.mean = cell.runs.iter().sum::<f64>() / cell.runs.len() as f64;
            cell.median = stats::median(&cell.runs).unwrap_or(f64::NAN);
            let ends = |(low, high)| [low, high];
            cell.ci95 = stats::median_interval_at(&cell.grouped(every), confidence).map(ends);
            cell.range = stats::range(&cell.runs).map(ends);
            let Some((factor, level)) = base(&cell.factor) else { continue };
            let below = all
                .iter()
                .find(|c| c.factor == factor && c.level == level && c.measure == cell.measure);
            let Some(below) = below else { continue };
            cell.baseline = Some((factor.to_owned(), level.to_owned()));
            let pairs = cell.paired_by(below, every);
            cell.ratio_to_baseline = stats::paired_ratio(&pairs);
            if (cell.factor.as_str(), cell.level.as_str()) != (factor, level) {
                cell.ratio_ci95 = stats::paired_interval_at(&pairs, confidence).map(ends);
            }
            if let (Some(here), Some(base)) = (cell.published, below.published)
                && base > 0.0
            {
                cell.published_ratio = Some(here / base);
            }
        }
    }
}
