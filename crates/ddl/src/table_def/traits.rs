//! ROWGUIDCOL, SPARSE and NOT FOR REPLICATION of a column: what may have them.

use syntax::ast::ColumnDef;
use types::{DataType, SqlError, msg};

use catalog::{ColumnTraits, NewColumn, TableDef};

/// What a new column says of itself.
///
/// # Errors
/// 2761, 1731.
pub(crate) fn traits_of(
    column: &ColumnDef,
    new: &NewColumn,
    table: &str,
) -> Result<ColumnTraits, SqlError> {
    let not_for_replication =
        column.identity.as_ref().is_some_and(|identity| identity.not_for_replication);
    let traits =
        ColumnTraits { rowguid: column.rowguidcol, sparse: column.sparse, not_for_replication };
    check(traits, &new.name, (new.ty, new.nullable, new.identity.is_some()), table)?;
    Ok(traits)
}

/// Whether a column of a type, perhaps NULL, perhaps with IDENTITY, may have them.
fn check(
    traits: ColumnTraits,
    column: &str,
    (ty, nullable, identity): (DataType, bool, bool),
    table: &str,
) -> Result<(), SqlError> {
    if traits.rowguid && ty != DataType::UniqueIdentifier {
        return Err(SqlError::of(msg::ROWGUIDCOL_TYPE, []));
    }
    let dense =
        !nullable || identity || traits.rowguid || ty.is_old_lob() || ty == DataType::RowVersion;
    if traits.sparse && dense {
        return Err(SqlError::of(msg::SPARSE_COLUMN_INVALID, [&column, &table]));
    }
    Ok(())
}

/// 8196: a table has one column of ROWGUIDCOL.
///
/// # Errors
/// It has more.
pub fn check_one_rowguid(all: impl Iterator<Item = ColumnTraits>) -> Result<(), SqlError> {
    match all.filter(|traits| traits.rowguid).nth(1) {
        Some(_) => Err(SqlError::of(msg::ROWGUIDCOL_TWICE, [])),
        None => Ok(()),
    }
}

/// ALTER COLUMN ... ADD or DROP of one of them; `None`: the property is another one.
///
/// # Errors
/// 4925, 4926, 2761, 1731.
pub fn altered(
    table: &TableDef,
    at: usize,
    add: bool,
    property: &str,
) -> Result<Option<ColumnTraits>, SqlError> {
    let column = &table.columns[at];
    let mut traits = column.traits;
    match property {
        "ROWGUIDCOL" if add && table.columns.iter().any(|c| c.traits.rowguid) => {
            return Err(SqlError::of(msg::ROWGUIDCOL_EXISTS, [&table.name]));
        }
        "ROWGUIDCOL" if !add && !traits.rowguid => {
            return Err(SqlError::of(msg::ROWGUIDCOL_MISSING, [&table.name]));
        }
        "ROWGUIDCOL" => traits.rowguid = add,
        "SPARSE" if column.computed.is_none() => traits.sparse = add,
        "NOT FOR REPLICATION" if column.identity.is_some() => traits.not_for_replication = add,
        _ => return Ok(None),
    }
    check(
        traits,
        &column.name,
        (column.ty, column.nullable, column.identity.is_some()),
        &table.name,
    )?;
    Ok(Some(traits))
}
