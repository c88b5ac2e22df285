//! Views, procedures and functions of a database: sys.views, procedures, sql_modules; and the
//! columns that a view has.

use std::sync::Arc;

use bind::module::checks_changes;
use types::{DataType, Len, Value};

use super::objects::{Kind, object, object_columns};
use super::{NVARCHAR60, View, ViewColumn, Wanted, bit, pick, text};
use bind::function::table_columns;
use bind::source::ScopeColumn;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, fold_name};
use instance::OfInstance;
use session::output::ColumnInfo;
use session::state::SessionCore;
use syntax::ast::FunctionBody;

use DataType::{Bit, Int, NVarChar, TinyInt};

pub(super) const CHECK: Kind = ("C ", "CHECK_CONSTRAINT");
pub(super) const FOREIGN_KEY: Kind = ("F ", "FOREIGN_KEY_CONSTRAINT");

fn kind_of(kind: ModuleKind) -> Kind {
    (kind.code(), kind.description())
}

fn module_object(catalog: &Catalog, module: &ModuleDef) -> Vec<Value> {
    let schema_id = catalog.schemas.get(&fold_name(&module.schema)).copied().unwrap_or(1);
    let (id, kind) = (module.object_id, kind_of(module.kind));
    let created = &module.create_date;
    let mut row =
        object(&module.name, id, schema_id, module.parent, kind, created, module.marked_system);
    // modify_date.
    row[8] = module.modify_date.clone();
    row
}

/// Rows of sys.objects for everything that is no table, as far as it is wanted.
pub(super) fn module_objects(catalog: &Catalog, wanted: &Wanted<'_>, rows: &mut Vec<Vec<Value>>) {
    let list = pick::modules_of(catalog, &ModuleKind::ALL, wanted, 1, Some(0));
    let wanted_parent = |m: &&Arc<ModuleDef>| wanted.id(4).is_none_or(|parent| parent == m.parent);
    // A trigger of the database is no object of a schema.
    let list = list.iter().filter(|module| !module.is_ddl_trigger());
    rows.extend(list.filter(wanted_parent).map(|module| module_object(catalog, module)));
}

const VIEW_COLUMNS: &[ViewColumn] = object_columns!(
    ("is_replicated", Bit, true),
    ("has_replication_filter", Bit, true),
    ("has_opaque_metadata", Bit, false),
    ("has_unchecked_assembly_data", Bit, false),
    ("with_check_option", Bit, false),
    ("is_date_correlation_view", Bit, false),
    ("is_tracked_by_cdc", Bit, true),
    ("has_snapshot", Bit, true),
    ("ledger_view_type", TinyInt, true),
    ("ledger_view_type_desc", NVARCHAR60, true),
    ("is_dropped_ledger_view", Bit, true)
);

/// The rest of a row of sys.views.
fn finish_view(row: &mut Vec<Value>, check_option: bool) {
    row.resize(row.len() + 4, bit(false));
    row.push(bit(check_option));
    row.resize(row.len() + 3, bit(false));
    row.extend([Value::TinyInt(0), text("NON_LEDGER_VIEW"), bit(false)]);
}

fn user_views(catalog: &Catalog, wanted: &Wanted<'_>) -> Vec<Vec<Value>> {
    let row = |module: &Arc<ModuleDef>| {
        let mut row = module_object(catalog, module);
        finish_view(&mut row, checks_changes(module));
        wanted.part(row)
    };
    pick::modules(catalog, ModuleKind::View, wanted, 1, Some(0)).iter().map(row).collect()
}

fn system_views(session: &SessionCore, wanted: &Wanted<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for view in super::all().filter(|view| view.arguments().is_none()) {
        let id = view.object_id();
        if wanted.id(1).is_none_or(|wanted| wanted == id) && wanted.may_be(0, view.name()) {
            let schema_id = if view.schema() == "sys" { 4 } else { 3 };
            let kind = kind_of(ModuleKind::View);
            let mut row =
                object(view.name(), id, schema_id, 0, kind, session.instance().started(), true);
            finish_view(&mut row, false);
            rows.push(wanted.part(row));
        }
    }
    rows
}

/// sys.views.
pub static VIEWS: View =
    View::seeking("views", VIEW_COLUMNS, &[0, 1], pick::per_module, |_, db, wanted| {
        Ok(user_views(&db.catalog(), wanted))
    });

/// sys.all_views: also the system's.
pub(crate) static ALL_VIEWS: View =
    View::seeking("all_views", VIEW_COLUMNS, &[0, 1], pick::per_module, |session, db, wanted| {
        let mut rows = user_views(&db.catalog(), wanted);
        rows.extend(system_views(session, wanted));
        Ok(rows)
    });

/// sys.system_views.
pub(crate) static SYSTEM_VIEWS: View = View::seeking(
    "system_views",
    VIEW_COLUMNS,
    &[0, 1],
    |_| 200.0,
    |session, _, wanted| Ok(system_views(session, wanted)),
);

const PROCEDURE_COLUMNS: &[ViewColumn] = object_columns!(
    ("is_auto_executed", Bit, false),
    ("is_execution_replicated", Bit, true),
    ("is_repl_serializable_only", Bit, true),
    ("skips_repl_constraints", Bit, true)
);

/// sys.procedures.
pub static PROCEDURES: View =
    View::seeking("procedures", PROCEDURE_COLUMNS, &[0, 1], pick::per_module, |_, db, wanted| {
        let catalog = db.catalog();
        let row = |module: &Arc<ModuleDef>| {
            let mut row = module_object(&catalog, module);
            row.push(bit(module.startup));
            row.resize(PROCEDURE_COLUMNS.len(), bit(false));
            wanted.part(row)
        };
        Ok(pick::modules(&catalog, ModuleKind::Procedure, wanted, 1, Some(0))
            .iter()
            .map(row)
            .collect())
    });

const MODULE_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("definition", NVarChar(Len::Max), true),
    ("uses_ansi_nulls", Bit, true),
    ("uses_quoted_identifier", Bit, true),
    ("is_schema_bound", Bit, true),
    ("uses_database_collation", Bit, true),
    ("is_recompiled", Bit, true),
    ("null_on_null_input", Bit, true),
    ("execute_as_principal_id", Int, true),
    ("uses_native_compilation", Bit, true),
    ("inline_type", Bit, true),
    ("is_inlineable", Bit, true),
];

fn texts(db: &Db, wanted: &Wanted<'_>) -> Vec<Vec<Value>> {
    let catalog = db.catalog();
    let mut list: Vec<_> = match wanted.id(0) {
        Some(id) => catalog.modules.get(&id).into_iter().collect(),
        None => catalog.modules.values().collect(),
    };
    list.retain(|module| !module.is_server_trigger());
    list.sort_by_key(|module| module.object_id);
    let recompiled = |module: &ModuleDef| module.has_option("RECOMPILE");
    let row = |module: &&Arc<ModuleDef>| {
        wanted.row(|at| match at {
            0 => Value::Int(module.object_id),
            1 => text(&module.text),
            2 => bit(module.settings.ansi_nulls),
            3 => bit(module.settings.quoted_identifier),
            4 => bit(module.has_option("SCHEMABINDING")),
            6 => bit(recompiled(module)),
            7 => bit(module.is_strict()),
            8 => module.run_as.map_or(Value::Null, Value::Int),
            10 | 11 => bit(module.kind == ModuleKind::ScalarFunction && !module.is_never_inline()),
            _ => bit(false),
        })
    };
    list.iter().map(row).collect()
}

/// sys.sql_modules.
pub(crate) static SQL_MODULES: View =
    View::seeking("sql_modules", MODULE_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        Ok(texts(db, wanted))
    });

/// sys.all_sql_modules: the system's views have no text.
pub(crate) static ALL_SQL_MODULES: View =
    View::seeking("all_sql_modules", MODULE_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        Ok(texts(db, wanted))
    });

/// sys.system_sql_modules.
pub(crate) static SYSTEM_SQL_MODULES: View = View::empty("system_sql_modules", MODULE_COLUMNS);

/// Columns of a view or table function; `None` for one whose tables have gone.
pub fn columns_of_view(
    session: &SessionCore,
    db: &Arc<Db>,
    view: &Arc<ModuleDef>,
) -> Option<Vec<ColumnInfo>> {
    let (host, shared) = (session.host().clone(), &session.shared);
    let vars = bind::env::VarScope::new();
    let env = bind::env::CompileEnv {
        predicate_of: None,
        schema: None,
        chain: logical::rights::Chain::Trusted,
        names: &*host,
        db,
        catalog: db.catalog(),
        vars: &vars,
        values: &[],
        options: &session.options,
        temps: &bind::env::NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: host.optimizer(),
        unresolved: None,
    };
    let mut binder = bind::Binder::new(&env);
    let columns: Vec<ScopeColumn> = match view.function().map(|function| &function.body) {
        None => binder.view_query(db, view).ok()?.1.iter().map(ScopeColumn::of_query).collect(),
        Some(FunctionBody::Inline(_)) => binder.inline_columns(db, view).ok()?,
        Some(FunctionBody::Table { elements, .. }) => table_columns(db, elements, 0).ok()?,
        Some(FunctionBody::Scalar { .. }) => return None,
    };
    Some(columns.into_iter().map(|c| ColumnInfo::new(c.name, c.ty, c.nullable)).collect())
}
