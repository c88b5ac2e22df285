//! Pages for a unit: a free one of its extents, else an extent more; and where a row of some length
//! fits.
//!
//! Guarantee: a page that is given out is given to nobody else until it is kept or dropped.

use super::{Iam, ReservedPage, Unit, UnitSpace, UnitState};
use crate::error::PageError;
use crate::id::{EXTENT_PAGES, ExtentId, GAM_EXTENTS, PFS_INTERVAL, PageId};
use crate::store::Store;
use crate::store::alloc::{
    ExtentRun, LEVEL_FULL, PFS_ALLOCATED, PFS_IAM, PFS_LEVEL, level_with_room,
};
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// From this size on a unit gets several extents at once.
pub(in crate::store::alloc) const LARGE_UNIT: usize = 64;

const LARGE_STEP: u32 = 8;

impl Store {
    /// Sets a page of the unit aside. The caller formats it, names it in `Maps::allocate` of the
    /// same record, and calls [`ReservedPage::keep`]. Must not be called while PFS, IAM or GAM
    /// pages are latched.
    ///
    /// # Errors
    /// [`PageError::FilegroupFull`] (1105); log and I/O.
    pub fn alloc_page(&self, unit: &Unit) -> Result<ReservedPage, PageError> {
        loop {
            if let Some(id) = self.pop_free(unit) {
                return Ok(ReservedPage { unit: unit.clone(), id, kept: false });
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
                    Err(PageError::FilegroupFull { .. }) if self.has_open(&unit.0.state.lock()) => {
                    }
                    done => done?,
                }
            }
        }
    }

    /// Sets a page of the unit aside that lies in this file, in front of its bar; `None` when there
    /// is no room for one.
    ///
    /// # Errors
    /// Log and I/O.
    pub fn alloc_in_front(
        &self,
        unit: &Unit,
        file: u16,
    ) -> Result<Option<ReservedPage>, PageError> {
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
                    return Ok(id.map(|id| ReservedPage { unit: unit.clone(), id, kept: false }));
                }
            }
            let data = self.file(PageId::new(file, 0))?;
            let taken = self.space(&data)?.lock().take(1);
            let Some((first, count)) = taken.filter(|_| self.bar_of(file).is_some()) else {
                taken
                    .into_iter()
                    .for_each(|(first, count)| self.put_extents(ExtentRun { file, first, count }));
                return Ok(None);
            };
            self.give_extents(unit, ExtentRun { file, first, count })?;
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
    pub(in crate::store::alloc) fn load_pages(&self, unit: &Unit) -> Result<(), PageError> {
        // No page can be allocated before this is done, and pages freed meanwhile are in the list
        // already.
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
            // A level that was noted meanwhile is newer. Level 0 is also what index and LOB pages
            // have: they never ask for space.
            if !state.level.contains_key(&page) && !known.contains(&page) {
                state.note_level(page, level);
            }
        }
        state.loaded = true;
        Ok(())
    }

    fn each_pfs_byte(
        &self,
        extents: &[ExtentId],
        mut f: impl FnMut(PageId, u8),
    ) -> Result<(), PageError> {
        let same =
            |a: &ExtentId, b: &ExtentId| a.first_page().pfs_page() == b.first_page().pfs_page();
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
    pub(in crate::store::alloc) fn extend_unit(&self, unit: &Unit) -> Result<(), PageError> {
        let count = unit.extent_count();
        let step = if count > LARGE_UNIT { LARGE_STEP } else { 1 };
        let run = self.take_extents(unit.0.filegroup, step)?;
        self.give_extents(unit, run)
    }

    /// Makes extents that were taken the unit's, which gives them back after an error. The caller
    /// holds the unit's turn.
    fn give_extents(&self, unit: &Unit, run: ExtentRun) -> Result<(), PageError> {
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
        unit.0.tell_extents(&state);
        let skip = usize::from(known.is_none());
        state.free.extend(run.extents().flat_map(ExtentId::pages).skip(skip));
        Ok(())
    }

    /// A heap page that surely has room for `bytes` (content and slot), taken out of the offers
    /// until [`Unit::note_level`] brings it back. The caller checks the page: offers can be out of
    /// date.
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

    /// The pages in use, IAM pages left out, of the unit's extents from number `from` on, at least
    /// one extent and until `out` has `least` of them. Returns the number of the next extent;
    /// `None` at the end.
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
        let mut space =
            UnitSpace { reserved: extents.len() as u64 * u64::from(EXTENT_PAGES), used: 0 };
        self.each_pfs_byte(&extents, |_, byte| space.used += u64::from(byte & PFS_ALLOCATED != 0))?;
        Ok(space)
    }
}
