//! How many rows a logical plan gives, from the number of rows of its tables, what is known of
//! their values ([`crate::statistics`]) and the shape of its conditions. Guarantee: an estimate is
//! finite and at least 1.

pub(crate) mod constant;
mod filtered;
mod having;
mod pairs;
mod said;
mod share;

use crate::statistics::{self, table_rows};
use crate::view_seek;
use catalog::IndexDef;
use expr::{ColId, Expr, Pred};
use logical::tree::input::Input;
use logical::tree::sources::{Grouped, origin, side_of};
use logical::tree::{Get, JoinKind, Logical};
pub use pairs::pairs;
pub use said::{common_values, fixed_by, is_fixed, limited_by, values_left};
pub use share::{kept, share};
use syntax::ast::CompareOp;

/// The rows of a node's input.
fn rows_of(input: &Input) -> f64 {
    input.rows(rows)
}

/// The rows of a plan.
pub fn rows(logical: &Logical) -> f64 {
    stack::with_room(|| {
        let rows = match logical {
            Logical::One => 1.0,
            Logical::Get(get) => table_rows(&get.table),
            Logical::View(view) => view.view.expected_rows(&view.db),
            Logical::Work(work) => work.rows,
            Logical::Routine(scan) => scan.rows,
            Logical::Recursive { anchor, .. } => rows(&anchor.0) * 10.0,
            Logical::Values { rows, .. } => rows.len() as f64,
            Logical::Filter { input, preds } => rows_of(input) * kept(preds, input),
            Logical::Join { kind, left, right, on, .. } => {
                let (left, right) = (
                    Side { logical: left, preds: &[], rows: rows_of(left) },
                    Side { logical: right, preds: &[], rows: rows_of(right) },
                );
                join_rows(*kind, &left, &right, on)
            }
            Logical::Apply { left, right, .. } => rows_of(left) * rows_of(right),
            Logical::Project { input, .. }
            | Logical::Window { input, .. }
            | Logical::Sort { input, .. } => rows_of(input),
            Logical::Aggregate { scalar: true, .. } => 1.0,
            Logical::Aggregate { input, keys, .. } => groups(
                (input, rows_of(input)),
                keys.iter().map(|key| match key.expr {
                    Expr::Col(id) => Some(id),
                    _ => None,
                }),
            ),
            Logical::Distinct { input, cols } => {
                groups((input, rows_of(input)), cols.iter().map(|(id, _)| Some(*id)))
            }
            Logical::Top { input, top } => {
                let count =
                    top.count.as_ref().and_then(Expr::as_const).and_then(types::Value::as_i64);
                let all = rows_of(input);
                count.filter(|_| !top.percent).map_or(all, |n| all.min(n as f64))
            }
            Logical::Document { .. } => 1.0,
            Logical::Concat { inputs, .. } => inputs.iter().map(|(input, _)| rows(input)).sum(),
            Logical::SetOp { left, .. } => rows(&left.0),
        };
        rows.clamp(1.0, 1e30)
    })
}

/// The rows of the base table in `logical` (below filters) of which these columns are a unique key.
pub(crate) fn unique_rows(logical: &Logical, columns: &[ColId]) -> Option<f64> {
    let get = base(logical)?;
    let positions: Vec<usize> = columns.iter().filter_map(|id| get.position(*id)).collect();
    let covered = |index: &IndexDef| {
        index.is_key()
            && !index.key.is_empty()
            && index.key.iter().all(|(c, _)| positions.contains(c))
    };
    let mut all = get.table.indexes.iter().chain([&get.table.storage]);
    all.any(|index| covered(index)).then(|| table_rows(&get.table))
}

/// One side of a join, the conditions that go down to it, and its rows under them.
pub struct Side<'l> {
    pub logical: &'l Logical,
    pub preds: &'l [Pred],
    pub rows: f64,
}

/// The rows of a join.
pub(crate) fn join_rows(kind: JoinKind, left: &Side<'_>, right: &Side<'_>, on: &[Pred]) -> f64 {
    if kind != JoinKind::Full && on.iter().any(|pred| of_one_column(pred).is_some()) {
        return with_own(kind, left, right, on);
    }
    let (l, r) = (left.rows, right.rows);
    let both = || joined(left, right, on);
    let matched = || matched(left, right, on);
    let rows = match kind {
        JoinKind::Semi => l * matched(),
        JoinKind::Anti => l * (1.0 - matched()).max(LEAST_UNMATCHED),
        JoinKind::Inner => both(),
        JoinKind::Left => both().max(l),
        JoinKind::Full => both().max(l).max(r),
    };
    rows.clamp(1.0, 1e30)
}

/// The column of a condition that says its value or limits it.
fn of_one_column(pred: &Pred) -> Option<ColId> {
    fixed_by(pred).map(|(id, ..)| id).or_else(|| limited_by(pred).map(|(id, _)| id))
}

/// The rows of a join whose condition has parts of one column: they are conditions on its sides,
/// but that a left row which is kept anyhow stays.
fn with_own(kind: JoinKind, left: &Side<'_>, right: &Side<'_>, on: &[Pred]) -> f64 {
    let (own, on): (Vec<Pred>, Vec<Pred>) =
        on.iter().cloned().partition(|pred| of_one_column(pred).is_some());
    let left_ids = left.logical.columns();
    let (mut of_left, mut of_right): (Vec<Pred>, Vec<Pred>) = own
        .into_iter()
        .partition(|pred| of_one_column(pred).is_some_and(|id| left_ids.contains(id)));
    if matches!(kind, JoinKind::Left | JoinKind::Anti) {
        of_left.clear();
    }
    let rows = [
        (left.rows * kept(&of_left, left.logical)).max(1.0),
        (right.rows * kept(&of_right, right.logical)).max(1.0),
    ];
    of_left.extend_from_slice(left.preds);
    of_right.extend_from_slice(right.preds);
    let left = Side { logical: left.logical, preds: &of_left, rows: rows[0] };
    let right = Side { logical: right.logical, preds: &of_right, rows: rows[1] };
    join_rows(kind, &left, &right, &on)
}

/// The node below filters.
pub(crate) fn below_filters(mut logical: &Logical) -> &Logical {
    while let Logical::Filter { input, .. } = logical {
        logical = input;
    }
    logical
}

/// The base table below filters.
pub fn base(logical: &Logical) -> Option<&Get> {
    match below_filters(logical) {
        Logical::Get(get) => Some(get),
        _ => None,
    }
}

/// Different values of a column by which a system view seeks, of all its rows, and these rows.
fn view_values(logical: &Logical, id: ColId) -> Option<(f64, f64)> {
    stack::with_room(|| match logical {
        Logical::View(view) => {
            let at = id.checked_sub(view.first)? as usize;
            let rows = view.view.expected_rows(&view.db);
            view.view.sought().contains(&at).then(|| ((rows / view_seek::FOUND).max(1.0), rows))
        }
        Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Sort { input, .. } => view_values(input, id),
        Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
            view_values(side_of(left, right, id, view_values), id)
        }
        _ => None,
    })
}

/// Different values of a column of a base table, of all its rows.
fn values_of(get: &Get, id: ColId) -> Option<f64> {
    let at = get.position(id)?;
    let unique =
        |index: &IndexDef| index.is_key() && matches!(index.key[..], [(column, _)] if column == at);
    if get.table.indexes.iter().chain([&get.table.storage]).any(|index| unique(index)) {
        return Some(table_rows(&get.table));
    }
    statistics::of_column(&get.db, &get.table, at)?.distinct(1)
}

/// Different values of a column in `rows` rows of a plan: those of its table, as far as so many
/// rows can show them. Without statistics the square root of the table's rows. A grouping keeps all
/// values of its keys.
pub fn distinct(logical: &Logical, rows: f64, id: ColId) -> f64 {
    distinct_among(logical, rows, id, 1.0)
}

/// As [`distinct`], of a side of a join by the column, where the limits of both sides leave this
/// share of its values.
pub(crate) fn distinct_of(side: &Side<'_>, id: ColId, left: f64) -> f64 {
    distinct_among(side.logical, side.rows, id, left)
}

/// As [`distinct`], where this share of the values is left.
fn distinct_among(logical: &Logical, rows: f64, id: ColId, left: f64) -> f64 {
    let Some(origin) = origin(logical, id) else {
        return match view_values(logical, id) {
            Some((values, all)) => shown(values, all, rows),
            None => rows.sqrt().max(1.0),
        };
    };
    let table = table_rows(&origin.get.table);
    let values = values_of(origin.get, origin.column).unwrap_or_else(|| table.sqrt());
    match origin.grouped {
        None => shown((values * left).max(1.0), (table * left).max(1.0), rows),
        Some(Grouped { groups, input }) => {
            let grouped = shown(values, table, rows_of(input));
            shown(grouped, groups.map_or(rows, rows_of), rows)
        }
    }
}

/// How many of `values` different values, each in equally many of `table` rows, are among `rows` of
/// them.
fn shown(values: f64, table: f64, rows: f64) -> f64 {
    if rows >= table {
        return values.min(rows).max(1.0);
    }
    // None of the rows of one value is taken: the power of the share that is not taken.
    let each = (table / values.max(1.0)).max(1.0);
    let missed = (1.0 - rows / table).powf(each);
    (values * (1.0 - missed)).min(rows).max(1.0)
}

/// So many columns of groups count: what further ones would add is nothing.
const MOST_COUNTED: usize = 256;

/// Groups of a plan's rows, which are so many, by columns (`None`: an expression). Each further
/// column counts for a little less: columns depend on each other.
pub fn groups((input, rows): (&Logical, f64), columns: impl Iterator<Item = Option<ColId>>) -> f64 {
    let mut each: Vec<f64> = columns
        .take(MOST_COUNTED)
        .map(|id| id.map_or_else(|| rows.sqrt(), |id| distinct(input, rows, id)))
        .collect();
    each.sort_by(|a, b| b.total_cmp(a));
    let mut weight = 1.0;
    let all = each.iter().fold(1.0, |all, values| {
        let all = all * values.powf(weight);
        weight *= 0.9;
        all
    });
    // A combination shows up when one of the rows has it.
    let seen = if all < rows * 1e-3 { all } else { all * (1.0 - (-rows / all).exp()) };
    seen.clamp(1.0, rows.max(1.0))
}

/// At least this share of the rows of an anti join has no match.
const LEAST_UNMATCHED: f64 = 0.05;

/// The share of the left rows that have a match: the values of the right side among those that the
/// left's table has.
fn matched(left: &Side<'_>, right: &Side<'_>, on: &[Pred]) -> f64 {
    let left_ids = left.logical.columns();
    let (mut share, mut others): (f64, i32) = (1.0, 0);
    for pred in on {
        match equality(pred) {
            Some((a, b)) => {
                let (own, other) = if left_ids.contains(a) { (a, b) } else { (b, a) };
                let all = origin(left.logical, own).and_then(|of| values_of(of.get, of.column));
                let common = common_values(left, right, &[(own, other)]);
                let all = all.map(|all| (all * common).max(1.0));
                let there = distinct_of(right, other, common);
                share = share.min(all.map_or(0.5, |all| there / all.max(there)));
            }
            None => others += 1,
        }
    }
    (share * 0.9f64.powi(others)).clamp(0.0, 1.0)
}

/// The rows of an inner join.
fn joined(left: &Side<'_>, right: &Side<'_>, on: &[Pred]) -> f64 {
    if on.is_empty() {
        return left.rows * right.rows;
    }
    let (left_ids, right_ids) = (left.logical.columns(), right.logical.columns());
    let (mut pairs, mut others) = (Vec::new(), 0);
    for pred in on {
        match equality(pred) {
            Some((a, b)) if left_ids.contains(a) && right_ids.contains(b) => pairs.push((a, b)),
            Some((a, b)) if left_ids.contains(b) && right_ids.contains(a) => pairs.push((b, a)),
            _ => others += 1,
        }
    }
    // What has one value on both sides is equal anyhow.
    let fixed = |side: &Side<'_>, id| is_fixed(side.logical, side.preds, id);
    pairs.retain(|(a, b)| !(fixed(left, *a) && fixed(right, *b)));
    let of_left: Vec<ColId> = pairs.iter().map(|(a, _)| *a).collect();
    let of_right: Vec<ColId> = pairs.iter().map(|(_, b)| *b).collect();
    let all = left.rows * right.rows * share::OTHER.powi(others);
    if pairs.is_empty() {
        return all;
    }
    // A key on one side: each row of the other finds at most one.
    let keys = [unique_rows(right.logical, &of_right), unique_rows(left.logical, &of_left)];
    if let Some(rows) = keys.into_iter().flatten().reduce(f64::max) {
        return all / (rows * common_values(left, right, &pairs)).max(1.0);
    }
    let mut weight = 1.0;
    pairs.iter().fold(all, |rows, (a, b)| {
        let common = common_values(left, right, &[(*a, *b)]);
        let most = distinct_of(left, *a, common).max(distinct_of(right, *b, common));
        let next = rows / most.powf(weight);
        weight /= 2.0;
        next
    })
}

/// The two columns that a condition says are equal.
pub fn equality(pred: &Pred) -> Option<(ColId, ColId)> {
    match pred {
        Pred::Compare(c) if c.op == CompareOp::Equal => match (&c.left, &c.right) {
            (Expr::Col(a), Expr::Col(b)) => Some((*a, *b)),
            _ => None,
        },
        _ => None,
    }
}
