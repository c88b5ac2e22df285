//! Queries of the engine itself, made of definitions. Guarantees: they need no right, and see what
//! is committed. Where a table must not change meanwhile, the caller has locked it.

use std::sync::Arc;

use syntax::ast::StmtKind;
use types::{SqlError, Value};

use super::work::Work;
use bind::env::{CompileEnv, NO_TEMPS, VarScope};
use bind::set_options::SessionOptions;
use catalog::names::quote;
use catalog::{Db, TableDef};
use exec::operators::context::ExecCtx;
use exec::operators::query::run_query;
use logical::isolation::Isolation;
use logical::rights::Chain;
use plan::compile_query;
use session::state::SessionCore;

/// Runs `f` with the environment in which statements of the engine itself are bound: they need no
/// right, and see what is committed. Where a table must not change meanwhile, the caller has locked
/// it.
pub(super) fn with_env<T>(
    core: &mut SessionCore,
    db: &Arc<Db>,
    f: impl FnOnce(&CompileEnv<'_>, &mut SessionCore) -> T,
) -> T {
    let (host, shared) = (core.host().clone(), core.shared.clone());
    let vars = VarScope::new();
    let options =
        SessionOptions { isolation: Isolation::ReadCommitted, rowcount: 0, ..core.options.clone() };
    let env = CompileEnv {
        predicate_of: None,
        schema: None,
        chain: Chain::Trusted,
        names: &*host,
        db,
        catalog: db.catalog(),
        vars: &vars,
        values: &[],
        options: &options,
        temps: &NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: host.optimizer(),
        unresolved: None,
    };
    f(&env, core)
}

/// Whether a query gives a row.
///
/// # Errors
/// Those of binding and running it.
pub fn finds_row(work: &mut Work<'_>, text: &str) -> Result<bool, SqlError> {
    let db = work.db.clone();
    query_rows(work.core, &db, text).map(|rows| !rows.is_empty())
}

/// Whether a table that the caller has locked has rows, whoever wrote them last.
///
/// # Errors
/// Those of reading it.
pub fn has_rows(work: &mut Work<'_>, table: &TableDef) -> Result<bool, SqlError> {
    let name = format!("{}.{}", quote(&table.schema), quote(&table.name));
    finds_row(work, &format!("SELECT TOP (1) 1 AS x FROM {name} WITH (READCOMMITTEDLOCK)"))
}

/// The rows of a query that is made of definitions: what it reads needs no rights.
///
/// # Errors
/// Those of binding and running it.
pub fn query_rows(
    core: &mut SessionCore,
    db: &Arc<Db>,
    text: &str,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let stmts = syntax::parse(text).map_err(catalog::errors::syntax_error)?;
    let Some(StmtKind::Select(query)) = stmts.first().map(|stmt| &stmt.kind) else {
        return Err(SqlError::internal("not a query"));
    };
    with_env(core, db, |env, core| {
        let plan = compile_query(query, env)?;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        run_query(&plan, &mut ExecCtx { session: core, vars: &mut [] }, &mut rows)?;
        Ok(rows)
    })
}
