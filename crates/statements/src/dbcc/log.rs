//! DBCC LOGINFO, SQLPERF, OPENTRAN.

use types::{DataType, SqlError, Value, msg};

use super::Command;
use metadata::results::column;
use metadata::views::{LSN_NUMERIC, SYSNAME, big, lsn_numeric, megabytes, server, text};

/// DBCC LOGINFO [(database)].
pub(super) fn log_info(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    let storage = db.storage()?;
    let zero = Value::Decimal(types::Decimal::zero(25, 0));
    let rows: Vec<Vec<Value>> = storage
        .log()
        .vlfs()
        .into_iter()
        .map(|vlf| {
            vec![
                Value::Int(0),
                Value::TinyInt(2),
                big(vlf.size),
                big(vlf.begin_offset),
                Value::Int(i32::try_from(vlf.seq).unwrap_or(i32::MAX)),
                Value::TinyInt(vlf.status),
                Value::TinyInt(vlf.parity),
                match lsn_numeric(vlf.create_lsn) {
                    Value::Null => zero.clone(),
                    lsn => lsn,
                },
            ]
        })
        .collect();
    let columns = [
        column("RecoveryUnitId", DataType::Int, true),
        column("FileId", DataType::TinyInt, true),
        column("FileSize", DataType::BigInt, true),
        column("StartOffset", DataType::BigInt, true),
        column("FSeqNo", DataType::Int, true),
        column("Status", DataType::TinyInt, true),
        column("Parity", DataType::TinyInt, true),
        column("CreateLSN", LSN_NUMERIC, true),
    ];
    command.result(&columns, &rows)
}

/// DBCC SQLPERF (LOGSPACE) and DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR).
pub(super) fn sql_perf(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let what = command.text(0).unwrap_or_default().to_ascii_lowercase();
    let clear = command.text(1).is_some_and(|word| word.eq_ignore_ascii_case("clear"));
    match (what.as_str(), clear) {
        ("logspace", false) => log_space(command),
        ("sys.dm_os_wait_stats" | "waitstats", true) => server::clear_waits(command.ctx.core),
        ("sys.dm_os_latch_stats", true) => Ok(()),
        _ => Err(SqlError::of(msg::SQLPERF_INVALID_PARAMETER, [])),
    }
}

fn log_space(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let mut rows = Vec::new();
    for db in command.ctx.core.host().databases() {
        let Some(storage) = db.storage_if_open() else { continue };
        let space = storage.log().space();
        // The file's header is not log space.
        let size = space.size.saturating_sub(8192);
        let used = space.used as f64 * 100.0 / size.max(1) as f64;
        rows.push(vec![
            text(db.name()),
            Value::Real(megabytes(size) as f32),
            Value::Real(used as f32),
            Value::Int(0),
        ]);
    }
    let columns = [
        column("Database Name", SYSNAME, true),
        column("Log Size (MB)", DataType::Real, true),
        column("Log Space Used (%)", DataType::Real, true),
        column("Status", DataType::Int, true),
    ];
    command.result(&columns, &rows)
}

/// DBCC OPENTRAN [(database)].
pub(super) fn open_tran(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    let storage = db.storage()?;
    let oldest = storage.txns().active().into_iter().min_by_key(|txn| txn.id);
    let Some(txn) = oldest else {
        return command.ctx.inform(msg::NO_OPEN_TRANSACTIONS, []);
    };
    let log = *txn.log.lock();
    command.ctx.inform(
        msg::OLDEST_TRANSACTION,
        [&db.name(), &txn.session, &txn.id.0, &log.begin.to_decimal(), &log.records, &log.bytes],
    )
}
