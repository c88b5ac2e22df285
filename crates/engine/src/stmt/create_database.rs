//! CREATE DATABASE and DROP DATABASE.

use syntax::ast::{CreateDatabase, Ident};
use txn::RecoveryModel;
use types::{Collation, SqlError};

use super::{StmtCtx, file_specs, option_rules};
use crate::errors;
use crate::instance::settings::DbSettings;
use crate::instance::{Instance, clock};

/// Longest name of a database whose log file is named after it.
const MAX_NAME: usize = 123;

impl StmtCtx<'_> {
    pub(super) fn create_database(&mut self, stmt: &CreateDatabase) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("CREATE DATABASE"));
        }
        if stmt.attach.is_some() || stmt.snapshot_of.is_some() {
            return Err(errors::not_supported("CREATE DATABASE FOR ATTACH, AS SNAPSHOT"));
        }
        option_rules::check("CREATE DATABASE", &stmt.options, option_rules::DATABASE)?;
        if stmt.containment.as_deref().is_some_and(|containment| containment != "NONE") {
            return Err(errors::not_supported("CREATE DATABASE with CONTAINMENT other than NONE"));
        }
        let name = stmt.name.value.as_str();
        if name.chars().count() > MAX_NAME {
            let text = format!(
                "The name that starts with '{}' is too long. Maximum length is {MAX_NAME}.",
                name.chars().take(20).collect::<String>()
            );
            return Err(SqlError::new(103, 15, 4, text));
        }
        let files = file_specs::from_create(stmt).map_err(|e| self.create_failed(e))?;
        let log = files.files.iter().find(|f| f.log);
        let mut settings = DbSettings {
            create_date: clock::now_parts(),
            default_filegroup: files.default_filegroup,
            ..DbSettings::default()
        };
        if let Some(log) = log {
            settings.log_growth = log.growth;
            settings.log_max_size = log.max_size;
            settings.log_min_size = log.size;
        }
        if let Some(collation) = &stmt.collation {
            let known = Collation::from_name(&collation.value)
                .ok_or_else(|| SqlError::new(448, 16, 3, format!("Invalid collation '{collation}'.")))?;
            settings.collation = known.name().to_string();
        }
        let instance = self.core.instance().clone();
        let _turn = instance.changing.lock();
        if instance.find_db(name).is_some() || Instance::is_reserved_name(name) {
            let text = format!("Database '{name}' already exists. Choose a different database name.");
            return Err(SqlError::new(1801, 16, 3, text));
        }
        let id = instance.free_database_id();
        let made = instance.create_database(id, name, &files, &settings, RecoveryModel::Full, 0);
        made.map(drop).map_err(|e| self.create_failed(e))
    }

    /// The reason goes first, then what failed: as SQL Server reports it.
    fn create_failed(&mut self, reason: SqlError) -> SqlError {
        if reason.number == 1802 {
            return reason;
        }
        self.first_error(reason);
        SqlError::new(
            1802,
            16,
            4,
            "CREATE DATABASE failed. Some file names listed could not be created. Check related errors.",
        )
    }

    pub(super) fn drop_databases(&mut self, names: &[Ident], if_exists: bool) -> Result<(), SqlError> {
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
        let _turn = instance.changing.lock();
        if Instance::is_reserved_name(name) {
            let text = format!("Cannot drop the database '{name}' because it is a system database.");
            return Err(SqlError::new(3708, 16, 1, text));
        }
        let Some(db) = instance.find_db(name) else {
            return if if_exists { Ok(()) } else { Err(errors::cannot_drop("database", name)) };
        };
        let busy = db.users() > 0 || db.storage_if_open().is_some_and(|s| !s.txns().active().is_empty());
        if busy {
            let text = format!("Cannot drop database \"{name}\" because it is currently in use.");
            return Err(SqlError::new(3702, 16, 4, text));
        }
        instance.drop_database(&db)
    }
}
