//! ALTER TABLE ... ADD: columns, constraints and a period, one after another.
//! Guarantees: what a versioned table gets its history gets too, or it is refused (13704, 13724).

use std::sync::Arc;

use syntax::ast::{ColumnDef, TableElement};
use types::{DataType, SqlError, msg};

use super::Added;
use super::add_column::add_column;
use super::add_constraint::add_constraint;
use catalog::{Db, TableDef};
use ddl::rebuild::rewrite;
use ddl::work::Work;
use ddl::{periods, temporal, versioned};

/// Adds columns and constraints, those columns to the history too; a period when its columns are
/// there.
pub(super) fn add_elements(
    work: &mut Work<'_>,
    mut table: Arc<TableDef>,
    elements: &[TableElement],
    added: Added<'_>,
) -> Result<(), SqlError> {
    let period = periods::period_of(elements)?;
    let mut hidden = (false, false);
    for element in elements {
        work.core.check_cancel()?;
        match element {
            // Indexes come behind all columns.
            TableElement::Period { .. } | TableElement::Index(_) => {}
            TableElement::Column(column) => {
                if let Some(generated) = column.generated {
                    if period.is_none() {
                        return Err(SqlError::of(msg::GENERATED_WITHOUT_PERIOD, []));
                    }
                    let side = if generated.end { &mut hidden.1 } else { &mut hidden.0 };
                    *side = generated.hidden;
                }
                versioned::check_may_add(&work.db, &table)?;
                let history = versioned::history_of(&work.db, &table);
                if let Some(history) = &history {
                    check_may_add_past(&work.db, column, history)?;
                }
                table = add_column(work, &table, column, added)?;
                if let Some(history) = history {
                    add_past_column(work, &table, &history)?;
                }
            }
            TableElement::Constraint(constraint) => {
                table = add_constraint(work, &table, constraint, None, added)?;
            }
        }
    }
    match period {
        None => Ok(()),
        Some((start, end)) => {
            temporal::add_period(work, &table, (&start.value, &end.value), hidden).map(drop)
        }
    }
}

/// 13704, 13724: a column that a history cannot have.
fn check_may_add_past(db: &Db, column: &ColumnDef, history: &TableDef) -> Result<(), SqlError> {
    if column.computed.is_some() {
        return Err(SqlError::of(msg::VERSIONED_ADD_COMPUTED, []));
    }
    if column.identity.is_some() {
        return Err(SqlError::of(
            msg::VERSIONED_ADD_IDENTITY,
            [&versioned::full_name(db, history)],
        ));
    }
    Ok(())
}

/// Gives a history the column that its table has got last: NULL in older rows, or the value that
/// the table's rows have got.
fn add_past_column(
    work: &mut Work<'_>,
    table: &TableDef,
    history: &Arc<TableDef>,
) -> Result<(), SqlError> {
    work.lock_current(history)?;
    let Some(column) = table.columns.last() else { return Ok(()) };
    let id = history.columns.iter().map(|c| c.column_id).max().unwrap_or(0) + 1;
    let ty = if column.ty == DataType::RowVersion { DataType::Binary(8) } else { column.ty };
    let mut next = TableDef::clone(history);
    next.columns.push(catalog::ColumnDef {
        column_id: id,
        ty,
        default: None,
        identity: None,
        computed: None,
        generated: None,
        mask: None,
        ..column.clone()
    });
    let at = next.columns.len() - 1;
    let value = match &column.default {
        Some(default) if !column.nullable => default.text.to_string(),
        _ if column.nullable => "NULL".to_string(),
        _ => "0x".to_string(),
    };
    rewrite(work, history, next, Some((at, value))).map(drop)
}
