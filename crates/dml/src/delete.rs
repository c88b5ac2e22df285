//! DELETE: whole pages of rows at once, or one row after another.

use std::sync::Arc;

use super::change::{self, ChangePlan, CompileCascade, KeptChange, TableChange, WrittenRows};
use super::output::{
    self, OutputOutlet, OutputPlan, OutputRow, OutputScope, PseudoTables, WaitingOutput,
};
use super::row_change::{PageProgress, RowChange, one_by_one, wait_for};
use super::source::{Purpose, RowClauses, dml_source, plan_target};
use super::target::{Limit, RowsTarget};
use crate::shown::ChangeSource;
use access::{Change, EntryChange, HeapChange, Outcome, RowBatch};
use catalog::Db;
use exec::operators::RowSet;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::rt::Rt;
use logical::hints::TableLock;
use logical::tree::TopSpec;
use plan::Needs;
use plan::statement::Statement;
use session::state::changes::Action;
use storage::write::{Image, RowWriter, StoredRow, WriteContext, any_locked, wait_for_lock};
use storage::{Base, TableStore, access_error};
use syntax::ast;
use types::row::has_overflow;
use types::{SqlError, Value};

/// A compiled DELETE.
#[derive(Debug)]
pub struct DeletePlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    target: RowsTarget,
    top: Option<TopSpec>,
    output: Option<OutputPlan>,
    /// Foreign keys, triggers.
    change: ChangePlan,
    lock: TableLock,
    pub(super) needs: Needs,
}

/// Compiles DELETE.
pub fn compile(
    binder: &mut Statement<'_>,
    delete: &ast::Delete,
    compile_cascade: CompileCascade,
) -> Result<DeletePlan, SqlError> {
    binder.push_ctes(&delete.ctes)?;
    let rows = RowClauses {
        target: &delete.target,
        from: &delete.from,
        filter: delete.filter.as_ref(),
        hints: &delete.hints,
    };
    let bound = dml_source(binder, &rows, Purpose::Delete)?;
    let lock = bound.lock;
    let (db, table) = (bound.get.db.clone(), bound.get.table.clone());
    let top = delete.top.as_ref().map(|top| binder.top(top, Vec::new())).transpose()?;
    let names = OutputScope {
        db: &db,
        table: &table,
        images: PseudoTables::Deleted,
        merge: false,
        others: bound.others(binder)?,
        columns: bound.output(),
    };
    let view = bound.view();
    let output = output::bind(binder, names, &delete.output, compile_cascade)?;
    let mut needed = Vec::new();
    if let Some(output) = &output {
        output.needed(&mut needed);
    }
    let share = top.as_ref().is_some_and(|top| top.percent);
    let (target, cols) = plan_target(binder, bound, &needed, share, None)?;
    binder.scopes.pop();
    let output = output.map(|output| output.planned(&cols)).transpose()?;
    let change =
        TableChange { view: view.as_ref(), ..TableChange::new(&db, &table, Action::Delete, &[]) };
    let change = change::compile(binder, &change, compile_cascade)?;
    change.check_output(output::to_client(output.as_ref()))?;
    Ok(DeletePlan {
        change,
        store: TableStore::open(&db, &table)?,
        target,
        top,
        output,
        lock,
        needs: plan::physical::needs(binder)?,
        db,
    })
}

impl DeletePlan {
    /// Its table and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, ChangeSource<'_>) {
        let source = self.target.shown();
        (&self.db, &self.store, source)
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// Runs the statement.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        self.lock(ctx)?;
        if self.output.is_some() {
            ctx.session.shows_newest(&self.db)?;
        }
        let (written, waiting) = self.change_rows(ctx, out)?;
        self.change.finish(ctx, written.kept)?;
        waiting.send()?;
        self.note(ctx, written.count);
        Ok(written.count)
    }

    /// Deletes the rows of one table of a partitioned view: what follows them is for the whole
    /// statement, and so is [`DeletePlan::note`].
    ///
    /// # Errors
    /// As for [`DeletePlan::run`].
    pub fn run_member(&self, ctx: &mut ExecCtx<'_>) -> Result<WrittenRows, SqlError> {
        self.lock(ctx)?;
        let mut nobody: Vec<Vec<Value>> = Vec::new();
        let (written, waiting) = self.change_rows(ctx, &mut nobody)?;
        waiting.send()?;
        Ok(written)
    }

    /// Locks the table, and what else the statement reads.
    ///
    /// # Errors
    /// Those of the locks.
    pub fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        exec::operators::query::lock_tables(&self.needs, ctx)
    }

    /// The steps of the change.
    pub fn steps(&self) -> &ChangePlan {
        &self.change
    }

    /// Counts the rows that are gone, when what follows them has been done.
    pub fn note(&self, ctx: &mut ExecCtx<'_>, count: u64) {
        if !self.change.is_instead() {
            ctx.session.deleted(&self.db, &self.store.table, count);
        }
    }

    /// Deletes the rows; what follows them is still to come. The tables are locked.
    fn change_rows<'r>(
        &'r self,
        ctx: &mut ExecCtx<'_>,
        out: &'r mut dyn RowSink,
    ) -> Result<(WrittenRows, WaitingOutput<'r>), SqlError> {
        let out =
            OutputOutlet::begin(self.output.as_ref(), ctx, out)?.holding(self.change.is_followed());
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = Limit::of(self.top.as_ref(), &mut rt)?;
        let seen = self.output.is_some() || self.change.sees_rows();
        let mut change =
            DeletingRows { row: RowDelete::new(&self.db, &self.store, &self.change, seen), out };
        let count = self.target.run(&self.db, &self.store, &mut rt, limit, &mut change)?;
        let waiting = change.out.finish(&mut rt)?;
        Ok((WrittenRows::alone(count, change.row.kept, rt), waiting))
    }
}

/// Rows of a table that are being deleted.
pub struct RowDelete<'p> {
    db: &'p Arc<Db>,
    store: &'p TableStore,
    writer: RowWriter,
    /// The row's values, for its index entries.
    old: Vec<Value>,
    needs_old: bool,
    /// A trigger gets the rows; they stay.
    instead: bool,
    /// Rows for what follows the change.
    pub kept: Option<Box<KeptChange>>,
}

impl<'p> RowDelete<'p> {
    /// No row yet; `seen`: something sees each row with its values.
    pub fn new(
        db: &'p Arc<Db>,
        store: &'p TableStore,
        change: &ChangePlan,
        seen: bool,
    ) -> RowDelete<'p> {
        RowDelete {
            db,
            store,
            writer: RowWriter::default(),
            needs_old: !store.indexes.is_empty() || seen,
            instead: change.is_instead(),
            kept: change.begin(),
            old: vec![Value::Null; store.table.columns.len()],
        }
    }

    /// Hands the row in `old` to OUTPUT and to what follows the change.
    fn give(
        &mut self,
        slots: &[Value],
        rt: &mut Rt<'_, '_>,
        out: &mut OutputOutlet<'_>,
    ) -> Result<(), SqlError> {
        let row =
            OutputRow { deleted: &self.old, inserted: &[], row: slots, action: Action::Delete };
        out.give(&row, rt)?;
        match &mut self.kept {
            Some(kept) => kept.deleted(&self.old, rt),
            None => Ok(()),
        }
    }

    /// Deletes a row that was just read; false when it was changed by someone else in between.
    ///
    /// # Errors
    /// Those of storage.
    pub fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: StoredRow<'_>,
        slots: &[Value],
        out: &mut OutputOutlet<'_>,
    ) -> Result<bool, SqlError> {
        if self.needs_old {
            self.store.all_columns(self.db, row.bytes, &mut self.old)?;
        }
        if self.instead {
            self.give(slots, rt, out)?;
            return Ok(true);
        }
        let txn = rt.session().txn(self.db)?;
        let mut cx = WriteContext { db: self.db, txn, store: self.store };
        match self.writer.delete(&mut cx, row, &self.old)? {
            Outcome::Done(()) => {
                self.give(slots, rt, out)?;
                Ok(true)
            }
            Outcome::Wait(other) => {
                wait_for(self.db, rt, other)?;
                Ok(false)
            }
            Outcome::Locked => {
                wait_for_lock(self.db, rt.session().txn(self.db)?)?;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// What is left to do for a row whose base is gone: its values outside it, its index entries.
    fn rest(
        &mut self,
        (rt, out): (&mut Rt<'_, '_>, &mut OutputOutlet<'_>),
        page: &RowBatch,
        i: usize,
        slots: &[Value],
    ) -> Result<(), SqlError> {
        if self.store.lob.is_some() || has_overflow(page.row(i)) {
            let txn = rt.session().txn(self.db)?;
            let mut cx = WriteContext { db: self.db, txn, store: self.store };
            self.writer.discard_values(&mut cx, page.row(i))?;
        }
        if !self.needs_old {
            return Ok(());
        }
        let locator = match &self.store.base {
            Base::Heap(_) => page.rid(i).to_bytes().to_vec(),
            Base::Tree(_) => page.key(i).to_vec(),
        };
        self.store.all_columns(self.db, page.row(i), &mut self.old)?;
        self.give(slots, rt, out)?;
        let txn = rt.session().txn(self.db)?;
        let row = Image::Old { values: &self.old, locator: &locator };
        let mut cx = WriteContext { db: self.db, txn, store: self.store };
        self.writer.entries(&mut cx, row, &|_| true)
    }
}

struct DeletingRows<'p> {
    row: RowDelete<'p>,
    out: OutputOutlet<'p>,
}

impl RowChange for DeletingRows<'_> {
    fn page(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
        slots: &RowSet,
    ) -> Result<PageProgress, SqlError> {
        let (db, store) = (self.row.db, self.row.store);
        if self.row.instead {
            for (at, i) in picked.iter().enumerate() {
                self.row.store.all_columns(db, page.row(*i), &mut self.row.old)?;
                self.row.give(slots.row(at), rt, &mut self.out)?;
            }
            return Ok(PageProgress { count: picked.len() as u64, stopped_at: None });
        }
        let txn = rt.session().txn(db)?;
        if any_locked(txn, store.indexes.iter()) {
            // Locks of entries are waited for before their row is touched.
            return one_by_one(self, store, rt, (page, picked), slots);
        }
        let fail = |e| access_error(db, e);
        let outcomes: Vec<Outcome<()>> = match &store.base {
            Base::Heap(heap) => {
                let mut changes: Vec<HeapChange<'_>> = picked
                    .iter()
                    .map(|i| HeapChange::new(page.rid(*i), page.header(*i), Change::Delete))
                    .collect();
                let tried = heap.apply_batch(txn, &mut changes).map_err(fail)?;
                changes.into_iter().map(|c| c.outcome).take(tried).collect()
            }
            Base::Tree(tree) => {
                let mut changes: Vec<EntryChange<'_>> = picked
                    .iter()
                    .map(|i| {
                        EntryChange::new(
                            page.key(*i),
                            page.slot(*i),
                            page.header(*i),
                            Change::Delete,
                        )
                    })
                    .collect();
                let tried = tree.apply_batch(txn, &mut changes).map_err(fail)?;
                changes.into_iter().map(|c| c.outcome).take(tried).collect()
            }
        };
        let mut done = PageProgress::default();
        for (at, (i, outcome)) in picked.iter().zip(outcomes).enumerate() {
            match outcome {
                Outcome::Done(()) => {
                    done.count += 1;
                    self.row.rest((rt, &mut self.out), page, *i, slots.row(at))?;
                }
                Outcome::Wait(_) | Outcome::Locked | Outcome::Changed => done.stopped_at = Some(*i),
                Outcome::Missing | Outcome::Duplicate => {}
            }
        }
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
