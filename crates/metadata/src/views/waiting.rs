//! The waits of this moment: sys.dm_os_waiting_tasks, and what the views of sessions and requests
//! say of it.

use std::time::Duration;

use txn::{LockTarget, Resource};
use types::{DataType, Len, Value};

use super::{NVARCHAR60, View, ViewColumn, text};
use instance::InstanceCore;
use instance::OfInstance;
use instance::waits::wait_type;

use DataType::{BigInt, Int, NVarChar, SmallInt, VarBinary};

/// A session that waits.
#[derive(Clone, Debug)]
pub struct Wait {
    pub session: i32,
    /// The name of the wait type: LCK_M_X, WRITELOG.
    pub wait_type: &'static str,
    pub waited: Duration,
    /// As dm_exec_requests.wait_resource shows it; empty for a wait without a resource.
    pub resource: String,
    /// As dm_os_waiting_tasks.resource_description shows it.
    pub description: String,
    /// The session that holds it up; none when no one session does.
    pub blocker: Option<i32>,
}

/// A resource as dm_exec_requests.wait_resource names it.
pub fn wait_resource(resource: &Resource) -> String {
    let db = resource.db;
    match resource.what {
        LockTarget::Database => format!("DATABASE: {db}:0 "),
        LockTarget::Schema(id) => format!("METADATA: database_id = {db} SCHEMA(schema_id = {id})"),
        LockTarget::Object(id) | LockTarget::Table(id) => format!("OBJECT: {db}:{id}:0 "),
        LockTarget::Key { unit, hash } => format!("KEY: {db}:{unit} ({hash:012x})"),
        LockTarget::Rid { file, page, slot, .. } => format!("RID: {db}:{file}:{page}:{slot}"),
        LockTarget::Application(hash) => format!("APPLICATION: {db}:0:[{hash:x}]"),
        LockTarget::Txn(id) => format!("XACT: {db}:{}", id.0),
    }
}

/// A resource as dm_os_waiting_tasks.resource_description names it.
fn description(resource: &Resource, mode: &str) -> String {
    let db = resource.db;
    let (what, entity) = match resource.what {
        LockTarget::Database => (format!("databaselock subresource=FULL dbid={db}"), 0),
        LockTarget::Schema(id) => {
            (format!("metadatalock subresource=SCHEMA classid=schema_id = {id} dbid={db}"), id)
        }
        LockTarget::Object(id) | LockTarget::Table(id) => {
            (format!("objectlock lockPartition=0 objid={id} subresource=FULL dbid={db}"), id)
        }
        LockTarget::Key { unit, .. } => (format!("keylock hobtid={unit} dbid={db}"), unit),
        LockTarget::Rid { unit, file, page, .. } => {
            (format!("ridlock fileid={file} pageid={page} dbid={db}"), unit)
        }
        LockTarget::Application(hash) => {
            (format!("applicationlock hash={hash:x} databasePrincipalId=0 dbid={db}"), 0)
        }
        LockTarget::Txn(id) => (format!("xactlock xdesIdLow={} dbid={db}", id.0), 0),
    };
    format!("{what} mode={mode} associatedObjectId={entity}")
}

/// All sessions that wait for a lock or for the log, longest first.
pub fn waits(instance: &InstanceCore) -> Vec<Wait> {
    let log = instance.sessions().into_iter().filter_map(|(session, shared)| {
        let (kind, waited) = shared.activity.log_wait()?;
        let (resource, description) = (String::new(), String::new());
        Some(Wait {
            session,
            wait_type: wait_type(kind),
            waited,
            resource,
            description,
            blocker: None,
        })
    });
    let locks = instance.locks().waiting().into_iter().map(|w| Wait {
        session: w.who.session as i32,
        wait_type: w.mode.wait_type(),
        waited: w.waited,
        resource: wait_resource(&w.resource),
        description: description(&w.resource, w.mode.name()),
        blocker: w.blocker.map(|who| who.session as i32).filter(|session| *session != 0),
    });
    let mut all: Vec<Wait> = locks.chain(log).collect();
    all.sort_by_key(|w| std::cmp::Reverse(w.waited));
    all
}

const COLUMNS: &[ViewColumn] = &[
    ("waiting_task_address", VarBinary(Len::N(8)), false),
    ("session_id", SmallInt, true),
    ("exec_context_id", Int, true),
    ("wait_duration_ms", BigInt, true),
    ("wait_type", NVARCHAR60, true),
    ("resource_address", VarBinary(Len::N(8)), true),
    ("blocking_task_address", VarBinary(Len::N(8)), true),
    ("blocking_session_id", SmallInt, true),
    ("blocking_exec_context_id", Int, true),
    ("resource_description", NVarChar(Len::N(3072)), true),
];

/// The task of a session: it has one.
pub(crate) fn task_address(session: i32) -> Value {
    Value::bytes(i64::from(session).to_be_bytes().as_slice())
}

/// sys.dm_os_waiting_tasks.
pub(crate) static WAITING_TASKS: View =
    View::sys("dm_os_waiting_tasks", COLUMNS, |session, _, _| {
        let rows = waits(session.instance()).into_iter().map(|w| {
            vec![
                task_address(w.session),
                Value::SmallInt(w.session as i16),
                Value::Int(0),
                Value::BigInt(i64::try_from(w.waited.as_millis()).unwrap_or(i64::MAX)),
                text(w.wait_type),
                Value::Null,
                w.blocker.map_or(Value::Null, task_address),
                w.blocker.map_or(Value::Null, |s| Value::SmallInt(s as i16)),
                w.blocker.map_or(Value::Null, |_| Value::Int(0)),
                if w.description.is_empty() { Value::Null } else { text(w.description) },
            ]
        });
        Ok(rows.collect())
    });
