//! The results as a table for a terminal.

use super::{figure, origin, ratio, ratio_interval, steps};
use crate::results::{Cell, ClaimResult, Results, StudyResult};
use std::fmt::Write;

/// Rows of a table, the first of which is its head; the first two columns are text.
pub(crate) fn table(out: &mut String, rows: &[Vec<String>]) {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0))
        .collect();
    for (index, row) in rows.iter().enumerate() {
        let _ = write!(out, " ");
        for (column, field) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - field.chars().count());
            let _ = if column < 2 {
                write!(out, " {field}{pad} ")
            } else {
                write!(out, " {pad}{field} ")
            };
        }
        out.push('\n');
        if index == 0 {
            let width: usize = widths.iter().map(|w| w + 2).sum();
            let _ = writeln!(out, "  {}", "-".repeat(width.saturating_sub(1)));
        }
    }
}

/// The level, with its factor where there are several, and a mark for a note.
fn level_name(study: &StudyResult, cell: &Cell) -> String {
    let mark = if cell.note.is_some() { " *" } else { "" };
    if study.cells.iter().all(|c| c.factor == cell.factor) {
        return format!("{}{mark}", cell.level);
    }
    format!("{} ({}){mark}", cell.level, cell.factor)
}

/// What a reader must know before the figures.
fn head(out: &mut String, study: &StudyResult) {
    let _ =
        writeln!(out, "\n{} on {} ({}, {})", study.study, study.target, study.scale, study.device);
    let _ = writeln!(out, "  {}\n", study.question);
    if let Some(disclosure) = &study.disclosure {
        let _ = writeln!(out, "  {disclosure}\n");
    }
    if let Some(late) = &study.late {
        let _ = writeln!(out, "  {}\n", late.text());
    }
    if let Some(position) = &study.position {
        let _ = writeln!(out, "  {}\n", position.text());
    }
    for line in &study.missing {
        let _ = writeln!(out, "  not measured: {line}");
    }
}

fn study_table(out: &mut String, study: &StudyResult) {
    head(out, study);
    if study.cells.is_empty() {
        let _ = writeln!(out, "  {}", study.meaning);
        return;
    }
    let factor = study.cells.first().map_or("level", |c| c.factor.as_str());
    let mut rows = vec![
        [
            "measure",
            factor,
            "median",
            "95 % interval",
            "ratio",
            "its 95 %",
            "published",
            "ratio there",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for cell in &study.cells {
        let interval = cell
            .ci95
            .map_or_else(|| "-".into(), |[l, h]| format!("{} .. {}", figure(l, ""), figure(h, "")));
        rows.push(vec![
            cell.measure.clone(),
            level_name(study, cell),
            figure(cell.median, &cell.unit),
            interval,
            ratio(cell.ratio_to_baseline),
            ratio_interval(cell.ratio_ci95),
            cell.published.map_or_else(
                || "-".into(),
                |v| figure(v, cell.published_unit.as_deref().unwrap_or(&cell.unit)),
            ),
            ratio(cell.published_ratio),
        ]);
    }
    table(out, &rows);
    for cell in study.cells.iter().filter(|c| c.note.is_some()) {
        let _ = writeln!(
            out,
            "  * {}, {}: {}",
            cell.level,
            cell.measure,
            cell.note.as_deref().unwrap_or_default()
        );
    }
    study.claims.iter().filter_map(bound).for_each(|line| out.push_str(&line));
    for line in steps::lines(study) {
        let named = steps::HEADS
            .iter()
            .zip(&line.fields)
            .filter(|(head, f)| TOLD.contains(head) && !f.is_empty());
        let told: Vec<String> = named.map(|(head, field)| format!("{head} {field}")).collect();
        if !told.is_empty() {
            let _ = writeln!(out, "  {} {}: {}", line.measure, line.level, told.join("; "));
        }
    }
    if study.study == "peers" {
        for line in &study.setup {
            let _ = writeln!(out, "  {line}");
        }
    }
    let _ = writeln!(out, "\n  {}", study.meaning);
}

/// A line of a bound that was judged.
fn bound(claim: &ClaimResult) -> Option<String> {
    let interval =
        claim.interval.map_or_else(String::new, |(low, high)| format!(", {low:.2} .. {high:.2}"));
    let remark = claim.remark.as_ref().map_or_else(String::new, |remark| format!("; {remark}"));
    Some(format!(
        "  {}: {}, {}: {}{interval} ({}{remark})\n",
        claim.verdict?.word(),
        claim.group,
        claim.what,
        ratio(claim.value),
        claim.bound_text()
    ))
}

/// What the terminal says of each step; the page has the rest.
const TOLD: [&str; 2] = [steps::HEADS[0], steps::HEADS[3]];

/// The whole report.
pub fn terminal(results: &Results) -> String {
    let mut out = String::new();
    for (name, value) in origin::lines(results) {
        let _ = writeln!(out, "{name}: {value}");
    }
    for study in &results.studies {
        study_table(&mut out, study);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;
    use crate::results::Verdict;

    #[test]
    fn a_verdict_is_said_with_its_reason() {
        let mut claim = ClaimResult {
            group: "Rows missing".into(),
            what: "clean stop".into(),
            value: Some(0.0),
            at_most: Some(0.0),
            verdict: Some(Verdict::Holds),
            remark: Some("held in 6 of 6 runs".into()),
            ..ClaimResult::default()
        };
        let line = bound(&claim).unwrap();
        assert_eq!(
            line,
            "  holds: Rows missing, clean stop: 0.00 (at most 0.00; held in 6 of 6 runs)\n"
        );
        (claim.verdict, claim.remark, claim.interval) =
            (Some(Verdict::Fails), None, Some((0.5, 1.0)));
        assert!(bound(&claim).unwrap().contains("0.00, 0.50 .. 1.00 (at most 0.00)"));
        claim.verdict = None;
        assert_eq!(bound(&claim), None);
    }

    #[test]
    fn the_table_shows_ratio_and_published() {
        let text = terminal(&sample());
        let line = text.lines().find(|l| l.contains("20000")).unwrap();
        assert!(
            line.contains("1554 s") && line.contains("8.93") && line.contains("1.15 s"),
            "{line}"
        );
    }
}
