//! The errors of the names of a statement that mean nothing, as the binder lists them.
//! Guarantee: the list is bounded.

use parking_lot::Mutex;
use types::SqlError;

/// So many errors of a batch are told.
pub const MOST_TOLD: usize = 100;

/// The errors of the names that mean nothing.
#[derive(Debug, Default)]
pub struct UnresolvedNames(Mutex<Vec<SqlError>>);

impl UnresolvedNames {
    /// Adds one.
    ///
    /// # Errors
    /// It itself, when there are [`MOST_TOLD`] already.
    pub(super) fn add(&self, error: SqlError) -> Result<(), SqlError> {
        let mut list = self.0.lock();
        if list.len() >= MOST_TOLD {
            return Err(error);
        }
        list.push(error);
        Ok(())
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets all but the first ones.
    pub(super) fn keep_first(&self, count: usize) {
        self.0.lock().truncate(count);
    }

    /// All of them, in the order in which they were met.
    pub fn take(&self) -> Vec<SqlError> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Whether an error is about the name of a column: unknown, ambiguous, or not one that may stand
/// where rows have been grouped.
pub fn is_of_a_name(error: &SqlError) -> bool {
    matches!(error.number, 207 | 209 | 4104 | 8120 | 8121 | 8127)
}
