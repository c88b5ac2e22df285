//! What neither a table with system versioning nor its history may go through: to be dropped or
//! emptied, and columns that come, go or change.

use std::sync::Arc;

use catalog::temporal::Temporal;
use catalog::{ColumnDef, Db, TableDef};
use types::{SqlError, msg};

/// `database.schema.table`.
pub fn full_name(db: &Db, table: &TableDef) -> String {
    format!("{}.{}", db.name(), table.full_name())
}

/// 13552, 13545: a table that is dropped or truncated.
pub fn check_free(db: &Db, table: &TableDef, truncated: bool) -> Result<(), SqlError> {
    match (table.temporal, truncated) {
        (Temporal::None, _) => Ok(()),
        (_, false) => Err(SqlError::of(msg::DROP_VERSIONED, [&full_name(db, table)])),
        (_, true) => Err(SqlError::of(msg::TRUNCATE_VERSIONED, [&full_name(db, table)])),
    }
}

/// 13550: a column that is added to a history.
pub fn check_may_add(db: &Db, table: &TableDef) -> Result<(), SqlError> {
    match table.temporal.is_history() {
        false => Ok(()),
        true => Err(SqlError::of(msg::ADD_COLUMN_VERSIONED, [&full_name(db, table)])),
    }
}

/// 13551, 13588: a column that is dropped.
pub fn check_may_drop(db: &Db, table: &TableDef, at: usize) -> Result<(), SqlError> {
    if table.temporal.is_history() {
        return Err(SqlError::of(msg::DROP_COLUMN_VERSIONED, [&full_name(db, table)]));
    }
    let column = &table.columns[at];
    if column.generated.is_none() {
        return Ok(());
    }
    Err(SqlError::of(msg::DROP_PERIOD_COLUMN, [&column.name, &full_name(db, table)]))
}

/// 13548, 13599: a column that becomes another.
pub fn check_may_alter(db: &Db, table: &TableDef, column: &ColumnDef) -> Result<(), SqlError> {
    if table.temporal.is_history() {
        return Err(SqlError::of(
            msg::ALTER_COLUMN_VERSIONED,
            [&column.name, &full_name(db, table)],
        ));
    }
    if column.generated.is_some() {
        return Err(SqlError::of(msg::ALTER_PERIOD_COLUMN, [&column.name]));
    }
    Ok(())
}

/// The history of a versioned table.
pub fn history_of(db: &Db, table: &TableDef) -> Option<Arc<TableDef>> {
    table.temporal.history().and_then(|id| db.catalog().by_id.get(&id).cloned())
}
