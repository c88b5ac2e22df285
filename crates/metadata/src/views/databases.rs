//! sys.databases.

use std::sync::Arc;

use types::{DataType, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, ViewResult, bit, text};
use catalog::Db;
use catalog::db::USER_ACCESS;
use catalog::query_store::StoreState;
use instance::scoped;
use session::state::SessionCore;

use DataType::{Bit, DateTime, Int, TinyInt, UniqueIdentifier, VarBinary};

const COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("database_id", Int, false),
    ("source_database_id", Int, true),
    ("owner_sid", VarBinary(types::Len::N(85)), true),
    ("create_date", DateTime, false),
    ("compatibility_level", TinyInt, false),
    ("collation_name", SYSNAME, true),
    ("user_access", TinyInt, true),
    ("user_access_desc", NVARCHAR60, true),
    ("is_read_only", Bit, true),
    ("is_auto_close_on", Bit, false),
    ("is_auto_shrink_on", Bit, true),
    ("state", TinyInt, true),
    ("state_desc", NVARCHAR60, true),
    ("is_in_standby", Bit, true),
    ("is_cleanly_shutdown", Bit, true),
    ("is_supplemental_logging_enabled", Bit, true),
    ("snapshot_isolation_state", TinyInt, true),
    ("snapshot_isolation_state_desc", NVARCHAR60, true),
    ("is_read_committed_snapshot_on", Bit, true),
    ("recovery_model", TinyInt, true),
    ("recovery_model_desc", NVARCHAR60, true),
    ("page_verify_option", TinyInt, true),
    ("page_verify_option_desc", NVARCHAR60, true),
    ("is_auto_create_stats_on", Bit, true),
    ("is_auto_create_stats_incremental_on", Bit, true),
    ("is_auto_update_stats_on", Bit, true),
    ("is_auto_update_stats_async_on", Bit, true),
    ("is_ansi_null_default_on", Bit, true),
    ("is_ansi_nulls_on", Bit, true),
    ("is_ansi_padding_on", Bit, true),
    ("is_ansi_warnings_on", Bit, true),
    ("is_arithabort_on", Bit, true),
    ("is_concat_null_yields_null_on", Bit, true),
    ("is_numeric_roundabort_on", Bit, true),
    ("is_quoted_identifier_on", Bit, true),
    ("is_recursive_triggers_on", Bit, true),
    ("is_cursor_close_on_commit_on", Bit, true),
    ("is_local_cursor_default", Bit, true),
    ("is_fulltext_enabled", Bit, true),
    ("is_trustworthy_on", Bit, true),
    ("is_db_chaining_on", Bit, true),
    ("is_parameterization_forced", Bit, true),
    ("is_master_key_encrypted_by_server", Bit, false),
    ("is_query_store_on", Bit, true),
    ("is_published", Bit, false),
    ("is_subscribed", Bit, false),
    ("is_merge_published", Bit, false),
    ("is_distributor", Bit, false),
    ("is_sync_with_backup", Bit, false),
    ("service_broker_guid", UniqueIdentifier, false),
    ("is_broker_enabled", Bit, false),
    ("log_reuse_wait", TinyInt, true),
    ("log_reuse_wait_desc", NVARCHAR60, true),
    ("is_date_correlation_on", Bit, false),
    ("is_cdc_enabled", Bit, false),
    ("is_encrypted", Bit, true),
    ("is_honor_broker_priority_on", Bit, true),
    ("replica_id", UniqueIdentifier, true),
    ("group_database_id", UniqueIdentifier, true),
    ("resource_pool_id", Int, true),
    ("default_language_lcid", DataType::SmallInt, true),
    ("default_language_name", SYSNAME, true),
    ("default_fulltext_language_lcid", Int, true),
    ("default_fulltext_language_name", SYSNAME, true),
    ("is_nested_triggers_on", Bit, true),
    ("is_transform_noise_words_on", Bit, true),
    ("two_digit_year_cutoff", DataType::SmallInt, true),
    ("containment", TinyInt, false),
    ("containment_desc", NVARCHAR60, false),
    ("target_recovery_time_in_seconds", Int, true),
    ("delayed_durability", Int, true),
    ("delayed_durability_desc", NVARCHAR60, true),
    ("is_memory_optimized_elevate_to_snapshot_on", Bit, true),
    ("is_federation_member", Bit, true),
    ("is_remote_data_archive_enabled", Bit, true),
    ("is_mixed_page_allocation_on", Bit, true),
    ("is_temporal_history_retention_enabled", Bit, true),
    ("catalog_collation_type", Int, true),
    ("catalog_collation_type_desc", NVARCHAR60, true),
    ("physical_database_name", SYSNAME, true),
    ("is_result_set_caching_on", Bit, true),
    ("is_accelerated_database_recovery_on", Bit, true),
    ("is_tempdb_spill_to_remote_store", Bit, true),
    ("is_stale_page_detection_on", Bit, true),
    ("is_memory_optimized_enabled", Bit, true),
    ("is_data_retention_enabled", Bit, true),
    ("is_ledger_on", Bit, true),
    ("is_change_feed_enabled", Bit, true),
    // Ringwood's own: what delayed commits may lose.
    ("delayed_durability_window_ms", Int, true),
    ("delayed_durability_window_kb", Int, true),
];

/// sys.databases.
pub static DATABASES: View = View::sys("databases", COLUMNS, rows);

const SNAPSHOT: [&str; 2] = ["OFF", "ON"];
const VERIFY: [&str; 3] = ["NONE", "TORN_PAGE_DETECTION", "CHECKSUM"];

fn rows(session: &mut SessionCore, _db: &Arc<Db>, _args: &[Value]) -> ViewResult {
    Ok(session.host().databases().iter().map(row).collect())
}

fn row(db: &Arc<Db>) -> Vec<Value> {
    let s = db.settings();
    let (days, ticks) = s.create_date;
    let state = db.status();
    let reuse = db.storage_if_open().map(|storage| storage.log_reuse_wait());
    let window = db.storage_if_open().map(|storage| storage.loss_window());
    let (recovery, delayed) = (db.recovery_model(), db.delayed_durability());
    let (on, off) = (bit(true), bit(false));
    let mut row = vec![
        Value::Str(db.name()),
        Value::Int(db.id()),
        Value::Null,
        Value::bytes([1u8].as_slice()),
        Value::DateTime { days, ticks },
        Value::TinyInt(s.compatibility_level),
        text(&s.collation),
        Value::TinyInt(s.user_access),
        text(USER_ACCESS[usize::from(s.user_access.min(2))]),
        bit(s.read_only),
        bit(s.auto_close),
        bit(s.auto_shrink),
        Value::TinyInt(state as u8),
        text(state.name()),
        off.clone(),
        bit(state == catalog::db::DbStatus::Offline),
        off.clone(),
        Value::TinyInt(s.snapshot_isolation.into()),
        text(SNAPSHOT[usize::from(s.snapshot_isolation)]),
        bit(s.read_committed_snapshot),
        Value::TinyInt(recovery as u8),
        text(recovery.name()),
        Value::TinyInt(s.page_verify),
        text(VERIFY[usize::from(s.page_verify.min(2))]),
        bit(s.auto_create_stats),
        off.clone(),
        bit(s.auto_update_stats),
    ];
    // Options of what is not here: replication, full text, trust between databases and others;
    // those that are follow.
    row.resize(row.len() + 23, off.clone());
    let session = s.session_defaults;
    let own = [
        ("is_auto_update_stats_async_on", s.async_stats),
        ("is_ansi_nulls_on", session.ansi_nulls),
        ("is_ansi_padding_on", session.ansi_padding),
        ("is_ansi_warnings_on", session.ansi_warnings),
        ("is_arithabort_on", session.arithabort),
        ("is_concat_null_yields_null_on", session.concat_null_yields_null),
        ("is_quoted_identifier_on", session.quoted_identifier),
        ("is_numeric_roundabort_on", session.numeric_roundabort),
        ("is_cursor_close_on_commit_on", session.cursor_close_on_commit),
        ("is_parameterization_forced", s.forced_parameterization),
        ("is_local_cursor_default", s.local_cursors),
        ("is_recursive_triggers_on", s.recursive_triggers),
        ("is_query_store_on", s.query_store.state != StoreState::Off),
    ];
    for (column, on) in own {
        if let Some(at) = COLUMNS.iter().position(|(name, ..)| *name == column) {
            row[at] = bit(on);
        }
    }
    row.extend([
        Value::Guid([0; 16]),
        off.clone(),
        reuse.map_or(Value::Null, |r| Value::TinyInt(r as u8)),
        reuse.map_or(Value::Null, |r| text(r.name())),
        bit(s.date_correlation),
        off.clone(),
        off.clone(),
        off.clone(),
        // Availability groups, and what contained databases have of their own.
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::TinyInt(0),
        text("NONE"),
        Value::Int(s.target_recovery_time),
        Value::Int(delayed as i32),
        text(delayed.name()),
        off.clone(),
        off.clone(),
        off.clone(),
        if s.mixed_page_allocation { on } else { bit(false) },
        off.clone(),
        Value::Int(0),
        text("DATABASE_DEFAULT"),
        Value::Str(db.name()),
        off.clone(),
        bit(s.accelerated_recovery),
        off.clone(),
        off.clone(),
        off.clone(),
        off.clone(),
        off.clone(),
        off,
        window.map_or(Value::Null, |w| Value::Int(w.ms as i32)),
        window.map_or(Value::Null, |w| Value::Int(w.kb as i32)),
    ]);
    row
}

const SCOPED_COLUMNS: &[ViewColumn] = &[
    ("configuration_id", Int, true),
    ("name", NVARCHAR60, true),
    ("value", DataType::SqlVariant, true),
    ("value_for_secondary", DataType::SqlVariant, true),
    ("is_value_default", Bit, true),
];

/// sys.database_scoped_configurations.
pub static SCOPED: View =
    View::sys("database_scoped_configurations", SCOPED_COLUMNS, |_, db, _| {
        let set = db.settings().scoped;
        let rows = scoped::ALL.iter().map(|one| {
            let value = set.get(one.name).map_or(one.default, |value| value.as_str());
            let shown = value.parse::<i32>().map_or_else(|_| text(value), Value::Int);
            let is_default = value == one.default;
            vec![Value::Int(one.id), text(one.name), shown, Value::Null, Value::Bit(is_default)]
        });
        Ok(rows.collect())
    });
