//! From CREATE TABLE's text to a [`NewTable`]: types, nullability, constraints, names, all checks that need no database.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{
    ColumnDef, Constraint, ConstraintKind, CreateTable, Expr, ExprKind, Identity, IndexColumn, InlineIndex,
    Literal, OptionItem, OptionValue, TableElement,
};
use syntax::lexer::{Tok, tokenize_with, unquote};
use types::{Collation, DataType, SqlError};

use super::computed_def::{self, new_computed};
use super::{index_options, option_rules};
use catalog::errors;
use catalog::fold_name;
use catalog::{
    Catalog, ComputedDef, Db, KeyConstraint, NewCheck, NewColumn, NewDefault, NewForeignKey, NewIndex,
    NewTable, TableDef, TableTypeDef,
};
use plan::bind::filter::FilteredIndex;

/// Most columns of a table, key columns of an index.
const MAX_COLUMNS: usize = 1024;
const MAX_KEY_COLUMNS: usize = 32;

pub use plan::bind::type_names::{alias_id, built_in, data_type, table_type};

/// The table of a variable of a table type.
///
/// # Errors
/// As [`from_create`]: a type that it names may be gone.
pub fn from_type(def: &TableTypeDef, variable: &str, db: &Arc<Db>) -> Result<NewTable, SqlError> {
    let created = CreateTable {
        name: plan::bind::resolve::variable_name(variable),
        elements: def.elements.clone(),
        on: None,
        textimage_on: None,
        options: Vec::new(),
    };
    let defaults = ColumnDefaults {
        db: db.clone(),
        collation: db.default_collation(),
        nullable: def.nullable,
        catalog: db.catalog(),
        quoted_identifier: def.quoted_identifier,
    };
    super::temporal::check_none(&def.elements)?;
    from_create(&created, &def.text, &defaults)
}

/// The table of DECLARE @t TABLE, and of a function that fills one.
///
/// # Errors
/// As [`from_create`].
pub fn of_variable(
    variable: &str,
    elements: &[TableElement],
    batch: &str,
    db: &Arc<Db>,
    options: &plan::bind::set_options::SessionOptions,
) -> Result<NewTable, SqlError> {
    super::temporal::check_none(elements)?;
    let created = CreateTable {
        name: plan::bind::resolve::variable_name(variable),
        elements: elements.to_vec(),
        on: None,
        textimage_on: None,
        options: Vec::new(),
    };
    let defaults = ColumnDefaults {
        db: db.clone(),
        collation: db.default_collation(),
        nullable: options.ansi_null_dflt_on,
        catalog: db.catalog(),
        quoted_identifier: options.quoted_identifier,
    };
    from_create(&created, batch, &defaults)
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
            ..NewColumn::new(c.name.clone(), c.ty, c.nullable)
        })
        .collect()
}

/// What a column is when it does not say.
#[derive(Clone, Debug)]
pub struct ColumnDefaults {
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

/// The table that a CREATE TABLE statement describes; `batch` is the text that spans point into.
///
/// Errors: 2705 and 1505-like duplicates, 8110/1779 two primary keys, 8112 two clustered indexes, 8111 a nullable
/// primary key, 2744 two identity columns, 2749/8107 what cannot be an identity, 1911 unknown key columns.
pub fn from_create(stmt: &CreateTable, batch: &str, defaults: &ColumnDefaults) -> Result<NewTable, SqlError> {
    let schema = stmt.name.schema.as_ref().map(|s| s.value.clone()).unwrap_or_default();
    let compression = stmt.options.iter().find_map(index_options::compression);
    let name = stmt.name.name.value.clone();
    let mut table = NewTable { schema, name, compression, ..NewTable::default() };
    if let Some(on) = &stmt.on {
        table.filegroup = on.name.value.clone();
    }
    for element in &stmt.elements {
        if let TableElement::Column(column) = element {
            add_column(&mut table, column, batch, defaults)?;
        }
    }
    // A computed column may be computed from any other, so they come when all are known.
    for element in &stmt.elements {
        if let TableElement::Column(column) = element
            && column.computed.is_some()
            && let Some(at) = find(&table.columns, &column.name.value)
        {
            table.columns[at] = new_computed(column, &table.name, &table.columns, batch, defaults)?;
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
    super::temporal::check_period(&table, &stmt.elements)?;
    check_clustered(stmt)?;
    check_table(&mut table)?;
    computed_def::store_indexed(&mut table, defaults)?;
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
        let text = format!(
            "Column names in each table must be unique. Column name '{}' in table '{}' is specified more than once.",
            new.name, table.name
        );
        return Err(SqlError::new(2705, 16, 3, text));
    }
    table.columns.push(new);
    Ok(())
}

/// The place of a computed column whose type is not known yet.
fn announced(column: &ColumnDef, computed: &syntax::ast::Computed) -> NewColumn {
    let mut new = NewColumn::new(column.name.value.clone(), DataType::Int, true);
    let expr = Arc::new(computed.expr.clone());
    let (persisted, stored) = (computed.persisted, computed.persisted);
    new.computed = Some(Arc::new(ComputedDef { text: CompactString::default(), expr, persisted, stored }));
    new
}

/// One column with its DEFAULT and IDENTITY; keys after it are [`add_column_keys`]'s.
pub fn new_column(
    column: &ColumnDef,
    table: &str,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewColumn, SqlError> {
    if column.computed.is_some() {
        return Err(SqlError::internal("a computed column has no definition of its own"));
    }
    let (ty, nullable) = match &column.data_type {
        Some(name) => plan::bind::type_names::type_of(name, &defaults.catalog)?,
        // A column that is called timestamp is one.
        None if column.name.is("timestamp") => (DataType::RowVersion, None),
        None => {
            let text = format!("The definition for column '{}' must include a data type.", column.name);
            return Err(SqlError::new(173, 15, 1, text));
        }
    };
    let nullable = column.nullable.or(nullable).unwrap_or(defaults.nullable && ty != DataType::RowVersion);
    let nullable = nullable && (column.generated.is_none() || column.nullable.is_some());
    let mut new = NewColumn::new(column.name.value.clone(), ty, nullable);
    let declared = column.data_type.as_ref();
    new.alias = declared.and_then(|name| alias_id(name, &defaults.catalog));
    new.collation = defaults.collation;
    new.generated = column.generated;
    if let Some(name) = &column.collation {
        new.collation = plan::bind::type_names::collation(name, defaults.db.default_collation(), 3)?;
    }
    if let Some(identity) = &column.identity {
        new.identity = Some(identity_of(identity, &new, column.nullable)?);
        new.nullable = false;
    }
    for constraint in &column.constraints {
        match &constraint.kind {
            ConstraintKind::Default { expr, .. } => {
                if new.default.is_some() {
                    let text = format!(
                        "More than one column DEFAULT constraint specified for column '{}', table '{table}'.",
                        new.name
                    );
                    return Err(SqlError::new(8148, 16, 0, text));
                }
                if new.identity.is_some() {
                    return Err(default_of_identity(table, &new.name));
                }
                check_default_type(&new, table)?;
                new.default = Some(new_default(constraint, expr, batch));
            }
            ConstraintKind::Key { primary: true, .. } => {
                if column.nullable == Some(true) {
                    return Err(nullable_key(table));
                }
                new.nullable = false;
            }
            ConstraintKind::Key { .. } | ConstraintKind::Check { .. } | ConstraintKind::ForeignKey { .. } => {
            }
        }
    }
    Ok(new)
}

/// 1754.
pub fn default_of_identity(table: &str, column: &str) -> SqlError {
    let text = format!(
        "Defaults cannot be created on columns with an IDENTITY attribute. Table '{table}', column '{column}'."
    );
    SqlError::new(1754, 16, 0, text)
}

/// 1755: a DEFAULT of a rowversion column.
pub fn check_default_type(column: &NewColumn, table: &str) -> Result<(), SqlError> {
    if column.ty != DataType::RowVersion {
        return Ok(());
    }
    let text = format!(
        "Defaults cannot be created on columns of data type timestamp. Table '{table}', column '{}'.",
        column.name
    );
    Err(SqlError::new(1755, 16, 0, text))
}

/// A DEFAULT's text as the catalog keeps it: in parentheses, numbers in two pairs of them.
pub fn new_default(constraint: &Constraint, expr: &Expr, batch: &str) -> NewDefault {
    let text = expr.span.text(batch).trim();
    let named = matches!(expr.kind, ExprKind::Column(_));
    let text = if named { text.to_string() } else { single_quoted(text) };
    let number = matches!(
        expr.kind,
        ExprKind::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_))
    );
    let text = if number { format!("(({text}))") } else { format!("({text})") };
    NewDefault {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        text: text.into(),
        expr: Arc::new(expr.clone()),
    }
}

/// A DEFAULT's text as it reads under QUOTED_IDENTIFIER ON, which the catalog is read with: no column can be named in it,
/// so that what stands in double quotes is a string.
pub fn single_quoted(text: &str) -> String {
    let off = ParseSettings { quoted_identifier: false, ..ParseSettings::default() };
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for token in tokenize_with(text, off).list.iter().filter(|token| token.kind == Tok::Str) {
        let literal = token.span.text(text);
        if literal.starts_with('"') {
            let (start, end) = (token.span.start as usize, token.span.end as usize);
            out.push_str(&text[from..start]);
            out.push_str(&format!("'{}'", unquote(literal).replace('\'', "''")));
            from = end;
        }
    }
    out.push_str(&text[from..]);
    // Names of types and functions may be quoted too: then it is a text written under ON.
    let parses = |kind: &str, end: &str| syntax::parse(&format!("{kind} {out} {end}")).is_ok();
    if parses("PRINT", "") || parses("IF", "PRINT ''") { out } else { text.to_string() }
}

fn identity_of(
    identity: &Identity,
    column: &NewColumn,
    nullable: Option<bool>,
) -> Result<(i64, i64), SqlError> {
    let given = catalog::identity::of_clause(identity, &column.name, column.ty)?;
    if nullable == Some(true) {
        let text = format!("Could not create IDENTITY attribute on nullable column '{}'.", column.name);
        return Err(SqlError::new(8147, 16, 1, text));
    }
    Ok(given)
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
            let at = find(&table.columns, &name.value).ok_or_else(|| no_column(&name.value, &table.name))?;
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

/// A CHECK constraint as the catalog keeps it: in parentheses, and as it reads under QUOTED_IDENTIFIER ON.
pub fn new_check(
    constraint: &Constraint,
    condition: &Expr,
    column: Option<&str>,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewCheck, SqlError> {
    let text = condition.span.text(batch).trim();
    let text = if defaults.quoted_identifier { text.to_string() } else { single_quoted(text) };
    let text = format!("({text})");
    Ok(NewCheck {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        condition: Arc::new(catalog::constraint::parse_condition(&text)?),
        text: text.into(),
        column: column.map(CompactString::from),
    })
}

/// A FOREIGN KEY constraint, of `column` when it is written after one.
pub fn new_foreign_key(constraint: &Constraint, column: Option<&str>) -> Result<NewForeignKey, SqlError> {
    let ConstraintKind::ForeignKey { columns, table, references, on_delete, on_update } = &constraint.kind
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
    })
}

/// The index of a PRIMARY KEY or UNIQUE constraint over these columns.
pub fn key_constraint(
    columns: &[NewColumn],
    table: &str,
    constraint: &Constraint,
    column: Option<&str>,
) -> Result<NewIndex, SqlError> {
    let ConstraintKind::Key { primary, clustered, columns: keys, options, .. } = &constraint.kind else {
        return Err(SqlError::internal("a key constraint was expected"));
    };
    let key = match (keys.is_empty(), column) {
        (true, Some(name)) => {
            let at = find(columns, name).ok_or_else(|| no_column(name, table))?;
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

fn add_inline_index(
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
            let of = FilteredIndex { name: &index.name.value, table: &table.name };
            Some(computed_def::new_filter(&defaults.db, of, &table.columns, e)?)
        }
    };
    let key = match (index.columns.is_empty(), column) {
        (true, Some(name)) => {
            let at = find(&table.columns, name).ok_or_else(|| no_column(name, &table.name))?;
            check_key(&table.columns[at], &table.name)?;
            vec![(at, false)]
        }
        _ => key_columns(&table.columns, &index.columns, &table.name)?,
    };
    let mut included = Vec::new();
    for name in &index.include {
        let at = find(&table.columns, &name.value).ok_or_else(|| no_column(&name.value, &table.name))?;
        check_included(&table.columns[at], &table.name)?;
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

/// Positions of an index's key columns. Errors: 1911 unknown, 1909 twice, 1904 too many, 1919 a (max) column.
pub fn key_columns(
    columns: &[NewColumn],
    keys: &[IndexColumn],
    table: &str,
) -> Result<Vec<(usize, bool)>, SqlError> {
    let mut out: Vec<(usize, bool)> = Vec::with_capacity(keys.len());
    for key in keys {
        let name = &key.name.value;
        let at = find(columns, name).ok_or_else(|| no_column(name, table))?;
        if out.iter().any(|(seen, _)| *seen == at) {
            let text = format!(
                "Cannot use duplicate column names in index. Column name '{name}' listed more than once."
            );
            return Err(SqlError::new(1909, 16, 1, text));
        }
        check_key(&columns[at], table)?;
        out.push((at, key.descending));
    }
    if out.is_empty() || out.len() > MAX_KEY_COLUMNS {
        let text = format!(
            "The index on table '{table}' has {} columns in the key list. The maximum limit for index key column \
             list is {MAX_KEY_COLUMNS}.",
            out.len()
        );
        return Err(SqlError::new(1904, 16, 1, text));
    }
    Ok(out)
}

/// 1919: a column that no index can have in its key.
fn check_key(column: &NewColumn, table: &str) -> Result<(), SqlError> {
    if !column.ty.is_lob() {
        return Ok(());
    }
    let text = format!(
        "Column '{}' in table '{table}' is of a type that is invalid for use as a key column in an index.",
        column.name
    );
    Err(SqlError::new(1919, 16, 1, text))
}

/// 1999: a column that no index can have besides its key.
pub fn check_included(column: &NewColumn, table: &str) -> Result<(), SqlError> {
    if !column.ty.is_old_lob() {
        return Ok(());
    }
    let text = format!(
        "Column '{}' in table '{table}' is of a type that is invalid for use as included column in an index.",
        column.name
    );
    Err(SqlError::new(1999, 16, 1, text))
}

/// FILLFACTOR of an option list, 0 when not given. Errors: those of [`option_rules::check`], 129 out of range.
pub fn fill_factor(options: &[OptionItem]) -> Result<u8, SqlError> {
    option_rules::check("CREATE INDEX", options, option_rules::INDEX)?;
    for option in options.iter().filter(|o| o.name == "FILLFACTOR") {
        if let OptionValue::Expr(Expr { kind: ExprKind::Literal(Literal::Integer(n)), .. }) = &option.value {
            if (1..=100).contains(n) {
                return Ok(*n as u8);
            }
            let text =
                format!("Fillfactor {n} is not a valid percentage; fillfactor must be between 1 and 100.");
            return Err(SqlError::new(129, 15, 1, text));
        }
    }
    Ok(0)
}

/// 8112: two constraints that say CLUSTERED.
fn check_clustered(stmt: &CreateTable) -> Result<(), SqlError> {
    let clustered = |c: &&Constraint| matches!(c.kind, ConstraintKind::Key { clustered: Some(true), .. });
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

/// 8112.
fn two_clustered(table: &str) -> SqlError {
    let text = format!("Cannot add more than one clustered index for constraints on table '{table}'.");
    SqlError::new(8112, 16, 0, text)
}

fn check_table(table: &mut NewTable) -> Result<(), SqlError> {
    let name = &table.name;
    if table.columns.len() > MAX_COLUMNS {
        let text = format!(
            "CREATE TABLE failed because column '{}' in table '{name}' exceeds the maximum of {MAX_COLUMNS} columns.",
            table.columns[MAX_COLUMNS].name
        );
        return Err(SqlError::new(1702, 16, 1, text));
    }
    if table.columns.iter().filter(|c| c.identity.is_some()).count() > 1 {
        let text = format!(
            "Multiple identity columns specified for table '{name}'. Only one identity column per table is allowed."
        );
        return Err(SqlError::new(2744, 16, 2, text));
    }
    let mut versions = table.columns.iter().filter(|c| c.ty == DataType::RowVersion);
    if let (Some(_), Some(second)) = (versions.next(), versions.next()) {
        return Err(second_row_version(name, &second.name));
    }
    let primary = |i: &&NewIndex| i.constraint == Some(KeyConstraint::Primary);
    if table.indexes.iter().filter(primary).count() > 1 {
        let text = format!("Cannot add multiple PRIMARY KEY constraints to table '{name}'.");
        return Err(SqlError::new(8110, 16, 0, text));
    }
    // A PRIMARY KEY that does not say so is clustered only if nothing else is.
    let others = table.indexes.iter().filter(|i| i.clustered && !primary(i)).count();
    if others > 1 {
        return Err(two_clustered(name));
    }
    if others == 1 {
        for index in table.indexes.iter_mut().filter(|i| i.constraint == Some(KeyConstraint::Primary)) {
            index.clustered = false;
        }
    }
    // The clustered index is built first: the others' rows point through its key.
    table.indexes.sort_by_key(|i| !i.clustered);
    Ok(())
}

/// 2738: a table has one rowversion column.
pub fn second_row_version(table: &str, column: &str) -> SqlError {
    let text = format!(
        "A table can only have one timestamp column. Because table '{table}' already has one, the column '{column}' cannot be \
         added."
    );
    SqlError::new(2738, 16, 1, text)
}

/// 8111: a primary key over a column that allows NULL.
pub fn nullable_key(table: &str) -> SqlError {
    SqlError::new(
        8111,
        16,
        1,
        format!("Cannot define PRIMARY KEY constraint on nullable column in table '{table}'."),
    )
}

fn find(columns: &[NewColumn], name: &str) -> Option<usize> {
    let folded = fold_name(name);
    columns.iter().position(|c| fold_name(&c.name) == folded)
}

fn no_column(name: &str, table: &str) -> SqlError {
    SqlError::new(
        1911,
        16,
        1,
        format!("Column name '{name}' does not exist in the target table or view '{table}'."),
    )
}
