//! ALTER DATABASE: options, files, name. Changes are durable when the statement ends and are not
//! undone by a rollback, so the statement is refused inside a transaction.

use std::sync::Arc;

use syntax::ast::{
    AlterDatabase, AlterDatabaseAction, Ident, OptionItem, OptionValue, Termination,
};
use txn::{DelayedDurability, LossWindow, RecoveryModel};
use types::{Collation, SqlError, msg};

use super::StmtCtx;
use super::database_state::{DatabasesTurn, no_such_database};
use catalog::db::{DbStatus, UserAccess};
use catalog::errors::{self, db_error};
use catalog::registry::ALIGN_TO_DEVICE;
use catalog::settings::DbSettings;
use catalog::{Db, MODEL};
use ddl::option_rules::switch;
use instance::InstanceCore;
use instance::OfInstance;
use instance::boot_text::save_settings;
use instance::scoped;

/// Compatibility levels that exist.
const LEVELS: [i64; 8] = [90, 100, 110, 120, 130, 140, 150, 160];

/// Options of T-SQL that are refused whatever they say.
const NEVER: &[&str] = &[
    "AUTOMATIC_TUNING",
    "CHANGE_TRACKING",
    "CONTAINMENT",
    "DATA_RETENTION",
    "DEFAULT_FULLTEXT_LANGUAGE",
    "DEFAULT_LANGUAGE",
    "ENABLE_BROKER",
    "ENCRYPTION",
    "ERROR_BROKER_CONVERSATIONS",
    "LEDGER",
    "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT",
    "NESTED_TRIGGERS",
    "NEW_BROKER",
    "PERSISTENT_LOG_BUFFER",
    "REMOTE_DATA_ARCHIVE",
    "SUPPLEMENTAL_LOGGING",
    "TEMPORAL_HISTORY_RETENTION",
    "TRANSFORM_NOISE_WORDS",
    "TWO_DIGIT_YEAR_CUTOFF",
    "VARDECIMAL_STORAGE_FORMAT",
];

/// 40510 of an option.
fn never(option: &OptionItem) -> SqlError {
    errors::not_supported(&format!("ALTER DATABASE SET {}", option.name))
}

impl StmtCtx<'_> {
    pub(super) fn alter_database(&mut self, stmt: &AlterDatabase) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("ALTER DATABASE"));
        }
        let instance = self.core.instance().clone();
        instance.check_writable()?;
        let db = match &stmt.name {
            None => self.core.db().clone(),
            Some(name) => instance
                .find_db(&name.value)
                .ok_or_else(|| self.alter_failed(no_such_database(&name.value)))?,
        };
        let mut turn: DatabasesTurn<'_> = Some(instance.changing.lock());
        let done = self.alter(&instance, &db, &stmt.action, &mut turn);
        drop(turn);
        done.map_err(|e| self.alter_failed(e))
    }

    /// The reason goes first, then 5069: as SQL Server reports it.
    fn alter_failed(&mut self, reason: SqlError) -> SqlError {
        if reason.number == errors::cancelled().number {
            return reason;
        }
        self.first_error(reason);
        SqlError::of(msg::ALTER_DATABASE_FAILED, [])
    }

    fn alter<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        action: &AlterDatabaseAction,
        turn: &mut DatabasesTurn<'i>,
    ) -> Result<(), SqlError> {
        let ending = match action {
            AlterDatabaseAction::Set { termination, .. }
            | AlterDatabaseAction::ModifyFilegroup { termination, .. } => *termination,
            _ => None,
        };
        self.check_held(instance, db, ending, turn)?;
        check_model(db, action)?;
        match action {
            AlterDatabaseAction::Set { options, termination } => {
                self.set_options(instance, db, options, *termination, turn)
            }
            AlterDatabaseAction::ModifyFile(spec) => self.modify_file(instance, db, spec),
            AlterDatabaseAction::ModifyName(name) => {
                self.rename_database(instance, db, &name.value)
            }
            AlterDatabaseAction::ModifyFilegroup { name, change, .. } => {
                self.modify_filegroup(instance, db, &name.value, change)
            }
            AlterDatabaseAction::Collate(name) => self.set_collation(db, name),
            AlterDatabaseAction::AddFile { files, filegroup } => {
                self.add_files(instance, db, files, filegroup.as_ref())
            }
            AlterDatabaseAction::AddLogFile(_) => {
                Err(errors::not_supported("ALTER DATABASE ADD LOG FILE"))
            }
            AlterDatabaseAction::RemoveFile(name) => self.remove_file(instance, db, name),
            AlterDatabaseAction::AddFilegroup { name, contains } => {
                if contains.is_some() {
                    return Err(errors::not_supported("ADD FILEGROUP ... CONTAINS"));
                }
                self.add_filegroup(instance, db, &name.value)
            }
            AlterDatabaseAction::RemoveFilegroup(name) => {
                self.remove_filegroup(instance, db, &name.value)
            }
            AlterDatabaseAction::ScopedConfiguration { secondary, name, value } => {
                scoped::set(db, *secondary, name, value)
            }
            AlterDatabaseAction::ClearProcedureCache { handle: true } => {
                Err(errors::not_supported("CLEAR PROCEDURE_CACHE of one plan"))
            }
            AlterDatabaseAction::ClearProcedureCache { handle: false } => {
                instance.forget_batches();
                Ok(())
            }
        }
    }

    // ---- SET ----

    fn set_options<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        options: &[OptionItem],
        termination: Option<Termination>,
        turn: &mut DatabasesTurn<'i>,
    ) -> Result<(), SqlError> {
        for option in options {
            match option.name.as_str() {
                "QUERY_STORE" => self.set_query_store(instance, db, option)?,
                "ONLINE" => self.set_online(instance, db)?,
                "OFFLINE" => self.set_offline(instance, db, termination, turn)?,
                "READ_ONLY" => self.set_read_only(instance, db, termination, turn)?,
                "SINGLE_USER" => {
                    self.set_user_access(instance, db, UserAccess::Single, termination, turn)?;
                }
                "RESTRICTED_USER" => {
                    self.set_user_access(instance, db, UserAccess::Restricted, termination, turn)?;
                }
                "MULTI_USER" => {
                    self.set_user_access(instance, db, UserAccess::Multi, termination, turn)?
                }
                "EMERGENCY" => return Err(errors::not_supported("ALTER DATABASE SET EMERGENCY")),
                "RECOVERY" => {
                    let model = match word(option) {
                        "FULL" => RecoveryModel::Full,
                        "SIMPLE" => RecoveryModel::Simple,
                        "BULK_LOGGED" => RecoveryModel::BulkLogged,
                        other => return Err(errors::syntax_near(other)),
                    };
                    let storage = db.storage()?;
                    let changed = storage.change_settings(|s| s.recovery_model = model);
                    changed.map_err(|e| db_error(db, &e))?;
                }
                "DELAYED_DURABILITY" => {
                    let setting = match word(option) {
                        "DISABLED" => DelayedDurability::Disabled,
                        "ALLOWED" => DelayedDurability::Allowed,
                        "FORCED" => DelayedDurability::Forced,
                        other => return Err(errors::syntax_near(other)),
                    };
                    let storage = db.storage()?;
                    let window = self.loss_window(option, storage.loss_window())?;
                    let changed =
                        storage.change_settings(|s| (s.delayed, s.window) = (setting, window));
                    changed.map_err(|e| db_error(db, &e))?;
                }
                "LOG_ALIGNMENT" => {
                    let alignment = match (word(option), self.number(option)?) {
                        ("AUTO", _) => 0,
                        ("DEVICE", _) => ALIGN_TO_DEVICE,
                        (_, Some(512)) => 512,
                        (_, Some(4096)) => 4096,
                        _ => return Err(errors::syntax_near("LOG_ALIGNMENT")),
                    };
                    let sector = db.storage()?.log().sectors().logical;
                    if matches!(alignment, 512 | 4096) && u32::from(alignment) < sector {
                        let entry = db.entry();
                        let log =
                            entry.files.iter().find(|file| file.log).map_or("", |file| &file.shown);
                        return Err(errors::block_below_sector(log, alignment, sector));
                    }
                    db.change_entry(|entry| entry.log_alignment = alignment);
                    instance.save_registry()?;
                }
                "READ_COMMITTED_SNAPSHOT" => {
                    let on = switch(option)?;
                    if !db.is_users_own() && db.id() != MODEL {
                        return Err(SqlError::of(
                            msg::OPTION_NOT_SETTABLE,
                            [&option.name, &db.name()],
                        ));
                    }
                    save_settings(
                        db,
                        &DbSettings { read_committed_snapshot: on, ..db.settings() },
                    )?;
                    // Plans say how tables are read.
                    instance.forget_batches();
                }
                _ => {
                    let mut settings = db.settings();
                    self.set_option(&mut settings, option)?;
                    save_settings(db, &settings)?;
                }
            }
        }
        Ok(())
    }

    /// `DELAYED_DURABILITY = ... (WINDOW_MS = n, WINDOW_KB = n)`: what is not named stays as it is.
    fn loss_window(
        &self,
        option: &OptionItem,
        mut window: LossWindow,
    ) -> Result<LossWindow, SqlError> {
        for limit in &option.nested {
            let number = self.number(limit)?.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            match limit.name.as_str() {
                "WINDOW_MS" => window.ms = number,
                "WINDOW_KB" => window.kb = number,
                other => return Err(errors::syntax_near(other)),
            }
        }
        if !window.is_valid() {
            return Err(SqlError::of(
                msg::DURABILITY_WINDOW_RANGE,
                [&LossWindow::MAX_MS, &LossWindow::MAX_KB],
            ));
        }
        Ok(window)
    }

    fn set_option(&self, settings: &mut DbSettings, option: &OptionItem) -> Result<(), SqlError> {
        let on = || switch(option);
        match option.name.as_str() {
            "ALLOW_SNAPSHOT_ISOLATION" => settings.snapshot_isolation = on()?,
            "ACCELERATED_DATABASE_RECOVERY" => settings.accelerated_recovery = on()?,
            "MIXED_PAGE_ALLOCATION" => settings.mixed_page_allocation = on()?,
            "AUTO_CLOSE" => settings.auto_close = on()?,
            "AUTO_SHRINK" => settings.auto_shrink = on()?,
            "AUTO_CREATE_STATISTICS" => {
                if option.nested.iter().any(|one| one.name == "INCREMENTAL" && one.is_on()) {
                    return Err(errors::not_supported(
                        "AUTO_CREATE_STATISTICS ON (INCREMENTAL = ON)",
                    ));
                }
                settings.auto_create_stats = on()?;
            }
            "AUTO_UPDATE_STATISTICS" => settings.auto_update_stats = on()?,
            "AUTO_UPDATE_STATISTICS_ASYNC" => settings.async_stats = on()?,
            "READ_WRITE" => settings.read_only = false,
            "PAGE_VERIFY" => {
                settings.page_verify = match word(option) {
                    "NONE" => 0,
                    "TORN_PAGE_DETECTION" => 1,
                    "CHECKSUM" => 2,
                    other => return Err(errors::syntax_near(other)),
                }
            }
            "COMPATIBILITY_LEVEL" => {
                let level = self.number(option)?.unwrap_or(0);
                if !LEVELS.contains(&level) {
                    return Err(SqlError::of(msg::COMPATIBILITY_LEVEL, []));
                }
                settings.compatibility_level = level as u8;
            }
            "TARGET_RECOVERY_TIME" => {
                let seconds = match option.unit.as_deref() {
                    Some("MINUTES") => self.number(option)?.map(|n| n.saturating_mul(60)),
                    _ => self.number(option)?,
                };
                settings.target_recovery_time = seconds
                    .and_then(|n| i32::try_from(n).ok())
                    .filter(|n| *n >= 0)
                    .ok_or_else(|| SqlError::of(msg::RECOVERY_TIME_RANGE, []))?;
            }
            "ANSI_NULLS" => settings.session_defaults.ansi_nulls = on()?,
            "ANSI_PADDING" => settings.session_defaults.ansi_padding = on()?,
            "ANSI_WARNINGS" => settings.session_defaults.ansi_warnings = on()?,
            "ARITHABORT" => settings.session_defaults.arithabort = on()?,
            "CONCAT_NULL_YIELDS_NULL" => settings.session_defaults.concat_null_yields_null = on()?,
            "QUOTED_IDENTIFIER" => settings.session_defaults.quoted_identifier = on()?,
            "NUMERIC_ROUNDABORT" => settings.session_defaults.numeric_roundabort = on()?,
            "CURSOR_CLOSE_ON_COMMIT" => settings.session_defaults.cursor_close_on_commit = on()?,
            "DATE_CORRELATION_OPTIMIZATION" => settings.date_correlation = on()?,
            // Each database's rights are its own.
            "TRUSTWORTHY" | "DB_CHAINING" | "ANSI_NULL_DEFAULT" | "HONOR_BROKER_PRIORITY" => {
                if on()? {
                    return Err(never(option));
                }
            }
            "FILESTREAM" => {
                let off = |one: &OptionItem| {
                    one.name == "NON_TRANSACTED_ACCESS" && one.value == OptionValue::Off
                };
                if option.nested.is_empty() || !option.nested.iter().all(off) {
                    return Err(never(option));
                }
            }
            "RECURSIVE_TRIGGERS" => settings.recursive_triggers = on()?,
            "CURSOR_DEFAULT" if matches!(word(option), "LOCAL" | "GLOBAL") => {
                settings.local_cursors = word(option) == "LOCAL";
            }
            "PARAMETERIZATION" if matches!(word(option), "SIMPLE" | "FORCED") => {
                settings.forced_parameterization = word(option) == "FORCED";
            }
            "CURSOR_DEFAULT" | "PARAMETERIZATION" => return Err(errors::syntax_near(word(option))),
            "DISABLE_BROKER" => {}
            name if NEVER.contains(&name) => return Err(never(option)),
            other => {
                return Err(SqlError::of(msg::NOT_RECOGNIZED, [&other, &"ALTER DATABASE option"]));
            }
        }
        Ok(())
    }

    pub(super) fn number(&self, option: &OptionItem) -> Result<Option<i64>, SqlError> {
        match &option.value {
            OptionValue::Expr(expr) => Ok(self.value(expr)?.as_i64()),
            _ => Ok(None),
        }
    }

    fn set_online(&self, instance: &Arc<InstanceCore>, db: &Arc<Db>) -> Result<(), SqlError> {
        if db.status() == DbStatus::Online {
            return Ok(());
        }
        if db.status() == DbStatus::Restoring {
            return Err(SqlError::of(msg::ALTER_WHILE_RESTORING, []));
        }
        db.change_entry(|entry| entry.offline = false);
        instance.reopen(db)?;
        instance.save_registry()
    }

    /// The collation of columns that name none. 448 for one that is not known.
    fn set_collation(&self, db: &Arc<Db>, name: &Ident) -> Result<(), SqlError> {
        let known = bind::type_names::collation(name, Collation::DEFAULT, 3)?;
        let settings = DbSettings { collation: known.name(), ..db.settings() };
        save_settings(db, &settings)
    }

    fn rename_database(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        new: &str,
    ) -> Result<(), SqlError> {
        if InstanceCore::is_reserved_name(&db.name()) {
            return Err(SqlError::of(msg::RENAME_SYSTEM_DATABASE, [&db.name()]));
        }
        let other = instance.find_db(new).is_some_and(|other| other.id() != db.id());
        if other || InstanceCore::is_reserved_name(new) {
            return Err(SqlError::of(msg::DATABASE_EXISTS, [&new]).state(1));
        }
        let old = db.name();
        db.set_name(new);
        if let Err(e) = instance.save_registry() {
            db.set_name(&old);
            return Err(e);
        }
        // A list of databases that is lost is made again from what the databases say of themselves.
        // One that cannot be written now says it when it is opened next.
        let mut settings = db.settings();
        settings.note_names(&db.entry());
        if db.check_writable().is_ok() {
            let _ = save_settings(db, &settings);
        }
        instance.forget_batches();
        self.inform(msg::DATABASE_NAME_SET, [&new])
    }
}

/// Of model, whose options new databases get, only options are changed.
///
/// # Errors
/// 5013 a file, 40510.
fn check_model(db: &Db, action: &AlterDatabaseAction) -> Result<(), SqlError> {
    if db.id() != MODEL {
        return Ok(());
    }
    match action {
        AlterDatabaseAction::Set { options, .. }
            if options.iter().any(|o| o.name == "LOG_ALIGNMENT") =>
        {
            Err(errors::not_supported("LOG_ALIGNMENT of model"))
        }
        AlterDatabaseAction::Set { .. }
        | AlterDatabaseAction::ModifyName(_)
        | AlterDatabaseAction::ScopedConfiguration { .. }
        | AlterDatabaseAction::ClearProcedureCache { .. } => Ok(()),
        AlterDatabaseAction::AddFile { .. } | AlterDatabaseAction::AddLogFile(_) => {
            Err(SqlError::of(msg::FILES_OF_MASTER, []))
        }
        AlterDatabaseAction::RemoveFile(_)
        | AlterDatabaseAction::ModifyFile(_)
        | AlterDatabaseAction::AddFilegroup { .. }
        | AlterDatabaseAction::RemoveFilegroup(_)
        | AlterDatabaseAction::ModifyFilegroup { .. }
        | AlterDatabaseAction::Collate(_) => {
            Err(errors::not_supported("a change of files, filegroups or collation of model"))
        }
    }
}

fn word(option: &OptionItem) -> &str {
    match &option.value {
        OptionValue::Word(word) => word,
        OptionValue::On => "ON",
        OptionValue::Off => "OFF",
        _ => "",
    }
}
