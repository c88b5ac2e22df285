//! A join's conditions: which go down to a side, which are equalities of both, which give ranges to
//! seek by. Guarantees: no condition is lost, and none goes where its columns are not.

use super::Side;
use crate::access_path;
use crate::estimate::below_filters;
use crate::planner::Context;
use crate::view_seek;
use expr::{ColId, CompareExpr, Expr, Pred, mirrored};
use logical::columns::ColumnSet;
use logical::order::SortKey;
use logical::tree::{JoinKind, Logical};
use syntax::ast::CompareOp;
use types::Collation;

/// Where a join's conditions go.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) left: Vec<Pred>,
    pub(super) right: Vec<Pred>,
    pub(super) on: Vec<Pred>,
    pub(super) above: Vec<Pred>,
}

impl Parts {
    pub(super) fn split(
        kind: JoinKind,
        preds: Vec<Pred>,
        on: Vec<Pred>,
        left: &ColumnSet,
        right: &ColumnSet,
    ) -> Parts {
        let mut parts = Parts::default();
        for pred in preds {
            match kind {
                _ if kind != JoinKind::Full && left.has_all_of(&pred) => parts.left.push(pred),
                JoinKind::Inner if right.has_all_of(&pred) => parts.right.push(pred),
                JoinKind::Inner => parts.on.push(pred),
                _ => parts.above.push(pred),
            }
        }
        for pred in on {
            let mut row_free = true;
            pred.leaves(&mut |leaf| row_free &= !matches!(leaf, Expr::Col(_)));
            match kind {
                _ if row_free => parts.on.push(pred),
                JoinKind::Inner | JoinKind::Semi if left.has_all_of(&pred) => parts.left.push(pred),
                _ if kind != JoinKind::Full && right.has_all_of(&pred) => parts.right.push(pred),
                _ => parts.on.push(pred),
            }
        }
        parts
    }
}

/// A value of the left side, how a column of the right side compares with it, and that column.
pub(super) type RangeCondition = (Expr, CompareOp, Expr, Collation);

/// The equalities of a join, left side first, and what is left of the condition.
pub(super) struct Equalities {
    pub(super) pairs: Vec<(Expr, Expr, Collation)>,
    pub(super) rest: Vec<Pred>,
}

impl Equalities {
    pub(super) fn split(on: Vec<Pred>, left: &ColumnSet, right: &ColumnSet) -> Equalities {
        let mut out = Equalities { pairs: Vec::new(), rest: Vec::new() };
        let side = |e: &Expr, ids: &ColumnSet| {
            let mut used = Vec::new();
            e.columns(&mut used);
            !used.is_empty() && used.iter().all(|id| ids.contains(*id)) && !e.is_volatile()
        };
        for pred in on {
            match pred {
                Pred::Compare(c)
                    if c.op == CompareOp::Equal && side(&c.left, left) && side(&c.right, right) =>
                {
                    out.pairs.push((c.left, c.right, c.collation));
                }
                Pred::Compare(c)
                    if c.op == CompareOp::Equal && side(&c.left, right) && side(&c.right, left) =>
                {
                    out.pairs.push((c.right, c.left, c.collation));
                }
                other => out.rest.push(other),
            }
        }
        out
    }

    /// A condition that gives one end of a range of a column of the right side by a value of the
    /// left one.
    fn range_of(pred: &Pred, right: &Logical, left: &ColumnSet) -> Option<RangeCondition> {
        let Pred::Compare(c) = pred else { return None };
        if matches!(c.op, CompareOp::Equal | CompareOp::NotEqual) {
            return None;
        }
        let (get, _) = access_path::with_conditions(right, &[])?;
        let of = |l: &Expr, op: CompareOp, r: &Expr| {
            let mut used = Vec::new();
            l.columns(&mut used);
            let from_left =
                !used.is_empty() && used.iter().all(|id| left.contains(*id)) && !l.is_volatile();
            access_path::sought_column(get, r, c.collation).filter(|_| from_left)?;
            Some((l.clone(), op, r.clone(), c.collation))
        };
        of(&c.left, mirrored(c.op), &c.right).or_else(|| of(&c.right, c.op, &c.left))
    }

    /// Takes the ranges of the right side's columns that values of the left side give.
    pub(super) fn take_ranges(&mut self, right: &Logical, left: &ColumnSet) -> Vec<RangeCondition> {
        let mut ranges = Vec::new();
        self.rest.retain(|pred| match Equalities::range_of(pred, right, left) {
            Some(range) => {
                ranges.push(range);
                false
            }
            None => true,
        });
        ranges
    }

    /// Whether a range of the clustered index of the right side can be sought for each left row: a
    /// part of the table instead of all of it.
    pub(super) fn can_seek_ranges(&self, left: &Side, right: &Side) -> bool {
        let Some((get, own)) = access_path::with_conditions(&right.logical, &right.preds) else {
            return false;
        };
        let ranges = self
            .rest
            .iter()
            .filter_map(|pred| Equalities::range_of(pred, &right.logical, &left.ids));
        let columns: Vec<ColId> = ranges
            .filter_map(|(_, _, r, collation)| access_path::sought_column(get, &r, collation))
            .collect();
        access_path::can_seek_range(get, &own, &columns)
    }

    pub(super) fn mirrored(self) -> Equalities {
        Equalities {
            pairs: self.pairs.into_iter().map(|(l, r, c)| (r, l, c)).collect(),
            rest: self.rest,
        }
    }

    /// All of them as conditions.
    pub(super) fn into_conditions(self) -> Vec<Pred> {
        let equal = |(left, right, collation)| {
            Pred::Compare(Box::new(CompareExpr { op: CompareOp::Equal, left, right, collation }))
        };
        self.pairs.into_iter().map(equal).chain(self.rest).collect()
    }

    /// The order that is wanted above, as one of the left side's rows, which loops keep: a right
    /// column that equals a left one of an inner join may stand for it.
    pub(super) fn order_of_left(
        &self,
        kind: JoinKind,
        cx: &Context,
        left: &ColumnSet,
    ) -> Option<Vec<SortKey>> {
        let key = |key: &SortKey| {
            let Expr::Col(id) = key.expr else { return None };
            if left.contains(id) {
                return Some(key.clone());
            }
            let equal = |(l, r, collation): &(Expr, Expr, Collation)| match (l, r) {
                (Expr::Col(l), Expr::Col(r)) if *r == id && *collation == key.collation => Some(*l),
                _ => None,
            };
            let same = self.pairs.iter().find_map(equal).filter(|_| kind == JoinKind::Inner)?;
            Some(SortKey { expr: Expr::Col(same), ..key.clone() })
        };
        if cx.order.is_empty() {
            return None;
        }
        cx.order.iter().map(key).collect()
    }

    /// Whether the right side is a table that has to be sought, and only values of the left rows
    /// make that possible.
    pub(super) fn must_seek(&self, right: &Side) -> bool {
        let own = access_path::with_conditions(&right.logical, &right.preds);
        own.is_some_and(|(get, own)| !access_path::is_possible(get, &own))
            && self.can_seek(right, 1.0, true)
    }

    /// Whether the right side can be sought for each of so many left rows; `forced`: whatever that
    /// costs.
    pub(super) fn can_seek(&self, right: &Side, left_rows: f64, forced: bool) -> bool {
        if let Some((get, own)) = access_path::with_conditions(&right.logical, &right.preds) {
            let column = |(_, r, collation): &(Expr, Expr, Collation)| {
                access_path::sought_column(get, r, *collation)
            };
            let columns: Vec<ColId> = self.pairs.iter().filter_map(column).collect();
            return access_path::can_seek(get, &own, &columns, left_rows, forced);
        }
        let plain = |(_, r, _): &(Expr, Expr, Collation)| match r {
            Expr::Col(id) => Some(*id),
            _ => None,
        };
        match below_filters(&right.logical) {
            Logical::View(view) => {
                let columns: Vec<ColId> = self.pairs.iter().filter_map(plain).collect();
                view_seek::pays(view, &columns, left_rows)
            }
            _ => false,
        }
    }
}
