//! A constraint is added to a table: a key, a DEFAULT, a CHECK, a foreign key. Guarantees: the rows
//! that are there satisfy it, unless WITH NOCHECK was said; a history gets none but a DEFAULT
//! (13558 and others).

use std::sync::Arc;

use syntax::ast::{Constraint, ConstraintKind};
use types::{SqlError, msg};

use super::Added;
use super::columns::column_defaults;
use crate::index::{add_index, with_stored};
use catalog::errors;
use catalog::given_up::Name;
use catalog::{Db, DefaultDef, KeyConstraint, TableDef};
use ddl::foreign_keys::{self, Rows};
use ddl::work::Work;
use ddl::{constraints, table_def, versioned};

pub(super) fn add_constraint(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    constraint: &Constraint,
    column: Option<&str>,
    added: Added<'_>,
) -> Result<Arc<TableDef>, SqlError> {
    if table.temporal.is_history() {
        check_past_constraint(&work.db, table, constraint)?;
    }
    match &constraint.kind {
        ConstraintKind::Key { primary, clustered, .. } => {
            let mut index = table_def::key_constraint(
                &table_def::new_columns(table),
                &table.name,
                constraint,
                column,
            )?;
            if *primary && table.all_indexes().any(|i| i.primary_key.is_some()) {
                return Err(SqlError::of(msg::PRIMARY_KEY_EXISTS, [&table.name]));
            }
            if *primary && index.key.iter().any(|(at, _)| table.columns[*at].nullable) {
                return Err(table_def::nullable_key(&table.name));
            }
            // Without a word on it, a primary key is clustered only where nothing is yet.
            if clustered.is_none() && table.storage.index_id == 1 {
                index.clustered = false;
            }
            debug_assert_eq!(index.constraint == Some(KeyConstraint::Primary), *primary);
            let table = with_stored(work, table.clone(), &index)?;
            add_index(work, &table, &index)
        }
        ConstraintKind::Default { expr, column: Some(name), .. } => {
            let at = table
                .column(&name.value)
                .ok_or_else(|| SqlError::of(msg::DEFAULT_COLUMN_INVALID, [&name, &table.name]))?;
            if table.columns[at].identity.is_some() {
                return Err(table_def::default_of_identity(&table.name, &table.columns[at].name));
            }
            if table.columns[at].default.is_some() {
                return Err(SqlError::of(msg::DEFAULT_EXISTS, []));
            }
            let mut new = table_def::new_columns(table)[at].clone();
            table_def::check_default_type(&new, &table.name)?;
            new.default = Some(table_def::new_default(constraint, expr, added.text));
            let mut next = TableDef::clone(table);
            let made: Option<DefaultDef> =
                work.column(&table.name, table.columns[at].column_id, &new)?.default;
            if let Some(default) = &made {
                work.wait_for_name(&Name::object(&table.schema, &default.name))?;
                work.check_free_name(&table.schema, &default.name)?;
            }
            next.columns[at].default = made;
            work.replace(table, next)
        }
        ConstraintKind::Default { .. } => Err(errors::syntax_near("DEFAULT")),
        ConstraintKind::Check { condition } => {
            let defaults = column_defaults(work);
            let new = table_def::new_check(constraint, condition, column, added.text, &defaults)?;
            constraints::add_check(work, table, &new, added.test)
        }
        ConstraintKind::ForeignKey { .. } => {
            let new = table_def::new_foreign_key(constraint, column)?;
            let rows = if added.test { Rows::Tested } else { Rows::Untested };
            foreign_keys::add_foreign_key(work, table, &new, rows)
        }
    }
}

/// 13558, 13564, 13565, 13583: what a history does not have.
fn check_past_constraint(
    db: &Db,
    table: &TableDef,
    constraint: &Constraint,
) -> Result<(), SqlError> {
    let name = versioned::full_name(db, table);
    let message = match &constraint.kind {
        ConstraintKind::Key { primary: true, .. } => msg::PRIMARY_KEY_ON_HISTORY,
        ConstraintKind::Key { .. } => msg::UNIQUE_KEY_ON_HISTORY,
        ConstraintKind::Check { .. } => msg::CHECK_ON_HISTORY,
        ConstraintKind::ForeignKey { .. } => {
            let key = constraint.name.as_ref().map_or("", |name| name.value.as_str());
            return Err(SqlError::of(msg::FOREIGN_KEY_ON_HISTORY, [&key]));
        }
        ConstraintKind::Default { .. } => return Ok(()),
    };
    Err(SqlError::of(message, [&name]))
}
