//! What compilations have come to since the start: sys.dm_exec_query_optimizer_info. The counters
//! are those of SQL Server that mean something here, and one for each rewrite.

use bind::counters::Tally;
use types::{DataType, Len, Value};

use super::{View, ViewColumn, big, text};

const COLUMNS: &[ViewColumn] = &[
    ("counter", DataType::NVarChar(Len::N(4000)), false),
    ("occurrence", DataType::BigInt, false),
    ("value", DataType::Float, true),
];

/// sys.dm_exec_query_optimizer_info.
pub static INFO: View = View::sys("dm_exec_query_optimizer_info", COLUMNS, |session, _, _| {
    let totals = session.host().optimizer().totals();
    let all = Tally { sum: 0.0, ..totals.elapsed };
    let mut rows = Vec::new();
    // The value is the mean of what the occurrences came to; a counter that has nothing to come to
    // gives 1.
    let mut row = |name: String, tally: Tally, measured: bool| {
        let n = tally.occurrences as f64;
        let value = match tally.occurrences {
            0 => Value::Null,
            _ => Value::Float(if measured { tally.sum / n } else { 1.0 }),
        };
        rows.push(vec![text(name), big(tally.occurrences), value]);
    };
    for (name, tally, measured) in [
        ("optimizations", all, false),
        ("elapsed time", totals.elapsed, true),
        ("final cost", totals.cost, true),
        ("trivial plan", totals.trivial, false),
        ("tasks", totals.tasks, true),
        ("insert stmt", totals.inserts, false),
        ("delete stmt", totals.deletes, false),
        ("update stmt", totals.updates, false),
        ("merge stmt", totals.merges, false),
        ("contains subquery", totals.subqueries, false),
        ("tables", totals.tables, true),
        ("hints", totals.hints, false),
        ("order hint", totals.order_hints, false),
        ("join hint", totals.join_hints, false),
        ("view reference", totals.views, false),
        ("maximum recursion level", totals.recursion, true),
    ] {
        row(name.into(), tally, measured);
    }
    for (number, name) in plan::rewrite::names().enumerate() {
        let tally = totals.rewrites.get(number).copied().unwrap_or_default();
        row(format!("rewrite {name}"), tally, true);
    }
    Ok(rows)
});
