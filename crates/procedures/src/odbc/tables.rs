//! sp_tables, and sp_tableswc for the tables of several databases.

use ::types::{Collation, DataType, Len, LikePattern, SqlError, Value, msg};

use super::super::params::{Given, NAME, PATTERN, Param};
use super::super::{Call, send};
use super::{Names, REMARKS, check_qualifier, relations, text};
use crate::rights;
use catalog::fold_name;
use metadata::results::column;
use session::output::ColumnInfo;
use session::state::SessionCore;

const PARAMS: &[Param] = &[
    ("@table_name", PATTERN),
    ("@table_owner", PATTERN),
    ("@table_qualifier", NAME),
    ("@table_type", DataType::VarChar(Len::N(100))),
    ("@fUsePattern", DataType::Bit),
];

const KINDS: [&str; 3] = ["SYSTEM TABLE", "TABLE", "VIEW"];

/// EXEC sp_tables [name, owner, qualifier, types, pattern].
pub fn tables(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_tables", 0, PARAMS)?;
    let [name, owner, qualifier, kinds] = [0, 1, 2, 3].map(|at| given.text(at));
    let rows = match (name, owner, qualifier, kinds) {
        // ODBC's lists of databases, schemas and kinds.
        (Some(""), Some(""), Some("%"), _) => {
            let mut names: Vec<_> =
                call.core.host().databases().iter().map(|db| db.name()).collect();
            names.sort_by_key(|name| fold_name(name));
            names
                .into_iter()
                .map(|name| row(Value::Str(name), Value::Null, Value::Null, Value::Null))
                .collect()
        }
        (Some(""), Some("%"), Some("") | None, _) => {
            let catalog = call.core.db().catalog();
            let mut names: Vec<&str> =
                catalog.schema_names.values().map(|name| name.as_str()).collect();
            names.sort_unstable();
            names
                .into_iter()
                .map(|name| row(Value::Null, text(name), Value::Null, Value::Null))
                .collect()
        }
        (Some(""), Some(""), Some("") | None, Some("%")) => KINDS
            .iter()
            .map(|kind| row(Value::Null, Value::Null, Value::Null, text(kind)))
            .collect(),
        // No database is called so.
        (_, _, Some(blank), _) if blank.trim_end().is_empty() => Vec::new(),
        _ => {
            check_qualifier(call.core, qualifier.filter(|q| *q != "%"))?;
            of_database(call.core, &given)?
        }
    };
    call.result(&result_columns(), &rows)?;
    Ok(0)
}

/// EXEC sp_tableswc [name, owner, qualifier, types, pattern]: as sp_tables, for each database whose
/// name the qualifier matches and that the caller may use. ODBC's driver calls it where a name of a
/// database may be a pattern.
pub(crate) fn tables_of_databases(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_tableswc", 0, PARAMS)?;
    let mut databases = Vec::new();
    if let Some(qualifier) = given.text(2) {
        let pattern = LikePattern::new(qualifier, None)?;
        databases = call.core.host().databases();
        databases.retain(|db| pattern.matches(&db.name(), Collation::DEFAULT, true));
        databases.sort_by_key(|db| fold_name(&db.name()));
    }
    let columns = result_columns();
    let mut rows = Vec::new();
    for db in databases {
        call.core.check_cancel()?;
        if db.check_usable().is_err() || call.core.check_access(&db).is_err() {
            continue;
        }
        let visit = call.core.visit_db(&db)?;
        let found = of_database(call.core, &given).map(|found| match call.core.may_all() {
            true => found,
            false => rights::visible(call.core, &columns, &found),
        });
        call.core.end_visit(visit);
        rows.extend(found?);
    }
    // TABLE_TYPE comes before the database.
    rows.sort_by(|a, b| a[3].as_str().cmp(&b[3].as_str()));
    send(call.sink, &columns, &rows, call.core, true)?;
    Ok(0)
}

/// Tables and views of the current database, by TABLE_TYPE and name.
fn of_database(core: &SessionCore, given: &Given) -> Result<Vec<Vec<Value>>, SqlError> {
    let pattern = given.number(4, 1) != 0;
    let names = Names::new(given.name(0), pattern)?;
    let owners = Names::new(given.name(1), pattern)?;
    let db = core.db().clone();
    let wanted = wanted_kinds(given.text(3))?;
    let mut found = relations::find(&db.catalog(), &owners, &names);
    found.retain(|relation| wanted.is_empty() || wanted.iter().any(|kind| kind == relation.kind()));
    // TABLE_TYPE comes before the names.
    found.sort_by_key(relations::Relation::kind);
    let row = |r: &relations::Relation| {
        row(Value::Str(db.name()), text(r.schema()), text(r.name()), text(r.kind()))
    };
    Ok(found.iter().map(row).collect())
}

fn result_columns() -> [ColumnInfo; 5] {
    [
        column("TABLE_QUALIFIER", NAME, true),
        column("TABLE_OWNER", NAME, true),
        column("TABLE_NAME", NAME, true),
        column("TABLE_TYPE", DataType::VarChar(Len::N(32)), true),
        column("REMARKS", REMARKS, true),
    ]
}

fn row(database: Value, schema: Value, name: Value, kind: Value) -> Vec<Value> {
    vec![database, schema, name, kind, Value::Null]
}

/// The kinds of `'TABLE','VIEW'`; none means all. Error: 15251 for a list without quotes.
fn wanted_kinds(list: Option<&str>) -> Result<Vec<String>, SqlError> {
    let Some(list) = list.map(str::trim).filter(|list| !list.is_empty() && *list != "%") else {
        return Ok(Vec::new());
    };
    let kind = |part: &str| {
        // JDBC doubles the quotes, though it sends the list as a parameter.
        let part = part.trim();
        let quoted = part.len() > 2 && part.starts_with('\'') && part.ends_with('\'');
        quoted
            .then(|| part.trim_matches('\'').to_ascii_uppercase())
            .ok_or_else(|| SqlError::of(msg::TABLE_TYPE_PARAMETER, []))
    };
    list.split(',').map(kind).collect()
}
