//! The plans of a batch that is kept, for views: what its statements are bound to at this moment.

use std::sync::Arc;

use super::compiled::{BoundOperation, CompiledBatch};
use super::program::Op;
use explain::ShownPlan;
use session::asking::always;
use syntax::ast::Stmt;
use types::Value;

/// A statement's plan, if it is bound.
fn shown(batch: &CompiledBatch, op: usize) -> Option<ShownPlan<'static>> {
    let Some(Op::Stmt(number)) = batch.program.ops.get(op) else { return None };
    let stmt = batch.program.stmts.get(*number as usize)?;
    let bound = batch.bound.lock().get(op)?.clone();
    of_bound(batch, stmt, &bound?.1)
}

/// The plan that a statement is bound to, if it is a query or a change.
pub(crate) fn of_bound(
    batch: &CompiledBatch,
    stmt: &Stmt,
    bound: &BoundOperation,
) -> Option<ShownPlan<'static>> {
    let mut shown = ShownPlan::of_statement(stmt.span.text(&batch.text), &always);
    match bound {
        BoundOperation::Query(plan) => explain::query(plan, &mut shown).ok()?,
        BoundOperation::Dml(plan) => explain::dml(plan, &mut shown).ok()?,
        _ => return None,
    }
    Some(shown)
}

/// The operators, as SHOWPLAN_TEXT has them, without the statement's text.
pub fn lines(shown: &ShownPlan<'static>) -> Vec<String> {
    let of = |row: Vec<Value>| row.first().and_then(Value::as_str).map(str::to_owned);
    shown.rows(false, 0).unwrap_or_default().into_iter().skip(1).filter_map(of).collect()
}

/// The operators of a statement's plan.
pub fn operators(batch: &Arc<CompiledBatch>, op: usize) -> Option<Vec<String>> {
    Some(lines(&shown(batch, op)?))
}

/// The plans of some statements as one document; none where no statement is bound.
pub fn document(batch: &Arc<CompiledBatch>, ops: &[usize]) -> Option<String> {
    const BEGIN: &str = "<Statements>";
    const END: &str = "</Statements>";
    let mut whole: Option<String> = None;
    for document in ops.iter().filter_map(|op| shown(batch, *op)?.xml(*op, None).ok()) {
        whole = Some(match whole {
            None => document,
            // Its statements behind those before.
            Some(mut whole) => {
                let (from, to) = (document.find(BEGIN)? + BEGIN.len(), document.rfind(END)?);
                whole.insert_str(whole.rfind(END)?, &document[from..to]);
                whole
            }
        });
    }
    whole
}
