//! Files of databases that come and go, and what a crash in between leaves. Guarantees: a file is
//! announced in the registry before it is made and before its database gives it up; at the next
//! start an announced file that no database has is removed, so that the statement can be given
//! again.

use std::sync::Arc;

use disk::DiskError;
use pages::FileSpec;
use types::{SqlError, msg};

use super::InstanceCore;
use super::file_errors::{cannot_create, cannot_create_file, in_use, registry_failed};
use super::files::data_growth;
use super::permit::PermitReach;
use crate::file_specs::NewFile;
use catalog::TEMPDB;
use catalog::db::{Db, DbStatus};
use catalog::errors::db_error;
use catalog::registry::{self, DbEntry, FileEntry, PendingFile};
use session::run_files::remove_left_over;

impl InstanceCore {
    pub(super) fn write_registry(&self, entries: &[DbEntry]) -> Result<(), SqlError> {
        if self.is_read_only() {
            // Only tempdb comes and goes, which is rebuilt at each start.
            return Ok(());
        }
        let pending = self.pending.lock().clone();
        let written = registry::write(&*self.disk, self.paths.root(), entries, &pending);
        if let Some(e) = written.map_err(|e| registry_failed(&e))? {
            let text =
                format!("The second copy of the list of databases could not be written: {e}.");
            self.error_log().write("Server", &text);
        }
        Ok(())
    }

    /// Announces files that are about to be made. Errors: 5170 when one is there already; 1834 when
    /// it is a place of another database, whether or not the file is there.
    pub(super) fn announce(&self, db: i32, files: &[FileEntry]) -> Result<(), SqlError> {
        for file in files {
            let there =
                self.disk.exists(&file.path).map_err(|e| cannot_create_file(&file.shown, &e))?;
            if there {
                let exists = DiskError::Exists { path: file.path.clone() };
                return Err(cannot_create_file(&file.shown, &exists));
            }
            if let Some(other) = self.user_of(db, &file.path) {
                return Err(in_use(&file.shown, &other));
            }
        }
        self.announce_all(db, files)
    }

    fn announce_all(&self, db: i32, files: &[FileEntry]) -> Result<(), SqlError> {
        let new = files.iter().map(|f| PendingFile { db, path: f.path.clone() });
        self.pending.lock().extend(new);
        self.write_registry(&self.entries()).inspect_err(|_| self.forget_pending(db, files))
    }

    /// Takes back that these were announced for a database, and nothing else: what earlier
    /// statements have left still goes.
    pub(super) fn forget_pending(&self, db: i32, files: &[FileEntry]) {
        self.pending.lock().retain(|p| p.db != db || !files.iter().any(|f| f.path == p.path));
    }

    /// What was announced for a database is done or undone. A registry that cannot be written says
    /// it once more, and the next start finds that there is nothing to do.
    pub(super) fn settled(&self, db: i32, files: &[FileEntry]) {
        self.forget_pending(db, files);
        if let Err(e) = self.write_registry(&self.entries()) {
            self.error_log().write("Server", &e.message);
        }
    }

    /// tempdb begins empty: its files and the run files of sorts go before it is rebuilt. Returns
    /// where it goes; `None`: to the usual place, because it had none or because what is there is
    /// not this instance's.
    pub(super) fn forget_tempdb(
        &self,
        entry: Option<DbEntry>,
        others: &[DbEntry],
    ) -> Option<DbEntry> {
        let Some(entry) = entry.filter(|_| !self.is_read_only()) else {
            self.remove_stray_tempdb(others);
            return None;
        };
        let foreign = entry
            .files
            .iter()
            .find(|f| self.disk.exists(&f.path).unwrap_or(false) && !self.may_remove(&f.path));
        if let Some(file) = foreign {
            let text = format!(
                "tempdb goes into the folder: '{}' is another instance's.",
                file.path.display()
            );
            self.error_log().write("Server", &text);
            self.pending.lock().retain(|p| p.db != TEMPDB);
            self.remove_stray_tempdb(others);
            return None;
        }
        self.delete(&entry);
        let primary = entry.files.iter().find(|f| f.file_id == 1);
        if let Some(Err(e)) = primary.map(|f| remove_left_over(&*self.disk, &f.path)) {
            self.error_log().write("Server", &format!("A sort's run file stays: {e}"));
        }
        self.remove_left(TEMPDB, &[]);
        self.remove_stray_tempdb(others);
        let mut entry = entry;
        entry.take_next_places();
        Some(entry)
    }

    /// Removes what lies at tempdb's usual places and belongs to no other database.
    fn remove_stray_tempdb(&self, others: &[DbEntry]) {
        if self.is_read_only() {
            return;
        }
        for name in ["tempdb.mdf", "tempdb_log.ldf"] {
            let path = self.paths.root().join(name);
            let used = others.iter().any(|e| e.files.iter().any(|f| f.path == path));
            if !used && self.disk.exists(&path).unwrap_or(false) {
                self.remove_orphan(PendingFile { db: TEMPDB, path });
            }
        }
    }

    /// Removes what was announced for a database and is neither one of these files nor at a place
    /// that another database has taken meanwhile. Whether anything was announced.
    pub(super) fn remove_left(&self, db: i32, keep: &[FileEntry]) -> bool {
        let left: Vec<PendingFile> = self.pending.lock().extract_if(.., |p| p.db == db).collect();
        let any = !left.is_empty();
        for file in left {
            let kept = keep.iter().any(|f| f.path == file.path);
            let announced = self.pending.lock().iter().any(|p| p.path == file.path);
            if !kept && !announced && self.user_of(db, &file.path).is_none() {
                self.remove_orphan(file);
            }
        }
        any
    }

    /// Removes a file that nobody has. One that cannot be removed is tried again when its database
    /// goes, and at the next start.
    pub(super) fn remove_orphan(&self, file: PendingFile) {
        if !self.may_remove(&file.path) {
            let text = format!("'{}' stays: it is another instance's.", file.path.display());
            return self.error_log().write("Server", &text);
        }
        match self.disk.remove(&file.path) {
            Ok(()) => self.error_log().write(
                "Server",
                &format!(
                    "Removed '{}', which an interrupted statement has left.",
                    file.path.display()
                ),
            ),
            Err(DiskError::NotFound { .. }) => {}
            Err(e) => {
                self.error_log().write("Server", &format!("An unfinished file stays: {e}"));
                self.pending.lock().push(file);
            }
        }
    }

    /// At the start: the registry's files become those that the databases have; announced files
    /// that nobody has go. `changed`: the list is to be written in any case.
    pub(super) fn settle_files(&self, mut changed: bool) {
        for db in self.databases() {
            if let Some(storage) = db.storage_if_open() {
                let files: Vec<FileSpec> =
                    storage.store().files().into_iter().map(|f| f.spec).collect();
                changed |= adopt_files(&db, &files);
            }
        }
        let pending = std::mem::take(&mut *self.pending.lock());
        let entries = self.entries();
        for file in pending {
            changed = true;
            let owner = self.db_by_id(file.db);
            let listed = entries.iter().any(|e| e.files.iter().any(|f| f.path == file.path));
            if listed {
                continue;
            }
            match owner.filter(|db| db.status() != DbStatus::Online) {
                // Whether it has the file is not known before it can be opened.
                Some(_) => self.pending.lock().push(file),
                None => self.remove_orphan(file),
            }
        }
        if changed && let Err(e) = self.write_registry(&self.entries()) {
            self.error_log().write("Server", &e.message);
        }
    }

    /// ALTER DATABASE ADD FILE. The caller holds `changing` and has checked the logical name.
    ///
    /// Errors: 3023 a backup is running; 5170, 5123 the file; what the log says.
    pub fn add_data_file(
        &self,
        reach: PermitReach,
        db: &Arc<Db>,
        file: &NewFile,
    ) -> Result<(), SqlError> {
        let storage = db.storage()?;
        let _held = storage.hold_files().map_err(|e| db_error(db, &e))?;
        let file_id = storage.store().next_file_id();
        let shown = file.filename.clone().unwrap_or_else(|| format!("{}.ndf", file.name).into());
        let path = self.permit_database_file(reach, &shown);
        let path = path.map_err(|e| e.or(|cause| cannot_create_file(&shown, cause)))?;
        let placed = FileEntry {
            file_id,
            log: false,
            filegroup: file.filegroup,
            name: file.name.clone(),
            path: path.clone(),
            shown: shown.clone(),
            next: None,
        };
        if let Some(folder) = path.parent() {
            self.disk.create_dir_all(folder).map_err(|e| cannot_create_file(&shown, &e))?;
        }
        self.announce(db.id(), std::slice::from_ref(&placed))?;
        let spec = FileSpec {
            id: file_id,
            name: file.name.to_string(),
            path,
            filegroup: file.filegroup,
            size: file.size,
            growth: data_growth(file.growth),
            max_size: file.max_size,
        };
        if let Err(e) = storage.add_file(&spec) {
            // The announcement stays if the database may have it: the next start decides.
            let mut with = db.entry();
            with.files.push(placed);
            if !self.disk.exists(&spec.path).unwrap_or(true) {
                self.settled(db.id(), &with.files[with.files.len() - 1..]);
            }
            return Err(cannot_create(&with, &e));
        }
        db.change_entry(|entry| entry.files.push(placed.clone()));
        self.settled(db.id(), &[placed]);
        Ok(())
    }

    /// ALTER DATABASE REMOVE FILE. The caller holds `changing`.
    ///
    /// Errors: 3023 a backup is running; 5042 the file is not empty; what the log says.
    pub fn remove_data_file(&self, db: &Arc<Db>, file: &FileEntry) -> Result<(), SqlError> {
        let storage = db.storage()?;
        let _held = storage.hold_files().map_err(|e| db_error(db, &e))?;
        self.announce_all(db.id(), std::slice::from_ref(file))?;
        match storage.remove_file(file.file_id) {
            Ok(true) => {}
            Ok(false) => {
                self.settled(db.id(), std::slice::from_ref(file));
                return Err(SqlError::of(msg::NOT_EMPTY, [&"file", &file.name]));
            }
            Err(e) => return Err(db_error(db, &e)),
        }
        db.change_entry(|entry| entry.files.retain(|f| f.file_id != file.file_id));
        self.forget_pending(db.id(), std::slice::from_ref(file));
        // One that stays is in the registry's list again, for the next start.
        self.remove_orphan(PendingFile { db: db.id(), path: file.path.clone() });
        self.settled(db.id(), &[]);
        Ok(())
    }
}

/// Makes a database's registered data files those that its storage has; whether anything changed.
pub(super) fn adopt_files(db: &Arc<Db>, files: &[FileSpec]) -> bool {
    let before = db.entry();
    db.change_entry(|entry| {
        entry.files.retain(|f| f.log || files.iter().any(|spec| spec.id == f.file_id));
        for spec in files {
            // It was renamed in a log that was restored, or its number was given again and another
            // file has its place.
            if let Some(file) = entry.files.iter_mut().find(|f| !f.log && f.file_id == spec.id) {
                (file.name, file.filegroup) = (spec.name.as_str().into(), spec.filegroup);
            }
            if !entry.files.iter().any(|f| f.file_id == spec.id) {
                entry.files.push(FileEntry {
                    file_id: spec.id,
                    log: false,
                    filegroup: spec.filegroup,
                    name: spec.name.as_str().into(),
                    path: spec.path.clone(),
                    shown: spec.path.display().to_string().into(),
                    next: None,
                });
            }
        }
        entry.files.sort_by_key(|f| f.file_id);
    });
    db.entry() != before
}
