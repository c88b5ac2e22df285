//! Who may run a DBCC command. Its databases and tables may be named by variables, so it is checked
//! when their values are known. Guarantee: a command that is in no list is the sysadmin's.

use std::sync::Arc;

use catalog::security::{Class, Permission, Securable};
use catalog::{Db, fold_name};
use syntax::ast::Dbcc;
use types::{SqlError, Value, msg};

use super::{Right, commands};
use crate::StmtCtx;
use crate::rights::server;

impl StmtCtx<'_> {
    /// Whether the session may run a DBCC command.
    ///
    /// # Errors
    /// 300, 7983.
    pub(crate) fn may_dbcc(&mut self, dbcc: &Dbcc) -> Result<(), SqlError> {
        let named = dbcc.args.first().map(|e| self.value(e)).transpose()?;
        let named = named.as_ref();
        let current = self.core.db().clone();
        let right = commands::find(&dbcc.name).map_or(Right::Sysadmin, |known| known.right);
        let may = match right {
            Right::Everybody => true,
            Right::Owner => self.core.owns_database(&current) || self.core.is_sysadmin(),
            Right::OwnerOfNamed => {
                let given = self.database_given(named);
                given.is_some_and(|db| self.core.owns_database(&db)) || self.core.is_sysadmin()
            }
            Right::Table | Right::Statistics => {
                let name = named.and_then(|v| v.as_str()).unwrap_or_default();
                self.may_look_into(name, matches!(right, Right::Statistics))?
            }
            Right::Session if named.and_then(Value::as_i64) == Some(self.core.spid().into()) => {
                true
            }
            Right::Session => return server(self.core, Permission::ViewServerPerformanceState),
            Right::Clears if dbcc.args.len() > 1 => {
                return server(self.core, Permission::AlterServerState);
            }
            Right::Clears => return server(self.core, Permission::ViewServerPerformanceState),
            Right::Server(permission) => return server(self.core, permission),
            Right::Sysadmin => self.core.is_sysadmin(),
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
        let parts = metadata::names::name_parts(name).unwrap_or_default();
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
