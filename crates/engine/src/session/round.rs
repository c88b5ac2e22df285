//! One request from its beginning to its end: admitted, run, a panic turned into an error, what is
//! open ended, the answer watched.

use super::BatchOutcome;
use super::watch::Watch;
use crate::batch::flow::killed;
use crate::batch::run::BatchEnd;
use ddl::temps;
use instance::OfInstance;
use memory::meter::Metered;
use programs::compiled::CompiledBatch;
use session::output::Sink;
use session::state::activity::{CurrentSessionGuard, PublishedState};
use session::state::core::{SessionCore, SessionShared};
use session::state::phases::{self, Phase};
use session::state::session_run::LastResults;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{SqlError, msg};

/// Runs what a client has asked for: what comes before and after is the same for a batch, a call
/// and a request of the transaction manager.
pub(super) fn request(
    core: &mut SessionCore,
    shared: &Arc<SessionShared>,
    told: &mut PublishedState,
    sink: &mut dyn Sink,
    work: impl FnOnce(
        &mut SessionCore,
        &mut dyn Sink,
        &mut PublishedState,
    ) -> Result<BatchEnd, SqlError>,
) -> BatchOutcome {
    // What the engine does around the statements is of running them too.
    let _run = phases::enter(Phase::Run);
    let mut sink = Watch { inner: sink, shared, errors: 0 };
    if let Err(error) = admit(core) {
        // A client that went away cannot be told.
        let _ = sink.error(&error);
        return BatchOutcome { ok: false, status: -1 };
    }
    let _metered = Metered::begin(core.host().memory());
    let _here = CurrentSessionGuard::enter(shared);
    shared.begins();
    // Who ends a session that runs nothing has not waited for it: see `Db::evict`.
    if shared.killed.load(Ordering::Acquire) {
        shared.running.store(false, Ordering::Release);
        let _ = sink.error(&killed());
        return BatchOutcome { ok: false, status: -1 };
    }
    core.run.begin_request();
    core.answers.begin_request();
    core.objects.temps.level = 0;
    core.objects.cursors.begin_request();
    let work = || {
        core.await_undo()?;
        stack::with_room(|| work(core, &mut sink, told))
    };
    let status = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(BatchEnd::Finished(n))) => n,
        Ok(Ok(BatchEnd::ScopeAborted | BatchEnd::BatchAborted)) => -1,
        Ok(Err(error)) => {
            core.run.results.error_number = error.number;
            let _ = sink.error(&error);
            0
        }
        Err(panic) => {
            let error = after_panic(core, &*panic);
            let _ = sink.error(&error);
            -1
        }
    };
    temps::end_batch(core);
    end_batch(core, &mut sink);
    let LastResults { rowcount, error_number, .. } = core.run.results;
    shared.activity.ended(told, &core.options, rowcount, error_number);
    shared.open_transactions.store(core.trancount().into(), Ordering::Relaxed);
    if shared.killed.load(Ordering::Acquire) {
        core.rollback_all();
    }
    // As for its errors.
    let _ = core.tell_transactions(&mut sink);
    shared.running.store(false, Ordering::Release);
    BatchOutcome { ok: sink.errors == 0, status }
}

/// A batch is about to run: it is published as what runs, and its settings hold. `sent` is what the
/// client sent where that is not the batch's own text.
pub(super) fn begin_batch(
    core: &mut SessionCore,
    told: &mut PublishedState,
    batch: &Arc<CompiledBatch>,
    sent: Option<&str>,
) {
    core.shared.activity.begins(told, batch, sent);
    // Only where they are other ones: a change of options is looked at when the batch ends.
    if core.options.parse_settings() != batch.settings {
        core.options.set_parse_settings(batch.settings);
    }
}

/// Errors: 6005 the instance is shutting down, 596 KILL has ended the session.
fn admit(core: &SessionCore) -> Result<(), SqlError> {
    if core.instance().shutdown_requested() {
        return Err(catalog::errors::shutting_down());
    }
    if core.shared.killed.load(Ordering::Acquire) { Err(killed()) } else { Ok(()) }
}

/// A statement has panicked: latches are free again, its transaction is rolled back, and with it
/// all its locks go. Where it was changing pages or the log the database has failed already, and so
/// it has where the rollback fails.
fn after_panic(core: &mut SessionCore, panic: &(dyn Any + Send)) -> SqlError {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "no message",
    };
    let (log, spid) = (core.host().error_log().clone(), core.spid());
    log.write(
        "Server",
        &format!("Error: 3624. A statement of session {spid} has panicked: {text}"),
    );
    if catch_unwind(AssertUnwindSafe(|| core.rollback_all())).is_err() {
        // The transactions that were being rolled back have taken their databases offline.
        log.write("Server", &format!("Error: 3624. So has the rollback of session {spid}."));
    }
    log.save();
    core.run.private_tables.clear();
    core.run.nest_level = 0;
    core.forget_kept_uses();
    catalog::errors::assertion_failed()
}

/// A doomed transaction does not outlive its batch.
fn end_batch(core: &mut SessionCore, sink: &mut dyn Sink) {
    if core.xact_state() == -1 {
        core.rollback_all();
        let error = SqlError::of(msg::UNCOMMITTABLE_AT_END, []);
        let _ = sink.error(&error);
    } else if core.trancount() == 0 {
        core.rollback_rest();
    }
}
