//! A picture of the running instance as data: what `ringwood top` shows. All counters only grow
//! while the instance runs; rates are differences of two pictures.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wal::VlfInfo;

use crate::views::{counters, devices, server, sessions, waiting};
use catalog::Db;
use instance::InstanceCore;

/// The instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstanceStatus {
    pub version: String,
    pub pid: u32,
    /// When the picture was taken: microseconds since 1970.
    pub at_us: u64,
    pub uptime_ms: u64,
    pub sessions: u64,
    pub batches: u64,
    pub databases: Vec<DatabaseStatus>,
    pub waits: Vec<WaitTotal>,
    pub requests: Vec<RequestStatus>,
    /// Counters of the buffer pool by their names in sys.dm_os_performance_counters.
    pub pool: Vec<(String, u64)>,
    /// Sessions that have begun.
    pub logins: u64,
    /// Sessions that wait for locks of others.
    pub blocked: u64,
    pub deadlocks: u64,
    pub lock_timeouts: u64,
    /// Batches that are kept compiled, and how many were compiled.
    pub kept_batches: u64,
    pub compilations: u64,
    pub memory: MemoryStatus,
    /// Where the time of requests has gone; empty unless it was ever measured.
    pub phases: Vec<PhaseStatus>,
}

/// A phase of requests, or the whole of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseStatus {
    pub name: String,
    /// Requests that were in it, and their time in it.
    pub count: u64,
    pub ns: u64,
    /// The processor's time that their threads have had meanwhile.
    pub cpu_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Requests by their time in it: `session::state::phases` has the bounds of the classes.
    pub classes: Vec<u64>,
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryStatus {
    /// What the process has of the machine's; 0 where the system does not tell.
    pub resident: u64,
    /// What the buffer pool may take.
    pub pool_limit: u64,
    /// What queries hold, may hold, and have held at most at once.
    pub query_used: u64,
    pub query_limit: u64,
    pub query_peak: u64,
}

/// A database; only its name and state when it is not open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatabaseStatus {
    pub id: i32,
    pub name: String,
    pub state: String,
    pub recovery_model: String,
    /// log_reuse_wait_desc.
    pub log_reuse_wait: String,
    /// Transactions that have written and run.
    pub active: u64,
    /// Transactions that wrote and committed.
    pub committed: u64,
    /// Checkpoints that have ended, and microseconds that they took.
    pub checkpoints: u64,
    pub checkpoint_us: u64,
    pub log: LogStatus,
    pub files: Vec<FileStatus>,
}

/// The log of a database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogStatus {
    pub size: u64,
    pub used: u64,
    pub vlfs: u32,
    pub active_vlfs: u32,
    pub current_vlf: u32,
    /// What log blocks are aligned to, bytes.
    pub alignment: u32,
    pub records: u64,
    pub record_bytes: u64,
    pub growths: u64,
    pub writes: u64,
    pub bytes_written: u64,
    /// Times that the log was made durable, by how long the device took: less than 1, 2, 4, ...
    /// microseconds, the last one more.
    pub flushes: u64,
    pub flush_us: u64,
    pub flush_latencies: Vec<u64>,
    /// The VLFs in file order; neighbours of one state are one run.
    pub runs: Vec<VlfRun>,
}

/// What a VLF is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VlfState {
    /// Never written.
    #[default]
    Unused,
    /// Was written, can be written again.
    Free,
    /// Holds records that are kept.
    Active,
    /// The log ends in it.
    Current,
}

/// Neighbouring VLFs of one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VlfRun {
    pub state: VlfState,
    pub count: u32,
    pub bytes: u64,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileStatus {
    pub id: u16,
    pub name: String,
    pub is_log: bool,
    pub size: u64,
    pub direct: bool,
    pub physical_sector: u32,
    pub reads: u64,
    pub bytes_read: u64,
    pub read_us: u64,
    pub writes: u64,
    pub bytes_written: u64,
    pub write_us: u64,
    pub syncs: u64,
    pub sync_us: u64,
    /// Writes by size: at most 512 bytes, 1 KB, ... 1 MB, more.
    pub write_sizes: Vec<u64>,
}

/// Finished waits of one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitTotal {
    pub wait_type: String,
    pub count: u64,
    pub us: u64,
}

/// A batch that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestStatus {
    pub session: i32,
    pub database: String,
    pub command: String,
    pub ms: u64,
    pub wait_type: Option<String>,
    pub wait_ms: u64,
    pub blocked_by: Option<i32>,
    /// The statement, its first characters.
    pub text: String,
}

/// Characters of a statement that are shown.
const MAX_STATEMENT: usize = 200;

fn runs(vlfs: &[VlfInfo], current: u32) -> Vec<VlfRun> {
    let mut runs: Vec<VlfRun> = Vec::new();
    for vlf in vlfs {
        let state = match (vlf.status, vlf.seq) {
            (2, seq) if seq == current => VlfState::Current,
            (2, _) => VlfState::Active,
            (_, 0) => VlfState::Unused,
            _ => VlfState::Free,
        };
        match runs.last_mut().filter(|run| run.state == state) {
            Some(run) => {
                run.count += 1;
                run.bytes += vlf.size;
            }
            None => runs.push(VlfRun { state, count: 1, bytes: vlf.size }),
        }
    }
    runs
}

fn file(f: devices::FileIo) -> FileStatus {
    let s = &f.stats;
    FileStatus {
        id: f.entry.file_id,
        name: f.entry.name.to_string(),
        is_log: f.entry.log,
        size: f.size,
        direct: f.direct,
        physical_sector: f.sectors.physical,
        reads: s.reads,
        bytes_read: s.bytes_read,
        read_us: s.read_stall_us,
        writes: s.writes,
        bytes_written: s.bytes_written,
        write_us: s.write_stall_us,
        syncs: s.syncs,
        sync_us: s.sync_stall_us,
        write_sizes: s.write_sizes.to_vec(),
    }
}

fn database(db: &Arc<Db>) -> DatabaseStatus {
    let name = db.name().to_string();
    let mut status = DatabaseStatus {
        id: db.id(),
        name,
        state: db.status().name().into(),
        ..DatabaseStatus::default()
    };
    let Some(storage) = db.storage_if_open() else { return status };
    let log = storage.log();
    let (space, stats, io) = (log.space(), log.stats(), log.file_stats());
    status.recovery_model = db.recovery_model().name().into();
    status.log_reuse_wait = storage.log_reuse_wait().name().into();
    status.active = storage.txns().active().len() as u64;
    status.committed = storage.counters().committed();
    let (checkpoints, time) = storage.checkpoints();
    (status.checkpoints, status.checkpoint_us) = (checkpoints, time.as_micros() as u64);
    status.log = LogStatus {
        size: space.size,
        used: space.used,
        vlfs: space.vlf_count,
        active_vlfs: space.active_vlfs,
        current_vlf: space.current_vlf,
        alignment: log.alignment(),
        records: stats.records,
        record_bytes: stats.record_bytes,
        growths: stats.growths,
        writes: stats.writes,
        bytes_written: stats.bytes_written,
        flushes: io.durable_writes + io.syncs,
        flush_us: io.durable_stall_us + io.sync_stall_us,
        flush_latencies: io
            .durable_latency
            .iter()
            .zip(io.sync_latency)
            .map(|(a, b)| a + b)
            .collect(),
        runs: runs(&log.vlfs(), space.current_vlf),
    };
    status.files = devices::files_of(db).into_iter().map(file).collect();
    status
}

fn requests(instance: &InstanceCore) -> Vec<RequestStatus> {
    let waits = waiting::waits(instance);
    let name =
        |id: i64| instance.db_by_id(id as i32).map_or_else(String::new, |db| db.name().to_string());
    let running = sessions::running(instance).into_iter().map(|r| {
        let wait = waits.iter().find(|w| w.session == r.session);
        RequestStatus {
            session: r.session,
            database: name(r.database),
            command: r.command,
            ms: r.running_for.as_millis() as u64,
            wait_type: wait.map(|w| w.wait_type.to_string()),
            wait_ms: wait.map_or(0, |w| w.waited.as_millis() as u64),
            blocked_by: wait.and_then(|w| w.blocker),
            text: r.text.chars().take(MAX_STATEMENT).collect(),
        }
    });
    running.collect()
}

fn phases(instance: &InstanceCore) -> Vec<PhaseStatus> {
    let times = instance.request_phases().times();
    if times.iter().all(|phase| phase.count == 0) {
        return Vec::new();
    }
    let status = times.into_iter().map(|phase| PhaseStatus {
        name: phase.name.into(),
        count: phase.count,
        ns: phase.elapsed.total_ns,
        cpu_ns: phase.processor.total_ns,
        max_ns: phase.elapsed.longest_ns,
        classes: phase.elapsed.classes,
    });
    status.collect()
}

/// A picture of now.
pub fn of(instance: &InstanceCore) -> InstanceStatus {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let waits = server::waits(instance).into_iter().filter(|w| w.1 > 0);
    let (deadlocks, lock_timeouts) = instance.locks().counters();
    InstanceStatus {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        at_us: now.as_micros() as u64,
        uptime_ms: instance.born.elapsed().as_millis() as u64,
        sessions: instance.sessions().len() as u64,
        batches: instance.batches_run(),
        databases: instance.databases().iter().map(database).collect(),
        waits: waits
            .map(|(name, count, us, _)| WaitTotal { wait_type: name.into(), count, us })
            .collect(),
        requests: requests(instance),
        pool: counters::of_pool(instance)
            .into_iter()
            .map(|(name, value, _)| (name.into(), value))
            .collect(),
        logins: instance.logins(),
        blocked: instance.locks().waiting_count() as u64,
        deadlocks,
        lock_timeouts,
        kept_batches: instance.kept_batches() as u64,
        compilations: instance.compilations(),
        memory: MemoryStatus {
            resident: instance::resident() as u64,
            pool_limit: instance.pool_bytes(),
            query_used: instance.query_memory().used() as u64,
            query_limit: instance.query_memory().limit() as u64,
            query_peak: instance.query_memory().peak() as u64,
        },
        phases: phases(instance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wal::Lsn;

    #[test]
    fn neighbours_of_one_state_are_one_run() {
        let vlf = |seq, status| VlfInfo {
            begin_offset: 0,
            size: 10,
            seq,
            status,
            parity: 64,
            create_lsn: Lsn::ZERO,
            first_lsn: Lsn::ZERO,
        };
        let vlfs = [vlf(7, 2), vlf(8, 2), vlf(9, 2), vlf(4, 0), vlf(5, 0), vlf(0, 0)];
        let got: Vec<_> = runs(&vlfs, 9).iter().map(|r| (r.state, r.count, r.bytes)).collect();
        let wanted = [
            (VlfState::Active, 2, 20),
            (VlfState::Current, 1, 10),
            (VlfState::Free, 2, 20),
            (VlfState::Unused, 1, 10),
        ];
        assert_eq!(got, wanted);
    }
}
