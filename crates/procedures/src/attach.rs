//! sp_attach_db, sp_attach_single_file_db and sp_detach_db: how a database goes to another
//! instance.

use types::{SqlError, Value, msg};

use super::Call;
use catalog::db::DbStatus;
use catalog::db::errors;
use instance::InstanceCore;
use instance::OfInstance;
use instance::attach::Attach;
use instance::permit::Reach;

/// Most files that sp_attach_db takes.
const MOST_FILES: usize = 16;

/// EXEC sp_attach_db name, file [, ...].
pub fn attach(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let files = (1..=MOST_FILES).filter_map(|n| text(call, n, &format!("@filename{n}")));
    let files: Vec<String> = files.collect();
    attach_files(call, files, "sp_attach_db")
}

/// EXEC sp_attach_single_file_db name, file.
pub(crate) fn attach_single(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let files = text(call, 1, "@physname").into_iter().collect();
    attach_files(call, files, "sp_attach_single_file_db")
}

fn attach_files(call: &mut Call<'_>, files: Vec<String>, procedure: &str) -> Result<i32, SqlError> {
    let name = database_name(call, procedure, "@dbname")?;
    if files.is_empty() {
        return Err(missing(procedure, "@filename1"));
    }
    outside_transaction(call, procedure)?;
    // A log among them is told by what it holds.
    let (log, data) =
        files.into_iter().partition(|file| file.to_ascii_lowercase().ends_with(".ldf"));
    let log: Vec<String> = log;
    let data: Vec<String> = data;
    let what = Attach {
        name: &name,
        files: data.iter().map(|file| file.as_str().into()).collect(),
        log: log.first().map(|file| file.as_str().into()),
        rebuild: false,
        reach: Reach::of(call.core),
    };
    let instance = call.core.instance().clone();
    let made = statements::attach(&instance, &what).map_err(|(last, reason)| {
        // A client that cannot be told the reason cannot be told the error either.
        if let Some(reason) = reason {
            let _ = call.sink.error(&reason);
        }
        last
    })?;
    if let Some(log) = made {
        call.sink.message(&statements::new_log(&log))?;
    }
    Ok(0)
}

/// EXEC sp_detach_db name.
pub fn detach(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let name = database_name(call, "sp_detach_db", "@dbname")?;
    outside_transaction(call, "sp_detach_db")?;
    let instance = call.core.instance().clone();
    instance.check_writable()?;
    let _turn = instance.changing.lock();
    if InstanceCore::is_reserved_name(&name) {
        return Err(SqlError::of(msg::DETACH_SYSTEM_DATABASE, []));
    }
    let Some(db) = instance.find_db(&name) else {
        return Err(SqlError::of(msg::DATABASE_DOES_NOT_EXIST, [&name]));
    };
    match db.status() {
        DbStatus::Online | DbStatus::Offline => {}
        DbStatus::Restoring => return Err(errors::not_usable(&name, DbStatus::Restoring)),
        _ => {
            return Err(SqlError::of(msg::DETACH_SUSPECT, []));
        }
    }
    let in_use = || SqlError::of(msg::DETACH_DATABASE_IN_USE, [&name]);
    let _closed = db.close_if_unused().ok_or_else(in_use)?;
    if db.storage_if_open().is_some_and(|s| !s.txns().active().is_empty()) {
        return Err(in_use());
    }
    instance.detach(&db)?;
    Ok(0)
}

fn text(call: &Call<'_>, position: usize, name: &str) -> Option<String> {
    call.arg(position, name).and_then(Value::as_str).map(str::to_string)
}

fn database_name(call: &Call<'_>, procedure: &str, parameter: &str) -> Result<String, SqlError> {
    text(call, 0, parameter).ok_or_else(|| missing(procedure, parameter))
}

fn missing(procedure: &str, parameter: &str) -> SqlError {
    SqlError::of(msg::PARAMETER_NOT_SUPPLIED, [&procedure, &parameter])
}

fn outside_transaction(call: &Call<'_>, procedure: &str) -> Result<(), SqlError> {
    if call.core.trancount() > 0 {
        return Err(SqlError::of(
            msg::PROCEDURE_IN_TRANSACTION,
            [&format_args!("sys.{procedure}")],
        ));
    }
    Ok(())
}
