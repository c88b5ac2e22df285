//! The parameters of a modelled device: its sizes, latencies and rates, with the rules that make
//! them fit together.

use std::time::Duration;

use disk::Sectors;

use crate::error::ModelError;

/// Time of a device in nanoseconds since it was opened (or a span of it).
pub type Nanos = u64;

/// One second in [`Nanos`].
pub(crate) const SECOND: Nanos = 1_000_000_000;

/// A device model: one or several equal arrays, each of disks or of flash. All fields are checked
/// by [`Device::check`]; [`crate::device`] and [`Device::parse`] return checked ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name, as reports show it.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Smallest unit of a transfer, bytes; 512 to 4096, a power of two.
    pub logical: u32,
    /// Unit that the medium writes as a whole, bytes; `logical` to 65536, a power of two.
    pub physical: u32,
    /// The physical sector that the device *reports*; less than `physical` for volumes that hide
    /// their sectors.
    pub reported: u32,
    /// Equal arrays in parallel, 1 to 16; files are placed on them round-robin.
    pub arrays: u32,
    /// How much faster than real time the device's clock runs; 0.01 to 1000, 1 = real time. Reports
    /// must state it.
    pub time_scale: f64,
    /// Bytes a second between host and one array, both directions together; 0 = no limit.
    pub link_rate: u64,
    /// Time that every request spends outside the medium (controller, bus, protocol).
    pub overhead: Duration,
    /// What absorbs writes before the medium.
    pub cache: Cache,
    /// The medium below the cache.
    pub medium: Medium,
}

/// A write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// What it guarantees.
    pub kind: CacheKind,
    /// Dirty bytes that one array's cache holds; 0 only with [`CacheKind::None`]. Flash ignores it.
    pub bytes: u64,
}

/// What happens to a write that the medium does not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// No cache: a write is done when the medium has it.
    None,
    /// A cache that loses its content when the power fails: durable writes go to the medium, a
    /// flush empties it.
    Volatile,
    /// A cache with a battery (or flash with capacitors): a cached write is durable, a flush is
    /// free.
    Battery,
}

/// What stores the bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Medium {
    /// Spinning disks.
    Disks(Disks),
    /// Flash.
    Flash(Flash),
}

/// The disks of one array.
#[derive(Clone, Debug, PartialEq)]
pub struct Disks {
    /// Number of spindles, 1 to 64; even when mirrored.
    pub spindles: u32,
    /// RAID10 (stripes over mirrored pairs) if true, RAID0 (or a single disk) otherwise.
    pub mirrored: bool,
    /// Revolutions a minute, 3,000 to 20,000.
    pub rpm: u32,
    /// Seek to a neighbouring track.
    pub track_seek: Duration,
    /// Average seek over random positions; at least `track_seek`.
    pub average_seek: Duration,
    /// Bytes a second at the outer edge, where addresses begin.
    pub outer_rate: u64,
    /// Bytes a second at the inner edge.
    pub inner_rate: u64,
    /// Bytes of one spindle; at least 64 MiB.
    pub capacity: u64,
    /// Bytes of a stripe on one spindle; a multiple of the physical sector.
    pub stripe: u64,
}

/// The flash of one array.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Requests that are processed at the same time, 1 to 1024.
    pub channels: u32,
    /// Requests that the host may have outstanding, 1 to 65536.
    pub queue_depth: u32,
    /// Latency of a 4 KB read.
    pub read_latency: Duration,
    /// Latency of a 4 KB write into the drive's buffer.
    pub write_latency: Duration,
    /// Time that each partly written physical sector adds: read it, merge, write the whole.
    pub rmw_latency: Duration,
    /// Time of a flush, which a durable write pays too, when the buffer is volatile.
    pub flush_latency: Duration,
    /// Bytes a second, reading and writing.
    pub read_rate: u64,
    pub write_rate: u64,
    /// Requests a second that the drive sustains, whatever their number in flight.
    pub read_iops: u64,
    pub write_iops: u64,
    /// Bytes of the drive.
    pub capacity: u64,
}

impl Device {
    /// The sectors as the device reports them.
    pub fn sectors(&self) -> Sectors {
        Sectors { logical: self.logical, physical: self.reported }
    }

    /// The sectors as they are.
    pub(crate) fn true_sectors(&self) -> Sectors {
        Sectors { logical: self.logical, physical: self.physical }
    }

    /// Usable bytes of one array.
    pub fn array_capacity(&self) -> u64 {
        match &self.medium {
            Medium::Disks(d) => d.capacity * u64::from(d.groups()),
            Medium::Flash(f) => f.capacity,
        }
    }

    /// The same device with capacity and write cache multiplied by `share` (0 < share <= 1), for
    /// studies with less data than the original: seeks cross the same part of the disk, the cache
    /// holds the same part of the data.
    pub fn shrunk(mut self, share: f64) -> Device {
        let share = if share.is_finite() { share.clamp(1e-6, 1.0) } else { 1.0 };
        let scale = |bytes: u64, least: u64| ((bytes as f64 * share) as u64).max(least.min(bytes));
        self.cache.bytes = scale(self.cache.bytes, 1 << 20);
        match &mut self.medium {
            Medium::Disks(d) => d.capacity = scale(d.capacity, MIN_CAPACITY),
            Medium::Flash(f) => f.capacity = scale(f.capacity, MIN_CAPACITY),
        }
        self
    }

    /// The same device with another clock.
    pub fn with_time_scale(mut self, scale: f64) -> Device {
        self.time_scale = scale;
        self
    }

    /// One line for a report: that it is a model, which one, and how fast its clock runs.
    pub fn describe(&self) -> String {
        let scale = match self.time_scale {
            1.0 => String::new(),
            s => format!(", its clock {s} times as fast as real time"),
        };
        format!("modelled device {} ({}){scale}", self.name, self.about)
    }

    /// Checks that all values are in their ranges and fit together.
    ///
    /// # Errors
    /// [`ModelError::Value`] names the first value that is not.
    pub fn check(&self) -> Result<(), ModelError> {
        let bad = |key: &'static str, rule: &'static str| Err(ModelError::Value { key, rule });
        if !self.logical.is_power_of_two() || !(512..=4096).contains(&self.logical) {
            return bad("logical", "a power of two from 512 to 4096");
        }
        if !self.physical.is_power_of_two()
            || self.physical < self.logical
            || self.physical > 65_536
        {
            return bad("physical", "a power of two from the logical sector to 65536");
        }
        if !self.reported.is_power_of_two()
            || self.reported < self.logical
            || self.reported > self.physical
        {
            return bad("reported", "a power of two from the logical to the physical sector");
        }
        if !(1..=16).contains(&self.arrays) {
            return bad("arrays", "1 to 16");
        }
        if !(0.01..=1000.0).contains(&self.time_scale) {
            return bad("time_scale", "0.01 to 1000");
        }
        if self.overhead > Duration::from_secs(1) {
            return bad("overhead", "at most 1s");
        }
        match &self.medium {
            Medium::Disks(disks) => disks.check(u64::from(self.physical), self.cache),
            Medium::Flash(flash) => flash.check(),
        }
    }
}

/// Least capacity of a spindle or a drive.
const MIN_CAPACITY: u64 = 64 << 20;
/// Rates below this would make the arithmetic meaningless.
const MIN_RATE: u64 = 1 << 20;
const MAX_RATE: u64 = 1 << 40;
const MAX_CAPACITY: u64 = 1 << 50;

impl Disks {
    /// Mirror sets (single spindles without mirroring).
    pub(crate) fn groups(&self) -> u32 {
        if self.mirrored { self.spindles / 2 } else { self.spindles }
    }

    fn check(&self, physical: u64, cache: Cache) -> Result<(), ModelError> {
        let bad = |key: &'static str, rule: &'static str| Err(ModelError::Value { key, rule });
        if !(1..=64).contains(&self.spindles) || (self.mirrored && !self.spindles.is_multiple_of(2))
        {
            return bad("spindles", "1 to 64, even with raid = 10");
        }
        if !(3_000..=20_000).contains(&self.rpm) {
            return bad("rpm", "3000 to 20000");
        }
        if self.track_seek > self.average_seek || self.average_seek > Duration::from_millis(100) {
            return bad("average_seek", "from track_seek to 100ms");
        }
        if !(MIN_RATE..=MAX_RATE).contains(&self.inner_rate) {
            return bad("inner_rate", "1MB/s to 1TB/s");
        }
        if !(self.inner_rate..=MAX_RATE).contains(&self.outer_rate) {
            return bad("outer_rate", "from inner_rate to 1TB/s");
        }
        if !(MIN_CAPACITY..=MAX_CAPACITY).contains(&self.capacity) {
            return bad("capacity", "64MB to 1024TB");
        }
        if self.stripe == 0 || !self.stripe.is_multiple_of(physical) || self.stripe > 1 << 30 {
            return bad("stripe", "a multiple of the physical sector, at most 1GB");
        }
        if (cache.kind == CacheKind::None) != (cache.bytes == 0) {
            return bad("cache_size", "0 with cache = none, more than 0 otherwise");
        }
        Ok(())
    }
}

impl Flash {
    fn check(&self) -> Result<(), ModelError> {
        let bad = |key: &'static str, rule: &'static str| Err(ModelError::Value { key, rule });
        if !(1..=1024).contains(&self.channels) {
            return bad("channels", "1 to 1024");
        }
        if !(1..=65_536).contains(&self.queue_depth) {
            return bad("queue_depth", "1 to 65536");
        }
        let latencies =
            [self.read_latency, self.write_latency, self.rmw_latency, self.flush_latency];
        if latencies.iter().any(|&l| l > Duration::from_secs(1)) {
            return bad("latency", "at most 1s");
        }
        if ![self.read_rate, self.write_rate]
            .iter()
            .all(|rate| (MIN_RATE..=MAX_RATE).contains(rate))
        {
            return bad("read_rate", "1MB/s to 1TB/s, as write_rate");
        }
        if ![self.read_iops, self.write_iops].iter().all(|iops| (1..=1_000_000_000).contains(iops))
        {
            return bad("read_iops", "1 to 1000000000, as write_iops");
        }
        if !(MIN_CAPACITY..=MAX_CAPACITY).contains(&self.capacity) {
            return bad("capacity", "64MB to 1024TB");
        }
        Ok(())
    }
}

/// A duration as device time.
pub(crate) fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The time that `bytes` take at `rate` bytes a second; nothing at rate 0 (no limit).
pub(crate) fn transfer(bytes: u64, rate: u64) -> Nanos {
    if rate == 0 {
        return 0;
    }
    (u128::from(bytes) * u128::from(SECOND)).div_ceil(u128::from(rate)) as u64
}
