//! Views, procedures, functions, triggers, CHECK and FOREIGN KEY constraints of a database: sys.views, procedures, parameters, triggers,
//! trigger_events, sql_modules, check_constraints, foreign_keys, foreign_key_columns.

use std::sync::Arc;

use plan::bind::module::checks_changes;
use types::{DataType, Len, Value};

use super::objects::{Kind, is_made_up, object, object_columns};
use super::{NVARCHAR60, Rows, SYSNAME, View, ViewColumn, Wanted, bit, pick, text};
use crate::batch::module::{declared_types, params_of, result_of};
use crate::ddl::events;
use crate::instance::OfInstance;
use crate::sysproc::scripts;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, TableDef, TriggerOrder, fold_name};
use exec::output::ColumnInfo;
use exec::state::SessionCore;
use plan::bind::function::table_columns;
use plan::bind::scope::ScopeColumn;
use plan::bind::type_names::alias_id;
use plan::logical::OutColumn;
use syntax::ast::{FunctionBody, ReferentialAction, TypeName};

use DataType::{Bit, Char, DateTime, Int, NVarChar, SmallInt, SqlVariant, TinyInt};

pub(super) const CHECK: Kind = ("C ", "CHECK_CONSTRAINT");
pub(super) const FOREIGN_KEY: Kind = ("F ", "FOREIGN_KEY_CONSTRAINT");

fn kind_of(kind: ModuleKind) -> Kind {
    (kind.code(), kind.description())
}

fn module_object(catalog: &Catalog, module: &ModuleDef) -> Vec<Value> {
    let schema_id = catalog.schemas.get(&fold_name(&module.schema)).copied().unwrap_or(1);
    let (id, kind) = (module.object_id, kind_of(module.kind));
    let mut row = object(&module.name, id, schema_id, module.parent, kind, &module.create_date, false);
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
            let mut row = object(view.name(), id, schema_id, 0, kind, session.instance().started(), true);
            finish_view(&mut row, false);
            rows.push(wanted.part(row));
        }
    }
    rows
}

/// sys.views.
pub static VIEWS: View = View::seeking("views", VIEW_COLUMNS, &[0, 1], pick::per_module, |_, db, wanted| {
    Ok(user_views(&db.catalog(), wanted))
});

/// sys.all_views: also the system's.
pub static ALL_VIEWS: View =
    View::seeking("all_views", VIEW_COLUMNS, &[0, 1], pick::per_module, |session, db, wanted| {
        let mut rows = user_views(&db.catalog(), wanted);
        rows.extend(system_views(session, wanted));
        Ok(rows)
    });

/// sys.system_views.
pub static SYSTEM_VIEWS: View = View::seeking(
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
        Ok(pick::modules(&catalog, ModuleKind::Procedure, wanted, 1, Some(0)).iter().map(row).collect())
    });

const PARAMETER_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("name", SYSNAME, true),
    ("parameter_id", Int, false),
    ("system_type_id", TinyInt, false),
    ("user_type_id", Int, false),
    ("max_length", SmallInt, false),
    ("precision", TinyInt, false),
    ("scale", TinyInt, false),
    ("is_output", Bit, false),
    ("is_cursor_ref", Bit, false),
    ("has_default_value", Bit, false),
    ("is_xml_document", Bit, false),
    ("default_value", SqlVariant, true),
    ("xml_collection_id", Int, false),
    ("is_readonly", Bit, false),
    ("is_nullable", Bit, true),
    ("encryption_type", Int, true),
    ("encryption_type_desc", NVarChar(Len::N(64)), true),
    ("encryption_algorithm_name", SYSNAME, true),
    ("column_encryption_key_id", Int, true),
    ("column_encryption_key_database_name", SYSNAME, true),
];

/// The modules that have parameters.
pub(super) const WITH_PARAMETERS: [ModuleKind; 4] = [
    ModuleKind::Procedure,
    ModuleKind::ScalarFunction,
    ModuleKind::InlineFunction,
    ModuleKind::TableFunction,
];

/// The parameters of the database's own modules.
fn parameters(db: &Db, wanted: &Wanted<'_>) -> Rows {
    let catalog = db.catalog();
    parameters_of(pick::modules_of(&catalog, &WITH_PARAMETERS, wanted, 0, None), &catalog, wanted)
}

/// Those of the system's procedures whose texts say them.
fn system_parameters(db: &Db, wanted: &Wanted<'_>) -> Rows {
    let mut modules = scripts::all()?;
    modules.retain(|module| wanted.id(0).is_none_or(|id| id == module.object_id));
    parameters_of(modules, &db.catalog(), wanted)
}

fn parameters_of(modules: Vec<Arc<ModuleDef>>, catalog: &Catalog, wanted: &Wanted<'_>) -> Rows {
    let mut rows = Vec::new();
    for module in modules {
        let (params, returns) = declared_types(&module);
        let alias = |name: &TypeName| alias_id(name, catalog);
        let returns = returns.and_then(alias);
        if let Some(result) = result_of(&module, catalog)? {
            let mut row = vec![
                Value::Int(module.object_id),
                text(""),
                Value::Int(0),
                Value::TinyInt(result.system_type_id()),
                Value::Int(returns.unwrap_or_else(|| result.user_type_id())),
                Value::SmallInt(result.max_length()),
                Value::TinyInt(result.precision()),
                Value::TinyInt(result.scale()),
                bit(true),
                bit(false),
                bit(false),
                bit(false),
                Value::Null,
                Value::Int(0),
                bit(false),
                bit(true),
            ];
            row.resize(PARAMETER_COLUMNS.len(), Value::Null);
            rows.push(wanted.part(row));
        }
        for (i, param) in params_of(&module, catalog)?.iter().enumerate() {
            let ty = param.ty;
            let mut row = vec![
                Value::Int(module.object_id),
                text(&param.name),
                Value::Int(i as i32 + 1),
                Value::TinyInt(ty.system_type_id()),
                Value::Int(alias(&params[i].data_type).unwrap_or_else(|| ty.user_type_id())),
                Value::SmallInt(ty.max_length()),
                Value::TinyInt(ty.precision()),
                Value::TinyInt(ty.scale()),
                bit(param.output),
                bit(false),
                // As SQL Server: only CLR parameters say so.
                bit(false),
                bit(false),
                Value::Null,
                Value::Int(0),
                bit(param.table.is_some()),
                bit(true),
            ];
            if let Some(def) = &param.table {
                row[3] = Value::TinyInt(super::types::TABLE);
                row[4] = Value::Int(def.type_id);
                row[5] = Value::SmallInt(-1);
                (row[6], row[7]) = (Value::TinyInt(0), Value::TinyInt(0));
            }
            row.resize(PARAMETER_COLUMNS.len(), Value::Null);
            rows.push(wanted.part(row));
        }
    }
    Ok(rows)
}

/// sys.parameters.
pub static PARAMETERS: View =
    View::seeking("parameters", PARAMETER_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        parameters(db, wanted)
    });

/// sys.system_parameters.
pub static SYSTEM_PARAMETERS: View = View::seeking(
    "system_parameters",
    PARAMETER_COLUMNS,
    &[0],
    |_| 200.0,
    |_, db, wanted| system_parameters(db, wanted),
);

/// sys.all_parameters.
pub static ALL_PARAMETERS: View =
    View::seeking("all_parameters", PARAMETER_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        let mut rows = parameters(db, wanted)?;
        rows.extend(system_parameters(db, wanted)?);
        Ok(rows)
    });

/// Columns of sys.triggers; sys.server_triggers has the first eleven.
pub(super) const TRIGGER_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("object_id", Int, false),
    ("parent_class", TinyInt, false),
    ("parent_class_desc", NVARCHAR60, true),
    ("parent_id", Int, false),
    ("type", Char(2), false),
    ("type_desc", NVARCHAR60, true),
    ("create_date", DateTime, false),
    ("modify_date", DateTime, false),
    ("is_ms_shipped", Bit, false),
    ("is_disabled", Bit, false),
    ("is_not_for_replication", Bit, false),
    ("is_instead_of_trigger", Bit, false),
];

/// What sys.triggers and sys.server_triggers say of a trigger: the first eleven columns.
pub(super) fn trigger_row(module: &Arc<ModuleDef>) -> Vec<Value> {
    let (class, class_name) = match (module.is_server_trigger(), module.is_ddl_trigger()) {
        (true, _) => (100, "SERVER"),
        (false, true) => (0, "DATABASE"),
        (false, false) => (1, "OBJECT_OR_COLUMN"),
    };
    vec![
        text(&module.name),
        Value::Int(module.object_id),
        Value::TinyInt(class),
        text(class_name),
        Value::Int(module.parent),
        text(module.kind.code()),
        text(module.kind.description()),
        module.create_date.clone(),
        module.modify_date.clone(),
        bit(false),
        bit(module.disabled),
    ]
}

/// sys.triggers.
pub static TRIGGERS: View =
    View::seeking("triggers", TRIGGER_COLUMNS, &[0, 1, 4], pick::per_module, |_, db, wanted| {
        let row = |module: &Arc<ModuleDef>| {
            let mut row = trigger_row(module);
            row.extend([bit(false), bit(module.trigger().is_some_and(|t| t.instead_of))]);
            wanted.part(row)
        };
        let mut list = pick::modules(&db.catalog(), ModuleKind::Trigger, wanted, 1, Some(0));
        list.retain(|module| !module.is_server_trigger());
        Ok(list.iter().filter(|m| wanted.id(4).is_none_or(|parent| parent == m.parent)).map(row).collect())
    });

pub(super) const EVENT_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("type", Int, false),
    ("type_desc", NVARCHAR60, true),
    ("is_first", Bit, true),
    ("is_last", Bit, true),
    ("event_group_type", Int, true),
    ("event_group_type_desc", NVARCHAR60, true),
    ("is_trigger_event", Bit, true),
];

/// sys.trigger_events.
pub static TRIGGER_EVENTS: View =
    View::seeking("trigger_events", EVENT_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        let mut rows = Vec::new();
        for module in pick::modules(&db.catalog(), ModuleKind::Trigger, wanted, 0, None) {
            if module.is_server_trigger() {
                continue;
            }
            let words = module.trigger().map_or(&[][..], |trigger| &trigger.events);
            let mut add = |number: i32, event: &str, group: Option<&str>| {
                rows.push(wanted.part(vec![
                    Value::Int(module.object_id),
                    Value::Int(number),
                    text(event),
                    bit(module.order.first & TriggerOrder::bit(event) != 0),
                    bit(module.order.last & TriggerOrder::bit(event) != 0),
                    group.and_then(events::group_number).map_or(Value::Null, Value::Int),
                    group.map_or(Value::Null, text),
                    bit(true),
                ]));
            };
            if module.is_ddl_trigger() {
                for word in words {
                    for (number, event) in events::meant(word, false) {
                        add(number, event, (word != event).then_some(word));
                    }
                }
                continue;
            }
            for (number, event) in [(1, "INSERT"), (2, "UPDATE"), (3, "DELETE")] {
                if words.iter().any(|word| word == event) {
                    add(number, event, None);
                }
            }
        }
        Ok(rows)
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
pub static SQL_MODULES: View =
    View::seeking("sql_modules", MODULE_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        Ok(texts(db, wanted))
    });

/// sys.all_sql_modules: the system's views have no text.
pub static ALL_SQL_MODULES: View =
    View::seeking("all_sql_modules", MODULE_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        Ok(texts(db, wanted))
    });

/// sys.system_sql_modules.
pub static SYSTEM_SQL_MODULES: View = View::empty("system_sql_modules", MODULE_COLUMNS);

const CHECK_COLUMNS: &[ViewColumn] = object_columns!(
    ("is_disabled", Bit, false),
    ("is_not_for_replication", Bit, false),
    ("is_not_trusted", Bit, false),
    ("parent_column_id", Int, false),
    ("definition", NVarChar(Len::Max), true),
    ("uses_database_collation", Bit, true),
    ("is_system_named", Bit, false)
);

/// sys.check_constraints.
pub static CHECK_CONSTRAINTS: View =
    View::seeking("check_constraints", CHECK_COLUMNS, &[1, 4], pick::per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::parents(&catalog, wanted, 1, 4) {
            let schema_id = catalog.schema_id(table);
            for check in &table.checks {
                let (id, parent) = (check.object_id, table.object_id);
                let mut row = object(&check.name, id, schema_id, parent, CHECK, &table.create_date, false);
                row.extend([
                    bit(check.disabled),
                    bit(false),
                    bit(check.untrusted),
                    Value::Int(check.column.unwrap_or(0)),
                    text(&check.text),
                    bit(true),
                    bit(is_made_up(&check.name, "CK__")),
                ]);
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    });

const FOREIGN_KEY_COLUMNS: &[ViewColumn] = object_columns!(
    ("referenced_object_id", Int, true),
    ("key_index_id", Int, true),
    ("is_disabled", Bit, false),
    ("is_not_for_replication", Bit, false),
    ("is_not_trusted", Bit, false),
    ("delete_referential_action", TinyInt, true),
    ("delete_referential_action_desc", NVARCHAR60, true),
    ("update_referential_action", TinyInt, true),
    ("update_referential_action_desc", NVARCHAR60, true),
    ("is_system_named", Bit, false)
);

/// sys.foreign_keys.
pub static FOREIGN_KEYS: View =
    View::seeking("foreign_keys", FOREIGN_KEY_COLUMNS, &[1, 4, 12], pick::per_table, |_, db, wanted| {
        const ACTIONS: [&str; 4] = ["NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT"];
        let action =
            |action: ReferentialAction| [Value::TinyInt(action as u8), text(ACTIONS[action as usize])];
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in referring(&catalog, wanted, (1, 4, 12)) {
            let schema_id = catalog.schema_id(table);
            for key in &table.foreign_keys {
                let (id, parent) = (key.object_id, table.object_id);
                let mut row =
                    object(&key.name, id, schema_id, parent, FOREIGN_KEY, &table.create_date, false);
                row.extend([
                    Value::Int(key.parent),
                    Value::Int(key.key),
                    bit(key.disabled),
                    bit(false),
                    bit(key.untrusted),
                ]);
                row.extend(action(key.on_delete));
                row.extend(action(key.on_update));
                row.push(bit(is_made_up(&key.name, "FK__")));
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    });

const PAIR_COLUMNS: &[ViewColumn] = &[
    ("constraint_object_id", Int, false),
    ("constraint_column_id", Int, false),
    ("parent_object_id", Int, false),
    ("parent_column_id", Int, false),
    ("referenced_object_id", Int, false),
    ("referenced_column_id", Int, false),
];

/// sys.foreign_key_columns.
pub static FOREIGN_KEY_PAIRS: View =
    View::seeking("foreign_key_columns", PAIR_COLUMNS, &[0, 2, 4], pick::per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in referring(&catalog, wanted, (0, 2, 4)) {
            for key in &table.foreign_keys {
                for (i, (own, other)) in key.columns.iter().enumerate() {
                    rows.push(wanted.part(vec![
                        Value::Int(key.object_id),
                        Value::Int(i as i32 + 1),
                        Value::Int(table.object_id),
                        Value::Int(*own),
                        Value::Int(key.parent),
                        Value::Int(*other),
                    ]));
                }
            }
        }
        Ok(rows)
    });

/// The tables whose foreign keys are wanted: by the key's own id, its table's, or the id of the table that it refers to.
fn referring<'c>(
    catalog: &'c Catalog,
    wanted: &Wanted<'_>,
    (own, parent, referred): (usize, usize, usize),
) -> Vec<&'c Arc<TableDef>> {
    match (wanted.id(own), wanted.id(parent), wanted.id(referred)) {
        (None, None, Some(id)) => {
            let mut ids = catalog.referenced_by.get(&id).cloned().unwrap_or_default();
            ids.sort_unstable();
            ids.dedup();
            ids.iter().filter_map(|id| catalog.by_id.get(id)).collect()
        }
        _ => pick::parents(catalog, wanted, own, parent),
    }
}

/// Columns of a view or table function; `None` for one whose tables have gone.
pub(crate) fn columns_of_view(
    session: &SessionCore,
    db: &Arc<Db>,
    view: &Arc<ModuleDef>,
) -> Option<Vec<ColumnInfo>> {
    let (host, shared) = (session.host().clone(), &session.shared);
    let vars = plan::bind::env::VarScope::new();
    let env = plan::bind::env::CompileEnv {
        predicate_of: None,
        chain: plan::rights::Chain::Trusted,
        names: &*host,
        db,
        catalog: db.catalog(),
        vars: &vars,
        values: &[],
        options: &session.options,
        temps: &plan::bind::env::NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: host.optimizer(),
    };
    let mut binder = plan::bind::Binder::new(&env);
    let columns: Vec<ScopeColumn> = match view.function().map(|function| &function.body) {
        None => binder.view_query(db, view).ok()?.1.iter().map(OutColumn::scope_column).collect(),
        Some(FunctionBody::Inline(_)) => binder.inline_columns(db, view).ok()?,
        Some(FunctionBody::Table { elements, .. }) => table_columns(db, elements, 0).ok()?,
        Some(FunctionBody::Scalar { .. }) => return None,
    };
    Some(columns.into_iter().map(|c| ColumnInfo::new(c.name, c.ty, c.nullable)).collect())
}
