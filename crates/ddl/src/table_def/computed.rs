//! Definitions of computed columns: what is written becomes type, nullability and text of a column.
//! Guarantees: what the rows of a table keep depends on the row alone (4936, 4934, 2729); a
//! computed column is computed from plain columns (1759).

use std::sync::Arc;

use syntax::ast::{self, ColumnDef, ConstraintKind};
use types::{SqlError, msg};

use super::{ColumnDefaults, new_columns, single_quoted};
use crate::definition_binder::with_binder;
use crate::function_nature::{FunctionNature, is_imprecise};
use crate::system_functions::SystemFunctions;
use bind::computed::{Computed, NamedColumn};
use bind::filter::Filtered;
use catalog::other::SequenceDef;
use catalog::{ComputedDef, Db, NewColumn, NewFilter, NewTable, TableDef, definition, load};

/// What an expression of a computed column is.
pub struct BoundComputed {
    computed: Computed,
    /// What it depends on besides the row, with the functions that it calls.
    pub nature: FunctionNature,
}

fn bind(
    functions: SystemFunctions,
    db: &Arc<Db>,
    table: &str,
    columns: &[NamedColumn],
    e: &ast::Expr,
) -> Result<BoundComputed, SqlError> {
    let computed = with_binder(functions, db, |binder| {
        let computed = binder.new_computed(db, table, columns, e)?;
        let sequences: &[(Arc<Db>, Arc<SequenceDef>)] = &binder.sequences;
        debug_assert!(sequences.is_empty(), "a computed column takes values of a sequence");
        Ok(computed)
    })?;
    let mut nature = FunctionNature::of_calls(functions, db, &computed.nature.called);
    nature.deterministic &= computed.nature.varies.is_none();
    nature.precise &= !is_imprecise(computed.ty);
    Ok(BoundComputed { computed, nature })
}

/// Binds the filter of an index or of statistics.
///
/// # Errors
/// Those of `Binder::new_filter`.
pub fn new_filter(
    functions: SystemFunctions,
    db: &Arc<Db>,
    of: Filtered<'_>,
    columns: &[NewColumn],
    e: &ast::Expr,
) -> Result<NewFilter, SqlError> {
    with_binder(functions, db, |binder| binder.new_filter(db, of, &named(columns), e))
}

fn named(columns: &[NewColumn]) -> Vec<NamedColumn> {
    let column = |c: &NewColumn| NamedColumn {
        name: c.name.clone(),
        ty: c.ty,
        nullable: c.nullable,
        collation: c.collation,
        computed: c.computed.is_some(),
    };
    columns.iter().map(column).collect()
}

/// A computed column beside the columns of its table, of which the computed ones are known to be
/// such.
///
/// # Errors
/// Those of binding; 424, 435, 1046, 1759, 4934, 4936; 8183-like: constraints that only a persisted
/// column can have.
pub fn new_computed(
    column: &ColumnDef,
    (statement, table): (&str, &str),
    columns: &[NewColumn],
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewColumn, SqlError> {
    let Some(written) = &column.computed else {
        return Err(SqlError::internal("a column is not computed"));
    };
    let name = &column.name.value;
    let text = written.expr.span.text(batch).trim();
    let text = match definition::of_value(&written.expr, text.len()) {
        Some(text) => text,
        None if defaults.quoted_identifier => format!("({text})"),
        None => format!("({})", single_quoted(text)),
    };
    let expr = Arc::new(load::parse_expression(&text)?);
    let BoundComputed { computed, nature } =
        bind(defaults.functions, &defaults.db, table, &named(columns), &expr)?;
    if computed.nature.methods_of_xml {
        return Err(method_of_xml(statement, table, name));
    }
    if written.persisted {
        check_persisted(nature, table, name)?;
    }
    let only_persisted = column.nullable == Some(false)
        || column.constraints.iter().any(|c| {
            matches!(c.kind, ConstraintKind::Check { .. } | ConstraintKind::ForeignKey { .. })
        });
    if only_persisted && !written.persisted {
        return Err(SqlError::of(msg::COMPUTED_NOT_PERSISTED, []));
    }
    let nullable = column.nullable.unwrap_or(computed.nullable);
    let mut new = NewColumn::new(name.clone(), computed.ty, nullable);
    new.collation = if computed.ty.is_string() { computed.collation } else { defaults.collation };
    let (persisted, stored) = (written.persisted, written.persisted);
    new.computed = Some(Arc::new(ComputedDef { text: text.into(), expr, persisted, stored }));
    Ok(new)
}

/// 424, 435.
fn method_of_xml(statement: &str, table: &str, column: &str) -> SqlError {
    let message = match table.starts_with('@') {
        true => msg::XML_METHOD_IN_TABLE_VARIABLE,
        false => msg::XML_METHOD_IN_COMPUTED_COLUMN,
    };
    SqlError::of(message, [&column, &table, &statement])
}

/// Errors: 4934, 4936.
fn check_persisted(nature: FunctionNature, table: &str, column: &str) -> Result<(), SqlError> {
    if !nature.deterministic || (!nature.verified && !nature.reads) {
        return Err(SqlError::of(msg::PERSISTED_NOT_DETERMINISTIC, [&column, &table]));
    }
    if nature.reads {
        return Err(SqlError::of(msg::PERSISTED_READS_DATA, [&column, &table]));
    }
    Ok(())
}

/// Whether the rows can have the values of a column, for an index. Errors: 2729.
fn check_indexable(nature: FunctionNature, table: &str, column: &str) -> Result<(), SqlError> {
    if nature.is_of_arguments() {
        return Ok(());
    }
    Err(SqlError::of(msg::COLUMN_NOT_DETERMINISTIC, [&column, &table]))
}

/// The rows of a new table have the values of computed columns that its indexes need.
///
/// # Errors
/// 2729.
pub(crate) fn store_indexed(
    table: &mut NewTable,
    defaults: &ColumnDefaults,
) -> Result<(), SqlError> {
    for at in 0..table.columns.len() {
        let Some(computed) = table.columns[at].computed.clone().filter(|c| !c.stored) else {
            continue;
        };
        let used = table
            .indexes
            .iter()
            .any(|i| i.key.iter().any(|(k, _)| *k == at) || i.included.contains(&at));
        if used {
            let bound = bind(
                defaults.functions,
                &defaults.db,
                &table.name,
                &named(&table.columns),
                &computed.expr,
            )?;
            check_indexable(bound.nature, &table.name, &table.columns[at].name)?;
            table.columns[at].computed =
                Some(Arc::new(ComputedDef { stored: true, ..ComputedDef::clone(&computed) }));
        }
    }
    Ok(())
}

/// A table's computed column as one whose values the rows have, if it can be.
///
/// # Errors
/// 2729.
pub fn as_stored(
    functions: SystemFunctions,
    db: &Arc<Db>,
    table: &TableDef,
    at: usize,
) -> Result<Arc<ComputedDef>, SqlError> {
    let column = &table.columns[at];
    check_indexable(nature_of(functions, db, table, at)?, &table.name, &column.name)?;
    let Some(computed) = &column.computed else {
        return Err(SqlError::internal("a column is not computed"));
    };
    Ok(Arc::new(ComputedDef { stored: true, ..ComputedDef::clone(computed) }))
}

/// What the value of a table's computed column depends on besides the row.
///
/// # Errors
/// Those of binding it: what it calls may have gone.
pub fn nature_of(
    functions: SystemFunctions,
    db: &Arc<Db>,
    table: &TableDef,
    at: usize,
) -> Result<FunctionNature, SqlError> {
    let Some(computed) = &table.columns[at].computed else {
        return Err(SqlError::internal("a column is not computed"));
    };
    let columns = named(&new_columns(table));
    Ok(bind(functions, db, &table.name, &columns, &computed.expr)?.nature)
}

/// Whether a table's computed column can be persisted.
///
/// # Errors
/// 4934, 4936.
pub fn check_can_persist(
    functions: SystemFunctions,
    db: &Arc<Db>,
    table: &TableDef,
    at: usize,
) -> Result<(), SqlError> {
    check_persisted(nature_of(functions, db, table, at)?, &table.name, &table.columns[at].name)
}

/// The computed column of a table that is computed from a column.
pub fn computed_from(table: &TableDef, column: usize) -> Option<&catalog::ColumnDef> {
    let name = catalog::fold_name(&table.columns[column].name);
    let words = |text: &str| {
        let tokens = syntax::lexer::tokenize(text).list;
        tokens
            .iter()
            .any(|t| catalog::fold_name(t.span.text(text).trim_matches(['[', ']', '"'])) == name)
    };
    table.columns.iter().find(|c| c.computed.as_ref().is_some_and(|computed| words(&computed.text)))
}
