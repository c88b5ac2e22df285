//! The VLFs of a log in memory: where each one lies, and its latest sequence number.
//!
//! [`VlfMap`] is runs of VLFs of equal size, one or two for each growth; finding a VLF is a binary
//! search over growths. [`History`] knows which VLF has which sequence number, as runs too: VLFs
//! are used in file order, so a window of any length is a handful of runs. Neither is ever walked
//! VLF by VLF except to list them.

use std::collections::VecDeque;

use crate::Lsn;
use crate::block::{FIRST_BLOCK, UNIT};
use crate::options::AREA;

/// VLFs of equal size, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EqualVlfs {
    pub first_index: u32,
    pub first_offset: u64,
    pub vlf_size: u64,
    pub count: u32,
    /// End of the log when the run was made; zero for the file's first chunk.
    pub create_lsn: Lsn,
}

impl EqualVlfs {
    fn end_offset(&self) -> u64 {
        self.first_offset + self.vlf_size * u64::from(self.count)
    }

    fn end_index(&self) -> u32 {
        self.first_index + self.count
    }
}

/// Location of one VLF in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VlfPlace {
    pub index: u32,
    pub offset: u64,
    pub size: u64,
    /// Bytes before the first log block: a map area, or nothing.
    pub head: u64,
}

impl VlfPlace {
    /// Bytes for log blocks.
    pub fn room(&self) -> u64 {
        self.size - self.head
    }

    /// File offset of a block.
    pub fn at(&self, block: u32) -> u64 {
        self.offset + self.head + distance(block)
    }

    /// Bytes from a block's start to the end of the VLF; 0 if it does not lie within.
    pub fn rest(&self, block: u32) -> u64 {
        if block < FIRST_BLOCK { 0 } else { self.room().saturating_sub(distance(block)) }
    }
}

/// Bytes from the start of a VLF's first block to the start of another one.
pub(crate) fn distance(block: u32) -> u64 {
    u64::from(block.saturating_sub(FIRST_BLOCK)) * UNIT
}

/// All VLFs of the file, by index in file order.
#[derive(Clone, Debug, Default)]
pub(crate) struct VlfMap {
    runs: Vec<EqualVlfs>,
    /// Offsets of the VLFs whose first 8 KB hold a map area, ascending.
    areas: Vec<u64>,
    /// Size of the smallest VLF; 0 if there is none.
    smallest: u64,
}

impl VlfMap {
    pub fn runs(&self) -> &[EqualVlfs] {
        &self.runs
    }

    /// Number of VLFs.
    pub fn count(&self) -> u32 {
        self.runs.last().map_or(0, EqualVlfs::end_index)
    }

    /// Offset of the end of the last VLF: the size that the file must have.
    pub fn end(&self) -> u64 {
        self.runs.last().map_or(AREA, EqualVlfs::end_offset)
    }

    /// Bytes for log blocks in all VLFs.
    pub fn usable(&self) -> u64 {
        self.end() - AREA - AREA * self.areas.len() as u64
    }

    /// Bytes for log blocks that every VLF has at least.
    pub fn smallest_room(&self) -> u64 {
        self.smallest.saturating_sub(if self.areas.is_empty() { 0 } else { AREA })
    }

    /// Adds VLFs after the last one.
    pub fn push(&mut self, vlf_size: u64, count: u32, create_lsn: Lsn) {
        self.smallest = if self.runs.is_empty() { vlf_size } else { self.smallest.min(vlf_size) };
        let (first_index, first_offset) = (self.count(), self.end());
        self.runs.push(EqualVlfs { first_index, first_offset, vlf_size, count, create_lsn });
    }

    /// The VLF at this offset begins with a map area, which nothing may overwrite.
    pub fn add_area(&mut self, offset: u64) {
        debug_assert!(self.areas.last().is_none_or(|last| *last < offset));
        self.areas.push(offset);
    }

    /// Keeps the first `count` VLFs.
    pub fn truncate(&mut self, count: u32) {
        self.runs.retain(|run| run.first_index < count);
        if let Some(last) = self.runs.last_mut() {
            last.count = last.count.min(count - last.first_index);
        }
        let end = self.end();
        self.areas.retain(|area| *area < end);
        self.smallest = self.runs.iter().map(|run| run.vlf_size).min().unwrap_or(0);
    }

    /// Bytes from `end`, the end of the last block in the VLF `from`, to the first block of `to`,
    /// if `to` directly follows `from` in the file and nothing between the two blocks is worth
    /// keeping: then one write may cover both VLFs.
    pub fn gap(from: &VlfPlace, end: u64, to: &VlfPlace) -> Option<u64> {
        let neighbours = from.offset + from.size == to.offset && end <= to.offset;
        (neighbours && to.head == 0).then(|| to.offset - end)
    }

    fn run_of(&self, index: u32) -> Option<&EqualVlfs> {
        let at = self.runs.partition_point(|run| run.end_index() <= index);
        self.runs.get(at)
    }

    pub fn place(&self, index: u32) -> Option<VlfPlace> {
        let run = self.run_of(index)?;
        let offset = run.first_offset + run.vlf_size * u64::from(index - run.first_index);
        let head = if self.areas.binary_search(&offset).is_ok() { AREA } else { 0 };
        Some(VlfPlace { index, offset, size: run.vlf_size, head })
    }

    /// Location of a VLF, and how many from it on are of the same kind: size and head.
    pub fn alike(&self, index: u32) -> Option<(VlfPlace, u32)> {
        let place = self.place(index)?;
        // Only the first VLF of a run can begin with a map area.
        let count = if place.head > 0 { 1 } else { self.run_of(index)?.end_index() - index };
        Some((place, count))
    }

    /// Bytes for log blocks in `count` VLFs from `index`.
    pub fn usable_range(&self, index: u32, count: u32) -> u64 {
        let start = |at: u32| self.place(at).map_or(self.end(), |place| place.offset);
        let (from, to) = (start(index), start(index + count));
        let within = |offset| self.areas.partition_point(|area| *area < offset) as u64;
        to.saturating_sub(from) - AREA * within(to).saturating_sub(within(from))
    }
}

/// Consecutive sequence numbers in consecutive VLFs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeqRun {
    pub seq: u32,
    pub index: u32,
    pub count: u32,
    /// 64 or 128; flips whenever a VLF is used again.
    pub parity: u8,
}

/// Latest sequence number of every VLF that has been used, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    runs: VecDeque<SeqRun>,
    /// VLFs from here on were never used.
    high_water: u32,
    /// Used VLFs whose sequence number is no longer known, as (first index, count): free.
    orphans: Vec<(u32, u32)>,
}

impl History {
    pub fn from_runs(runs: impl IntoIterator<Item = SeqRun>) -> Self {
        let runs: VecDeque<SeqRun> = runs.into_iter().collect();
        let mut history = History { runs, ..History::default() };
        let mut by_index: Vec<(u32, u32)> =
            history.runs.iter().map(|run| (run.index, run.count)).collect();
        by_index.sort_unstable();
        for (index, count) in by_index {
            if index > history.high_water {
                history.orphans.push((history.high_water, index - history.high_water));
            }
            history.high_water = history.high_water.max(index + count);
        }
        history
    }

    /// Drops sequence numbers from `seq` on: those uses of VLFs did not survive a crash.
    pub fn forget_from(&mut self, seq: u32) {
        for run in self.runs.iter().filter(|run| run.seq + run.count > seq) {
            let keep = seq.saturating_sub(run.seq);
            self.orphans.push((run.index + keep, run.count - keep));
        }
        self.runs.retain_mut(|run| {
            run.count = run.count.min(seq.saturating_sub(run.seq));
            run.count > 0
        });
    }

    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &SeqRun> + ExactSizeIterator {
        self.runs.iter()
    }

    /// The VLF that holds a sequence number.
    pub fn index_of(&self, seq: u32) -> Option<u32> {
        let run = self.runs.iter().rev().find(|run| run.seq <= seq)?;
        (seq - run.seq < run.count).then(|| run.index + (seq - run.seq))
    }

    /// Latest sequence number and parity of a VLF; `None` if it was never used.
    pub fn seq_of(&self, index: u32) -> Option<(u32, u8)> {
        let run =
            self.runs.iter().find(|run| run.index <= index && index - run.index < run.count)?;
        Some((run.seq + (index - run.index), run.parity))
    }

    /// The VLF gets a new sequence number, higher than all before.
    pub fn activate(&mut self, index: u32, seq: u32) {
        let parity = match self.forget(index) {
            Some(64) => 128,
            _ => 64,
        };
        if index > self.high_water {
            // Recovery may find VLFs in another order than the file's.
            self.orphans.push((self.high_water, index - self.high_water));
        }
        self.high_water = self.high_water.max(index + 1);
        self.adopt(index);
        if let Some(last) = self.runs.back_mut() {
            debug_assert!(last.seq + last.count <= seq, "sequence numbers grow");
            if last.seq + last.count == seq
                && last.index + last.count == index
                && last.parity == parity
            {
                last.count += 1;
                return;
            }
        }
        self.runs.push_back(SeqRun { seq, index, count: 1, parity });
    }

    /// Drops the sequence number of a VLF and returns its parity; the run around it is split.
    fn forget(&mut self, index: u32) -> Option<u8> {
        let at =
            self.runs.iter().position(|run| run.index <= index && index - run.index < run.count)?;
        let run = self.runs.remove(at)?;
        let before = index - run.index;
        let behind = run.count - before - 1;
        if behind > 0 {
            self.runs.insert(
                at,
                SeqRun { seq: run.seq + before + 1, index: index + 1, count: behind, ..run },
            );
        }
        if before > 0 {
            self.runs.insert(at, SeqRun { count: before, ..run });
        }
        Some(run.parity)
    }

    fn adopt(&mut self, index: u32) {
        let Some(at) =
            self.orphans.iter().position(|range| range.0 <= index && index - range.0 < range.1)
        else {
            return;
        };
        let (first, count) = self.orphans.swap_remove(at);
        let before = index - first;
        let rest = [(first, before), (index + 1, count - before - 1)];
        self.orphans.extend(rest.into_iter().filter(|range| range.1 > 0));
    }

    /// Drops all VLFs from `count` on: the file was cut.
    pub fn truncate(&mut self, count: u32) {
        self.runs.retain_mut(|run| {
            run.count = run.count.min(count.saturating_sub(run.index));
            run.count > 0
        });
        self.orphans.retain_mut(|range| {
            range.1 = range.1.min(count.saturating_sub(range.0));
            range.1 > 0
        });
        self.high_water = self.high_water.min(count);
    }

    /// The VLF to use after `current`: the next in the file if it is free, else one whose sequence
    /// number is unknown, else the one whose content is oldest, else one that was never used.
    /// `None` if all hold sequence numbers from `oldest_active` on.
    pub fn next_free(&self, current: u32, oldest_active: u32, count: u32) -> Option<u32> {
        let is_free = |index| self.seq_of(index).is_none_or(|(seq, _)| seq < oldest_active);
        if current + 1 < count && is_free(current + 1) {
            return Some(current + 1);
        }
        if let Some(range) = self.orphans.first() {
            return Some(range.0);
        }
        match self.runs.front() {
            Some(run) if run.seq < oldest_active => Some(run.index),
            _ if self.high_water < count => Some(self.high_water),
            _ => None,
        }
    }

    /// Every VLF that [`next_free`](Self::next_free) may have chosen after `current`, whichever
    /// VLFs were free then.
    pub fn candidates(&self, current: u32, count: u32) -> impl Iterator<Item = u32> + use<> {
        let orphans = self.orphans.iter().map(|range| range.0);
        let oldest = self.runs.front().map(|run| run.index);
        let all: Vec<u32> = [current + 1]
            .into_iter()
            .chain(orphans)
            .chain(oldest)
            .chain([self.high_water])
            .collect();
        all.into_iter().filter(move |index| *index < count && *index != current)
    }

    /// Runs of VLFs from a sequence number on: (first index, count).
    pub fn since(&self, seq: u32) -> impl Iterator<Item = (u32, u32)> {
        self.runs.iter().filter(move |run| run.seq + run.count > seq).map(move |run| {
            let skip = seq.saturating_sub(run.seq);
            (run.index + skip, run.count - skip)
        })
    }

    /// The oldest sequence number from which on every one up to the newest is known.
    pub fn oldest_connected(&self) -> Option<u32> {
        let mut oldest = None;
        for run in self.runs.iter().rev() {
            if oldest.is_some_and(|seq| run.seq + run.count != seq) {
                break;
            }
            oldest = Some(run.seq);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn places_follow_the_runs() {
        let mut map = VlfMap::default();
        map.push(2_031_616, 3, Lsn::ZERO);
        map.push(2_285_568, 1, Lsn::ZERO);
        let offsets: Vec<u64> =
            (0..4).filter_map(|index| map.place(index)).map(|place| place.offset).collect();
        assert_eq!(offsets, [8192, 2_039_808, 4_071_424, 6_103_040]);
        assert_eq!((map.end(), map.count(), map.place(4)), (8 << 20, 4, None));
        assert_eq!(map.usable_range(1, 3), (8 << 20) - 2_039_808);
        map.add_area(4_071_424);
        assert_eq!(map.usable_range(1, 3), (8 << 20) - 2_039_808 - AREA);
        assert_eq!(map.usable_range(0, 4), map.usable());
        let (area, plain) = (map.place(2).expect("in the map"), map.place(1).expect("in the map"));
        assert_eq!((area.room(), area.at(FIRST_BLOCK)), (2_031_616 - AREA, 4_071_424 + AREA));
        assert_eq!((plain.room(), plain.at(FIRST_BLOCK + 2)), (2_031_616, 2_039_808 + 2 * UNIT));
        assert_eq!(
            (plain.rest(FIRST_BLOCK - 1), plain.rest(FIRST_BLOCK + 2)),
            (0, 2_031_616 - 2 * UNIT)
        );

        map.truncate(2);
        assert_eq!((map.end(), map.count()), (4_071_424, 2));
    }

    #[test]
    fn a_gap_is_only_between_neighbours_without_a_map_area() {
        let mut map = VlfMap::default();
        map.push(65_536, 4, Lsn::ZERO);
        map.add_area(8192 + 2 * 65_536);
        let places: Vec<VlfPlace> = (0..4).filter_map(|index| map.place(index)).collect();
        let end = places[0].offset + 65_000;
        assert_eq!(VlfMap::gap(&places[0], end, &places[1]), Some(536));
        assert_eq!(VlfMap::gap(&places[0], end, &places[3]), None, "a VLF lies between");
        assert_eq!(
            VlfMap::gap(&places[1], places[1].offset + AREA, &places[2]),
            None,
            "an area lies there"
        );
        assert_eq!(
            VlfMap::gap(&places[3], places[3].offset + AREA, &places[0]),
            None,
            "the ring closes"
        );
        map.truncate(2);
        map.push(65_536, 1, Lsn::ZERO);
        let new = map.place(2).expect("in the map");
        assert_eq!(
            VlfMap::gap(&places[1], new.offset, &new),
            Some(0),
            "the area went with its VLF"
        );
    }

    proptest! {
        /// Random use, truncation and growth, compared with a plain table.
        #[test]
        fn history_agrees_with_a_table(steps in proptest::collection::vec(0u8..8, 1..400)) {
            let mut history = History::default();
            let (mut count, mut seq, mut oldest, mut current) = (4u32, 1u32, 1u32, 0u32);
            let mut table: HashMap<u32, (u32, u8)> = HashMap::new();
            history.activate(0, 1);
            table.insert(0, (1, 64));
            for step in steps {
                match step {
                    0..5 => match history.next_free(current, oldest, count) {
                        Some(index) => {
                            prop_assert!(table.get(&index).is_none_or(|used| used.0 < oldest));
                            seq += 1;
                            current = index;
                            history.activate(index, seq);
                            let parity = if table.get(&index).is_some_and(|used| used.1 == 64) { 128 } else { 64 };
                            table.insert(index, (seq, parity));
                        }
                        None => {
                            prop_assert!((0..count).all(|i| table.get(&i).is_some_and(|used| used.0 >= oldest)));
                            count += 2;
                        }
                    },
                    5 | 6 => oldest = (oldest + 1).min(seq),
                    _ => oldest = seq,
                }
                for index in 0..count {
                    prop_assert_eq!(history.seq_of(index), table.get(&index).copied());
                    if let Some(used) = table.get(&index) {
                        prop_assert_eq!(history.index_of(used.0), Some(index));
                    }
                }
                prop_assert!(history.oldest_connected().is_some_and(|first| first <= oldest));
                let active: u32 = history.since(oldest).map(|run| run.1).sum();
                prop_assert_eq!(active, seq - oldest + 1);
            }
        }
    }
}
