//! Queries: binding of SELECT, the logical plan, planning, and the compiled [`QueryPlan`].

pub mod access_path;
pub mod bind_from;
pub mod bind_select;
pub mod decorrelate;
pub mod hints;
pub mod logical;
pub mod nodes;
pub mod options;
pub mod physical;
pub mod planner;
pub mod view;
pub mod window;

use crate::bind::Binder;
use crate::bind::env::CompileEnv;
use catalog::Db;
use catalog::TableDef;
use compact_str::CompactString;
use expr::Expr;
use hints::TableLock;
use nodes::Plan;
use std::sync::Arc;
use syntax::ast;
use types::{DataType, SqlError};

/// One column of a result set.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// The name that the client sees; empty for an unnamed expression.
    pub name: CompactString,
    /// The static type of the column.
    pub ty: DataType,
    /// Whether the column can be NULL.
    pub nullable: bool,
}

/// A compiled query.
#[derive(Debug)]
pub struct QueryPlan {
    columns: Vec<ColumnInfo>,
    pub(crate) plan: Plan,
    /// `SELECT @v = x`: slot, value over the plan's rows.
    pub(crate) assignments: Vec<(usize, Expr)>,
    pub(crate) needs: Needs,
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
}
