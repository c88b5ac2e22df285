//! What system views show to whom. docs/internals/security.md has the same as a table.
//! Guarantee: a view that is not here is the sysadmin's (a test finds it).

use std::sync::Arc;

use catalog::security::{Class, Permission, Securable};
use catalog::{Db, ModuleKind, fold_name};
use plan::rights::ViewRight;
use types::Value;

use super::ViewColumn;
use super::shown::Rows;
use exec::state::SessionCore;

const STATE: ViewRight = ViewRight::Server(Permission::ViewServerState);
const DATABASE_STATE: ViewRight = ViewRight::Database(Permission::ViewDatabaseState);
const PUBLIC: ViewRight = ViewRight::Public;
const DEFINITIONS: ViewRight = ViewRight::Database(Permission::ViewDefinition);

/// View, what it needs, what it shows.
const TABLE: &[(&str, ViewRight, Rows)] = &[
    ("sys.generate_series", PUBLIC, Rows::All),
    ("sys.openjson", PUBLIC, Rows::All),
    ("sys.xml nodes()", PUBLIC, Rows::All),
    ("sys.openxml nodes()", PUBLIC, Rows::All),
    ("sys.time_zone_info", PUBLIC, Rows::All),
    ("sys.sensitivity_classifications", PUBLIC, Rows::Objects("major_id")),
    ("sys.database_scoped_configurations", PUBLIC, Rows::All),
    ("sys.fn_builtin_permissions", PUBLIC, Rows::All),
    ("sys.fn_my_permissions", PUBLIC, Rows::All),
    ("sys.string_split", PUBLIC, Rows::All),
    ("sys.databases", PUBLIC, Rows::Databases("database_id")),
    ("sys.sysdatabases", PUBLIC, Rows::Databases("dbid")),
    ("sys.database_files", PUBLIC, Rows::All),
    ("sys.master_files", ViewRight::Server(Permission::ViewAnyDefinition), Rows::All),
    ("sys.filegroups", PUBLIC, Rows::All),
    ("sys.data_spaces", PUBLIC, Rows::All),
    ("sys.types", PUBLIC, Rows::All),
    ("sys.schemas", PUBLIC, Rows::All),
    ("sys.configurations", PUBLIC, Rows::All),
    ("sys.endpoints", PUBLIC, Rows::All),
    ("sys.credentials", ViewRight::Server(Permission::AlterAnyCredential), Rows::All),
    ("sys.objects", PUBLIC, Rows::Objects("object_id")),
    ("sys.all_objects", PUBLIC, Rows::Objects("object_id")),
    ("sys.tables", PUBLIC, Rows::Objects("object_id")),
    ("sys.views", PUBLIC, Rows::Objects("object_id")),
    ("sys.procedures", PUBLIC, Rows::Objects("object_id")),
    ("sys.parameters", PUBLIC, Rows::Objects("object_id")),
    ("sys.triggers", PUBLIC, Rows::Objects("parent_id")),
    ("sys.trigger_events", PUBLIC, Rows::Objects("object_id")),
    ("sys.sql_modules", PUBLIC, Rows::Definitions("object_id")),
    ("sys.columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.all_columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.identity_columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.indexes", PUBLIC, Rows::Objects("object_id")),
    ("sys.index_columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.key_constraints", PUBLIC, Rows::Objects("parent_object_id")),
    ("sys.default_constraints", PUBLIC, Rows::Objects("parent_object_id")),
    ("sys.check_constraints", PUBLIC, Rows::Objects("parent_object_id")),
    ("sys.foreign_keys", PUBLIC, Rows::Objects("parent_object_id")),
    ("sys.foreign_key_columns", PUBLIC, Rows::Objects("parent_object_id")),
    ("sys.stats", PUBLIC, Rows::Objects("object_id")),
    ("sys.stats_columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.partitions", PUBLIC, Rows::Objects("object_id")),
    ("sys.allocation_units", DATABASE_STATE, Rows::All),
    ("sys.sysobjects", PUBLIC, Rows::Objects("id")),
    ("INFORMATION_SCHEMA.CHECK_CONSTRAINTS", DEFINITIONS, Rows::All),
    ("INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS", DEFINITIONS, Rows::All),
    ("INFORMATION_SCHEMA.ROUTINES", DEFINITIONS, Rows::All),
    ("INFORMATION_SCHEMA.VIEWS", DEFINITIONS, Rows::All),
    ("INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.PARAMETERS", PUBLIC, Rows::Named("SPECIFIC_SCHEMA", "SPECIFIC_NAME")),
    ("INFORMATION_SCHEMA.DOMAINS", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.SEQUENCES", PUBLIC, Rows::Named("SEQUENCE_SCHEMA", "SEQUENCE_NAME")),
    ("sys.all_parameters", PUBLIC, Rows::Objects("object_id")),
    ("sys.system_parameters", PUBLIC, Rows::All),
    ("sys.all_views", PUBLIC, Rows::Objects("object_id")),
    ("sys.all_sql_modules", PUBLIC, Rows::Definitions("object_id")),
    ("sys.dm_db_partition_stats", DATABASE_STATE, Rows::All),
    ("sys.servers", PUBLIC, Rows::All),
    // Of the system itself, or of what this server does not have.
    ("sys.assemblies", PUBLIC, Rows::All),
    ("sys.assembly_types", PUBLIC, Rows::All),
    ("sys.computed_columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.masked_columns", PUBLIC, Rows::Objects("object_id")),
    ("sys.extended_properties", PUBLIC, Rows::All),
    ("sys.fn_listextendedproperty", PUBLIC, Rows::All),
    ("sys.fn_helpcollations", PUBLIC, Rows::All),
    ("sys.fulltext_catalogs", PUBLIC, Rows::All),
    ("sys.fulltext_indexes", PUBLIC, Rows::All),
    ("sys.periods", PUBLIC, Rows::Objects("object_id")),
    ("sys.sequences", PUBLIC, Rows::Objects("object_id")),
    ("sys.synonyms", PUBLIC, Rows::Objects("object_id")),
    ("sys.openrowset clob()", ViewRight::Server(Permission::AdministerBulk), Rows::All),
    ("sys.openrowset nclob()", ViewRight::Server(Permission::AdministerBulk), Rows::All),
    ("sys.openrowset blob()", ViewRight::Server(Permission::AdministerBulk), Rows::All),
    ("sys.messages", PUBLIC, Rows::All),
    ("sys.sysmessages", PUBLIC, Rows::All),
    ("sys.dm_ringwood_cursors", PUBLIC, Rows::All),
    ("sys.system_columns", PUBLIC, Rows::All),
    ("sys.system_objects", PUBLIC, Rows::All),
    ("sys.system_sql_modules", PUBLIC, Rows::All),
    ("sys.system_views", PUBLIC, Rows::All),
    ("sys.table_types", PUBLIC, Rows::All),
    ("sys.xml_indexes", PUBLIC, Rows::All),
    ("sys.xml_schema_collections", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.TABLES", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.COLUMNS", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.SCHEMATA", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.TABLE_CONSTRAINTS", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.KEY_COLUMN_USAGE", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("sys.server_principals", PUBLIC, Rows::Logins),
    ("sys.sql_logins", PUBLIC, Rows::Logins),
    ("sys.server_role_members", PUBLIC, Rows::All),
    ("sys.server_permissions", PUBLIC, Rows::LoginGrants),
    ("sys.database_principals", PUBLIC, Rows::Users),
    ("sys.database_role_members", PUBLIC, Rows::All),
    ("sys.database_permissions", PUBLIC, Rows::UserGrants),
    ("sys.dm_exec_sessions", PUBLIC, Rows::Session),
    ("sys.dm_exec_requests", PUBLIC, Rows::Session),
    ("sys.dm_exec_connections", STATE, Rows::All),
    ("sys.dm_exec_cursors", STATE, Rows::All),
    ("sys.dm_exec_sql_text", STATE, Rows::All),
    ("sys.dm_exec_input_buffer", STATE, Rows::All),
    // Of the caller's own doing, and of the database.
    ("sys.dm_exec_describe_first_result_set", PUBLIC, Rows::All),
    ("sys.dm_exec_describe_first_result_set_for_object", PUBLIC, Rows::All),
    ("sys.dm_db_file_space_usage", DATABASE_STATE, Rows::All),
    ("sys.dm_db_index_physical_stats", DATABASE_STATE, Rows::All),
    ("sys.dm_db_database_page_allocations", DATABASE_STATE, Rows::All),
    ("sys.dm_db_page_info", DATABASE_STATE, Rows::All),
    ("sys.dm_db_persisted_sku_features", DATABASE_STATE, Rows::All),
    ("sys.dm_tran_current_transaction", PUBLIC, Rows::All),
    ("sys.database_query_store_options", DATABASE_STATE, Rows::All),
    ("sys.query_store_query_text", DATABASE_STATE, Rows::All),
    ("sys.query_store_query", DATABASE_STATE, Rows::All),
    ("sys.query_store_plan", DATABASE_STATE, Rows::All),
    ("sys.query_store_runtime_stats", DATABASE_STATE, Rows::All),
    ("sys.query_store_runtime_stats_interval", DATABASE_STATE, Rows::All),
    ("sys.query_store_wait_stats", DATABASE_STATE, Rows::All),
    ("sys.query_context_settings", DATABASE_STATE, Rows::All),
    // What texts name is told to whom all definitions are.
    ("sys.sql_expression_dependencies", DEFINITIONS, Rows::All),
    ("sys.sql_dependencies", DEFINITIONS, Rows::All),
    ("sys.sysdepends", DEFINITIONS, Rows::All),
    ("INFORMATION_SCHEMA.VIEW_TABLE_USAGE", DEFINITIONS, Rows::All),
    ("INFORMATION_SCHEMA.VIEW_COLUMN_USAGE", DEFINITIONS, Rows::All),
    ("sys.dm_sql_referenced_entities", DEFINITIONS, Rows::All),
    ("sys.dm_sql_referencing_entities", DEFINITIONS, Rows::All),
    // Queries over views whose rows are for those who may see them, and views without rows.
    ("sys.syscolumns", PUBLIC, Rows::All),
    ("sys.systypes", PUBLIC, Rows::All),
    ("sys.sysindexes", PUBLIC, Rows::All),
    ("sys.syscolumns of tables()", PUBLIC, Rows::Objects("id")),
    ("sys.sysindexes of tables()", PUBLIC, Rows::Objects("id")),
    ("sys.sysindexkeys", PUBLIC, Rows::All),
    ("sys.syscomments", PUBLIC, Rows::All),
    ("sys.sysreferences", PUBLIC, Rows::All),
    ("sys.sysforeignkeys", PUBLIC, Rows::All),
    ("sys.sysconstraints", PUBLIC, Rows::All),
    ("sys.parameter_type_usages", PUBLIC, Rows::All),
    ("sys.column_type_usages", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE", PUBLIC, Rows::All),
    ("sys.events", PUBLIC, Rows::All),
    ("sys.sysusers", PUBLIC, Rows::All),
    ("sys.sysmembers", PUBLIC, Rows::All),
    ("sys.syslogins", PUBLIC, Rows::All),
    ("sys.sysprocesses", PUBLIC, Rows::All),
    ("sys.sysfiles", PUBLIC, Rows::All),
    ("sys.sysaltfiles", ViewRight::Server(Permission::ViewAnyDefinition), Rows::All),
    ("sys.sysfilegroups", PUBLIC, Rows::All),
    ("sys.sysperfinfo", STATE, Rows::All),
    ("sys.sysconfigures", PUBLIC, Rows::All),
    ("sys.syscurconfigs", PUBLIC, Rows::All),
    ("sys.sysdevices", PUBLIC, Rows::All),
    ("sys.syslanguages", PUBLIC, Rows::All),
    ("sys.partition_functions", PUBLIC, Rows::All),
    ("sys.partition_schemes", PUBLIC, Rows::All),
    ("sys.partition_range_values", PUBLIC, Rows::All),
    ("sys.partition_parameters", PUBLIC, Rows::All),
    ("sys.destination_data_spaces", PUBLIC, Rows::All),
    ("sys.column_store_row_groups", PUBLIC, Rows::All),
    ("sys.column_store_segments", PUBLIC, Rows::All),
    ("sys.selective_xml_index_paths", PUBLIC, Rows::All),
    ("sys.internal_tables", PUBLIC, Rows::All),
    ("sys.numbered_procedures", PUBLIC, Rows::All),
    ("sys.numbered_procedure_parameters", PUBLIC, Rows::All),
    ("sys.change_tracking_databases", PUBLIC, Rows::All),
    ("sys.change_tracking_tables", PUBLIC, Rows::All),
    ("sys.server_triggers", ViewRight::Server(Permission::ViewAnyDefinition), Rows::All),
    ("sys.server_trigger_events", ViewRight::Server(Permission::ViewAnyDefinition), Rows::All),
    ("sys.server_sql_modules", ViewRight::Server(Permission::ViewAnyDefinition), Rows::All),
    ("sys.certificates", PUBLIC, Rows::All),
    ("sys.symmetric_keys", PUBLIC, Rows::All),
    ("sys.asymmetric_keys", PUBLIC, Rows::All),
    ("sys.crypt_properties", PUBLIC, Rows::All),
    ("sys.key_encryptions", PUBLIC, Rows::All),
    ("sys.openkeys", PUBLIC, Rows::All),
    ("sys.security_policies", PUBLIC, Rows::Objects("object_id")),
    ("sys.security_predicates", PUBLIC, Rows::Objects("object_id")),
    ("sys.system_components_surface_area_configuration", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.DOMAIN_CONSTRAINTS", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.TABLE_PRIVILEGES", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.COLUMN_PRIVILEGES", PUBLIC, Rows::All),
    ("sys.trigger_event_types", PUBLIC, Rows::All),
    ("sys.securable_classes", PUBLIC, Rows::All),
    ("INFORMATION_SCHEMA.ROUTINE_COLUMNS", PUBLIC, Rows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    // Values of rows are in the steps of a histogram.
    ("sys.dm_db_stats_histogram", ViewRight::Database(Permission::Select), Rows::All),
    ("sys.dm_db_stats_properties", ViewRight::Database(Permission::Select), Rows::All),
    ("sys.dm_db_log_info", DATABASE_STATE, Rows::All),
    ("sys.dm_db_log_stats", DATABASE_STATE, Rows::All),
    ("sys.dm_db_log_space_usage", DATABASE_STATE, Rows::All),
    // Rows of every table are in the log.
    ("sys.fn_dblog", ViewRight::Database(Permission::Control), Rows::All),
];

/// What a view needs; VIEW SERVER STATE for a dynamic management view of the server that is not named.
pub fn needs(schema: &str, name: &str) -> ViewRight {
    match find(schema, name) {
        Some((right, _)) => right,
        None if name.starts_with("dm_") => STATE,
        None => ViewRight::Server(Permission::ControlServer),
    }
}

fn find(schema: &str, name: &str) -> Option<(ViewRight, Rows)> {
    let known = TABLE.iter().find(|(known, _, _)| known.split_once('.') == Some((schema, name)));
    if let Some((_, right, rows)) = known {
        return Some((*right, *rows));
    }
    let mut kinds = crate::objects::views();
    let found = kinds.find(|(view, _, _)| view.schema() == schema && view.name() == name);
    found.map(|(_, right, rows)| (*right, *rows))
}

/// Leaves the rows that the caller may see.
pub fn keep_visible(
    core: &mut SessionCore,
    db: &Arc<Db>,
    (schema, name): (&str, &str),
    columns: &[ViewColumn],
    rows: &mut Vec<Vec<Value>>,
) {
    if core.may_all() {
        return;
    }
    let Some((_, shown)) = find(schema, name) else { return };
    if shown == Rows::All {
        return;
    }
    let at = |wanted: &str| columns.iter().position(|(name, _, _)| *name == wanted);
    let number = |row: &[Value], at: Option<usize>| {
        at.and_then(|at| row.get(at)?.as_i64()).and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
    };
    match shown {
        Rows::All => {}
        Rows::Objects(column) => {
            let column = at(column);
            rows.retain(|row| sees(core, db, number(row, column)));
        }
        Rows::Definitions(column) => {
            let column = at(column);
            rows.retain(|row| sees_definition(core, db, number(row, column)));
        }
        Rows::Named(schema, name) => {
            let (schema, name) = (at(schema), at(name));
            let text = |row: &[Value], at: Option<usize>| {
                at.and_then(|at| row.get(at)?.as_str().map(str::to_owned)).unwrap_or_default()
            };
            rows.retain(|row| {
                let catalog = db.catalog();
                let (schema, name) = (text(row, schema), text(row, name));
                let id = match catalog.find(&schema, &name) {
                    Some(table) => Some(table.object_id),
                    None => catalog.find_module(&schema, &name).map(|module| module.object_id),
                };
                let other = || catalog.find_other(&schema, &name).map(|other| other.object_id());
                let id = id.or_else(other);
                id.is_some_and(|id| sees(core, db, id))
            });
        }
        Rows::Databases(column) => {
            let column = at(column);
            if !core.has_server(Permission::ViewAnyDatabase) {
                rows.retain(|row| {
                    let id = number(row, column);
                    let db = core.host().db_by_id(id);
                    id <= catalog::TEMPDB || db.is_some_and(|db| core.check_access(&db).is_ok())
                });
            }
        }
        Rows::Session => {
            let (column, own) = (at("session_id"), core.spid());
            if !core.has_server(Permission::ViewServerState) {
                rows.retain(|row| number(row, column) == own);
            }
        }
        Rows::Logins => {
            let (column, kind, own) = (at("principal_id"), at("type"), core.caller.login_id());
            if !core.has_server(Permission::ViewAnyDefinition) && !core.has_server(Permission::AlterAnyLogin)
            {
                rows.retain(|row| {
                    let role = kind.and_then(|at| row.get(at)?.as_str()) == Some("R");
                    let id = number(row, column);
                    role || id == own || id == catalog::security::SA
                });
            }
        }
        Rows::LoginGrants => {
            let (column, own) = (at("grantee_principal_id"), core.caller.login_id());
            if !core.has_server(Permission::ViewAnyDefinition) {
                rows.retain(|row| {
                    let id = number(row, column);
                    id == own || id == catalog::security::SERVER_PUBLIC
                });
            }
        }
        Rows::Users => {
            let (column, kind, own) = (at("principal_id"), at("type"), core.user_in(db));
            if !sees_users(core, db) {
                rows.retain(|row| {
                    let role = kind.and_then(|at| row.get(at)?.as_str()) == Some("R");
                    let id = number(row, column);
                    role || id == own || id < catalog::security::FIRST_USER
                });
            }
        }
        Rows::UserGrants => {
            let column = at("grantee_principal_id");
            let mut own = vec![core.user_in(db), catalog::security::PUBLIC];
            core.security(db).database.close_over_roles(&mut own);
            if !sees_users(core, db) {
                rows.retain(|row| own.contains(&number(row, column)));
            }
        }
    }
}

fn sees_users(core: &mut SessionCore, db: &Arc<Db>) -> bool {
    let database = Securable::DATABASE;
    core.has(db, database, 0, Permission::ViewDefinition)
        || core.has(db, database, 0, Permission::AlterAnyUser)
}

/// Whether the caller may know of a table, module or trigger; what is no object of the database is everyone's.
pub(crate) fn sees(core: &mut SessionCore, db: &Arc<Db>, id: i32) -> bool {
    if core.may_all() {
        return true;
    }
    let catalog = db.catalog();
    let (id, schema) = match (catalog.by_id.get(&id), catalog.modules.get(&id)) {
        (Some(table), _) => (id, table.schema.clone()),
        (_, Some(module)) if module.kind == ModuleKind::Trigger => (module.parent, module.schema.clone()),
        (_, Some(module)) => (id, module.schema.clone()),
        _ if catalog.others.contains_key(&id) => (id, catalog.others[&id].schema().clone()),
        // Negative ids are the system's views.
        _ => match catalog.constraint(id) {
            Some(constraint) => (constraint.table.object_id, constraint.table.schema.clone()),
            None => return id < 0 || core.owns_database(db),
        },
    };
    let schema = catalog.schemas.get(&fold_name(&schema)).copied().unwrap_or(0);
    core.sees_object(db, id, schema)
}

/// Whether the caller may see the text of a module.
pub(crate) fn sees_definition(core: &mut SessionCore, db: &Arc<Db>, id: i32) -> bool {
    if core.may_all() {
        return true;
    }
    let catalog = db.catalog();
    let Some(module) = catalog.modules.get(&id) else { return sees(core, db, id) };
    let schema = catalog.schemas.get(&fold_name(&module.schema)).copied().unwrap_or(0);
    let id = if module.kind == ModuleKind::Trigger { module.parent } else { id };
    let on = Securable::new(Class::Object, id);
    [Permission::ViewDefinition, Permission::Alter, Permission::Control]
        .into_iter()
        .any(|permission| core.has(db, on, schema, permission))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_says_who_may_see_it() {
        for view in super::super::every() {
            let known = find(view.schema(), view.name()).is_some();
            let usual = view.name().starts_with("dm_") && needs(view.schema(), view.name()) == STATE;
            assert!(known || usual, "{}.{} is not in the table of rights", view.schema(), view.name());
        }
        for (name, _, shown) in TABLE {
            let (schema, name) = name.split_once('.').unwrap();
            let view = super::super::find(schema, name);
            let Some(view) = view else { panic!("there is no view {schema}.{name}") };
            let has = |column: &str| view.columns().iter().any(|(known, _, _)| *known == column);
            match shown {
                Rows::Objects(column) | Rows::Definitions(column) | Rows::Databases(column) => {
                    assert!(has(column), "{name} has no {column}")
                }
                Rows::Named(schema, table) => assert!(has(schema) && has(table), "{name}"),
                Rows::Session => assert!(has("session_id"), "{name}"),
                Rows::Logins | Rows::Users => assert!(has("principal_id") && has("type"), "{name}"),
                Rows::LoginGrants | Rows::UserGrants => assert!(has("grantee_principal_id"), "{name}"),
                Rows::All => {}
            }
        }
    }
}
