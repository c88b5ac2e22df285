//! The list of DBCC commands: name, who may run it, what runs it, how it is written. DBCC HELP
//! reads it, too.

use types::{SqlError, msg};

use super::{
    Command, KnownCommand, Right, check, constraints, identity, log, reindex, shrink,
    small_commands, statistics, trace, user_options,
};
use catalog::security::Permission;
use instance::OfInstance;

/// In the order of the alphabet.
static COMMANDS: &[KnownCommand] = &[
    KnownCommand {
        name: "CHECKALLOC",
        right: Right::OwnerOfNamed,
        run: check::check_db,
        syntax: "dbcc CHECKALLOC [ ( { 'database_name' | database_id | 0 } [ , NOINDEX ] ) ] [ \
             WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "CHECKCATALOG",
        right: Right::OwnerOfNamed,
        run: check::check_db,
        syntax: "dbcc CHECKCATALOG [ ( { 'database_name' | database_id | 0 } ) ] [ WITH \
             NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "CHECKCONSTRAINTS",
        right: Right::Owner,
        run: constraints::check_constraints,
        syntax: "dbcc CHECKCONSTRAINTS [ ( 'table_name' | table_id | 'constraint_name' | \
             constraint_id ) ] [ WITH { ALL_CONSTRAINTS | ALL_ERRORMSGS } [ , NO_INFOMSGS ] ]",
    },
    KnownCommand {
        name: "CHECKDB",
        right: Right::OwnerOfNamed,
        run: check::check_db,
        syntax: "dbcc CHECKDB [ ( { 'database_name' | database_id | 0 } [ , NOINDEX ] ) ] [ WITH \
             { [ ALL_ERRORMSGS ] [ , NO_INFOMSGS ] } ]",
    },
    KnownCommand {
        name: "CHECKFILEGROUP",
        right: Right::Owner,
        run: small_commands::check_filegroup,
        syntax: "dbcc CHECKFILEGROUP [ ( { 'filegroup_name' | filegroup_id | 0 } [ , NOINDEX ] ) \
             ] [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "CHECKIDENT",
        right: Right::Table,
        run: identity::check_ident,
        syntax: "dbcc CHECKIDENT ( 'table_name' [ , { NORESEED | { RESEED [ , new_reseed_value ] \
             } } ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "CHECKTABLE",
        right: Right::Table,
        run: check::check_table,
        syntax: "dbcc CHECKTABLE ( 'table_name' [ , NOINDEX ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "CLEANTABLE",
        right: Right::OwnerOfNamed,
        run: small_commands::clean_table,
        syntax: "dbcc CLEANTABLE ( { 'database_name' | database_id | 0 }, 'table_name' [ , \
             batch_size ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "DBREINDEX",
        right: Right::Table,
        run: reindex::rebuild,
        syntax: "dbcc DBREINDEX ( 'table_name' [ , 'index_name' [ , fillfactor ] ] ) [ WITH \
             NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "DROPCLEANBUFFERS",
        right: Right::Server(Permission::AlterServerState),
        run: nothing,
        syntax: "dbcc DROPCLEANBUFFERS [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "FREEPROCCACHE",
        right: Right::Server(Permission::AlterServerState),
        run: forget_batches,
        syntax: "dbcc FREEPROCCACHE [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "FREESESSIONCACHE",
        right: Right::Server(Permission::AlterServerState),
        run: nothing,
        syntax: "",
    },
    KnownCommand {
        name: "FREESYSTEMCACHE",
        right: Right::Server(Permission::AlterServerState),
        run: nothing,
        syntax: "",
    },
    KnownCommand {
        name: "HELP",
        right: Right::Sysadmin,
        run: help,
        syntax: "dbcc HELP ( 'dbcc_statement' | @dbcc_statement_var | '?' ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "INPUTBUFFER",
        right: Right::Session,
        run: small_commands::input_buffer,
        syntax: "dbcc INPUTBUFFER ( session_id ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "LOGINFO",
        right: Right::OwnerOfNamed,
        run: log::log_info,
        syntax: "dbcc LOGINFO [ ( 'database_name' ) ]",
    },
    KnownCommand {
        name: "OPENTRAN",
        right: Right::OwnerOfNamed,
        run: log::open_tran,
        syntax: "dbcc OPENTRAN [ ( { 'database_name' | database_id | 0 } ) ] [ WITH NO_INFOMSGS ]",
    },
    KnownCommand { name: "OUTPUTBUFFER", right: Right::Sysadmin, run: output_buffer, syntax: "" },
    KnownCommand {
        name: "PROCCACHE",
        right: Right::Server(Permission::ViewServerPerformanceState),
        run: small_commands::proc_cache,
        syntax: "dbcc PROCCACHE [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "SHOW_STATISTICS",
        right: Right::Statistics,
        run: statistics::show,
        syntax: "dbcc SHOW_STATISTICS ( 'table_name', 'target_name' ) [ WITH [ NO_INFOMSGS ] < \
             option > [ , n ] ] < option > :: = STAT_HEADER | DENSITY_VECTOR | HISTOGRAM",
    },
    KnownCommand {
        name: "SHRINKDATABASE",
        right: Right::OwnerOfNamed,
        run: shrink::shrink_database,
        syntax: "dbcc SHRINKDATABASE ( { 'database_name' | database_id | 0 } [ , target_percent \
             ] [ , { NOTRUNCATE | TRUNCATEONLY } ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "SHRINKFILE",
        right: Right::Owner,
        run: shrink::shrink_file,
        syntax: "dbcc SHRINKFILE ( { 'file_name' | file_id } { [ , EMPTYFILE ] | [ [ , \
             target_size ] [ , { NOTRUNCATE | TRUNCATEONLY } ] ] } ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "SQLPERF",
        right: Right::Clears,
        run: log::sql_perf,
        syntax: "dbcc SQLPERF ( LOGSPACE | 'sys.dm_os_wait_stats', CLEAR ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "TRACEOFF",
        right: Right::Sysadmin,
        run: |command| trace::switch(command, false),
        syntax: "dbcc TRACEOFF ( trace# [ , n ] [ , -1 ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "TRACEON",
        right: Right::Sysadmin,
        run: |command| trace::switch(command, true),
        syntax: "dbcc TRACEON ( trace# [ , n ] [ , -1 ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "TRACESTATUS",
        right: Right::Everybody,
        run: trace::status,
        syntax: "dbcc TRACESTATUS ( [ trace# [ , n ] ] [ , ] [ -1 ] ) [ WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "UPDATEUSAGE",
        right: Right::OwnerOfNamed,
        run: nothing,
        syntax: "dbcc UPDATEUSAGE ( { 'database_name' | database_id | 0 } [ , 'table_name' ] ) [ \
             WITH NO_INFOMSGS ]",
    },
    KnownCommand {
        name: "USEROPTIONS",
        right: Right::Everybody,
        run: user_options::show,
        syntax: "dbcc USEROPTIONS [ WITH NO_INFOMSGS ]",
    },
];

/// The command of a name, without regard to case.
pub(super) fn find(name: &str) -> Option<&'static KnownCommand> {
    COMMANDS.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Caches of pages empty themselves, and emptying them by hand only costs time; space is counted as
/// changes are made.
fn nothing(_: &mut Command<'_, '_>) -> Result<(), SqlError> {
    Ok(())
}

fn forget_batches(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    command.ctx.core.instance().forget_batches();
    Ok(())
}

/// What was sent is not kept.
fn output_buffer(_: &mut Command<'_, '_>) -> Result<(), SqlError> {
    Err(catalog::errors::not_supported("DBCC OUTPUTBUFFER"))
}

/// DBCC HELP ('command' | '?'): how a command is written, or which there are.
fn help(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let wanted = command.text(0).unwrap_or_default().to_ascii_uppercase();
    if wanted == "?" {
        for known in COMMANDS.iter().filter(|known| !known.syntax.is_empty()) {
            command.ctx.sink.message(&SqlError::new(0, 0, 1, known.name.to_ascii_lowercase()))?;
        }
        return Ok(());
    }
    match find(&wanted).filter(|known| !known.syntax.is_empty()) {
        Some(known) => command.ctx.sink.message(&SqlError::new(0, 0, 1, known.syntax)),
        None => Err(SqlError::of(msg::DBCC_NO_HELP, [&command.text(0).unwrap_or_default()])),
    }
}
