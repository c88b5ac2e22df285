//! Every run as a point, in the order in which they were made: what drifts, jumps or lies far off
//! is seen here and not in a median.

use super::svg::escape;
use super::{figure, is_cost};
use crate::results::{Cell, StudyResult};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const PANEL: f64 = 372.0;
const HEIGHT: f64 = 132.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 14.0;
/// Shapes and colours of the levels of a panel: told apart without colours too.
const SHAPES: usize = 6;

/// One panel for each measure, two beside each other; the legend names the levels' shapes. Empty
/// where the order is not known.
pub(super) fn points(study: &StudyResult) -> String {
    let cells: Vec<&Cell> = study
        .cells
        .iter()
        .filter(|c| is_cost(&c.unit) && c.order.len() == c.runs.len() && c.runs.len() > 1)
        .collect();
    let mut panels: Vec<(&str, &str)> = Vec::new();
    for cell in &cells {
        let key = (cell.factor.as_str(), cell.measure.as_str());
        if !panels.contains(&key) {
            panels.push(key);
        }
    }
    if panels.is_empty() {
        return String::new();
    }
    let factors = panels.iter().any(|p| p.0 != panels[0].0);
    let rows = panels.len().div_ceil(2);
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"each run in order\">",
        rows as f64 * HEIGHT
    );
    for (index, (factor, measure)) in panels.iter().enumerate() {
        let here: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|c| c.factor == *factor && c.measure == *measure)
            .collect();
        let name = if factors { format!("{measure} ({factor})") } else { (*measure).to_owned() };
        let at = ((index % 2) as f64 * (WIDTH - PANEL), (index / 2) as f64 * HEIGHT);
        panel(&mut out, &here, &name, at);
    }
    out.push_str("</svg>");
    let mut levels: Vec<(&str, &str)> = Vec::new();
    for cell in &cells {
        let key = (cell.factor.as_str(), cell.level.as_str());
        if !levels.contains(&key) {
            levels.push(key);
        }
    }
    out + &legend(&levels)
}

/// Series of a level within its factor, as in the panels.
fn series(levels: &[(&str, &str)], factor: &str, level: &str) -> usize {
    levels.iter().filter(|l| l.0 == factor).position(|l| l.1 == level).unwrap_or(0)
}

fn panel(out: &mut String, cells: &[&Cell], name: &str, at: (f64, f64)) {
    let values = || cells.iter().flat_map(|c| c.runs.iter().copied()).filter(|v| v.is_finite());
    let (low, high) = values().fold((f64::INFINITY, 0f64), |(l, h), v| (l.min(v), h.max(v)));
    // From 0 where the runs spread, else around them: a difference of a percent is to be seen too.
    let wide = low > 0.0 && high / low > 12.0;
    let pad = ((high - low) * 0.15).max(high * 0.005);
    let (bottom, top) = match wide {
        true => (low.ln(), high.ln()),
        false => ((low - pad).max(0.0), high + pad),
    };
    let scale = |v: f64| if wide { v.ln() } else { v };
    let y = |v: f64| {
        at.1 + TOP
            + (HEIGHT - TOP - BOTTOM) * (1.0 - (scale(v) - bottom) / (top - bottom).max(1e-12))
    };
    let orders = || cells.iter().flat_map(|c| c.order.iter().copied());
    let (first, last) = (orders().min().unwrap_or(0) as f64, orders().max().unwrap_or(1) as f64);
    let x = |order: usize| {
        at.0 + LEFT + (PANEL - LEFT - 10.0) * (order as f64 - first) / (last - first).max(1.0)
    };
    let unit = cells.first().map_or("", |c| c.unit.as_str());
    let _ = write!(
        out,
        "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        at.0,
        at.1 + 12.0,
        escape(&format!("{name}, {unit}{}", if wide { " (logarithmic)" } else { "" }))
    );
    for value in [low, high] {
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{0:.1}\" x2=\"{1:.1}\" y1=\"{2:.1}\" y2=\"{2:.1}\"/><text class=\"tick\" x=\"{3:.1}\" y=\"{4:.1}\" text-anchor=\"end\">{5}</text>",
            at.0 + LEFT,
            at.0 + PANEL,
            y(value),
            at.0 + LEFT - 5.0,
            y(value) + 4.0,
            figure(value, "")
        );
    }
    for (series, cell) in cells.iter().enumerate() {
        for (order, value) in cell.order.iter().zip(&cell.runs).filter(|(_, v)| v.is_finite()) {
            mark(
                out,
                series,
                x(*order),
                y(*value),
                &format!("{}: {}", cell.level, figure(*value, &cell.unit)),
            );
        }
    }
}

/// A circle, square, triangle, diamond, cross or plus.
fn mark(out: &mut String, series: usize, x: f64, y: f64, title: &str) {
    let class = format!("p{}", series % SHAPES);
    let title = escape(title);
    let path = match series % SHAPES {
        0 => format!("M{:.1} {y:.1}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", x - 3.2),
        1 => format!("M{:.1} {:.1}h5.6v5.6h-5.6z", x - 2.8, y - 2.8),
        2 => format!("M{x:.1} {:.1}l3.4 6h-6.8z", y - 3.6),
        3 => format!("M{x:.1} {:.1}l3.8 3.8l-3.8 3.8l-3.8-3.8z", y - 3.8),
        4 => format!("M{:.1} {:.1}l6 6m0-6l-6 6", x - 3.0, y - 3.0),
        _ => format!("M{:.1} {y:.1}h7m-3.5-3.5v7", x - 3.5),
    };
    let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"><title>{title}</title></path>");
}

fn legend(levels: &[(&str, &str)]) -> String {
    let several = levels.iter().any(|l| l.0 != levels[0].0);
    let items = levels.iter().map(|(factor, level)| {
        let mut shape =
            String::from("<svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">");
        mark(&mut shape, series(levels, factor, level), 6.0, 6.0, level);
        let name = if several { format!("{level} ({factor})") } else { (*level).to_owned() };
        format!("<span class=\"item\">{shape}</svg>{}</span>", escape(&name))
    });
    format!("<p class=\"soft keys\">{}</p>", items.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_a_point_in_its_place() {
        let mut study = StudyResult::default();
        for (round, (a, b)) in [(1.0, 2.0), (1.1, 2.1), (1.2, 40.0)].into_iter().enumerate() {
            study.record_in(round, "f", "<a>", "m", "s", a);
            study.record_in(round, "f", "b", "m", "s", b);
            study.record_in(round, "f", "b", "n", "rows/s", b);
            study.record_in(round, "f", "b", "count", "writes", 1.0);
        }
        assert_eq!(points(&study), "", "the order is not known");
        for cell in &mut study.cells {
            cell.order = if cell.level == "b" { vec![0, 3, 5] } else { vec![1, 2, 4] };
        }
        let svg = points(&study);
        assert_eq!(
            svg.matches("<path class=\"p0\"").count(),
            3 + 3 + 1,
            "of <a>, of the lone b, of the legend"
        );
        assert_eq!(svg.matches("<path class=\"p1\"").count(), 3 + 1);
        assert!(
            svg.contains("&lt;a&gt;: 1.10 s")
                && svg.contains("m, s (logarithmic)")
                && !svg.contains("count")
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
