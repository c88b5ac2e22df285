//! Which right each system procedure needs.
//! Guarantee: a procedure that is not here is the sysadmin's (a test finds it).

use catalog::fold_name;
use catalog::security::{Class, Permission, Securable};
use types::{SqlError, Value};

use super::argument;
use super::call::AllowedCallers;
use metadata::views::rights::sees;
use programs::arguments::Arg;
use session::output::ColumnInfo;
use session::state::SessionCore;
use statements::rights::{
    in_database, no_create_database, not_permitted, on_server, owner, server, sysadmin,
};

const TABLE: &[(&str, AllowedCallers)] = &[
    // They show what the caller may know of.
    ("sp_tables", AllowedCallers::Everyone),
    ("sp_tableswc", AllowedCallers::Everyone),
    ("sp_columns", AllowedCallers::Everyone),
    ("sp_columns_90", AllowedCallers::Everyone),
    ("sp_columns_100", AllowedCallers::Everyone),
    ("sp_pkeys", AllowedCallers::Everyone),
    ("sp_fkeys", AllowedCallers::Everyone),
    ("sp_statistics", AllowedCallers::Everyone),
    ("sp_statistics_100", AllowedCallers::Everyone),
    ("sp_special_columns", AllowedCallers::Everyone),
    ("sp_special_columns_90", AllowedCallers::Everyone),
    ("sp_special_columns_100", AllowedCallers::Everyone),
    ("sp_stored_procedures", AllowedCallers::Everyone),
    ("sp_sproc_columns", AllowedCallers::Everyone),
    ("sp_sproc_columns_90", AllowedCallers::Everyone),
    ("sp_sproc_columns_100", AllowedCallers::Everyone),
    ("sp_datatype_info", AllowedCallers::Everyone),
    ("sp_datatype_info_90", AllowedCallers::Everyone),
    ("sp_datatype_info_100", AllowedCallers::Everyone),
    ("sp_set_session_context", AllowedCallers::Everyone),
    ("sp_xml_preparedocument", AllowedCallers::Everyone),
    ("sp_xml_removedocument", AllowedCallers::Everyone),
    ("sp_getapplock", AllowedCallers::Everyone),
    ("sp_sequence_get_range", AllowedCallers::Everyone),
    ("sp_releaseapplock", AllowedCallers::Everyone),
    ("sp_server_info", AllowedCallers::Everyone),
    // They bind the statement, with the rights that the statement takes.
    ("sp_describe_first_result_set", AllowedCallers::Everyone),
    ("sp_describe_undeclared_parameters", AllowedCallers::Everyone),
    ("sp_helptext", AllowedCallers::Everyone),
    ("sp_helpindex", AllowedCallers::SeesObject),
    ("sp_tablecollations", AllowedCallers::SeesObject),
    ("sp_tablecollations_90", AllowedCallers::SeesObject),
    ("sp_tablecollations_100", AllowedCallers::SeesObject),
    ("sp_procedure_params_managed", AllowedCallers::SeesObject),
    ("sp_procedure_params_90_managed", AllowedCallers::SeesObject),
    ("sp_procedure_params_100_managed", AllowedCallers::SeesObject),
    ("sp_spaceused", AllowedCallers::Everyone),
    ("sp_helpdb", AllowedCallers::Everyone),
    ("sp_databases", AllowedCallers::Everyone),
    ("sp_flush_log", AllowedCallers::Owner),
    ("sp_query_store_flush_db", AllowedCallers::Owner),
    ("sp_cleanup_temporal_history", AllowedCallers::Owner),
    ("sp_query_store_remove_query", AllowedCallers::Owner),
    ("sp_query_store_remove_plan", AllowedCallers::Owner),
    ("sp_query_store_reset_exec_stats", AllowedCallers::Owner),
    ("sp_query_store_force_plan", AllowedCallers::Owner),
    ("sp_query_store_unforce_plan", AllowedCallers::Owner),
    ("sp_who", AllowedCallers::Everyone),
    ("sp_ringwood_status", AllowedCallers::Server(Permission::ViewServerPerformanceState)),
    ("sp_configure", AllowedCallers::Sysadmin),
    ("sp_rename", AllowedCallers::AltersObject),
    ("sp_attach_db", AllowedCallers::CreatesDatabase),
    ("sp_attach_single_file_db", AllowedCallers::CreatesDatabase),
    ("sp_detach_db", AllowedCallers::Server(Permission::AlterAnyDatabase)),
    ("sp_addtype", AllowedCallers::Database(Permission::CreateType)),
    ("sp_droptype", AllowedCallers::Database(Permission::AlterAnySchema)),
    ("sp_updatestats", AllowedCallers::Owner),
    // Whoever knows the password, or the cookie.
    ("sp_setapprole", AllowedCallers::Itself),
    ("sp_unsetapprole", AllowedCallers::Itself),
    ("sp_addapprole", AllowedCallers::Itself),
    ("sp_dropapprole", AllowedCallers::Itself),
    ("sp_approlepassword", AllowedCallers::Itself),
    ("sp_addrolemember", AllowedCallers::Itself),
    ("sp_droprolemember", AllowedCallers::Itself),
    ("sp_addmessage", AllowedCallers::ServerOnly(Permission::AlterSettings)),
    ("sp_altermessage", AllowedCallers::ServerOnly(Permission::AlterSettings)),
    ("sp_dropmessage", AllowedCallers::ServerOnly(Permission::AlterSettings)),
    ("sp_addextendedproperty", AllowedCallers::Itself),
    ("sp_updateextendedproperty", AllowedCallers::Itself),
    ("sp_dropextendedproperty", AllowedCallers::Itself),
    // Texts: their statements take the rights that they need.
    ("sp_help", AllowedCallers::Everyone),
    ("sp_cursor_list", AllowedCallers::Everyone),
    ("sp_describe_cursor", AllowedCallers::Everyone),
    ("sp_objectfilegroup", AllowedCallers::Everyone),
    ("sp_helpconstraint", AllowedCallers::Everyone),
    ("sp_helptrigger", AllowedCallers::Everyone),
    ("sp_helpstats", AllowedCallers::Everyone),
    ("sp_helplanguage", AllowedCallers::Everyone),
    ("sp_helpfile", AllowedCallers::Everyone),
    ("sp_helpfilegroup", AllowedCallers::Everyone),
    ("sp_renamedb", AllowedCallers::Itself),
    ("sp_who2", AllowedCallers::Everyone),
    ("sp_lock", AllowedCallers::Server(Permission::ViewServerPerformanceState)),
    ("sp_tableoption", AllowedCallers::AltersObject),
    ("sp_procoption", AllowedCallers::Sysadmin),
    ("sp_MS_marksystemobject", AllowedCallers::Sysadmin),
    ("sp_validname", AllowedCallers::Everyone),
    ("sp_autostats", AllowedCallers::Itself),
    ("sp_createstats", AllowedCallers::Owner),
    ("sp_table_privileges", AllowedCallers::Everyone),
    ("sp_column_privileges", AllowedCallers::Everyone),
    ("sp_helprotect", AllowedCallers::Everyone),
    ("sp_addlogin", AllowedCallers::Itself),
    ("sp_droplogin", AllowedCallers::Itself),
    ("sp_password", AllowedCallers::Itself),
    ("sp_defaultdb", AllowedCallers::Itself),
    ("sp_defaultlanguage", AllowedCallers::Itself),
    ("sp_grantlogin", AllowedCallers::Itself),
    ("sp_revokelogin", AllowedCallers::Itself),
    ("sp_addsrvrolemember", AllowedCallers::Itself),
    ("sp_dropsrvrolemember", AllowedCallers::Itself),
    ("sp_adduser", AllowedCallers::Itself),
    ("sp_dropuser", AllowedCallers::Itself),
    ("sp_grantdbaccess", AllowedCallers::Itself),
    ("sp_revokedbaccess", AllowedCallers::Itself),
    ("sp_addrole", AllowedCallers::Itself),
    ("sp_droprole", AllowedCallers::Itself),
    ("sp_change_users_login", AllowedCallers::Owner),
    ("sp_helpuser", AllowedCallers::Everyone),
    ("sp_helprole", AllowedCallers::Everyone),
    ("sp_helprolemember", AllowedCallers::Everyone),
    ("sp_helpdbfixedrole", AllowedCallers::Everyone),
    ("sp_helpsrvrole", AllowedCallers::Everyone),
    ("sp_helpsrvrolemember", AllowedCallers::Everyone),
    ("sp_helplogins", AllowedCallers::Server(Permission::AlterAnyLogin)),
    ("sp_recompile", AllowedCallers::AltersObject),
    ("sp_refreshview", AllowedCallers::Itself),
    ("sp_refreshsqlmodule", AllowedCallers::Itself),
    ("sp_settriggerorder", AllowedCallers::Itself),
    ("sp_readerrorlog", AllowedCallers::Server(Permission::ViewAnyErrorLog)),
    ("xp_readerrorlog", AllowedCallers::Server(Permission::ViewAnyErrorLog)),
    ("sp_cycle_errorlog", AllowedCallers::Sysadmin),
    ("sp_monitor", AllowedCallers::Sysadmin),
    ("sp_depends", AllowedCallers::Everyone),
    ("xp_sprintf", AllowedCallers::Everyone),
    ("xp_sscanf", AllowedCallers::Everyone),
    ("sp_helpserver", AllowedCallers::Everyone),
    ("xp_msver", AllowedCallers::Everyone),
    ("xp_fixeddrives", AllowedCallers::Sysadmin),
    ("xp_logininfo", AllowedCallers::Sysadmin),
    ("xp_loginconfig", AllowedCallers::Sysadmin),
    ("xp_cmdshell", AllowedCallers::Sysadmin),
];

fn find(name: &str) -> Option<AllowedCallers> {
    let of_kinds = super::of_kinds().map(|(name, _, runs)| (*name, *runs));
    let mut all = TABLE.iter().copied().chain(of_kinds);
    all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, runs)| runs)
}

/// Checks the right to a system procedure.
///
/// # Errors
/// 15247, 262, 300.
pub fn check(name: &str, core: &mut SessionCore, args: &[Arg]) -> Result<(), SqlError> {
    if core.may_all() {
        return Ok(());
    }
    let db = core.db().clone();
    core.effective(&db)?;
    match find(name).unwrap_or(AllowedCallers::Sysadmin) {
        AllowedCallers::Everyone | AllowedCallers::Itself => Ok(()),
        AllowedCallers::Owner => owner(core, &db),
        AllowedCallers::Server(permission) => server(core, permission),
        AllowedCallers::ServerOnly(permission) => {
            server(core, permission).map_err(|_| not_permitted())
        }
        AllowedCallers::CreatesDatabase => {
            on_server(core, Permission::CreateAnyDatabase, no_create_database)
        }
        AllowedCallers::Database(permission) => in_database(core, &db, permission),
        AllowedCallers::Sysadmin => sysadmin(core),
        AllowedCallers::SeesObject => {
            let named = args
                .first()
                .and_then(|arg| arg.value.as_str().map(str::to_owned))
                .unwrap_or_default();
            let parts = metadata::names::name_parts(&named).unwrap_or_default();
            let part = |at: usize| parts.get(at).map_or("", |part| part.as_str());
            let catalog = db.catalog();
            let found = match catalog.find(part(1), part(0)) {
                Some(table) => Some(table.object_id),
                None => catalog.find_module(part(1), part(0)).map(|module| module.object_id),
            };
            match found {
                Some(id) if !sees(core, &db, id) => Err(not_permitted()),
                // The procedure says that there is no such object; those of other databases are the
                // owner's.
                _ if parts.len() > 2 => owner(core, &db),
                _ => Ok(()),
            }
        }
        AllowedCallers::AltersObject => {
            let kind =
                argument(args, 2, "@objtype").and_then(|v| v.as_str().map(str::to_ascii_uppercase));
            let named = argument(args, 0, "@objname")
                .and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default();
            match kind.as_deref() {
                Some("DATABASE") => server(core, Permission::AlterAnyDatabase),
                None | Some("OBJECT" | "COLUMN" | "INDEX") => {
                    let parts = metadata::names::name_parts(&named).unwrap_or_default();
                    // The name of a column or index stands before its table's.
                    let skip = usize::from(matches!(kind.as_deref(), Some("COLUMN" | "INDEX")));
                    let part = |at: usize| parts.get(at + skip).map_or("", |part| part.as_str());
                    let catalog = db.catalog();
                    let found = match catalog.find(part(1), part(0)) {
                        Some(table) => Some((table.object_id, table.schema.clone())),
                        None => catalog
                            .find_module(part(1), part(0))
                            .map(|m| (m.object_id, m.schema.clone())),
                    };
                    let Some((id, schema)) = found else { return owner(core, &db) };
                    let schema = catalog.schemas.get(&fold_name(&schema)).copied().unwrap_or(0);
                    match core.has(
                        &db,
                        Securable::new(Class::Object, id),
                        schema,
                        Permission::Alter,
                    ) {
                        true => Ok(()),
                        false => Err(not_permitted()),
                    }
                }
                Some(_) => owner(core, &db),
            }
        }
    }
}

/// Columns of results that name an object: its schema and its name.
const NAMES: [(&str, &str); 4] = [
    ("TABLE_OWNER", "TABLE_NAME"),
    ("PROCEDURE_OWNER", "PROCEDURE_NAME"),
    ("PKTABLE_OWNER", "PKTABLE_NAME"),
    ("FKTABLE_OWNER", "FKTABLE_NAME"),
];

/// The rows of a result that name no object of which the caller may not know.
pub fn visible(
    core: &mut SessionCore,
    columns: &[ColumnInfo],
    rows: &[Vec<Value>],
) -> Vec<Vec<Value>> {
    let at = |name: &str| columns.iter().position(|c| c.name == name);
    let pairs: Vec<_> =
        NAMES.iter().filter_map(|(owner, name)| Some((at(owner)?, at(name)?))).collect();
    let db = core.db().clone();
    let catalog = db.catalog();
    let mut out = rows.to_vec();
    out.retain(|row| {
        pairs.iter().all(|(owner, name)| {
            let text = |at: &usize| row.get(*at).and_then(Value::as_str).unwrap_or_default();
            // Names of procedures have a number: `p;1`.
            let name = text(name).split(';').next().unwrap_or_default();
            let id = match catalog.find(text(owner), name) {
                Some(table) => Some(table.object_id),
                None => catalog.find_module(text(owner), name).map(|module| module.object_id),
            };
            id.is_none_or(|id| sees(core, &db, id))
        })
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_procedure_says_who_may_run_it() {
        for name in super::super::names() {
            assert!(find(name).is_some(), "{name} is not in the table of rights");
        }
    }
}
