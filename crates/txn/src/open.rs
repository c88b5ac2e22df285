//! Creating a database and opening it, recovery included.
//! Guarantees: a database that could not be created leaves no files; a database that could be opened has been
//! recovered and has written a checkpoint behind its recovery.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use disk::DiskError;
use pages::{FileSpec, LogHandle, Store, TxnId};
use wal::{Log, LogOptions};

use crate::checkpoint::decode_header;
use crate::database::{Database, Env};
use crate::error::{ErrorKind, TxnError};
use crate::options::{DbState, RecoveryModel};
use crate::recovery::{Phase, RecoveryReport};
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
        let store = Store::create(env.disk.clone(), env.pool.clone(), handle, spec.guid, &spec.files)?;
        waits.into_iter().for_each(|sink| store.report_growth(sink));
        env.locks.revive_database(env.db);
        let db = Database::assemble(env.clone(), log, store, TxnId(1), spec.settings.clone());
        db.store().write_boot(&mut db.system_sink(), &spec.settings.encode())?;
        db.checkpoint()?;
        db.go_online(RecoveryReport { clean: true, ..RecoveryReport::default() })?;
        Ok(db)
    }

    /// Opens a database and recovers it. `progress` hears phase and percent. After an error of recovery the files are
    /// as they were or further recovered, and may be opened again.
    pub fn open(
        env: Env,
        primary: &Path,
        log_path: &Path,
        log: LogOptions,
        progress: &mut dyn FnMut(Phase, u8),
    ) -> Result<Arc<Database>, TxnError> {
        let waits = log.waits.clone();
        let (log, _) = Log::open(&*env.disk, log_path, log)?;
        let handle = StoreLog::new(log.clone(), false);
        let store = Store::open(env.disk.clone(), env.pool.clone(), handle.clone(), primary)?;
        waits.into_iter().for_each(|sink| store.report_growth(sink));
        if log.log_id() != store.database() {
            return Err(TxnError::NotADatabase {
                path: log_path.into(),
                what: "the log belongs to another database",
            });
        }
        let info = log.checkpoint();
        let (next, clean, mut backup) = decode_header(&info.payload).ok_or_else(|| {
            TxnError::NotADatabase { path: log_path.into(), what: "the log has no checkpoint" }
        })?;
        env.locks.revive_database(env.db);
        // Settings are on a page, and pages are right only after redo.
        let db = Database::assemble(env, log, store, next, DbState::initial());
        db.restore_checkpoint(info.checkpoint_lsn, info.redo_lsn);
        db.restore_backup_state(backup.clone());
        let start = Instant::now();
        let mut report = db.recover(progress)?;
        report.clean = clean && report.rolled_back == 0 && report.redone == 0;
        let boot = db.store().read_boot()?;
        let settings =
            DbState::decode(&boot).map_err(|what| TxnError::NotADatabase { path: primary.into(), what })?;
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
                other => drop(other?),
            }
        }
        report.total_us = start.elapsed().as_micros() as u64;
        db.go_online(report)?;
        Ok(db)
    }
}
