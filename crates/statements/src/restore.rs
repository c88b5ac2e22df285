//! RESTORE DATABASE and RESTORE LOG.
//!
//! A restore leaves the database RESTORING from its first step on; WITH RECOVERY (the default) ends
//! it.

use std::sync::Arc;
use std::time::Instant;

use compact_str::CompactString;
use pages::FileSpec;
use syntax::ast::{Restore, RestoreKind};
use txn::RecoveryModel;
use txn::backup::{
    BackupError, MediaSet, RestoreNext, RestoredStep, RollTo, SetEntry, SetHeader, SetKind,
    check_differential, restore_state,
};
use types::{SqlError, msg};

use super::StmtCtx;
use super::backup::{exclusive, log_path};
use super::backup_errors::{FailedCommand, in_transaction};
use super::backup_history;
use super::backup_media::success;
use super::restore_options::RestoreOptions;
use super::restore_places::added_place;
use catalog::Db;
use catalog::db::DbStatus;
use catalog::errors;
use catalog::fold_name;
use catalog::registry::DbEntry;
use instance::InstanceCore;
use instance::OfInstance;
use instance::permit::PermitReach;
use instance::restore::DescribedDatabase;

impl StmtCtx<'_> {
    pub(super) fn restore(&mut self, stmt: &Restore) -> Result<(), SqlError> {
        let command = match stmt.kind {
            RestoreKind::Database => "RESTORE DATABASE",
            RestoreKind::Log => "RESTORE LOG",
            RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
            RestoreKind::FileListOnly => "RESTORE FILELIST",
            RestoreKind::LabelOnly => "RESTORE LABELONLY",
            RestoreKind::VerifyOnly => "VERIFY DATABASE",
        };
        let result = match stmt.kind {
            RestoreKind::Database | RestoreKind::Log => self.run_restore(stmt, command),
            _ => self.restore_list(stmt, command),
        };
        result.map_err(|e| match e.number {
            3013 | 102 | 155 | 40510 => e,
            _ => self.terminate_with(command, e),
        })
    }

    fn run_restore(&mut self, stmt: &Restore, command: &'static str) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(in_transaction());
        }
        if !stmt.files.is_empty() || stmt.snapshot.is_some() {
            return Err(errors::not_supported("RESTORE of files, pages and snapshots"));
        }
        self.core.instance().check_writable()?;
        let Some(name) = &stmt.database else { return Err(errors::syntax_near("RESTORE")) };
        let name = self.name_of_database(name)?;
        if InstanceCore::is_reserved_name(&name) {
            return Err(errors::not_supported("RESTORE of system databases"));
        }
        let options = self.restore_options(stmt)?;
        if options.restricted && options.no_recovery {
            return Err(errors::not_supported("RESTORE WITH NORECOVERY, RESTRICTED_USER"));
        }
        let instance = self.core.instance().clone();
        let _turn = instance.changing.lock();
        let db = instance.find_db(&name);
        let mut _closed = None;
        if let Some(db) = &db {
            if db.id() == self.core.db().id() {
                return Err(SqlError::of(msg::RESTORE_DATABASE_IN_USE_BY_SESSION, [&name]));
            }
            _closed = Some(db.close_if_unused().ok_or_else(|| exclusive(&name))?);
        }
        if stmt.devices.is_empty() {
            return self.only_recover(&instance, db.as_ref(), &name, &options, command);
        }
        let devices = self.devices(&stmt.devices, &stmt.options)?;
        let place = FailedCommand { command, database: &name, db: None };
        let opened =
            MediaSet::open(&devices, false).and_then(|mut m| Ok((m.set(options.position)?, m)));
        let (set, mut media) = opened.map_err(|e| self.terminate(&place, &e))?;
        if set.end.is_none() {
            let device = devices.first().map_or(String::new(), |d| d.name().into());
            return Err(self.terminate(&place, &BackupError::CutOff { device }));
        }
        let log = set.header.kind == SetKind::Log;
        if log != (stmt.kind == RestoreKind::Log) {
            return Err(self.terminate(&place, &BackupError::OtherKind));
        }
        let ends = set.end.as_ref().map(|end| end.end_us);
        if !log && options.stop_us.zip(ends).is_some_and(|(stop, end)| stop < end) {
            return Err(self.terminate(&place, &BackupError::StopsInside));
        }
        let done = match set.header.kind {
            SetKind::Full => {
                self.restore_full(&instance, db, &name, &set, &mut media, &options, command)?
            }
            _ => self.restore_more(&instance, db, &name, &set, &mut media, &options, command)?,
        };
        let told = (options.replace, !options.no_recovery, options.stop_us);
        if let Err(e) = backup_history::note_restore(
            self.core,
            &name,
            &self.core.identity.login,
            &done,
            told,
            devices.len(),
        ) {
            instance
                .error_log()
                .write("Restore", &format!("msdb could not note a restore: {}", e.message));
        }
        Ok(())
    }

    /// RESTORE DATABASE name WITH RECOVERY: nothing more is applied.
    fn only_recover(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: Option<&Arc<Db>>,
        name: &str,
        options: &RestoreOptions,
        command: &'static str,
    ) -> Result<(), SqlError> {
        let begin = Instant::now();
        let db = db.ok_or_else(|| missing(name))?;
        if db.status() != DbStatus::Restoring || options.no_recovery {
            return Err(SqlError::of(msg::ALREADY_RECOVERED, []));
        }
        if let Err(e) =
            restore_state(&*instance.disk, &instance.home(&db.entry()), &log_path(&db.entry()))
        {
            return Err(self.terminate(&FailedCommand { command, database: name, db: None }, &e));
        }
        instance.end_restore(db, options.restricted)?;
        self.sink.message(&success(command, 0, begin.elapsed()))
    }

    #[allow(clippy::too_many_arguments)] // the parts of one statement, named by their caller's locals
    fn restore_full(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: Option<Arc<Db>>,
        name: &str,
        set: &SetEntry,
        media: &mut MediaSet,
        options: &RestoreOptions,
        command: &'static str,
    ) -> Result<RestoredStep, SqlError> {
        let header = &set.header;
        for (logical, _) in &options.moves {
            if !header.files.iter().any(|f| fold_name(&f.name) == fold_name(logical)) {
                return Err(SqlError::of(msg::LOGICAL_FILE_NOT_IN_DATABASE, [&logical, &name]));
            }
        }
        if let Some(db) = &db {
            self.may_replace(instance, db, name, header, options)?;
        }
        let id = db.as_ref().map_or_else(|| instance.free_database_id(), |db| db.id());
        let reach = PermitReach::of(self.core);
        let entry =
            instance.restored_entry(reach, id, name, header, &mut |_, _, logical, shown| {
                let moved = options.moves.iter().find(|(l, _)| fold_name(l) == fold_name(logical));
                moved.map_or(shown, |(_, path)| path).into()
            });
        let entry =
            entry.map_err(|(name, shown, reason)| self.not_placed(&name, &shown, reason))?;
        self.check_places(instance, db.as_ref(), &entry, options)?;
        let fresh = db.is_none();
        let db = match db {
            Some(db) => {
                instance.close_database(&db)?;
                let old = db.entry();
                instance.begin_restore(&db, entry.clone())?;
                remove_files(instance, &old);
                db
            }
            None => instance.add_restoring(entry.clone())?,
        };
        if options.replace {
            remove_files(instance, &entry);
        }
        let done = self.step(instance, &db, media, options, command);
        done.inspect_err(|_| {
            if fresh {
                instance.forget_restoring(&db);
            }
        })
    }

    /// Whether a database may be overwritten. Errors: 3154, 3159.
    fn may_replace(
        &self,
        instance: &InstanceCore,
        db: &Arc<Db>,
        name: &str,
        header: &SetHeader,
        options: &RestoreOptions,
    ) -> Result<(), SqlError> {
        if options.replace {
            return Ok(());
        }
        let other = || SqlError::of(msg::BACKUP_OF_OTHER_DATABASE, [&name]);
        let Some(storage) = db.storage_if_open() else {
            // A restore that never came to a log leaves nothing that could be lost.
            return match restore_state(
                &*instance.disk,
                &instance.home(&db.entry()),
                &log_path(&db.entry()),
            ) {
                Ok(state) if state.family != header.family => Err(other()),
                _ => Ok(()),
            };
        };
        let state = storage.backup_state();
        let family =
            if state.family == [0; 16] { storage.store().database() } else { state.family };
        if family != header.family {
            return Err(other());
        }
        let chain =
            state.recovery_model != Some(RecoveryModel::Simple) && !state.log_from.is_zero();
        if chain && options.stop_us.is_none() && storage.has_commits_since(state.log_from) {
            return Err(SqlError::of(msg::LOG_TAIL_NOT_BACKED_UP, [&name]));
        }
        Ok(())
    }

    /// A differential or log backup onto a database that is RESTORING.
    #[allow(clippy::too_many_arguments)] // the parts of one statement, named by their caller's locals
    fn restore_more(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: Option<Arc<Db>>,
        name: &str,
        set: &SetEntry,
        media: &mut MediaSet,
        options: &RestoreOptions,
        command: &'static str,
    ) -> Result<RestoredStep, SqlError> {
        let db = db.ok_or_else(|| missing(name))?;
        if db.status() != DbStatus::Restoring {
            return Err(self.terminate(
                &FailedCommand { command, database: name, db: None },
                &BackupError::NotReady,
            ));
        }
        let old = db.entry();
        if set.header.kind == SetKind::Differential {
            let checked =
                check_differential(&*instance.disk, &instance.home(&old), set, &log_path(&old));
            checked.map_err(|e| {
                self.terminate(&FailedCommand { command, database: name, db: None }, &e)
            })?;
            // Files that were added since the base was taken are new.
            let reach = PermitReach::of(self.core);
            let entry = instance.restored_entry(
                reach,
                db.id(),
                name,
                &set.header,
                &mut |id, log, logical, shown| {
                    let moved =
                        options.moves.iter().find(|(l, _)| fold_name(l) == fold_name(logical));
                    let known = old.files.iter().find(|f| f.log == log && (log || f.file_id == id));
                    match (moved, known) {
                        (_, Some(file)) => file.shown.clone(),
                        (Some((_, path)), None) => CompactString::from(path.as_str()),
                        (None, None) => shown.into(),
                    }
                },
            );
            let mut entry =
                entry.map_err(|(name, shown, reason)| self.not_placed(&name, &shown, reason))?;
            self.check_places(instance, Some(&db), &entry, options)?;
            // Those that it has lost stay the database's until the step has ended: whatever becomes
            // of it, somebody removes them.
            let lost = old.files.iter().filter(|f| !entry.files.iter().any(|n| n.path == f.path));
            let lost: Vec<_> = lost.cloned().collect();
            entry.files.extend(lost);
            instance.begin_restore(&db, entry)?;
        } else {
            db.change_entry(|entry| add_filegroups(entry, &set.header));
        }
        self.step(instance, &db, media, options, command)
    }

    /// Applies the set, and recovers unless NORECOVERY was said or the stop time lies further on.
    fn step(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        media: &mut MediaSet,
        options: &RestoreOptions,
        command: &'static str,
    ) -> Result<RestoredStep, SqlError> {
        let begin = Instant::now();
        let entry = db.entry();
        // Whether the stop time lies in a log backup is known when it has been read.
        let wait = options.stop_us.is_some();
        let step = if options.no_recovery || wait { RestoreNext::More } else { RestoreNext::Last };
        let header = media.set(options.position).map(|set| set.header);
        let (mut refused, mut shown) = (None, Vec::new());
        let reach = PermitReach::of(self.core);
        let mut place = |new: &[FileSpec]| {
            let at = |spec| (spec, added_place(&entry, header.as_ref().ok(), options, spec));
            let placed: Vec<(&FileSpec, CompactString)> = new.iter().map(at).collect();
            shown = placed.iter().map(|(spec, at)| (spec.name.clone(), at.clone())).collect();
            instance.place_restored(reach, db, &placed).map_err(|(i, e)| {
                refused = Some(e);
                i
            })
        };
        let done = self.with_progress(options.stats, |progress| {
            let to = RollTo { stop_us: options.stop_us, place: &mut place };
            instance.restore_step(&entry, media, options.position, to, step, progress)
        });
        let name = db.name();
        let done = done.map_err(|e| {
            if matches!(e, BackupError::CannotMake { .. }) {
                instance.unplace_restored(db, entry);
            }
            self.step_failed(db, command, &e, refused, &shown)
        })?;
        if !done.files.is_empty() {
            instance.adopt_restored(db, &done.files)?;
        }
        let entry = db.entry();
        let mut files: Vec<(String, u64)> = Vec::new();
        for (id, pages) in &done.end.pages {
            let file = entry.files.iter().find(|f| !f.log && f.file_id == *id);
            files.push((file.map_or_else(|| id.to_string(), |f| f.name.to_string()), *pages));
        }
        let log =
            entry.files.iter().find(|f| f.log).map_or_else(String::new, |f| f.name.to_string());
        if done.header.kind == SetKind::Log {
            files.push((log.clone(), 0));
        }
        files.push((log, done.end.log_pages()));
        if done.header.kind == SetKind::Log {
            // SQL Server lists the data file with no pages of its own, then the log.
            let first = entry.files.iter().find(|f| !f.log);
            files[0].0 = first.map_or_else(String::new, |f| f.name.to_string());
        }
        let early = wait && done.header.kind == SetKind::Log && !done.stopped;
        if early {
            self.inform(msg::STOP_POINT_NOT_REACHED, [])?;
        }
        // A full backup with a stop time is the beginning of a chain.
        let recover = !options.no_recovery && !early;
        if recover {
            instance.end_restore(db, options.restricted)?;
        }
        instance.error_log().write(
            "Restore",
            &format!("{command} of '{name}' from file {} is complete.", done.header.position),
        );
        self.processed(command, &name, &files, done.header.position, begin.elapsed())?;
        Ok(done)
    }
}

/// Filegroups that were added since the last step.
fn add_filegroups(entry: &mut DbEntry, header: &SetHeader) {
    let now = DescribedDatabase::read(&header.engine).filegroups;
    entry.filegroups.extend(now.into_iter().skip(entry.filegroups.len()));
}

/// 3118: only a full backup makes a database.
fn missing(name: &str) -> SqlError {
    SqlError::of(msg::RESTORE_DATABASE_NOT_FOUND, [&name])
}

fn remove_files(instance: &InstanceCore, entry: &DbEntry) {
    for file in &entry.files {
        // What is not there is not in the way; what stays is met when its place is to be taken.
        let _ = instance.disk.remove(&file.path);
    }
}
