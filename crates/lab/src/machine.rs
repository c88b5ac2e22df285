//! What machine the figures come from: processors, memory, kernel, file system, sector sizes, and
//! the disk's own latency, measured before the studies so that a reader can judge them.

use crate::LabError;
use disk::{Disk, OpenMode, OsDisk};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

/// The machine and its disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Logical processors.
    pub cores: usize,
    /// Processor model.
    pub cpu: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Kernel release.
    pub kernel: String,
    /// File system type under the scratch folder.
    pub file_system: String,
    /// Its mount options, without those that name paths.
    #[serde(default)]
    pub mount_options: String,
    /// What the kernel takes the device's cache for: `write back` (a flush is needed) or `write
    /// through`; empty where it does not say.
    #[serde(default)]
    pub write_cache: String,
    /// The kernel's scheduler of requests for that device.
    #[serde(default)]
    pub scheduler: String,
    /// Logical sector, bytes.
    pub sector_logical: u32,
    /// Physical sector, bytes.
    pub sector_physical: u32,
    /// Median microseconds of one durable 4 KiB write into space written before.
    pub durable_write_us: f64,
    /// Median microseconds of one durable 60 KiB write into space written before.
    pub durable_write_60k_us: f64,
}

fn first_line_value(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|l| l.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Type and options of the file system that holds `folder`: of the mount whose path is the longest
/// prefix. Options that name paths are left out.
fn file_system_of(folder: &Path) -> Option<(String, String)> {
    let folder = folder.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (_, point, kind, options) =
                (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
            let plain: Vec<&str> = options.split(',').filter(|o| !o.contains('/')).collect();
            folder.starts_with(point).then(|| (point.len(), (kind.to_owned(), plain.join(","))))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, found)| found)
}

/// Write cache and scheduler of the block device that holds `folder`; of a partition those of its
/// disk.
fn queue_of(folder: &Path) -> Option<(String, String)> {
    let device = std::fs::metadata(folder).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let block = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let queue =
        [block.join("queue"), block.parent()?.join("queue")].into_iter().find(|q| q.is_dir())?;
    let read = |name: &str| {
        std::fs::read_to_string(queue.join(name)).map(|t| t.trim().to_owned()).unwrap_or_default()
    };
    let scheduler = read("scheduler");
    let chosen = scheduler.split(['[', ']']).nth(1).unwrap_or(&scheduler).to_owned();
    Some((read("write_cache"), chosen))
}

/// Now, UTC: `2026-11-23 07:20:00`.
pub fn utc_now() -> String {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    utc_text(since.as_secs())
}

fn utc_text(unix_seconds: u64) -> String {
    let (days, seconds) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let epoch = types::datetime::days_from_civil(1970, 1, 1).unwrap_or_default();
    let days = i32::try_from(days).unwrap_or_default();
    let (year, month, day) = types::datetime::civil_from_days(epoch + days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// What the processors have done since the machine was started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorTimes {
    all: u64,
    steal: u64,
}

impl ProcessorTimes {
    /// Up to now. `None` where the system does not say.
    pub fn now() -> Option<ProcessorTimes> {
        ProcessorTimes::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal; what follows is part
    /// of these.
    fn parse(text: &str) -> Option<ProcessorTimes> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).filter_map(|t| t.parse().ok()).collect();
        (ticks.len() == 8).then(|| ProcessorTimes { all: ticks.iter().sum(), steal: ticks[7] })
    }

    /// Share of the time since `before` that a hypervisor gave to others, 0 to 1.
    pub fn steal_since(&self, before: &ProcessorTimes) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|a| *a > 0)?;
        Some(self.steal.saturating_sub(before.steal) as f64 / all as f64)
    }
}

/// Measures durable writes of `bytes` at a moving offset of a file whose space was written before;
/// microseconds, the median.
pub fn durable_write_us(
    disk: &OsDisk,
    path: &Path,
    bytes: usize,
    rounds: usize,
) -> Result<(f64, u32, u32), disk::DiskError> {
    let file = disk.open(path, OpenMode::Create)?;
    let size: u64 = 16 << 20;
    file.set_len(size)?;
    file.write_zeros(0, size)?;
    file.sync()?;
    let buffer = disk::AlignedBuf::new(bytes);
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let offset = (round * bytes) as u64 % (size - bytes as u64) / 4096 * 4096;
        let begin = Instant::now();
        file.write_durable(offset, &[&buffer])?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    let sectors = file.sectors();
    drop(file);
    disk.remove(path)?;
    Ok((stats::median(&times).unwrap_or(0.0), sectors.logical, sectors.physical))
}

/// Bytes that may still be written below a folder.
pub fn free_space(folder: &Path) -> Result<u64, LabError> {
    OsDisk::new(folder).free_space(Path::new(".")).map_err(|e| LabError::Request(e.to_string()))
}

/// Bytes of memory that could be used now, where the system says.
pub fn available_memory() -> Option<u64> {
    let text = first_line_value("/proc/meminfo", "MemAvailable")?;
    text.split(' ').next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

impl Machine {
    /// Looks at the machine and measures the disk under `scratch`. What cannot be found out stays
    /// empty.
    pub fn probe(scratch: &Path) -> Machine {
        let mut machine = Machine {
            cores: std::thread::available_parallelism().map_or(0, |n| n.get()),
            cpu: first_line_value("/proc/cpuinfo", "model name").unwrap_or_default(),
            memory: first_line_value("/proc/meminfo", "MemTotal")
                .and_then(|v| v.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kib| kib * 1024),
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")
                .unwrap_or_default()
                .trim()
                .to_owned(),
            ..Machine::default()
        };
        (machine.file_system, machine.mount_options) = file_system_of(scratch).unwrap_or_default();
        (machine.write_cache, machine.scheduler) = queue_of(scratch).unwrap_or_default();
        let disk = OsDisk::new(scratch);
        let path = Path::new("probe.tmp");
        if let Ok((us, logical, physical)) = durable_write_us(&disk, path, 4096, 400) {
            machine.durable_write_us = us;
            machine.sector_logical = logical;
            machine.sector_physical = physical;
        }
        if let Ok((us, ..)) = durable_write_us(&disk, path, 61440, 200) {
            machine.durable_write_60k_us = us;
        }
        machine
    }

    /// One line for a person.
    pub fn summary(&self) -> String {
        format!(
            "{} cores, {}, {:.0} GB, kernel {}, {}, sectors {}/{}, durable write 4 KiB {:.0} us, 60 KiB {:.0} us",
            self.cores,
            if self.cpu.is_empty() { "unknown processor" } else { &self.cpu },
            self.memory as f64 / 1e9,
            self.kernel,
            if self.file_system.is_empty() { "unknown file system" } else { &self.file_system },
            self.sector_logical,
            self.sector_physical,
            self.durable_write_us,
            self.durable_write_60k_us
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        assert_eq!(utc_text(0), "1970-01-01 00:00:00");
        assert_eq!(utc_text(1_795_418_392), "2026-11-23 07:19:52");
        assert_eq!(utc_text(951_782_399), "2000-02-28 23:59:59");
    }

    #[test]
    fn steal_is_a_share_of_the_time_between() {
        let parse = |text| ProcessorTimes::parse(text).unwrap();
        let before = parse("cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1 2 3\n");
        let after = parse("cpu  150 0 60 820 10 0 5 55 9 0\n");
        assert_eq!(after.steal_since(&before), Some(0.2));
        assert_eq!(before.steal_since(&before), None);
        assert_eq!(ProcessorTimes::parse("cpu  1 2 3\n"), None);
    }

    #[test]
    fn the_mount_under_a_folder_is_found() {
        let (kind, options) = file_system_of(Path::new("/")).unwrap();
        assert!(!kind.is_empty() && !options.contains('/'), "{kind} {options}");
    }
}
