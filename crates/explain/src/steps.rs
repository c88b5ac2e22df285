//! The steps of a plan as they are shown: each operator with its name, its arguments and what it is
//! expected to give.

use compact_str::CompactString;

use bind::function::CalledFunction;
use dml::DmlPlan;
use dml::PartitionedPlan;
use dml::shown::Source;
use expr::{Expr, Pred, SubRef};
use logical::tree::{JoinKind, WorkSource};
use plan::QueryPlan;
use plan::deep_plan::DeepPlan;
use plan::nodes::{Node, Path, Plan, ScanPlan, SeekSpec};
use session::state::changes::Action;
use session::state::profile::NodeId;
use storage::{Base, IndexStore, TableStore};
use types::SqlError;

use super::{Counted, Estimate, Object, Shown};
use exec::uses::Uses;

/// Adds the operators of a query.
///
/// # Errors
/// Those of who is asked.
pub fn query(plan: &QueryPlan, shown: &mut Shown<'_>) -> Result<(), SqlError> {
    shown.kind = "SELECT";
    shown.set_subqueries(&plan.needs().subqueries);
    shown.missing = Uses::of_query(plan).missing;
    let root = shown.steps.len();
    add(plan.plan(), None, 1.0, shown)?;
    // What variables are given is computed of the rows that the plan gives.
    let mut subqueries = Vec::new();
    plan.assignments.iter().for_each(|(_, e)| in_expr(e, &mut subqueries));
    add_subqueries(&subqueries, root, shown)
}

/// Adds the operators of a change.
///
/// # Errors
/// Those of who is asked.
pub fn dml(plan: &DmlPlan, shown: &mut Shown<'_>) -> Result<(), SqlError> {
    change_under(plan, None, shown)?;
    shown.missing = plan.uses().missing;
    Ok(())
}

/// A change, and below it one that it takes its rows from.
fn change_under(
    plan: &DmlPlan,
    parent: Option<usize>,
    shown: &mut Shown<'_>,
) -> Result<(), SqlError> {
    shown.set_subqueries(&plan.needs().subqueries);
    let nested = match plan {
        DmlPlan::Insert(insert) => insert.nested(),
        _ => None,
    };
    let (db, store, source, verb) = match plan {
        DmlPlan::Insert(plan) => {
            let (db, store, source) = plan.shown();
            (db, store, source, "Insert")
        }
        DmlPlan::Update(plan) => {
            let (db, store, source) = plan.shown();
            (db, store, source, "Update")
        }
        DmlPlan::Delete(plan) => {
            let (db, store, source) = plan.shown();
            (db, store, source, "Delete")
        }
        DmlPlan::Merge(plan) => {
            let (db, store, source) = plan.shown();
            (db, store, source, "Merge")
        }
        DmlPlan::Instead(plan) => {
            let (name, verb, source) = plan.shown();
            shown.kind = match verb {
                "Insert" => "INSERT",
                "Update" => "UPDATE",
                _ => "DELETE",
            };
            let at = shown.push(parent, ("Table Insert", verb), format!("OBJECT:([{name}])"), None);
            shown.steps[at].counted = Counted::Changes;
            match source {
                Some(source) => {
                    add(source, Some(at), 1.0, shown)?;
                }
                None => {
                    shown.push(Some(at), ("Constant Scan", "Constant Scan"), String::new(), None);
                }
            }
            return Ok(());
        }
        DmlPlan::SelectInto(plan) => {
            let (name, source) = plan.shown();
            shown.kind = "SELECT INTO";
            let at =
                shown.push(parent, ("Table Insert", "Insert"), format!("OBJECT:({name})"), None);
            shown.steps[at].counted = Counted::Changes;
            return add(source, Some(at), 1.0, shown).map(drop);
        }
        DmlPlan::Partitioned(plan) => return changes_of_parts(plan, parent, shown),
    };
    shown.kind = match verb {
        "Insert" => "INSERT",
        "Update" => "UPDATE",
        "Merge" => "MERGE",
        _ => "DELETE",
    };
    let object = Object::of(db, &store.table, &store.table.storage);
    let at = shown.push_on(parent, change(store, verb), object, "", None);
    shown.steps[at].counted = Counted::Changes;
    rows_of(source, at, shown)?;
    if let Some(nested) = nested {
        let kind = shown.kind;
        change_under(nested, Some(at), shown)?;
        shown.kind = kind;
    }
    Ok(())
}

/// Where the rows of a change come from.
fn rows_of(source: Source<'_>, at: usize, shown: &mut Shown<'_>) -> Result<(), SqlError> {
    match source {
        Source::Constant => {
            shown.push(Some(at), ("Constant Scan", "Constant Scan"), String::new(), None);
        }
        Source::Plan(plan) => {
            add(plan, Some(at), 1.0, shown)?;
        }
        Source::Scan(scan) => {
            let mut subqueries = Vec::new();
            let read = add_scan(scan, Some(at), &mut subqueries, shown);
            add_subqueries(&subqueries, read, shown)?;
        }
    }
    Ok(())
}

/// A change of a partitioned view: one of each table, one after another.
fn changes_of_parts(
    plan: &PartitionedPlan,
    parent: Option<usize>,
    shown: &mut Shown<'_>,
) -> Result<(), SqlError> {
    let (kind, verb) = match plan.action() {
        Action::Insert => ("INSERT", "Insert"),
        Action::Update => ("UPDATE", "Update"),
        Action::Delete => ("DELETE", "Delete"),
    };
    shown.kind = kind;
    let all = shown.push(parent, ("Sequence", "Sequence"), String::new(), None);
    shown.steps[all].counted = Counted::Changes;
    for part in plan.parts() {
        // Those of an INSERT are the statement's.
        if !part.subqueries.is_empty() {
            shown.set_subqueries(part.subqueries);
        }
        let table = &part.store.table;
        let object = Object::of(part.db, table, &table.storage);
        let at = shown.push_on(Some(all), change(part.store, verb), object, "", None);
        if let Some(source) = part.source {
            rows_of(source, at, shown)?;
        }
    }
    Ok(())
}

fn change(store: &TableStore, verb: &'static str) -> (&'static str, &'static str) {
    let tree = matches!(store.base, Base::Tree(_));
    let physical = match (verb, tree) {
        ("Insert", true) => "Clustered Index Insert",
        ("Insert", false) => "Table Insert",
        ("Update", true) => "Clustered Index Update",
        ("Update", false) => "Table Update",
        ("Merge", true) => "Clustered Index Merge",
        ("Merge", false) => "Table Merge",
        (_, true) => "Clustered Index Delete",
        (_, false) => "Table Delete",
    };
    (physical, verb)
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

/// Adds a plan's operators; what they cost in total.
fn add(
    plan: &Plan,
    parent: Option<usize>,
    executions: f64,
    shown: &mut Shown<'_>,
) -> Result<f64, SqlError> {
    match plan.node.own::<DeepPlan>() {
        Some(deep) => stack::with(deep.room(), || add_node(&deep.input, parent, executions, shown)),
        None => stack::with_room(|| add_node(plan, parent, executions, shown)),
    }
}

fn add_node(
    plan: &Plan,
    parent: Option<usize>,
    executions: f64,
    shown: &mut Shown<'_>,
) -> Result<f64, SqlError> {
    shown.asking.step()?;
    let mut subqueries = Vec::new();
    let at = add_operator(plan, parent, &mut subqueries, shown);
    shown.steps[at].counted = Counted::Node(NodeId::of(plan));
    let mut totals = Vec::new();
    for (number, input) in plan.inputs().into_iter().enumerate() {
        // The right side of an apply runs for each row of the left one.
        let times = match &plan.node {
            Node::Apply { left, .. } if number == 1 => left.rows.max(1.0),
            _ => 1.0,
        };
        totals.push(add(input, Some(at), executions * times, shown)?);
    }
    let estimate = Estimate::over(plan, &totals, executions);
    shown.steps[at].estimate = Some(estimate);
    add_subqueries(&subqueries, at, shown)?;
    Ok(estimate.cost.total)
}

/// Adds one operator, without what is below it; gives its place, and the subqueries in its
/// expressions.
fn add_operator<'p>(
    plan: &'p Plan,
    parent: Option<usize>,
    subqueries: &mut Vec<&'p SubRef>,
    shown: &mut Shown<'_>,
) -> usize {
    let mut step = |names, argument: String| shown.push(parent, names, argument, None);
    let same = |name| (name, name);
    match &plan.node {
        Node::One => step(same("Constant Scan"), String::new()),
        Node::Values(values) => {
            values.iter().flatten().for_each(|e| in_expr(e, subqueries));
            step(same("Constant Scan"), format!("VALUES:({} rows)", values.len()))
        }
        Node::Scan(scan) => add_scan(scan, parent, subqueries, shown),
        Node::View { scan, .. } => {
            step(same("Table-valued function"), format!("OBJECT:([sys].[{}])", scan.view.name()))
        }
        Node::Routine { scan, .. } => {
            let name = scan.routine.as_any().downcast_ref::<CalledFunction>();
            let name = name
                .map_or(String::new(), |f| format!("[{}].[{}]", f.module.schema, f.module.name));
            step(same("Table-valued function"), format!("OBJECT:({name})"))
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
        Node::Lookup { scan, .. } => {
            let tree = matches!(scan.store.base, Base::Tree(_));
            let name = if tree { "Key Lookup" } else { "RID Lookup" };
            let object = Object::of(&scan.db, &scan.store.table, &scan.store.table.storage);
            let argument = tested(scan, subqueries);
            shown.push_on(parent, same(name), object, &argument, None)
        }
        Node::Filter { pred, .. } => {
            in_pred(pred, subqueries);
            step(same("Filter"), String::new())
        }
        Node::Project { exprs, .. } => {
            exprs.iter().for_each(|e| in_expr(e, subqueries));
            step(same("Compute Scalar"), String::new())
        }
        Node::HashJoin { plan: join, .. } => {
            let built = if join.builds_left { "BUILD:(LEFT)" } else { "" };
            step(("Hash Match", join_name(join.kind)), built.into())
        }
        Node::MergeJoin { plan: join, .. } => step(
            ("Merge Join", join_name(join.kind)),
            format!("MERGE:({} keys)", join.left_keys.len()),
        ),
        Node::LoopJoin { plan: join, .. } => {
            step(("Nested Loops", join_name(join.kind)), String::new())
        }
        Node::Apply { plan: apply, .. } => step(
            ("Nested Loops", join_name(apply.kind)),
            format!("OUTER REFERENCES:({})", apply.args.len()),
        ),
        Node::Aggregate { plan: group, .. } if group.scalar && group.keys.is_empty() => {
            step(("Stream Aggregate", "Aggregate"), String::new())
        }
        Node::Aggregate { plan: group, .. } if group.streams => {
            step(("Stream Aggregate", "Aggregate"), format!("GROUP BY:({} keys)", group.keys.len()))
        }
        Node::Aggregate { plan: group, .. } => {
            step(("Hash Match", "Aggregate"), format!("HASH:({} keys)", group.keys.len()))
        }
        Node::Distinct { streams: true, .. } => {
            step(("Stream Aggregate", "Aggregate"), "DISTINCT".into())
        }
        Node::Distinct { .. } => step(("Hash Match", "Flow Distinct"), String::new()),
        Node::Sort { keys, limit: None, .. } => {
            step(same("Sort"), format!("ORDER BY:({} keys)", keys.len()))
        }
        Node::Sort { keys, limit: Some(n), .. } => {
            step(("Sort", "TopN Sort"), format!("TOP {n}, ORDER BY:({} keys)", keys.len()))
        }
        Node::Document { document, .. } => {
            let json = matches!(**document, expr::document::Document::Json(_));
            step(("UDX", if json { "FOR JSON" } else { "FOR XML" }), String::new())
        }
        Node::Top { .. } => step(same("Top"), String::new()),
        Node::Window { calls, streams, .. } => {
            let sort = if *streams { "" } else { ", SORT" };
            step(same("Window Aggregate"), format!("{} functions{sort}", calls.len()))
        }
        Node::Concat(_) => step(same("Concatenation"), String::new()),
        Node::Own(node) => {
            node.exprs().into_iter().for_each(|e| in_expr(e, subqueries));
            let (physical, logical, argument) = node.shown();
            step((physical, logical), argument)
        }
        Node::SetOp { except: true, .. } => {
            step(("Hash Match", "Left Anti Semi Join"), "EXCEPT".into())
        }
        Node::SetOp { .. } => step(("Hash Match", "Left Semi Join"), "INTERSECT".into()),
    }
}

/// The columns that a seek of an index is made of, in the order of its key; before those whose
/// values are visited one after another stands a word, which SQL Server's plans do not have: it has
/// no such seeks.
fn sought(columns: &[(usize, bool)], seek: &SeekSpec) -> Vec<(usize, &'static str)> {
    let length = |seek: &SeekSpec| {
        seek.equal.len() + usize::from(seek.lower.is_some() || seek.upper.is_some())
    };
    let longest = |seek: &SeekSpec| seek.ranges().map(length).max().unwrap_or(0);
    let column = |(at, _): &(usize, bool)| (*at, "");
    let Some(behind) = &seek.behind else {
        return columns.iter().take(longest(seek)).map(column).collect();
    };
    let (equal, passed) = (seek.equal.len(), behind.columns);
    let mut names: Vec<_> = columns.iter().take(equal).map(column).collect();
    names.extend(columns.iter().skip(equal).take(passed).map(|(at, _)| (*at, "EACH ")));
    names.extend(columns.iter().skip(equal + passed).take(longest(&behind.ranges)).map(column));
    names
}

fn add_scan<'p>(
    scan: &'p ScanPlan,
    parent: Option<usize>,
    subqueries: &mut Vec<&'p SubRef>,
    shown: &mut Shown<'_>,
) -> usize {
    let store = &scan.store;
    let key = |columns: &[(usize, bool)], seek: &SeekSpec| {
        let mut names: Vec<String> = Vec::new();
        for (at, each) in sought(columns, seek) {
            let name = format!("{each}[{}]", store.table.columns[at].name);
            // The clustered key behind an index's own may have its columns again.
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let last = seek.behind.as_ref().map_or(seek, |behind| &behind.ranges);
        let ranges = if last.others.is_empty() {
            ""
        } else {
            &format!(", {} ranges", 1 + last.others.len())
        };
        format!(", SEEK:({}{ranges})", names.join(", "))
    };
    if let Path::Clustered(seek) | Path::Point(seek) | Path::Index { seek, .. } = &scan.path {
        for range in seek.all_ranges() {
            let ends = range.lower.iter().chain(&range.upper).map(|end| &end.value);
            range.equal.iter().chain(ends).for_each(|e| in_expr(e, subqueries));
        }
    }
    let tree = matches!(store.base, Base::Tree(_));
    let base = || Object::of(&scan.db, &store.table, &store.table.storage);
    let (name, object, mut argument) = match &scan.path {
        Path::Base if tree => ("Clustered Index Scan", base(), String::new()),
        Path::Base => ("Table Scan", base(), String::new()),
        Path::Clustered(seek) | Path::Point(seek) => {
            ("Clustered Index Seek", base(), key(&store.table.storage.key, seek))
        }
        Path::Index { index, seek, covering, .. } => {
            let IndexStore { def, order, .. } = &store.indexes[*index];
            let mut text = String::new();
            if !seek.is_empty() {
                text += &key(order, seek);
            }
            if let Some(test) = &scan.entry {
                in_pred(&test.pred, subqueries);
                text += &where_of(&test.columns, store);
            }
            if !covering {
                text += if tree { ", KEY LOOKUP" } else { ", RID LOOKUP" };
            }
            let name = if seek.is_empty() { "Index Scan" } else { "Index Seek" };
            (name, Object::of(&scan.db, &store.table, def), text)
        }
    };
    argument += &tested(scan, subqueries);
    if scan.backward {
        argument += ", ORDERED BACKWARD";
    }
    shown.push_on(parent, (name, name), object, &argument, None)
}

/// The condition that is tested on a row.
fn tested<'p>(scan: &'p ScanPlan, subqueries: &mut Vec<&'p SubRef>) -> String {
    let Some(pred) = &scan.pred else { return String::new() };
    in_pred(pred, subqueries);
    where_of(&scan.columns[..scan.tested], &scan.store)
}

fn where_of(columns: &[u16], store: &TableStore) -> String {
    let name = |at: &u16| store.table.columns[usize::from(*at)].name.clone();
    let names: Vec<CompactString> = columns.iter().map(name).collect();
    format!(", WHERE:({})", names.join(", "))
}

fn add_subqueries(
    subqueries: &[&SubRef],
    parent: usize,
    shown: &mut Shown<'_>,
) -> Result<(), SqlError> {
    for sub in subqueries {
        let kind = if sub.args.is_empty() { "Subquery" } else { "Correlated Subquery" };
        let Some(plan) = shown.place(sub.id) else { continue };
        let at = shown.push(Some(parent), ("Subquery", kind), String::new(), None);
        shown.steps[at].counted = Counted::Node(NodeId::of(&plan));
        stack::with_room(|| add(&plan, Some(at), 1.0, shown))?;
        // It has the estimate of its first operator.
        shown.steps[at].estimate = shown.steps.get(at + 1).and_then(|first| first.estimate);
    }
    Ok(())
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
        Expr::Routine(c) => c.args.iter().for_each(|e| in_expr(e, out)),
        Expr::Subquery(sub) => out.push(sub),
        Expr::Deep(e) => stack::with_room(|| in_expr(e, out)),
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
        Pred::Like(l) => {
            [&l.operand, &l.pattern].into_iter().chain(&l.escape).for_each(|e| in_expr(e, out))
        }
        Pred::InList(l) => l.list.iter().chain([&l.operand]).for_each(|e| in_expr(e, out)),
        Pred::Exists(sub) => out.push(sub),
        Pred::Quantified(q) => {
            in_expr(&q.operand, out);
            out.push(&q.query);
        }
    }
}
