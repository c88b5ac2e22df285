//! Processors, threads and the buffer pool: sys.dm_os_schedulers, dm_os_workers, dm_os_threads,
//! dm_os_buffer_descriptors, dm_os_latch_stats. There are no schedulers of our own and no pool of
//! workers: the system runs the threads, a worker is a thread, and a scheduler is a processor with
//! the threads that ran on it last. Guarantee: numbers are those of the system; what it does not
//! tell is NULL.

use std::collections::HashMap;
use std::fs::read_to_string;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pages::{PageType, PageWait};
use types::{DataType, Len, Value};

use super::physical::kind_of;
use super::transactions::datetime;
use super::{NVARCHAR60, SystemView, View, ViewColumn, big, bit, int, text};
use catalog::Db;
use instance::OfInstance;

use DataType::{BigInt, Bit, DateTime, Int, SmallInt, VarBinary};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&SCHEDULERS, &WORKERS, &THREADS, &BUFFERS, &LATCHES];

const ADDRESS: DataType = VarBinary(Len::N(8));

/// A tick of the times in /proc, which are in hundredths of a second whatever the machine.
const TICK: u64 = 10;

/// What the system tells of a thread of this process.
struct Thread {
    id: u64,
    runs: bool,
    /// Milliseconds.
    user: u64,
    kernel: u64,
    /// Milliseconds after the start of the system.
    began: u64,
    processor: u64,
    priority: i64,
    /// Times that it gave its processor away, and that it was taken.
    yields: u64,
    preempted: u64,
}

impl Thread {
    fn read(id: u64) -> Option<Thread> {
        let stat = read_to_string(format!("/proc/self/task/{id}/stat")).ok()?;
        // Behind the name in parentheses; the first of these is the third field.
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let status = read_to_string(format!("/proc/self/task/{id}/status")).unwrap_or_default();
        let switches = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
        };
        Some(Thread {
            id,
            runs: fields.first() == Some(&"R"),
            user: number(14)? * TICK,
            kernel: number(15)? * TICK,
            began: number(22)? * TICK,
            processor: number(39)?,
            priority: fields.get(18 - 3)?.parse().ok()?,
            yields: switches("voluntary_ctxt_switches"),
            preempted: switches("nonvoluntary_ctxt_switches"),
        })
    }

    /// Those of this process.
    fn all() -> Vec<Thread> {
        let Ok(entries) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
        let id = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        // One that ends meanwhile is none.
        let mut all: Vec<Thread> =
            entries.flatten().filter_map(id).filter_map(Thread::read).collect();
        all.sort_by_key(|thread| thread.id);
        all
    }
}

/// A number as an address.
fn address(kind: u8, number: u64) -> Value {
    let mut bytes = number.to_be_bytes();
    bytes[0] = kind;
    Value::bytes(bytes.to_vec())
}

const THREAD: u8 = 1;
const SCHEDULER: u8 = 2;

/// The numbers of a list like `0-3,6`.
fn numbers(list: &str) -> Vec<u64> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The processors that this process may use.
fn processors() -> Vec<u64> {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    numbers(line.unwrap_or_default())
}

const SCHEDULER_COLUMNS: &[ViewColumn] = &[
    ("scheduler_address", ADDRESS, false),
    ("parent_node_id", Int, false),
    ("scheduler_id", Int, false),
    ("cpu_id", SmallInt, false),
    ("status", NVARCHAR60, false),
    ("is_online", Bit, false),
    ("is_idle", Bit, false),
    ("preemptive_switches_count", Int, false),
    ("context_switches_count", Int, false),
    ("idle_switches_count", Int, true),
    ("current_tasks_count", Int, true),
    ("runnable_tasks_count", Int, false),
    ("current_workers_count", Int, false),
    ("active_workers_count", Int, false),
    ("work_queue_count", BigInt, false),
    ("pending_disk_io_count", Int, true),
    ("load_factor", Int, false),
    ("yield_count", Int, false),
    ("last_timer_activity", BigInt, true),
    ("failed_to_create_worker", Bit, false),
    ("active_worker_address", ADDRESS, true),
    ("memory_object_address", ADDRESS, true),
    ("task_memory_object_address", ADDRESS, true),
    ("quantum_length_us", BigInt, true),
    ("total_cpu_usage_ms", BigInt, false),
    ("total_cpu_idle_capped_ms", BigInt, true),
    ("total_scheduler_delay_ms", BigInt, true),
    ("ideal_workers_limit", Int, true),
];

/// sys.dm_os_schedulers: the processors that the process may use, each with the threads that ran on
/// it last.
static SCHEDULERS: View = View::sys("dm_os_schedulers", SCHEDULER_COLUMNS, |_, _, _| {
    let threads = Thread::all();
    let row = |(number, processor): (usize, u64)| {
        let own: Vec<&Thread> =
            threads.iter().filter(|thread| thread.processor == processor).collect();
        let sum = |of: fn(&Thread) -> u64| own.iter().map(|thread| of(thread)).sum::<u64>();
        let running: Vec<&&Thread> = own.iter().filter(|thread| thread.runs).collect();
        let active = running.len() as u64;
        SCHEDULER_COLUMNS
            .iter()
            .map(|(name, _, _)| match *name {
                "scheduler_address" => address(SCHEDULER, processor),
                "parent_node_id" => Value::Int(0),
                "scheduler_id" => int(number as u64),
                "cpu_id" => Value::SmallInt(i16::try_from(processor).unwrap_or(i16::MAX)),
                "status" => text("VISIBLE ONLINE"),
                "is_online" => bit(true),
                "is_idle" => bit(active == 0),
                "preemptive_switches_count" => int(sum(|thread| thread.preempted)),
                "context_switches_count" => int(sum(|thread| thread.yields + thread.preempted)),
                "yield_count" => int(sum(|thread| thread.yields)),
                "runnable_tasks_count" => int(active.saturating_sub(1)),
                "current_workers_count" => int(own.len() as u64),
                "active_workers_count" | "load_factor" => int(active),
                // A connection has its thread: nothing waits for one.
                "work_queue_count" => Value::BigInt(0),
                "failed_to_create_worker" => bit(false),
                "active_worker_address" => {
                    running.first().map_or(Value::Null, |thread| address(THREAD, thread.id))
                }
                "total_cpu_usage_ms" => big(sum(|thread| thread.user + thread.kernel)),
                _ => Value::Null,
            })
            .collect()
    };
    Ok(processors().into_iter().enumerate().map(row).collect())
});

const WORKER_COLUMNS: &[ViewColumn] = &[
    ("worker_address", ADDRESS, false),
    ("status", Int, true),
    ("is_preemptive", Bit, true),
    ("is_fiber", Bit, true),
    ("is_sick", Bit, true),
    ("is_in_cc_exception", Bit, true),
    ("is_fatal_exception", Bit, true),
    ("is_inside_catch", Bit, true),
    ("is_in_polling_io_completion_routine", Bit, true),
    ("context_switch_count", Int, false),
    ("pending_io_count", Int, true),
    ("pending_io_byte_count", BigInt, true),
    ("pending_io_byte_average", Int, true),
    ("wait_started_ms_ticks", BigInt, true),
    ("wait_resumed_ms_ticks", BigInt, true),
    ("task_bound_ms_ticks", BigInt, true),
    ("worker_created_ms_ticks", BigInt, false),
    ("exception_num", Int, true),
    ("exception_severity", Int, true),
    ("exception_address", ADDRESS, true),
    ("affinity", BigInt, true),
    ("state", NVARCHAR60, true),
    ("start_quantum", BigInt, true),
    ("end_quantum", BigInt, true),
    ("last_wait_type", NVARCHAR60, true),
    ("return_code", Int, true),
    ("quantum_used", BigInt, true),
    ("max_quantum", BigInt, true),
    ("boost_count", Int, true),
    ("tasks_processed_count", Int, true),
    ("fiber_address", ADDRESS, true),
    ("task_address", ADDRESS, true),
    ("memory_object_address", ADDRESS, true),
    ("thread_address", ADDRESS, true),
    ("signal_worker_address", ADDRESS, true),
    ("scheduler_address", ADDRESS, true),
    ("processor_group", SmallInt, false),
    ("worker_migration_count", Int, true),
];

/// sys.dm_os_workers: the threads.
static WORKERS: View = View::sys("dm_os_workers", WORKER_COLUMNS, |_, _, _| {
    let row = |thread: Thread| {
        WORKER_COLUMNS
            .iter()
            .map(|(name, _, _)| match *name {
                "worker_address" | "thread_address" => address(THREAD, thread.id),
                // The system may take the processor from any of them at any time.
                "is_preemptive" => bit(true),
                "is_fiber" => bit(false),
                "context_switch_count" => int(thread.yields + thread.preempted),
                "worker_created_ms_ticks" => big(thread.began),
                "state" => text(if thread.runs { "RUNNING" } else { "SUSPENDED" }),
                "scheduler_address" => address(SCHEDULER, thread.processor),
                "processor_group" => Value::SmallInt(0),
                _ => Value::Null,
            })
            .collect()
    };
    Ok(Thread::all().into_iter().map(row).collect())
});

const THREAD_COLUMNS: &[ViewColumn] = &[
    ("thread_address", ADDRESS, false),
    ("started_by_sqlservr", Bit, true),
    ("os_thread_id", Int, false),
    ("status", Int, true),
    ("instruction_address", ADDRESS, true),
    ("creation_time", DateTime, true),
    ("kernel_time", BigInt, true),
    ("usermode_time", BigInt, true),
    ("stack_base_address", ADDRESS, true),
    ("stack_end_address", ADDRESS, true),
    ("stack_bytes_committed", Int, true),
    ("stack_bytes_used", Int, true),
    ("affinity", BigInt, true),
    ("priority", Int, true),
    ("locale", Int, true),
    ("token", ADDRESS, true),
    ("is_impersonating", Int, true),
    ("is_waiting_on_loader_lock", Int, true),
    ("fiber_data", ADDRESS, true),
    ("thread_handle", ADDRESS, true),
    ("event_handle", ADDRESS, true),
    ("scheduler_address", ADDRESS, true),
    ("worker_address", ADDRESS, true),
    ("fiber_context_address", ADDRESS, true),
    ("self_address", ADDRESS, true),
    ("processor_group", SmallInt, false),
];

/// sys.dm_os_threads: of this process, also those that a program that embeds the engine has of its
/// own.
static THREADS: View = View::sys("dm_os_threads", THREAD_COLUMNS, |_, _, _| {
    let up = read_to_string("/proc/uptime").unwrap_or_default();
    let up: Option<f64> = up.split_whitespace().next().and_then(|seconds| seconds.parse().ok());
    let booted =
        up.and_then(|seconds| SystemTime::now().checked_sub(Duration::from_secs_f64(seconds)));
    let row = |thread: Thread| {
        THREAD_COLUMNS
            .iter()
            .map(|(name, _, _)| match *name {
                "thread_address" | "worker_address" | "self_address" => address(THREAD, thread.id),
                "os_thread_id" => int(thread.id),
                "creation_time" => match booted {
                    Some(booted) => datetime(booted + Duration::from_millis(thread.began)),
                    None => Value::Null,
                },
                "kernel_time" => big(thread.kernel),
                "usermode_time" => big(thread.user),
                "priority" => Value::Int(i32::try_from(thread.priority).unwrap_or(0)),
                "is_impersonating" => Value::Int(0),
                "scheduler_address" => address(SCHEDULER, thread.processor),
                "processor_group" => Value::SmallInt(0),
                _ => Value::Null,
            })
            .collect()
    };
    Ok(Thread::all().into_iter().map(row).collect())
});

const BUFFER_COLUMNS: &[ViewColumn] = &[
    ("database_id", Int, true),
    ("file_id", Int, true),
    ("page_id", Int, true),
    ("page_level", Int, true),
    ("allocation_unit_id", BigInt, true),
    ("page_type", NVARCHAR60, true),
    ("row_count", Int, true),
    ("free_space_in_bytes", Int, true),
    ("is_modified", Bit, true),
    ("numa_node", Int, true),
    ("read_microsec", BigInt, true),
    ("is_in_bpool_extension", Bit, true),
];

/// sys.dm_os_buffer_descriptors: the pages in the buffer pool. Of one that somebody changes at that
/// moment only the place is told.
static BUFFERS: View = View::sys("dm_os_buffer_descriptors", BUFFER_COLUMNS, |session, _, _| {
    let mut databases = session.host().databases();
    databases.extend(session.host().variables_db().ok());
    let stores: HashMap<u16, Arc<Db>> = databases
        .into_iter()
        .filter_map(|db| Some((db.storage_if_open()?.store().number(), db)))
        // Table variables lie in tempdb's storage, by a handle of their own.
        .fold(HashMap::new(), |mut all, (number, db)| {
            all.entry(number).or_insert(db);
            all
        });
    let mut rows = Vec::new();
    for (store, id, modified) in session.instance().pool().pages() {
        let Some(db) = stores.get(&store) else { continue };
        let Some(storage) = db.storage_if_open() else { continue };
        let page = storage.store().try_read(id);
        let kind = page.as_ref().and_then(|page| page.page_type());
        let slotted = page.as_ref().filter(|_| kind.is_some_and(PageType::is_slotted));
        let owned = page.as_ref().filter(|page| page.unit().0 != 0);
        rows.push(vec![
            Value::Int(db.id()),
            int(id.file.into()),
            int(id.page.into()),
            page.as_ref().map_or(Value::Null, |page| Value::Int(page.level().into())),
            owned.map_or(Value::Null, |page| super::partitions::allocation_unit_id(page.unit())),
            page.as_ref().map_or(Value::Null, |_| text(kind_of(kind))),
            slotted.map_or(Value::Null, |page| int(page.slot_count().into())),
            slotted.map_or(Value::Null, |page| int(page.free_bytes() as u64)),
            bit(modified),
            Value::Int(0),
            Value::Null,
            bit(false),
        ]);
    }
    Ok(rows)
});

/// sys.dm_os_latch_stats: waits for the latches of pages; others are not counted.
static LATCHES: View = View::sys(
    "dm_os_latch_stats",
    &[
        ("latch_class", NVARCHAR60, true),
        ("waiting_requests_count", BigInt, true),
        ("wait_time_ms", BigInt, true),
        ("max_wait_time_ms", BigInt, true),
    ],
    |session, _, _| {
        let waits = session.instance().pool().waits();
        let all =
            [PageWait::LatchSh, PageWait::LatchEx, PageWait::LatchUp].map(|wait| waits.get(wait));
        let total: u64 = all.iter().map(|wait| wait.total_us).sum();
        Ok(vec![vec![
            text("BUFFER"),
            big(all.iter().map(|wait| wait.count).sum()),
            big(total / 1000),
            big(all.iter().map(|wait| wait.max_us).max().unwrap_or(0) / 1000),
        ]])
    },
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(numbers("0-3,6"), [0, 1, 2, 3, 6]);
        assert_eq!(numbers("\t5\n"), [5]);
        assert!(numbers("").is_empty());
    }

    #[test]
    fn this_thread_is_among_the_threads() {
        let all = Thread::all();
        assert!(!all.is_empty() && all.iter().any(|thread| thread.runs), "{}", all.len());
    }
}
