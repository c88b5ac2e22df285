//! UPDATE. Where no index holds a changed column, rows are changed page by page with one log record
//! per page, and fixed-length columns are patched in a copy of the row instead of encoding it
//! again. One row by its key takes a short way ([`point`]).

mod point;
pub mod row;

pub use point::ExpectedRow;

use std::ops::Range;
use std::sync::Arc;

use super::change::{self, ChangePlan, CompileCascade, TableChange, WrittenRows};
use super::output::{self, OutputOutlet, OutputPlan, OutputScope, PseudoTables, WaitingOutput};
use super::row_change::{PageProgress, RowChange, one_by_one};
use super::set::SetClause;
use super::source::{Purpose, RowClauses, dml_source, plan_target};
use super::target::{Limit, RowsTarget};
use crate::shown::ChangeSource;
use access::{Change, EntryChange, HeapChange, Outcome, RowBatch};
use catalog::Db;
use exec::operators::RowSet;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::rt::Rt;
use expr::ColId;
use logical::hints::TableLock;
use logical::tree::TopSpec;
use plan::Needs;
use plan::statement::Statement;
use row::RowUpdate;
use session::state::changes::Action;
use storage::write::{StoredRow, touches};
use storage::{Base, TableStore, access_error};
use syntax::ast;
use types::row::has_overflow;
use types::{SqlError, Value};

/// A compiled UPDATE.
#[derive(Debug)]
pub struct UpdatePlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    target: RowsTarget,
    set: SetClause,
    /// Some nonclustered index holds a changed column, a large value may be one, or each row is
    /// seen by itself (OUTPUT, variables).
    row_by_row: bool,
    top: Option<TopSpec>,
    output: Option<OutputPlan>,
    /// CHECK, foreign keys, triggers.
    change: ChangePlan,
    lock: TableLock,
    /// One row by its whole key, and nothing but these of its bytes changes: see [`point`].
    point: Option<Range<usize>>,
    pub(super) needs: Needs,
}

/// Compiles UPDATE.
pub fn compile(
    binder: &mut Statement<'_>,
    update: &ast::Update,
    compile_cascade: CompileCascade,
) -> Result<UpdatePlan, SqlError> {
    binder.push_ctes(&update.ctes)?;
    let rows = RowClauses {
        target: &update.target,
        from: &update.from,
        filter: update.filter.as_ref(),
        hints: &update.hints,
    };
    let bound = dml_source(binder, &rows, Purpose::Update(&update.assignments))?;
    let lock = bound.lock;
    let get = bound.get.clone();
    let (db, table) = (get.db.clone(), get.table.clone());
    let mut set = SetClause::bind(binder, &get, &update.assignments, &|name| bound.position(name))?;
    let top = update.top.as_ref().map(|top| binder.top(top, Vec::new())).transpose()?;
    let mut needed: Vec<ColId> = Vec::new();
    set.needed(&mut needed);
    needed.iter().for_each(|id| binder.rights.mentions(*id));
    let names = OutputScope {
        db: &db,
        table: &table,
        images: PseudoTables::Both,
        merge: false,
        others: bound.others(binder)?,
        columns: bound.output(),
    };
    let view = bound.view();
    let output = output::bind(binder, names, &update.output, compile_cascade)?;
    if let Some(output) = &output {
        output.needed(&mut needed);
    }
    let share = top.as_ref().is_some_and(|top| top.percent);
    let moves = share || table.storage.key.iter().any(|(c, _)| set.changed.contains(c));
    // Values of rows that TOP leaves out would be computed for nothing.
    let joinable = (&mut set, top.is_none());
    let (mut target, cols) = plan_target(binder, bound, &needed, moves, Some(joinable))?;
    if let RowsTarget::Current(current) = &mut target {
        current.sets.clone_from(&set.changed);
    }
    binder.scopes.pop();
    set.plan(&cols)?;
    let output = output.map(|output| output.planned(&cols)).transpose()?;
    let store = TableStore::open(&db, &table)?;
    let indexed = store.indexes.iter().any(|i| touches(i, &set.changed));
    let change = TableChange {
        view: view.as_ref(),
        ..TableChange::new(&db, &table, Action::Update, &set.changed)
    };
    let change = change::compile(binder, &change, compile_cascade)?;
    change.check_output(output::to_client(output.as_ref()))?;
    let seen =
        output.is_some() || !set.vars.is_empty() || !set.computed.is_empty() || change.sees_rows();
    let row_by_row = indexed || !store.lob_columns.is_empty() || seen;
    let mut needs = plan::physical::needs(binder)?;
    // The lock on the target covers what reading it takes.
    needs.tables.retain(|used| {
        let covered = lock.mode.covers(used.lock.mode) && (lock.hold || !used.lock.hold);
        !(Arc::ptr_eq(&used.table, &table) && covered && !used.lock.no_wait)
    });
    let short = !row_by_row && top.is_none();
    let point = if short { point::stretch(&target, &set.sets) } else { None };
    Ok(UpdatePlan { db, store, target, set, row_by_row, top, output, change, lock, point, needs })
}

impl UpdatePlan {
    /// Its table and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, ChangeSource<'_>) {
        let source = self.target.shown();
        (&self.db, &self.store, source)
    }

    /// The columns that it changes; none where every index has to follow.
    pub fn changed(&self) -> Option<&[usize]> {
        self.set.unless_moved(&self.store)
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// Whether it is one row by its whole key, of which bytes of fixed-length columns change.
    pub fn is_point(&self) -> bool {
        self.point.is_some()
    }

    /// Locks the table, and what else the statement reads.
    ///
    /// # Errors
    /// Those of the locks.
    #[inline]
    pub fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        exec::operators::query::lock_tables(&self.needs, ctx)
    }

    /// Runs the statement. `ahead` is what [`UpdatePlan::look_ahead`] has found, if it was asked.
    pub fn run(
        &self,
        ctx: &mut ExecCtx<'_>,
        out: &mut dyn RowSink,
        ahead: Option<ExpectedRow>,
    ) -> Result<u64, SqlError> {
        self.lock(ctx)?;
        if self.output.is_some() || !self.set.vars.is_empty() {
            ctx.session.shows_newest(&self.db)?;
        }
        if let Some(stretch) = &self.point
            && let Some(count) = self.run_point(stretch, ctx, ahead)?
        {
            return Ok(count);
        }
        let (written, waiting) = self.change_rows(ctx, out)?;
        self.change.finish(ctx, written.kept)?;
        waiting.send()?;
        Ok(written.count)
    }

    /// Changes the rows of one table of a partitioned view: what follows them is for the whole
    /// statement.
    ///
    /// # Errors
    /// As for [`UpdatePlan::run`].
    pub fn run_member(&self, ctx: &mut ExecCtx<'_>) -> Result<WrittenRows, SqlError> {
        self.lock(ctx)?;
        if !self.set.vars.is_empty() {
            ctx.session.shows_newest(&self.db)?;
        }
        let mut nobody: Vec<Vec<Value>> = Vec::new();
        let (written, waiting) = self.change_rows(ctx, &mut nobody)?;
        waiting.send()?;
        Ok(written)
    }

    /// The steps of the change.
    pub fn steps(&self) -> &ChangePlan {
        &self.change
    }

    /// Changes the rows; what follows them is still to come. The tables are locked.
    fn change_rows<'r>(
        &'r self,
        ctx: &mut ExecCtx<'_>,
        out: &'r mut dyn RowSink,
    ) -> Result<(WrittenRows, WaitingOutput<'r>), SqlError> {
        let out =
            OutputOutlet::begin(self.output.as_ref(), ctx, out)?.holding(self.change.is_followed());
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = Limit::of(self.top.as_ref(), &mut rt)?;
        let mut change = UpdatingRows {
            row_by_row: self.row_by_row,
            row: RowUpdate::new(&self.db, &self.store, &self.change, &self.set),
            rows: Vec::new(),
            ends: Vec::new(),
            out,
        };
        let count = self.target.run(&self.db, &self.store, &mut rt, limit, &mut change)?;
        if !self.change.is_instead() {
            self.store.table.state.updated(count, self.set.bits);
        }
        let UpdatingRows { row, out, .. } = change;
        let kept = row.finish(&mut rt)?;
        let waiting = out.finish(&mut rt)?;
        Ok((WrittenRows::alone(count, kept, rt), waiting))
    }
}

struct UpdatingRows<'p> {
    row_by_row: bool,
    row: RowUpdate<'p>,
    /// New rows of a page, one after another.
    rows: Vec<u8>,
    ends: Vec<usize>,
    out: OutputOutlet<'p>,
}

impl UpdatingRows<'_> {
    /// Appends the new row to `self.rows`: patched where all changed columns are of fixed length
    /// and not NULL. False: values have to go outside it, so that it is to be changed by itself.
    fn build(&mut self, row: &[u8]) -> Result<bool, SqlError> {
        let start = self.rows.len();
        if !self.patch(row, start)? {
            self.rows.truncate(start);
            let RowUpdate { db, store, set, values, new, .. } = &mut self.row;
            store.all_columns(db, row, new)?;
            for (set, value) in set.sets.iter().zip(values) {
                new[set.column] = std::mem::take(value);
            }
            if !store.encode_in_row(new, &mut self.rows)? {
                return Ok(false);
            }
        }
        self.ends.push(self.rows.len());
        Ok(true)
    }

    fn patch(&mut self, row: &[u8], start: usize) -> Result<bool, SqlError> {
        self.rows.extend_from_slice(row);
        let layout = &self.row.store.table.layout;
        for (set, value) in self.row.set.sets.iter().zip(&self.row.values) {
            let Some(patch) = &set.patch else { return Ok(false) };
            let there = layout.raw_column(row, set.column);
            if value.is_null() || there.is_none() {
                return Ok(false);
            }
            let place = self.rows.get_mut(start + patch.offset..start + patch.offset + patch.width);
            let Some(place) = place else { return Ok(false) };
            layout.put_fixed(set.column, value, place)?;
        }
        Ok(true)
    }

    fn apply(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
    ) -> Result<PageProgress, SqlError> {
        let (db, store) = (self.row.db, self.row.store);
        let txn = rt.session().txn(db)?;
        let fail = |e| access_error(db, e);
        let mut start = 0;
        let rows = self.ends.iter().map(|end| {
            let row = &self.rows[start..*end];
            start = *end;
            row
        });
        let mut done = PageProgress::default();
        let mut settle = |i: usize, outcome: Outcome<()>| match outcome {
            Outcome::Done(()) => done.count += 1,
            Outcome::Wait(_) | Outcome::Locked | Outcome::Changed => done.stopped_at = Some(i),
            Outcome::Missing | Outcome::Duplicate => {}
        };
        match &store.base {
            Base::Heap(heap) => {
                let changes = picked.iter().zip(rows);
                let mut changes: Vec<HeapChange<'_>> = changes
                    .map(|(i, row)| {
                        HeapChange::new(page.rid(*i), page.header(*i), Change::Update(row))
                    })
                    .collect();
                let tried = heap.apply_batch(txn, &mut changes).map_err(fail)?;
                picked.iter().zip(changes).take(tried).for_each(|(i, c)| settle(*i, c.outcome));
            }
            Base::Tree(tree) => {
                let changes = picked.iter().zip(rows);
                let mut changes: Vec<EntryChange<'_>> = changes
                    .map(|(i, row)| {
                        EntryChange::new(
                            page.key(*i),
                            page.slot(*i),
                            page.header(*i),
                            Change::Update(row),
                        )
                    })
                    .collect();
                let tried = tree.apply_batch(txn, &mut changes).map_err(fail)?;
                picked.iter().zip(changes).take(tried).for_each(|(i, c)| settle(*i, c.outcome));
            }
        }
        Ok(done)
    }
}

impl RowChange for UpdatingRows<'_> {
    fn page(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
        slots: &RowSet,
    ) -> Result<PageProgress, SqlError> {
        if self.row.set.sets.is_empty() {
            for i in 0..picked.len() {
                self.row.assign(slots.row(i), rt)?;
            }
            return Ok(PageProgress { count: picked.len() as u64, stopped_at: None });
        }
        if self.row_by_row || picked.iter().any(|i| has_overflow(page.row(*i))) {
            let store = self.row.store;
            return one_by_one(self, store, rt, (page, picked), slots);
        }
        self.rows.clear();
        self.ends.clear();
        let mut alone = None;
        for (at, i) in picked.iter().enumerate() {
            self.row.compute(slots.row(at), rt)?;
            if !self.build(page.row(*i))? {
                alone = Some(*i);
                break;
            }
        }
        let mut done = self.apply(rt, page, picked)?;
        done.stopped_at = done.stopped_at.or(alone);
        Ok(done)
    }

    fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: StoredRow<'_>,
        slots: &[Value],
    ) -> Result<bool, SqlError> {
        self.row.one(rt, row, slots, &mut self.out)
    }
}
