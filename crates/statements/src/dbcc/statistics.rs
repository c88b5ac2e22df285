//! DBCC SHOW_STATISTICS (table, statistics | index | column) [WITH STAT_HEADER, DENSITY_VECTOR,
//! HISTOGRAM].

use std::sync::Arc;

use types::{DataType, Len, SqlError, Value, msg};

use super::Command;
use catalog::TableDef;
use catalog::statistics::{self, MeasuredValues, Statistics};
use metadata::results::column;
use metadata::views::{SYSNAME, text};

const PARTS: [&str; 3] = ["STAT_HEADER", "DENSITY_VECTOR", "HISTOGRAM"];

pub(super) fn show(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let name = command.text(0).unwrap_or_default().to_string();
    let target = command.text(1).unwrap_or_default().to_string();
    let (_, table) = command.table(&name)?;
    let Some(table) = table else {
        return Err(SqlError::of(msg::TABLE_OR_OBJECT_NOT_FOUND, [&name]));
    };
    let statistics =
        find(&table, &target).ok_or_else(|| SqlError::of(msg::STATISTICS_NOT_FOUND, [&target]))?;
    let asked = PARTS.iter().any(|part| command.options.iter().any(|option| option == part));
    let wanted =
        |command: &Command<'_, '_>, part: &str| !asked || command.options.iter().any(|o| o == part);
    let measured = statistics.measured.clone();
    if wanted(command, PARTS[0]) {
        header(command, &statistics, measured.as_deref())?;
    }
    if wanted(command, PARTS[1]) {
        densities(command, &table, &statistics, measured.as_deref())?;
    }
    if wanted(command, PARTS[2]) {
        histogram(command, &table, &statistics, measured.as_deref())?;
    }
    Ok(())
}

/// By name; else the statistics that begin with a column of this name.
fn find(table: &TableDef, target: &str) -> Option<Arc<Statistics>> {
    statistics::find(table, target).or_else(|| {
        let at = table.column(target)?;
        let id = table.columns[at].column_id;
        statistics::all(table).into_iter().find(|s| s.columns.first() == Some(&id))
    })
}

fn header(
    command: &mut Command<'_, '_>,
    statistics: &Statistics,
    measured: Option<&MeasuredValues>,
) -> Result<(), SqlError> {
    let number = |f: f64| Value::BigInt(f.round() as i64);
    let updated = measured.map_or(Value::Null, |m| {
        types::convert(&m.updated, DataType::DateTime, NVARCHAR20, 100, types::Mode::Explicit)
            .unwrap_or_default()
    });
    let length = measured.and_then(|m| m.lengths.last().copied());
    let strings = Value::str("NO ");
    let row = vec![
        text(&statistics.name),
        updated,
        measured.map_or(Value::Null, |m| number(m.rows)),
        measured.map_or(Value::Null, |m| number(m.sampled)),
        measured.map_or(Value::Null, |m| Value::SmallInt(m.histogram.steps.len() as i16)),
        measured.map_or(Value::Null, |m| Value::Real(m.density_between() as f32)),
        length.map_or(Value::Null, |l| Value::Real(l as f32)),
        strings,
        statistics.filter.as_ref().map_or(Value::Null, |filter| text(filter.text())),
        measured.map_or(Value::Null, |m| number(m.unfiltered)),
        Value::Float(0.0),
    ];
    let columns = [
        column("Name", SYSNAME, true),
        column("Updated", NVARCHAR20, true),
        column("Rows", DataType::BigInt, true),
        column("Rows Sampled", DataType::BigInt, true),
        column("Steps", DataType::SmallInt, true),
        column("Density", DataType::Real, true),
        column("Average key length", DataType::Real, true),
        column("String Index", DataType::Char(3), true),
        column("Filter Expression", DataType::NVarChar(Len::Max), true),
        column("Unfiltered Rows", DataType::BigInt, true),
        column("Persisted Sample Percent", DataType::Float, true),
    ];
    command.result(&columns, &[row])
}

const NVARCHAR20: DataType = DataType::NVarChar(Len::N(20));

fn densities(
    command: &mut Command<'_, '_>,
    table: &TableDef,
    statistics: &Statistics,
    measured: Option<&MeasuredValues>,
) -> Result<(), SqlError> {
    let names: Vec<&str> = statistics
        .columns
        .iter()
        .filter_map(|id| table.position(*id))
        .map(|at| table.columns[at].name.as_str())
        .collect();
    let rows: Vec<Vec<Value>> = measured
        .iter()
        .flat_map(|m| m.densities.iter().zip(&m.lengths).enumerate())
        .map(|(at, (density, length))| {
            let prefix = names.get(..=at).unwrap_or(&names).join(", ");
            vec![Value::Real(*density as f32), Value::Real(*length as f32), text(prefix)]
        })
        .collect();
    let columns = [
        column("All density", DataType::Real, true),
        column("Average Length", DataType::Real, true),
        column("Columns", DataType::NVarChar(Len::Max), true),
    ];
    command.result(&columns, &rows)
}

fn histogram(
    command: &mut Command<'_, '_>,
    table: &TableDef,
    statistics: &Statistics,
    measured: Option<&MeasuredValues>,
) -> Result<(), SqlError> {
    let first = statistics.columns.first().and_then(|id| table.position(*id));
    let ty = first.map_or(DataType::Int, |at| table.columns[at].ty);
    let rows: Vec<Vec<Value>> = measured
        .iter()
        .flat_map(|m| &m.histogram.steps)
        .map(|step| {
            let average =
                if step.range_values > 0.0 { step.range_rows / step.range_values } else { 1.0 };
            vec![
                step.value.clone(),
                Value::Real(step.range_rows as f32),
                Value::Real(step.equal_rows as f32),
                Value::BigInt(step.range_values.round() as i64),
                Value::Real(average as f32),
            ]
        })
        .collect();
    let columns = [
        column("RANGE_HI_KEY", ty, true),
        column("RANGE_ROWS", DataType::Real, true),
        column("EQ_ROWS", DataType::Real, true),
        column("DISTINCT_RANGE_ROWS", DataType::BigInt, true),
        column("AVG_RANGE_ROWS", DataType::Real, true),
    ];
    command.result(&columns, &rows)
}
