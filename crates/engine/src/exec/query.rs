//! Running a compiled query.

use super::RowSet;
use super::context::{ExecCtx, RowSink};
use super::open::start;
use super::rt::Rt;
use plan::{Needs, QueryPlan};
use types::{SqlError, Value};

/// Checks the caller's rights to a statement and locks its tables.
///
/// # Errors
/// 1205, 1222; the table was changed meanwhile.
pub fn lock_tables(needs: &Needs, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
    ctx.session.check_rights(&needs.rights)?;
    for used in &needs.tables {
        ctx.session.lock_table(&used.db, &used.table, used.lock)?;
    }
    for (db, module) in &needs.modules {
        ctx.session.lock_module(db, module)?;
    }
    Ok(())
}

/// Runs a query; returns how many rows it gave (or assigned from).
///
/// # Errors
/// Those of its expressions, of the storage, and of the sink.
pub fn run_query(query: &QueryPlan, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
    lock_tables(&query.needs, ctx)?;
    let limit = match ctx.session.options.rowcount {
        0 => u64::MAX,
        n => n,
    };
    let mut rt = Rt::new(ctx, &query.needs);
    let mut op = start(&query.plan, &mut rt);
    let mut batch = RowSet::default();
    let mut count = 0;
    while count < limit && op.next(&mut rt, &mut batch)? {
        if query.assignments.is_empty() {
            rt.session().acknowledge_reads()?;
        }
        for i in 0..batch.len() {
            if count == limit {
                break;
            }
            count += 1;
            if query.assignments.is_empty() {
                out.row(batch.row(i))?;
            } else {
                assign(query, batch.row(i), &mut rt)?;
            }
        }
    }
    Ok(count)
}

fn assign(query: &QueryPlan, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
    for (slot, e) in &query.assignments {
        let value = e.eval(row, rt)?;
        rt.set_var(*slot, value);
    }
    Ok(())
}
