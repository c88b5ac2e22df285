//! MIN and MAX of a column that an index begins with, or has behind columns of which the conditions
//! name one value: its first or last entry that satisfies the conditions instead of all rows.
//! `SELECT MAX(x) FROM t WHERE p` becomes the maximum of `SELECT TOP (1) x FROM t WHERE p AND x IS
//! NOT NULL ORDER BY x DESC`, which the order of the index answers.
//!
//! Left alone: several aggregates (each would want its own order), conditions that keep so few rows
//! that they are found otherwise, and tables whose rows are locked one by one while they are read,
//! as a row may change once it has been passed. Locks that stay say as much of the rows beyond the
//! first entry as of all: none that would be it can change or come. U and X without range locks do
//! not: who has waited for the last row has passed by what came behind it meanwhile, and two who
//! number rows by it would take one number. There the row that was found and locked is looked for
//! once more, until it is the same (`RowLocks::first_again`). Along an index the row behind an
//! entry is locked first and the entry then, and what is given is what both say under their locks,
//! so the first row found is the first entry's. That is done where no condition has a subquery: the
//! read does not know then which row is the first that is wanted.

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::access_path::{cost_past, fixed_before, read_cost, with_conditions};
use crate::cost::LOOKUP;
use crate::estimate;
use crate::statistics::table_rows;
use catalog::IndexDef;
use expr::aggregate::{AggKind, Aggregate};
use expr::{ColId, Expr, Pred};
use logical::hints::RowLocks;
use logical::order::SortKey;
use logical::tree::input::Input;
use logical::tree::{Logical, TopSpec};
use std::sync::Arc;
use txn::locks::LockMode;
use types::Value;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "MinMax", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Aggregate { input, keys, aggregates, scalar: true, totals } if keys.is_empty() => {
            let input = match aggregates.as_slice() {
                [one] => first_or_last(input.into_inner(), one, pass),
                _ => input.into_inner(),
            };
            Logical::Aggregate { input: Input::new(input), keys, aggregates, scalar: true, totals }
        }
        other => other,
    }
}

/// The rows that decide the aggregate: one, where an index has it.
fn first_or_last(input: Logical, aggregate: &Aggregate, pass: &mut Pass<'_, '_>) -> Logical {
    let descending = match aggregate.kind {
        AggKind::Min => false,
        AggKind::Max => true,
        _ => return input,
    };
    let Some(Expr::Col(id)) = aggregate.arg else { return input };
    let Some(get) = estimate::base(&input) else { return input };
    let Some(at) = get.position(id) else { return input };
    let again = match get.locks {
        Some(locks) if says_of_all(locks) => false,
        // Each row is locked for a moment.
        Some(locks) if !locks.hold => return input,
        Some(_) => true,
        None => false,
    };
    if again && is_tested_above(&input) {
        return input;
    }
    if !is_worth_it(&input, id, again) {
        return input;
    }
    pass.changed();
    let column = &get.table.columns[at];
    let key = SortKey { expr: Expr::Col(id), descending, collation: column.collation };
    let preds = if column.nullable {
        vec![Pred::IsNull(Box::new(Expr::Col(id)), true)]
    } else {
        Vec::new()
    };
    let input = if again { with_first_again(input) } else { input };
    let sorted = Logical::Sort { input: Input::new(input.filtered(preds)), keys: vec![key] };
    let top = TopSpec { count: Some(Expr::Const(Value::BigInt(1))), ..TopSpec::default() };
    Logical::Top { input: Input::new(sorted), top }
}

/// The table below filters, whose first row is looked for again when it is locked.
fn with_first_again(input: Logical) -> Logical {
    match input {
        Logical::Filter { input, preds } => {
            let input = stack::with_room(|| with_first_again(input.into_inner()));
            Logical::Filter { input: Input::new(input), preds }
        }
        Logical::Get(get) => {
            let mut get = Arc::unwrap_or_clone(get);
            if let Some(locks) = &mut get.locks {
                locks.first_again = true;
            }
            Logical::Get(Arc::new(get))
        }
        other => other,
    }
}

/// Whether a condition is tested above the read, which knows the first row then but not the first
/// that is wanted.
fn is_tested_above(input: &Logical) -> bool {
    with_conditions(input, &[]).is_none_or(|(_, preds)| preds.iter().any(Pred::has_subquery))
}

/// Whether locks on the first entry, and on what lies beyond it, serve as those on all rows do.
fn says_of_all(locks: RowLocks) -> bool {
    locks.hold && (locks.range || locks.read_past || locks.mode == LockMode::S)
}

/// A scan in one direction that ends early against one of all rows: how much less it has to be. The
/// rows that are wanted may lie together, at the other end.
const DOUBT: f64 = 1.5;

/// Whether a condition asks for no value of a row around the query.
fn is_free(pred: &Pred) -> bool {
    let mut free = true;
    pred.leaves(&mut |leaf| free &= !matches!(leaf, Expr::Param(_)));
    free
}

/// Whether an index has the column behind columns of which the conditions name one value, and the
/// entry is among the first few of that range: the other conditions keep a good part of it. Where
/// they keep little, but no index finds the rows, the entry is still to be expected before all
/// others that are wanted: of three that lie anywhere the first one in the first quarter. Where the
/// column is one that is passed over, as it has few values, these are visited in order anyhow, and
/// the first that has the rows is the last that is wanted, but not `again`, where the first row is
/// looked for once more.
fn is_worth_it(input: &Logical, id: ColId, again: bool) -> bool {
    let Some((get, preds)) = with_conditions(input, &[]) else { return false };
    let Some(at) = get.position(id) else { return false };
    let table = Logical::Get(Arc::new(get.clone()));
    let kept = estimate::kept(&preds, &table);
    let total = table_rows(&get.table);
    // What depends on rows around it is better computed for all of them together.
    let may_pass = !again && preds.iter().all(is_free);
    let worth = |index: &Arc<IndexDef>| {
        let range = fixed_before(get, &preds, index, at)?;
        let all = if range.is_empty() { 1.0 } else { estimate::kept(range, &table) };
        let each = if index.index_id == 1 { 1.0 } else { LOOKUP };
        let read = total * all / (total * kept + 1.0) * each;
        if kept * 100.0 >= all {
            return Some(true);
        }
        let least = read_cost(get, &preds);
        let is_passed = || cost_past(get, &preds, index, at).is_some_and(|cost| cost < least);
        Some(read * DOUBT < least || (may_pass && is_passed()))
    };
    get.table.all_indexes().filter_map(worth).any(|worth| worth)
}
