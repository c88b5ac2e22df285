//! A query that is one row of a table by its whole clustered key (`QueryPlan::point`): it is read
//! into room that the session keeps, without operators. Guarantee: what it gives is what the
//! operators would have given. Where an expression fails, which may be a warning only, the
//! operators do it from the beginning: nothing has been given by then.

use super::context::{ExecCtx, RowSink};
use super::plain::PlainVars;
use super::scan::read_mode;
use super::seek;
use plan::QueryPlan;
use plan::nodes::{Node, Path, ScanPlan};
use session::state::core::PointRoom;
use storage::{Base, TableMode, access_error};
use types::{ResultRows, SqlError, Value};

/// Runs the query, whose tables are locked; returns how many rows it gave (or assigned from), or
/// nothing where operators are to do it.
pub(super) fn run(
    query: &QueryPlan,
    ctx: &mut ExecCtx<'_>,
    out: &mut dyn RowSink,
) -> Result<Option<u64>, SqlError> {
    let Node::Scan(scan) = &query.plan.node else {
        return Err(SqlError::internal("a point is a scan"));
    };
    let mut room = PointRoom::take(&mut ctx.session.memory);
    let given = match read(scan, &mut room, ctx) {
        Ok(Some(true)) => give(query, &room.values, ctx, out).map(|given| given.then_some(1)),
        Ok(Some(false)) => Ok(Some(0)),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    room.give(&mut ctx.session.memory);
    given
}

/// Reads the row's values; false when there is no such row, nothing when an expression has failed.
fn read(
    scan: &ScanPlan,
    room: &mut PointRoom,
    ctx: &mut ExecCtx<'_>,
) -> Result<Option<bool>, SqlError> {
    let (Path::Point(spec), Base::Tree(tree)) = (&scan.path, &scan.store.base) else {
        return Err(SqlError::internal("a point has a key"));
    };
    ctx.session.check_cancel()?;
    let guard = match scan.mode {
        TableMode::Snapshot => Some(ctx.session.snapshot(&scan.db)?),
        // Values outside the row are not freed before they are read.
        _ if scan.store.has_outside() => Some(ctx.session.snapshot(&scan.db)?),
        _ => None,
    };
    let mut vars = PlainVars(ctx.vars);
    let PointRoom { key, values, batch } = room;
    match seek::point(spec, &scan.store.parts, &mut vars, key) {
        Ok(true) => {}
        Ok(false) => return Ok(Some(false)),
        Err(_) => return Ok(None),
    }
    let found = tree.fetch(key, read_mode(&guard, scan.mode), batch);
    if !found.map_err(|e| access_error(&scan.db, e))? || batch.is_ghost(0) {
        return Ok(Some(false));
    }
    values.resize(scan.columns.len(), Value::Null);
    let (tested, others) = scan.columns.split_at(scan.tested.min(scan.columns.len()));
    scan.store.columns_read(&scan.db, scan.mode, batch.row(0), tested, values)?;
    match scan.pred.as_ref().map(|pred| pred.is_true(values, &mut vars)) {
        None | Some(Ok(true)) => {}
        Some(Ok(false)) => return Ok(Some(false)),
        Some(Err(_)) => return Ok(None),
    }
    let rest = &mut values[tested.len()..];
    scan.store.columns_read(&scan.db, scan.mode, batch.row(0), others, rest)?;
    Ok(Some(true))
}

/// Sends the row, or assigns its values to the query's variables; false when an expression has
/// failed.
fn give(
    query: &QueryPlan,
    row: &[Value],
    ctx: &mut ExecCtx<'_>,
    out: &mut dyn RowSink,
) -> Result<bool, SqlError> {
    if query.assignments.is_empty() {
        ctx.session.acknowledge_reads()?;
        return out.rows(&ResultRows::one(row)).map(|()| true);
    }
    for (slot, e) in &query.assignments {
        let Ok(value) = e.eval(row, &mut PlainVars(ctx.vars)) else { return Ok(false) };
        if let Some(place) = ctx.vars.get_mut(*slot) {
            *place = value;
        }
    }
    Ok(true)
}
