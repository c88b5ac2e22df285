//! ALTER TABLE ... DROP: columns, constraints, the period.
//! Guarantees: nothing goes that something else needs (5074, 13557).

use std::sync::Arc;

use syntax::ast::DropElement;
use types::{SqlError, msg};

use crate::index::drop_from;
use crate::statistics::check_no_statistics;
use catalog::fold_name;
use catalog::{IndexDef, TableDef};
use ddl::rebuild::rewrite;
use ddl::table_def::computed;
use ddl::work::Work;
use ddl::{constraints, foreign_keys, option_rules, schemabinding, temporal, versioned};

pub(super) fn drop_element(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    element: &DropElement,
) -> Result<Arc<TableDef>, SqlError> {
    match element {
        DropElement::Constraint { name, if_exists, options } => {
            option_rules::check("ALTER TABLE", options, option_rules::DROP_INDEX)?;
            let folded = fold_name(&name.value);
            let key = table
                .all_indexes()
                .find(|i| {
                    fold_name(&i.name) == folded
                        && (i.primary_key.or(i.unique_constraint)).is_some()
                })
                .cloned();
            if let Some(index) = key {
                if index.primary_key.is_some() && table.temporal.is_versioned() {
                    return Err(SqlError::of(
                        msg::DROP_PRIMARY_KEY_VERSIONED,
                        [&versioned::full_name(&work.db, table)],
                    ));
                }
                foreign_keys::check_not_referenced(&work.db.catalog(), table, &index)?;
                return drop_from(work, table, &index);
            }
            if let Some(next) = constraints::drop_constraint(work, table, &name.value)? {
                return Ok(next);
            }
            let at = table
                .columns
                .iter()
                .position(|c| c.default.as_ref().is_some_and(|d| fold_name(&d.name) == folded));
            match at {
                Some(at) => {
                    let mut next = TableDef::clone(table);
                    next.columns[at].default = None;
                    work.replace(table, next)
                }
                None if *if_exists => Ok(table.clone()),
                None => Err(SqlError::of(msg::NOT_A_CONSTRAINT, [&name])),
            }
        }
        DropElement::Period => temporal::drop_period(work, table),
        DropElement::Column { name, if_exists } => match table.column(&name.value) {
            Some(at) => {
                versioned::check_may_drop(&work.db, table, at)?;
                let history = versioned::history_of(&work.db, table);
                let next = drop_column(work, table, at)?;
                if let Some(history) = history {
                    work.lock_current(&history)?;
                    drop_column(work, &history, at)?;
                }
                Ok(next)
            }
            None if *if_exists => Ok(table.clone()),
            None => Err(SqlError::of(
                msg::ALTERED_COLUMN_NOT_FOUND,
                [&"ALTER TABLE DROP COLUMN", &name, &table.name],
            )),
        },
    }
}

/// 5074: a computed column is computed from the column.
pub(super) fn check_not_computed_from(table: &TableDef, at: usize) -> Result<(), SqlError> {
    match computed::computed_from(table, at) {
        None => Ok(()),
        Some(computed) => {
            let name = &table.columns[at].name;
            Err(SqlError::of(msg::DEPENDENT_ON_COLUMN, [&"column", &computed.name, &name]))
        }
    }
}

/// 5074: a module with SCHEMABINDING names the column.
pub(super) fn check_unbound(
    work: &Work<'_>,
    table: &TableDef,
    column: &str,
) -> Result<(), SqlError> {
    match schemabinding::column_bound_to(&work.db.catalog(), table, column) {
        None => Ok(()),
        Some(by) => Err(SqlError::of(msg::DEPENDENT_ON_COLUMN, [&"object", &by, &column])),
    }
}

fn drop_column(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    at: usize,
) -> Result<Arc<TableDef>, SqlError> {
    let name = &table.columns[at].name;
    check_unbound(work, table, name)?;
    check_not_computed_from(table, at)?;
    let default = table.columns[at].default.as_ref().map(|d| ("object", d.name.clone()));
    let index = table.all_indexes().find(|i| i.names(at)).map(|i| ("index", i.name.clone()));
    let constraint = constraints::constraint_of_column(&work.db.catalog(), table, at)
        .map(|name| ("object", name));
    if let Some((kind, other)) = default.or(index).or(constraint) {
        return Err(SqlError::of(msg::DEPENDENT_ON_COLUMN, [&kind, &other, &name]));
    }
    check_no_statistics(table, table.columns[at].column_id)?;
    if table.columns.len() == 1 {
        return Err(SqlError::of(msg::DROP_ONLY_COLUMN, [&name, &table.name]));
    }
    table.state.statistics.forget_column(table.columns[at].column_id);
    let mut next = TableDef::clone(table);
    next.columns.remove(at);
    let shift = |position: usize| if position > at { position - 1 } else { position };
    let moved = |index: &IndexDef| {
        let mut index = index.clone();
        index.key.iter_mut().for_each(|(position, _)| *position = shift(*position));
        index.included.iter_mut().for_each(|position| *position = shift(*position));
        index.filter = index.filter.map(|filter| Arc::new(filter.moved(shift)));
        Arc::new(index)
    };
    next.storage = moved(&table.storage);
    next.indexes = table.indexes.iter().map(|i| moved(i)).collect();
    rewrite(work, table, next, None)
}
