//! The cache of compiled batches as a part of the instance.

use std::sync::Arc;

use super::InstanceCore;
use programs::cache::BatchCache;

impl InstanceCore {
    /// The cache of compiled batches.
    #[inline]
    pub fn batches(&self) -> &BatchCache {
        &self.batches
    }

    /// Forgets all compiled batches: DBCC FREEPROCCACHE, a database went or was renamed.
    pub fn forget_batches(&self) {
        self.batches.clear();
    }

    /// The text of a kept batch that `test` wants.
    pub fn find_batch_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>> {
        self.batches.find_text(test)
    }

    /// Batches compiled since the start.
    pub fn compilations(&self) -> u64 {
        self.batches.compilations()
    }

    /// Texts of batches that are kept compiled.
    pub fn kept_batches(&self) -> usize {
        self.batches.kept()
    }
}
