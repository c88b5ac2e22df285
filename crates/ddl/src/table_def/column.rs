//! One column of a new table: its type, nullability, collation, IDENTITY and DEFAULT.

use syntax::ast::{ColumnDef, ConstraintKind, Identity, IndexColumn};
use types::{DataType, SqlError, msg};

use super::ColumnDefaults;
use super::key::nullable_key;
use super::text::new_default;
use super::traits::traits_of;
use crate::masks;
use bind::type_names::alias_id;
use catalog::{NewColumn, fold_name};

/// One column with its DEFAULT and IDENTITY; keys after it are [`add_column_keys`]'s.
pub fn new_column(
    column: &ColumnDef,
    table: &str,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewColumn, SqlError> {
    if column.computed.is_some() {
        return Err(SqlError::internal("a computed column has no definition of its own"));
    }
    check_said_once(column, table)?;
    let (ty, nullable) = match &column.data_type {
        Some(name) => bind::type_names::type_of(name, &defaults.catalog)?,
        // A column that is called timestamp is one.
        None if column.name.is("timestamp") => (DataType::RowVersion, None),
        None => {
            return Err(SqlError::of(msg::COLUMN_WITHOUT_TYPE, [&column.name]));
        }
    };
    let nullable =
        column.nullable.or(nullable).unwrap_or(defaults.nullable && ty != DataType::RowVersion);
    let nullable = nullable && (column.generated.is_none() || column.nullable.is_some());
    let mut new = NewColumn::new(column.name.value.clone(), ty, nullable);
    let declared = column.data_type.as_ref();
    new.alias = declared.and_then(|name| alias_id(name, &defaults.catalog));
    new.collation = defaults.collation;
    new.generated = column.generated;
    if let Some(name) = &column.collation {
        new.collation = bind::type_names::collation(name, defaults.db.default_collation(), 3)?;
    }
    if let Some(mask) = &column.mask {
        new.mask = Some(masks::checked(mask, &new.name, new.ty)?);
    }
    if let Some(identity) = &column.identity {
        new.identity = Some(identity_of(identity, &new, column.nullable)?);
        new.nullable = false;
    }
    for constraint in &column.constraints {
        match &constraint.kind {
            ConstraintKind::Default { expr, .. } => {
                if new.default.is_some() {
                    return Err(SqlError::of(msg::SEVERAL_DEFAULTS, [&new.name, &table]));
                }
                if new.identity.is_some() {
                    return Err(default_of_identity(table, &new.name));
                }
                check_default_type(&new, table)?;
                new.default = Some(new_default(constraint, expr, batch));
            }
            ConstraintKind::Key { primary: true, columns, .. } if is_in_key(columns, &new.name) => {
                if column.nullable == Some(true) {
                    return Err(nullable_key(table));
                }
                new.nullable = false;
            }
            ConstraintKind::Key { .. }
            | ConstraintKind::Check { .. }
            | ConstraintKind::ForeignKey { .. } => {}
        }
    }
    new.traits = traits_of(column, &new, table)?;
    Ok(new)
}

/// 8150, 8151: what a column may say once alone.
fn check_said_once(column: &ColumnDef, table: &str) -> Result<(), SqlError> {
    if column.nullable_twice {
        return Err(SqlError::of(msg::SEVERAL_NULL_CONSTRAINTS, [&column.name, &table]));
    }
    let says = |wanted: bool| {
        column.constraints.iter().any(|constraint| match &constraint.kind {
            ConstraintKind::Key { primary, columns, .. } => {
                columns.is_empty() && *primary == wanted
            }
            _ => false,
        })
    };
    if says(true) && says(false) {
        return Err(SqlError::of(msg::PRIMARY_AND_UNIQUE, [&column.name, &table]));
    }
    Ok(())
}

/// Whether a key that is written after a column is one of it: without a list it is, and a list may
/// leave it out, as where the comma before a key of the table is forgotten.
fn is_in_key(columns: &[IndexColumn], column: &str) -> bool {
    columns.is_empty() || columns.iter().any(|key| fold_name(&key.name.value) == fold_name(column))
}

/// 1754.
pub fn default_of_identity(table: &str, column: &str) -> SqlError {
    SqlError::of(msg::DEFAULT_ON_IDENTITY, [&table, &column])
}

/// 1755: a DEFAULT of a rowversion column.
pub fn check_default_type(column: &NewColumn, table: &str) -> Result<(), SqlError> {
    if column.ty != DataType::RowVersion {
        return Ok(());
    }
    Err(SqlError::of(msg::DEFAULT_ON_TIMESTAMP, [&table, &column.name]))
}

fn identity_of(
    identity: &Identity,
    column: &NewColumn,
    nullable: Option<bool>,
) -> Result<(i64, i64), SqlError> {
    let given = catalog::identity::of_clause(identity, &column.name, column.ty)?;
    if nullable == Some(true) {
        return Err(SqlError::of(msg::IDENTITY_NULLABLE, [&column.name]));
    }
    Ok(given)
}
