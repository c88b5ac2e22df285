//! Creating a database and opening it, recovery included. Guarantees: a database that could not be
//! created leaves no files; a database that could be opened has been recovered and has written a
//! checkpoint after its recovery.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use disk::{BlockFile, Disk, DiskError, OpenMode};
use pages::{DataFiles, FileSpec, InstanceHome, InstanceId, LogHandle, Store, TxnId};
use wal::{Log, LogIdentity, LogOptions};

use crate::backup_state::BackupState;

use crate::checkpoint::decode_header;
use crate::database::{Database, Env};
use crate::error::{ErrorKind, TxnError};
use crate::options::{DbState, RecoveryModel};
use crate::recovery::Phase;
use crate::recovery_report::RecoveryReport;
use crate::sink::StoreLog;

/// What CREATE DATABASE says.
#[derive(Clone, Debug)]
pub struct CreateSpec {
    /// Identity of the database, in every file.
    pub guid: [u8; 16],
    /// Data files; number 1 is the primary file.
    pub files: Vec<FileSpec>,
    /// The log file.
    pub log_path: PathBuf,
    /// Its size, growth and VLF rule; `log_id` is set to `guid`.
    pub log: LogOptions,
    /// Settings and the engine's bytes.
    pub settings: DbState,
}

impl Database {
    /// Creates a database and opens it.
    pub fn create(env: Env, spec: CreateSpec) -> Result<Arc<Database>, TxnError> {
        if spec.settings.meta.len() > DbState::MAX_META {
            return Err(TxnError::Invalid("the database's meta bytes are too long"));
        }
        let paths: Vec<&Path> =
            spec.files.iter().map(|f| f.path.as_path()).chain([spec.log_path.as_path()]).collect();
        for (i, path) in paths.iter().enumerate() {
            if env.disk.exists(path)? || paths[..i].contains(path) {
                return Err(DiskError::Exists { path: path.to_path_buf() }.into());
            }
        }
        Self::create_files(&env, &spec).inspect_err(|_| {
            for path in paths {
                // What was not created cannot be removed; the first error is the one to report.
                drop(env.disk.remove(path));
            }
        })
    }

    fn create_files(env: &Env, spec: &CreateSpec) -> Result<Arc<Database>, TxnError> {
        let options = LogOptions { log_id: spec.guid, ..spec.log.clone() };
        let waits = options.waits.clone();
        let log = Log::create(&*env.disk, &spec.log_path, options)?;
        let handle: Arc<dyn LogHandle> = StoreLog::new(log.clone(), true);
        let (disk, pool) = (env.disk.clone(), env.pool.clone());
        let store = Store::create(disk, pool, handle, spec.guid, &spec.files, &env.home)?;
        waits.into_iter().for_each(|sink| store.report_growth(sink));
        env.locks.revive_database(env.db);
        let db = Database::assemble(env.clone(), log, store, TxnId(1), spec.settings.clone());
        db.restore_backup_state(BackupState { owner: env.home.instance, ..BackupState::default() });
        db.store().write_boot(&mut db.system_sink(), &spec.settings.encode())?;
        db.checkpoint()?;
        db.go_online(RecoveryReport { clean: true, ..RecoveryReport::default() })?;
        Ok(db)
    }

    /// Opens a database and recovers it. `progress` hears phase and percent. After an error of
    /// recovery the files are as they were or further recovered, and may be opened again.
    pub fn open(
        env: Env,
        primary: &Path,
        log_path: &Path,
        log: LogOptions,
        progress: &mut dyn FnMut(Phase, u8),
    ) -> Result<Arc<Database>, TxnError> {
        let (waits, home) = (log.waits.clone(), env.home.clone());
        // Nothing is written before all files are locked and known to be the database's and this
        // instance's.
        let (file, identity) = open_log(&*env.disk, log_path, &home)?;
        let files = DataFiles::open(&*env.disk, primary, &home)?;
        let what = |what| TxnError::NotADatabase { path: log_path.into(), what };
        if identity.log_id != files.database() {
            return Err(what(OTHER_LOG));
        }
        let header = decode_header(&identity.checkpoint.payload);
        let (next, clean, mut backup) = header.ok_or_else(|| what("the log has no checkpoint"))?;
        let closed = files.closed();
        let (log, found) = Log::open_file(file, log)?;
        let info = found.checkpoint;
        // Files that were closed cleanly know at which checkpoint: another one's log has nothing to
        // do with them.
        if closed.is_some_and(|closed| closed.end < info.redo_lsn || closed.end > found.last) {
            return Err(what(OTHER_TIME));
        }
        let handle = StoreLog::new(log.clone(), false);
        let store = Store::open(env.disk.clone(), env.pool.clone(), handle.clone(), files)?;
        waits.into_iter().for_each(|sink| store.report_growth(sink));
        env.locks.revive_database(env.db);
        // Settings are on a page, and pages are right only after redo.
        let db = Database::assemble(env, log, store, next, DbState::initial());
        db.restore_checkpoint(info.checkpoint_lsn, info.redo_lsn);
        let moved = std::mem::replace(&mut backup.owner, home.instance) != home.instance;
        db.restore_backup_state(backup.clone());
        if moved {
            db.change_backup_state(|_| ())?;
        }
        db.store().claim_files()?;
        let start = Instant::now();
        let mut report = db.recover(progress).inspect_err(|e| {
            if matches!(e, TxnError::InDoubt(_)) {
                db.give_up_recovery("recovery waits for another database");
            }
        })?;
        report.clean = clean && report.rolled_back == 0 && report.redone == 0;
        let boot = db.store().read_boot()?;
        let settings = DbState::decode(&boot)
            .map_err(|what| TxnError::NotADatabase { path: primary.into(), what })?;
        db.adopt_settings(settings);
        let model = db.settings().recovery_model;
        let restored = backup.end_restore(model);
        // A crash may have come between the change to SIMPLE and the end of its log chain.
        let ended = model == RecoveryModel::Simple && !backup.log_from.is_zero();
        if restored || ended {
            backup.log_from = if ended { wal::Lsn::ZERO } else { backup.log_from };
            db.restore_backup_state(backup);
        }
        handle.recovered.store(true, Ordering::Relaxed);
        if !report.clean || restored {
            match db.checkpoint() {
                // It would have freed nothing: the next recovery begins where this one did.
                Err(e) if e.kind() == ErrorKind::LogFull && !restored => {}
                // Said in the error log, and tried again.
                Err(e) if e.is_unwritten() => {}
                other => drop(other?),
            }
        }
        report.total_us = start.elapsed().as_micros() as u64;
        db.go_online(report)?;
        Ok(db)
    }

    /// Opens a database whose log is lost, with a new one: of data files that were closed cleanly.
    /// A new log chain begins.
    ///
    /// # Errors
    /// [`TxnError::NotClosed`] when the log would be needed; as for [`Database::open`] and
    /// [`Database::create`].
    pub fn open_without_log(
        env: Env,
        primary: &Path,
        log_path: &Path,
        log: LogOptions,
    ) -> Result<Arc<Database>, TxnError> {
        let files = DataFiles::open(&*env.disk, primary, &env.home)?;
        let closed = files.closed().ok_or(TxnError::NotClosed)?;
        let first_vlf_seq = closed.end.vlf.checked_add(2).ok_or(TxnError::NotClosed)?;
        let waits = log.waits.clone();
        let options = LogOptions { log_id: files.database(), first_vlf_seq, ..log };
        let log = Log::create(&*env.disk, log_path, options)?;
        let handle: Arc<dyn LogHandle> = StoreLog::new(log.clone(), true);
        let store = Store::open(env.disk.clone(), env.pool.clone(), handle, files)?;
        waits.into_iter().for_each(|sink| store.report_growth(sink));
        env.locks.revive_database(env.db);
        let owner = env.home.instance;
        let db = Database::assemble(env, log, store, TxnId(closed.next_txn), DbState::initial());
        db.restore_backup_state(BackupState { owner, ..BackupState::default() });
        db.store().settle_files(false)?;
        let settings = DbState::decode(&db.store().read_boot()?);
        db.adopt_settings(settings.map_err(TxnError::Invalid)?);
        // The log is whole before the first page changes, and the files say that they need it
        // before the second.
        db.checkpoint()?;
        db.store().claim_files()?;
        db.change_settings(|state| state.log_chain = false)?;
        db.go_online(RecoveryReport { clean: true, ..RecoveryReport::default() })?;
        Ok(db)
    }
}

/// Why a log and data files do not belong together.
pub const OTHER_LOG: &str = "the log belongs to another database";
/// They are of one database, but of different times.
pub const OTHER_TIME: &str = "the log and the data files are of different times";

/// Opens a log file, if it belongs to the instance. Nothing is written.
pub(crate) fn open_log(
    disk: &dyn Disk,
    path: &Path,
    home: &InstanceHome,
) -> Result<(Arc<dyn BlockFile>, LogIdentity), TxnError> {
    let file = disk.open(path, OpenMode::Open)?;
    let identity = wal::identify(&*file)?;
    let owner = decode_header(&identity.checkpoint.payload).map(|(_, _, state)| state.owner);
    home.check(disk, path, &owner.unwrap_or_default())?;
    Ok((file, identity))
}

/// What a file says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Identity of the database.
    pub database: [u8; 16],
    /// The instance that it belongs to; zeros: none.
    pub owner: InstanceId,
    /// Number among the database's files; 2: its log.
    pub file_id: u16,
    /// Its database was closed cleanly (data files).
    pub closed: bool,
    /// Logical names and places of the data files that a primary file lists, itself included.
    pub files: Vec<(u16, PathBuf)>,
    /// Its logical name; empty for a log.
    pub name: String,
    /// The database's settings as the last checkpoint left them, if it is a primary file.
    pub settings: Option<DbState>,
    /// A restore of the database has not come to its end (logs).
    pub restoring: bool,
}

/// Looks at a file; `None` when it is no data file and no log. Changes nothing.
///
/// # Errors
/// I/O; [`DiskError::Locked`] when somebody has it open.
pub fn identify(
    disk: &dyn Disk,
    path: &Path,
    home: &InstanceHome,
) -> Result<Option<FileIdentity>, TxnError> {
    let file = disk.open(path, OpenMode::Read)?;
    let found = match wal::identify(&*file) {
        Ok(log) => {
            let state = decode_header(&log.checkpoint.payload).map(|(_, _, state)| state);
            Some(FileIdentity {
                database: log.log_id,
                restoring: state.as_ref().is_some_and(|state| state.restoring.is_some()),
                owner: state.map(|state| state.owner).unwrap_or_default(),
                settings: None,
                file_id: 2,
                closed: false,
                files: Vec::new(),
                name: String::new(),
            })
        }
        Err(wal::LogError::Disk(e)) => return Err(e.into()),
        Err(_) => match pages::identify(&file, path, home)? {
            Some(found) => Some(data_file_identity(&*file, found)?),
            None => None,
        },
    };
    file.release();
    Ok(found)
}

fn data_file_identity(
    file: &dyn BlockFile,
    found: pages::DataFileIdentity,
) -> Result<FileIdentity, TxnError> {
    let boot = if found.spec.id == 1 { pages::read_boot_of(file)? } else { None };
    Ok(FileIdentity {
        database: found.database,
        owner: found.owner,
        file_id: found.spec.id,
        closed: found.closed.is_some(),
        files: found.files,
        name: found.spec.name,
        settings: boot.and_then(|boot| DbState::decode(&boot).ok()),
        restoring: false,
    })
}
