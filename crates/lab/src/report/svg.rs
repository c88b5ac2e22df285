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
const LEFT: f64 = 44.0;
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
    let largest = bars.iter().map(|b| b.interval.map_or(b.value, |i| i[1].max(b.value))).fold(0.0, f64::max);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_ends_are_round() {
        assert_eq!(axis_top(0.93), 1.0);
        assert_eq!(axis_top(8.93), 10.0);
        assert_eq!(axis_top(0.0), 1.0);
    }
}
