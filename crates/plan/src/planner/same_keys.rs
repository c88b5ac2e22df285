//! Conditions that are the same for all rows of a group or of a window's partition, so that they
//! may be tested before the groups are made: on the keys alone, and on no more of a key than its
//! equality says. Keys that are equal may differ: in the case of letters and blanks at the end, by
//! zeros behind bytes, in the offset of a point in time.

use crate::never_fails::is_text;
use expr::{ColId, CompareExpr, Expr, Pred};
use logical::tree::Logical;
use logical::tree::sources::source;
use types::{Collation, DataType, Value};

/// Keys, each with the collation that it is compared under.
pub type Keys = [(ColId, Collation)];

/// Whether a condition on rows of a plan uses keys alone and is the same wherever these are equal.
pub fn is_of_keys(pred: &Pred, keys: &Keys, input: &Logical) -> bool {
    let mut used = Vec::new();
    pred.columns(&mut used);
    let of_keys = !used.is_empty() && used.iter().all(|id| keys.iter().any(|(key, _)| key == id));
    if !of_keys || pred.has_subquery() || pred.is_volatile() {
        return false;
    }
    let differing: Vec<(ColId, Collation)> =
        keys.iter().copied().filter(|(id, _)| used.contains(id) && !is_exact(*id, input)).collect();
    differing.is_empty() || is_same(pred, &differing)
}

/// Whether values of a column that are equal are the same. Of what is computed it is not known.
fn is_exact(id: ColId, input: &Logical) -> bool {
    let column = source(input, id).and_then(|get| Some(&get.table.columns[get.position(id)?]));
    column.is_some_and(|column| match column.ty {
        DataType::Float | DataType::Real | DataType::DateTimeOffset(_) => false,
        ty => ty.is_number() || ty.is_temporal() || ty == DataType::UniqueIdentifier,
    })
}

/// Whether a condition does nothing but compare these keys as they are compared with each other.
fn is_same(pred: &Pred, keys: &Keys) -> bool {
    match pred {
        Pred::Const(_) => true,
        Pred::Compare(c) | Pred::Distinct(c, _) => {
            let side = |e: &Expr| {
                is_free(e, keys) || is_key(e, c.collation, keys) || is_compared_value(e, c, keys)
            };
            side(&c.left) && side(&c.right)
        }
        Pred::And(list) | Pred::Or(list) => {
            stack::with_room(|| list.iter().all(|pred| is_same(pred, keys)))
        }
        Pred::Not(pred) => stack::with_room(|| is_same(pred, keys)),
        Pred::IsNull(e, _) => is_free(e, keys) || key_of(e).is_some(),
        Pred::InList(list) => {
            (is_free(&list.operand, keys) || is_key(&list.operand, list.collation, keys))
                && list.list.iter().all(|e| is_free(e, keys))
        }
        // Blanks at the end count for a pattern, unless it goes on with anything.
        Pred::Like(like) => {
            let any_end = like.compiled.as_ref().is_some_and(|pattern| {
                pattern.is_prefix_match() && !pattern.prefix().ends_with(' ')
            });
            any_end && is_key(&like.operand, like.collation, keys)
        }
        Pred::Exists(_) | Pred::Quantified(_) => false,
    }
}

/// Whether an expression has none of the keys in it.
fn is_free(e: &Expr, keys: &Keys) -> bool {
    let mut free = true;
    e.leaves(&mut |leaf| {
        free &= !matches!(leaf, Expr::Col(id) if keys.iter().any(|(key, _)| key == id))
    });
    free
}

/// The column that an expression is, be it in a longer text type.
fn key_of(e: &Expr) -> Option<ColId> {
    match e {
        Expr::Col(id) => Some(*id),
        Expr::Convert(c) if is_text(c) => key_of(&c.operand),
        _ => None,
    }
}

/// Whether an expression is one of the keys, compared as it is among its like.
fn is_key(e: &Expr, collation: Collation, keys: &Keys) -> bool {
    key_of(e).is_some_and(|id| keys.iter().any(|(key, of)| *key == id && *of == collation))
}

/// Whether a key, whose type is not known, is compared with a constant that is no text: a collation
/// is of no importance then.
fn is_compared_value(e: &Expr, c: &CompareExpr, keys: &Keys) -> bool {
    let plain = |e: &Expr| {
        e.as_const().is_some_and(|value| !matches!(value, Value::Str(_) | Value::Variant(_)))
    };
    let key = matches!(e, Expr::Col(id) if keys.iter().any(|(key, _)| key == id));
    key && (plain(&c.left) || plain(&c.right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::ast::CompareOp;

    fn compare(left: Expr, right: Value, collation: Collation) -> Pred {
        let right = Expr::Const(right);
        Pred::Compare(Box::new(CompareExpr { op: CompareOp::Equal, left, right, collation }))
    }

    #[test]
    fn a_text_is_compared_as_its_groups_are() {
        // The type of a column that comes from no table is not known.
        let (none, keys) = (Logical::One, [(1, Collation::DEFAULT)]);
        let of = |pred: &Pred| is_of_keys(pred, &keys, &none);
        let text = |collation| compare(Expr::Col(1), Value::str("a"), collation);
        assert!(of(&text(Collation::DEFAULT)));
        assert!(!of(&text(Collation::BIN2)), "groups do not tell letters of either case apart");
        assert!(
            of(&compare(Expr::Col(1), Value::Int(5), Collation::BIN2)),
            "a number has no collation"
        );
        assert!(!of(&compare(Expr::Col(2), Value::Int(5), Collation::DEFAULT)), "no key");
        let both = Pred::And(vec![text(Collation::DEFAULT), text(Collation::BIN2)]);
        assert!(!of(&both));
        assert!(of(&Pred::Not(Box::new(Pred::IsNull(Box::new(Expr::Col(1)), true)))));
    }
}
