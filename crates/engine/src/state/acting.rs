//! Who a session's caller is, by name and number, and what it sees of principals.

use std::sync::Arc;

use catalog::Db;
use catalog::security::Security;
use compact_str::CompactString;

use super::core::SessionCore;

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
