//! Views of what this server does not have and tools ask for all the same: their columns are SQL
//! Server's, their rows are none. (sys.servers has the row of the server itself.)

use types::{DataType, Len, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, bit, text};
use crate::product::SERVER_NAME;
use instance::OfInstance;

use DataType::{Binary, Bit, Char, DateTime, Int, NVarChar, SmallInt, TinyInt};

const N4000: DataType = NVarChar(Len::N(4000));

macro_rules! type_columns {
    ($($more:expr),*) => {
        &[
            ("name", SYSNAME, false),
            ("system_type_id", TinyInt, false),
            ("user_type_id", Int, false),
            ("schema_id", Int, false),
            ("principal_id", Int, true),
            ("max_length", SmallInt, false),
            ("precision", TinyInt, false),
            ("scale", TinyInt, false),
            ("collation_name", SYSNAME, true),
            ("is_nullable", Bit, true),
            ("is_user_defined", Bit, false),
            ("is_assembly_type", Bit, false),
            ("default_object_id", Int, false),
            ("rule_object_id", Int, false),
            ("is_table_type", Bit, false),
            $($more),*
        ]
    };
}

/// Columns of sys.table_types, which [`super::types`] has.
pub(super) const TABLE_TYPE_COLUMNS: &[ViewColumn] =
    type_columns!(("type_table_object_id", Int, false), ("is_memory_optimized", Bit, true));

/// sys.assembly_types.
pub(crate) static ASSEMBLY_TYPES: View = View::empty(
    "assembly_types",
    type_columns!(
        ("assembly_id", Int, false),
        ("assembly_class", SYSNAME, true),
        ("is_binary_ordered", Bit, true),
        ("is_fixed_length", Bit, true),
        ("prog_id", NVarChar(Len::N(40)), true),
        ("assembly_qualified_name", N4000, true)
    ),
);

/// sys.assemblies.
pub(crate) static ASSEMBLIES: View = View::empty(
    "assemblies",
    &[
        ("name", SYSNAME, false),
        ("principal_id", Int, true),
        ("assembly_id", Int, false),
        ("clr_name", N4000, true),
        ("permission_set", TinyInt, true),
        ("permission_set_desc", NVARCHAR60, true),
        ("is_visible", Bit, false),
        ("create_date", DateTime, false),
        ("modify_date", DateTime, false),
        ("is_user_defined", Bit, true),
    ],
);

/// sys.xml_schema_collections.
pub(crate) static XML_SCHEMA_COLLECTIONS: View = View::empty(
    "xml_schema_collections",
    &[
        ("xml_collection_id", Int, false),
        ("schema_id", Int, false),
        ("principal_id", Int, true),
        ("name", SYSNAME, false),
        ("create_date", DateTime, false),
        ("modify_date", DateTime, false),
    ],
);

/// sys.xml_indexes.
pub(crate) static XML_INDEXES: View = View::empty(
    "xml_indexes",
    &[
        ("object_id", Int, false),
        ("name", SYSNAME, true),
        ("index_id", Int, false),
        ("type", TinyInt, false),
        ("type_desc", NVARCHAR60, true),
        ("is_unique", Bit, true),
        ("data_space_id", Int, true),
        ("ignore_dup_key", Bit, true),
        ("is_primary_key", Bit, true),
        ("is_unique_constraint", Bit, true),
        ("fill_factor", TinyInt, false),
        ("is_padded", Bit, true),
        ("is_disabled", Bit, true),
        ("is_hypothetical", Bit, true),
        ("allow_row_locks", Bit, true),
        ("allow_page_locks", Bit, true),
        ("using_xml_index_id", Int, true),
        ("secondary_type", Char(1), true),
        ("secondary_type_desc", NVARCHAR60, true),
        ("has_filter", Bit, false),
        ("filter_definition", NVarChar(Len::Max), true),
        ("xml_index_type", TinyInt, true),
        ("xml_index_type_description", NVARCHAR60, true),
        ("path_id", Int, true),
        ("auto_created", Bit, true),
    ],
);

/// sys.fulltext_catalogs.
pub(crate) static FULLTEXT_CATALOGS: View = View::empty(
    "fulltext_catalogs",
    &[
        ("fulltext_catalog_id", Int, false),
        ("name", SYSNAME, false),
        ("path", NVarChar(Len::N(260)), true),
        ("is_default", Bit, false),
        ("is_accent_sensitivity_on", Bit, false),
        ("data_space_id", Int, true),
        ("file_id", Int, true),
        ("principal_id", Int, true),
        ("is_importing", Bit, false),
    ],
);

/// sys.fulltext_indexes.
pub(crate) static FULLTEXT_INDEXES: View = View::empty(
    "fulltext_indexes",
    &[
        ("object_id", Int, false),
        ("unique_index_id", Int, false),
        ("fulltext_catalog_id", Int, true),
        ("is_enabled", Bit, false),
        ("change_tracking_state", Char(1), true),
        ("change_tracking_state_desc", NVARCHAR60, true),
        ("has_crawl_completed", Bit, false),
        ("crawl_type", Char(1), false),
        ("crawl_type_desc", NVARCHAR60, true),
        ("crawl_start_date", DateTime, true),
        ("crawl_end_date", DateTime, true),
        ("incremental_timestamp", Binary(8), true),
        ("stoplist_id", Int, true),
        ("data_space_id", Int, false),
        ("property_list_id", Int, true),
    ],
);

const SERVER_COLUMNS: &[ViewColumn] = &[
    ("server_id", Int, false),
    ("name", SYSNAME, false),
    ("product", SYSNAME, false),
    ("provider", SYSNAME, false),
    ("data_source", N4000, true),
    ("location", N4000, true),
    ("provider_string", N4000, true),
    ("catalog", SYSNAME, true),
    ("connect_timeout", Int, true),
    ("query_timeout", Int, true),
    ("is_linked", Bit, false),
    ("is_remote_login_enabled", Bit, false),
    ("is_rpc_out_enabled", Bit, false),
    ("is_data_access_enabled", Bit, false),
    ("is_collation_compatible", Bit, false),
    ("uses_remote_collation", Bit, false),
    ("collation_name", SYSNAME, true),
    ("lazy_schema_validation", Bit, false),
    ("is_system", Bit, false),
    ("is_publisher", Bit, false),
    ("is_subscriber", Bit, true),
    ("is_distributor", Bit, true),
    ("is_nonsql_subscriber", Bit, true),
    ("is_remote_proc_transaction_promotion_enabled", Bit, true),
    ("modify_date", DateTime, false),
    ("is_rda_server", Bit, true),
];

/// sys.servers: this one; there are no linked servers.
pub(crate) static SERVERS: View = View::sys("servers", SERVER_COLUMNS, |session, _, _| {
    let mut row = vec![
        Value::Int(0),
        text(SERVER_NAME),
        text("SQL Server"),
        text("MSOLEDBSQL"),
        text(SERVER_NAME),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Int(0),
        Value::Int(0),
    ];
    row.resize(16, bit(false));
    row.push(Value::Null);
    row.resize(24, bit(false));
    row.extend([session.instance().started().clone(), bit(false)]);
    Ok(vec![row])
});
