//! Statistics in the system tables: a row for each, and a row for each step of its histogram.
//! Guarantee: what was written is read back as it was, but for the counter of changes, which begins
//! at zero with each start. Rows that make no sense are left out: statistics are only ever a hint.

use std::collections::HashMap;
use std::sync::Arc;

use access::ReadMode;
use compact_str::CompactString;
use txn::Txn;
use types::{ColumnType, KeyPart, RowLayout, Value, encode_key_part};

use super::{Histogram, HistogramStep, MeasuredValues, Statistics, StatisticsOrigin};
use crate::rows::text_rows;
use crate::store::{StoreError, SysTrees};
use crate::systables::SysTable;
use crate::{ColumnDef, StatisticsFilter, TableDef};

/// Bits of a row's flags.
const AUTO: i64 = 1;
const OF_INDEX: i64 = 2;
const NO_RECOMPUTE: i64 = 4;

/// Rows of the two system tables as they were read.
#[derive(Default)]
pub(crate) struct StatisticsRows {
    statistics: HashMap<i32, Vec<Vec<Value>>>,
    steps: HashMap<(i32, i32), Vec<Vec<Value>>>,
}

impl StatisticsRows {
    pub fn read(trees: &SysTrees) -> Result<StatisticsRows, StoreError> {
        let mut rows = StatisticsRows::default();
        let id = |row: &[Value], at: usize| {
            row[at].as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or(0)
        };
        for row in trees.rows(SysTable::Statistics, &[], ReadMode::Dirty)? {
            rows.statistics.entry(id(&row, 0)).or_default().push(row);
        }
        for row in trees.rows(SysTable::Steps, &[], ReadMode::Dirty)? {
            rows.steps.entry((id(&row, 0), id(&row, 1))).or_default().push(row);
        }
        Ok(rows)
    }

    /// The statistics of a table with these columns.
    pub fn of(
        &self,
        object_id: i32,
        columns: &[ColumnDef],
        texts: &HashMap<i32, String>,
    ) -> Vec<Statistics> {
        let rows = self.statistics.get(&object_id).map_or(&[][..], Vec::as_slice);
        rows.iter().filter_map(|row| self.one(object_id, row, columns, texts)).collect()
    }

    fn one(
        &self,
        object_id: i32,
        row: &[Value],
        columns: &[ColumnDef],
        texts: &HashMap<i32, String>,
    ) -> Option<Statistics> {
        let stats_id = i32::try_from(row[1].as_i64()?).ok()?;
        let ids: Option<Vec<i32>> = row[3].as_str()?.split(',').map(|id| id.parse().ok()).collect();
        let ids =
            ids.filter(|ids| ids.iter().all(|id| columns.iter().any(|c| c.column_id == *id)))?;
        let flags = row[4].as_i64()?;
        let first = columns.iter().find(|c| Some(&c.column_id) == ids.first())?;
        let steps = self.steps.get(&(object_id, stats_id)).map_or(&[][..], Vec::as_slice);
        let origin = match flags {
            f if f & AUTO != 0 => StatisticsOrigin::Auto,
            f if f & OF_INDEX != 0 => StatisticsOrigin::Index,
            _ => StatisticsOrigin::User,
        };
        let filter = match filter_id(row) {
            None => None,
            Some(id) => Some(StatisticsFilter::load(id, texts.get(&id)?, columns)?),
        };
        Some(Statistics {
            filter,
            stats_id,
            name: row[2].as_str().map(CompactString::from)?,
            columns: ids,
            origin,
            no_recompute: flags & NO_RECOMPUTE != 0,
            measured: measured(row, steps, first).map(Arc::new),
        })
    }
}

/// Under which number the text of the filter is kept.
fn filter_id(row: &[Value]) -> Option<i32> {
    i32::try_from(row.get(10)?.as_i64()?).ok()
}

fn measured(row: &[Value], steps: &[Vec<Value>], column: &ColumnDef) -> Option<MeasuredValues> {
    let number = |value: &Value| match value {
        Value::Float(f) => Some(*f),
        _ => None,
    };
    let list = |value: &Value| -> Option<Vec<f64>> {
        value.as_str()?.split(' ').filter(|f| !f.is_empty()).map(|f| f.parse().ok()).collect()
    };
    let layout = layout_of(column);
    let part = key_part(column);
    let step = |row: &Vec<Value>| {
        let mut value = [Value::Null];
        layout.decode_all(row[3].as_bytes()?, &mut value).ok()?;
        let [value] = value;
        let mut key = Vec::new();
        encode_key_part(&value, &part, &mut key);
        let (range_rows, equal_rows, range_values) =
            (number(&row[4])?, number(&row[5])?, number(&row[6])?);
        Some(HistogramStep { value, key, range_rows, equal_rows, range_values })
    };
    let steps: Option<Vec<HistogramStep>> = steps.iter().map(step).collect();
    let steps = steps.filter(|steps| steps.windows(2).all(|pair| pair[0].key < pair[1].key))?;
    let rows = number(&row[6])?;
    Some(MeasuredValues {
        updated: Some(row[5].clone()).filter(|updated| !updated.is_null())?,
        rows,
        unfiltered: row.get(11).and_then(number).unwrap_or(rows),
        sampled: number(&row[7])?,
        modified: 0,
        histogram: Histogram { steps },
        densities: list(&row[8])?,
        lengths: list(&row[9])?,
    })
}

/// How a step's value is kept: as a row of one column.
fn layout_of(column: &ColumnDef) -> RowLayout {
    RowLayout::new(&[ColumnType { ty: column.ty, nullable: true, collation: column.collation }])
}

/// How the values of a column are ordered in a histogram.
pub fn key_part(column: &ColumnDef) -> KeyPart {
    KeyPart { ty: column.ty, descending: false, collation: column.collation }
}

/// Writes statistics of a table, in the place of what was written before.
///
/// # Errors
/// What the storage says.
pub fn write(
    trees: &SysTrees,
    txn: &mut Txn,
    table: &TableDef,
    statistics: &Statistics,
) -> Result<(), StoreError> {
    let (id, stats_id) = (Value::Int(table.object_id), Value::Int(statistics.stats_id));
    let columns: Vec<String> = statistics.columns.iter().map(i32::to_string).collect();
    let mut flags = match statistics.origin {
        StatisticsOrigin::Auto => AUTO,
        StatisticsOrigin::Index => OF_INDEX,
        StatisticsOrigin::User => 0,
    };
    flags |= if statistics.no_recompute { NO_RECOMPUTE } else { 0 };
    let numbers = |list: &[f64]| {
        let words: Vec<String> = list.iter().map(f64::to_string).collect();
        Value::str(words.join(" "))
    };
    let known = statistics.measured.as_deref();
    let row = [
        id.clone(),
        stats_id.clone(),
        Value::str(&statistics.name),
        Value::str(columns.join(",")),
        Value::Int(flags as i32),
        known.map_or(Value::Null, |m| m.updated.clone()),
        known.map_or(Value::Null, |m| Value::Float(m.rows)),
        known.map_or(Value::Null, |m| Value::Float(m.sampled)),
        known.map_or(Value::Null, |m| numbers(&m.densities)),
        known.map_or(Value::Null, |m| numbers(&m.lengths)),
        statistics.filter.as_ref().map_or(Value::Null, |filter| Value::Int(filter.object_id)),
        known.map_or(Value::Null, |m| Value::Float(m.unfiltered)),
    ];
    trees.put(txn, SysTable::Statistics, &row)?;
    // That of an index is written with the index.
    if let (Some(filter), StatisticsOrigin::User) = (&statistics.filter, statistics.origin) {
        for (system, row) in text_rows(filter.object_id, filter.kept()) {
            trees.put(txn, system, &row)?;
        }
    }
    trees.delete_all(txn, SysTable::Steps, &[id.clone(), stats_id.clone()])?;
    let first = table.columns.iter().find(|c| Some(&c.column_id) == statistics.columns.first());
    let (Some(measured), Some(column)) = (known, first) else { return Ok(()) };
    let layout = layout_of(column);
    for (ordinal, step) in measured.histogram.steps.iter().enumerate() {
        let mut value = Vec::new();
        layout.encode(std::slice::from_ref(&step.value), &mut value)?;
        let row = [
            id.clone(),
            stats_id.clone(),
            Value::Int(ordinal as i32),
            Value::bytes(value),
            Value::Float(step.range_rows),
            Value::Float(step.equal_rows),
            Value::Float(step.range_values),
        ];
        trees.put(txn, SysTable::Steps, &row)?;
    }
    Ok(())
}

/// Deletes what was written of statistics of a table; of all of them without an id.
///
/// # Errors
/// What the storage says.
pub fn delete(
    trees: &SysTrees,
    txn: &mut Txn,
    object_id: i32,
    stats_id: Option<i32>,
) -> Result<(), StoreError> {
    let prefix: Vec<Value> = std::iter::once(object_id).chain(stats_id).map(Value::Int).collect();
    for row in trees.rows(SysTable::Statistics, &prefix, ReadMode::Dirty)? {
        let of_index = row[4].as_i64().is_some_and(|flags| flags & OF_INDEX != 0);
        if let Some(filter) = filter_id(&row).filter(|_| !of_index) {
            trees.delete_all(txn, SysTable::Texts, &[Value::Int(filter)])?;
        }
    }
    trees.delete_all(txn, SysTable::Statistics, &prefix)?;
    trees.delete_all(txn, SysTable::Steps, &prefix)
}
