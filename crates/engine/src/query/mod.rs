//! Queries: binding of SELECT, the logical plan, planning, and the compiled [`QueryPlan`].

pub mod access_path;
pub mod bind_from;
pub mod bind_select;
pub mod decorrelate;
pub mod explain;
pub mod hints;
pub mod logical;
pub mod options;
pub mod physical;
pub mod planner;
pub mod window;

use crate::bind::Binder;
use crate::context::{CompileEnv, ExecCtx, RowSink};
use crate::exec::RowSet;
use crate::exec::rt::Rt;
use crate::output::ColumnInfo;
use catalog::Db;
use catalog::TableDef;
use expr::Expr;
use hints::TableLock;
use physical::Plan;
use std::sync::Arc;
use syntax::ast;
use types::{SqlError, Value};

/// A compiled query.
#[derive(Debug)]
pub struct QueryPlan {
    columns: Vec<ColumnInfo>,
    plan: Plan,
    /// `SELECT @v = x`: slot, value over the plan's rows.
    assignments: Vec<(usize, Expr)>,
    needs: Needs,
}

/// A table that a plan reads, and how it is locked meanwhile.
#[derive(Clone)]
pub struct TableUse {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub lock: TableLock,
}

/// What a compiled statement needs when it runs.
#[derive(Clone, Default)]
pub struct Needs {
    /// The tables that it reads: locked against changes of schema while it runs, or as their hints say.
    pub tables: Vec<TableUse>,
    /// Plans of the subqueries in its expressions.
    pub subqueries: Vec<Arc<Plan>>,
}

impl std::fmt::Debug for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tables.iter().map(|used| &used.table.name)).finish()
    }
}

impl Needs {
    /// Locks the tables for a statement.
    pub fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        for used in &self.tables {
            ctx.session.lock_table(&used.db, &used.table, used.lock)?;
        }
        Ok(())
    }
}

/// Compiles a query.
pub fn compile_query(q: &ast::Query, env: &CompileEnv<'_>) -> Result<Arc<QueryPlan>, SqlError> {
    let mut binder = Binder::new(env);
    options::check(&q.options, env)?;
    let bound = binder.query(q)?;
    let (wanted, mut assignments) = wanted(&bound);
    let plan = physical::plan_query(&mut binder, bound.logical, &wanted, None)?;
    for (_, e) in &mut assignments {
        physical::slots(e, &plan.cols)?;
    }
    let columns =
        bound.columns.iter().map(|c| ColumnInfo { name: c.name.clone(), ty: c.ty, nullable: c.nullable });
    let columns = columns.collect();
    Ok(Arc::new(QueryPlan { columns, plan, assignments, needs: binder.needs() }))
}

fn wanted(bound: &logical::BoundQuery) -> (Vec<expr::ColId>, Vec<(usize, Expr)>) {
    if bound.assignments.is_empty() {
        return (bound.columns.iter().map(|c| c.id).collect(), Vec::new());
    }
    let mut ids = Vec::new();
    bound.assignments.iter().for_each(|(_, e)| e.columns(&mut ids));
    (ids, bound.assignments.clone())
}

impl QueryPlan {
    /// The result's columns; none when the query assigns variables.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Whether the query assigns variables and gives no rows.
    pub fn assigns(&self) -> bool {
        !self.assignments.is_empty()
    }

    /// What it needs when it runs.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// The operators, for showing plans.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs the query; returns how many rows it gave (or assigned from).
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        self.needs.lock(ctx)?;
        let limit = match ctx.session.options.rowcount {
            0 => u64::MAX,
            n => n,
        };
        let mut rt = Rt::new(ctx, &self.needs);
        let mut op = physical::open(&self.plan);
        let mut batch = RowSet::default();
        let mut count = 0;
        while count < limit && op.next(&mut rt, &mut batch)? {
            if self.assignments.is_empty() {
                rt.session().acknowledge_reads()?;
            }
            for i in 0..batch.len() {
                if count == limit {
                    break;
                }
                count += 1;
                if self.assignments.is_empty() {
                    out.row(batch.row(i))?;
                } else {
                    self.assign(batch.row(i), &mut rt)?;
                }
            }
        }
        Ok(count)
    }

    fn assign(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        for (slot, e) in &self.assignments {
            let value = e.eval(row, rt)?;
            rt.set_var(*slot, value);
        }
        Ok(())
    }
}
