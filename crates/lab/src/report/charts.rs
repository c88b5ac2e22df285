//! The charts of a study: ratios to the baseline with the published ones beside them, and medians
//! with their intervals.

use super::svg::{Bar, Row, bars, rows};
use super::{figure, is_cost, ratio};
use crate::results::{Cell, StudyResult, larger_is_better};

/// Values in order of appearance, each once.
fn distinct<'a>(cells: &[&'a Cell], of: impl Fn(&'a Cell) -> &'a str) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for cell in cells {
        if !out.contains(&of(cell)) {
            out.push(of(cell));
        }
    }
    out
}

/// Times and rates are drawn; counts stay in the table, and so does what has no run of its own.
fn drawn(cell: &&Cell) -> bool {
    is_cost(&cell.unit) && !cell.runs.is_empty()
}

/// One row for each cell that is not the baseline: its ratio, and a mark for the published one.
/// Empty without ratios.
pub(super) fn ratio_charts(study: &StudyResult) -> String {
    let mut out = String::new();
    let cells: Vec<&Cell> = study.cells.iter().filter(drawn).collect();
    for rate in [false, true] {
        let all: Vec<Row> = cells
            .iter()
            .filter(|c| larger_is_better(&c.unit) == rate)
            .filter_map(|c| {
                let value = c.ratio_to_baseline?;
                // The baseline's ratio to itself says nothing.
                (value != 1.0).then(|| Row {
                    label: format!("{} · {}", c.measure, c.level),
                    value,
                    interval: c.ratio_ci95,
                    mark: c.published_ratio,
                    text: match c.published_ratio {
                        Some(published) => {
                            format!("{} (published {published:.2})", ratio(Some(value)))
                        }
                        None => ratio(Some(value)),
                    },
                })
            })
            .collect();
        if !all.is_empty() {
            let axis = if rate {
                "times the baseline's rate: more is faster"
            } else {
                "times the baseline's time: less is faster"
            };
            out += &rows(&all, axis, 1.0);
        }
    }
    out
}

/// Medians: one panel for each unit; where two factors share their measures, one for each measure
/// with the levels side by side.
pub(super) fn median_charts(study: &StudyResult) -> String {
    let cells: Vec<&Cell> = study.cells.iter().filter(drawn).collect();
    let mut out = String::new();
    for unit in distinct(&cells, |c| &c.unit) {
        let here: Vec<&Cell> = cells.iter().copied().filter(|c| c.unit == unit).collect();
        let factors = distinct(&here, |c| &c.factor);
        let shared = factors.len() > 1
            && here
                .iter()
                .filter(|c| c.factor == factors[0])
                .all(|c| here.iter().any(|d| d.factor == factors[1] && d.measure == c.measure));
        if shared {
            for measure in distinct(&here, |c| &c.measure) {
                let part: Vec<&Cell> =
                    here.iter().copied().filter(|c| c.measure == measure).collect();
                out += &panel(&part, |c| &c.level, |c| &c.factor, &format!("{measure}, {unit}"));
            }
        } else {
            for factor in factors {
                let part: Vec<&Cell> =
                    here.iter().copied().filter(|c| c.factor == factor).collect();
                out += &panel(&part, |c| &c.measure, |c| &c.level, unit);
            }
        }
    }
    out
}

fn panel<'a>(
    cells: &[&'a Cell],
    group: impl Fn(&'a Cell) -> &'a str,
    series: impl Fn(&'a Cell) -> &'a str,
    axis: &str,
) -> String {
    let names = distinct(cells, &series);
    let all: Vec<Bar> = cells
        .iter()
        .map(|cell| Bar {
            group: group(cell).to_owned(),
            series: names.iter().position(|n| *n == series(cell)).unwrap_or(0),
            value: cell.median,
            interval: cell.ci95,
            label: figure(cell.median, ""),
        })
        .collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    bars(&all, &names, axis, None)
}
