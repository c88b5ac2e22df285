//! What was counted around each measured step: log bytes for each row, how durable writes took,
//! exact sizes of log writes, other counters such as VLF changes, and waits in the order of their
//! shares.

use super::figure;
use super::svg::escape;
use crate::results::{StepResult, StudyResult};
use std::fmt::Write;

/// Waits of a smaller share are left out of the line.
const SHOWN_SHARE: f64 = 0.01;
/// So many exact sizes are named, the most frequent ones.
const SHOWN_SIZES: usize = 4;

/// One line of the table, in words; for the page and for the terminal.
pub(super) struct TableLine {
    pub level: String,
    pub measure: String,
    /// In the order of [`HEADS`].
    pub fields: [String; 5],
}

/// Heads of the fields.
pub(super) const HEADS: [&str; 5] =
    ["log bytes a row", "durable writes p50, p99", "log writes of exactly", "counts", "waits"];

/// The steps of which anything was counted.
pub(super) fn lines(study: &StudyResult) -> Vec<TableLine> {
    let several = study.steps.iter().any(|s| s.factor != study.steps[0].factor);
    let lines = study.steps.iter().map(|step| TableLine {
        level: if several {
            format!("{} ({})", step.level, step.factor)
        } else {
            step.level.clone()
        },
        measure: step.measure.clone(),
        fields: [
            step.log_bytes_per_row().map_or_else(String::new, |b| figure(b.round(), "")),
            latency(step),
            sizes(step),
            counts(step),
            waits(step),
        ],
    });
    lines.filter(|line| line.fields.iter().any(|f| !f.is_empty())).collect()
}

fn log(step: &StepResult) -> Option<&targets::work::IoCount> {
    step.io.iter().find(|io| io.file == "log")
}

/// Upper bounds of the classes, as the file statistics have them: powers of two.
fn latency(step: &StepResult) -> String {
    let both =
        log(step).and_then(|io| Some((io.durable_percentile(0.5)?, io.durable_percentile(0.99)?)));
    both.map_or_else(String::new, |(p50, p99)| format!("< {p50} us, < {p99} us"))
}

fn sizes(step: &StepResult) -> String {
    let Some(io) = log(step) else { return String::new() };
    let mut sizes: Vec<(i64, i64)> =
        io.exact_sizes.iter().map(|(bytes, count)| (*bytes, *count)).collect();
    sizes.sort_by_key(|(bytes, count)| (-count, *bytes));
    let named: Vec<String> = sizes
        .iter()
        .take(SHOWN_SIZES)
        .map(|(bytes, count)| {
            format!("{bytes} ({:.0} %)", 100.0 * *count as f64 / io.writes.max(1) as f64)
        })
        .collect();
    named.join(", ")
}

/// For each run; what the runs of a level do not have in common would be lost in a sum.
fn counts(step: &StepResult) -> String {
    let each = |count: i64| figure(count as f64 / step.runs.max(1) as f64, "");
    let named = step.counts.iter().filter(|(_, count)| **count != 0);
    let named: Vec<String> =
        named.map(|(name, count)| format!("{} {}", name.replace('_', " "), each(*count))).collect();
    named.join(", ")
}

fn waits(step: &StepResult) -> String {
    let shown = step.waits.iter().filter(|w| w.share >= SHOWN_SHARE);
    let named: Vec<String> =
        shown.map(|w| format!("{} {:.0} %", w.wait_type, w.share * 100.0)).collect();
    named.join(", ")
}

/// As a part of the page.
pub(super) fn html(study: &StudyResult) -> String {
    let lines = lines(study);
    let used: Vec<usize> =
        (0..HEADS.len()).filter(|i| lines.iter().any(|line| !line.fields[*i].is_empty())).collect();
    if used.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<details><summary>Step by step: log, counters (of one run), waits by their share of all waiting in the step</summary><div class=\"scroll\"><table class=\"steps\"><tr><th>measure</th><th>level</th>",
    );
    for index in &used {
        let _ = write!(out, "<th>{}</th>", escape(HEADS[*index]));
    }
    out.push_str("</tr>");
    for line in &lines {
        let _ =
            write!(out, "<tr><td>{}</td><td>{}</td>", escape(&line.measure), escape(&line.level));
        for index in &used {
            let _ = write!(out, "<td>{}</td>", escape(&line.fields[*index]));
        }
        out.push_str("</tr>");
    }
    out + "</table></div></details>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::StepWait;
    use std::collections::BTreeMap;
    use targets::work::IoCount;

    #[test]
    fn a_step_s_counts_are_said() {
        let step = StepResult {
            factor: "log block".into(),
            level: "512".into(),
            measure: "payload".into(),
            runs: 2,
            rows: Some(100),
            waits: vec![StepWait { wait_type: "WRITELOG".into(), count: 9, ms: 9.0, share: 0.994 }],
            io: vec![IoCount {
                file: "log".into(),
                writes: 100,
                bytes_written: 460_800,
                exact_sizes: BTreeMap::from([(3584, 75), (4096, 25)]),
                durable_us: BTreeMap::from([(128, 98), (1024, 2)]),
                ..IoCount::default()
            }],
            counts: BTreeMap::from([("vlf_changes".into(), 7), ("log_growths".into(), 0)]),
        };
        let study =
            StudyResult { steps: vec![step, StepResult::default()], ..StudyResult::default() };
        let lines = lines(&study);
        assert_eq!(lines.len(), 1, "nothing was counted around the other");
        assert_eq!(
            lines[0].fields,
            [
                "4608",
                "< 128 us, < 1024 us",
                "3584 (75 %), 4096 (25 %)",
                "vlf changes 3.50",
                "WRITELOG 99 %"
            ]
        );
        let html = html(&study);
        assert!(html.contains("vlf changes 3.50") && html.contains("&lt; 128 us"));
        assert_eq!(super::html(&StudyResult::default()), "");
    }
}
