//! sp_special_columns, sp_special_columns_100: the columns that identify a row.

use ::types::{DataType, SqlError, Value, msg};

use super::super::Call;
use super::super::params::{NAME, Param};
use super::relations::alias_name;
use super::{Level, check_qualifier, odbc_type, relations, small, text, type_name};
use catalog::{IndexDef, TableDef};
use metadata::results::column;
use programs::arguments::Arg;

use DataType::{Char, Int, SmallInt};

/// EXEC sp_special_columns.
pub fn special(call: &mut Call<'_>) -> Result<i32, SqlError> {
    list(call, "sp_special_columns", Level::Old)
}

/// EXEC sp_special_columns_100.
pub(crate) fn special_100(call: &mut Call<'_>) -> Result<i32, SqlError> {
    list(call, "sp_special_columns_100", Level::Since2008)
}

fn list(call: &mut Call<'_>, procedure: &str, level: Level) -> Result<i32, SqlError> {
    // The reference calls it @qualifier, the procedure itself @table_qualifier.
    let named =
        |arg: &Arg| arg.name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("@qualifier"));
    let qualifier = if call.args.iter().any(named) { "@qualifier" } else { "@table_qualifier" };
    let params: [Param; 7] = [
        ("@table_name", NAME),
        ("@table_owner", NAME),
        (qualifier, NAME),
        ("@col_type", Char(1)),
        ("@scope", Char(1)),
        ("@nullable", Char(1)),
        ("@ODBCVer", Int),
    ];
    let given = call.given(procedure, 1, &params)?;
    check_qualifier(call.core, given.text(2))?;
    let (kind, scope, nullable) =
        (given.letter(3, 'R'), given.letter(4, 'T'), given.letter(5, 'U'));
    for (name, letter, [one, other]) in [
        ("col_type", kind, ['R', 'V']),
        ("scope", scope, ['C', 'T']),
        ("nullable", nullable, ['U', 'O']),
    ] {
        if letter != one && letter != other {
            let letters = format!("'{one}' or '{other}'");
            return Err(SqlError::of(msg::INVALID_VALUE_SPECIFIED, [&name, &letters]));
        }
    }
    let version = given.number(6, 2);
    let db = call.core.db().clone();
    let table = relations::table(call.core, given.name(1), given.text(0).unwrap_or_default())?;
    let mut rows = Vec::new();
    let wanted: Vec<usize> = match &table {
        None => Vec::new(),
        // The column that changes with every UPDATE.
        Some(table) if kind == 'V' => table.row_version().into_iter().collect(),
        Some(table) => best(table, nullable == 'O')
            .into_iter()
            .flat_map(|i| i.key.iter().map(|k| k.0))
            .collect(),
    };
    if let Some(table) = &table {
        for at in wanted {
            let c = &table.columns[at];
            let ty = odbc_type(c.ty, c.nullable, version, level);
            rows.push(vec![
                match kind {
                    'V' => Value::Null,
                    _ => Value::SmallInt(if scope == 'C' { 0 } else { 1 }),
                },
                text(&c.name),
                Value::SmallInt(ty.data_type),
                text(type_name(
                    c.ty,
                    c.identity.is_some(),
                    alias_name(c, &db.catalog()).as_deref(),
                )),
                Value::Int(ty.precision),
                Value::Int(ty.length),
                small(ty.scale),
                // A column of the table.
                Value::SmallInt(1),
            ]);
        }
    }
    let columns = [
        column("SCOPE", SmallInt, true),
        column("COLUMN_NAME", NAME, true),
        column("DATA_TYPE", SmallInt, false),
        column("TYPE_NAME", NAME, true),
        column("PRECISION", Int, true),
        column("LENGTH", Int, true),
        column("SCALE", SmallInt, true),
        column("PSEUDO_COLUMN", SmallInt, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// The unique index with the least number; where no column of it may be NULL, the one with the
/// greatest number that has no such column. SQL Server chooses so.
fn best(table: &TableDef, not_null: bool) -> Option<&IndexDef> {
    let usable = |index: &&std::sync::Arc<IndexDef>| {
        index.is_key()
            && index.index_id > 0
            && !(not_null && index.key.iter().any(|(at, _)| table.columns[*at].nullable))
    };
    let usable = table.all_indexes().filter(usable);
    let found = match not_null {
        true => usable.max_by_key(|index| index.index_id),
        false => usable.min_by_key(|index| index.index_id),
    };
    found.map(|index| &**index)
}
