//! The names of a statement that mean nothing: SQL Server tells all of them, not the first alone. A
//! statement that could not be compiled because of a name is bound once more; then such a name
//! stands for NULL, and its error is put on a list.
//! Guarantees: nothing that is bound so is ever run; the list is bounded.

use super::Binder;
use expr::{Expr, Typed};
use parking_lot::Mutex;
use types::{DataType, SqlError, Value};

/// So many errors of a batch are told.
pub const MOST_TOLD: usize = 100;

/// The errors of the names that mean nothing.
#[derive(Debug, Default)]
pub struct Unresolved(Mutex<Vec<SqlError>>);

impl Unresolved {
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

impl Binder<'_> {
    /// Goes on behind what a name cannot be while all such names are looked for.
    ///
    /// # Errors
    /// The given one, when they are not.
    pub fn note_unresolved(&self, error: SqlError) -> Result<(), SqlError> {
        self.unresolved(error).map(|_| ())
    }

    /// How many such names have been noted.
    pub(super) fn noted_unresolved(&self) -> usize {
        self.env.unresolved.map_or(0, |list| list.0.lock().len())
    }

    /// Forgets all but the first ones: what the others are in is bound again.
    pub(super) fn forget_unresolved(&self, noted: usize) {
        if let Some(list) = self.env.unresolved {
            list.0.lock().truncate(noted);
        }
    }

    /// What a column is that cannot be resolved: NULL while all such names are looked for.
    ///
    /// # Errors
    /// The given one, when they are not.
    pub(super) fn unresolved(&self, error: SqlError) -> Result<Typed, SqlError> {
        let Some(list) = self.env.unresolved.filter(|_| !self.trial && is_of_a_name(&error)) else {
            return Err(error);
        };
        let mut list = list.0.lock();
        if list.len() >= MOST_TOLD {
            return Err(error);
        }
        list.push(error);
        Ok(Typed::new(Expr::Const(Value::Null), DataType::Int, true))
    }
}
