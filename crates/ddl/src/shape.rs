//! How large a table's rows may be: columns, bytes of the fixed ones. Guarantees: no statement
//! gives a table more than that; one that has more, of an older version, may be changed to anything
//! smaller.

use types::{RowLayout, SqlError, msg};

use catalog::{ColumnDef, TableDef};

/// Most columns of a table.
pub(crate) const MAX_COLUMNS: usize = 1024;

/// Longest row that the declared fixed columns may need.
const MAX_FIXED_ROW: usize = 8060;

/// Checks what a table is made of. Errors: 1702 a column too many, 1701 rows too long.
pub(super) fn check(
    table: &str,
    columns: &[ColumnDef],
    layout: &RowLayout,
) -> Result<(), SqlError> {
    if let Some(column) = columns.get(MAX_COLUMNS) {
        return Err(too_many_columns(table, &column.name));
    }
    match layout.min_row_size() {
        size if size > MAX_FIXED_ROW => Err(row_too_wide(table, size)),
        _ => Ok(()),
    }
}

/// Checks what a table becomes. Errors: those of [`check`].
pub fn check_change(before: &TableDef, after: &TableDef) -> Result<(), SqlError> {
    let grows = after.columns.len() > before.columns.len()
        || after.layout.min_row_size() > before.layout.min_row_size();
    if grows { check(&after.name, &after.columns, &after.layout) } else { Ok(()) }
}

/// 1708, a warning: rows of a new table may be too long with all their values outside that may be
/// there.
pub fn warning(table: &TableDef, shown: &str) -> Option<SqlError> {
    table
        .may_be_too_long()
        .then(|| SqlError::of(msg::MAXIMUM_ROW_SIZE_WARNING, [&shown, &MAX_FIXED_ROW]))
}

/// 1702; its text says CREATE TABLE for every statement.
pub(crate) fn too_many_columns(table: &str, column: &str) -> SqlError {
    SqlError::of(msg::TOO_MANY_COLUMNS, [&column, &table, &MAX_COLUMNS])
}

/// 1701.
fn row_too_wide(table: &str, size: usize) -> SqlError {
    SqlError::of(msg::MINIMUM_ROW_SIZE, [&table, &size, &MAX_FIXED_ROW])
}
