//! The tables whose rows have decided how a statement is planned.

use catalog::TableState;
use std::sync::Arc;

/// A table of which so much has changed that a plan may no longer be a good one when its count of
/// changed rows reaches `limit`, or when its statistics are others.
#[derive(Clone, Debug)]
pub struct WatchedTable {
    pub state: Arc<TableState>,
    pub limit: u64,
    /// How often its statistics had been renewed.
    pub renewals: u64,
}

impl WatchedTable {
    /// Whether the plan may still be a good one.
    #[inline]
    pub(crate) fn is_as_it_was(&self) -> bool {
        self.state.modified() < self.limit && self.state.statistics.renewals() == self.renewals
    }
}
