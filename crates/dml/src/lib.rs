//! INSERT, UPDATE, DELETE, MERGE, SELECT INTO and bulk loads: compiled once, run without names.
//! Entry points: [`compile_dml`], [`DmlPlan::run`], [`bulk::bulk_load`]; [`change`] has what is
//! done to each row beside the table. Guarantees: a statement never meets its own changes
//! (Halloween): what it reads is complete before it writes, or the way it reads cannot lead to what
//! it wrote; rows that another transaction is changing are waited for and tested again; an error
//! names table and column.

pub mod bulk;
mod bulk_order;
pub mod change;
pub(crate) mod current;
pub(crate) mod delete;
pub(crate) mod insert;
mod insert_rows;
pub(crate) mod instead;
pub(crate) mod loader;
pub(crate) mod merge;
mod named;
mod nested;
mod new_row;
pub(crate) mod output;
pub(crate) mod partitioned;
mod row_change;
pub(crate) mod select_into;
mod set;
pub mod shown;
mod source;
pub(crate) mod target;
mod through;
pub(crate) mod update;
mod uses;
mod values;

use bind::counters::CompiledKind;
use bind::env::CompileEnv;
use bulk::BulkRows;
use exec::masked_errors;
use exec::operators::context::{ExecCtx, RowSink};
use plan::statement::Statement;
use plan::{CountedCompilation, Needs, cost};
use session::output::ColumnInfo;
use session::state::changes::Action;
use session::state::kept_memory::KeptMemory;
use std::sync::Arc;
use std::time::Instant;
use syntax::ast::{self, StmtKind};
use types::{SqlError, Value};

pub use partitioned::PartitionedPlan;
pub use update::ExpectedRow;

/// A compiled INSERT, UPDATE, DELETE, MERGE or SELECT INTO.
#[derive(Debug)]
pub enum DmlPlan {
    Insert(Box<insert::InsertPlan>),
    Update(Box<update::UpdatePlan>),
    Delete(Box<delete::DeletePlan>),
    Merge(Box<merge::MergePlan>),
    /// Of a view whose trigger does it.
    Instead(Box<instead::InsteadPlan>),
    SelectInto(Box<select_into::SelectIntoPlan>),
    /// Of a partitioned view.
    Partitioned(Box<partitioned::PartitionedPlan>),
}

impl DmlPlan {
    /// What it needs when it runs.
    pub fn needs(&self) -> &Needs {
        match self {
            DmlPlan::Insert(plan) => &plan.needs,
            DmlPlan::Update(plan) => &plan.needs,
            DmlPlan::Delete(plan) => &plan.needs,
            DmlPlan::Merge(plan) => &plan.needs,
            DmlPlan::Instead(plan) => &plan.needs,
            DmlPlan::SelectInto(plan) => &plan.needs,
            DmlPlan::Partitioned(plan) => plan.needs(),
        }
    }

    /// Columns of the rows that the statement returns.
    pub fn columns(&self) -> &[ColumnInfo] {
        let output = match self {
            DmlPlan::Insert(plan) => plan.output(),
            DmlPlan::Update(plan) => plan.output(),
            DmlPlan::Delete(plan) => plan.output(),
            DmlPlan::Merge(plan) => plan.output(),
            DmlPlan::Instead(plan) => plan.output(),
            DmlPlan::SelectInto(_) | DmlPlan::Partitioned(_) => None,
        };
        output.map_or(&[], |output| output.columns())
    }

    /// Whether it adds rows that it has itself, or finds its rows by whole keys of unique indexes
    /// alone.
    pub fn reads_points(&self) -> bool {
        self.needs().subqueries.is_empty()
            && match self {
                DmlPlan::Insert(plan) => plan.reads_nothing(),
                DmlPlan::Update(plan) => plan.shown().2.reads_points(),
                DmlPlan::Delete(plan) => plan.shown().2.reads_points(),
                DmlPlan::Partitioned(plan) => plan.reads_nothing(),
                DmlPlan::Merge(_) | DmlPlan::Instead(_) | DmlPlan::SelectInto(_) => false,
            }
    }

    /// SELECT INTO is an INSERT.
    fn kind(&self) -> CompiledKind {
        match self {
            DmlPlan::Insert(_) | DmlPlan::SelectInto(_) => CompiledKind::Insert,
            DmlPlan::Update(_) => CompiledKind::Update,
            DmlPlan::Delete(_) => CompiledKind::Delete,
            DmlPlan::Merge(_) => CompiledKind::Merge,
            DmlPlan::Instead(plan) => kind_of(plan.action()),
            DmlPlan::Partitioned(plan) => kind_of(plan.action()),
        }
    }

    /// What finding its rows is expected to cost, in units of [`plan::cost`]; nothing where a scan
    /// changes what it meets.
    fn cost(&self) -> f64 {
        let source = match self {
            DmlPlan::Insert(plan) => plan.shown().2,
            DmlPlan::Update(plan) => plan.shown().2,
            DmlPlan::Delete(plan) => plan.shown().2,
            DmlPlan::Merge(plan) => plan.shown().2,
            DmlPlan::Instead(plan) => {
                return plan.shown().2.map_or(0.0, |plan| cost::of(plan).total);
            }
            DmlPlan::SelectInto(plan) => return cost::of(plan.shown().1).total,
            DmlPlan::Partitioned(plan) => return plan.cost(),
        };
        source.plan().map_or(0.0, |plan| cost::of(plan).total)
    }

    /// Whether it adds or changes one row by its key and nothing else: it shows no row, sets no
    /// variable, fires no trigger.
    pub fn is_point(&self) -> bool {
        match self {
            DmlPlan::Insert(plan) => plan.is_point(),
            DmlPlan::Update(plan) => plan.is_point(),
            DmlPlan::Delete(_)
            | DmlPlan::Merge(_)
            | DmlPlan::Instead(_)
            | DmlPlan::SelectInto(_)
            | DmlPlan::Partitioned(_) => false,
        }
    }

    /// Has the row of a statement that [`DmlPlan::is_point`] brought near, if it is known where it
    /// is; for [`DmlPlan::run`].
    #[inline]
    pub fn look_ahead(&self, memory: &mut KeptMemory, vars: &[Value]) -> Option<ExpectedRow> {
        match self {
            DmlPlan::Update(plan) => plan.look_ahead(memory, vars),
            DmlPlan::Insert(_)
            | DmlPlan::Delete(_)
            | DmlPlan::Merge(_)
            | DmlPlan::Instead(_)
            | DmlPlan::SelectInto(_)
            | DmlPlan::Partitioned(_) => None,
        }
    }

    /// Runs the statement; returns how many rows it changed. `ahead` is what
    /// [`DmlPlan::look_ahead`] has found for the same variables, if it was asked.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn run(
        &self,
        ctx: &mut ExecCtx<'_>,
        out: &mut dyn RowSink,
        ahead: Option<ExpectedRow>,
    ) -> Result<u64, SqlError> {
        let done = match self {
            DmlPlan::Insert(plan) => plan.run(ctx, out),
            DmlPlan::Update(plan) => plan.run(ctx, out, ahead),
            DmlPlan::Delete(plan) => plan.run(ctx, out),
            DmlPlan::Merge(plan) => plan.run(ctx, out),
            DmlPlan::Instead(plan) => plan.run(ctx, out),
            DmlPlan::SelectInto(plan) => plan.run(ctx),
            DmlPlan::Partitioned(plan) => plan.run(ctx),
        };
        if let Ok(0) = done {
            match self {
                // Their scans have told what they have read.
                DmlPlan::Update(_) | DmlPlan::Delete(_) => {
                    ctx.session.transactions.has_found_nothing()
                }
                _ => ctx.session.transactions.has_changed_nothing(),
            }
        }
        done.map_err(|e| masked_errors::of_statement(ctx.session, self.needs(), e))
    }

    /// Runs a compiled `INSERT ... VALUES (@1, ...)` once for each row that `source` has, with the
    /// row as the variables. Gives the number of rows.
    ///
    /// # Errors
    /// Those of INSERT and of the rows.
    pub fn load_rows(
        &self,
        ctx: &mut ExecCtx<'_>,
        source: &mut dyn BulkRows,
    ) -> Result<u64, SqlError> {
        let done = match self {
            DmlPlan::Insert(plan) => {
                plan.load_rows(ctx, source, u64::MAX, None).map(|(count, _)| count)
            }
            DmlPlan::Partitioned(plan) => {
                plan.load_rows(ctx, &mut |row: &mut [Value]| source.next(row))
            }
            _ => Err(SqlError::internal("an INSERT was expected")),
        };
        if let Ok(0) = done {
            ctx.session.transactions.has_changed_nothing();
        }
        done
    }
}

fn kind_of(action: Action) -> CompiledKind {
    match action {
        Action::Insert => CompiledKind::Insert,
        Action::Update => CompiledKind::Update,
        Action::Delete => CompiledKind::Delete,
    }
}

/// Compiles a statement that changes data.
pub fn compile_dml(stmt: &ast::Stmt, env: &CompileEnv<'_>) -> Result<Arc<DmlPlan>, SqlError> {
    let began = Instant::now();
    let mut binder = Statement::new(env);
    let options = options_of(stmt);
    plan::apply_options(&mut binder, options, assigns(stmt))?;
    let instead = instead::compile(&mut binder, &stmt.kind, compile_cascade)?;
    let plan = match (&stmt.kind, instead) {
        (_, Some(plan)) => DmlPlan::Instead(Box::new(plan)),
        (kind, None) => match (compile_stored(&mut binder, kind), binder.union_target.take()) {
            (Err(refused), Some(view)) if partitioned::may_be_why(&refused) => {
                let common = (options, assigns(stmt));
                let plan = partitioned::compile(env, kind, common, view, refused, compile_cascade)?;
                DmlPlan::Partitioned(Box::new(plan))
            }
            (compiled, _) => compiled?,
        },
    };
    let counted = CountedCompilation {
        kind: plan.kind(),
        began,
        options,
        cost: plan.cost(),
        trivial: plan.reads_points(),
    };
    counted.add(&binder, plan.needs());
    Ok(Arc::new(plan))
}

/// Compiles a change of a table.
fn compile_stored(binder: &mut Statement<'_>, stmt: &StmtKind) -> Result<DmlPlan, SqlError> {
    Ok(match stmt {
        StmtKind::Insert(i) => {
            DmlPlan::Insert(Box::new(insert::compile(binder, i, compile_cascade)?))
        }
        StmtKind::Update(u) => {
            DmlPlan::Update(Box::new(update::compile(binder, u, compile_cascade)?))
        }
        StmtKind::Delete(d) => {
            DmlPlan::Delete(Box::new(delete::compile(binder, d, compile_cascade)?))
        }
        StmtKind::Select(q) => DmlPlan::SelectInto(Box::new(select_into::compile(binder, q)?)),
        StmtKind::Merge(m) => DmlPlan::Merge(Box::new(merge::compile(binder, m, compile_cascade)?)),
        _ => return Err(SqlError::internal("not a statement that changes data")),
    })
}

/// Compiles a statement that a cascade runs.
fn compile_cascade(
    stmt: &ast::Stmt,
    env: &CompileEnv<'_>,
) -> Result<Arc<dyn change::CascadePlan>, SqlError> {
    let plan: Arc<DmlPlan> = compile_dml(stmt, env)?;
    Ok(plan)
}

impl change::CascadePlan for DmlPlan {
    fn needs(&self) -> &Needs {
        DmlPlan::needs(self)
    }

    fn cascade(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        let mut none: Vec<Vec<Value>> = Vec::new();
        self.run(ctx, &mut none, None).map(drop)
    }
}

/// Whether a statement gives variables values while it reads rows, or may do so.
fn assigns(stmt: &ast::Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Update(u) => u.assignments.iter().any(ast::Assignment::assigns),
        StmtKind::Merge(_) => true,
        _ => false,
    }
}

/// The OPTION clause of a statement.
fn options_of(stmt: &ast::Stmt) -> &[ast::OptionItem] {
    match &stmt.kind {
        StmtKind::Insert(i) => match &i.source {
            ast::InsertSource::Query(query) => &query.options,
            _ => &i.options,
        },
        StmtKind::Update(u) => &u.options,
        StmtKind::Delete(d) => &d.options,
        StmtKind::Merge(m) => &m.options,
        StmtKind::Select(q) => &q.options,
        _ => &[],
    }
}
