//! How many rows a logical plan gives, from the number of rows of its tables and the shape of its conditions. There are no
//! statistics of columns yet: a column of a unique index is known to be distinct, everything else is a guess by the kind of
//! condition.
//! Guarantee: an estimate is finite and at least 1.

use crate::access_path::table_rows;
use crate::logical::{Get, JoinKind, Logical};
use catalog::IndexDef;
use expr::{ColId, CompareExpr, Expr, Pred};
use syntax::ast::CompareOp;

/// Share of the rows that a condition keeps, by its kind.
const EQUAL: f64 = 0.05;
const RANGE: f64 = 0.3;
const LIKE: f64 = 0.1;
const OTHER: f64 = 0.3;
/// Rows of a system view.
const VIEW_ROWS: f64 = 100.0;

/// The rows of a plan.
pub fn rows(logical: &Logical) -> f64 {
    let rows = match logical {
        Logical::One => 1.0,
        Logical::Get(get) => table_rows(&get.table),
        Logical::View(_) => VIEW_ROWS,
        Logical::Work(work) => work.rows,
        Logical::Recursive { anchor, .. } => rows(&anchor.0) * 10.0,
        Logical::Values { rows, .. } => rows.len() as f64,
        Logical::Filter { input, preds } => rows(input) * kept(preds, input),
        Logical::Join { kind, left, right, on, .. } => {
            let (l, r) = (rows(left), rows(right));
            match kind {
                JoinKind::Semi | JoinKind::Anti => l * 0.5,
                JoinKind::Inner => joined(l, left, r, right, on),
                JoinKind::Left => joined(l, left, r, right, on).max(l),
                JoinKind::Full => joined(l, left, r, right, on).max(l).max(r),
            }
        }
        Logical::Apply { left, right, .. } => rows(left) * rows(right),
        Logical::Project { input, .. } | Logical::Window { input, .. } | Logical::Sort { input, .. } => {
            rows(input)
        }
        Logical::Aggregate { scalar: true, .. } => 1.0,
        Logical::Aggregate { input, .. } => rows(input) * 0.2,
        Logical::Distinct { input, .. } => rows(input) * 0.5,
        Logical::Top { input, top } => {
            let count = top.count.as_ref().and_then(Expr::as_const).and_then(types::Value::as_i64);
            count.filter(|_| !top.percent).map_or(rows(input), |n| rows(input).min(n as f64))
        }
        Logical::Concat { inputs, .. } => inputs.iter().map(|(input, _)| rows(input)).sum(),
        Logical::SetOp { left, .. } => rows(&left.0),
    };
    rows.clamp(1.0, 1e30)
}

/// The share of a plan's rows that conditions keep together: the most selective counts in full, each further one by the
/// square root of what the one before it did, because conditions of one table depend on each other (SQL Server's
/// exponential back-off).
pub fn kept(preds: &[Pred], input: &Logical) -> f64 {
    let mut shares: Vec<f64> = preds.iter().map(|pred| share(pred, input)).collect();
    shares.sort_by(f64::total_cmp);
    let mut weight = 1.0;
    shares.iter().take(4).fold(1.0, |all, share| {
        let all = all * share.powf(weight);
        weight /= 2.0;
        all
    })
}

fn share(pred: &Pred, input: &Logical) -> f64 {
    match pred {
        Pred::Const(Some(true)) => 1.0,
        Pred::Const(_) => 0.0,
        Pred::Compare(c) => compared(c, input),
        Pred::And(list) => kept(list, input),
        Pred::Or(list) => list.iter().map(|p| share(p, input)).sum::<f64>().min(0.9),
        Pred::Not(p) => (1.0 - share(p, input)).max(0.05),
        Pred::IsNull(_, negated) => {
            if *negated {
                0.9
            } else {
                LIKE
            }
        }
        Pred::Like(like) => {
            if like.negated {
                1.0 - LIKE
            } else {
                LIKE
            }
        }
        Pred::InList(list) => {
            let share = (EQUAL * list.list.len() as f64).min(0.5);
            if list.negated { 1.0 - share } else { share }
        }
        Pred::Distinct(..) | Pred::Exists(_) | Pred::Quantified(_) => OTHER,
    }
}

fn compared(c: &CompareExpr, input: &Logical) -> f64 {
    let column = match (&c.left, &c.right) {
        (Expr::Col(id), other) | (other, Expr::Col(id)) if !matches!(other, Expr::Col(_)) => Some(*id),
        _ => None,
    };
    match c.op {
        CompareOp::Equal => {
            let distinct = column.and_then(|id| unique_rows(input, &[id]));
            distinct.map_or(EQUAL, |rows| 1.0 / rows)
        }
        CompareOp::NotEqual => 0.9,
        _ => RANGE,
    }
}

/// The rows of the base table in `logical` (below filters) of which these columns are a unique key.
pub fn unique_rows(logical: &Logical, columns: &[ColId]) -> Option<f64> {
    let get = base(logical)?;
    let positions: Vec<usize> = columns.iter().filter_map(|id| get.position(*id)).collect();
    let covered = |index: &IndexDef| {
        index.unique && !index.key.is_empty() && index.key.iter().all(|(c, _)| positions.contains(c))
    };
    let mut all = get.table.indexes.iter().chain([&get.table.storage]);
    all.any(|index| covered(index)).then(|| table_rows(&get.table))
}

/// The base table below filters.
pub fn base(logical: &Logical) -> Option<&Get> {
    match logical {
        Logical::Get(get) => Some(get),
        Logical::Filter { input, .. } => base(input),
        _ => None,
    }
}

/// Different values of a column, as a guess: all rows of a unique one, the square root of the rows otherwise.
pub fn distinct(logical: &Logical, rows: f64, id: ColId) -> f64 {
    let known = unique_rows(logical, &[id]);
    let table = base(logical).map_or(rows, |get| table_rows(&get.table));
    known.unwrap_or_else(|| table.sqrt()).min(rows).max(1.0)
}

/// The rows of an inner join of two plans with these rows.
pub fn joined(l: f64, left: &Logical, r: f64, right: &Logical, on: &[Pred]) -> f64 {
    let (mut left_ids, mut right_ids) = (Vec::new(), Vec::new());
    left.offers(&mut left_ids);
    right.offers(&mut right_ids);
    let (mut pairs, mut others) = (Vec::new(), 0);
    for pred in on {
        match equality(pred) {
            Some((a, b)) if left_ids.contains(&a) && right_ids.contains(&b) => pairs.push((a, b)),
            Some((a, b)) if left_ids.contains(&b) && right_ids.contains(&a) => pairs.push((b, a)),
            _ => others += 1,
        }
    }
    let of_left: Vec<ColId> = pairs.iter().map(|(a, _)| *a).collect();
    let of_right: Vec<ColId> = pairs.iter().map(|(_, b)| *b).collect();
    let all = l * r * OTHER.powi(others);
    if pairs.is_empty() {
        return all;
    }
    // A key on one side: each row of the other finds at most one.
    let keys = [unique_rows(right, &of_right), unique_rows(left, &of_left)];
    if let Some(rows) = keys.into_iter().flatten().reduce(f64::max) {
        return all / rows;
    }
    let mut weight = 1.0;
    pairs.iter().fold(all, |rows, (a, b)| {
        let most = distinct(left, l, *a).max(distinct(right, r, *b));
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
