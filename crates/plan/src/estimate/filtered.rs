//! What statistics of a part of a table's rows tell of conditions: the share of the part, and of
//! the values within it. Columns that depend on each other (a car's make and its model) are what
//! they are made for. Guarantee: statistics are asked only about conditions that keep no row
//! outside of their part; each condition counts once.

use catalog::defs::filter::{FilterTerm, FilterTest};
use expr::{ColId, Expr, Pred};
use smallvec::SmallVec;
use syntax::ast::CompareOp;
use types::{Collation, ops};

use super::constant::constant;
use super::share::{Known, Range, share, with_constant};
use crate::implied::implies;
use crate::statistics::{self, Filtered};
use logical::tree::sources::source;
use logical::tree::{Get, Logical};

/// Takes from conditions those of which filtered statistics tell how much they keep together, and
/// gives that share.
pub(super) fn taken(preds: &mut Vec<&Pred>, input: &Logical) -> Option<f64> {
    let mut tables: SmallVec<[&Get; 2]> = SmallVec::new();
    for get in preds.iter().filter_map(|pred| get_of(pred, input)) {
        if tables.iter().all(|known| known.first != get.first) {
            tables.push(get);
        }
    }
    tables.into_iter().find_map(|get| taken_of(get, preds, input))
}

/// As [`taken`], of the conditions on one table.
fn taken_of(get: &Get, preds: &mut Vec<&Pred>, input: &Logical) -> Option<f64> {
    let resolved: Vec<Pred> = preds.iter().map(|pred| resolved(pred, get)).collect();
    let all = statistics::filtered(&get.table);
    let explained = |one: &Filtered| explain(one, get, preds, &resolved);
    let (best, parts) = all
        .iter()
        .filter_map(|one| Some((one, explained(one)?)))
        .max_by_key(|(_, parts)| parts.len())?;
    let measured = statistics::of_part(&get.db, &get.table, best)?;
    let known = Known { get, at: best.column, measured };
    let share = together(&known, preds, &parts, input);
    let mut at = 0;
    preds.retain(|_| {
        at += 1;
        parts.iter().all(|(pred, _)| *pred != at - 1)
    });
    Some(share)
}

/// The table with filtered statistics that a condition is about.
fn get_of<'l>(pred: &Pred, input: &'l Logical) -> Option<&'l Get> {
    // One that compares columns neither is a test nor names a value.
    if matches!(pred, Pred::Compare(c) if with_constant(c).is_none()) {
        return None;
    }
    let mut found = None;
    pred.leaves(&mut |leaf| {
        if let (Expr::Col(id), None) = (leaf, found) {
            found = source(input, *id);
        }
    });
    found.filter(|get| statistics::has_filtered(&get.db, &get.table))
}

/// A condition with the values that variables have when the plan is made.
fn resolved(pred: &Pred, get: &Get) -> Pred {
    let mut pred = pred.clone();
    pred.leaves_mut(&mut |leaf| {
        if let Some(value) = constant(leaf, get) {
            *leaf = Expr::Const(value);
        }
    });
    if let Pred::Compare(c) = &mut pred {
        // A converted constant is one.
        for side in [&mut c.left, &mut c.right] {
            if let Some(value) = constant(side, get) {
                *side = Expr::Const(value);
            }
        }
    }
    pred
}

/// What a condition is to filtered statistics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It is one of the filter's tests.
    Test,
    /// It keeps less than a test.
    Narrower,
    /// It is about the column of the histogram.
    Value,
}

/// The conditions that statistics explain, by their places; `None` where the filter may leave out a
/// row that they keep.
fn explain(
    one: &Filtered,
    get: &Get,
    preds: &[&Pred],
    resolved: &[Pred],
) -> Option<Vec<(usize, Part)>> {
    let mut parts: Vec<(usize, Part)> = Vec::new();
    for term in &one.filter.terms {
        let id = get.first + term.column as ColId;
        let by = resolved.iter().position(|pred| implies(pred, id, term))?;
        if parts.iter().all(|(known, _)| *known != by) {
            let part = if is_test(&resolved[by], term) { Part::Test } else { Part::Narrower };
            parts.push((by, part));
        }
    }
    let column = get.first + one.column as ColId;
    for (at, pred) in preds.iter().enumerate() {
        let Pred::Compare(c) = pred else { continue };
        let of_value =
            with_constant(c).is_some_and(|(id, op, _)| id == column && op != CompareOp::NotEqual);
        if !of_value {
            continue;
        }
        match parts.iter_mut().find(|(known, _)| *known == at) {
            Some((_, Part::Test)) => {}
            Some((_, part)) => *part = Part::Value,
            None => parts.push((at, Part::Value)),
        }
    }
    Some(parts)
}

/// Whether a condition that implies a test is no more than that.
fn is_test(pred: &Pred, term: &FilterTerm) -> bool {
    match (pred, &term.test) {
        (Pred::IsNull(_, negated), test) => {
            *test == if *negated { FilterTest::IsNotNull } else { FilterTest::IsNull }
        }
        (Pred::Compare(c), FilterTest::Compare(op, wanted)) => {
            let (own, value) = match (&c.left, &c.right) {
                (_, Expr::Const(value)) => (c.op, value),
                (Expr::Const(value), _) => (expr::mirrored(c.op), value),
                _ => return false,
            };
            own == *op && is_equal(value, &wanted.value, term.collation)
        }
        (Pred::InList(list), FilterTest::In(wanted)) => list.list.len() == wanted.len(),
        _ => false,
    }
}

fn is_equal(a: &types::Value, b: &types::Value, collation: Collation) -> bool {
    if std::mem::discriminant(a) == std::mem::discriminant(b) {
        return ops::compare(a, b, collation) == Some(std::cmp::Ordering::Equal);
    }
    a.as_i64().is_some() && a.as_i64() == b.as_i64()
}

/// The share of the table's rows that the explained conditions keep together.
fn together(known: &Known<'_>, preds: &[&Pred], parts: &[(usize, Part)], input: &Logical) -> f64 {
    let measured = &known.measured;
    let part = (measured.rows / measured.unfiltered.max(1.0)).clamp(0.0, 1.0);
    let mut within = 1.0;
    let mut range: Option<Range> = None;
    for (at, kind) in parts {
        let pred = preds[*at];
        match (kind, pred) {
            (Part::Test, _) => {}
            (Part::Value, Pred::Compare(c)) => match known.range(c) {
                Some(next) => match &mut range {
                    Some(range) => range.narrow(&next),
                    None => range = Some(next),
                },
                None => within *= known.equal(c).unwrap_or(1.0),
            },
            // Of the rows of the part it keeps as many more as the part is smaller than the table.
            _ => within *= (share(pred, input) / part.max(f64::MIN_POSITIVE)).min(1.0),
        }
    }
    let least = 1.0 / measured.unfiltered.max(1.0);
    (part * within * range.map_or(1.0, |range| range.share())).clamp(least, 1.0)
}
