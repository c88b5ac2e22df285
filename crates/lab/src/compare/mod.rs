//! `lab compare`: did a change cost anything? Two folders of results are held against each other,
//! cell by cell and study by study.
//!
//! - Results of one interleaved run ([`interleave`]: the two builds took turns, in an order thrown
//!   by a coin) are compared round by round, by the signed rank test. The coin makes that test
//!   exact, whatever the machine does.
//! - Results of separate runs are compared by what they measured against their own baselines, by
//!   the rank sum test. Seconds of different days are not compared: a change that slows the
//!   baseline as much as the rest cannot be seen then.
//!
//! All verdicts of a comparison together are wrong in at most four comparisons of a hundred without
//! any difference ([`ERROR`]): half of that is for the studies as wholes (the mean of the middle
//! half of the logarithms of a round's cells, which a disturbed step cannot move far), half for the
//! cells, each half shared out by Holm's method.

pub mod check;
pub mod interleave;
#[cfg(test)]
mod tests;
mod text;

pub use text::terminal;

use crate::LabError;
use crate::results::{Cell, Results, ResultsOrigin, StudyResult, larger_is_better};
use serde::{Deserialize, Serialize};
use stats::Shift;

/// How often a comparison may find a difference where there is none.
pub const ERROR: f64 = 0.04;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// B takes longer.
    Slower,
    /// B takes less.
    Faster,
    /// No difference was shown.
    NoDifference,
    /// There are too few rounds to show any.
    TooFewRounds,
}

impl Finding {
    /// As a person reads it.
    pub fn words(self) -> &'static str {
        match self {
            Finding::Slower => "slower",
            Finding::Faster => "faster",
            Finding::NoDifference => "no difference",
            Finding::TooFewRounds => "too few rounds",
        }
    }
}

/// How one cell, or a whole study, differs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// What B takes, times what A takes: above 1 B is slower. Of rates the inverse, so that it
    /// means the same.
    pub ratio: f64,
    /// 95 % interval of the ratio, by itself; null for fewer than six rounds.
    pub interval: Option<(f64, f64)>,
    /// The chance of such a ratio without any difference, raised for all that was tested beside it.
    pub p: f64,
    /// By that chance.
    pub finding: Finding,
}

/// One cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ComparedCell {
    /// Factor.
    pub factor: String,
    /// Level.
    pub level: String,
    /// Measure.
    pub measure: String,
    /// Unit of `a` and `b`.
    pub unit: String,
    /// Median of A's runs.
    pub a: f64,
    /// Median of B's runs.
    pub b: f64,
    /// Rounds of A and of B; of an interleaved run those that both have.
    pub rounds: (usize, usize),
    /// Null for a cell of separate runs that has no baseline of its own run.
    pub difference: Option<Difference>,
}

/// One study on one target and device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ComparedStudy {
    /// Study.
    pub study: String,
    /// Target.
    pub target: String,
    /// Device.
    pub device: String,
    /// All its cells together; null where none can be compared.
    pub all: Option<Difference>,
    /// Its cells.
    pub cells: Vec<ComparedCell>,
}

/// A whole comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Whether the two were measured in turns.
    pub interleaved: bool,
    /// Where A comes from.
    pub a: ResultsOrigin,
    /// Where B comes from.
    pub b: ResultsOrigin,
    /// The studies that both have.
    pub studies: Vec<ComparedStudy>,
    /// Slower where anything is slower, else faster where anything is faster.
    pub finding: Finding,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// Rounds and logarithms.
type Logs = Vec<(usize, f64)>;

/// The runs of a cell on both sides, as logarithms of what they cost.
enum Samples {
    /// `ln(b / a)`.
    Paired(Logs),
    /// Of A and of B.
    Separate(Logs, Logs),
}

impl Samples {
    fn shift(&self) -> Option<Shift> {
        let logs = |v: &Logs| -> Vec<f64> { v.iter().map(|(_, l)| *l).collect() };
        match self {
            Samples::Paired(both) => stats::paired_shift(&logs(both)),
            Samples::Separate(a, b) => stats::unpaired_shift(&logs(a), &logs(b)),
        }
    }

    fn rounds(&self) -> (usize, usize) {
        match self {
            Samples::Paired(both) => (both.len(), both.len()),
            Samples::Separate(a, b) => (a.len(), b.len()),
        }
    }

    /// The smallest chance that so many rounds can show: all on one side.
    fn least_p(&self) -> f64 {
        let (a, b) = self.rounds();
        let shift = match self {
            Samples::Paired(_) => stats::paired_shift(&vec![1.0; a]),
            Samples::Separate(..) => stats::unpaired_shift(&vec![0.0; a], &vec![1.0; b]),
        };
        shift.map_or(1.0, |s| s.p)
    }

    /// The middle of several cells round by round; rounds that not all cells have are left out.
    /// `None` for none, or for both kinds.
    fn middle(all: &[&Samples]) -> Option<Samples> {
        let paired: Option<Vec<&Logs>> = all.iter().map(|s| s.pairs()).collect();
        if let Some(cells) = paired {
            return Some(Samples::Paired(middle_of(&cells)?));
        }
        let sides: Vec<(&Logs, &Logs)> = all.iter().map(|s| s.sides()).collect::<Option<_>>()?;
        let (a, b): (Vec<&Logs>, Vec<&Logs>) = sides.into_iter().unzip();
        Some(Samples::Separate(middle_of(&a)?, middle_of(&b)?))
    }

    fn pairs(&self) -> Option<&Logs> {
        if let Samples::Paired(both) = self { Some(both) } else { None }
    }

    fn sides(&self) -> Option<(&Logs, &Logs)> {
        if let Samples::Separate(a, b) = self { Some((a, b)) } else { None }
    }
}

/// The middle of each round that all cells have. It changes its sign with all of them, so that the
/// test by signs stays exact.
fn middle_of(cells: &[&Logs]) -> Option<Logs> {
    let value = |cell: &Logs, round| cell.iter().find(|(r, _)| *r == round).map(|(_, log)| *log);
    let rounds = cells.first()?.iter().filter_map(|(round, _)| {
        let logs = cells.iter().map(|cell| value(cell, *round)).collect::<Option<Vec<f64>>>()?;
        Some((*round, stats::interquartile_mean(&logs)?))
    });
    Some(rounds.collect())
}

/// Times and rates are compared; counts are no cost.
fn is_cost(cell: &Cell) -> bool {
    crate::report::is_cost(&cell.unit)
}

/// Logarithm of what a value costs: rates turned round.
fn cost(cell: &Cell, ratio: f64) -> Option<f64> {
    let log = ratio.ln();
    let log = if larger_is_better(&cell.unit) { -log } else { log };
    log.is_finite().then_some(log)
}

fn paired(a: &Cell, b: &Cell) -> Samples {
    let rounds = b.rounds.iter().zip(&b.runs).filter_map(|(round, b_value)| {
        let a_value = a.rounds.iter().position(|r| r == round).map(|i| a.runs[i])?;
        Some((*round, cost(a, b_value / a_value)?))
    });
    Samples::Paired(rounds.collect())
}

/// Each side against its own baseline of the same rounds. `None` for a baseline itself and where
/// there is none.
fn separate(a: (&StudyResult, &Cell), b: (&StudyResult, &Cell)) -> Option<Samples> {
    let side = |(study, cell): (&StudyResult, &Cell)| -> Option<Logs> {
        let base = cell.baseline.as_ref()?;
        let base = study.cell_of(&base.0, &base.1, &cell.measure).filter(|base| *base != cell)?;
        let rounds = cell.rounds.iter().zip(&cell.runs).filter_map(|(round, value)| {
            let below = base.rounds.iter().position(|r| r == round).map(|i| base.runs[i])?;
            Some((*round, cost(cell, value / below)?))
        });
        Some(rounds.collect())
    };
    Some(Samples::Separate(side(a)?, side(b)?))
}

/// The difference by a chance that was raised for all others.
fn judged(samples: &Samples, shift: &Shift, p: f64, tests: usize) -> Difference {
    let finding = match p <= ERROR / 2.0 {
        true if shift.ratio > 1.0 => Finding::Slower,
        true => Finding::Faster,
        // The strictest that Holm's method asks of the most different one of them.
        false if samples.least_p() * tests as f64 > ERROR / 2.0 => Finding::TooFewRounds,
        false => Finding::NoDifference,
    };
    Difference { ratio: shift.ratio, interval: shift.interval, p, finding }
}

fn same(a: &StudyResult, b: &StudyResult) -> bool {
    (&a.study, &a.scale, &a.target, &a.device) == (&b.study, &b.scale, &b.target, &b.device)
}

/// Holds B against A. Errors: they have no study in common.
pub fn compare(a: &Results, b: &Results) -> Result<Comparison, LabError> {
    let interleaved =
        !a.origin.interleaved.is_empty() && a.origin.interleaved == b.origin.interleaved;
    let both: Vec<(&StudyResult, &StudyResult)> = a
        .studies
        .iter()
        .filter_map(|s| Some((s, b.studies.iter().find(|other| same(s, other))?)))
        .collect();
    if both.is_empty() {
        return Err(LabError::Request(
            "the two have no study in common (the same study, scale, target and device)".into(),
        ));
    }
    let mut studies = Vec::new();
    // By study and cell, in the order of the cells.
    let mut samples: Vec<Vec<Option<Samples>>> = Vec::new();
    for (a, b) in both {
        let cells = a.cells.iter().filter(|c| is_cost(c)).filter_map(|cell| {
            let other = b.cell_of(&cell.factor, &cell.level, &cell.measure)?;
            let samples = if interleaved {
                Some(paired(cell, other))
            } else {
                separate((a, cell), (b, other))
            };
            let rounds =
                samples.as_ref().map_or((cell.runs.len(), other.runs.len()), Samples::rounds);
            let compared = ComparedCell {
                factor: cell.factor.clone(),
                level: cell.level.clone(),
                measure: cell.measure.clone(),
                unit: cell.unit.clone(),
                a: cell.median,
                b: other.median,
                rounds,
                difference: None,
            };
            Some((compared, samples))
        });
        let (cells, of_cells): (Vec<_>, Vec<_>) = cells.unzip();
        studies.push(ComparedStudy {
            study: a.study.clone(),
            target: a.target.clone(),
            device: a.device.clone(),
            all: None,
            cells,
        });
        samples.push(of_cells);
    }
    judge_cells(&mut studies, &samples);
    judge_studies(&mut studies, &samples);
    let remarks = remarks(a, b, &studies, interleaved);
    let finding = overall(&studies);
    Ok(Comparison {
        interleaved,
        a: a.origin.clone(),
        b: b.origin.clone(),
        studies,
        finding,
        remarks,
    })
}

fn judge_cells(studies: &mut [ComparedStudy], samples: &[Vec<Option<Samples>>]) {
    let tested: Vec<(usize, usize, &Samples, Shift)> = samples
        .iter()
        .enumerate()
        .flat_map(|(s, cells)| cells.iter().enumerate().map(move |(c, samples)| (s, c, samples)))
        .filter_map(|(s, c, samples)| {
            let samples = samples.as_ref()?;
            Some((s, c, samples, samples.shift()?))
        })
        .collect();
    let raised = stats::holm(&tested.iter().map(|t| t.3.p).collect::<Vec<_>>());
    for ((study, cell, samples, shift), p) in tested.iter().zip(raised) {
        studies[*study].cells[*cell].difference = Some(judged(samples, shift, p, tested.len()));
    }
}

fn judge_studies(studies: &mut [ComparedStudy], samples: &[Vec<Option<Samples>>]) {
    let tested: Vec<(usize, Samples, Shift)> = samples
        .iter()
        .enumerate()
        .filter_map(|(index, cells)| {
            let with_rounds = cells.iter().flatten().filter(|s| s.rounds().0.min(s.rounds().1) > 0);
            let middle = Samples::middle(&with_rounds.collect::<Vec<_>>())?;
            let shift = middle.shift()?;
            Some((index, middle, shift))
        })
        .collect();
    let raised = stats::holm(&tested.iter().map(|t| t.2.p).collect::<Vec<_>>());
    for ((index, middle, shift), p) in tested.iter().zip(raised) {
        studies[*index].all = Some(judged(middle, shift, p, tested.len()));
    }
}

fn overall(studies: &[ComparedStudy]) -> Finding {
    let differences = || {
        studies
            .iter()
            .flat_map(|s| s.all.iter().chain(s.cells.iter().filter_map(|c| c.difference.as_ref())))
    };
    let any = |finding| differences().any(|d| d.finding == finding);
    if any(Finding::Slower) {
        return Finding::Slower;
    }
    if any(Finding::Faster) {
        return Finding::Faster;
    }
    // Where the studies as wholes could have shown something, single cells need not.
    let able =
        studies.iter().any(|s| s.all.as_ref().is_some_and(|d| d.finding != Finding::TooFewRounds));
    if able { Finding::NoDifference } else { Finding::TooFewRounds }
}

fn remarks(a: &Results, b: &Results, studies: &[ComparedStudy], interleaved: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if !interleaved {
        remarks.push(
            "These are two separate runs. Each is compared by what it measured against its own baselines: what slows a baseline as much \
             as the rest is not seen, and seconds of different runs are not compared. `lab compare --binaries OLD NEW STUDY` \
             runs both builds in turns and sees both."
                .into(),
        );
        let machine = |r: &Results| {
            format!("{}, {} cores, kernel {}", r.machine.cpu, r.machine.cores, r.machine.kernel)
        };
        if machine(a) != machine(b) {
            remarks.push(format!("The machines differ: {}; {}.", machine(a), machine(b)));
        }
    }
    let cells = studies.iter().flat_map(|s| &s.cells).filter_map(|c| c.difference.as_ref());
    if cells.clone().any(|d| d.finding == Finding::TooFewRounds) {
        remarks.push("Single cells marked \"too few rounds\" could not have shown a difference with so few rounds among so many cells.".into());
    }
    let missing = |r: &Results, other: &Results| {
        r.studies.iter().filter(|s| !other.studies.iter().any(|o| same(s, o))).count()
    };
    let left = missing(a, b) + missing(b, a);
    if left > 0 {
        remarks.push(format!(
            "{left} studies are in one of the two only, or at another scale: left out."
        ));
    }
    remarks
}
