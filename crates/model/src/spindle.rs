//! One spinning disk in device time: where its head is, when it is free, and how long the next
//! access takes.
//!
//! Rotation is exact: every byte has an angle, the platter turns with the clock. A rewrite of the
//! sector that was just written therefore takes one full revolution, and a random position half of
//! one on average. Not modelled: track skew (head switches cost nothing), bad sectors, thermal
//! effects.

use std::collections::VecDeque;

use crate::params::{Disks, Nanos, SECOND, nanos, transfer};

/// Recording zones, outer to inner, of equal size.
const ZONES: u64 = 16;
/// What a drive reads ahead into its own buffer.
const READ_AHEAD: u64 = 8 << 20;
/// Requests that a drive reorders among.
const MAX_DEPTH: usize = 32;

/// What all spindles of a device have in common.
#[derive(Debug)]
pub(crate) struct Geometry {
    revolution: Nanos,
    track_seek: f64,
    /// Seek over the whole surface, without the track seek.
    stroke: f64,
    capacity: u64,
    zone: u64,
    rates: [u64; ZONES as usize],
}

impl Geometry {
    pub fn new(disks: &Disks) -> Self {
        let track_seek = nanos(disks.track_seek) as f64;
        // Over random pairs of positions the square root of the distance is 8/15 on average.
        let stroke = (nanos(disks.average_seek) as f64 - track_seek) * 15.0 / 8.0;
        let drop = disks.outer_rate - disks.inner_rate;
        let rates = std::array::from_fn(|zone| disks.outer_rate - drop * zone as u64 / (ZONES - 1));
        Geometry {
            revolution: SECOND * 60 / u64::from(disks.rpm),
            track_seek,
            stroke,
            capacity: disks.capacity,
            zone: disks.capacity.div_ceil(ZONES),
            rates,
        }
    }

    fn rate(&self, pos: u64) -> u64 {
        self.rates[((pos / self.zone).min(ZONES - 1)) as usize]
    }

    /// Seek time: square root of the distance, nothing within a track.
    fn seek(&self, from: u64, to: u64) -> Nanos {
        let distance = from.abs_diff(to);
        if distance < self.track(to) {
            return 0;
        }
        let part = (distance as f64 / self.capacity as f64).min(1.0);
        (self.track_seek + self.stroke * part.sqrt()) as Nanos
    }

    /// Bytes of a track at `pos`.
    fn track(&self, pos: u64) -> u64 {
        ((u128::from(self.rate(pos)) * u128::from(self.revolution)) / u128::from(SECOND)).max(1)
            as u64
    }

    /// When, within a revolution, the byte at `pos` is under the head.
    fn angle(&self, pos: u64) -> Nanos {
        transfer(pos % self.zone % self.track(pos), self.rate(pos)) % self.revolution
    }

    /// From `at` until `pos` comes under the head.
    fn rotation(&self, at: Nanos, pos: u64) -> Nanos {
        (self.angle(pos) + self.revolution - at % self.revolution) % self.revolution
    }
}

/// One access to the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub write: bool,
    /// Bytes from the start of the spindle.
    pub pos: u64,
    pub len: u64,
    /// The medium must be read before it can be written: costs one revolution more.
    pub rmw: bool,
    /// How many more requests the controller had to choose from when it sorted; 0 = it did not
    /// sort.
    pub among: usize,
}

/// The state of one spindle.
#[derive(Debug, Default)]
pub(crate) struct Spindle {
    /// When the last access leaves the medium.
    free_at: Nanos,
    /// Position of the byte after the last access.
    head: u64,
    last_was_read: bool,
    /// Ends of accesses that may not have ended yet.
    queue: VecDeque<Nanos>,
}

impl Spindle {
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// True if a read at `pos` continues where the last one ended.
    pub fn streams(&self, pos: u64) -> bool {
        self.last_was_read && self.head == pos
    }

    /// Distance of the head from `pos`.
    pub fn distance(&self, pos: u64) -> u64 {
        self.head.abs_diff(pos)
    }

    /// Position of the byte after the last access.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Does one access that was requested at `now`; returns when it is done.
    pub fn access(&mut self, disk: &Geometry, now: Nanos, access: Access) -> Nanos {
        let Access { write, pos, len, rmw, among } = access;
        while self.queue.front().is_some_and(|&end| end <= now) {
            self.queue.pop_front();
        }
        let media = transfer(len, disk.rate(pos));
        let end = if !write && self.streams(pos) && now >= self.free_at {
            self.read_ahead(disk, now, len)
        } else {
            let begin = now.max(self.free_at);
            // A queued access that continues where the previous one ends needs no positioning.
            let flows = self.head == pos
                && self.free_at > 0
                && now <= self.free_at
                && self.last_was_read != write;
            let wait = if flows { 0 } else { self.position(disk, begin, pos, among) };
            let written = begin + wait;
            // Read, then write when the same position passes the head again.
            let turns =
                if rmw { media.div_ceil(disk.revolution).max(1) * disk.revolution } else { 0 };
            written + turns + media
        };
        self.free_at = self.free_at.max(end);
        self.head = pos + len;
        self.last_was_read = !write;
        self.queue.push_back(end);
        end
    }

    /// Seek and rotation. With a queue the drive takes the nearest request first, which shortens
    /// both, to about half at 32 requests. If a controller has sorted the requests already, only
    /// the rotation is shortened.
    fn position(&self, disk: &Geometry, begin: Nanos, pos: u64, among: usize) -> Nanos {
        let seek = disk.seek(self.head, pos);
        let rotation = disk.rotation(begin + seek, pos);
        if among > 0 {
            return seek + shorter(rotation, among);
        }
        shorter(seek + rotation, self.queue.len())
    }

    /// The drive has continued to read since the last read, as far as its buffer allows.
    fn read_ahead(&self, disk: &Geometry, now: Nanos, len: u64) -> Nanos {
        let rate = disk.rate(self.head);
        let buffered = transfer(READ_AHEAD, rate).min(now - self.free_at);
        now + transfer(len, rate).saturating_sub(buffered)
    }
}

/// Positioning time when the drive may choose among `depth` more requests.
fn shorter(wait: Nanos, depth: usize) -> Nanos {
    if depth == 0 {
        return wait;
    }
    (wait as f64 / (1.0 + 0.23 * (1.0 + depth.min(MAX_DEPTH) as f64).log2())) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use crate::params::Medium;

    fn geometry(name: &str) -> Geometry {
        match builtin(name).expect(name).medium {
            Medium::Disks(disks) => Geometry::new(&disks),
            Medium::Flash(_) => panic!("{name} is no disk"),
        }
    }

    fn write(pos: u64) -> Access {
        Access { write: true, pos, len: 4096, rmw: false, among: 0 }
    }

    #[test]
    fn a_rewrite_waits_for_one_revolution() {
        let disk = geometry("hdd-7200");
        let mut spindle = Spindle::default();
        let mut at = spindle.access(&disk, 0, write(1 << 30));
        for _ in 0..10 {
            // The host needs a moment before it writes again.
            let end = spindle.access(&disk, at + 30_000, write(1 << 30));
            assert_eq!(end - at, disk.revolution);
            at = end;
        }
    }

    #[test]
    fn the_next_sector_has_just_passed() {
        let disk = geometry("hdd-7200");
        let mut spindle = Spindle::default();
        let at = spindle.access(&disk, 0, write(0));
        let end = spindle.access(&disk, at + 30_000, write(4096));
        let turn = end - at;
        assert!(turn >= disk.revolution && turn < disk.revolution + 100_000, "{turn}");
    }

    #[test]
    fn a_partial_sector_costs_a_revolution_more() {
        let disk = geometry("hdd-7200");
        let (mut whole, mut partial) = (Spindle::default(), Spindle::default());
        let a = whole.access(&disk, 0, write(1 << 20));
        let b = partial.access(&disk, 0, Access { rmw: true, ..write(1 << 20) });
        assert_eq!(b - a, disk.revolution);
    }

    #[test]
    fn average_seek_is_what_was_said() {
        let disk = geometry("hdd-15000");
        let mut random = fastrand::Rng::with_seed(1);
        let rounds = 20_000u64;
        let sum: u64 = (0..rounds)
            .map(|_| disk.seek(random.u64(0..disk.capacity), random.u64(0..disk.capacity)))
            .sum();
        let average = sum as f64 / rounds as f64;
        assert!((average / 3_500_000.0 - 1.0).abs() < 0.02, "{average}");
    }
}
