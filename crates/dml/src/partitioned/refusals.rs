//! What SQL Server says of a view that is no partitioned one, and of a change that it does not let
//! through one that is.

use catalog::{Db, ModuleDef, TableDef};
use syntax::ast::Target;
use types::{SqlError, msg};

/// A view as these messages name it.
pub fn view_name(db: &Db, view: &ModuleDef) -> String {
    format!("{}.{}.{}", db.name(), view.schema, view.name)
}

/// A table as these messages name it.
pub fn table_name(db: &Db, table: &TableDef) -> String {
    format!("[{}].[{}].[{}]", db.name(), table.schema, table.name)
}

/// 417.
pub fn with_top() -> SqlError {
    SqlError::of(msg::TOP_ON_PARTITIONED_VIEW, [])
}

/// 489; the view as the statement names it.
pub fn with_output(view: &str) -> SqlError {
    SqlError::of(msg::OUTPUT_OF_PARTITIONED_VIEW, [&view])
}

/// 5317.
pub fn merge_target() -> SqlError {
    SqlError::of(msg::MERGE_INTO_PARTITIONED, [])
}

/// 4431.
pub fn row_version(view: &str, table: &str, state: u8) -> SqlError {
    SqlError::of(msg::PARTITIONED_TIMESTAMP, [&view, &table]).state(state)
}

/// 4433.
pub fn identity(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_INSERT_IDENTITY, [&view, &table])
}

/// 4434.
pub fn instead_of(view: &str, table: &str, state: u8) -> SqlError {
    SqlError::of(msg::PARTITIONED_INSTEAD_OF, [&view, &table]).state(state)
}

/// 4436: no column, or (`outside`) one that is not part of the primary keys.
pub fn no_partitioning_column(view: &str, outside: bool) -> SqlError {
    SqlError::of(msg::PARTITIONED_NO_COLUMN, [&view]).state(if outside { 13 } else { 12 })
}

/// 4437.
pub fn bulk_target(view: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_BULK, [&view])
}

/// 4438.
pub fn columns_missing(view: &str, state: u8) -> SqlError {
    SqlError::of(msg::PARTITIONED_COLUMNS_LEFT_OUT, [&view]).state(state)
}

/// 4439.
pub fn source_reads(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_READS_ITSELF, [&view, &table])
}

/// 4440.
pub fn no_primary_key(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_NO_PRIMARY_KEY, [&view, &table])
}

/// 4441.
pub fn computed_index(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_COMPUTED_INDEX, [&view, &table])
}

/// 4442.
pub fn table_twice(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_TABLE_TWICE, [&view, &table])
}

/// 4443.
pub fn column_twice(view: &str, column: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_COLUMN_TWICE, [&view, &column, &table])
}

/// 4444.
pub fn key_not_included(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_KEY_LEFT_OUT, [&view, &table])
}

/// 4445.
pub fn key_elsewhere(view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_KEYS_DIFFER, [&view, &table])
}

/// 4448.
pub fn values_missing(view: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_INSERT_INCOMPLETE, [&view])
}

/// 4449.
pub fn with_default() -> SqlError {
    SqlError::of(msg::DEFAULTS_IN_SET_VIEW, [])
}

/// 4450.
pub fn identity_moves(view: &str, column: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_UPDATE_IDENTITY, [&view, &column, &table])
}

/// 4452.
pub fn cascades(column: &str, view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_UPDATE_CASCADE, [&column, &view, &table])
}

/// 4453.
pub fn triggers(column: &str, view: &str, table: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_UPDATE_TRIGGER, [&column, &view, &table])
}

/// 4454.
pub fn partitioning_types(view: &str, state: u8) -> SqlError {
    SqlError::of(msg::PARTITIONED_COLUMN_TYPES, [&view]).state(state)
}

/// 4456.
pub fn other_types(view: &str) -> SqlError {
    SqlError::of(msg::PARTITIONED_OTHER_TYPES, [&view])
}

/// 4457.
pub fn no_partition() -> SqlError {
    SqlError::of(msg::PARTITIONED_NO_PARTITION, [])
}

/// 354; the view as the statement names it.
pub fn nested_change(view: &str) -> SqlError {
    SqlError::of(msg::NESTED_CHANGE_INTO_VIEW, [&view])
}

/// A target as the statement names it.
pub fn written(target: &Target) -> String {
    match target {
        Target::Name(name) | Target::Function { name, .. } => name.to_string(),
        Target::Variable(name) => name.to_string(),
    }
}
