//! DBCC SHRINKFILE and SHRINKDATABASE: logs are cut at VLF boundaries, data files behind their last extent in use. No page is
//! moved: what would need that is an error, and nothing has happened then.

use std::sync::Arc;

use pages::PAGE_SIZE;
use txn::TxnError;
use types::{DataType, SqlError, Value};

use super::Command;
use crate::context::fold_name;
use crate::errors::{self, db_error};
use crate::instance::Db;
use crate::instance::registry::FileEntry;
use crate::sysproc::column;
use crate::views::int;

/// What is asked of a data file.
#[derive(Clone, Copy)]
enum Ask {
    /// All free space at its end.
    TruncateOnly,
    /// What can be had down to the size that it was made with.
    Minimum,
    /// This size in pages.
    Size(u64),
    /// This share of free space in percent, not below the size that it was made with.
    Free(u64),
}

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
    let target = command.number(1).and_then(|n| u64::try_from(n).ok()).map(|n| n.saturating_mul(1 << 20));
    let row = if file.log {
        shrink_log(command, &db, &file, target)?
    } else {
        let size = target.map_or(Ask::Minimum, |bytes| Ask::Size(bytes / PAGE_SIZE as u64));
        let ask = if truncate_only(command, "DBCC SHRINKFILE")? { Ask::TruncateOnly } else { size };
        shrink_data(&db, &file, ask)?.0
    };
    show(command, &[row])
}

fn show(command: &mut Command<'_, '_>, rows: &[Vec<Value>]) -> Result<(), SqlError> {
    let columns = ["DbId", "FileId", "CurrentSize", "MinimumSize", "UsedPages", "EstimatedPages"]
        .map(|name| column(name, if name == "DbId" { DataType::SmallInt } else { DataType::Int }, true));
    command.result(&columns, rows)
}

/// Whether TRUNCATEONLY was said. Errors: 40510 for what moves pages, 102 for anything else.
fn truncate_only(command: &Command<'_, '_>, what: &str) -> Result<bool, SqlError> {
    let mut said = false;
    for word in (1..command.args.len()).filter_map(|at| command.text(at)) {
        match word.to_ascii_uppercase().as_str() {
            "TRUNCATEONLY" => said = true,
            moving @ ("EMPTYFILE" | "NOTRUNCATE") => {
                return Err(errors::not_supported(&format!("{what} with {moving}, which moves pages")));
            }
            _ => return Err(errors::syntax_near(word)),
        }
    }
    Ok(said)
}

/// Cuts a data file; returns the row that shows it, and whether it has become shorter. The minimum of a file that is made
/// smaller than ever goes down with it.
///
/// Errors: 3906 read-only; 3023 a backup is running; 40510 the size cannot be reached without moving pages.
fn shrink_data(db: &Arc<Db>, file: &FileEntry, ask: Ask) -> Result<(Vec<Value>, bool), SqlError> {
    let storage = db.storage()?;
    db.check_writable()?;
    let failed = |e: TxnError| db_error(db, &e);
    let _held = storage.hold_files().map_err(failed)?;
    let usage = || storage.store().file_usage(file.file_id).map_err(|e| failed(e.into()));
    let before = usage()?;
    let least = match ask {
        Ask::TruncateOnly => 0,
        Ask::Minimum => u64::from(before.minimum),
        Ask::Free(percent) => {
            let size = u64::from(before.used) * 100 / (100 - percent.min(99));
            size.max(before.minimum.into())
        }
        // A file is never smaller than what it holds.
        Ask::Size(pages) if u64::from(before.end) > pages.max(before.used.into()) => {
            return Err(errors::not_supported("DBCC SHRINKFILE to a size that needs pages to be moved"));
        }
        Ask::Size(pages) => pages,
    };
    let least = u32::try_from(least).unwrap_or(u32::MAX - 8);
    storage.shrink_file(file.file_id, least).map_err(failed)?;
    let after = usage()?;
    let pages = |n: u32| int(u64::from(n));
    let row = vec![
        Value::SmallInt(db.id() as i16),
        Value::Int(file.file_id.into()),
        pages(after.pages),
        pages(after.minimum),
        pages(after.used),
        pages(after.used),
    ];
    Ok((row, after.pages < before.pages))
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

/// DBCC SHRINKDATABASE (database [, percent free] [, TRUNCATEONLY]): shows the files that have become shorter.
pub(super) fn shrink_database(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    let percent = command.number(1).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let free = if truncate_only(command, "DBCC SHRINKDATABASE")? { 0 } else { percent };
    let entry = db.entry();
    let mut rows = Vec::new();
    for file in &entry.files {
        if file.log {
            let before = db.storage()?.log().space().size;
            let row = shrink_log(command, &db, file, None)?;
            rows.extend((db.storage()?.log().space().size < before).then_some(row));
        } else {
            let (row, shorter) = shrink_data(&db, file, Ask::Free(free))?;
            rows.extend(shorter.then_some(row));
        }
    }
    show(command, &rows)
}
