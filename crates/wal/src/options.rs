//! How a log is made and grows, and the rules that cut a chunk of log space into virtual log files.

use std::fmt::Debug;
use std::sync::Arc;

use crate::LogError;

/// Bytes at the start of the file (header and map) and of every VLF that begins with a map area.
pub(crate) const AREA: u64 = 8192;
const UNIT: u64 = 64 << 10;
const MB: u64 = 1 << 20;

/// Which release's rule decides how many VLFs a growth makes; follows the database's compatibility
/// level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlfRule {
    /// Until 2012: by the size of the growth alone.
    R100,
    /// 2014 to 2019: one VLF if the growth is less than an eighth of the log.
    R120,
    /// 2022: also one VLF for a growth of at most 64 MB.
    R160,
    /// VLFs of this many bytes each: a multiple of 8 KB, at least 16 KB. For tests and studies.
    Fixed(u32),
}

impl VlfRule {
    /// Sizes of the VLFs in a chunk of `chunk` bytes, from first to last. `log_size` is the size of
    /// the file before a growth, `None` when the file is made (then `chunk` does not count the 8 KB
    /// file header).
    pub(crate) fn cut(self, chunk: u64, log_size: Option<u64>) -> Vec<(u64, u32)> {
        if let VlfRule::Fixed(size) = self {
            let size = u64::from(size);
            return with_remainder(size, (chunk / size).max(1), chunk);
        }
        let asked = if log_size.is_none() { chunk + AREA } else { chunk };
        let one = match (self, log_size) {
            (VlfRule::R120, Some(size)) => asked < size / 8,
            (VlfRule::R160, Some(size)) => asked < size / 8 || asked <= 64 * MB,
            _ => false,
        };
        let count = match asked {
            _ if one => 1,
            0..MB => 2,
            MB..=0x400_0000 => 4,
            0x400_0001..=0x4000_0000 => 8,
            _ => 16,
        };
        // A chunk smaller than 64 KB for each gets fewer.
        let count = count.min(chunk / UNIT).max(1);
        with_remainder(chunk / count / UNIT * UNIT, count, chunk)
    }
}

/// `count` VLFs of `size` bytes as runs of equal size; the last one takes what is left of the
/// chunk.
fn with_remainder(size: u64, count: u64, chunk: u64) -> Vec<(u64, u32)> {
    let last = chunk - size * (count - 1);
    let count = count as u32;
    if count == 1 {
        vec![(last, 1)]
    } else if last == size {
        vec![(size, count)]
    } else {
        vec![(size, count - 1), (last, 1)]
    }
}

/// How the file grows when no VLF is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// By this many bytes, rounded up to 64 KB.
    Bytes(u64),
    /// By this percentage of the present size, at least 64 KB.
    Percent(u32),
    /// Not at all.
    None,
}

/// Size on which every log write starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// 4096, whatever the device reports: a volume may hide sectors of 4096 bytes behind reported
    /// ones of 512, and each smaller write makes such a device read first.
    Auto,
    /// The physical sector that the device reports, at most 4096.
    Device,
    /// 512 or 4096. An existing log changes with the next VLF. Less than the device's logical
    /// sector is refused for a new log, and an existing one takes the sector size instead.
    Force(u32),
}

/// What a session waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// A flush of the log (WRITELOG).
    WriteLog,
    /// A free log buffer (LOGBUFFER).
    LogBuffer,
    /// Growth of a file (PREEMPTIVE_OS_WRITEFILEGATHER).
    Growth,
}

/// An automatic growth: of the log, or of a data file of the same database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthEvent {
    /// Number and logical name of the data file; `None`: the log.
    pub data_file: Option<(u16, String)>,
    /// Size of the file before and after it, in bytes.
    pub from: u64,
    pub to: u64,
    /// How long it took, microseconds.
    pub us: u64,
}

/// Receives waits, automatic growths and failures.
pub trait WaitSink: Send + Sync + Debug {
    /// The calling thread begins to wait; [`waited`](Self::waited) follows.
    fn waits(&self, _kind: WaitKind) {}
    /// The calling thread has waited `us` microseconds.
    fn waited(&self, kind: WaitKind, us: u64);
    /// A file has grown by itself.
    fn grew(&self, _growth: &GrowthEvent) {}
    /// The database has failed, or a background thread of it has panicked: for the error log.
    fn failed(&self, _what: &str) {}
}

/// How a log is made (all fields) or opened (`initial_size`, `first_vlf_seq` and `log_id` are
/// ignored).
#[derive(Clone, Debug)]
pub struct LogOptions {
    pub vlf_rule: VlfRule,
    /// File size in bytes, rounded up to 8 KB; at least 512 KB (with [`VlfRule::Fixed`]: header
    /// plus two VLFs).
    pub initial_size: u64,
    pub growth: Growth,
    /// Largest file size in bytes.
    pub max_size: Option<u64>,
    /// Sequence number of the first VLF, from 1.
    pub first_vlf_seq: u32,
    pub alignment: Alignment,
    /// Identity of the log; blocks of another one are never taken for its own.
    pub log_id: [u8; 16],
    /// Write full blocks on a thread of their own. Without it appenders write when the buffers run
    /// out.
    pub background_writer: bool,
    /// Memory in bytes for log blocks that are written already, kept for rollback and row versions.
    pub cache_bytes: usize,
    pub waits: Option<Arc<dyn WaitSink>>,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            vlf_rule: VlfRule::R160,
            initial_size: 8 << 20,
            growth: Growth::Bytes(64 << 20),
            max_size: None,
            first_vlf_seq: 1,
            alignment: Alignment::Device,
            log_id: [0; 16],
            background_writer: true,
            cache_bytes: 16 << 20,
            waits: None,
        }
    }
}

impl LogOptions {
    /// The size of the file to create; an error if an option is out of range.
    pub(crate) fn checked_size(&self) -> Result<u64, LogError> {
        let least = match self.vlf_rule {
            VlfRule::Fixed(size) if size < 16 << 10 || !u64::from(size).is_multiple_of(AREA) => {
                return Err(LogError::Option {
                    reason: "a fixed VLF size is a multiple of 8 KB and at least 16 KB",
                });
            }
            VlfRule::Fixed(size) => AREA + 2 * u64::from(size),
            _ => 512 << 10,
        };
        if self.first_vlf_seq == 0 {
            return Err(LogError::Option { reason: "VLF sequence numbers start at 1" });
        }
        if self.max_size.is_some_and(|max| max < self.initial_size) {
            return Err(LogError::Option {
                reason: "the maximum size is less than the initial size",
            });
        }
        Ok(self.initial_size.max(least).next_multiple_of(AREA))
    }
}

impl Alignment {
    /// The alignment of new VLFs on a device.
    pub(crate) fn resolve(self, sectors: disk::Sectors) -> Result<u32, LogError> {
        match self {
            Alignment::Auto => Ok(sectors.logical.max(4096)),
            Alignment::Device => Ok(sectors.physical.clamp(512, 4096).max(sectors.logical)),
            Alignment::Force(size) if size != 512 && size != 4096 => {
                Err(LogError::Option { reason: "the alignment is 512 or 4096" })
            }
            // A log that was moved to a device with larger sectors continues with those.
            Alignment::Force(size) => Ok(size.max(sectors.logical)),
        }
    }

    /// The alignment of a new log, which must be what was requested.
    pub(crate) fn resolve_new(self, sectors: disk::Sectors) -> Result<u32, LogError> {
        let resolved = self.resolve(sectors)?;
        match self {
            Alignment::Force(size) if size < resolved => Err(LogError::Option {
                reason: "the alignment is less than the sector of the device",
            }),
            _ => Ok(resolved),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(runs: &[(u64, u32)]) -> u32 {
        runs.iter().map(|run| run.1).sum()
    }

    /// VLFs of a log that starts with `start` bytes and grows `times` times by `step`.
    fn grown(rule: VlfRule, start: u64, step: u64, times: u32) -> u32 {
        let mut size = start;
        let mut vlfs = count(&rule.cut(start - AREA, None));
        for _ in 0..times {
            vlfs += count(&rule.cut(step, Some(size)));
            size += step;
        }
        vlfs
    }

    #[test]
    fn published_counts_of_the_2008_rule() {
        assert_eq!(grown(VlfRule::R100, MB, MB, 1999), 8000);
        assert_eq!(grown(VlfRule::R100, MB / 2, MB / 2, 9_999), 20_000);
        assert_eq!(grown(VlfRule::R100, 10_240 * MB, 0, 0), 16);
        assert_eq!(grown(VlfRule::R100, MB, 1000 * MB, 2), 20);
        assert_eq!(
            (
                count(&VlfRule::R100.cut(64 * MB, Some(MB))),
                count(&VlfRule::R100.cut(1024 * MB, Some(MB)))
            ),
            (4, 8)
        );
    }

    #[test]
    fn published_sizes_of_the_default_log() {
        assert_eq!(VlfRule::R160.cut(8 * MB - AREA, None), [(2_031_616, 3), (2_285_568, 1)]);
    }

    #[test]
    fn later_rules_make_one_vlf_of_a_small_growth() {
        assert_eq!(
            count(&VlfRule::R120.cut(64 * MB, Some(512 * MB))),
            4,
            "an eighth is not less than an eighth"
        );
        assert_eq!(count(&VlfRule::R120.cut(64 * MB, Some(513 * MB))), 1);
        assert_eq!(count(&VlfRule::R160.cut(64 * MB, Some(512 * MB))), 1);
        assert_eq!(count(&VlfRule::R160.cut(65 * MB, Some(512 * MB))), 8);
    }

    #[test]
    fn every_cut_covers_its_chunk() {
        for chunk in (64 << 10..=4 * MB).step_by(AREA as usize).chain([700 * MB, 3000 * MB]) {
            for rule in [VlfRule::R100, VlfRule::R120, VlfRule::R160, VlfRule::Fixed(16 << 10)] {
                let runs = rule.cut(chunk, Some(4 * MB));
                assert_eq!(runs.iter().map(|run| run.0 * u64::from(run.1)).sum::<u64>(), chunk);
                assert!(runs.iter().all(|run| run.0 >= 16 << 10));
            }
        }
    }
}
