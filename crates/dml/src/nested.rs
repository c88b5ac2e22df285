//! INSERT ... SELECT ... FROM (a change with OUTPUT): the change runs first, and its rows are what
//! the query reads. Guarantees: both are one statement; the target has no triggers and no foreign
//! keys on either side (355, 356), so that nothing that follows from the outer rows meets the inner
//! change half done.

use std::sync::Arc;

use super::named::InsertTarget;
use super::{DmlPlan, compile_dml};
use bind::nested_change::{ChangeRows, of_query};
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::rt::RunState;
use expr::Label;
use logical::tree::OutColumn;
use plan::statement::Statement;
use session::query_memory::{Grants, QueryMemory, row_bytes};
use session::state::changes::KeptRows;
use syntax::ast::{self, Filter, InsertSource, Stmt, StmtKind};
use types::{ResultRows, SqlError, msg};

/// A compiled change whose rows another statement takes.
#[derive(Debug)]
pub struct NestedChange {
    plan: Arc<DmlPlan>,
    /// The number of its rows in the statement that takes them.
    work: usize,
    width: usize,
}

/// The change that an INSERT takes its rows from, if it takes them from one; the binder knows its
/// columns then.
///
/// # Errors
/// 354 to 356, 5328: what the target may not be; 10716, 10720, 10721: what the change may not say;
/// those of compiling it.
pub fn compile(
    binder: &mut Statement<'_>,
    insert: &ast::Insert,
    target: &InsertTarget,
    columns: &[usize],
) -> Result<Option<Box<NestedChange>>, SqlError> {
    let InsertSource::Query(query) = &insert.source else { return Ok(None) };
    let Some(stmt) = of_query(query)? else { return Ok(None) };
    check_change(stmt)?;
    check_target(&insert.target, target, columns)?;
    let plan = compile_dml(stmt, binder.env)?;
    binder.watch_all(&plan.needs().watched);
    let work = binder.new_work();
    let given = plan.columns();
    let width = given.len();
    let columns = given.iter().map(|column| OutColumn {
        name: column.name.clone(),
        id: 0,
        ty: column.ty,
        nullable: column.nullable,
        collation: column.collation,
        label: Label::Implicit,
        untyped: false,
        identity: None,
        base: false,
        computed: true,
        table: None,
    });
    binder.change = Some(ChangeRows { work, columns: columns.collect() });
    Ok(Some(Box::new(NestedChange { plan, work, width })))
}

fn check_change(stmt: &Stmt) -> Result<(), SqlError> {
    let (output, current) = match &stmt.kind {
        StmtKind::Insert(insert) => (&insert.output, false),
        StmtKind::Update(update) => {
            (&update.output, matches!(update.filter, Some(Filter::CurrentOf(_))))
        }
        StmtKind::Delete(delete) => {
            (&delete.output, matches!(delete.filter, Some(Filter::CurrentOf(_))))
        }
        StmtKind::Merge(merge) => (&merge.output, false),
        _ => return Err(SqlError::internal("no change is nested here")),
    };
    if output.is_empty() {
        return Err(SqlError::of(msg::NESTED_CHANGE_WITHOUT_OUTPUT, []));
    }
    if output.iter().any(|output| output.into.is_some()) {
        return Err(SqlError::of(msg::NESTED_CHANGE_OUTPUT_INTO, []));
    }
    if current {
        return Err(SqlError::of(msg::NESTED_CHANGE_CURRENT_OF, []));
    }
    if let StmtKind::Insert(insert) = &stmt.kind
        && let InsertSource::Query(query) = &insert.source
        && of_query(query)?.is_some()
    {
        return Err(SqlError::of(msg::NESTED_CHANGE_IN_NESTED_CHANGE, []));
    }
    Ok(())
}

fn check_target(
    named: &ast::Target,
    target: &InsertTarget,
    columns: &[usize],
) -> Result<(), SqlError> {
    let name = match named {
        ast::Target::Name(name) => name.to_string(),
        ast::Target::Variable(name) => name.to_string(),
        ast::Target::Function { name, .. } => name.to_string(),
    };
    let table = &target.table;
    if target.through.is_some() {
        return Err(SqlError::of(msg::NESTED_CHANGE_INTO_VIEW, [&name]));
    }
    let catalog = target.db.catalog();
    if !catalog.triggers_of(table.object_id).is_empty() {
        return Err(SqlError::of(msg::NESTED_CHANGE_INTO_TRIGGERS, [&name]));
    }
    let own = table.foreign_keys.first().map(|key| key.name.clone());
    let key = own.or_else(|| {
        catalog.foreign_keys_to(table.object_id).first().map(|(_, key)| key.name.clone())
    });
    if let Some(key) = key {
        return Err(SqlError::of(msg::NESTED_CHANGE_INTO_FOREIGN_KEY, [&name, &key]));
    }
    if let Some(at) = columns.iter().find(|at| table.columns[**at].identity.is_some()) {
        return Err(SqlError::of(
            msg::NESTED_CHANGE_INTO_IDENTITY,
            [&table.columns[*at].name, &name],
        ));
    }
    Ok(())
}

/// Keeps the rows of the change.
struct Keep<'m> {
    rows: KeptRows,
    state: RunState,
    grants: &'m Grants,
    budget: &'m Arc<QueryMemory>,
}

impl RowSink for Keep<'_> {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            if !self.state.memory.count(row_bytes(row)) {
                self.state.memory.take_counted(self.grants, self.budget)?;
            }
            self.rows.push(row);
            Ok(())
        })
    }
}

impl NestedChange {
    /// Runs the change; what it gives is kept for the statement that goes on with this state.
    ///
    /// # Errors
    /// Its own; 701.
    pub fn run(&self, ctx: &mut ExecCtx<'_>) -> Result<RunState, SqlError> {
        let (shared, budget) = (ctx.session.shared.clone(), &ctx.session.query_memory().clone());
        let (rows, grants) = (KeptRows::new(self.width), &shared.grants);
        let mut keep = Keep { rows, state: RunState::default(), grants, budget };
        self.plan.run(ctx, &mut keep, None)?;
        let Keep { rows, mut state, .. } = keep;
        state.keep_rows(self.work, rows);
        Ok(state)
    }

    /// The change, for SHOWPLAN.
    pub fn plan(&self) -> &DmlPlan {
        &self.plan
    }
}
