//! Does [`compare`](super::compare) say what it should? The rounds of one run are dealt out to two
//! sides again and again, as an interleaved run of a build with itself would have measured them,
//! and one side can be made slower.

use super::{Comparison, Finding, compare};
use crate::LabError;
use crate::results::{Results, StudyResult, larger_is_better};

/// What many comparisons found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingCounts {
    /// No difference.
    pub none: usize,
    /// B slower.
    pub slower: usize,
    /// B faster.
    pub faster: usize,
    /// Too few rounds.
    pub too_few: usize,
}

/// One comparison: of `rounds` pairs of neighbouring rounds, chosen at random, one of each pair
/// goes to A and the other to B by the throw of a coin; B takes `slower` times as long. Errors: a
/// study has fewer than two rounds for each that is asked for.
pub fn deal(
    results: &Results,
    rounds: usize,
    slower: f64,
    random: &mut fastrand::Rng,
) -> Result<Comparison, LabError> {
    let (mut a, mut b) = (results.clone(), results.clone());
    for side in [&mut a, &mut b] {
        side.origin.interleaved = "dealt".into();
        side.studies.clear();
    }
    for study in &results.studies {
        let all =
            study.cells.iter().flat_map(|c| c.rounds.iter().copied()).max().map_or(0, |r| r + 1);
        if all / 2 < rounds {
            return Err(LabError::Request(format!(
                "{} has {all} rounds: a comparison of {rounds} rounds takes {}",
                study.study,
                2 * rounds
            )));
        }
        let mut pairs: Vec<usize> = (0..all / 2).collect();
        random.shuffle(&mut pairs);
        let dealt: Vec<(usize, bool)> =
            pairs.into_iter().take(rounds).map(|p| (p, random.bool())).collect();
        let of = |first: bool| side_of(study, &dealt, first, if first { 1.0 } else { slower });
        a.studies.push(of(true));
        b.studies.push(of(false));
    }
    compare(&a, &b)
}

fn side_of(study: &StudyResult, dealt: &[(usize, bool)], first: bool, slower: f64) -> StudyResult {
    let mut side = study.clone();
    for cell in &mut side.cells {
        let factor = if larger_is_better(&cell.unit) { 1.0 / slower } else { slower };
        let runs = dealt.iter().enumerate().filter_map(|(round, (pair, swapped))| {
            let from = 2 * pair + usize::from(first == *swapped);
            let value = cell.rounds.iter().position(|r| *r == from).map(|i| cell.runs[i])?;
            Some((round, value * factor))
        });
        (cell.rounds, cell.runs) = runs.unzip();
        cell.median = stats::median(&cell.runs).unwrap_or(f64::NAN);
    }
    side
}

/// Deals that many times, from a seed.
pub fn deal_many(
    results: &Results,
    comparisons: usize,
    rounds: usize,
    slower: f64,
    seed: u64,
) -> Result<FindingCounts, LabError> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut found = FindingCounts::default();
    for _ in 0..comparisons {
        match deal(results, rounds, slower, &mut random)?.finding {
            Finding::NoDifference => found.none += 1,
            Finding::Slower => found.slower += 1,
            Finding::Faster => found.faster += 1,
            Finding::TooFewRounds => found.too_few += 1,
        }
    }
    Ok(found)
}
