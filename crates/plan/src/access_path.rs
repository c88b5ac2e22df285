//! How a table is read: full scan, seek of the clustered index, seek of a nonclustered index with or without a look
//! at the base row; in which order the rows come. Costs are in units of one row of a full scan.

use super::logical::{Get, SortKey};
use super::physical::pred_slots;
use crate::nodes::SeekSpec;
use crate::nodes::{Node, Plan};
use crate::nodes::{Path, ScanPlan};
use catalog::{IndexDef, TableDef};
use expr::{ColId, CompareExpr, Expr, Pred, mirrored};
use std::sync::Arc;
use storage::{Base, TableMode, TableStore};
use syntax::ast::CompareOp;
use types::{Collation, DataType, SqlError};

/// What the rest of the plan wants of a table.
pub struct Wishes<'w> {
    pub needed: &'w [ColId],
    pub order: &'w [SortKey],
    pub goal: Option<u64>,
}

/// A key column, equal to something.
struct EqualTerm<'p> {
    pred: usize,
    column: usize,
    value: Option<&'p Expr>,
}

/// One end of a range of a column.
struct RangeTerm<'p> {
    column: usize,
    op: CompareOp,
    value: &'p Expr,
}

/// What the conditions say of single columns.
#[derive(Default)]
struct Terms<'p> {
    equal: Vec<EqualTerm<'p>>,
    range: Vec<RangeTerm<'p>>,
}

/// A way to read the table.
struct Choice {
    /// `None`: the base.
    index: Option<usize>,
    seek: SeekSpec,
    /// Conditions that the seek stands for exactly.
    used: Vec<usize>,
    point: bool,
    covering: bool,
    ordered: bool,
    backward: bool,
    rows: f64,
    cost: f64,
}

/// Rows of a table of which nothing is known.
const UNKNOWN_ROWS: f64 = 10_000.0;

/// Rows of a table as far as known.
pub fn table_rows(table: &TableDef) -> f64 {
    catalog::row_counts::estimate(table).map_or(UNKNOWN_ROWS, |rows| (rows as f64).max(1.0))
}

/// Whether a column of a join's inner table can be sought once per outer row, cheaper than a scan of all of it.
pub fn can_seek(get: &Get, columns: &[ColId], outer_rows: f64, forced: bool) -> bool {
    let positions: Vec<usize> = columns.iter().filter_map(|id| get.position(*id)).collect();
    let table = &get.table;
    let mut clustered = Some(&table.storage).filter(|s| s.index_id > 0).into_iter();
    let mut all = clustered.by_ref().chain(&table.indexes);
    let Some(best) = all.find(|i| i.key.first().is_some_and(|(c, _)| positions.contains(c))) else {
        return false;
    };
    let matched = best.key.iter().take_while(|(c, _)| positions.contains(c)).count();
    let rows = table_rows(table);
    let per_seek = if best.unique && matched == best.key.len() {
        1.0
    } else {
        (rows * 0.1f64.powi(matched as i32)).max(1.0)
    };
    forced || outer_rows * (12.0 + per_seek * 3.0) < rows
}

/// The plan of a table's read under conditions on its columns alone.
pub fn plan(
    get: &Get,
    store: Arc<TableStore>,
    preds: Vec<Pred>,
    wishes: &Wishes<'_>,
) -> Result<Plan, SqlError> {
    let mut tested: Vec<ColId> = Vec::new();
    preds.iter().for_each(|p| p.columns(&mut tested));
    let choice = choose(get, &store, &preds, &tested, wishes);
    let used = choice.used;
    let preds = preds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, p)| p);
    let mut pred = Pred::from_conjuncts(preds.collect());

    // The condition's columns come first: the others are decoded only for rows that satisfy it.
    let mut ids: Vec<ColId> = Vec::new();
    if let Some(pred) = &pred {
        pred.columns(&mut ids);
    }
    ids.retain(|id| *id != get.locator());
    let tested = ids.len();
    for id in wishes.needed {
        if get.position(*id).is_some() && !ids.contains(id) {
            ids.push(*id);
        }
    }
    let locator = wishes.needed.contains(&get.locator());
    let columns: Vec<u16> = ids.iter().filter_map(|id| get.position(*id)).map(|c| c as u16).collect();
    let mut cols = ids;
    if locator {
        cols.push(get.locator());
    }
    if let Some(pred) = &mut pred {
        pred_slots(pred, &cols)?;
    }
    let mut index_columns = Vec::new();
    let path = match choice.index {
        None if choice.seek.is_empty() => Path::Base,
        None if choice.point => Path::Point(choice.seek),
        None => Path::Clustered(choice.seek),
        Some(index) => {
            if choice.covering {
                let entry = &store.indexes[index];
                index_columns = columns
                    .iter()
                    .filter_map(|c| entry.position(usize::from(*c)))
                    .map(|c| c as u16)
                    .collect();
            }
            Path::Index { index, seek: choice.seek, point: choice.point, covering: choice.covering }
        }
    };
    let scan = ScanPlan {
        db: get.db.clone(),
        store,
        mode: get.mode,
        locks: get.locks,
        path,
        backward: choice.backward,
        columns,
        index_columns,
        tested,
        pred,
        locator,
    };
    Ok(Plan { node: Node::Scan(Box::new(scan)), cols, rows: choice.rows, ordered: choice.ordered })
}

fn choose(get: &Get, store: &TableStore, preds: &[Pred], tested: &[ColId], wishes: &Wishes<'_>) -> Choice {
    let terms = terms(get, preds);
    let mut wanted: Vec<usize> =
        wishes.needed.iter().chain(tested).filter_map(|id| get.position(*id)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut choices = Vec::with_capacity(1 + store.indexes.len());
    let clustered = matches!(store.base, Base::Tree(_));
    choices.push(candidate(get, &get.table.storage, None, clustered, true, preds, &terms, wishes));
    for (at, index) in store.indexes.iter().enumerate() {
        // An entry's version is of the moment of its row's; a row that is to be changed is always looked at itself.
        let covering = wanted.iter().all(|c| index.position(*c).is_some()) && get.mode != TableMode::Current;
        choices.push(candidate(get, &index.def, Some(at), true, covering, preds, &terms, wishes));
    }
    if let Some(hint) = get.hints.index {
        let hinted = choices.iter().position(|c| match c.index {
            None => get.table.storage.index_id == hint,
            Some(at) => store.indexes[at].def.index_id == hint,
        });
        if let Some(at) = hinted {
            return choices.swap_remove(at);
        }
    }
    let best = choices.into_iter().reduce(|a, b| if b.cost < a.cost { b } else { a });
    best.unwrap_or(Choice {
        index: None,
        seek: SeekSpec::default(),
        used: Vec::new(),
        point: false,
        covering: true,
        ordered: false,
        backward: false,
        rows: 1.0,
        cost: 0.0,
    })
}

#[allow(clippy::too_many_arguments)] // one candidate's circumstances
fn candidate(
    get: &Get,
    def: &IndexDef,
    index: Option<usize>,
    tree: bool,
    covering: bool,
    preds: &[Pred],
    terms: &Terms<'_>,
    wishes: &Wishes<'_>,
) -> Choice {
    let total = table_rows(&get.table);
    let mut seek = SeekSpec::default();
    let mut used = Vec::new();
    let mut rows = total;
    if tree {
        for (column, _) in &def.key {
            let Some(term) = terms.equal.iter().find(|t| t.column == *column) else { break };
            seek.equal.push(term.value.cloned().unwrap_or(Expr::Const(types::Value::Null)));
            seek.null_ok.push(term.value.is_none());
            used.push(term.pred);
            rows *= 0.1;
        }
        if let Some((column, _)) = def.key.get(seek.equal.len()) {
            rows *= add_range(&mut seek, terms, *column);
        }
    }
    // One row by the whole key; a clustered index that is not unique has the uniquifier after it.
    let whole = tree && seek.equal.len() == def.key.len() && def.unique && !def.key.is_empty();
    if whole {
        rows = 1.0;
    }
    let fetched = rows.max(1.0);
    let sought = !seek.is_empty();
    for _ in preds.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        rows *= 0.5;
    }
    let (ordered, backward) =
        if tree { order(get, def, seek.equal.len(), whole, wishes.order) } else { (false, false) };
    let ordered = ordered && !wishes.order.is_empty();
    let mut read = fetched;
    if let Some(goal) = wishes.goal
        && (ordered || wishes.order.is_empty())
    {
        read = read.min((goal as f64 * (fetched / rows.max(1.0))).max(1.0));
    }
    let per_row = match (index, covering) {
        (None, _) => 1.0,
        (Some(_), true) => 0.3,
        (Some(_), false) => 4.0,
    };
    let mut cost = read * per_row + if sought { 3.0 } else { 0.0 };
    if !wishes.order.is_empty() && !ordered {
        cost += rows.max(1.0) * rows.max(2.0).log2() * 0.3;
    }
    // Without statistics a seek is taken for what it says: it beats a scan even of a small table.
    if sought {
        cost *= 0.9;
    }
    let rows = rows.max(1.0);
    Choice { index, seek, used, point: whole, covering, ordered, backward: ordered && backward, rows, cost }
}

/// Adds the range of a key column; the share of rows that is left.
fn add_range(seek: &mut SeekSpec, terms: &Terms<'_>, column: usize) -> f64 {
    let mut share = 1.0;
    for term in terms.range.iter().filter(|t| t.column == column) {
        let (end, inclusive) = match term.op {
            CompareOp::Greater => (&mut seek.lower, false),
            CompareOp::GreaterEqual => (&mut seek.lower, true),
            CompareOp::Less => (&mut seek.upper, false),
            CompareOp::LessEqual => (&mut seek.upper, true),
            CompareOp::Equal | CompareOp::NotEqual => continue,
        };
        if end.is_none() {
            *end = Some((term.value.clone(), inclusive));
            share *= 0.3;
        }
    }
    share
}

/// Whether the rows of an index come in an order, and whether backwards.
fn order(get: &Get, def: &IndexDef, equal: usize, whole: bool, wanted: &[SortKey]) -> (bool, bool) {
    if whole {
        return (true, false);
    }
    let bound: Vec<usize> = def.key[..equal].iter().map(|(c, _)| *c).collect();
    let mut rest = def.key[equal..].iter();
    let mut backward = None;
    for key in wanted {
        let Expr::Col(id) = key.expr else { return (false, false) };
        let Some(column) = get.position(id) else { return (false, false) };
        if bound.contains(&column) {
            continue;
        }
        let Some((next, descending)) = rest.next() else {
            // All of a unique key is behind us: no two rows are left to be ordered.
            return (def.unique, backward.unwrap_or(false));
        };
        let opposite = *descending != key.descending;
        let same_collation =
            !get.table.columns[column].ty.is_string() || get.table.columns[column].collation == key.collation;
        if *next != column || !same_collation || *backward.get_or_insert(opposite) != opposite {
            return (false, false);
        }
    }
    (true, backward.unwrap_or(false))
}

fn terms<'p>(get: &Get, preds: &'p [Pred]) -> Terms<'p> {
    let mut terms = Terms::default();
    for (at, pred) in preds.iter().enumerate() {
        match pred {
            Pred::IsNull(e, false) => {
                if let Expr::Col(id) = **e
                    && let Some(column) = get.position(id)
                {
                    terms.equal.push(EqualTerm { pred: at, column, value: None });
                }
            }
            Pred::Compare(c) => {
                let Some((column, op, value)) = sargable(get, c) else { continue };
                if op == CompareOp::Equal {
                    terms.equal.push(EqualTerm { pred: at, column, value: Some(value) });
                } else if op != CompareOp::NotEqual {
                    terms.range.push(RangeTerm { column, op, value });
                }
            }
            _ => {}
        }
    }
    terms
}

/// A comparison of a column with something that does not depend on the row.
fn sargable<'p>(get: &Get, c: &'p CompareExpr) -> Option<(usize, CompareOp, &'p Expr)> {
    let one = |column: &Expr, op: CompareOp, value: &'p Expr| {
        let column = seekable_column(get, column, c.collation)?;
        (value.is_row_free() && !value.is_volatile()).then_some((column, op, value))
    };
    one(&c.left, c.op, &c.right).or_else(|| one(&c.right, mirrored(c.op), &c.left))
}

/// The column itself, or widened in a way that keeps its order.
fn seekable_column(get: &Get, e: &Expr, collation: Collation) -> Option<usize> {
    match e {
        Expr::Col(id) => {
            let column = get.position(*id)?;
            let def = &get.table.columns[column];
            (!def.ty.is_string() || def.collation == collation).then_some(column)
        }
        Expr::Convert(c) if keeps_order(c.from, c.to) => match &c.operand {
            Expr::Col(id) => get.position(*id),
            _ => None,
        },
        _ => None,
    }
}

fn keeps_order(from: DataType, to: DataType) -> bool {
    let exact = |ty: DataType| ty.is_number() && !matches!(ty, DataType::Float | DataType::Real);
    let dated = |ty: DataType| ty.is_temporal() && !matches!(ty, DataType::Time(_));
    (exact(from) && to.is_number()) || (dated(from) && dated(to))
}
