//! sp_spaceused: space of the database, or of a table.

use types::{DataType, Len, SqlError, Value, msg};

use super::Call;
use catalog::fold_name;
use metadata::names::name_parts;
use metadata::results::column;
use metadata::views::files::{Space, database_size, table_space};
use metadata::views::partitions::shown_rows;
use metadata::views::rights::sees;

const NAME: DataType = DataType::NVarChar(Len::N(128));
const TEXT: DataType = DataType::VarChar(Len::N(18));

fn kb(bytes: u64) -> Value {
    Value::str(format!("{} KB", bytes >> 10))
}

/// EXEC sp_spaceused [table].
pub fn run(call: &mut Call<'_>) -> Result<i32, SqlError> {
    match call.arg(0, "@objname").and_then(Value::as_str).map(str::to_string) {
        Some(name) => table(call, &name),
        None => database(call),
    }
}

fn table(call: &mut Call<'_>, name: &str) -> Result<i32, SqlError> {
    let db = call.core.db().clone();
    let mut parts = name_parts(name).unwrap_or_default().into_iter();
    let mut part = || parts.next().unwrap_or_default();
    let (table, schema, database) = (part(), part(), part());
    if !database.is_empty() && fold_name(&database) != fold_name(&db.name()) {
        return Err(SqlError::of(msg::NOT_CURRENT_DATABASE, []));
    }
    let found = db.catalog().find(&schema, &table).cloned();
    let Some(table) = found.filter(|table| sees(call.core, &db, table.object_id)) else {
        return Err(SqlError::of(msg::OBJECT_NOT_IN_DATABASE, [&name, &db.name()]));
    };
    let rows = shown_rows(call.core, &db, &table)?;
    let rows = rows.map_or(Value::Null, |rows| Value::str(format!("{rows:<20}")));
    let space = table_space(&db, &table)?;
    let row = vec![
        Value::Str(table.name.clone()),
        rows,
        kb(space.reserved),
        kb(space.data),
        kb(space.index),
        kb(space.unused()),
    ];
    let columns = [
        column("name", NAME, false),
        column("rows", DataType::Char(20), true),
        column("reserved", TEXT, true),
        column("data", TEXT, true),
        column("index_size", TEXT, true),
        column("unused", TEXT, true),
    ];
    call.result(&columns, &[row])?;
    Ok(0)
}

fn database(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let db = call.core.db().clone();
    let mut total = Space::default();
    for table in db.catalog().by_id.values() {
        total.add(table_space(&db, table)?);
    }
    let (size, data_size, allocated) = database_size(&db);
    let megabytes = |bytes: u64| Value::str(format!("{:.2} MB", bytes as f64 / f64::from(1 << 20)));
    let first = vec![
        Value::Str(db.name()),
        megabytes(size),
        megabytes(data_size.saturating_sub(allocated)),
    ];
    let columns = [
        column("database_name", NAME, true),
        column("database_size", TEXT, true),
        column("unallocated space", TEXT, true),
    ];
    call.result(&columns, &[first])?;
    // System tables and maps count as reserved data, as they do everywhere.
    let system = allocated.saturating_sub(total.reserved);
    let second = vec![kb(allocated), kb(total.data + system), kb(total.index), kb(total.unused())];
    let columns = [
        column("reserved", TEXT, true),
        column("data", TEXT, true),
        column("index_size", TEXT, true),
        column("unused", TEXT, true),
    ];
    call.result(&columns, &[second])?;
    Ok(0)
}
