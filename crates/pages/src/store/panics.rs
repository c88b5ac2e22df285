//! A panic between a record's append and its changes takes the database offline.

use super::Store;
use crate::error::PageError;

impl Store {
    /// Takes the store offline if the thread panics while this exists: to be held while pages
    /// change or are written.
    #[inline]
    pub(crate) fn fails_on_panic(&self, during: &'static str) -> FailsOnPanic<'_> {
        FailsOnPanic { store: self, during, before: std::thread::panicking() }
    }
}

/// See [`Store::fails_on_panic`].
pub(crate) struct FailsOnPanic<'a> {
    store: &'a Store,
    during: &'static str,
    /// The thread was panicking before, and tidies up.
    before: bool,
}

impl Drop for FailsOnPanic<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.before && std::thread::panicking() {
            self.fail();
        }
    }
}

impl FailsOnPanic<'_> {
    #[cold]
    fn fail(&self) {
        let cause = format!("a thread has panicked while {}", self.during);
        self.store.fail(&PageError::Offline { cause });
    }
}
