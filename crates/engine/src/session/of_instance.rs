//! What an instance gives its callers beyond sessions of logins: a session, and a check that runs in one.
//! Guarantee: an instance that is closing gives none (6005).

use std::sync::Arc;

use types::SqlError;

use super::Session;
use crate::dbcc::check::{CheckReport, check_all};
use crate::instance::Instance;

impl Instance {
    /// A new session in master.
    ///
    /// # Errors
    /// 6005 when the instance is shutting down.
    pub fn session(self: &Arc<Self>) -> Result<Session, SqlError> {
        Session::of(self)
    }

    /// Checks a database: what DBCC CHECKDB does. Errors: 911 no such database, 945 and its kin, I/O that is not damage.
    pub fn check_database(self: &Arc<Self>, name: &str) -> Result<CheckReport, SqlError> {
        let db = self.database(name)?;
        let mut session = Session::of(self)?;
        session.with_core(|core| {
            core.begin_statement(false)?;
            let report = check_all(core, &db);
            core.end_statement(report)
        })
    }
}
