//! Merges: the columns that both sides are ordered by, and the sides in that order.
//! Guarantees: a side that does not come in the order of the keys is sorted; the keys are as many
//! of the equalities as both orders begin with, so that few pairs have to be compared.

use super::JoinSide;
use super::conditions::Equalities;
use super::plans::merge_plan;
use crate::access_path;
use crate::conversions;
use crate::cost::{self, BUILD, MERGED, PAIR, PROBE};
use crate::estimate;
use crate::estimate::below_filters;
use crate::nodes::{Node, Plan};
use crate::planner::order::sort_slots;
use crate::planner::{Context, Planner};
use expr::{ColId, Expr, Pred};
use logical::order::SortKey;
use logical::tree::sources::source;
use logical::tree::{JoinHint, JoinKind, Logical};
use smallvec::SmallVec;
use stack::Nested;
use types::{Collation, SqlError};

/// So many equalities are weighed as keys; the others are tested on the pairs.
const MOST_KEYS: usize = 32;

/// Through so many joins an order is followed: more than those whose order is searched have.
const MOST_BELOW: usize = 16;

/// What a merge compares: columns of both sides in an order that both can come in.
pub(super) struct MergeKeys {
    pub(super) keys: Vec<MergeKey>,
    /// Both sides come so without being sorted.
    pub(super) natural: bool,
}

#[derive(Clone)]
pub(super) struct MergeKey {
    /// Its place among the equalities.
    pub(super) pair: usize,
    pub(super) left: ColId,
    pub(super) right: ColId,
    pub(super) descending: bool,
    pub(super) collation: Collation,
    /// Equal keys are equal columns: the order of a key behind this one holds.
    exact: bool,
}

impl MergeKeys {
    /// Those of a join's equalities that can be merged by; `None` without one.
    ///
    /// They are what the orders of both sides begin with, the other equalities are tested on the
    /// pairs. `forced`: the join has to be a merge. Where there would be too many pairs, the sides
    /// are sorted by all of them.
    pub(super) fn of(
        keys: &Equalities,
        (left, right): (&JoinSide, &JoinSide),
        hint: Option<JoinHint>,
        forced: bool,
    ) -> Option<MergeKeys> {
        let all = mergeable(keys, left, right);
        let orders =
            [natural_order(&left.logical, MOST_BELOW), natural_order(&right.logical, MOST_BELOW)];
        let shared = shared(&all, &orders[0], &orders[1]);
        let whole = shared.len() == all.len() || hint == Some(JoinHint::Ordered);
        let natural = (!shared.is_empty()).then_some(MergeKeys { keys: shared, natural: true });
        if natural.is_some() && (whole || !forced) {
            return natural;
        }
        let sorted = sortable(all, &orders);
        let sorted = (!sorted.is_empty()).then_some(MergeKeys { keys: sorted, natural: false });
        match (natural, sorted) {
            (Some(natural), Some(sorted)) => {
                let sides = [(left, &orders[0]), (right, &orders[1])];
                let unordered = sides.into_iter().filter(|(_, order)| !sorted.is_order(order));
                let sorts: f64 = unordered.map(|(side, _)| cost::sorted(side.rows)).sum();
                let is_better =
                    sorted.cost(left, right, keys) + sorts < natural.cost(left, right, keys);
                Some(if is_better { sorted } else { natural })
            }
            (natural, sorted) => natural.or(sorted),
        }
    }

    /// Whether two tables need not be sorted, and the merge costs less than the hash table. Most
    /// inner joins have been weighed where their order is looked for; those with FORCE ORDER or by
    /// a conversion have not.
    pub(super) fn is_cheap(&self, left: &JoinSide, right: &JoinSide, keys: &Equalities) -> bool {
        let smaller = left.rows.min(right.rows);
        let hash = smaller * BUILD + left.rows.max(right.rows) * PROBE;
        self.natural
            && is_read_as_it_lies(left)
            && is_read_as_it_lies(right)
            && (left.rows + right.rows) * MERGED < hash
            && self.cost(left, right, keys) < hash
    }

    /// What it costs to merge by these keys and to test the other equalities on the pairs.
    fn cost(&self, left: &JoinSide, right: &JoinSide, keys: &Equalities) -> f64 {
        (left.rows + right.rows) * MERGED + self.pairs(left, right, keys) * PAIR
    }

    /// Pairs of rows with the same keys on which other equalities have to be tested, which a hash
    /// table would not bring together.
    pub(super) fn pairs(&self, left: &JoinSide, right: &JoinSide, keys: &Equalities) -> f64 {
        if self.keys.len() == keys.pairs.len() {
            return 0.0;
        }
        let columns: Vec<(ColId, ColId)> =
            self.keys.iter().map(|key| (key.left, key.right)).collect();
        estimate::pairs(&left.estimated(), &right.estimated(), &columns)
    }

    /// Whether rows in an order come in that of these keys, of the left side or of the right.
    fn is_order(&self, order: &[OrderedColumn]) -> bool {
        let is = |(ordered, key): (&OrderedColumn, &MergeKey)| {
            ordered.columns.contains(&key.left) || ordered.columns.contains(&key.right)
        };
        self.keys.len() <= order.len() && order.iter().zip(&self.keys).all(is)
    }

    pub(super) fn mirrored(&self) -> MergeKeys {
        let key = |k: &MergeKey| MergeKey { left: k.right, right: k.left, ..k.clone() };
        MergeKeys { keys: self.keys.iter().map(key).collect(), natural: self.natural }
    }

    /// Whether the rows of the merge come as they are wanted above.
    pub(super) fn gives(&self, kind: JoinKind, cx: &Context) -> bool {
        let is = |key: &MergeKey, id: ColId, collation: Collation| {
            // Of values that a conversion makes equal each row of the one side meets those of the
            // other side in turn: only one side, which may be either of an inner join, is in order.
            let of_side = match kind {
                JoinKind::Inner => key.exact && (id == key.left || id == key.right),
                _ => id == key.left,
            };
            kind != JoinKind::Full && collation == key.collation && of_side
        };
        let sorted = |(key, wanted): (&MergeKey, &SortKey)| {
            key.descending == wanted.descending
                && matches!(wanted.expr, Expr::Col(id) if is(key, id, wanted.collation))
        };
        match (&cx.order[..], &cx.grouping[..]) {
            ([], []) => false,
            (order, []) => {
                order.len() <= self.keys.len() && self.keys.iter().zip(order).all(sorted)
            }
            (_, grouping) => {
                let Some(first) = self.keys.get(..grouping.len()) else { return false };
                let grouped = |key: &MergeKey| grouping.iter().any(|(id, of)| is(key, *id, *of));
                let known =
                    |(id, of): &(ColId, Collation)| first.iter().any(|key| is(key, *id, *of));
                first.iter().all(grouped) && grouping.iter().all(known)
            }
        }
    }
}

/// The equalities that a merge can go by. One whose conversion makes different values equal can
/// only be the last key: what is ordered behind it is ordered for each of these values.
fn mergeable(keys: &Equalities, left: &JoinSide, right: &JoinSide) -> Vec<MergeKey> {
    let key = |(pair, (l, r, collation)): (usize, &(Expr, Expr, Collation))| {
        let (left, right) =
            (ordering_column(l, &left.logical)?, ordering_column(r, &right.logical)?);
        let exact = keeps_values(l) && keeps_values(r);
        Some(MergeKey { pair, left, right, descending: false, collation: *collation, exact })
    };
    let keys: Vec<MergeKey> =
        keys.pairs.iter().enumerate().filter_map(key).take(MOST_KEYS).collect();
    // A column that is compared twice orders nothing the second time.
    let mut single: Vec<MergeKey> = Vec::with_capacity(keys.len());
    for key in keys {
        if single.iter().all(|known| known.left != key.left && known.right != key.right) {
            single.push(key);
        }
    }
    single
}

/// The keys that the orders of both sides begin with: the same columns, one after another, and each
/// on both sides in the same direction or each in the other one.
fn shared(all: &[MergeKey], left: &[OrderedColumn], right: &[OrderedColumn]) -> Vec<MergeKey> {
    let mut keys: Vec<MergeKey> = Vec::new();
    let mut opposite = None;
    for (l, r) in left.iter().zip(right) {
        let of_both = |key: &&MergeKey| {
            l.columns.contains(&key.left)
                && r.columns.contains(&key.right)
                && l.is_under(key.collation)
                && r.is_under(key.collation)
        };
        let Some(key) = all.iter().find(of_both) else { break };
        let differs = l.descending != r.descending;
        if *opposite.get_or_insert(differs) != differs {
            break;
        }
        // The left side is read as its first column ascends.
        let descending = l.descending != left[0].descending;
        keys.push(MergeKey { descending, ..key.clone() });
        if !key.exact {
            break;
        }
    }
    keys
}

/// All keys in an order that saves sorting one of the sides, if there is such a one: those that
/// keep values apart, and one that does not behind them.
fn sortable(mut all: Vec<MergeKey>, orders: &[Vec<OrderedColumn>; 2]) -> Vec<MergeKey> {
    let place = |key: &MergeKey, of: usize| {
        let id = if of == 0 { key.left } else { key.right };
        let at = orders[of].iter().position(|o| o.columns.contains(&id) && !o.descending);
        at.unwrap_or(usize::MAX)
    };
    let follows = |of: usize, all: &[MergeKey]| {
        let mut places: Vec<usize> = all.iter().map(|key| place(key, of)).collect();
        places.sort_unstable();
        places.iter().copied().eq(0..all.len())
    };
    if let Some(of) = [0, 1].into_iter().find(|of| follows(*of, &all)) {
        all.sort_by_key(|key| place(key, of));
    }
    all.sort_by_key(|key| !key.exact);
    let exact = all.iter().take_while(|key| key.exact).count();
    all.truncate(exact + 1);
    all
}

/// A column of the order that a side comes in.
struct OrderedColumn {
    /// More than one where a merge has found them equal.
    columns: SmallVec<[ColId; 2]>,
    descending: bool,
    collation: Option<Collation>,
}

impl OrderedColumn {
    fn is_under(&self, collation: Collation) -> bool {
        self.collation.is_none_or(|own| own == collation)
    }
}

/// The order in which rows are expected to come: of a table that of its clustered index, of a merge
/// that was planned for its order the keys, of another join that of its left side, which loops
/// keep. Where it turns out otherwise the rows are sorted.
fn natural_order(logical: &Logical, most_below: usize) -> Vec<OrderedColumn> {
    let Some(below) = most_below.checked_sub(1) else { return Vec::new() };
    match below_filters(logical) {
        Logical::Get(get) => {
            let column = |o: access_path::Ordering| OrderedColumn {
                columns: SmallVec::from_slice(&[o.column]),
                descending: o.descending,
                collation: o.collation,
            };
            access_path::natural_order(get).into_iter().map(column).collect()
        }
        Logical::Join { kind: JoinKind::Inner, left, right, on, hint: Some(JoinHint::Ordered) } => {
            let (left, right) = (natural_order(left, below), natural_order(right, below));
            let equal = |l: &OrderedColumn, r: &OrderedColumn| {
                on.iter().any(|pred| match (pred, estimate::equality(pred)) {
                    (Pred::Compare(c), Some((a, b)))
                        if l.is_under(c.collation) && r.is_under(c.collation) =>
                    {
                        l.columns.contains(&a) && r.columns.contains(&b)
                            || l.columns.contains(&b) && r.columns.contains(&a)
                    }
                    _ => false,
                })
            };
            let mut opposite = None;
            let mut both = |(l, r): (&OrderedColumn, &OrderedColumn)| {
                let differs = l.descending != r.descending;
                *opposite.get_or_insert(differs) == differs && equal(l, r)
            };
            let count = left.iter().zip(&right).take_while(|pair| both(*pair)).count();
            let first = left.first().is_some_and(|o| o.descending);
            let together = |(l, r): (OrderedColumn, OrderedColumn)| OrderedColumn {
                columns: l.columns.into_iter().chain(r.columns).collect(),
                descending: l.descending != first,
                collation: l.collation,
            };
            left.into_iter().zip(right).take(count).map(together).collect()
        }
        Logical::Join { kind, left, hint: None, .. } if *kind != JoinKind::Full => {
            natural_order(left, below)
        }
        _ => Vec::new(),
    }
}

impl Planner<'_, '_> {
    /// A merge of two sides, each in order or sorted.
    pub(super) fn merge(
        &mut self,
        kind: JoinKind,
        left: JoinSide,
        right: JoinSide,
        keys: Equalities,
        merge: &MergeKeys,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        // Rows of one key are kept of the right side: an inner join exchanges them so that there
        // are few.
        let exchange = kind == JoinKind::Inner && left.rows < right.rows;
        let ordered = merge.gives(kind, cx);
        let pairs = merge.pairs(&left, &right, &keys);
        let mirrored;
        let (left, right, keys, merge) = if exchange {
            mirrored = merge.mirrored();
            (right, left, keys.mirrored(), &mirrored)
        } else {
            (left, right, keys, merge)
        };
        let columns = |of: fn(&MergeKey) -> ColId| -> Vec<SortKey> {
            let key = |k: &MergeKey| SortKey {
                expr: Expr::Col(of(k)),
                descending: k.descending,
                collation: k.collation,
            };
            merge.keys.iter().map(key).collect()
        };
        let (by_left, by_right) = (columns(|k| k.left), columns(|k| k.right));
        let left = self.sorted(left, by_left)?;
        let right = self.sorted(right, by_right)?;
        let plan = merge_plan(kind, left, right, keys, (merge, pairs))?;
        Ok(Plan { ordered, ..plan })
    }

    /// A side in the order of columns.
    pub(super) fn sorted(&mut self, side: JoinSide, by: Vec<SortKey>) -> Result<Plan, SqlError> {
        let mut cx = side.context();
        cx.order = by;
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
fn is_read_as_it_lies(side: &JoinSide) -> bool {
    match below_filters(&side.logical) {
        Logical::Get(get) => !access_path::seeks_elsewhere(get, &side.preds),
        _ => false,
    }
}

/// Whether equal values of an expression are those of equal columns.
fn keeps_values(e: &Expr) -> bool {
    match e {
        Expr::Convert(c) => conversions::keeps_values(c.from, c.to),
        _ => true,
    }
}

/// The column whose order is that of an expression.
fn ordering_column(e: &Expr, logical: &Logical) -> Option<ColId> {
    let id = match e {
        Expr::Col(id) => *id,
        Expr::Convert(c) if conversions::keeps_order(c.from, c.to) => match c.operand {
            Expr::Col(id) => id,
            _ => return None,
        },
        _ => return None,
    };
    let get = source(logical, id)?;
    access_path::is_ordering(get, id).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(pair: usize, left: ColId, right: ColId, exact: bool) -> MergeKey {
        MergeKey { pair, left, right, descending: false, collation: Collation::DEFAULT, exact }
    }

    /// Columns of an order, those that descend with a minus.
    fn order(columns: &[i32]) -> Vec<OrderedColumn> {
        let column = |c: &i32| OrderedColumn {
            columns: SmallVec::from_slice(&[c.unsigned_abs()]),
            descending: *c < 0,
            collation: None,
        };
        columns.iter().map(column).collect()
    }

    /// The keys that two orders share, as pairs of columns; the left one with a minus where they
    /// descend.
    fn keys(all: &[MergeKey], left: &[i32], right: &[i32]) -> Vec<(i32, i32)> {
        let sign = |key: &MergeKey| if key.descending { -1 } else { 1 };
        let shown = |key: &MergeKey| (key.left as i32 * sign(key), key.right as i32);
        shared(all, &order(left), &order(right)).iter().map(shown).collect()
    }

    #[test]
    fn keys_are_what_both_orders_begin_with() {
        let all = [key(0, 3, 13, true), key(1, 1, 11, true), key(2, 2, 12, true)];
        assert_eq!(keys(&all, &[1, 2, 3], &[11, 12, 13, 14]), [(1, 11), (2, 12), (3, 13)]);
        assert_eq!(keys(&all, &[1, 2, 3], &[11, 13, 12]), [(1, 11)], "another permutation");
        assert_eq!(
            keys(&all, &[1, 4, 3], &[11, 14, 13]),
            [(1, 11)],
            "a column that is not compared"
        );
        assert!(keys(&all, &[4, 1], &[11, 12]).is_empty());
        // In one direction or both the other way round: an index is read from either end.
        assert_eq!(keys(&all, &[1, -2, 3], &[11, -12, 13]), [(1, 11), (-2, 12), (3, 13)]);
        assert_eq!(keys(&all, &[-1, 2], &[11, -12]), [(1, 11), (-2, 12)]);
        assert_eq!(keys(&all, &[-1, -2], &[11, 12]), [(1, 11), (2, 12)]);
        assert_eq!(keys(&all, &[1, 2], &[11, -12]), [(1, 11)]);
    }

    #[test]
    fn a_key_that_makes_values_equal_is_the_last_one() {
        let all = [key(0, 1, 11, false), key(1, 2, 12, true)];
        assert_eq!(keys(&all, &[1, 2], &[11, 12]), [(1, 11)]);
        assert_eq!(keys(&all, &[2, 1], &[12, 11]), [(2, 12), (1, 11)]);
        let pairs = |all: Vec<MergeKey>| all.iter().map(|key| key.pair).collect::<Vec<_>>();
        let none = [Vec::new(), Vec::new()];
        assert_eq!(pairs(sortable(all.to_vec(), &none)), [1, 0]);
        let two = [key(0, 1, 11, false), key(1, 2, 12, false), key(2, 3, 13, true)];
        assert_eq!(pairs(sortable(two.to_vec(), &none)), [2, 0]);
        // One side need not be sorted.
        let exact = [key(0, 1, 11, true), key(1, 2, 12, true)];
        assert_eq!(pairs(sortable(exact.to_vec(), &[Vec::new(), order(&[12, 11])])), [1, 0]);
    }
}
