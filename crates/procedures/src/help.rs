//! sp_helptext, sp_helpindex, sp_server_info.

use ::types::{DataType, Len, SqlError, Value, msg};

use super::Call;
use super::params::{NAME, Param};
use catalog::{ConstraintKind, ModuleKind, TEMPDB};
use metadata::names::name_parts;
use metadata::results::column;
use metadata::views::rights::{object_named, sees, sees_definition};

/// Characters of a line of sp_helptext.
const LINE: usize = 255;

/// EXEC sp_helptext name: the text of a module, or of a CHECK or DEFAULT constraint, line by line.
pub fn text(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] =
        &[("@objname", DataType::NVarChar(Len::N(776))), ("@columnname", NAME)];
    let given = call.given("sp_helptext", 1, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let db = call.core.db().clone();
    let missing = || SqlError::of(msg::OBJECT_NOT_IN_DATABASE, [&name, &db.name()]);
    let mut parts = name_parts(name).filter(|parts| parts.len() <= 3).ok_or_else(missing)?;
    if let (TEMPDB, Some(own)) = (db.id(), call.core.objects.temps.find_procedure(&parts[0], &db)) {
        parts[0] = own.name.to_string();
    }
    let schema = parts.get(1).map_or("", String::as_str);
    let catalog = db.catalog();
    // What the caller may not know of is not there; whose definition it may not see has no text.
    let named =
        object_named(&db, schema, &parts[0]).or_else(|| catalog.constraint_id(schema, &parts[0]));
    if let Some(id) = named.filter(|id| !sees_definition(call.core, &db, *id)) {
        return Err(if sees(call.core, &db, id) { no_text(name) } else { missing() });
    }
    let computed = given.name(1).map(|column| {
        let table = catalog.find(schema, &parts[0]);
        let at = table.and_then(|table| table.column(column).map(|at| (table, at)));
        let computed = at.and_then(|(table, at)| table.columns[at].computed.clone());
        computed.ok_or_else(|| SqlError::of(msg::NOT_A_COMPUTED_COLUMN, [&column]))
    });
    if let Some(computed) = computed {
        let computed = computed?;
        return lines_of(call, &computed.text);
    }
    let text = match catalog.find_module(schema, &parts[0]) {
        Some(module) => module.text.to_string(),
        None => {
            let id = catalog.constraint_id(schema, &parts[0]);
            let constraint = id.and_then(|id| catalog.constraint(id));
            let text = constraint.and_then(|c| match c.kind {
                ConstraintKind::Check(at) => Some(c.table.checks[at].text.to_string()),
                ConstraintKind::Default(at) => {
                    c.table.columns[at].default.as_ref().map(|d| d.text.to_string())
                }
                _ => None,
            });
            match text {
                Some(text) => text,
                None if catalog.find(schema, &parts[0]).is_some() => return Err(no_text(name)),
                None => return Err(missing()),
            }
        }
    };
    lines_of(call, &text)
}

/// 15197.
fn no_text(name: &str) -> SqlError {
    SqlError::of(msg::NO_TEXT, [&name])
}

/// A text as sp_helptext shows it.
fn lines_of(call: &mut Call<'_>, text: &str) -> Result<i32, SqlError> {
    let rows: Vec<_> = lines(text).into_iter().map(|line| vec![Value::str(line)]).collect();
    call.result(&[column("Text", DataType::NVarChar(Len::N(LINE as u16)), true)], &rows)?;
    Ok(0)
}

/// The lines of a text with their ends, in pieces of 255 characters.
fn lines(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > LINE {
            let tail = rest.split_off(LINE);
            out.push(rest.into_iter().collect());
            rest = tail;
        }
        out.push(rest.into_iter().collect());
    }
    out
}

/// EXEC sp_server_info [attribute].
pub(crate) fn server_info(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@attribute_id", DataType::Int)];
    const ROWS: &[(i32, &str, &str)] = &[
        (1, "DBMS_NAME", "Microsoft SQL Server"),
        (
            2,
            "DBMS_VER",
            concat!(
                "Microsoft SQL Server 2022 compatible - 16.0.1000.6, Ringwood ",
                env!("CARGO_PKG_VERSION")
            ),
        ),
        (10, "OWNER_TERM", "owner"),
        (11, "TABLE_TERM", "table"),
        (12, "MAX_OWNER_NAME_LENGTH", "128"),
        (13, "TABLE_LENGTH", "128"),
        (14, "MAX_QUAL_LENGTH", "123"),
        (15, "COLUMN_LENGTH", "128"),
        (16, "IDENTIFIER_CASE", "MIXED"),
        (17, "TX_ISOLATION", "2"),
        (
            18,
            "COLLATION_SEQ",
            "charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52",
        ),
        (19, "SAVEPOINT_SUPPORT", "Y"),
        (20, "MULTI_RESULT_SETS", "Y"),
        (22, "ACCESSIBLE_TABLES", "Y"),
        (100, "USERID_LENGTH", "128"),
        (101, "QUALIFIER_TERM", "database"),
        (102, "NAMED_TRANSACTIONS", "Y"),
        (103, "SPROC_AS_LANGUAGE", "Y"),
        (104, "ACCESSIBLE_SPROC", "Y"),
        (105, "MAX_INDEX_COLS", "32"),
        (106, "RENAME_TABLE", "Y"),
        (107, "RENAME_COLUMN", "Y"),
        (108, "DROP_COLUMN", "Y"),
        (109, "INCREASE_COLUMN_LENGTH", "Y"),
        (110, "DDL_IN_TRANSACTION", "Y"),
        (111, "DESCENDING_INDEXES", "Y"),
        (112, "SP_RENAME", "Y"),
        (113, "REMOTE_SPROC", "N"),
        (500, "SYS_SPROC_VERSION", "16.00.1000"),
    ];
    let given = call.given("sp_server_info", 0, PARAMS)?;
    let wanted = given.number(0, 0);
    let rows: Vec<_> = ROWS
        .iter()
        .filter(|(id, _, _)| wanted == 0 || wanted == i64::from(*id))
        .map(|(id, name, value)| vec![Value::Int(*id), Value::str(name), Value::str(value)])
        .collect();
    let columns = [
        column("attribute_id", DataType::Int, false),
        column("attribute_name", DataType::VarChar(Len::N(60)), false),
        column("attribute_value", DataType::VarChar(Len::N(255)), true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// EXEC sp_helpindex table: its indexes in order of name.
pub fn index(call: &mut Call<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@objname", DataType::NVarChar(Len::N(776)))];
    let given = call.given("sp_helpindex", 1, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let db = call.core.db().clone();
    let catalog = db.catalog();
    let parts = name_parts(name).unwrap_or_default();
    let table =
        parts.first().and_then(|t| catalog.find(parts.get(1).map_or("", String::as_str), t));
    let none = |call: &mut Call<'_>| {
        call.sink.message(&SqlError::of(msg::NO_INDEXES, [&name])).map(|()| 0)
    };
    let view =
        parts.first().and_then(|v| catalog.find_module(parts.get(1).map_or("", String::as_str), v));
    if view.is_some_and(|module| module.kind == ModuleKind::View) {
        return none(call);
    }
    let table =
        table.ok_or_else(|| SqlError::of(msg::OBJECT_NOT_IN_DATABASE, [&name, &db.name()]))?;
    let mut indexes: Vec<_> = table.all_indexes().filter(|index| index.index_id > 0).collect();
    indexes.sort_by_key(|index| catalog::fold_name(&index.name));
    if indexes.is_empty() {
        return none(call);
    }
    let groups = metadata::views::files::groups(&db);
    let row = |index: &&std::sync::Arc<catalog::IndexDef>| {
        let mut words = vec![if index.index_id == 1 { "clustered" } else { "nonclustered" }];
        words.extend(index.unique.then_some("unique"));
        words.extend(index.primary_key.map(|_| "primary key"));
        words.extend(index.unique_constraint.map(|_| "unique key"));
        let group = groups.iter().find(|group| group.id == i32::from(index.filegroup));
        let keys: Vec<String> = index
            .key
            .iter()
            .map(|(at, descending)| {
                format!("{}{}", table.columns[*at].name, if *descending { "(-)" } else { "" })
            })
            .collect();
        let place = group.map_or("", |group| group.name.as_str());
        vec![
            Value::str(&index.name),
            Value::str(format!("{} located on {place}", words.join(", "))),
            Value::str(keys.join(", ")),
        ]
    };
    let rows: Vec<_> = indexes.iter().map(row).collect();
    let columns = [
        column("index_name", NAME, true),
        column("index_description", DataType::VarChar(Len::N(210)), true),
        column("index_keys", DataType::NVarChar(Len::N(2126)), true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}
