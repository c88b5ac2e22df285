//! What an OR says of one table: from `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` follow `a.x
//! = 1 OR a.x = 3` and `b.y = 2 OR b.y = 4`, which each table's read can test before it is joined.
//! The OR itself stays.

use super::rule::{Rewrite, RewritePass};
use super::visit::with_inputs;
use expr::{ColId, Pred};
use logical::tree::{JoinKind, Logical};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Branches of an OR beyond which it is left alone: what follows would be tested for each row.
const MOST_BRANCHES: usize = 16;

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "OrImplied", apply: node };

fn node(logical: Logical, pass: &mut RewritePass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, mut preds } => {
            if preds.iter().any(is_candidate) && add_implied(&mut preds, &tables(&[&input]), pass) {
                pass.changed();
            }
            Logical::Filter { input, preds }
        }
        Logical::Join { kind: JoinKind::Inner, left, right, mut on, hint } => {
            if on.iter().any(is_candidate) && add_implied(&mut on, &tables(&[&left, &right]), pass)
            {
                pass.changed();
            }
            Logical::Join { kind: JoinKind::Inner, left, right, on, hint }
        }
        other => other,
    }
}

/// An OR of which something may follow.
fn is_candidate(pred: &Pred) -> bool {
    matches!(pred, Pred::Or(branches) if branches.len() <= MOST_BRANCHES)
}

/// The columns of each base table whose rows reach one of the nodes as they are, in the order of
/// their ids.
fn tables(nodes: &[&Logical]) -> Vec<RangeInclusive<ColId>> {
    let mut all = Vec::new();
    nodes.iter().for_each(|node| add_tables(node, &mut all));
    all.sort_unstable_by_key(|table| *table.start());
    all
}

fn add_tables(logical: &Logical, to: &mut Vec<RangeInclusive<ColId>>) {
    stack::with_room(|| match logical {
        Logical::Get(get) => to.push(get.first..=get.locator()),
        Logical::Filter { input, .. } => add_tables(input, to),
        Logical::Join { kind: JoinKind::Inner, left, right, .. } => {
            add_tables(left, to);
            add_tables(right, to);
        }
        _ => {}
    })
}

/// Adds what follows; whether something did.
fn add_implied(
    preds: &mut Vec<Pred>,
    tables: &[RangeInclusive<ColId>],
    pass: &RewritePass<'_, '_>,
) -> bool {
    // With one table there is nothing to test earlier.
    if tables.len() < 2 {
        return false;
    }
    let mut more = Vec::new();
    for branches in preds.iter().filter(|pred| is_candidate(pred)).filter_map(|pred| match pred {
        Pred::Or(branches) => Some(branches),
        _ => None,
    }) {
        if pass.is_over() {
            break;
        }
        more.extend(implied(branches, tables));
    }
    let found = !more.is_empty();
    preds.extend(more);
    found
}

/// The ORs of what each branch says of a table, for the tables of which every one says something.
fn implied(branches: &[Pred], tables: &[RangeInclusive<ColId>]) -> Vec<Pred> {
    let mut all: BTreeMap<usize, Vec<Pred>> = BTreeMap::new();
    for (number, branch) in branches.iter().enumerate() {
        let mut list = Vec::new();
        branch.clone().into_conjuncts(&mut list);
        let mut own: BTreeMap<usize, Vec<Pred>> = BTreeMap::new();
        for pred in list {
            if let Some(table) = table_of(&pred, tables) {
                own.entry(table).or_default().push(pred);
            }
        }
        for (table, list) in own {
            // What the branches before it say nothing of does not follow.
            let parts = all.entry(table).or_default();
            if parts.len() == number {
                parts.extend(Pred::from_conjuncts(list));
            }
        }
    }
    all.into_values().filter(|parts| parts.len() == branches.len()).map(Pred::Or).collect()
}

/// The place of the one table that a condition is about.
fn table_of(pred: &Pred, tables: &[RangeInclusive<ColId>]) -> Option<usize> {
    let mut used = Vec::new();
    pred.columns(&mut used);
    let first = used.first()?;
    let at = tables.partition_point(|table| table.start() <= first).checked_sub(1)?;
    let own = used.iter().all(|id| tables[at].contains(id))
        && !pred.has_subquery()
        && !pred.is_volatile();
    own.then_some(at)
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
        let Pred::Or(branches) = or else { panic!("an OR") };
        let shown = implied(&branches, &[0..=9, 10..=19, 20..=29]);
        let shown: Vec<String> = shown.iter().map(|p| format!("{p:?}")).collect();
        let first = Pred::Or(vec![is(1, 1), Pred::And(vec![is(1, 3), is(2, 5)])]);
        let second = Pred::Or(vec![is(11, 2), is(11, 4)]);
        assert_eq!(shown, [format!("{first:?}"), format!("{second:?}")]);
        // A branch that says nothing of a table takes every row of it.
        assert!(implied(&[is(1, 1), is(11, 2)], &[0..=9, 10..=19]).is_empty());
    }
}
