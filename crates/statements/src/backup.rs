//! BACKUP DATABASE and BACKUP LOG.

use std::sync::Arc;

use syntax::ast::{Backup, OptionItem, OptionValue};
use txn::backup::{
    BackupDevice, BackupDone, BackupError, BackupSpec, ExistingSets, SetFile, SetKind,
};
use txn::backup::{backup_closed_log, mark_restoring};
use types::{SqlError, msg};

use super::StmtCtx;
use super::backup_errors::{FailedCommand, in_transaction};
use super::backup_history;
use catalog::db::DbStatus;
use catalog::errors;
use catalog::registry::DbEntry;
use catalog::{Db, MASTER};
use instance::InstanceCore;
use instance::OfInstance;
use instance::configuration::{BACKUP_CHECKSUM, BACKUP_COMPRESSION};
use session::conceal::conceal;

/// database_id of tempdb.
const TEMPDB: i32 = 2;
const SERVER: &str = "RINGWOOD";

/// Options that take no value.
const SWITCHES: [&str; 12] = [
    "DIFFERENTIAL",
    "COPY_ONLY",
    "INIT",
    "NOINIT",
    "FORMAT",
    "COMPRESSION",
    "NO_COMPRESSION",
    "CHECKSUM",
    "NO_CHECKSUM",
    "CONTINUE_AFTER_ERROR",
    "NORECOVERY",
    "NO_TRUNCATE",
];

/// What WITH said.
struct Options {
    spec: BackupSpec,
    stats: Option<u8>,
    no_truncate: bool,
}

impl StmtCtx<'_> {
    pub(super) fn backup(&mut self, stmt: &Backup) -> Result<(), SqlError> {
        let command = if stmt.log { "BACKUP LOG" } else { "BACKUP DATABASE" };
        self.run_backup(stmt, command).map_err(|e| match e.number {
            // Sent with its reason already, or a fault of the statement's text.
            3013 | 102 | 155 | 40510 => e,
            _ => {
                let failed = self.terminate_with(command, e);
                let text =
                    format!("BACKUP failed to complete the command {}", conceal(self.text.trim()));
                self.core.host().error_log().write("Backup", &text);
                failed
            }
        })
    }

    fn run_backup(&mut self, stmt: &Backup, command: &'static str) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(in_transaction());
        }
        if !stmt.files.is_empty() || !stmt.mirrors.is_empty() {
            return Err(errors::not_supported("BACKUP of single files, MIRROR TO"));
        }
        let name = self.name_of_database(&stmt.database)?;
        let instance = self.core.instance().clone();
        let db = instance.database(&name)?;
        if db.id() == TEMPDB {
            return Err(SqlError::of(msg::TEMPDB_BACKUP, []));
        }
        if stmt.log && db.id() == MASTER {
            return Err(SqlError::of(msg::LOG_BACKUP_OF_MASTER, []));
        }
        let options = self.backup_options(stmt, &db)?;
        let devices = self.devices(&stmt.devices, &stmt.options)?;
        let done = if options.spec.tail {
            self.tail_backup(&instance, &db, &devices, &options)
        } else if options.no_truncate && db.check_usable().is_err() {
            self.closed_backup(&instance, &db, &devices, &options)
        } else {
            let _used = self.core.enter(&db)?;
            let storage = db.storage()?;
            self.with_progress(options.stats, |progress| {
                storage.backup(&devices, &options.spec, progress)
            })
            .map_err(|e| {
                self.terminate(&FailedCommand { command, database: &db.name(), db: Some(&db) }, &e)
            })
        }?;
        self.report(&instance, &db, stmt, &devices, &done)
    }

    fn backup_options(&self, stmt: &Backup, db: &Db) -> Result<Options, SqlError> {
        let entry = db.entry();
        let instance = self.core.instance();
        let spec = BackupSpec {
            compress: instance.configured(BACKUP_COMPRESSION)? == 1,
            checksum: instance.configured(BACKUP_CHECKSUM)? == 1,
            kind: if stmt.log { SetKind::Log } else { SetKind::Full },
            database: db.name().to_string(),
            server: SERVER.into(),
            user: self.core.identity.login.to_string(),
            files: entry.files.iter().map(set_file).collect(),
            engine: instance::restore::describe(db, &entry),
            ..BackupSpec::default()
        };
        let mut options = Options { spec, stats: None, no_truncate: false };
        for option in &stmt.options {
            self.backup_option(stmt, option, &mut options)?;
        }
        Ok(options)
    }

    fn backup_option(
        &self,
        stmt: &Backup,
        option: &OptionItem,
        out: &mut Options,
    ) -> Result<(), SqlError> {
        let spec = &mut out.spec;
        if SWITCHES.contains(&option.name.as_str()) && !matches!(option.value, OptionValue::None) {
            return Err(errors::syntax_near(&option.name));
        }
        match option.name.as_str() {
            "DIFFERENTIAL" if !stmt.log => spec.kind = SetKind::Differential,
            "COPY_ONLY" => spec.copy_only = true,
            "INIT" => spec.existing = ExistingSets::Overwrite.max_of(spec.existing),
            "FORMAT" => spec.existing = ExistingSets::Format,
            "NOINIT" => {}
            "COMPRESSION" | "NO_COMPRESSION" => spec.compress = option.name == "COMPRESSION",
            "CHECKSUM" | "NO_CHECKSUM" => spec.checksum = option.name == "CHECKSUM",
            "CONTINUE_AFTER_ERROR" => spec.continue_after_error = true,
            "NAME" => spec.name = self.option_text(option)?,
            "DESCRIPTION" => spec.description = self.option_text(option)?,
            "MEDIANAME" => spec.media_name = self.option_text(option)?,
            "MEDIADESCRIPTION" => spec.media_description = self.option_text(option)?,
            "NORECOVERY" if stmt.log => spec.tail = true,
            "NO_TRUNCATE" if stmt.log => {
                spec.copy_only = true;
                out.no_truncate = true;
            }
            "FILE_SNAPSHOT" => {
                return Err(SqlError::of(msg::FILE_SNAPSHOT_NOT_PERMITTED, []));
            }
            "STANDBY" => return Err(errors::not_supported("STANDBY")),
            "ENCRYPTION" => return Err(errors::not_supported("ENCRYPTION")),
            _ => return self.common_option("BACKUP", option, &mut out.stats),
        }
        Ok(())
    }

    /// BACKUP LOG WITH NORECOVERY: the database is closed, its log backed up to the very end, and
    /// it is RESTORING then.
    fn tail_backup(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        devices: &[Box<dyn BackupDevice>],
        options: &Options,
    ) -> Result<BackupDone, SqlError> {
        let _turn = instance.changing.lock();
        let name = db.name();
        let place = FailedCommand { command: "BACKUP LOG", database: &name, db: Some(db) };
        let _closed = db.close_if_unused().ok_or_else(|| exclusive(&name))?;
        if db.check_usable().is_ok() {
            let state = db.storage()?.backup_state();
            if state.recovery_model == Some(txn::RecoveryModel::Simple) {
                return Err(self.terminate(&place, &BackupError::Simple));
            }
            if state.log_from.is_zero() {
                return Err(self.terminate(&place, &BackupError::NoFullBackup));
            }
            instance.close_database(db)?;
            db.take_down(DbStatus::Restoring, "its tail is being backed up");
            instance.forget_batches();
        }
        let done = self.closed_backup(instance, db, devices, options);
        let log = log_path(&db.entry());
        let marked = done.and_then(|done| {
            let marked = mark_restoring(&*instance.disk, &instance.home(&db.entry()), &log);
            marked.map(|()| done).map_err(|e| self.terminate(&place, &e))
        });
        match marked {
            Ok(done) => {
                db.change_entry(|entry| entry.restoring = true);
                db.take_down(DbStatus::Restoring, "its tail was backed up");
                instance.save_registry()?;
                Ok(done)
            }
            Err(e) => {
                // The backup failed: the database goes on where it was, if it can.
                let _ = instance.reopen(db);
                Err(e)
            }
        }
    }

    /// A log backup from the log file alone.
    fn closed_backup(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        devices: &[Box<dyn BackupDevice>],
        options: &Options,
    ) -> Result<BackupDone, SqlError> {
        let log = log_path(&db.entry());
        if let Some(failed) = db.storage_if_open() {
            // It has failed, and nothing of it may be written any more: only then is its log free
            // to be read.
            failed.abandon();
        }
        let done = self.with_progress(options.stats, |progress| {
            backup_closed_log(&*instance.disk, &log, devices, &options.spec, progress)
        });
        done.map_err(|e| {
            self.terminate(
                &FailedCommand { command: "BACKUP LOG", database: &db.name(), db: Some(db) },
                &e,
            )
        })
    }

    /// Messages, error log and msdb.
    fn report(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        stmt: &Backup,
        devices: &[Box<dyn BackupDevice>],
        done: &BackupDone,
    ) -> Result<(), SqlError> {
        let entry = db.entry();
        let file_name = |id: u16, log: bool| {
            let found = entry.files.iter().find(|f| f.log == log && (log || f.file_id == id));
            found.map_or_else(|| id.to_string(), |f| f.name.to_string())
        };
        let mut files: Vec<_> =
            done.end.pages.iter().map(|(id, pages)| (file_name(*id, false), *pages)).collect();
        files.push((file_name(0, true), done.end.log_pages()));
        let command = match done.header.kind {
            SetKind::Full => "BACKUP DATABASE",
            SetKind::Differential => "BACKUP DATABASE WITH DIFFERENTIAL",
            SetKind::Log => "BACKUP LOG",
        };
        let name = db.name();
        if let Err(e) = backup_history::note_backup(self.core, done, devices) {
            // The backup is good; what lists it is not.
            instance
                .error_log()
                .write("Backup", &format!("msdb could not note a backup: {}", e.message));
        }
        let what = if stmt.log { "Log was backed up" } else { "Database backed up" };
        instance.error_log().write(
            "Backup",
            &format!(
                "{what}. Database: {name}, first LSN: {}, last LSN: {}, number of dump devices: {}.",
                done.header.first_lsn.to_decimal(),
                done.end.last_lsn.to_decimal(),
                devices.len()
            ),
        );
        self.processed(command, &name, &files, done.header.position, done.took)
    }
}

/// FORMAT stays FORMAT when INIT is said as well.
trait MaxOf {
    fn max_of(self, other: Self) -> Self;
}

impl MaxOf for ExistingSets {
    fn max_of(self, other: ExistingSets) -> ExistingSets {
        if other == ExistingSets::Format { other } else { self }
    }
}

/// 3101: somebody uses the database.
pub(super) fn exclusive(name: &str) -> SqlError {
    SqlError::of(msg::RESTORE_DATABASE_IN_USE, [&name])
}

/// Where a database's log is.
pub(super) fn log_path(entry: &DbEntry) -> std::path::PathBuf {
    entry.files.iter().find(|f| f.log).map(|f| f.path.clone()).unwrap_or_default()
}

fn set_file(file: &catalog::registry::FileEntry) -> SetFile {
    SetFile {
        id: file.file_id,
        log: file.log,
        name: file.name.to_string(),
        shown: file.shown.to_string(),
        filegroup: file.filegroup,
        ..SetFile::default()
    }
}
