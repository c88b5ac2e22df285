//! System procedures of Ringwood that are written in Rust, one file each; those in T-SQL are
//! [`metadata::scripts`]. Entry points: [`find`], [`check_right`], [`Procedure`],
//! [`ProcedureCall`]. Guarantees: who may run each is asked before it begins; what it shows is what
//! its caller may see.

mod app_role;
mod applock;
mod attach;
mod backup_devices;
mod call;
mod collations;
mod configure;
mod databases;
mod describe;
mod error_log;
mod formatting;
mod help;
mod languages;
mod modules;
mod monitor;
mod odbc;
mod params;
mod params_managed;
mod plan_guides;
mod properties;
mod query_store;
mod rename;
mod retention;
mod rights;
mod roles;
mod sequences;
mod session_context;
mod space_used;
mod status;
mod types;
mod undeclared;
mod update_stats;
mod user_messages;
mod xml;

use ::types::{SqlError, Value};

pub use call::ProcedureCall;
use call::{AllowedCallers, Body};
use metadata::results::send;
use metadata::scripts;
use programs::arguments::Arg;
use session::output::ColumnInfo;

/// A procedure.
#[derive(Clone, Copy)]
pub struct Procedure {
    name: &'static str,
    body: Body,
}

impl Procedure {
    /// Runs it, if the caller may.
    ///
    /// # Errors
    /// Its own; those of a missing right.
    pub fn call(self, call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
        check_right(self.name, call.core, call.args)?;
        (self.body)(call)
    }
}

/// All procedures but sp_executesql, which is the interpreter's own.
const PROCEDURES: &[(&str, Body)] = &[
    ("sp_set_session_context", session_context::set),
    ("sp_xml_preparedocument", xml::prepare),
    ("sp_xml_removedocument", xml::remove),
    ("sp_tables", odbc::tables::tables),
    ("sp_tableswc", odbc::tables::tables_of_databases),
    ("sp_columns", odbc::columns::columns),
    ("sp_columns_90", odbc::columns::columns),
    ("sp_columns_100", odbc::columns::columns_100),
    ("sp_pkeys", odbc::keys::primary_keys),
    ("sp_fkeys", odbc::keys::foreign_keys),
    ("sp_statistics", odbc::statistics::statistics),
    ("sp_statistics_100", odbc::statistics::statistics),
    ("sp_special_columns", odbc::special::special),
    ("sp_special_columns_90", odbc::special::special),
    ("sp_special_columns_100", odbc::special::special_100),
    ("sp_stored_procedures", odbc::procedures::procedures),
    ("sp_sproc_columns", odbc::procedures::columns),
    ("sp_sproc_columns_90", odbc::procedures::columns),
    ("sp_sproc_columns_100", odbc::procedures::columns_100),
    ("sp_datatype_info", odbc::datatypes::info),
    ("sp_datatype_info_90", odbc::datatypes::info),
    ("sp_datatype_info_100", odbc::datatypes::info_100),
    ("sp_getapplock", applock::get),
    ("sp_releaseapplock", applock::release),
    ("sp_helptext", help::text),
    ("sp_helpindex", help::index),
    ("sp_describe_first_result_set", describe::first_result_set),
    ("sp_describe_undeclared_parameters", undeclared::parameters),
    ("sp_cleanup_temporal_history", retention::clean),
    ("sp_query_store_flush_db", query_store::flush),
    ("sp_query_store_remove_query", query_store::remove_query),
    ("sp_query_store_remove_plan", query_store::remove_plan),
    ("sp_query_store_reset_exec_stats", query_store::reset),
    ("sp_query_store_force_plan", query_store::force),
    ("sp_query_store_unforce_plan", query_store::unforce),
    ("sp_sequence_get_range", sequences::get_range),
    ("sp_tablecollations", collations::table_collations),
    ("sp_tablecollations_90", collations::table_collations),
    ("sp_tablecollations_100", collations::table_collations),
    ("sp_procedure_params_managed", params_managed::managed),
    ("sp_procedure_params_90_managed", params_managed::managed),
    ("sp_procedure_params_100_managed", params_managed::managed_100),
    ("sp_server_info", help::server_info),
    ("sp_spaceused", space_used::run),
    ("sp_helpdb", databases::help_db),
    ("sp_databases", databases::databases),
    ("sp_flush_log", databases::flush_log),
    ("sp_who", databases::who),
    ("sp_ringwood_status", status::status),
    ("sp_configure", configure::configure),
    ("sp_rename", rename::rename),
    ("sp_attach_db", attach::attach),
    ("sp_attach_single_file_db", attach::attach_single),
    ("sp_detach_db", attach::detach),
    ("sp_addtype", types::add_type),
    ("sp_droptype", types::drop_type),
    ("sp_helplanguage", languages::help),
    ("sp_updatestats", update_stats::run),
    ("sp_setapprole", app_role::set),
    ("sp_unsetapprole", app_role::unset),
    ("sp_addrolemember", roles::add_member),
    ("sp_droprolemember", roles::drop_member),
    ("sp_addmessage", user_messages::add),
    ("sp_altermessage", user_messages::alter),
    ("sp_dropmessage", user_messages::drop_message),
    ("sp_addextendedproperty", properties::add),
    ("sp_updateextendedproperty", properties::update),
    ("sp_dropextendedproperty", properties::remove),
    ("sp_recompile", modules::recompile),
    ("sp_refreshview", modules::refresh_view),
    ("sp_refreshsqlmodule", modules::refresh_sql_module),
    ("sp_settriggerorder", modules::set_trigger_order),
    ("sp_procoption", modules::procedure_option),
    ("sp_MS_marksystemobject", modules::mark_system_object),
    ("sp_readerrorlog", error_log::read),
    ("xp_readerrorlog", error_log::read),
    ("sp_cycle_errorlog", error_log::cycle),
    ("sp_monitor", monitor::run),
    ("xp_sprintf", formatting::sprintf),
    ("xp_sscanf", formatting::sscanf),
];

/// Those that make and remove plan guides and the kinds of objects of
/// [`metadata::views::kept_objects`], with who may run each.
const OF_KINDS: &[&[(&str, Body, AllowedCallers)]] =
    &[backup_devices::PROCEDURES, plan_guides::PROCEDURES];

fn of_kinds() -> impl Iterator<Item = &'static (&'static str, Body, AllowedCallers)> {
    OF_KINDS.iter().copied().flatten()
}

/// The procedure of a name; sp_executesql is the interpreter's own.
pub fn find(name: &str) -> Option<Procedure> {
    let of_kinds = of_kinds().map(|(name, body, _)| (*name, *body));
    let mut all = PROCEDURES.iter().copied().chain(of_kinds);
    all.find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(name, body)| Procedure { name, body })
}

pub use rights::check as check_right;

/// The names of all procedures.
pub fn names() -> impl Iterator<Item = &'static str> {
    let of_kinds = of_kinds().map(|(name, _, _)| *name);
    PROCEDURES.iter().map(|(name, _)| *name).chain(of_kinds).chain(scripts::names())
}

/// The argument at a position or with a name.
fn argument<'a>(args: &'a [Arg], position: usize, name: &str) -> Option<&'a Value> {
    let named =
        args.iter().find(|a| a.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)));
    let positional = || args.get(position).filter(|a| a.name.is_none());
    named.or_else(positional).map(|a| &a.value).filter(|v| !v.is_null())
}

impl ProcedureCall<'_> {
    /// The argument at a position or with a name.
    pub fn arg(&self, position: usize, name: &str) -> Option<&Value> {
        argument(self.args, position, name)
    }

    /// Sends a whole result set, without the rows of objects that the caller may not know of.
    pub fn result(&mut self, columns: &[ColumnInfo], rows: &[Vec<Value>]) -> Result<(), SqlError> {
        if self.core.may_all() {
            return send(self.sink, columns, rows, self.core, true);
        }
        let visible = rights::visible(self.core, columns, rows);
        send(self.sink, columns, &visible, self.core, true)
    }
}
