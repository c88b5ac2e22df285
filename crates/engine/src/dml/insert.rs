//! INSERT: VALUES (one row takes a short way), SELECT, DEFAULT VALUES.

use super::bulk::BulkRows;
use super::change::{self, ChangePlan, CompileCascade, Kept, TableChange};
use super::loader::Loader;
use super::output::{self, Images, OutputPlan};
use super::values::{column_value, default_of, into_column, null_error};
use crate::exec::context::{ExecCtx, RowSink};
use crate::exec::rt::Rt;
use crate::exec::scan::Scan;
use crate::exec::{BATCH, RowSet};
use crate::explain;
use crate::state::changes::Action;
use catalog::Db;
use catalog::fold_name;
use catalog::{TableDef, identity};
use expr::Expr;
use plan::Needs;
use plan::bind::deduce::Wanted;
use plan::bind::from::Named;
use plan::bind::scope::{Clause, Scope};
use plan::bind::{Binder, unsupported};
use plan::hints::{Hints, TableLock};
use plan::nodes::{Node, Plan};
use plan::nodes::{Path, ScanPlan};
use plan::physical;
use std::sync::Arc;
use storage::write::with_writer;
use storage::{TableMode, TableStore};
use syntax::ast::{self, ExprKind, InsertSource};
use types::convert::Mode;
use types::{DataType, SqlError, Value};

/// A compiled INSERT.
#[derive(Debug)]
pub struct InsertPlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    source: Source,
    /// The identity column, when the statement does not give its values.
    identity: Option<usize>,
    /// The identity column, when it does.
    explicit_identity: Option<usize>,
    /// Columns that take no NULL.
    not_null: Vec<usize>,
    /// The source reads the target: it is read to its end first.
    reads_target: bool,
    top: Option<Expr>,
    output: Option<OutputPlan>,
    /// CHECK, foreign keys, triggers.
    change: ChangePlan,
    lock: TableLock,
    pub(super) needs: Needs,
}

/// Where new rows go besides the table.
struct Given<'a> {
    out: &'a mut dyn RowSink,
    kept: Option<Box<Kept>>,
}

#[derive(Debug)]
enum Source {
    /// Rows of expressions, one per column of the table (the identity's is ignored).
    Values(Vec<Vec<Expr>>),
    /// A query; the expressions are over its rows.
    Query { plan: Plan, exprs: Vec<Expr>, copy: Copy },
}

/// How much work a row of the query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    /// Each column is computed.
    Computed,
    /// The rows are the table's rows as they are.
    Values,
    /// The bytes of the stored rows are.
    Bytes,
}

/// The target of a statement.
pub fn target_table(binder: &Binder<'_>, target: &ast::Target) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    match target {
        ast::Target::Name(name) => match binder.resolve(name)? {
            Named::Table(db, table) => Ok((db, table)),
            Named::Module(_, module) => Err(plan::bind::module::view_as_target(&module)),
            Named::View(..) => {
                Err(SqlError::new(259, 16, 1, "Ad hoc updates to system catalogs are not allowed."))
            }
        },
        ast::Target::Variable(name) => {
            let (db, table) = binder.table_variable(name)?;
            check_changeable(binder, table.object_id)?;
            Ok((db, table))
        }
        ast::Target::Function { .. } => Err(unsupported("A function as target")),
    }
}

/// Error 10700 for the table of a parameter.
pub fn check_changeable(binder: &Binder<'_>, variable: i32) -> Result<(), SqlError> {
    match binder.env.temps.readonly(variable) {
        None => Ok(()),
        Some(parameter) => {
            let name = &parameter.name;
            let text = format!("The table-valued parameter \"{name}\" is READONLY and cannot be modified.");
            Err(SqlError::new(10700, 16, 1, text))
        }
    }
}

/// Compiles INSERT.
pub fn compile(
    binder: &mut Binder<'_>,
    insert: &ast::Insert,
    compile_cascade: CompileCascade,
) -> Result<InsertPlan, SqlError> {
    binder.push_ctes(&insert.ctes);
    let (db, table) = target_table(binder, &insert.target)?;
    let explicit_allowed = binder.env.options.identity_insert == Some((db.id(), table.object_id));
    let columns = target_columns(&table, &insert.columns, explicit_allowed)?;
    let identity = table.columns.iter().position(|c| c.identity.is_some());
    let given = identity.filter(|at| columns.contains(at));
    let source = match &insert.source {
        InsertSource::Values(rows) => {
            values_source(binder, &table, &columns, rows, !insert.columns.is_empty())?
        }
        InsertSource::DefaultValues => Source::Values(vec![row_of(binder, &table, &[], Vec::new())?]),
        InsertSource::Query(query) => {
            query_source(binder, &table, &columns, query, !insert.columns.is_empty())?
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
    let output = output::compile(binder, (&db, &table), &insert.output, Images::Inserted)?;
    // A rebuild reads one storage of a table and fills another.
    let is_target = |t: &TableDef| t.object_id == table.object_id && t.storage.unit == table.storage.unit;
    let reads_target = binder.tables.iter().any(|used| is_target(&used.table));
    let not_null = (0..table.columns.len()).filter(|i| !table.columns[*i].nullable);
    let hints = Hints::parse(&table, &insert.hints)?;
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let change = TableChange {
        db: &db,
        table: &table,
        action: Action::Insert,
        columns: &all,
        constraints: !hints.ignore_constraints,
        triggers: !hints.ignore_triggers,
    };
    let change = change::compile(binder.env, &mut binder.rights, &change, compile_cascade)?;
    change.check_output(output.is_some())?;
    Ok(InsertPlan {
        store: TableStore::open(&db, &table)?,
        source,
        identity: identity.filter(|_| given.is_none()),
        explicit_identity: given,
        not_null: not_null.filter(|i| given.is_some() || Some(*i) != identity).collect(),
        reads_target,
        top,
        output,
        change,
        lock: hints.write_lock()?,
        needs: plan::physical::needs(binder)?,
        db,
    })
}

/// Table positions that the statement gives values for, in its order.
fn target_columns(table: &TableDef, names: &[ast::Ident], explicit: bool) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        if explicit {
            let text = format!(
                "An explicit value for the identity column in table '{}' can only be specified when a column list \
                 is used and IDENTITY_INSERT is ON.",
                table.name
            );
            return Err(SqlError::new(8101, 16, 1, text));
        }
        return Ok((0..table.columns.len()).filter(|i| table.columns[*i].identity.is_none()).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let folded = fold_name(&name.value);
        let Some(at) = table.columns.iter().position(|c| fold_name(&c.name) == folded) else {
            return Err(SqlError::new(207, 16, 1, format!("Invalid column name '{}'.", name.value)));
        };
        if columns.contains(&at) {
            let text = format!(
                "The column name '{}' is specified more than once in the SET clause or column list of an INSERT. A \
                 column cannot be assigned more than one value in the same clause. Modify the clause to make sure \
                 that a column is updated only once. If this statement updates or inserts columns into a view, \
                 column aliasing can conceal the duplication in your code.",
                name.value
            );
            return Err(SqlError::new(264, 16, 1, text));
        }
        columns.push(at);
    }
    Ok(columns)
}

/// Error of a list of the wrong length.
fn wrong_count(given: usize, expected: usize, listed: bool, select: bool) -> SqlError {
    if !listed {
        return SqlError::new(
            213,
            16,
            1,
            "Column name or number of supplied values does not match table definition.",
        );
    }
    let (list, clause) =
        if select { ("select list", "select list") } else { ("INSERT statement", "VALUES clause") };
    let (number, more) = match (select, given < expected) {
        (true, true) => (120, "fewer"),
        (true, false) => (121, "more"),
        (false, true) => (109, "more"),
        (false, false) => (110, "fewer"),
    };
    let text = if select {
        format!(
            "The {list} for the INSERT statement contains {more} items than the insert list. The number of SELECT \
             values must match the number of INSERT columns."
        )
    } else {
        format!(
            "There are {more} columns in the {list} than values specified in the {clause}. The number of values in \
             the VALUES clause must match the number of columns specified in the INSERT statement."
        )
    };
    SqlError::new(number, 15, 1, text)
}

/// One expression per column of the table, of which `columns` are given.
fn row_of(
    binder: &mut Binder<'_>,
    table: &TableDef,
    columns: &[usize],
    given: Vec<Expr>,
) -> Result<Vec<Expr>, SqlError> {
    let mut row: Vec<Option<Expr>> = vec![None; table.columns.len()];
    for (column, e) in columns.iter().zip(given) {
        row[*column] = Some(e);
    }
    let mut out = Vec::with_capacity(row.len());
    for (column, e) in row.into_iter().enumerate() {
        out.push(match e {
            Some(e) => e,
            None => default_of(binder, table, column)?,
        });
    }
    Ok(out)
}

fn values_source(
    binder: &mut Binder<'_>,
    table: &TableDef,
    columns: &[usize],
    rows: &[Vec<ast::Expr>],
    listed: bool,
) -> Result<Source, SqlError> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != columns.len() {
            if rows.iter().any(|r| r.len() != rows[0].len()) {
                let text = "All the rows in a VALUES list must have the same number of values.";
                return Err(SqlError::new(10709, 16, 1, text));
            }
            return Err(wrong_count(row.len(), columns.len(), listed, false));
        }
        let mut given = Vec::with_capacity(row.len());
        for (e, column) in row.iter().zip(columns) {
            let value = match e.kind {
                ExprKind::Default => default_of(binder, table, *column)?,
                _ => {
                    binder.scopes.push(Scope { clause: Clause::None, ..Scope::default() });
                    let wanted = Wanted::Becomes(table.columns[*column].ty);
                    let typed = binder.deduce(e, wanted).and_then(|()| binder.expr(e));
                    binder.scopes.pop();
                    into_column(typed?, table, *column)?
                }
            };
            given.push(value);
        }
        out.push(row_of(binder, table, columns, given)?);
    }
    Ok(Source::Values(out))
}

fn query_source(
    binder: &mut Binder<'_>,
    table: &TableDef,
    columns: &[usize],
    query: &ast::Query,
    listed: bool,
) -> Result<Source, SqlError> {
    plan::bind::document::check_absent(query, "INSERT")?;
    let bound = binder.query(query)?;
    if bound.columns.len() != columns.len() {
        return Err(wrong_count(bound.columns.len(), columns.len(), listed, true));
    }
    let wanted: Vec<_> = bound.columns.iter().map(|c| c.id).collect();
    let mut given = Vec::with_capacity(columns.len());
    for (slot, (out, column)) in bound.columns.iter().zip(columns).enumerate() {
        let mut typed = out.typed();
        typed.expr = Expr::Col(slot as u32);
        given.push(if out.untyped { Expr::Const(Value::Null) } else { into_column(typed, table, *column)? });
    }
    let plan = physical::plan_query(binder, bound.logical, &wanted, None)?;
    let exprs = row_of(binder, table, columns, given)?;
    let copy = copy_kind(table, &plan, &exprs);
    Ok(Source::Query { plan, exprs, copy })
}

fn copy_kind(table: &TableDef, plan: &Plan, exprs: &[Expr]) -> Copy {
    let straight = exprs.iter().enumerate().all(|(i, e)| matches!(e, Expr::Col(slot) if *slot as usize == i));
    if !straight || plan.width() != exprs.len() || table.columns.iter().any(|c| c.identity.is_some()) {
        return Copy::Computed;
    }
    let Some(scan) = whole_rows(&plan.node) else { return Copy::Values };
    let source = &scan.store.table;
    let in_place = scan.columns.iter().enumerate().all(|(i, c)| usize::from(*c) == i);
    let nulls = source.columns.iter().zip(&table.columns).all(|(s, t)| t.nullable || !s.nullable);
    let same = source.columns.len() == table.columns.len() && source.layout.same_bytes_as(&table.layout);
    let plain = scan.store.lob_columns.is_empty() && scan.pred.is_none() && !scan.locator;
    let plain = plain && scan.locks.is_none();
    let base = matches!(scan.path, Path::Base | Path::Clustered(_) | Path::Point(_));
    if in_place && nulls && same && plain && base { Copy::Bytes } else { Copy::Values }
}

/// The scan that a plan is, when nothing else is in it.
fn whole_rows(node: &Node) -> Option<&ScanPlan> {
    match node {
        Node::Scan(scan) => Some(scan),
        _ => None,
    }
}

impl InsertPlan {
    /// Its table and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, explain::Source<'_>) {
        let source = match &self.source {
            self::Source::Values(_) => explain::Source::Constant,
            self::Source::Query { plan, .. } => explain::Source::Plan(plan),
        };
        (&self.db, &self.store, source)
    }

    /// Whether its rows are its own.
    pub fn reads_nothing(&self) -> bool {
        matches!(self.source, Source::Values(_))
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// Runs the statement.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        self.check_identity(ctx)?;
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        if !self.needs.is_empty() {
            crate::exec::query::lock_tables(&self.needs, ctx)?;
        }
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = self.limit(&mut rt)?;
        let mut to = Given { out, kept: self.change.begin() };
        let count = match &self.source {
            Source::Values(rows) if rows.len() == 1 && limit > 0 => {
                self.one_row(&rows[0], &mut rt, &mut to)?
            }
            Source::Values(rows) => self.rows(rows, &mut rt, limit, &mut to)?,
            Source::Query { plan, exprs, copy } => match copy {
                // Bytes of rows pass no operator that could count them.
                Copy::Bytes
                    if !self.reads_target
                        && limit == u64::MAX
                        && !self.sees_rows()
                        && rt.session().profile.is_none() =>
                {
                    self.bytes(plan, &mut rt)?
                }
                copy => {
                    let copy = if self.sees_rows() { Copy::Computed } else { *copy };
                    self.query(plan, exprs, copy, &mut rt, limit, &mut to)?
                }
            },
        };
        let kept = to.kept;
        self.change.finish(ctx, kept)?;
        ctx.session.inserted(&self.db, &self.store.table, count);
        Ok(count)
    }

    /// Whether something sees each row with all its columns.
    fn sees_rows(&self) -> bool {
        self.output.is_some() || self.change.sees_rows()
    }

    /// Runs a compiled `VALUES (@1, ...)` once for each row that `source` has, up to `limit`, with the row as the variables.
    /// Gives the number of rows and whether there may be more.
    pub fn load_rows(
        &self,
        ctx: &mut ExecCtx<'_>,
        source: &mut dyn BulkRows,
        limit: u64,
    ) -> Result<(u64, bool), SqlError> {
        let Source::Values(rows) = &self.source else {
            return Err(SqlError::internal("a bulk load takes one row of values"));
        };
        let Some(exprs) = rows.first() else {
            return Err(SqlError::internal("a bulk load takes one row of values"));
        };
        self.check_identity(ctx)?;
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        let mut rt = Rt::new(ctx, &self.needs);
        let mut loader = Loader::new(&self.db, &self.store);
        let mut values = vec![Value::Null; self.store.table.columns.len()];
        let (mut left, mut more) = (limit, true);
        let mut nobody = Vec::new();
        let mut to = Given { out: &mut nobody, kept: self.change.begin() };
        while left > 0 {
            more = source.next(rt.vars_mut())?;
            if !more {
                break;
            }
            left -= 1;
            self.compute(exprs, &[], &mut rt, &mut values)?;
            self.load(&mut loader, &mut values, &mut rt, &mut to)?;
        }
        let count = loader.finish(&mut rt)?;
        let kept = to.kept;
        self.change.finish(ctx, kept)?;
        ctx.session.inserted(&self.db, &self.store.table, count);
        Ok((count, more))
    }

    fn limit(&self, rt: &mut Rt<'_, '_>) -> Result<u64, SqlError> {
        let rowcount = match (rt.session().options.rowcount, &self.source) {
            (0, _) | (_, Source::Values(_)) => u64::MAX,
            (n, _) => n,
        };
        match &self.top {
            None => Ok(rowcount),
            Some(e) => Ok(rowcount.min(e.eval(&[], rt)?.as_i64().map_or(0, |n| n.max(0) as u64))),
        }
    }

    fn check_identity(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        let table = &self.store.table;
        let on = ctx.session.options.identity_insert == Some((self.db.id(), table.object_id));
        if self.explicit_identity.is_some() && !on {
            let text = format!(
                "Cannot insert explicit value for identity column in table '{}' when IDENTITY_INSERT is set to OFF.",
                table.name
            );
            return Err(SqlError::new(544, 16, 1, text));
        }
        if self.identity.is_some() && on {
            let text = format!(
                "Explicit value must be specified for identity column in table '{}' either when IDENTITY_INSERT is \
                 set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.",
                table.name
            );
            return Err(SqlError::new(545, 16, 1, text));
        }
        Ok(())
    }

    /// NOT NULL and CHECK.
    fn checked(&self, values: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        match self.not_null.iter().find(|at| values[**at].is_null()) {
            None => self.change.check(values, rt),
            Some(at) => Err(null_error(&self.db, &self.store.table, *at, "INSERT")),
        }
    }

    /// Hands a new row to OUTPUT and to what follows the change.
    fn give(&self, values: &[Value], rt: &mut Rt<'_, '_>, to: &mut Given<'_>) -> Result<(), SqlError> {
        if let Some(output) = &self.output {
            output.send(&[], values, rt, to.out)?;
        }
        match &mut to.kept {
            Some(kept) => kept.inserted(values, rt),
            None => Ok(()),
        }
    }

    fn compute(
        &self,
        exprs: &[Expr],
        row: &[Value],
        rt: &mut Rt<'_, '_>,
        values: &mut [Value],
    ) -> Result<(), SqlError> {
        let table = &self.store.table;
        for (column, (place, e)) in values.iter_mut().zip(exprs).enumerate() {
            *place = column_value(e, row, rt, &self.db, table, column)?;
        }
        Ok(())
    }

    fn one_row(&self, exprs: &[Expr], rt: &mut Rt<'_, '_>, to: &mut Given<'_>) -> Result<u64, SqlError> {
        let mut values: smallvec::SmallVec<[Value; 8]> = smallvec::smallvec![Value::Null; exprs.len()];
        self.compute(exprs, &[], rt, &mut values)?;
        if let Some(column) = self.identity {
            let next = identity::next(&self.db, &self.store.table, 1)?;
            self.give_identity(&mut values, column, next)?;
            self.note_identity(rt, next)?;
        }
        self.note_explicit(&values, rt)?;
        self.checked(&values, rt)?;
        let txn = rt.session().txn(&self.db)?;
        with_writer(|writer| writer.insert(&self.db, txn, &self.store, &values))?;
        self.give(&values, rt, to)?;
        Ok(1)
    }

    fn give_identity(&self, values: &mut [Value], column: usize, next: i64) -> Result<(), SqlError> {
        let ty = self.store.table.columns[column].ty;
        values[column] = match ty {
            DataType::BigInt => Value::BigInt(next),
            DataType::Int if i32::try_from(next).is_ok() => Value::Int(next as i32),
            _ => types::convert::convert(&Value::BigInt(next), DataType::BigInt, ty, 0, Mode::Implicit)
                .map_err(|_| {
                    let name = ty.message_name();
                    let text = format!("Arithmetic overflow error converting IDENTITY to data type {name}.");
                    SqlError::new(8115, 16, 1, text)
                })?,
        };
        Ok(())
    }

    fn note_identity(&self, rt: &mut Rt<'_, '_>, last: i64) -> Result<(), SqlError> {
        let session = rt.session();
        session.last_identity = Some(last);
        session.scope_identity = Some(last);
        Ok(())
    }

    fn note_explicit(&self, values: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let Some(column) = self.explicit_identity else { return Ok(()) };
        let given = match &values[column] {
            Value::Decimal(d) => i64::try_from(d.truncated()).ok(),
            other => other.as_i64(),
        };
        if let Some(given) = given {
            identity::used(&self.db, &self.store.table, given)?;
            self.note_identity(rt, given)?;
        }
        Ok(())
    }

    fn rows(
        &self,
        rows: &[Vec<Expr>],
        rt: &mut Rt<'_, '_>,
        limit: u64,
        to: &mut Given<'_>,
    ) -> Result<u64, SqlError> {
        let mut loader = Loader::new(&self.db, &self.store);
        let mut values = vec![Value::Null; self.store.table.columns.len()];
        for exprs in rows.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            self.compute(exprs, &[], rt, &mut values)?;
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
        to: &mut Given<'_>,
    ) -> Result<(), SqlError> {
        if let Some(column) = self.identity {
            let next = identity::next(&self.db, &self.store.table, 1)?;
            self.give_identity(values, column, next)?;
            self.note_identity(rt, next)?;
        }
        self.note_explicit(values, rt)?;
        self.checked(values, rt)?;
        self.give(values, rt, to)?;
        loader.add(rt, values)
    }

    fn query(
        &self,
        plan: &Plan,
        exprs: &[Expr],
        copy: Copy,
        rt: &mut Rt<'_, '_>,
        limit: u64,
        to: &mut Given<'_>,
    ) -> Result<u64, SqlError> {
        let mut loader = Loader::new(&self.db, &self.store);
        let mut op = crate::exec::open::start(plan, rt);
        let mut batch = RowSet::default();
        let mut values = vec![Value::Null; self.store.table.columns.len()];
        let mut left = limit;
        if self.reads_target {
            let mut kept: Vec<Box<[Value]>> = Vec::new();
            while op.next(plan, rt, &mut batch)? {
                for i in 0..batch.len() {
                    rt.reserve(crate::exec::memory::row_bytes(batch.row(i)))?;
                    kept.push(batch.row(i).into());
                }
            }
            for row in kept.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
                self.compute(exprs, row, rt, &mut values)?;
                self.load(&mut loader, &mut values, rt, to)?;
            }
            return loader.finish(rt);
        }
        while left > 0 && op.next(plan, rt, &mut batch)? {
            debug_assert!(batch.len() <= BATCH * 64);
            for i in 0..batch.len().min(usize::try_from(left).unwrap_or(usize::MAX)) {
                left -= 1;
                if copy == Copy::Computed {
                    self.compute(exprs, batch.row(i), rt, &mut values)?;
                    self.load(&mut loader, &mut values, rt, to)?;
                } else {
                    self.checked(batch.row(i), rt)?;
                    loader.add(rt, batch.row(i))?;
                }
            }
        }
        loader.finish(rt)
    }

    /// Copies stored rows as they are.
    fn bytes(&self, plan: &Plan, rt: &mut Rt<'_, '_>) -> Result<u64, SqlError> {
        let Some(plan) = whole_rows(&plan.node) else { return Err(SqlError::internal("not a plain scan")) };
        debug_assert!(plan.mode != TableMode::Current);
        let mut loader = Loader::new(&self.db, &self.store);
        let mut scan = Scan::default();
        while scan.next_page(plan, rt)? {
            let page = scan.rows();
            for i in 0..page.len() {
                loader.add_bytes(rt, page.row(i))?;
            }
        }
        loader.finish(rt)
    }
}
