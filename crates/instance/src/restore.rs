//! Databases that are being restored: their place in the registry, and what the engine adds to a
//! backup's header. Guarantees: a database whose restore has begun is listed as RESTORING until it
//! is recovered, whatever crashes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compact_str::CompactString;
use disk::DiskError;
use pages::FileSpec;
use txn::Env;
use txn::backup::{
    MediaSet, RestoreNext, RestoreTarget, RestoredStep, RollTo, SetHeader, SetKind, restore_data,
    restore_log,
};
use types::{SqlError, msg};
use wal::LogOptions;

use super::InstanceCore;
use super::boot_text::save_settings;
use super::data_files::adopt_files;
use super::file_errors::cannot_create_file;
use super::file_errors::{disk_error, in_use, of_another_instance, restore_target};
use super::permit::PermitReach;
use catalog::db::{Db, DbStatus, UserAccess};
use catalog::registry::{self, DbEntry, FileEntry, PendingFile};
use catalog::settings::DbSettings;

/// What the engine knows of a database beyond its files: lines `key<TAB>value`.
pub fn describe(db: &Db, entry: &DbEntry) -> Vec<u8> {
    let settings = db.settings();
    let mut text = String::new();
    for group in &entry.filegroups {
        let _ = writeln!(text, "filegroup\t{group}");
    }
    let (days, ticks) = settings.create_date;
    let _ = writeln!(text, "compat\t{}", settings.compatibility_level);
    let _ = writeln!(text, "collation\t{}", settings.collation);
    let _ = writeln!(text, "created\t{days} {ticks}");
    let _ = writeln!(text, "alignment\t{}", entry.log_alignment);
    let _ = writeln!(text, "readonly\t{}", u8::from(settings.read_only));
    text.into_bytes()
}

/// What [`describe`] wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedDatabase {
    pub filegroups: Vec<CompactString>,
    pub compatibility_level: u8,
    pub collation: String,
    /// Days since 1900 and 1/300 s.
    pub created: (i32, u32),
    pub alignment: u16,
    pub read_only: bool,
}

impl DescribedDatabase {
    pub fn read(bytes: &[u8]) -> DescribedDatabase {
        let mut out =
            DescribedDatabase { compatibility_level: 160, ..DescribedDatabase::default() };
        let text = String::from_utf8_lossy(bytes);
        for (key, value) in text.lines().filter_map(|line| line.split_once('\t')) {
            match key {
                "filegroup" => out.filegroups.push(value.into()),
                "compat" => out.compatibility_level = value.parse().unwrap_or(160),
                "collation" => out.collation = value.into(),
                "created" => {
                    let parts = value.split_once(' ');
                    out.created = parts
                        .and_then(|(days, ticks)| Some((days.parse().ok()?, ticks.parse().ok()?)))
                        .unwrap_or_default();
                }
                "alignment" => out.alignment = value.parse().unwrap_or(0),
                "readonly" => out.read_only = value == "1",
                _ => {}
            }
        }
        if out.filegroups.is_empty() {
            out.filegroups.push("PRIMARY".into());
        }
        out
    }
}

/// Says where a file goes: from its number, whether it is the log, its logical name and its name in
/// the backup.
pub type PlaceFile<'p> = dyn FnMut(u16, bool, &str, &str) -> CompactString + 'p;

impl InstanceCore {
    /// The registry's entry of a database that a backup makes for somebody of a reach. `place`
    /// gives each file's path as it is shown. Errors, with the logical name of the file and its
    /// place: 5105, 3634.
    pub fn restored_entry(
        &self,
        reach: PermitReach,
        id: i32,
        name: &str,
        header: &SetHeader,
        place: &mut PlaceFile<'_>,
    ) -> Result<DbEntry, (CompactString, CompactString, SqlError)> {
        let described = DescribedDatabase::read(&header.engine);
        let mut entry = DbEntry {
            id,
            name: name.into(),
            offline: false,
            restoring: true,
            log_alignment: described.alignment,
            filegroups: described.filegroups,
            files: Vec::new(),
        };
        for file in &header.files {
            let shown = place(file.id, file.log, &file.name, &file.shown);
            let path = self.permit_database_file(reach, &shown).map_err(|e| {
                let reason = e.or(|cause| restore_target(Path::new(shown.as_str()), cause));
                (file.name.as_str().into(), shown.clone(), reason)
            })?;
            let (file_id, log, filegroup) = (file.id, file.log, file.filegroup);
            entry.files.push(FileEntry {
                file_id,
                log,
                filegroup,
                name: file.name.as_str().into(),
                path,
                shown,
                next: None,
            });
        }
        entry.files.sort_by_key(|f| f.file_id);
        Ok(entry)
    }

    fn target(&self, entry: &DbEntry) -> (Env, RestoreTarget) {
        let files =
            entry.files.iter().filter(|f| !f.log).map(|f| (f.file_id, f.path.clone())).collect();
        let log_path =
            entry.files.iter().find(|f| f.log).map(|f| f.path.clone()).unwrap_or_default();
        let log: LogOptions = self.log_options(entry);
        (self.env(entry), RestoreTarget { files, log_path, log })
    }

    /// One step of a restore.
    pub fn restore_step(
        &self,
        entry: &DbEntry,
        media: &mut MediaSet,
        position: u16,
        to: RollTo<'_>,
        step: RestoreNext,
        progress: &mut dyn FnMut(u8) -> bool,
    ) -> Result<RestoredStep, txn::backup::BackupError> {
        let (env, target) = self.target(entry);
        if media.set(position)?.header.kind == SetKind::Log {
            restore_log(&env, media, position, &target, to, step, progress)
        } else {
            restore_data(&env, media, position, &target, step, progress)
        }
    }

    /// The database is RESTORING from now on, in the registry too. The caller holds `changing`.
    pub fn begin_restore(&self, db: &Arc<Db>, entry: DbEntry) -> Result<(), SqlError> {
        self.make_folders(&entry)?;
        db.take_down(DbStatus::Restoring, "it is being restored");
        db.change_entry(|old| *old = entry);
        self.forget_batches();
        self.save_registry()
    }

    /// A new database that will be RESTORING. The caller holds `changing`.
    pub fn add_restoring(&self, entry: DbEntry) -> Result<Arc<Db>, SqlError> {
        self.make_folders(&entry)?;
        let errors = self.error_log().clone();
        let db = Db::down(entry, DbStatus::Restoring, "it is being restored".into(), errors);
        self.add_database(db.clone());
        self.save_registry()?;
        Ok(db)
    }

    /// Files that the log of a restored database adds: they are the database's in the registry
    /// before they are made, so that whatever a crash leaves of them may be replaced, and one that
    /// goes elsewhere than an attempt before has put it is announced to be removed. The caller
    /// holds `changing`.
    ///
    /// Errors, with the file's index: 1834, 5170 something else is there; 5133; the registry.
    /// Nothing has changed then.
    pub fn place_restored(
        &self,
        reach: PermitReach,
        db: &Arc<Db>,
        files: &[(&FileSpec, CompactString)],
    ) -> Result<Vec<PathBuf>, (usize, SqlError)> {
        let before = db.entry();
        let mut entry = before.clone();
        for (i, (spec, shown)) in files.iter().enumerate() {
            let placed = self.place_one(reach, &before, &entry, spec, shown).map_err(|e| (i, e))?;
            entry.files.retain(|f| f.file_id != spec.id);
            entry.files.push(placed);
            self.make_folders(&entry).map_err(|e| (i, e))?;
        }
        let paths =
            entry.files[entry.files.len() - files.len()..].iter().map(|f| f.path.clone()).collect();
        let left = before.files.iter().filter(|f| !entry.files.iter().any(|n| n.path == f.path));
        self.pending.lock().extend(left.map(|f| PendingFile { db: db.id(), path: f.path.clone() }));
        db.change_entry(|old| *old = entry);
        self.save_registry().map_err(|e| (0, e)).inspect_err(|_| {
            self.forget_pending(db.id(), &before.files);
            db.change_entry(|entry| *entry = before);
        })?;
        Ok(paths)
    }

    /// Where one of them goes. `before`: the database's files; `now`: with those that have a place
    /// already.
    fn place_one(
        &self,
        reach: PermitReach,
        before: &DbEntry,
        now: &DbEntry,
        spec: &FileSpec,
        shown: &str,
    ) -> Result<FileEntry, SqlError> {
        let path = self.permit_database_file(reach, shown);
        let path = path.map_err(|e| e.or(|cause| cannot_create_file(shown, cause)))?;
        if let Some(other) = self.user_of(before.id, &path) {
            return Err(in_use(shown, &other));
        }
        let own = before.files.iter().any(|f| f.file_id == spec.id && f.path == path);
        let taken = now.files.iter().any(|f| f.file_id != spec.id && f.path == path);
        if taken || (!own && self.disk.exists(&path).unwrap_or(false)) {
            return Err(cannot_create_file(shown, &DiskError::Exists { path }));
        }
        Ok(FileEntry {
            file_id: spec.id,
            log: false,
            filegroup: spec.filegroup,
            name: spec.name.as_str().into(),
            path,
            shown: shown.into(),
            next: None,
        })
    }

    /// The files that were placed could not be made, and none is there: the registry is as it was.
    /// The places of the attempts before stay announced.
    pub fn unplace_restored(&self, db: &Arc<Db>, before: DbEntry) {
        self.forget_pending(db.id(), &before.files);
        db.change_entry(|entry| *entry = before);
        if let Err(e) = self.save_registry() {
            self.error_log().write("Restore", &e.message);
        }
    }

    /// Why a file that is there cannot be replaced: somebody has it open (3634), or it is another
    /// instance's (1834).
    pub fn foreign_target(&self, file: &FileEntry) -> Option<SqlError> {
        let home = pages::InstanceHome { instance: self.id(), ..pages::InstanceHome::default() };
        match txn::identify(&*self.disk, &file.path, &home) {
            Ok(_) if self.may_remove(&file.path) && !self.in_another_folder(&file.path) => None,
            Ok(found) => {
                let owner = found.map(|found| found.owner).unwrap_or_default();
                Some(of_another_instance(&file.shown, &owner))
            }
            Err(e) => match disk_error(&e) {
                Some(DiskError::NotFound { .. }) | None => None,
                Some(e) => Some(restore_target(&file.path, e)),
            },
        }
    }

    /// Whether a file lies in the folder of another instance, which may be a copy of this one that
    /// was never opened.
    fn in_another_folder(&self, path: &Path) -> bool {
        let root = self.paths.root();
        let known = self.entries().iter().any(|e| e.files.iter().any(|f| f.path == path));
        let others = |folder: &Path| registry::exists(&*self.disk, folder).unwrap_or(false);
        !known && !path.starts_with(root) && path.ancestors().skip(1).any(others)
    }

    /// The database that has a file, under this name or another one, if it is not this one.
    pub fn user_of(&self, id: i32, path: &Path) -> Option<String> {
        let others = self.databases();
        let file = self.disk.identity(path).ok();
        let has = |f: &FileEntry| {
            f.path == path
                || f.next.as_ref().is_some_and(|(next, _)| next == path)
                || file.as_ref().is_some_and(|file| self.is_file(&f.path, file))
        };
        let user = others.iter().find(|o| o.id() != id && o.entry().files.iter().any(has));
        user.map(|other| other.name().to_string())
    }

    fn make_folders(&self, entry: &DbEntry) -> Result<(), SqlError> {
        for file in &entry.files {
            if let Some(folder) = file.path.parent() {
                self.disk
                    .create_dir_all(folder)
                    .map_err(|e| SqlError::of(msg::DIRECTORY_LOOKUP_FAILED, [&file.shown, &e]))?;
            }
        }
        Ok(())
    }

    /// The registry has the data files that the database has after a step; what it has lost is
    /// removed.
    pub fn adopt_restored(&self, db: &Arc<Db>, files: &[FileSpec]) -> Result<(), SqlError> {
        let before = db.entry();
        let changed = adopt_files(db, files);
        let now = db.entry();
        let lost = before.files.into_iter().filter(|f| !now.files.iter().any(|n| n.path == f.path));
        self.pending.lock().extend(lost.map(|f| PendingFile { db: db.id(), path: f.path }));
        if !self.remove_left(db.id(), &now.files) && !changed {
            return Ok(());
        }
        self.save_registry()
    }

    /// A restore that made a new database has failed: nothing of it stays.
    pub fn forget_restoring(&self, db: &Arc<Db>) {
        self.remove_database(db.id());
        self.delete(&db.entry());
        if let Err(e) = self.save_registry() {
            self.error_log().write("Restore", &e.message);
        }
    }

    /// RECOVERY: rolls forward, undoes what is open, and brings the database up; `restricted`: in
    /// RESTRICTED_USER.
    pub fn end_restore(&self, db: &Arc<Db>, restricted: bool) -> Result<(), SqlError> {
        let entry = db.entry();
        match self.open_files(&entry) {
            Ok((open, catalog, settings)) => {
                let files: Vec<FileSpec> =
                    open.storage.store().files().into_iter().map(|f| f.spec).collect();
                self.adopt_restored(db, &files)?;
                db.change_entry(|entry| entry.restoring = false);
                self.save_registry()?;
                let user_access =
                    if restricted { UserAccess::Restricted as u8 } else { settings.user_access };
                let settings = DbSettings { user_access, ..settings };
                db.bring_up(open, catalog, settings.clone());
                self.forget_batches();
                if restricted { save_settings(db, &settings) } else { Ok(()) }
            }
            Err(e) => {
                db.log_failure(&e.text());
                Err(SqlError::of(msg::RESTORED_NOT_RECOVERED, [&db.name(), &e.text()]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_takes_defaults() {
        let described = DescribedDatabase::read(
            b"filegroup\tPRIMARY\nfilegroup\tFG 2\ncompat\t100\nx\ty\n\xff",
        );
        assert_eq!(described.filegroups, ["PRIMARY", "FG 2"]);
        assert_eq!((described.compatibility_level, described.created), (100, (0, 0)));
        assert_eq!(DescribedDatabase::read(&[]).filegroups, ["PRIMARY"]);
    }
}
