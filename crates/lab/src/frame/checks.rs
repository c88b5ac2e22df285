//! Conditions without which a study has measured nothing, looked at after each round.

use super::journal::RunRecord;
use crate::study::{CellRef, Check};

/// What is wrong with the runs of a round; nothing where all conditions are kept. Cells that were
/// not measured are no matter.
pub(super) fn broken(checks: &[Check], round: &[&RunRecord]) -> Option<String> {
    let value = |cell: &CellRef| {
        let of_it = round.iter().filter(|r| r.factor == cell.factor);
        of_it.flat_map(|r| &r.measured).find_map(|m| {
            (m.level == cell.level && m.figure.measure == cell.measure).then_some(m.figure.value)
        })
    };
    checks.iter().find_map(|Check { cell, times, other, otherwise }| {
        let (here, there) = value(cell).zip(value(other))?;
        (here < times * there.max(1.0)).then(|| {
            format!(
                "{}: {here} with {}, {there} with {}, which is not {times} times as many: {otherwise}",
                cell.measure, cell.level, other.level
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::journal::MeasuredFigure;
    use crate::study::Scale;
    use targets::work::Figure;

    /// A run of vlf-count in which each step changed VLF so often.
    fn run(level: &str, changes: f64) -> RunRecord {
        let measured = ["insert", "update", "delete"].map(|measure| MeasuredFigure {
            level: level.into(),
            figure: Figure::named(&format!("{measure}, VLF changes"), "changes", changes),
            ..MeasuredFigure::default()
        });
        RunRecord {
            factor: "VLFs".into(),
            level: level.into(),
            measured: measured.into(),
            ..RunRecord::default()
        }
    }

    #[test]
    fn vlf_count_fails_where_its_steps_did_not_run_in_the_small_vlfs() {
        let study = crate::studies::all(Scale::Quick).remove(0);
        assert_eq!((study.name, study.checks.len()), ("vlf-count", 3));
        let verdict =
            |many: f64, few: f64| broken(&study.checks, &[&run("16", few), &run("20000", many)]);
        assert_eq!(verdict(20.0, 0.0), None);
        assert_eq!(verdict(60.0, 3.0), None);
        // In the large half of the log.
        let text = verdict(1.0, 1.0).unwrap();
        assert!(text.contains("insert, VLF changes: 1 with 20000, 1 with 16"), "{text}");
        assert!(text.contains("did not run in the small VLFs"), "{text}");
        assert!(verdict(19.9, 0.0).is_some() && verdict(59.0, 3.0).is_some());
        assert_eq!(
            broken(&study.checks, &[&run("16", 1.0)]),
            None,
            "the other level was not measured"
        );
    }
}
