//! Bar charts as inline SVG: no script, no font, the same bytes for the same results.
//! Colours are CSS variables so that the page's light and dark themes apply.

use std::fmt::Write;

/// One bar.
pub(super) struct Bar {
    /// Which group it stands in.
    pub group: String,
    /// Series within the group; the index picks the colour.
    pub series: usize,
    /// Height.
    pub value: f64,
    /// 95 % interval, drawn as a whisker.
    pub interval: Option<[f64; 2]>,
    /// Text above the bar.
    pub label: String,
}

/// Escapes text for HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 58.0;
const BOTTOM: f64 = 28.0;
const TOP: f64 = 22.0;

/// A "nice" upper end of an axis from 0: 1, 2, 5 or 10 times a power of ten.
fn axis_top(largest: f64) -> f64 {
    if largest.is_nan() || largest <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(largest.log10().floor());
    [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .iter()
        .map(|m| m * power)
        .find(|t| *t >= largest)
        .unwrap_or(largest)
}

/// Grouped bars. `axis` names the vertical axis; `line` draws a reference line at that value.
pub(super) fn bars(bars: &[Bar], series: &[String], axis: &str, line: Option<f64>) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for bar in bars {
        if !groups.contains(&bar.group.as_str()) {
            groups.push(&bar.group);
        }
    }
    let largest =
        bars.iter().map(|b| b.interval.map_or(b.value, |i| i[1].max(b.value))).fold(0.0, f64::max);
    let top = axis_top(largest * 1.05);
    let y = |v: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - v / top);
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
        HEIGHT + 24.0,
        escape(axis)
    );
    for step in 0..=4 {
        let value = top * f64::from(step) / 4.0;
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/><text class=\"tick\" x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            super::figure(value, "")
        );
    }
    let _ = write!(out, "<text class=\"tick\" x=\"0\" y=\"12\">{}</text>", escape(axis));
    let slot = (WIDTH - LEFT) / groups.len().max(1) as f64;
    let width = (slot * 0.8 / series.len().max(1) as f64).min(64.0);
    for (index, group) in groups.iter().enumerate() {
        let middle = LEFT + slot * (index as f64 + 0.5);
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM + 18.0,
            escape(group)
        );
        for bar in bars.iter().filter(|b| b.group == *group) {
            let x = middle + (bar.series as f64 - series.len() as f64 / 2.0) * width;
            draw_bar(&mut out, bar, x, width, &y);
        }
    }
    if let Some(value) = line {
        let _ = write!(
            out,
            "<line class=\"ref\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/>",
            y(value)
        );
    }
    legend(&mut out, series);
    out.push_str("</svg>");
    out
}

fn draw_bar(out: &mut String, bar: &Bar, x: f64, width: f64, y: &dyn Fn(f64) -> f64) {
    let value = if bar.value.is_finite() { bar.value.max(0.0) } else { 0.0 };
    let _ = write!(
        out,
        "<rect class=\"s{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
        bar.series % 6,
        y(value),
        width - 3.0,
        (y(0.0) - y(value)).max(0.5),
        escape(&format!("{}: {}", bar.group, bar.label))
    );
    let middle = x + (width - 3.0) / 2.0;
    if let Some([low, high]) = bar.interval {
        let _ = write!(
            out,
            "<line class=\"whisker\" x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y(low),
            y(high)
        );
    }
    let label_y = y(bar.interval.map_or(value, |i| i[1].max(value))) - 5.0;
    let _ = write!(
        out,
        "<text class=\"value\" x=\"{middle:.1}\" y=\"{label_y:.1}\" text-anchor=\"middle\">{}</text>",
        escape(&bar.label)
    );
}

fn legend(out: &mut String, series: &[String]) {
    let mut x = LEFT;
    for (index, name) in series.iter().enumerate() {
        let _ = write!(
            out,
            "<rect class=\"s{}\" x=\"{x:.1}\" y=\"{1:.1}\" width=\"11\" height=\"11\"/><text class=\"name\" x=\"{2:.1}\" y=\"{3:.1}\">{4}</text>",
            index % 6,
            HEIGHT + 6.0,
            x + 16.0,
            HEIGHT + 16.0,
            escape(name)
        );
        x += 34.0 + 7.2 * name.chars().count() as f64;
    }
}

/// One row of a chart of ratios.
pub(super) struct Row {
    /// Left of the bar.
    pub label: String,
    /// Length of the bar.
    pub value: f64,
    /// 95 % interval, drawn as a whisker.
    pub interval: Option<[f64; 2]>,
    /// A mark at another value, the published one.
    pub mark: Option<f64>,
    /// Right of the bar.
    pub text: String,
}

const ROW: f64 = 24.0;
const LABELS: f64 = 250.0;
const TEXTS: f64 = 165.0;

/// Horizontal bars from `base` to each value, logarithmic where the values span more than a factor
/// of 12: a ratio of one half is then as long as a ratio of two.
pub(super) fn rows(rows: &[Row], axis: &str, base: f64) -> String {
    let ends = |r: &Row| [r.interval.map(|i| i[0]), r.interval.map(|i| i[1])];
    let values = rows.iter().flat_map(|r| [Some(r.value), r.mark].into_iter().chain(ends(r)));
    let values = values.flatten().filter(|v| *v > 0.0 && v.is_finite());
    let (low, high) = values.fold((base, base), |(l, h), v| (l.min(v), h.max(v)));
    let wide = high / low > 12.0;
    let scale = |v: f64| if wide { v.max(low).ln() } else { v };
    let (left, right) =
        if wide { (scale(low * 0.8), scale(high * 1.1)) } else { (0.0, high * 1.05) };
    let x =
        |v: f64| LABELS + (WIDTH - LABELS - TEXTS) * (scale(v) - left) / (right - left).max(1e-9);
    let height = ROW * rows.len() as f64 + 30.0;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{0}\"><text class=\"tick\" x=\"0\" y=\"12\">{0}</text>",
        escape(&if wide { format!("{axis} (logarithmic)") } else { axis.to_owned() })
    );
    for (index, row) in rows.iter().enumerate() {
        let y = 20.0 + ROW * index as f64;
        let (from, to) = (x(base).min(x(row.value)), x(base).max(x(row.value)));
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"s0\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"13\" rx=\"2\"/>",
            LABELS - 10.0,
            y + 14.0,
            escape(&row.label),
            y + 4.0,
            (to - from).max(2.0),
        );
        if let Some([low, high]) = row.interval {
            let _ = write!(
                out,
                "<line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{2:.1}\" y2=\"{2:.1}\"/>",
                x(low.max(if wide { f64::MIN_POSITIVE } else { 0.0 })),
                x(high),
                y + 10.5
            );
        }
        if let Some(mark) = row.mark {
            let _ = write!(
                out,
                "<path class=\"mark\" d=\"M{0:.1} {1:.1}l6 6.5l-6 6.5l-6-6.5z\"><title>published: {2}</title></path>",
                x(mark),
                y + 4.0,
                super::figure(mark, "")
            );
        }
        let _ = write!(
            out,
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x(row
                .value
                .max(row.mark.unwrap_or(0.0))
                .max(row.interval.map_or(0.0, |i| i[1]))
                .max(base))
                + 12.0,
            y + 14.0,
            escape(&row.text)
        );
    }
    let _ = write!(
        out,
        "<line class=\"ref\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"18\" y2=\"{1:.1}\"/></svg>",
        x(base),
        height - 8.0
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_from_the_base_and_stay_inside() {
        let row = |value: f64, mark| Row {
            label: "<m>".into(),
            value,
            interval: Some([0.9 * value, 1.1 * value]),
            mark,
            text: "t".into(),
        };
        for all in
            [vec![row(1.01, Some(8.9)), row(0.5, None)], vec![row(0.1, Some(40.0)), row(0.0, None)]]
        {
            let svg = rows(&all, "times", 1.0);
            assert!(svg.contains("&lt;m&gt;") && !svg.contains("NaN"));
            for part in svg.split("<rect ").skip(1) {
                let number = |name: &str| -> f64 {
                    part.split(&format!("{name}=\""))
                        .nth(1)
                        .unwrap()
                        .split('"')
                        .next()
                        .unwrap()
                        .parse()
                        .unwrap()
                };
                assert!(
                    number(" x") >= LABELS - 1.0 && number(" x") + number("width") <= WIDTH,
                    "{part}"
                );
            }
        }
    }

    #[test]
    fn axis_ends_are_round() {
        assert_eq!(axis_top(0.93), 1.0);
        assert_eq!(axis_top(8.93), 10.0);
        assert_eq!(axis_top(0.0), 1.0);
    }
}
