//! The results as one HTML page: charts, tables, machine, waits and I/O. Self-contained: no script,
//! no network, light and dark by the reader's setting.

use super::charts::{median_charts, ratio_charts};
use super::points::points;
use super::svg::escape;
use super::{figure, origin, ratio, ratio_interval, steps};
use crate::results::{Cell, Io, Results, StudyResult, Verdict};
use stats::FEWEST;
use std::fmt::Write;

const STYLE: &str = "
:root{--ink:#1d2530;--soft:#5b6675;--line:#dfe4ea;--page:#fbfcfd;--card:#fff;--a:#2f6fb5;--b:#e08a2c;--c:#4b9b6e;--d:#9a5fb0;--e:#c4515b;--f:#6c7a89;--holds:#2c7a4b;--fails:#b3303c;--open:#96610a}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#98a4b3;--line:#333c48;--page:#14181e;--card:#1b2129;--a:#6aa5e6;--b:#eaa95c;--c:#74c296;--d:#bf8fd2;--e:#e07b84;--f:#97a4b2;--holds:#74c296;--fails:#f08a92;--open:#e8b04b}}
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
.mark{fill:none;stroke:var(--b);stroke-width:2}.banner{border-left:4px solid var(--b);padding:6px 12px;background:color-mix(in srgb,var(--b) 12%,transparent)}
.chip{display:inline-block;border:1px solid var(--line);border-radius:12px;padding:1px 10px;margin:2px 4px 2px 0;font-size:13px;color:var(--soft);text-decoration:none}
.yes{color:var(--holds);font-weight:600}.no{color:var(--fails);font-weight:600}.open{color:var(--open);font-weight:600}.heat td{text-align:center}.scroll{overflow-x:auto}
.p0{fill:var(--a)}.p1{fill:var(--b)}.p2{fill:var(--c)}.p3{fill:var(--d)}.p4{fill:none;stroke:var(--e);stroke-width:2}.p5{fill:none;stroke:var(--f);stroke-width:2}
.keys{margin:2px 0 0}.item{margin-right:14px;white-space:nowrap}svg.key{width:12px;height:12px;margin:0 4px 0 0;display:inline}
.origin{margin:10px 0 14px;font-size:13px}.origin th{width:190px;text-align:left;vertical-align:top}.origin td{text-align:left}.origin td,.origin th{border:0;padding:1px 8px 1px 0}
.steps td,.steps th{text-align:left;vertical-align:top;font-size:13px}
details{margin-top:12px}summary{cursor:pointer;color:var(--soft)}";

fn figures(out: &mut String, study: &StudyResult) {
    let factor = study.cells.first().map_or("level", |c| c.factor.as_str());
    let _ = write!(
        out,
        "<h3>Figures</h3><div class=\"scroll\"><table><tr><th>measure</th><th>{}</th><th>median</th><th>mean</th><th>95 % interval</th><th>runs</th><th>ratio</th><th>its 95 %</th><th>published</th><th>ratio there</th></tr>",
        escape(factor)
    );
    for cell in &study.cells {
        let unit = cell.published_unit.as_deref().unwrap_or(&cell.unit);
        let note = cell
            .note
            .as_ref()
            .map_or_else(String::new, |n| format!(" <span class=\"soft\">({})</span>", escape(n)));
        let repeats = runs_text(cell);
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}{note}</td><td>{}</td><td>{}</td><td>{}{repeats}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&cell.measure),
            escape(&level_name(study, &cell.factor, &cell.level)),
            figure(cell.median, &cell.unit),
            figure(cell.mean, &cell.unit),
            cell.ci95.map_or_else(
                || "-".into(),
                |[l, h]| format!("{} .. {}", figure(l, ""), figure(h, ""))
            ),
            cell.runs.len(),
            ratio(cell.ratio_to_baseline),
            ratio_interval(cell.ratio_ci95),
            cell.published.map_or_else(|| "-".into(), |v| figure(v, unit)),
            ratio(cell.published_ratio)
        );
    }
    out.push_str("</table></div>");
}

/// What the runs of a cell are, beside their number: repeats, the cold ones that are left out, and
/// runs that are.
fn runs_text(cell: &Cell) -> String {
    let mut said = Vec::new();
    if let (Some(least), Some(most)) = (cell.repeats.iter().min(), cell.repeats.iter().max()) {
        said.push(match least == most {
            true => format!("means of {least} repeats"),
            false => format!("means of {least} to {most} repeats"),
        });
    }
    if let Some(first) = stats::median(&cell.first) {
        said.push(format!("the first, cold one left out: {}", figure(first, &cell.unit)));
    }
    if !cell.late.is_empty() {
        said.push(format!("{} that measured this machine left out", cell.late.len()));
    }
    if said.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"soft\">({})</span>", escape(&said.join("; ")))
    }
}

/// A level; with its factor where the study has more than one.
fn level_name(study: &StudyResult, factor: &str, level: &str) -> String {
    if study.cells.iter().all(|c| c.factor == factor) {
        level.into()
    } else {
        format!("{level} ({factor})")
    }
}

/// A verdict in its colour, with a sign of its own: it reads without colours too.
fn verdict_badge(verdict: Verdict) -> String {
    let (class, sign) = match verdict {
        Verdict::Holds => ("yes", "\u{2713}"),
        Verdict::Fails => ("no", "\u{2717}"),
        Verdict::Undecided => ("open", "?"),
    };
    format!("<span class=\"{class}\">{sign} {}</span>", verdict.word())
}

fn bounds(out: &mut String, study: &StudyResult) {
    if study.claims.is_empty() {
        return;
    }
    let judged = study.claims.iter().filter(|c| c.verdict.is_some() && c.every.is_none()).count();
    let alone = match judged {
        0 | 1 => String::new(),
        n => format!(
            "<p class=\"soft\">Each bound is judged by its own 95 % interval: of {n} intervals {:.1} are expected to miss.</p>",
            n as f64 * 0.05
        ),
    };
    let _ = write!(out, "<h3>Bounds</h3>{alone}");
    out.push_str("<div class=\"scroll\"><table><tr><th>comparison</th><th>measure</th><th>here</th><th>95 %</th><th>bound</th><th>verdict</th><th>published</th></tr>");
    for claim in &study.claims {
        let remark = claim.remark.as_ref().map_or_else(String::new, |remark| {
            format!("<br><span class=\"soft\">{}</span>", escape(remark))
        });
        let holds = claim.verdict.map_or_else(|| "-".into(), |v| verdict_badge(v) + &remark);
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{holds}</td><td>{}</td></tr>",
            escape(&claim.group),
            escape(&claim.what),
            ratio(claim.value),
            claim
                .interval
                .map_or_else(|| "-".into(), |(low, high)| format!("{low:.2} .. {high:.2}")),
            claim.bound_text(),
            ratio(claim.published)
        );
    }
    out.push_str("</table></div>");
}

/// How many writes had which size: one line for each kind of file and level, darker where more of
/// the line is.
fn write_sizes(out: &mut String, study: &StudyResult) {
    let lines: Vec<&Io> = study.io.iter().filter(|i| !i.write_sizes.is_empty()).collect();
    let order =
        ["512", "1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", ">1M"];
    let used: Vec<&str> = order
        .into_iter()
        .filter(|label| {
            lines.iter().any(|l| l.write_sizes.iter().any(|s| s.0 == *label && s.1 > 0))
        })
        .collect();
    if used.is_empty() {
        return;
    }
    out.push_str("<h3>Sizes of writes, up to</h3><div class=\"scroll\"><table class=\"heat\"><tr><th>file</th><th>level</th>");
    for label in &used {
        let _ = write!(out, "<th>{}</th>", escape(label));
    }
    out.push_str("<th>read first</th></tr>");
    for line in lines {
        let all: i64 = line.write_sizes.iter().map(|s| s.1).sum();
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td>",
            escape(&line.file),
            escape(&level_name(study, &line.factor, &line.level))
        );
        for label in &used {
            let count = line.write_sizes.iter().find(|s| s.0 == *label).map_or(0, |s| s.1);
            let share = 100 * count / all.max(1);
            let _ = write!(
                out,
                "<td style=\"background:color-mix(in srgb,var(--a) {share}%,transparent)\">{}</td>",
                if count == 0 { String::new() } else { count.to_string() }
            );
        }
        let _ = write!(out, "<td>{}</td></tr>", line.partial_writes);
    }
    out.push_str("</table></div>");
}

/// The author's shares of all waiting beside those of the levels that he gave them for.
fn published_waits(out: &mut String, study: &StudyResult) {
    if study.published_waits.is_empty() {
        return;
    }
    out.push_str("<h3>Waits in the order of their shares</h3><div class=\"scroll\"><table><tr><th>level</th><th>wait type</th><th>share here</th><th>published</th></tr>");
    let mut levels: Vec<(&str, &str)> = Vec::new();
    for wait in &study.published_waits {
        if !levels.contains(&(&wait.factor, &wait.level)) {
            levels.push((&wait.factor, &wait.level));
        }
    }
    for (factor, level) in levels {
        for (wait_type, here, published) in super::wait_shares(study, factor, level) {
            let percent = |share: Option<f64>| {
                share.map_or_else(|| "-".into(), |s| format!("{:.0} %", s * 100.0))
            };
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&level_name(study, factor, level)),
                escape(&wait_type),
                percent(here),
                percent(published)
            );
        }
    }
    out.push_str("</table></div>");
}

fn waits_and_io(out: &mut String, study: &StudyResult) {
    published_waits(out, study);
    if !study.waits.is_empty() {
        out.push_str("<details><summary>Waits</summary><table><tr><th>wait type</th><th>level</th><th>count</th><th>ms</th></tr>");
        for wait in &study.waits {
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&wait.wait_type),
                escape(&level_name(study, &wait.factor, &wait.level)),
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
                escape(&level_name(study, &io.factor, &io.level)),
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

/// How many rounds there were, and what that means for the intervals.
fn rounds_text(study: &StudyResult) -> Option<String> {
    let rounds = study.rounds.as_ref()?;
    let planned = rounds.done.min(rounds.looks.last().copied().unwrap_or(rounds.done));
    let more = match rounds.done - planned {
        0 => String::new(),
        more => {
            format!(", and {more} more to make up for rounds with runs that measured this machine")
        }
    };
    Some(match rounds.looks.as_slice() {
        [fixed] if rounds.done < FEWEST => {
            format!(
                "{planned} of {fixed} rounds{more}: too few for intervals, so no bound is decided"
            )
        }
        [fixed] => format!("{planned} of {fixed} rounds, fixed before the run{more}"),
        looks => format!(
            "{planned} rounds{more}; looked at the bounds after {}: each interval has {:.2} % confidence, those of one bound at \
             all looks together have 95 %",
            looks.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
            rounds.confidence * 100.0
        ),
    })
}

/// What a reader must know before the figures.
fn notes(out: &mut String, study: &StudyResult) {
    if let Some(disclosure) = &study.disclosure {
        let _ = write!(out, "<p class=\"banner\">{}</p>", escape(disclosure));
    }
    if let Some(late) = &study.late {
        let class = if late.marked.is_empty() { "soft" } else { "banner" };
        let _ = write!(out, "<p class=\"{class}\">{}</p>", escape(&late.text()));
    }
    if let Some(position) = &study.position {
        let _ = write!(out, "<p class=\"soft\">{}</p>", escape(&position.text()));
    }
}

fn section(out: &mut String, study: &StudyResult, index: usize) {
    let _ = write!(
        out,
        "<section id=\"s{index}\"><h2>{}</h2><p class=\"soft\">{} scale on {}, disk: {}{}</p>",
        escape(&study.study),
        escape(&study.scale),
        escape(&study.target),
        escape(&study.device),
        if study.knob.is_empty() {
            String::new()
        } else {
            format!("; varied: {}", escape(&study.knob))
        }
    );
    notes(out, study);
    let source = match study.source.as_str() {
        "" => String::new(),
        source => format!("<p class=\"soft\">Published: {}</p>", escape(source)),
    };
    let _ = write!(
        out,
        "<p>{}</p>{source}<p class=\"meaning\"><b>{}</b></p>",
        escape(&study.question),
        escape(&study.meaning)
    );
    if !study.cells.is_empty() {
        let ratios = ratio_charts(study);
        if !ratios.is_empty() {
            let _ =
                write!(out, "<h3>Ratio to the baseline; the diamonds are published</h3>{ratios}");
        }
        let intervals = match study.cells.iter().any(|c| c.ci95.is_some()) {
            true => "with their 95 % intervals",
            false => "(too few runs for intervals)",
        };
        let _ = write!(out, "<h3>Medians {intervals}</h3>{}", median_charts(study));
        bounds(out, study);
        figures(out, study);
        let runs = points(study);
        if !runs.is_empty() {
            let _ = write!(out, "<h3>Each run, in the order in which they were made</h3>{runs}");
        }
        write_sizes(out, study);
        out.push_str(&steps::html(study));
        waits_and_io(out, study);
    }
    if !study.missing.is_empty() {
        out.push_str("<h3>Not measured</h3>");
        for line in &study.missing {
            let _ = write!(out, "<p class=\"soft\">{}</p>", escape(line));
        }
    }
    // Of a comparison of engines the settings are part of what is compared.
    let open = if study.study == "peers" { " open" } else { "" };
    let _ = write!(out, "<details{open}><summary>Set-up</summary>");
    for line in rounds_text(study).iter().chain(&study.setup) {
        let _ = write!(out, "<p class=\"soft\">{}</p>", escape(line));
    }
    out.push_str("</details></section>");
}

/// How the bounds of a study came out, for its chip: the worst verdict colours it.
fn chip_verdict(study: &StudyResult) -> String {
    let count = |v: Verdict| study.claims.iter().filter(|c| c.verdict == Some(v)).count();
    let counts = [Verdict::Holds, Verdict::Fails, Verdict::Undecided].map(|v| (v, count(v)));
    let said: Vec<String> = counts
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(v, n)| format!("{n} {}", verdict_badge(*v)))
        .collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) }
}

/// The whole page.
pub(super) fn html(results: &Results) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Ringwood lab</title><style>{STYLE}</style></head><body><main><h1>Ringwood lab</h1>{}<p>",
        origin::html(results)
    );
    for (index, study) in results.studies.iter().enumerate() {
        let verdict = chip_verdict(study);
        let _ = write!(
            out,
            "<a class=\"chip\" href=\"#s{index}\">{}, {}, {}{verdict}</a>",
            escape(&study.study),
            escape(&study.target),
            escape(&study.device)
        );
    }
    out.push_str("</p>");
    for (index, study) in results.studies.iter().enumerate() {
        section(&mut out, study, index);
    }
    out.push_str("</main></body></html>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::RoundsResult;

    #[test]
    fn rounds_that_make_up_for_others_are_told_apart() {
        for (looks, done, text) in [
            (&[6][..], 4, "4 of 6 rounds: too few for intervals, so no bound is decided"),
            (&[6], 6, "6 of 6 rounds, fixed before the run"),
            (&[6], 8, "6 of 6 rounds, fixed before the run, and 2 more to make up for"),
            (&[2], 3, "2 of 2 rounds, and 1 more to make up for"),
            // The three may have left enough of the others for intervals.
            (&[5], 8, "5 of 5 rounds, fixed before the run, and 3 more"),
            (&[8, 16], 8, "8 rounds; looked at the bounds after 8, 16"),
            (&[8, 16], 20, "16 rounds, and 4 more to make up for"),
        ] {
            let rounds = RoundsResult { looks: looks.to_vec(), done, ..RoundsResult::default() };
            let study = StudyResult { rounds: Some(rounds), ..StudyResult::default() };
            let said = rounds_text(&study).unwrap();
            assert!(said.starts_with(text), "{said}");
        }
    }
}
