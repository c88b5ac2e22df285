//! Running a compiled query.

use std::borrow::{Borrow, Cow};

use super::context::{ExecCtx, RowSink};
use super::open::operators;
use super::rt::{Rt, RunState, ScanPlace};
use super::{Operator, RowSet};
use crate::masked_errors;
use expr::Expr;
use plan::nodes::{Node, ScanPlan};
use plan::{Needs, QueryPlan};
use session::state::SessionCore;
use storage::corrupt_row;
use types::{ResultRows, SqlError, Value};

/// Checks the caller's rights to a statement and locks its tables.
///
/// # Errors
/// 1205, 1222; the table was changed meanwhile.
#[inline]
pub fn lock_tables(needs: &Needs, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
    ctx.session.check_rights(&needs.rights)?;
    for used in &needs.tables {
        ctx.session.lock_table(&used.db, &used.table, used.lock)?;
    }
    for (db, module) in &needs.modules {
        ctx.session.lock_module(db, module)?;
    }
    for (db, sequence) in &needs.sequences {
        ctx.session.lock_sequence(db, sequence)?;
    }
    Ok(())
}

/// A query on its way: its plan, its operators, what the run keeps. It borrows nothing of the
/// session, so that other statements of the session can run between two of its batches; what they
/// change it does not see. `Q` is how it holds its query: `Arc<QueryPlan>` for one that outlives
/// its statement, a reference for one that does not.
pub struct RunningQuery<Q> {
    query: Q,
    root: Box<dyn Operator>,
    state: RunState,
}

impl<Q: Borrow<QueryPlan>> RunningQuery<Q> {
    /// Starts a query that runs within one statement. Its tables are locked.
    pub fn start(query: Q, ctx: &mut ExecCtx<'_>) -> RunningQuery<Q> {
        RunningQuery::with(query, ctx, RunState::default())
    }

    /// Starts a query that other statements of the session come between. It goes on reading in the
    /// snapshots that it has begun with. Its tables are locked; each statement that goes on with it
    /// locks them again (`lock_tables`), which tells when one was changed.
    pub fn start_suspendable(query: Q, ctx: &mut ExecCtx<'_>) -> RunningQuery<Q> {
        RunningQuery::with(query, ctx, RunState::suspendable())
    }

    /// Starts a query over one scan that goes on from a row. Its tables are locked.
    pub(crate) fn start_from(query: Q, ctx: &mut ExecCtx<'_>, place: ScanPlace) -> RunningQuery<Q> {
        RunningQuery::with(query, ctx, RunState::from_place(place))
    }

    /// Waits until what it has read so far in snapshots of its own is durable, or has that waited
    /// for before the session's answer is sent.
    ///
    /// # Errors
    /// Those of the log.
    pub fn acknowledge(&self, session: &SessionCore) -> Result<(), SqlError> {
        self.state.acknowledge(session)
    }

    fn with(query: Q, ctx: &mut ExecCtx<'_>, state: RunState) -> RunningQuery<Q> {
        let QueryPlan { plan, needs, .. } = query.borrow();
        let mut rt = Rt::resume(ctx, needs, state);
        let root = operators(plan, &mut rt);
        RunningQuery { root, state: rt.suspend(), query }
    }

    /// The query.
    pub fn query(&self) -> &QueryPlan {
        self.query.borrow()
    }

    /// Replaces `batch` by the next rows; false when there are none.
    ///
    /// # Errors
    /// Those of its expressions and of the storage. After an error it is not to be called again.
    pub fn next(&mut self, ctx: &mut ExecCtx<'_>, batch: &mut RowSet) -> Result<bool, SqlError> {
        let query = self.query.borrow();
        let mut rt = Rt::resume(ctx, &query.needs, std::mem::take(&mut self.state));
        let more = self.root.next(&query.plan, &mut rt, batch);
        self.state = rt.suspend();
        more.map_err(|e| masked_errors::of_statement(ctx.session, &query.needs, e))
    }

    /// Assigns the values of a row to the query's variables.
    fn assign(&mut self, ctx: &mut ExecCtx<'_>, row: &[Value]) -> Result<(), SqlError> {
        let query = self.query.borrow();
        let mut rt = Rt::resume(ctx, &query.needs, std::mem::take(&mut self.state));
        let assigned = assign(query, row, &mut rt);
        self.state = rt.suspend();
        assigned.map_err(|e| masked_errors::of_statement(ctx.session, &query.needs, e))
    }
}

/// Runs a query; returns how many rows it gave (or assigned from).
///
/// # Errors
/// Those of its expressions, of the storage, and of the sink.
pub fn run_query(
    query: &QueryPlan,
    ctx: &mut ExecCtx<'_>,
    out: &mut dyn RowSink,
) -> Result<u64, SqlError> {
    lock_tables(&query.needs, ctx)?;
    // One row is what the smallest limit gives, too. A profile counts what operators do.
    if query.point
        && ctx.session.run.profile.is_none()
        && let Some(count) = super::point::run(query, ctx, out)?
    {
        return Ok(count);
    }
    let limit = match ctx.session.options.rowcount {
        0 => u64::MAX,
        n => n,
    };
    let mut running = RunningQuery::start(query, ctx);
    let mut batch = RowSet::default();
    let scan = scan_of_stored(query, ctx, out);
    if scan.is_some() {
        batch.take_stored();
    }
    let mut count = 0;
    while count < limit && running.next(ctx, &mut batch)? {
        let wanted =
            usize::try_from(limit - count).map_or(batch.len(), |left| left.min(batch.len()));
        if !query.assignments.is_empty() {
            (0..wanted).try_for_each(|i| running.assign(ctx, batch.row(i)))?;
        } else {
            ctx.session.acknowledge_reads()?;
            match &scan {
                Some(scan) => scan.send(&batch, wanted, out).map_err(|e| match e {
                    UnsentRows::Damaged(e) => {
                        masked_errors::of_statement(ctx.session, &query.needs, e)
                    }
                    UnsentRows::BySink(e) => e,
                })?,
                None => out.rows(&batch.as_rows().first(wanted))?,
            }
        }
        count += wanted as u64;
    }
    Ok(count)
}

/// Cells of stored rows that go out together: few enough to stay in the processor's first cache.
const CELLS: usize = 512;

/// A scan whose rows may go out as they are stored, and the table's columns that its query gives.
struct StoredScan<'q> {
    scan: &'q ScanPlan,
    columns: Cow<'q, [u16]>,
}

/// Why rows have not gone out.
enum UnsentRows {
    /// A row cannot be read.
    Damaged(SqlError),
    /// What takes them says so.
    BySink(SqlError),
}

impl StoredScan<'_> {
    /// Sends the first rows of a batch: those that are stored as cells, those between them that
    /// have values as these. Rows before one that cannot be read go out before its error.
    fn send(&self, batch: &RowSet, count: usize, out: &mut dyn RowSink) -> Result<(), UnsentRows> {
        let table = &self.scan.store.table;
        let width = self.columns.len();
        let mut cells = Vec::new();
        let mut at = 0;
        while at < count {
            let begin = at;
            let mut damage = None;
            cells.clear();
            while at < count
                && (at == begin || cells.len() + width <= CELLS)
                && let Some(row) = batch.stored(at)
            {
                if cells.is_empty() {
                    // Once for all that may go together.
                    cells.reserve_exact(width * (CELLS / width.max(1)).clamp(1, count - at));
                }
                if let Err(e) = table.layout.stored_cells(row, &self.columns, &mut cells) {
                    damage = Some(corrupt_row(table, &e));
                    cells.truncate((at - begin) * width);
                    break;
                }
                at += 1;
            }
            if at > begin {
                let rows = ResultRows::of_cells(at - begin, width, &cells);
                out.rows(&rows).map_err(UnsentRows::BySink)?;
            }
            if let Some(e) = damage {
                return Err(UnsentRows::Damaged(e));
            }
            let begin = at;
            while at < count && batch.stored(at).is_none() {
                at += 1;
            }
            if at > begin {
                let rows = batch.as_rows().skip(begin).first(at - begin);
                out.rows(&rows).map_err(UnsentRows::BySink)?;
            }
        }
        Ok(())
    }
}

/// The scan that a query is, its columns put into another order at most, if its rows may be given
/// as they are stored. What is profiled is run as ever.
fn scan_of_stored<'q>(
    query: &'q QueryPlan,
    ctx: &ExecCtx<'_>,
    out: &dyn RowSink,
) -> Option<StoredScan<'q>> {
    if !query.assignments.is_empty() || ctx.session.run.profile.is_some() || !out.takes_stored() {
        return None;
    }
    let (scan, columns) = match &query.plan.node {
        Node::Scan(scan) => (scan, Cow::Borrowed(&scan.columns[..])),
        Node::Project { input, exprs } => {
            let Node::Scan(scan) = &input.node else { return None };
            let column = |e: &Expr| match e {
                Expr::Col(slot) => scan.columns.get(*slot as usize).copied(),
                _ => None,
            };
            (scan, Cow::Owned(exprs.iter().map(column).collect::<Option<Vec<u16>>>()?))
        }
        _ => return None,
    };
    (!scan.locator && gives_texts_once(scan, &columns)).then_some(StoredScan { scan, columns })
}

/// Whether there are texts or bytes among the columns that a query gives, and none of them twice. A
/// number is read with less work than its row is copied. With a text that is given twice, what goes
/// out may be far longer than the row: copies of values are charged where they are made.
fn gives_texts_once(scan: &ScanPlan, columns: &[u16]) -> bool {
    let layout = &scan.store.table.layout;
    let is_text = |at: usize| {
        layout.is_variable(at)
            || layout.types().get(at).is_some_and(|column| column.ty.length().is_some())
    };
    let mut texts = (0..columns.len()).filter(|i| is_text(usize::from(columns[*i]))).peekable();
    texts.peek().is_some() && texts.all(|i| !columns[..i].contains(&columns[i]))
}

fn assign(query: &QueryPlan, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
    for (slot, e) in &query.assignments {
        let value = e.eval(row, rt)?;
        rt.set_var(*slot, value);
    }
    Ok(())
}
