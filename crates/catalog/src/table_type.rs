//! Table types: the statement that made them, from which each variable and parameter of the type is
//! made. Guarantee: `load` of what `rows_of` wrote gives the same definition.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{StmtKind, TableElement, TypeKind};
use types::{SqlError, Value};

use crate::rows::{ObjectRow, damaged, text_rows};
use crate::store::StoreError;
use crate::systables::SysTable;

/// Kind of the row in the objects' table, and sys.objects.type.
pub const TABLE_TYPE: &str = "TT";
/// Words of the object's properties.
const QUOTED_OFF: &str = "quoted_identifier_off";
const NOT_NULL: &str = "ansi_null_dflt_off";

/// A table type.
pub struct TableTypeDef {
    /// user_type_id, and the object_id of the table that describes it.
    pub type_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    /// The CREATE TYPE statement; spans of `elements` point into it.
    pub text: Arc<str>,
    /// SET QUOTED_IDENTIFIER of the session that made it.
    pub quoted_identifier: bool,
    /// Whether a column may be NULL that does not say: SET ANSI_NULL_DFLT_ON of that session.
    pub nullable: bool,
    pub create_date: Value,
    /// Columns, constraints and indexes.
    pub elements: Vec<TableElement>,
}

impl std::fmt::Debug for TableTypeDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "table type {}.{}", self.schema, self.name)
    }
}

/// The columns, constraints and indexes that a CREATE TYPE ... AS TABLE has.
///
/// # Errors
/// 102 and its kin when the text is no such statement.
pub fn elements_of(text: &str, quoted_identifier: bool) -> Result<Vec<TableElement>, SqlError> {
    let settings = ParseSettings { quoted_identifier, parse_only: false };
    let parsed = syntax::parse_with(text, settings).map_err(crate::errors::syntax_error)?;
    match parsed.stmts.into_iter().next().map(|stmt| stmt.kind) {
        Some(StmtKind::CreateType(create)) => match create.kind {
            TypeKind::Table { elements, .. } => Ok(elements),
            TypeKind::Alias { .. } => {
                Err(SqlError::internal("the definition of a table type is an alias"))
            }
        },
        _ => Err(SqlError::internal("the definition of a table type is something else")),
    }
}

/// Rows of a table type: the object, and its text in parts.
pub fn rows_of(def: &TableTypeDef, schema_id: i32) -> Vec<(SysTable, Vec<Value>)> {
    let flags = [(!def.quoted_identifier, QUOTED_OFF), (!def.nullable, NOT_NULL)];
    let words: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
    let object = vec![
        Value::Int(def.type_id),
        Value::str(&def.name),
        Value::Int(schema_id),
        Value::str(TABLE_TYPE),
        Value::Int(0),
        def.create_date.clone(),
        def.create_date.clone(),
        Value::str(words.join(" ")),
    ];
    let mut rows = vec![(SysTable::Objects, object)];
    rows.extend(text_rows(def.type_id, &def.text));
    rows
}

/// The table type that an object is; `None` for an object of another kind.
pub(crate) fn load(
    type_id: i32,
    object: &ObjectRow,
    schema: CompactString,
    texts: &HashMap<i32, String>,
) -> Result<Option<TableTypeDef>, StoreError> {
    if object.kind != TABLE_TYPE {
        return Ok(None);
    }
    let words = object.text.as_deref().unwrap_or_default();
    let has = |word: &str| words.split(' ').any(|w| w == word);
    let text = texts.get(&type_id).ok_or_else(|| damaged("text", type_id))?;
    let quoted_identifier = !has(QUOTED_OFF);
    Ok(Some(TableTypeDef {
        type_id,
        schema,
        name: object.name.clone(),
        text: text.as_str().into(),
        quoted_identifier,
        nullable: !has(NOT_NULL),
        create_date: object.create_date.clone(),
        elements: elements_of(text, quoted_identifier)?,
    }))
}
