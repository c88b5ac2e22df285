//! Joins in the physical plan: which operator, which side is kept, what each side is asked for.
//!
//! A merge wants both sides in the order of its keys: a side that does not come so is sorted. Loops and merges give rows in the order
//! of their left side, so an order or groups that are wanted above may be asked of it.

use super::access_hints::no_plan;
use super::access_path;
use super::estimate;
use super::logical::{JoinHint, JoinKind, Logical, SortKey};
use super::options::JoinMethods;
use super::physical::{pred_slots, slots};
use super::planner::{Context, Planner, offers, sort_slots, within};
use super::view_seek;
use crate::cost::{BUILD, MERGED, PROBE};
use crate::nodes::{ApplyPlan, HashJoinPlan, LoopJoinPlan, MergeJoinPlan, Node, Plan};
use expr::{ColId, CompareExpr, Expr, Pred, mirrored};
use syntax::ast::CompareOp;
use types::{Collation, SqlError};

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
    ids: Vec<ColId>,
    rows: f64,
    needed: Vec<ColId>,
}

impl Side {
    fn context(&self) -> Context {
        Context { needed: self.needed.clone(), ..Context::default() }
    }
}

impl Planner<'_, '_> {
    /// Plans a join under conditions on its rows.
    pub(super) fn join(&mut self, join: Join, preds: Vec<Pred>, cx: &Context) -> Result<Plan, SqlError> {
        let Join { kind, left, right, on, hint } = join;
        let (left_ids, right_ids) = (offers(&left), offers(&right));
        let parts = Parts::split(kind, preds, on, &left_ids, &right_ids);
        let cx = cx.with(&parts.above).with(&parts.on);
        let side = |logical: Logical, preds: Vec<Pred>, ids: Vec<ColId>| {
            let rows = (estimate::rows(&logical) * estimate::kept(&preds, &logical)).max(1.0);
            let needed = cx.needed.iter().filter(|id| ids.contains(id)).copied().collect();
            Side { logical, preds, ids, rows, needed }
        };
        let (left, right) = (side(left, parts.left, left_ids), side(right, parts.right, right_ids));
        let sized = |side: &Side| side.rows;
        let (l, r) = (
            estimate::Side { logical: &left.logical, rows: sized(&left) },
            estimate::Side { logical: &right.logical, rows: sized(&right) },
        );
        let rows = estimate::join_rows(kind, &l, &r, &parts.on);
        let keys = Equalities::split(parts.on, &left.ids, &right.ids);
        let mut plan = self.join_op((kind, hint), left, right, keys, &cx)?;
        plan.rows = rows;
        self.above(plan, parts.above)
    }

    /// Chooses the operator and makes it.
    fn join_op(
        &mut self,
        (kind, hint): (JoinKind, Option<JoinHint>),
        left: Side,
        right: Side,
        mut keys: Equalities,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let merge = MergeKeys::of(&keys, &left.logical, &right.logical, hint);
        let (method, exchange) = self.method((kind, hint), &left, &right, &keys, merge.as_ref())?;
        if let (Method::Merge, Some(merge)) = (method, merge) {
            return self.merge(kind, left, right, keys, &merge, cx);
        }
        // Loops give rows in the order of their left side.
        let mut for_left = left.context();
        let loops = matches!(method, Method::Seek | Method::Loop) && kind != JoinKind::Full;
        let order = if loops { keys.order_of_left(kind, cx, &left.ids) } else { None };
        let grouped =
            loops && !cx.grouping.is_empty() && cx.grouping.iter().all(|(id, _)| left.ids.contains(id));
        let wishes = order.is_some() || grouped;
        if grouped {
            for_left.grouping.clone_from(&cx.grouping);
        }
        for_left.order = order.unwrap_or_default();
        for_left.exact = cx.exact;
        let for_right = right.context();
        let left_ids = left.ids;
        let left = self.filter(left.logical, left.preds, &for_left)?;
        let ordered = wishes && left.ordered;
        let mut right_preds = right.preds;
        let plan = match method {
            Method::Seek => {
                // The inner side is a seek by values of the outer row.
                let mut args = Vec::new();
                let equal = keys.pairs.iter().map(|(l, r, c)| (l.clone(), CompareOp::Equal, r.clone(), *c));
                let mut given: Vec<Given> = equal.collect();
                given.extend(keys.take_ranges(&right.logical, &left_ids));
                for (l, op, r, collation) in given {
                    let slot = self.binder.new_param();
                    args.push((slot, l));
                    let compare = CompareExpr { op, left: r, right: Expr::Param(slot), collation };
                    right_preds.push(Pred::Compare(Box::new(compare)));
                }
                let mut right = self.filter(right.logical, right_preds, &for_right)?;
                if keys.rest.is_empty() && matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    // One row tells; a way to it that counts on finding one would be slow where there is none.
                    right.wants_few(1);
                }
                apply_plan(kind, left, right, args, Pred::from_conjuncts(keys.rest))?
            }
            Method::Loop => {
                let right = self.filter(right.logical, right_preds, &for_right)?;
                loop_plan(kind, left, right, keys.into_conditions())?
            }
            Method::Hash | Method::Merge => {
                let right = self.filter(right.logical, right_preds, &for_right)?;
                // The smaller side is kept; an inner join exchanges them for that.
                let exchange = exchange.unwrap_or(left.rows * 2.0 < right.rows);
                match kind {
                    JoinKind::Inner if exchange => hash_plan(kind, false, right, left, keys.mirrored())?,
                    JoinKind::Inner => hash_plan(kind, false, left, right, keys)?,
                    _ => hash_plan(kind, exchange, left, right, keys)?,
                }
            }
        };
        Ok(Plan { ordered, ..plan })
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
            Some(JoinHint::Ordered) | None => self.binder.join_methods,
        };
        let mut exchange = None;
        // FORCESEEK of the right table, which only the left rows make possible.
        let must = kind != JoinKind::Full && allowed.loops && keys.must_seek(right);
        if must {
            return Ok((Method::Seek, None));
        }
        if let Some(chance) = self.binder.any_plan.as_mut().filter(|_| allowed == JoinMethods::ALL) {
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
            && (!allowed.hash || merge.is_cheap(kind, left, right))
        {
            Method::Merge
        } else if allowed.hash && !keys.pairs.is_empty() {
            Method::Hash
        } else if allowed.loops {
            let by_range =
                kind != JoinKind::Full && keys.pairs.is_empty() && keys.can_seek_ranges(left, right);
            if by_range { Method::Seek } else { Method::Loop }
        } else {
            return Err(no_plan());
        };
        Ok((method, exchange))
    }

    /// A merge of two sides, each in order or sorted.
    fn merge(
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
    fn sorted(&mut self, side: Side, by: &[(ColId, Collation)]) -> Result<Plan, SqlError> {
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
        Ok(Plan { node: Node::Sort { input: Box::new(plan), keys, limit: None }, cols, rows, ordered: true })
    }
}

/// What a merge compares: columns of both sides in an order that both can come in.
struct MergeKeys {
    keys: Vec<MergeKey>,
    /// Both sides come so without being sorted.
    natural: bool,
}

struct MergeKey {
    /// Its place among the equalities.
    pair: usize,
    left: ColId,
    right: ColId,
    collation: Collation,
}

impl MergeKeys {
    /// Those of a join's equalities that can be merged by; `None` without one.
    fn of(keys: &Equalities, left: &Logical, right: &Logical, hint: Option<JoinHint>) -> Option<MergeKeys> {
        let key = |(pair, (l, r, collation)): (usize, &(Expr, Expr, Collation))| {
            let (left, right) = (ordering_column(l, left)?, ordering_column(r, right)?);
            Some(MergeKey { pair, left, right, collation: *collation })
        };
        let mut keys: Vec<MergeKey> = keys.pairs.iter().enumerate().filter_map(key).collect();
        let natural = |key: &MergeKey| {
            let comes = |logical, id| match peeled(logical) {
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
    fn is_cheap(&self, kind: JoinKind, left: &Side, right: &Side) -> bool {
        let smaller = left.rows.min(right.rows);
        let hash = smaller * BUILD + left.rows.max(right.rows) * PROBE;
        kind != JoinKind::Inner
            && self.natural
            && is_read_as_it_lies(left)
            && is_read_as_it_lies(right)
            && (left.rows + right.rows) * MERGED < hash
    }

    fn mirrored(&self) -> MergeKeys {
        let key = |k: &MergeKey| MergeKey { left: k.right, right: k.left, ..*k };
        MergeKeys { keys: self.keys.iter().map(key).collect(), natural: self.natural }
    }

    /// Whether the rows of the merge come as they are wanted above.
    fn gives(&self, kind: JoinKind, cx: &Context) -> bool {
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

/// A table whose conditions do not make another index the better one.
fn is_read_as_it_lies(side: &Side) -> bool {
    match peeled(&side.logical) {
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

/// Where a join's conditions go.
#[derive(Default)]
struct Parts {
    left: Vec<Pred>,
    right: Vec<Pred>,
    on: Vec<Pred>,
    above: Vec<Pred>,
}

impl Parts {
    fn split(kind: JoinKind, preds: Vec<Pred>, on: Vec<Pred>, left: &[ColId], right: &[ColId]) -> Parts {
        let mut parts = Parts::default();
        for pred in preds {
            match kind {
                _ if kind != JoinKind::Full && within(&pred, left) => parts.left.push(pred),
                JoinKind::Inner if within(&pred, right) => parts.right.push(pred),
                JoinKind::Inner => parts.on.push(pred),
                _ => parts.above.push(pred),
            }
        }
        for pred in on {
            let row_free = {
                let mut columns = Vec::new();
                pred.columns(&mut columns);
                columns.is_empty()
            };
            match kind {
                _ if row_free => parts.on.push(pred),
                JoinKind::Inner | JoinKind::Semi if within(&pred, left) => parts.left.push(pred),
                _ if kind != JoinKind::Full && within(&pred, right) => parts.right.push(pred),
                _ => parts.on.push(pred),
            }
        }
        parts
    }
}

/// A value of the left side, how a column of the right side compares with it, and that column.
type Given = (Expr, CompareOp, Expr, Collation);

/// The equalities of a join, left side first, and what is left of the condition.
struct Equalities {
    pairs: Vec<(Expr, Expr, Collation)>,
    rest: Vec<Pred>,
}

impl Equalities {
    fn split(on: Vec<Pred>, left: &[ColId], right: &[ColId]) -> Equalities {
        let mut out = Equalities { pairs: Vec::new(), rest: Vec::new() };
        let side = |e: &Expr, ids: &[ColId]| {
            let mut used = Vec::new();
            e.columns(&mut used);
            !used.is_empty() && used.iter().all(|id| ids.contains(id)) && !e.is_volatile()
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

    /// A condition that gives one end of a range of a column of the right side by a value of the left one.
    fn range_of(pred: &Pred, right: &Logical, left: &[ColId]) -> Option<Given> {
        let Pred::Compare(c) = pred else { return None };
        if matches!(c.op, CompareOp::Equal | CompareOp::NotEqual) {
            return None;
        }
        let (get, _) = access_path::with_conditions(right, &[])?;
        let of = |l: &Expr, op: CompareOp, r: &Expr| {
            let mut used = Vec::new();
            l.columns(&mut used);
            let from_left = !used.is_empty() && used.iter().all(|id| left.contains(id)) && !l.is_volatile();
            access_path::sought_column(get, r, c.collation).filter(|_| from_left)?;
            Some((l.clone(), op, r.clone(), c.collation))
        };
        of(&c.left, mirrored(c.op), &c.right).or_else(|| of(&c.right, c.op, &c.left))
    }

    /// Takes the ranges of the right side's columns that values of the left side give.
    fn take_ranges(&mut self, right: &Logical, left: &[ColId]) -> Vec<Given> {
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

    /// Whether a range of the clustered index of the right side can be sought for each left row: a part of the table instead of all of it.
    fn can_seek_ranges(&self, left: &Side, right: &Side) -> bool {
        let Some((get, own)) = access_path::with_conditions(&right.logical, &right.preds) else {
            return false;
        };
        let ranges =
            self.rest.iter().filter_map(|pred| Equalities::range_of(pred, &right.logical, &left.ids));
        let columns: Vec<ColId> = ranges
            .filter_map(|(_, _, r, collation)| access_path::sought_column(get, &r, collation))
            .collect();
        access_path::can_seek_range(get, &own, &columns)
    }

    fn mirrored(self) -> Equalities {
        Equalities { pairs: self.pairs.into_iter().map(|(l, r, c)| (r, l, c)).collect(), rest: self.rest }
    }

    /// All of them as conditions.
    fn into_conditions(self) -> Vec<Pred> {
        let equal = |(left, right, collation)| {
            Pred::Compare(Box::new(CompareExpr { op: CompareOp::Equal, left, right, collation }))
        };
        self.pairs.into_iter().map(equal).chain(self.rest).collect()
    }

    /// The order that is wanted above, as one of the left side's rows, which loops keep: a right column that equals a left one of an
    /// inner join may stand for it.
    fn order_of_left(&self, kind: JoinKind, cx: &Context, left: &[ColId]) -> Option<Vec<SortKey>> {
        let key = |key: &SortKey| {
            let Expr::Col(id) = key.expr else { return None };
            if left.contains(&id) {
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

    /// Whether the right side is a table that has to be sought, and only values of the left rows make that possible.
    fn must_seek(&self, right: &Side) -> bool {
        let own = access_path::with_conditions(&right.logical, &right.preds);
        own.is_some_and(|(get, own)| !access_path::is_possible(get, &own)) && self.can_seek(right, 1.0, true)
    }

    /// Whether the right side can be sought for each of so many left rows; `forced`: whatever that costs.
    fn can_seek(&self, right: &Side, left_rows: f64, forced: bool) -> bool {
        if let Some((get, own)) = access_path::with_conditions(&right.logical, &right.preds) {
            let column =
                |(_, r, collation): &(Expr, Expr, Collation)| access_path::sought_column(get, r, *collation);
            let columns: Vec<ColId> = self.pairs.iter().filter_map(column).collect();
            return access_path::can_seek(get, &own, &columns, left_rows, forced);
        }
        let plain = |(_, r, _): &(Expr, Expr, Collation)| match r {
            Expr::Col(id) => Some(*id),
            _ => None,
        };
        match peeled(&right.logical) {
            Logical::View(view) => {
                let columns: Vec<ColId> = self.pairs.iter().filter_map(plain).collect();
                view_seek::pays(view, &columns, left_rows)
            }
            _ => false,
        }
    }
}

/// The node below filters.
fn peeled(logical: &Logical) -> &Logical {
    match logical {
        Logical::Filter { input, .. } => peeled(input),
        other => other,
    }
}

fn combined(kind: JoinKind, left: &Plan, right: &Plan) -> (Vec<ColId>, Vec<ColId>) {
    let mut both = left.cols.clone();
    both.extend(&right.cols);
    let out = if super::physical::gives_both(kind) { both.clone() } else { left.cols.clone() };
    (both, out)
}

fn residual(preds: Vec<Pred>, cols: &[ColId]) -> Result<Option<Pred>, SqlError> {
    let mut pred = Pred::from_conjuncts(preds);
    if let Some(pred) = &mut pred {
        pred_slots(pred, cols)?;
    }
    Ok(pred)
}

fn hash_plan(
    kind: JoinKind,
    builds_left: bool,
    left: Plan,
    right: Plan,
    keys: Equalities,
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    let rows = left.rows;
    let mut plan = HashJoinPlan {
        kind,
        builds_left,
        left_keys: Vec::new(),
        right_keys: Vec::new(),
        collations: Vec::new(),
        residual: residual(keys.rest, &both)?,
        left_width: left.width(),
        right_width: right.width(),
    };
    for (mut l, mut r, collation) in keys.pairs {
        slots(&mut l, &left.cols)?;
        slots(&mut r, &right.cols)?;
        plan.left_keys.push(l);
        plan.right_keys.push(r);
        plan.collations.push(collation);
    }
    let node = Node::HashJoin { left: Box::new(left), right: Box::new(right), plan: Box::new(plan) };
    Ok(Plan { node, cols, rows, ordered: false })
}

fn loop_plan(kind: JoinKind, left: Plan, right: Plan, on: Vec<Pred>) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    let rows = left.rows * right.rows;
    let plan =
        LoopJoinPlan { kind, on: residual(on, &both)?, left_width: left.width(), right_width: right.width() };
    let node = Node::LoopJoin { left: Box::new(left), right: Box::new(right), plan: Box::new(plan) };
    Ok(Plan { node, cols, rows, ordered: false })
}

/// An apply of a right plan to each left row.
///
/// # Errors
/// Internal: a column that is not there.
pub fn apply_plan(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    mut args: Vec<(usize, Expr)>,
    on: Option<Pred>,
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    for (_, e) in &mut args {
        slots(e, &left.cols)?;
    }
    let residual = residual(on.into_iter().collect(), &both)?;
    let rows = left.rows * right.rows;
    let left_width = left.width();
    let plan = ApplyPlan { kind, args, right, residual, left_width };
    Ok(Plan { node: Node::Apply { left: Box::new(left), plan: Box::new(plan) }, cols, rows, ordered: false })
}

fn merge_plan(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    mut keys: Equalities,
    merge: &MergeKeys,
) -> Result<Plan, SqlError> {
    let (both, cols) = combined(kind, &left, &right);
    let rows = left.rows;
    let (left_width, right_width) = (left.width(), right.width());
    let mut plan = MergeJoinPlan {
        kind,
        left_keys: Vec::new(),
        right_keys: Vec::new(),
        collations: Vec::new(),
        residual: None,
        left_width,
        right_width,
    };
    for key in &merge.keys {
        let (mut l, mut r, collation) = keys.pairs[key.pair].clone();
        slots(&mut l, &left.cols)?;
        slots(&mut r, &right.cols)?;
        plan.left_keys.push(l);
        plan.right_keys.push(r);
        plan.collations.push(collation);
    }
    let mut at = 0;
    keys.pairs.retain(|_| {
        at += 1;
        !merge.keys.iter().any(|key| key.pair == at - 1)
    });
    plan.residual = residual(keys.into_conditions(), &both)?;
    let node = Node::MergeJoin { left: Box::new(left), right: Box::new(right), plan: Box::new(plan) };
    Ok(Plan { node, cols, rows, ordered: false })
}
