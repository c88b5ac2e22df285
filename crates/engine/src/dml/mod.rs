//! INSERT, UPDATE, DELETE and SELECT INTO: compiled once, run without names.
//! Guarantees: a statement never meets its own changes (Halloween): what it reads is complete before it writes, or
//! the way it reads cannot lead to what it wrote; rows that another transaction is changing are waited for and tested
//! again; an error names table and column.

pub mod bulk;
pub mod delete;
pub mod insert;
pub mod loader;
pub mod output;
pub mod select_into;
pub mod target;
pub mod update;

use crate::exec::context::{ExecCtx, RowSink};
use crate::exec::rt::Rt;
use crate::output::ColumnInfo;
use catalog::Db;
use catalog::TableDef;
use expr::{ConvertExpr, Expr};
use plan::Needs;
use plan::bind::env::CompileEnv;
use plan::bind::{Binder, unsupported};
use std::sync::Arc;
use syntax::ast::{self, StmtKind};
use types::{SqlError, Value};

/// A compiled INSERT, UPDATE, DELETE or SELECT INTO.
#[derive(Debug)]
pub enum DmlPlan {
    Insert(Box<insert::InsertPlan>),
    Update(Box<update::UpdatePlan>),
    Delete(Box<delete::DeletePlan>),
    SelectInto(Box<select_into::SelectIntoPlan>),
}

impl DmlPlan {
    /// What it needs when it runs.
    pub fn needs(&self) -> &Needs {
        match self {
            DmlPlan::Insert(plan) => &plan.needs,
            DmlPlan::Update(plan) => &plan.needs,
            DmlPlan::Delete(plan) => &plan.needs,
            DmlPlan::SelectInto(plan) => &plan.needs,
        }
    }

    /// Columns of the rows that the statement returns.
    pub fn columns(&self) -> &[ColumnInfo] {
        let output = match self {
            DmlPlan::Insert(plan) => plan.output(),
            DmlPlan::Update(plan) => plan.output(),
            DmlPlan::Delete(plan) => plan.output(),
            DmlPlan::SelectInto(_) => None,
        };
        output.map_or(&[], |output| &output.columns)
    }

    /// Runs the statement; returns how many rows it changed.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        match self {
            DmlPlan::Insert(plan) => plan.run(ctx, out),
            DmlPlan::Update(plan) => plan.run(ctx, out),
            DmlPlan::Delete(plan) => plan.run(ctx, out),
            DmlPlan::SelectInto(plan) => plan.run(ctx),
        }
    }
}

/// Compiles a statement that changes data.
pub fn compile_dml(stmt: &ast::Stmt, env: &CompileEnv<'_>) -> Result<Arc<DmlPlan>, SqlError> {
    let mut binder = Binder::new(env);
    plan::options::check(options_of(stmt), env)?;
    binder.force_order = plan::options::forces_order(options_of(stmt));
    let plan = match &stmt.kind {
        StmtKind::Insert(i) => DmlPlan::Insert(Box::new(insert::compile(&mut binder, i)?)),
        StmtKind::Update(u) => DmlPlan::Update(Box::new(update::compile(&mut binder, u)?)),
        StmtKind::Delete(d) => DmlPlan::Delete(Box::new(delete::compile(&mut binder, d)?)),
        StmtKind::Select(q) => DmlPlan::SelectInto(Box::new(select_into::compile(&mut binder, q)?)),
        StmtKind::Merge(_) => return Err(unsupported("MERGE")),
        _ => return Err(SqlError::internal("not a statement that changes data")),
    };
    Ok(Arc::new(plan))
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

/// `database.schema.table`, as messages name a table.
pub fn full_name(db: &Db, table: &TableDef) -> String {
    format!("{}.{}.{}", db.name(), table.schema, table.name)
}

/// 515: NULL for a column that has none.
pub fn null_error(db: &Db, table: &TableDef, column: usize, verb: &str) -> SqlError {
    let text = format!(
        "Cannot insert the value NULL into column '{}', table '{}'; column does not allow nulls. {verb} fails.",
        table.columns[column].name,
        full_name(db, table)
    );
    SqlError::new(515, 16, 2, text)
}

/// The value for a column; a string that is too long is reported with table and column.
#[inline]
pub fn column_value(
    e: &Expr,
    row: &[Value],
    rt: &mut Rt<'_, '_>,
    db: &Db,
    table: &TableDef,
    column: usize,
) -> Result<Value, SqlError> {
    match e.eval(row, rt) {
        Err(error) if error.number == 2628 => Err(truncated(e, row, rt, db, table, column)),
        result => result,
    }
}

/// 2628 with names; the value is computed again for the message.
fn truncated(
    e: &Expr,
    row: &[Value],
    rt: &mut Rt<'_, '_>,
    db: &Db,
    table: &TableDef,
    column: usize,
) -> SqlError {
    let ty = table.columns[column].ty;
    let value = match e {
        Expr::Convert(c) => {
            let ConvertExpr { operand, .. } = &**c;
            operand.eval(row, rt).unwrap_or(Value::Null)
        }
        _ => Value::Null,
    };
    let part = types::convert::fitting_part(&value, ty);
    SqlError::truncation_in(&full_name(db, table), &table.columns[column].name, &part)
}
