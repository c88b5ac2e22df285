//! The history table of a versioned table: it is created, or a table that exists is examined before
//! it is taken.

use crate::own_queries::finds_row;
use crate::versioned::full_name;
use crate::work::SchemaChange;
use catalog::names::quote;
use catalog::temporal::Temporal;
use catalog::{
    ColumnDef, Compression, Db, IndexOptions, NewColumn, NewIndex, NewTable, TableDef, fold_name,
};
use compact_str::CompactString;
use types::{DataType, SqlError, msg};

/// The name of a history that is not named.
pub(super) fn free_name(db: &Db, table: &TableDef) -> CompactString {
    let plain = format!("MSSQL_TemporalHistoryFor_{}", table.object_id);
    let catalog = db.catalog();
    let numbered = (1_u32..).map(|n| format!("{plain}_{:08X}", n.wrapping_mul(0x9E37_79B9)));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let free = |name: &String| {
        catalog.find(&table.schema, name).is_none()
            && catalog.find_module(&table.schema, name).is_none()
    };
    names.find(free).unwrap_or(plain).into()
}

/// A column of a history: nothing but its values.
fn past_column(column: &ColumnDef) -> NewColumn {
    let ty = match column.ty {
        DataType::RowVersion => DataType::Binary(8),
        ty => ty,
    };
    NewColumn {
        collation: column.collation,
        alias: column.alias,
        ..NewColumn::new(column.name.clone(), ty, column.nullable)
    }
}

/// A history for a table, clustered by the ends of its periods.
pub(super) fn new_history(
    table: &TableDef,
    schema: CompactString,
    name: CompactString,
) -> NewTable {
    let (start, end) = table.period().unwrap_or_default();
    let mut options = IndexOptions::default();
    options.set_compression(Compression::Page);
    let index = NewIndex {
        name: Some(format!("ix_{name}").chars().take(128).collect()),
        unique: false,
        clustered: true,
        key: vec![(end, false), (start, false)],
        included: Vec::new(),
        constraint: None,
        fill_factor: 0,
        options,
        filter: None,
    };
    let columns = table.columns.iter().map(past_column).collect();
    NewTable { schema, name, columns, indexes: vec![index], ..NewTable::default() }
}

/// Whether a table can be the history of another.
///
/// # Errors
/// 13511, 13514 to 13519, 13522 to 13526, 13530, 13531, 13566, 13574; those of its rows.
pub(super) fn check_history(
    work: &mut SchemaChange<'_>,
    table: &TableDef,
    history: &TableDef,
    rows: bool,
) -> Result<(), SqlError> {
    let name = full_name(&work.db, history);
    if history.object_id == table.object_id {
        return Err(SqlError::of(msg::NOT_A_HISTORY_TABLE, [&history.full_name()]));
    }
    match history.temporal {
        Temporal::None => {}
        Temporal::History { .. } => {
            return Err(SqlError::of(msg::HISTORY_IN_USE, [&name]));
        }
        Temporal::Current { .. } => {
            return Err(SqlError::of(msg::TEMPORAL_IN_USE, [&name]));
        }
    }
    if history.period().is_some() {
        return Err(SqlError::of(msg::HISTORY_HAS_PERIOD, [&name]));
    }
    let triggers = !work.db.catalog().triggers_of(history.object_id).is_empty();
    let any = |what: fn(&ColumnDef) -> bool| history.columns.iter().any(what);
    let unwanted = [
        (msg::HISTORY_TRIGGERS, triggers),
        (msg::HISTORY_UNIQUE_KEYS, history.all_indexes().any(|index| index.unique)),
        (msg::HISTORY_FOREIGN_KEYS, !history.foreign_keys.is_empty()),
        (msg::HISTORY_CONSTRAINTS, !history.checks.is_empty()),
        (msg::HISTORY_IDENTITY, any(|column| column.identity.is_some())),
        (msg::HISTORY_COMPUTED, any(|column| column.computed.is_some())),
    ];
    if let Some((message, _)) = unwanted.into_iter().find(|(_, there)| *there) {
        return Err(SqlError::of(message, [&name]));
    }
    check_columns(&work.db, table, history)?;
    if rows { check_rows(work, table, history) } else { Ok(()) }
}

/// 13523 to 13526, 13530, 13531: the columns are those of the table.
fn check_columns(db: &Db, table: &TableDef, history: &TableDef) -> Result<(), SqlError> {
    let (current, past) = (full_name(db, table), full_name(db, history));
    let (a, b) = (table.columns.len(), history.columns.len());
    if a != b {
        return Err(SqlError::of(msg::HISTORY_COLUMN_COUNT, [&current, &a, &past, &b]));
    }
    for (at, (own, old)) in table.columns.iter().zip(&history.columns).enumerate() {
        let name = &own.name;
        let ty = past_column(own).ty;
        let nullable = own.nullable;
        if fold_name(name) != fold_name(&old.name) {
            return Err(SqlError::of(
                msg::HISTORY_COLUMN_NAME,
                [&old.name, &(at + 1), &past, name, &current],
            ));
        }
        if ty != old.ty {
            return Err(SqlError::of(
                msg::HISTORY_COLUMN_TYPE,
                [name, &old.ty, &past, &own.ty, &current],
            ));
        }
        if ty.is_string() && own.collation != old.collation {
            return Err(SqlError::of(msg::HISTORY_COLLATION, [name, &current, &past]));
        }
        if own.generated.is_some() && old.nullable {
            return Err(SqlError::of(msg::HISTORY_SYSTEM_COLUMN, [name, &past, &current]));
        }
        if nullable != old.nullable {
            return Err(SqlError::of(msg::HISTORY_NULLABILITY, [name, &current, &past]));
        }
    }
    Ok(())
}

/// 13541, 13543, 13573: the periods of a history's rows.
fn check_rows(
    work: &mut SchemaChange<'_>,
    table: &TableDef,
    history: &TableDef,
) -> Result<(), SqlError> {
    let Some((start, end)) = table.period() else { return Ok(()) };
    let column = |at: usize| quote(&table.columns[at].name);
    let (from, to) = (column(start), column(end));
    let rows = format!("{}.{}", quote(&history.schema), quote(&history.name));
    let key = table.all_indexes().find(|index| index.primary_key.is_some());
    let key: Vec<String> =
        key.iter().flat_map(|index| &index.key).map(|(at, _)| column(*at)).collect();
    let tests = [
        (
            msg::HISTORY_END_BEFORE_START,
            format!("SELECT TOP (1) 1 AS x FROM {rows} WHERE {to} < {from}"),
        ),
        (
            msg::HISTORY_END_IN_FUTURE,
            format!("SELECT TOP (1) 1 AS x FROM {rows} WHERE {to} > SYSUTCDATETIME()"),
        ),
        (
            msg::HISTORY_OVERLAPS,
            format!(
                "SELECT TOP (1) 1 AS x FROM (SELECT {to} AS [to], LEAD({from}) OVER (PARTITION BY {} ORDER BY {from}, {to}) AS \
                 [next] FROM {rows}) AS r WHERE [next] < [to]",
                key.join(", ")
            ),
        ),
    ];
    for (message, query) in tests {
        if finds_row(work, &query)? {
            return Err(SqlError::of(message, [&full_name(&work.db, history)]));
        }
    }
    Ok(())
}
