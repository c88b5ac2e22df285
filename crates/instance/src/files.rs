//! Databases come and go: creating, opening, closing and dropping them with their files.
//! Guarantees: the registry names a database only when all its files are there; a database that
//! could not be created leaves no files; what waited to be freed when a database went down is freed
//! when it comes up.

mod create;

pub use create::data_growth;

use std::path::Path;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use disk::DiskError;
use pages::UnitId;
use txn::{Database, Env, TxnError};
use types::SqlError;
use wal::{Alignment, LogOptions};

use super::InstanceCore;
use super::boot_text::{
    DISCARDED, added_tree, apply_log_settings, open_trees, replace_settings, save_settings,
    settings_text,
};
use super::file_errors::disk_error;
use super::open_error::OpenError;
use super::waits::FileReports;
use catalog::counters::Counters;
use catalog::db::{Db, DbStatus, OpenStorage};
use catalog::other::OtherObject;
use catalog::registry::{ALIGN_TO_DEVICE, DbEntry};
use catalog::settings::DbSettings;
use catalog::systables::DISCARDED_UNIT;
use catalog::{Catalog, pending};

/// Trace flag: log writes are aligned to 4096 bytes whatever the device.
const TRACE_ALIGN_4K: i32 = 1800;
/// How long a close waits for transactions of background tasks.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
pub(super) type OpenedDatabase = (OpenStorage, Catalog, DbSettings);

/// A database that could not be opened, and why.
struct NotOpened {
    entry: DbEntry,
    error: OpenError,
}

impl InstanceCore {
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
            outcomes: self.outcomes.clone(),
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

    /// Opens all databases at the same time; those that have to ask others for the outcome of a
    /// transaction when the logs of all the others have been read.
    pub(super) fn open_all(&self, entries: &[DbEntry]) -> Vec<Arc<Db>> {
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = entries
                .iter()
                .map(|entry| (entry, scope.spawn(move || self.open_or_wait(entry.clone()))))
                .collect();
            let join = |(entry, thread): (&DbEntry, ScopedJoinHandle<'_, _>)| {
                thread.join().unwrap_or_else(|_| {
                    let cause = "a system assertion failed while it was opened".to_string();
                    Ok(Db::down(entry.clone(), DbStatus::Suspect, cause, self.error_log().clone()))
                })
            };
            threads.into_iter().map(join).collect()
        });
        opened.into_iter().map(|db| db.unwrap_or_else(|entry| self.open_entry(entry))).collect()
    }

    /// Opens a database of the registry; one that cannot be opened comes back as such.
    pub(super) fn open_entry(&self, entry: DbEntry) -> Arc<Db> {
        self.try_entry(entry).unwrap_or_else(|failed| self.not_opened(*failed))
    }

    /// As [`open_entry`](Self::open_entry), where all databases are opened at the same time: one
    /// that has to ask another for the outcome of a transaction comes back to be opened when the
    /// others have been.
    pub(super) fn open_or_wait(&self, entry: DbEntry) -> Result<Arc<Db>, DbEntry> {
        self.try_entry(entry).or_else(|failed| match failed.error {
            OpenError::Txn(TxnError::InDoubt(_)) => Err(failed.entry),
            _ => Ok(self.not_opened(*failed)),
        })
    }

    fn try_entry(&self, mut entry: DbEntry) -> Result<Arc<Db>, Box<NotOpened>> {
        entry.take_next_places();
        let errors = self.error_log().clone();
        if entry.restoring {
            return Ok(Db::down(entry, DbStatus::Restoring, "it is being restored".into(), errors));
        }
        if entry.offline {
            return Ok(Db::down(entry, DbStatus::Offline, "it was taken offline".into(), errors));
        }
        match self.open_files(&entry).or_else(|e| self.open_mended(&entry, e)) {
            Ok((open, catalog, settings)) => Ok(Db::online(entry, open, catalog, settings)),
            Err(error) => Err(Box::new(NotOpened { entry, error })),
        }
    }

    fn not_opened(&self, failed: NotOpened) -> Arc<Db> {
        let NotOpened { entry, error: e } = failed;
        let cause = e.explain(&entry);
        let text = format!("Database '{}' cannot be opened: {cause}", entry.name);
        self.error_log().write("Server", &text);
        self.error_log().save();
        Db::down(entry, e.status(), cause, self.error_log().clone())
    }

    pub(super) fn open_files(&self, entry: &DbEntry) -> Result<OpenedDatabase, OpenError> {
        let (open, catalog, settings) = self.open_unnamed(entry, self.env(entry))?;
        let settings = self.note_names(entry, &open.storage, settings)?;
        Ok((open, catalog, settings))
    }

    /// Opens the files in an environment that may have been changed for them, and leaves the names
    /// that the database knows.
    pub(super) fn open_unnamed(
        &self,
        entry: &DbEntry,
        mut env: Env,
    ) -> Result<OpenedDatabase, OpenError> {
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
        // A database that cannot be used gives its files up: they may be mended, and opened again.
        self.assemble(storage.clone()).inspect_err(|_| storage.abandon())
    }

    /// The database knows the names that are nowhere else but in the registry, for a session that
    /// attaches it.
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
    fn assemble(&self, storage: Arc<Database>) -> Result<OpenedDatabase, OpenError> {
        let mut meta = String::from_utf8(storage.settings().meta.clone())
            .map_err(|_| OpenError::Other("its boot page cannot be read".into()))?;
        let mut settings = DbSettings::read(&meta);
        let tempdb = storage.id() == catalog::TEMPDB as u16;
        settings.read_only |= self.is_read_only() && !tempdb;
        let trees = open_trees(&storage, &mut meta)?;
        let discarded = added_tree(&storage, UnitId(DISCARDED_UNIT), DISCARDED, &mut meta)?;
        storage.set_discarded_values(discarded.0);
        apply_log_settings(&storage, &settings);
        let mut spared = Vec::new();
        let system = i32::from(storage.id()) < catalog::FIRST_USER_DB;
        let (catalog, lost) = catalog::load::load(&trees, system.then_some(&mut spared))?;
        spared.into_iter().for_each(|what| self.note_spared(i32::from(storage.id()), &what));
        let counters = Counters::load(&trees)?;
        for unit in pending::listed(&trees)? {
            if self.is_read_only() {
                break;
            }
            pending::free(&storage, &trees, &unit)?;
        }
        let writable = !self.is_read_only() && !settings.read_only;
        for (schema, name) in &lost {
            let text = format!(
                "Schema {schema} of database ID {} is gone although something is in it; it is called '{name}' now.",
                storage.id()
            );
            self.error_log().write("Server", &text);
        }
        if writable && !lost.is_empty() {
            catalog::load::keep_lost(&storage, &trees, &lost)?;
        }
        if writable {
            catalog::overflow::free_lost(&storage, &trees, &catalog)?;
        }
        let open = OpenStorage { storage, trees, counters, errors: self.error_log().clone() };
        Ok((open, catalog, settings))
    }

    /// Brings a database that is down back up: ALTER DATABASE SET ONLINE.
    pub fn reopen(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        db.change_entry(DbEntry::take_next_places);
        let entry = db.entry();
        if let Some(old) = db.take_down(DbStatus::RecoveryPending, "it is being opened") {
            // Sessions and plans may hold the failed storage for longer: its dirty pages and its
            // log must not reach the files any more.
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
                Err(e
                    .sql(&entry)
                    .unwrap_or_else(|| catalog::db::errors::not_usable(&db.name(), status)))
            }
        }
    }

    /// Closes a database's storage, cleanly unless it has failed. Identity counters go back to the
    /// last value that was used.
    pub fn close_database(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let Some(storage) = db.storage_if_open() else { return Ok(()) };
        match storage.status() {
            txn::Status::Online => {}
            txn::Status::Suspect => {
                // Sessions may hold it for longer, and would write what their answers wait for into
                // files that are another one's by then.
                storage.abandon();
                return Ok(());
            }
            txn::Status::Recovering | txn::Status::Offline => return Ok(()),
        }
        let (entry, mut settings) = (db.entry(), db.settings());
        settings.note_names(&entry);
        if settings != db.settings() && !self.is_read_only() && !settings.read_only {
            save_settings(db, &settings)?;
        }
        self.close_storage(db)
    }

    /// As [`InstanceCore::close_database`], without a note of the names that the registry has.
    pub(super) fn close_storage(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let (storage, settings) = (db.storage()?, db.settings());
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
        // What changes while transactions go on is not worth noting; where there is no room in the
        // log, estimates are worse after the next start, and that is all.
        if quiet && !self.is_read_only() && !settings.read_only && db.id() != catalog::TEMPDB {
            let _ = catalog::closing::note_rows(db);
            let _ = catalog::closing::note_statistics(db);
        }
        loop {
            match storage.close() {
                Err(TxnError::Busy { .. }) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // Transactions that go on are rolled back by the next start; what has been
                // committed is durable now.
                Err(busy @ TxnError::Busy { .. }) => {
                    return Err(catalog::errors::db_error(
                        db,
                        &storage.flush_log().err().unwrap_or(busy),
                    ));
                }
                closed => return closed.map_err(|e| catalog::errors::db_error(db, &e)),
            }
        }
    }

    /// Drops a database that nobody uses: out of the registry first, then its files. The caller
    /// holds `changing`.
    pub fn drop_database(&self, db: &Arc<Db>) -> Result<(), SqlError> {
        let entry = db.entry();
        let entries: Vec<DbEntry> =
            self.entries().into_iter().filter(|e| e.id != entry.id).collect();
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

    /// Whether a file that was this instance's may go: it lies in the folder, or names this
    /// instance, or nobody whose it could be. A file that somebody has open is kept by
    /// [`disk::Disk::remove`].
    pub(super) fn may_remove(&self, path: &Path) -> bool {
        match self.disk.is_within(path, self.paths.root()) {
            Ok(true) | Err(DiskError::NotFound { .. }) => return true,
            Ok(false) => {}
            Err(_) => return false,
        }
        let home = pages::InstanceHome { instance: self.id(), ..pages::InstanceHome::default() };
        match txn::identify(&*self.disk, path, &home) {
            Ok(found) => {
                let owner = found.map(|f| f.owner).unwrap_or_default();
                owner == self.id() || (owner == pages::InstanceId::default() && !self.identity.copy)
            }
            Err(e) => matches!(disk_error(&e), Some(DiskError::NotFound { .. })),
        }
    }

    /// The registry's entries as they are now.
    pub fn entries(&self) -> Vec<DbEntry> {
        self.databases().iter().map(|db| db.entry()).collect()
    }

    /// Writes the registry after a change of an entry.
    pub fn save_registry(&self) -> Result<(), SqlError> {
        self.write_registry(&self.entries())
    }
}
