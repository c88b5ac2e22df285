//! Sessions: sys.dm_exec_sessions, sys.dm_exec_requests, sys.dm_exec_connections,
//! sys.dm_exec_sql_text, sys.dm_exec_input_buffer. What is not measured per session (CPU, reads,
//! writes) is NULL.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use types::{DataType, Len, SqlError, Value};

use super::place::{Place, command};
use super::transactions::datetime;
use super::waiting::{Wait, task_address, waits};
use super::{NVARCHAR60, Rows, SYSNAME, View, ViewColumn, big, bit, int, position, text};
use bind::set_options::SessionOptions;
use catalog::Db;
use instance::InstanceCore;
use instance::OfInstance;
use instance::waits::wait_type;
use pages::PAGE_SIZE;
use session::state::SessionCore;
use session::state::activity::{Published, handle};
use session::state::core::SessionShared;

use DataType::{
    BigInt, Binary, Bit, DateTime, Int, NVarChar, Real, SmallInt, UniqueIdentifier, VarBinary,
    VarChar,
};
use std::sync::atomic::Ordering::Relaxed;

const fn text_of(len: u16) -> DataType {
    NVarChar(Len::N(len))
}

const fn bytes_of(len: u16) -> DataType {
    VarBinary(Len::N(len))
}

const SESSION_COLUMNS: &[ViewColumn] = &[
    ("session_id", SmallInt, false),
    ("login_time", DateTime, false),
    ("host_name", SYSNAME, true),
    ("program_name", SYSNAME, true),
    ("host_process_id", Int, true),
    ("client_version", Int, true),
    ("client_interface_name", text_of(32), true),
    ("security_id", bytes_of(85), false),
    ("login_name", SYSNAME, false),
    ("nt_domain", SYSNAME, true),
    ("nt_user_name", SYSNAME, true),
    ("status", text_of(30), false),
    ("context_info", bytes_of(128), true),
    ("cpu_time", Int, true),
    ("memory_usage", Int, true),
    ("total_scheduled_time", Int, true),
    ("total_elapsed_time", Int, false),
    ("endpoint_id", Int, false),
    ("last_request_start_time", DateTime, false),
    ("last_request_end_time", DateTime, true),
    ("reads", BigInt, true),
    ("writes", BigInt, true),
    ("logical_reads", BigInt, true),
    ("is_user_process", Bit, false),
    ("text_size", Int, false),
    ("language", SYSNAME, true),
    ("date_format", text_of(3), true),
    ("date_first", SmallInt, false),
    ("quoted_identifier", Bit, false),
    ("arithabort", Bit, false),
    ("ansi_null_dflt_on", Bit, false),
    ("ansi_defaults", Bit, false),
    ("ansi_warnings", Bit, false),
    ("ansi_padding", Bit, false),
    ("ansi_nulls", Bit, false),
    ("concat_null_yields_null", Bit, false),
    ("transaction_isolation_level", SmallInt, false),
    ("lock_timeout", Int, false),
    ("deadlock_priority", Int, false),
    ("row_count", BigInt, false),
    ("prev_error", Int, false),
    ("original_security_id", bytes_of(85), false),
    ("original_login_name", SYSNAME, false),
    ("last_successful_logon", DateTime, true),
    ("last_unsuccessful_logon", DateTime, true),
    ("unsuccessful_logons", BigInt, true),
    ("group_id", Int, false),
    ("database_id", SmallInt, false),
    ("authenticating_database_id", Int, true),
    ("open_transaction_count", Int, false),
];

/// One session as all these views need it.
struct Seen {
    spid: i32,
    shared: Arc<SessionShared>,
    published: Published,
    running: bool,
}

impl Seen {
    /// All sessions, as published.
    fn published(instance: &InstanceCore) -> Vec<Seen> {
        let see = |(spid, shared): (i32, Arc<SessionShared>)| {
            let (published, running) = (shared.activity.look(), shared.running.load(Relaxed));
            Seen { spid, shared, published, running }
        };
        instance.sessions().into_iter().map(see).collect()
    }

    /// All sessions. The running one says of itself what is not published before its batch ends.
    fn all(session: &SessionCore) -> Vec<Seen> {
        let mut all = Seen::published(session.instance());
        if let Some(own) = all.iter_mut().find(|seen| seen.spid == session.spid()) {
            own.published.options = session.options.clone();
            (own.published.rowcount, own.published.error) =
                (session.run.results.rowcount, session.run.results.error_number);
        }
        all
    }

    fn database(&self) -> Value {
        Value::SmallInt(self.shared.db.load(Relaxed) as i16)
    }

    fn open_transactions(&self) -> Value {
        int(self.shared.open_transactions.load(Relaxed))
    }

    /// Time in the batch that runs.
    fn running_for(&self) -> Duration {
        let started = self.published.started.filter(|_| self.running);
        started.and_then(|started| started.elapsed().ok()).unwrap_or_default()
    }

    fn handle(&self) -> Value {
        let batch = self.published.batch.as_ref();
        batch.map_or(Value::Null, |batch| Value::bytes(handle(batch.text()).as_slice()))
    }
}

fn millis(time: Duration) -> Value {
    int(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn moment(time: Option<SystemTime>) -> Value {
    time.map_or(Value::Null, datetime)
}

/// Columns text_size to deadlock_priority, which sessions and requests share.
fn option_values(o: &SessionOptions) -> Vec<Value> {
    let defaults = o.ansi_warnings
        && o.ansi_nulls
        && o.ansi_padding
        && o.ansi_null_dflt_on
        && o.quoted_identifier;
    vec![
        Value::Int(o.textsize),
        text(o.dialect.language().name),
        text(o.dialect.order.name()),
        Value::SmallInt(o.datefirst.into()),
        bit(o.quoted_identifier),
        bit(o.arithabort),
        bit(o.ansi_null_dflt_on),
        bit(defaults),
        bit(o.ansi_warnings),
        bit(o.ansi_padding),
        bit(o.ansi_nulls),
        bit(o.concat_null_yields_null),
        Value::SmallInt(o.isolation.number()),
        Value::Int(o.lock_timeout),
        Value::Int(o.deadlock_priority),
    ]
}

/// sys.dm_exec_sessions. Options and row count of another session are those of the end of its last
/// batch.
pub static SESSIONS: View = View::sys("dm_exec_sessions", SESSION_COLUMNS, |session, _, _| {
    Ok(Seen::all(session).iter().map(session_row).collect())
});

fn session_row(seen: &Seen) -> Vec<Value> {
    let names = seen.shared.names.lock().clone();
    let network = names.connection.as_deref();
    let p = &seen.published;
    let sid = Value::bytes([1u8].as_slice());
    let started = p.started.map_or_else(|| names.login_time.clone(), datetime);
    let mut row = vec![
        Value::SmallInt(seen.spid as i16),
        names.login_time.clone(),
        Value::Str(names.host),
        Value::Str(names.app),
        int(network.map_or_else(std::process::id, |n| n.process).into()),
        network.map_or(Value::Null, |n| Value::Int((n.protocol >> 24 & 0xF) as i32)),
        network.map_or_else(|| text("Ringwood"), |n| Value::Str(n.library.clone())),
        sid.clone(),
        Value::Str(names.login.clone()),
        Value::Null,
        Value::Null,
        text(if seen.running { "running" } else { "sleeping" }),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        millis(p.elapsed + seen.running_for()),
        Value::Int(0),
        started,
        moment(p.ended),
        Value::Null,
        Value::Null,
        Value::Null,
        bit(true),
    ];
    row.extend(option_values(&p.options));
    row.extend([
        big(p.rowcount),
        Value::Int(p.error),
        sid,
        Value::Str(names.login),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Int(1),
        seen.database(),
        Value::Int(1),
        seen.open_transactions(),
    ]);
    row
}

const REQUEST_COLUMNS: &[ViewColumn] = &[
    ("session_id", SmallInt, false),
    ("request_id", Int, false),
    ("start_time", DateTime, false),
    ("status", text_of(30), false),
    ("command", text_of(32), false),
    ("sql_handle", bytes_of(64), true),
    ("statement_start_offset", Int, true),
    ("statement_end_offset", Int, true),
    ("plan_handle", bytes_of(64), true),
    ("database_id", SmallInt, false),
    ("user_id", Int, false),
    ("connection_id", UniqueIdentifier, true),
    ("blocking_session_id", SmallInt, true),
    ("wait_type", NVARCHAR60, true),
    ("wait_time", Int, false),
    ("last_wait_type", NVARCHAR60, true),
    ("wait_resource", text_of(256), false),
    ("open_transaction_count", Int, false),
    ("open_resultset_count", Int, false),
    ("transaction_id", BigInt, false),
    ("context_info", bytes_of(128), true),
    ("percent_complete", Real, true),
    ("estimated_completion_time", BigInt, true),
    ("cpu_time", Int, true),
    ("total_elapsed_time", Int, false),
    ("scheduler_id", Int, true),
    ("task_address", bytes_of(8), true),
    ("reads", BigInt, true),
    ("writes", BigInt, true),
    ("logical_reads", BigInt, true),
    ("text_size", Int, false),
    ("language", SYSNAME, true),
    ("date_format", text_of(3), true),
    ("date_first", SmallInt, false),
    ("quoted_identifier", Bit, false),
    ("arithabort", Bit, false),
    ("ansi_null_dflt_on", Bit, false),
    ("ansi_defaults", Bit, false),
    ("ansi_warnings", Bit, false),
    ("ansi_padding", Bit, false),
    ("ansi_nulls", Bit, false),
    ("concat_null_yields_null", Bit, false),
    ("transaction_isolation_level", SmallInt, false),
    ("lock_timeout", Int, false),
    ("deadlock_priority", Int, false),
    ("row_count", BigInt, false),
    ("prev_error", Int, false),
    ("nest_level", Int, true),
    ("granted_query_memory", Int, true),
    ("executing_managed_code", Bit, true),
    ("group_id", Int, false),
    ("query_hash", Binary(8), true),
    ("query_plan_hash", Binary(8), true),
    ("statement_sql_handle", bytes_of(64), true),
    ("statement_context_id", BigInt, true),
    ("dop", Int, true),
    ("parallel_worker_count", Int, true),
    ("external_script_request_id", UniqueIdentifier, true),
    ("is_resumable", Bit, false),
    ("page_resource", Binary(8), true),
    ("page_server_reads", BigInt, true),
];

/// sys.dm_exec_requests: batches that run.
pub static REQUESTS: View = View::sys("dm_exec_requests", REQUEST_COLUMNS, |session, _, _| {
    let waits = waits(session.instance());
    let running = Seen::all(session).into_iter().filter(|seen| seen.running);
    let row = |seen: Seen| {
        let wait = waits.iter().find(|wait| wait.session == seen.spid);
        let place = Place::of(session, &seen.published, &seen.shared)?;
        Ok::<_, SqlError>(request_row(&seen, wait, place))
    };
    running.map(row).collect()
});

/// A batch that runs, in short.
pub struct RunningBatch {
    pub session: i32,
    /// database_id.
    pub database: i64,
    pub command: String,
    pub running_for: Duration,
    /// The statement that runs; the whole batch between statements.
    pub text: String,
}

/// Batches that run, the longest first.
pub fn running(instance: &InstanceCore) -> Vec<RunningBatch> {
    let describe = |seen: Seen| {
        let batch = seen.published.batch.as_ref();
        // The shape of a text has one statement: what was sent says it with its literals.
        let whole = !seen.published.sent.is_empty();
        let place = batch.and_then(|b| seen.shared.activity.statement(&**b));
        let input = seen.published.input().unwrap_or_default();
        let text = place
            .filter(|_| !whole)
            .and_then(|(from, to)| input.get(from..to))
            .unwrap_or(&input)
            .trim();
        let text = text.to_string();
        RunningBatch {
            session: seen.spid,
            database: seen.shared.db.load(Relaxed),
            command: place.map_or_else(String::new, |_| command(&text)),
            running_for: seen.running_for(),
            text,
        }
    };
    let mut all: Vec<_> =
        Seen::published(instance).into_iter().filter(|s| s.running).map(describe).collect();
    all.sort_by_key(|r| std::cmp::Reverse(r.running_for));
    all
}

fn request_row(seen: &Seen, wait: Option<&Wait>, place: Place) -> Vec<Value> {
    let p = &seen.published;
    let zero = Value::Int(0);
    let owner = seen.shared.lock_owner.load(Relaxed);
    let last_log_wait = || seen.shared.activity.last_log_wait().map(wait_type);
    let last_wait = wait.map(|w| w.wait_type).or_else(last_log_wait);
    let mut row = vec![
        Value::SmallInt(seen.spid as i16),
        zero.clone(),
        p.started.map_or_else(catalog::clock::now, datetime),
        text(if wait.is_some() { "suspended" } else { "running" }),
        text(place.command.chars().take(32).collect::<String>()),
        place.handle,
        Value::Int(place.offsets.0),
        Value::Int(place.offsets.1),
        Value::Null,
        seen.database(),
        Value::Int(1),
        Value::Null,
        Value::SmallInt(wait.and_then(|w| w.blocker).unwrap_or(0) as i16),
        wait.map_or(Value::Null, |w| text(w.wait_type)),
        wait.map_or(zero.clone(), |w| millis(w.waited)),
        last_wait.map_or(Value::Null, text),
        text(wait.map_or("", |w| w.resource.as_str())),
        seen.open_transactions(),
        Value::Int(1),
        big(owner),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        millis(seen.running_for()),
        Value::Null,
        task_address(seen.spid),
        Value::Null,
        Value::Null,
        Value::Null,
    ];
    row.extend(option_values(&p.options));
    row.extend([big(p.rowcount), Value::Int(p.error)]);
    row.resize(REQUEST_COLUMNS.len(), Value::Null);
    row[GROUP_ID] = Value::Int(1);
    let held: usize = seen.shared.grants.look().iter().map(|grant| grant.held).sum();
    row[GRANTED] = int((held / PAGE_SIZE) as u64);
    row[IS_RESUMABLE] = bit(false);
    row
}

const GROUP_ID: usize = position(REQUEST_COLUMNS, "group_id");
/// In pages.
const GRANTED: usize = position(REQUEST_COLUMNS, "granted_query_memory");
const IS_RESUMABLE: usize = position(REQUEST_COLUMNS, "is_resumable");

const CONNECTION_COLUMNS: &[ViewColumn] = &[
    ("session_id", Int, true),
    ("most_recent_session_id", Int, true),
    ("connect_time", DateTime, false),
    ("net_transport", text_of(40), false),
    ("protocol_type", text_of(40), true),
    ("protocol_version", Int, true),
    ("endpoint_id", Int, true),
    ("encrypt_option", text_of(40), false),
    ("auth_scheme", text_of(40), false),
    ("node_affinity", SmallInt, false),
    ("num_reads", Int, true),
    ("num_writes", Int, true),
    ("last_read", DateTime, true),
    ("last_write", DateTime, true),
    ("net_packet_size", Int, true),
    ("client_net_address", VarChar(Len::N(48)), true),
    ("client_tcp_port", Int, true),
    ("local_net_address", VarChar(Len::N(48)), true),
    ("local_tcp_port", Int, true),
    ("connection_id", UniqueIdentifier, false),
    ("parent_connection_id", UniqueIdentifier, true),
    ("most_recent_sql_handle", bytes_of(64), true),
];

/// sys.dm_exec_connections: a session without a network connection is one inside the process.
pub static CONNECTIONS: View =
    View::sys("dm_exec_connections", CONNECTION_COLUMNS, |session, _, _| {
        let rows = Seen::all(session).into_iter().map(|seen| {
            let batches = int(seen.shared.batches.load(Relaxed));
            let mut id = [0; 16];
            id[12..].copy_from_slice(&seen.spid.to_be_bytes());
            let names = seen.shared.names.lock().clone();
            let network = names.connection.as_deref();
            vec![
                Value::Int(seen.spid),
                Value::Int(seen.spid),
                names.login_time,
                text(if network.is_some() { "TCP" } else { "Shared memory" }),
                text("TSQL"),
                network.map_or(Value::Null, |n| Value::Int(n.protocol as i32)),
                network.map_or(Value::Int(LOCAL_ENDPOINT), |n| Value::Int(n.endpoint)),
                text(if network.is_some_and(|n| n.encrypted) { "TRUE" } else { "FALSE" }),
                text("SQL"),
                Value::SmallInt(0),
                batches.clone(),
                batches,
                moment(seen.published.started),
                moment(seen.published.ended),
                network.map_or(Value::Null, |n| int(n.packet_size.into())),
                network.map_or_else(|| text("<local machine>"), |n| address(n.client.ip())),
                network.map_or(Value::Null, |n| Value::Int(n.client.port().into())),
                network.map_or(Value::Null, |n| address(n.server.ip())),
                network.map_or(Value::Null, |n| Value::Int(n.server.port().into())),
                Value::Guid(id),
                Value::Null,
                seen.handle(),
            ]
        });
        Ok(rows.collect())
    });

/// Sessions inside the process came by no endpoint.
const LOCAL_ENDPOINT: i32 = 0;

fn address(ip: IpAddr) -> Value {
    text(ip.to_canonical().to_string().as_str())
}

const TEXT_COLUMNS: &[ViewColumn] = &[
    ("dbid", SmallInt, true),
    ("objectid", Int, true),
    ("number", SmallInt, true),
    ("encrypted", Bit, false),
    ("text", NVarChar(Len::Max), true),
];

/// sys.dm_exec_sql_text(sql_handle): of batches that run, ran last in a session, or are kept
/// compiled.
pub(crate) static SQL_TEXT: View = View::function("dm_exec_sql_text", 1, TEXT_COLUMNS, sql_text);

fn sql_text(session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
    let Some(Value::Bytes(wanted)) = args.first() else { return Ok(Vec::new()) };
    if let Some((db, object, found)) = super::plans::text_of(session, wanted)? {
        let of_module = (object != 0).then_some((
            Value::SmallInt(db as i16),
            Value::Int(object),
            Value::SmallInt(1),
        ));
        let (db, object, number) = of_module.unwrap_or((Value::Null, Value::Null, Value::Null));
        return Ok(vec![vec![db, object, number, bit(false), text(found)]]);
    }
    let is_it = |text: &str| handle(text).as_slice() == wanted.as_ref();
    let of_sessions = Seen::all(session).into_iter().filter_map(|seen| seen.published.batch);
    let found = of_sessions.map(|batch| batch.text().clone()).find(|text| is_it(text));
    let found = found.or_else(|| session.instance().find_batch_text(&is_it));
    let row =
        |found: Arc<str>| vec![Value::Null, Value::Null, Value::Null, bit(false), text(found)];
    Ok(found.into_iter().map(row).collect())
}

const BUFFER_COLUMNS: &[ViewColumn] = &[
    ("event_type", text_of(256), true),
    ("parameters", SmallInt, true),
    ("event_info", NVarChar(Len::Max), true),
];

/// sys.dm_exec_input_buffer(session_id, request_id).
pub(crate) static INPUT_BUFFER: View =
    View::function("dm_exec_input_buffer", 2, BUFFER_COLUMNS, |session, _, args| {
        let wanted = args.first().and_then(Value::as_i64);
        let seen = Seen::all(session).into_iter().find(|seen| Some(i64::from(seen.spid)) == wanted);
        let input = seen.and_then(|seen| seen.published.input());
        Ok(input
            .into_iter()
            .map(|input| vec![text("Language Event"), Value::SmallInt(0), text(input)])
            .collect())
    });
