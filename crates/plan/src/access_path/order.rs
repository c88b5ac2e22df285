//! In which order the rows of an index come: for ORDER BY, for groups, for merges.

use super::AccessWay;
use expr::{ColId, Expr};
use logical::hints::RowLocks;
use logical::order::SortKey;
use logical::tree::Get;
use storage::TableMode;
use types::{Collation, DataType};

impl AccessWay<'_> {
    /// What orders its rows when so many first columns have one value each. A column that stands
    /// there a second time orders nothing.
    fn order_after(&self, equal: usize) -> Vec<(usize, bool)> {
        let mut order = self.order[equal.min(self.order.len())..].to_vec();
        let mut seen: Vec<usize> =
            self.order[..equal.min(self.order.len())].iter().map(|(c, _)| *c).collect();
        order.retain(|(column, _)| {
            let is_new = !seen.contains(column);
            seen.push(*column);
            is_new
        });
        order
    }

    /// Whether no two rows are the same in all that orders it.
    fn orders_wholly(&self, get: &Get) -> bool {
        let table = &get.table;
        self.def.unique
            || (self.index.is_some() && table.storage.index_id > 0 && table.storage.unique)
    }
}

/// Whether the rows of an index come in an order, and whether backwards.
pub(super) fn order(
    get: &Get,
    way: &AccessWay<'_>,
    equal: usize,
    whole: bool,
    wanted: &[SortKey],
) -> (bool, bool) {
    if whole {
        return (true, false);
    }
    let bound: Vec<usize> = way.order[..equal].iter().map(|(c, _)| *c).collect();
    let rest = way.order_after(equal);
    let mut rest = rest.iter();
    let mut backward = None;
    for key in wanted {
        let Expr::Col(id) = key.expr else { return (false, false) };
        let Some(column) = get.position(id) else { return (false, false) };
        if bound.contains(&column) {
            continue;
        }
        let Some((next, descending)) = rest.next() else {
            // All of a unique key is behind us: no two rows are left to be ordered.
            return (way.orders_wholly(get), backward.unwrap_or(false));
        };
        let opposite = *descending != key.descending;
        let same_collation = !get.table.columns[column].ty.is_string()
            || get.table.columns[column].collation == key.collation;
        if *next != column || !same_collation || *backward.get_or_insert(opposite) != opposite {
            return (false, false);
        }
    }
    (true, backward.unwrap_or(false))
}

/// Whether the rows that a read gives are versions of one moment, as their index entries are: what
/// is read in its newest version may lie elsewhere than its entry says.
pub(super) fn is_of_one_moment(get: &Get) -> bool {
    get.mode == TableMode::Snapshot && get.locks.is_none()
}

/// Whether what a way gives lies where its keys say. Under locks the rows of the clustered index
/// do, as each is read again by its key; so do entries that stand for their rows and stay as they
/// are. A row that is looked up behind an entry may have another value by then.
pub(super) fn lies_by_key(get: &Get, way: &AccessWay<'_>) -> bool {
    let entries = |locks: RowLocks| way.covering && (locks.range || locks.hold);
    is_of_one_moment(get) || get.locks.is_some_and(|locks| way.index.is_none() || entries(locks))
}

/// Whether joins can go by the order of a column.
pub fn is_ordering(get: &Get, id: ColId) -> bool {
    let ty = get.position(id).map(|column| get.table.columns[column].ty);
    ty.is_some_and(|ty| !ty.is_lob() && !ty.is_binary() && ty != DataType::SqlVariant)
}

/// A column of an order that rows come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordering {
    pub column: ColId,
    pub descending: bool,
    /// What texts are compared under; none of other types.
    pub collation: Option<Collation>,
}

impl Ordering {
    /// Whether the order is that of comparisons under a collation.
    pub fn is_under(&self, collation: Collation) -> bool {
        self.collation.is_none_or(|own| own == collation)
    }
}

/// The columns by which the rows of the clustered index come in order, as far as joins can go by
/// them.
pub fn natural_order(get: &Get) -> Vec<Ordering> {
    let storage = &get.table.storage;
    let hinted = get.hints.access.index.is_some_and(|hint| hint != storage.index_id);
    // As `lies_by_key` of the clustered index.
    let lies = is_of_one_moment(get) || get.locks.is_some();
    if !lies || storage.index_id <= 0 || hinted {
        return Vec::new();
    }
    let column = |(at, descending): &(usize, bool)| {
        let def = &get.table.columns[*at];
        let collation = def.ty.is_string().then_some(def.collation);
        Ordering { column: get.first + *at as ColId, descending: *descending, collation }
    };
    storage
        .key
        .iter()
        .map(column)
        .take_while(|ordering| is_ordering(get, ordering.column))
        .collect()
}

/// Whether rows of an index with the same values of some columns come one after another: the
/// columns are the next ones of its order, in whatever order. Only of rows that lie where their
/// keys say ([`lies_by_key`]).
pub(super) fn groups(
    get: &Get,
    way: &AccessWay<'_>,
    equal: usize,
    whole: bool,
    wanted: &[(ColId, Collation)],
) -> bool {
    if !lies_by_key(get, way) {
        return false;
    }
    let bound: Vec<usize> = way.order[..equal].iter().map(|(column, _)| *column).collect();
    let mut rest: Vec<usize> = Vec::new();
    for (id, collation) in wanted {
        let Some(column) = get.position(*id) else { return false };
        let def = &get.table.columns[column];
        if def.ty.is_string() && def.collation != *collation {
            return false;
        }
        if !bound.contains(&column) && !rest.contains(&column) {
            rest.push(column);
        }
    }
    let order = way.order_after(equal);
    let first = &order[..rest.len().min(order.len())];
    // Behind all of a unique key no two rows are left.
    let all_found = rest.len() <= order.len() || way.orders_wholly(get);
    whole || all_found && first.iter().all(|(column, _)| rest.contains(column))
}
