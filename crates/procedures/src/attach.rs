//! sp_attach_db, sp_attach_single_file_db and sp_detach_db: how a database goes to another instance.

use types::{SqlError, Value};

use super::Call;
use catalog::db::DbStatus;
use catalog::errors;
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
pub fn attach_single(call: &mut Call<'_>) -> Result<i32, SqlError> {
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
    let (log, data) = files.into_iter().partition(|file| file.to_ascii_lowercase().ends_with(".ldf"));
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
        let text = "System databases master, model, msdb, and tempdb cannot be detached.";
        return Err(SqlError::new(7940, 16, 1, text));
    }
    let Some(db) = instance.find_db(&name) else {
        let text = format!(
            "The database '{name}' does not exist. Supply a valid database name. To see available databases, use sys.databases."
        );
        return Err(SqlError::new(15010, 16, 1, text));
    };
    match db.status() {
        DbStatus::Online | DbStatus::Offline => {}
        DbStatus::Restoring => return Err(errors::not_usable(&name, DbStatus::Restoring)),
        _ => {
            let text =
                "Cannot detach a suspect or recovery pending database. It must be repaired or dropped.";
            return Err(SqlError::new(3707, 16, 2, text));
        }
    }
    let in_use = || {
        let text = format!("Cannot detach the database '{name}' because it is currently in use.");
        SqlError::new(3703, 16, 2, text)
    };
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
    let text = format!(
        "Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied."
    );
    SqlError::new(201, 16, 4, text)
}

fn outside_transaction(call: &Call<'_>, procedure: &str) -> Result<(), SqlError> {
    if call.core.trancount() > 0 {
        let text = format!("The procedure 'sys.{procedure}' cannot be executed within a transaction.");
        return Err(SqlError::new(15002, 16, 1, text));
    }
    Ok(())
}
