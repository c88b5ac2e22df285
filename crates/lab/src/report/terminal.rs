//! The results as a table for a terminal.

use super::{figure, ratio};
use crate::results::{Results, StudyResult};
use std::fmt::Write;

fn table(out: &mut String, rows: &[Vec<String>]) {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    for (index, row) in rows.iter().enumerate() {
        let _ = write!(out, " ");
        for (column, field) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - field.chars().count());
            let _ = if column < 2 { write!(out, " {field}{pad} ") } else { write!(out, " {pad}{field} ") };
        }
        out.push('\n');
        if index == 0 {
            let width: usize = widths.iter().map(|w| w + 2).sum();
            let _ = writeln!(out, "  {}", "-".repeat(width.saturating_sub(1)));
        }
    }
}

fn study_table(out: &mut String, study: &StudyResult) {
    let _ = writeln!(out, "\n{} on {} ({}, {})", study.study, study.target, study.scale, study.device);
    let _ = writeln!(out, "  {}\n", study.question);
    let factor = study.cells.first().map_or("level", |c| c.factor.as_str());
    let mut rows = vec![
        ["measure", factor, "median", "95 % interval", "ratio", "published", "ratio there"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for cell in &study.cells {
        let interval =
            cell.ci95.map_or_else(|| "-".into(), |[l, h]| format!("{} .. {}", figure(l, ""), figure(h, "")));
        rows.push(vec![
            cell.measure.clone(),
            cell.level.clone(),
            figure(cell.median, &cell.unit),
            interval,
            ratio(cell.ratio_to_baseline),
            cell.published.map_or_else(|| "-".into(), |v| figure(v, &cell.unit)),
            ratio(cell.published_ratio),
        ]);
    }
    table(out, &rows);
    let _ = writeln!(out, "\n  {}", study.meaning);
}

/// The whole report.
pub fn terminal(results: &Results) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "Ringwood {} on {}", results.ringwood, results.machine.summary());
    for study in &results.studies {
        study_table(&mut out, study);
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::report::tests::sample;

    #[test]
    fn the_table_shows_ratio_and_published() {
        let text = super::terminal(&sample());
        let line = text.lines().find(|l| l.contains("20000")).unwrap();
        assert!(line.contains("1554 s") && line.contains("8.93") && line.contains("1.15 s"), "{line}");
    }
}
