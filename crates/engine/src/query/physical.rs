//! The physical plan: operators with slots instead of column ids. Made from the logical plan by [`planner`].

use super::logical::{JoinKind, ViewScan};
use super::planner;
use crate::bind::Binder;
use crate::exec::aggregate::{AggregatePlan, Distinct, HashAggregate};
use crate::exec::apply::{Apply, ApplyPlan};
use crate::exec::basic;
use crate::exec::hash_join::{HashJoin, HashJoinPlan};
use crate::exec::locked::LockedScan;
use crate::exec::loop_join::{LoopJoin, LoopJoinPlan};
use crate::exec::scan::{Scan, ScanPlan};
use crate::exec::setop::SetOp;
use crate::exec::sort::{Sort, SortSlot};
use crate::exec::top::{Top, TopPlan};
use crate::exec::window::Window;
use crate::exec::{Operator, RowSet};
use crate::query::logical::Logical;
use crate::query::window::WindowCall;
use expr::key::KeySet;
use expr::{ColId, Expr, Pred};
use types::{Collation, SqlError};

/// An operator with its inputs.
#[derive(Debug)]
pub struct Plan {
    pub node: Node,
    /// Column id per slot.
    pub cols: Vec<ColId>,
    /// Rows that are expected.
    pub rows: f64,
    /// Rows come in the order that was asked for.
    pub ordered: bool,
}

/// The operators.
#[derive(Debug)]
pub enum Node {
    One,
    Values(Vec<Vec<Expr>>),
    Scan(Box<ScanPlan>),
    View { scan: Box<ViewScan>, keep: Vec<usize> },
    Filter { input: Box<Plan>, pred: Pred },
    Project { input: Box<Plan>, exprs: Vec<Expr> },
    HashJoin { left: Box<Plan>, right: Box<Plan>, plan: Box<HashJoinPlan> },
    LoopJoin { left: Box<Plan>, right: Box<Plan>, plan: Box<LoopJoinPlan> },
    Apply { left: Box<Plan>, plan: Box<ApplyPlan> },
    Aggregate { input: Box<Plan>, plan: Box<AggregatePlan> },
    Distinct { input: Box<Plan>, collations: Vec<Collation> },
    Sort { input: Box<Plan>, keys: Vec<SortSlot>, limit: Option<usize> },
    Top { input: Box<Plan>, plan: Box<TopPlan> },
    Window { input: Box<Plan>, calls: Vec<WindowCall> },
    Concat(Vec<Plan>),
    SetOp { left: Box<Plan>, right: Box<Plan>, except: bool, collations: Vec<Collation> },
}

impl Plan {
    /// Slots of a row.
    pub fn width(&self) -> usize {
        self.cols.len()
    }
}

/// Makes the physical plan of a query whose rows are to have exactly the wanted columns, in order. `goal`: only so
/// many rows will be taken.
pub fn plan_query(
    binder: &mut Binder<'_>,
    logical: Logical,
    wanted: &[ColId],
    goal: Option<u64>,
) -> Result<Plan, SqlError> {
    let plan = planner::Planner { binder }.plan(logical, wanted, goal)?;
    exactly(plan, wanted)
}

/// The plan with exactly these columns. Error: internal, when it does not have one of them.
pub fn exactly(plan: Plan, wanted: &[ColId]) -> Result<Plan, SqlError> {
    if plan.cols == wanted {
        return Ok(plan);
    }
    let mut exprs: Vec<Expr> = wanted.iter().map(|id| Expr::Col(*id)).collect();
    for e in &mut exprs {
        slots(e, &plan.cols)?;
    }
    Ok(Plan {
        cols: wanted.to_vec(),
        rows: plan.rows,
        ordered: plan.ordered,
        node: Node::Project { input: Box::new(plan), exprs },
    })
}

/// Starts a plan.
pub fn open(plan: &Plan) -> Box<dyn Operator + '_> {
    match &plan.node {
        Node::One => Box::new(basic::One { done: false }),
        Node::Values(rows) => Box::new(basic::Values { rows, at: 0 }),
        Node::Scan(scan) if scan.locks.is_some() => Box::new(LockedScan::new(scan)),
        Node::Scan(scan) => Box::new(Scan::new(scan)),
        Node::View { scan, keep } => Box::new(basic::View::new(scan, keep)),
        Node::Filter { input, pred } => {
            Box::new(basic::Filter { input: open(input), pred, batch: RowSet::default() })
        }
        Node::Project { input, exprs } => {
            Box::new(basic::Project { input: open(input), exprs, batch: RowSet::default() })
        }
        Node::HashJoin { left, right, plan } => Box::new(HashJoin::new(open(left), open(right), plan)),
        Node::LoopJoin { left, right, plan } => Box::new(LoopJoin::new(open(left), open(right), plan)),
        Node::Apply { left, plan } => Box::new(Apply::new(open(left), plan)),
        Node::Aggregate { input, plan } => Box::new(HashAggregate::new(open(input), plan)),
        Node::Distinct { input, collations } => Box::new(Distinct {
            input: open(input),
            collations,
            seen: KeySet::default(),
            batch: RowSet::default(),
        }),
        Node::Sort { input, keys, limit } => Box::new(Sort::new(open(input), keys, *limit, plan.width())),
        Node::Top { input, plan } => Box::new(Top { input: open(input), plan, state: None }),
        Node::Window { input, calls } => {
            Box::new(Window { input: open(input), calls, rows: None, width: plan.width() })
        }
        Node::Concat(inputs) => Box::new(basic::Concat { inputs, at: 0, current: None }),
        Node::SetOp { left, right, except, collations } => Box::new(SetOp {
            left: open(left),
            right: open(right),
            except: *except,
            collations,
            right_rows: None,
            given: KeySet::default(),
            batch: RowSet::default(),
        }),
    }
}

/// Rewrites column ids to slots of a row. Error: internal, when a column is not there.
pub fn slots(e: &mut Expr, cols: &[ColId]) -> Result<(), SqlError> {
    let mut missing = None;
    e.leaves_mut(&mut |leaf| to_slot(leaf, cols, &mut missing));
    missing.map_or(Ok(()), |id| Err(SqlError::internal(format!("column {id} is not in the plan's rows"))))
}

/// As [`slots`], for a condition.
pub fn pred_slots(p: &mut Pred, cols: &[ColId]) -> Result<(), SqlError> {
    let mut missing = None;
    p.leaves_mut(&mut |leaf| to_slot(leaf, cols, &mut missing));
    missing.map_or(Ok(()), |id| Err(SqlError::internal(format!("column {id} is not in the plan's rows"))))
}

fn to_slot(leaf: &mut Expr, cols: &[ColId], missing: &mut Option<ColId>) {
    if let Expr::Col(id) = leaf {
        match cols.iter().position(|c| c == id) {
            Some(at) => *id = at as ColId,
            None => *missing = Some(*id),
        }
    }
}

/// Whether a join gives columns of both sides.
pub fn gives_both(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Semi | JoinKind::Anti)
}
