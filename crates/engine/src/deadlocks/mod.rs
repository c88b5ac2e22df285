//! Deadlocks as administrators see them: the newest are kept as SQL Server's `xml_deadlock_report`,
//! for the ring buffer of the session `system_health`; trace flags 1222 and 1204 write them to the
//! error log.
//! Guarantees: what is kept is bounded, in reports and in the size of each; a report waits for no
//! lock and for no session.

mod report;
mod text;
mod tree;

use std::sync::{Arc, Weak};

use txn::locks::Deadlock;

use instance::InstanceCore;
use instance::deadlocks::DeadlockReport;
use report::Report;

/// Trace flags: the graph in the error log, as SQL Server's two forms of it.
const TRACE_LIST: i32 = 1222;
const TRACE_NODES: i32 = 1204;

/// Has deadlocks of an instance reported.
pub(crate) fn listen(instance: &Arc<InstanceCore>) {
    let of: Weak<InstanceCore> = Arc::downgrade(instance);
    instance.locks().set_deadlock_listener(move |deadlock| {
        if let Some(instance) = of.upgrade() {
            report(&instance, deadlock);
        }
    });
}

fn report(instance: &InstanceCore, deadlock: &Deadlock) {
    let report = Report::new(instance, deadlock);
    let graph = report.graph();
    instance.deadlocks.keep(DeadlockReport { at: deadlock.at, xml: graph.xml() });
    if instance.has_trace_flag(TRACE_LIST) {
        text::as_list(&graph, &report, |line| instance.error_log().write("deadlock", line));
    }
    if instance.has_trace_flag(TRACE_NODES) {
        text::as_nodes(&report, |line| instance.error_log().write("deadlock", line));
    }
}
