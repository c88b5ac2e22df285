//! New rows of a heap.
//!
//! A heap has up to 16 insertion points, each with a page of its own. It begins with one; a thread
//! that finds its point busy goes to another, and a point is added when all are busy. A point that
//! leaves its page looks for a partly filled one first, then takes a new one. The fullness of the
//! page it left is written with the new page's record.

use super::Heap;
use super::modify::{check_len, padded};
use crate::Writer;
use crate::error::AccessError;
use crate::record::with_record;
use crate::rid::Rid;
use crate::space::{NewPage, is_gone};
use pages::{
    LEVEL_FULL, Page, PageId, PageMut, PageType, ROW_HEADER, RecordBuilder, RecordSink, SLOT_SIZE,
    pfs_level,
};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most insertion points of a heap.
const POINTS: usize = 16;
/// Bytes of a page's body.
const BODY: usize = pages::PAGE_SIZE - pages::HEADER_SIZE;

/// An insertion point.
#[derive(Debug, Default)]
struct InsertPoint {
    page: PageId,
    /// As the last insert left the page: its free bytes, and a slot before which none is empty.
    free: usize,
    next_slot: u16,
}

impl InsertPoint {
    /// Where the search for an empty slot begins. With more free bytes than before, rows have gone
    /// since; with fewer slots, the page has been freed and taken again.
    fn first_slot(&self, page: &Page) -> u16 {
        if page.free_bytes() > self.free { 0 } else { self.next_slot.min(page.slot_count()) }
    }
}

/// The insertion points of a heap.
#[derive(Debug)]
pub(super) struct Points {
    points: [Mutex<InsertPoint>; POINTS],
    used: AtomicUsize,
}

impl Default for Points {
    fn default() -> Points {
        Points { points: Default::default(), used: AtomicUsize::new(1) }
    }
}

/// Numbers the threads, so that each keeps to its insertion point.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|n| *n)
}

impl Points {
    /// A point that nobody is at. `wait`: whether the caller may wait for one; else `None` if all
    /// are busy.
    fn take(&self, wait: bool) -> Option<MutexGuard<'_, InsertPoint>> {
        let used = self.used.load(Ordering::Relaxed).clamp(1, POINTS);
        let mine = thread_number();
        for k in 0..used {
            if let Some(point) = self.points[(mine + k) % used].try_lock() {
                return Some(point);
            }
        }
        if used < POINTS {
            // Several threads may find out at once; then the next point is shared until one more is
            // added.
            self.used.store(used + 1, Ordering::Relaxed);
            if let Some(point) = self.points[used].try_lock() {
                return Some(point);
            }
        }
        wait.then(|| self.points[mine % POINTS].lock())
    }
}

/// Where new bytes go: a page with room, latched, and the insertion point it belongs to.
pub(super) struct InsertSpot<'a> {
    point: Option<MutexGuard<'a, InsertPoint>>,
    page: TargetPage<'a>,
    /// The point's page before, and its fullness.
    left: Option<(PageId, u8)>,
    /// Bytes of the page that are free after what was put so far.
    free: usize,
    /// Where the search for the next empty slot goes on.
    next_slot: u16,
}

/// What became of a page that was remembered.
pub(super) enum FoundPage<'a> {
    Page(PageMut<'a>),
    /// Its latch was not to be had at once.
    Busy,
    /// It was freed, and may be another unit's by now.
    Gone,
}

enum TargetPage<'a> {
    Old(PageMut<'a>),
    New(NewPage<'a>),
}

impl<'a> InsertSpot<'a> {
    pub(super) fn id(&self) -> PageId {
        match &self.page {
            TargetPage::Old(page) => page.id(),
            TargetPage::New(page) => page.id(),
        }
    }

    /// The slot for the next row.
    pub(super) fn slot(&self) -> u16 {
        let TargetPage::Old(page) = &self.page else { return self.next_slot };
        let count = page.slot_count();
        let empty = |s: &u16| page.slot(*s).is_ok_and(<[u8]>::is_empty);
        (self.next_slot..count).find(empty).unwrap_or(self.next_slot.max(count))
    }

    /// Counts a row of so many bytes (content without slot) as put into this slot; false if it does
    /// not fit.
    fn put(&mut self, slot: u16, bytes: usize) -> bool {
        let Some(free) = self.free.checked_sub(bytes + SLOT_SIZE) else { return false };
        self.free = free;
        self.next_slot = slot + 1;
        true
    }

    /// Begins the page's operations in the record.
    pub(super) fn begin(&self, rec: &mut RecordBuilder, heap: &Heap) -> Result<(), AccessError> {
        match &self.page {
            TargetPage::Old(page) => rec.page(page.id()),
            TargetPage::New(page) => {
                page.format_as(rec, PageType::Data, 0, PageId::NONE, PageId::NONE, PageId::NONE)?
            }
        }
        debug_assert_eq!(heap.unit_id(), heap.space.id());
        Ok(())
    }

    /// Makes the change. `others` are the further pages that the record names.
    pub(super) fn change(
        &mut self,
        heap: &'a Heap,
        sink: &mut dyn RecordSink,
        rec: &mut RecordBuilder,
        others: &mut [&mut PageMut<'a>],
    ) -> Result<(), AccessError> {
        match &mut self.page {
            TargetPage::Old(page) => {
                let mut all: smallvec::SmallVec<[&mut PageMut<'a>; 4]> =
                    smallvec::smallvec![&mut *page];
                all.extend(others.iter_mut().map(|p| &mut **p));
                heap.space.store.change(sink, rec, &mut all)?;
                drop(all);
                if let Some(point) = &mut self.point {
                    (point.free, point.next_slot) = (page.free_bytes(), self.next_slot);
                }
            }
            TargetPage::New(page) => {
                page.level = pfs_level(self.free);
                NewPage::change(&heap.space.store, sink, rec, others, &mut [page], self.left)?;
                // Not before: a page whose record could not be appended (a full log) was never
                // formatted.
                if let Some(point) = &mut self.point {
                    **point =
                        InsertPoint { page: page.id(), free: self.free, next_slot: self.next_slot };
                }
            }
        }
        Ok(())
    }
}

impl Heap {
    /// Inserts a row.
    ///
    /// # Errors
    /// `RowTooLong`; no space; I/O and the log's errors.
    pub fn insert(&self, w: &mut dyn Writer, row: &[u8]) -> Result<Rid, AccessError> {
        check_len(row)?;
        let (short, is_short) = padded(row);
        let row = if is_short { &short[..] } else { row };
        let mut spot = self.spot(ROW_HEADER + row.len(), false)?;
        let slot = spot.slot();
        spot.put(slot, ROW_HEADER + row.len());
        with_record(|rec| {
            rec.change();
            spot.begin(rec, self)?;
            rec.insert(slot, 0, None, row)?;
            spot.change(self, w, rec, &mut [])?;
            Ok(Rid { page: spot.id(), slot })
        })
    }

    /// Inserts rows with one record per page; their identifiers are appended to `rids`.
    ///
    /// # Errors
    /// As for `insert`; rows before the failing one may be in, and the caller rolls back.
    pub fn insert_batch(
        &self,
        w: &mut dyn Writer,
        rows: &[&[u8]],
        rids: &mut Vec<Rid>,
    ) -> Result<(), AccessError> {
        let mut at = 0;
        while let Some(first) = rows.get(at) {
            check_len(first)?;
            let mut spot = self.spot(ROW_HEADER + first.len().max(super::BACK), false)?;
            with_record(|rec| {
                rec.change().keep_to(w.room());
                spot.begin(rec, self)?;
                while let Some(row) = rows.get(at) {
                    check_len(row)?;
                    let (short, is_short) = padded(row);
                    let row = if is_short { &short[..] } else { row };
                    let slot = spot.slot();
                    if !rec.should_take(row.len()) || !spot.put(slot, ROW_HEADER + row.len()) {
                        break;
                    }
                    rec.insert(slot, 0, None, row)?;
                    rids.push(Rid { page: spot.id(), slot });
                    at += 1;
                }
                spot.change(self, w, rec, &mut [])
            })?;
        }
        Ok(())
    }

    /// A latched page with room for a row of so many bytes (content without slot). `holding`: the
    /// caller has other heap pages latched, so nothing may be waited for.
    pub(super) fn spot(&self, bytes: usize, holding: bool) -> Result<InsertSpot<'_>, AccessError> {
        let need = bytes + SLOT_SIZE;
        let mut point = self.points.take(!holding);
        let mut left = None;
        let known = point.as_deref().map(|point| point.page).filter(|id| !id.is_none());
        if let Some(FoundPage::Page(page)) = known.map(|id| self.latch(id, holding)).transpose()? {
            if page.free_bytes() >= need {
                let next_slot = point.as_deref().map_or(0, |point| point.first_slot(&page));
                return Ok(InsertSpot::old(point, page, next_slot));
            }
            // Smaller rows may still find room in what is left.
            let level = pfs_level(page.free_bytes());
            left = Some((page.id(), level));
            drop(page);
            self.space.unit()?.note_level(left.map_or(PageId::NONE, |l| l.0), level);
        }
        while let Some(id) = self.space.store.find_space(self.space.unit()?, need)? {
            let page = match self.latch(id, holding)? {
                FoundPage::Page(page) => page,
                FoundPage::Busy => {
                    self.space.unit()?.note_level(id, LEVEL_FULL - 1);
                    break;
                }
                // Freed since it was offered.
                FoundPage::Gone => continue,
            };
            if page.free_bytes() >= need {
                if let Some(point) = &mut point {
                    point.page = id;
                }
                return Ok(InsertSpot::old(point, page, 0));
            }
            // An offer out of date: not to be made again until the page's fullness is written
            // again.
            drop(page);
            self.space.unit()?.note_level(id, LEVEL_FULL);
        }
        let page = self.space.take()?;
        Ok(InsertSpot { point, page: TargetPage::New(page), left, free: BODY, next_slot: 0 })
    }

    /// A page of this heap under an exclusive latch. `holding`: it is only tried.
    pub(super) fn latch(&self, id: PageId, holding: bool) -> Result<FoundPage<'_>, AccessError> {
        let page = match holding {
            true => match self.space.store.try_write(id) {
                Some(page) => page,
                None => return Ok(FoundPage::Busy),
            },
            false => match self.space.store.write(id) {
                Err(e) if is_gone(&self.space.store, id, &e) => return Ok(FoundPage::Gone),
                page => page?,
            },
        };
        let ours = page.page_type() == Some(PageType::Data) && page.unit() == self.unit_id();
        Ok(if ours { FoundPage::Page(page) } else { FoundPage::Gone })
    }

    /// Brings a page into the buffer pool for a thread that may not wait for its latch later.
    pub(super) fn bring(&self, id: PageId) -> Result<(), AccessError> {
        drop(self.space.store.read(id)?);
        Ok(())
    }

    /// Changes a page from which rows were removed, and its fullness along with it if that has
    /// another class now.
    pub(super) fn change_level<'a>(
        &'a self,
        sink: &mut dyn RecordSink,
        rec: &mut RecordBuilder,
        page: &mut PageMut<'a>,
        freed: usize,
    ) -> Result<(), AccessError> {
        let level = pfs_level(page.free_bytes() + freed);
        if level == pfs_level(page.free_bytes()) {
            self.space.store.change(sink, rec, &mut [page])?;
            return Ok(());
        }
        let id = page.page_id();
        NewPage::change(&self.space.store, sink, rec, &mut [page], &mut [], Some((id, level)))?;
        if let Some(unit) = self.space.known() {
            unit.note_level(id, level);
        }
        Ok(())
    }
}

impl<'a> InsertSpot<'a> {
    fn old(
        point: Option<MutexGuard<'a, InsertPoint>>,
        page: PageMut<'a>,
        next_slot: u16,
    ) -> InsertSpot<'a> {
        let free = page.free_bytes();
        InsertSpot { point, page: TargetPage::Old(page), left: None, free, next_slot }
    }
}
