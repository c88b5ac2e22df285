//! The log as a ring of cells, clockwise from the upper left corner, with text in its middle. A
//! cell is an equal share of the file; it shows the state that matters most of the VLFs in it.

use super::frame::{Line, Style};
use engine::status::{VlfRun, VlfState};

/// Rows of the ring, its text included.
pub const ROWS: usize = 7;
/// Character and look of a state.
pub fn look(state: VlfState) -> (char, Style) {
    match state {
        VlfState::Current => ('◆', Style::Current),
        VlfState::Active => ('█', Style::Active),
        VlfState::Free => ('░', Style::Free),
        VlfState::Unused => ('·', Style::Dim),
    }
}

fn weight(state: VlfState) -> u8 {
    match state {
        VlfState::Current => 3,
        VlfState::Active => 2,
        VlfState::Free => 1,
        VlfState::Unused => 0,
    }
}

/// The states of `cells` equal shares of the file.
pub fn cells(runs: &[VlfRun], cells: usize) -> Vec<VlfState> {
    let total: u64 = runs.iter().map(|run| run.bytes).sum();
    let mut out = vec![VlfState::Unused; cells];
    if total == 0 {
        return out;
    }
    let mut at = 0u64;
    for run in runs {
        let end = at + run.bytes;
        let scale = |bytes: u64| (u128::from(bytes) * cells as u128 / u128::from(total)) as usize;
        // A run that is smaller than a cell is seen all the same.
        let (from, to) = (scale(at).min(cells - 1), scale(end).max(scale(at) + 1).min(cells));
        for cell in &mut out[from..to] {
            if weight(*cell) < weight(run.state) {
                *cell = run.state;
            }
        }
        at = end;
    }
    out
}

/// The ring, `width` characters wide, around `text`.
pub fn ring(runs: &[VlfRun], text: &[Line], width: usize) -> Vec<Line> {
    let width = width.max(20);
    let inner = ROWS - 2;
    let states = cells(runs, 2 * width + 2 * inner);
    let mut lines = Vec::with_capacity(ROWS);
    let edge = |states: &mut dyn Iterator<Item = VlfState>| {
        let mut line = Line::default();
        for state in states {
            let (c, style) = look(state);
            line.push(style, c.to_string());
        }
        line
    };
    lines.push(edge(&mut states[..width].iter().copied()));
    for row in 0..inner {
        let (right, left) = (states[width + row], states[states.len() - 1 - row]);
        let mut line = edge(&mut std::iter::once(left));
        let middle = text.get(row).cloned().unwrap_or_default().fit(width - 4);
        line.push(Style::Plain, " ".into());
        line.append(middle);
        line.push(Style::Plain, " ".into());
        line.append(edge(&mut std::iter::once(right)));
        lines.push(line);
    }
    let bottom = width + inner..2 * width + inner;
    lines.push(edge(&mut states[bottom].iter().rev().copied()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: VlfState, bytes: u64) -> VlfRun {
        VlfRun { state, count: 1, bytes }
    }

    #[test]
    fn cells_are_shares_of_the_file_and_nothing_small_is_lost() {
        let runs =
            [run(VlfState::Active, 500), run(VlfState::Current, 1), run(VlfState::Free, 499)];
        let got = cells(&runs, 10);
        assert_eq!(got[..5], [VlfState::Active; 5]);
        assert_eq!(got[5], VlfState::Current);
        assert_eq!(got[6..], [VlfState::Free; 4]);
        assert_eq!(cells(&[], 3), [VlfState::Unused; 3]);
        // The last run ends with the file, however small it is.
        let tail = [run(VlfState::Free, 10_000), run(VlfState::Current, 1)];
        assert_eq!(cells(&tail, 10)[9], VlfState::Current);
    }

    #[test]
    fn the_ring_goes_round_clockwise() {
        // 20 wide: 50 cells, of which the first 20 are the upper edge, 5 the right, 20 the lower, 5
        // the left.
        let runs = [run(VlfState::Active, 25), run(VlfState::Free, 25)];
        let text = vec![Line::of(Style::Plain, "middle")];
        let lines: Vec<String> = ring(&runs, &text, 20).iter().map(Line::plain).collect();
        assert_eq!(lines.len(), ROWS);
        assert!(lines.iter().all(|l| l.chars().count() == 20), "{lines:?}");
        assert_eq!(lines[0], "█".repeat(20));
        assert_eq!(lines[1], "░ middle           █");
        assert_eq!(lines[6], "░".repeat(20));
    }
}
