//! DBCC CHECKCONSTRAINTS: the rows that CHECK and FOREIGN KEY constraints would refuse, found by
//! queries made of their definitions. Guarantees: nothing is changed; constraints stay as trusted
//! as they were.

use std::sync::Arc;

use catalog::{CheckDef, Db, ForeignKeyDef, TableDef, fold_name, names::quote};
use types::{DataType, Len, SqlError, Value, msg};

use super::Command;
use ddl::constraints::check_of_column;
use ddl::own_queries::query_rows;
use metadata::names::name_parts;
use metadata::results::column;

/// Rows of a constraint that are shown without ALL_ERRORMSGS.
const SHOWN: usize = 200;

/// DBCC CHECKCONSTRAINTS [('table' | 'constraint' | id)] [WITH ALL_CONSTRAINTS, ALL_ERRORMSGS]: of
/// a table those that are enabled, of the database those that are enabled and not trusted; with
/// ALL_CONSTRAINTS all of them.
pub(super) fn check_constraints(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.ctx.core.db().clone();
    db.check_usable()?;
    let has = |command: &Command<'_, '_>, option: &str| command.options.iter().any(|o| o == option);
    let (all, every_row) = (has(command, "ALL_CONSTRAINTS"), has(command, "ALL_ERRORMSGS"));
    let mut found = Vec::new();
    for (table, constraint) in wanted(command, &db, all)? {
        let text = match &constraint {
            Constraint::Check(check) => query_of_check(&table, check, every_row),
            Constraint::ForeignKey(key) => query_of_key(&db, &table, key, every_row)?,
        };
        let name = match constraint {
            Constraint::Check(check) => check.name,
            Constraint::ForeignKey(key) => key.name,
        };
        for row in query_rows(command.ctx.core, &db, &text)? {
            let at = row.into_iter().next().unwrap_or(Value::Null);
            found.push(vec![Value::str(shown(&table)), Value::str(quote(&name)), at]);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let columns = [
        column("Table", DataType::NVarChar(Len::N(517)), true),
        column("Constraint", DataType::NVarChar(Len::N(258)), true),
        column("Where", DataType::NVarChar(Len::Max), true),
    ];
    command.result(&columns, &found)
}

enum Constraint {
    Check(CheckDef),
    ForeignKey(ForeignKeyDef),
}

impl Constraint {
    fn is_named(&self, object_id: i64, name: &str) -> bool {
        let (id, own) = match self {
            Self::Check(check) => (check.object_id, &check.name),
            Self::ForeignKey(key) => (key.object_id, &key.name),
        };
        i64::from(id) == object_id || (!name.is_empty() && fold_name(own) == fold_name(name))
    }

    /// Whether it is enabled, and whether rows may have come in unseen.
    fn state(&self) -> (bool, bool) {
        match self {
            Self::Check(check) => (!check.disabled, check.untrusted),
            Self::ForeignKey(key) => (!key.disabled, key.untrusted),
        }
    }
}

fn constraints_of(table: &Arc<TableDef>) -> impl Iterator<Item = (Arc<TableDef>, Constraint)> + '_ {
    let checks = table.checks.iter().cloned().map(Constraint::Check);
    let keys = table.foreign_keys.iter().cloned().map(Constraint::ForeignKey);
    checks.chain(keys).map(|constraint| (table.clone(), constraint))
}

/// What the statement names. Error: 2501 there is no such table or constraint.
fn wanted(
    command: &Command<'_, '_>,
    db: &Arc<Db>,
    all: bool,
) -> Result<Vec<(Arc<TableDef>, Constraint)>, SqlError> {
    let catalog = db.catalog();
    let mut tables: Vec<_> = catalog.by_id.values().cloned().collect();
    tables.sort_by_key(|table| table.object_id);
    let (name, id) = (command.text(0).unwrap_or_default(), command.number(0).unwrap_or(0));
    if name.is_empty() && id == 0 {
        let all_of = tables.iter().flat_map(constraints_of);
        return Ok(all_of.filter(|(_, c)| all || c.state() == (true, true)).collect());
    }
    let parts = name_parts(name).unwrap_or_default();
    let part = |at: usize| parts.get(at).map_or("", String::as_str);
    let by_id = |table: &&Arc<TableDef>| i64::from(table.object_id) == id;
    let table = catalog.find(part(1), part(0)).or_else(|| tables.iter().find(by_id));
    if let Some(table) = table {
        return Ok(constraints_of(table).filter(|(_, c)| all || c.state().0).collect());
    }
    let schema = part(1);
    let in_schema =
        |table: &TableDef| schema.is_empty() || fold_name(schema) == fold_name(&table.schema);
    let named = tables.iter().filter(|table| in_schema(table)).flat_map(constraints_of);
    match named.into_iter().find(|(_, constraint)| constraint.is_named(id, part(0))) {
        Some(found) => Ok(vec![found]),
        None => {
            let shown = if name.is_empty() { id.to_string() } else { name.to_owned() };
            Err(SqlError::of(msg::TABLE_OR_OBJECT_NOT_FOUND, [&shown]))
        }
    }
}

fn shown(table: &TableDef) -> String {
    format!("{}.{}", quote(&table.schema), quote(&table.name))
}

/// The rows for which a condition is false; unknown is let pass.
fn query_of_check(table: &TableDef, check: &CheckDef, every_row: bool) -> String {
    let named = |at: &usize| {
        let only = TableDef { checks: vec![check.clone()], ..table.clone() };
        check_of_column(&only, *at).is_some()
    };
    let columns: Vec<usize> = (0..table.columns.len()).filter(named).collect();
    let (top, place) = (top(every_row), place_of(table, &columns));
    format!("SELECT {top}{place} FROM {} WHERE NOT ({})", shown(table), check.text)
}

/// The rows whose key is in no row of the other table; a NULL in it is let pass.
fn query_of_key(
    db: &Db,
    table: &TableDef,
    key: &ForeignKeyDef,
    every_row: bool,
) -> Result<String, SqlError> {
    let catalog = db.catalog();
    let lost = || SqlError::internal("a foreign key has lost its table");
    let parent = catalog.by_id.get(&key.parent).ok_or_else(lost)?;
    let at = |table: &TableDef, id: i32| {
        table.columns.iter().position(|c| c.column_id == id).ok_or_else(lost)
    };
    let (mut columns, mut given, mut equal) = (Vec::new(), Vec::new(), Vec::new());
    for (own, other) in &key.columns {
        let own = at(table, *own)?;
        let (here, there) =
            (quote(&table.columns[own].name), quote(&parent.columns[at(parent, *other)?].name));
        given.push(format!("c.{here} IS NOT NULL"));
        equal.push(format!("p.{there} = c.{here}"));
        columns.push(own);
    }
    Ok(format!(
        "SELECT {}{} FROM {} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {})",
        top(every_row),
        place_of(table, &columns),
        shown(table),
        given.join(" AND "),
        shown(parent),
        equal.join(" AND ")
    ))
}

fn top(every_row: bool) -> String {
    if every_row { String::new() } else { format!("TOP ({SHOWN}) ") }
}

/// An expression that gives `[a] = '1' AND [b] IS NULL` for a row.
fn place_of(table: &TableDef, columns: &[usize]) -> String {
    let of_column = |at: &usize| {
        let column = &table.columns[*at];
        let (name, text) = (quote(&column.name), quote(&column.name).replace('\'', "''"));
        let style = match column.ty {
            DataType::Binary(_) | DataType::VarBinary(_) => 1,
            DataType::Date
            | DataType::DateTime
            | DataType::SmallDateTime
            | DataType::DateTime2(_) => 121,
            _ => 0,
        };
        format!(
            "CASE WHEN {name} IS NULL THEN N'{text} IS NULL' ELSE N'{text} = ''' \
             + REPLACE(CONVERT(nvarchar(max), {name}, {style}), '''', '''''') + N'''' END"
        )
    };
    if columns.is_empty() {
        return "N''".into();
    }
    columns.iter().map(of_column).collect::<Vec<_>>().join(" + N' AND ' + ")
}
