//! Alias types: a name for a type, and whether a column of it may be NULL when it does not say.
//! Guarantee: `load` of what `row_of` wrote gives the same definition.

use compact_str::CompactString;
use types::{DataType, Value};

use crate::rows::{ObjectRow, damaged};
use crate::store::StoreError;
use crate::systables::SysTable;
use crate::type_text::type_of_text;

/// Kind of the row in the objects' table; no object of sys.objects.
const ALIAS: &str = "@T";

/// An alias type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasDef {
    /// user_type_id.
    pub type_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    /// What it stands for.
    pub base: DataType,
    pub nullable: bool,
}

/// The row that keeps a type.
pub fn row_of(alias: &AliasDef, schema_id: i32) -> (SysTable, Vec<Value>) {
    let null = if alias.nullable { "NULL" } else { "NOT NULL" };
    let row = vec![
        Value::Int(alias.type_id),
        Value::str(&alias.name),
        Value::Int(schema_id),
        Value::str(ALIAS),
        Value::Int(0),
        crate::clock::now(),
        crate::clock::now(),
        Value::str(format!("{} {null}", alias.base)),
    ];
    (SysTable::Objects, row)
}

/// The type that an object's row is; `None` for an object of another kind.
pub(crate) fn load(
    type_id: i32,
    object: &ObjectRow,
    schema: CompactString,
) -> Result<Option<AliasDef>, StoreError> {
    if object.kind != ALIAS {
        return Ok(None);
    }
    let text = object.text.as_deref().unwrap_or_default();
    let (base, nullable) = match text.strip_suffix(" NOT NULL") {
        Some(base) => (base, false),
        None => (text.strip_suffix(" NULL").ok_or_else(|| damaged("type", type_id))?, true),
    };
    let base = type_of_text(base)?;
    Ok(Some(AliasDef { type_id, schema, name: object.name.clone(), base, nullable }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Len;

    #[test]
    fn types_survive_their_rows() {
        for (base, nullable) in
            [(DataType::VarChar(Len::N(11)), false), (DataType::decimal(9, 2), true)]
        {
            let alias =
                AliasDef { type_id: 300, schema: "dbo".into(), name: "id".into(), base, nullable };
            let (_, row) = row_of(&alias, 1);
            let object = ObjectRow {
                name: "id".into(),
                schema_id: 1,
                kind: ALIAS.into(),
                parent: 0,
                create_date: Value::Null,
                modify_date: Value::Null,
                text: row[7].as_str().map(CompactString::from),
            };
            assert_eq!(load(300, &object, "dbo".into()).unwrap(), Some(alias));
        }
    }
}
