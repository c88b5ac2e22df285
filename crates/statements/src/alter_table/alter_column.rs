//! ALTER TABLE ... ALTER COLUMN: another type, another nullability, a property. Guarantees: rows
//! are rewritten only where they must be, and then converted as an assignment converts; what
//! depends on the column prevents a change that it would notice (5074).

use std::sync::Arc;

use syntax::ast::ColumnDef;
use types::{DataType, Len, SqlError, msg};

use super::columns::{column_defaults, unknown_column};
use super::drop::{check_not_computed_from, check_unbound};
use crate::statistics::check_no_statistics;
use catalog::errors;
use catalog::load::layout_of;
use catalog::names::quote;
use catalog::temporal::Generated;
use catalog::{ColumnTraits, ComputedDef, Db, IndexDef, NewColumn, TableDef};
use ddl::rebuild::rewrite;
use ddl::system_functions::SystemFunctions;
use ddl::table_def::{self, computed};
use ddl::work::Work;
use ddl::{constraints, versioned};

/// ALTER COLUMN ... ADD | DROP PERSISTED: whether the rows have the values of a computed column.
/// HIDDEN, ROWGUIDCOL, SPARSE, NOT FOR REPLICATION: what is said of it.
///
/// # Errors
/// 4924, 4936, 4934, 4925, 4926, 2761, 1731; 40510 another property.
pub(super) fn column_property(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &str,
    add: bool,
    property: &str,
) -> Result<(), SqlError> {
    let at = table.column(column).ok_or_else(|| unknown_column(column, table))?;
    if property == "HIDDEN"
        && let Some(generated) = table.columns[at].generated
    {
        let mut next = TableDef::clone(table);
        next.columns[at].generated = Some(Generated { hidden: add, ..generated });
        return work.replace(table, next).map(drop);
    }
    if let Some(traits) = table_def::altered_traits(table, at, add, property)? {
        let mut next = TableDef::clone(table);
        next.columns[at].traits = traits;
        return work.replace(table, next).map(drop);
    }
    let computed = table.columns[at].computed.clone().filter(|_| property == "PERSISTED");
    let Some(computed) = computed else {
        return Err(errors::not_supported(&format!("ALTER COLUMN with {property}")));
    };
    if add == computed.persisted {
        return Ok(());
    }
    if add {
        computed::check_can_persist(SystemFunctions::of(work.core), &work.db, table, at)?;
    }
    let indexed = table.all_indexes().any(|index| index.names(at));
    let stored = add || indexed;
    let mut next = TableDef::clone(table);
    next.columns[at].computed =
        Some(Arc::new(ComputedDef { persisted: add, stored, ..ComputedDef::clone(&computed) }));
    if stored == computed.stored {
        return work.replace(table, next).map(drop);
    }
    let value = stored.then(|| (at, computed.text.to_string()));
    rewrite(work, table, next, value).map(drop)
}

/// ALTER COLUMN of a table, and of its history if it has one.
///
/// # Errors
/// 13589, and those of columns of a period.
pub(super) fn with_history(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &ColumnDef,
    text: &str,
) -> Result<(), SqlError> {
    if column.generated.is_some() {
        return Err(SqlError::of(
            msg::ALTER_TO_GENERATED,
            [&column.name, &versioned::full_name(&work.db, table)],
        ));
    }
    let history = versioned::history_of(&work.db, table);
    if let Some(at) = table.column(&column.name.value) {
        versioned::check_may_alter(&work.db, table, &table.columns[at])?;
    }
    alter_column(work, table, column, text)?;
    match history {
        None => Ok(()),
        Some(history) => {
            work.lock_current(&history)?;
            alter_column(work, &history, column, text)
        }
    }
}

/// Another type or nullability for a column: the rows are rewritten, converted by the usual rules.
fn alter_column(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &ColumnDef,
    text: &str,
) -> Result<(), SqlError> {
    let at = table
        .column(&column.name.value)
        .ok_or_else(|| unknown_column(&column.name.value, table))?;
    check_unbound(work, table, &table.columns[at].name)?;
    if table.columns[at].computed.is_some() {
        return Err(is_computed(&table.columns[at].name));
    }
    if table.columns[at].ty == DataType::RowVersion {
        return Err(SqlError::of(
            msg::ALTER_COLUMN_OF_KIND,
            [&table.columns[at].name, &"timestamp"],
        ));
    }
    check_not_computed_from(table, at)?;
    let new = table_def::new_column(column, &table.name, text, &column_defaults(work))?;
    work.hold_type(new.alias)?;
    if new.ty == DataType::RowVersion {
        return Err(SqlError::of(msg::ALTER_TO_TIMESTAMP, [&new.name]));
    }
    if is_longer(&table.columns[at], &new) && !is_of_key(&work.db, table, at) {
        // The rows are as they were.
        check_no_statistics(table, table.columns[at].column_id)?;
        let mut next = TableDef::clone(table);
        next.columns[at].traits = kept_traits(table.columns[at].traits, &new);
        (next.columns[at].ty, next.columns[at].alias, next.columns[at].mask) =
            (new.ty, new.alias, new.mask);
        next.layout = layout_of(&next.columns);
        return work.replace(table, next).map(drop);
    }
    let tested = |i: &IndexDef| i.filter.iter().any(|filter| filter.columns().any(|c| c == at));
    let in_key = |i: &IndexDef| i.key.iter().any(|(k, _)| *k == at) || tested(i);
    if let Some(index) = table.all_indexes().find(|i| in_key(i)) {
        return Err(SqlError::of(msg::DEPENDENT_ON_COLUMN, [&"index", &index.name, &column.name]));
    }
    if next_type_matters(&table.columns[at], &new)
        && let Some(other) = constraints::constraint_of_column(&work.db.catalog(), table, at)
    {
        return Err(SqlError::of(msg::DEPENDENT_ON_COLUMN, [&"object", &other, &column.name]));
    }
    if next_type_matters(&table.columns[at], &new) {
        check_no_statistics(table, table.columns[at].column_id)?;
        table.state.statistics.forget_column(table.columns[at].column_id);
    }
    let mut next = TableDef::clone(table);
    next.columns[at].traits = kept_traits(table.columns[at].traits, &new);
    (next.columns[at].ty, next.columns[at].alias, next.columns[at].mask) =
        (new.ty, new.alias, new.mask);
    next.columns[at].nullable = new.nullable;
    next.columns[at].collation = new.collation;
    // As an assignment: what does not fit is an error.
    let converted = quote(&next.columns[at].name);
    rewrite(work, table, next, Some((at, converted))).map(drop)
}

/// What stays said of a column, and what ALTER COLUMN says: what its new type and nullability
/// allow.
fn kept_traits(old: ColumnTraits, new: &NewColumn) -> ColumnTraits {
    ColumnTraits {
        rowguid: new.traits.rowguid || (old.rowguid && new.ty == DataType::UniqueIdentifier),
        sparse: new.traits.sparse || (old.sparse && new.nullable),
        not_for_replication: old.not_for_replication,
    }
}

/// 4928.
pub(super) fn is_computed(column: &str) -> SqlError {
    SqlError::of(msg::ALTER_COLUMN_OF_KIND, [&column, &"COMPUTED"])
}

/// Whether a column of variable length becomes longer, and nothing else.
fn is_longer(old: &catalog::ColumnDef, new: &NewColumn) -> bool {
    use types::DataType::{NVarChar, VarBinary, VarChar};
    let longer = match (old.ty, new.ty) {
        (VarChar(Len::N(a)), VarChar(Len::N(b)))
        | (NVarChar(Len::N(a)), NVarChar(Len::N(b)))
        | (VarBinary(Len::N(a)), VarBinary(Len::N(b))) => b >= a,
        _ => false,
    };
    longer && old.nullable == new.nullable && old.collation == new.collation
}

/// Whether a column is of the primary key, or on one side of a foreign key.
fn is_of_key(db: &Db, table: &TableDef, at: usize) -> bool {
    let id = table.columns[at].column_id;
    let primary =
        |i: &Arc<IndexDef>| i.primary_key.is_some() && i.key.iter().any(|(k, _)| *k == at);
    let own = |key: &catalog::ForeignKeyDef| key.columns.iter().any(|(own, _)| *own == id);
    let others = db.catalog().foreign_keys_to(table.object_id);
    table.all_indexes().any(primary)
        || table.foreign_keys.iter().any(own)
        || others.iter().any(|(_, key)| key.columns.iter().any(|(_, other)| *other == id))
}

/// Whether a constraint may mean something else over the changed column.
fn next_type_matters(old: &catalog::ColumnDef, new: &NewColumn) -> bool {
    old.ty != new.ty || old.collation != new.collation
}
