//! Databases that are attached and detached: files that leave an instance and come into another
//! one. Guarantees: nothing of a file is changed before all files of the database are found, locked
//! and of one database; files that nobody has named are taken only from beside the primary one, or
//! from their places if that one is at its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use compact_str::CompactString;
use disk::DiskError;
use pages::InstanceHome;
use txn::{Database, FileIdentity, TxnError};
use types::{SqlError, msg};

use super::InstanceCore;
use super::boot_text::save_settings;
use super::file_errors::in_use;
use super::file_errors::{cannot_open, disk_error, no_match, not_primary, of_other_version};
use super::open_error::OpenError;
use super::permit::PermitReach;
use catalog::db::{Db, DbStatus};
use catalog::registry::{DbEntry, FileEntry};
use catalog::settings::DbSettings;

/// What is to be attached.
#[derive(Debug)]
pub struct Attach<'a> {
    pub name: &'a str,
    /// As they were written: the primary file first, others whose place is not the one that they
    /// had; the log may be among them.
    pub files: Vec<CompactString>,
    /// The log, where it is named as such.
    pub log: Option<CompactString>,
    /// A log that is not there is rebuilt, whatever was said.
    pub rebuild: bool,
    /// Of who attaches it.
    pub reach: PermitReach,
}

/// The number of no database.
const NO_DATABASE: i32 = 0;
/// file_id of every log.
const LOG_FILE: u16 = 2;

/// Where the log is, or where a new one goes.
struct LogPlace {
    path: PathBuf,
    /// None is there: one is made.
    new: bool,
    /// As the statement has it, if it names it.
    written: Option<CompactString>,
}

impl LogPlace {
    fn there(path: PathBuf) -> LogPlace {
        LogPlace { path, new: false, written: None }
    }

    fn to_make(path: PathBuf) -> LogPlace {
        LogPlace { path, new: true, written: None }
    }

    fn written(self, shown: &CompactString) -> LogPlace {
        LogPlace { written: Some(shown.clone()), ..self }
    }
}

/// Why a database cannot be attached: the reason first, then 1813.
fn aborted(name: &str) -> SqlError {
    SqlError::of(msg::COULD_NOT_OPEN_NEW_DATABASE, [&name])
}

/// What goes before 1813 when a log is missing that would be needed.
fn log_lost(shown: &str) -> SqlError {
    SqlError::of(msg::LOG_NOT_REBUILT, [&shown])
}

impl InstanceCore {
    /// CREATE DATABASE FOR ATTACH. The caller holds `changing` and has checked the name.
    /// `Ok(Some)`: the log file that was made.
    ///
    /// Errors, the last one and the reason: 1813 with 946, 948, 5120, 5171, 5173, 5105, 1834.
    pub fn attach(&self, what: &Attach<'_>) -> Result<Option<String>, (SqlError, SqlError)> {
        let failed = |reason| (aborted(what.name), reason);
        let id = self.free_database_id();
        let (mut entry, log) = self.find_files(id, what).map_err(failed)?;
        let LogPlace { path, new, written } = log;
        let shown = self.shown(&path);
        entry.files.push(FileEntry {
            file_id: LOG_FILE,
            log: true,
            filegroup: 0,
            name: format!("{}_log", what.name).into(),
            path: path.clone(),
            shown: written.unwrap_or_else(|| shown.as_str().into()),
            next: None,
        });
        for file in &entry.files {
            if let Some(other) = self.user_of(id, &file.path) {
                return Err(failed(in_use(&file.shown, &other)));
            }
        }
        let db = self.open_attached(&mut entry, new).map_err(|e| {
            self.error_log()
                .write("Server", &format!("'{}' cannot be attached: {}", what.name, e.text()));
            failed(match &e {
                OpenError::Txn(TxnError::NotClosed) => log_lost(&shown),
                e => e.sql(&entry).unwrap_or_else(|| no_match(&e.text())),
            })
        })?;
        let mut entries = self.entries();
        entries.push(entry);
        if let Err(e) = self.write_registry(&entries) {
            // It goes back to where it was; the files name this instance, which attaching them
            // anywhere changes.
            let _ = self.close_database(&db);
            return Err(failed(e));
        }
        self.add_database(db);
        Ok(new.then_some(shown))
    }

    /// Opens the files, takes them over, and completes the entry with the names that are in the
    /// database.
    fn open_attached(&self, entry: &mut DbEntry, new_log: bool) -> Result<Arc<Db>, OpenError> {
        let mut env = self.env(entry);
        env.home.take = true;
        if new_log {
            let primary = entry
                .files
                .iter()
                .find(|f| f.file_id == 1)
                .map(|f| f.path.clone())
                .unwrap_or_default();
            let log =
                entry.files.iter().find(|f| f.log).map(|f| f.path.clone()).unwrap_or_default();
            let storage =
                Database::open_without_log(env.clone(), &primary, &log, self.log_options(entry))?;
            storage.close()?;
        }
        // The names are in the database: opening must not replace them by what the entry has yet.
        let (open, catalog, mut settings) = self.open_unnamed(entry, env)?;
        name_files(entry, &settings, &open.storage);
        settings.note_names(entry);
        Ok(Db::online(entry.clone(), open, catalog, settings))
    }

    /// All data files of the database, and where its log is.
    fn find_files(&self, id: i32, what: &Attach<'_>) -> Result<(DbEntry, LogPlace), SqlError> {
        let (primary, others) =
            what.files.split_first().ok_or_else(|| no_match("no file was named"))?;
        let primary_path = self.attached_path(what, primary)?;
        if let Err(e) = pages::check_format(&*self.disk, &primary_path)
            && let Some(e) = of_other_version(what.name, &e)
        {
            return Err(e);
        }
        let first = self.look_at(&primary_path, primary)?;
        let first = first.filter(|f| f.file_id == 1).ok_or_else(|| not_primary(primary))?;
        let mut named = vec![(1, primary_path.clone(), primary.clone())];
        let mut log = None;
        for shown in others {
            let path = self.attached_path(what, shown)?;
            let found = self.look_at(&path, shown)?.filter(|f| f.database == first.database);
            match found.map(|f| f.file_id) {
                // Scripts that tools write name the log among the files.
                Some(LOG_FILE) if what.log.is_none() && log.is_none() => {
                    log = Some(LogPlace::there(path).written(shown));
                }
                Some(file_id) if file_id > LOG_FILE => named.push((file_id, path, shown.clone())),
                _ => return Err(no_match(&format!("{shown} is no file of the database"))),
            }
        }
        let at_home = first.files.iter().any(|(id, place)| *id == 1 && *place == primary_path);
        let mut entry = DbEntry {
            id,
            name: what.name.into(),
            offline: false,
            restoring: false,
            log_alignment: 0,
            filegroups: vec!["PRIMARY".into()],
            files: Vec::new(),
        };
        for (file_id, recorded) in &first.files {
            let given = named.iter().find(|(named, ..)| named == file_id);
            let (path, shown) = match given {
                Some((_, path, shown)) => (path.clone(), shown.clone()),
                None => {
                    let path =
                        self.unnamed_place(&primary_path, recorded, at_home, &first, *file_id);
                    let shown: CompactString = self.shown(&path).into();
                    // A file that is attached may say anything: its list leads nowhere where a
                    // statement could not.
                    let permitted = self.permit_database_place(what.reach, path);
                    let path = permitted.map_err(|e| e.or(|cause| cannot_open(&shown, cause)))?;
                    (path, shown)
                }
            };
            let name = CompactString::default();
            let file_id = *file_id;
            entry.files.push(FileEntry {
                file_id,
                log: false,
                filegroup: 1,
                name,
                path,
                shown,
                next: None,
            });
        }
        let log = log.map_or_else(|| self.find_log(what, &primary_path, &first), Ok)?;
        Ok((entry, log))
    }

    /// The path of a file that the statement names. Errors: 5105, 5120; 1834 a database of the
    /// instance has it.
    fn attached_path(&self, what: &Attach<'_>, shown: &str) -> Result<PathBuf, SqlError> {
        let permitted = self.permit_database_file(what.reach, shown);
        let path = permitted.map_err(|e| e.or(|cause| cannot_open(shown, cause)))?;
        // No database has this number: one that has the file is another one.
        match self.user_of(NO_DATABASE, &path) {
            Some(other) => Err(in_use(shown, &other)),
            None => Ok(path),
        }
    }

    /// Where a file is that the statement does not name: beside the primary one; at its recorded
    /// place if the primary one is at its.
    fn unnamed_place(
        &self,
        primary: &Path,
        recorded: &Path,
        at_home: bool,
        first: &FileIdentity,
        file_id: u16,
    ) -> PathBuf {
        let beside = recorded
            .file_name()
            .map_or_else(|| recorded.to_path_buf(), |n| primary.with_file_name(n));
        if !at_home {
            return beside;
        }
        let it = |path: &Path| {
            let found = txn::identify(&*self.disk, path, &self.looking()).ok().flatten();
            found.is_some_and(|f| f.database == first.database && f.file_id == file_id)
        };
        if !it(recorded) && it(&beside) { beside } else { recorded.to_path_buf() }
    }

    /// The log: where it was said to be, or the one log of the database beside the primary file.
    fn find_log(
        &self,
        what: &Attach<'_>,
        primary: &Path,
        first: &FileIdentity,
    ) -> Result<LogPlace, SqlError> {
        let there =
            |path: &Path| self.disk.exists(path).map_err(|e| cannot_open(&self.shown(path), &e));
        if let Some(shown) = &what.log {
            let path = self.attached_path(what, shown)?;
            if there(&path)? {
                return Ok(LogPlace::there(path).written(shown));
            }
            if !what.rebuild {
                return Err(cannot_open(shown, &DiskError::NotFound { path }));
            }
            return Ok(LogPlace::to_make(path).written(shown));
        }
        let folder = primary.parent().unwrap_or(Path::new(""));
        let beside = self.disk.list(folder).map_err(|e| cannot_open(&self.shown(folder), &e))?;
        let mut logs = Vec::new();
        for path in beside
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ldf")))
        {
            match txn::identify(&*self.disk, &path, &self.looking()) {
                Ok(Some(f)) if f.file_id == LOG_FILE && f.database == first.database => {
                    logs.push(path)
                }
                _ => {}
            }
        }
        let stem =
            primary.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let usual = primary.with_file_name(format!("{stem}_log.ldf"));
        match logs.as_slice() {
            [one] => Ok(LogPlace::there(one.clone())),
            [] if first.closed && !there(&usual)? => Ok(LogPlace::to_make(usual)),
            [] => Err(log_lost(&self.shown(&usual))),
            several if several.contains(&usual) => Ok(LogPlace::there(usual)),
            _ => Err(no_match(
                "several logs of the database are beside the primary file: name one with LOG ON",
            )),
        }
    }

    /// What a file says that it is. Errors: 5120 it cannot be opened.
    fn look_at(&self, path: &Path, shown: &str) -> Result<Option<FileIdentity>, SqlError> {
        txn::identify(&*self.disk, path, &self.looking()).map_err(|e| match disk_error(&e) {
            Some(e) => cannot_open(shown, e),
            None => no_match(&e.to_string()),
        })
    }

    /// For looking at files: recorded places are below this folder, which is right for its own
    /// files alone.
    fn looking(&self) -> InstanceHome {
        InstanceHome { folder: self.paths.root().to_path_buf(), ..InstanceHome::default() }
    }

    /// How a path is shown that no statement has written: below the folder relative to it.
    fn shown(&self, path: &Path) -> String {
        self.paths.shown(path)
    }

    /// sp_detach_db. The caller holds `changing`, and has seen to it that nobody uses the database.
    pub fn detach(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let id = db.id();
        if db.storage_if_open().is_some_and(|storage| storage.status() == txn::Status::Online) {
            // Its files must not be taken for a database of this instance when the list of
            // databases is lost.
            let mut settings = db.settings();
            settings.note_names(&db.entry());
            settings.database_id = 0;
            if !settings.read_only && !self.is_read_only() {
                save_settings(db, &settings)?;
            }
            self.close_storage(db)?;
        }
        let entries: Vec<DbEntry> = self.entries().into_iter().filter(|e| e.id != id).collect();
        if let Err(e) = self.write_registry(&entries) {
            // It stays this instance's: what was closed comes up again if it can.
            let _ = self.reopen(db);
            return Err(e);
        }
        self.remove_database(id);
        db.take_down(DbStatus::Offline, "it was detached");
        self.forget_batches();
        Ok(())
    }
}

/// Names from the files and from the database's own list.
fn name_files(entry: &mut DbEntry, settings: &DbSettings, storage: &Database) {
    for info in storage.store().files() {
        if let Some(file) = entry.files.iter_mut().find(|f| !f.log && f.file_id == info.spec.id) {
            (file.name, file.filegroup) = (info.spec.name.as_str().into(), info.spec.filegroup);
        }
    }
    if !settings.log_name.is_empty() {
        entry.files.iter_mut().filter(|f| f.log).for_each(|f| f.name = settings.log_name.clone());
    }
    entry.filegroups.clone_from(&settings.filegroups);
    let most = entry.files.iter().map(|f| usize::from(f.filegroup)).max().unwrap_or(1);
    let most = most.max(usize::from(settings.default_filegroup));
    // Databases of before do not know the names.
    for number in entry.filegroups.len() + 1..=most.max(1) {
        entry.filegroups.push(if number == 1 {
            "PRIMARY".into()
        } else {
            format!("FILEGROUP_{number}").into()
        });
    }
    entry.files.sort_by_key(|f| f.file_id);
}
