//! Names of indexes and constraints: those that a statement did not give.

use compact_str::CompactString;
use types::{SqlError, msg};

use catalog::KeyConstraint;
pub use catalog::lookups::constraint_names;

pub(super) fn key_name(kind: KeyConstraint, table: &str, table_id: i32, id: i32) -> CompactString {
    let prefix = if kind == KeyConstraint::Primary { "PK" } else { "UQ" };
    let table: String = table.chars().take(9).collect();
    format!("{prefix}__{table}__{table_id:08X}{id:08X}").into()
}

pub(super) fn default_name(table: &str, column: &str, id: i32) -> CompactString {
    let table: String = table.chars().take(9).collect();
    let column: String = column.chars().take(5).collect();
    format!("DF__{table}__{column}__{id:08X}").into()
}

/// 1913: the table has an index of that name.
pub fn duplicate_index(name: &str, table: &str) -> SqlError {
    SqlError::of(msg::INDEX_EXISTS, [&name, &table])
}
