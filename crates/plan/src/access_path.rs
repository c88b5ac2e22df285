//! How a table is read: full scan, seek of the clustered index, seek of a nonclustered index with or without a look
//! at the base row; in which order the rows come. Costs are in units of one row of a full scan.

use super::logical::{Get, Logical, SortKey};
use super::physical::pred_slots;
use crate::chance::Chance;
use crate::cost::{COVERED, GROUPED, LOOKUP, SEEK, SORTED, SOUGHT, STREAMED};
use crate::estimate;
use crate::nodes::SeekSpec;
use crate::nodes::{Node, Plan};
use crate::nodes::{Path, ScanPlan};
use crate::statistics::{self, table_rows};
use catalog::IndexDef;
use expr::{ColId, CompareExpr, Expr, Pred, mirrored};
use std::sync::Arc;
use storage::{Base, TableMode, TableStore};
use syntax::ast::CompareOp;
use types::{Collation, DataType, SqlError};

/// What the rest of the plan wants of a table.
pub struct Wishes<'w> {
    pub needed: &'w [ColId],
    pub order: &'w [SortKey],
    /// Rows with the same values of these columns are wanted one after another; no order is asked for then.
    pub grouping: &'w [(ColId, Collation)],
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
    pred: usize,
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

/// Whether columns of a join's inner table can be sought once per outer row, cheaper than a scan of all of it for a hash table.
pub fn can_seek(get: &Get, columns: &[ColId], outer_rows: f64, forced: bool) -> bool {
    let Some(one) = seek_cost(get, columns) else { return false };
    forced || outer_rows * one < table_rows(&get.table) * 2.0
}

/// What it costs to seek the rows with given values of these columns; `None` when no index begins with one of them.
pub fn seek_cost(get: &Get, columns: &[ColId]) -> Option<f64> {
    let positions: Vec<usize> = columns.iter().filter_map(|id| get.position(*id)).collect();
    let table = &get.table;
    let clustered = Some(&table.storage).filter(|s| s.index_id > 0).into_iter();
    let cost = |index: &Arc<IndexDef>| {
        let key: Vec<usize> =
            index.key.iter().map(|(c, _)| *c).take_while(|c| positions.contains(c)).collect();
        if key.is_empty() {
            return None;
        }
        let whole = index.unique && key.len() == index.key.len();
        let rows = if whole { 1.0 } else { rows_per_value(get, &key) };
        let each = if index.index_id == 1 { SOUGHT } else { LOOKUP };
        Some(SEEK + rows * each)
    };
    clustered.chain(&table.indexes).filter_map(cost).reduce(f64::min)
}

/// Rows of a table with one combination of values of these columns, on average.
pub fn rows_per_value(get: &Get, columns: &[usize]) -> f64 {
    let rows = table_rows(&get.table);
    let mut each = columns.iter().map(|at| {
        let measured = statistics::of_column(&get.db, &get.table, *at);
        measured.and_then(|m| m.distinct(1)).unwrap_or_else(|| rows.sqrt())
    });
    let ids: Vec<i32> = columns.iter().map(|at| get.table.columns[*at].column_id).collect();
    let together = match columns {
        [_] => None,
        // The first column's are measured with those of the index that begins with it.
        _ => {
            let first = each.next();
            get.table.state.statistics.distinct(&ids).or(first)
        }
    };
    let distinct = together.unwrap_or_else(|| each.fold(1.0, |all, values| all * values));
    (rows / distinct.max(1.0)).max(1.0)
}

/// The plan of a table's read under conditions on its columns alone.
pub fn plan(
    get: &Get,
    store: Arc<TableStore>,
    preds: Vec<Pred>,
    wishes: &Wishes<'_>,
    chance: &mut Option<Chance>,
) -> Result<Plan, SqlError> {
    let mut tested: Vec<ColId> = Vec::new();
    preds.iter().for_each(|p| p.columns(&mut tested));
    let choice = choose(get, &store, &preds, &tested, wishes, chance);
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

/// What is known while the ways to read a table are compared.
struct Question<'q> {
    get: &'q Get,
    /// The table as a plan, for estimates.
    input: Logical,
    preds: &'q [Pred],
    terms: Terms<'q>,
    wishes: &'q Wishes<'q>,
    /// Rows of the table, and those that satisfy all conditions.
    total: f64,
    rows: f64,
}

/// An index, or the base (`None`), as a way to read a table.
struct Way<'q> {
    def: &'q IndexDef,
    index: Option<usize>,
    /// Its rows are in a tree: it can be sought and gives an order.
    tree: bool,
    /// It holds all wanted columns.
    covering: bool,
}

fn choose(
    get: &Get,
    store: &TableStore,
    preds: &[Pred],
    tested: &[ColId],
    wishes: &Wishes<'_>,
    chance: &mut Option<Chance>,
) -> Choice {
    let terms = terms(get, preds);
    let mut wanted: Vec<usize> =
        wishes.needed.iter().chain(tested).filter_map(|id| get.position(*id)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut ways = Vec::with_capacity(1 + store.indexes.len());
    let clustered = matches!(store.base, Base::Tree(_));
    ways.push(Way { def: &get.table.storage, index: None, tree: clustered, covering: true });
    for (at, index) in store.indexes.iter().enumerate() {
        // An entry's version is of the moment of its row's; a row that is to be changed is always looked at itself.
        let covering = wanted.iter().all(|c| index.position(*c).is_some()) && get.mode != TableMode::Current;
        ways.push(Way { def: &index.def, index: Some(at), tree: true, covering });
    }
    if let Some(hint) = get.hints.index
        && ways.iter().any(|way| way.def.index_id == hint)
    {
        ways.retain(|way| way.def.index_id == hint);
    } else if let Some(chance) = chance {
        let any = chance.one_of(ways.len());
        ways.swap(0, any);
        ways.truncate(1);
    } else if ways.iter().any(|way| way.is_point(&terms)) {
        // One row at most: nothing else has to be weighed, and no statistics have to be asked.
        ways.retain(|way| way.is_point(&terms));
    }
    let input = Logical::Get(Box::new(get.clone()));
    let total = table_rows(&get.table);
    let points = ways.iter().all(|way| way.is_point(&terms));
    let rows = if points { 1.0 } else { (total * estimate::kept(preds, &input)).max(1.0) };
    let question = Question { get, input, preds, terms, wishes, total, rows };
    let choices = ways.iter().map(|way| question.candidate(way));
    let best = choices.reduce(|a, b| if b.cost < a.cost { b } else { a });
    best.unwrap_or_else(Choice::scan)
}

impl Way<'_> {
    /// Whether equalities name a whole unique key.
    fn is_point(&self, terms: &Terms<'_>) -> bool {
        let named = |column: &usize| terms.equal.iter().any(|term| term.column == *column);
        self.tree
            && self.def.unique
            && !self.def.key.is_empty()
            && self.def.key.iter().all(|(column, _)| named(column))
    }
}

impl Choice {
    /// The base, from end to end.
    fn scan() -> Choice {
        Choice {
            index: None,
            seek: SeekSpec::default(),
            used: Vec::new(),
            point: false,
            covering: true,
            ordered: false,
            backward: false,
            rows: 1.0,
            cost: 0.0,
        }
    }
}

impl Question<'_> {
    fn candidate(&self, way: &Way<'_>) -> Choice {
        let mut choice = Choice { index: way.index, covering: way.covering, ..Choice::scan() };
        let mut sought = Vec::new();
        if way.tree {
            self.seek(way, &mut choice, &mut sought);
        }
        // One row by the whole key; a clustered index that is not unique has the uniquifier after it.
        choice.point = way.is_point(&self.terms);
        let fetched = if choice.point { 1.0 } else { self.fetched(way, &choice.seek, &sought) };
        choice.rows = self.rows.min(fetched).max(1.0);
        let wanted = &self.wishes.order;
        let equal = choice.seek.equal.len();
        let (ordered, backward) =
            if way.tree { order(self.get, way.def, equal, choice.point, wanted) } else { (false, false) };
        choice.ordered = ordered && !wanted.is_empty();
        choice.backward = choice.ordered && backward;
        let grouping = self.wishes.grouping;
        if !grouping.is_empty() {
            choice.ordered = way.tree && groups(self.get, way.def, equal, choice.point, grouping);
        }
        let mut read = fetched;
        if let Some(goal) = self.wishes.goal
            && (choice.ordered || wanted.is_empty())
        {
            read = read.min((goal as f64 * (fetched / choice.rows)).max(1.0));
        }
        let per_row = match (way.index, way.covering) {
            (None, _) => 1.0,
            (Some(_), true) => COVERED,
            (Some(_), false) => LOOKUP,
        };
        choice.cost = read * per_row + if choice.seek.is_empty() { 0.0 } else { 3.0 };
        if !wanted.is_empty() && !choice.ordered {
            choice.cost += choice.rows * choice.rows.max(2.0).log2() * SORTED;
        }
        if !grouping.is_empty() {
            choice.cost += choice.rows * if choice.ordered { STREAMED } else { GROUPED };
        }
        // Of two equal costs the seek's is the surer one: it does not grow with the table.
        if !choice.seek.is_empty() {
            choice.cost *= 0.9;
        }
        choice
    }

    /// Adds what the index can be sought by; `sought` gets the conditions.
    fn seek(&self, way: &Way<'_>, choice: &mut Choice, sought: &mut Vec<usize>) {
        let seek = &mut choice.seek;
        for (column, _) in &way.def.key {
            let Some(term) = self.terms.equal.iter().find(|t| t.column == *column) else { break };
            seek.equal.push(term.value.cloned().unwrap_or(Expr::Const(types::Value::Null)));
            seek.null_ok.push(term.value.is_none());
            choice.used.push(term.pred);
        }
        sought.extend(&choice.used);
        if let Some((column, _)) = way.def.key.get(seek.equal.len()) {
            add_range(seek, &self.terms, *column, sought);
        }
    }

    /// Rows that are read when these conditions are sought.
    fn fetched(&self, way: &Way<'_>, seek: &SeekSpec, sought: &[usize]) -> f64 {
        if sought.is_empty() {
            return self.total;
        }
        let rows = self.total * estimate::kept(sought.iter().map(|at| &self.preds[*at]), &self.input);
        let equal: Vec<usize> = way.def.key[..seek.equal.len()].iter().map(|(column, _)| *column).collect();
        // What is known of the columns together is better than what is known of each.
        if equal.len() > 1 && sought.len() == equal.len() {
            return rows_per_value(self.get, &equal).max(1.0);
        }
        rows.max(1.0)
    }
}

/// Adds the range of a key column; `sought` gets its conditions.
fn add_range(seek: &mut SeekSpec, terms: &Terms<'_>, column: usize, sought: &mut Vec<usize>) {
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
            sought.push(term.pred);
        }
    }
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

/// Whether rows of an index with the same values of some columns come one after another: the columns are the next ones of
/// its key, in whatever order. Only of rows that are versions of one moment, as their entries are: what is read in its
/// newest version may lie elsewhere than its entry says.
fn groups(get: &Get, def: &IndexDef, equal: usize, whole: bool, wanted: &[(ColId, Collation)]) -> bool {
    if get.mode != TableMode::Snapshot || get.locks.is_some() {
        return false;
    }
    let bound: Vec<usize> = def.key[..equal].iter().map(|(column, _)| *column).collect();
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
    let key = &def.key[equal..];
    let first = &key[..rest.len().min(key.len())];
    // Behind all of a unique key no two rows are left.
    let all_found = rest.len() <= key.len() || def.unique;
    whole || all_found && first.iter().all(|(column, _)| rest.contains(column))
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
                    terms.range.push(RangeTerm { pred: at, column, op, value });
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
