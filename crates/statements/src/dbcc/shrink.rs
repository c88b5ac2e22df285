//! DBCC SHRINKFILE and SHRINKDATABASE: logs are cut at VLF boundaries. Of a data file, what lies
//! after its new end is moved to its front and then the free end is cut off; EMPTYFILE moves
//! everything to other files of the filegroup and shuts the file.

use std::sync::Arc;

use pages::{FileUsage, PAGE_SIZE};
use txn::{Database, TxnError};
use types::{DataType, SqlError, Value, msg};

use super::Command;
use super::vacate::Vacate;
use catalog::Db;
use catalog::errors::{self, db_error};
use catalog::fold_name;
use catalog::registry::FileEntry;
use metadata::results::column;
use metadata::views::int;
use session::state::space_retry::open_tables;

/// The size that is asked of a data file.
#[derive(Clone, Copy)]
enum AskedSize {
    /// What can be had down to the size that it was made with.
    Minimum,
    /// This size in pages.
    Size(u64),
    /// This share of free space in percent, not below the size that it was made with.
    Free(u64),
}

/// How a data file gets there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShrinkMode {
    /// Everything goes to other files; the size does not count.
    empty: bool,
    /// No page is moved: TRUNCATEONLY.
    stay: bool,
    /// The free end is not cut off: NOTRUNCATE.
    keep: bool,
}

/// DBCC SHRINKFILE (file, EMPTYFILE) or (file [, target MB] [, NOTRUNCATE | TRUNCATEONLY]).
pub(super) fn shrink_file(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.ctx.core.db().clone();
    let entry = db.entry();
    let found = match (command.text(0), command.number(0)) {
        (Some(name), _) => entry.files.iter().find(|f| fold_name(&f.name) == fold_name(name)),
        (_, Some(id)) => entry.files.iter().find(|f| i64::from(f.file_id) == id),
        _ => None,
    };
    let Some(file) = found.cloned() else {
        let shown = command
            .text(0)
            .map_or_else(|| command.number(0).unwrap_or(0).to_string(), str::to_string);
        return Err(SqlError::of(msg::DBCC_FILE_NOT_FOUND, [&shown, &db.name()]));
    };
    let target =
        command.number(1).and_then(|n| u64::try_from(n).ok()).map(|n| n.saturating_mul(1 << 20));
    let row = if file.log {
        shrink_log(command, &db, &file, target)?
    } else {
        let size =
            target.map_or(AskedSize::Minimum, |bytes| AskedSize::Size(bytes / PAGE_SIZE as u64));
        let how = how(command, true)?;
        if how.empty {
            empty_file(command, &db, &file)?
        } else {
            shrink_data(command, &db, &file, size, how)?.0
        }
    };
    show(command, &[row])
}

fn show(command: &mut Command<'_, '_>, rows: &[Vec<Value>]) -> Result<(), SqlError> {
    let columns = ["DbId", "FileId", "CurrentSize", "MinimumSize", "UsedPages", "EstimatedPages"]
        .map(|name| {
            column(name, if name == "DbId" { DataType::SmallInt } else { DataType::Int }, true)
        });
    command.result(&columns, rows)
}

/// What was said after the size. Errors: 102 for anything else, or for two that exclude each other;
/// 8920 in a transaction, which could not be ended for each table.
fn how(command: &Command<'_, '_>, file: bool) -> Result<ShrinkMode, SqlError> {
    let mut how = ShrinkMode::default();
    for word in (1..command.args.len()).filter_map(|at| command.text(at)) {
        let said = match word.to_ascii_uppercase().as_str() {
            "TRUNCATEONLY" => ShrinkMode { stay: true, ..ShrinkMode::default() },
            "NOTRUNCATE" => ShrinkMode { keep: true, ..ShrinkMode::default() },
            "EMPTYFILE" if file => ShrinkMode { empty: true, ..ShrinkMode::default() },
            _ => return Err(errors::syntax_near(word)),
        };
        if how != ShrinkMode::default() {
            return Err(errors::syntax_near(word));
        }
        how = said;
    }
    if command.ctx.core.trancount() > 0 && !how.stay {
        let what = if file { "shrinkfile" } else { "shrinkdatabase" };
        return Err(SqlError::of(msg::DBCC_IN_TRANSACTION, [&what]));
    }
    Ok(how)
}

/// A bar in a data file; it falls when this goes.
struct AllocationBar<'d> {
    storage: &'d Database,
    file: u16,
}

impl<'d> AllocationBar<'d> {
    fn put(storage: &'d Database, file: u16, page: u32) -> Result<AllocationBar<'d>, TxnError> {
        storage.bar_file(file, page).map(|()| AllocationBar { storage, file })
    }
}

impl Drop for AllocationBar<'_> {
    fn drop(&mut self) {
        self.storage.store().unbar(self.file);
    }
}

fn row_of(db: &Db, file: &FileEntry, usage: &FileUsage) -> Vec<Value> {
    let pages = |n: u32| int(u64::from(n));
    vec![
        Value::SmallInt(db.id() as i16),
        Value::Int(file.file_id.into()),
        pages(usage.pages),
        pages(usage.minimum),
        pages(usage.used),
        pages(usage.used),
    ]
}

/// Makes a data file shorter; returns the row that shows it, and whether it has become so. The
/// minimum of a file that is made smaller than ever goes down with it.
///
/// Errors: 3906 read-only; 3023 a backup is running; those of moving.
fn shrink_data(
    command: &mut Command<'_, '_>,
    db: &Arc<Db>,
    file: &FileEntry,
    ask: AskedSize,
    how: ShrinkMode,
) -> Result<(Vec<Value>, bool), SqlError> {
    let storage = db.storage()?;
    db.check_writable()?;
    let failed = |e: TxnError| db_error(db, &e);
    let _held = storage.hold_files().map_err(failed)?;
    let usage = || storage.store().file_usage(file.file_id).map_err(|e| failed(e.into()));
    // What is about to be free need not be moved.
    open_tables(db);
    storage.free_forgotten().map_err(failed)?;
    let before = usage()?;
    let least = match ask {
        _ if how.stay => 0,
        AskedSize::Minimum => u64::from(before.minimum),
        AskedSize::Free(percent) => {
            let size = u64::from(before.used) * 100 / (100 - percent.min(99));
            size.max(before.minimum.into())
        }
        // A file is never smaller than what it holds.
        AskedSize::Size(pages) => pages.max(before.used.into()),
    };
    let least = u32::try_from(least).unwrap_or(u32::MAX - 8);
    // An emptied file has nothing to move and keeps its own bar.
    let emptied = storage.store().bar_of(file.file_id).is_some();
    let bar = if how.stay || emptied || before.end <= least {
        None
    } else {
        let bar = AllocationBar::put(&storage, file.file_id, least).map_err(failed)?;
        Vacate::new(command.ctx.core, db, file.file_id, true)?.run()?;
        Some(bar)
    };
    if !how.keep {
        storage.shrink_file(file.file_id, least).map_err(failed)?;
    }
    drop(bar);
    let after = usage()?;
    Ok((row_of(db, file, &after), after.pages < before.pages))
}

/// Moves all content of a data file to other files of its filegroup; nothing new goes into it then.
///
/// Errors: 2555 there is no other file, or something cannot be moved (the primary file's system
/// pages); 2556 the others have no room; 3906 read-only; 3023 a backup is running; those of moving.
/// What was moved stays moved.
fn empty_file(
    command: &mut Command<'_, '_>,
    db: &Arc<Db>,
    file: &FileEntry,
) -> Result<Vec<Value>, SqlError> {
    let storage = db.storage()?;
    db.check_writable()?;
    let failed = |e: TxnError| db_error(db, &e);
    let _held = storage.hold_files().map_err(failed)?;
    let store = storage.store();
    let id = file.file_id;
    // A file that was emptied may have been opened for a rollback since.
    if store.bar_of(id) != Some(0) || store.behind_bar(id).map_err(|e| failed(e.into()))? > 0 {
        if !store.has_sibling(id).map_err(|e| failed(e.into()))? {
            return Err(not_all_moved(file));
        }
        let bar = AllocationBar::put(&storage, id, 0).map_err(failed)?;
        let done =
            Vacate::new(command.ctx.core, db, id, false)?.run().map_err(|e| match e.number {
                1105 => SqlError::of(msg::EMPTY_FILE_NO_SPACE, []),
                _ => e,
            })?;
        // The bar has fallen: a rollback had no other place for its pages.
        if !done || id == 1 || store.bar_of(id) != Some(0) {
            return Err(not_all_moved(file));
        }
        storage.note_emptied(id).map_err(failed)?;
        std::mem::forget(bar);
    }
    let usage = store.file_usage(id).map_err(|e| failed(e.into()))?;
    Ok(row_of(db, file, &usage))
}

fn not_all_moved(file: &FileEntry) -> SqlError {
    SqlError::of(msg::EMPTY_FILE_NOT_MOVED, [&file.name])
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
        command.ctx.inform(msg::LOG_FILE_NOT_SHRUNK, [&file.file_id, &file.name])?;
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

/// DBCC SHRINKDATABASE (database [, percent free] [, NOTRUNCATE | TRUNCATEONLY]): shows the files
/// that have become shorter.
pub(super) fn shrink_database(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    let percent = command.number(1).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let how = how(command, false)?;
    let entry = db.entry();
    let mut rows = Vec::new();
    for file in &entry.files {
        if file.log {
            let before = db.storage()?.log().space().size;
            let row = shrink_log(command, &db, file, None)?;
            rows.extend((db.storage()?.log().space().size < before).then_some(row));
        } else {
            let (row, shorter) = shrink_data(command, &db, file, AskedSize::Free(percent), how)?;
            rows.extend(shorter.then_some(row));
        }
    }
    show(command, &rows)
}
