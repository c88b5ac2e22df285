//! Periods and system versioning of tables: PERIOD FOR SYSTEM_TIME added and dropped,
//! SYSTEM_VERSIONING switched on and off, the history table made or taken over. Guarantees: a
//! history has the columns of its table in the same order and none of their constraints; with
//! DATA_CONSISTENCY_CHECK no rows are taken over whose periods end before they begin, in the
//! future, or overlap.

mod history;

use history::{check_history, free_name, new_history};
use std::sync::Arc;

use bind::period::end_of_time;
use catalog::names::quote;
use catalog::temporal::{Generated, Retention, Temporal};
use catalog::{Db, TableDef};
use compact_str::CompactString;
use session::state::SessionCore;
use types::{DataType, SqlError, msg};

use super::own_queries::finds_row;
use super::tables::{create_table, replace};
use super::versioned::{full_name, history_of};
use super::work::Work;

/// SYSTEM_VERSIONING = ON (...).
#[derive(Clone, Debug)]
pub struct Versioning {
    /// HISTORY_TABLE: schema and name.
    pub history: Option<(CompactString, CompactString)>,
    /// DATA_CONSISTENCY_CHECK.
    pub check: bool,
    /// HISTORY_RETENTION_PERIOD; none for INFINITE.
    pub retention: Option<Retention>,
}

// ---- periods ----

/// PERIOD FOR SYSTEM_TIME over two columns that the table has.
///
/// # Errors
/// 13597, 13598; 13501, 13504, 13505, 13513, 13587 the columns cannot be a period; 13542, 13575 the
/// rows have none.
pub fn add_period(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    names: (&str, &str),
    hidden: (bool, bool),
) -> Result<Arc<TableDef>, SqlError> {
    let name = full_name(&work.db, table);
    if table.temporal.is_history() {
        return Err(SqlError::of(msg::PERIOD_ON_HISTORY, [&name]));
    }
    if table.period().is_some() {
        return Err(SqlError::of(msg::PERIOD_EXISTS, [&name]));
    }
    let start = table.column(names.0).ok_or_else(|| SqlError::of(msg::ROW_START_MISSING, []))?;
    let end = table.column(names.1).filter(|end| *end != start);
    let end = end.ok_or_else(|| SqlError::of(msg::ROW_END_MISSING, []))?;
    for at in [start, end] {
        let column = &table.columns[at];
        check_period_column(&column.name, column.ty, column.nullable)?;
    }
    check_precision(table.columns[start].ty, table.columns[end].ty)?;
    let (from, at) = (
        quote(&table.columns[start].name),
        format!("{}.{}", quote(&table.schema), quote(&table.name)),
    );
    if finds_row(work, &format!("SELECT TOP (1) 1 AS x FROM {at} WHERE {from} > SYSUTCDATETIME()"))?
    {
        return Err(SqlError::of(msg::PERIOD_START_IN_FUTURE, [&name]));
    }
    let ty = table.columns[end].ty;
    let last = types::display::format_value(&end_of_time(ty), ty);
    let to = quote(&table.columns[end].name);
    if finds_row(work, &format!("SELECT TOP (1) 1 AS x FROM {at} WHERE {to} <> '{last}'"))? {
        return Err(SqlError::of(msg::PERIOD_END_NOT_MAXIMUM, [&name]));
    }
    let mut next = TableDef::clone(table);
    next.columns[start].generated = Some(Generated { end: false, hidden: hidden.0 });
    next.columns[end].generated = Some(Generated { end: true, hidden: hidden.1 });
    work.replace(table, next)
}

/// 13501, 13587: what a column of a period must be.
pub(crate) fn check_period_column(
    name: &str,
    ty: DataType,
    nullable: bool,
) -> Result<(), SqlError> {
    if !matches!(ty, DataType::DateTime2(_)) {
        return Err(SqlError::of(msg::GENERATED_TYPE, [&name]));
    }
    if nullable {
        return Err(SqlError::of(msg::PERIOD_NULLABLE, [&name]));
    }
    Ok(())
}

/// 13513.
pub(crate) fn check_precision(start: DataType, end: DataType) -> Result<(), SqlError> {
    if start == end {
        return Ok(());
    }
    Err(SqlError::of(msg::PERIOD_PRECISION, []))
}

/// DROP PERIOD FOR SYSTEM_TIME: its columns stay.
///
/// # Errors
/// 13592, 13593.
pub fn drop_period(work: &mut Work<'_>, table: &Arc<TableDef>) -> Result<Arc<TableDef>, SqlError> {
    let name = full_name(&work.db, table);
    if table.temporal.is_versioned() {
        return Err(SqlError::of(msg::DROP_PERIOD_VERSIONED, [&name]));
    }
    if table.period().is_none() {
        return Err(SqlError::of(msg::PERIOD_NOT_FOUND, [&name]));
    }
    let mut next = TableDef::clone(table);
    next.columns.iter_mut().for_each(|column| column.generated = None);
    work.replace(table, next)
}

// ---- versioning ----

/// SYSTEM_VERSIONING = OFF: both tables become ordinary ones.
///
/// # Errors
/// 13591.
pub fn switch_off(work: &mut Work<'_>, table: &Arc<TableDef>) -> Result<(), SqlError> {
    let Some(history) = history_of(&work.db, table) else {
        let name = full_name(&work.db, table);
        return Err(SqlError::of(msg::VERSIONING_NOT_ON, [&name]));
    };
    work.lock_current(&history)?;
    for one in [table, &history] {
        work.replace(one, TableDef { temporal: Temporal::None, ..TableDef::clone(one) })?;
    }
    Ok(())
}

/// SYSTEM_VERSIONING = ON: the history is made, or a table that is there is taken over. Of a table
/// that is versioned already only the retention changes.
///
/// # Errors
/// 13510, 13553, 13568 the table cannot be versioned; 13595, 13596, 13757 it is already; those of
/// [`check_history`].
pub fn switch_on(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    wanted: &Versioning,
) -> Result<(), SqlError> {
    let name = full_name(db, table);
    let named =
        wanted.history.as_ref().map(|(schema, name)| db.catalog().find(schema, name).cloned());
    if table.temporal.is_versioned() {
        return change_retention(core, db, table, named, wanted.retention);
    }
    if table.period().is_none() {
        return Err(SqlError::of(msg::VERSIONING_WITHOUT_PERIOD, []));
    }
    if db.id() == catalog::TEMPDB {
        let shown = table.name.split("____").next().unwrap_or_default();
        return Err(SqlError::of(msg::VERSIONED_IN_TEMPDB, [&shown]));
    }
    if !table.all_indexes().any(|index| index.primary_key.is_some()) {
        return Err(SqlError::of(msg::VERSIONED_WITHOUT_PRIMARY_KEY, [&name]));
    }
    let history = match (named.flatten(), &wanted.history) {
        (Some(history), _) => {
            let mut work = Work::begin(core, db)?;
            work.lock_current(&history)?;
            check_history(&mut work, table, &history, wanted.check)?;
            history
        }
        (None, Some((schema, name))) => {
            if db.catalog().find_module(schema, name).is_some() {
                return Err(SqlError::of(
                    msg::NOT_A_HISTORY_TABLE,
                    [&format_args!("{schema}.{name}")],
                ));
            }
            create_table(core, db, new_history(table, schema.clone(), name.clone()))?
        }
        (None, None) => {
            create_table(core, db, new_history(table, table.schema.clone(), free_name(db, table)))?
        }
    };
    check_retention(db, table, &history, wanted.retention)?;
    let temporal = Temporal::History { of: table.object_id };
    replace(core, db, &history, TableDef { temporal, ..TableDef::clone(&history) })?;
    let temporal = Temporal::Current { history: history.object_id, retention: wanted.retention };
    replace(core, db, table, TableDef { temporal, ..TableDef::clone(table) })?;
    Ok(())
}

/// Of a table that is versioned: its history named again, with another retention.
fn change_retention(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    named: Option<Option<Arc<TableDef>>>,
    retention: Option<Retention>,
) -> Result<(), SqlError> {
    let name = full_name(db, table);
    let history =
        history_of(db, table).ok_or_else(|| SqlError::internal("a table has lost its history"))?;
    match named {
        Some(Some(other)) if other.object_id != history.object_id => {
            return Err(SqlError::of(
                msg::HISTORY_NAME_NOT_CORRECT,
                [&full_name(db, &other), &name],
            ));
        }
        Some(None) => {
            return Err(SqlError::of(msg::HISTORY_DEFINED, [&name]));
        }
        // ON (HISTORY_RETENTION_PERIOD = ...) alone is how it is changed; ON alone says nothing
        // new.
        None if retention.is_none() => {
            return Err(SqlError::of(msg::VERSIONING_ALREADY_ON, [&name]));
        }
        _ => {}
    }
    check_retention(db, table, &history, retention)?;
    let temporal = Temporal::Current { history: history.object_id, retention };
    replace(core, db, table, TableDef { temporal, ..TableDef::clone(table) }).map(drop)
}

/// 13765: what is too old is found by the clustered index.
fn check_retention(
    db: &Db,
    table: &TableDef,
    history: &TableDef,
    retention: Option<Retention>,
) -> Result<(), SqlError> {
    let end = table.period().map(|(_, end)| end);
    let key = history.storage.key.first().map(|(at, _)| *at);
    if retention.is_none() || key == end {
        return Ok(());
    }
    let error = SqlError::of(
        msg::RETENTION_WITHOUT_INDEX,
        [&full_name(db, table), &full_name(db, history)],
    );
    Err(if key.is_none() { error } else { error.state(2) })
}
