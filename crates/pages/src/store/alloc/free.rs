//! Units, extents and IAM pages are freed.
//!
//! Guarantees: one system record frees extents of one PFS interval, or one IAM page with its
//! extent; the IAM page that is the unit's name goes last, so a crash leaves what the next call
//! needs to go on. One thread frees units at a time. A unit stays on the list of units to be freed
//! until it has been freed, so an allocation waits for its extents and does not grow a file
//! meanwhile.

use super::unit::Iam;
use super::{ExtentRun, PFS_ALLOCATED, PFS_IAM};
use crate::error::PageError;
use crate::id::{EXTENT_PAGES, ExtentId, PFS_INTERVAL, PageId, UnitId};
use crate::op::Link;
use crate::page::PageType;
use crate::pool::PageMut;
use crate::record::RecordBuilder;
use crate::store::Store;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Units that are not used any more and that the background is to free: an allocation that finds no
/// space frees them first.
#[derive(Default)]
pub(super) struct Doomed {
    /// With the one that is being freed at the moment.
    units: Mutex<BTreeMap<UnitId, PageId>>,
    /// Held by the thread that frees a unit.
    turn: Mutex<()>,
    /// How many want no unit to be freed by allocation now.
    paused: AtomicUsize,
}

/// Until this is dropped no allocation frees units.
#[derive(Debug)]
pub struct FreeingPaused<'a>(&'a AtomicUsize);

impl Drop for FreeingPaused<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Store {
    /// Nobody uses the unit any more and it will be freed: an allocation that finds no room may do
    /// it at once.
    pub fn doom_unit(&self, unit: UnitId, first_iam: PageId) {
        self.alloc.doomed.units.lock().insert(unit, first_iam);
    }

    /// Keeps allocations from freeing units; waits for one that is doing it.
    #[must_use]
    pub fn pause_freeing(&self) -> FreeingPaused<'_> {
        let doomed = &self.alloc.doomed;
        doomed.paused.fetch_add(1, Ordering::SeqCst);
        drop(doomed.turn.lock());
        FreeingPaused(&doomed.paused)
    }

    /// Frees a unit of the filegroup that is to be freed, or waits until another thread has. False:
    /// there is none. The caller may hold latches of pages, but of no allocation map.
    pub(super) fn free_doomed(&self, filegroup: u16) -> Result<bool, PageError> {
        let doomed = &self.alloc.doomed;
        let next_here = || {
            let here = |at: &PageId| self.file(*at).is_ok_and(|file| file.filegroup() == filegroup);
            let units = doomed.units.lock();
            units.iter().find(|(_, first_iam)| here(first_iam)).map(|(unit, at)| (*unit, *at))
        };
        if next_here().is_none() {
            return Ok(false);
        }
        let _turn = doomed.turn.lock();
        if doomed.paused.load(Ordering::SeqCst) > 0 {
            return Ok(false);
        }
        match next_here().map(|(unit, first_iam)| self.free_listed(unit, first_iam)) {
            Some(Err(e @ PageError::Offline { .. })) => Err(e),
            // The background tries it again, and reports what is wrong.
            Some(Err(_)) => Ok(false),
            Some(Ok(())) | None => Ok(true),
        }
    }

    /// Frees all extents of a unit. May be called again after a crash, also when the unit is gone
    /// already; nobody may use the unit any more.
    ///
    /// # Errors
    /// Log and I/O; the rest of the unit is then freed by the next call.
    pub fn free_unit(&self, unit: UnitId, first_iam: PageId) -> Result<(), PageError> {
        let _turn = self.alloc.doomed.turn.lock();
        self.doom_unit(unit, first_iam);
        self.free_listed(unit, first_iam)
    }

    /// Frees a unit that is on the list and takes it off, also if that has failed. The caller has
    /// the turn.
    fn free_listed(&self, unit: UnitId, first_iam: PageId) -> Result<(), PageError> {
        let freed = self.free_now(unit, first_iam);
        self.alloc.doomed.units.lock().remove(&unit);
        freed
    }

    fn free_now(&self, unit: UnitId, first_iam: PageId) -> Result<(), PageError> {
        self.alloc.units.lock().remove(unit);
        // Freed before, and then its file was cut or given up: there may be no map page that says
        // so.
        if !self.file(first_iam).is_ok_and(|file| first_iam.page < file.pages()) {
            return Ok(());
        }
        let byte = self.pfs_byte(first_iam)?;
        if byte & (PFS_ALLOCATED | PFS_IAM) != PFS_ALLOCATED | PFS_IAM {
            return Ok(());
        }
        {
            // Numbers are not reused while a unit is to be freed: another number means that the
            // extent has a new owner.
            let page = self.read(first_iam)?;
            if page.page_type() != Some(PageType::Iam) || page.unit() != unit {
                return Ok(());
            }
        }
        let mut chain = self.iam_chain(unit, self.chain_head(unit, first_iam)?)?;
        // Before the maps change: a thread that builds the bitmap of free extents between the
        // record and `put_extents` would take the extents from the map, give them away, and have
        // them put back as free while they are in use.
        for (iam, _) in &chain {
            drop(self.space(&*self.file(iam.page)?)?);
        }
        // The name goes last, so that a crash leaves it.
        while let Some(at) =
            chain.iter().rposition(|(i, _)| i.page != first_iam).or(chain.len().checked_sub(1))
        {
            let (iam, runs) = chain.remove(at);
            let own = iam.page.extent().extent;
            let others = runs.iter().flat_map(|r| r.extents()).filter(|e| e.extent != own);
            let others: Vec<u32> = others.map(|e| e.extent).collect();
            let same = |a: &u32, b: &u32| {
                a * EXTENT_PAGES / PFS_INTERVAL == b * EXTENT_PAGES / PFS_INTERVAL
            };
            for group in others.chunk_by(same) {
                self.free_extents(iam, group)?;
            }
            let prev = at.checked_sub(1).and_then(|at| chain.get(at));
            self.free_iam(iam, prev.map(|(i, _)| i.page), chain.get(at).map(|(i, _)| i.page))?;
        }
        // The files' shares were calculated without this space.
        self.forget_fill(self.file(first_iam)?.filegroup());
        Ok(())
    }

    /// One system record that frees extents of one PFS interval.
    pub(super) fn free_extents(&self, iam: Iam, extents: &[u32]) -> Result<(), PageError> {
        let mut runs: Vec<ExtentRun> = Vec::new();
        for &first in extents {
            match runs.last_mut() {
                Some(run) if run.first + run.count == first => run.count += 1,
                _ => runs.push(ExtentRun { file: iam.file, first, count: 1 }),
            }
        }
        let Some(run) = runs.first() else { return Ok(()) };
        let first_page = (ExtentId { file: run.file, extent: run.first }).first_page();
        let mut pfs = self.write(first_page.pfs_page())?;
        let mut map = self.write(iam.page)?;
        let mut gam = self.write(first_page.gam_page())?;
        let mut rec = RecordBuilder::new();
        rec.system();
        rec.page(pfs.page_id());
        for run in &runs {
            rec.set_bits(
                run.first * EXTENT_PAGES % PFS_INTERVAL * 8,
                run.count * EXTENT_PAGES * 8,
                false,
            )?;
        }
        for page in [map.page_id(), gam.page_id()] {
            rec.page(page);
            for run in &runs {
                rec.set_bits(run.bit(), run.count, false)?;
            }
        }
        self.change(&mut self.system(), &mut rec, &mut [&mut pfs, &mut map, &mut gam])?;
        drop((pfs, map, gam));
        for run in runs {
            self.put_extents(run);
        }
        Ok(())
    }

    /// One system record that frees the extent of an IAM page and takes the page out of the chain.
    pub(super) fn free_iam(
        &self,
        iam: Iam,
        prev: Option<PageId>,
        next: Option<PageId>,
    ) -> Result<(), PageError> {
        let extent = iam.page.extent();
        let run = ExtentRun { file: iam.file, first: extent.extent, count: 1 };
        let mut pages: SmallVec<[PageMut<'_>; 4]> = SmallVec::new();
        let mut rec = RecordBuilder::new();
        rec.system();
        pages.push(self.write(iam.page.pfs_page())?);
        rec.page(iam.page.pfs_page());
        rec.set_bits(iam.page.page % PFS_INTERVAL * 8, EXTENT_PAGES * 8, false)?;
        if let Some(prev) = prev {
            pages.push(self.write(prev)?);
            rec.page(prev);
            rec.set_link(Link::Next, next.unwrap_or(PageId::NONE))?;
        }
        if let Some(next) = next {
            pages.push(self.write(next)?);
            rec.page(next);
            rec.set_link(Link::Prev, prev.unwrap_or(PageId::NONE))?;
        }
        pages.push(self.write(iam.page.gam_page())?);
        rec.page(iam.page.gam_page());
        rec.set_bits(run.bit(), 1, false)?;
        let mut refs: SmallVec<[&mut PageMut<'_>; 4]> = pages.iter_mut().collect();
        self.change(&mut self.system(), &mut rec, &mut refs)?;
        drop(refs);
        drop(pages);
        self.put_extents(run);
        Ok(())
    }
}
