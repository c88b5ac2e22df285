//! The metrics, one after the other. docs/metrics.md has the same list.

use std::fmt;

use engine::phases::class_bound;
use engine::status::{DatabaseStatus, FileStatus, InstanceStatus, WaitTotal};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use crate::admission::Purpose;
use crate::counters::ServerCount;
use crate::hub::Hub;

/// Latency classes of flushes that are shown: from 16 microseconds on, each twice the one before.
const FIRST_LATENCY: usize = 4;

/// Powers of two of request phases that are shown: from 1,024 nanoseconds to 8.6 seconds.
const FIRST_POWER: usize = 8;
const LAST_POWER: usize = 31;

/// Labels of one value.
type Labels<'a> = Vec<(&'a str, &'a str)>;

struct MetricList<'a>(DescriptorEncoder<'a>);

impl MetricList<'_> {
    fn gauge(&mut self, name: &str, help: &str, unit: Option<Unit>, value: f64) -> fmt::Result {
        let metric = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    fn counter(&mut self, name: &str, help: &str, unit: Option<Unit>, value: f64) -> fmt::Result {
        let metric = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)
    }

    fn gauges<'v>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: impl Iterator<Item = (Labels<'v>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        for (labels, value) in values {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn counters<'v>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: impl Iterator<Item = (Labels<'v>, f64)>,
    ) -> fmt::Result {
        let mut family =
            self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
        for (labels, value) in values {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// Everything.
pub fn encode(hub: &Hub, encoder: DescriptorEncoder<'_>) -> fmt::Result {
    let status = hub.instance.status();
    let mut list = MetricList(encoder);
    of_server(hub, &status, &mut list)?;
    of_instance(&status, &mut list)?;
    of_phases(&status, &mut list)?;
    of_pool(&status, &mut list)?;
    of_databases(&status, &mut list)?;
    of_logs(&status, &mut list)?;
    of_files(&status, &mut list)
}

fn of_server(hub: &Hub, status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    let count = |what| hub.counters.get(what) as f64;
    let (workers, _) = hub.pool().map_or((0, 0), |pool| pool.threads());
    let labels = vec![("version", status.version.as_str())];
    list.gauges(
        "build_info",
        "The version that runs, as a label",
        None,
        [(labels, 1.0)].into_iter(),
    )?;
    list.gauge(
        "uptime",
        "Time since the instance was opened",
        Some(Unit::Seconds),
        status.uptime_ms as f64 / 1e3,
    )?;
    list.gauge("connections", "Connections of clients", None, hub.connections() as f64)?;
    list.counter(
        "connections_accepted",
        "Connections that were accepted",
        None,
        count(ServerCount::Connections),
    )?;
    list.gauge(
        "sessions",
        "Sessions, of clients and of the server itself",
        None,
        status.sessions as f64,
    )?;
    list.gauge("worker_threads", "Threads that run requests", None, workers as f64)?;
    let purposes = Purpose::ALL.into_iter();
    let held = purposes.map(|p| (vec![("purpose", p.name())], hub.admission.held_for(p) as f64));
    list.gauges("request_threads", "Threads that requests hold, by what they are of", None, held)?;
    let most = hub.admission.most() as f64;
    list.gauge("request_threads_limit", "Threads that requests can hold", None, most)?;
    let queued = hub.admission.queued() as f64;
    list.gauge(
        "requests_queued",
        "Requests that wait until their login may take a thread",
        None,
        queued,
    )?;
    list.gauge(
        "requests_running",
        "Requests that run or wait now",
        None,
        status.requests.len() as f64,
    )?;
    list.counter(
        "requests",
        "Requests of clients: batches, calls, bulk loads",
        None,
        count(ServerCount::Requests),
    )?;
    list.counter(
        "attentions",
        "Requests that clients have cancelled",
        None,
        count(ServerCount::Attentions),
    )?;
    list.counter(
        "received",
        "Bytes from clients",
        Some(Unit::Bytes),
        count(ServerCount::BytesReceived),
    )?;
    list.counter("sent", "Bytes to clients", Some(Unit::Bytes), count(ServerCount::BytesSent))?;
    let logins =
        [("success", ServerCount::LoginsSucceeded), ("failure", ServerCount::LoginsFailed)];
    let logins = logins.into_iter().map(|(result, what)| (vec![("result", result)], count(what)));
    list.counters("logins", "Logins by their result", None, logins)?;
    let errors: Vec<(String, u64)> =
        hub.counters.errors().map(|(s, n)| (s.to_string(), n)).collect();
    let errors =
        errors.iter().map(|(severity, n)| (vec![("severity", severity.as_str())], *n as f64));
    list.counters("errors", "Errors that clients were told of, by severity", None, errors)
}

fn of_instance(status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    list.counter("batches", "Batches that have run", None, status.batches as f64)?;
    list.gauge(
        "sessions_blocked",
        "Sessions that wait for locks of others",
        None,
        status.blocked as f64,
    )?;
    list.counter("deadlocks", "Deadlocks that were resolved", None, status.deadlocks as f64)?;
    list.counter(
        "lock_timeouts",
        "Waits for locks that took too long",
        None,
        status.lock_timeouts as f64,
    )?;
    let waits = |value: fn(&WaitTotal) -> f64| {
        status
            .waits
            .iter()
            .map(move |wait| (vec![("wait_type", wait.wait_type.as_str())], value(wait)))
    };
    list.counters("waits", "Finished waits by type", None, waits(|w| w.count as f64))?;
    list.counters(
        "wait",
        "Time of finished waits by type",
        Some(Unit::Seconds),
        waits(|w| seconds(w.us)),
    )?;
    list.gauge(
        "plan_cache_batches",
        "Batches that are kept compiled",
        None,
        status.kept_batches as f64,
    )?;
    list.counter("compilations", "Batches that were compiled", None, status.compilations as f64)?;
    let memory = &status.memory;
    let bytes = Some(Unit::Bytes);
    list.gauge("resident_memory", "Memory of the process", bytes.clone(), memory.resident as f64)?;
    list.gauge(
        "query_memory_used",
        "Memory that queries hold",
        bytes.clone(),
        memory.query_used as f64,
    )?;
    list.gauge(
        "query_memory_limit",
        "Memory that queries may hold",
        bytes.clone(),
        memory.query_limit as f64,
    )?;
    list.gauge(
        "query_memory_peak",
        "Most that queries have held at once",
        bytes,
        memory.query_peak as f64,
    )
}

/// Only while there are some: nobody may ever have asked for them.
fn of_phases(status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    if status.phases.is_empty() {
        return Ok(());
    }
    let (unit, help) = (Unit::Seconds, "Time of requests by what they did");
    let mut phases =
        list.0.encode_descriptor("request_phase", help, Some(&unit), MetricType::Histogram)?;
    for phase in &status.phases {
        let labels: Labels<'_> = vec![("phase", phase.name.as_str())];
        let metric = &mut phases.encode_family(&labels)?;
        let buckets = powers(&phase.classes);
        let count = buckets.iter().map(|(_, n)| n).sum();
        metric.encode_histogram::<NoLabelSet>(phase.ns as f64 / 1e9, count, &buckets, None)?;
    }
    let processor = status.phases.iter().map(|phase| {
        let labels: Labels<'_> = vec![("phase", phase.name.as_str())];
        (labels, phase.cpu_ns as f64 / 1e9)
    });
    list.counters(
        "request_phase_cpu",
        "Processor's time of requests by what they did",
        Some(unit),
        processor,
    )
}

/// Upper bounds in seconds and counts of the powers of two that are shown, each of four classes;
/// the first holds all that is faster, the last all that is slower.
fn powers(classes: &[u64]) -> Vec<(f64, u64)> {
    let counts: Vec<u64> = classes.chunks(4).map(|classes| classes.iter().sum()).collect();
    let (shown, slow) = counts.split_at(counts.len().min(LAST_POWER + 1));
    let bound = |power: usize| class_bound(4 * power + 3) as f64 / 1e9;
    let fast = shown.iter().take(FIRST_POWER + 1).sum::<u64>();
    let rest = shown.iter().enumerate().skip(FIRST_POWER + 1).map(|(power, n)| (bound(power), *n));
    let last = (f64::MAX, slow.iter().sum::<u64>());
    std::iter::once((bound(FIRST_POWER), fast)).chain(rest).chain([last]).collect()
}

fn of_pool(status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    let of = |name: &str| {
        status.pool.iter().find(|(n, _)| n == name).map_or(0.0, |(_, value)| *value as f64)
    };
    let totals = [
        ("lookups", "Pages that were asked for, in the pool or not", "Page lookups/sec"),
        ("hits", "Pages that were asked for and were in the pool", "Buffer cache hit ratio"),
        ("page_reads", "Pages read from files", "Page reads/sec"),
        ("read_ahead_pages", "Pages read before they were asked for", "Readahead pages/sec"),
        ("page_writes", "Pages written to files", "Page writes/sec"),
        ("checkpoint_pages", "Pages written by checkpoints", "Checkpoint pages/sec"),
        ("lazy_writes", "Pages written to make room", "Lazy writes/sec"),
        ("stalls", "Times that a thread waited for a free page", "Free list stalls/sec"),
    ];
    for (name, help, counter) in totals {
        list.counter(&format!("buffer_pool_{name}"), help, None, of(counter))?;
    }
    list.gauge("buffer_pool_pages", "Pages that hold data", None, of("Database pages"))?;
    list.gauge("buffer_pool_size_pages", "Pages that the pool may take", None, of("Target pages"))?;
    let life = "How long a page stays that nobody uses";
    list.gauge("buffer_pool_page_life", life, Some(Unit::Seconds), of("Page life expectancy"))
}

fn of_databases(status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    let of = |value: fn(&DatabaseStatus) -> f64| {
        status.databases.iter().map(move |db| (vec![("database", db.name.as_str())], value(db)))
    };
    let states = status.databases.iter().map(|db| {
        (
            vec![
                ("database", db.name.as_str()),
                ("state", db.state.as_str()),
                ("recovery_model", db.recovery_model.as_str()),
            ],
            1.0,
        )
    });
    list.gauges("database_info", "State and recovery model, as labels", None, states)?;
    list.gauges(
        "database_online",
        "1 when the database is online",
        None,
        of(|db| f64::from(u8::from(db.state == "ONLINE"))),
    )?;
    list.gauges(
        "transactions_active",
        "Transactions that have written and run",
        None,
        of(|db| db.active as f64),
    )?;
    list.counters(
        "write_transactions",
        "Transactions that wrote and committed",
        None,
        of(|db| db.committed as f64),
    )?;
    list.counters(
        "checkpoints",
        "Checkpoints that have ended",
        None,
        of(|db| db.checkpoints as f64),
    )?;
    let help = "Time of all checkpoints";
    list.counters("checkpoint", help, Some(Unit::Seconds), of(|db| seconds(db.checkpoint_us)))
}

fn of_logs(status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    let open = || status.databases.iter().filter(|db| db.log.vlfs > 0);
    let of = |value: fn(&DatabaseStatus) -> f64| {
        open().map(move |db| (vec![("database", db.name.as_str())], value(db)))
    };
    let bytes = Some(Unit::Bytes);
    list.gauges("log_size", "Size of the log", bytes.clone(), of(|db| db.log.size as f64))?;
    list.gauges("log_used", "Log that is kept", bytes.clone(), of(|db| db.log.used as f64))?;
    list.gauges("log_vlfs", "Virtual log files", None, of(|db| f64::from(db.log.vlfs)))?;
    list.gauges(
        "log_active_vlfs",
        "Virtual log files that are kept",
        None,
        of(|db| f64::from(db.log.active_vlfs)),
    )?;
    list.counters(
        "log_growths",
        "Times that the log has grown",
        None,
        of(|db| db.log.growths as f64),
    )?;
    list.counters("log_records", "Log records", None, of(|db| db.log.records as f64))?;
    list.counters(
        "log_record",
        "Bytes of log records",
        bytes.clone(),
        of(|db| db.log.record_bytes as f64),
    )?;
    list.counters("log_writes", "Writes of the log", None, of(|db| db.log.writes as f64))?;
    list.counters(
        "log_written",
        "Bytes of the log's writes",
        bytes,
        of(|db| db.log.bytes_written as f64),
    )?;
    let unit = Unit::Seconds;
    let help = "How long the device took to make the log durable";
    let mut flushes =
        list.0.encode_descriptor("log_flush", help, Some(&unit), MetricType::Histogram)?;
    for db in open() {
        let labels: Labels<'_> = vec![("database", db.name.as_str())];
        let metric = &mut flushes.encode_family(&labels)?;
        let buckets = latencies(&db.log.flush_latencies);
        // Of the classes, so that the sum of the buckets is the count whatever happens meanwhile.
        let count = buckets.iter().map(|(_, n)| n).sum();
        metric.encode_histogram::<NoLabelSet>(seconds(db.log.flush_us), count, &buckets, None)?;
    }
    Ok(())
}

/// Upper bounds in seconds and counts of the classes that are shown; the first holds all that is
/// faster.
fn latencies(classes: &[u64]) -> Vec<(f64, u64)> {
    let last = classes.len().saturating_sub(1);
    let bound = |class: usize| if class == last { f64::MAX } else { seconds(1 << class) };
    let fast = classes.iter().take(FIRST_LATENCY + 1).sum();
    let rest =
        classes.iter().enumerate().skip(FIRST_LATENCY + 1).map(|(class, n)| (bound(class), *n));
    std::iter::once((bound(FIRST_LATENCY), fast)).chain(rest).collect()
}

fn of_files(status: &InstanceStatus, list: &mut MetricList<'_>) -> fmt::Result {
    let of = |value: fn(&FileStatus) -> f64| {
        status.databases.iter().flat_map(move |db| {
            db.files.iter().map(move |file| {
                let kind = if file.is_log { "log" } else { "data" };
                let labels = vec![
                    ("database", db.name.as_str()),
                    ("file", file.name.as_str()),
                    ("type", kind),
                ];
                (labels, value(file))
            })
        })
    };
    let (bytes, time) = (Some(Unit::Bytes), Some(Unit::Seconds));
    list.gauges("file_size", "Size of the file", bytes.clone(), of(|f| f.size as f64))?;
    list.counters("file_reads", "Reads", None, of(|f| f.reads as f64))?;
    list.counters("file_read", "Bytes read", bytes.clone(), of(|f| f.bytes_read as f64))?;
    list.counters("file_read_wait", "Time of reads", time.clone(), of(|f| seconds(f.read_us)))?;
    list.counters("file_writes", "Writes", None, of(|f| f.writes as f64))?;
    list.counters("file_written", "Bytes written", bytes, of(|f| f.bytes_written as f64))?;
    list.counters("file_write_wait", "Time of writes", time.clone(), of(|f| seconds(f.write_us)))?;
    list.counters("file_syncs", "Syncs", None, of(|f| f.syncs as f64))?;
    list.counters("file_sync_wait", "Time of syncs", time, of(|f| seconds(f.sync_us)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_flushes_are_one_class_and_the_slowest_has_no_bound() {
        let mut classes = [0; 24];
        (classes[0], classes[4], classes[5], classes[23]) = (1, 2, 4, 8);
        let shown = latencies(&classes);
        assert_eq!(shown[..2], [(16e-6, 3), (32e-6, 4)]);
        assert_eq!(shown.last(), Some(&(f64::MAX, 8)));
        assert_eq!(shown.len(), 20);
    }

    #[test]
    fn phases_are_shown_by_powers_of_two() {
        let mut classes = [0; 160];
        (classes[3], classes[35], classes[36], classes[39], classes[159]) = (1, 2, 4, 8, 16);
        let shown = powers(&classes);
        assert_eq!(shown[..2], [(1.024e-6, 3), (2.048e-6, 12)]);
        assert_eq!(shown.last(), Some(&(f64::MAX, 16)));
        assert_eq!(shown.len(), 25);
    }
}
