//! New storage for a table's rows: heap to clustered index and back, columns dropped or retyped.
//! The rows go through an ordinary INSERT ... SELECT between two definitions that only this
//! statement sees. Guarantee: the table is locked with SCH-M and its old storage is whole until the
//! transaction commits.

use std::fmt::Write as _;
use std::sync::Arc;

use syntax::ast::StmtKind;
use types::{DataType, SqlError, msg};

use super::shape::check_change;
use super::work::Work;
use bind::env::{CompileEnv, NO_TEMPS, VarScope};
use bind::set_options::SessionOptions;
use catalog::load::layout_of;
use catalog::names::quote;
use catalog::temporal::Temporal;
use catalog::{Catalog, ColumnDef, ModuleKind, TableDef, TableState};
use dml::compile_dml;
use exec::operators::context::ExecCtx;
use logical::isolation::Isolation;

const OLD: &str = "rows before";
const NEW: &str = "rows after";

/// New storage for all rows in the layout of `next`; `computed` is the column that is not the one
/// of its name, with its value.
///
/// # Errors
/// 1701 and 1702 too large; those of the values.
pub fn rewrite(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    mut next: TableDef,
    computed: Option<(usize, String)>,
) -> Result<Arc<TableDef>, SqlError> {
    next.layout = layout_of(&next.columns);
    // Before rows of it are made.
    check_change(table, &next)?;
    next.storage = Arc::new(work.renewed(&next.storage)?);
    let mut indexes = Vec::with_capacity(next.indexes.len());
    for index in &next.indexes {
        indexes.push(Arc::new(work.renewed(index)?));
    }
    next.indexes = indexes;
    work.renew_outside(&mut next)?;
    let source = |(i, c): (usize, &ColumnDef)| match &computed {
        Some((at, value)) if *at == i => value.clone(),
        // No row has its value.
        _ if c.is_virtual() => "NULL".to_string(),
        _ => quote(&c.name),
    };
    let sources: Vec<String> = next.columns.iter().enumerate().map(source).collect();
    copy_rows(work, table, &next, &sources)?;
    work.replace(table, next)
}

/// Copies all rows of `from` into the empty storage of `to`. `sources` gives, for each column of
/// `to`, the expression over the columns of `from`; rows go in in the order of the new clustered
/// key. Returns how many.
pub fn copy_rows(
    work: &mut Work<'_>,
    from: &Arc<TableDef>,
    to: &TableDef,
    sources: &[String],
) -> Result<u64, SqlError> {
    let before = Arc::new(private(from, OLD));
    let after = Arc::new(private(to, NEW));
    let mut catalog = Catalog { version: u64::MAX, ..Catalog::default() };
    catalog.schemas.insert_mut("dbo".into(), 1);
    catalog.schema_names.insert_mut(1, "dbo".into());
    if to.columns.iter().any(|column| column.computed.is_some()) {
        add_functions(&mut catalog, &work.db.catalog());
    }
    // Both have the object_id of the table: the map by id is not used to compile.
    catalog.insert(before.clone());
    catalog.insert(after.clone());
    let mut text = format!("INSERT INTO {} (", quote(NEW));
    for (i, column) in to.columns.iter().enumerate() {
        let _ = write!(text, "{}{}", if i == 0 { "" } else { ", " }, quote(&column.name));
    }
    let _ = write!(text, ") SELECT {} FROM {}", sources.join(", "), quote(OLD));
    for (i, (at, descending)) in to.storage.key.iter().enumerate() {
        let lead = if i == 0 { " ORDER BY " } else { ", " };
        let order = if *descending { " DESC" } else { "" };
        let _ = write!(text, "{lead}{}{order}", at + 1);
    }
    let rows = run(work, &text, catalog, vec![before, after]);
    rows.map_err(|mut e| {
        // The private name means nothing to the user.
        e.message = e.message.replace(&format!("dbo.{NEW}"), &to.full_name());
        duplicate_key(e, to)
    })
}

/// Computed columns may call functions of the database.
fn add_functions(to: &mut Catalog, from: &Catalog) {
    (to.schemas, to.schema_names) = (from.schemas.clone(), from.schema_names.clone());
    for function in from.modules.values().filter(|module| module.kind.is_function()) {
        to.insert_module(function.clone());
    }
}

/// Runs a DML text against the current catalog: for statements that are partly DML.
pub fn run_dml(work: &mut Work<'_>, text: &str) -> Result<u64, SqlError> {
    let mut catalog = Catalog::clone(&work.db.catalog());
    // It is a part of the statement, not a change that a trigger should see.
    let triggers = catalog.modules.values().filter(|module| module.kind == ModuleKind::Trigger);
    for id in triggers.map(|module| module.object_id).collect::<Vec<_>>() {
        catalog.modules.remove_mut(&id);
    }
    // Nor one that a history should keep.
    let timed = |table: &&Arc<TableDef>| table.period().is_some();
    let plain = |table: &Arc<TableDef>| {
        let mut plain = TableDef { temporal: Temporal::None, ..TableDef::clone(table) };
        plain.columns.iter_mut().for_each(|column| column.generated = None);
        Arc::new(plain)
    };
    let private: Vec<Arc<TableDef>> = catalog.by_id.values().filter(timed).map(plain).collect();
    private.iter().for_each(|table| catalog.insert(table.clone()));
    run(work, text, catalog, private)
}

fn run(
    work: &mut Work<'_>,
    text: &str,
    catalog: Catalog,
    private: Vec<Arc<TableDef>>,
) -> Result<u64, SqlError> {
    let stmts = syntax::parse(text).map_err(catalog::errors::syntax_error)?;
    let Some(stmt) = stmts.first().filter(|s| {
        matches!(s.kind, StmtKind::Insert(_) | StmtKind::Update(_) | StmtKind::Delete(_))
    }) else {
        return Err(SqlError::internal("a rebuild is not DML"));
    };
    let vars = VarScope::new();
    let host = work.core.host().clone();
    let db = work.db.clone();
    // The table is locked as a whole: no level would add anything.
    let options =
        SessionOptions { isolation: Isolation::ReadCommitted, ..work.core.options.clone() };
    let shared = work.core.shared.clone();
    let env = CompileEnv {
        predicate_of: None,
        schema: None,
        chain: logical::rights::Chain::Trusted,
        names: &*host,
        db: &db,
        catalog: Arc::new(catalog),
        vars: &vars,
        values: &[],
        options: &options,
        temps: &NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: host.optimizer(),
        unresolved: None,
    };
    let plan = compile_dml(stmt, &env)?;
    let kept = std::mem::replace(&mut work.core.run.private_tables, private);
    let (rowcount, identity) = (work.core.options.rowcount, work.core.run.results.last_identity);
    work.core.options.rowcount = 0;
    let mut ignored: Vec<Vec<types::Value>> = Vec::new();
    let result = plan.run(&mut ExecCtx { session: work.core, vars: &mut [] }, &mut ignored, None);
    work.core.options.rowcount = rowcount;
    work.core.run.results.last_identity = identity;
    work.core.run.private_tables = kept;
    result
}

/// The definition under another name, without what an INSERT would add: identity values, row
/// versions and counted rows.
fn private(table: &TableDef, name: &str) -> TableDef {
    let mut copy = table.clone();
    copy.schema = "dbo".into();
    copy.name = name.into();
    for column in &mut copy.columns {
        column.identity = None;
        if column.ty == DataType::RowVersion {
            column.ty = DataType::Binary(8);
        }
        // The values are those that are given, and none of what no row has.
        column.nullable |= column.is_virtual();
        column.computed = None;
        column.generated = None;
    }
    if copy.storage.options.disabled {
        let options = catalog::IndexOptions { disabled: false, ..copy.storage.options };
        copy.storage =
            Arc::new(catalog::IndexDef { options, ..catalog::IndexDef::clone(&copy.storage) });
    }
    copy.temporal = Temporal::None;
    copy.of_view = None;
    copy.checks.clear();
    copy.foreign_keys.clear();
    copy.state = Arc::new(TableState::default());
    copy
}

/// A violated key while an index is built is 1505, with the key that the original error names.
pub fn duplicate_key(e: SqlError, table: &TableDef) -> SqlError {
    if !matches!(e.number, 2601 | 2627) {
        return e;
    }
    let index = table.all_indexes().find(|i| e.message.contains(&format!("'{}'", i.name)));
    let name = index.map_or("", |i| i.name.as_str());
    let key = e.message.rfind('(').map_or("", |at| e.message[at..].trim_end_matches('.'));
    let mut error =
        SqlError::of(msg::DUPLICATE_KEY_IN_NEW_INDEX, [&table.full_name(), &name, &key]);
    error.line = e.line;
    error
}
