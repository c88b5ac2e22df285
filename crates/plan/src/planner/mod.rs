//! From the logical to the physical plan: conditions go down to where their columns come from,
//! columns that nobody needs are left out, joins get their operator (`joins`), tables their access
//! path (`access_path`). Choices follow simple rules over row estimates.

use crate::columns::exactly;
use crate::nodes::{Node, Plan};
use crate::statement::Statement;
use expr::{ColId, Expr, Pred};
use logical::columns::ColumnSet;
use logical::order::SortKey;
use logical::slots::slots;
use logical::tree::{JoinKind, Logical};
use stack::Nested;
use std::collections::{HashMap, HashSet};
use types::{Collation, SqlError};

pub mod concat;
pub mod filter;
mod groups;
mod joins;
mod order;
mod same_keys;
mod sources;

use self::joins::{Join, apply_plan, sorted_down};
use self::sources::kept;

/// So many ids are looked through faster than a table of them is made.
const FEW_IDS: usize = 16;

/// The planner of a statement.
pub struct Planner<'b, 'a> {
    pub statement: &'b mut Statement<'a>,
}

/// What the node above wants.
#[derive(Clone, Default)]
pub(super) struct Context {
    pub needed: Vec<ColId>,
    pub order: Vec<SortKey>,
    /// Rows with the same values of these columns are wanted one after another. Not beside an
    /// order.
    pub grouping: Vec<(ColId, Collation)>,
    pub goal: Option<u64>,
    /// The order has to be that of the rows as they are read, not only of what led to them.
    pub exact: bool,
}

impl Context {
    pub fn with(&self, preds: &[Pred]) -> Context {
        let mut context = self.clone();
        preds.iter().for_each(|p| p.columns(&mut context.needed));
        only_once(&mut context.needed);
        context
    }

    fn unordered(&self) -> Context {
        Context { needed: self.needed.clone(), ..Context::default() }
    }
}

/// Leaves each id at its first place alone.
fn only_once(ids: &mut Vec<ColId>) {
    if ids.len() > FEW_IDS {
        let mut known = HashSet::with_capacity(ids.len());
        return ids.retain(|id| known.insert(*id));
    }
    let mut at = 0;
    while at < ids.len() {
        match ids[..at].contains(&ids[at]) {
            true => drop(ids.remove(at)),
            false => at += 1,
        }
    }
}

impl Planner<'_, '_> {
    /// Plans a whole query.
    pub fn plan(
        &mut self,
        logical: Logical,
        needed: &[ColId],
        goal: Option<u64>,
    ) -> Result<Plan, SqlError> {
        let context = Context { needed: needed.to_vec(), goal, ..Context::default() };
        self.node(logical, Vec::new(), &context)
    }

    /// Plans what runs for each row of something else, or in each round.
    pub(super) fn again_and_again(
        &mut self,
        plan: impl FnOnce(&mut Self) -> Result<Plan, SqlError>,
    ) -> Result<Plan, SqlError> {
        self.statement.inner_plans += 1;
        let planned = plan(self);
        self.statement.inner_plans -= 1;
        planned
    }

    /// Plans a node under conditions that its rows must satisfy.
    fn node(&mut self, logical: Logical, preds: Vec<Pred>, cx: &Context) -> Result<Plan, SqlError> {
        stack::with_room(|| {
            self.statement.check_cancel()?;
            match logical {
                Logical::One => self
                    .above(Plan { node: Node::One, cols: vec![], rows: 1.0, ordered: true }, preds),
                Logical::Get(get) => self.get(get, preds, cx),
                Logical::View(view) => self.view(view, preds, cx),
                Logical::Routine(scan) => {
                    let (rows, (cols, keep)) =
                        (scan.rows, kept(scan.first, scan.width, &cx.with(&preds)));
                    self.above(
                        Plan { node: Node::Routine { scan, keep }, cols, rows, ordered: false },
                        preds,
                    )
                }
                Logical::Work(work) => {
                    let (cols, keep) = kept(work.first, work.width, &cx.with(&preds));
                    let node = Node::Work { source: work.source, keep };
                    self.above(Plan { node, cols, rows: work.rows, ordered: false }, preds)
                }
                Logical::Recursive { anchor, steps, cols, work, limit } => {
                    let (anchor, ids) = anchor.into_inner();
                    let anchor = Nested::new(self.branch(anchor, &ids)?);
                    let mut plans = Vec::with_capacity(steps.len());
                    for (step, ids) in steps.into_inner() {
                        plans.push(self.again_and_again(|planner| planner.branch(step, &ids))?);
                    }
                    let rows = anchor.rows * 10.0;
                    let node = Node::Recursive { anchor, steps: Nested::new(plans), work, limit };
                    self.above(Plan { node, cols, rows, ordered: false }, preds)
                }
                Logical::Values { rows, cols } => {
                    let count = rows.len() as f64;
                    self.above(
                        Plan { node: Node::Values(rows), cols, rows: count, ordered: false },
                        preds,
                    )
                }
                Logical::Filter { input, preds: own } => {
                    // What a view or a security policy says of a table's rows is asked first: the
                    // others must not stumble over rows that are not seen.
                    let (mut all, more) =
                        if matches!(*input, Logical::Get(_)) { (own, preds) } else { (preds, own) };
                    all.extend(more);
                    self.filter(input.into_inner(), all, cx)
                }
                Logical::Join { kind, left, right, on, hint } => self.join(
                    Join { kind, left: left.into_inner(), right: right.into_inner(), on, hint },
                    preds,
                    cx,
                ),
                Logical::Apply { outer, left, right, args } => {
                    self.apply(outer, left.into_inner(), right.into_inner(), args, preds, cx)
                }
                Logical::Project { input, exprs } => {
                    self.project(input.into_inner(), exprs, preds, cx)
                }
                Logical::Aggregate { input, keys, aggregates, scalar, totals } => self.aggregate(
                    input.into_inner(),
                    (keys, aggregates),
                    (scalar, totals),
                    preds,
                    cx,
                ),
                Logical::Window { input, calls } => {
                    self.window(input.into_inner(), calls, preds, cx)
                }
                Logical::Distinct { input, cols } => {
                    self.distinct(input.into_inner(), &cols, preds)
                }
                Logical::Sort { input, keys } => self.sort(input.into_inner(), keys, preds, cx),
                Logical::Top { input, top } => {
                    let plan = self.top(input.into_inner(), top, &cx.with(&preds))?;
                    self.above(plan, preds)
                }
                Logical::Document { input, cols, document, pieces, output } => {
                    let input = Nested::new(self.branch(input.into_inner(), &cols)?);
                    let node = Node::Document { input, document, pieces };
                    self.above(Plan { node, cols: vec![output], rows: 1.0, ordered: false }, preds)
                }
                Logical::Concat { inputs, cols } => {
                    self.concat(inputs.into_inner(), cols, preds, cx)
                }
                Logical::SetOp { except, left, right, cols } => {
                    let ((left, left_ids), (right, right_ids)) =
                        (left.into_inner(), right.into_inner());
                    let left = self.branch(left, &left_ids)?;
                    let right = self.branch(right, &right_ids)?;
                    let collations = cols.iter().map(|(_, c)| *c).collect();
                    let rows = left.rows;
                    let node = Node::SetOp {
                        left: Nested::new(left),
                        right: Nested::new(right),
                        except,
                        collations,
                    };
                    let cols = cols.iter().map(|(id, _)| *id).collect();
                    self.above(Plan { node, cols, rows, ordered: false }, preds)
                }
            }
        })
    }

    fn project(
        &mut self,
        input: Logical,
        exprs: Vec<(ColId, Expr)>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let made = ColumnSet::of_ids(exprs.iter().map(|(id, _)| id));
        let (above, below): (Vec<_>, Vec<_>) = preds.into_iter().partition(|p| {
            let mut used = Vec::new();
            p.columns(&mut used);
            used.iter().any(|id| made.contains(*id))
        });
        let cx = cx.with(&above);
        let needed = ColumnSet::of_ids(&cx.needed);
        let used: Vec<_> =
            exprs.into_iter().filter(|(id, e)| needed.contains(*id) || e.is_volatile()).collect();
        let mut inner = Context { needed: Vec::new(), ..cx.clone() };
        inner.needed.extend(cx.needed.iter().filter(|id| !made.contains(**id)));
        used.iter().for_each(|(_, e)| e.columns(&mut inner.needed));
        if !above.is_empty() {
            inner.goal = None;
        }
        let plan = self.node(input, below, &inner)?;
        if used.is_empty() {
            return self.above(plan, above);
        }
        // In the order in which they are asked for, so that nobody has to put them into another one
        // above.
        let below = ColumnSet::of_ids(&plan.cols);
        let places: HashMap<ColId, usize> =
            used.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        let mut used: Vec<Option<(ColId, Expr)>> = used.into_iter().map(Some).collect();
        let (mut cols, mut list) = (Vec::new(), Vec::new());
        for id in &cx.needed {
            if let Some((id, e)) = places.get(id).and_then(|at| used[*at].take()) {
                cols.push(id);
                list.push(e);
            } else if !made.contains(*id) && below.contains(*id) {
                cols.push(*id);
                list.push(Expr::Col(*id));
            }
        }
        for (id, e) in used.into_iter().flatten() {
            cols.push(id);
            list.push(e);
        }
        for e in &mut list {
            slots(e, &plan.cols)?;
        }
        let (rows, ordered) = (plan.rows, plan.ordered);
        let plan = Plan {
            node: Node::Project { input: Nested::new(plan), exprs: list },
            cols,
            rows,
            ordered,
        };
        self.above(plan, above)
    }

    fn branch(&mut self, logical: Logical, ids: &[ColId]) -> Result<Plan, SqlError> {
        let plan = self.plan(logical, ids, None)?;
        exactly(plan, ids)
    }

    fn apply(
        &mut self,
        outer: bool,
        left: Logical,
        right: Logical,
        args: Vec<(usize, Expr)>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let left_ids = left.columns();
        let (mut below, above): (Vec<_>, Vec<_>) =
            preds.into_iter().partition(|p| left_ids.has_all_of(p));
        let left = sorted_down(left, &mut below, &|| self.statement.check_cancel())?;
        let cx = cx.with(&above);
        let mut for_left = Context::default();
        for_left.needed.extend(cx.needed.iter().filter(|id| left_ids.contains(**id)));
        args.iter().for_each(|(_, e)| e.columns(&mut for_left.needed));
        let right_ids = right.columns();
        let needed: Vec<ColId> =
            cx.needed.iter().filter(|id| right_ids.contains(**id)).copied().collect();
        let left = self.filter(left, below, &for_left)?;
        let right = self.again_and_again(|planner| planner.plan(right, &needed, None))?;
        let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
        let plan = apply_plan(kind, left, right, args, None)?;
        self.above(plan, above)
    }
}
