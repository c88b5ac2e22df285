//! What a comparison of engines means: in which rows one of them is faster than every other, slower than one, or cannot be told
//! apart, by the intervals of the ratios.

use crate::results::{Cell, StudyResult};

/// How a row stands for the engine that the others are compared with.
#[derive(Debug, PartialEq)]
enum Standing {
    Faster,
    Slower(String),
    Alike(String),
}

/// Against each other engine: slower when the interval of a ratio lies below 1 (that engine takes less time), faster when all
/// lie above, else alike. A lower bound counts by its figure; so does everything while there are too few rounds for intervals.
fn standing(others: &[&Cell]) -> Option<Standing> {
    let mut alike = None;
    for cell in others {
        let ratio = cell.ratio_to_baseline?;
        let [low, high] = cell.ratio_ci95.unwrap_or([ratio, ratio]);
        let said = format!("{} takes {ratio:.2} times as long", cell.level);
        if high < 1.0 {
            return Some(Standing::Slower(said));
        }
        if low <= 1.0 {
            alike.get_or_insert(said);
        }
    }
    (!others.is_empty()).then(|| alike.map_or(Standing::Faster, Standing::Alike))
}

/// The rows of a comparison whose ratios refer to `baseline`; cells of `floor` are no engine's.
pub(super) fn meaning(study: &StudyResult, baseline: &str, floor: &str) -> String {
    let mut measures: Vec<&str> = Vec::new();
    for cell in &study.cells {
        if !measures.contains(&cell.measure.as_str()) {
            measures.push(&cell.measure);
        }
    }
    let (mut faster, mut slower, mut alike) = (0, Vec::new(), Vec::new());
    for measure in measures {
        let mut others: Vec<&Cell> = study
            .cells
            .iter()
            .filter(|c| c.measure == measure && c.level != baseline && c.level != floor)
            .filter(|c| c.ratio_to_baseline.is_some())
            .collect();
        others.sort_by(|a, b| {
            a.ratio_to_baseline.partial_cmp(&b.ratio_to_baseline).unwrap_or(std::cmp::Ordering::Equal)
        });
        match standing(&others) {
            Some(Standing::Faster) => faster += 1,
            Some(Standing::Slower(said)) => slower.push(format!("{measure} ({said})")),
            Some(Standing::Alike(said)) => alike.push(format!("{measure} ({said})")),
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

    #[test]
    fn rows_are_judged_by_intervals() {
        let mut study = StudyResult::default();
        let rows = [("won", 2.0), ("lost", 0.8), ("level", 1.0)];
        for round in 0..6 {
            let noise = if round % 2 == 0 { 0.97 } else { 1.03 };
            for (measure, ratio) in rows {
                study.record_in(round, "engine", "A", measure, "s", 1.0);
                study.record_in(round, "engine", "B", measure, "s", ratio * noise);
                study.record_in(round, "engine", "C", measure, "s", 3.0);
                study.record_in(round, "engine", "floor", measure, "s", 0.1);
            }
        }
        study.finish(&|_| Some(("engine", "A")));
        assert_eq!(
            meaning(&study, "A", "floor"),
            "Ratios are times A's: above 1 the engine is slower than A. A is faster than every other engine in 1 of 3 rows; \
             slower in lost (B takes 0.80 times as long); not told apart in level (B takes 1.00 times as long)."
        );
        study.cells.iter_mut().for_each(|c| c.ratio_ci95 = None);
        assert!(
            meaning(&study, "A", "floor")
                .ends_with("; by the figures alone, so few rounds have no interval.")
        );
        study.cells.retain(|c| c.level == "A" || c.level == "floor");
        assert_eq!(meaning(&study, "A", "floor"), "Nothing was measured both on A and on another engine.");
    }
}
