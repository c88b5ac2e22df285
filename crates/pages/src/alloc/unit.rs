//! Allocation units: one heap, one index or one LOB space, described by a chain of IAM pages.
//!
//! An IAM page lies in the first page of an extent of its own file and interval; its header names the unit, its bits
//! the extents. One of them, in rest the first, is the unit's name: where it is opened.

use super::{LEVEL_FULL, PFS_ALLOCATED, PFS_IAM, PFS_LEVEL, ReservedUnit, Run, level_with_room};
use crate::error::PageError;
use crate::id::{EXTENT_PAGES, ExtentId, GAM_EXTENTS, PFS_INTERVAL, PageId, UnitId};
use crate::op::Link;
use crate::page::{Page, PageType};
use crate::pool::PageMut;
use crate::record::RecordBuilder;
use crate::store::Store;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Offset in an IAM page's body of: file u16, interval u32.
const AT_META: usize = 8000;
/// From this size on a unit gets several extents at once.
pub(super) const LARGE_UNIT: usize = 64;
const LARGE_STEP: u32 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Iam {
    pub page: PageId,
    pub file: u16,
    pub interval: u32,
}

#[derive(Debug, Default)]
pub(super) struct UnitState {
    pub iams: Vec<Iam>,
    pub extents: Vec<ExtentId>,
    /// Whether `free` and `space` have been read from the PFS.
    pub loaded: bool,
    pub free: VecDeque<PageId>,
    /// Pages with room, by level; an entry counts only if `level` agrees.
    space: [Vec<PageId>; LEVEL_FULL as usize],
    level: HashMap<PageId, u8>,
    /// Pages with room that were met past a bar: offered again once it has fallen.
    barred: Vec<PageId>,
    /// Extents in which a page was freed since they were last looked at: perhaps all of their pages are free by now.
    pub(super) touched: HashSet<ExtentId>,
}

#[derive(Debug)]
pub(crate) struct UnitInner {
    pub(super) id: UnitId,
    filegroup: u16,
    /// The IAM page that names the unit, and the root of the B+tree in it as far as that is known.
    pub(super) name: Mutex<(PageId, PageId)>,
    /// The root is being moved by a transaction that has not ended.
    pub(super) moving: AtomicBool,
    pub(super) state: Mutex<UnitState>,
    /// One thread at a time reads the PFS, or takes or gives back extents.
    pub(super) turn: Mutex<()>,
    /// There are `touched` extents.
    pub(super) may_release: AtomicBool,
}

/// Handle of an allocation unit; clones share one state.
#[derive(Clone, Debug)]
pub struct Unit(pub(super) Arc<UnitInner>);

/// Pages of a unit, for sp_spaceused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitSpace {
    /// Pages of its extents.
    pub reserved: u64,
    /// Pages in use, IAM pages included.
    pub used: u64,
}

/// A page set aside for its taker; goes back when dropped without [`Reserved::keep`].
#[derive(Debug)]
pub struct Reserved {
    unit: Unit,
    id: PageId,
    kept: bool,
}

impl Reserved {
    #[must_use]
    pub fn id(&self) -> PageId {
        self.id
    }

    /// The record that allocates the page has been appended.
    pub fn keep(mut self) -> PageId {
        self.kept = true;
        self.id
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.kept {
            self.unit.0.state.lock().free.push_front(self.id);
        }
    }
}

impl UnitState {
    fn note_level(&mut self, page: PageId, level: u8) {
        if level >= LEVEL_FULL {
            self.level.remove(&page);
        } else if self.level.insert(page, level) != Some(level) {
            self.space[level as usize].push(page);
        }
    }
}

impl Unit {
    #[must_use]
    pub fn id(&self) -> UnitId {
        self.0.id
    }

    #[must_use]
    pub fn filegroup(&self) -> u16 {
        self.0.filegroup
    }

    /// The extents so far, in the order in which scans read them; new ones come at the end.
    #[must_use]
    pub fn extents(&self) -> Vec<ExtentId> {
        self.0.state.lock().extents.clone()
    }

    #[must_use]
    pub fn extent_count(&self) -> usize {
        self.0.state.lock().extents.len()
    }

    #[must_use]
    pub fn extent(&self, i: usize) -> Option<ExtentId> {
        self.0.state.lock().extents.get(i).copied()
    }

    /// The unit's IAM pages in chain order.
    #[must_use]
    pub fn iam_pages(&self) -> Vec<PageId> {
        self.0.state.lock().iams.iter().map(|i| i.page).collect()
    }

    /// Pages whose record of freeing has been appended can be taken again.
    pub fn note_freed(&self, pages: &[PageId]) {
        let mut state = self.0.state.lock();
        for &page in pages {
            state.level.remove(&page);
            state.free.push_back(page);
            state.touched.insert(page.extent());
        }
        self.0.may_release.store(true, Ordering::Release);
    }

    /// Offers a heap page to inserters: to be called with the level that its last record gave it, by the thread that no longer
    /// inserts into it (or has made room in it).
    pub fn note_level(&self, page: PageId, level: u8) {
        self.0.state.lock().note_level(page, level);
    }
}

/// PFS pages under exclusive latches, for records that allocate, free or re-level pages. To be taken after all other
/// pages of the record.
#[derive(Debug)]
pub struct Maps<'a> {
    pages: SmallVec<[PageMut<'a>; 2]>,
}

impl<'a> Maps<'a> {
    fn byte(&self, rec: &mut RecordBuilder, page: PageId, byte: u8) -> Result<(), PageError> {
        let pfs = page.pfs_page();
        if !self.pages.iter().any(|p| p.page_id() == pfs) {
            return Err(PageError::Invalid { what: "the page's PFS page is not latched" });
        }
        rec.page(pfs);
        rec.put_bytes((page.page % PFS_INTERVAL) as u16, &[byte])
    }

    /// The record allocates the page; `level` counts for heaps, others give 0.
    ///
    /// # Errors
    /// [`PageError::RecordFull`]; [`PageError::Invalid`] when the page's PFS page is not among the latched.
    pub fn allocate(&self, rec: &mut RecordBuilder, page: PageId, level: u8) -> Result<(), PageError> {
        self.byte(rec, page, PFS_ALLOCATED | (level & PFS_LEVEL))
    }

    /// The record changes the fullness of an allocated page.
    ///
    /// # Errors
    /// As [`Maps::allocate`].
    pub fn set_level(&self, rec: &mut RecordBuilder, page: PageId, level: u8) -> Result<(), PageError> {
        self.allocate(rec, page, level)
    }

    /// The record frees the page. After the change call [`Unit::note_freed`].
    ///
    /// # Errors
    /// As [`Maps::allocate`].
    pub fn free(&self, rec: &mut RecordBuilder, page: PageId) -> Result<(), PageError> {
        self.byte(rec, page, 0)
    }

    /// The latched pages, to be handed to `Store::change` together with the others.
    pub fn pages(&mut self) -> impl Iterator<Item = &mut PageMut<'a>> {
        self.pages.iter_mut()
    }
}

/// The bits of an IAM page as runs of extents.
fn iam_runs(page: &Page, iam: Iam) -> Vec<Run> {
    let base = iam.interval * GAM_EXTENTS;
    let mut runs: Vec<Run> = Vec::new();
    // Mostly there are few bits on the page.
    for (at, word) in page.body()[..GAM_EXTENTS as usize / 8].chunks(8).enumerate() {
        let mut bits = word.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        while bits != 0 {
            let b = at as u32 * 64 + bits.trailing_zeros();
            bits &= bits - 1;
            match runs.last_mut() {
                Some(run) if run.first + run.count == base + b => run.count += 1,
                _ => runs.push(Run { file: iam.file, first: base + b, count: 1 }),
            }
        }
    }
    runs
}

pub(super) fn iam_of(page: &Page, id: PageId, unit: Option<UnitId>) -> Result<Iam, PageError> {
    if page.page_type() != Some(PageType::Iam) || unit.is_some_and(|u| u != page.unit()) {
        return Err(PageError::corrupt(id, "not an IAM page of the unit"));
    }
    let m = &page.body()[AT_META..AT_META + 6];
    let iam = Iam {
        page: id,
        file: u16::from_le_bytes([m[0], m[1]]),
        interval: u32::from_le_bytes([m[2], m[3], m[4], m[5]]),
    };
    if iam.file != id.file || iam.interval != id.extent().extent / GAM_EXTENTS {
        return Err(PageError::corrupt(id, "IAM page describes another file or interval"));
    }
    Ok(iam)
}

impl Store {
    /// Creates a unit with one extent.
    ///
    /// # Errors
    /// [`PageError::FilegroupFull`]; log and I/O.
    pub fn create_unit(&self, id: UnitId, filegroup: u16) -> Result<Unit, PageError> {
        self.make_unit(id, self.reserve_unit(filegroup)?)
    }

    /// Creates a unit in the extent that was set aside for it.
    ///
    /// # Errors
    /// Log and I/O.
    pub fn make_unit(&self, id: UnitId, reserved: ReservedUnit<'_>) -> Result<Unit, PageError> {
        let Some(run) = reserved.run() else {
            return Err(PageError::Invalid { what: "no extent was set aside" });
        };
        let filegroup = reserved.filegroup();
        let extent = ExtentId { file: run.file, extent: run.first };
        let iam = Iam { page: extent.first_page(), file: run.file, interval: run.first / GAM_EXTENTS };
        self.log_extents(id, run, iam, None, true)?;
        reserved.keep();
        let state = UnitState {
            iams: vec![iam],
            extents: vec![extent],
            loaded: true,
            free: extent.pages().skip(1).collect(),
            ..UnitState::default()
        };
        Ok(self.register_unit(id, filegroup, state, iam.page))
    }

    fn register_unit(&self, id: UnitId, filegroup: u16, state: UnitState, name: PageId) -> Unit {
        let (state, turn) = (Mutex::new(state), Mutex::new(()));
        let name_root = Mutex::new((name, PageId::NONE));
        let flag = || AtomicBool::new(false);
        let inner =
            UnitInner { id, filegroup, name: name_root, moving: flag(), state, turn, may_release: flag() };
        // Two threads may open a unit at once, perhaps by different names: the first one's handle counts.
        let mut units = self.alloc.units.lock();
        if let Some(open) = units.values().find(|u| u.id == id) {
            return Unit(Arc::clone(open));
        }
        let inner = Arc::new(inner);
        units.insert(name, Arc::clone(&inner));
        Unit(inner)
    }

    /// One system record: the extents are taken in the GAM and given to the unit in its IAM page, which is made if
    /// `new_iam` says so and then linked after `last`.
    fn log_extents(
        &self,
        unit: UnitId,
        run: Run,
        iam: Iam,
        last: Option<PageId>,
        new_iam: bool,
    ) -> Result<(), PageError> {
        let gam_id = (ExtentId { file: run.file, extent: run.first }).first_page().gam_page();
        let mut rec = RecordBuilder::new();
        rec.system();
        let mut pages: SmallVec<[PageMut<'_>; 4]> = SmallVec::new();
        if new_iam {
            pages.push(self.write(iam.page.pfs_page())?);
            rec.page(iam.page.pfs_page());
            rec.put_bytes((iam.page.page % PFS_INTERVAL) as u16, &[PFS_ALLOCATED | PFS_IAM])?;
            if let Some(last) = last {
                pages.push(self.write(last)?);
                rec.page(last);
                rec.set_link(Link::Next, iam.page)?;
            }
            pages.push(self.fresh(iam.page)?);
            rec.page(iam.page);
            rec.format(PageType::Iam, 0, unit, last.unwrap_or(PageId::NONE), PageId::NONE, PageId::NONE)?;
            let [f0, f1] = iam.file.to_le_bytes();
            let [i0, i1, i2, i3] = iam.interval.to_le_bytes();
            rec.put_bytes(AT_META as u16, &[f0, f1, i0, i1, i2, i3])?;
        } else {
            pages.push(self.write(iam.page)?);
            rec.page(iam.page);
        }
        rec.set_bits(run.bit(), run.count, true)?;
        pages.push(self.write(gam_id)?);
        rec.page(gam_id);
        rec.set_bits(run.bit(), run.count, true)?;
        let mut refs: SmallVec<[&mut PageMut<'_>; 4]> = pages.iter_mut().collect();
        self.change(&mut self.system(), &mut rec, &mut refs)?;
        Ok(())
    }

    /// Opens a unit by an IAM page of its chain: the first one, except when a crash came before that could go.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] when that is no IAM page, or its chain is damaged.
    pub fn open_unit(&self, first_iam: PageId) -> Result<Unit, PageError> {
        let unit = {
            let first = self.read(first_iam)?;
            iam_of(&first, first_iam, None)?;
            first.unit()
        };
        if let Some(open) = self.alloc.units.lock().get(&first_iam).filter(|u| u.id == unit) {
            return Ok(Unit(Arc::clone(open)));
        }
        let mut state = UnitState::default();
        let head = self.chain_head(unit, first_iam)?;
        for (iam, runs) in self.iam_chain(unit, head)? {
            state.iams.push(iam);
            state.extents.extend(runs.into_iter().flat_map(Run::extents));
        }
        let filegroup = self.file(first_iam)?.filegroup();
        Ok(self.register_unit(unit, filegroup, state, first_iam))
    }

    /// An open unit by its number.
    #[must_use]
    pub fn known_unit(&self, id: UnitId) -> Option<Unit> {
        self.alloc.units.lock().values().find(|u| u.id == id).map(|u| Unit(Arc::clone(u)))
    }

    /// Looks a unit up by its number: among the open ones, else through the allocation maps of all files (its first IAM
    /// page has no predecessor). `None` when there is no such unit.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn find_unit(&self, id: UnitId) -> Result<Option<Unit>, PageError> {
        if let Some(unit) = self.known_unit(id) {
            return Ok(Some(unit));
        }
        for file in self.files() {
            for base in (0..file.pages).step_by(PFS_INTERVAL as usize) {
                let iams: Vec<u32> = {
                    let page = self.read(PageId::new(file.spec.id, base).pfs_page())?;
                    let bytes = page.body().iter().take(PFS_INTERVAL.min(file.pages - base) as usize);
                    bytes.zip(base..).filter(|(b, _)| **b & PFS_IAM != 0).map(|(_, page)| page).collect()
                };
                for number in iams {
                    let at = PageId::new(file.spec.id, number);
                    let page = self.read(at)?;
                    if page.page_type() == Some(PageType::Iam) && page.unit() == id && page.prev().is_none() {
                        drop(page);
                        return self.open_unit(at).map(Some);
                    }
                }
            }
        }
        Ok(None)
    }

    pub(super) fn iam_chain(&self, unit: UnitId, first: PageId) -> Result<Vec<(Iam, Vec<Run>)>, PageError> {
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        let mut at = first;
        while !at.is_none() {
            if !seen.insert(at) {
                return Err(PageError::corrupt(at, "the IAM chain runs in a circle"));
            }
            let page = self.read(at)?;
            let iam = iam_of(&page, at, Some(unit))?;
            chain.push((iam, iam_runs(&page, iam)));
            at = page.next();
        }
        Ok(chain)
    }

    /// Sets a page of the unit aside. The caller formats it, names it in `Maps::allocate` of the same record, and calls
    /// [`Reserved::keep`]. Must not be called while PFS, IAM or GAM pages are latched.
    ///
    /// # Errors
    /// [`PageError::FilegroupFull`] (1105); log and I/O.
    pub fn alloc_page(&self, unit: &Unit) -> Result<Reserved, PageError> {
        loop {
            if let Some(id) = self.pop_free(unit) {
                return Ok(Reserved { unit: unit.clone(), id, kept: false });
            }
            let _turn = unit.0.turn.lock();
            let (loaded, empty) = {
                let state = unit.0.state.lock();
                (state.loaded, !self.has_open(&state))
            };
            if !loaded {
                self.load_pages(unit)?;
            } else if empty {
                match self.extend_unit(unit) {
                    // A rollback has opened the file that they are in.
                    Err(PageError::FilegroupFull { .. }) if self.has_open(&unit.0.state.lock()) => {}
                    done => done?,
                }
            }
        }
    }

    /// Sets a page of the unit aside that lies in this file, in front of its bar; `None` when there is no room for one.
    ///
    /// # Errors
    /// Log and I/O.
    pub fn alloc_in_front(&self, unit: &Unit, file: u16) -> Result<Option<Reserved>, PageError> {
        let _turn = unit.0.turn.lock();
        if !unit.0.state.lock().loaded {
            self.load_pages(unit)?;
        }
        loop {
            {
                let mut state = unit.0.state.lock();
                let fits = |page: &PageId| page.file == file && !self.is_barred(*page);
                if let Some(at) = state.free.iter().position(fits) {
                    let id = state.free.remove(at);
                    return Ok(id.map(|id| Reserved { unit: unit.clone(), id, kept: false }));
                }
            }
            let data = self.file(PageId::new(file, 0))?;
            let taken = self.space(&data)?.lock().take(1);
            let Some((first, count)) = taken.filter(|_| self.bar_of(file).is_some()) else {
                taken.into_iter().for_each(|(first, count)| self.put_extents(Run { file, first, count }));
                return Ok(None);
            };
            self.give_extents(unit, Run { file, first, count })?;
        }
    }

    /// Whether the unit has a free page that is past no bar.
    fn has_open(&self, state: &UnitState) -> bool {
        state.free.iter().any(|page| !self.is_barred(*page))
    }

    fn pop_free(&self, unit: &Unit) -> Option<PageId> {
        let mut state = unit.0.state.lock();
        if !state.loaded {
            return None;
        }
        let at = state.free.iter().position(|page| !self.is_barred(*page))?;
        state.free.remove(at)
    }

    /// Reads which pages of the unit are free or have room. The caller holds the unit's turn.
    pub(super) fn load_pages(&self, unit: &Unit) -> Result<(), PageError> {
        // No page can be allocated before this is done, and pages freed meanwhile are in the list already.
        let mut free = Vec::new();
        let mut levels = Vec::new();
        self.each_pfs_byte(&unit.extents(), |page, byte| {
            if byte & PFS_ALLOCATED == 0 {
                free.push(page);
            } else if byte & PFS_IAM == 0 && byte & PFS_LEVEL < LEVEL_FULL {
                levels.push((page, byte & PFS_LEVEL));
            }
        })?;
        let mut state = unit.0.state.lock();
        let known: HashSet<PageId> = state.free.iter().copied().collect();
        // Perhaps a process that has ended had freed whole extents and not given them back.
        state.touched.extend(free.iter().map(|page| page.extent()));
        if !state.touched.is_empty() {
            unit.0.may_release.store(true, Ordering::Release);
        }
        state.free.extend(free.into_iter().filter(|p| !known.contains(p)));
        for (page, level) in levels {
            // A level that was noted meanwhile is newer. Level 0 is also what index and LOB pages have: they never
            // ask for space.
            if !state.level.contains_key(&page) && !known.contains(&page) {
                state.note_level(page, level);
            }
        }
        state.loaded = true;
        Ok(())
    }

    fn each_pfs_byte(&self, extents: &[ExtentId], mut f: impl FnMut(PageId, u8)) -> Result<(), PageError> {
        let same = |a: &ExtentId, b: &ExtentId| a.first_page().pfs_page() == b.first_page().pfs_page();
        for group in extents.chunk_by(same) {
            let Some(first) = group.first() else { continue };
            let pfs = self.read(first.first_page().pfs_page())?;
            for page in group.iter().flat_map(|e| e.pages()) {
                f(page, pfs.body()[(page.page % PFS_INTERVAL) as usize]);
            }
        }
        Ok(())
    }

    /// Gives the unit more extents. The caller holds the unit's turn.
    pub(super) fn extend_unit(&self, unit: &Unit) -> Result<(), PageError> {
        let count = unit.extent_count();
        let step = if count > LARGE_UNIT { LARGE_STEP } else { 1 };
        let run = self.take_extents(unit.0.filegroup, step)?;
        self.give_extents(unit, run)
    }

    /// Makes extents that were taken the unit's, which gives them back after an error. The caller holds the unit's turn.
    fn give_extents(&self, unit: &Unit, run: Run) -> Result<(), PageError> {
        let iams = unit.0.state.lock().iams.clone();
        let interval = run.first / GAM_EXTENTS;
        let known = iams.iter().find(|i| i.file == run.file && i.interval == interval).copied();
        let first_page = (ExtentId { file: run.file, extent: run.first }).first_page();
        let iam = known.unwrap_or(Iam { page: first_page, file: run.file, interval });
        let last = iams.last().map(|i| i.page);
        if let Err(e) = self.log_extents(unit.0.id, run, iam, last, known.is_none()) {
            self.put_extents(run);
            return Err(e);
        }
        let mut state = unit.0.state.lock();
        if known.is_none() {
            state.iams.push(iam);
        }
        state.extents.extend(run.extents());
        let skip = usize::from(known.is_none());
        state.free.extend(run.extents().flat_map(ExtentId::pages).skip(skip));
        Ok(())
    }

    /// Latches the PFS pages of these pages, each once and in order.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn latch_maps(&self, pages: &[PageId]) -> Result<Maps<'_>, PageError> {
        let mut ids: SmallVec<[PageId; 8]> = pages.iter().map(|p| p.pfs_page()).collect();
        ids.sort_unstable();
        ids.dedup();
        let pages = ids.into_iter().map(|id| self.write(id)).collect::<Result<_, _>>()?;
        Ok(Maps { pages })
    }

    /// A heap page that surely has room for `bytes` (content and slot), taken out of the offers until
    /// [`Unit::note_level`] brings it back. The caller checks the page: offers can be out of date.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn find_space(&self, unit: &Unit, bytes: usize) -> Result<Option<PageId>, PageError> {
        let Some(most) = level_with_room(bytes) else { return Ok(None) };
        if !unit.0.state.lock().loaded {
            let _turn = unit.0.turn.lock();
            if !unit.0.state.lock().loaded {
                self.load_pages(unit)?;
            }
        }
        let mut guard = unit.0.state.lock();
        let state = &mut *guard;
        if state.barred.last().is_some_and(|page| !self.is_barred(*page)) {
            for page in std::mem::take(&mut state.barred) {
                if let Some(level) = state.level.get(&page) {
                    state.space[*level as usize].push(page);
                }
            }
        }
        for level in (0..=most).rev() {
            while let Some(page) = state.space[level as usize].pop() {
                if state.level.get(&page) != Some(&level) {
                    continue;
                }
                if self.is_barred(page) {
                    state.barred.push(page);
                    continue;
                }
                state.level.remove(&page);
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The PFS byte of a page: [`PFS_ALLOCATED`], [`PFS_IAM`], level.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn pfs_byte(&self, page: PageId) -> Result<u8, PageError> {
        let pfs = self.read(page.pfs_page())?;
        Ok(pfs.body()[(page.page % PFS_INTERVAL) as usize])
    }

    /// The pages in use, IAM pages left out, of the unit's extents from number `from` on, at least one extent and until
    /// `out` has `least` of them. Returns the number of the next extent; `None` at the end.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn unit_pages(
        &self,
        unit: &Unit,
        from: usize,
        least: usize,
        out: &mut Vec<PageId>,
    ) -> Result<Option<usize>, PageError> {
        let extents: Vec<ExtentId> = {
            let state = unit.0.state.lock();
            let rest = state.extents.get(from..).unwrap_or(&[]);
            rest.iter().take(least.div_ceil(EXTENT_PAGES as usize).max(1)).copied().collect()
        };
        if extents.is_empty() {
            return Ok(None);
        }
        self.each_pfs_byte(&extents, |page, byte| {
            if byte & (PFS_ALLOCATED | PFS_IAM) == PFS_ALLOCATED {
                out.push(page);
            }
        })?;
        Ok(Some(from + extents.len()))
    }

    /// How many pages the unit has.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn unit_space(&self, unit: &Unit) -> Result<UnitSpace, PageError> {
        let extents = unit.extents();
        let mut space = UnitSpace { reserved: extents.len() as u64 * u64::from(EXTENT_PAGES), used: 0 };
        self.each_pfs_byte(&extents, |_, byte| space.used += u64::from(byte & PFS_ALLOCATED != 0))?;
        Ok(space)
    }
}
