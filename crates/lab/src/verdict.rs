//! What a comparison of engines means: in which rows one of them is faster than every other, slower
//! than one, or cannot be told apart, by the intervals of the ratios. Like is compared with like:
//! where a client sends statement by statement, engines in this process with each other, and
//! servers with each other.

use crate::results::{Cell, StudyResult};
use targets::{SERVED, TORN};

/// The floor of a durable commit, measured beside the engines: one 4 KiB block into space written
/// before.
pub(crate) const RAW: &str = "raw 4 KiB write + fdatasync";
/// The rows of what a client waits for that sends statement by statement.
pub(crate) const CLIENT: &str = "durable commits, one client";
/// Engines that are in the process of their client.
const IN_PROCESS: [&str; 2] = ["Ringwood", "SQLite"];

/// Whether a column is an engine that others are compared with: the raw floor of the disk is none,
/// nor is what only shows the cost of a protection.
fn is_competitor(level: &str) -> bool {
    !level.starts_with("raw ") && level != TORN
}

/// Whether two columns are the same engine with other settings, or reached in another way.
fn same_engine(a: &str, b: &str) -> bool {
    let name = |level: &str| level.split(", ").next().map(str::to_owned);
    name(a) == name(b)
}

/// Whether two columns of a row measured the same: a client of a server has a round trip that one
/// in the same process has not.
fn is_comparable(measure: &str, a: &str, b: &str) -> bool {
    let in_process = |level: &str| IN_PROCESS.contains(&level);
    !measure.starts_with(CLIENT) || in_process(a) == in_process(b)
}

/// The other engines of a row that a cell is compared with.
fn rivals<'a>(cell: &Cell, row: &[&'a Cell]) -> Vec<&'a Cell> {
    let is_rival = |other: &&&Cell| {
        is_competitor(&other.level)
            && !same_engine(&cell.level, &other.level)
            && is_comparable(&cell.measure, &cell.level, &other.level)
    };
    row.iter().filter(is_rival).copied().collect()
}

/// How many times as long the other takes, with its interval. A lower bound has none.
fn ratio(cell: &Cell, other: &Cell) -> Option<(f64, Option<(f64, f64)>)> {
    let pairs = other.paired(cell);
    let bounded = cell.note.is_some() || other.note.is_some();
    Some((stats::paired_ratio(&pairs)?, stats::paired_interval(&pairs).filter(|_| !bounded)))
}

/// Whether the intervals tell a cell of a row from those of every other engine, as the best of
/// them.
pub(crate) fn is_best(cell: &Cell, row: &[&Cell]) -> bool {
    let rivals = rivals(cell, row);
    let beaten = |other: &&Cell| match ratio(cell, other) {
        // What was stopped takes longer than it says.
        Some((ratio, None)) => other.note.is_some() && ratio > 1.0,
        Some((_, Some((low, _)))) => low > 1.0,
        None => false,
    };
    cell.note.is_none()
        && is_competitor(&cell.level)
        && !rivals.is_empty()
        && rivals.iter().all(beaten)
}

/// How a row stands for an engine.
#[derive(Debug, PartialEq)]
enum RowStanding {
    Faster,
    Slower(String),
    Alike(String),
}

/// A ratio to another engine, its interval, and the engine's level.
type ComparedRatio<'r> = (f64, Option<(f64, f64)>, &'r str);

/// Of an engine's cells of a row (it may be there in this process and served) against each other
/// engine: slower when the interval of a ratio lies below 1 (that engine takes less time), faster
/// when all lie above, else alike. A lower bound counts by its figure; so does everything while
/// there are too few rounds for intervals.
fn standing(own: &[&Cell], row: &[&Cell]) -> Option<RowStanding> {
    let mut compared: Vec<ComparedRatio<'_>> = Vec::new();
    for cell in own {
        for other in rivals(cell, row) {
            // Where both of its cells can be compared the first counts.
            if compared.iter().all(|(.., level)| *level != other.level)
                && let Some((ratio, interval)) = ratio(cell, other)
            {
                compared.push((ratio, interval, other.level.as_str()));
            }
        }
    }
    compared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut alike = None;
    for (ratio, interval, level) in &compared {
        let (low, high) = interval.unwrap_or((*ratio, *ratio));
        let said = format!("{level} takes {ratio:.2} times as long");
        if high < 1.0 {
            return Some(RowStanding::Slower(said));
        }
        if low <= 1.0 {
            alike.get_or_insert(said);
        }
    }
    (!compared.is_empty()).then(|| alike.map_or(RowStanding::Faster, RowStanding::Alike))
}

/// The rows of a comparison as they stand for `baseline`.
pub(crate) fn meaning(study: &StudyResult, baseline: &str) -> String {
    let mut measures: Vec<&str> = Vec::new();
    for cell in &study.cells {
        if !measures.contains(&cell.measure.as_str()) {
            measures.push(&cell.measure);
        }
    }
    let (mut faster, mut slower, mut alike) = (0, Vec::new(), Vec::new());
    for measure in measures {
        let row: Vec<&Cell> = study.cells.iter().filter(|c| c.measure == measure).collect();
        let own = |level: &str| row.iter().copied().find(|c| c.level == level);
        let own: Vec<&Cell> = [baseline, SERVED].into_iter().filter_map(own).collect();
        let own: Vec<&Cell> = own.into_iter().filter(|c| same_engine(&c.level, baseline)).collect();
        match standing(&own, &row) {
            Some(RowStanding::Faster) => faster += 1,
            Some(RowStanding::Slower(said)) => slower.push(format!("{measure} ({said})")),
            Some(RowStanding::Alike(said)) => alike.push(format!("{measure} ({said})")),
            None => {}
        }
    }
    let rows = faster + slower.len() + alike.len();
    if rows == 0 {
        return format!("Nothing was measured both on {baseline} and on another engine.");
    }
    let mut text = format!(
        "Ratios are times {baseline}'s: above 1 the engine is slower than {baseline}. {baseline} is faster than every other engine in {faster} of {rows} rows"
    );
    if !slower.is_empty() {
        text += &format!("; slower in {}", slower.join(", "));
    }
    if !alike.is_empty() {
        text += &format!("; not told apart in {}", alike.join(", "));
    }
    if study.cells.iter().all(|c| c.ratio_ci95.is_none()) {
        text += "; by the figures alone, so few rounds have no interval";
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(rounds: usize, rows: &[(&str, &str, f64)]) -> StudyResult {
        let mut study = StudyResult::default();
        for round in 0..rounds {
            for (measure, level, value) in rows {
                // The noise of each is up in one round and down in the next, of the first the other
                // way round.
                let up = (round % 2 == 0) == (*level != "A");
                let noise = if up { 1.02 } else { 0.98 };
                study.record_in(round, "engine", level, measure, "s", value * noise);
            }
        }
        study.finish(&|_| Some(("engine", "A")));
        study
    }

    const ROWS: [(&str, &str, f64); 12] = [
        ("won", "A", 1.0),
        ("won", "B", 2.0),
        ("won", "C", 3.0),
        ("won", RAW, 0.1),
        ("lost", "A", 1.0),
        ("lost", "B", 0.8),
        ("lost", "C", 3.0),
        ("lost", TORN, 0.1),
        ("level", "A", 1.0),
        ("level", "B", 1.0),
        ("level", "C", 3.0),
        ("level", "A, served", 0.5),
    ];

    #[test]
    fn rows_are_judged_by_intervals() {
        let mut six = study(6, &ROWS);
        assert_eq!(
            meaning(&six, "A"),
            "Ratios are times A's: above 1 the engine is slower than A. A is faster than every other engine in 1 of 3 rows; \
             slower in lost (B takes 0.80 times as long); not told apart in level (B takes 1.00 times as long)."
        );
        let few = meaning(&study(3, &ROWS), "A");
        assert!(few.ends_with("; by the figures alone, so few rounds have no interval."), "{few}");
        six.cells.retain(|c| c.level == "A" || !is_competitor(&c.level));
        assert_eq!(meaning(&six, "A"), "Nothing was measured both on A and on another engine.");
    }

    fn best(study: &StudyResult, measure: &str) -> Vec<String> {
        let row: Vec<&Cell> = study.cells.iter().filter(|c| c.measure == measure).collect();
        row.iter().filter(|c| is_best(c, &row)).map(|c| c.level.clone()).collect()
    }

    #[test]
    fn only_what_is_told_from_every_other_engine_is_the_best() {
        let mut six = study(6, &ROWS);
        assert_eq!(best(&six, "won"), ["A"]);
        assert_eq!(best(&six, "lost"), ["B"]);
        assert_eq!(
            best(&six, "level"),
            ["A, served"],
            "the smallest of two that are not told apart is none"
        );
        six.cells.retain(|c| c.level != "A, served");
        assert!(best(&six, "level").is_empty());
        assert!(best(&study(5, &ROWS), "won").is_empty(), "too few rounds for an interval");
        for cell in six.cells.iter_mut().filter(|c| c.measure == "won" && c.level != "A") {
            cell.note = Some("stopped".into());
        }
        assert_eq!(best(&six, "won"), ["A"], "what was stopped takes longer");
    }

    #[test]
    fn a_client_of_a_server_is_compared_with_clients_of_servers() {
        let rows = [
            (CLIENT, "Ringwood", 1.0),
            (CLIENT, SERVED, 2.0),
            (CLIENT, "PostgreSQL", 1.5),
            (CLIENT, "SQLite", 3.0),
        ];
        let six = study(6, &rows);
        assert_eq!(best(&six, CLIENT), ["Ringwood", "PostgreSQL"], "each of its kind");
        let said = meaning(&six, "Ringwood");
        assert!(
            said.contains("slower in durable commits, one client (PostgreSQL takes 0.7"),
            "{said}"
        );
    }
}
