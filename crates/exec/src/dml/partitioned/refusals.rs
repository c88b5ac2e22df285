//! What SQL Server says of a view that is no partitioned one, and of a change that it does not let
//! through one that is.

use catalog::{Db, ModuleDef, TableDef};
use syntax::ast::Target;
use types::SqlError;

/// A view as these messages name it.
pub fn view_name(db: &Db, view: &ModuleDef) -> String {
    format!("{}.{}.{}", db.name(), view.schema, view.name)
}

/// A table as these messages name it.
pub fn table_name(db: &Db, table: &TableDef) -> String {
    format!("[{}].[{}].[{}]", db.name(), table.schema, table.name)
}

fn refused(number: i32, state: u8, text: String) -> SqlError {
    SqlError::new(number, 16, state, text)
}

fn not_updatable(number: i32, state: u8, view: &str, why: &str) -> SqlError {
    refused(number, state, format!("UNION ALL view '{view}' is not updatable because {why}"))
}

fn not_changeable(number: i32, state: u8, view: &str, why: &str) -> SqlError {
    refused(number, state, format!("Partitioned view '{view}' is not updatable because {why}"))
}

/// 417.
pub fn with_top() -> SqlError {
    let text = "TOP is not allowed in an UPDATE or DELETE statement against a partitioned view.";
    refused(417, 1, text.into())
}

/// 489; the view as the statement names it.
pub fn with_output(view: &str) -> SqlError {
    let text = format!(
        "The OUTPUT clause cannot be specified because the target view \"{view}\" is a partitioned view."
    );
    refused(489, 1, text)
}

/// 5317.
pub fn merge_target() -> SqlError {
    refused(5317, 1, "The target of a MERGE statement cannot be a partitioned view.".into())
}

/// 4431.
pub fn row_version(view: &str, table: &str, state: u8) -> SqlError {
    not_changeable(4431, state, view, &format!("table '{table}' has a timestamp column."))
}

/// 4433.
pub fn identity(view: &str, table: &str) -> SqlError {
    let text = format!(
        "Cannot INSERT into partitioned view '{view}' because table '{table}' has an IDENTITY constraint."
    );
    refused(4433, 4, text)
}

/// 4434.
pub fn instead_of(view: &str, table: &str, state: u8) -> SqlError {
    not_changeable(4434, state, view, &format!("table '{table}' has an INSTEAD OF trigger."))
}

/// 4436: no column, or (`outside`) one that is not part of the primary keys.
pub fn no_partitioning_column(view: &str, outside: bool) -> SqlError {
    not_updatable(4436, if outside { 13 } else { 12 }, view, "a partitioning column was not found.")
}

/// 4437.
pub fn bulk_target(view: &str) -> SqlError {
    refused(4437, 4, format!("Partitioned view '{view}' is not updatable as the target of a bulk operation."))
}

/// 4438.
pub fn columns_missing(view: &str, state: u8) -> SqlError {
    not_changeable(4438, state, view, "it does not deliver all columns from its member tables.")
}

/// 4439.
pub fn source_reads(view: &str, table: &str) -> SqlError {
    let why = format!("the source query contains references to partition table '{table}'.");
    not_changeable(4439, 6, view, &why)
}

/// 4440.
pub fn no_primary_key(view: &str, table: &str) -> SqlError {
    not_updatable(4440, 9, view, &format!("a primary key was not found on table '{table}'."))
}

/// 4441.
pub fn computed_index(view: &str, table: &str) -> SqlError {
    not_changeable(4441, 1, view, &format!("the table '{table}' has an index on a computed column."))
}

/// 4442.
pub fn table_twice(view: &str, table: &str) -> SqlError {
    not_updatable(4442, 7, view, &format!("base table '{table}' is used multiple times."))
}

/// 4443.
pub fn column_twice(view: &str, column: &str, table: &str) -> SqlError {
    let why = format!("column '{column}' of base table '{table}' is used multiple times.");
    not_updatable(4443, 8, view, &why)
}

/// 4444.
pub fn key_not_included(view: &str, table: &str) -> SqlError {
    let why = format!("the primary key of table '{table}' is not included in the union result.");
    not_updatable(4444, 10, view, &why)
}

/// 4445.
pub fn key_elsewhere(view: &str, table: &str) -> SqlError {
    let why =
        format!("the primary key of table '{table}' is not unioned with primary keys of preceding tables.");
    not_updatable(4445, 11, view, &why)
}

/// 4448.
pub fn values_missing(view: &str) -> SqlError {
    let text = format!(
        "Cannot INSERT into partitioned view '{view}' because values were not supplied for all columns."
    );
    refused(4448, 17, text)
}

/// 4449.
pub fn with_default() -> SqlError {
    refused(4449, 1, "Using defaults is not allowed in views that contain a set operator.".into())
}

/// 4450.
pub fn identity_moves(view: &str, column: &str, table: &str) -> SqlError {
    let text = format!(
        "Cannot update partitioned view '{view}' because the definition of the view column '{column}' in table '{table}' has \
         an IDENTITY constraint."
    );
    refused(4450, 1, text)
}

/// 4452.
pub fn cascades(column: &str, view: &str, table: &str) -> SqlError {
    let text = format!(
        "Cannot UPDATE partitioning column '{column}' of view '{view}' because the table '{table}' has a CASCADE DELETE or \
         CASCADE UPDATE constraint."
    );
    refused(4452, 21, text)
}

/// 4453.
pub fn triggers(column: &str, view: &str, table: &str) -> SqlError {
    let text = format!(
        "Cannot UPDATE partitioning column '{column}' of view '{view}' because the table '{table}' has a INSERT, UPDATE or \
         DELETE trigger."
    );
    refused(4453, 22, text)
}

/// 4454.
pub fn partitioning_types(view: &str, state: u8) -> SqlError {
    let text = format!(
        "Cannot update the partitioned view \"{view}\" because the partitioning columns of its member tables have mismatched \
         types."
    );
    refused(4454, state, text)
}

/// 4456.
pub fn other_types(view: &str) -> SqlError {
    let text = format!(
        "The partitioned view \"{view}\" is not updatable because one or more of the non-partitioning columns of its member \
         tables have mismatched types."
    );
    refused(4456, 18, text)
}

/// 4457.
pub fn no_partition() -> SqlError {
    let text = "The attempted insert or update of the partitioned view failed because the value of the partitioning column does \
                not belong to any of the partitions.";
    refused(4457, 1, text.into())
}

/// 354; the view as the statement names it.
pub fn nested_change(view: &str) -> SqlError {
    let text = format!(
        "The target '{view}' of the INSERT statement cannot be a view or common table expression when the FROM clause contains a \
         nested INSERT, UPDATE, DELETE, or MERGE statement."
    );
    SqlError::new(354, 15, 1, text)
}

/// A target as the statement names it.
pub fn written(target: &Target) -> String {
    match target {
        Target::Name(name) | Target::Function { name, .. } => name.to_string(),
        Target::Variable(name) => name.to_string(),
    }
}
