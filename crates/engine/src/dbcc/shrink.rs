//! DBCC SHRINKFILE and SHRINKDATABASE: logs are cut at VLF boundaries; data files keep their size.

use std::sync::Arc;

use pages::PAGE_SIZE;
use types::{DataType, SqlError, Value};

use super::Command;
use crate::context::fold_name;
use crate::errors::{self, db_error};
use crate::instance::Db;
use crate::instance::registry::FileEntry;
use crate::sysproc::column;
use crate::views::int;

/// DBCC SHRINKFILE (file [, target MB] [, TRUNCATEONLY]).
pub(super) fn shrink_file(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.ctx.core.db().clone();
    let entry = db.entry();
    let found = match (command.text(0), command.number(0)) {
        (Some(name), _) => entry.files.iter().find(|f| fold_name(&f.name) == fold_name(name)),
        (_, Some(id)) => entry.files.iter().find(|f| i64::from(f.file_id) == id),
        _ => None,
    };
    let Some(file) = found.cloned() else {
        let shown =
            command.text(0).map_or_else(|| command.number(0).unwrap_or(0).to_string(), str::to_string);
        let text = format!(
            "Could not locate file '{shown}' for database '{}' in sys.database_files. The file either does not exist, \
             or was dropped.",
            db.name()
        );
        return Err(SqlError::new(8985, 16, 1, text));
    };
    let target = command.number(1).and_then(|n| u64::try_from(n).ok()).map(|n| n << 20);
    if !file.log {
        return Err(errors::not_supported("DBCC SHRINKFILE of a data file"));
    }
    let row = shrink_log(command, &db, &file, target)?;
    let columns = ["DbId", "FileId", "CurrentSize", "MinimumSize", "UsedPages", "EstimatedPages"]
        .map(|name| column(name, if name == "DbId" { DataType::SmallInt } else { DataType::Int }, true));
    command.result(&columns, &[row])
}

fn shrink_log(
    command: &mut Command<'_, '_>,
    db: &Arc<Db>,
    file: &FileEntry,
    target: Option<u64>,
) -> Result<Vec<Value>, SqlError> {
    let storage = db.storage()?;
    let minimum = db.settings().log_min_size;
    let target = target.filter(|t| *t > 0).unwrap_or(minimum);
    // Space that a checkpoint can free should be free before the end is looked at.
    if storage.truncates_at_checkpoint() {
        storage.checkpoint().map_err(|e| db_error(db, &e))?;
    }
    let report = storage.log().shrink_to(target).map_err(|e| db_error(db, &e.into()))?;
    if report.held_by_active {
        let text = format!(
            "Cannot shrink log file {} ({}) because the logical log file located at the end of the file is in use.",
            file.file_id, file.name
        );
        command.ctx.inform(9008, 10, text)?;
    }
    let pages = |bytes: u64| int(bytes / PAGE_SIZE as u64);
    let space = storage.log().space();
    Ok(vec![
        Value::SmallInt(db.id() as i16),
        Value::Int(file.file_id.into()),
        pages(report.new_size),
        pages(minimum),
        pages(space.size),
        pages(target.min(report.new_size)),
    ])
}

/// DBCC SHRINKDATABASE (database): its log.
pub(super) fn shrink_database(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    let entry = db.entry();
    if let Some(log) = entry.files.iter().find(|f| f.log) {
        shrink_log(command, &db, log, None)?;
    }
    Ok(())
}
