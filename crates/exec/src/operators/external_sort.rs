//! Sorting (key, value) records that may be more than memory holds. Keys are bytes that memcmp
//! orders; records with equal keys keep the order they came in. Guarantees: a sorter keeps to its
//! share of memory (but for a single record that is larger); beyond it sorted runs go to a run file
//! and are merged in the end; without that no file is made.

use std::sync::Arc;

use types::SqlError;

use super::merge::{KeyHead, Merge, head};
use super::piecewise_sort::sort_in_pieces;
use super::spill::{Record, Run, SpillFile};
use session::query_memory::Share;
use session::run_files::RunFiles;
use session::state::core::SessionShared;
use std::sync::atomic::Ordering;

/// Bytes of a piece of memory once a sort is not small.
const CHUNK: usize = 1 << 20;
/// Bytes of a sort's first piece.
const FIRST_CHUNK: usize = 8 << 10;
/// Least and most bytes of the buffer that a run is read with.
const READ_MIN: usize = 256 << 10;
const READ_MAX: usize = 4 << 20;
/// Most runs that are merged at once.
const FAN_IN: usize = 512;
/// Room for so many records at first.
const MIN_ENTRIES: usize = 64;
/// Records that are written between two looks at whether the sort is still wanted.
const WRITTEN: usize = 4096;

/// A record's place: the piece, the offset in it. Later records have larger ones.
type SortPlace = u64;

/// The first 16 bytes of a key and where its record is.
#[derive(Clone, Copy)]
struct SortEntry {
    head: KeyHead,
    place: SortPlace,
}

/// Records one after another in pieces of memory: length of the key, of the value, both.
#[derive(Default)]
struct Arena {
    chunks: Vec<Vec<u8>>,
    /// Emptied pieces of full size.
    free: Vec<Vec<u8>>,
}

impl Arena {
    fn push(&mut self, key: &[u8], value: &[u8]) -> SortPlace {
        let need = 8 + key.len() + value.len();
        if self.chunks.last().is_none_or(|c| c.capacity() - c.len() < need) {
            self.grow(need);
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let place = (index as u64) << 32 | chunk.len() as u64;
        chunk.extend_from_slice(&(key.len() as u32).to_le_bytes());
        chunk.extend_from_slice(&(value.len() as u32).to_le_bytes());
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(value);
        place
    }

    /// Bytes of memory that are added for a record of so many bytes.
    fn growth(&self, need: usize) -> usize {
        let fits = self.chunks.last().is_some_and(|c| c.capacity() - c.len() >= need);
        if fits || need <= CHUNK && !self.free.is_empty() { 0 } else { self.next_chunk(need) }
    }

    fn next_chunk(&self, need: usize) -> usize {
        (FIRST_CHUNK << self.chunks.len().min(16)).min(CHUNK).max(need)
    }

    fn grow(&mut self, need: usize) {
        let size = self.next_chunk(need);
        let chunk = match self.free.pop() {
            Some(chunk) if need <= CHUNK => chunk,
            other => {
                self.free.extend(other);
                Vec::with_capacity(size)
            }
        };
        self.chunks.push(chunk);
    }

    #[inline]
    fn get(&self, place: SortPlace) -> Record<'_> {
        let rest = &self.chunks[(place >> 32) as usize][place as u32 as usize..];
        let word =
            |at: usize| rest[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) as usize;
        let (key, value) = (word(0), word(4));
        rest[8..8 + key + value].split_at(key)
    }

    /// Forgets the records; keeps pieces of full size. Bytes of the others.
    fn clear(&mut self) -> usize {
        let mut freed = 0;
        for mut chunk in self.chunks.drain(..) {
            if chunk.capacity() == CHUNK {
                chunk.clear();
                self.free.push(chunk);
            } else {
                freed += chunk.capacity();
            }
        }
        freed
    }
}

/// Takes records and sorts them.
pub struct Sorter {
    files: Arc<RunFiles>,
    /// The session for which it sorts.
    session: Option<Arc<SessionShared>>,
    share: Share,
    /// Most runs that are merged at once.
    fan_in: usize,
    /// Only so many of the first records are wanted.
    limit: usize,
    arena: Arena,
    entries: Vec<SortEntry>,
    spill: Option<SpillFile>,
    runs: Vec<Run>,
}

impl Sorter {
    /// An empty one. `limit`: only so many of the first records are wanted.
    pub fn new(files: Arc<RunFiles>, share: Share, limit: Option<usize>) -> Sorter {
        Sorter {
            files,
            session: None,
            share,
            fan_in: FAN_IN,
            limit: limit.unwrap_or(usize::MAX),
            arena: Arena::default(),
            entries: Vec::new(),
            spill: None,
            runs: Vec::new(),
        }
    }

    /// The same, stopped (3617) when the session is told to stop: sorting and writing millions of
    /// records takes long.
    pub fn of_session(mut self, session: &Arc<SessionShared>) -> Sorter {
        self.session = Some(session.clone());
        self
    }

    /// Bytes of memory that are added for another record.
    fn growth(&self, need: usize) -> usize {
        let full = self.entries.len() == self.entries.capacity();
        let entries = if full { self.entries.len().max(MIN_ENTRIES) } else { 0 };
        self.arena.growth(need) + entries * size_of::<SortEntry>()
    }

    /// Adds a record. Errors: those of the run file.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        let need = 8 + key.len() + value.len();
        if u32::try_from(need).is_err() {
            return Err(catalog::errors::out_of_memory());
        }
        let growth = self.growth(need);
        if growth > 0 && !self.share.take(growth) {
            if !self.entries.is_empty() {
                self.spill()?;
            }
            self.share.force(self.growth(need));
        }
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(self.entries.len().max(MIN_ENTRIES));
        }
        let place = self.arena.push(key, value);
        self.entries.push(SortEntry { head: head(key), place });
        Ok(())
    }

    fn sort(&mut self) -> Result<(), SqlError> {
        let arena = &self.arena;
        let compare = |a: &SortEntry, b: &SortEntry| {
            let heads = a.head.cmp(&b.head);
            heads
                .then_with(|| arena.get(a.place).0.cmp(arena.get(b.place).0))
                .then(a.place.cmp(&b.place))
        };
        let session = self.session.as_deref();
        sort_in_pieces(&mut self.entries, &compare, &mut || go_on(session))?;
        self.entries.truncate(self.limit);
        Ok(())
    }

    /// Writes what is in memory as a run.
    fn spill(&mut self) -> Result<(), SqlError> {
        self.sort()?;
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.files)?),
        };
        let mut writer = file.writer();
        for (at, entry) in self.entries.iter().enumerate() {
            if at.is_multiple_of(WRITTEN) {
                go_on(self.session.as_deref())?;
            }
            let (key, value) = self.arena.get(entry.place);
            writer.push(key, value)?;
        }
        self.runs.push(writer.finish()?);
        self.entries.clear();
        self.share.give(self.arena.clear());
        Ok(())
    }

    /// All records in order. Errors: those of the run file; 701 when single records are too large
    /// to be merged.
    pub fn finish(mut self) -> Result<Sorted, SqlError> {
        if self.runs.is_empty() {
            self.sort()?;
            let (arena, entries) = (self.arena, self.entries.into_iter());
            return Ok(Sorted(SortedRecords::Memory { arena, entries, _share: self.share }));
        }
        let budget = self.share.used();
        if !self.entries.is_empty() {
            self.spill()?;
        }
        self.arena = Arena::default();
        self.entries = Vec::new();
        self.share.clear();
        self.share.force(budget);
        let fan_in = (budget / READ_MIN).clamp(4, FAN_IN).min(self.fan_in);
        let mut file =
            self.spill.take().ok_or_else(|| SqlError::internal("runs without a run file"))?;
        let buffer = (budget / fan_in).clamp(READ_MIN, READ_MAX);
        while self.runs.len() > fan_in {
            let mut merged = Vec::with_capacity(self.runs.len().div_ceil(fan_in));
            // Neighbours are merged, so that equal keys stay in the order of their runs.
            for group in self.runs.chunks(fan_in) {
                let session = self.session.as_deref();
                let share = self.share.sibling();
                merged.push(merge_to_run(&mut file, group, (buffer, self.limit), share, session)?);
            }
            self.runs = merged;
        }
        let buffer = (budget / self.runs.len()).clamp(READ_MIN, READ_MAX);
        let merge = Merge::new(&file, &self.runs, buffer, self.share)?;
        Ok(Sorted(SortedRecords::Runs { merge, file }))
    }
}

/// 3617 when the session is told to stop.
fn go_on(session: Option<&SessionShared>) -> Result<(), SqlError> {
    match session {
        Some(session) if session.cancel.load(Ordering::Relaxed) => {
            Err(catalog::errors::cancelled())
        }
        _ => Ok(()),
    }
}

fn merge_to_run(
    file: &mut SpillFile,
    runs: &[Run],
    (buffer, limit): (usize, usize),
    share: Share,
    session: Option<&SessionShared>,
) -> Result<Run, SqlError> {
    let mut merge = Merge::new(file, runs, buffer, share)?;
    let mut writer = file.writer();
    for at in 0..limit {
        if at.is_multiple_of(WRITTEN) {
            go_on(session)?;
        }
        let Some((key, value)) = merge.next_record(writer.file())? else { break };
        writer.push(key, value)?;
    }
    writer.finish()
}

/// Sorted records, one after another.
pub struct Sorted(SortedRecords);

enum SortedRecords {
    /// All of them were held.
    Memory {
        arena: Arena,
        entries: std::vec::IntoIter<SortEntry>,
        _share: Share,
    },
    Runs {
        merge: Merge,
        file: SpillFile,
    },
}

impl Sorted {
    /// The next record, if there is one.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, SqlError> {
        match &mut self.0 {
            SortedRecords::Memory { arena, entries, .. } => {
                Ok(entries.next().map(|entry| arena.get(entry.place)))
            }
            SortedRecords::Runs { merge, file, .. } => merge.next_record(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files;
    use fastrand::Rng;
    use session::query_memory::Grant;
    use session::query_memory::QueryMemory;

    fn files(seed: u64) -> Arc<RunFiles> {
        test_files::run_files(&sim::SimDisk::new(seed))
    }

    fn share(most: usize) -> Share {
        Grant::new(&Arc::new(QueryMemory::new(1 << 30, most))).share()
    }

    fn any_record(rng: &mut Rng, number: u32, largest: usize) -> (Vec<u8>, Vec<u8>) {
        // Few different keys, often with a long common beginning.
        let mut key = vec![7; rng.usize(0..3) * 9];
        key.extend((0..rng.usize(0..4)).map(|_| rng.u8(0..3)));
        let len = if rng.u8(0..50) == 0 { rng.usize(0..largest) } else { rng.usize(0..60) };
        let mut value = number.to_le_bytes().to_vec();
        value.extend((0..len).map(|i| i as u8));
        (key, value)
    }

    #[test]
    fn a_session_that_is_told_to_stop_ends_the_sort() {
        let files = files(4);
        // In memory, and with runs on disk.
        for most in [64 << 20, 1 << 20] {
            let session = Arc::new(SessionShared::default());
            let sorter = Sorter::new(files.clone(), share(most), None);
            let mut sorter = sorter.of_session(&session);
            for number in 0..50_000_u32 {
                sorter.push(&number.to_be_bytes(), &[7; 40]).expect("a push");
            }
            assert_eq!(sorter.runs.is_empty(), most > 2 << 20);
            session.cancel.store(true, Ordering::Relaxed);
            assert_eq!(sorter.finish().err().map(|e| e.number), Some(3617));
        }
        let session = Arc::new(SessionShared::default());
        session.cancel.store(true, Ordering::Relaxed);
        let sorter = Sorter::new(files, share(1 << 20), None);
        let mut sorter = sorter.of_session(&session);
        let stopped = (0..50_000_u32).find_map(|n| sorter.push(&n.to_be_bytes(), &[7; 40]).err());
        assert_eq!(stopped.map(|e| e.number), Some(3617), "before a run is written");
    }

    #[test]
    fn any_budget_gives_a_stable_sort() {
        let files = files(1);
        for seed in 0..60 {
            let mut rng = Rng::with_seed(seed);
            let limit = if rng.bool() { None } else { Some(rng.usize(0..2000)) };
            let most = [1, 9 << 10, 100 << 10, 1 << 30][rng.usize(0..4)];
            let mut sorter = Sorter::new(files.clone(), share(most), limit);
            sorter.fan_in = rng.usize(2..9);
            let count = if most == 1 { 300 } else { rng.u32(0..4000) };
            let largest = if rng.bool() { 5000 } else { 2 << 20 };
            let count = if largest > 5000 { count.min(600) } else { count };
            let mut expected: Vec<_> =
                (0..count).map(|i| any_record(&mut rng, i, largest)).collect();
            for (key, value) in &expected {
                sorter.push(key, value).expect("a push");
            }
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            let mut sorted = sorter.finish().expect("sorted");
            for (i, (key, value)) in expected.iter().take(limit.unwrap_or(usize::MAX)).enumerate() {
                let got = sorted.next_record().expect("a read");
                assert!(got == Some((&key[..], &value[..])), "seed {seed}: record {i} of {count}");
            }
            if limit.is_none() {
                assert!(sorted.next_record().expect("a read").is_none());
            }
        }
    }

    #[test]
    fn memory_stays_within_the_budget() {
        let files = files(2);
        let most = 8 << 20;
        let mut sorter = Sorter::new(files.clone(), share(most), None);
        let mut rng = Rng::with_seed(1);
        for i in 0..300_000 {
            let (key, value) = any_record(&mut rng, i, 5000);
            sorter.push(&key, &value).expect("a push");
            let pieces = sorter.arena.chunks.iter().chain(&sorter.arena.free);
            let kept = pieces.map(Vec::capacity).sum::<usize>()
                + sorter.entries.capacity() * size_of::<SortEntry>();
            assert!(kept <= sorter.share.used(), "{kept} bytes after {i} records");
            assert!(
                sorter.share.used() <= most + CHUNK,
                "{} bytes after {i} records",
                sorter.share.used()
            );
        }
        assert!(sorter.runs.len() > 3);
    }
}
