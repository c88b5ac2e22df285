//! What the name of a type means in a database: a type that every database has, an alias type or a
//! table type.

use catalog::{Catalog, TableTypeDef};
use std::sync::Arc;
use syntax::ast::{Ident, TypeName, TypeParam};
use types::{Collation, DataType, SqlError, msg};

/// The type that a column, variable or parameter names.
///
/// Errors: 2715 no such type, and what [`DataType::from_name`] gives.
pub fn data_type(name: &TypeName, catalog: &Catalog) -> Result<DataType, SqlError> {
    Ok(type_of(name, catalog)?.0)
}

/// The type, and of an alias type and sysname whether it may be NULL.
///
/// # Errors
/// As [`data_type`].
pub fn type_of(name: &TypeName, catalog: &Catalog) -> Result<(DataType, Option<bool>), SqlError> {
    let schema = name.name.schema.as_ref().map_or("", |s| s.value.as_str());
    match catalog.find_type(schema, &name.name.name.value) {
        Some(alias) if name.params.is_empty() => Ok((alias.base, Some(alias.nullable))),
        Some(_) => Err(SqlError::of(msg::COLUMN_WIDTH_NOT_ALLOWED, [&"#1", &name.name])),
        // Without a word on it a sysname is not NULL.
        None => Ok((built_in(name)?, name.name.name.is("sysname").then_some(false))),
    }
}

/// user_type_id of sysname.
pub const SYSNAME: i32 = 256;

/// user_type_id of a name that stands for another type: an alias type, or sysname, which every
/// database has.
pub fn alias_id(name: &TypeName, catalog: &Catalog) -> Option<i32> {
    let schema = name.name.schema.as_ref().map_or("", |s| s.value.as_str());
    let alias = catalog.find_type(schema, &name.name.name.value).map(|alias| alias.type_id);
    alias.or_else(|| name.name.name.is("sysname").then_some(SYSNAME))
}

/// The table type that a variable or parameter names.
pub fn table_type<'c>(name: &TypeName, catalog: &'c Catalog) -> Option<&'c Arc<TableTypeDef>> {
    let schema = name.name.schema.as_ref().map_or("", |s| s.value.as_str());
    catalog.find_table_type(schema, &name.name.name.value).filter(|_| name.params.is_empty())
}

/// A type that every database has.
///
/// Errors: 2715.
pub fn built_in(name: &TypeName) -> Result<DataType, SqlError> {
    if name.name.schema.as_ref().is_some_and(|schema| !schema.is("sys")) {
        return Err(cannot_find_type(name));
    }
    declared_type(name).map_err(|e| if e.number == 243 { cannot_find_type(name) } else { e })
}

fn cannot_find_type(name: &TypeName) -> SqlError {
    SqlError::of(msg::TYPE_OF_COLUMN_NOT_FOUND, [&"#1", &name.name]).state(6)
}

/// What messages on types of columns, parameters and variables begin with: alone, one is the first.
const FIRST_IN_LISTS: [&str; 2] = ["Column, parameter, or variable #1:", "Column or parameter #1:"];

/// An error on a type in a list says which one it is, counted from 1.
pub fn in_list(mut error: SqlError, number: usize) -> SqlError {
    let rest =
        FIRST_IN_LISTS.iter().find_map(|start| Some((*start, error.message.strip_prefix(*start)?)));
    if let Some((start, rest)) = rest {
        error.message = format!("{}{number}:{rest}", start.trim_end_matches("1:"));
    }
    error
}

/// The type of CAST and CONVERT: a bare varchar has 30 characters.
pub(crate) fn cast_type(name: &TypeName) -> Result<DataType, SqlError> {
    named_type(name, types::NameContext::Cast)
}

/// The type of a column or variable.
pub fn declared_type(name: &TypeName) -> Result<DataType, SqlError> {
    named_type(name, types::NameContext::Declaration)
}

fn named_type(name: &TypeName, context: types::NameContext) -> Result<DataType, SqlError> {
    if name.name.name.is("xml") && matches!(name.params.as_slice(), [TypeParam::Name(_)]) {
        return Err(catalog::errors::not_supported("XML schema collections"));
    }
    let args = name
        .params
        .iter()
        .map(|p| match p {
            TypeParam::Int(n) => Ok(types::TypeArg::Number(*n)),
            TypeParam::Max => Ok(types::TypeArg::Max),
            TypeParam::Name(n) => Err(SqlError::unknown_type(&n.to_string())),
        })
        .collect::<Result<Vec<_>, _>>()?;
    DataType::from_name_in(&name.name.name.value, &args, context)
}

/// The collation of a name, in a database of a collation. Error: 448.
pub fn collation(name: &Ident, own: Collation, state: u8) -> Result<Collation, SqlError> {
    let known = match name.value.eq_ignore_ascii_case("database_default") {
        true => Some(own),
        false => Collation::from_name(&name.value),
    };
    known.ok_or_else(|| SqlError::of(msg::INVALID_COLLATION, [&name.value]).state(state))
}
