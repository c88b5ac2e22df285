//! CHECKPOINT and KILL.

use crate::instance::OfInstance;
use syntax::ast::Kill;
use types::SqlError;

use super::StmtCtx;
use catalog::errors;

impl StmtCtx<'_> {
    pub(super) fn checkpoint(&mut self) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let storage = db.storage()?;
        storage.checkpoint().map(drop).map_err(|e| errors::db_error(&db, &e))
    }

    pub(super) fn kill(&mut self, kill: &Kill) -> Result<(), SqlError> {
        let value = self.value(&kill.session)?;
        let Some(spid) = value.as_i64().and_then(|n| i32::try_from(n).ok()) else {
            return Err(SqlError::new(6112, 16, 1, "The argument of KILL is not the number of a session."));
        };
        if spid == self.core.spid() {
            return Err(SqlError::new(6104, 16, 1, "Cannot use KILL to kill your own process."));
        }
        let instance = self.core.instance().clone();
        let Some((_, session)) = instance.sessions().into_iter().find(|(id, _)| *id == spid) else {
            return Err(SqlError::new(
                6106,
                16,
                2,
                format!("Process ID {spid} is not an active process ID."),
            ));
        };
        if kill.status_only {
            let text = format!(
                "Status report cannot be obtained. Rollback operation for Process ID {spid} is not in progress."
            );
            return Err(SqlError::new(6120, 16, 1, text));
        }
        instance.end_session(&session);
        instance
            .error_log()
            .write(&format!("spid{}", self.core.spid()), &format!("Process ID {spid} was killed."));
        Ok(())
    }
}
