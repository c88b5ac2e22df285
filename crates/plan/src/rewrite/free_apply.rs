//! APPLY whose right side needs nothing of the left rows is a join without a condition: the right
//! side runs once and its rows are kept, instead of running for each left row.
//!
//! Left alone: a right side with another value for each left row (NEWID, NEXT VALUE FOR, a user's
//! function), and one of so many rows that to keep them would take more than to read them again. A
//! hint that allows no loops says nothing of APPLY.

use super::rule::{Pass, Rewrite};
use super::stable::is_stable;
use super::visit::with_inputs;
use crate::estimate;
use logical::tree::{JoinKind, Logical};

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "FreeApply", apply: node };

/// Most rows of a right side that are kept.
const MOST_KEPT: f64 = 100_000.0;

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Apply { outer, left, right, args }
            if args.is_empty()
                && pass.statement.join_methods.loops
                && estimate::rows(&right) <= MOST_KEPT
                && is_stable(&right, &pass.statement.subqueries) =>
        {
            pass.changed();
            let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
            Logical::Join { kind, left, right, on: Vec::new(), hint: None }
        }
        other => other,
    }
}
