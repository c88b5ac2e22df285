//! Procedures that run when the instance has started (sp_procoption). Guarantees: each has a
//! session and a thread of its own, as `sa`, so that one that never ends keeps nothing from being
//! opened; none runs under trace flag 4022, in a folder that is only read, or when it is not dbo's
//! in master any more; what fails is in the error log. The close of the instance ends those that
//! still run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use catalog::errorlog::{ErrorLog, line_of};
use catalog::{MASTER, ModuleDef, ModuleKind};
use session::output::Sink;
use types::{SqlError, msg};

use crate::session::Session;
use ddl::modules::may_run_at_start;
use instance::InstanceCore;
use instance::sessions::LaunchedProcedure;

/// Trace flag: nothing runs at the start.
const TRACE_NOTHING_AT_START: i32 = 4022;

/// Starts them, in the order in which they were made.
pub(crate) fn launch(instance: &Arc<InstanceCore>) {
    let Some(master) = instance.db_by_id(MASTER) else { return };
    if instance.has_trace_flag(TRACE_NOTHING_AT_START) {
        return;
    }
    let (catalog, security) = (master.catalog(), master.security());
    let mut procedures: Vec<&Arc<ModuleDef>> = catalog
        .modules
        .values()
        .filter(|m| {
            m.startup && m.kind == ModuleKind::Procedure && may_run_at_start(&catalog, &security, m)
        })
        .collect();
    procedures.sort_unstable_by_key(|m| m.object_id);
    for procedure in procedures {
        let name = procedure.name.as_str();
        let text = match start(instance, name) {
            Ok(()) => msg::STARTUP_PROCEDURE_LAUNCHED.text([&name]),
            Err(why) => format!("{} {why}", msg::STARTUP_PROCEDURE_FAILED.text([&name])),
        };
        instance.error_log().write("Server", &text);
    }
}

fn start(instance: &Arc<InstanceCore>, name: &str) -> Result<(), String> {
    let mut session = Session::of(instance).map_err(|e| e.into_message())?;
    let (shared, call) =
        (Arc::downgrade(&session.shared()), format!("EXEC [dbo].[{}]", name.replace(']', "]]")));
    let thread = std::thread::Builder::new().name("startup".into());
    let thread = thread.spawn(move || run(&mut session, &call)).map_err(|e| e.to_string())?;
    instance.add_launched(LaunchedProcedure { session: shared, thread });
    Ok(())
}

fn run(session: &mut Session, call: &str) {
    let mut errors =
        StartupErrors { log: session.error_log(), source: format!("spid{}s", session.spid()) };
    if catch_unwind(AssertUnwindSafe(|| session.execute(call, &mut errors))).is_err() {
        errors.write(&format!("Error: 3624. {call} has panicked; its session is closed."));
    }
}

/// Takes results, keeps errors in the error log.
struct StartupErrors {
    log: Arc<ErrorLog>,
    source: String,
}

impl StartupErrors {
    fn write(&self, text: &str) {
        self.log.write(&self.source, text);
    }
}

impl Sink for StartupErrors {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.write(&line_of(error));
        Ok(())
    }
}
