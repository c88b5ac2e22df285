//! CREATE DATABASE, also FOR ATTACH, and DROP DATABASE.

use std::sync::Arc;

use syntax::ast::{CreateDatabase, FileSpec, Ident};
use txn::RecoveryModel;
use types::{Collation, SqlError, msg};

use super::StmtCtx;
use catalog::clock;
use catalog::errors;
use catalog::settings::DbSettings;
use catalog::{Db, MODEL};
use ddl::option_rules;
use instance::InstanceCore;
use instance::OfInstance;
use instance::attach::Attach;
use instance::file_specs;
use instance::permit::PermitReach;

/// Longest name of a database whose log file is named after it.
const MAX_NAME: usize = 123;

impl StmtCtx<'_> {
    pub(super) fn create_database(&mut self, stmt: &CreateDatabase) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("CREATE DATABASE"));
        }
        if stmt.snapshot_of.is_some() {
            return Err(errors::not_supported("CREATE DATABASE AS SNAPSHOT"));
        }
        option_rules::check("CREATE DATABASE", &stmt.options, option_rules::DATABASE)?;
        if stmt.containment.as_deref().is_some_and(|containment| containment != "NONE") {
            return Err(SqlError::of(msg::CONTAINED_NOT_ENABLED, []));
        }
        self.core.instance().check_writable()?;
        let name = stmt.name.value.as_str();
        if name.chars().count() > MAX_NAME {
            return Err(SqlError::of(
                msg::NAME_TOO_LONG,
                [&"name", &name.chars().take(20).collect::<String>(), &MAX_NAME],
            ));
        }
        if let Some(how) = &stmt.attach {
            return self.attach_database(stmt, how == "ATTACH_REBUILD_LOG");
        }
        let files = file_specs::from_create(stmt).map_err(|e| self.create_failed(e))?;
        let log = files.files.iter().find(|f| f.log);
        let instance = self.core.instance().clone();
        let model = instance.db_by_id(MODEL).filter(|model| model.check_usable().is_ok());
        let mut settings = DbSettings {
            create_date: clock::now_parts(),
            default_filegroup: files.default_filegroup,
            ..model
                .as_ref()
                .map_or_else(DbSettings::default, |model| model.settings().for_new_database())
        };
        if let Some(log) = log {
            settings.log_growth = log.growth;
            settings.log_max_size = log.max_size;
            settings.log_min_size = log.size;
        }
        if let Some(collation) = &stmt.collation {
            let known = bind::type_names::collation(collation, Collation::DEFAULT, 3)?;
            settings.collation = known.name();
        }
        let _turn = instance.changing.lock();
        check_free_name(&instance, name)?;
        let id = instance.free_database_id();
        let reach = PermitReach::of(self.core);
        let recovery = model.as_ref().map_or(RecoveryModel::Full, |model| model.recovery_model());
        let made = instance.create_database(reach, id, name, &files, &settings, recovery, 0);
        let db = made.map_err(|e| self.create_failed(e))?;
        match model {
            Some(model) => delay_as(&db, &model),
            None => Ok(()),
        }
    }

    /// FOR ATTACH, FOR ATTACH_REBUILD_LOG. Errors: 1801; the reason, then 1813.
    fn attach_database(&mut self, stmt: &CreateDatabase, rebuild: bool) -> Result<(), SqlError> {
        if !stmt.filegroups.is_empty() || stmt.collation.is_some() || stmt.log.len() > 1 {
            return Err(errors::not_supported(
                "CREATE DATABASE FOR ATTACH with FILEGROUP, COLLATE or several logs",
            ));
        }
        if let Some(option) = stmt.options.first() {
            return Err(errors::not_supported(&format!(
                "CREATE DATABASE FOR ATTACH WITH {}",
                option.name
            )));
        }
        let sized = |f: &FileSpec| f.size.is_some() || f.max_size.is_some() || f.growth.is_some();
        if stmt.primary.iter().chain(&stmt.log).any(sized) {
            return Err(errors::not_supported(
                "SIZE, MAXSIZE and FILEGROWTH of a file that is attached",
            ));
        }
        let named = |f: &FileSpec| f.filename.clone().ok_or_else(|| errors::syntax_near("FOR"));
        let what = Attach {
            name: &stmt.name.value,
            files: stmt.primary.iter().map(named).collect::<Result<_, _>>()?,
            log: stmt.log.first().map(named).transpose()?,
            rebuild,
            reach: PermitReach::of(self.core),
        };
        let instance = self.core.instance().clone();
        match attach(&instance, &what) {
            Ok(None) => Ok(()),
            Ok(Some(log)) => self.sink.message(&new_log(&log)),
            Err((last, reason)) => {
                reason.into_iter().for_each(|reason| self.first_error(reason));
                Err(last)
            }
        }
    }

    /// The reason goes first, then what failed: as SQL Server reports it.
    fn create_failed(&mut self, reason: SqlError) -> SqlError {
        if reason.number == 1802 {
            return reason;
        }
        self.first_error(reason);
        SqlError::of(msg::CREATE_DATABASE_FILES_FAILED, [])
    }

    pub(super) fn drop_databases(
        &mut self,
        names: &[Ident],
        if_exists: bool,
    ) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("DROP DATABASE"));
        }
        for name in names {
            self.drop_database(&name.value, if_exists)?;
        }
        Ok(())
    }

    fn drop_database(&mut self, name: &str, if_exists: bool) -> Result<(), SqlError> {
        let instance = self.core.instance().clone();
        instance.check_writable()?;
        let _turn = instance.changing.lock();
        if InstanceCore::is_reserved_name(name) {
            return Err(SqlError::of(msg::DROP_SYSTEM_DATABASE, [&name]));
        }
        let Some(db) = instance.find_db(name) else {
            return if if_exists { Ok(()) } else { Err(errors::cannot_drop("database", name)) };
        };
        let in_use = || SqlError::of(msg::DROP_DATABASE_IN_USE, [&name]);
        let _closed = db.close_if_unused().ok_or_else(in_use)?;
        let busy = db.storage_if_open().is_some_and(|s| !s.txns().active().is_empty());
        if busy { Err(in_use()) } else { instance.drop_database(&db) }
    }
}

/// DELAYED_DURABILITY is model's too.
fn delay_as(db: &Db, model: &Db) -> Result<(), SqlError> {
    let setting = |db: &Db| -> Result<_, SqlError> {
        let storage = db.storage()?;
        let settings = storage.settings();
        Ok((settings.delayed, settings.window))
    };
    let wanted = setting(model)?;
    if setting(db)? == wanted {
        return Ok(());
    }
    let changed = db.storage()?.change_settings(|s| (s.delayed, s.window) = wanted);
    changed.map_err(|e| errors::db_error(db, &e))
}

/// 1801: the name is taken.
fn check_free_name(instance: &InstanceCore, name: &str) -> Result<(), SqlError> {
    if instance.find_db(name).is_some() || InstanceCore::is_reserved_name(name) {
        return Err(SqlError::of(msg::DATABASE_EXISTS, [&name]));
    }
    Ok(())
}

/// Attaches a database. Returns the log that was rebuilt; the error, and the reason that goes
/// before it.
pub fn attach(
    instance: &Arc<InstanceCore>,
    what: &Attach<'_>,
) -> Result<Option<String>, (SqlError, Option<SqlError>)> {
    let _turn = instance.changing.lock();
    let allowed = instance.check_writable().and_then(|()| check_free_name(instance, what.name));
    allowed.map_err(|e| (e, None))?;
    instance.attach(what).map_err(|(last, reason)| (last, Some(reason)))
}

/// The message for a log that was rebuilt.
pub fn new_log(shown: &str) -> SqlError {
    SqlError::of(msg::NEW_LOG_CREATED, [&shown])
}
