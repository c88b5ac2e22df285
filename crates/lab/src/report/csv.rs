//! The results as CSV: one row per cell, the runs separated by blanks in one field.

use crate::results::Results;
use std::fmt::Write;

/// Quotes a field where CSV (RFC 4180) needs it.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

/// The whole file, header first.
pub(super) fn csv(results: &Results) -> String {
    let mut out = String::from(
        "study,scale,target,device,factor,level,measure,unit,median,ci95_low,ci95_high,ratio_to_baseline,published,published_ratio,runs,ratio_ci95_low,ratio_ci95_high,smallest,largest\n",
    );
    for study in &results.studies {
        for cell in &study.cells {
            let runs: Vec<String> = cell.runs.iter().map(f64::to_string).collect();
            let fields = [
                quote(&study.study),
                quote(&study.scale),
                quote(&study.target),
                quote(&study.device),
                quote(&cell.factor),
                quote(&cell.level),
                quote(&cell.measure),
                quote(&cell.unit),
                number(Some(cell.median).filter(|m| m.is_finite())),
                number(cell.ci95.map(|c| c[0])),
                number(cell.ci95.map(|c| c[1])),
                number(cell.ratio_to_baseline),
                number(cell.published),
                number(cell.published_ratio),
                runs.join(" "),
                number(cell.ratio_ci95.map(|c| c[0])),
                number(cell.ratio_ci95.map(|c| c[1])),
                number(cell.range.map(|c| c[0])),
                number(cell.range.map(|c| c[1])),
            ];
            let _ = writeln!(out, "{}", fields.join(","));
        }
    }
    out
}
