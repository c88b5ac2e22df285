//! Rights to BACKUP, RESTORE and DBCC, whose databases and tables may be named by variables; and
//! whose a new database is. Guarantees: a DBCC command that is not here is the sysadmin's.

use std::sync::Arc;

use catalog::security::{Class, DBO, Permission, Principal, Scope, Securable};
use catalog::{Db, FIRST_USER_DB, fold_name};
use syntax::ast::{Backup, Dbcc, NameOrVariable, Restore, RestoreKind, StmtKind};
use types::{SqlError, Value, msg};

use super::{in_database, server, sysadmin};
use crate::StmtCtx;
use instance::security::change::Change;

impl StmtCtx<'_> {
    /// A database belongs to the login that makes it.
    pub(crate) fn own_database_made(&mut self, name: &str) -> Result<(), SqlError> {
        if self.core.may_all() || self.core.identity.caller.login_id() == 0 {
            return Ok(());
        }
        let db = self.core.host().database(name)?;
        let sid: Arc<[u8]> = self.core.identity.caller.sid().into();
        self.core.begin_statement(true)?;
        let owned = Change::begin(self.core, &db).and_then(|mut change| {
            let security = change.security();
            let dbo =
                security.database.get(DBO).ok_or_else(|| SqlError::internal("there is no dbo"))?;
            change.put_principal(Scope::Database, &Principal { sid, ..Principal::clone(dbo) })?;
            change.finish()
        });
        self.core.end_statement(owned)
    }

    /// Checks what [`check`] leaves to the statement because names may be in variables.
    pub(crate) fn check_named(&mut self, kind: &StmtKind) -> Result<(), SqlError> {
        match kind {
            _ if self.core.may_all() => Ok(()),
            StmtKind::Backup(backup) => self.may_back_up(backup),
            StmtKind::Restore(restore) => self.may_restore(restore),
            StmtKind::Dbcc(dbcc) => self.may_dbcc(dbcc),
            _ => Ok(()),
        }
    }

    fn database_named(&self, name: &NameOrVariable) -> Result<Option<Arc<Db>>, SqlError> {
        let name = match name {
            NameOrVariable::Name(name) => name.value.clone(),
            NameOrVariable::Variable(variable) => {
                let (slot, _) = self.variables.scope.find(variable)?;
                let value = self.variables.values.get(slot).and_then(|v| v.as_str());
                value.unwrap_or_default().into()
            }
        };
        Ok(self.core.host().find_db(&name))
    }

    fn may_back_up(&mut self, backup: &Backup) -> Result<(), SqlError> {
        let Some(db) = self.database_named(&backup.database)? else { return Ok(()) };
        let permission =
            if backup.log { Permission::BackupLog } else { Permission::BackupDatabase };
        in_database(self.core, &db, permission)
    }

    /// Over a database that is there: its owner and whoever may make databases; never a system
    /// database but by a sysadmin.
    fn may_restore(&mut self, restore: &Restore) -> Result<(), SqlError> {
        let db = match &restore.database {
            Some(name) => self.database_named(name)?,
            None => None,
        };
        if db.as_ref().is_some_and(|db| db.id() < FIRST_USER_DB) {
            return sysadmin(self.core);
        }
        let creates = self.core.has_server(Permission::CreateAnyDatabase);
        let is_set = matches!(restore.kind, RestoreKind::Database | RestoreKind::Log);
        match db {
            Some(db) if is_set => {
                let alters = self.core.has_server(Permission::AlterAnyDatabase);
                match (creates && alters) || self.core.owns_database(&db) {
                    true => Ok(()),
                    false => Err(SqlError::of(msg::RESTORE_PERMISSION, [&db.name()])),
                }
            }
            _ if creates => Ok(()),
            _ => {
                Err(SqlError::of(msg::DATABASE_PERMISSION_DENIED, [&"CREATE DATABASE", &"master"]))
            }
        }
    }

    fn may_dbcc(&mut self, dbcc: &Dbcc) -> Result<(), SqlError> {
        let named = dbcc.args.first().map(|e| self.value(e)).transpose()?;
        let current = self.core.db().clone();
        let may = match dbcc.name.to_ascii_uppercase().as_str() {
            "USEROPTIONS" | "TRACESTATUS" => true,
            "CHECKDB" | "CHECKALLOC" | "CHECKCATALOG" | "SHRINKDATABASE" | "LOGINFO"
            | "OPENTRAN" | "UPDATEUSAGE" => match self.database_given(named.as_ref()) {
                Some(db) => self.core.owns_database(&db),
                None => self.core.is_sysadmin(),
            },
            // A file of the current database.
            "SHRINKFILE" | "CHECKFILEGROUP" | "CHECKCONSTRAINTS" => {
                self.core.owns_database(&current) || self.core.is_sysadmin()
            }
            "CLEANTABLE" => {
                let given = self.database_given(named.as_ref());
                given.is_some_and(|db| self.core.owns_database(&db)) || self.core.is_sysadmin()
            }
            // The own session's is everyone's to see.
            "INPUTBUFFER"
                if named.as_ref().and_then(|v| v.as_i64()) == Some(self.core.spid().into()) =>
            {
                true
            }
            "INPUTBUFFER" | "PROCCACHE" => {
                return server(self.core, Permission::ViewServerPerformanceState);
            }
            "CHECKTABLE" | "SHOW_STATISTICS" | "CHECKIDENT" => {
                let name = named.as_ref().and_then(|v| v.as_str()).unwrap_or_default();
                self.may_look_into(name, dbcc.name.eq_ignore_ascii_case("SHOW_STATISTICS"))?
            }
            "SQLPERF" => {
                let clears = dbcc.args.len() > 1;
                let needed = if clears {
                    Permission::AlterServerState
                } else {
                    Permission::ViewServerPerformanceState
                };
                return server(self.core, needed);
            }
            "FREEPROCCACHE" | "DROPCLEANBUFFERS" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" => {
                return server(self.core, Permission::AlterServerState);
            }
            _ => self.core.is_sysadmin(),
        };
        if may {
            return Ok(());
        }
        Err(SqlError::of(
            msg::DBCC_PERMISSION,
            [&self.core.identity.login_name(), &dbcc.name, &current.name()],
        ))
    }

    /// The database that the first argument of a DBCC command gives by name or id; the current one
    /// without an argument, and of 0.
    fn database_given(&self, argument: Option<&Value>) -> Option<Arc<Db>> {
        let Some(value) = argument else { return Some(self.core.db().clone()) };
        match (value.as_str(), value.as_i64()) {
            (Some(name), _) => self.core.host().find_db(name),
            (_, Some(0)) => Some(self.core.db().clone()),
            (_, Some(id)) => i32::try_from(id).ok().and_then(|id| self.core.host().db_by_id(id)),
            _ => None,
        }
    }

    /// Whether the table of this name may be looked into by DBCC, or its statistics be shown. A
    /// table that is not there is the command's affair.
    fn may_look_into(&mut self, name: &str, statistics: bool) -> Result<bool, SqlError> {
        let parts = metadata::functions::metadata::name_parts(name).unwrap_or_default();
        let database = parts.get(2).filter(|part| !part.is_empty());
        let db = match database {
            Some(name) => self.core.host().database(name)?,
            None => self.core.db().clone(),
        };
        let part = |at: usize| parts.get(at).map_or("", |part| part.as_str());
        let table = db.catalog().find(part(1), part(0)).cloned();
        let Some(table) = table else { return Ok(true) };
        let schema = db.catalog().schemas.get(&fold_name(&table.schema)).copied().unwrap_or(0);
        let on = Securable::new(Class::Object, table.object_id);
        // Values of rows are in the steps of a histogram, of those too that a security policy or a
        // mask hides.
        let hidden = db.catalog().policies.contains_key(&table.object_id)
            || table.columns.iter().any(|c| c.mask.is_some());
        let permission = if statistics && !hidden { Permission::Select } else { Permission::Alter };
        Ok(self.core.has(&db, on, schema, permission))
    }
}
