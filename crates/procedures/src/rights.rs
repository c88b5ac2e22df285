//! Which right each system procedure needs.
//! Guarantee: a procedure that is not here is the sysadmin's (a test finds it).

use catalog::fold_name;
use catalog::security::{Class, Permission, Securable};
use types::{SqlError, Value};

use super::argument;
use super::call::Runs;
use metadata::views::rights::sees;
use programs::arguments::Arg;
use session::output::ColumnInfo;
use session::state::SessionCore;
use statements::rights::{
    in_database, no_create_database, not_permitted, on_server, owner, server, sysadmin,
};

const TABLE: &[(&str, Runs)] = &[
    // They show what the caller may know of.
    ("sp_tables", Runs::Everyone),
    ("sp_tableswc", Runs::Everyone),
    ("sp_columns", Runs::Everyone),
    ("sp_columns_90", Runs::Everyone),
    ("sp_columns_100", Runs::Everyone),
    ("sp_pkeys", Runs::Everyone),
    ("sp_fkeys", Runs::Everyone),
    ("sp_statistics", Runs::Everyone),
    ("sp_statistics_100", Runs::Everyone),
    ("sp_special_columns", Runs::Everyone),
    ("sp_special_columns_90", Runs::Everyone),
    ("sp_special_columns_100", Runs::Everyone),
    ("sp_stored_procedures", Runs::Everyone),
    ("sp_sproc_columns", Runs::Everyone),
    ("sp_sproc_columns_90", Runs::Everyone),
    ("sp_sproc_columns_100", Runs::Everyone),
    ("sp_datatype_info", Runs::Everyone),
    ("sp_datatype_info_90", Runs::Everyone),
    ("sp_datatype_info_100", Runs::Everyone),
    ("sp_set_session_context", Runs::Everyone),
    ("sp_xml_preparedocument", Runs::Everyone),
    ("sp_xml_removedocument", Runs::Everyone),
    ("sp_getapplock", Runs::Everyone),
    ("sp_sequence_get_range", Runs::Everyone),
    ("sp_releaseapplock", Runs::Everyone),
    ("sp_server_info", Runs::Everyone),
    // They bind the statement, with the rights that the statement takes.
    ("sp_describe_first_result_set", Runs::Everyone),
    ("sp_describe_undeclared_parameters", Runs::Everyone),
    ("sp_helptext", Runs::Everyone),
    ("sp_helpindex", Runs::SeesObject),
    ("sp_tablecollations", Runs::SeesObject),
    ("sp_tablecollations_90", Runs::SeesObject),
    ("sp_tablecollations_100", Runs::SeesObject),
    ("sp_procedure_params_managed", Runs::SeesObject),
    ("sp_procedure_params_90_managed", Runs::SeesObject),
    ("sp_procedure_params_100_managed", Runs::SeesObject),
    ("sp_spaceused", Runs::Everyone),
    ("sp_helpdb", Runs::Everyone),
    ("sp_databases", Runs::Everyone),
    ("sp_flush_log", Runs::Owner),
    ("sp_query_store_flush_db", Runs::Owner),
    ("sp_cleanup_temporal_history", Runs::Owner),
    ("sp_query_store_remove_query", Runs::Owner),
    ("sp_query_store_remove_plan", Runs::Owner),
    ("sp_query_store_reset_exec_stats", Runs::Owner),
    ("sp_query_store_force_plan", Runs::Owner),
    ("sp_query_store_unforce_plan", Runs::Owner),
    ("sp_who", Runs::Everyone),
    ("sp_ringwood_status", Runs::Server(Permission::ViewServerPerformanceState)),
    ("sp_configure", Runs::Sysadmin),
    ("sp_rename", Runs::AltersObject),
    ("sp_attach_db", Runs::CreatesDatabase),
    ("sp_attach_single_file_db", Runs::CreatesDatabase),
    ("sp_detach_db", Runs::Server(Permission::AlterAnyDatabase)),
    ("sp_addtype", Runs::Database(Permission::CreateType)),
    ("sp_droptype", Runs::Database(Permission::AlterAnySchema)),
    ("sp_updatestats", Runs::Owner),
    // Whoever knows the password, or the cookie.
    ("sp_setapprole", Runs::Itself),
    ("sp_unsetapprole", Runs::Itself),
    ("sp_addapprole", Runs::Itself),
    ("sp_dropapprole", Runs::Itself),
    ("sp_approlepassword", Runs::Itself),
    ("sp_addrolemember", Runs::Itself),
    ("sp_droprolemember", Runs::Itself),
    ("sp_addmessage", Runs::ServerOnly(Permission::AlterSettings)),
    ("sp_altermessage", Runs::ServerOnly(Permission::AlterSettings)),
    ("sp_dropmessage", Runs::ServerOnly(Permission::AlterSettings)),
    ("sp_addextendedproperty", Runs::Itself),
    ("sp_updateextendedproperty", Runs::Itself),
    ("sp_dropextendedproperty", Runs::Itself),
    // Texts: their statements take the rights that they need.
    ("sp_help", Runs::Everyone),
    ("sp_cursor_list", Runs::Everyone),
    ("sp_describe_cursor", Runs::Everyone),
    ("sp_objectfilegroup", Runs::Everyone),
    ("sp_helpconstraint", Runs::Everyone),
    ("sp_helptrigger", Runs::Everyone),
    ("sp_helpstats", Runs::Everyone),
    ("sp_helplanguage", Runs::Everyone),
    ("sp_helpfile", Runs::Everyone),
    ("sp_helpfilegroup", Runs::Everyone),
    ("sp_renamedb", Runs::Itself),
    ("sp_who2", Runs::Everyone),
    ("sp_lock", Runs::Server(Permission::ViewServerPerformanceState)),
    ("sp_tableoption", Runs::AltersObject),
    ("sp_procoption", Runs::Sysadmin),
    ("sp_MS_marksystemobject", Runs::Sysadmin),
    ("sp_validname", Runs::Everyone),
    ("sp_autostats", Runs::Itself),
    ("sp_createstats", Runs::Owner),
    ("sp_table_privileges", Runs::Everyone),
    ("sp_column_privileges", Runs::Everyone),
    ("sp_helprotect", Runs::Everyone),
    ("sp_addlogin", Runs::Itself),
    ("sp_droplogin", Runs::Itself),
    ("sp_password", Runs::Itself),
    ("sp_defaultdb", Runs::Itself),
    ("sp_defaultlanguage", Runs::Itself),
    ("sp_grantlogin", Runs::Itself),
    ("sp_revokelogin", Runs::Itself),
    ("sp_addsrvrolemember", Runs::Itself),
    ("sp_dropsrvrolemember", Runs::Itself),
    ("sp_adduser", Runs::Itself),
    ("sp_dropuser", Runs::Itself),
    ("sp_grantdbaccess", Runs::Itself),
    ("sp_revokedbaccess", Runs::Itself),
    ("sp_addrole", Runs::Itself),
    ("sp_droprole", Runs::Itself),
    ("sp_change_users_login", Runs::Owner),
    ("sp_helpuser", Runs::Everyone),
    ("sp_helprole", Runs::Everyone),
    ("sp_helprolemember", Runs::Everyone),
    ("sp_helpdbfixedrole", Runs::Everyone),
    ("sp_helpsrvrole", Runs::Everyone),
    ("sp_helpsrvrolemember", Runs::Everyone),
    ("sp_helplogins", Runs::Server(Permission::AlterAnyLogin)),
    ("sp_recompile", Runs::AltersObject),
    ("sp_refreshview", Runs::Itself),
    ("sp_refreshsqlmodule", Runs::Itself),
    ("sp_settriggerorder", Runs::Itself),
    ("sp_readerrorlog", Runs::Server(Permission::ViewAnyErrorLog)),
    ("xp_readerrorlog", Runs::Server(Permission::ViewAnyErrorLog)),
    ("sp_cycle_errorlog", Runs::Sysadmin),
    ("sp_monitor", Runs::Sysadmin),
    ("sp_depends", Runs::Everyone),
    ("xp_sprintf", Runs::Everyone),
    ("xp_sscanf", Runs::Everyone),
    ("sp_helpserver", Runs::Everyone),
    ("xp_msver", Runs::Everyone),
    ("xp_fixeddrives", Runs::Sysadmin),
    ("xp_logininfo", Runs::Sysadmin),
    ("xp_loginconfig", Runs::Sysadmin),
    ("xp_cmdshell", Runs::Sysadmin),
];

fn find(name: &str) -> Option<Runs> {
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
    match find(name).unwrap_or(Runs::Sysadmin) {
        Runs::Everyone | Runs::Itself => Ok(()),
        Runs::Owner => owner(core, &db),
        Runs::Server(permission) => server(core, permission),
        Runs::ServerOnly(permission) => server(core, permission).map_err(|_| not_permitted()),
        Runs::CreatesDatabase => on_server(core, Permission::CreateAnyDatabase, no_create_database),
        Runs::Database(permission) => in_database(core, &db, permission),
        Runs::Sysadmin => sysadmin(core),
        Runs::SeesObject => {
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
        Runs::AltersObject => {
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
