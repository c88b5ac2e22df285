//! Physical plans as plain data: the operators, what each does, with slots instead of column ids
//! (`scan.rs`: how a table is read). `exec` runs them. A new operator is an [`CustomNode`]: what a
//! node costs, what it is shown as and what is below it, it says itself.

mod scan;

pub use self::scan::{BehindPassed, EntryTest, Path, ScanPlan, SeekEnd, SeekSpec, WantedIndex};

use expr::aggregate::Aggregate;
use expr::document::Document;
use expr::{ColId, Expr, Pred};
use logical::tree::{JoinKind, RoutineScan, ViewScan, WorkSource};
use logical::window::WindowCall;
use stack::Nested;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use types::Collation;

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
    View {
        scan: Box<ViewScan>,
        keep: Vec<usize>,
        /// Columns by which the rows are sought, with the values that are wanted.
        equal: Vec<(usize, Expr)>,
    },
    /// The rows of a user's function, with the columns at these positions.
    Routine {
        scan: Box<RoutineScan>,
        keep: Vec<usize>,
    },
    /// Rows that the statement keeps, with the columns at these positions.
    Work {
        source: WorkSource,
        keep: Vec<usize>,
    },
    Recursive {
        anchor: Nested<Plan>,
        steps: Nested<Vec<Plan>>,
        work: usize,
        limit: Option<u32>,
    },
    Filter {
        input: Nested<Plan>,
        pred: Pred,
    },
    /// The base rows of the locators that the input gives; the path of `scan` is the base.
    Lookup {
        input: Nested<Plan>,
        scan: Box<ScanPlan>,
    },
    Project {
        input: Nested<Plan>,
        exprs: Vec<Expr>,
    },
    HashJoin {
        left: Nested<Plan>,
        right: Nested<Plan>,
        plan: Box<HashJoinPlan>,
    },
    MergeJoin {
        left: Nested<Plan>,
        right: Nested<Plan>,
        plan: Box<MergeJoinPlan>,
    },
    LoopJoin {
        left: Nested<Plan>,
        right: Nested<Plan>,
        plan: Box<LoopJoinPlan>,
    },
    Apply {
        left: Nested<Plan>,
        plan: Box<ApplyPlan>,
    },
    Aggregate {
        input: Nested<Plan>,
        plan: Box<AggregatePlan>,
    },
    Distinct {
        input: Nested<Plan>,
        collations: Vec<Collation>,
        /// Equal rows come one after another.
        streams: bool,
    },
    Sort {
        input: Nested<Plan>,
        keys: Vec<SortSlot>,
        limit: Option<usize>,
    },
    /// FOR JSON, FOR XML.
    Document {
        input: Nested<Plan>,
        document: Arc<Document>,
        pieces: bool,
    },
    Top {
        input: Nested<Plan>,
        plan: Box<TopPlan>,
    },
    Window {
        input: Nested<Plan>,
        calls: Vec<WindowCall>,
        /// The input comes in the window's order.
        streams: bool,
    },
    Concat(Nested<Vec<Plan>>),
    SetOp {
        left: Nested<Plan>,
        right: Nested<Plan>,
        except: bool,
        collations: Vec<Collation>,
    },
    /// One that says itself what it is.
    Own(Box<dyn CustomNode>),
}

/// A node of the plan that is no variant of [`Node`]: it stands where it is chosen, its run in
/// `exec/src/operators`.
pub trait CustomNode: Any + Debug + Send + Sync {
    /// Its inputs, in the order in which they are shown.
    fn inputs(&self) -> Vec<&Plan>;

    /// Its expressions, in which subqueries may be.
    fn exprs(&self) -> Vec<&Expr>;

    /// What it costs without its inputs when it gives so many rows, in units of [`crate::cost`].
    fn cost(&self, rows: f64) -> f64;

    /// Its physical and its logical name, and its argument, as SHOWPLAN has them.
    fn shown(&self) -> (&'static str, &'static str, String);

    /// The input each of whose rows it passes on, as far as it has rows, in their order; so few of
    /// its rows are as few of the input.
    fn passed(&mut self) -> Option<&mut Plan> {
        None
    }
}

impl Node {
    /// The node as an operator knows it that runs nodes of this kind.
    pub fn own<T: CustomNode>(&self) -> Option<&T> {
        match self {
            Node::Own(node) => (&**node as &dyn Any).downcast_ref(),
            _ => None,
        }
    }
}

impl Plan {
    /// Slots of a row.
    pub fn width(&self) -> usize {
        self.cols.len()
    }

    /// What is below it, in the order in which it is shown.
    pub fn inputs(&self) -> Vec<&Plan> {
        match &self.node {
            Node::One
            | Node::Values(_)
            | Node::Scan(_)
            | Node::View { .. }
            | Node::Routine { .. }
            | Node::Work { .. } => Vec::new(),
            Node::Recursive { anchor, steps, .. } => {
                std::iter::once(&**anchor).chain(steps.iter()).collect()
            }
            Node::Filter { input, .. }
            | Node::Lookup { input, .. }
            | Node::Project { input, .. }
            | Node::Aggregate { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. }
            | Node::Document { input, .. }
            | Node::Top { input, .. }
            | Node::Window { input, .. } => vec![input],
            Node::HashJoin { left, right, .. }
            | Node::LoopJoin { left, right, .. }
            | Node::MergeJoin { left, right, .. }
            | Node::SetOp { left, right, .. } => vec![left, right],
            Node::Apply { left, plan } => vec![left, &plan.right],
            Node::Concat(inputs) => inputs.iter().collect(),
            Node::Own(node) => node.inputs(),
        }
    }

    /// Nodes from here to the farthest leaf.
    pub fn height(&self) -> usize {
        let (mut level, mut height) = (vec![self], 0);
        while !level.is_empty() {
            height += 1;
            level = level.into_iter().flat_map(Plan::inputs).collect();
        }
        height
    }

    /// So many of its rows may be all that are asked for.
    pub(crate) fn wants_few(&mut self, rows: usize) {
        stack::with_room(|| match &mut self.node {
            Node::Scan(scan) => scan.goal = Some(scan.goal.map_or(rows, |goal| goal.min(rows))),
            Node::Project { input, .. } | Node::Filter { input, .. } => input.wants_few(rows),
            Node::Apply { left, .. } | Node::LoopJoin { left, .. } => left.wants_few(rows),
            Node::MergeJoin { left, right, .. } => {
                left.wants_few(rows);
                right.wants_few(rows);
            }
            Node::Own(node) => {
                if let Some(input) = node.passed() {
                    input.wants_few(rows);
                }
            }
            _ => {}
        })
    }

    /// Whether every table in it is read by the whole key of a unique index: no other value makes
    /// another plan better.
    pub fn reads_points(&self) -> bool {
        stack::with_room(|| match &self.node {
            Node::One | Node::Values(_) => true,
            Node::Scan(scan) => scan.path.is_point(),
            Node::View { .. }
            | Node::Routine { .. }
            | Node::Work { .. }
            | Node::Recursive { .. }
            | Node::Lookup { .. } => false,
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::Aggregate { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. }
            | Node::Document { input, .. }
            | Node::Top { input, .. }
            | Node::Window { input, .. } => input.reads_points(),
            Node::HashJoin { left, right, .. }
            | Node::LoopJoin { left, right, .. }
            | Node::MergeJoin { left, right, .. }
            | Node::SetOp { left, right, .. } => left.reads_points() && right.reads_points(),
            Node::Apply { left, plan } => left.reads_points() && plan.right.reads_points(),
            Node::Concat(inputs) => inputs.iter().all(Plan::reads_points),
            Node::Own(node) => node.inputs().into_iter().all(Plan::reads_points),
        })
    }
}

/// Groups and what is computed of each, over slots of the input.
#[derive(Debug)]
pub struct AggregatePlan {
    pub keys: Vec<(Expr, Collation)>,
    pub aggregates: Vec<Aggregate>,
    /// No GROUP BY: one row, even of no input.
    pub scalar: bool,
    /// Of no input: a row for each, with this number in the last key and NULL in the others.
    pub totals: Vec<i32>,
    /// Rows of a group come one after another.
    pub streams: bool,
}

/// What an apply does; arguments are over the left's slots, the residual over left and right side
/// by side.
#[derive(Debug)]
pub struct ApplyPlan {
    /// Inner, Left, Semi or Anti.
    pub kind: JoinKind,
    pub args: Vec<(usize, Expr)>,
    pub right: Plan,
    pub residual: Option<Pred>,
    pub left_width: usize,
}

/// What a hash join does. Keys are over the slots of their side, the residual over left and right
/// side by side.
#[derive(Debug)]
pub struct HashJoinPlan {
    pub kind: JoinKind,
    /// The left rows are kept in the hash table and the right ones pass by, instead of the other
    /// way round.
    pub builds_left: bool,
    pub left_keys: Vec<Expr>,
    pub right_keys: Vec<Expr>,
    pub collations: Vec<Collation>,
    pub residual: Option<Pred>,
    pub left_width: usize,
    pub right_width: usize,
}

/// What a merge join does. Both inputs come in the order of their keys; the residual is over left
/// and right side by side.
#[derive(Debug)]
pub struct MergeJoinPlan {
    pub kind: JoinKind,
    pub left_keys: Vec<Expr>,
    pub right_keys: Vec<Expr>,
    /// How each pair of keys is compared.
    pub orders: Vec<KeyOrder>,
    /// Pairs of rows with the same keys that are expected.
    pub pairs: f64,
    pub residual: Option<Pred>,
    pub left_width: usize,
    pub right_width: usize,
}

/// How the keys of a merge are compared and in which direction both inputs come.
#[derive(Clone, Copy, Debug)]
pub struct KeyOrder {
    pub collation: Collation,
    pub descending: bool,
}

/// What a loop join does; the condition is over left and right side by side.
#[derive(Debug)]
pub struct LoopJoinPlan {
    pub kind: JoinKind,
    pub on: Option<Pred>,
    pub left_width: usize,
    pub right_width: usize,
}

/// A key over the rows' slots.
#[derive(Clone, Debug)]
pub struct SortSlot {
    pub slot: usize,
    pub descending: bool,
    pub collation: Collation,
}

/// What a TOP operator does, over slots.
#[derive(Debug)]
pub struct TopPlan {
    pub count: Option<Expr>,
    pub percent: bool,
    pub ties: Option<Vec<SortSlot>>,
    pub offset: Option<Expr>,
}
