//! What a rewrite is.

use crate::bind::Binder;
use crate::logical::Logical;

/// A rewrite of whole plans.
pub trait Rewrite: Sync {
    /// For messages.
    fn name(&self) -> &'static str;

    /// An equivalent plan. The binder gives new columns and knows the statement's subqueries.
    fn apply(&self, logical: Logical, binder: &mut Binder<'_>) -> Logical;
}
