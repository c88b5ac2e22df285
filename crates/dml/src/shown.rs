//! What is shown of a change: where its rows come from.

use plan::nodes::{Plan, ScanPlan};

/// Where the rows of a change come from.
pub enum Source<'p> {
    Constant,
    Plan(&'p Plan),
    Scan(&'p ScanPlan),
}

impl<'p> Source<'p> {
    /// The operators.
    pub fn plan(&self) -> Option<&'p Plan> {
        match self {
            Source::Plan(plan) => Some(plan),
            Source::Constant | Source::Scan(_) => None,
        }
    }

    /// Whether the rows are found by whole keys of unique indexes alone.
    pub fn reads_points(&self) -> bool {
        match self {
            Source::Constant => true,
            Source::Plan(plan) => plan.reads_points(),
            Source::Scan(scan) => scan.path.is_point(),
        }
    }
}
