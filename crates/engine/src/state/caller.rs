//! Who runs a session's statements: the login that it belongs to, or the program that has opened the instance itself.

use std::sync::Arc;

use catalog::Db;
use catalog::security::{SA, SA_SID, Security};
use compact_str::CompactString;

use super::core::SessionCore;

/// Whose session it is.
pub struct Caller {
    /// Of the program itself: nothing is asked.
    system: bool,
    login: i32,
    name: CompactString,
    sid: Arc<[u8]>,
}

impl Caller {
    /// A session of the program itself, as `sa`.
    pub fn system() -> Caller {
        Caller {
            system: true,
            login: SA,
            name: CompactString::const_new("sa"),
            sid: SA_SID.as_slice().into(),
        }
    }

    /// A session of a login.
    pub fn login(id: i32, name: &str, sid: &Arc<[u8]>) -> Caller {
        Caller { system: false, login: id, name: name.into(), sid: sid.clone() }
    }

    /// principal_id of the login.
    pub fn login_id(&self) -> i32 {
        self.login
    }

    /// Name of the login.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// sid of the login.
    pub fn sid(&self) -> &[u8] {
        &self.sid
    }

    /// Whether the program itself runs it.
    pub fn is_system(&self) -> bool {
        self.system
    }
}

impl SessionCore {
    /// Principals and permissions of a database as the session's transaction sees them.
    pub(crate) fn security(&self, db: &Db) -> Arc<Security> {
        match self.transactions.ddl.iter().rev().find_map(|change| change.security_of(db)) {
            Some(own) => own.clone(),
            None => db.security(),
        }
    }
}

impl SessionCore {
    /// Name of the login that runs the statement.
    pub(crate) fn login_name(&self) -> CompactString {
        if self.caller.is_system() { self.login.clone() } else { self.caller.name().into() }
    }

    /// principal_id of the user that the caller is in the current database.
    pub(crate) fn user_id(&self) -> i32 {
        catalog::security::DBO
    }
}
