//! Rewrites of the logical plan. Each is a small function in a file of its own that takes a plan
//! and gives an equivalent one; [`rewrite`] runs them stage by stage, before the planner chooses
//! operators. Guarantees: a rewrite keeps the columns that the plan offers and the rows that it
//! gives (in any order, where nothing orders them); after each one, debug builds check that every
//! column that a node uses comes from below it. Each can be left out. A cancel is noticed before
//! each one and while joins are ordered.

mod equal_constant;
mod equality_list;
mod free_apply;
mod in_list;
mod in_query;
mod join_order;
mod like_range;
mod min_max;
mod null_rejection;
mod or_factors;
mod or_implied;
mod outer_join;
mod rule;
pub(crate) mod stable;
mod unnest_scalar;
pub(crate) mod visit;

use crate::rule_set::RuleSet;
use crate::statement::Statement;
use logical::tree::Logical;
use rule::{Pass, Rewrite};
use syntax::ast::{OptionItem, OptionValue};
use types::{SqlError, msg};

/// Rewrites that run one after another, again and again while one of them changes something.
struct Stage {
    /// So often at most.
    rounds: usize,
    rules: &'static [&'static Rewrite],
}

/// The rewrites in their order: each may count on those before it.
static STAGES: &[Stage] = &[
    // A common term may be an OR with common terms of its own.
    Stage { rounds: 8, rules: &[&or_factors::RULE] },
    // What these add they would add again.
    Stage {
        rounds: 1,
        rules: &[
            &equality_list::RULE,
            // What it makes of OUTER APPLY may be an inner join.
            &free_apply::RULE,
            &outer_join::RULE,
            // By then as many joins are inner ones as will be.
            &equal_constant::RULE,
            &or_implied::RULE,
            &like_range::RULE,
            &min_max::RULE,
            &unnest_scalar::RULE,
            &in_list::RULE,
            &in_query::RULE,
        ],
    },
    // The order wants all relations and conditions that there will be.
    Stage { rounds: 1, rules: &[&join_order::RULE] },
];

/// All rewrites; their places are their numbers.
fn rules() -> impl Iterator<Item = &'static Rewrite> {
    STAGES.iter().flat_map(|stage| stage.rules.iter().copied())
}

/// Names of the rewrites, by their numbers.
pub fn names() -> impl Iterator<Item = &'static str> {
    rules().map(|rule| rule.name)
}

/// The rewrites that OPTION (QUERYRULEOFF name) leaves out.
///
/// Error: 10715 no such rewrite.
pub(crate) fn left_out(options: &[OptionItem]) -> Result<RuleSet, SqlError> {
    let mut set = RuleSet::default();
    for option in options.iter().filter(|option| option.name == "QUERYRULEOFF") {
        let OptionValue::Word(word) = &option.value else {
            return Err(catalog::errors::syntax_near(&option.name));
        };
        let found = names().position(|name| name.eq_ignore_ascii_case(word));
        let unknown = || SqlError::of(msg::NOT_A_HINT, [&word]);
        set.add(found.ok_or_else(unknown)?);
    }
    Ok(set)
}

/// An equivalent plan that is better to plan.
///
/// Error: 3617 the session was told to stop.
pub fn rewrite(mut logical: Logical, statement: &mut Statement<'_>) -> Result<Logical, SqlError> {
    // The check looks at each column of each node again.
    let sound =
        cfg!(debug_assertions) && statement.is_small() && visit::missing_column(&logical).is_none();
    let mut first = 0;
    for stage in STAGES {
        for _ in 0..stage.rounds {
            let mut changed = false;
            for (number, rule) in (first..).zip(stage.rules) {
                statement.check_cancel()?;
                if is_left_out(number, statement) {
                    continue;
                }
                let mut pass = Pass::new(statement);
                logical = (rule.apply)(logical, &mut pass);
                let changes = pass.changes();
                if changes > 0 {
                    statement.applied.add(number, changes);
                    changed = true;
                }
                if sound {
                    let missing = visit::missing_column(&logical);
                    debug_assert!(
                        missing.is_none(),
                        "after {}: column {missing:?} comes from nowhere",
                        rule.name
                    );
                }
            }
            if !changed {
                break;
            }
        }
        first += stage.rules.len();
    }
    Ok(logical)
}

fn is_left_out(number: usize, statement: &mut Statement<'_>) -> bool {
    // Any plan will do: also one that a rewrite has not seen.
    let by_chance = statement.any_plan.as_mut().is_some_and(|chance| chance.one_of(4) == 0);
    by_chance || statement.rules_off.has(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_words() {
        let all: Vec<&str> = names().collect();
        assert!(all.len() <= RuleSet::MOST);
        for (at, name) in all.iter().enumerate() {
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
            assert!(all[..at].iter().all(|other| !other.eq_ignore_ascii_case(name)), "{name}");
        }
    }
}
