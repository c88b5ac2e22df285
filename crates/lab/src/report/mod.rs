//! Reports of one `Results`: JSON and CSV for scripts, a terminal table, one self-contained HTML
//! page. A program that reads a report's file while it is written again sees the old one or the new
//! one, whole.

mod charts;
mod csv;
mod html;
mod markdown;
mod origin;
mod points;
mod steps;
mod svg;
mod terminal;

pub(crate) use terminal::table;
pub use terminal::terminal;

use crate::LabError;
use crate::results::{Results, StudyResult, larger_is_better};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Formats a figure of `unit` so that a person reads it: three significant digits.
pub(crate) fn figure(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let text = match value.abs() {
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.6}"),
    };
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// Whether a unit is one of time or a rate: what is drawn and compared. Counts stay in the tables.
pub(crate) fn is_cost(unit: &str) -> bool {
    matches!(unit, "s" | "us") || larger_is_better(unit)
}

/// A ratio's interval, `-` when there is none.
fn ratio_interval(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(|| "-".into(), |[low, high]| format!("{low:.2} .. {high:.2}"))
}

/// Formats a ratio, `-` when there is none.
fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.2}"))
}

/// Writes `results.json`, `results.csv` and `report.html` into `folder`.
pub fn write_all(results: &Results, folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder)?;
    let mut json = serde_json::to_string_pretty(results)?;
    json.push('\n');
    replace(&folder.join("results.json"), &json)?;
    replace(&folder.join("results.csv"), &csv::csv(results))?;
    replace(&folder.join("report.html"), &html::html(results))
}

/// Writes the comparison of engines as `table.md` into `folder`, for a README.
pub(crate) fn write_table(results: &Results, folder: &Path) -> Result<(), LabError> {
    replace(&folder.join("table.md"), &markdown::markdown(results))
}

/// Writes a file beside the one of that name and puts it in its place.
fn replace(path: &Path, text: &str) -> Result<(), LabError> {
    let new = path.with_added_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    Ok(std::fs::rename(&new, path)?)
}

/// Reads the results of an earlier run.
pub fn read(folder: &Path) -> Result<Results, LabError> {
    Ok(serde_json::from_str(&std::fs::read_to_string(folder.join("results.json"))?)?)
}

/// Waits of a level in the order of their share of all waiting there, the author's shares beside;
/// waits of less than 1 % only where he names them.
fn wait_shares(
    study: &StudyResult,
    factor: &str,
    level: &str,
) -> Vec<(String, Option<f64>, Option<f64>)> {
    let here: Vec<_> =
        study.waits.iter().filter(|w| w.factor == factor && w.level == level).collect();
    let all = here.iter().map(|w| w.ms).sum::<i64>().max(1) as f64;
    let mut shares: Vec<(String, Option<f64>, Option<f64>)> =
        here.iter().map(|w| (w.wait_type.clone(), Some(w.ms as f64 / all), None)).collect();
    for wait in study.published_waits.iter().filter(|w| w.factor == factor && w.level == level) {
        match shares.iter_mut().find(|s| s.0 == wait.wait_type) {
            Some(share) => share.2 = Some(wait.share),
            None => shares.push((wait.wait_type.clone(), None, Some(wait.share))),
        }
    }
    shares.retain(|(_, here, published)| published.is_some() || here.is_some_and(|h| h >= 0.01));
    shares.sort_by(|a, b| b.1.unwrap_or(0.0).total_cmp(&a.1.unwrap_or(0.0)));
    shares
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn empty() -> StudyResult {
        StudyResult::default()
    }

    pub(crate) fn sample() -> Results {
        let mut study = StudyResult {
            study: "vlf-count".into(),
            scale: "quick".into(),
            target: "ringwood".into(),
            device: "real".into(),
            question: "What do 20,000 virtual log files cost?".into(),
            meaning: "Nothing & <less>.".into(),
            setup: vec!["rows: 1".into()],
            ..empty()
        };
        for (level, value, published) in
            [("16", 1.0, 174.0), ("16", 1.2, 174.0), ("20000", 1.0, 1554.0), ("20000", 1.3, 1554.0)]
        {
            study.record("VLFs", level, "update", "s", value);
            if let Some(cell) = study.cells.last_mut() {
                cell.published = Some(published);
            }
        }
        study.finish(&|_| Some(("VLFs", "16")));
        Results { ringwood: "0.1.0".into(), studies: vec![study], ..Results::default() }
    }

    #[test]
    fn files_are_written_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        write_all(&sample(), folder.path()).unwrap();
        // What an interruption has left of another attempt disturbs nobody.
        std::fs::write(folder.path().join("results.json.new"), "{\"ringw").unwrap();
        let reader = File::open(folder.path().join("results.json")).unwrap();
        write_all(&Results { ringwood: "0.2.0".into(), ..sample() }, folder.path()).unwrap();
        let old = std::io::read_to_string(reader).unwrap();
        assert!(
            old.contains("\"0.1.0\"") && old.ends_with("}\n"),
            "a reader keeps the file that it has opened"
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            3,
            "nothing but the three files"
        );
        let back = read(folder.path()).unwrap();
        let cell = back.studies[0].cell("20000", "update").unwrap();
        assert_eq!(cell.runs, [1.0, 1.3]);
        assert!((cell.published_ratio.unwrap() - 8.931).abs() < 0.001);
        let csv = std::fs::read_to_string(folder.path().join("results.csv")).unwrap();
        assert_eq!(csv.lines().count(), 3);
        let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
        assert!(
            html.contains("Nothing &amp; &lt;less&gt;.")
                && html.contains("<svg")
                && !html.contains("http://")
        );
    }

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(figure(1234.5, "s"), "1234 s");
        assert_eq!(figure(0.0123, "s"), "0.0123 s");
        assert_eq!(figure(0.0, "writes"), "0 writes");
        assert_eq!(figure(f64::NAN, "s"), "-");
    }
}
