//! Statistics of columns: sys.stats, sys.stats_columns, sys.dm_db_stats_properties,
//! sys.dm_db_stats_histogram.

use std::sync::Arc;

use types::{DataType, Len, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, ViewResult, bit, pick, text};
use catalog::statistics::{self, Statistics, StatisticsOrigin};
use catalog::{Db, TableDef};

use DataType::{BigInt, Bit, Float, Int, NVarChar, Real, SqlVariant};

const DATETIME2: DataType = DataType::DateTime2(7);

const STATS_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("name", SYSNAME, true),
    ("stats_id", Int, false),
    ("auto_created", Bit, true),
    ("user_created", Bit, true),
    ("no_recompute", Bit, true),
    ("has_filter", Bit, true),
    ("filter_definition", NVarChar(Len::Max), true),
    ("is_temporary", Bit, true),
    ("is_incremental", Bit, true),
    ("has_persisted_sample", Bit, true),
    ("stats_generation_method", Int, false),
    ("stats_generation_method_desc", NVARCHAR60, false),
    ("auto_drop", Bit, true),
];

/// sys.stats.
pub static STATS: View =
    View::seeking("stats", STATS_COLUMNS, &[0], pick::some_per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 0) {
            for statistics in statistics::all(table) {
                rows.push(wanted.part(vec![
                    Value::Int(table.shown_id()),
                    text(&statistics.name),
                    Value::Int(statistics.stats_id),
                    bit(statistics.origin == StatisticsOrigin::Auto),
                    bit(statistics.origin == StatisticsOrigin::User),
                    bit(statistics.no_recompute),
                    bit(statistics.filter.is_some()),
                    statistics.filter.as_ref().map_or(Value::Null, |filter| text(filter.text())),
                    bit(false),
                    bit(false),
                    bit(false),
                    Value::Int(0),
                    text("Sort based statistics"),
                    bit(false),
                ]));
            }
        }
        Ok(rows)
    });

const STATS_COLUMNS_OF: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("stats_id", Int, false),
    ("stats_column_id", Int, false),
    ("column_id", Int, false),
];

/// sys.stats_columns.
pub(crate) static STATS_COLUMN_LIST: View = View::seeking(
    "stats_columns",
    STATS_COLUMNS_OF,
    &[0],
    pick::some_per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 0) {
            for statistics in statistics::all(table) {
                for (at, id) in statistics.columns.iter().enumerate() {
                    rows.push(wanted.part(vec![
                        Value::Int(table.shown_id()),
                        Value::Int(statistics.stats_id),
                        Value::Int(at as i32 + 1),
                        Value::Int(*id),
                    ]));
                }
            }
        }
        Ok(rows)
    },
);

/// The table and the statistics that a function's two arguments name.
fn named(db: &Arc<Db>, args: &[Value]) -> Option<(Arc<TableDef>, Arc<Statistics>)> {
    let id = |at: usize| i32::try_from(args.get(at)?.as_i64()?).ok();
    let table = db.catalog().by_id.get(&id(0)?).cloned()?;
    let stats_id = id(1)?;
    let statistics = statistics::all(&table).into_iter().find(|s| s.stats_id == stats_id)?;
    Some((table, statistics))
}

fn date_time2(value: &Value) -> Value {
    types::convert(value, DataType::DateTime, DATETIME2, 0, types::Mode::Explicit)
        .unwrap_or_default()
}

const PROPERTIES: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("stats_id", Int, false),
    ("last_updated", DATETIME2, true),
    ("rows", BigInt, true),
    ("rows_sampled", BigInt, true),
    ("steps", Int, true),
    ("unfiltered_rows", BigInt, true),
    ("modification_counter", BigInt, true),
    ("persisted_sample_percent", Float, true),
];

/// sys.dm_db_stats_properties (object_id, stats_id).
pub(crate) static STATS_PROPERTIES: View =
    View::function("dm_db_stats_properties", 2, PROPERTIES, |_, db, args| -> ViewResult {
        let Some((table, statistics)) = named(db, args) else { return Ok(Vec::new()) };
        let mut row = vec![Value::Int(table.shown_id()), Value::Int(statistics.stats_id)];
        row.resize(PROPERTIES.len(), Value::Null);
        if let Some(measured) = &statistics.measured {
            let number = |f: f64| Value::BigInt(f.round() as i64);
            let changed = table.state.modified().saturating_sub(measured.modified);
            row[2] = date_time2(&measured.updated);
            row[3] = number(measured.rows);
            row[4] = number(measured.sampled);
            row[5] = Value::Int(measured.histogram.steps.len() as i32);
            row[6] = number(measured.unfiltered);
            row[7] = super::big(changed);
            row[8] = Value::Float(0.0);
        }
        Ok(vec![row])
    });

const STEPS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("stats_id", Int, false),
    ("step_number", Int, false),
    ("range_high_key", SqlVariant, true),
    ("range_rows", Real, false),
    ("equal_rows", Real, false),
    ("distinct_range_rows", BigInt, false),
    ("average_range_rows", Real, false),
];

/// sys.dm_db_stats_histogram (object_id, stats_id).
pub(crate) static STATS_HISTOGRAM: View =
    View::function("dm_db_stats_histogram", 2, STEPS, |session, db, args| -> ViewResult {
        let Some((table, statistics)) = named(db, args) else { return Ok(Vec::new()) };
        // Values of rows are in the steps, of those too that a security policy or a mask hides.
        let hidden = db.catalog().policies.contains_key(&table.object_id)
            || table.columns.iter().any(|c| c.mask.is_some());
        if hidden && !session.owns_database(db) {
            return Ok(Vec::new());
        }
        let Some(measured) = &statistics.measured else { return Ok(Vec::new()) };
        let rows = measured.histogram.steps.iter().enumerate().map(|(at, step)| {
            let average =
                if step.range_values > 0.0 { step.range_rows / step.range_values } else { 1.0 };
            vec![
                Value::Int(table.shown_id()),
                Value::Int(statistics.stats_id),
                Value::Int(at as i32 + 1),
                step.value.clone(),
                Value::Real(step.range_rows as f32),
                Value::Real(step.equal_rows as f32),
                Value::BigInt(step.range_values.round() as i64),
                Value::Real(average as f32),
            ]
        });
        Ok(rows.collect())
    });
