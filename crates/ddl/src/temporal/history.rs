//! The history table of a versioned table: made anew, or one that is there and is looked over before it is taken.

use super::{error, full_name};
use crate::own_queries::finds_row;
use crate::work::Work;
use catalog::names::quote;
use catalog::temporal::Temporal;
use catalog::{ColumnDef, Compression, Db, IndexOptions, NewColumn, NewIndex, NewTable, TableDef, fold_name};
use compact_str::CompactString;
use types::{DataType, SqlError};

/// The name of a history that is not named.
pub(super) fn free_name(db: &Db, table: &TableDef) -> CompactString {
    let plain = format!("MSSQL_TemporalHistoryFor_{}", table.object_id);
    let catalog = db.catalog();
    let numbered = (1_u32..).map(|n| format!("{plain}_{:08X}", n.wrapping_mul(0x9E37_79B9)));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let free = |name: &String| {
        catalog.find(&table.schema, name).is_none() && catalog.find_module(&table.schema, name).is_none()
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
pub(super) fn new_history(table: &TableDef, schema: CompactString, name: CompactString) -> NewTable {
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
    work: &mut Work<'_>,
    table: &TableDef,
    history: &TableDef,
    rows: bool,
) -> Result<(), SqlError> {
    let name = full_name(&work.db, history);
    if history.object_id == table.object_id {
        let text = format!("Specified object '{}' cannot be used as history table.", history.full_name());
        return Err(error(13511, text));
    }
    match history.temporal {
        Temporal::None => {}
        Temporal::History { .. } => {
            return Err(error(13514, format!("History table '{name}' is already in use.")));
        }
        Temporal::Current { .. } => {
            return Err(error(13566, format!("Temporal table '{name}' is already in use.")));
        }
    }
    let failed =
        |number, why: &str| error(number, format!("Setting SYSTEM_VERSIONING to ON failed because {why}."));
    if history.period().is_some() {
        return Err(failed(13574, &format!("temporal history table '{name}' contains SYSTEM_TIME period")));
    }
    let triggers = !work.db.catalog().triggers_of(history.object_id).is_empty();
    let any = |what: fn(&ColumnDef) -> bool| history.columns.iter().any(what);
    let unwanted = [
        (13522, "triggers", "triggers defined", triggers),
        (13515, "unique keys", "custom unique keys defined", history.all_indexes().any(|index| index.unique)),
        (13516, "foreign keys", "foreign keys defined", !history.foreign_keys.is_empty()),
        (
            13517,
            "table and column constraints",
            "table or column constraints defined",
            !history.checks.is_empty(),
        ),
        (
            13518,
            "IDENTITY column specifications",
            "IDENTITY column specification",
            any(|column| column.identity.is_some()),
        ),
        (
            13519,
            "computed column specifications",
            "computed column specification",
            any(|column| column.computed.is_some()),
        ),
    ];
    if let Some((number, all, what, _)) = unwanted.iter().find(|(.., there)| *there) {
        let text = format!("history table '{name}' has {what}. Consider dropping all {all} and trying again");
        return Err(failed(*number, &text));
    }
    check_columns(&work.db, table, history)?;
    if rows { check_rows(work, table, history) } else { Ok(()) }
}

/// 13523 to 13526, 13530, 13531: the columns are those of the table.
fn check_columns(db: &Db, table: &TableDef, history: &TableDef) -> Result<(), SqlError> {
    let (current, past) = (full_name(db, table), full_name(db, history));
    let failed =
        |number, why: String| error(number, format!("Setting SYSTEM_VERSIONING to ON failed because {why}."));
    let (a, b) = (table.columns.len(), history.columns.len());
    if a != b {
        return Err(failed(
            13523,
            format!("table '{current}' has {a} columns and table '{past}' has {b} columns"),
        ));
    }
    for (at, (own, old)) in table.columns.iter().zip(&history.columns).enumerate() {
        let name = &own.name;
        let ty = past_column(own).ty;
        let nullable = own.nullable;
        let problem = if fold_name(name) != fold_name(&old.name) {
            let text = format!(
                "column '{}' at ordinal {} in history table '{past}' has a different name than the column '{name}' at the same \
                 ordinal in table '{current}'",
                old.name,
                at + 1
            );
            Some((13524, text))
        } else if ty != old.ty {
            let text = format!(
                "column '{name}' has data type {} in history table '{past}' which is different from corresponding column type \
                 {} in table '{current}'",
                old.ty, own.ty
            );
            Some((13525, text))
        } else if ty.is_string() && own.collation != old.collation {
            let text = format!(
                "column '{name}' does not have the same collation in tables '{current}' and '{past}'"
            );
            Some((13526, text))
        } else if own.generated.is_some() && old.nullable {
            let text = format!(
                "system column '{name}' in history table '{past}' corresponds to a period column in table '{current}' and \
                 cannot be nullable"
            );
            Some((13530, text))
        } else {
            (nullable != old.nullable).then(|| {
                let text = format!(
                    "column '{name}' does not have the same nullability attribute in tables '{current}' and '{past}'"
                );
                (13531, text)
            })
        };
        if let Some((number, text)) = problem {
            return Err(failed(number, text));
        }
    }
    Ok(())
}

/// 13541, 13543, 13573: the periods of a history's rows.
fn check_rows(work: &mut Work<'_>, table: &TableDef, history: &TableDef) -> Result<(), SqlError> {
    let Some((start, end)) = table.period() else { return Ok(()) };
    let column = |at: usize| quote(&table.columns[at].name);
    let (from, to) = (column(start), column(end));
    let rows = format!("{}.{}", quote(&history.schema), quote(&history.name));
    let key = table.all_indexes().find(|index| index.primary_key.is_some());
    let key: Vec<String> = key.iter().flat_map(|index| &index.key).map(|(at, _)| column(*at)).collect();
    let tests = [
        (
            13541,
            "invalid records with end of period set before start",
            format!("SELECT TOP (1) 1 AS x FROM {rows} WHERE {to} < {from}"),
        ),
        (
            13543,
            "invalid records with end of period set to a value in the future",
            format!("SELECT TOP (1) 1 AS x FROM {rows} WHERE {to} > SYSUTCDATETIME()"),
        ),
        (
            13573,
            "overlapping records",
            format!(
                "SELECT TOP (1) 1 AS x FROM (SELECT {to} AS [to], LEAD({from}) OVER (PARTITION BY {} ORDER BY {from}, {to}) AS \
                 [next] FROM {rows}) AS r WHERE [next] < [to]",
                key.join(", ")
            ),
        ),
    ];
    for (number, what, query) in tests {
        if finds_row(work, &query)? {
            let name = full_name(&work.db, history);
            let text = format!(
                "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' contains {what}."
            );
            return Err(SqlError::new(number, 16, 0, text));
        }
    }
    Ok(())
}
