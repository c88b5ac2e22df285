//! SETUSER: the older form of EXECUTE AS USER, for the owner of a database. It ends with the next
//! SETUSER, with REVERT, and as EXECUTE AS does with the module or text that it stands in; after
//! WITH NORESET with the session.

use catalog::security::DBO;
use session::state::SessionCore;
use session::state::caller::ActingEnd;
use syntax::commands::SetUser;
use types::SqlError;

use super::StmtCtx;
use super::command::CommandRun;
use super::rights::not_permitted;

/// REVERT's error where the session acts as somebody WITH NO REVERT, or until a cookie is given.
const STAYS: i32 = 15_591;

impl CommandRun for SetUser {
    /// The right is that of the user that the session is once an earlier SETUSER has ended: `run`
    /// checks it then.
    fn check_right(&self, _: &mut SessionCore) -> Result<(), SqlError> {
        Ok(())
    }

    fn run(&self, ctx: &mut StmtCtx<'_>) -> Result<(), SqlError> {
        match ctx.core.identity.revert(None) {
            // WITH NORESET, or a cookie is asked for.
            Err(error) if error.number == STAYS => {}
            other => other?,
        }
        let Some((name, reset)) = &self.user else { return Ok(()) };
        if ctx.core.user_id() != DBO {
            return Err(not_permitted());
        }
        ctx.core.act_as_user(name, if *reset { ActingEnd::Revert } else { ActingEnd::End })
    }
}
