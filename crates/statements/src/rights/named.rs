//! Rights to BACKUP and RESTORE, which may name their databases by variables, and the owner of a
//! new database. Those to DBCC are in `dbcc/rights.rs`.

use std::sync::Arc;

use catalog::security::{DBO, Permission, Principal, Scope};
use catalog::{Db, FIRST_USER_DB};
use syntax::ast::{Backup, NameOrVariable, Restore, RestoreKind, StmtKind};
use types::{SqlError, msg};

use super::{in_database, sysadmin};
use crate::StmtCtx;
use instance::security::change::SecurityChange;

impl StmtCtx<'_> {
    /// A database belongs to the login that makes it.
    pub(crate) fn own_database_made(&mut self, name: &str) -> Result<(), SqlError> {
        if self.core.may_all() || self.core.identity.caller.login_id() == 0 {
            return Ok(());
        }
        let db = self.core.host().database(name)?;
        let sid: Arc<[u8]> = self.core.identity.caller.sid().into();
        self.core.begin_statement(true)?;
        let owned = SecurityChange::begin(self.core, &db).and_then(|mut change| {
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
}
