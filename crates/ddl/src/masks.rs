//! Masks of columns: MASKED WITH in definitions, ALTER COLUMN ... ADD MASKED and DROP MASKED.
//! Guarantee: a mask in the catalog is one that its column's type takes, written in one way (16002
//! to 16006).

use std::sync::Arc;

use compact_str::CompactString;
use expr::mask::{Mask, NoMask};
use types::{DataType, SqlError, msg};

use super::work::SchemaChange;
use catalog::TableDef;

/// A mask as the catalog keeps it.
///
/// # Errors
/// 16002 to 16006.
pub fn checked(text: &str, column: &str, ty: DataType) -> Result<CompactString, SqlError> {
    let mask = Mask::of_column(text, ty).map_err(|why| match why {
        NoMask::Unknown => SqlError::of(msg::MASK_INVALID, [&column]),
        NoMask::Type(function) => SqlError::of(msg::MASK_TYPE, [&column, &function]),
        NoMask::Count(function) => SqlError::of(msg::MASK_ARGUMENT_COUNT, [&function, &column]),
        NoMask::Argument(function) => SqlError::of(msg::MASK_ARGUMENT, [&function, &column]),
        NoMask::Format(function) => SqlError::of(msg::MASK_FORMAT, [&function, &column]),
    })?;
    Ok(mask.to_string().into())
}

/// Puts a mask in the place of a column's, or takes it away.
///
/// # Errors
/// 16007 there is none to take away; those of [`checked`].
pub fn put(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    at: usize,
    mask: Option<&str>,
) -> Result<(), SqlError> {
    let column = &table.columns[at];
    let mask = match mask {
        Some(text) => Some(checked(text, &column.name, column.ty)?),
        None if column.mask.is_none() => {
            return Err(SqlError::of(msg::NO_MASK, [&column.name]));
        }
        None => None,
    };
    let mut next = TableDef::clone(table);
    next.columns[at].mask = mask;
    work.replace(table, next).map(drop)
}
