//! An array of disks in device time: stripes over mirror sets, and a controller cache that writes
//! back in the order of the disk.
//!
//! With a cache a write is done when the cache has space for it. What the cache holds is written
//! back when more than an eighth of it is dirty, sorted, in pieces of up to half a megabyte, by
//! spindles that have nothing else to do. Partial sectors are read-modify-written then, unless
//! their neighbours arrived in the meantime.

use std::collections::BTreeMap;

use crate::params::{Cache, CacheKind, Disks, Nanos};
use crate::spindle::{Access, Geometry, Spindle};

/// Most that is written back by one access.
const WRITE_BACK: u64 = 512 << 10;

/// Dirty ranges of one mirror set: start to end, disjoint, not touching.
#[derive(Debug, Default)]
struct Dirty(BTreeMap<u64, u64>);

impl Dirty {
    /// Adds a range; returns how many bytes are newly dirty.
    fn add(&mut self, mut start: u64, mut end: u64) -> u64 {
        let mut known = 0;
        // Everything that overlaps or touches begins at or before `end`; walking backwards stops at
        // the first that does not.
        while let Some((&s, &e)) = self.0.range(..=end).next_back() {
            if e < start {
                break;
            }
            self.0.remove(&s);
            known += e - s;
            (start, end) = (start.min(s), end.max(e));
        }
        self.0.insert(start, end);
        end - start - known
    }

    /// Removes what is known of a range (it was written to the medium); returns how many bytes were
    /// dirty.
    fn remove(&mut self, start: u64, end: u64) -> u64 {
        let mut gone = 0;
        while let Some((&s, &e)) = self.0.range(..end).next_back() {
            if e <= start {
                break;
            }
            self.0.remove(&s);
            gone += e.min(end) - s.max(start);
            if s < start {
                self.0.insert(s, start);
            }
            if e > end {
                self.0.insert(end, e);
            }
        }
        gone
    }

    /// Takes the next piece at or after the head position, wrapping around.
    fn take(&mut self, head: u64) -> Option<(u64, u64)> {
        let (&start, &end) = self.0.range(head..).next().or_else(|| self.0.iter().next())?;
        self.0.remove(&start);
        // A long range is cut on a boundary of the piece size, which is whole sectors.
        let cut = (start / WRITE_BACK + 1) * WRITE_BACK;
        if end > cut {
            self.0.insert(cut, end);
        }
        Some((start, end.min(cut)))
    }

    fn holds(&self, start: u64, end: u64) -> bool {
        self.0.range(..=start).next_back().is_some_and(|(_, &e)| e >= end)
    }
}

/// A mirror set: two spindles with the same content, or one.
#[derive(Debug)]
struct Group {
    spindles: Vec<Spindle>,
    dirty: Dirty,
}

impl Group {
    fn free_at(&self) -> Nanos {
        self.spindles.iter().map(Spindle::free_at).max().unwrap_or(0)
    }

    fn read(&mut self, disk: &Geometry, now: Nanos, pos: u64, len: u64) -> Nanos {
        let best = self
            .spindles
            .iter_mut()
            .min_by_key(|s| (!s.streams(pos), s.free_at().max(now), s.distance(pos)));
        let access = Access { write: false, pos, len, rmw: false, among: 0 };
        best.map_or(now, |spindle| spindle.access(disk, now, access))
    }

    fn write(&mut self, disk: &Geometry, now: Nanos, access: Access) -> Nanos {
        self.spindles
            .iter_mut()
            .map(|spindle| spindle.access(disk, now, access))
            .max()
            .unwrap_or(now)
    }
}

/// The state of one array.
#[derive(Debug)]
pub(crate) struct ArrayState {
    disk: Geometry,
    physical: u64,
    stripe: u64,
    cache: Cache,
    groups: Vec<Group>,
    dirty: u64,
    /// Time of the last request: what is dirty now was not written back before then.
    seen: Nanos,
    /// Partial sectors that were read when the cache was written back.
    pub late_rmw: u64,
}

/// A part of a request on one mirror set.
#[derive(Clone, Copy, Debug)]
struct RequestPiece {
    group: usize,
    pos: u64,
    len: u64,
}

impl ArrayState {
    pub fn new(disks: &Disks, physical: u32, cache: Cache) -> Self {
        let copies = if disks.mirrored { 2 } else { 1 };
        let group = || Group {
            spindles: (0..copies).map(|_| Spindle::default()).collect(),
            dirty: Dirty::default(),
        };
        ArrayState {
            disk: Geometry::new(disks),
            physical: u64::from(physical),
            stripe: disks.stripe,
            cache,
            groups: (0..disks.groups()).map(|_| group()).collect(),
            dirty: 0,
            seen: 0,
            late_rmw: 0,
        }
    }

    /// Cuts a request at stripe boundaries and joins parts that are adjacent on a mirror set.
    fn pieces(&self, pos: u64, len: u64) -> Vec<RequestPiece> {
        let count = self.groups.len() as u64;
        let mut pieces: Vec<RequestPiece> = Vec::new();
        let (mut at, end) = (pos, pos + len);
        while at < end {
            let number = at / self.stripe;
            let part = ((number + 1) * self.stripe).min(end) - at;
            let piece = RequestPiece {
                group: (number % count) as usize,
                pos: number / count * self.stripe + at % self.stripe,
                len: part,
            };
            match pieces.iter_mut().find(|p| p.group == piece.group && p.pos + p.len == piece.pos) {
                Some(before) => before.len += part,
                None => pieces.push(piece),
            }
            at += part;
        }
        pieces
    }

    pub fn read(&mut self, now: Nanos, pos: u64, len: u64) -> Nanos {
        self.write_back(now);
        let mut done = now;
        for RequestPiece { group, pos, len } in self.pieces(pos, len) {
            let group = &mut self.groups[group];
            if !group.dirty.holds(pos, pos + len) {
                done = done.max(group.read(&self.disk, now, pos, len));
            }
        }
        done
    }

    pub fn write(&mut self, now: Nanos, pos: u64, len: u64, durable: bool) -> Nanos {
        let through = match self.cache.kind {
            CacheKind::None => true,
            CacheKind::Volatile => durable,
            CacheKind::Battery => false,
        };
        self.write_back(now);
        let mut done = now;
        for piece in self.pieces(pos, len) {
            done = done.max(if through {
                self.write_through(now, piece)
            } else {
                self.write_cached(now, piece)
            });
        }
        done
    }

    fn write_through(&mut self, now: Nanos, piece: RequestPiece) -> Nanos {
        let group = &mut self.groups[piece.group];
        self.dirty -= group.dirty.remove(piece.pos, piece.pos + piece.len);
        group.write(&self.disk, now, whole_sectors(piece.pos, piece.len, self.physical, 0).0)
    }

    fn write_cached(&mut self, now: Nanos, piece: RequestPiece) -> Nanos {
        let mut ready = now;
        // A piece larger than the cache goes through it in parts.
        let mut at = piece.pos;
        let end = piece.pos + piece.len;
        while at < end {
            let part = (end - at).min(self.cache.bytes.max(self.physical));
            while self.dirty + part > self.cache.bytes {
                let Some(freed) = self.write_back_one(now) else { break };
                ready = ready.max(freed);
            }
            self.dirty += self.groups[piece.group].dirty.add(at, at + part);
            at += part;
        }
        ready
    }

    /// Empties a volatile cache; other caches need no flush.
    pub fn flush(&mut self, now: Nanos) -> Nanos {
        let mut done = now;
        if self.cache.kind == CacheKind::Volatile {
            while let Some(end) = self.write_back_one(now) {
                done = done.max(end);
            }
            done = self.groups.iter().map(Group::free_at).fold(done, Nanos::max);
        }
        done
    }

    /// Accounts for what idle spindles have written back until `now`.
    fn write_back(&mut self, now: Nanos) {
        for at in 0..self.groups.len() {
            while self.dirty > self.cache.bytes / 8 {
                let from = self.groups[at].free_at().max(self.seen);
                if from >= now || self.write_back_group(at, from).is_none() {
                    break;
                }
            }
        }
        self.seen = now;
    }

    /// Writes back one piece on the mirror set that is free first.
    fn write_back_one(&mut self, now: Nanos) -> Option<Nanos> {
        let at = (0..self.groups.len())
            .filter(|&at| !self.groups[at].dirty.0.is_empty())
            .min_by_key(|&at| self.groups[at].free_at())?;
        self.write_back_group(at, now)
    }

    fn write_back_group(&mut self, at: usize, from: Nanos) -> Option<Nanos> {
        let group = &mut self.groups[at];
        let among = group.dirty.0.len();
        let head = group.spindles.first().map_or(0, Spindle::head);
        let (start, end) = group.dirty.take(head)?;
        self.dirty -= end - start;
        let (access, partial) = whole_sectors(start, end - start, self.physical, among);
        self.late_rmw += u64::from(partial);
        Some(group.write(&self.disk, from, access))
    }
}

/// The write access for a range, widened to physical sectors, and how many of these are partial.
fn whole_sectors(pos: u64, len: u64, physical: u64, among: usize) -> (Access, u32) {
    let sectors = disk::Sectors { logical: 512, physical: physical as u32 };
    let partial = sectors.partial(pos, len);
    let start = pos / physical * physical;
    let end = (pos + len).next_multiple_of(physical);
    (Access { write: true, pos: start, len: end - start, rmw: partial > 0, among }, partial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_ranges_agree_with_a_set_of_bytes() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let (mut dirty, mut model) = (Dirty::default(), std::collections::BTreeSet::new());
            for _ in 0..60 {
                let start = random.u64(0..200);
                let end = start + random.u64(1..40);
                let before = model.len() as u64;
                if random.bool() {
                    model.extend(start..end);
                    assert_eq!(dirty.add(start, end), model.len() as u64 - before);
                } else {
                    model.retain(|b| !(start..end).contains(b));
                    assert_eq!(dirty.remove(start, end), before - model.len() as u64);
                }
                let bytes: Vec<u64> = dirty.0.iter().flat_map(|(&s, &e)| s..e).collect();
                assert!(bytes.iter().eq(model.iter()));
                let probe = random.u64(0..200);
                assert_eq!(
                    dirty.holds(probe, probe + 3),
                    (probe..probe + 3).all(|b| model.contains(&b))
                );
            }
        }
    }

    #[test]
    fn pieces_cover_a_request_once() {
        let disks = match crate::builtin("hdd-raid10-8x15000").map(|d| d.medium) {
            Some(crate::params::Medium::Disks(disks)) => disks,
            _ => panic!("disks"),
        };
        let array = ArrayState::new(&disks, 512, Cache { kind: CacheKind::None, bytes: 0 });
        // One megabyte from a stripe's start: two neighbouring stripes on each of the four mirror
        // sets.
        let pieces = array.pieces(0, 1 << 20);
        assert_eq!(pieces.len(), 4);
        assert!(pieces.iter().all(|p| p.len == 256 << 10 && p.pos == 0));
        let odd = array.pieces(100 << 10, 200 << 10);
        assert_eq!(odd.iter().map(|p| p.len).sum::<u64>(), 200 << 10);
        assert_eq!(odd.iter().map(|p| p.group).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
