//! Space set aside before it is logged: the first extent of a unit that is to be made. A process
//! that ends in between leaves nothing behind.

use super::ExtentRun;
use crate::error::PageError;
use crate::id::{ExtentId, PageId};
use crate::store::Store;

/// The first extent of a unit that is to be made; free again when dropped before
/// [`Store::make_unit`].
pub struct ReservedUnit<'a> {
    store: &'a Store,
    filegroup: u16,
    run: Option<ExtentRun>,
}

impl ReservedUnit<'_> {
    pub(super) fn run(&self) -> Option<ExtentRun> {
        self.run
    }

    pub(super) fn filegroup(&self) -> u16 {
        self.filegroup
    }

    /// The record that makes the unit has been appended.
    pub(super) fn keep(mut self) {
        self.run = None;
    }

    /// The unit's first IAM page, once it is made.
    #[must_use]
    pub fn first_iam(&self) -> PageId {
        self.run
            .map_or(PageId::NONE, |run| ExtentId { file: run.file, extent: run.first }.first_page())
    }
}

impl std::fmt::Debug for ReservedUnit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReservedUnit").field("first_iam", &self.first_iam()).finish_non_exhaustive()
    }
}

impl Drop for ReservedUnit<'_> {
    fn drop(&mut self) {
        if let Some(run) = self.run {
            self.store.put_extents(run);
        }
    }
}

impl Store {
    /// Sets the first extent of a unit aside, so that its place can be noted before the unit is
    /// there.
    ///
    /// # Errors
    /// [`PageError::FilegroupFull`].
    pub fn reserve_unit(&self, filegroup: u16) -> Result<ReservedUnit<'_>, PageError> {
        Ok(ReservedUnit { store: self, filegroup, run: Some(self.take_extents(filegroup, 1)?) })
    }
}
