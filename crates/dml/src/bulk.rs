//! Bulk loads: rows of a source that is asked for one after another, through the table's compiled
//! INSERT and its set-based loader. BULK INSERT, `Session::bulk_insert` and with it `ringwood
//! import` come here. Guarantees: defaults, identity, NULL checks, keys and indexes are those of
//! INSERT; memory does not grow with the rows.

use std::sync::Arc;
use syntax::ast::{Stmt, StmtKind};
use types::{SqlError, Value, msg};

use super::bulk_order::ToldOrder;
use super::{DmlPlan, compile_dml};
use bind::env::{CompileEnv, VarScope};
use catalog::errors;
use catalog::names::quote;
use exec::operators::context::ExecCtx;
use session::state::SessionCore;
use session::state::bulk::BulkLoad;

/// Where the rows of a bulk load come from.
pub trait BulkRows {
    /// Puts the next row's values in the place of what `row` holds, one per column of the load;
    /// false when there are no more.
    ///
    /// # Errors
    /// End the load; what it has not committed is rolled back.
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError>;
}

impl<F: FnMut(&mut [Value]) -> Result<bool, SqlError>> BulkRows for F {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        self(row)
    }
}

/// Rows column by column: batches of columns of equal length, as columnar files and libraries have
/// them.
pub struct ColumnBatches<I> {
    batches: I,
    columns: Vec<std::vec::IntoIter<Value>>,
}

impl<I: Iterator<Item = Result<Vec<Vec<Value>>, SqlError>>> ColumnBatches<I> {
    /// The batches of an iterator, each with one list of values per column of the load.
    pub fn new(batches: I) -> ColumnBatches<I> {
        ColumnBatches { batches, columns: Vec::new() }
    }
}

impl<I: Iterator<Item = Result<Vec<Vec<Value>>, SqlError>>> BulkRows for ColumnBatches<I> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        while self.columns.iter().all(|column| column.len() == 0) {
            let Some(batch) = self.batches.next().transpose()? else { return Ok(false) };
            let length = batch.first().map_or(0, Vec::len);
            if batch.len() != row.len() || batch.iter().any(|column| column.len() != length) {
                return Err(SqlError::of(msg::BULK_BATCH_UNEQUAL, [&batch.len(), &row.len()]));
            }
            self.columns = batch.into_iter().map(Vec::into_iter).collect();
        }
        for (place, column) in row.iter_mut().zip(&mut self.columns) {
            *place = column.next().unwrap_or_default();
        }
        Ok(true)
    }
}

/// Runs a bulk load within the running statement; values are of the columns' types. Outside a
/// transaction each batch commits. Gives the number of rows.
///
/// # Errors
/// Those of compiling its INSERT, of INSERT and of the rows.
pub fn bulk_load(
    load: &BulkLoad,
    core: &mut SessionCore,
    rows: &mut dyn BulkRows,
) -> Result<u64, SqlError> {
    let kept = core.options.identity_insert;
    if load.options.keep_identity && load.table.columns.iter().any(|c| c.identity.is_some()) {
        core.options.identity_insert = Some((load.db.id(), load.table.object_id));
    }
    let result = batches(load, core, rows);
    core.options.identity_insert = kept;
    result
}

fn batches(
    load: &BulkLoad,
    core: &mut SessionCore,
    rows: &mut dyn BulkRows,
) -> Result<u64, SqlError> {
    let limit = match load.options.batch {
        0 => u64::MAX,
        n => n,
    };
    let (mut plan, mut slots) = compile(load, core)?;
    let (mut loaded, mut more) = (0, true);
    let mut order = ToldOrder::of(load);
    while more {
        let DmlPlan::Insert(insert) = &*plan else {
            return Err(SqlError::internal("a bulk load made no INSERT"));
        };
        core.check_rights(&insert.needs.rights)?;
        let mut vars = vec![Value::Null; slots];
        match insert.load_rows(
            &mut ExecCtx { session: core, vars: &mut vars },
            rows,
            limit,
            order.as_mut(),
        ) {
            Ok((count, left)) => {
                if count == 0 {
                    core.transactions.has_changed_nothing();
                }
                loaded += count;
                more = left;
            }
            // Found while the table was locked, before a row was taken.
            Err(e) if e.number == errors::SCHEMA_CHANGED => {
                (plan, slots) = compile(load, core)?;
                continue;
            }
            Err(e) => return Err(e),
        }
        if more && core.trancount() == 0 {
            if !core.run.triggers.fired.is_empty() {
                return Err(errors::not_supported("A bulk load in batches that fires triggers"));
            }
            core.end_statement(Ok(()))?;
            core.begin_statement(true)?;
        }
    }
    Ok(loaded)
}

/// The hints of the INSERT.
fn hints(load: &BulkLoad) -> String {
    let options = &load.options;
    let all = [
        (options.table_lock, "TABLOCK"),
        (options.ignore_constraints, "IGNORE_CONSTRAINTS"),
        (options.ignore_triggers, "IGNORE_TRIGGERS"),
    ];
    let set: Vec<&str> = all.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
    if set.is_empty() { String::new() } else { format!("WITH ({})", set.join(", ")) }
}

/// Compiles `INSERT INTO table (columns) VALUES (@1, ...)`; a column whose default stands in
/// for NULL gets it through ISNULL.
fn compile(load: &BulkLoad, core: &SessionCore) -> Result<(Arc<DmlPlan>, usize), SqlError> {
    let mut vars = VarScope::new();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (i, at) in load.columns.iter().enumerate() {
        let column = &load.table.columns[*at];
        let variable = format!("@{}", i + 1);
        vars.declare(&variable, column.ty)?;
        names.push(quote(&column.name));
        values.push(match &column.default {
            Some(default) if !load.options.keep_nulls => {
                format!("ISNULL({variable}, {})", default.text)
            }
            _ => variable,
        });
    }
    let rows = if names.is_empty() {
        "DEFAULT VALUES".to_string()
    } else {
        format!("({}) VALUES ({})", names.join(", "), values.join(", "))
    };
    let text = format!(
        "INSERT INTO {}.{}.{} {} {rows}",
        quote(&load.db.name()),
        quote(&load.table.schema),
        quote(&load.table.name),
        hints(load),
    );
    let stmts = syntax::parse(&text).map_err(catalog::errors::syntax_error)?;
    let Some(stmt) = stmts.first().filter(|s| matches!(s.kind, StmtKind::Insert(_))) else {
        return Err(SqlError::internal("a bulk load made no INSERT"));
    };
    Ok((compile_dml(stmt, &environment(core, &vars))?, vars.len()))
}

/// Runs `INSERT ... VALUES (@1, ...)` once for each row within the running statement. Gives the
/// number of rows.
///
/// # Errors
/// Those of compiling it, of INSERT and of the rows.
pub fn load_rows_of(
    core: &mut SessionCore,
    stmt: &Stmt,
    vars: &VarScope,
    rows: &mut dyn BulkRows,
) -> Result<u64, SqlError> {
    loop {
        let plan = compile_dml(stmt, &environment(core, vars))?;
        core.check_rights(&plan.needs().rights)?;
        let mut values = vec![Value::Null; vars.len()];
        match plan.load_rows(&mut ExecCtx { session: core, vars: &mut values }, rows) {
            // Found while the tables were locked, before a row was taken.
            Err(e) if e.number == errors::SCHEMA_CHANGED => {}
            result => return result,
        }
    }
}

/// What a statement of the engine is compiled with: the session as it is, and variables of its own.
pub(super) fn environment<'a>(core: &'a SessionCore, vars: &'a VarScope) -> CompileEnv<'a> {
    CompileEnv {
        predicate_of: None,
        schema: None,
        chain: core.identity.chain,
        names: &**core.host(),
        db: core.db(),
        catalog: core.db().catalog(),
        vars,
        values: &[],
        options: &core.options,
        temps: &core.objects.temps,
        changes: None,
        cancel: &core.shared.cancel,
        counters: core.host().optimizer(),
        unresolved: None,
    }
}
