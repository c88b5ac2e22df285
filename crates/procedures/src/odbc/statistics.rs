//! sp_statistics: a table's size and its indexes.

use ::types::{DataType, Len, SqlError, Value};

use super::super::ProcedureCall;
use super::super::params::{NAME, Param};
use super::{Names, check_qualifier, relations, text};
use metadata::results::column;
use metadata::views::files::unit_pages;
use metadata::views::partitions::shown_rows;

use DataType::{Char, Int, SmallInt, VarChar};

/// EXEC sp_statistics table [, owner, qualifier, index, 'Y' for unique ones only, accuracy].
pub fn statistics(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@table_name", NAME),
        ("@table_owner", NAME),
        ("@table_qualifier", NAME),
        ("@index_name", NAME),
        ("@is_unique", Char(1)),
        ("@accuracy", Char(1)),
    ];
    let given = call.given("sp_statistics", 1, PARAMS)?;
    check_qualifier(call.core, given.text(2))?;
    let only = Names::new(given.name(3), true)?;
    let unique_only = given.letter(4, 'N') == 'Y';
    let db = call.core.db().clone();
    let table = relations::table(call.core, given.name(1), given.text(0).unwrap_or_default())?;
    let mut rows = Vec::new();
    if let Some(table) = table {
        let count = shown_rows(call.core, &db, &table)?;
        let count = count.map_or(Value::Null, |n| Value::Int(i32::try_from(n).unwrap_or(i32::MAX)));
        let pages = |index: &catalog::IndexDef| -> Result<Value, SqlError> {
            let (_, used) = unit_pages(&db, index.first_iam)?;
            Ok(Value::Int(i32::try_from(used).unwrap_or(i32::MAX)))
        };
        let head = [Value::Str(db.name()), text(&table.schema), text(&table.name)];
        let mut first = head.to_vec();
        first.resize(6, Value::Null);
        first.push(Value::SmallInt(0));
        first.resize(10, Value::Null);
        first.extend([count.clone(), pages(&table.storage)?, Value::Null]);
        rows.push(first);
        let mut indexes: Vec<_> = table
            .all_indexes()
            .filter(|i| i.index_id > 0 && (i.unique || !unique_only) && only.has(&i.name))
            .collect();
        let kind = |index: &catalog::IndexDef| if index.index_id == 1 { 1 } else { 3 };
        indexes.sort_by_key(|i| (!i.unique, kind(i), i.name.clone()));
        for index in indexes {
            for (i, (at, descending)) in index.key.iter().enumerate() {
                let mut row = head.to_vec();
                row.extend([
                    Value::SmallInt((!index.unique).into()),
                    text(&table.name),
                    text(&index.name),
                    Value::SmallInt(kind(index)),
                    Value::SmallInt(i as i16 + 1),
                    text(&table.columns[*at].name),
                    text(if *descending { "D" } else { "A" }),
                    count.clone(),
                    pages(index)?,
                    Value::Null,
                ]);
                rows.push(row);
            }
        }
    }
    let columns = [
        column("TABLE_QUALIFIER", NAME, true),
        column("TABLE_OWNER", NAME, true),
        column("TABLE_NAME", NAME, true),
        column("NON_UNIQUE", SmallInt, true),
        column("INDEX_QUALIFIER", NAME, true),
        column("INDEX_NAME", NAME, true),
        column("TYPE", SmallInt, true),
        column("SEQ_IN_INDEX", SmallInt, true),
        column("COLUMN_NAME", NAME, true),
        column("COLLATION", Char(1), true),
        column("CARDINALITY", Int, true),
        column("PAGES", Int, true),
        column("FILTER_CONDITION", VarChar(Len::N(128)), true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}
