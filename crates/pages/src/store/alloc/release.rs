//! Extents that a unit no longer needs go back to their file: those whose pages are all free.
//!
//! Guarantee: an extent is given back only while every page of it is in the unit's list of free
//! pages, from which it is taken first; so nobody has one of them set aside. One system record
//! frees extents of one IAM page, one takes an IAM page out of its chain. The IAM page that is the
//! unit's name stays, and the extent that it lies in.

use super::unit::{Iam, LARGE_UNIT, Unit};
use crate::error::PageError;
use crate::id::{EXTENT_PAGES, ExtentId, GAM_EXTENTS, PFS_INTERVAL};
use crate::store::Store;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

/// A look at a unit's extents costs as much as the unit is large: for a large one it waits until
/// pages in at least one of so many extents were freed.
const LOOK_SHARE: usize = 4096;

/// Which extents are given back if they are free.
type WantedExtents<'a> = &'a dyn Fn(&ExtentId) -> bool;

impl Unit {
    /// Whether pages were freed since its extents were last looked at.
    #[must_use]
    pub fn may_release(&self) -> bool {
        self.0.may_release.load(Ordering::Acquire)
    }
}

impl Store {
    /// Gives the extents of the unit back that lie past the bar of this file and have no page in
    /// use; an IAM page goes when the last extent that it lists is its own. Returns how many
    /// extents of the unit are left behind the bar. Nobody may be freeing the unit.
    ///
    /// # Errors
    /// Log and I/O.
    pub fn release_barred(&self, unit: &Unit, file: u16) -> Result<usize, PageError> {
        let _turn = unit.0.turn.lock();
        if !unit.0.state.lock().loaded {
            self.load_pages(unit)?;
        }
        let barred = |e: &ExtentId| e.file == file && self.is_barred(e.first_page());
        self.release(unit, &barred)?;
        let state = unit.0.state.lock();
        Ok(state.extents.iter().filter(|e| barred(e)).count())
    }

    /// Gives the extents of the unit back that have no page in use, wherever they lie; returns how
    /// many. `all`: also those that were taken ahead of need, and whatever it costs; else extents
    /// in which pages were freed, and when they are few for the size of the unit not now. Nobody
    /// may be freeing the unit, and no work on the unit's name may be under way.
    ///
    /// # Errors
    /// Log and I/O.
    pub fn release_idle(&self, unit: &Unit, all: bool) -> Result<u64, PageError> {
        let _turn = unit.0.turn.lock();
        let (loaded, touched) = {
            let state = unit.0.state.lock();
            (state.loaded, !state.touched.is_empty())
        };
        if !all && !touched {
            return Ok(0);
        }
        if !loaded {
            self.load_pages(unit)?;
        }
        let (touched, before) = {
            let mut state = unit.0.state.lock();
            if !all && state.touched.len() < state.extents.len() / LOOK_SHARE {
                return Ok(0);
            }
            unit.0.may_release.store(false, Ordering::Release);
            (std::mem::take(&mut state.touched), state.extents.len())
        };
        let mut released = self.release(unit, &|e: &ExtentId| all || touched.contains(e));
        // A unit that has become small takes its extents one by one again, and keeps none that it
        // does not use.
        let small = !all && unit.extent_count() <= LARGE_UNIT;
        if small && released.is_ok() {
            released = self.release(unit, &|_| true);
        }
        if released.is_err() {
            unit.0.state.lock().touched.extend(touched);
            unit.0.may_release.store(true, Ordering::Release);
        }
        released?;
        let after = unit.0.state.lock().extents.len();
        if after < before {
            // The files' shares were calculated without this space.
            self.forget_fill(unit.filegroup());
        }
        Ok(before.saturating_sub(after) as u64)
    }

    /// The caller holds the unit's turn, and the unit's pages are loaded.
    fn release(&self, unit: &Unit, wanted: WantedExtents<'_>) -> Result<(), PageError> {
        let mut idle = take_idle(unit, wanted);
        let freed = self.free_idle(unit, &mut idle);
        // What a record could not be written for is the unit's again.
        put_back(unit, idle.into_iter(), 0);
        freed?;
        let iams = unit.0.state.lock().iams.clone();
        for (at, iam) in iams.iter().enumerate().rev() {
            let own = iam.page.extent();
            if iam.page == unit.first_iam() || !wanted(&own) || !take_last(unit, *iam) {
                continue;
            }
            // What was after it when the loop began may be gone.
            let chain = unit.iam_pages();
            let prev = at.checked_sub(1).map(|at| iams[at].page);
            let next = chain.iter().skip_while(|page| **page != iam.page).nth(1).copied();
            let known = self.file(iam.page).and_then(|file| self.space(&file).map(drop));
            if let Err(e) = known.and_then(|()| self.free_iam(*iam, prev, next)) {
                put_back(unit, std::iter::once(own), 1);
                return Err(e);
            }
            unit.0.state.lock().iams.retain(|other| other.page != iam.page);
        }
        Ok(())
    }

    /// Frees extents that nobody has any more; after an error those of `idle` that are left were
    /// not freed.
    fn free_idle(&self, unit: &Unit, idle: &mut Vec<ExtentId>) -> Result<(), PageError> {
        let iams = unit.0.state.lock().iams.clone();
        // The extents of one IAM page and one PFS page.
        let group =
            |e: &ExtentId| (e.file, e.extent / GAM_EXTENTS, e.extent * EXTENT_PAGES / PFS_INTERVAL);
        while let Some(last) = idle.last().map(group) {
            let from = idle.iter().rposition(|e| group(e) != last).map_or(0, |at| at + 1);
            let iam = iams.iter().find(|iam| (iam.file, iam.interval) == (last.0, last.1));
            let iam = iam.ok_or_else(|| {
                PageError::corrupt(idle[from].first_page(), "no IAM page lists the extent")
            })?;
            // As in `free_unit`: the bitmap must not be built between a record and what it frees.
            drop(self.space(&*self.file(iam.page)?)?);
            let extents: Vec<u32> = idle[from..].iter().map(|e| e.extent).collect();
            self.free_extents(*iam, &extents)?;
            idle.truncate(from);
        }
        Ok(())
    }
}

/// Takes the wanted extents out of the unit whose pages are all free, those with IAM pages left
/// out; in order.
fn take_idle(unit: &Unit, wanted: WantedExtents<'_>) -> Vec<ExtentId> {
    let mut state = unit.0.state.lock();
    let mut free: HashMap<ExtentId, u32> = HashMap::new();
    for page in &state.free {
        let extent = page.extent();
        if wanted(&extent) {
            *free.entry(extent).or_default() += 1;
        }
    }
    free.retain(|_, pages| *pages == EXTENT_PAGES);
    if free.is_empty() {
        return Vec::new();
    }
    let own: HashSet<ExtentId> = state.iams.iter().map(|iam| iam.page.extent()).collect();
    let idle = |e: &ExtentId| free.contains_key(e) && !own.contains(e);
    let mut gone: Vec<ExtentId> = state.extents.extract_if(.., |e| idle(e)).collect();
    state.free.retain(|page| !idle(&page.extent()));
    unit.0.tell_extents(&state);
    gone.sort_unstable();
    gone
}

/// Takes the extent of an IAM page out of the unit if it is the last one that the page lists and
/// all else of it is free.
fn take_last(unit: &Unit, iam: Iam) -> bool {
    let mut state = unit.0.state.lock();
    let own = iam.page.extent();
    let listed = |e: &ExtentId| e.file == iam.file && e.extent / GAM_EXTENTS == iam.interval;
    let others = state.extents.iter().any(|e| *e != own && listed(e));
    let idle = state.free.iter().filter(|page| page.extent() == own).count() as u32;
    if others || idle != EXTENT_PAGES - 1 {
        return false;
    }
    state.extents.retain(|e| *e != own);
    state.free.retain(|page| page.extent() != own);
    unit.0.tell_extents(&state);
    true
}

/// The record that was to free these extents could not be written. `skip`: their pages that are no
/// free ones.
fn put_back(unit: &Unit, extents: impl Iterator<Item = ExtentId>, skip: usize) {
    let mut state = unit.0.state.lock();
    for extent in extents {
        state.extents.push(extent);
        state.free.extend(extent.pages().skip(skip));
    }
    unit.0.tell_extents(&state);
}
