//! Physical plans as plain data: the operators, what each does, with slots instead of column ids.
//! `exec` runs them.

use crate::own_node::OwnNode;
use catalog::Db;
use expr::aggregate::Aggregate;
use expr::document::Document;
use expr::{ColId, Expr, Pred};
use logical::access_hints::Sample;
use logical::hints::RowLocks;
use logical::tree::{JoinKind, RoutineScan, ViewScan, WorkSource};
use logical::window::WindowCall;
use stack::Nested;
use std::sync::Arc;
use storage::{Base, TableMode, TableStore};
use types::{Collation, DataType};

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
    Own(Box<dyn OwnNode>),
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
    pub fn wants_few(&mut self, rows: usize) {
        stack::with_room(|| match &mut self.node {
            Node::Scan(scan) => scan.goal = Some(scan.goal.map_or(rows, |goal| goal.min(rows))),
            Node::Project { input, .. } | Node::Filter { input, .. } => input.wants_few(rows),
            Node::Apply { left, .. } | Node::LoopJoin { left, .. } => left.wants_few(rows),
            Node::MergeJoin { left, right, .. } => {
                left.wants_few(rows);
                right.wants_few(rows);
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

/// Which structure is read, and how.
#[derive(Debug)]
pub enum Path {
    /// The heap, or the clustered index from end to end.
    Base,
    /// A range of the clustered index.
    Clustered(SeekSpec),
    /// One row by its whole clustered key.
    Point(SeekSpec),
    /// A nonclustered index (its number in `TableStore::indexes`); `covering` when it holds all
    /// wanted columns.
    Index { index: usize, seek: SeekSpec, point: bool, covering: bool },
}

impl ScanPlan {
    /// Whether it gives one row as it was by its whole clustered key, and asks for nothing but
    /// variables: it needs no operator.
    pub fn is_plain_point(&self) -> bool {
        let Path::Point(spec) = &self.path else { return false };
        self.mode != TableMode::Current
            && self.locks.is_none()
            && self.sample.is_none()
            && !self.locator
            && self.store.lob.is_none()
            && matches!(self.store.base, Base::Tree(_))
            && spec.equal.iter().all(Expr::is_plain)
            && self.pred.as_ref().is_none_or(Pred::is_plain)
    }
}

impl Path {
    /// One row at most, by the whole key of a unique index.
    pub fn is_point(&self) -> bool {
        matches!(self, Path::Point(_) | Path::Index { point: true, .. })
    }
}

/// A read of one table. Slot `i` holds table column `columns[i]`; after them the locator when it is
/// wanted.
#[derive(Debug)]
pub struct ScanPlan {
    pub db: Arc<Db>,
    pub store: Arc<TableStore>,
    pub mode: TableMode,
    /// Locks that it takes on rows: another operator then, `LockedScan`.
    pub locks: Option<RowLocks>,
    pub path: Path,
    pub backward: bool,
    pub columns: Vec<u16>,
    /// As `columns`, in a covering index's own positions.
    pub index_columns: Vec<u16>,
    /// So many columns are decoded for the condition.
    pub tested: usize,
    /// Nothing but the condition asks for these columns: where it is known without them they are
    /// NULL in what the scan gives.
    pub only_tested: bool,
    pub pred: Option<Pred>,
    /// Parts of it are computed once where many rows are tested (`Pred::with_computed`): the
    /// variables that it asks for keep their values.
    pub computes: bool,
    /// Its first parts may be tested on the bytes of base rows, or of entries of a covering index,
    /// where many are tested (`expr::InPlace`): the variables that it asks for keep their values.
    pub in_place: bool,
    /// What an index's entry has to satisfy so that its row is looked up.
    pub entry: Option<EntryTest>,
    /// Rows behind entries may come in another order than these.
    pub any_order: bool,
    pub locator: bool,
    /// So many rows may be all that are asked for: its first batch is that small, and each further
    /// one twice as large.
    pub goal: Option<usize>,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
    /// An index that would be better than `path`, if there were one.
    pub missing: Option<Box<WantedIndex>>,
}

/// A condition on the columns of an index's entry.
#[derive(Debug)]
pub struct EntryTest {
    /// Over slots of its own.
    pub pred: Pred,
    /// The table's columns in these slots.
    pub columns: Vec<u16>,
    /// The same in the entry's own positions.
    pub places: Vec<u16>,
}

/// An index that there is not: positions of columns, and what the read would cost with it.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedIndex {
    /// Compared by `=`.
    pub equality: Vec<usize>,
    /// Compared by `<` and its kin.
    pub inequality: Vec<usize>,
    /// Wanted besides.
    pub included: Vec<usize>,
    /// In units of [`crate::cost`].
    pub cost: f64,
}

impl ScanPlan {
    /// Slots of a row.
    pub fn width(&self) -> usize {
        self.columns.len() + usize::from(self.locator)
    }
}

/// What a seek is for: equal values of the first key columns, and a range of the next.
#[derive(Clone, Debug, Default)]
pub struct SeekSpec {
    /// Value per leading key column.
    pub equal: Vec<Expr>,
    /// NULL is a value to look for (IS NULL), per leading key column.
    pub null_ok: Vec<bool>,
    /// Lower end of the next column.
    pub lower: Option<SeekEnd>,
    /// Upper end of the next column.
    pub upper: Option<SeekEnd>,
    /// Further ranges: the rows of any of them are sought, each once and in the order of the index.
    pub others: Vec<SeekSpec>,
    /// Of several ranges: so many equal columns have the same value in each.
    pub common: usize,
    /// The next columns are passed over. Then there are no other ranges.
    pub behind: Option<Box<BehindPassed>>,
}

/// What a seek that passes over columns is for: for each combination of values of these that there
/// is in its range, the ranges of the columns behind them are sought. The conditions that those
/// stand for are tested on what is found all the same: a run may read the range as it lies.
#[derive(Clone, Debug)]
pub struct BehindPassed {
    /// So many columns are passed over, one at least.
    pub columns: usize,
    /// So many combinations of their values are expected.
    pub values: f64,
    /// So many are visited before it counts that what is found has few rows.
    pub visits: f64,
    /// Ranges of the columns behind them.
    pub ranges: SeekSpec,
}

/// An end of a range.
#[derive(Clone, Debug)]
pub struct SeekEnd {
    pub value: Expr,
    pub inclusive: bool,
    /// The column is compared in this type, in which several of its values may be one: the range
    /// ends with the last of those that may be the value (`types::rounding`).
    pub rounded: Option<DataType>,
}

impl SeekSpec {
    /// Whether nothing is asked for: a scan.
    pub fn is_empty(&self) -> bool {
        self.is_unbounded() && self.behind.is_none()
    }

    /// Whether nothing is asked for of the first key column.
    pub fn is_unbounded(&self) -> bool {
        self.equal.is_empty() && self.lower.is_none() && self.upper.is_none()
    }

    /// So many leading key columns have one value in all rows.
    pub fn common_equal(&self) -> usize {
        if self.others.is_empty() { self.equal.len() } else { self.common }
    }

    /// Its ranges.
    pub fn ranges(&self) -> impl Iterator<Item = &SeekSpec> {
        std::iter::once(self).chain(&self.others)
    }

    /// Its ranges, and those of the columns behind those that it passes over.
    pub fn all_ranges(&self) -> impl Iterator<Item = &SeekSpec> {
        self.ranges().chain(self.behind.iter().flat_map(|behind| behind.ranges.ranges()))
    }

    /// Ways down the tree behind the first one, as expected: each further range, and of a seek that
    /// passes over columns a search for each value and its ranges.
    pub fn further_ways(&self) -> f64 {
        match &self.behind {
            Some(behind) => behind.values * (1.0 + behind.ranges.ranges().count() as f64),
            None => self.others.len() as f64,
        }
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
