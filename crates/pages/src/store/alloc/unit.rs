//! Allocation units: one heap, one index or one LOB space, described by a chain of IAM pages.
//!
//! An IAM page lies in the first page of an extent of its own file and interval; its header names
//! the unit, its bits the extents. One of them, in rest the first, is the unit's name: where it is
//! opened.

mod take;

pub(super) use take::LARGE_UNIT;

use super::{ExtentRun, LEVEL_FULL, PFS_ALLOCATED, PFS_IAM, ReservedUnit};
use crate::error::PageError;
use crate::id::{ExtentId, GAM_EXTENTS, PFS_INTERVAL, PageId, UnitId};
use crate::op::Link;
use crate::page::{Page, PageType};
use crate::pool::PageMut;
use crate::record::RecordBuilder;
use crate::store::Store;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Offset in an IAM page's body of: file u16, interval u32.
const AT_META: usize = 8000;
#[derive(Clone, Copy, Debug)]
pub(super) struct Iam {
    pub page: PageId,
    pub file: u16,
    pub interval: u32,
}

/// How many extents all open units of a store know of.
pub(super) type Mapped = Arc<AtomicUsize>;

/// Bytes of an open unit, and of each of its extents with the pages there that have room.
const UNIT_BYTES: usize = 1 << 10;
const EXTENT_BYTES: usize = 24;

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
    /// Extents in which a page was freed since they were last looked at: perhaps all of their pages
    /// are free by now.
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
    /// What it adds to the extents that all units know of, told at the last change.
    told: AtomicUsize,
    mapped: Mapped,
}

impl UnitInner {
    /// The extents of `state`, this unit's, have changed.
    pub(super) fn tell_extents(&self, state: &UnitState) {
        let now = state.extents.len();
        let before = self.told.swap(now, Ordering::Relaxed);
        self.mapped.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for UnitInner {
    fn drop(&mut self) {
        self.mapped.fetch_sub(self.told.load(Ordering::Relaxed), Ordering::Relaxed);
    }
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

/// A page set aside for its taker; goes back when dropped without [`ReservedPage::keep`].
#[derive(Debug)]
pub struct ReservedPage {
    unit: Unit,
    id: PageId,
    kept: bool,
}

impl ReservedPage {
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

impl Drop for ReservedPage {
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

    /// Offers a heap page to inserters: to be called with the level that its last record gave it,
    /// by the thread that no longer inserts into it (or has made room in it).
    pub fn note_level(&self, page: PageId, level: u8) {
        self.0.state.lock().note_level(page, level);
    }
}

/// The bits of an IAM page as runs of extents.
fn iam_runs(page: &Page, iam: Iam) -> Vec<ExtentRun> {
    let base = iam.interval * GAM_EXTENTS;
    let mut runs: Vec<ExtentRun> = Vec::new();
    // Mostly there are few bits on the page.
    for (at, word) in page.body()[..GAM_EXTENTS as usize / 8].chunks(8).enumerate() {
        let mut bits = word.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        while bits != 0 {
            let b = at as u32 * 64 + bits.trailing_zeros();
            bits &= bits - 1;
            match runs.last_mut() {
                Some(run) if run.first + run.count == base + b => run.count += 1,
                _ => runs.push(ExtentRun { file: iam.file, first: base + b, count: 1 }),
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
        let iam =
            Iam { page: extent.first_page(), file: run.file, interval: run.first / GAM_EXTENTS };
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
        let inner = UnitInner {
            id,
            filegroup,
            name: name_root,
            moving: flag(),
            state,
            turn,
            may_release: flag(),
            told: AtomicUsize::new(0),
            mapped: Arc::clone(&self.alloc.mapped),
        };
        inner.tell_extents(&inner.state.lock());
        // Two threads may open a unit at once, perhaps by different names: the first one's handle
        // counts.
        let mut units = self.alloc.units.lock();
        if let Some(open) = units.numbered(id) {
            return Unit(Arc::clone(open));
        }
        let inner = Arc::new(inner);
        units.insert(name, Arc::clone(&inner));
        Unit(inner)
    }

    /// One system record: the extents are taken in the GAM and given to the unit in its IAM page,
    /// which is made if `new_iam` says so and then linked after `last`.
    fn log_extents(
        &self,
        unit: UnitId,
        run: ExtentRun,
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
            rec.format(
                PageType::Iam,
                0,
                unit,
                last.unwrap_or(PageId::NONE),
                PageId::NONE,
                PageId::NONE,
            )?;
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

    /// Opens a unit by an IAM page of its chain: the first one, except when a crash came before
    /// that could go.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] when that is no IAM page, or its chain is damaged.
    pub fn open_unit(&self, first_iam: PageId) -> Result<Unit, PageError> {
        let unit = {
            let first = self.read(first_iam)?;
            iam_of(&first, first_iam, None)?;
            first.unit()
        };
        // A page that was freed keeps its content until somebody else formats it.
        if self.pfs_byte(first_iam)? & PFS_ALLOCATED == 0 {
            return Err(PageError::NoSuchPage { page: first_iam });
        }
        if let Some(open) = self.alloc.units.lock().named(first_iam).filter(|u| u.id == unit) {
            return Ok(Unit(Arc::clone(open)));
        }
        let mut state = UnitState::default();
        let head = self.chain_head(unit, first_iam)?;
        for (iam, runs) in self.iam_chain(unit, head)? {
            state.iams.push(iam);
            state.extents.extend(runs.into_iter().flat_map(ExtentRun::extents));
        }
        let filegroup = self.file(first_iam)?.filegroup();
        Ok(self.register_unit(unit, filegroup, state, first_iam))
    }

    /// Memory of what is known of the open units: about, and without asking each of them.
    #[must_use]
    pub fn unit_memory(&self) -> usize {
        let units = self.alloc.units.lock().len();
        units * UNIT_BYTES + self.alloc.mapped.load(Ordering::Relaxed) * EXTENT_BYTES
    }

    /// An open unit by its number.
    #[must_use]
    pub fn known_unit(&self, id: UnitId) -> Option<Unit> {
        self.alloc.units.lock().numbered(id).map(|u| Unit(Arc::clone(u)))
    }

    /// Looks a unit up by its number: among the open ones, else through the allocation maps of all
    /// files (its first IAM page has no predecessor). `None` when there is no such unit.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn find_unit(&self, id: UnitId) -> Result<Option<Unit>, PageError> {
        if let Some(unit) = self.known_unit(id) {
            return Ok(Some(unit));
        }
        let mut found = None;
        self.each_unit(|unit, at| {
            found = found.or((unit == id).then_some(at));
            found.is_none()
        })?;
        found.map(|at| self.open_unit(at)).transpose()
    }

    /// The numbers of all units, through the allocation maps of all files.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn units_in_use(&self) -> Result<BTreeSet<u32>, PageError> {
        let mut used = BTreeSet::new();
        self.each_unit(|unit, _| {
            used.insert(unit.0);
            true
        })?;
        Ok(used)
    }

    /// Number and first IAM page of each unit, until `more` says no.
    fn each_unit(&self, mut more: impl FnMut(UnitId, PageId) -> bool) -> Result<(), PageError> {
        for file in self.files() {
            for base in (0..file.pages).step_by(PFS_INTERVAL as usize) {
                let iams: Vec<u32> = {
                    let page = self.read(PageId::new(file.spec.id, base).pfs_page())?;
                    let bytes =
                        page.body().iter().take(PFS_INTERVAL.min(file.pages - base) as usize);
                    bytes
                        .zip(base..)
                        .filter(|(b, _)| **b & PFS_IAM != 0)
                        .map(|(_, page)| page)
                        .collect()
                };
                for number in iams {
                    let at = PageId::new(file.spec.id, number);
                    let page = self.read(at)?;
                    let first = page.page_type() == Some(PageType::Iam) && page.prev().is_none();
                    let unit = page.unit();
                    drop(page);
                    if first && !more(unit, at) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn iam_chain(
        &self,
        unit: UnitId,
        first: PageId,
    ) -> Result<Vec<(Iam, Vec<ExtentRun>)>, PageError> {
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
}
