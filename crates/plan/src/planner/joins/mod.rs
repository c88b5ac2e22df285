//! Joins in the physical plan: which operator, which side is kept, what each side is asked for.
//!
//! A merge wants both sides in the order of its keys: a side that does not come so is sorted. Loops
//! and merges give rows in the order of their left side, so an order or groups that are wanted
//! above may be asked of it.

use super::{Context, Planner};
use crate::columns::exactly;
use crate::estimate;
use crate::nodes::Plan;
use bind::options::JoinMethods;
use expr::{ColId, CompareExpr, Expr, Pred};
use logical::access_hints::no_plan;
use logical::columns::ColumnSet;
use logical::tree::{JoinHint, JoinKind, Logical};
use syntax::ast::CompareOp;
use types::SqlError;

mod conditions;
mod levels;
mod merge;
mod plans;

use conditions::{Equalities, Parts, RangeCondition};
pub use levels::sorted_down;
use merge::MergeKeys;
pub use plans::apply_plan;
use plans::{hash_plan, loop_plan};

/// A join gives the columns of both sides, those too that only its own condition needs. So many of
/// them are carried along: to leave one out costs each row a copy. Of a chain of joins each would
/// carry all of those before it, and keep rows of that width.
const MOST_UNUSED: usize = 32;

/// The plan without the columns that nobody needs, if there are many.
fn without_unused(plan: Plan, wanted: &Context) -> Result<Plan, SqlError> {
    let needed = ColumnSet::of_ids(&wanted.needed);
    let used: Vec<ColId> = plan.cols.iter().copied().filter(|id| needed.contains(*id)).collect();
    if plan.cols.len() - used.len() <= MOST_UNUSED {
        return Ok(plan);
    }
    exactly(plan, &used)
}

/// A join on its way into a plan.
pub struct Join {
    pub kind: JoinKind,
    pub left: Logical,
    pub right: Logical,
    pub on: Vec<Pred>,
    pub hint: Option<JoinHint>,
}

/// How two sides are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// The right side is sought for each left row.
    Seek,
    Loop,
    Hash,
    Merge,
}

/// One side of a join: what it is, the conditions that go down to it, and the rows that leaves.
struct Side {
    logical: Logical,
    preds: Vec<Pred>,
    ids: ColumnSet,
    rows: f64,
    needed: Vec<ColId>,
}

impl Side {
    fn context(&self) -> Context {
        Context { needed: self.needed.clone(), ..Context::default() }
    }

    fn estimated(&self) -> estimate::Side<'_> {
        estimate::Side { logical: &self.logical, preds: &self.preds, rows: self.rows }
    }
}

impl Planner<'_, '_> {
    /// Plans a join under conditions on its rows.
    pub(super) fn join(
        &mut self,
        join: Join,
        preds: Vec<Pred>,
        wanted: &Context,
    ) -> Result<Plan, SqlError> {
        let Join { kind, left, right, on, hint } = join;
        let (left_ids, right_ids) = (left.columns(), right.columns());
        let mut parts = Parts::split(kind, preds, on, &left_ids, &right_ids);
        let left = sorted_down(left, &mut parts.left, &|| self.statement.check_cancel())?;
        let cx = wanted.with(&parts.above).with(&parts.on);
        let side = |logical: Logical, preds: Vec<Pred>, ids: ColumnSet| {
            let rows = (estimate::rows(&logical) * estimate::kept(&preds, &logical)).max(1.0);
            let needed = cx.needed.iter().filter(|id| ids.contains(**id)).copied().collect();
            Side { logical, preds, ids, rows, needed }
        };
        let (left, right) = (side(left, parts.left, left_ids), side(right, parts.right, right_ids));
        // What has one value on both sides is equal anyhow.
        let is_said = |pred: &&Pred| match estimate::equality(pred) {
            Some((a, b)) => {
                let (a, b) = if left.ids.contains(a) { (a, b) } else { (b, a) };
                !(estimate::is_fixed(&left.logical, &left.preds, a)
                    && estimate::is_fixed(&right.logical, &right.preds, b))
            }
            None => true,
        };
        let on: Vec<Pred> = parts.on.iter().filter(is_said).cloned().collect();
        let rows = estimate::join_rows(kind, &left.estimated(), &right.estimated(), &on);
        let keys = Equalities::split(parts.on, &left.ids, &right.ids);
        let mut plan = self.join_op((kind, hint), left, right, keys, &cx)?;
        plan.rows = rows;
        if plan.cols.len() > MOST_UNUSED {
            plan = without_unused(plan, &wanted.with(&parts.above))?;
        }
        self.above(plan, parts.above)
    }

    /// Chooses the operator and makes it.
    fn join_op(
        &mut self,
        (kind, hint): (JoinKind, Option<JoinHint>),
        left: Side,
        right: Side,
        keys: Equalities,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let forced = match hint {
            Some(hint) => hint == JoinHint::Merge,
            None => !self.statement.join_methods.hash,
        };
        let merge = MergeKeys::of(&keys, (&left, &right), hint, forced);
        let (method, exchange) = self.method((kind, hint), &left, &right, &keys, merge.as_ref())?;
        if let (Method::Merge, Some(merge)) = (method, merge) {
            return self.merge(kind, left, right, keys, &merge, cx);
        }
        // Loops give rows in the order of their left side.
        let mut for_left = left.context();
        let loops = matches!(method, Method::Seek | Method::Loop) && kind != JoinKind::Full;
        let order = if loops { keys.order_of_left(kind, cx, &left.ids) } else { None };
        let grouped = loops
            && !cx.grouping.is_empty()
            && cx.grouping.iter().all(|(id, _)| left.ids.contains(*id));
        let wishes = order.is_some() || grouped;
        if grouped {
            for_left.grouping.clone_from(&cx.grouping);
        }
        for_left.order = order.unwrap_or_default();
        for_left.exact = cx.exact;
        let left_ids = left.ids;
        let left = self.filter(left.logical, left.preds, &for_left)?;
        let ordered = wishes && left.ordered;
        let plan = match method {
            Method::Seek => self.seek(kind, left, &left_ids, right, keys)?,
            Method::Loop => {
                let right = self.whole_side(right)?;
                loop_plan(kind, left, right, keys.into_conditions())?
            }
            Method::Hash | Method::Merge => {
                let right = self.whole_side(right)?;
                // The smaller side is kept; an inner join exchanges them for that.
                let exchange = exchange.unwrap_or(left.rows * 2.0 < right.rows);
                match kind {
                    JoinKind::Inner if exchange => {
                        hash_plan(kind, false, right, left, keys.mirrored())?
                    }
                    JoinKind::Inner => hash_plan(kind, false, left, right, keys)?,
                    _ => hash_plan(kind, exchange, left, right, keys)?,
                }
            }
        };
        Ok(Plan { ordered, ..plan })
    }

    /// A side by itself.
    fn whole_side(&mut self, side: Side) -> Result<Plan, SqlError> {
        let cx = side.context();
        self.filter(side.logical, side.preds, &cx)
    }

    /// The right side is a seek by values of the left row.
    fn seek(
        &mut self,
        kind: JoinKind,
        left: Plan,
        left_ids: &ColumnSet,
        mut right: Side,
        mut keys: Equalities,
    ) -> Result<Plan, SqlError> {
        let mut args = Vec::new();
        let equal = keys.pairs.iter().map(|(l, r, c)| (l.clone(), CompareOp::Equal, r.clone(), *c));
        let mut given: Vec<RangeCondition> = equal.collect();
        given.extend(keys.take_ranges(&right.logical, left_ids));
        for (l, op, r, collation) in given {
            let slot = self.statement.new_param();
            args.push((slot, l));
            let compare = CompareExpr { op, left: r, right: Expr::Param(slot), collation };
            right.preds.push(Pred::Compare(Box::new(compare)));
        }
        let mut right = self.again_and_again(|planner| planner.whole_side(right))?;
        if keys.rest.is_empty() && matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            // One row tells; a way to it that counts on finding one would be slow where there is
            // none.
            right.wants_few(1);
        }
        apply_plan(kind, left, right, args, Pred::from_conjuncts(keys.rest))
    }

    /// How two sides are joined, and whether chance wants the left one kept.
    ///
    /// Error: 8622 the hints leave no way.
    fn method(
        &mut self,
        (kind, hint): (JoinKind, Option<JoinHint>),
        left: &Side,
        right: &Side,
        keys: &Equalities,
        merge: Option<&MergeKeys>,
    ) -> Result<(Method, Option<bool>), SqlError> {
        let mut allowed = match hint {
            Some(JoinHint::Loop) => JoinMethods { loops: true, hash: false, merge: false },
            Some(JoinHint::Hash) => JoinMethods { loops: false, hash: true, merge: false },
            Some(JoinHint::Merge) => JoinMethods { loops: false, hash: false, merge: true },
            Some(JoinHint::Ordered) if merge.is_some() => return Ok((Method::Merge, None)),
            Some(JoinHint::Ordered) | None => self.statement.join_methods,
        };
        let mut exchange = None;
        // FORCESEEK of the right table, which only the left rows make possible.
        let must = kind != JoinKind::Full && allowed.loops && keys.must_seek(right);
        if must {
            return Ok((Method::Seek, None));
        }
        if let Some(chance) =
            self.statement.any_plan.as_mut().filter(|_| allowed == JoinMethods::ALL)
        {
            match chance.one_of(5) {
                0 => allowed = JoinMethods { loops: true, hash: false, merge: false },
                1 => return Ok((Method::Loop, None)),
                4 if merge.is_some() => return Ok((Method::Merge, None)),
                choice => {
                    allowed = JoinMethods {
                        hash: !keys.pairs.is_empty(),
                        merge: false,
                        loops: keys.pairs.is_empty(),
                    };
                    exchange = Some(choice == 2);
                }
            }
        }
        let forced = !allowed.hash && !allowed.merge;
        let seeks = allowed.loops
            && kind != JoinKind::Full
            && !keys.pairs.is_empty()
            && keys.can_seek(right, left.rows, forced);
        let method = if seeks {
            Method::Seek
        } else if allowed.merge
            && let Some(merge) = merge
            && (!allowed.hash || merge.is_cheap(left, right, keys))
        {
            Method::Merge
        } else if allowed.hash && !keys.pairs.is_empty() {
            Method::Hash
        } else if allowed.loops {
            let by_range = kind != JoinKind::Full
                && keys.pairs.is_empty()
                && keys.can_seek_ranges(left, right);
            if by_range { Method::Seek } else { Method::Loop }
        } else {
            return Err(no_plan());
        };
        Ok((method, exchange))
    }
}
