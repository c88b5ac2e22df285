//! The studies, as data: each file says what one published experiment varied, measured and found, and at which sizes it is
//! repeated here. Smaller scales keep the shape: rows, log and buffer pool shrink together.

mod data_files;
mod delayed_durability;
mod log_block_size;
mod log_growth;
mod vlf_count;

use crate::frame::{Scale, Study};

/// All studies at a scale, in the order in which `run all` takes them.
pub fn all(scale: Scale) -> Vec<Study> {
    vec![
        vlf_count::study(scale),
        data_files::study(scale),
        delayed_durability::study(scale),
        log_growth::study(scale),
        log_block_size::study(scale),
    ]
}

/// A size in KB as a person writes it.
fn size_name(kb: u64) -> String {
    if kb.is_multiple_of(1024) { format!("{} MB", kb / 1024) } else { format!("{kb} KB") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Compare, Published};
    use std::collections::HashSet;

    /// The cells that an arm's steps make, measures of several figures not counted.
    fn cells(study: &Study) -> HashSet<(&'static str, String, String)> {
        let mut cells = HashSet::new();
        for arm in &study.arms {
            for step in &arm.steps {
                if let Some(measure) = step.measure {
                    let level = step.level.map_or_else(|| arm.level.clone(), str::to_owned);
                    cells.insert((arm.factor, level, measure.to_owned()));
                }
            }
            if let Some((total, _)) = &study.total {
                cells.insert((arm.factor, arm.level.clone(), (*total).to_owned()));
            }
        }
        cells
    }

    #[test]
    fn published_figures_bounds_and_baselines_name_cells_that_exist() {
        for scale in [Scale::Tiny, Scale::Quick, Scale::Standard, Scale::Paper] {
            for study in all(scale) {
                let cells = cells(&study);
                let check = |c: &crate::frame::CellRef| {
                    let base = c.measure.split(", read-modify").next().unwrap_or_default().to_owned();
                    let name = (c.factor, c.level.clone(), base);
                    assert!(cells.contains(&name), "{} {}: {name:?}", study.name, scale.name());
                };
                study.published.iter().for_each(|Published { cell, .. }| check(cell));
                for claim in &study.claims {
                    match &claim.compare {
                        Compare::Value(a) => check(a),
                        Compare::Ratio(a, b) => {
                            check(a);
                            check(b);
                        }
                        Compare::ToBest(a, others) => {
                            check(a);
                            others.iter().for_each(check);
                        }
                    }
                }
                for arm in &study.arms {
                    let base = study.baselines.iter().find(|b| b.factor == arm.factor).unwrap();
                    assert!(cells.iter().any(|c| c.0 == base.to_factor && c.1 == base.to_level), "{base:?}");
                }
                let keys: HashSet<&str> = study.arms.iter().map(|a| a.config.key.as_str()).collect();
                assert_eq!(keys.len(), study.arms.len(), "keys of {} are unique", study.name);
            }
        }
    }
}
