//! Tables: sys.tables, sys.periods.

use std::sync::Arc;

use types::{Len, Value};

use super::objects::{TABLE, object, object_columns};
use super::{NVARCHAR60, SYSNAME, View, ViewColumn, bit, pick, text};
use catalog::TableDef;
use catalog::temporal::{Retention, Temporal};

use types::DataType::{Bit, Int, NVarChar, TinyInt};

pub(super) const TABLE_COLUMNS: &[ViewColumn] = object_columns!(
    ("lob_data_space_id", Int, false),
    ("filestream_data_space_id", Int, true),
    ("max_column_id_used", Int, false),
    ("lock_on_bulk_load", Bit, false),
    ("uses_ansi_nulls", Bit, true),
    ("is_replicated", Bit, true),
    ("has_replication_filter", Bit, true),
    ("is_merge_published", Bit, true),
    ("is_sync_tran_subscribed", Bit, true),
    ("has_unchecked_assembly_data", Bit, false),
    ("text_in_row_limit", Int, true),
    ("large_value_types_out_of_row", Bit, true),
    ("is_tracked_by_cdc", Bit, true),
    ("lock_escalation", TinyInt, true),
    ("lock_escalation_desc", NVARCHAR60, true),
    ("is_filetable", Bit, true),
    ("is_memory_optimized", Bit, true),
    ("durability", TinyInt, true),
    ("durability_desc", NVARCHAR60, true),
    ("temporal_type", TinyInt, true),
    ("temporal_type_desc", NVARCHAR60, true),
    ("history_table_id", Int, true),
    ("is_remote_data_archive_enabled", Bit, true),
    ("is_external", Bit, false),
    ("history_retention_period", Int, true),
    ("history_retention_period_unit", Int, true),
    ("history_retention_period_unit_desc", NVarChar(Len::N(10)), true),
    ("is_node", Bit, true),
    ("is_edge", Bit, true),
    ("data_retention_period", Int, true),
    ("data_retention_period_unit", Int, true),
    ("data_retention_period_unit_desc", NVarChar(Len::N(10)), true),
    ("ledger_type", TinyInt, true),
    ("ledger_type_desc", NVARCHAR60, true),
    ("ledger_view_id", Int, true),
    ("is_dropped_ledger_table", Bit, true)
);

/// How long the history of a versioned table is kept: number, unit, the unit's name.
pub(super) fn retention(table: &TableDef) -> [Value; 3] {
    match table.temporal {
        Temporal::Current { retention: None, .. } => {
            [Value::Int(-1), Value::Int(-1), text("INFINITE")]
        }
        Temporal::Current { retention: Some(Retention { count, unit }), .. } => {
            [Value::Int(count), Value::Int(unit as i32), text(unit.word())]
        }
        Temporal::None | Temporal::History { .. } => [Value::Null, Value::Null, Value::Null],
    }
}

/// sys.periods.
pub(crate) static PERIODS: View = View::sys(
    "periods",
    &[
        ("name", SYSNAME, false),
        ("period_type", TinyInt, true),
        ("period_type_desc", NVARCHAR60, true),
        ("object_id", Int, false),
        ("start_column_id", Int, false),
        ("end_column_id", Int, false),
    ],
    |_, db, _| {
        let catalog = db.catalog();
        let row = |table: &Arc<TableDef>| {
            let (start, end) = table.period()?;
            let id = |at: usize| Value::Int(table.columns[at].column_id);
            let (kind, name) = (Value::TinyInt(1), text("SYSTEM_TIME_PERIOD"));
            Some(vec![
                text("SYSTEM_TIME"),
                kind,
                name,
                Value::Int(table.object_id),
                id(start),
                id(end),
            ])
        };
        Ok(catalog.by_id.values().filter_map(row).collect())
    },
);

/// sys.tables.
pub static TABLES: View =
    View::seeking("tables", TABLE_COLUMNS, &[0, 1], pick::per_table, |_, db, wanted| {
        let catalog = db.catalog();
        let row = |table: &Arc<TableDef>| {
            let created = &table.create_date;
            let schema_id = catalog.schema_id(table);
            let mut row = object(&table.name, table.object_id, schema_id, 0, TABLE, created, false);
            let last = table.columns.iter().map(|c| c.column_id).max().unwrap_or(0);
            let [kept, unit, unit_name] = retention(table);
            row.extend([
                Value::Int(if table.lob.is_some() { table.storage.filegroup.into() } else { 0 }),
                Value::Null,
                Value::Int(last),
                bit(false),
                bit(true),
                bit(false),
                bit(false),
                bit(false),
                bit(false),
                bit(false),
                Value::Int(0),
                bit(false),
                bit(false),
                Value::TinyInt(table.lock_escalation as u8),
                text(table.lock_escalation.word()),
                bit(false),
                bit(false),
                Value::TinyInt(0),
                text("SCHEMA_AND_DATA"),
                Value::TinyInt(table.temporal.shown().0),
                text(table.temporal.shown().1),
                table.temporal.history().map_or(Value::Null, Value::Int),
                bit(false),
                bit(false),
                kept,
                unit,
                unit_name,
                bit(false),
                bit(false),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::TinyInt(0),
                text("NON_LEDGER_TABLE"),
                Value::Null,
                bit(false),
            ]);
            wanted.part(row)
        };
        Ok(pick::tables(&catalog, wanted, 1, Some(0)).into_iter().map(row).collect())
    });
