//! The cache of compiled batches as the instance knows it: the crate's upper half makes it, the
//! instance keeps it for as long as it lives.

use std::any::Any;
use std::sync::Arc;

use memory::MemoryAccount;

use super::Instance;

/// The cache of compiled batches, as far as the instance needs it. The crate's upper half makes it.
pub(crate) trait BatchTexts: Any + Send + Sync {
    /// Forgets everything.
    fn clear(&self);

    /// The text of a kept batch that `test` wants.
    fn find_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>>;

    /// Batches compiled since the start.
    fn compilations(&self) -> u64;

    /// Texts kept.
    fn kept(&self) -> usize;
}

impl Instance {
    /// The cache of compiled batches, made by `make` at the first call.
    pub(crate) fn batches_or(&self, make: fn(&Arc<MemoryAccount>) -> Arc<dyn BatchTexts>) -> &dyn BatchTexts {
        &**self.batches.get_or_init(|| make(self.memory()))
    }

    /// Forgets all compiled batches: DBCC FREEPROCCACHE, a database went or was renamed.
    pub fn forget_batches(&self) {
        if let Some(batches) = self.batches.get() {
            batches.clear();
        }
    }

    /// The text of a kept batch that `test` wants.
    pub fn find_batch_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>> {
        self.batches.get().and_then(|batches| batches.find_text(test))
    }

    /// Batches compiled since the start.
    pub fn compilations(&self) -> u64 {
        self.batches.get().map_or(0, |batches| batches.compilations())
    }

    /// Texts of batches that are kept compiled.
    pub fn kept_batches(&self) -> usize {
        self.batches.get().map_or(0, |batches| batches.kept())
    }
}
