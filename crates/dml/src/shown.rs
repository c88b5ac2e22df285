//! What is shown of a change: where its rows come from.

use plan::nodes::{Plan, ScanPlan};

/// Where the rows of a change come from.
pub enum ChangeSource<'p> {
    Constant,
    Plan(&'p Plan),
    Scan(&'p ScanPlan),
}

impl<'p> ChangeSource<'p> {
    /// The operators.
    pub fn plan(&self) -> Option<&'p Plan> {
        match self {
            ChangeSource::Plan(plan) => Some(plan),
            ChangeSource::Constant | ChangeSource::Scan(_) => None,
        }
    }

    /// Whether the rows are found by whole keys of unique indexes alone.
    pub fn reads_points(&self) -> bool {
        match self {
            ChangeSource::Constant => true,
            ChangeSource::Plan(plan) => plan.reads_points(),
            ChangeSource::Scan(scan) => scan.path.is_point(),
        }
    }
}
