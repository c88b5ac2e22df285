//! What a piece of work gives: its figures, and what the engine counted of waits and I/O meanwhile.
//! Data, and how it is added and taken from each other.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
