//! A comparison as a table for a terminal.

use super::{Comparison, Difference, ERROR, Finding};
use crate::report::{figure, table};
use crate::results::ResultsOrigin;
use std::fmt::Write;

fn side(name: &str, origin: &ResultsOrigin) -> String {
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    format!(
        "{name}: commit {}, {}, {}\n",
        known(&origin.commit),
        known(&origin.begun),
        known(&origin.command)
    )
}

fn columns(difference: Option<&Difference>) -> [String; 4] {
    let Some(d) = difference else { return ["-", "-", "-", "not compared"].map(str::to_owned) };
    let sign = match d.finding {
        Finding::Slower | Finding::Faster => d.finding.words().to_owned(),
        Finding::NoDifference => "~".into(),
        Finding::TooFewRounds => d.finding.words().to_owned(),
    };
    [
        format!("{:.3}", d.ratio),
        d.interval.map_or_else(|| "-".into(), |(low, high)| format!("{low:.3} .. {high:.3}")),
        format!("{:.4}", d.p),
        sign,
    ]
}

/// The whole comparison.
pub fn terminal(comparison: &Comparison) -> String {
    let mut out = side("A", &comparison.a) + &side("B", &comparison.b);
    let how = if comparison.interleaved {
        "measured in turns, compared round by round"
    } else {
        "two separate runs"
    };
    let _ = writeln!(out, "{how}; ratios are what B takes times what A takes: above 1 B is slower");
    for study in &comparison.studies {
        let _ = writeln!(out, "\n{} on {}, {}\n", study.study, study.target, study.device);
        let mut rows = vec![
            ["measure", "level", "A", "B", "rounds", "ratio", "95 % interval", "p", ""]
                .map(str::to_owned)
                .to_vec(),
        ];
        for cell in &study.cells {
            let (a, b) = cell.rounds;
            let rounds = if a == b { a.to_string() } else { format!("{a}, {b}") };
            let mut row = vec![
                cell.measure.clone(),
                format!("{} ({})", cell.level, cell.factor),
                figure(cell.a, &cell.unit),
                figure(cell.b, &cell.unit),
                rounds,
            ];
            row.extend(columns(cell.difference.as_ref()));
            rows.push(row);
        }
        let mut all = ["all cells", "", "", "", ""].map(str::to_owned).to_vec();
        all.extend(columns(study.all.as_ref()));
        rows.push(all);
        table(&mut out, &rows);
    }
    for remark in &comparison.remarks {
        let _ = writeln!(out, "\n{remark}");
    }
    let _ = writeln!(
        out,
        "\n{}. All findings together are wrong in at most {:.0} of 100 comparisons without any difference.",
        match comparison.finding {
            Finding::Slower => "B is slower",
            Finding::Faster => "B is faster",
            Finding::NoDifference => "No difference",
            Finding::TooFewRounds => "Too few rounds to show any difference",
        },
        ERROR * 100.0
    );
    out
}
