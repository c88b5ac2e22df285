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

use crate::context::{CompileEnv, ExecCtx, RowSink};
use crate::exec::RowSet;
use crate::expr::bind::Binder;
use crate::expr::{Expr, Rt};
use crate::output::ColumnInfo;
use catalog::Db;
use catalog::TableDef;
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
    tables: Tables,
}

/// A table that a plan reads, and how it is locked meanwhile.
#[derive(Clone)]
pub struct TableUse {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub lock: TableLock,
}

/// The tables that a plan reads: locked against changes of schema while it runs, or as their hints say.
#[derive(Clone, Default)]
pub struct Tables(pub Vec<TableUse>);

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|used| &used.table.name)).finish()
    }
}

impl Tables {
    /// Locks them for a statement.
    pub fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        for used in &self.0 {
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
    Ok(Arc::new(QueryPlan { columns, plan, assignments, tables: Tables(std::mem::take(&mut binder.tables)) }))
}

fn wanted(bound: &logical::BoundQuery) -> (Vec<crate::expr::ColId>, Vec<(usize, Expr)>) {
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

    /// The operators, for showing plans.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs the query; returns how many rows it gave (or assigned from).
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        self.tables.lock(ctx)?;
        let limit = match ctx.session.options.rowcount {
            0 => u64::MAX,
            n => n,
        };
        let mut rt = Rt::new(ctx);
        let mut op = physical::open(&self.plan);
        let mut batch = RowSet::default();
        let mut count = 0;
        while count < limit && op.next(&mut rt, &mut batch)? {
            if self.assignments.is_empty() {
                rt.session()?.acknowledge_reads()?;
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
