//! Checks of a whole table: how many columns, primary keys, clustered indexes, identity and
//! rowversion columns it has.

use syntax::ast::{Constraint, ConstraintKind, CreateTable, TableElement};
use types::{DataType, SqlError, msg};

use super::key::nullable_key;
use super::traits::check_one_rowguid;
use crate::shape::{MAX_COLUMNS, too_many_columns};
use catalog::{KeyConstraint, NewIndex, NewTable, fold_name};

/// 8112: two constraints that say CLUSTERED.
pub(super) fn check_clustered(stmt: &CreateTable) -> Result<(), SqlError> {
    let clustered =
        |c: &&Constraint| matches!(c.kind, ConstraintKind::Key { clustered: Some(true), .. });
    let count = |element: &TableElement| match element {
        TableElement::Column(column) => column.constraints.iter().filter(clustered).count(),
        TableElement::Constraint(constraint) => usize::from(clustered(&constraint)),
        TableElement::Index(_) | TableElement::Period { .. } => 0,
    };
    if stmt.elements.iter().map(count).sum::<usize>() > 1 {
        return Err(two_clustered(&stmt.name.name.value));
    }
    Ok(())
}

/// 8111: a PRIMARY KEY over a column that says NULL.
pub(super) fn check_primary_key(stmt: &CreateTable, table: &NewTable) -> Result<(), SqlError> {
    let says_null = |name: &str| {
        stmt.elements.iter().any(|element| match element {
            TableElement::Column(column) => {
                column.nullable == Some(true) && fold_name(&column.name.value) == fold_name(name)
            }
            _ => false,
        })
    };
    let primary =
        table.indexes.iter().filter(|index| index.constraint == Some(KeyConstraint::Primary));
    let mut columns = primary.flat_map(|index| &index.key).map(|(at, _)| &table.columns[*at]);
    if columns.any(|column| says_null(&column.name)) {
        Err(nullable_key(&table.name))
    } else {
        Ok(())
    }
}

/// 8112.
fn two_clustered(table: &str) -> SqlError {
    SqlError::of(msg::SEVERAL_CLUSTERED_CONSTRAINTS, [&table])
}

/// 1702: a column too many.
pub(super) fn check_count(table: &NewTable) -> Result<(), SqlError> {
    let too_many = table.columns.get(MAX_COLUMNS);
    too_many.map_or(Ok(()), |column| Err(too_many_columns(&table.name, &column.name)))
}

pub(super) fn check_table(table: &mut NewTable) -> Result<(), SqlError> {
    let name = &table.name;
    if table.columns.iter().filter(|c| c.identity.is_some()).count() > 1 {
        return Err(SqlError::of(msg::SEVERAL_IDENTITY_COLUMNS, [&name]));
    }
    check_one_rowguid(table.columns.iter().map(|c| c.traits))?;
    let mut versions = table.columns.iter().filter(|c| c.ty == DataType::RowVersion);
    if let (Some(_), Some(second)) = (versions.next(), versions.next()) {
        return Err(second_row_version(name, &second.name));
    }
    let primary = |i: &&NewIndex| i.constraint == Some(KeyConstraint::Primary);
    if table.indexes.iter().filter(primary).count() > 1 {
        return Err(SqlError::of(msg::SEVERAL_PRIMARY_KEYS, [&name]));
    }
    // A PRIMARY KEY that does not say so is clustered only if nothing else is.
    let others = table.indexes.iter().filter(|i| i.clustered && !primary(i)).count();
    if others > 1 {
        return Err(two_clustered(name));
    }
    if others == 1 {
        for index in
            table.indexes.iter_mut().filter(|i| i.constraint == Some(KeyConstraint::Primary))
        {
            index.clustered = false;
        }
    }
    // The clustered index is built first: the others' rows point through its key.
    table.indexes.sort_by_key(|i| !i.clustered);
    Ok(())
}

/// 2738: a table has one rowversion column.
pub fn second_row_version(table: &str, column: &str) -> SqlError {
    SqlError::of(msg::TWO_TIMESTAMP_COLUMNS, [&table, &column])
}
