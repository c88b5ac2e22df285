//! DELETE.

use super::change::{self, ChangePlan, CompileCascade, Kept, TableChange};
use super::output::{self, Images, OutputPlan};
use super::target::{Progress, RowChange, Target, dml_source, limit_of, plan_target, wait_for};
use crate::exec::RowSet;
use crate::exec::context::{ExecCtx, RowSink};
use crate::exec::rt::Rt;
use crate::explain::Source;
use crate::state::changes::Action;
use access::{Change, EntryChange, HeapChange, Outcome, RowBatch};
use catalog::Db;
use expr::Expr;
use pages::RowHeader;
use plan::Needs;
use plan::bind::{Binder, unsupported};
use plan::hints::TableLock;
use std::sync::Arc;
use storage::write::{Image, Locator, RowWriter, wait_for_lock};
use storage::{Base, TableStore, access_error};
use syntax::ast;
use types::{SqlError, Value};

/// A compiled DELETE.
#[derive(Debug)]
pub struct DeletePlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    target: Target,
    top: Option<Expr>,
    output: Option<OutputPlan>,
    /// Foreign keys, triggers.
    change: ChangePlan,
    lock: TableLock,
    pub(super) needs: Needs,
}

/// Compiles DELETE.
pub fn compile(
    binder: &mut Binder<'_>,
    delete: &ast::Delete,
    compile_cascade: CompileCascade,
) -> Result<DeletePlan, SqlError> {
    binder.push_ctes(&delete.ctes);
    let bound = dml_source(binder, &delete.target, &delete.from, delete.filter.as_ref(), &delete.hints)?;
    let lock = bound.lock;
    let (db, table) = (bound.get.db.clone(), bound.get.table.clone());
    let top = match &delete.top {
        Some(top) if top.percent => return Err(unsupported("DELETE TOP (n) PERCENT")),
        Some(top) => binder.top(top, Vec::new())?.count,
        None => None,
    };
    let (target, _) = plan_target(binder, bound, &[], false)?;
    binder.scopes.pop();
    let output = output::compile(binder, (&db, &table), &delete.output, Images::Deleted)?;
    let change = TableChange {
        db: &db,
        table: &table,
        action: Action::Delete,
        columns: &[],
        constraints: true,
        triggers: true,
    };
    let change = change::compile(binder.env, &mut binder.rights, &change, compile_cascade)?;
    change.check_output(output.is_some())?;
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
    pub fn shown(&self) -> (&Db, &TableStore, Source<'_>) {
        let source = self.target.shown();
        (&self.db, &self.store, source)
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// Runs the statement.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        if self.output.is_some() {
            ctx.session.shows_newest(&self.db)?;
        }
        crate::exec::query::lock_tables(&self.needs, ctx)?;
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = limit_of(&self.top, &mut rt)?;
        let width = self.store.table.columns.len();
        let mut change = Deleting {
            db: &self.db,
            store: &self.store,
            writer: RowWriter::default(),
            needs_old: !self.store.indexes.is_empty() || self.output.is_some() || self.change.sees_rows(),
            kept: self.change.begin(),
            old: vec![Value::Null; width],
            output: self.output.as_ref(),
            out,
        };
        let count = self.target.run(&self.db, &self.store, &mut rt, limit, &mut change)?;
        let kept = change.kept;
        self.change.finish(ctx, kept)?;
        ctx.session.deleted(&self.db, &self.store.table, count);
        Ok(count)
    }
}

struct Deleting<'p> {
    db: &'p Arc<Db>,
    store: &'p TableStore,
    writer: RowWriter,
    /// The row's values, for its index entries.
    old: Vec<Value>,
    needs_old: bool,
    output: Option<&'p OutputPlan>,
    /// Rows for what follows the change.
    kept: Option<Box<Kept>>,
    out: &'p mut dyn RowSink,
}

impl Deleting<'_> {
    /// Hands the row in `old` to OUTPUT and to what follows the change.
    fn give(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        if let Some(output) = self.output {
            output.send(&self.old, &[], rt, self.out)?;
        }
        match &mut self.kept {
            Some(kept) => kept.deleted(&self.old, rt),
            None => Ok(()),
        }
    }

    fn entries(&mut self, rt: &mut Rt<'_, '_>, locator: &[u8], row: &[u8]) -> Result<(), SqlError> {
        if !self.needs_old {
            return Ok(());
        }
        self.store.all_columns(self.db, row, &mut self.old)?;
        self.give(rt)?;
        let txn = rt.session().txn(self.db)?;
        let row = Image::Old { values: &self.old, locator };
        self.writer.entries(self.db, txn, self.store, row, &|_| true)
    }

    fn settled(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        outcomes: &[(usize, Outcome<()>)],
    ) -> Result<Progress, SqlError> {
        let mut done = Progress::default();
        for (i, outcome) in outcomes {
            match outcome {
                Outcome::Done(()) => {
                    done.count += 1;
                    if self.store.lob.is_some() {
                        let txn = rt.session().txn(self.db)?;
                        self.writer.discard_values(self.db, txn, self.store, page.row(*i))?;
                    }
                    if self.needs_old {
                        let locator = match &self.store.base {
                            Base::Heap(_) => page.rid(*i).to_bytes().to_vec(),
                            Base::Tree(_) => page.key(*i).to_vec(),
                        };
                        self.entries(rt, &locator, page.row(*i))?;
                    }
                }
                Outcome::Wait(_) | Outcome::Locked | Outcome::Changed => done.stopped_at = Some(*i),
                Outcome::Missing | Outcome::Duplicate => {}
            }
        }
        Ok(done)
    }
}

impl RowChange for Deleting<'_> {
    fn page(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
        _: &RowSet,
    ) -> Result<Progress, SqlError> {
        let txn = rt.session().txn(self.db)?;
        let fail = |e| access_error(self.db, e);
        let outcomes: Vec<(usize, Outcome<()>)> = match &self.store.base {
            Base::Heap(heap) => {
                let mut changes: Vec<HeapChange<'_>> = picked
                    .iter()
                    .map(|i| HeapChange::new(page.rid(*i), page.header(*i), Change::Delete))
                    .collect();
                let tried = heap.apply_batch(txn, &mut changes).map_err(fail)?;
                picked.iter().copied().zip(changes.into_iter().map(|c| c.outcome)).take(tried).collect()
            }
            Base::Tree(tree) => {
                let mut changes: Vec<EntryChange<'_>> = picked
                    .iter()
                    .map(|i| EntryChange::new(page.key(*i), page.slot(*i), page.header(*i), Change::Delete))
                    .collect();
                let tried = tree.apply_batch(txn, &mut changes).map_err(fail)?;
                picked.iter().copied().zip(changes.into_iter().map(|c| c.outcome)).take(tried).collect()
            }
        };
        self.settled(rt, page, &outcomes)
    }

    fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        locator: &Locator,
        header: &RowHeader,
        row: &[u8],
        _: &[Value],
    ) -> Result<bool, SqlError> {
        if self.needs_old {
            self.store.all_columns(self.db, row, &mut self.old)?;
        }
        let txn = rt.session().txn(self.db)?;
        match self.writer.delete(self.db, txn, self.store, locator, header, row, &self.old)? {
            Outcome::Done(()) => {
                self.give(rt)?;
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
}
