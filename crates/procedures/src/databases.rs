//! Procedures about the instance and its databases: sp_helpdb, sp_databases, sp_flush_log, sp_who.

use std::sync::atomic::Ordering;

use types::{DataType, Len, SqlError, Value, msg};

use super::Call;
use catalog::errors;
use catalog::fold_name;
use catalog::security::Permission;
use instance::OfInstance;
use metadata::results::column;
use metadata::views::files::database_size;
use metadata::views::visible::sees_database;

const NAME: DataType = DataType::NVarChar(Len::N(128));

/// EXEC sp_helpdb [name].
pub(crate) fn help_db(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let instance = call.core.instance().clone();
    let only = call.arg(0, "@dbname").and_then(Value::as_str).map(fold_name);
    let mut rows = Vec::new();
    for db in instance.databases() {
        let wanted = only.as_ref().is_none_or(|name| fold_name(&db.name()) == *name);
        if !wanted || !sees_database(call.core, &db) {
            continue;
        }
        let size = database_size(&db).0 as f64 / f64::from(1 << 20);
        let settings = db.settings();
        let status = format!(
            "Status={}, Updateability={}, Recovery={}, Collation={}",
            db.status().name(),
            if settings.read_only { "READ_ONLY" } else { "READ_WRITE" },
            db.recovery_model().name(),
            settings.collation
        );
        let (days, ticks) = settings.create_date;
        rows.push(vec![
            Value::Str(db.name()),
            Value::str(format!("{size:10.2} MB")),
            Value::str("sa"),
            Value::SmallInt(db.id() as i16),
            Value::DateTime { days, ticks },
            Value::str(status),
            Value::TinyInt(settings.compatibility_level),
        ]);
    }
    if let (Some(name), true) = (&only, rows.is_empty()) {
        return Err(SqlError::of(msg::DATABASE_DOES_NOT_EXIST, [name]));
    }
    let columns = [
        column("name", NAME, true),
        column("db_size", DataType::NVarChar(Len::N(13)), true),
        column("owner", NAME, true),
        column("dbid", DataType::SmallInt, true),
        column("created", DataType::DateTime, true),
        column("status", DataType::NVarChar(Len::N(600)), true),
        column("compatibility_level", DataType::TinyInt, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// EXEC sp_databases.
pub fn databases(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let mut known = call.core.host().databases();
    known.retain(|db| sees_database(call.core, db));
    let rows: Vec<Vec<Value>> = known
        .iter()
        .map(|db| {
            let kilobytes = database_size(db).0 >> 10;
            vec![
                Value::Str(db.name()),
                Value::Int(i32::try_from(kilobytes).unwrap_or(i32::MAX)),
                Value::Null,
            ]
        })
        .collect();
    let columns = [
        column("DATABASE_NAME", NAME, true),
        column("DATABASE_SIZE", DataType::Int, true),
        column("REMARKS", DataType::VarChar(Len::N(254)), true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// EXEC sys.sp_flush_log: delayed commits become durable.
pub fn flush_log(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let db = call.core.db().clone();
    db.storage()?.flush_log().map_err(|e| errors::db_error(&db, &e))?;
    Ok(0)
}

/// EXEC sp_who: without VIEW SERVER PERFORMANCE STATE the own session.
pub fn who(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let instance = call.core.instance().clone();
    let mut rows = Vec::new();
    let all = call.core.has_server(Permission::ViewServerPerformanceState);
    for (spid, session) in instance.sessions() {
        if !all && spid != call.core.spid() {
            continue;
        }
        let names = session.names.lock().clone();
        let db = instance.db_by_id(session.db.load(Ordering::Relaxed) as i32);
        let running = session.running.load(Ordering::Relaxed);
        rows.push(vec![
            Value::SmallInt(spid as i16),
            Value::SmallInt(0),
            Value::str(if running { "runnable" } else { "sleeping" }),
            Value::Str(names.login),
            Value::Str(names.host),
            Value::str("0"),
            db.map_or(Value::Null, |db| Value::Str(db.name())),
            Value::str(if running { "BATCH" } else { "AWAITING COMMAND" }),
            Value::Int(0),
        ]);
    }
    let columns = [
        column("spid", DataType::SmallInt, true),
        column("ecid", DataType::SmallInt, true),
        column("status", DataType::NVarChar(Len::N(30)), true),
        column("loginame", NAME, true),
        column("hostname", NAME, true),
        column("blk", DataType::Char(5), true),
        column("dbname", NAME, true),
        column("cmd", DataType::NVarChar(Len::N(16)), true),
        column("request_id", DataType::Int, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}
