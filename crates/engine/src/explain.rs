//! Plans as rows: what SHOWPLAN_TEXT and SHOWPLAN_ALL show. It tells the operators that would run, with SQL Server's names
//! for them, and how many rows the planner expects; expressions are not written out, only the columns that they test.

use std::sync::Arc;

use compact_str::CompactString;
use types::{DataType, Len, Value};

use crate::dml::DmlPlan;
use crate::output::ColumnInfo;
use catalog::Db;
use expr::{Expr, Pred, SubRef};
use plan::QueryPlan;
use plan::logical::{JoinKind, WorkSource};
use plan::nodes::{Node, Path, Plan, ScanPlan, SeekSpec};
use storage::{Base, TableStore};

/// Where the rows of a change come from.
pub enum Source<'p> {
    Constant,
    Plan(&'p Plan),
    Scan(&'p ScanPlan),
}

impl Source<'_> {
    /// Whether the rows are found by whole keys of unique indexes alone.
    pub fn reads_points(&self) -> bool {
        match self {
            Source::Constant => true,
            Source::Plan(plan) => plan.reads_points(),
            Source::Scan(scan) => scan.path.is_point(),
        }
    }
}

/// One operator.
struct Step {
    depth: usize,
    /// Index of the operator that it feeds.
    parent: Option<usize>,
    physical: &'static str,
    logical: &'static str,
    argument: String,
    rows: Option<f64>,
}

/// A statement and its operators.
pub struct Shown {
    statement: String,
    steps: Vec<Step>,
    /// Plans of the subqueries in its expressions.
    subqueries: Vec<Arc<Plan>>,
}

/// The columns of SHOWPLAN_TEXT, or of SHOWPLAN_ALL.
pub fn columns(all: bool) -> Vec<ColumnInfo> {
    let text = DataType::NVarChar(Len::Max);
    let column = |name: &str, ty| ColumnInfo { name: name.into(), ty, nullable: true };
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

impl Shown {
    /// A statement without operators, as utility statements are.
    pub fn of_statement(text: &str) -> Shown {
        Shown { statement: text.trim().to_string(), subqueries: Vec::new(), steps: Vec::new() }
    }

    /// The rows of [`columns`]; `id` tells the batch's statements apart.
    pub fn rows(&self, all: bool, id: usize) -> Vec<Vec<Value>> {
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
            row.push(step.and_then(|s| s.rows).map_or(Value::Null, |rows| Value::Real(rows as f32)));
            // Costs, sizes and output lists: the planner keeps none.
            row.extend(std::iter::repeat_n(Value::Null, 6));
            row.extend([Value::str(kind), Value::Bit(false), Value::Null]);
            row
        };
        let mut rows = vec![row(self.statement.clone(), 1, None)];
        for (at, step) in self.steps.iter().enumerate() {
            rows.push(row(self.line(at), at + 2, Some(step)));
        }
        rows
    }

    /// `  |--Nested Loops(Inner Join)`, with a bar for each level that goes on below.
    fn line(&self, at: usize) -> String {
        let step = &self.steps[at];
        let goes_on = |depth: usize| {
            let later = self.steps[at + 1..].iter();
            later.take_while(|s| s.depth >= depth).any(|s| s.depth == depth)
        };
        let mut line = String::new();
        for depth in 0..step.depth {
            line.push_str(if goes_on(depth) { "  |  " } else { "     " });
        }
        line.push_str("  |--");
        line.push_str(step.physical);
        match (step.logical == step.physical, step.argument.is_empty()) {
            (true, true) => {}
            (true, false) => line.push_str(&format!("({})", step.argument)),
            (false, true) => line.push_str(&format!("({})", step.logical)),
            (false, false) => line.push_str(&format!("({}, {})", step.logical, step.argument)),
        }
        line
    }

    fn push(
        &mut self,
        parent: Option<usize>,
        names: (&'static str, &'static str),
        argument: String,
        rows: Option<f64>,
    ) -> usize {
        let depth = parent.map_or(0, |p| self.steps[p].depth + 1);
        self.steps.push(Step { depth, parent, physical: names.0, logical: names.1, argument, rows });
        self.steps.len() - 1
    }
}

/// Adds the operators of a query.
pub fn query(plan: &QueryPlan, shown: &mut Shown) {
    shown.subqueries.clone_from(&plan.needs().subqueries);
    add(plan.plan(), None, shown);
}

/// Adds the operators of a change.
pub fn dml(plan: &DmlPlan, shown: &mut Shown) {
    shown.subqueries.clone_from(&plan.needs().subqueries);
    let (names, object, source) = match plan {
        DmlPlan::Insert(plan) => {
            let (db, store, source) = plan.shown();
            (change(store, "Insert"), object(db, store), source)
        }
        DmlPlan::Update(plan) => {
            let (db, store, source) = plan.shown();
            (change(store, "Update"), object(db, store), source)
        }
        DmlPlan::Delete(plan) => {
            let (db, store, source) = plan.shown();
            (change(store, "Delete"), object(db, store), source)
        }
        DmlPlan::SelectInto(plan) => {
            let (name, source) = plan.shown();
            (("Table Insert", "Insert"), format!("OBJECT:({name})"), Source::Plan(source))
        }
    };
    let at = shown.push(None, names, object, None);
    match source {
        Source::Constant => {
            shown.push(Some(at), ("Constant Scan", "Constant Scan"), String::new(), None);
        }
        Source::Plan(plan) => add(plan, Some(at), shown),
        Source::Scan(scan) => add_scan(scan, None, Some(at), shown),
    }
}

fn change(store: &TableStore, verb: &'static str) -> (&'static str, &'static str) {
    let tree = matches!(store.base, Base::Tree(_));
    let physical = match (verb, tree) {
        ("Insert", true) => "Clustered Index Insert",
        ("Insert", false) => "Table Insert",
        ("Update", true) => "Clustered Index Update",
        ("Update", false) => "Table Update",
        (_, true) => "Clustered Index Delete",
        (_, false) => "Table Delete",
    };
    (physical, verb)
}

fn object(db: &Db, store: &TableStore) -> String {
    let table = &store.table;
    let index = match &store.base {
        Base::Tree(_) => format!(".[{}]", table.storage.name),
        Base::Heap(_) => String::new(),
    };
    format!("OBJECT:([{}].[{}].[{}]{index})", db.name(), table.schema, table.name)
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner Join",
        JoinKind::Left => "Left Outer Join",
        JoinKind::Full => "Full Outer Join",
        JoinKind::Semi => "Left Semi Join",
        JoinKind::Anti => "Left Anti Semi Join",
    }
}

fn add(plan: &Plan, parent: Option<usize>, shown: &mut Shown) {
    let rows = Some(plan.rows);
    let mut step = |names, argument: String| shown.push(parent, names, argument, rows);
    let same = |name| (name, name);
    let mut subqueries = Vec::new();
    let at = match &plan.node {
        Node::One => step(same("Constant Scan"), String::new()),
        Node::Values(values) => {
            values.iter().flatten().for_each(|e| in_expr(e, &mut subqueries));
            step(same("Constant Scan"), format!("VALUES:({} rows)", values.len()))
        }
        Node::Scan(scan) => return add_scan(scan, rows, parent, shown),
        Node::View { scan, .. } => {
            step(same("Table-valued function"), format!("OBJECT:([sys].[{}])", scan.view.name()))
        }
        Node::Work { source, .. } => {
            let name = match source {
                WorkSource::Inserted => "Inserted Scan",
                WorkSource::Deleted => "Deleted Scan",
                WorkSource::Recursion(_) => "Table Spool",
            };
            step(same(name), String::new())
        }
        Node::Recursive { .. } => step(("Concatenation", "Recursive Union"), String::new()),
        Node::Filter { pred, .. } => {
            in_pred(pred, &mut subqueries);
            step(same("Filter"), String::new())
        }
        Node::Project { exprs, .. } => {
            exprs.iter().for_each(|e| in_expr(e, &mut subqueries));
            step(same("Compute Scalar"), String::new())
        }
        Node::HashJoin { plan: join, .. } => step(("Hash Match", join_name(join.kind)), String::new()),
        Node::LoopJoin { plan: join, .. } => step(("Nested Loops", join_name(join.kind)), String::new()),
        Node::Apply { plan: apply, .. } => {
            step(("Nested Loops", join_name(apply.kind)), format!("OUTER REFERENCES:({})", apply.args.len()))
        }
        Node::Aggregate { plan: group, .. } if group.scalar && group.keys.is_empty() => {
            step(("Stream Aggregate", "Aggregate"), String::new())
        }
        Node::Aggregate { plan: group, .. } => {
            step(("Hash Match", "Aggregate"), format!("HASH:({} keys)", group.keys.len()))
        }
        Node::Distinct { .. } => step(("Hash Match", "Flow Distinct"), String::new()),
        Node::Sort { keys, limit: None, .. } => step(same("Sort"), format!("ORDER BY:({} keys)", keys.len())),
        Node::Sort { keys, limit: Some(n), .. } => {
            step(("Sort", "TopN Sort"), format!("TOP {n}, ORDER BY:({} keys)", keys.len()))
        }
        Node::Top { .. } => step(same("Top"), String::new()),
        Node::Window { calls, .. } => step(same("Window Aggregate"), format!("{} functions", calls.len())),
        Node::Concat(_) => step(same("Concatenation"), String::new()),
        Node::SetOp { except: true, .. } => step(("Hash Match", "Left Anti Semi Join"), "EXCEPT".into()),
        Node::SetOp { .. } => step(("Hash Match", "Left Semi Join"), "INTERSECT".into()),
    };
    for input in inputs(&plan.node) {
        add(input, Some(at), shown);
    }
    add_subqueries(&subqueries, at, shown);
}

fn inputs(node: &Node) -> Vec<&Plan> {
    match node {
        Node::One | Node::Values(_) | Node::Scan(_) | Node::View { .. } | Node::Work { .. } => Vec::new(),
        Node::Recursive { anchor, steps, .. } => std::iter::once(&**anchor).chain(steps).collect(),
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Distinct { input, .. }
        | Node::Sort { input, .. }
        | Node::Top { input, .. }
        | Node::Window { input, .. } => vec![input],
        Node::HashJoin { left, right, .. }
        | Node::LoopJoin { left, right, .. }
        | Node::SetOp { left, right, .. } => vec![left, right],
        Node::Apply { left, plan } => vec![left, &plan.right],
        Node::Concat(inputs) => inputs.iter().collect(),
    }
}

fn add_scan(scan: &ScanPlan, rows: Option<f64>, parent: Option<usize>, shown: &mut Shown) {
    let store = &scan.store;
    let key = |columns: &[(usize, bool)], seek: &SeekSpec| {
        let ranged = usize::from(seek.lower.is_some() || seek.upper.is_some());
        let used = columns.iter().take(seek.equal.len() + ranged);
        let names: Vec<_> = used.map(|(at, _)| format!("[{}]", store.table.columns[*at].name)).collect();
        format!(", SEEK:({})", names.join(", "))
    };
    let tree = matches!(store.base, Base::Tree(_));
    let (name, mut argument) = match &scan.path {
        Path::Base if tree => ("Clustered Index Scan", object(&scan.db, store)),
        Path::Base => ("Table Scan", object(&scan.db, store)),
        Path::Clustered(seek) | Path::Point(seek) => {
            let argument = object(&scan.db, store) + &key(&store.table.storage.key, seek);
            ("Clustered Index Seek", argument)
        }
        Path::Index { index, seek, covering, .. } => {
            let def = &store.indexes[*index].def;
            let (db, table) = (scan.db.name(), &store.table);
            let mut text = format!("OBJECT:([{db}].[{}].[{}].[{}])", table.schema, table.name, def.name);
            if !seek.is_empty() {
                text += &key(&def.key, seek);
            }
            if !covering {
                text += if tree { ", KEY LOOKUP" } else { ", RID LOOKUP" };
            }
            (if seek.is_empty() { "Index Scan" } else { "Index Seek" }, text)
        }
    };
    let mut subqueries = Vec::new();
    if let Some(pred) = &scan.pred {
        in_pred(pred, &mut subqueries);
        let tested = scan.columns.iter().take(scan.tested);
        let names: Vec<CompactString> =
            tested.map(|at| store.table.columns[usize::from(*at)].name.clone()).collect();
        argument += &format!(", WHERE:({})", names.join(", "));
    }
    if scan.backward {
        argument += ", ORDERED BACKWARD";
    }
    let at = shown.push(parent, (name, name), argument, rows);
    add_subqueries(&subqueries, at, shown);
}

fn add_subqueries(subqueries: &[&SubRef], parent: usize, shown: &mut Shown) {
    for sub in subqueries {
        let kind = if sub.args.is_empty() { "Subquery" } else { "Correlated Subquery" };
        let Some(plan) = shown.subqueries.get(sub.id).cloned() else { continue };
        let at = shown.push(Some(parent), ("Subquery", kind), String::new(), Some(plan.rows));
        add(&plan, Some(at), shown);
    }
}

fn in_expr<'e>(e: &'e Expr, out: &mut Vec<&'e SubRef>) {
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => {}
        Expr::Convert(c) => in_expr(&c.operand, out),
        Expr::Binary(b) => {
            in_expr(&b.left, out);
            in_expr(&b.right, out);
        }
        Expr::Negate(e, _) | Expr::BitNot(e, _) => in_expr(e, out),
        Expr::Case(c) => {
            for (when, then) in &c.branches {
                in_pred(when, out);
                in_expr(then, out);
            }
            in_expr(&c.otherwise, out);
        }
        Expr::Coalesce(list) => list.iter().for_each(|e| in_expr(e, out)),
        Expr::Call(c) => c.args.iter().for_each(|e| in_expr(e, out)),
        Expr::Subquery(sub) => out.push(sub),
    }
}

fn in_pred<'e>(p: &'e Pred, out: &mut Vec<&'e SubRef>) {
    match p {
        Pred::Const(_) => {}
        Pred::Compare(c) | Pred::Distinct(c, _) => {
            in_expr(&c.left, out);
            in_expr(&c.right, out);
        }
        Pred::And(list) | Pred::Or(list) => list.iter().for_each(|p| in_pred(p, out)),
        Pred::Not(p) => in_pred(p, out),
        Pred::IsNull(e, _) => in_expr(e, out),
        Pred::Like(l) => [&l.operand, &l.pattern].into_iter().chain(&l.escape).for_each(|e| in_expr(e, out)),
        Pred::InList(l) => l.list.iter().chain([&l.operand]).for_each(|e| in_expr(e, out)),
        Pred::Exists(sub) => out.push(sub),
        Pred::Quantified(q) => {
            in_expr(&q.operand, out);
            out.push(&q.query);
        }
    }
}
