//! Which rows of the system views a caller may see.
//! Guarantee: a view that is not here is the sysadmin's (a test finds it).

use std::sync::Arc;

use bind::env::TempTables;
use catalog::security::{Class, Permission, Securable};
use catalog::{Db, ModuleKind, TEMPDB, fold_name};
use logical::rights::ViewRight;
use types::Value;

use super::ViewColumn;
use super::shown::VisibleRows;
use super::visible;
use session::state::SessionCore;

const STATE: ViewRight = ViewRight::Server(Permission::ViewServerPerformanceState);
const DATABASE_STATE: ViewRight = ViewRight::Database(Permission::ViewDatabasePerformanceState);
const PUBLIC: ViewRight = ViewRight::Public;
const DEFINITIONS: ViewRight = ViewRight::Database(Permission::ViewDefinition);

/// View, what it needs, what it shows.
const TABLE: &[(&str, ViewRight, VisibleRows)] = &[
    ("sys.generate_series", PUBLIC, VisibleRows::All),
    ("sys.openjson", PUBLIC, VisibleRows::All),
    ("sys.xml nodes()", PUBLIC, VisibleRows::All),
    ("sys.openxml nodes()", PUBLIC, VisibleRows::All),
    ("sys.time_zone_info", PUBLIC, VisibleRows::All),
    ("sys.sensitivity_classifications", PUBLIC, VisibleRows::Objects("major_id")),
    ("sys.database_scoped_configurations", PUBLIC, VisibleRows::All),
    ("sys.fn_builtin_permissions", PUBLIC, VisibleRows::All),
    ("sys.fn_my_permissions", PUBLIC, VisibleRows::All),
    ("sys.string_split", PUBLIC, VisibleRows::All),
    ("sys.databases", PUBLIC, VisibleRows::Databases("database_id")),
    ("sys.sysdatabases", PUBLIC, VisibleRows::Databases("dbid")),
    ("sys.database_files", PUBLIC, VisibleRows::All),
    ("sys.master_files", ViewRight::Server(Permission::ViewAnyDefinition), VisibleRows::All),
    ("sys.filegroups", PUBLIC, VisibleRows::All),
    ("sys.data_spaces", PUBLIC, VisibleRows::All),
    ("sys.types", PUBLIC, VisibleRows::Types("user_type_id")),
    ("sys.schemas", PUBLIC, VisibleRows::All),
    ("sys.configurations", PUBLIC, VisibleRows::All),
    ("sys.endpoints", PUBLIC, VisibleRows::All),
    ("sys.credentials", ViewRight::Server(Permission::AlterAnyCredential), VisibleRows::All),
    ("sys.objects", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.all_objects", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.tables", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.views", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.procedures", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.parameters", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.triggers", PUBLIC, VisibleRows::Objects("parent_id")),
    ("sys.trigger_events", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.sql_modules", PUBLIC, VisibleRows::Definitions("object_id")),
    ("sys.columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.all_columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.identity_columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.indexes", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.index_columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.key_constraints", PUBLIC, VisibleRows::Objects("parent_object_id")),
    ("sys.default_constraints", PUBLIC, VisibleRows::Objects("parent_object_id")),
    ("sys.check_constraints", PUBLIC, VisibleRows::Objects("parent_object_id")),
    ("sys.foreign_keys", PUBLIC, VisibleRows::Objects("parent_object_id")),
    ("sys.foreign_key_columns", PUBLIC, VisibleRows::Objects("parent_object_id")),
    ("sys.stats", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.stats_columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.partitions", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.allocation_units", DATABASE_STATE, VisibleRows::All),
    ("sys.sysobjects", PUBLIC, VisibleRows::Objects("id")),
    ("INFORMATION_SCHEMA.CHECK_CONSTRAINTS", DEFINITIONS, VisibleRows::All),
    ("INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS", DEFINITIONS, VisibleRows::All),
    ("INFORMATION_SCHEMA.ROUTINES", DEFINITIONS, VisibleRows::All),
    ("INFORMATION_SCHEMA.VIEWS", DEFINITIONS, VisibleRows::All),
    (
        "INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE",
        PUBLIC,
        VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME"),
    ),
    (
        "INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE",
        PUBLIC,
        VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME"),
    ),
    (
        "INFORMATION_SCHEMA.PARAMETERS",
        PUBLIC,
        VisibleRows::Named("SPECIFIC_SCHEMA", "SPECIFIC_NAME"),
    ),
    ("INFORMATION_SCHEMA.DOMAINS", PUBLIC, VisibleRows::NamedTypes("DOMAIN_SCHEMA", "DOMAIN_NAME")),
    (
        "INFORMATION_SCHEMA.SEQUENCES",
        PUBLIC,
        VisibleRows::Named("SEQUENCE_SCHEMA", "SEQUENCE_NAME"),
    ),
    ("sys.all_parameters", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.system_parameters", PUBLIC, VisibleRows::All),
    ("sys.all_views", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.all_sql_modules", PUBLIC, VisibleRows::Definitions("object_id")),
    ("sys.dm_db_partition_stats", DATABASE_STATE, VisibleRows::All),
    ("sys.servers", PUBLIC, VisibleRows::All),
    // Of the system itself, or of what this server does not have.
    ("sys.assemblies", PUBLIC, VisibleRows::All),
    ("sys.assembly_types", PUBLIC, VisibleRows::All),
    ("sys.computed_columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.masked_columns", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.extended_properties", PUBLIC, VisibleRows::All),
    ("sys.fn_listextendedproperty", PUBLIC, VisibleRows::All),
    ("sys.fn_helpcollations", PUBLIC, VisibleRows::All),
    ("sys.fulltext_catalogs", PUBLIC, VisibleRows::All),
    ("sys.fulltext_indexes", PUBLIC, VisibleRows::All),
    ("sys.periods", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.sequences", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.synonyms", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.plan_guides", PUBLIC, VisibleRows::Objects("plan_guide_id")),
    ("sys.openrowset clob()", ViewRight::Server(Permission::AdministerBulk), VisibleRows::All),
    ("sys.openrowset nclob()", ViewRight::Server(Permission::AdministerBulk), VisibleRows::All),
    ("sys.openrowset blob()", ViewRight::Server(Permission::AdministerBulk), VisibleRows::All),
    ("sys.messages", PUBLIC, VisibleRows::All),
    ("sys.sysmessages", PUBLIC, VisibleRows::All),
    ("sys.dm_ringwood_cursors", PUBLIC, VisibleRows::All),
    ("sys.system_columns", PUBLIC, VisibleRows::All),
    ("sys.system_objects", PUBLIC, VisibleRows::All),
    ("sys.system_sql_modules", PUBLIC, VisibleRows::All),
    ("sys.system_views", PUBLIC, VisibleRows::All),
    ("sys.table_types", PUBLIC, VisibleRows::Types("user_type_id")),
    ("sys.xml_indexes", PUBLIC, VisibleRows::All),
    ("sys.xml_schema_collections", PUBLIC, VisibleRows::All),
    ("INFORMATION_SCHEMA.TABLES", PUBLIC, VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.COLUMNS", PUBLIC, VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME")),
    ("INFORMATION_SCHEMA.SCHEMATA", PUBLIC, VisibleRows::All),
    (
        "INFORMATION_SCHEMA.TABLE_CONSTRAINTS",
        PUBLIC,
        VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME"),
    ),
    (
        "INFORMATION_SCHEMA.KEY_COLUMN_USAGE",
        PUBLIC,
        VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME"),
    ),
    ("sys.server_principals", PUBLIC, VisibleRows::Logins),
    ("sys.sql_logins", PUBLIC, VisibleRows::Logins),
    ("sys.server_role_members", PUBLIC, VisibleRows::LoginMembers),
    ("sys.server_permissions", PUBLIC, VisibleRows::LoginGrants),
    ("sys.database_principals", PUBLIC, VisibleRows::Users),
    ("sys.database_role_members", PUBLIC, VisibleRows::UserMembers),
    ("sys.database_permissions", PUBLIC, VisibleRows::UserGrants),
    ("sys.dm_exec_sessions", PUBLIC, VisibleRows::Session),
    ("sys.dm_exec_requests", PUBLIC, VisibleRows::Session),
    ("sys.dm_exec_connections", STATE, VisibleRows::All),
    ("sys.dm_exec_cursors", STATE, VisibleRows::All),
    ("sys.dm_exec_sql_text", STATE, VisibleRows::All),
    ("sys.dm_exec_input_buffer", STATE, VisibleRows::All),
    // Of the caller's own doing, and of the database.
    ("sys.dm_exec_describe_first_result_set", PUBLIC, VisibleRows::All),
    ("sys.dm_exec_describe_first_result_set_for_object", PUBLIC, VisibleRows::All),
    ("sys.dm_db_file_space_usage", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_db_index_physical_stats", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_db_database_page_allocations", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_db_page_info", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_db_persisted_sku_features", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_tran_current_transaction", PUBLIC, VisibleRows::All),
    ("sys.database_query_store_options", DATABASE_STATE, VisibleRows::All),
    ("sys.query_store_query_text", DATABASE_STATE, VisibleRows::All),
    ("sys.query_store_query", DATABASE_STATE, VisibleRows::All),
    ("sys.query_store_plan", DATABASE_STATE, VisibleRows::All),
    ("sys.query_store_runtime_stats", DATABASE_STATE, VisibleRows::All),
    ("sys.query_store_runtime_stats_interval", DATABASE_STATE, VisibleRows::All),
    ("sys.query_store_wait_stats", DATABASE_STATE, VisibleRows::All),
    ("sys.query_context_settings", DATABASE_STATE, VisibleRows::All),
    // The names in texts are shown to callers who see all definitions.
    ("sys.sql_expression_dependencies", DEFINITIONS, VisibleRows::All),
    ("INFORMATION_SCHEMA.VIEW_TABLE_USAGE", DEFINITIONS, VisibleRows::All),
    ("INFORMATION_SCHEMA.VIEW_COLUMN_USAGE", DEFINITIONS, VisibleRows::All),
    ("sys.dm_sql_referenced_entities", DEFINITIONS, VisibleRows::All),
    ("sys.dm_sql_referencing_entities", DEFINITIONS, VisibleRows::All),
    // By ids, of what the caller may know.
    ("sys.sql_dependencies", PUBLIC, VisibleRows::Objects("object_id")),
    // Queries over views whose rows are for those who may see them, and views without rows.
    ("sys.sysdepends", PUBLIC, VisibleRows::All),
    ("sys.syscolumns", PUBLIC, VisibleRows::All),
    ("sys.systypes", PUBLIC, VisibleRows::All),
    ("sys.sysindexes", PUBLIC, VisibleRows::All),
    ("sys.syscolumns of tables()", PUBLIC, VisibleRows::Objects("id")),
    ("sys.sysindexes of tables()", PUBLIC, VisibleRows::Objects("id")),
    ("sys.sysindexkeys", PUBLIC, VisibleRows::All),
    ("sys.syscomments", PUBLIC, VisibleRows::All),
    ("sys.sysreferences", PUBLIC, VisibleRows::All),
    ("sys.sysforeignkeys", PUBLIC, VisibleRows::All),
    ("sys.sysconstraints", PUBLIC, VisibleRows::All),
    ("sys.parameter_type_usages", PUBLIC, VisibleRows::All),
    ("sys.column_type_usages", PUBLIC, VisibleRows::All),
    ("INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE", PUBLIC, VisibleRows::All),
    ("sys.events", PUBLIC, VisibleRows::All),
    ("sys.sysusers", PUBLIC, VisibleRows::All),
    ("sys.sysmembers", PUBLIC, VisibleRows::All),
    ("sys.syslogins", PUBLIC, VisibleRows::All),
    ("sys.sysprocesses", PUBLIC, VisibleRows::All),
    ("sys.sysfiles", PUBLIC, VisibleRows::All),
    ("sys.sysaltfiles", ViewRight::Server(Permission::ViewAnyDefinition), VisibleRows::All),
    ("sys.sysfilegroups", PUBLIC, VisibleRows::All),
    ("sys.sysperfinfo", STATE, VisibleRows::All),
    ("sys.sysconfigures", PUBLIC, VisibleRows::All),
    ("sys.syscurconfigs", PUBLIC, VisibleRows::All),
    ("sys.sysdevices", PUBLIC, VisibleRows::All),
    ("sys.sysservers", PUBLIC, VisibleRows::All),
    ("sys.syslanguages", PUBLIC, VisibleRows::All),
    ("sys.partition_functions", PUBLIC, VisibleRows::All),
    ("sys.partition_schemes", PUBLIC, VisibleRows::All),
    ("sys.partition_range_values", PUBLIC, VisibleRows::All),
    ("sys.partition_parameters", PUBLIC, VisibleRows::All),
    ("sys.destination_data_spaces", PUBLIC, VisibleRows::All),
    ("sys.column_store_row_groups", PUBLIC, VisibleRows::All),
    ("sys.column_store_segments", PUBLIC, VisibleRows::All),
    ("sys.selective_xml_index_paths", PUBLIC, VisibleRows::All),
    ("sys.internal_tables", PUBLIC, VisibleRows::All),
    ("dbo.spt_values", PUBLIC, VisibleRows::All),
    ("sys.numbered_procedures", PUBLIC, VisibleRows::All),
    ("sys.numbered_procedure_parameters", PUBLIC, VisibleRows::All),
    ("sys.change_tracking_databases", PUBLIC, VisibleRows::All),
    ("sys.change_tracking_tables", PUBLIC, VisibleRows::All),
    ("sys.server_triggers", ViewRight::Server(Permission::ViewAnyDefinition), VisibleRows::All),
    (
        "sys.server_trigger_events",
        ViewRight::Server(Permission::ViewAnyDefinition),
        VisibleRows::All,
    ),
    ("sys.server_sql_modules", ViewRight::Server(Permission::ViewAnyDefinition), VisibleRows::All),
    ("sys.certificates", PUBLIC, VisibleRows::All),
    ("sys.symmetric_keys", PUBLIC, VisibleRows::All),
    ("sys.asymmetric_keys", PUBLIC, VisibleRows::All),
    ("sys.crypt_properties", PUBLIC, VisibleRows::All),
    ("sys.key_encryptions", PUBLIC, VisibleRows::All),
    ("sys.openkeys", PUBLIC, VisibleRows::All),
    ("sys.security_policies", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.security_predicates", PUBLIC, VisibleRows::Objects("object_id")),
    ("sys.system_components_surface_area_configuration", PUBLIC, VisibleRows::All),
    ("INFORMATION_SCHEMA.DOMAIN_CONSTRAINTS", PUBLIC, VisibleRows::All),
    ("INFORMATION_SCHEMA.TABLE_PRIVILEGES", PUBLIC, VisibleRows::All),
    ("INFORMATION_SCHEMA.COLUMN_PRIVILEGES", PUBLIC, VisibleRows::All),
    ("sys.trigger_event_types", PUBLIC, VisibleRows::All),
    ("sys.securable_classes", PUBLIC, VisibleRows::All),
    (
        "INFORMATION_SCHEMA.ROUTINE_COLUMNS",
        PUBLIC,
        VisibleRows::Named("TABLE_SCHEMA", "TABLE_NAME"),
    ),
    // Values of rows are in the steps of a histogram.
    ("sys.dm_db_stats_histogram", ViewRight::Database(Permission::Select), VisibleRows::All),
    ("sys.dm_db_stats_properties", ViewRight::Database(Permission::Select), VisibleRows::All),
    ("sys.dm_db_log_info", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_db_log_stats", DATABASE_STATE, VisibleRows::All),
    ("sys.dm_db_log_space_usage", DATABASE_STATE, VisibleRows::All),
    // Rows of every table are in the log.
    ("sys.fn_dblog", ViewRight::Database(Permission::Control), VisibleRows::All),
];

/// What a view needs; VIEW SERVER PERFORMANCE STATE for a dynamic management view of the server
/// that is not named.
pub fn needs(schema: &str, name: &str) -> ViewRight {
    match find(schema, name) {
        Some((right, _)) => right,
        None if name.starts_with("dm_") => STATE,
        None => ViewRight::Server(Permission::ControlServer),
    }
}

fn find(schema: &str, name: &str) -> Option<(ViewRight, VisibleRows)> {
    let known = TABLE.iter().find(|(known, _, _)| known.split_once('.') == Some((schema, name)));
    if let Some((_, right, rows)) = known {
        return Some((*right, *rows));
    }
    let mut kinds = super::kept_objects::views();
    let found = kinds.find(|(view, _, _)| view.schema() == schema && view.name() == name);
    found.map(|(_, right, rows)| (*right, *rows))
}

/// The number in a row's column; 0 if there is none.
fn number(row: &[Value], at: Option<usize>) -> i32 {
    at.and_then(|at| row.get(at)?.as_i64()).and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
}

fn text_in(row: &[Value], at: Option<usize>) -> String {
    at.and_then(|at| row.get(at)?.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Leaves the rows that the caller may see.
pub(crate) fn keep_visible(
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
    let at = |wanted: &str| columns.iter().position(|(name, _, _)| *name == wanted);
    match shown {
        VisibleRows::All => {}
        VisibleRows::Objects(column) => {
            let (column, definition) = (at(column), at("definition"));
            rows.retain(|row| sees(core, db, number(row, column)));
            // A constraint or computed column is known with its table, its text is not.
            if let Some(definition) = definition {
                for row in rows.iter_mut() {
                    if !sees_definition(core, db, number(row, column)) {
                        row[definition] = Value::Null;
                    }
                }
            }
        }
        VisibleRows::Definitions(column) => {
            let column = at(column);
            rows.retain(|row| sees_definition(core, db, number(row, column)));
        }
        VisibleRows::Named(schema, name) => {
            let (schema, name) = (at(schema), at(name));
            rows.retain(|row| {
                let id = object_named(db, &text_in(row, schema), &text_in(row, name));
                id.is_some_and(|id| sees(core, db, id))
            });
        }
        VisibleRows::Databases(column) => {
            let column = at(column);
            rows.retain(|row| {
                let db = core.host().db_by_id(number(row, column));
                db.is_some_and(|db| visible::sees_database(core, &db))
            });
        }
        VisibleRows::Types(column) => {
            let column = at(column);
            rows.retain(|row| visible::sees_type(core, db, number(row, column)));
        }
        VisibleRows::NamedTypes(schema, name) => {
            let (schema, name, catalog) = (at(schema), at(name), db.catalog());
            rows.retain(|row| {
                let alias = catalog.find_type(&text_in(row, schema), &text_in(row, name));
                alias.is_some_and(|alias| visible::sees_type(core, db, alias.type_id))
            });
        }
        VisibleRows::Session => {
            let (column, own) = (at("session_id"), core.spid());
            if !core.has_server(Permission::ViewServerPerformanceState) {
                rows.retain(|row| number(row, column) == own);
            }
        }
        VisibleRows::Logins
        | VisibleRows::LoginMembers
        | VisibleRows::LoginGrants
        | VisibleRows::Users
        | VisibleRows::UserMembers
        | VisibleRows::UserGrants => keep_principals(core, db, shown, columns, rows),
    }
}

/// The object_id of the name of a table, module or other object.
pub fn object_named(db: &Db, schema: &str, name: &str) -> Option<i32> {
    let catalog = db.catalog();
    let table = catalog.find(schema, name).map(|table| table.object_id);
    let module = || catalog.find_module(schema, name).map(|module| module.object_id);
    table
        .or_else(module)
        .or_else(|| catalog.find_other(schema, name).map(|other| other.object_id()))
}

/// Leaves the principals, members and permissions that the caller may see.
fn keep_principals(
    core: &mut SessionCore,
    db: &Arc<Db>,
    shown: VisibleRows,
    columns: &[ViewColumn],
    rows: &mut Vec<Vec<Value>>,
) {
    let at = |wanted: &str| columns.iter().position(|(name, _, _)| *name == wanted);
    let (principal, grantee) = (at("principal_id"), at("grantee_principal_id"));
    let (role, member) = (at("role_principal_id"), at("member_principal_id"));
    match shown {
        VisibleRows::Logins => {
            let server = visible::of_server(core);
            rows.retain(|row| {
                let login = server.server.get(number(row, principal));
                login.is_some_and(|login| visible::sees_login(core, login))
            });
        }
        VisibleRows::LoginMembers => {
            rows.retain(|row| {
                visible::sees_server_member(core, number(row, role), number(row, member))
            });
        }
        VisibleRows::LoginGrants => {
            let mut own = vec![core.identity.caller.login_id(), catalog::security::SERVER_PUBLIC];
            visible::of_server(core).server.close_over_roles(&mut own);
            if !core.has_server(Permission::ViewAnySecurityDefinition) {
                rows.retain(|row| own.contains(&number(row, grantee)));
            }
        }
        VisibleRows::Users => {
            let security = core.security(db);
            rows.retain(|row| {
                let user = security.database.get(number(row, principal));
                user.is_some_and(|user| visible::sees_user(core, db, user))
            });
        }
        VisibleRows::UserMembers => {
            rows.retain(|row| {
                visible::sees_member(core, db, number(row, role), number(row, member))
            });
        }
        VisibleRows::UserGrants => {
            let mut own = vec![core.user_in(db), catalog::security::PUBLIC];
            core.security(db).database.close_over_roles(&mut own);
            if !sees_users(core, db) {
                rows.retain(|row| own.contains(&number(row, grantee)));
            }
        }
        _ => debug_assert!(false, "rows of principals"),
    }
}

fn sees_users(core: &mut SessionCore, db: &Arc<Db>) -> bool {
    let database = Securable::DATABASE;
    core.has(db, database, 0, Permission::ViewSecurityDefinition)
        || core.has(db, database, 0, Permission::AlterAnyUser)
}

/// Whether the caller may know of a table, module or trigger; what is no object of the database is
/// everyone's.
pub fn sees(core: &mut SessionCore, db: &Arc<Db>, id: i32) -> bool {
    if core.may_all() || is_own_temporary(&core.objects.temps, db, id) {
        return true;
    }
    let catalog = db.catalog();
    let (id, schema) = match (catalog.by_id.get(&id), catalog.modules.get(&id)) {
        (Some(table), _) => (id, table.schema.clone()),
        (_, Some(module)) if module.kind == ModuleKind::Trigger => {
            (module.parent, module.schema.clone())
        }
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

/// Whether it is a temporary table or procedure that the session has made.
fn is_own_temporary(temps: &TempTables, db: &Db, id: i32) -> bool {
    db.id() == TEMPDB && temps.list.iter().any(|t| t.object_id == id && t.name.starts_with('#'))
}

/// Whether the caller may see the text of a module, of a constraint, or of what a table computes.
pub fn sees_definition(core: &mut SessionCore, db: &Arc<Db>, id: i32) -> bool {
    if core.may_all() || is_own_temporary(&core.objects.temps, db, id) {
        return true;
    }
    let catalog = db.catalog();
    let constraint = catalog.constraint(id);
    let (id, schema) = match (catalog.modules.get(&id), catalog.by_id.get(&id), &constraint) {
        (Some(module), _, _) if module.kind == ModuleKind::Trigger => {
            (module.parent, &module.schema)
        }
        (Some(module), _, _) => (id, &module.schema),
        (_, Some(table), _) => (id, &table.schema),
        (_, _, Some(constraint)) => (constraint.table.object_id, &constraint.table.schema),
        _ => return sees(core, db, id),
    };
    let schema = catalog.schemas.get(&fold_name(schema)).copied().unwrap_or(0);
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
        for view in crate::views::every() {
            let known = find(view.schema(), view.name()).is_some();
            let usual =
                view.name().starts_with("dm_") && needs(view.schema(), view.name()) == STATE;
            assert!(
                known || usual,
                "{}.{} is not in the table of rights",
                view.schema(),
                view.name()
            );
        }
        for (name, _, shown) in TABLE {
            let (schema, name) = name.split_once('.').unwrap();
            let view = crate::views::find(schema, name);
            let Some(view) = view else { panic!("there is no view {schema}.{name}") };
            let has = |column: &str| view.columns().iter().any(|(known, _, _)| *known == column);
            match shown {
                VisibleRows::Objects(column)
                | VisibleRows::Definitions(column)
                | VisibleRows::Databases(column)
                | VisibleRows::Types(column) => {
                    assert!(has(column), "{name} has no {column}")
                }
                VisibleRows::Named(schema, table) | VisibleRows::NamedTypes(schema, table) => {
                    assert!(has(schema) && has(table), "{name}")
                }
                VisibleRows::LoginMembers | VisibleRows::UserMembers => {
                    assert!(has("member_principal_id"), "{name}")
                }
                VisibleRows::Session => assert!(has("session_id"), "{name}"),
                VisibleRows::Logins | VisibleRows::Users => assert!(has("principal_id"), "{name}"),
                VisibleRows::LoginGrants | VisibleRows::UserGrants => {
                    assert!(has("grantee_principal_id"), "{name}")
                }
                VisibleRows::All => {}
            }
        }
    }
}
