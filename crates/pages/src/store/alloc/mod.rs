//! Allocation: extents of files (GAM), extents of units (IAM), pages in use (PFS).
//!
//! The maps on disk change only through log records; structures in memory run ahead of them and are
//! built from them when first used, after redo. Latch order: PFS, IAM, GAM; none of them is held
//! while a lock of this module is taken.

mod bar;
mod cut;
mod fill;
mod free;
mod lend;
mod maps;
mod name;
mod open_units;
mod release;
mod reserve;
mod space;
mod unit;

pub use cut::FileUsage;
pub use free::FreeingPaused;
pub(crate) use lend::LEAST_RUNS;
pub use maps::Maps;
pub use reserve::ReservedUnit;
pub use unit::{ReservedPage, Unit, UnitSpace};

use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{EXTENT_PAGES, ExtentId, GAM_EXTENTS, PAGE_SIZE, PageId};
use crate::log::{BeyondLimits, UndoingThread};
use crate::store::Store;
use bar::Bars;
use disk::DiskError;
use fill::ExtentDealer;
use parking_lot::Mutex;
use space::FreeExtents;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, Ordering::Relaxed};
use std::time::Instant;
use wal::{GrowthEvent, WaitKind};

/// The page is in use.
pub const PFS_ALLOCATED: u8 = 0x40;
/// The page is an IAM page.
pub const PFS_IAM: u8 = 0x10;
/// Fullness in the low bits of a PFS byte.
pub const PFS_LEVEL: u8 = 0x07;
/// The level of a full page.
pub const LEVEL_FULL: u8 = 4;

/// Fullness class of a heap page with so many free bytes: 0 empty, 1 up to 50 % full, 2 up to 80, 3
/// up to 95, 4 more.
#[must_use]
pub fn pfs_level(free_bytes: usize) -> u8 {
    let used = crate::page::BODY_SIZE.saturating_sub(free_bytes) * 100;
    let body = crate::page::BODY_SIZE;
    match used {
        0 => 0,
        u if u <= 50 * body => 1,
        u if u <= 80 * body => 2,
        u if u <= 95 * body => 3,
        _ => LEVEL_FULL,
    }
}

/// The class up to which pages surely have room for so many bytes (content and slot); `None` above
/// every class.
pub(crate) fn level_with_room(bytes: usize) -> Option<u8> {
    let body = crate::page::BODY_SIZE;
    (0..LEVEL_FULL).rev().find(|level| {
        let least_free = match level {
            0 => body,
            1 => body / 2,
            2 => body / 5,
            _ => body / 20,
        };
        least_free >= bytes
    })
}

/// Adjacent extents of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtentRun {
    pub file: u16,
    pub first: u32,
    pub count: u32,
}

impl ExtentRun {
    pub fn extents(self) -> impl Iterator<Item = ExtentId> {
        (self.first..self.first + self.count)
            .map(move |extent| ExtentId { file: self.file, extent })
    }

    /// Bit of the first extent in its GAM or IAM page.
    pub fn bit(self) -> u32 {
        self.first % GAM_EXTENTS
    }
}

/// What allocation keeps in memory.
#[derive(Default)]
pub(crate) struct AllocState {
    space: Mutex<HashMap<u16, Arc<Mutex<FreeExtents>>>>,
    fill: Mutex<HashMap<u16, ExtentDealer>>,
    units: Mutex<open_units::OpenUnits>,
    /// Extents that open units know of.
    mapped: unit::Mapped,
    bars: Bars,
    /// One growth at a time.
    grow: Mutex<()>,
    /// Pages that the rollbacks of running transactions may have to add.
    undo_pages: AtomicU64,
    doomed: free::Doomed,
    /// Redo is over: the allocation maps are right.
    pub settled: AtomicBool,
}

/// Extents by which a file grows for a rollback when it may not grow any more.
const UNDO_STEP: u32 = 8;
/// Of a filegroup's extents at most one in so many is kept for rollbacks, or `UNDO_LEAST` if that
/// is more.
const UNDO_SHARE: u64 = 16;
const UNDO_LEAST: u64 = 16;

impl Store {
    fn group_files(&self, filegroup: u16) -> Vec<Arc<DataFile>> {
        let mut files = self.all_files();
        files.retain(|f| f.filegroup() == filegroup && !f.closing.load(Ordering::SeqCst));
        files.retain(|f| self.bar_of(f.spec.id) != Some(0));
        files
    }

    /// Free extents of a file, read from its GAM pages when first asked for.
    fn space(&self, file: &DataFile) -> Result<Arc<Mutex<FreeExtents>>, PageError> {
        let space = Arc::clone(self.alloc.space.lock().entry(file.spec.id).or_default());
        let mut guard = space.lock();
        if !guard.loaded {
            let extents = file.pages() / EXTENT_PAGES;
            let mut used = Vec::new();
            for extent in self.allocated_extents(file.spec.id)? {
                used.push(extent.extent);
            }
            guard.build(file.spec.id, extents, |e| used.binary_search(&e).is_ok());
            guard.limit(self.bar_of(file.spec.id).map_or(u32::MAX, |page| page / EXTENT_PAGES));
        }
        drop(guard);
        Ok(space)
    }

    /// The extents that the GAM pages of a file call allocated, ascending.
    ///
    /// # Errors
    /// As [`Store::read`]; damage of a map page.
    pub fn allocated_extents(&self, file: u16) -> Result<Vec<ExtentId>, PageError> {
        let pages = self.file(PageId::new(file, 0))?.pages();
        let extents = pages / EXTENT_PAGES;
        let mut list = Vec::new();
        for first in (0..extents).step_by(GAM_EXTENTS as usize) {
            let id = ExtentId { file, extent: first }.first_page().gam_page();
            let page = self.read(id)?;
            if page.page_type() != Some(crate::page::PageType::Gam) {
                return Err(PageError::corrupt(id, "not a GAM page"));
            }
            let bits = (extents - first).min(GAM_EXTENTS);
            let set = (0..bits).filter(|b| page.body()[*b as usize / 8] >> (b % 8) & 1 != 0);
            list.extend(set.map(|b| ExtentId { file, extent: first + b }));
        }
        Ok(list)
    }

    /// Extents of a file: all, and free ones.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn file_extents(&self, file: u16) -> Result<(u32, u64), PageError> {
        let file = self.file(PageId::new(file, 0))?;
        let space = self.space(&file)?;
        let guard = space.lock();
        Ok((guard.extents(), guard.unused()))
    }

    /// The rollback of a running transaction may have to add so many more pages: allocation keeps
    /// room for them.
    pub fn expect_undo_pages(&self, pages: u64) {
        self.alloc.undo_pages.fetch_add(pages, Relaxed);
    }

    /// A transaction has ended for which so many pages were expected.
    pub fn forget_undo_pages(&self, pages: u64) {
        self.alloc.undo_pages.fetch_sub(pages, Relaxed);
    }

    /// Extents of a filegroup that only rollbacks may take: pages may come from several units, so
    /// each extent is counted on for four. What is beyond the limit is found by growing the files.
    fn kept_for_undo(&self, spaces: &[Arc<Mutex<FreeExtents>>]) -> u64 {
        let pages = self.alloc.undo_pages.load(Relaxed);
        if pages == 0 || BeyondLimits::now() {
            return 0;
        }
        let all: u64 = spaces.iter().map(|s| u64::from(s.lock().extents())).sum();
        (pages.div_ceil(4) + 1).min((all / UNDO_SHARE).max(UNDO_LEAST))
    }

    /// Takes up to `most` adjacent extents from a file of the filegroup, chosen by proportional
    /// fill. When all are full it frees units that are to be freed anyway, and grows a file when
    /// there are none. For a rollback the files grow beyond their limits if need be.
    pub(crate) fn take_extents(&self, filegroup: u16, most: u32) -> Result<ExtentRun, PageError> {
        loop {
            let files = self.group_files(filegroup);
            if files.is_empty() {
                if self.open_for_undo(filegroup) {
                    continue;
                }
                return Err(PageError::FilegroupFull {
                    filegroup,
                    why: "it has no file that takes new pages",
                });
            }
            let spaces = files.iter().map(|f| self.space(f)).collect::<Result<Vec<_>, _>>()?;
            let kept = self.kept_for_undo(&spaces);
            if kept > 0 && free_extents(&spaces) <= kept {
                if !self.free_doomed(filegroup)? {
                    self.grow(filegroup, &files, &spaces, kept)?;
                }
                continue;
            }
            // Each pass takes an extent, or finds a file that was full and recalculates, or grows.
            let chosen = {
                let mut fills = self.alloc.fill.lock();
                let fill = fills.entry(filegroup).or_default();
                if fill.is_stale(files.len()) {
                    let free = |(file, space): (&Arc<DataFile>, &Arc<Mutex<FreeExtents>>)| {
                        (space.lock().free(), file.file.device())
                    };
                    *fill =
                        ExtentDealer::new(&files.iter().zip(&spaces).map(free).collect::<Vec<_>>());
                }
                fill.next()
            };
            let Some(i) = chosen else {
                if !self.free_doomed(filegroup)? {
                    self.grow(filegroup, &files, &spaces, 0)?;
                }
                continue;
            };
            let taken = spaces[i].lock().take(most);
            if let Some((first, count)) = taken {
                if let Some(fill) = self.alloc.fill.lock().get_mut(&filegroup) {
                    fill.took(count);
                }
                let run = ExtentRun { file: files[i].spec.id, first, count };
                // A thread that closes or bars a file says so first and counts its extents then:
                // one of the two sees the other.
                let last =
                    (ExtentId { file: run.file, extent: run.first + count - 1 }).first_page();
                if files[i].closing.load(Ordering::SeqCst) || self.is_barred(last) {
                    self.put_extents(run);
                    continue;
                }
                return Ok(run);
            }
            self.alloc.fill.lock().remove(&filegroup);
        }
    }

    /// Gives extents back to the free ones of their file, after the record that says so, or instead
    /// of it.
    pub(crate) fn put_extents(&self, run: ExtentRun) {
        if let Some(space) = self.alloc.space.lock().get(&run.file).map(Arc::clone) {
            let mut guard = space.lock();
            if guard.loaded {
                guard.put(run.first, run.count);
            }
        }
    }

    /// Grows one file of the filegroup by a step, the one whose last growth was longest ago of
    /// those that can, unless more than `enough` extents are free. The header pages know the order,
    /// so a restart goes on in that order.
    fn grow(
        &self,
        filegroup: u16,
        files: &[Arc<DataFile>],
        spaces: &[Arc<Mutex<FreeExtents>>],
        enough: u64,
    ) -> Result<(), PageError> {
        let _turn = self.alloc.grow.lock();
        if free_extents(spaces) > enough {
            self.alloc.fill.lock().remove(&filegroup);
            return Ok(());
        }
        // A file is about to be cut: its end is needed after all.
        for (file, space) in files.iter().zip(spaces) {
            if space.lock().extents() < file.pages() / EXTENT_PAGES {
                return self.regain(file);
            }
        }
        // A file that is being shrunk: what is to be vacated is needed.
        if let Some(file) = files.iter().find(|f| self.bar_of(f.spec.id).is_some()) {
            self.lift(file.spec.id);
            return Ok(());
        }
        let mut why = "no file of it may grow";
        let mut refused = None;
        // A rollback goes on where MAXSIZE and FILEGROWTH say stop, when no file grows by them any
        // more.
        let rounds = if BeyondLimits::now() { 2 } else { 1 };
        let grown = |i: usize| files[i].grown.load(Relaxed);
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|&i| grown(i));
        for k in 0..files.len() * rounds {
            let i = order[k % files.len()];
            let file = &files[i];
            let _file_turn = file.grow_turn.lock();
            let beyond = || file.pages().checked_add(UNDO_STEP * EXTENT_PAGES);
            let next = if k < files.len() { file.next_size() } else { beyond() };
            let Some(pages) = next else { continue };
            match self.autogrow(file, pages) {
                Ok(()) => {}
                // The others may have room.
                Err(PageError::Disk(e)) if !e.is_final() => {
                    match e {
                        DiskError::NoSpace { .. } => why = "there is no space left on the disk",
                        DiskError::FileLimit { .. } => {
                            why = "a file of it is as large as its file system allows"
                        }
                        e => refused = Some(PageError::Disk(e)),
                    }
                    continue;
                }
                Err(e) => return Err(e),
            }
            // What lies beyond the old end was never allocated.
            spaces[i].lock().grow(file.spec.id, pages / EXTENT_PAGES, |_| false);
            let number = order.iter().map(|&i| grown(i)).max().unwrap_or(0).saturating_add(1);
            file.grown.store(number, Relaxed);
            self.forget_fill(filegroup);
            // The file has grown whatever comes of the note; a rollback needs its log for itself.
            let noted = if UndoingThread::now() { Ok(()) } else { self.note_grown(file, number) };
            return match noted {
                Err(e @ PageError::Offline { .. }) => Err(e),
                _ => Ok(()),
            };
        }
        if self.open_for_undo(filegroup) {
            return Ok(());
        }
        Err(refused.unwrap_or(PageError::FilegroupFull { filegroup, why }))
    }

    /// The last that helps a rollback: a file that is being emptied, or was, takes new pages again.
    /// False: there is none.
    fn open_for_undo(&self, filegroup: u16) -> bool {
        let shut = |f: &Arc<DataFile>| {
            f.filegroup() == filegroup
                && !f.closing.load(Ordering::SeqCst)
                && self.bar_of(f.spec.id) == Some(0)
        };
        let found =
            if UndoingThread::now() { self.all_files().into_iter().find(shut) } else { None };
        found.inspect(|file| self.lift(file.spec.id)).is_some()
    }

    /// Makes a file longer that nobody has asked to grow, and says so.
    fn autogrow(&self, file: &DataFile, pages: u32) -> Result<(), PageError> {
        let Some(sink) = self.growth_sink() else { return file.extend_to(pages) };
        let (from, start) = (file.pages(), Instant::now());
        sink.waits(WaitKind::Growth);
        let grown = file.extend_to(pages);
        let us = start.elapsed().as_micros() as u64;
        sink.waited(WaitKind::Growth, us);
        grown?;
        let bytes = |pages: u32| u64::from(pages) * PAGE_SIZE as u64;
        let data_file = Some((file.spec.id, file.now.read().name.clone()));
        sink.grew(&GrowthEvent { data_file, from: bytes(from), to: bytes(pages), us });
        Ok(())
    }

    /// Makes a file at least so many pages long.
    pub(crate) fn extend_file(&self, file: &DataFile, pages: u32) -> Result<(), PageError> {
        let space = self.space(file)?;
        let _turn = self.alloc.grow.lock();
        let _file_turn = file.grow_turn.lock();
        file.extend_to(pages)?;
        space.lock().grow(file.spec.id, file.pages() / EXTENT_PAGES, |_| false);
        self.forget_fill(file.filegroup());
        Ok(())
    }

    /// How many extents of a file are allocated or set aside, those of its fixed pages not counted.
    pub(crate) fn taken_extents(&self, file: &DataFile) -> Result<u64, PageError> {
        let space = self.space(file)?;
        let guard = space.lock();
        let fixed = (0..guard.extents())
            .filter(|e| ExtentId { file: file.spec.id, extent: *e }.is_system());
        Ok(u64::from(guard.extents()) - fixed.count() as u64 - guard.unused())
    }

    /// The shares of a filegroup's files are calculated again.
    pub(crate) fn forget_fill(&self, filegroup: u16) {
        self.alloc.fill.lock().remove(&filegroup);
    }

    /// A file that was given up: its free space is not known any more.
    pub(crate) fn forget_space(&self, file: u16) {
        self.alloc.space.lock().remove(&file);
    }
}

fn free_extents(spaces: &[Arc<Mutex<FreeExtents>>]) -> u64 {
    spaces.iter().map(|s| s.lock().free()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::BODY_SIZE;

    #[test]
    fn levels_promise_what_they_say() {
        for free in 0..=BODY_SIZE {
            let level = pfs_level(free);
            for need in [1, 100, 406, 407, 1000, 1625, 2000, 4064, 5000, BODY_SIZE] {
                if level_with_room(need).is_some_and(|l| level <= l) {
                    assert!(
                        free >= need,
                        "level {level} with {free} free bytes was offered for {need}"
                    );
                }
            }
        }
        assert_eq!((pfs_level(BODY_SIZE), pfs_level(0)), (0, LEVEL_FULL));
        assert_eq!(level_with_room(BODY_SIZE + 1), None);
    }
}
