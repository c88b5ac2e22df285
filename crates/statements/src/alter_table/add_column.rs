//! A column is added to a table that may have rows. Guarantees: a nullable column changes the
//! definition alone; whatever each row must have (a default, a number, a row version) it has when
//! the statement ends.

use std::sync::Arc;

use syntax::ast::{ColumnDef, ConstraintKind};
use types::{DataType, SqlError, msg};

use super::Added;
use super::add_constraint::add_constraint;
use super::columns::column_defaults;
use catalog::given_up::Name;
use catalog::load::layout_of;
use catalog::names::quote;
use catalog::{NewColumn, TableDef};
use ddl::own_queries::has_rows;
use ddl::rebuild::{rewrite, run_dml};
use ddl::table_def::{self, computed};
use ddl::work::Work;

/// A nullable column is added to the definition only: older rows read as NULL. A NOT NULL one is
/// given its default in every row.
pub(super) fn add_column(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &ColumnDef,
    added: Added<'_>,
) -> Result<Arc<TableDef>, SqlError> {
    let defaults = column_defaults(work);
    let mut new = match &column.computed {
        None => table_def::new_column(column, &table.name, added.text, &defaults)?,
        Some(_) => computed::new_computed(
            column,
            ("ALTER TABLE", table.name.as_str()),
            &table_def::new_columns(table),
            added.text,
            &defaults,
        )?,
    };
    check_new(table, &new)?;
    // Its rows get their times before the table makes them.
    new.generated = None;
    // Its rows get their numbers before the column numbers itself.
    let identity = new.identity.take();
    // Its rows get their values before the column is what it is: until then it is plain bytes.
    let row_version = new.ty == DataType::RowVersion;
    if row_version {
        new.ty = DataType::Binary(8);
    }
    let with_values = column
        .constraints
        .iter()
        .any(|c| matches!(c.kind, ConstraintKind::Default { with_values: true, .. }));
    let id = table.columns.iter().map(|c| c.column_id).max().unwrap_or(0) + 1;
    let mut next = TableDef::clone(table);
    next.columns.push(work.column(&table.name, id, &new)?);
    if let Some(computed) = new.computed.clone().filter(|computed| computed.stored) {
        let at = next.columns.len() - 1;
        let mut after = rewrite(work, table, next, Some((at, computed.text.to_string())))?;
        for constraint in &column.constraints {
            after = add_constraint(work, &after, constraint, Some(&new.name), added)?;
        }
        return Ok(after);
    }
    next.layout = layout_of(&next.columns);
    if let Some(name) = new.default.as_ref().and_then(|d| d.name.as_ref()) {
        work.wait_for_name(&Name::object(&table.schema, name))?;
        work.check_free_name(&table.schema, name)?;
    }
    let must_fill =
        (!new.nullable && new.computed.is_none()) || (with_values && new.default.is_some());
    if must_fill && new.default.is_none() && identity.is_none() && !row_version {
        require_empty(work, table, &new.name)?;
    }
    let mut after = work.replace(table, next)?;
    if must_fill && let Some(default) = &new.default {
        let (name, column) = (table_name(&after), quote(&new.name));
        run_dml(work, &format!("UPDATE {name} SET {column} = {}", default.text))?;
    }
    if let Some(identity) = identity {
        after = number_rows(work, &after, identity)?;
    }
    if row_version {
        after = version_rows(work, &after)?;
    }
    for constraint in &column.constraints {
        if !matches!(constraint.kind, ConstraintKind::Default { .. }) {
            after = add_constraint(work, &after, constraint, Some(&new.name), added)?;
        }
    }
    Ok(after)
}

/// Errors: 2705 the table has a column of this name, 2744 an identity column, 8196 a ROWGUIDCOL,
/// 2738 a row version.
fn check_new(table: &TableDef, new: &NewColumn) -> Result<(), SqlError> {
    if table.column(&new.name).is_some() {
        return Err(SqlError::of(msg::DUPLICATE_COLUMN, [&new.name, &table.full_name()]).state(4));
    }
    if new.identity.is_some() && table.columns.iter().any(|c| c.identity.is_some()) {
        return Err(SqlError::of(msg::SEVERAL_IDENTITY_COLUMNS, [&table.name]));
    }
    let traits = table.columns.iter().map(|c| c.traits);
    table_def::check_one_rowguid(traits.chain([new.traits]))?;
    if new.ty == DataType::RowVersion && table.row_version().is_some() {
        return Err(table_def::second_row_version(&table.name, &new.name));
    }
    Ok(())
}

/// Numbers the rows in the order of the clustered index by the table's last column, which is its
/// identity column from then on.
fn number_rows(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    (seed, step): (i64, i64),
) -> Result<Arc<TableDef>, SqlError> {
    let rows = set_last(work, table, &format!("{seed} + ([$number] - 1) * {step}"))?;
    let mut next = TableDef::clone(table);
    if let Some(column) = next.columns.last_mut() {
        column.identity = Some((seed, step));
    }
    let after = work.replace(table, next)?;
    let last = i64::try_from(rows).ok().filter(|rows| *rows > 0);
    let last = last.map(|rows| seed.saturating_add((rows - 1).saturating_mul(step)));
    catalog::identity::set(&work.db, &after, last)?;
    Ok(after)
}

/// Gives each row a row version in the table's last column, which is its rowversion column from
/// then on.
fn version_rows(work: &mut Work<'_>, table: &Arc<TableDef>) -> Result<Arc<TableDef>, SqlError> {
    let rows = set_last(work, table, "0x")?;
    if rows > 0 {
        let txn = work.core.txn(&work.db)?;
        let first = catalog::row_version::next(&work.db, txn, rows)?;
        set_last(
            work,
            table,
            &format!("CONVERT(binary(8), CONVERT(bigint, {first}) + [$number] - 1)"),
        )?;
    }
    let mut next = TableDef::clone(table);
    if let Some(column) = next.columns.last_mut() {
        column.ty = DataType::RowVersion;
    }
    next.layout = layout_of(&next.columns);
    work.replace(table, next)
}

/// Sets a table's last column in all rows; in the value `[$number]` is a row's number in the order
/// of the clustered index. Gives the number of rows.
fn set_last(work: &mut Work<'_>, table: &TableDef, value: &str) -> Result<u64, SqlError> {
    let Some(column) = table.columns.last().map(|c| quote(&c.name)) else {
        return Err(SqlError::internal("a table without columns"));
    };
    let key = table.storage.key.iter().map(|(at, descending)| {
        format!("{}{}", quote(&table.columns[*at].name), if *descending { " DESC" } else { "" })
    });
    let key = key.collect::<Vec<_>>().join(", ");
    let order = if key.is_empty() { "(SELECT NULL)" } else { &key };
    let text = format!(
        "WITH numbered AS (SELECT {column}, ROW_NUMBER() OVER (ORDER BY {order}) AS [$number] FROM {}) \
         UPDATE numbered SET {column} = {value}",
        table_name(table)
    );
    run_dml(work, &text)
}

fn table_name(table: &TableDef) -> String {
    format!("{}.{}", quote(&table.schema), quote(&table.name))
}

/// 4901: NOT NULL without a default only on an empty table.
fn require_empty(work: &mut Work<'_>, table: &Arc<TableDef>, column: &str) -> Result<(), SqlError> {
    if !has_rows(work, table)? {
        return Ok(());
    }
    Err(SqlError::of(msg::ADD_NOT_NULL_COLUMN, [&column, &table.name]))
}
