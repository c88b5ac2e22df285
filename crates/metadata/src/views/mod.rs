//! System views and table functions: `sys.*`, `INFORMATION_SCHEMA.*`, DMVs. One file per group of
//! views. Guarantee: names and types of the columns are SQL Server's.

pub mod absent;
mod absent_keys;
mod absent_parts;
mod bulk_rowset;
pub mod columns;
pub mod compatibility;
pub mod counters;
mod cursors;
pub mod databases;
mod dblog;
mod dependencies;
pub mod described;
pub mod devices;
mod endpoints;
mod extended_events;
pub mod files;
mod foreign_keys;
mod index_usage;
mod indexes;
mod information_rights;
pub mod information_schema;
pub mod kept_objects;
mod key_constraints;
pub mod languages;
mod lists;
pub mod log;
pub mod memory;
pub mod messages;
pub mod modules;
pub mod objects;
mod old_objects;
mod old_parts;
mod old_server;
mod open_json;
pub mod optimizer;
mod os;
mod parameters;
pub mod partitions;
mod permissions;
mod physical;
mod pick;
mod place;
mod plans;
mod policies;
mod properties;
pub mod property_targets;
mod query_store;
mod referenced;
mod request_phases;
pub mod rights;
mod routines;
pub(crate) mod securable;
pub mod security;
mod sequences;
pub mod server;
mod server_triggers;
pub mod sessions;
pub mod shown;
mod spt_values;
pub mod statistics;
mod system_info;
pub(crate) mod system_tables;
pub mod table_functions;
mod tables;
pub mod transactions;
mod triggers;
pub mod types;
mod values;
pub mod view;
pub mod visible;

pub mod waiting;
mod xml_nodes;

pub use logical::view::{RowSource, ViewColumn, ViewDef, ViewRows};
pub use modules::columns_of_view;
pub use values::{LSN_NUMERIC, SYSNAME, big, bit, int, lsn_numeric, megabytes, position, text};
pub(crate) use values::{NVARCHAR60, databases_of, lsn_text};
use view::session_of;
pub use view::{SystemView, View, ViewResult, WantedRows};

/// The lists of views.
static LISTS: &[&[&dyn SystemView]] = &[
    VIEWS,
    old_objects::ALL,
    old_parts::ALL,
    old_server::ALL,
    absent_parts::ALL,
    absent_keys::ALL,
    server_triggers::ALL,
    information_rights::ALL,
    lists::ALL,
    sequences::ALL,
    referenced::ALL,
    plans::ALL,
    system_info::ALL,
    described::ALL,
    physical::ALL,
    index_usage::ALL,
    os::ALL,
    extended_events::ALL,
    query_store::ALL,
];

/// Views of the files that have no list of their own.
static VIEWS: &[&dyn SystemView] = &[
    &databases::DATABASES,
    &databases::SCOPED,
    &files::DATABASE_FILES,
    &files::MASTER_FILES,
    &files::FILEGROUPS,
    &files::DATA_SPACES,
    &files::FILE_STATS,
    &devices::DEVICES,
    &devices::VOLUME_STATS,
    &devices::WRITE_SIZES,
    &devices::LATENCY,
    &request_phases::REQUEST_PHASES,
    &objects::OBJECTS,
    &objects::ALL_OBJECTS,
    &tables::TABLES,
    &objects::SYSTEM_OBJECTS,
    &columns::COLUMNS,
    &columns::ALL_COLUMNS,
    &columns::SYSTEM_COLUMNS,
    &columns::IDENTITY_COLUMNS,
    &columns::COMPUTED_COLUMNS,
    &columns::MASKED_COLUMNS,
    &indexes::INDEXES,
    &indexes::INDEX_COLUMNS,
    &key_constraints::KEY_CONSTRAINTS,
    &key_constraints::DEFAULT_CONSTRAINTS,
    &objects::SCHEMAS,
    &compatibility::OBJECTS,
    &compatibility::DATABASES,
    &languages::LANGUAGES_VIEW,
    &modules::VIEWS,
    &modules::ALL_VIEWS,
    &modules::SYSTEM_VIEWS,
    &modules::PROCEDURES,
    &parameters::PARAMETERS,
    &parameters::ALL_PARAMETERS,
    &parameters::SYSTEM_PARAMETERS,
    &modules::ALL_SQL_MODULES,
    &modules::SYSTEM_SQL_MODULES,
    &triggers::TRIGGERS,
    &triggers::TRIGGER_EVENTS,
    &modules::SQL_MODULES,
    &foreign_keys::CHECK_CONSTRAINTS,
    &foreign_keys::FOREIGN_KEYS,
    &foreign_keys::FOREIGN_KEY_PAIRS,
    &statistics::STATS,
    &statistics::STATS_COLUMN_LIST,
    &statistics::STATS_PROPERTIES,
    &statistics::STATS_HISTOGRAM,
    &partitions::PARTITIONS,
    &partitions::ALLOCATION_UNITS,
    &partitions::PARTITION_STATS,
    &types::TYPES,
    &log::LOG_INFO,
    &log::LOG_STATS,
    &log::LOG_SPACE_USAGE,
    &dblog::FN_DBLOG,
    &table_functions::GENERATE_SERIES,
    &table_functions::STRING_SPLIT,
    &open_json::OPEN_JSON,
    &xml_nodes::XML_NODES,
    &xml_nodes::OPEN_XML,
    &memory::RESOURCE_SEMAPHORES,
    &memory::GRANTS,
    &server::WAIT_STATS,
    &counters::COUNTERS,
    &optimizer::INFO,
    &waiting::WAITING_TASKS,
    &transactions::LOCKS,
    &transactions::DATABASE_TRANSACTIONS,
    &transactions::ACTIVE_TRANSACTIONS,
    &transactions::SESSION_TRANSACTIONS,
    &transactions::VERSION_USERS,
    &server::CONFIGURATIONS,
    &server::TIME_ZONES,
    &server::SYS_INFO,
    &server::CREDENTIALS,
    &security::SERVER_PRINCIPALS,
    &security::SQL_LOGINS,
    &security::SERVER_ROLE_MEMBERS,
    &security::SERVER_PERMISSIONS,
    &security::DATABASE_PRINCIPALS,
    &security::DATABASE_ROLE_MEMBERS,
    &security::DATABASE_PERMISSIONS,
    &sessions::SESSIONS,
    &sessions::REQUESTS,
    &sessions::CONNECTIONS,
    &cursors::CURSORS,
    &cursors::OF_CALLER,
    &bulk_rowset::CLOB,
    &bulk_rowset::NCLOB,
    &bulk_rowset::BLOB,
    &sessions::SQL_TEXT,
    &sessions::INPUT_BUFFER,
    &information_schema::TABLES,
    &information_schema::COLUMNS,
    &information_schema::SCHEMATA,
    &information_schema::TABLE_CONSTRAINTS,
    &information_schema::KEY_COLUMN_USAGE,
    &routines::VIEWS,
    &routines::ROUTINES,
    &routines::PARAMETERS,
    &routines::REFERENTIAL_CONSTRAINTS,
    &routines::CHECK_CONSTRAINTS,
    &routines::CONSTRAINT_TABLE_USAGE,
    &routines::CONSTRAINT_COLUMN_USAGE,
    &routines::DOMAINS,
    &properties::EXTENDED_PROPERTIES,
    &properties::FN_LISTEXTENDEDPROPERTY,
    &properties::SENSITIVITY,
    &permissions::BUILTIN,
    &permissions::MINE,
    &compatibility::COLLATIONS,
    &messages::MESSAGES,
    &messages::SYSMESSAGES,
    &policies::SECURITY_POLICIES,
    &policies::SECURITY_PREDICATES,
    &types::TABLE_TYPES,
    &absent::ASSEMBLY_TYPES,
    &absent::ASSEMBLIES,
    &absent::XML_SCHEMA_COLLECTIONS,
    &absent::XML_INDEXES,
    &tables::PERIODS,
    &absent::FULLTEXT_CATALOGS,
    &absent::FULLTEXT_INDEXES,
    &absent::SERVERS,
    &endpoints::ENDPOINTS,
    &spt_values::VALUES,
];

/// The view or function with this name; names compare without regard to case.
pub fn find(schema: &str, name: &str) -> Option<&'static dyn SystemView> {
    let schema = if schema.eq_ignore_ascii_case("dbo") && compatibility::is_old(name) {
        "sys"
    } else {
        schema
    };
    every().find(|view| {
        view.schema().eq_ignore_ascii_case(schema) && view.name().eq_ignore_ascii_case(name)
    })
}

/// The views of all lists.
fn every() -> impl Iterator<Item = &'static dyn SystemView> {
    LISTS
        .iter()
        .flat_map(|list| list.iter().copied())
        .chain(kept_objects::views().map(|(view, _, _)| *view))
}

/// The view with an object_id.
pub fn by_id(object_id: i32) -> Option<&'static dyn SystemView> {
    if object_id >= 0 {
        return None;
    }
    every().find(|view| view.object_id() == object_id)
}

/// Every view that a text can name in each database, for sys.all_objects; the binder's own ones
/// have names with parentheses.
pub fn all() -> impl Iterator<Item = &'static dyn SystemView> {
    every().filter(|view| !view.name().contains('(') && !is_of_master(*view))
}

/// Whether master alone has a view: those of dbo.
pub(crate) fn is_of_master(view: &dyn SystemView) -> bool {
    view.schema() == "dbo"
}
