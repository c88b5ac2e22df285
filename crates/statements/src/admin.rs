//! CHECKPOINT, KILL and RECONFIGURE.

use catalog::security::Permission;
use instance::OfInstance;
use session::output::StatementKind;
use session::state::SessionCore;
use syntax::commands::{Checkpoint, Kill, Reconfigure};
use types::{SqlError, msg};

use super::StmtCtx;
use super::command::CommandRun;
use super::rights::{in_database, on_server};
use catalog::db::DbStatus;
use catalog::errors;
use txn::GlobalId;

impl CommandRun for Checkpoint {
    fn kind(&self) -> StatementKind {
        StatementKind::Checkpoint
    }

    fn check_right(&self, core: &mut SessionCore) -> Result<(), SqlError> {
        let db = core.db().clone();
        in_database(core, &db, Permission::Checkpoint)
    }

    fn run(&self, ctx: &mut StmtCtx<'_>) -> Result<(), SqlError> {
        let db = ctx.core.db().clone();
        let storage = db.storage()?;
        storage.checkpoint().map(drop).map_err(|e| errors::db_error(&db, &e))
    }
}

impl CommandRun for Reconfigure {
    fn kind(&self) -> StatementKind {
        StatementKind::Reconfigure
    }

    fn check_right(&self, core: &mut SessionCore) -> Result<(), SqlError> {
        on_server(core, Permission::AlterSettings, || SqlError::of(msg::RECONFIGURE_PERMISSION, []))
    }

    fn run(&self, ctx: &mut StmtCtx<'_>) -> Result<(), SqlError> {
        ctx.core.instance().reconfigure()
    }
}

impl CommandRun for Kill {
    fn check_right(&self, core: &mut SessionCore) -> Result<(), SqlError> {
        on_server(core, Permission::AlterAnyConnection, || SqlError::of(msg::KILL_PERMISSION, []))
    }

    fn run(&self, ctx: &mut StmtCtx<'_>) -> Result<(), SqlError> {
        let value = ctx.value(&self.session)?;
        if let Some(unit) = value.as_str().and_then(GlobalId::parse) {
            return decide(ctx, unit, self.commit);
        }
        if let Some(commit) = self.commit {
            return Err(errors::syntax_near(if commit { "COMMIT" } else { "ROLLBACK" }));
        }
        let Some(spid) = value.as_i64().and_then(|n| i32::try_from(n).ok()) else {
            return Err(SqlError::of(msg::KILL_ARGUMENT, []));
        };
        if spid == ctx.core.spid() {
            return Err(SqlError::of(msg::KILL_OWN_PROCESS, []));
        }
        let instance = ctx.core.instance().clone();
        let Some((_, session)) = instance.sessions().into_iter().find(|(id, _)| *id == spid) else {
            return Err(SqlError::of(msg::NOT_AN_ACTIVE_PROCESS, [&spid]));
        };
        if self.status_only {
            return Err(SqlError::of(msg::NO_ROLLBACK_IN_PROGRESS, [&spid]));
        }
        instance.end_session(&session);
        instance
            .error_log()
            .write(&format!("spid{}", ctx.core.spid()), &format!("Process ID {spid} was killed."));
        Ok(())
    }
}

/// Notes what an administrator says of a transaction over several databases that some of them
/// cannot learn the outcome of, and opens the databases that wait for it.
fn decide(ctx: &mut StmtCtx<'_>, unit: GlobalId, commit: Option<bool>) -> Result<(), SqlError> {
    let instance = ctx.core.instance().clone();
    let there = instance.outcomes.in_doubt().into_iter().any(|doubt| doubt.prepared.id == unit);
    let doubts = match commit.filter(|_| there) {
        Some(how) => instance.outcomes.tell(unit, how),
        None if there => return Err(errors::not_supported("KILL UOW")),
        None => Vec::new(),
    };
    if doubts.is_empty() {
        return Err(SqlError::of(msg::NO_SUCH_UNIT_OF_WORK, [&unit]));
    }
    let how = if commit == Some(true) { "committed" } else { "rolled back" };
    let text =
        format!("The transaction with UOW {{{unit}}} is {how} by the word of an administrator.");
    instance.error_log().write(&format!("spid{}", ctx.core.spid()), &text);
    // One that is being restored or attached goes by it in the next attempt.
    let waiting = doubts.iter().filter_map(|doubt| instance.db_by_id(i32::from(doubt.number)));
    for db in waiting.filter(|db| db.status() == DbStatus::RecoveryPending) {
        instance.reopen(&db)?;
    }
    Ok(())
}
