//! The language between studies and targets: configurations, pieces of work, figures and counters.
//! A study is written in it, a target (embedded, a peer, later SQL Server over its wire protocol)
//! carries it out. Data only.

use crate::work_tsql::TsqlWork;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a study turns. A target says which of its own settings that is, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// In how many pieces the log is cut.
    LogPieces,
    /// How many files hold the data.
    DataFiles,
    /// What a commit waits for.
    Durability,
    /// By which steps the log grows.
    LogGrowth,
    /// The unit of log writes.
    LogBlock,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Until the log is on the disk.
    Full,
    /// For nothing: a bounded window may be lost.
    Delayed,
}

/// The unit of log writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogBlock {
    /// What the target chooses by itself.
    #[default]
    Default,
    /// The sector that the device reports.
    Device,
    /// The same with trace flag 1800, which makes 4,096 bytes of it.
    Flag1800,
    /// Forced to that many bytes.
    Forced(u32),
}

/// Files of the data.
#[derive(Clone, Debug)]
pub struct DataLayout {
    /// Number of files.
    pub files: u32,
    /// Number of devices over which they go in turn.
    pub arrays: u32,
    /// Size of all together, KB.
    pub size_kb: u64,
}

/// How the log comes to its size.
#[derive(Clone, Debug)]
pub struct LogLayout {
    /// Size at creation, KB.
    pub initial_kb: u64,
    /// Growth step, KB.
    pub growth_kb: u64,
    /// Filled by work until its growth has taken it to this size, KB; 0 = not.
    pub fill_to_kb: u64,
    /// Then expanded at once to this size, KB; not when it is there already.
    pub final_kb: u64,
}

/// A database as a study wants it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Unique in its study; names the folder.
    pub key: String,
    /// Bytes of buffer pool.
    pub memory: u64,
    /// Data files.
    pub data: DataLayout,
    /// The log.
    pub log: LogLayout,
    /// Unit of log writes.
    pub block: LogBlock,
    /// Full recovery model: the log is kept until it is backed up.
    pub full_recovery: bool,
    /// Rows of `source`, the customers that the work copies; 0 = no such table.
    pub customers: u64,
    /// Made once and kept for all rounds, because making it takes long.
    pub keep: bool,
    /// Take the buffer pool's memory from the system beforehand: where the pool is filled in
    /// gigabytes, that takes as long as what is measured, and not each time the same.
    pub commit_memory: bool,
    /// Seconds after which a piece of work is stopped, where the target can.
    pub limit_s: u64,
    /// So many processors for engine and clients together; `None`: all that there are.
    pub processors: Option<u32>,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// `customer` with its index from `source`, an empty `customer_tmp`; everything written.
    MakeCustomer,
    /// `INSERT customer_tmp SELECT * FROM customer`
    InsertSelect,
    /// `UPDATE customer SET c_data = lower(c_data)`
    Update,
    /// `DELETE FROM customer`
    Delete,
    /// Everything dirty is written.
    Checkpoint,
    /// A process dies by SIGKILL in the middle of `Update` of that many rows; opening the database
    /// is measured.
    Recovery(u64),
    /// `BACKUP LOG`: seconds and pages.
    LogBackup,
    /// An empty table `one_row`.
    MakeOneRow,
    /// That many one-row inserts in a loop inside the server, one transaction.
    LoopInserts(u64),
    /// That many one-row inserts, each a transaction, in a loop inside the server.
    Commits(u64, Durability),
    /// Durable one-row inserts one by one from one client for that many milliseconds: how long each
    /// takes.
    Latencies(u64),
    /// Sessions that each commit that many one-row inserts, statement by statement, all at once;
    /// durable.
    SessionCommits(u32, u64),
    /// The same number and bytes of log writes as the measured step before, by write + fdatasync
    /// alone.
    RawWrites,
    /// An empty heap `arrivals`.
    MakeLoad,
    /// Connections that insert that many rows of about 1,000 bytes each, 64 in a transaction.
    Load(u32, u64),
    /// Checks that all rows of such a `Load` are there: it reads them all, and so has what is in
    /// memory written.
    CheckLoad(u32, u64),
    /// A table of one 8,000-byte row.
    MakeWide,
    /// The same table with a primary key.
    MakeWideWithKey,
    /// That many updates of the 8,000-byte row in one transaction, in a loop inside the server.
    RowUpdates(u64),
    /// The log from its size to that many KB by steps of so many.
    GrowLog {
        /// Step, KB.
        step_kb: u64,
        /// Final size, KB.
        to_kb: u64,
    },
    /// An empty table for payloads.
    MakePayload,
    /// Durable one-row inserts of that many bytes for that many milliseconds: rows a second, and
    /// how many log writes made the device read first.
    Payload(u32, u64),
    /// Work that is written in T-SQL only.
    Tsql(TsqlWork),
}

impl From<TsqlWork> for Work {
    fn from(work: TsqlWork) -> Work {
        Work::Tsql(work)
    }
}

impl Work {
    /// Rows that it changes in a database with that many customers, where that is known beforehand.
    pub fn rows(&self, customers: u64) -> Option<u64> {
        match self {
            Work::InsertSelect | Work::Update | Work::Delete => Some(customers),
            Work::LoopInserts(n) | Work::Commits(n, _) | Work::RowUpdates(n) => Some(*n),
            Work::SessionCommits(sessions, each) => Some(u64::from(*sessions) * each),
            Work::Load(connections, rows) => Some(crate::target::tsql::loaded(*connections, *rows)),
            Work::Tsql(work) => work.rows(customers),
            _ => None,
        }
    }
}

/// One measured value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What; empty = the measure of the step.
    pub measure: String,
    /// Unit.
    pub unit: String,
    /// Value.
    pub value: f64,
}

impl Figure {
    /// The step's own measure.
    pub fn new(unit: &str, value: f64) -> Figure {
        Figure { measure: String::new(), unit: unit.into(), value }
    }

    /// Another measure of the same step: its name is put after the step's.
    pub fn named(measure: &str, unit: &str, value: f64) -> Figure {
        Figure { measure: measure.into(), unit: unit.into(), value }
    }

    /// Seconds.
    pub fn seconds(value: f64) -> Vec<Figure> {
        vec![Figure::new("s", value)]
    }
}

/// One wait type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitCount {
    /// Wait type.
    pub wait_type: String,
    /// How often a task waited.
    pub count: i64,
    /// Microseconds waited.
    pub us: i64,
}

/// One kind of file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoCount {
    /// `data`, `log` or `backup`.
    pub file: String,
    /// Writes.
    pub writes: i64,
    /// Bytes written.
    pub bytes_written: i64,
    /// Reads.
    pub reads: i64,
    /// Bytes read.
    pub bytes_read: i64,
    /// Writes by size class: label and count; empty when the target does not say.
    pub write_sizes: Vec<(String, i64)>,
    /// Writes that begin or end inside a physical sector, so that the device reads first.
    pub partial_writes: i64,
    /// Writes by exact size: bytes and count; only whole sectors of 512 bytes up to 64 KiB.
    #[serde(default)]
    pub exact_sizes: BTreeMap<i64, i64>,
    /// Durable writes by how long they took: a power of two in microseconds that is the upper
    /// bound, and count.
    #[serde(default)]
    pub durable_us: BTreeMap<i64, i64>,
}

impl IoCount {
    /// Microseconds that a share of the durable writes took at most, as the upper bound of their
    /// class; `None` without any.
    pub fn durable_percentile(&self, share: f64) -> Option<i64> {
        let rank = (share * self.durable_us.values().sum::<i64>() as f64).ceil().max(1.0) as i64;
        let mut seen = 0;
        self.durable_us.iter().find_map(|(us, count)| {
            seen += count;
            (seen >= rank).then_some(*us)
        })
    }
}

/// What of `now` is new.
fn new_of(now: &BTreeMap<i64, i64>, before: &BTreeMap<i64, i64>) -> BTreeMap<i64, i64> {
    let new = now.iter().map(|(key, count)| (*key, count - before.get(key).copied().unwrap_or(0)));
    new.filter(|(_, count)| *count > 0).collect()
}

fn add_to(sum: &mut BTreeMap<i64, i64>, more: &BTreeMap<i64, i64>) {
    for (key, count) in more {
        *sum.entry(*key).or_default() += count;
    }
}

/// Names of counts on a modelled device: requests, late ones, their time in the model and their
/// delay in microseconds.
pub mod late {
    /// Requests that somebody waited for.
    pub const REQUESTS: &str = "device_requests";
    /// Those that ended late.
    pub const LATE: &str = "device_late";
    /// Microseconds that the requests took in the model.
    pub const MODELLED_US: &str = "device_modelled_us";
    /// Microseconds by which they ended late.
    pub const LATE_US: &str = "device_late_us";
}

/// What a target has counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Waits by type.
    pub waits: Vec<WaitCount>,
    /// I/O by kind of file.
    pub io: Vec<IoCount>,
    /// Anything else that only grows, by its name: `vlf_changes`, `commits`, `log_flushes`, ...
    #[serde(default)]
    pub counts: BTreeMap<String, i64>,
}

impl Counters {
    /// What was counted since `before`; rows without any change are left out.
    pub fn since(&self, before: &Counters) -> Counters {
        let waits = self.waits.iter().map(|now| {
            let old = before
                .waits
                .iter()
                .find(|w| w.wait_type == now.wait_type)
                .cloned()
                .unwrap_or_default();
            WaitCount {
                wait_type: now.wait_type.clone(),
                count: now.count - old.count,
                us: now.us - old.us,
            }
        });
        let io = self.io.iter().map(|now| {
            let old = before.io.iter().find(|i| i.file == now.file).cloned().unwrap_or_default();
            let before_of =
                |label: &str| old.write_sizes.iter().find(|s| s.0 == label).map_or(0, |s| s.1);
            let sizes =
                now.write_sizes.iter().map(|(label, n)| (label.clone(), n - before_of(label)));
            IoCount {
                file: now.file.clone(),
                writes: now.writes - old.writes,
                bytes_written: now.bytes_written - old.bytes_written,
                reads: now.reads - old.reads,
                bytes_read: now.bytes_read - old.bytes_read,
                write_sizes: sizes.filter(|s| s.1 > 0).collect(),
                partial_writes: now.partial_writes - old.partial_writes,
                exact_sizes: new_of(&now.exact_sizes, &old.exact_sizes),
                durable_us: new_of(&now.durable_us, &old.durable_us),
            }
        });
        let counts = self.counts.iter().map(|(name, now)| {
            (name.clone(), now - before.counts.get(name).copied().unwrap_or_default())
        });
        Counters {
            waits: waits.filter(|w| w.count > 0).collect(),
            io: io.filter(|i| i.writes > 0 || i.reads > 0).collect(),
            counts: counts.collect(),
        }
    }

    /// Adds another count to this one.
    pub fn add(&mut self, other: &Counters) {
        for (name, count) in &other.counts {
            *self.counts.entry(name.clone()).or_default() += count;
        }
        for wait in &other.waits {
            match self.waits.iter_mut().find(|w| w.wait_type == wait.wait_type) {
                Some(sum) => {
                    sum.count += wait.count;
                    sum.us += wait.us;
                }
                None => self.waits.push(wait.clone()),
            }
        }
        for io in &other.io {
            let Some(sum) = self.io.iter_mut().find(|i| i.file == io.file) else {
                self.io.push(io.clone());
                continue;
            };
            sum.writes += io.writes;
            sum.bytes_written += io.bytes_written;
            sum.reads += io.reads;
            sum.bytes_read += io.bytes_read;
            sum.partial_writes += io.partial_writes;
            add_to(&mut sum.exact_sizes, &io.exact_sizes);
            add_to(&mut sum.durable_us, &io.durable_us);
            for (label, count) in &io.write_sizes {
                match sum.write_sizes.iter_mut().find(|s| s.0 == *label) {
                    Some(size) => size.1 += count,
                    None => sum.write_sizes.push((label.clone(), *count)),
                }
            }
        }
    }

    /// The counts of one kind of file.
    pub fn file(&self, kind: &str) -> Option<&IoCount> {
        self.io.iter().find(|i| i.file == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(writes: i64, size: &str, waits: i64) -> Counters {
        Counters {
            waits: vec![WaitCount { wait_type: "WRITELOG".into(), count: waits, us: waits * 10 }],
            io: vec![IoCount {
                file: "log".into(),
                writes,
                write_sizes: vec![(size.into(), writes)],
                exact_sizes: BTreeMap::from([(4096, writes)]),
                durable_us: BTreeMap::from([(128, writes), (256, 1)]),
                ..IoCount::default()
            }],
            counts: BTreeMap::from([("vlf_changes".into(), 2 * writes)]),
        }
    }

    #[test]
    fn differences_add_up_again() {
        let delta = counters(7, "4K", 3).since(&counters(5, "4K", 3));
        assert!(delta.waits.is_empty());
        assert_eq!(delta.file("log").map(|l| l.write_sizes.clone()), Some(vec![("4K".into(), 2)]));
        assert_eq!(delta.counts["vlf_changes"], 4);
        let log = delta.file("log").unwrap();
        assert_eq!(log.exact_sizes, BTreeMap::from([(4096, 2)]));
        assert_eq!(log.durable_us, BTreeMap::from([(128, 2)]), "the 256 was there before");
        let mut sum = delta.clone();
        sum.add(&counters(1, "8K", 1));
        assert_eq!(sum.file("log").map(|l| (l.writes, l.write_sizes.len())), Some((3, 2)));
        assert_eq!((sum.waits[0].count, sum.counts["vlf_changes"]), (1, 6));
        let log = sum.file("log").unwrap();
        assert_eq!(
            (log.durable_percentile(0.5), log.durable_percentile(0.99)),
            (Some(128), Some(256))
        );
        assert_eq!(IoCount::default().durable_percentile(0.5), None);
    }
}
