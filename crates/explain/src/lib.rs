//! Plans as rows and as XML: what SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML show. Each operator
//! that would run has SQL Server's name for it, how many rows the planner expects of it and what
//! they are expected to cost, in seconds; expressions are not written out, only the columns that
//! they test. Entry points: [`query`] and [`dml`](fn@dml), which fill a [`Shown`]. Guarantee:
//! showing a plan runs nothing of it, and can be cancelled at each operator.

mod profile;
mod steps;
mod xml;

pub use profile::columns as profile_columns;
pub use steps::{dml, query};
pub use xml::column as xml_column;

use std::sync::Arc;

use compact_str::CompactString;
use types::{DataType, Len, SqlError, Value};

use catalog::{Db, IndexDef, TableDef};
use exec::uses::Missing;
use plan::cost::{self, Cost};
use plan::nodes::Plan;
use session::asking::{Asking, GoOn};
use session::output::ColumnInfo;
use session::state::profile::{NodeCounters, NodeId, Profile};

/// One operator.
struct Step {
    depth: usize,
    /// Index of the operator that it feeds.
    parent: Option<usize>,
    physical: &'static str,
    logical: &'static str,
    argument: String,
    /// The table or index that it reads or changes.
    object: Option<Object>,
    estimate: Option<Estimate>,
    counted: Counted,
}

/// Where the counters of an operator are.
#[derive(Clone, Copy)]
enum Counted {
    /// Nobody counts what it does: rows of the statement itself, a change that reads as it goes.
    Not,
    /// The operator that changes rows: the statement's count.
    Changes,
    Node(NodeId),
}

/// What a statement did.
pub struct Measured<'m> {
    pub profile: &'m Profile,
    /// Rows that it gave or changed.
    pub rows: u64,
}

impl Measured<'_> {
    fn of(&self, step: &Step) -> Option<NodeCounters> {
        match step.counted {
            Counted::Not => None,
            Counted::Changes => Some(NodeCounters {
                rows: self.rows,
                executions: 1,
                ends: 1,
                ..NodeCounters::default()
            }),
            Counted::Node(node) => Some(self.profile.of(node)),
        }
    }
}

/// What the planner expects of an operator.
#[derive(Clone, Copy)]
struct Estimate {
    rows: f64,
    cost: Cost,
    /// Columns of its rows.
    width: usize,
    /// How often it runs.
    executions: f64,
}

impl Estimate {
    /// Of an operator whose inputs cost so much in total, each.
    fn over(plan: &Plan, inputs: &[f64], executions: f64) -> Estimate {
        let mut totals = inputs.iter().copied();
        let cost = cost::over(plan, |_| totals.next().unwrap_or_default());
        Estimate { rows: plan.rows, cost, width: plan.width(), executions }
    }

    /// Bytes of a row: eight for each column, and its head.
    fn row_bytes(&self) -> usize {
        9 + 8 * self.width
    }
}

/// What an operator reads or changes.
#[derive(Clone)]
struct Object {
    database: CompactString,
    schema: CompactString,
    table: CompactString,
    /// Empty for a heap.
    index: CompactString,
    clustered: bool,
}

impl Object {
    fn of(db: &Db, table: &TableDef, index: &IndexDef) -> Object {
        Object {
            database: db.name().as_str().into(),
            schema: table.schema.clone(),
            table: table.name.clone(),
            index: index.name.clone(),
            clustered: index.index_id == 1,
        }
    }

    fn argument(&self) -> String {
        let index =
            if self.index.is_empty() { String::new() } else { format!(".[{}]", self.index) };
        format!("OBJECT:([{}].[{}].[{}]{index})", self.database, self.schema, self.table)
    }
}

/// A statement and its operators, and who is asked while they are gathered and written.
pub struct Shown<'a> {
    asking: Asking<'a>,
    statement: String,
    /// SELECT, INSERT ...
    kind: &'static str,
    steps: Vec<Step>,
    /// Plans of the subqueries in its expressions.
    subqueries: Vec<Arc<Plan>>,
    /// Which of them are among the steps: expressions may have copies, and each shows its
    /// subqueries at its first place.
    placed: Vec<bool>,
    /// Indexes that would make it better.
    missing: Vec<Missing>,
}

/// The columns of SHOWPLAN_TEXT, or of SHOWPLAN_ALL.
pub fn columns(all: bool) -> Vec<ColumnInfo> {
    let text = DataType::NVarChar(Len::Max);
    let column = |name: &str, ty| ColumnInfo::new(name, ty, true);
    let mut columns = vec![column("StmtText", text)];
    if all {
        for (name, ty) in [
            ("StmtId", DataType::Int),
            ("NodeId", DataType::Int),
            ("Parent", DataType::Int),
            ("PhysicalOp", DataType::NVarChar(Len::N(128))),
            ("LogicalOp", DataType::NVarChar(Len::N(128))),
            ("Argument", text),
            ("DefinedValues", text),
            ("EstimateRows", DataType::Real),
            ("EstimateIO", DataType::Real),
            ("EstimateCPU", DataType::Real),
            ("AvgRowSize", DataType::Int),
            ("TotalSubtreeCost", DataType::Real),
            ("OutputList", text),
            ("Warnings", text),
            ("Type", DataType::NVarChar(Len::N(64))),
            ("Parallel", DataType::Bit),
            ("EstimateExecutions", DataType::Real),
        ] {
            columns.push(column(name, ty));
        }
    }
    columns
}

/// Levels of a plan that are drawn in front of a line: beyond, lines would be longer than the plan
/// is.
const DRAWN_LEVELS: usize = 200;

impl Step {
    /// `  |--Nested Loops(Inner Join)`, with a bar for each level that goes on below.
    fn line(&self, goes_on: &[bool]) -> String {
        let mut line: String =
            goes_on.iter().map(|on| if *on { "  |  " } else { "     " }).collect();
        line.push_str("  |--");
        line.push_str(self.physical);
        match (self.logical == self.physical, self.argument.is_empty()) {
            (true, true) => {}
            (true, false) => line.push_str(&format!("({})", self.argument)),
            (false, true) => line.push_str(&format!("({})", self.logical)),
            (false, false) => line.push_str(&format!("({}, {})", self.logical, self.argument)),
        }
        line
    }
}

impl<'a> Shown<'a> {
    /// A statement without operators, as utility statements are.
    pub fn of_statement(text: &str, go_on: GoOn<'a>) -> Shown<'a> {
        let asking = Asking::new(go_on);
        let statement = text.trim().to_string();
        let (subqueries, placed, steps, missing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Shown { asking, statement, kind: "WITHOUT QUERY PLAN", subqueries, placed, steps, missing }
    }
}

impl Shown<'_> {
    /// The rows of [`columns`]; `id` tells the batch's statements apart.
    ///
    /// # Errors
    /// Those of who is asked.
    pub fn rows(&self, all: bool, id: usize) -> Result<Vec<Vec<Value>>, SqlError> {
        let int = |n: usize| Value::Int(i32::try_from(n).unwrap_or(i32::MAX));
        let row = |text: String, node: usize, step: Option<&Step>| {
            let mut row = vec![Value::str(&text)];
            if !all {
                return row;
            }
            let parent = step.map_or(0, |step| step.parent.map_or(1, |p| p + 2));
            row.extend([int(id + 1), int(node), int(parent)]);
            let kind = if step.is_some() { "PLAN_ROW" } else { "STATEMENT" };
            let of = |f: fn(&Step) -> &str| step.map_or(Value::Null, |step| Value::str(f(step)));
            row.extend([of(|s| s.physical), of(|s| s.logical), of(|s| &s.argument), Value::Null]);
            let estimate = step.and_then(|s| s.estimate);
            let number = |f: fn(&Estimate) -> f64| {
                estimate.as_ref().map_or(Value::Null, |e| Value::Real(f(e) as f32))
            };
            row.push(number(|e| e.rows));
            // Pages are taken for cached: all of the cost is the processor's.
            row.push(number(|_| 0.0));
            row.push(number(|e| e.cost.own * cost::SECONDS));
            row.push(estimate.map_or(Value::Null, |e| int(e.row_bytes())));
            row.push(number(|e| e.cost.total * cost::SECONDS));
            row.extend([Value::Null, Value::Null]);
            row.extend([Value::str(kind), Value::Bit(false), number(|e| e.executions)]);
            row
        };
        let mut rows = vec![row(self.statement.clone(), 1, None)];
        let goes_on = self.going_on()?;
        for (at, step) in self.steps.iter().enumerate() {
            self.asking.step()?;
            rows.push(row(step.line(&goes_on[at]), at + 2, Some(step)));
        }
        Ok(rows)
    }

    /// Of each step the levels above it, at most [`DRAWN_LEVELS`], and whether they go on below it.
    fn going_on(&self) -> Result<Vec<Vec<bool>>, SqlError> {
        // From the last step up: a level goes on until one comes that is above it.
        let mut open: Vec<bool> = Vec::new();
        let of_step = |step: &Step| {
            self.asking.step()?;
            let own = (0..step.depth.min(DRAWN_LEVELS))
                .map(|level| open.get(level) == Some(&true))
                .collect();
            open.resize(step.depth, false);
            open.push(true);
            Ok(own)
        };
        let mut all =
            self.steps.iter().rev().map(of_step).collect::<Result<Vec<Vec<bool>>, SqlError>>()?;
        all.reverse();
        Ok(all)
    }

    /// The subqueries that the expressions of the next steps name.
    fn set_subqueries(&mut self, subqueries: &[Arc<Plan>]) {
        self.subqueries = subqueries.to_vec();
        self.placed = vec![false; subqueries.len()];
    }

    /// A subquery that is not among the steps yet; from now on it is.
    fn place(&mut self, subquery: usize) -> Option<Arc<Plan>> {
        let plan = self.subqueries.get(subquery)?.clone();
        (!std::mem::replace(&mut self.placed[subquery], true)).then_some(plan)
    }

    fn push(
        &mut self,
        parent: Option<usize>,
        names: (&'static str, &'static str),
        argument: String,
        estimate: Option<Estimate>,
    ) -> usize {
        let depth = parent.map_or(0, |p| self.steps[p].depth + 1);
        let (physical, logical) = names;
        let counted = Counted::Not;
        self.steps.push(Step {
            depth,
            parent,
            physical,
            logical,
            argument,
            object: None,
            estimate,
            counted,
        });
        self.steps.len() - 1
    }

    fn push_on(
        &mut self,
        parent: Option<usize>,
        names: (&'static str, &'static str),
        object: Object,
        more: &str,
        estimate: Option<Estimate>,
    ) -> usize {
        let at = self.push(parent, names, object.argument() + more, estimate);
        self.steps[at].object = Some(object);
        at
    }
}
