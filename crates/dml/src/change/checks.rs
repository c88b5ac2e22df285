//! CHECK constraints of a change: conditions over the new row. A condition that is unknown holds.

use std::sync::Arc;

use super::{TableChange, ViewChange};
use bind::combine::negate;
use bind::env::CompileEnv;
use bind::scope::{Clause, Scope};
use bind::source::Source;
use bind::{Binder, unsupported};
use catalog::names::quote;
use catalog::{CheckDef, Db, TableDef};
use exec::operators::context::ExecCtx;
use exec::operators::query::run_query;
use exec::operators::rt::Rt;
use expr::{ColId, Pred};
use logical::slots::pred_slots;
use plan::compile_query;
use session::state::changes::Action;
use types::{SqlError, Value, msg};

/// A compiled constraint.
#[derive(Debug)]
pub struct Check {
    /// Over the table's columns.
    condition: Pred,
    /// True where the constraint is broken; else true where it holds.
    breaks: bool,
    error: SqlError,
}

impl Check {
    /// Error 547 when the row breaks it.
    pub fn test(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        if self.condition.is_true(row, rt)? == self.breaks {
            Err(self.error.clone())
        } else {
            Ok(())
        }
    }
}

/// The constraints that hold for a change: all of an INSERT, of an UPDATE those that name a column
/// that it sets.
pub fn compile(env: &CompileEnv<'_>, change: &TableChange<'_>) -> Result<Vec<Check>, SqlError> {
    let mut out = Vec::new();
    for check in change.table.checks.iter().filter(|check| !check.disabled) {
        let (broken, used) = condition(env, change.table, check)?;
        if change.action == Action::Insert || used.iter().any(|at| change.columns.contains(at)) {
            let error = violation(change.verb, change.db, change.table, check);
            out.push(Check { condition: broken, breaks: true, error });
        }
    }
    Ok(out)
}

/// WITH CHECK OPTION: each condition of the view holds for the changed row; unknown is not enough.
///
/// # Errors
/// 40517: a condition over more than the row.
pub fn of_view(view: &ViewChange, table: &TableDef) -> Result<Vec<Check>, SqlError> {
    let all: Vec<ColId> = (view.first..view.first + table.columns.len() as ColId).collect();
    let test = |condition: &Pred| {
        let mut used = Vec::new();
        condition.columns(&mut used);
        if condition.has_subquery() || used.iter().any(|id| !all.contains(id)) {
            return Err(unsupported("WITH CHECK OPTION of a view with a join or a subquery"));
        }
        let mut condition = condition.clone();
        pred_slots(&mut condition, &all)?;
        Ok(Check { condition, breaks: false, error: SqlError::of(msg::CHECK_OPTION_FAILED, []) })
    };
    view.check.iter().flatten().map(test).collect()
}

/// The negated condition over the table's columns, and which of them it uses.
///
/// # Errors
/// Those of binding; 1046 a subquery.
pub fn condition(
    env: &CompileEnv<'_>,
    table: &TableDef,
    check: &CheckDef,
) -> Result<(Pred, Vec<usize>), SqlError> {
    let mut binder = Binder::new(env);
    // A function may have subqueries where the condition may not.
    binder.may_inline = false;
    let width = table.columns.len();
    let first = binder.new_cols(width);
    let columns = binder.columns_of(env.db, table, first)?;
    let source = Source {
        name: catalog::fold_name(&table.name),
        aliased: false,
        schema: Some(catalog::fold_name(&table.schema)),
        database: None,
        columns,
        object_id: table.object_id,
        db_id: 0,
    };
    binder.scopes.push(Scope {
        sources: vec![source].into(),
        visible: true,
        clause: Clause::Definition,
        ..Scope::default()
    });
    let mut pred = negate(binder.pred(&check.condition)?);
    if !binder.subqueries.is_empty() {
        return Err(SqlError::of(msg::SUBQUERY_NOT_ALLOWED, []));
    }
    let mut ids = Vec::new();
    pred.columns(&mut ids);
    let used = ids.iter().map(|id| (id - first) as usize).collect();
    let all: Vec<ColId> = (first..first + width as ColId).collect();
    pred_slots(&mut pred, &all)?;
    Ok((pred, used))
}

/// 547 for a row.
fn violation(verb: &str, db: &Db, table: &TableDef, check: &CheckDef) -> SqlError {
    let column = check.column.and_then(|id| table.position(id));
    let column =
        column.map_or(String::new(), |at| format!(", column '{}'", table.columns[at].name));
    SqlError::of(
        msg::CONSTRAINT_CONFLICT,
        [&verb, &"CHECK", &check.name, &db.name(), &table.full_name(), &column],
    )
}

/// Tests all rows of a table against a constraint.
///
/// # Errors
/// 547.
pub fn test_rows(
    env: &CompileEnv<'_>,
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    table: &TableDef,
    check: &CheckDef,
) -> Result<(), SqlError> {
    let name = format!("{}.{}.{}", quote(&db.name()), quote(&table.schema), quote(&table.name));
    let text = format!("SELECT TOP (1) 1 AS x FROM {name} WHERE NOT ({})", check.text);
    let stmts = syntax::parse(&text).map_err(catalog::errors::syntax_error)?;
    let Some(syntax::ast::StmtKind::Select(query)) = stmts.first().map(|s| &s.kind) else {
        return Err(SqlError::internal("a test of a constraint is no query"));
    };
    let query = compile_query(query, env)?;
    let mut found: Vec<Vec<Value>> = Vec::new();
    run_query(&query, ctx, &mut found)?;
    if found.is_empty() { Ok(()) } else { Err(violation("ALTER TABLE", db, table, check)) }
}
