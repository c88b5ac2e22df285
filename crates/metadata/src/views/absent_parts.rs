//! Views of parts that this server does not have: partitions, columnstores, internal tables, change
//! tracking. Their columns are SQL Server's, their rows are none: whatever would make one is
//! refused where it is made.

use types::{DataType, Len};

use super::{NVARCHAR60, SYSNAME, SystemView, View};

use DataType::{BigInt, Bit, Char, DateTime, Float, Int, NVarChar, SmallInt, SqlVariant, TinyInt};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &PARTITION_FUNCTIONS,
    &PARTITION_SCHEMES,
    &PARTITION_RANGE_VALUES,
    &PARTITION_PARAMETERS,
    &DESTINATION_DATA_SPACES,
    &COLUMN_STORE_ROW_GROUPS,
    &COLUMN_STORE_SEGMENTS,
    &SELECTIVE_XML_INDEX_PATHS,
    &INTERNAL_TABLES,
    &NUMBERED_PROCEDURES,
    &NUMBERED_PROCEDURE_PARAMETERS,
    &CHANGE_TRACKING_DATABASES,
    &CHANGE_TRACKING_TABLES,
];

/// sys.partition_functions.
static PARTITION_FUNCTIONS: View = View::empty(
    "partition_functions",
    &[
        ("name", SYSNAME, false),
        ("function_id", Int, false),
        ("type", Char(2), false),
        ("type_desc", NVARCHAR60, true),
        ("fanout", Int, false),
        ("boundary_value_on_right", Bit, false),
        ("is_system", Bit, false),
        ("create_date", DateTime, false),
        ("modify_date", DateTime, false),
    ],
);

/// sys.partition_schemes.
static PARTITION_SCHEMES: View = View::empty(
    "partition_schemes",
    &[
        ("name", SYSNAME, false),
        ("data_space_id", Int, false),
        ("type", Char(2), false),
        ("type_desc", NVARCHAR60, true),
        ("is_default", Bit, true),
        ("is_system", Bit, true),
        ("function_id", Int, false),
    ],
);

/// sys.partition_range_values.
static PARTITION_RANGE_VALUES: View = View::empty(
    "partition_range_values",
    &[
        ("function_id", Int, false),
        ("boundary_id", Int, false),
        ("parameter_id", Int, false),
        ("value", SqlVariant, true),
    ],
);

/// sys.partition_parameters.
static PARTITION_PARAMETERS: View = View::empty(
    "partition_parameters",
    &[
        ("function_id", Int, false),
        ("parameter_id", Int, false),
        ("system_type_id", TinyInt, false),
        ("max_length", SmallInt, false),
        ("precision", TinyInt, false),
        ("scale", TinyInt, false),
        ("collation_name", SYSNAME, true),
        ("user_type_id", Int, false),
    ],
);

/// sys.destination_data_spaces.
static DESTINATION_DATA_SPACES: View = View::empty(
    "destination_data_spaces",
    &[
        ("partition_scheme_id", Int, false),
        ("destination_id", Int, false),
        ("data_space_id", Int, false),
    ],
);

/// sys.column_store_row_groups.
static COLUMN_STORE_ROW_GROUPS: View = View::empty(
    "column_store_row_groups",
    &[
        ("object_id", Int, false),
        ("index_id", Int, false),
        ("partition_number", Int, false),
        ("row_group_id", Int, true),
        ("delta_store_hobt_id", BigInt, true),
        ("state", TinyInt, true),
        ("state_description", NVARCHAR60, true),
        ("total_rows", BigInt, true),
        ("deleted_rows", BigInt, true),
        ("size_in_bytes", BigInt, true),
    ],
);

/// sys.column_store_segments.
static COLUMN_STORE_SEGMENTS: View = View::empty(
    "column_store_segments",
    &[
        ("partition_id", BigInt, false),
        ("hobt_id", BigInt, true),
        ("column_id", Int, true),
        ("segment_id", Int, true),
        ("version", Int, true),
        ("encoding_type", Int, true),
        ("row_count", Int, true),
        ("has_nulls", Int, true),
        ("base_id", BigInt, true),
        ("magnitude", Float, true),
        ("primary_dictionary_id", Int, true),
        ("secondary_dictionary_id", Int, true),
        ("min_data_id", BigInt, true),
        ("max_data_id", BigInt, true),
        ("null_value", BigInt, true),
        ("on_disk_size", BigInt, true),
    ],
);

/// sys.selective_xml_index_paths.
static SELECTIVE_XML_INDEX_PATHS: View = View::empty(
    "selective_xml_index_paths",
    &[
        ("object_id", Int, false),
        ("index_id", Int, false),
        ("path_id", Int, false),
        ("path", NVarChar(Len::N(4000)), true),
        ("name", SYSNAME, false),
        ("path_type", TinyInt, true),
        ("path_type_desc", SYSNAME, true),
        ("xml_component_id", Int, true),
        ("xquery_type_description", NVarChar(Len::N(4000)), true),
        ("is_xquery_type_inferred", Bit, true),
        ("xquery_max_length", SmallInt, true),
        ("is_xquery_max_length_inferred", Bit, true),
        ("is_node", Bit, true),
        ("system_type_id", TinyInt, true),
        ("user_type_id", TinyInt, true),
        ("max_length", SmallInt, true),
        ("precision", TinyInt, true),
        ("scale", TinyInt, true),
        ("collation_name", SYSNAME, true),
        ("is_singleton", Bit, true),
    ],
);

/// sys.internal_tables.
static INTERNAL_TABLES: View = View::empty(
    "internal_tables",
    &[
        ("name", SYSNAME, false),
        ("object_id", Int, false),
        ("principal_id", Int, true),
        ("schema_id", Int, false),
        ("parent_object_id", Int, false),
        ("type", Char(2), true),
        ("type_desc", NVARCHAR60, true),
        ("create_date", DateTime, false),
        ("modify_date", DateTime, false),
        ("is_ms_shipped", Bit, false),
        ("is_published", Bit, false),
        ("is_schema_published", Bit, false),
        ("internal_type", TinyInt, true),
        ("internal_type_desc", NVARCHAR60, true),
        ("parent_id", Int, true),
        ("parent_minor_id", Int, true),
        ("lob_data_space_id", Int, false),
        ("filestream_data_space_id", Int, true),
    ],
);

/// sys.numbered_procedures.
static NUMBERED_PROCEDURES: View = View::empty(
    "numbered_procedures",
    &[
        ("object_id", Int, false),
        ("procedure_number", SmallInt, true),
        ("definition", NVarChar(Len::Max), true),
    ],
);

/// sys.numbered_procedure_parameters.
static NUMBERED_PROCEDURE_PARAMETERS: View = View::empty(
    "numbered_procedure_parameters",
    &[
        ("object_id", Int, false),
        ("procedure_number", SmallInt, true),
        ("name", SYSNAME, true),
        ("parameter_id", Int, false),
        ("system_type_id", TinyInt, false),
        ("user_type_id", Int, false),
        ("max_length", SmallInt, false),
        ("precision", TinyInt, false),
        ("scale", TinyInt, false),
        ("is_output", Bit, false),
        ("is_cursor_ref", Bit, false),
    ],
);

/// sys.change_tracking_databases.
static CHANGE_TRACKING_DATABASES: View = View::empty(
    "change_tracking_databases",
    &[
        ("database_id", Int, false),
        ("is_auto_cleanup_on", TinyInt, true),
        ("retention_period", Int, true),
        ("retention_period_units", TinyInt, true),
        ("retention_period_units_desc", NVARCHAR60, true),
        ("max_cleanup_version", BigInt, true),
    ],
);

/// sys.change_tracking_tables.
static CHANGE_TRACKING_TABLES: View = View::empty(
    "change_tracking_tables",
    &[
        ("object_id", Int, false),
        ("is_track_columns_updated_on", Bit, false),
        ("begin_version", BigInt, true),
        ("cleanup_version", BigInt, true),
        ("min_valid_version", BigInt, true),
    ],
);
