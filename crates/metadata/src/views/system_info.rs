//! The process and the machine: sys.dm_os_sys_memory, dm_os_process_memory, dm_os_host_info,
//! dm_os_memory_clerks, dm_os_tasks, dm_server_services, and views whose rows are none here because
//! there is no such thing. Guarantee: what the system does not tell is NULL where a column can be.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use types::{DataType, Len, Value};

use super::{NVARCHAR60, SYSNAME, SystemView, View, ViewColumn, ViewResult, big, bit, int, text};
use catalog::Db;
use instance::OfInstance;
use logical::isolation::Isolation;
use session::state::SessionCore;

use DataType::{
    BigInt, Bit, DateTime, DateTimeOffset, Int, NVarChar, SmallInt, SqlVariant, VarBinary,
};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &SYS_MEMORY,
    &PROCESS_MEMORY,
    &HOST_INFO,
    &super::memory::CLERKS,
    &TASKS,
    &SERVICES,
    &REGISTRY,
    &SKU_FEATURES,
    &JOB_QUEUE,
    &VERSION_STORE,
    &CURRENT_TRANSACTION,
    &FILE_SPACE,
];

const N256: DataType = NVarChar(Len::N(256));

/// The numbers of a file of /proc whose lines are `Name: n kB`, in kilobytes.
struct Proc(String);

impl Proc {
    fn read(path: &str) -> Proc {
        Proc(std::fs::read_to_string(path).unwrap_or_default())
    }

    fn number(&self, name: &str) -> Option<u64> {
        let mut lines = self.0.lines();
        let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.trim().trim_end_matches("kB").trim().parse().ok()
    }
}

/// sys.dm_os_sys_memory: of the machine.
static SYS_MEMORY: View = View::sys(
    "dm_os_sys_memory",
    &[
        ("total_physical_memory_kb", BigInt, false),
        ("available_physical_memory_kb", BigInt, false),
        ("total_page_file_kb", BigInt, false),
        ("available_page_file_kb", BigInt, false),
        ("system_cache_kb", BigInt, false),
        ("kernel_paged_pool_kb", BigInt, false),
        ("kernel_nonpaged_pool_kb", BigInt, false),
        ("system_high_memory_signal_state", Bit, false),
        ("system_low_memory_signal_state", Bit, false),
        ("system_memory_state_desc", N256, false),
    ],
    |_, _, _| {
        let memory = Proc::read("/proc/meminfo");
        let number = |name: &str| memory.number(name).unwrap_or(0);
        let (total, available) = (number("MemTotal"), number("MemAvailable"));
        // SQL Server calls it low below about 64 MB of each 4 GB.
        let low = available < total / 64;
        Ok(vec![vec![
            big(total),
            big(available),
            big(total + number("SwapTotal")),
            big(available + number("SwapFree")),
            big(number("Cached")),
            big(number("SReclaimable")),
            big(number("SUnreclaim")),
            bit(!low),
            bit(low),
            text(if low {
                "Available physical memory is low"
            } else {
                "Available physical memory is high"
            }),
        ]])
    },
);

/// sys.dm_os_process_memory: of this process.
static PROCESS_MEMORY: View = View::sys(
    "dm_os_process_memory",
    &[
        ("physical_memory_in_use_kb", BigInt, false),
        ("large_page_allocations_kb", BigInt, false),
        ("locked_page_allocations_kb", BigInt, false),
        ("total_virtual_address_space_kb", BigInt, false),
        ("virtual_address_space_reserved_kb", BigInt, false),
        ("virtual_address_space_committed_kb", BigInt, false),
        ("virtual_address_space_available_kb", BigInt, false),
        ("page_fault_count", BigInt, false),
        ("memory_utilization_percentage", Int, false),
        ("available_commit_limit_kb", BigInt, false),
        ("process_physical_memory_low", Bit, false),
        ("process_virtual_memory_low", Bit, false),
    ],
    |_, _, _| {
        /// What a process can address on x86-64 and ARM64, in kilobytes.
        const ADDRESSES: u64 = 1 << 37;
        let (process, memory) = (Proc::read("/proc/self/status"), Proc::read("/proc/meminfo"));
        let number = |name: &str| process.number(name).unwrap_or(0);
        let (resident, reserved) = (number("VmRSS"), number("VmSize"));
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Behind the name in parentheses: state, then numbers; the eighth and the tenth are minor
        // and major faults.
        let numbers: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let fault = |at: usize| numbers.get(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let available = memory.number("MemAvailable").unwrap_or(0);
        let committed = number("VmData");
        Ok(vec![vec![
            big(resident),
            big(number("HugetlbPages")),
            big(number("VmLck")),
            big(ADDRESSES),
            big(reserved),
            big(committed),
            big(ADDRESSES.saturating_sub(reserved)),
            big(fault(7) + fault(9)),
            int((resident * 100).checked_div(committed).unwrap_or(100).min(100)),
            big(available),
            bit(false),
            bit(false),
        ]])
    },
);

/// sys.dm_os_host_info.
static HOST_INFO: View = View::sys(
    "dm_os_host_info",
    &[
        ("host_platform", N256, false),
        ("host_distribution", N256, false),
        ("host_release", N256, false),
        ("host_service_pack_level", N256, false),
        ("host_sku", Int, true),
        ("os_language_version", Int, false),
        ("host_architecture", N256, false),
    ],
    |_, _, _| {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let of = |name: &str| {
            let line = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap_or_default().trim_matches('"').to_owned()
        };
        Ok(vec![vec![
            text("Linux"),
            text(of("NAME")),
            text(of("VERSION_ID")),
            text(""),
            Value::Null,
            Value::Int(0),
            text(match std::env::consts::ARCH {
                "x86_64" => "X64",
                "aarch64" => "ARM64",
                other => other,
            }),
        ]])
    },
);

const TASK_COLUMNS: &[ViewColumn] = &[
    ("task_address", VarBinary(Len::N(8)), false),
    ("task_state", NVARCHAR60, true),
    ("context_switches_count", Int, true),
    ("pending_io_count", Int, true),
    ("pending_io_byte_count", BigInt, true),
    ("pending_io_byte_average", Int, true),
    ("scheduler_id", Int, true),
    ("session_id", SmallInt, true),
    ("exec_context_id", Int, true),
    ("request_id", Int, true),
    ("worker_address", VarBinary(Len::N(8)), true),
    ("host_address", VarBinary(Len::N(8)), true),
    ("parent_task_address", VarBinary(Len::N(8)), true),
];

/// sys.dm_os_tasks: each request that runs is one. There are no schedulers and no pool of workers:
/// the system runs the threads.
static TASKS: View = View::sys("dm_os_tasks", TASK_COLUMNS, |session, _, _| {
    let instance = session.instance();
    let waiting: Vec<i32> =
        super::waiting::waits(instance).iter().map(|wait| wait.session).collect();
    let running =
        instance.sessions().into_iter().filter(|(_, shared)| shared.running.load(Relaxed));
    let rows = running.map(|(spid, _)| {
        let mut row = vec![Value::Null; TASK_COLUMNS.len()];
        row[0] = super::waiting::task_address(spid);
        row[1] = text(if waiting.contains(&spid) { "SUSPENDED" } else { "RUNNING" });
        row[7] = Value::SmallInt(spid as i16);
        row[8] = Value::Int(0);
        row[9] = Value::Int(0);
        row
    });
    Ok(rows.collect())
});

const SERVICE_COLUMNS: &[ViewColumn] = &[
    ("servicename", N256, false),
    ("startup_type", Int, true),
    ("startup_type_desc", N256, false),
    ("status", Int, true),
    ("status_desc", N256, false),
    ("process_id", Int, true),
    ("last_startup_time", DateTimeOffset(7), true),
    ("service_account", N256, false),
    ("filename", N256, false),
    ("is_clustered", NVarChar(Len::N(1)), false),
    ("cluster_nodename", N256, true),
    ("instant_file_initialization_enabled", NVarChar(Len::N(1)), false),
];

/// sys.dm_server_services: this process.
static SERVICES: View = View::sys("dm_server_services", SERVICE_COLUMNS, |session, _, _| {
    let started = session.instance().started();
    let started = types::convert(started, DateTime, DateTimeOffset(7), 0, types::Mode::Implicit)?;
    let program =
        std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    Ok(vec![vec![
        text("SQL Server (MSSQLSERVER)"),
        Value::Null,
        text("Other"),
        Value::Int(4),
        text("Running"),
        int(std::process::id().into()),
        started,
        text(std::env::var("USER").unwrap_or_default()),
        text(program.chars().take(256).collect::<String>()),
        text("N"),
        Value::Null,
        text("N"),
    ]])
});

/// sys.dm_server_registry: there is no registry.
static REGISTRY: View = View::empty(
    "dm_server_registry",
    &[("registry_key", N256, true), ("value_name", N256, true), ("value_data", SqlVariant, true)],
);

/// sys.dm_db_persisted_sku_features: no feature ties a database to an edition.
static SKU_FEATURES: View = View::empty(
    "dm_db_persisted_sku_features",
    &[("feature_name", SYSNAME, true), ("feature_id", Int, true)],
);

/// sys.dm_exec_background_job_queue: statistics are made where they are needed, not by jobs in the
/// background.
static JOB_QUEUE: View = View::empty(
    "dm_exec_background_job_queue",
    &[
        ("time_queued", DateTime, false),
        ("job_id", Int, false),
        ("database_id", Int, false),
        ("object_id1", Int, false),
        ("object_id2", Int, false),
        ("object_id3", Int, false),
        ("object_id4", Int, false),
        ("error_code", Int, true),
        ("request_type", SmallInt, false),
        ("retry_count", SmallInt, false),
        ("in_progress", SmallInt, false),
        ("session_id", SmallInt, true),
    ],
);

/// sys.dm_tran_version_store_space_usage: versions are in the log, no page of tempdb holds one.
static VERSION_STORE: View = View::sys(
    "dm_tran_version_store_space_usage",
    &[
        ("database_id", Int, true),
        ("reserved_page_count", BigInt, true),
        ("reserved_space_kb", BigInt, true),
    ],
    |session, _, _| {
        let row = |db: Arc<Db>| vec![Value::Int(db.id()), Value::BigInt(0), Value::BigInt(0)];
        Ok(session.host().databases().into_iter().map(row).collect())
    },
);

/// sys.dm_tran_current_transaction: the caller's.
static CURRENT_TRANSACTION: View = View::sys(
    "dm_tran_current_transaction",
    &[
        ("transaction_id", BigInt, true),
        ("transaction_sequence_num", BigInt, true),
        ("transaction_is_snapshot", Bit, true),
        ("first_snapshot_sequence_num", BigInt, true),
        ("last_transaction_sequence_num", BigInt, true),
        ("first_useful_sequence_num", BigInt, true),
    ],
    current_transaction,
);

fn current_transaction(session: &mut SessionCore, db: &Arc<Db>, _args: &[Value]) -> ViewResult {
    session.txn(db)?;
    let id = session.shared.lock_owner.load(Relaxed);
    let snapshot = session.options.isolation == Isolation::Snapshot;
    Ok(vec![vec![big(id), Value::Null, bit(snapshot), Value::Null, Value::Null, Value::Null]])
}

const FILE_SPACE_COLUMNS: &[ViewColumn] = &[
    ("database_id", SmallInt, true),
    ("file_id", SmallInt, true),
    ("filegroup_id", SmallInt, true),
    ("total_page_count", BigInt, true),
    ("allocated_extent_page_count", BigInt, true),
    ("unallocated_extent_page_count", BigInt, true),
    ("version_store_reserved_page_count", BigInt, true),
    ("user_object_reserved_page_count", BigInt, true),
    ("internal_object_reserved_page_count", BigInt, true),
    ("mixed_extent_page_count", BigInt, true),
    ("modified_extent_page_count", BigInt, true),
];

/// sys.dm_db_file_space_usage: the data files of the database. The owners of the pages are not
/// shown.
static FILE_SPACE: View = View::sys("dm_db_file_space_usage", FILE_SPACE_COLUMNS, |_, db, _| {
    let storage = db.storage()?;
    let store = storage.store();
    let mut rows = Vec::new();
    for file in store.files() {
        let extents = store.allocated_extents(file.spec.id);
        let extents =
            extents.map_err(|e| catalog::errors::db_error(db, &txn::TxnError::from(e)))?;
        let (total, allocated) = (u64::from(file.pages), extents.len() as u64 * 8);
        rows.push(vec![
            Value::SmallInt(db.id() as i16),
            Value::SmallInt(file.spec.id as i16),
            Value::SmallInt(file.spec.filegroup as i16),
            big(total),
            big(allocated.min(total)),
            big(total.saturating_sub(allocated)),
            Value::BigInt(0),
            Value::Null,
            Value::Null,
            Value::BigInt(0),
            Value::Null,
        ]);
    }
    Ok(rows)
});
