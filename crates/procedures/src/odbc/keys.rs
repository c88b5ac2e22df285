//! sp_pkeys and sp_fkeys.

use std::sync::Arc;

use ::types::{DataType, SqlError, Value, msg};

use super::super::Call;
use super::super::params::{NAME, Param};
use super::{check_qualifier, relations, text};
use catalog::{Catalog, ForeignKeyDef, TableDef, fold_name};
use metadata::results::column;
use metadata::views::rights::sees;
use syntax::ast::ReferentialAction;

use DataType::SmallInt;

/// EXEC sp_pkeys table [, owner, qualifier].
pub(crate) fn primary_keys(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] =
        &[("@table_name", NAME), ("@table_owner", NAME), ("@table_qualifier", NAME)];
    let given = call.given("sp_pkeys", 1, PARAMS)?;
    check_qualifier(call.core, given.text(2))?;
    let db = call.core.db().clone();
    let table = relations::table(call.core, given.name(1), given.text(0).unwrap_or_default())?;
    let mut rows = Vec::new();
    if let Some(table) = table
        && let Some(key) = table.all_indexes().find(|i| i.primary_key.is_some())
    {
        for (i, (at, _)) in key.key.iter().enumerate() {
            rows.push(vec![
                Value::Str(db.name()),
                text(&table.schema),
                text(&table.name),
                text(&table.columns[*at].name),
                Value::SmallInt(i as i16 + 1),
                text(&key.name),
            ]);
        }
    }
    let columns = [
        column("TABLE_QUALIFIER", NAME, true),
        column("TABLE_OWNER", NAME, true),
        column("TABLE_NAME", NAME, true),
        column("COLUMN_NAME", NAME, true),
        column("KEY_SEQ", SmallInt, false),
        column("PK_NAME", NAME, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// A foreign key with its table.
type Key = (Arc<TableDef>, ForeignKeyDef);

/// EXEC sp_fkeys: the foreign keys that refer to a table, those of a table, or those from one to
/// another.
pub fn foreign_keys(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@pktable_name", NAME),
        ("@pktable_owner", NAME),
        ("@pktable_qualifier", NAME),
        ("@fktable_name", NAME),
        ("@fktable_owner", NAME),
        ("@fktable_qualifier", NAME),
    ];
    let given = call.given("sp_fkeys", 0, PARAMS)?;
    let (primary, foreign) = (given.name(0), given.name(3));
    if primary.is_none() && foreign.is_none() {
        return Err(SqlError::of(msg::KEY_TABLE_REQUIRED, []));
    }
    check_qualifier(call.core, given.text(2))?;
    check_qualifier(call.core, given.text(5))?;
    let db = call.core.db().clone();
    let catalog = db.catalog();
    let mut named = |at: usize| match given.name(at) {
        Some(name) => relations::table(call.core, given.name(at + 1), name),
        None => Ok(None),
    };
    let (parent, child) = (named(0)?, named(3)?);
    let missing = primary.is_some() && parent.is_none() || foreign.is_some() && child.is_none();
    let mut keys: Vec<Key> = match (&parent, &child) {
        _ if missing => Vec::new(),
        (_, Some(child)) => {
            child.foreign_keys.iter().map(|key| (child.clone(), key.clone())).collect()
        }
        (Some(parent), None) => catalog.foreign_keys_to(parent.object_id),
        (None, None) => Vec::new(),
    };
    // The other end may be a table that the caller knows nothing of.
    keys.retain(|(table, key)| {
        sees(call.core, &db, table.object_id) && sees(call.core, &db, key.parent)
    });
    keys.retain(|(_, key)| parent.as_ref().is_none_or(|parent| key.parent == parent.object_id));
    // Ordered by the tables of the other end.
    keys.sort_by_cached_key(|(table, key)| {
        let other = if primary.is_some() { Some(table) } else { catalog.by_id.get(&key.parent) };
        let other = other.map(|t| (fold_name(&t.schema), fold_name(&t.name)));
        (other, fold_name(&key.name))
    });
    let rows: Vec<_> = keys.iter().flat_map(|key| key_rows(&catalog, &db.name(), key)).collect();
    let columns = [
        column("PKTABLE_QUALIFIER", NAME, true),
        column("PKTABLE_OWNER", NAME, true),
        column("PKTABLE_NAME", NAME, true),
        column("PKCOLUMN_NAME", NAME, true),
        column("FKTABLE_QUALIFIER", NAME, true),
        column("FKTABLE_OWNER", NAME, true),
        column("FKTABLE_NAME", NAME, true),
        column("FKCOLUMN_NAME", NAME, true),
        column("KEY_SEQ", SmallInt, false),
        column("UPDATE_RULE", SmallInt, true),
        column("DELETE_RULE", SmallInt, true),
        column("FK_NAME", NAME, true),
        column("PK_NAME", NAME, true),
        column("DEFERRABILITY", SmallInt, false),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

fn key_rows(catalog: &Catalog, database: &str, (table, key): &Key) -> Vec<Vec<Value>> {
    let Some(parent) = catalog.by_id.get(&key.parent) else { return Vec::new() };
    let index = parent.all_indexes().find(|index| index.index_id == key.key);
    let name = |table: &TableDef, id: i32| {
        table.position(id).map_or(Value::Null, |at| text(&table.columns[at].name))
    };
    let pairs = key.columns.iter().enumerate();
    let row = |(i, (own, other)): (usize, &(i32, i32))| {
        vec![
            text(database),
            text(&parent.schema),
            text(&parent.name),
            name(parent, *other),
            text(database),
            text(&table.schema),
            text(&table.name),
            name(table, *own),
            Value::SmallInt(i as i16 + 1),
            Value::SmallInt(rule(key.on_update)),
            Value::SmallInt(rule(key.on_delete)),
            text(&key.name),
            index.map_or(Value::Null, |index| text(&index.name)),
            // Not deferrable.
            Value::SmallInt(7),
        ]
    };
    pairs.map(row).collect()
}

/// ODBC's number of an action.
fn rule(action: ReferentialAction) -> i16 {
    match action {
        ReferentialAction::Cascade => 0,
        ReferentialAction::NoAction => 1,
        ReferentialAction::SetNull => 2,
        ReferentialAction::SetDefault => 3,
    }
}
