//! What machine the figures come from: processors, memory, kernel, file system, sector sizes, and the disk's own
//! latency, measured before the studies so that a reader can judge them.

use crate::LabError;
use disk::{Disk, OpenMode, OsDisk};
use serde::{Deserialize, Serialize};
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

/// The type of the file system that holds `folder`: the mount whose path is the longest prefix.
fn file_system_of(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (_, point, kind) = (fields.next()?, fields.next()?, fields.next()?);
            folder.starts_with(point).then(|| (point.len(), kind.to_owned()))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind)
}

/// Measures durable writes of `bytes` at a moving offset of a file whose space was written before; microseconds, the median.
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
    Ok((crate::stats::median(&times).unwrap_or(0.0), sectors.logical, sectors.physical))
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
    /// Looks at the machine and measures the disk under `scratch`. What cannot be found out stays empty.
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
            file_system: file_system_of(scratch).unwrap_or_default(),
            ..Machine::default()
        };
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
