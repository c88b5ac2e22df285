//! Views, procedures, triggers, CHECK and FOREIGN KEY constraints of a database: sys.views, procedures, parameters, triggers,
//! trigger_events, sql_modules, check_constraints, foreign_keys, foreign_key_columns.

use std::sync::Arc;

use types::{DataType, Len, SqlError, Value};

use super::objects::{Kind, is_made_up, object, object_columns};
use super::{NVARCHAR60, SYSNAME, View, ViewColumn, bit, text};
use crate::batch::module::params_of;
use crate::output::ColumnInfo;
use crate::state::SessionCore;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, TableDef, fold_name};
use syntax::ast::ReferentialAction;

use DataType::{Bit, Char, DateTime, Int, NVarChar, SmallInt, TinyInt};

pub(super) const CHECK: Kind = ("C ", "CHECK_CONSTRAINT");
pub(super) const FOREIGN_KEY: Kind = ("F ", "FOREIGN_KEY_CONSTRAINT");

fn kind_of(kind: ModuleKind) -> Kind {
    (kind.code(), kind.description())
}

/// Modules of a kind in order of name.
fn modules(catalog: &Catalog, kind: ModuleKind) -> Vec<Arc<ModuleDef>> {
    let mut list: Vec<_> = catalog.modules.values().filter(|m| m.kind == kind).cloned().collect();
    list.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    list
}

fn module_object(catalog: &Catalog, module: &ModuleDef) -> Vec<Value> {
    let schema_id = catalog.schemas.get(&fold_name(&module.schema)).copied().unwrap_or(1);
    let (id, kind) = (module.object_id, kind_of(module.kind));
    let mut row = object(&module.name, id, schema_id, module.parent, kind, &module.create_date, false);
    // modify_date.
    row[8] = module.modify_date.clone();
    row
}

/// Rows of sys.objects for everything that is no table.
pub(super) fn module_objects(catalog: &Catalog, rows: &mut Vec<Vec<Value>>) {
    for kind in [ModuleKind::View, ModuleKind::Procedure, ModuleKind::Trigger] {
        rows.extend(modules(catalog, kind).iter().map(|module| module_object(catalog, module)));
    }
}

const VIEW_COLUMNS: &[ViewColumn] = object_columns!(
    ("is_replicated", Bit, true),
    ("has_replication_filter", Bit, true),
    ("has_opaque_metadata", Bit, false),
    ("has_unchecked_assembly_data", Bit, false),
    ("with_check_option", Bit, false),
    ("is_date_correlation_view", Bit, false)
);

/// sys.views.
pub static VIEWS: View = View::sys("views", VIEW_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let row = |module: &Arc<ModuleDef>| {
        let mut row = module_object(&catalog, module);
        row.resize(VIEW_COLUMNS.len(), bit(false));
        row
    };
    Ok(modules(&catalog, ModuleKind::View).iter().map(row).collect())
});

const PROCEDURE_COLUMNS: &[ViewColumn] = object_columns!(
    ("is_auto_executed", Bit, false),
    ("is_execution_replicated", Bit, true),
    ("is_repl_serializable_only", Bit, true),
    ("skips_repl_constraints", Bit, true)
);

/// sys.procedures.
pub static PROCEDURES: View = View::sys("procedures", PROCEDURE_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let row = |module: &Arc<ModuleDef>| {
        let mut row = module_object(&catalog, module);
        row.resize(PROCEDURE_COLUMNS.len(), bit(false));
        row
    };
    Ok(modules(&catalog, ModuleKind::Procedure).iter().map(row).collect())
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
    ("is_readonly", Bit, false),
    ("is_nullable", Bit, true),
];

/// sys.parameters.
pub static PARAMETERS: View = View::sys("parameters", PARAMETER_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    let catalog = db.catalog();
    for module in modules(&catalog, ModuleKind::Procedure) {
        for (i, param) in params_of(&module, &catalog)?.iter().enumerate() {
            let ty = param.ty;
            rows.push(vec![
                Value::Int(module.object_id),
                text(&param.name),
                Value::Int(i as i32 + 1),
                Value::TinyInt(ty.system_type_id()),
                Value::Int(ty.user_type_id()),
                Value::SmallInt(ty.max_length()),
                Value::TinyInt(ty.precision()),
                Value::TinyInt(ty.scale()),
                bit(param.output),
                bit(false),
                // As SQL Server: only CLR parameters say so.
                bit(false),
                bit(false),
                bit(false),
                bit(true),
            ]);
        }
    }
    Ok(rows)
});

const TRIGGER_COLUMNS: &[ViewColumn] = &[
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

/// sys.triggers.
pub static TRIGGERS: View = View::sys("triggers", TRIGGER_COLUMNS, |_, db, _| {
    let row = |module: &Arc<ModuleDef>| {
        vec![
            text(&module.name),
            Value::Int(module.object_id),
            Value::TinyInt(1),
            text("OBJECT_OR_COLUMN"),
            Value::Int(module.parent),
            text(module.kind.code()),
            text(module.kind.description()),
            module.create_date.clone(),
            module.modify_date.clone(),
            bit(false),
            bit(module.disabled),
            bit(false),
            bit(module.trigger().is_some_and(|t| t.instead_of)),
        ]
    };
    Ok(modules(&db.catalog(), ModuleKind::Trigger).iter().map(row).collect())
});

const EVENT_COLUMNS: &[ViewColumn] = &[
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
pub static TRIGGER_EVENTS: View = View::sys("trigger_events", EVENT_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    for module in modules(&db.catalog(), ModuleKind::Trigger) {
        for (number, event) in [(1, "INSERT"), (2, "UPDATE"), (3, "DELETE")] {
            if module.trigger().is_some_and(|t| t.events.iter().any(|e| e == event)) {
                rows.push(vec![
                    Value::Int(module.object_id),
                    Value::Int(number),
                    text(event),
                    bit(false),
                    bit(false),
                    Value::Null,
                    Value::Null,
                    bit(true),
                ]);
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

/// sys.sql_modules.
pub static SQL_MODULES: View = View::sys("sql_modules", MODULE_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let mut list: Vec<_> = catalog.modules.values().collect();
    list.sort_by_key(|module| module.object_id);
    let recompiled = |module: &ModuleDef| {
        module.procedure().is_some_and(|p| p.options.iter().any(|option| option.name == "RECOMPILE"))
    };
    let row = |module: &&Arc<ModuleDef>| {
        vec![
            Value::Int(module.object_id),
            text(&module.text),
            bit(module.settings.ansi_nulls),
            bit(module.settings.quoted_identifier),
            bit(false),
            bit(false),
            bit(recompiled(module)),
            bit(false),
            Value::Null,
            bit(false),
            bit(false),
            bit(false),
        ]
    };
    Ok(list.iter().map(row).collect())
});

/// Calls `f` for each table with the id of its schema.
fn tables(db: &Db, mut f: impl FnMut(&Catalog, &TableDef, i32)) {
    let catalog = db.catalog();
    for table in catalog.sorted() {
        f(&catalog, table, catalog.schema_id(table));
    }
}

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
pub static CHECK_CONSTRAINTS: View = View::sys("check_constraints", CHECK_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    tables(db, |_, table, schema_id| {
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
            rows.push(row);
        }
    });
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
pub static FOREIGN_KEYS: View = View::sys("foreign_keys", FOREIGN_KEY_COLUMNS, |_, db, _| {
    const ACTIONS: [&str; 4] = ["NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT"];
    let action = |action: ReferentialAction| [Value::TinyInt(action as u8), text(ACTIONS[action as usize])];
    let mut rows = Vec::new();
    tables(db, |_, table, schema_id| {
        for key in &table.foreign_keys {
            let (id, parent) = (key.object_id, table.object_id);
            let mut row = object(&key.name, id, schema_id, parent, FOREIGN_KEY, &table.create_date, false);
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
            rows.push(row);
        }
    });
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
pub static FOREIGN_KEY_PAIRS: View = View::sys("foreign_key_columns", PAIR_COLUMNS, |_, db, _| {
    let mut rows = Vec::new();
    tables(db, |_, table, _| {
        for key in &table.foreign_keys {
            for (i, (own, other)) in key.columns.iter().enumerate() {
                rows.push(vec![
                    Value::Int(key.object_id),
                    Value::Int(i as i32 + 1),
                    Value::Int(table.object_id),
                    Value::Int(*own),
                    Value::Int(key.parent),
                    Value::Int(*other),
                ]);
            }
        }
    });
    Ok(rows)
});

/// Columns of the views of a database: object_id, and name, type, nullable of each.
pub(super) fn view_columns(
    session: &SessionCore,
    db: &Arc<Db>,
) -> Result<Vec<(i32, Vec<ColumnInfo>)>, SqlError> {
    let views = modules(&db.catalog(), ModuleKind::View);
    let columns = |view: &Arc<ModuleDef>| Some((view.object_id, columns_of_view(session, db, view)?));
    Ok(views.iter().filter_map(columns).collect())
}

/// Columns of a view; `None` for one whose tables have gone.
pub(crate) fn columns_of_view(
    session: &SessionCore,
    db: &Arc<Db>,
    view: &Arc<ModuleDef>,
) -> Option<Vec<ColumnInfo>> {
    let (instance, shared) = (session.instance().clone(), &session.shared);
    let vars = plan::bind::env::VarScope::new();
    let env = plan::bind::env::CompileEnv {
        chain: plan::rights::Chain::Trusted,
        names: &*instance,
        db,
        catalog: db.catalog(),
        vars: &vars,
        parameters: &[],
        options: &session.options,
        temps: &plan::bind::env::NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: instance.optimizer(),
    };
    let (_, columns) = plan::bind::Binder::new(&env).view_query(db, view).ok()?;
    let column = |c: plan::logical::OutColumn| ColumnInfo::new(c.name, c.ty, c.nullable);
    Some(columns.into_iter().map(column).collect())
}
