//! The studies, as data: each file says what one published experiment varied, measured and found,
//! and at which sizes it is repeated here. Smaller scales keep the shape: rows, log and buffer pool
//! shrink together.

mod data_files;
mod delayed_durability;
mod log_block_size;
mod log_growth;
mod vlf_count;

use crate::study::{Scale, Study};

/// Least seconds of a measured step at quick scale and above; shorter ones are repeated within the
/// run.
const LEAST: f64 = 0.3;

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
    use crate::study::{ArmDevice, Compare, PublishedFigure};
    use std::collections::{BTreeMap, HashSet};

    /// The cells that an arm's steps make, measures of several figures not counted.
    fn cells(study: &Study) -> HashSet<(&'static str, String, String)> {
        let mut cells = HashSet::new();
        for arm in &study.arms {
            for step in &arm.steps {
                let Some(measure) = step.measure.filter(|_| !step.only_in_total) else { continue };
                let level = step.level.map_or_else(|| arm.level.clone(), str::to_owned);
                if step.work == targets::work::Work::RawWrites {
                    let rate = format!("{measure}, {}", crate::raw::RATE);
                    cells.insert((arm.factor, level.clone(), rate));
                }
                let counts = step.counts.iter().map(|c| format!("{measure}, {}", c.name()));
                for name in counts.chain([measure.to_owned()]) {
                    if let Some(table) = &study.normalised
                        && arm.factor == table.factor
                        && table.measures.contains(&name.as_str())
                    {
                        cells.insert((table.as_factor, level.clone(), name.clone()));
                    }
                    cells.insert((arm.factor, level.clone(), name));
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
                let check = |c: &crate::study::CellRef| {
                    let name = (c.factor, c.level.clone(), c.measure.clone());
                    assert!(cells.contains(&name), "{} {}: {name:?}", study.name, scale.name());
                };
                study.published.iter().for_each(|PublishedFigure { cell, .. }| check(cell));
                for claim in &study.claims {
                    match &claim.compare {
                        Compare::Value(a) | Compare::Every(a) => check(a),
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
                for needed in &study.checks {
                    check(&needed.cell);
                    check(&needed.other);
                }
                for wait in &study.published_waits {
                    assert!(
                        study.arms.iter().any(|a| a.factor == wait.factor && a.level == wait.level),
                        "{wait:?}"
                    );
                }
                // Devices that arms have to themselves are among those that the study runs on, by
                // themselves or when asked.
                for arm in &study.arms {
                    if let ArmDevice::Own(device, _) = arm.on {
                        assert!(study.models.contains(&device), "{}: {device}", study.name);
                    }
                }
                for device in study.models.iter().chain(study.claims.iter().flat_map(|c| c.devices))
                {
                    assert!(
                        targets::device::Device::named(device, &BTreeMap::new()).is_ok(),
                        "{}: {device}",
                        study.name
                    );
                }
                for arm in &study.arms {
                    let base = study.baselines.iter().find(|b| b.factor == arm.factor).unwrap();
                    assert!(
                        cells.iter().any(|c| c.0 == base.to_factor && c.1 == base.to_level),
                        "{base:?}"
                    );
                }
                let keys: HashSet<&str> =
                    study.arms.iter().map(|a| a.config.key.as_str()).collect();
                assert_eq!(keys.len(), study.arms.len(), "keys of {} are unique", study.name);
            }
        }
    }
}
