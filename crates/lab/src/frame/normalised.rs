//! Cells over the largest of them, round by round.

use crate::results::{Cell, StudyResult};
use crate::study::{Normalised, OF_THE_LARGEST};
use std::collections::BTreeMap;

/// Adds the cells of a table over its largest. Only rounds that have all of its cells are in it.
pub(super) fn add(result: &mut StudyResult, table: &Normalised) {
    let of_it =
        |c: &&Cell| c.factor == table.factor && table.measures.contains(&c.measure.as_str());
    let cells: Vec<Cell> = result.cells.iter().filter(of_it).cloned().collect();
    let mut rounds: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
    for (round, value) in cells.iter().flat_map(|c| c.rounds.iter().zip(&c.runs)) {
        let (count, largest) = rounds.entry(*round).or_insert((0, 0.0));
        (*count, *largest) = (*count + 1, largest.max(*value));
    }
    for cell in &cells {
        for (round, value) in cell.rounds.iter().zip(&cell.runs) {
            let (count, largest) = rounds[round];
            if count == cells.len() && largest > 0.0 {
                let part = value / largest;
                result.record_in(
                    *round,
                    table.as_factor,
                    &cell.level,
                    &cell.measure,
                    OF_THE_LARGEST,
                    part,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_a_whole_round_is_one() {
        let mut result = StudyResult::default();
        for (round, level, value) in [
            (0, "512", 30.0),
            (0, "4096", 120.0),
            (1, "512", 50.0),
            (1, "4096", 100.0),
            (2, "512", 7.0),
        ] {
            result.record_in(round, "log block", level, "rows", "rows/s", value);
        }
        let measures = vec!["rows"];
        add(
            &mut result,
            &Normalised { factor: "log block", measures, as_factor: "over the largest" },
        );
        let runs = |level| &result.cell_of("over the largest", level, "rows").unwrap().runs;
        assert_eq!((runs("512"), runs("4096")), (&vec![0.25, 0.5], &vec![1.0, 1.0]));
    }
}
