//! The comparison of engines as a table for a README: rows by work, columns by engine, the settings
//! below it.

use super::figure;
use crate::results::{Cell, Results, StudyResult};
use crate::verdict::is_best;
use std::fmt::Write;

/// A figure with its interval; a lower bound as such.
fn field(cell: Option<&Cell>, best: bool) -> String {
    let Some(cell) = cell else { return "-".into() };
    if cell.note.is_some() {
        return format!("over {}", figure(cell.median, &cell.unit));
    }
    let value = figure(cell.median, &cell.unit);
    let value = if best { format!("**{value}**") } else { value };
    match cell.ci95 {
        Some([low, high]) => format!("{value} ({}..{})", figure(low, ""), figure(high, "")),
        None => value,
    }
}

fn table(out: &mut String, study: &StudyResult) {
    let distinct = |of: &dyn Fn(&Cell) -> String| {
        let mut all: Vec<String> = Vec::new();
        for cell in &study.cells {
            if !all.contains(&of(cell)) {
                all.push(of(cell));
            }
        }
        all
    };
    let mut engines = distinct(&|c| c.level.clone());
    // The floor comes last.
    engines.sort_by_key(|e| e.starts_with("raw "));
    let _ = writeln!(out, "| | {} |\n|---|{}", engines.join(" | "), "---|".repeat(engines.len()));
    for measure in distinct(&|c| c.measure.clone()) {
        let row: Vec<&Cell> = study.cells.iter().filter(|c| c.measure == measure).collect();
        let fields: Vec<String> = engines
            .iter()
            .map(|engine| {
                let cell = row.iter().find(|c| c.level == *engine).copied();
                field(cell, cell.is_some_and(|cell| is_best(cell, &row)))
            })
            .collect();
        let _ = writeln!(out, "| {measure} | {} |", fields.join(" | "));
    }
}

/// All studies of the results, one table each.
pub(super) fn markdown(results: &Results) -> String {
    let mut out = String::new();
    for study in &results.studies {
        let rounds = study.rounds.as_ref().map_or(0, |r| r.done);
        let _ = writeln!(
            out,
            "Medians of {rounds} rounds with their 95 % intervals; in bold what the intervals of the ratios tell from every other \
             engine. {}\n",
            results.machine.summary()
        );
        table(&mut out, study);
        let _ = writeln!(out, "\n{}\n", study.meaning);
        for line in study.setup.iter().chain(&study.missing) {
            let _ = writeln!(out, "- {line}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_column_for_each_engine() {
        let mut study = StudyResult {
            meaning: "A is faster.".into(),
            setup: vec!["A 1.0".into()],
            ..StudyResult::default()
        };
        for round in 0..6 {
            for (level, value) in [("raw write", 1.0), ("A", 2.0), ("B", 3.0)] {
                study.record_in(
                    round,
                    "engine",
                    level,
                    "commits",
                    "us",
                    value + round as f64 / 10.0,
                );
            }
            study.record_in(round, "engine", "A", "delete", "s", 1.0);
            study.record_in(round, "engine", "B", "delete", "s", 60.0);
            study.record_in(round, "engine", "A", "update", "s", 2.0);
            study.record_in(round, "engine", "B", "update", "s", 2.0);
        }
        study.finish(&|_| Some(("engine", "A")));
        study.cell_mut("engine", "B", "delete").unwrap().note = Some("stopped".into());
        let text = markdown(&Results { studies: vec![study], ..Results::default() });
        for line in [
            "| | A | B | raw write |",
            "|---|---|---|---|",
            "| commits | **2.25 us** (2..2.50) | 3.25 us (3..3.50) | 1.25 us (1..1.50) |",
            "| update | 2 s (2..2) | 2 s (2..2) | - |",
            "| delete | **1 s** (1..1) | over 60 s | - |",
            "A is faster.",
            "- A 1.0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} is missing in\n{text}");
        }
    }
}
