//! Rewrites of the logical plan. Each is a small function in a file of its own that takes a plan and gives an equivalent one;
//! [`rewrite`] runs them in order, before the planner chooses operators.
//! Guarantees: a rewrite keeps the columns that the plan offers and the rows that it gives (in any order, where nothing
//! orders them); after each one, debug builds check that every column that a node uses comes from below it.

mod in_list;
mod join_order;
mod like_range;
mod min_max;
mod or_factors;
mod or_implied;
mod rule;
mod unnest_scalar;
mod visit;

use crate::bind::Binder;
use crate::logical::Logical;
use rule::Rewrite;

/// The rewrites in their order: each may count on those before it.
static RULES: &[&dyn Rewrite] = &[
    &or_factors::OrFactors,
    &or_implied::OrImplied,
    &like_range::LikeRange,
    &min_max::MinMax,
    &unnest_scalar::UnnestScalar,
    &in_list::InList,
    &join_order::JoinOrder,
];

/// An equivalent plan that is better to plan.
pub fn rewrite(mut logical: Logical, binder: &mut Binder<'_>) -> Logical {
    let sound = cfg!(debug_assertions) && visit::missing_column(&logical).is_none();
    for rule in RULES {
        // Any plan will do: also one that a rewrite has not seen.
        if binder.any_plan.as_mut().is_some_and(|chance| chance.one_of(4) == 0) {
            continue;
        }
        logical = rule.apply(logical, binder);
        if sound {
            let missing = visit::missing_column(&logical);
            debug_assert!(missing.is_none(), "after {}: column {missing:?} comes from nowhere", rule.name());
        }
    }
    logical
}
