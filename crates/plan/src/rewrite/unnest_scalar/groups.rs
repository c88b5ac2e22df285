//! A query with aggregates that depends on an outer row, taken apart: the groups of which each
//! outer row wants one, and how it finds it. Guarantee: nothing of it depends on the outer row but
//! the equalities that find the group.

use super::super::visit::mentions;
use super::{FEW_ROWS, condition_may_fail, may_fail};
use crate::access_path::{can_seek, read_cost, with_conditions};
use crate::cost::{GROUPED, PROBE};
use crate::estimate;
use crate::statement::Statement;
use expr::aggregate::{AggKind, Aggregate};
use expr::{ColId, CompareExpr, Expr, Pred, SubRef};
use logical::tree::input::Input;
use logical::tree::{GroupCol, Logical};
use std::sync::Arc;
use syntax::ast::CompareOp;
use types::{Collation, Value};

/// What a query computes.
pub struct Groups {
    /// Its rows, under the conditions that are of them alone; these apart.
    pub input: Logical,
    pub inside: Vec<Pred>,
    pub keys: Vec<GroupCol>,
    /// The equalities of outer values with the keys.
    pub on: Vec<Pred>,
    pub aggregates: Vec<Aggregate>,
    /// What is made of the aggregates, if anything is.
    pub exprs: Option<Vec<(ColId, Expr)>>,
    /// The parameters that stand for outer values.
    pub slots: Vec<usize>,
    /// What each run of the query costs to read its rows, and so what the groups do.
    pub read: f64,
}

/// Parameters of a query, and the outer values that they stand for.
pub type Args = [(usize, Expr)];

impl Groups {
    /// The groups of a correlated subquery that is better computed for all outer rows, which are so
    /// many, at once; and the column that is its value.
    pub fn of(
        sub: &SubRef,
        outer_rows: f64,
        statement: &mut Statement<'_>,
    ) -> Option<(Groups, ColId)> {
        let known = statement.subqueries.get(sub.id).filter(|_| !sub.cacheable)?;
        let [column] = known.wanted[..] else { return None };
        let logical = Arc::clone(&known.logical);
        Some((Groups::of_query(&logical, &sub.args, outer_rows, statement)?, column))
    }

    /// The groups of a query that has these parameters.
    pub fn of_query(
        logical: &Logical,
        args: &Args,
        outer_rows: f64,
        statement: &mut Statement<'_>,
    ) -> Option<Groups> {
        // By loops alone each outer row would be compared with all groups.
        if args.is_empty() || outer_rows <= FEW_ROWS || !statement.join_methods.hash {
            return None;
        }
        let (exprs, aggregates, inner) = shape(logical)?;
        let Logical::Filter { input: source, preds } = inner else { return None };
        let slots: Vec<usize> = args.iter().map(|(slot, _)| *slot).collect();
        let (mut keys, mut on, mut inside) = (Vec::new(), Vec::new(), Vec::new());
        for pred in preds {
            match correlated(pred, args, &slots) {
                Some((own, outer, collation)) => {
                    let output = statement.new_col();
                    keys.push(GroupCol { output, expr: own, collation });
                    on.push(Pred::Compare(Box::new(CompareExpr {
                        op: CompareOp::Equal,
                        left: outer,
                        right: Expr::Col(output),
                        collation,
                    })));
                }
                None => inside.push(pred.clone()),
            }
        }
        let input = Logical::clone(source).filtered(inside.clone());
        let (aggregates, exprs) = (aggregates.to_vec(), exprs.map(<[_]>::to_vec));
        let read = with_conditions(source, &[])
            .map_or_else(|| estimate::rows(source), |(get, own)| read_cost(get, &own));
        let groups = Groups { input, inside, keys, on, aggregates, exprs, slots, read };
        let fits = !groups.keys.is_empty()
            && !mentions(&groups.grouped(), &groups.slots, &statement.subqueries)
            && !is_cheap(source, &groups.keys, outer_rows);
        fits.then_some(groups)
    }

    /// Whether to compute all groups is worth it for so many of the outer rows, all of which meet
    /// their groups before the first one goes on.
    pub fn pay(&self, asked: f64, outer_rows: f64) -> bool {
        asked * self.read > outer_rows * PROBE + self.read * (1.0 + GROUPED)
    }

    /// Whether something is computed that may fail for a group that no row asks for.
    pub fn may_fail(&self) -> bool {
        let aggregates = self.aggregates.iter().filter_map(|a| a.arg.as_ref());
        let mut computed = aggregates.chain(self.keys.iter().map(|key| &key.expr));
        computed.any(may_fail) || self.inside.iter().any(condition_may_fail)
    }

    /// Gives the aggregates columns of their own, so that the query may stand in more places than
    /// one; for each old one its value for an outer row: NULL without a group, 0 for COUNT.
    pub fn rename(&mut self, statement: &mut Statement<'_>) -> Vec<(ColId, Expr)> {
        let renamed = self.aggregates.iter_mut().map(|aggregate| {
            let new = statement.new_col();
            let zero = match aggregate.kind {
                AggKind::Count => Some(Value::Int(0)),
                AggKind::CountBig => Some(Value::BigInt(0)),
                _ => None,
            };
            let value = match zero {
                Some(zero) => Expr::Coalesce(vec![Expr::Col(new), Expr::Const(zero)]),
                None => Expr::Col(new),
            };
            (std::mem::replace(&mut aggregate.output, new), value)
        });
        renamed.collect()
    }

    /// The aggregates of each group.
    pub fn grouped(&self) -> Logical {
        Logical::Aggregate {
            input: Input::new(self.input.clone()),
            keys: self.keys.clone(),
            aggregates: self.aggregates.clone(),
            scalar: false,
            totals: Vec::new(),
        }
    }
}

/// The parts of a subquery that computes aggregates over all of its rows: the expressions over
/// them, if any, the aggregates, and what they read.
type GroupsShape<'l> = (Option<&'l [(ColId, Expr)]>, &'l [Aggregate], &'l Logical);

fn shape(logical: &Logical) -> Option<GroupsShape<'_>> {
    stack::with_room(|| match logical {
        Logical::Aggregate { input, keys, aggregates, scalar: true, .. } if keys.is_empty() => {
            Some((None, &aggregates[..], &**input))
        }
        Logical::Project { input, exprs } => match shape(input)? {
            (None, aggregates, inner) => Some((Some(&exprs[..]), aggregates, inner)),
            _ => None,
        },
        _ => None,
    })
}

/// The two sides of an equality between the subquery's own columns and outer values, the own side
/// first.
fn correlated(pred: &Pred, args: &Args, slots: &[usize]) -> Option<(Expr, Expr, Collation)> {
    let Pred::Compare(c) = pred else { return None };
    if c.op != CompareOp::Equal || pred.has_subquery() {
        return None;
    }
    let (own, outer) = match (is_made_of(&c.left, slots), is_made_of(&c.right, slots)) {
        (ColumnUse::Columns, ColumnUse::Outer) => (&c.left, &c.right),
        (ColumnUse::Outer, ColumnUse::Columns) => (&c.right, &c.left),
        _ => return None,
    };
    if own.is_volatile() || outer.is_volatile() {
        return None;
    }
    let mut outer = outer.clone();
    outer.leaves_mut(&mut |leaf| put_outer(leaf, args));
    Some((own.clone(), outer, c.collation))
}

/// Puts the value of the outer row in the place of the parameter that stands for it.
pub fn put_outer(leaf: &mut Expr, args: &Args) {
    if let Expr::Param(slot) = leaf
        && let Some((_, value)) = args.iter().find(|(s, _)| s == slot)
    {
        *leaf = value.clone();
    }
}

/// What stands in an expression of a subquery.
#[derive(PartialEq, Eq)]
enum ColumnUse {
    /// Its own columns, no outer values.
    Columns,
    /// Outer values, no column.
    Outer,
    Other,
}

fn is_made_of(e: &Expr, slots: &[usize]) -> ColumnUse {
    let (mut columns, mut outer) = (false, false);
    e.leaves(&mut |leaf| match leaf {
        Expr::Col(_) => columns = true,
        Expr::Param(slot) => outer |= slots.contains(slot),
        _ => {}
    });
    match (columns, outer) {
        (true, false) => ColumnUse::Columns,
        (false, true) => ColumnUse::Outer,
        _ => ColumnUse::Other,
    }
}

/// Whether each run of the subquery is a seek that costs less than reading all of it once.
fn is_cheap(source: &Logical, keys: &[GroupCol], outer_rows: f64) -> bool {
    let columns: Vec<ColId> = keys
        .iter()
        .filter_map(|key| match key.expr {
            Expr::Col(id) => Some(id),
            _ => None,
        })
        .collect();
    with_conditions(source, &[])
        .is_some_and(|(get, own)| can_seek(get, &own, &columns, outer_rows, false))
}
