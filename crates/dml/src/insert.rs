//! INSERT: VALUES (one row takes a short way), SELECT, DEFAULT VALUES.

use super::bulk::BulkRows;
use super::bulk_order::ToldOrder;
use super::change::{CompileCascade, KeptChange, TableChange};
use super::insert_rows::{
    CopyKind, RowsToInsert, loads_file, query_source, values_source, whole_rows,
};
use super::loader::Loader;
use super::named::insert_target;
use super::nested::{self, NestedChange};
use super::new_row::{NewRows, row_of};
use super::output::{
    self, OutputColumn, OutputOutlet, OutputPlan, OutputRow, OutputScope, PseudoTables,
};
use crate::shown;
use bind::scope::Scope;
use bind::unsupported;
use catalog::{Db, TableDef};
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::rt::{Rt, RunState};
use exec::operators::scan::Scan;
use exec::operators::{BATCH, RowSet};
use expr::Expr;
use logical::hints::{Hints, TableLock};
use plan::Needs;
use plan::nodes::Plan;
use plan::statement::Statement;
use session::state::changes::Action;
use session::state::core::PointRoom;
use storage::{TableMode, TableStore};
use syntax::ast::{self, InsertSource};
use types::{SqlError, Value};

/// A compiled INSERT.
#[derive(Debug)]
pub struct InsertPlan {
    rows: NewRows,
    source: RowsToInsert,
    /// The source reads the target: it is read to its end first.
    reads_target: bool,
    /// The change whose rows the query reads: it runs first.
    nested: Option<Box<NestedChange>>,
    /// KEEPIDENTITY: as under SET IDENTITY_INSERT ON.
    keeps_identity: bool,
    top: Option<Expr>,
    output: Option<OutputPlan>,
    /// It is one row of VALUES that nobody but the table gets.
    plain: bool,
    lock: TableLock,
    pub(super) needs: Needs,
}

/// Where new rows go besides the table.
struct RowOutlets<'p> {
    out: OutputOutlet<'p>,
    kept: Option<Box<KeptChange>>,
}

/// Compiles INSERT.
pub fn compile(
    binder: &mut Statement<'_>,
    insert: &ast::Insert,
    compile_cascade: CompileCascade,
) -> Result<InsertPlan, SqlError> {
    binder.push_ctes(&insert.ctes)?;
    let target = insert_target(binder, &insert.target, &insert.columns)?;
    let (db, table) = (target.db.clone(), target.table.clone());
    let from_file = loads_file(&insert.source);
    let hinted = |name: &str| from_file && insert.hints.iter().any(|hint| hint.name == name);
    let keeps_identity =
        hinted("KEEPIDENTITY") && table.columns.iter().any(|c| c.identity.is_some());
    let explicit_allowed =
        keeps_identity || binder.env.options.identity_insert == Some((db.id(), table.object_id));
    let columns = target.columns(&insert.columns, explicit_allowed)?;
    let nested = nested::compile(binder, insert, &target, &columns)?;
    let source = match &insert.source {
        InsertSource::Values(rows) => {
            values_source(binder, (&db, &table), &columns, rows, !insert.columns.is_empty())?
        }
        InsertSource::DefaultValues => {
            RowsToInsert::Values(vec![row_of(binder, &table, &[], Vec::new())?])
        }
        InsertSource::Query(query) => {
            let listed = !insert.columns.is_empty();
            query_source(binder, (&db, &table), &columns, query, listed, hinted("KEEPDEFAULTS"))?
        }
        InsertSource::Execute(_) => return Err(unsupported("INSERT ... EXEC")),
    };
    let top = match &insert.top {
        Some(top) => {
            binder.scopes.push(Scope::default());
            let top = binder.top(top, Vec::new());
            binder.scopes.pop();
            top?.count
        }
        None => None,
    };
    // A rebuild reads one storage of a table and fills another.
    let is_target =
        |t: &TableDef| t.object_id == table.object_id && t.storage.unit == table.storage.unit;
    let reads_target = binder.tables.iter().any(|used| is_target(&used.table));
    let names = OutputScope {
        db: &db,
        table: &table,
        images: PseudoTables::Inserted,
        merge: false,
        others: Vec::new(),
        columns: match &target.through {
            Some((through, get)) => through.output(get),
            None => OutputColumn::of_table(&table, 0),
        },
    };
    let view = target.through.as_ref().map(|(through, get)| through.change(get));
    let output = output::bind(binder, names, &insert.output, compile_cascade)?;
    let output = output.map(|output| output.planned(&[])).transpose()?;
    let hints = Hints::parse(&table, &insert.hints)?;
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let change = TableChange {
        constraints: !hints.ignore_constraints,
        triggers: !hints.ignore_triggers,
        view: view.as_ref(),
        ..TableChange::new(&db, &table, Action::Insert, &all)
    };
    let rows = NewRows::compile(binder, &change, &columns, compile_cascade)?;
    rows.change.check_output(output::to_client(output.as_ref()))?;
    let plain = matches!(&source, RowsToInsert::Values(rows) if rows.len() == 1)
        && nested.is_none()
        && !keeps_identity
        && top.is_none()
        && output.is_none()
        && !rows.change.keeps_rows()
        && !rows.change.is_instead();
    Ok(InsertPlan {
        plain,
        rows,
        source,
        reads_target,
        nested,
        keeps_identity,
        top,
        output,
        lock: hints.write_lock()?,
        needs: plan::physical::needs(binder)?,
    })
}

impl InsertPlan {
    /// Its table and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, shown::ChangeSource<'_>) {
        let source = match &self.source {
            RowsToInsert::Values(_) => shown::ChangeSource::Constant,
            RowsToInsert::Query { plan, .. } => shown::ChangeSource::Plan(plan),
        };
        (&self.rows.db, &self.rows.store, source)
    }

    /// The change whose rows it takes.
    pub fn nested(&self) -> Option<&super::DmlPlan> {
        self.nested.as_deref().map(NestedChange::plan)
    }

    /// Whether its rows are its own.
    pub fn reads_nothing(&self) -> bool {
        matches!(self.source, RowsToInsert::Values(_))
    }

    /// Whether it adds one row of its own, and nothing sees the row or comes after it.
    pub fn is_point(&self) -> bool {
        self.plain && !self.sees_rows()
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// Runs the statement.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        if let (true, RowsToInsert::Values(rows)) = (self.plain, &self.source)
            && let Some(row) = rows.first()
        {
            return self.run_plain(row, ctx);
        }
        if !self.keeps_identity {
            return self.run_now(ctx, out);
        }
        let own = Some((self.rows.db.id(), self.rows.store.table.object_id));
        let around = std::mem::replace(&mut ctx.session.options.identity_insert, own);
        let result = self.run_now(ctx, out);
        ctx.session.options.identity_insert = around;
        result
    }

    /// Locks the table, and what else the statement reads.
    #[inline]
    fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        let NewRows { db, store, .. } = &self.rows;
        self.rows.check_identity(ctx)?;
        ctx.session.lock_table(db, &store.table, self.lock)?;
        db.check_writable()?;
        if self.needs.is_empty() {
            Ok(())
        } else {
            exec::operators::query::lock_tables(&self.needs, ctx)
        }
    }

    /// Adds the one row of a statement that has nothing else to do.
    fn run_plain(&self, row: &[Expr], ctx: &mut ExecCtx<'_>) -> Result<u64, SqlError> {
        self.lock(ctx)?;
        let mut rt = Rt::new(ctx, &self.needs);
        let mut room = PointRoom::take(&mut rt.session().memory);
        let made = self.make(&mut room.values, row, &mut rt);
        let added = made.and_then(|()| self.rows.insert(&room.values, &mut rt));
        room.give(&mut rt.session().memory);
        let count = u64::from(added?);
        rt.session().inserted(&self.rows.db, &self.rows.store.table, count);
        Ok(count)
    }

    fn run_now(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        let NewRows { db, store, change, .. } = &self.rows;
        self.lock(ctx)?;
        let state = match &self.nested {
            None => RunState::default(),
            Some(nested) => nested.run(ctx)?,
        };
        let out =
            OutputOutlet::begin(self.output.as_ref(), ctx, out)?.holding(change.is_followed());
        let mut to = RowOutlets { out, kept: change.begin() };
        let mut rt = Rt::resume(ctx, &self.needs, state);
        let limit = self.limit(&mut rt)?;
        let count = match &self.source {
            RowsToInsert::Values(rows) if rows.len() == 1 && limit > 0 => {
                self.one_row(&rows[0], &mut rt, &mut to)?
            }
            RowsToInsert::Values(rows) => self.rows(rows, &mut rt, limit, &mut to)?,
            RowsToInsert::Query { plan, exprs, copy } => match copy {
                // Bytes of rows pass no operator that could count them.
                CopyKind::Bytes
                    if !self.reads_target
                        && limit == u64::MAX
                        && !self.sees_rows()
                        && rt.session().run.profile.is_none() =>
                {
                    self.bytes(plan, &mut rt)?
                }
                // A trigger in the place of the table gets rows that the table would complete.
                _ if change.is_instead() => {
                    self.query(plan, exprs, CopyKind::Computed, &mut rt, limit, &mut to)?
                }
                copy => self.query(plan, exprs, *copy, &mut rt, limit, &mut to)?,
            },
        };
        let waiting = to.out.finish(&mut rt)?;
        let count = self.counted(count, to.kept.as_deref());
        change.finish(ctx, to.kept)?;
        waiting.send()?;
        if !change.is_instead() {
            ctx.session.inserted(db, &store.table, count);
        }
        Ok(count)
    }

    /// How many rows there were: all that a trigger gets, if it gets them in the place of the
    /// table.
    fn counted(&self, written: u64, kept: Option<&KeptChange>) -> u64 {
        match kept {
            Some(kept) if self.rows.change.is_instead() => kept.count(),
            _ => written,
        }
    }

    /// Whether something sees each row with all its columns.
    fn sees_rows(&self) -> bool {
        self.output.is_some() || self.rows.change.sees_rows() || self.rows.ignores
    }

    /// Runs a compiled `VALUES (@1, ...)` once for each row that `source` has, up to `limit`, with
    /// the row as the variables. Gives the number of rows and whether there may be more. Rows come
    /// in `order`, or it is an error.
    pub fn load_rows(
        &self,
        ctx: &mut ExecCtx<'_>,
        source: &mut dyn BulkRows,
        limit: u64,
        mut order: Option<&mut ToldOrder<'_>>,
    ) -> Result<(u64, bool), SqlError> {
        let NewRows { db, store, change, .. } = &self.rows;
        let RowsToInsert::Values(rows) = &self.source else {
            return Err(SqlError::internal("a bulk load takes one row of values"));
        };
        let Some(exprs) = rows.first() else {
            return Err(SqlError::internal("a bulk load takes one row of values"));
        };
        self.rows.check_identity(ctx)?;
        ctx.session.lock_table(db, &store.table, self.lock)?;
        db.check_writable()?;
        if let Some(order) = &mut order {
            order.stored_in(&store.table)?;
        }
        let mut nobody = Vec::new();
        let mut to =
            RowOutlets { out: OutputOutlet::begin(None, ctx, &mut nobody)?, kept: change.begin() };
        let mut rt = Rt::new(ctx, &self.needs);
        let mut loader = Loader::new(db, store);
        let mut values = vec![Value::Null; store.table.columns.len()];
        let (mut left, mut more) = (limit, true);
        while left > 0 {
            more = source.next(rt.vars_mut())?;
            if !more {
                break;
            }
            left -= 1;
            self.rows.compute(exprs, &[], &mut rt, &mut values)?;
            if let Some(order) = &mut order {
                order.check(rt.vars_mut(), &values)?;
            }
            self.load(&mut loader, &mut values, &mut rt, &mut to)?;
        }
        let count = loader.finish(&mut rt)?;
        let count = self.counted(count, to.kept.as_deref());
        change.finish(ctx, to.kept)?;
        if !change.is_instead() {
            ctx.session.inserted(db, &store.table, count);
        }
        Ok((count, more))
    }

    fn limit(&self, rt: &mut Rt<'_, '_>) -> Result<u64, SqlError> {
        let rowcount = match (rt.session().options.rowcount, &self.source) {
            (0, _) | (_, RowsToInsert::Values(_)) => u64::MAX,
            (n, _) => n,
        };
        match &self.top {
            None => Ok(rowcount),
            Some(e) => Ok(rowcount.min(e.eval(&[], rt)?.as_i64().map_or(0, |n| n.max(0) as u64))),
        }
    }

    /// Adds one row, whose values lie in room that the session keeps.
    fn one_row(
        &self,
        exprs: &[Expr],
        rt: &mut Rt<'_, '_>,
        to: &mut RowOutlets<'_>,
    ) -> Result<u64, SqlError> {
        let mut room = PointRoom::take(&mut rt.session().memory);
        let added = self.one_row_in(&mut room.values, exprs, rt, to);
        room.give(&mut rt.session().memory);
        added
    }

    /// Computes a row with all that the table adds to it, and tests it.
    #[inline]
    fn make(
        &self,
        values: &mut Vec<Value>,
        exprs: &[Expr],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        values.resize(exprs.len(), Value::Null);
        self.rows.compute(exprs, &[], rt, values)?;
        self.rows.complete(values, true, rt)
    }

    fn one_row_in(
        &self,
        values: &mut Vec<Value>,
        exprs: &[Expr],
        rt: &mut Rt<'_, '_>,
        to: &mut RowOutlets<'_>,
    ) -> Result<u64, SqlError> {
        self.make(values, exprs, rt)?;
        // A trigger that stands in the place of the table gets the row alone.
        if !self.rows.change.is_instead() && !self.rows.insert(values, rt)? {
            return Ok(0);
        }
        to.out.give(&inserted_row(values), rt)?;
        if let Some(kept) = &mut to.kept {
            kept.inserted(values, rt)?;
        }
        Ok(1)
    }

    fn rows(
        &self,
        rows: &[Vec<Expr>],
        rt: &mut Rt<'_, '_>,
        limit: u64,
        to: &mut RowOutlets<'_>,
    ) -> Result<u64, SqlError> {
        let mut loader = Loader::new(&self.rows.db, &self.rows.store);
        let mut values = vec![Value::Null; self.rows.store.table.columns.len()];
        for exprs in rows.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            self.rows.compute(exprs, &[], rt, &mut values)?;
            self.load(&mut loader, &mut values, rt, to)?;
        }
        loader.finish(rt)
    }

    /// Adds a computed row to a load.
    fn load(
        &self,
        loader: &mut Loader<'_>,
        values: &mut [Value],
        rt: &mut Rt<'_, '_>,
        to: &mut RowOutlets<'_>,
    ) -> Result<(), SqlError> {
        // SCOPE_IDENTITY() is what a nested change has given.
        self.rows.complete(values, self.nested.is_none(), rt)?;
        if self.rows.load(values, loader, &mut to.kept, rt)? {
            to.out.give(&inserted_row(values), rt)?;
        }
        Ok(())
    }

    fn query(
        &self,
        plan: &Plan,
        exprs: &[Expr],
        copy: CopyKind,
        rt: &mut Rt<'_, '_>,
        limit: u64,
        to: &mut RowOutlets<'_>,
    ) -> Result<u64, SqlError> {
        let mut loader = Loader::new(&self.rows.db, &self.rows.store);
        let mut op = exec::operators::open::start(plan, rt);
        let mut batch = RowSet::default();
        let mut values = vec![Value::Null; self.rows.store.table.columns.len()];
        let mut left = limit;
        if self.reads_target {
            let mut kept: Vec<Box<[Value]>> = Vec::new();
            while op.next(rt, &mut batch)? {
                for i in 0..batch.len() {
                    rt.reserve(session::query_memory::row_bytes(batch.row(i)))?;
                    kept.push(batch.row(i).into());
                }
            }
            for row in kept.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
                self.rows.compute(exprs, row, rt, &mut values)?;
                self.load(&mut loader, &mut values, rt, to)?;
            }
            return loader.finish(rt);
        }
        while left > 0 && op.next(rt, &mut batch)? {
            debug_assert!(batch.len() <= BATCH * 64);
            for i in 0..batch.len().min(usize::try_from(left).unwrap_or(usize::MAX)) {
                left -= 1;
                if copy == CopyKind::Computed {
                    self.rows.compute(exprs, batch.row(i), rt, &mut values)?;
                    self.load(&mut loader, &mut values, rt, to)?;
                } else {
                    let row = batch.row(i);
                    self.rows.checked(row, rt)?;
                    if self.rows.load(row, &mut loader, &mut to.kept, rt)? {
                        to.out.give(&inserted_row(row), rt)?;
                    }
                }
            }
        }
        loader.finish(rt)
    }

    /// Copies stored rows as they are.
    fn bytes(&self, plan: &Plan, rt: &mut Rt<'_, '_>) -> Result<u64, SqlError> {
        let Some(plan) = whole_rows(&plan.node) else {
            return Err(SqlError::internal("not a plain scan"));
        };
        debug_assert!(plan.mode != TableMode::Current);
        let mut loader = Loader::new(&self.rows.db, &self.rows.store);
        let mut scan = Scan::default();
        let mut values = Vec::new();
        while scan.next_page(plan, rt)? {
            let page = scan.rows();
            for i in 0..page.len() {
                let row = page.row(i);
                if self.rows.store.takes_bytes(row) {
                    loader.add_bytes(rt, row)?;
                    continue;
                }
                // What its pointers lead to is the other table's.
                values.resize(plan.store.table.columns.len(), Value::Null);
                plan.store.all_columns(&plan.db, row, &mut values)?;
                loader.add(rt, &values)?;
            }
        }
        loader.finish(rt)
    }
}

/// A row that INSERT has added, for OUTPUT.
fn inserted_row(values: &[Value]) -> OutputRow<'_> {
    OutputRow { deleted: &[], inserted: values, row: &[], action: Action::Insert }
}
