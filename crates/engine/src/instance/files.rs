//! Databases come and go: creating, opening, closing and dropping them with their files.
//! Guarantees: the registry names a database only when all its files are there; a database that could not be created
//! leaves no files; what waited to be freed when a database went down is freed when it comes up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use compact_str::CompactString;
use disk::DiskError;
use pages::{FileGrowth, FileSpec, UnitId};
use txn::{CreateSpec, Database, DbState, DelayedDurability, Env, LossWindow, RecoveryModel, TxnError};
use types::SqlError;
use wal::{Alignment, LogOptions};

use super::Instance;
use super::boot_text::{
    DISCARDED, META, added_tree, apply_log_settings, log_growth, make_tree, open_trees, replace_settings,
    save_settings, settings_text,
};
use super::file_errors::{cannot_create, cannot_create_file, disk_error};
use super::open_error::OpenError;
use super::waits::FileReports;
use crate::instance::file_specs::{NewFile, NewFiles};
use catalog::Growth;
use catalog::clock;
use catalog::counters::Counters;
use catalog::db::{Db, DbStatus, Open};
use catalog::other::OtherObject;
use catalog::registry::{ALIGN_TO_DEVICE, DbEntry, FileEntry};
use catalog::settings::DbSettings;
use catalog::systables::DISCARDED_UNIT;
use catalog::{Catalog, pending};

/// Trace flag: log writes are aligned to 4096 bytes whatever the device.
const TRACE_ALIGN_4K: i32 = 1800;
/// How long a close waits for transactions of background tasks.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// Sizes of a system database.
const SYSTEM_DATA: u64 = 4 << 20;
const SYSTEM_LOG: u64 = 1 << 20;
const SYSTEM_GROWTH: u64 = 8 << 20;

pub(super) type Opened = (Open, Catalog, DbSettings);

impl Instance {
    pub(super) fn env(&self, entry: &DbEntry) -> Env {
        let id = entry.id;
        Env {
            disk: self.disk.clone(),
            pool: self.pool.clone(),
            locks: self.locks.clone(),
            db: u16::try_from(id).unwrap_or(u16::MAX),
            pace: self.pace.clone(),
            home: self.home(entry),
            scratch: id == catalog::TEMPDB,
        }
    }

    pub(super) fn log_options(&self, entry: &DbEntry) -> LogOptions {
        let alignment = match entry.log_alignment {
            size @ (512 | 4096) => Alignment::Force(size.into()),
            // The flag is for what follows the device, as in SQL Server; an explicit size stays.
            _ if self.has_trace_flag(TRACE_ALIGN_4K) => Alignment::Force(4096),
            ALIGN_TO_DEVICE => Alignment::Device,
            _ => Alignment::Auto,
        };
        let errors = self.error_log().clone();
        let reports = FileReports::new(self.log_waits.clone(), errors, entry.clone());
        LogOptions { alignment, waits: Some(Arc::new(reports)), ..LogOptions::default() }
    }

    /// Opens a database of the registry; one that cannot be opened comes back as such.
    pub(super) fn open_entry(&self, mut entry: DbEntry) -> Arc<Db> {
        entry.take_next_places();
        let errors = self.error_log().clone();
        if entry.restoring {
            return Db::down(entry, DbStatus::Restoring, "it is being restored".into(), errors);
        }
        if entry.offline {
            return Db::down(entry, DbStatus::Offline, "it was taken offline".into(), errors);
        }
        match self.open_files(&entry) {
            Ok((open, catalog, settings)) => Db::online(entry, open, catalog, settings),
            Err(e) => {
                let cause = e.explain(&entry);
                let text = format!("Database '{}' cannot be opened: {cause}", entry.name);
                self.error_log().write("Server", &text);
                self.error_log().save();
                Db::down(entry, e.status(), cause, errors)
            }
        }
    }

    pub(super) fn open_files(&self, entry: &DbEntry) -> Result<Opened, OpenError> {
        let (open, catalog, settings) = self.open_unnamed(entry, self.env(entry))?;
        let settings = self.note_names(entry, &open.storage, settings)?;
        Ok((open, catalog, settings))
    }

    /// Opens the files in an environment that may have been changed for them, and leaves the names that the database knows.
    pub(super) fn open_unnamed(&self, entry: &DbEntry, mut env: Env) -> Result<Opened, OpenError> {
        // What is only read needs nobody to write behind.
        env.pace.background &= !self.is_read_only();
        let path = |log: bool| entry.files.iter().find(|f| f.log == log).map(|f| f.path.clone());
        let (Some(primary), Some(log)) = (path(false), path(true)) else {
            return Err(OpenError::Other("the registry names no files for it".into()));
        };
        let options = self.log_options(entry);
        let name = entry.name.clone();
        let storage = Database::open(env, &primary, &log, options, &mut |_, _| {})?;
        let report = storage.recovery_report();
        if !report.clean && self.is_read_only() {
            storage.abandon();
            return Err(OpenError::NeedsRecovery);
        }
        if !report.clean {
            let ms = |us: u64| us / 1000;
            self.error_log().write(
                "Server",
                &format!(
                    "Recovery completed for database {name} (database ID {}) in {} second(s) (analysis {} ms, redo {} ms, undo {} ms): \
                     {} transactions rolled forward, {} rolled back.",
                    entry.id,
                    report.total_us / 1_000_000,
                    ms(report.analysis_us),
                    ms(report.redo_us),
                    ms(report.undo_us),
                    report.rolled_forward,
                    report.rolled_back
                ),
            );
        }
        self.assemble(storage)
    }

    /// The database knows the names that are nowhere else but in the registry, for a session that attaches it.
    fn note_names(
        &self,
        entry: &DbEntry,
        storage: &Arc<Database>,
        mut settings: DbSettings,
    ) -> Result<DbSettings, OpenError> {
        let noted = settings.clone();
        settings.note_names(entry);
        if settings != noted && !self.is_read_only() {
            let text = settings_text(&settings);
            storage.note_settings(|state| replace_settings(state, text))?;
        }
        Ok(settings)
    }

    /// Catalog and settings of an opened storage; frees what was waiting for it.
    fn assemble(&self, storage: Arc<Database>) -> Result<Opened, OpenError> {
        let mut meta = String::from_utf8(storage.settings().meta.clone())
            .map_err(|_| OpenError::Other("its boot page cannot be read".into()))?;
        let mut settings = DbSettings::read(&meta);
        let tempdb = storage.id() == catalog::TEMPDB as u16;
        settings.read_only |= self.is_read_only() && !tempdb;
        let trees = open_trees(&storage, &mut meta)?;
        let discarded = added_tree(&storage, UnitId(DISCARDED_UNIT), DISCARDED, &mut meta)?;
        storage.set_discarded_values(discarded.0);
        apply_log_settings(&storage, &settings);
        let catalog = catalog::load::load(&trees)?;
        let counters = Counters::load(&trees)?;
        for unit in pending::listed(&trees)? {
            if self.is_read_only() {
                break;
            }
            pending::free(&storage, &trees, &unit)?;
        }
        let open = Open { storage, trees, counters, errors: self.error_log().clone() };
        Ok((open, catalog, settings))
    }

    /// Brings a database that is down back up: ALTER DATABASE SET ONLINE.
    pub(crate) fn reopen(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        db.change_entry(DbEntry::take_next_places);
        let entry = db.entry();
        if let Some(old) = db.take_down(DbStatus::RecoveryPending, "it is being opened") {
            // Sessions and plans may hold the failed storage for longer: its dirty pages and its log must not reach
            // the files any more.
            self.forget_batches();
            old.storage.abandon();
        }
        match self.open_files(&entry) {
            Ok((open, catalog, settings)) => {
                db.bring_up(open, catalog, settings);
                Ok(())
            }
            Err(e) => {
                let status = e.status();
                let cause = e.explain(&entry);
                db.take_down(status, &cause);
                db.log_failure(&cause);
                Err(e.sql(&entry).unwrap_or_else(|| catalog::errors::not_usable(&db.name(), status)))
            }
        }
    }

    /// Closes a database's storage cleanly. Identity counters go back to the last value that was used.
    pub(crate) fn close_database(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let Some(storage) = db.storage_if_open() else { return Ok(()) };
        if storage.status() != txn::Status::Online {
            return Ok(());
        }
        let (entry, mut settings) = (db.entry(), db.settings());
        settings.note_names(&entry);
        if settings != db.settings() && !self.is_read_only() && !settings.read_only {
            save_settings(db, &settings)?;
        }
        let end = Instant::now() + CLOSE_WAIT;
        // The cleanup thread frees a dropped table in transactions of its own: they end soon.
        while !storage.txns().active().is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        let quiet = storage.txns().active().is_empty();
        for table in db.catalog().by_id.values().filter(|_| !self.is_read_only()) {
            catalog::identity::settle(db, table, quiet)?;
        }
        for other in db.catalog().others.values().filter(|_| !self.is_read_only()) {
            if let OtherObject::Sequence(sequence) = other {
                catalog::sequence::settle(db, sequence)?;
            }
        }
        // What changes while transactions go on is not worth noting; where there is no room in the log, estimates are worse after the
        // next start, and that is all.
        if quiet && !self.is_read_only() && !settings.read_only && db.id() != catalog::TEMPDB {
            let _ = catalog::closing::note_rows(db);
            let _ = catalog::closing::note_statistics(db);
        }
        loop {
            match storage.close() {
                Err(TxnError::Busy { .. }) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // Transactions that go on are rolled back by the next start; what has been committed is durable now.
                Err(busy @ TxnError::Busy { .. }) => {
                    return Err(catalog::errors::db_error(db, &storage.flush_log().err().unwrap_or(busy)));
                }
                closed => return closed.map_err(|e| catalog::errors::db_error(db, &e)),
            }
        }
    }

    /// Makes a new database. The caller holds `changing` and has checked the name.
    pub(crate) fn create_database(
        &self,
        id: i32,
        name: &str,
        files: &NewFiles,
        settings: &DbSettings,
        recovery_model: RecoveryModel,
        log_alignment: u16,
    ) -> Result<Arc<Db>, SqlError> {
        let entry = self.new_entry(id, name, files, log_alignment)?;
        for file in &entry.files {
            if let Some(folder) = file.path.parent() {
                self.disk.create_dir_all(folder).map_err(|e| cannot_create_file(&file.shown, &e))?;
            }
        }
        // From here on a crash leaves files that the next start removes.
        self.announce(id, &entry.files)?;
        let made = self.create_announced(&entry, files, settings, recovery_model);
        if made.is_err() {
            self.settled(id, &entry.files);
        }
        made
    }

    fn create_announced(
        &self,
        entry: &DbEntry,
        files: &NewFiles,
        settings: &DbSettings,
        recovery_model: RecoveryModel,
    ) -> Result<Arc<Db>, SqlError> {
        let spec = self.create_spec(entry, files, settings, recovery_model);
        let storage = Database::create(self.env(entry), spec).map_err(|e| cannot_create(entry, &e))?;
        let made = self.fill(&storage, settings).and_then(|()| self.assemble(storage.clone()));
        let (open, catalog, settings) = made.map_err(|e| {
            self.remove_files(&storage, entry);
            SqlError::new(1802, 16, 4, format!("CREATE DATABASE failed: {}.", e.text()))
        })?;
        let settings = self.note_names(entry, &storage, settings).map_err(|e| {
            self.remove_files(&storage, entry);
            SqlError::new(1802, 16, 4, format!("CREATE DATABASE failed: {}.", e.text()))
        })?;
        let db = Db::online(entry.clone(), open, catalog, settings);
        let mut entries = self.entries();
        entries.push(entry.clone());
        self.forget_pending(entry.id, &entry.files);
        if let Err(e) = self.write_registry(&entries) {
            self.remove_files(&storage, entry);
            return Err(e);
        }
        self.add_database(db.clone());
        Ok(db)
    }

    fn new_entry(
        &self,
        id: i32,
        name: &str,
        files: &NewFiles,
        log_alignment: u16,
    ) -> Result<DbEntry, SqlError> {
        let mut entry = DbEntry {
            id,
            name: name.into(),
            offline: false,
            restoring: false,
            log_alignment,
            filegroups: files.filegroups.clone(),
            files: Vec::new(),
        };
        // File 1 is the primary data file and file 2 the log, as everywhere in SQL Server.
        let mut next_data = 1;
        for file in &files.files {
            let file_id = match (file.log, next_data) {
                (true, _) => 2,
                (false, 1) => 1,
                (false, n) => n,
            };
            if !file.log {
                next_data = if next_data == 1 { 3 } else { next_data + 1 };
            }
            let shown = file.filename.clone().unwrap_or_else(|| default_file_name(file, file_id));
            let path = self.paths.resolve(&shown)?;
            if entry.files.iter().any(|f| f.path == path) {
                let text =
                    format!("File '{shown}' cannot be reused until after the next BACKUP LOG operation.");
                return Err(SqlError::new(1833, 16, 2, text));
            }
            let (log, filegroup, name) = (file.log, file.filegroup, file.name.clone());
            entry.files.push(FileEntry { file_id, log, filegroup, name, path, shown, next: None });
        }
        entry.files.sort_by_key(|f| f.file_id);
        Ok(entry)
    }

    fn create_spec(
        &self,
        entry: &DbEntry,
        files: &NewFiles,
        settings: &DbSettings,
        recovery_model: RecoveryModel,
    ) -> CreateSpec {
        let mut specs = Vec::new();
        let mut log = self.log_options(entry);
        let mut log_path = PathBuf::new();
        for placed in &entry.files {
            let Some(file) = files.files.iter().find(|f| f.name == placed.name) else { continue };
            if file.log {
                log_path = placed.path.clone();
                log.initial_size = file.size;
            } else {
                specs.push(FileSpec {
                    id: placed.file_id,
                    name: file.name.to_string(),
                    path: placed.path.clone(),
                    filegroup: file.filegroup,
                    size: file.size,
                    growth: data_growth(file.growth),
                    max_size: file.max_size,
                });
            }
        }
        log.vlf_rule = settings.vlf_rule();
        log.growth = log_growth(settings.log_growth);
        log.max_size = settings.log_max_size;
        CreateSpec {
            guid: new_guid(),
            files: specs,
            log_path,
            log,
            settings: DbState {
                recovery_model,
                delayed: DelayedDurability::Disabled,
                window: LossWindow::default(),
                log_chain: false,
                meta: Vec::new(),
            },
        }
    }

    /// Makes the system tables of a new database.
    fn fill(&self, storage: &Arc<Database>, settings: &DbSettings) -> Result<(), OpenError> {
        // They begin in the primary file, the one that is never emptied, if it has room: their roots do not move.
        let store = storage.store();
        let (_, free) = store.file_extents(1).map_err(TxnError::from)?;
        let files = store.files().into_iter().map(|f| f.spec.id).filter(|id| *id != 1);
        let others: Vec<u16> = files.filter(|_| free > 2 * catalog::systables::ALL.len() as u64).collect();
        others.iter().try_for_each(|id| storage.bar_file(*id, 0))?;
        let made = self.fill_trees(storage, settings);
        others.iter().for_each(|id| store.unbar(*id));
        made
    }

    fn fill_trees(&self, storage: &Arc<Database>, settings: &DbSettings) -> Result<(), OpenError> {
        let mut meta = format!("{META}\n");
        settings.write(&mut meta);
        for (i, _) in catalog::systables::ALL.iter().enumerate() {
            make_tree(storage, UnitId(i as u32 + 1), &format!("tree{i}="), &mut meta)?;
        }
        make_tree(storage, UnitId(DISCARDED_UNIT), DISCARDED, &mut meta)?;
        storage.change_settings(|state| state.meta = meta.into_bytes())?;
        Ok(())
    }

    /// Drops a database that nobody uses: out of the registry first, then its files. The caller holds `changing`.
    pub(crate) fn drop_database(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let entry = db.entry();
        let entries: Vec<DbEntry> = self.entries().into_iter().filter(|e| e.id != entry.id).collect();
        self.write_registry(&entries)?;
        self.remove_database(entry.id);
        // As everywhere: the files of a database that is offline stay.
        let keep = db.status() == DbStatus::Offline;
        let open = db.take_down(DbStatus::Offline, "it was dropped");
        self.forget_batches();
        if let Some(open) = open {
            self.remove_files(&open.storage, &entry);
        } else if !keep {
            self.delete(&entry);
        }
        if self.remove_left(entry.id, &[])
            && let Err(e) = self.save_registry()
        {
            self.error_log().write("Server", &e.message);
        }
        Ok(())
    }

    fn remove_files(&self, storage: &Arc<Database>, entry: &DbEntry) {
        // Whether the last checkpoint works does not matter: the files go.
        if storage.close().is_err() {
            storage.abandon();
        }
        self.delete(entry);
    }

    pub(super) fn delete(&self, entry: &DbEntry) {
        for file in &entry.files {
            if !self.may_remove(&file.path) {
                let text = format!("'{}' stays: it is another instance's.", file.path.display());
                self.error_log().write("Server", &text);
            } else if let Err(e) = self.disk.remove(&file.path)
                && !matches!(e, DiskError::NotFound { .. })
            {
                self.error_log().write("Server", &format!("A dropped database's file stays: {e}"));
            }
        }
    }

    /// Whether a file that was this instance's may go: it lies in the folder, or names this instance, or nobody whose it
    /// could be. A file that somebody has open is kept by [`disk::Disk::remove`].
    pub(super) fn may_remove(&self, path: &Path) -> bool {
        match self.disk.is_within(path, self.paths.root()) {
            Ok(true) | Err(DiskError::NotFound { .. }) => return true,
            Ok(false) => {}
            Err(_) => return false,
        }
        let home = pages::Home { instance: self.id(), ..pages::Home::default() };
        match txn::identify(&*self.disk, path, &home) {
            Ok(found) => {
                let owner = found.map(|f| f.owner).unwrap_or_default();
                owner == self.id() || (owner == pages::InstanceId::default() && !self.identity.copy)
            }
            Err(e) => matches!(disk_error(&e), Some(DiskError::NotFound { .. })),
        }
    }

    /// The registry's entries as they are now.
    pub(crate) fn entries(&self) -> Vec<DbEntry> {
        self.databases().iter().map(|db| db.entry()).collect()
    }

    /// Writes the registry after a change of an entry.
    pub(crate) fn save_registry(&self) -> Result<(), SqlError> {
        self.write_registry(&self.entries())
    }

    /// Makes a system database; `before`: with the files that it had.
    pub(super) fn make_system_database(
        &self,
        name: &str,
        id: i32,
        before: Option<&DbEntry>,
    ) -> Result<(), SqlError> {
        let (data, log) = if id == catalog::MASTER {
            (CompactString::from("master"), CompactString::from("mastlog"))
        } else {
            (CompactString::from(name), CompactString::from(format!("{name}_log")))
        };
        let scratch = self.read_only.as_ref();
        let file = |name: CompactString, log: bool| NewFile {
            filename: scratch.map(|folder| {
                let ending = if log { "ldf" } else { "mdf" };
                folder.join(format!("{name}.{ending}")).to_string_lossy().as_ref().into()
            }),
            name,
            filegroup: u16::from(!log),
            size: if log { SYSTEM_LOG } else { SYSTEM_DATA },
            max_size: None,
            growth: Growth::Bytes(SYSTEM_GROWTH),
            log,
        };
        let files = match before {
            Some(entry) => NewFiles {
                filegroups: entry.filegroups.clone(),
                default_filegroup: 1,
                files: entry
                    .files
                    .iter()
                    .map(|f| NewFile {
                        filename: Some(f.shown.clone()),
                        filegroup: f.filegroup,
                        ..file(f.name.clone(), f.log)
                    })
                    .collect(),
            },
            None => NewFiles {
                filegroups: vec!["PRIMARY".into()],
                default_filegroup: 1,
                files: vec![file(data, false), file(log, true)],
            },
        };
        let settings = DbSettings {
            create_date: clock::now_parts(),
            log_growth: Growth::Bytes(SYSTEM_GROWTH),
            log_min_size: SYSTEM_LOG,
            ..DbSettings::default()
        };
        self.create_database(id, name, &files, &settings, RecoveryModel::Simple, 0).map(drop)
    }
}

pub(crate) fn data_growth(growth: Growth) -> FileGrowth {
    match growth {
        Growth::Bytes(0) | Growth::Percent(0) => FileGrowth::None,
        Growth::Bytes(n) => FileGrowth::Bytes(n),
        Growth::Percent(p) => FileGrowth::Percent(p),
    }
}

fn default_file_name(file: &NewFile, file_id: u16) -> CompactString {
    let ending = match (file.log, file_id) {
        (true, _) => "ldf",
        (false, 1) => "mdf",
        (false, _) => "ndf",
    };
    // A logical name may hold what a file name may not.
    let name: String = file.name.chars().map(|c| if "/\\:\0".contains(c) { '_' } else { c }).collect();
    format!("{name}.{ending}").into()
}

fn new_guid() -> [u8; 16] {
    let mut guid = [0; 16];
    fastrand::fill(&mut guid);
    guid
}
