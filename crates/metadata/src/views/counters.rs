//! sys.dm_os_performance_counters: counters of log, buffer pool, locks and statements that are
//! really counted. Per-second counters are totals since the start; a rate is the difference of two
//! looks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use types::{DataType, Value};

use super::{View, ViewColumn, big};
use catalog::Db;
use instance::InstanceCore;
use instance::OfInstance;

use DataType::{BigInt, Int, NChar};

const COLUMNS: &[ViewColumn] = &[
    ("object_name", NChar(128), false),
    ("counter_name", NChar(128), false),
    ("instance_name", NChar(128), true),
    ("cntr_value", BigInt, false),
    ("cntr_type", Int, false),
];

/// cntr_type: a value as it is.
const RAW: i32 = 65_792;
/// A total, of which the rate matters.
const PER_SECOND: i32 = 272_696_576;
/// A share of the next row's value.
const FRACTION: i32 = 537_003_264;
const BASE: i32 = 1_073_939_712;
/// An average: total over the next row's value.
const AVERAGE: i32 = 1_073_874_176;

/// One counter.
struct Counter {
    object: &'static str,
    name: &'static str,
    instance: String,
    value: u64,
    kind: i32,
}

/// Counters of one database, or the sums over all.
#[derive(Clone, Copy, Default)]
struct OfDatabase {
    data_kb: u64,
    log_kb: u64,
    log_used_kb: u64,
    active: u64,
    begun: u64,
    committed: u64,
    writes: u64,
    bytes: u64,
    flush_waits: u64,
    flush_wait_ms: u64,
    growths: u64,
    shrinks: u64,
    truncations: u64,
}

impl OfDatabase {
    fn of(db: &Arc<Db>) -> Option<OfDatabase> {
        let storage = db.storage_if_open()?;
        let (log, space) = (storage.log().stats(), storage.log().space());
        let pages: u64 = storage.store().files().iter().map(|f| u64::from(f.pages)).sum();
        let txns = storage.counters();
        Some(OfDatabase {
            data_kb: pages * (pages::PAGE_SIZE as u64 >> 10),
            log_kb: space.size >> 10,
            log_used_kb: space.used >> 10,
            active: storage.txns().active().len() as u64,
            begun: txns.begun(),
            committed: txns.committed(),
            writes: log.writes,
            bytes: log.bytes_written,
            flush_waits: log.write_log_waits,
            flush_wait_ms: log.write_log_wait_us / 1000,
            growths: log.growths,
            shrinks: log.shrinks,
            truncations: log.truncations,
        })
    }

    fn add(&mut self, other: &OfDatabase) {
        self.data_kb += other.data_kb;
        self.log_kb += other.log_kb;
        self.log_used_kb += other.log_used_kb;
        self.active += other.active;
        self.begun += other.begun;
        self.committed += other.committed;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.flush_waits += other.flush_waits;
        self.flush_wait_ms += other.flush_wait_ms;
        self.growths += other.growths;
        self.shrinks += other.shrinks;
        self.truncations += other.truncations;
    }

    fn counters(&self) -> [(&'static str, u64, i32); 14] {
        [
            ("Data File(s) Size (KB)", self.data_kb, RAW),
            ("Log File(s) Size (KB)", self.log_kb, RAW),
            ("Log File(s) Used Size (KB)", self.log_used_kb, RAW),
            (
                "Percent Log Used",
                (self.log_used_kb * 100).checked_div(self.log_kb).unwrap_or(0),
                RAW,
            ),
            ("Active Transactions", self.active, RAW),
            ("Transactions/sec", self.begun, PER_SECOND),
            ("Write Transactions/sec", self.committed, PER_SECOND),
            ("Log Flushes/sec", self.writes, PER_SECOND),
            ("Log Bytes Flushed/sec", self.bytes, PER_SECOND),
            ("Log Flush Waits/sec", self.flush_waits, PER_SECOND),
            ("Log Flush Wait Time", self.flush_wait_ms, RAW),
            ("Log Growths", self.growths, RAW),
            ("Log Shrinks", self.shrinks, RAW),
            ("Log Truncations", self.truncations, RAW),
        ]
    }
}

const DATABASES: &str = "SQLServer:Databases";

fn of_databases(instance: &InstanceCore, out: &mut Vec<Counter>) {
    let mut total = OfDatabase::default();
    let mut push = |name: &str, of: &OfDatabase| {
        out.extend(of.counters().into_iter().map(|(counter, value, kind)| Counter {
            object: DATABASES,
            name: counter,
            instance: name.into(),
            value,
            kind,
        }));
    };
    for db in instance.databases() {
        if let Some(of) = OfDatabase::of(&db) {
            total.add(&of);
            push(&db.name(), &of);
        }
    }
    push("_Total", &total);
}

/// Counters of the buffer pool: name, value, cntr_type.
pub fn of_pool(instance: &InstanceCore) -> Vec<(&'static str, u64, i32)> {
    let (pool, c) = (instance.pool(), instance.pool().counters());
    let (lookups, read) = (c.lookups.load(Relaxed), c.pages_read.load(Relaxed));
    let ahead = c.read_ahead_pages.load(Relaxed);
    vec![
        ("Buffer cache hit ratio", lookups.saturating_sub(read), FRACTION),
        ("Buffer cache hit ratio base", lookups, BASE),
        ("Page lookups/sec", lookups, PER_SECOND),
        ("Free list stalls/sec", c.stalls.load(Relaxed), PER_SECOND),
        ("Database pages", u64::from(pool.frames() - pool.free_frames()), RAW),
        ("Target pages", pool.frames().into(), RAW),
        ("Lazy writes/sec", c.lazy_writes.load(Relaxed), PER_SECOND),
        ("Readahead pages/sec", ahead, PER_SECOND),
        ("Page reads/sec", read + ahead, PER_SECOND),
        ("Page writes/sec", c.pages_written.load(Relaxed), PER_SECOND),
        ("Checkpoint pages/sec", c.checkpoint_pages.load(Relaxed), PER_SECOND),
        ("Page life expectancy", pool.page_life().as_secs(), RAW),
    ]
}

fn of_locks(instance: &InstanceCore) -> Vec<(&'static str, u64, i32)> {
    let stats = instance.locks().wait_stats();
    let waits: u64 = stats.iter().map(|s| s.count).sum();
    let ms: u64 = stats.iter().map(|s| s.total_us).sum::<u64>() / 1000;
    let (deadlocks, timeouts) = instance.locks().counters();
    vec![
        ("Lock Waits/sec", waits, PER_SECOND),
        ("Lock Wait Time (ms)", ms, PER_SECOND),
        ("Lock Timeouts/sec", timeouts, PER_SECOND),
        ("Number of Deadlocks/sec", deadlocks, PER_SECOND),
        ("Average Wait Time (ms)", ms, AVERAGE),
        ("Average Wait Time Base", waits, BASE),
    ]
}

/// All counters.
fn counters(instance: &InstanceCore) -> Vec<Counter> {
    let mut out = Vec::new();
    of_databases(instance, &mut out);
    let sessions = instance.sessions().len() as u64;
    let blocked = instance.locks().waiting_count() as u64;
    let general = vec![
        ("User Connections", sessions, RAW),
        ("Logins/sec", instance.logins(), PER_SECOND),
        ("Processes blocked", blocked, RAW),
    ];
    let statements = vec![
        ("Batch Requests/sec", instance.batches_run(), PER_SECOND),
        ("SQL Compilations/sec", instance.compilations(), PER_SECOND),
    ];
    let groups = [
        ("SQLServer:Buffer Manager", "", of_pool(instance)),
        ("SQLServer:Locks", "_Total", of_locks(instance)),
        ("SQLServer:General Statistics", "", general),
        ("SQLServer:SQL Statistics", "", statements),
    ];
    for (object, of, list) in groups {
        out.extend(list.into_iter().map(|(name, value, kind)| Counter {
            object,
            name,
            instance: of.into(),
            value,
            kind,
        }));
    }
    out
}

/// A name as nchar(128).
fn name(text: &str) -> Value {
    Value::str(format!("{text:<128}"))
}

/// sys.dm_os_performance_counters.
pub static COUNTERS: View = View::sys("dm_os_performance_counters", COLUMNS, |session, _, _| {
    let rows = counters(session.instance()).into_iter().map(|c| {
        vec![name(c.object), name(c.name), name(&c.instance), big(c.value), Value::Int(c.kind)]
    });
    Ok(rows.collect())
});
