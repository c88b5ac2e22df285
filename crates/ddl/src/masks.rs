//! Masks of columns: MASKED WITH in definitions, ALTER COLUMN ... ADD MASKED and DROP MASKED.
//! Guarantee: a mask in the catalog is one that its column's type takes, written in one way (16002 to 16006).

use std::sync::Arc;

use compact_str::CompactString;
use expr::mask::{Mask, NoMask};
use types::{DataType, SqlError};

use super::work::Work;
use catalog::TableDef;

/// A mask as the catalog keeps it.
///
/// # Errors
/// 16002 to 16006.
pub fn checked(text: &str, column: &str, ty: DataType) -> Result<CompactString, SqlError> {
    let mask = Mask::of_column(text, ty).map_err(|why| {
        let (number, text) = match why {
            NoMask::Unknown => (16_002, format!("Invalid data masking function in column '{column}'.")),
            NoMask::Type(function) => (
                16_003,
                format!(
                    "The data type of column '{column}' does not support data masking function '{function}'."
                ),
            ),
            NoMask::Count(function) => (
                16_004,
                format!(
                    "Incorrect number of parameters for data masking function '{function}' for column '{column}'."
                ),
            ),
            NoMask::Argument(function) => (
                16_005,
                format!("Invalid argument for data masking function '{function}' for column '{column}'."),
            ),
            NoMask::Format(function) => (
                16_006,
                format!("Invalid data masking format for function '{function}' in column '{column}'."),
            ),
        };
        SqlError::new(number, 16, 0, text)
    })?;
    Ok(mask.to_string().into())
}

/// Puts a mask in the place of a column's, or takes it away.
///
/// # Errors
/// 16007 there is none to take away; those of [`checked`].
pub fn put(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    at: usize,
    mask: Option<&str>,
) -> Result<(), SqlError> {
    let column = &table.columns[at];
    let mask = match mask {
        Some(text) => Some(checked(text, &column.name, column.ty)?),
        None if column.mask.is_none() => {
            let text = format!("The column '{}' does not have a data masking function.", column.name);
            return Err(SqlError::new(16_007, 16, 0, text));
        }
        None => None,
    };
    let mut next = TableDef::clone(table);
    next.columns[at].mask = mask;
    work.replace(table, next).map(drop)
}
