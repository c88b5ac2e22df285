//! Sessions of Extended Events: sys.dm_xe_sessions and sys.dm_xe_session_targets. There is one,
//! `system_health`, whose ring buffer has the newest deadlocks as `xml_deadlock_report`; others
//! cannot be made.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use types::{DataType, Len, Value};

use super::{SystemView, View, ViewColumn, big, text};
use instance::InstanceCore;
use instance::OfInstance;

use DataType::{BigInt, DateTime, Int, NVarChar, UniqueIdentifier, VarBinary};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&SESSIONS, &TARGETS];

const NAME: DataType = NVarChar(Len::N(256));

/// By which the two views are joined.
fn address() -> Value {
    Value::bytes(1u64.to_be_bytes().as_slice())
}

const SESSION_COLUMNS: &[ViewColumn] = &[
    ("address", VarBinary(Len::N(8)), false),
    ("name", NAME, false),
    ("pending_buffers", Int, false),
    ("total_regular_buffers", Int, false),
    ("regular_buffer_size", BigInt, false),
    ("total_large_buffers", Int, false),
    ("large_buffer_size", BigInt, false),
    ("total_buffer_size", BigInt, false),
    ("buffer_policy_flags", Int, false),
    ("buffer_policy_desc", NAME, false),
    ("flags", Int, false),
    ("flag_desc", NAME, false),
    ("dropped_event_count", Int, false),
    ("dropped_buffer_count", Int, false),
    ("blocked_event_fire_time", Int, false),
    ("create_time", DateTime, false),
    ("largest_event_dropped_size", Int, false),
    ("session_source", NAME, false),
];

/// sys.dm_xe_sessions.
static SESSIONS: View = View::sys("dm_xe_sessions", SESSION_COLUMNS, |session, _, _| {
    let zero = Value::Int(0);
    let held = ring_buffer(session.instance()).len() as u64;
    Ok(vec![vec![
        address(),
        text("system_health"),
        zero.clone(),
        Value::Int(1),
        big(held),
        zero.clone(),
        big(0),
        big(held),
        zero.clone(),
        text("drop_event"),
        zero.clone(),
        text("flush_on_close"),
        zero.clone(),
        zero.clone(),
        zero.clone(),
        session.instance().started().clone(),
        zero,
        text("server"),
    ]])
});

const TARGET_COLUMNS: &[ViewColumn] = &[
    ("event_session_address", VarBinary(Len::N(8)), false),
    ("target_name", NAME, false),
    ("target_package_guid", UniqueIdentifier, true),
    ("execution_count", BigInt, false),
    ("execution_duration_ms", BigInt, false),
    ("target_data", NVarChar(Len::Max), true),
    ("bytes_written", BigInt, false),
];

/// sys.dm_xe_session_targets.
static TARGETS: View = View::sys("dm_xe_session_targets", TARGET_COLUMNS, |session, _, _| {
    let (_, total) = session.instance().deadlocks.kept();
    Ok(vec![vec![
        address(),
        text("ring_buffer"),
        Value::Null,
        big(total),
        big(0),
        text(ring_buffer(session.instance())),
        big(0),
    ]])
});

/// A time as Extended Events write it: UTC, milliseconds.
fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let text = catalog::clock::text(since);
    // Hundredths are all that text has.
    let seconds = text.split('.').next().unwrap_or_default();
    format!("{}.{:03}Z", seconds.replacen(' ', "T", 1), since.subsec_millis())
}

/// What the ring buffer's target_data is in SQL Server.
fn ring_buffer(instance: &InstanceCore) -> String {
    let (kept, total) = instance.deadlocks.kept();
    let size: usize = kept.iter().map(|report| report.xml.len()).sum();
    let mut out = format!(
        "<RingBufferTarget truncated=\"0\" processingTime=\"0\" totalEventsProcessed=\"{total}\" eventCount=\"{}\" \
         droppedCount=\"{}\" memoryUsed=\"{size}\">",
        kept.len(),
        total - kept.len() as u64,
    );
    for report in kept {
        let _ = write!(
            out,
            "<event name=\"xml_deadlock_report\" package=\"sqlserver\" timestamp=\"{}\"><data name=\"xml_report\">\
             <type name=\"xml\" package=\"package0\"/><value>{}</value></data></event>",
            timestamp(report.at),
            report.xml,
        );
    }
    out.push_str("</RingBufferTarget>");
    out
}
