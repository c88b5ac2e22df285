//! Who a session's caller is, by name and number, and EXECUTE AS and REVERT.

use std::sync::Arc;

use catalog::Db;
use catalog::security::{Class, DBO, Kind, Permission, Principal, Securable, Security};
use compact_str::CompactString;
use types::SqlError;

use super::caller::Acting;
use super::core::SessionCore;

/// Deepest nesting of EXECUTE AS.
const MAX_DEPTH: usize = 32;

impl SessionCore {
    /// Principals and permissions of a database as the session's transaction sees them.
    pub(crate) fn security(&self, db: &Db) -> Arc<Security> {
        match self.transactions.ddl.iter().rev().find_map(|change| change.security_of(db)) {
            Some(own) => own.clone(),
            None => db.security(),
        }
    }

    /// Name of the login that runs the statement.
    pub(crate) fn login_name(&self) -> CompactString {
        if self.caller.is_powerful() { self.login.clone() } else { self.caller.name().into() }
    }

    /// principal_id of the user that the caller is in the current database.
    pub(crate) fn user_id(&mut self) -> i32 {
        if self.may_all() {
            return DBO;
        }
        let db = self.db().clone();
        self.user_in(&db)
    }

    /// EXECUTE AS USER. Error: 15517.
    pub(crate) fn act_as_user(&mut self, name: &str) -> Result<(), SqlError> {
        let refused = || {
            let text = format!(
                "Cannot execute as the database principal because the principal \"{name}\" does not exist, this type of \
                 principal cannot be impersonated, or you do not have permission."
            );
            SqlError::new(15_517, 16, 1, text)
        };
        let db = self.db().clone();
        let security = self.security(&db);
        let user = security.database.find(name).filter(|p| can_be(p, 3..=4)).cloned().ok_or_else(refused)?;
        if self.user_id() != user.id || self.caller.acting_user(db.id()).is_none() {
            let on = Securable::new(Class::User, user.id);
            if !self.has(&db, on, 0, Permission::Impersonate) {
                return Err(refused());
            }
        }
        self.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&user);
        self.caller.act(Acting::User { db: db.id(), id, name, sid });
        Ok(())
    }

    /// EXECUTE AS LOGIN. Error: 15406.
    pub(crate) fn act_as_login(&mut self, name: &str) -> Result<(), SqlError> {
        let refused = || {
            let text = format!(
                "Cannot execute as the server principal because the principal \"{name}\" does not exist, this type of \
                 principal cannot be impersonated, or you do not have permission."
            );
            SqlError::new(15_406, 16, 1, text)
        };
        let master = self.instance().database("master")?;
        let security = self.security(&master);
        let login = security.server.find(name).filter(|p| can_be(p, 0..=0)).cloned().ok_or_else(refused)?;
        let powerful = security.server.is_member(catalog::security::SYSADMIN, login.id);
        let may = self.is_sysadmin()
            || (!powerful
                && self.has(&master, Securable::new(Class::Login, login.id), 0, Permission::Impersonate));
        if !may {
            return Err(refused());
        }
        self.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&login);
        self.caller.act(Acting::Login { id, name, sid });
        // It must be able to use the database that it finds itself in.
        let db = self.db().clone();
        if let Err(e) = self.effective(&db).map(drop) {
            let depth = self.caller.depth() - 1;
            self.caller.return_to(depth);
            return Err(e);
        }
        Ok(())
    }

    fn check_depth(&self) -> Result<(), SqlError> {
        match self.caller.depth() < MAX_DEPTH {
            true => Ok(()),
            false => {
                let text = format!("EXECUTE AS is nested too deeply (limit {MAX_DEPTH}).");
                Err(SqlError::new(217, 16, 1, text))
            }
        }
    }

    /// REVERT: back to whom acted before, at most to whom acted when the scope began.
    pub(crate) fn revert(&mut self) {
        let depth = self.caller.depth();
        if depth > self.acting_floor {
            self.caller.return_to(depth - 1);
        }
    }
}

/// Whether a principal is one that another can act as.
fn can_be(p: &Principal, never: std::ops::RangeInclusive<i32>) -> bool {
    p.kind == Kind::User && !never.contains(&p.id)
}
