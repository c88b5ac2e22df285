//! A call of a system procedure, and who may make it.

use catalog::security::Permission;
use types::{SqlError, Value, msg};

use programs::arguments::Arg;
use session::output::Sink;
use session::state::SessionCore;

/// A call of a system procedure.
pub struct ProcedureCall<'a> {
    pub core: &'a mut SessionCore,
    pub sink: &'a mut dyn Sink,
    pub args: &'a [Arg],
    /// Results for the caller's variables.
    pub outputs: &'a mut Vec<(usize, Value)>,
}

impl ProcedureCall<'_> {
    /// What a procedure changes takes no part in a transaction.
    ///
    /// # Errors
    /// 15002.
    pub(crate) fn check_alone(&self, procedure: &str) -> Result<(), SqlError> {
        if self.core.trancount() == 0 {
            return Ok(());
        }
        Err(SqlError::of(msg::PROCEDURE_IN_TRANSACTION, [&format_args!("sys.{procedure}")]))
    }
}

/// What a procedure does; it returns its status.
pub(crate) type Body = fn(&mut ProcedureCall<'_>) -> Result<i32, SqlError>;

/// Who may run a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllowedCallers {
    Everyone,
    /// Whoever may know of the object that the first argument names.
    SeesObject,
    /// dbo, db_owner, sysadmin.
    Owner,
    Server(Permission),
    /// As [`AllowedCallers::Server`], and whoever may not is told so in the words of procedures
    /// (15247).
    ServerOnly(Permission),
    /// Whoever may make databases; the error is that of CREATE DATABASE (262).
    CreatesDatabase,
    Database(Permission),
    /// Whoever may alter the object that the first argument names.
    AltersObject,
    /// Looks for itself.
    Itself,
    Sysadmin,
}
