//! Torn-page protection: a page that is written in place goes first to the doublewrite area of file
//! 1.
//!
//! The area holds batches, each a directory page and the images that it names after it, written at
//! once and durable before the first of its pages goes home. Several batches are on their way at a
//! time, each in slots of its own: while the homes of one are written, the next is copied and
//! written to the area. A batch's slots are used again only after its homes are durable; one sync
//! proves that for all batches whose homes are written by then. No lock is held across I/O.
//!
//! # Guarantees
//! - Of every page whose home may be torn, the newest image is whole in the area, in the batch with
//!   the highest number.
//! - The area has no image older than the last write of a page: pages that the log rebuilds
//!   (formatted since their last write) skip the area, unless it still has an image of them
//!   ([`Doublewrite::holds`]).
//! - Eviction always finds room for a batch of its own, whatever a checkpoint has on its way.

mod loan;
mod recover;
mod stuck;
#[cfg(test)]
mod tests;

pub(crate) use loan::LOAN_RUNS;
pub(crate) use recover::RecoveredArea;
pub(crate) use stuck::StuckPage;

use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, DWB_FIRST, DWB_PAGES, PAGE_SIZE, PageId, UnitId};
use crate::page::{HEADER_SIZE, Page, PageType, sum_in};
use crate::sync::sync_all;
use disk::{AlignedBuf, DiskError, Op};
use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use wal::Lsn;

/// Slots of the area, one page each, those of directories included.
const SLOTS: usize = 1 + DWB_PAGES as usize;
/// The slot that says which extents are borrowed; batches lie before it.
const LOAN_SLOT: usize = SLOTS - 1;
/// Most images of a batch in the area: four batches fill it.
pub(crate) const BATCH_IMAGES: usize = LOAN_SLOT / 4 - 1;
/// Most images of a batch in borrowed extents: with its directory 4 MB. An array has to move the
/// heads of all its disks to such a batch and back, which is little beside the homes of so many
/// pages and much beside those of half as many.
pub(crate) const LOAN_IMAGES: usize = 511;
/// Most entries of a directory.
pub(crate) const MOST_ENTRIES: usize =
    if LOAN_IMAGES > DWB_PAGES as usize { LOAN_IMAGES } else { DWB_PAGES as usize };
/// Slots that a checkpoint leaves to eviction.
const KEPT_FREE: usize = 1 + BATCH_IMAGES;

// Layout of a directory's body. A batch of an older version has its place in a round where `MARK`
// stands now.
const AT_COUNT: usize = 8;
const AT_MARK: usize = 10;
const AT_SLOT: usize = 12;
const AT_FLOOR: usize = 16;
const AT_ENTRIES: usize = 24;
/// In a directory of an older version.
const AT_ROUND_ENTRIES: usize = 16;
const ENTRY: usize = 10;
const MARK: u16 = u16::MAX;
/// Stands there in the page that names borrowed extents.
const LOAN: u16 = u16::MAX - 1;

/// For purpose a batch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchPurpose {
    Checkpoint,
    /// The same, into the extents that it has borrowed.
    Borrower,
    /// Somebody needs a frame.
    Eviction,
    /// A few images that may stay long: their homes could not be written.
    Stuck,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchStage {
    /// Its images or its homes are being written, or that has failed for good.
    Open,
    /// Some of its homes could not be written, and are tried again.
    Stuck,
    /// Its homes are written and perhaps not durable.
    Home,
    /// Its homes are durable: its slots may be used.
    Over,
}

/// A batch whose directory is in the area or in borrowed extents.
#[derive(Debug)]
struct Batch {
    number: u64,
    /// Pages from the area's start on; borrowed ones lie after the area.
    slots: Range<usize>,
    stage: BatchStage,
    pages: Vec<PageId>,
    homes: Vec<Arc<DataFile>>,
    /// Redo begins no later than here while it lives: some of its pages are stuck, or were.
    hold: Option<Lsn>,
}

/// Where a batch goes.
struct BatchPlace {
    number: u64,
    slot: usize,
    /// Batches with lower numbers are over, whatever the area still has of them.
    floor: u64,
}

#[derive(Debug, Default)]
struct AreaState {
    /// Number of the last batch.
    number: u64,
    /// Slot after the last batch.
    next: usize,
    batches: Vec<Batch>,
    /// Pages of which the area has an image, and the batches that have one: mostly one.
    held: HashMap<PageId, SmallVec<[u64; 2]>>,
    /// Borrowed slots, in runs for one batch each.
    lent: Vec<Range<usize>>,
    /// Pages whose homes could not be written.
    stuck: BTreeMap<PageId, stuck::Stuck>,
}

/// The area's state in memory.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    area: Mutex<AreaState>,
    /// Homes were written, or slots have become free.
    changed: Condvar,
    /// How many pages are stuck: mostly none, and then nobody looks further.
    stuck: AtomicUsize,
    /// Held while stuck pages are written. In it is when that was tried last.
    pub stuck_turn: Mutex<Option<Instant>>,
    /// Held by the checkpoint that has borrowed extents. In it are those of an earlier one that
    /// could not be given back.
    pub borrower: Mutex<Vec<Range<u32>>>,
}

/// A batch whose images are durable. Its homes may be written now.
#[derive(Debug)]
#[must_use]
pub(crate) struct ProtectedBatch(u64);

impl Doublewrite {
    /// For an area as it was found.
    pub fn new(found: &RecoveredArea) -> Doublewrite {
        let mut area = AreaState { number: found.last_number(), ..AreaState::default() };
        for (number, slots, pages) in found.batches() {
            area.hold(&pages, number);
            // Opening has made all homes durable.
            let (stage, homes) = (BatchStage::Over, Vec::new());
            area.batches.push(Batch { number, slots, stage, pages, homes, hold: None });
        }
        Doublewrite {
            area: Mutex::new(area),
            changed: Condvar::new(),
            stuck: AtomicUsize::new(0),
            stuck_turn: Mutex::default(),
            borrower: Mutex::default(),
        }
    }

    /// Whether the area has an image of the page.
    pub fn holds(&self, page: PageId) -> bool {
        self.area.lock().held.contains_key(&page)
    }

    /// Makes up to [`BATCH_IMAGES`] images durable in the area, or as many as a borrowed run has
    /// room for, waiting for it if need be. `homes` are the files that the caller writes to right
    /// after; then it calls [`written`](Self::written). When that fails it must not: the slots then
    /// keep the images.
    ///
    /// # Errors
    /// [`PageError::Unwritten`] when there is no room and only stuck pages hold it, or the volume
    /// has none: nothing has happened then. Any other failed write or sync, after which the store
    /// must go offline; what `online` says while this waits.
    pub fn protect(
        &self,
        primary: &DataFile,
        images: &[(PageId, &[u8; PAGE_SIZE])],
        homes: Vec<Arc<DataFile>>,
        purpose: BatchPurpose,
        online: &dyn Fn() -> Result<(), PageError>,
    ) -> Result<ProtectedBatch, PageError> {
        let most = if purpose == BatchPurpose::Borrower { LOAN_IMAGES } else { BATCH_IMAGES };
        debug_assert!(!images.is_empty() && images.len() <= most);
        let ids = images.iter().map(|(id, _)| *id).collect();
        let place = self.reserve(ids, homes, purpose, online)?;
        let directory = directory(&place, images);
        let mut parts: Vec<&[u8]> = Vec::with_capacity(images.len() + 1);
        parts.push(&directory);
        parts.extend(images.iter().map(|(_, image)| &image[..]));
        let at = (DWB_DIRECTORY as usize + place.slot) * PAGE_SIZE;
        match primary.file.write_durable(at as u64, &parts) {
            Ok(()) => Ok(ProtectedBatch(place.number)),
            Err(cause) if may_go_on(primary, &cause) => {
                self.cancel(place.number);
                Err(PageError::Unwritten { page: images[0].0, pages: images.len(), cause })
            }
            Err(e) => Err(e.into()),
        }
    }

    /// The homes of a batch are written, and their files know it ([`DataFile::written`]).
    pub fn written(&self, batch: ProtectedBatch) {
        let mut area = self.area.lock();
        if let Some(batch) = area.batches.iter_mut().find(|b| b.number == batch.0) {
            batch.stage = BatchStage::Home;
        }
        drop(area);
        self.changed.notify_all();
    }

    /// Slots for a new batch of these pages.
    fn reserve(
        &self,
        pages: Vec<PageId>,
        homes: Vec<Arc<DataFile>>,
        purpose: BatchPurpose,
        online: &dyn Fn() -> Result<(), PageError>,
    ) -> Result<BatchPlace, PageError> {
        let need = pages.len() + 1;
        let mut area = self.area.lock();
        loop {
            if let Some(slot) = area.place(need, purpose) {
                return Ok(area.take(slot..slot + need, pages, homes));
            }
            if area.batches.iter().any(|batch| batch.stage == BatchStage::Home) {
                area = self.free(area)?;
            } else if purpose == BatchPurpose::Stuck {
                // Its batch has the images too. Others may wait for room like this, each with a
                // batch that stays.
                return Err(no_room(&pages, &homes));
            } else if let Some(e) = area.is_stuck() {
                return Err(e);
            } else {
                // With a limit: a store that goes offline tells nobody here.
                self.changed.wait_for(&mut area, Duration::from_millis(20));
                online()?;
            }
        }
    }

    /// Makes the homes that are written by now durable; their batches are over then.
    fn free<'a>(
        &'a self,
        area: MutexGuard<'a, AreaState>,
    ) -> Result<MutexGuard<'a, AreaState>, PageError> {
        let mut numbers = Vec::new();
        let mut files: Vec<Arc<DataFile>> = Vec::new();
        for batch in area.batches.iter().filter(|batch| batch.stage == BatchStage::Home) {
            numbers.push(batch.number);
            for home in &batch.homes {
                // The file, not its number: another one may have had that before, and still wait
                // here.
                if !files.iter().any(|file| Arc::ptr_eq(file, home)) {
                    files.push(Arc::clone(home));
                }
            }
        }
        drop(area);
        sync_all(&files)?;
        let mut area = self.area.lock();
        for batch in area.batches.iter_mut().filter(|batch| numbers.contains(&batch.number)) {
            batch.stage = BatchStage::Over;
            batch.hold = None;
            batch.homes.clear();
        }
        self.changed.notify_all();
        Ok(area)
    }
}

/// There is no room for images that may stay long.
fn no_room(pages: &[PageId], homes: &[Arc<DataFile>]) -> PageError {
    let path = homes.first().map(|home| home.spec.path.clone()).unwrap_or_default();
    let page = pages.first().copied().unwrap_or(PageId::NONE);
    PageError::Unwritten {
        page,
        pages: pages.len(),
        cause: DiskError::NoSpace { op: Op::Write, path },
    }
}

/// Whether a durable write has changed nothing but its own bytes, and may be tried again: the
/// volume has no room for it. Any other failure may be that of the sync in it, which is final for
/// all that was written before. So may "no room" be where the system's cache is written first.
pub(crate) fn may_go_on(primary: &DataFile, cause: &DiskError) -> bool {
    cause.is_no_space() && !cause.is_final() && primary.file.is_direct()
}

impl AreaState {
    fn live(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(|batch| batch.stage != BatchStage::Over)
    }

    /// Why nobody will make room, if that is so.
    fn is_stuck(&self) -> Option<PageError> {
        let waits = self.live().any(|batch| batch.stage != BatchStage::Stuck);
        if waits { None } else { self.stuck_error() }
    }

    /// The first slot of a place for so many, if there is one.
    fn place(&self, need: usize, purpose: BatchPurpose) -> Option<usize> {
        if purpose == BatchPurpose::Stuck {
            return self.place_at_end(need);
        }
        let free = |slot: usize| {
            let wanted = slot..slot + need;
            self.live().all(|b| b.slots.end <= wanted.start || wanted.end <= b.slots.start)
        };
        if purpose == BatchPurpose::Borrower {
            let fits = self.lent.iter().filter(|run| need <= run.len());
            return fits.map(|run| run.start).find(|&slot| free(slot));
        }
        let here = || self.live().map(|batch| &batch.slots).filter(|slots| slots.start < SLOTS);
        let mut starts = [self.next, 0].into_iter().chain(here().map(|slots| slots.end));
        starts.find(|&slot| {
            let fits = slot + need <= LOAN_SLOT && free(slot);
            fits && (purpose != BatchPurpose::Checkpoint
                || has_gap(here().cloned().chain(std::iter::once(slot..slot + need))))
        })
    }

    /// Gives the slots to a new batch. Those whose directories were there are gone from the area.
    fn take(
        &mut self,
        slots: Range<usize>,
        pages: Vec<PageId>,
        homes: Vec<Arc<DataFile>>,
    ) -> BatchPlace {
        self.forget(|old| slots.contains(&old.slots.start));
        if slots.start < SLOTS {
            self.next = slots.end;
        }
        self.number += 1;
        self.hold(&pages, self.number);
        let slot = slots.start;
        let (number, stage) = (self.number, BatchStage::Open);
        self.batches.push(Batch { number, slots, stage, pages, homes, hold: None });
        BatchPlace { number: self.number, slot, floor: self.floor() }
    }

    /// A batch has images of these pages.
    fn hold(&mut self, pages: &[PageId], number: u64) {
        for page in pages {
            self.held.entry(*page).or_default().push(number);
        }
    }

    /// Batches with lower numbers are over.
    fn floor(&self) -> u64 {
        self.live().map(|batch| batch.number).min().unwrap_or(self.number)
    }

    /// Forgets batches whose directories are gone. An older image of their pages may still be
    /// there.
    fn forget(&mut self, gone: impl Fn(&Batch) -> bool) {
        let (gone, kept): (Vec<Batch>, Vec<Batch>) =
            std::mem::take(&mut self.batches).into_iter().partition(gone);
        self.batches = kept;
        for old in gone {
            debug_assert!(old.stage == BatchStage::Over, "slots of a batch that is not over");
            for page in old.pages {
                let Entry::Occupied(mut holders) = self.held.entry(page) else {
                    debug_assert!(false, "{page:?} of a batch is not held");
                    continue;
                };
                // Once: batches of an area of older versions have one number.
                if let Some(at) = holders.get().iter().position(|number| *number == old.number) {
                    holders.get_mut().swap_remove(at);
                }
                if holders.get().is_empty() {
                    holders.remove();
                }
            }
        }
    }
}

/// Whether these leave the area room for a batch of eviction.
fn has_gap(taken: impl Iterator<Item = Range<usize>>) -> bool {
    let mut taken: Vec<Range<usize>> = taken.collect();
    taken.push(LOAN_SLOT..SLOTS);
    taken.sort_unstable_by_key(|slots| slots.start);
    let mut end = 0;
    taken.into_iter().any(|slots| {
        let gap = slots.start.saturating_sub(end);
        end = end.max(slots.end);
        gap >= KEPT_FREE
    })
}

/// The directory page of a batch.
fn directory(place: &BatchPlace, images: &[(PageId, &[u8; PAGE_SIZE])]) -> AlignedBuf {
    let entry = |(id, image): &(PageId, &[u8; PAGE_SIZE])| entry(id.to_bytes(), sum_in(image));
    describe(place, MARK, images.iter().map(entry))
}

fn entry(what: [u8; 6], more: u32) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..6].copy_from_slice(&what);
    bytes[6..].copy_from_slice(&more.to_le_bytes());
    bytes
}

fn describe(
    place: &BatchPlace,
    mark: u16,
    entries: impl Iterator<Item = [u8; ENTRY]>,
) -> AlignedBuf {
    let mut page = Page::zeroed();
    page.format(PageId::new(1, DWB_DIRECTORY), PageType::Doublewrite, 0, UnitId(0));
    let body = &mut page.bytes_mut()[HEADER_SIZE..];
    let mut count = 0u16;
    let (places, _) = body[AT_ENTRIES..].as_chunks_mut::<ENTRY>();
    for (to, entry) in places.iter_mut().zip(entries) {
        *to = entry;
        count += 1;
    }
    body[..AT_COUNT].copy_from_slice(&place.number.to_le_bytes());
    body[AT_COUNT..AT_MARK].copy_from_slice(&count.to_le_bytes());
    body[AT_MARK..AT_SLOT].copy_from_slice(&mark.to_le_bytes());
    body[AT_SLOT..AT_FLOOR].copy_from_slice(&(place.slot as u32).to_le_bytes());
    body[AT_FLOOR..AT_ENTRIES].copy_from_slice(&place.floor.to_le_bytes());
    page.set_checksum();
    AlignedBuf::from_slice(page.bytes())
}

const _: () = assert!(
    DWB_DIRECTORY + 1 == DWB_FIRST && HEADER_SIZE + AT_ENTRIES + ENTRY * MOST_ENTRIES <= PAGE_SIZE
);
