//! Filtered indexes: whether the conditions on a table keep only rows that an index has. Guarantee:
//! an index that is said to be usable has every row that satisfies all conditions, whatever
//! parameters and variables are.

use crate::implied::implies;
use catalog::IndexDef;
use catalog::defs::filter::FilterTest;
use expr::{ColId, Pred};
use logical::tree::Get;

/// Whether a table may be read by an index under a conjunction; `compared` are columns that are
/// compared besides, so that they are not NULL in any row that is wanted.
pub fn is_usable(get: &Get, index: &IndexDef, preds: &[Pred], compared: &[usize]) -> bool {
    if index.options.disabled {
        return false;
    }
    let Some(filter) = &index.filter else { return true };
    filter.terms.iter().all(|term| {
        let id = get.first + term.column as ColId;
        let known = matches!(term.test, FilterTest::IsNotNull) && compared.contains(&term.column);
        known || preds.iter().any(|pred| implies(pred, id, term))
    })
}
