//! From CREATE TABLE's text to a [`NewTable`]. What needs no more than the statement is checked
//! here. Guarantees: a table that comes out can be made but for what the database has already.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::{ColumnDef, Constraint, ConstraintKind, CreateTable, TableElement};
use types::{Collation, DataType, SqlError, msg};

use super::index_options;
use super::system_functions::SystemFunctions;
use catalog::errors;
use catalog::fold_name;
use catalog::{
    Catalog, ComputedDef, Db, KeyConstraint, NewColumn, NewTable, TableDef, TableTypeDef,
};

mod checks;
mod column;
pub mod computed;
mod key;
mod text;
mod traits;

use bind::type_names::in_list;
pub use bind::type_names::{alias_id, built_in, data_type, table_type};
pub use checks::second_row_version;
use checks::{check_clustered, check_count, check_primary_key, check_table};
pub use column::{check_default_type, default_of_identity, new_column};
use computed::new_computed;
use key::add_inline_index;
pub use key::{
    check_included, check_once, key_columns, key_constraint, new_foreign_key, nullable_key,
};
use session::state::SessionCore;
use text::single_quoted;
pub use text::{new_check, new_default};
pub use traits::{altered as altered_traits, check_one_rowguid};

/// The table of a variable of a table type.
///
/// # Errors
/// As [`from_create`]: a type that it names may be gone.
pub fn from_type(
    functions: SystemFunctions,
    def: &TableTypeDef,
    variable: &str,
    db: &Arc<Db>,
) -> Result<NewTable, SqlError> {
    let defaults = ColumnDefaults::of_variable(functions, db, def.nullable, def.quoted_identifier);
    of_elements(variable, &def.elements, &def.text, &defaults)
}

/// The table of DECLARE @t TABLE, and of a function that fills one.
///
/// # Errors
/// As [`from_create`].
pub fn of_variable(
    core: &SessionCore,
    variable: &str,
    elements: &[TableElement],
    batch: &str,
    db: &Arc<Db>,
) -> Result<NewTable, SqlError> {
    let (functions, options) = (SystemFunctions::of(core), &core.options);
    let (nullable, quoted) = (options.ansi_null_dflt_on, options.quoted_identifier);
    let defaults = ColumnDefaults::of_variable(functions, db, nullable, quoted);
    of_elements(variable, elements, batch, &defaults)
}

fn of_elements(
    variable: &str,
    elements: &[TableElement],
    text: &str,
    defaults: &ColumnDefaults,
) -> Result<NewTable, SqlError> {
    super::periods::check_none(elements)?;
    let created = CreateTable {
        name: bind::resolve::variable_name(variable),
        elements: elements.to_vec(),
        on: None,
        textimage_on: None,
        options: Vec::new(),
    };
    from_create(&created, text, defaults)
}

/// What a table type cannot have. Error: 102 for a constraint with a name.
pub fn check_type_elements(elements: &[TableElement]) -> Result<(), SqlError> {
    let named = |constraint: &Constraint| match &constraint.name {
        Some(_) => Err(errors::syntax_near("CONSTRAINT")),
        None => Ok(()),
    };
    elements.iter().try_for_each(|element| match element {
        TableElement::Column(column) => column.constraints.iter().try_for_each(named),
        TableElement::Constraint(constraint) => named(constraint),
        TableElement::Index(_) | TableElement::Period { .. } => Ok(()),
    })
}

/// The columns as a new table would have them, for checks that look at names and types.
pub fn new_columns(table: &TableDef) -> Vec<NewColumn> {
    let columns = table.columns.iter();
    columns
        .map(|c| NewColumn {
            collation: c.collation,
            computed: c.computed.clone(),
            alias: c.alias,
            mask: c.mask.clone(),
            traits: c.traits,
            ..NewColumn::new(c.name.clone(), c.ty, c.nullable)
        })
        .collect()
}

/// What a column is when it does not say.
#[derive(Clone, Debug)]
pub struct ColumnDefaults {
    /// What computed columns and filters may call.
    pub functions: SystemFunctions,
    pub db: Arc<Db>,
    /// The database's; of a temporary table tempdb's.
    pub collation: Collation,
    /// SET ANSI_NULL_DFLT_ON.
    pub nullable: bool,
    /// Its alias types.
    pub catalog: Arc<Catalog>,
    /// SET QUOTED_IDENTIFIER: whether double quotes are around names.
    pub quoted_identifier: bool,
}

impl ColumnDefaults {
    /// Of a table variable: its collation is that of the database it is declared in.
    fn of_variable(
        functions: SystemFunctions,
        db: &Arc<Db>,
        nullable: bool,
        quoted_identifier: bool,
    ) -> ColumnDefaults {
        let (collation, catalog) = (db.default_collation(), db.catalog());
        ColumnDefaults {
            functions,
            db: db.clone(),
            collation,
            nullable,
            catalog,
            quoted_identifier,
        }
    }
}

/// The table that a CREATE TABLE statement describes; `batch` is the text that spans point into.
///
/// Errors: 2705 and 1505-like duplicates, 8110/1779 two primary keys, 8112 two clustered indexes,
/// 8111 a nullable primary key, 2744 two identity columns, 2749/8107 what cannot be an identity,
/// 1911 unknown key columns.
pub fn from_create(
    stmt: &CreateTable,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewTable, SqlError> {
    let schema = stmt.name.schema.as_ref().map(|s| s.value.clone()).unwrap_or_default();
    let compression = stmt.options.iter().find_map(index_options::compression);
    let name = stmt.name.name.value.clone();
    let mut table = NewTable { schema, name, compression, ..NewTable::default() };
    if let Some(on) = &stmt.on {
        table.filegroup = on.name.value.clone();
    }
    for element in &stmt.elements {
        if let TableElement::Column(column) = element {
            let number = table.columns.len() + 1;
            add_column(&mut table, column, batch, defaults).map_err(|e| in_list(e, number))?;
            check_count(&table)?;
        }
    }
    // A computed column may be computed from any other, so they come when all are known.
    for element in &stmt.elements {
        if let TableElement::Column(column) = element
            && column.computed.is_some()
            && let Some(at) = find(&table.columns, &column.name.value)
        {
            let of = ("CREATE TABLE", table.name.as_str());
            table.columns[at] = new_computed(column, of, &table.columns, batch, defaults)?;
        }
    }
    for element in &stmt.elements {
        match element {
            TableElement::Column(column) => add_column_keys(&mut table, column, batch, defaults)?,
            TableElement::Constraint(constraint) => {
                add_constraint(&mut table, constraint, None, batch, defaults)?;
            }
            TableElement::Index(index) => add_inline_index(&mut table, index, None, defaults)?,
            TableElement::Period { .. } => {}
        }
    }
    if table.name.starts_with(['#', '@']) {
        table.forget_types();
    }
    super::periods::check_period(&table, &stmt.elements)?;
    check_clustered(stmt)?;
    check_primary_key(stmt, &table)?;
    check_table(&mut table)?;
    computed::store_indexed(&mut table, defaults)?;
    Ok(table)
}

fn add_column(
    table: &mut NewTable,
    column: &ColumnDef,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<(), SqlError> {
    let new = match &column.computed {
        None => new_column(column, &table.name, batch, defaults)?,
        Some(computed) => announced(column, computed),
    };
    if find(&table.columns, &new.name).is_some() {
        return Err(SqlError::of(msg::DUPLICATE_COLUMN, [&new.name, &table.name]));
    }
    table.columns.push(new);
    Ok(())
}

/// The place of a computed column whose type is not known yet.
fn announced(column: &ColumnDef, computed: &syntax::ast::Computed) -> NewColumn {
    let mut new = NewColumn::new(column.name.value.clone(), DataType::Int, true);
    let expr = Arc::new(computed.expr.clone());
    let (persisted, stored) = (computed.persisted, computed.persisted);
    new.computed =
        Some(Arc::new(ComputedDef { text: CompactString::default(), expr, persisted, stored }));
    new
}

fn add_column_keys(
    table: &mut NewTable,
    column: &ColumnDef,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<(), SqlError> {
    for constraint in &column.constraints {
        if !matches!(constraint.kind, ConstraintKind::Default { .. }) {
            add_constraint(table, constraint, Some(&column.name.value), batch, defaults)?;
        }
    }
    if let Some(index) = &column.index {
        add_inline_index(table, index, Some(&column.name.value), defaults)?;
    }
    Ok(())
}

/// Adds a table constraint, or a key constraint written after `column`.
fn add_constraint(
    table: &mut NewTable,
    constraint: &Constraint,
    column: Option<&str>,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<(), SqlError> {
    match &constraint.kind {
        ConstraintKind::Key { .. } => {
            let index = key_constraint(&table.columns, &table.name, constraint, column)?;
            if index.constraint == Some(KeyConstraint::Primary) {
                for &(at, _) in &index.key {
                    table.columns[at].nullable = false;
                }
            }
            table.indexes.push(index);
            Ok(())
        }
        ConstraintKind::Default { expr, column: Some(name), .. } => {
            let at = find(&table.columns, &name.value).ok_or_else(|| no_column(&name.value))?;
            check_default_type(&table.columns[at], &table.name)?;
            table.columns[at].default = Some(new_default(constraint, expr, batch));
            Ok(())
        }
        ConstraintKind::Default { .. } => Err(errors::syntax_near("DEFAULT")),
        ConstraintKind::Check { condition } => {
            table.checks.push(new_check(constraint, condition, column, batch, defaults)?);
            Ok(())
        }
        ConstraintKind::ForeignKey { .. } => {
            table.foreign_keys.push(new_foreign_key(constraint, column)?);
            Ok(())
        }
    }
}

fn find(columns: &[NewColumn], name: &str) -> Option<usize> {
    let folded = fold_name(name);
    columns.iter().position(|c| fold_name(&c.name) == folded)
}

fn no_column(name: &str) -> SqlError {
    SqlError::of(msg::COLUMN_NOT_IN_TARGET, [&name])
}
