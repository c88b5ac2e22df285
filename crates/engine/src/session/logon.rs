//! Logon triggers: what master keeps for the event LOGON runs when a client's login has been
//! checked, before its session begins. Guarantees: whatever goes wrong in one, or a ROLLBACK,
//! refuses the login (17892); what they say goes to the error log, result sets nowhere. A session
//! of the program itself has no login and fires none, nor does the dedicated administrator
//! connection: so an instance whose trigger refuses everybody can be mended.

use std::fmt::Write as _;
use std::sync::Arc;

use catalog::ModuleDef;
use catalog::errorlog::line_of;
use session::output::Sink;
use session::state::SessionCore;
use session::state::changes::{Cause, FiredTriggers};
use types::{SqlError, msg};

use ddl::events::LOGON;
use instance::security::ClientInfo;
use statements::ddl_events::{escaped, head_of_event};

/// Takes what triggers say.
struct ToLog(Vec<String>);

impl Sink for ToLog {
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.0.push(message.message.clone());
        Ok(())
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.push(line_of(error));
        Ok(())
    }
}

/// Runs the logon triggers in the session of a client.
///
/// # Errors
/// 17892.
pub(super) fn run(core: &mut SessionCore, client: &ClientInfo) -> Result<(), SqlError> {
    let master = core.host().database("master")?;
    let catalog = master.catalog();
    let is_for_logon = |trigger: &&Arc<ModuleDef>| {
        !trigger.disabled
            && trigger.trigger().is_some_and(|t| t.events.iter().any(|event| event == LOGON))
    };
    let mut triggers: Vec<_> = catalog.event_triggers(true).filter(is_for_logon).cloned().collect();
    if triggers.is_empty() {
        return Ok(());
    }
    triggers.sort_by_key(|trigger| trigger.object_id);
    let mut data = head_of_event(&core.identity, LOGON);
    let _ = write!(
        data,
        "<LoginType>SQL Login</LoginType><ClientHost>{}</ClientHost><IsPooled>0</IsPooled></EVENT_INSTANCE>",
        escaped(&client.address)
    );
    let mut said = ToLog(Vec::new());
    let result = core.begin_statement(true).and_then(|()| {
        core.run.triggers.fired.push(FiredTriggers {
            db: master,
            triggers: triggers.into(),
            cause: Cause::Event(data.into()),
        });
        let result = core.fire_triggers(&mut said, false);
        core.end_statement(result)
    });
    let log = core.host().error_log().clone();
    if let Err(error) = &result
        && !session::state::inner::was_reported(error)
    {
        said.0.push(error.message.clone());
    }
    said.0.iter().for_each(|line| log.write("Logon", line));
    result.map_err(|_| {
        let refused = SqlError::of(msg::LOGON_TRIGGER_FAILED, [&core.identity.login_name()]);
        log.write("Logon", &format!("{} [CLIENT: {}]", refused.message, client.address));
        refused
    })
}
