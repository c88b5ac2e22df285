//! What an OR says of one table: from `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` follow `a.x = 1 OR a.x = 3` and
//! `b.y = 2 OR b.y = 4`, which each table's read can test before it is joined. The OR itself stays.

use super::rule::{Pass, Rewrite};
use super::visit::{is_volatile, with_inputs};
use crate::logical::{JoinKind, Logical};
use expr::{ColId, Pred};
use std::ops::RangeInclusive;

/// Branches of an OR beyond which it is left alone: what follows would be tested for each row.
const MOST_BRANCHES: usize = 16;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "OrImplied", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, mut preds } => {
            if add_implied(&mut preds, &tables(&input)) {
                pass.changed();
            }
            Logical::Filter { input, preds }
        }
        Logical::Join { kind: JoinKind::Inner, left, right, mut on, hint } => {
            let mut below = tables(&left);
            below.extend(tables(&right));
            if add_implied(&mut on, &below) {
                pass.changed();
            }
            Logical::Join { kind: JoinKind::Inner, left, right, on, hint }
        }
        other => other,
    }
}

/// The columns of each base table whose rows reach a node as they are.
fn tables(logical: &Logical) -> Vec<RangeInclusive<ColId>> {
    stack::with_room(|| match logical {
        Logical::Get(get) => vec![get.first..=get.locator()],
        Logical::Filter { input, .. } => tables(input),
        Logical::Join { kind: JoinKind::Inner, left, right, .. } => {
            let mut all = tables(left);
            all.extend(tables(right));
            all
        }
        _ => Vec::new(),
    })
}

/// Adds what follows; whether something did.
fn add_implied(preds: &mut Vec<Pred>, tables: &[RangeInclusive<ColId>]) -> bool {
    // With one table there is nothing to test earlier.
    if tables.len() < 2 {
        return false;
    }
    let mut more = Vec::new();
    for branches in preds.iter().filter_map(|pred| match pred {
        Pred::Or(branches) if branches.len() <= MOST_BRANCHES => Some(branches),
        _ => None,
    }) {
        more.extend(tables.iter().filter_map(|table| implied(branches, table)));
    }
    let found = !more.is_empty();
    preds.extend(more);
    found
}

/// The OR of what each branch says of a table; `None` when one says nothing of it.
fn implied(branches: &[Pred], table: &RangeInclusive<ColId>) -> Option<Pred> {
    let own = |pred: &Pred| {
        let mut used = Vec::new();
        pred.columns(&mut used);
        !used.is_empty()
            && used.iter().all(|id| table.contains(id))
            && !pred.has_subquery()
            && !is_volatile(pred)
    };
    let mut parts = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut list = Vec::new();
        branch.clone().into_conjuncts(&mut list);
        list.retain(own);
        parts.push(Pred::from_conjuncts(list)?);
    }
    Some(Pred::Or(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::{CompareExpr, Expr};
    use syntax::ast::CompareOp;
    use types::{Collation, Value};

    fn is(column: u32, value: i32) -> Pred {
        Pred::Compare(Box::new(CompareExpr {
            op: CompareOp::Equal,
            left: Expr::Col(column),
            right: Expr::Const(Value::Int(value)),
            collation: Collation::DEFAULT,
        }))
    }

    #[test]
    fn each_table_gets_its_part() {
        let or = Pred::Or(vec![
            Pred::And(vec![is(1, 1), is(11, 2)]),
            Pred::And(vec![is(1, 3), is(2, 5), is(11, 4)]),
        ]);
        let mut preds = vec![or.clone()];
        add_implied(&mut preds, &[0..=9, 10..=19, 20..=29]);
        let shown: Vec<String> = preds[1..].iter().map(|p| format!("{p:?}")).collect();
        let first = Pred::Or(vec![is(1, 1), Pred::And(vec![is(1, 3), is(2, 5)])]);
        let second = Pred::Or(vec![is(11, 2), is(11, 4)]);
        assert_eq!(shown, [format!("{first:?}"), format!("{second:?}")]);
        // A branch that says nothing of a table takes every row of it.
        let mut preds = vec![Pred::Or(vec![is(1, 1), is(11, 2)])];
        add_implied(&mut preds, &[0..=9, 10..=19]);
        assert_eq!(preds.len(), 1);
    }
}
