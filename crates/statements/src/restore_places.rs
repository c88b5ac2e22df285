//! Where the data files of a restored database go, and why one cannot go there.

use std::path::PathBuf;
use std::sync::Arc;

use compact_str::CompactString;
use pages::FileSpec;
use txn::backup::{BackupError, SetHeader};
use types::{SqlError, msg};

use super::StmtCtx;
use super::backup_errors::Place;
use super::restore_options::RestoreOptions;
use catalog::Db;
use catalog::fold_name;
use catalog::registry::{DbEntry, FileEntry};
use instance::InstanceCore;
use instance::file_errors::{cannot_create_file, in_use};

/// Behind 3156.
impl StmtCtx<'_> {
    /// No file of another database or instance is in the way, none that somebody has open, and none
    /// that belongs to nobody unless REPLACE; no two files go to one place. Errors: 3176; 1834,
    /// 3142, 3634, 3156, 3119.
    pub(super) fn check_places(
        &mut self,
        instance: &InstanceCore,
        db: Option<&Arc<Db>>,
        entry: &DbEntry,
        options: &RestoreOptions,
    ) -> Result<(), SqlError> {
        for file in &entry.files {
            let same = entry.files.iter().find(|f| f.file_id < file.file_id && f.path == file.path);
            same.map_or(Ok(()), |other| Err(claimed(file, other)))?;
        }
        let own: Vec<PathBuf> = db
            .map_or_else(Vec::new, |db| db.entry().files.iter().map(|f| f.path.clone()).collect());
        // What the database has open is its own; what is there of one that is not open may be
        // anybody's by now.
        let open = db.is_some_and(|db| db.storage_if_open().is_some());
        let mut problem = false;
        for file in &entry.files {
            let taken = instance.user_of(entry.id, &file.path);
            let there = instance.disk.exists(&file.path).unwrap_or(false);
            let own_and_open = open && own.contains(&file.path);
            let foreign = if there && !own_and_open { instance.foreign_target(file) } else { None };
            let reason = match taken.map(|other| in_use(&file.shown, &other)).or(foreign) {
                Some(reason) => reason,
                None if there && !options.replace && !own.contains(&file.path) => {
                    SqlError::of(msg::RESTORE_OVER_EXISTING, [&file.name, &file.shown])
                }
                None => continue,
            };
            problem = true;
            self.first_error(reason);
            self.first_error(no_place(&file.name, &file.shown));
        }
        if problem {
            return Err(SqlError::of(msg::RESTORE_PLANNING_FAILED, []));
        }
        Ok(())
    }

    /// What remains to be said when a file must not go where it should: the reason and 3156 come
    /// first, then 3119.
    pub(super) fn not_placed(&mut self, name: &str, shown: &str, reason: SqlError) -> SqlError {
        self.first_error(reason);
        self.first_error(no_place(name, shown));
        SqlError::of(msg::RESTORE_PLANNING_FAILED, [])
    }

    /// Why a step has failed. Of a file that could not be made the reason comes first, then 3156
    /// and 3119.
    pub(super) fn step_failed(
        &mut self,
        db: &Arc<Db>,
        command: &'static str,
        e: &BackupError,
        refused: Option<SqlError>,
        shown: &[(String, CompactString)],
    ) -> SqlError {
        let of = |name: &String| {
            shown.iter().find(|(n, _)| n == name).map_or("", |(_, shown)| shown.as_str())
        };
        let (name, shown, reason) = match e {
            BackupError::NoPlace { name, .. } => (name, of(name), refused),
            BackupError::CannotMake { name, cause, .. } => {
                (name, of(name), Some(cannot_create_file(of(name), cause)))
            }
            _ => return self.terminate(&Place { command, database: &db.name(), db: None }, e),
        };
        reason.into_iter().for_each(|reason| self.first_error(reason));
        self.first_error(no_place(name, shown));
        self.terminate_with(command, SqlError::of(msg::RESTORE_PLANNING_FAILED, []))
    }
}

/// 3156: a file has no place.
fn no_place(name: &str, shown: &str) -> SqlError {
    SqlError::of(msg::RESTORE_NO_PLACE, [&name, &shown])
}

/// 3176: two files of the database would be one.
fn claimed(file: &FileEntry, other: &FileEntry) -> SqlError {
    SqlError::of(
        msg::FILE_CLAIMED_TWICE,
        [&file.shown, &file.name, &file.file_id, &other.name, &other.file_id],
    )
}

/// Where a file goes that the log adds: where MOVE says, where an attempt before has put it, or
/// where it was.
pub(super) fn added_place(
    entry: &DbEntry,
    header: Option<&SetHeader>,
    options: &RestoreOptions,
    spec: &FileSpec,
) -> CompactString {
    let moved = options.moves.iter().find(|(l, _)| fold_name(l) == fold_name(&spec.name));
    let known = entry.files.iter().find(|f| !f.log && f.file_id == spec.id);
    let listed = header.and_then(|h| h.files.iter().find(|f| !f.log && f.id == spec.id));
    match (moved, known, listed) {
        (Some((_, path)), ..) => path.as_str().into(),
        (None, Some(file), _) => file.shown.clone(),
        (None, None, Some(file)) => file.shown.as_str().into(),
        (None, None, None) => spec.path.display().to_string().into(),
    }
}
