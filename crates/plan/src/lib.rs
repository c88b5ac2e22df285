//! From the syntax of queries to plans: the binder, the logical plan, the choice of access paths and joins, and the
//! physical plan as plain data. It knows databases and tables (crates `catalog`, `storage`), but neither sessions nor how a
//! plan runs: what it asks of the instance comes through [`bind::env::Names`].
//! Guarantees: a compiled object holds no name that must be looked up again; errors carry SQL Server's numbers.

pub mod access_path;
pub mod bind;
mod chance;
pub mod cost;
mod decorrelate;
pub mod estimate;
pub mod hints;
pub mod logical;
mod needs;
pub mod nodes;
pub mod options;
pub mod physical;
pub mod planner;
mod rewrite;
pub mod statistics;
pub mod view;

use crate::bind::Binder;
use crate::bind::env::CompileEnv;
use compact_str::CompactString;
use expr::Expr;
use nodes::Plan;
use std::sync::Arc;
use syntax::ast;
use types::{DataType, SqlError};

pub use needs::{Needs, TableUse, Watched};

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
    /// The operators.
    pub plan: Plan,
    /// `SELECT @v = x`: slot, value over the plan's rows.
    pub assignments: Vec<(usize, Expr)>,
    pub needs: Needs,
}

/// Compiles a query.
pub fn compile_query(q: &ast::Query, env: &CompileEnv<'_>) -> Result<Arc<QueryPlan>, SqlError> {
    let mut binder = Binder::new(env);
    options::check(&q.options, env)?;
    binder.apply_options(&q.options);
    let bound = binder.query(q)?;
    let (wanted, mut assignments) = wanted(&bound);
    let plan = physical::plan_query(&mut binder, bound.logical, &wanted, None)?;
    for (_, e) in &mut assignments {
        physical::slots(e, &plan.cols)?;
    }
    let columns =
        bound.columns.iter().map(|c| ColumnInfo { name: c.name.clone(), ty: c.ty, nullable: c.nullable });
    let columns = columns.collect();
    Ok(Arc::new(QueryPlan { columns, plan, assignments, needs: physical::needs(&mut binder)? }))
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

    /// Whether it reads tables by whole keys of unique indexes alone.
    pub fn reads_points(&self) -> bool {
        self.needs.subqueries.is_empty() && self.plan.reads_points()
    }

    /// The operators, for showing plans.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
