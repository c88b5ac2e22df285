//! Keys and indexes of a new table: their columns and options; foreign keys. Guarantees: a key
//! names columns that are there, each once, and of a type that a key can have (1904, 1909, 1911,
//! 1919).

use compact_str::CompactString;
use syntax::ast::{Constraint, ConstraintKind, IndexColumn, InlineIndex};
use types::{SqlError, msg};

use super::computed;
use super::{ColumnDefaults, find, no_column};
use crate::index_options;
use bind::filter::Filtered;
use catalog::{KeyConstraint, NewColumn, NewForeignKey, NewIndex, NewTable};

const MAX_KEY_COLUMNS: usize = 32;

/// A FOREIGN KEY constraint, of `column` when it is written after one.
pub fn new_foreign_key(
    constraint: &Constraint,
    column: Option<&str>,
) -> Result<NewForeignKey, SqlError> {
    let ConstraintKind::ForeignKey { columns, table, references, on_delete, on_update } =
        &constraint.kind
    else {
        return Err(SqlError::internal("a foreign key was expected"));
    };
    let own = match column {
        Some(column) if columns.is_empty() => vec![CompactString::from(column)],
        _ => columns.iter().map(|c| c.value.clone()).collect(),
    };
    Ok(NewForeignKey {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        columns: own,
        parent: table.clone(),
        keys: references.iter().map(|c| c.value.clone()).collect(),
        on_delete: *on_delete,
        on_update: *on_update,
        not_for_replication: constraint.not_for_replication,
    })
}

/// The index of a PRIMARY KEY or UNIQUE constraint over these columns.
pub fn key_constraint(
    columns: &[NewColumn],
    table: &str,
    constraint: &Constraint,
    column: Option<&str>,
) -> Result<NewIndex, SqlError> {
    let ConstraintKind::Key { primary, clustered, columns: keys, options, .. } = &constraint.kind
    else {
        return Err(SqlError::internal("a key constraint was expected"));
    };
    let key = match (keys.is_empty(), column) {
        (true, Some(name)) => {
            let at = find(columns, name).ok_or_else(|| no_column(name))?;
            check_key(&columns[at], table)?;
            vec![(at, false)]
        }
        _ => key_columns(columns, keys, table)?,
    };
    let (fill_factor, options) = index_options::of_new(options, true, None)?;
    Ok(NewIndex {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        unique: true,
        clustered: clustered.unwrap_or(*primary),
        key,
        included: Vec::new(),
        constraint: Some(if *primary { KeyConstraint::Primary } else { KeyConstraint::Unique }),
        fill_factor,
        options,
        filter: None,
    })
}

pub(super) fn add_inline_index(
    table: &mut NewTable,
    index: &InlineIndex,
    column: Option<&str>,
    defaults: &ColumnDefaults,
) -> Result<(), SqlError> {
    let filtered = index.filter.as_ref().map(|_| (index.name.value.as_str(), table.name.as_str()));
    let (fill_factor, options) = index_options::of_new(&index.options, index.unique, filtered)?;
    let filter = match &index.filter {
        None => None,
        Some(e) => {
            let of = Filtered { what: "index", name: &index.name.value, table: &table.name };
            Some(computed::new_filter(defaults.functions, &defaults.db, of, &table.columns, e)?)
        }
    };
    let key = match (index.columns.is_empty(), column) {
        (true, Some(name)) => {
            let at = find(&table.columns, name).ok_or_else(|| no_column(name))?;
            check_key(&table.columns[at], &table.name)?;
            vec![(at, false)]
        }
        _ => key_columns(&table.columns, &index.columns, &table.name)?,
    };
    let mut included = Vec::new();
    for name in &index.include {
        let at = find(&table.columns, &name.value).ok_or_else(|| no_column(&name.value))?;
        check_included(&table.columns[at], &table.name)?;
        check_once(&name.value, at, &key, &included)?;
        included.push(at);
    }
    table.indexes.push(NewIndex {
        name: Some(index.name.value.clone()),
        unique: index.unique,
        clustered: index.clustered == Some(true),
        key,
        included,
        constraint: None,
        fill_factor,
        options,
        filter,
    });
    Ok(())
}

/// Positions of an index's key columns. Errors: 1911 unknown, 1909 twice, 1904 too many, 1919 a
/// (max) column.
pub fn key_columns(
    columns: &[NewColumn],
    keys: &[IndexColumn],
    table: &str,
) -> Result<Vec<(usize, bool)>, SqlError> {
    let mut out: Vec<(usize, bool)> = Vec::with_capacity(keys.len());
    for key in keys {
        let name = &key.name.value;
        let at = find(columns, name).ok_or_else(|| no_column(name))?;
        check_once(name, at, &out, &[])?;
        check_key(&columns[at], table)?;
        out.push((at, key.descending));
    }
    if out.is_empty() || out.len() > MAX_KEY_COLUMNS {
        return Err(SqlError::of(
            msg::TOO_MANY_KEY_COLUMNS,
            [&table, &out.len(), &MAX_KEY_COLUMNS],
        ));
    }
    Ok(out)
}

/// 1909: a column that is in an index already.
pub fn check_once(
    name: &str,
    at: usize,
    key: &[(usize, bool)],
    included: &[usize],
) -> Result<(), SqlError> {
    if !key.iter().any(|(seen, _)| *seen == at) && !included.contains(&at) {
        return Ok(());
    }
    Err(SqlError::of(msg::DUPLICATE_INDEX_COLUMN, [&"index", &name]))
}

/// 1919: a column that no index can have in its key.
fn check_key(column: &NewColumn, table: &str) -> Result<(), SqlError> {
    if !column.ty.is_lob() {
        return Ok(());
    }
    Err(SqlError::of(msg::KEY_COLUMN_TYPE, [&column.name, &table]))
}

/// 1999: a column that no index can have besides its key.
pub fn check_included(column: &NewColumn, table: &str) -> Result<(), SqlError> {
    if !column.ty.is_old_lob() {
        return Ok(());
    }
    Err(SqlError::of(msg::INCLUDED_COLUMN_TYPE, [&column.name, &table]))
}

/// 8111: a primary key over a column that allows NULL.
pub fn nullable_key(table: &str) -> SqlError {
    SqlError::of(msg::PRIMARY_KEY_NULLABLE, [&table])
}
