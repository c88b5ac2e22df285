//! The results as one HTML page: charts, tables, machine, waits and I/O. Self-contained: no script, no network, light and
//! dark by the reader's setting.

use super::svg::{Bar, bars, escape};
use super::{figure, ratio};
use crate::results::{Results, StudyResult};
use std::fmt::Write;

const STYLE: &str = "
:root{--ink:#1d2530;--soft:#5b6675;--line:#dfe4ea;--page:#fbfcfd;--card:#fff;--a:#2f6fb5;--b:#e08a2c;--c:#4b9b6e;--d:#9a5fb0;--e:#c4515b;--f:#6c7a89}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#98a4b3;--line:#333c48;--page:#14181e;--card:#1b2129;--a:#6aa5e6;--b:#eaa95c;--c:#74c296;--d:#bf8fd2;--e:#e07b84;--f:#97a4b2}}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:860px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;margin:0}h2{font-size:20px;margin:0 0 4px}h3{font-size:14px;margin:20px 0 6px;color:var(--soft);font-weight:600}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:22px 24px;margin-top:24px}
p{margin:6px 0}.soft{color:var(--soft)}.meaning{font-size:16px;margin:12px 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:5px 8px;border-bottom:1px solid var(--line);text-align:right}
th{color:var(--soft);font-weight:600;font-size:13px}td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}
svg{width:100%;height:auto;margin-top:10px}.grid{stroke:var(--line)}.tick,.name,.value{font:12px system-ui,sans-serif;fill:var(--soft)}.name{fill:var(--ink)}
.value{fill:var(--ink)}.whisker{stroke:var(--ink);stroke-width:1.5}.ref{stroke:var(--ink);stroke-dasharray:5 4}
.s0{fill:var(--a)}.s1{fill:var(--b)}.s2{fill:var(--c)}.s3{fill:var(--d)}.s4{fill:var(--e)}.s5{fill:var(--f)}
details{margin-top:12px}summary{cursor:pointer;color:var(--soft)}";

fn levels(study: &StudyResult) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for cell in &study.cells {
        if !levels.contains(&cell.level) {
            levels.push(cell.level.clone());
        }
    }
    levels
}

/// Ratios to the baseline: here by level, and the published ratio as the last series.
fn ratio_chart(study: &StudyResult) -> String {
    let levels = levels(study);
    let mut series: Vec<String> = levels
        .iter()
        .map(|l| format!("{} {l}, here", study.cells.first().map_or("", |c| c.factor.as_str())))
        .collect();
    let mut all = Vec::new();
    let mut published = false;
    for cell in &study.cells {
        let index = levels.iter().position(|l| *l == cell.level).unwrap_or(0);
        if let Some(value) = cell.ratio_to_baseline {
            all.push(Bar {
                group: cell.measure.clone(),
                series: index,
                value,
                interval: None,
                label: ratio(Some(value)),
            });
        }
        if index > 0
            && levels.len() == 2
            && let Some(value) = cell.published_ratio
        {
            published = true;
            all.push(Bar {
                group: cell.measure.clone(),
                series: levels.len(),
                value,
                interval: None,
                label: ratio(Some(value)),
            });
        }
    }
    if published {
        series.push(format!("{}, published for SQL Server", levels[1]));
    }
    bars(&all, &series, "times the baseline", Some(1.0))
}

fn time_chart(study: &StudyResult) -> String {
    let levels = levels(study);
    let bars_of: Vec<Bar> = study
        .cells
        .iter()
        .map(|cell| Bar {
            group: cell.measure.clone(),
            series: levels.iter().position(|l| *l == cell.level).unwrap_or(0),
            value: cell.median,
            interval: cell.ci95,
            label: figure(cell.median, ""),
        })
        .collect();
    let unit = study.cells.first().map_or("", |c| c.unit.as_str());
    bars(&bars_of, &levels, unit, None)
}

fn figures(out: &mut String, study: &StudyResult) {
    let factor = study.cells.first().map_or("level", |c| c.factor.as_str());
    let _ = write!(
        out,
        "<table><tr><th>measure</th><th>{}</th><th>median</th><th>95 % interval</th><th>runs</th><th>ratio</th><th>published</th><th>ratio there</th></tr>",
        escape(factor)
    );
    for cell in &study.cells {
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&cell.measure),
            escape(&cell.level),
            figure(cell.median, &cell.unit),
            cell.ci95.map_or_else(|| "-".into(), |[l, h]| format!("{} .. {}", figure(l, ""), figure(h, ""))),
            cell.runs.len(),
            ratio(cell.ratio_to_baseline),
            cell.published.map_or_else(|| "-".into(), |v| figure(v, &cell.unit)),
            ratio(cell.published_ratio)
        );
    }
    out.push_str("</table>");
}

fn waits_and_io(out: &mut String, study: &StudyResult) {
    if !study.waits.is_empty() {
        out.push_str("<details><summary>Waits</summary><table><tr><th>wait type</th><th>level</th><th>count</th><th>ms</th></tr>");
        for wait in &study.waits {
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&wait.wait_type),
                escape(&wait.level),
                wait.count,
                wait.ms
            );
        }
        out.push_str("</table></details>");
    }
    if !study.io.is_empty() {
        out.push_str("<details><summary>File I/O</summary><table><tr><th>file</th><th>level</th><th>writes</th><th>MB written</th><th>KB per write</th><th>reads</th><th>MB read</th></tr>");
        for io in &study.io {
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td><td>{}</td><td>{:.1}</td></tr>",
                escape(&io.file),
                escape(&io.level),
                io.writes,
                io.bytes_written as f64 / 1e6,
                io.bytes_written as f64 / 1e3 / (io.writes.max(1)) as f64,
                io.reads,
                io.bytes_read as f64 / 1e6
            );
        }
        out.push_str("</table></details>");
    }
}

/// The whole page.
pub(super) fn html(results: &Results) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Ringwood lab</title><style>{STYLE}</style></head><body><main><h1>Ringwood lab</h1><p class=\"soft\">Ringwood {} on {}</p>",
        escape(&results.ringwood),
        escape(&results.machine.summary())
    );
    for study in &results.studies {
        let _ = write!(
            out,
            "<section><h2>{}</h2><p class=\"soft\">{} on {}, disk: {}</p><p>{}</p><p class=\"meaning\"><b>{}</b></p>",
            escape(&study.study),
            escape(&study.scale),
            escape(&study.target),
            escape(&study.device),
            escape(&study.question),
            escape(&study.meaning)
        );
        if study.cells.iter().any(|c| c.ratio_to_baseline.is_some()) {
            let _ = write!(out, "<h3>Ratio to the baseline</h3>{}", ratio_chart(study));
        }
        let _ = write!(out, "<h3>Medians with their 95 % intervals</h3>{}", time_chart(study));
        figures(&mut out, study);
        waits_and_io(&mut out, study);
        out.push_str("<details><summary>Set-up</summary>");
        for line in &study.setup {
            let _ = write!(out, "<p class=\"soft\">{}</p>", escape(line));
        }
        out.push_str("</details></section>");
    }
    out.push_str("</main></body></html>\n");
    out
}
