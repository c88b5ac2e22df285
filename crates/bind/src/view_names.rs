//! The names of the columns of a module that gives a query's rows: a view, a function in FROM.
//! Guarantee: each column has a name, and no two have the same.

use catalog::{ModuleDef, fold_name};
use compact_str::CompactString;
use logical::tree::OutColumn;
use std::collections::HashSet;
use syntax::ast;
use types::{SqlError, msg};

/// The names of a view's columns: those that it keeps, as far as there are columns.
///
/// Errors: 4502 more names than columns, 8158 fewer, 4511 a column without a name, 4506 a name
/// twice.
pub(super) fn view_names(
    view: &ModuleDef,
    names: &[ast::Ident],
    columns: &[OutColumn],
) -> Result<Vec<CompactString>, SqlError> {
    if let Some(kept) = &view.columns {
        return match kept.len() > columns.len() {
            true => Err(SqlError::of(msg::VIEW_TOO_MANY_NAMES, [&view.name])),
            false => Ok(kept.to_vec()),
        };
    }
    if !names.is_empty() && names.len() != columns.len() {
        let message = match names.len() > columns.len() {
            true => msg::VIEW_TOO_MANY_NAMES,
            false => msg::MORE_COLUMNS_THAN_NAMES,
        };
        return Err(SqlError::of(message, [&view.name]));
    }
    let mut known = HashSet::with_capacity(columns.len());
    let mut out: Vec<CompactString> = Vec::with_capacity(columns.len());
    for (i, column) in columns.iter().enumerate() {
        let name = names.get(i).map_or_else(|| column.name.clone(), |n| n.value.clone());
        if name.is_empty() {
            return Err(SqlError::of(msg::VIEW_COLUMN_WITHOUT_NAME, [&(i + 1)]));
        }
        if !known.insert(fold_name(&name)) {
            return Err(SqlError::of(msg::VIEW_DUPLICATE_COLUMN, [&name, &view.name]));
        }
        out.push(name);
    }
    Ok(out)
}

/// Gives columns their names. Those that came to `*` since their view was made have none, and go.
pub(super) fn call_columns(columns: &mut Vec<OutColumn>, names: Vec<CompactString>) {
    columns.truncate(names.len());
    for (column, name) in columns.iter_mut().zip(names) {
        column.name = name;
    }
}
