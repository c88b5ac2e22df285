//! Merges: the columns that both sides are ordered by, and the sides in that order.
//! Guarantees: a side that does not come in the order of the keys is sorted.

use super::Side;
use super::conditions::Equalities;
use super::plans::merge_plan;
use crate::access_path;
use crate::cost::{BUILD, MERGED, PROBE};
use crate::estimate;
use crate::estimate::below_filters;
use crate::logical::{JoinHint, JoinKind, Logical, SortKey};
use crate::nodes::{Node, Plan};
use crate::planner::{Context, Planner, sort_slots};
use expr::{ColId, Expr};
use stack::Nested;
use types::{Collation, SqlError};

/// What a merge compares: columns of both sides in an order that both can come in.
pub(super) struct MergeKeys {
    pub(super) keys: Vec<MergeKey>,
    /// Both sides come so without being sorted.
    pub(super) natural: bool,
}

pub(super) struct MergeKey {
    /// Its place among the equalities.
    pub(super) pair: usize,
    pub(super) left: ColId,
    pub(super) right: ColId,
    pub(super) collation: Collation,
}

impl MergeKeys {
    /// Those of a join's equalities that can be merged by; `None` without one.
    pub(super) fn of(
        keys: &Equalities,
        left: &Logical,
        right: &Logical,
        hint: Option<JoinHint>,
    ) -> Option<MergeKeys> {
        let key = |(pair, (l, r, collation)): (usize, &(Expr, Expr, Collation))| {
            let (left, right) = (ordering_column(l, left)?, ordering_column(r, right)?);
            Some(MergeKey { pair, left, right, collation: *collation })
        };
        let mut keys: Vec<MergeKey> = keys.pairs.iter().enumerate().filter_map(key).collect();
        let natural = |key: &MergeKey| {
            let comes = |logical, id| match below_filters(logical) {
                Logical::Get(get) => access_path::comes_in_order(get, id, key.collation),
                _ => false,
            };
            comes(left, key.left) && comes(right, key.right)
        };
        let first = if hint == Some(JoinHint::Ordered) { None } else { keys.iter().position(natural) };
        let natural = first.is_some();
        if let Some(first) = first {
            keys.swap(0, first);
        }
        if natural || hint == Some(JoinHint::Ordered) {
            // What orders both sides by the first need not order them by the others.
            keys.truncate(1);
        }
        (!keys.is_empty()).then_some(MergeKeys { keys, natural })
    }

    /// Whether nothing has to be sorted, and the merge costs less than the hash table. Inner joins are weighed where their
    /// order is looked for.
    pub(super) fn is_cheap(&self, kind: JoinKind, left: &Side, right: &Side) -> bool {
        let smaller = left.rows.min(right.rows);
        let hash = smaller * BUILD + left.rows.max(right.rows) * PROBE;
        kind != JoinKind::Inner
            && self.natural
            && is_read_as_it_lies(left)
            && is_read_as_it_lies(right)
            && (left.rows + right.rows) * MERGED < hash
    }

    pub(super) fn mirrored(&self) -> MergeKeys {
        let key = |k: &MergeKey| MergeKey { left: k.right, right: k.left, ..*k };
        MergeKeys { keys: self.keys.iter().map(key).collect(), natural: self.natural }
    }

    /// Whether the rows of the merge come as they are wanted above.
    pub(super) fn gives(&self, kind: JoinKind, cx: &Context) -> bool {
        let [first, ..] = &self.keys[..] else { return false };
        let is = |id: ColId, collation: Collation| {
            let right = kind == JoinKind::Inner && id == first.right;
            kind != JoinKind::Full && collation == first.collation && (id == first.left || right)
        };
        match (&cx.order[..], &cx.grouping[..]) {
            ([key], []) => !key.descending && matches!(key.expr, Expr::Col(id) if is(id, key.collation)),
            ([], [(id, collation)]) => is(*id, *collation),
            _ => false,
        }
    }
}

impl Planner<'_, '_> {
    /// A merge of two sides, each in order or sorted.
    pub(super) fn merge(
        &mut self,
        kind: JoinKind,
        left: Side,
        right: Side,
        keys: Equalities,
        merge: &MergeKeys,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        // Rows of one key are kept of the right side: an inner join exchanges them so that there are few.
        let exchange = kind == JoinKind::Inner && left.rows < right.rows;
        let ordered = merge.gives(kind, cx);
        let mirrored;
        let (left, right, keys, merge) = if exchange {
            mirrored = merge.mirrored();
            (right, left, keys.mirrored(), &mirrored)
        } else {
            (left, right, keys, merge)
        };
        let columns = |of: fn(&MergeKey) -> ColId| merge.keys.iter().map(|k| (of(k), k.collation)).collect();
        let (by_left, by_right): (Vec<_>, Vec<_>) = (columns(|k| k.left), columns(|k| k.right));
        let left = self.sorted(left, &by_left)?;
        let right = self.sorted(right, &by_right)?;
        let plan = merge_plan(kind, left, right, keys, merge)?;
        Ok(Plan { ordered, ..plan })
    }

    /// A side in the order of columns.
    pub(super) fn sorted(&mut self, side: Side, by: &[(ColId, Collation)]) -> Result<Plan, SqlError> {
        let mut cx = side.context();
        let key = |(id, collation): &(ColId, Collation)| SortKey {
            expr: Expr::Col(*id),
            descending: false,
            collation: *collation,
        };
        cx.order = by.iter().map(key).collect();
        cx.exact = true;
        let plan = self.filter(side.logical, side.preds, &cx)?;
        if plan.ordered {
            return Ok(plan);
        }
        let keys = sort_slots(&cx.order, &plan.cols)?;
        let (cols, rows) = (plan.cols.clone(), plan.rows);
        Ok(Plan {
            node: Node::Sort { input: Nested::new(plan), keys, limit: None },
            cols,
            rows,
            ordered: true,
        })
    }
}

/// A table whose conditions do not make another index the better one.
fn is_read_as_it_lies(side: &Side) -> bool {
    match below_filters(&side.logical) {
        Logical::Get(get) => !access_path::seeks_elsewhere(get, &side.preds),
        _ => false,
    }
}

/// The column whose order is that of an expression.
fn ordering_column(e: &Expr, logical: &Logical) -> Option<ColId> {
    let id = match e {
        Expr::Col(id) => *id,
        Expr::Convert(c) if access_path::keeps_order(c.from, c.to) => match c.operand {
            Expr::Col(id) => id,
            _ => return None,
        },
        _ => return None,
    };
    let get = estimate::source(logical, id)?;
    access_path::is_ordering(get, id).then_some(id)
}
