//! A statement that could not be compiled because of a name is bound once more, as SQL Server tells
//! all such names, not the first alone: then each stands for NULL, and its error is put on a list.
//! Guarantee: nothing that is bound so is ever run.

use super::Binder;
use super::unresolved_names::{UnresolvedNames, is_of_a_name};
use expr::{Expr, Typed};
use types::{DataType, SqlError, Value};

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
        self.env.unresolved.map_or(0, UnresolvedNames::count)
    }

    /// Forgets all but the first ones: what the others are in is bound again.
    pub(super) fn forget_unresolved(&self, noted: usize) {
        if let Some(list) = self.env.unresolved {
            list.keep_first(noted);
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
        list.add(error)?;
        Ok(Typed::new(Expr::Const(Value::Null), DataType::Int, true))
    }
}
