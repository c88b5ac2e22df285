//! The log: sys.dm_db_log_info, sys.dm_db_log_stats, sys.dm_db_log_space_usage.

use std::sync::Arc;

use types::{DataType, Len, Value};

use super::{
    NVARCHAR60, Rows, View, ViewColumn, big, bit, databases_of, lsn_text, megabytes, text,
};
use catalog::Db;
use session::state::SessionCore;

use DataType::{BigInt, Bit, DateTime, Float, Int, Real, SmallInt, TinyInt, VarBinary};

const LSN48: DataType = DataType::NVarChar(Len::N(48));
const LSN24: DataType = DataType::NVarChar(Len::N(24));
/// file_id of the log.
pub const LOG_FILE: i16 = 2;

const INFO: &[ViewColumn] = &[
    ("database_id", Int, false),
    ("file_id", SmallInt, false),
    ("vlf_begin_offset", BigInt, false),
    ("vlf_size_mb", Float, false),
    ("vlf_sequence_number", BigInt, false),
    ("vlf_active", Bit, false),
    ("vlf_status", Int, false),
    ("vlf_parity", TinyInt, false),
    ("vlf_first_lsn", LSN48, true),
    ("vlf_create_lsn", LSN48, true),
    ("vlf_encryptor_thumbprint", VarBinary(Len::N(20)), true),
];

/// sys.dm_db_log_info(database_id).
pub(crate) static LOG_INFO: View = View::function("dm_db_log_info", 1, INFO, info);

/// The databases of an argument: NULL and DEFAULT mean the current one.
fn chosen(session: &SessionCore, db: &Arc<Db>, args: &[Value]) -> Vec<Arc<Db>> {
    match args.first() {
        None | Some(Value::Null) => vec![db.clone()],
        arg => databases_of(session, arg),
    }
}

fn info(session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for db in chosen(session, db, args) {
        let storage = db.storage()?;
        for vlf in storage.log().vlfs() {
            rows.push(vec![
                Value::Int(db.id()),
                Value::SmallInt(LOG_FILE),
                big(vlf.begin_offset),
                Value::Float((megabytes(vlf.size) * 100.0).round() / 100.0),
                big(vlf.seq.into()),
                bit(vlf.status == 2),
                Value::Int(vlf.status.into()),
                Value::TinyInt(vlf.parity),
                text(vlf.first_lsn.to_string()),
                text(vlf.create_lsn.to_string()),
                Value::Null,
            ]);
        }
    }
    Ok(rows)
}

const STATS: &[ViewColumn] = &[
    ("database_id", Int, false),
    ("recovery_model", NVARCHAR60, true),
    ("log_min_lsn", LSN24, true),
    ("log_end_lsn", LSN24, true),
    ("current_vlf_sequence_number", BigInt, true),
    ("current_vlf_size_mb", Float, true),
    ("total_vlf_count", BigInt, true),
    ("total_log_size_mb", Float, true),
    ("active_vlf_count", BigInt, true),
    ("active_log_size_mb", Float, true),
    ("log_truncation_holdup_reason", NVARCHAR60, true),
    ("log_backup_time", DateTime, true),
    ("log_backup_lsn", LSN24, true),
    ("log_since_last_log_backup_mb", Float, true),
    ("log_checkpoint_lsn", LSN24, true),
    ("log_since_last_checkpoint_mb", Float, true),
    ("log_recovery_lsn", LSN24, true),
    ("log_recovery_size_mb", Float, true),
    ("recovery_vlf_count", BigInt, true),
    // Counted since the database was opened.
    ("vlf_changes", BigInt, false),
    ("log_growths", BigInt, false),
];

/// sys.dm_db_log_stats(database_id).
pub(crate) static LOG_STATS: View = View::function("dm_db_log_stats", 1, STATS, stats);

fn stats(session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for db in chosen(session, db, args) {
        let storage = db.storage()?;
        let log = storage.log();
        let (space, counted) = (log.space(), log.stats());
        let (checkpoint, redo) = storage.last_checkpoint();
        // Undo may have to go further back than redo.
        let oldest = storage
            .txns()
            .active()
            .iter()
            .map(|txn| txn.log.lock().begin)
            .filter(|l| !l.is_zero())
            .min();
        let recovery = oldest.map_or(redo, |begin| begin.min(redo));
        let end = log.end();
        let since = storage.log_since_checkpoint();
        let recovery_vlfs = u64::from(end.vlf.saturating_sub(recovery.vlf)) + 1;
        rows.push(vec![
            Value::Int(db.id()),
            text(db.recovery_model().name()),
            lsn_text(log.oldest()),
            lsn_text(end),
            big(space.current_vlf.into()),
            Value::Float(megabytes(space.current_vlf_size)),
            big(space.vlf_count.into()),
            Value::Float(megabytes(space.size)),
            big(space.active_vlfs.into()),
            Value::Float(megabytes(space.active_bytes)),
            text(storage.log_reuse_wait().name()),
            Value::Null,
            Value::Null,
            Value::Null,
            lsn_text(checkpoint),
            Value::Float(megabytes(since)),
            lsn_text(recovery),
            Value::Float(megabytes(since)),
            big(recovery_vlfs),
            big(counted.vlf_changes),
            big(counted.growths),
        ]);
    }
    Ok(rows)
}

const USAGE: &[ViewColumn] = &[
    ("database_id", SmallInt, false),
    ("total_log_size_in_bytes", BigInt, false),
    ("used_log_space_in_bytes", BigInt, false),
    ("used_log_space_in_percent", Real, false),
    ("log_space_in_bytes_since_last_backup", BigInt, false),
];

/// sys.dm_db_log_space_usage: of the current database.
pub(crate) static LOG_SPACE_USAGE: View = View::sys("dm_db_log_space_usage", USAGE, |_, db, _| {
    let space = db.storage()?.log().space();
    let total = space.size.saturating_sub(8192);
    let percent = space.used as f64 * 100.0 / total.max(1) as f64;
    Ok(vec![vec![
        Value::SmallInt(db.id() as i16),
        big(total),
        big(space.used),
        Value::Real(percent as f32),
        big(space.used),
    ]])
});
