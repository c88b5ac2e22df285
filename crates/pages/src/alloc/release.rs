//! Extents that a unit no longer needs go back to their file: those behind a bar whose pages are all free.
//!
//! Guarantee: an extent is given back only while every page of it is in the unit's list of free pages, from which it is
//! taken first; so nobody has one of them set aside. One system record frees extents of one IAM page, one takes an IAM
//! page out of its chain. The IAM page that is the unit's name stays.

use super::unit::{Iam, Unit};
use crate::error::PageError;
use crate::id::{EXTENT_PAGES, ExtentId, GAM_EXTENTS, PFS_INTERVAL, PageId};
use crate::store::Store;
use std::collections::{HashMap, HashSet};

impl Store {
    /// Gives the extents of the unit back that lie behind the bar of this file and have no page in use; an IAM page goes
    /// when the last extent that it lists is its own. Returns how many extents of the unit are left behind the bar.
    /// Nobody may be freeing the unit.
    ///
    /// # Errors
    /// Log and I/O.
    pub fn release_barred(&self, unit: &Unit, file: u16) -> Result<usize, PageError> {
        let _turn = unit.0.turn.lock();
        if !unit.0.state.lock().loaded {
            self.load_pages(unit)?;
        }
        // As in `free_unit`: the bitmap must not be built between a record and what it frees.
        drop(self.space(&*self.file(PageId::new(file, 0))?)?);
        let iams = unit.0.state.lock().iams.clone();
        for (at, iam) in iams.iter().enumerate().rev().filter(|(_, iam)| iam.file == file) {
            let same = |a: &u32, b: &u32| a * EXTENT_PAGES / PFS_INTERVAL == b * EXTENT_PAGES / PFS_INTERVAL;
            let idle = self.take_idle(unit, *iam);
            let mut rest = idle.as_slice();
            for group in idle.chunk_by(same) {
                if let Err(e) = self.free_extents(*iam, group) {
                    put_back(unit, rest.iter().map(|&extent| ExtentId { file, extent }), 0);
                    return Err(e);
                }
                rest = &rest[group.len()..];
            }
            if iam.page != unit.first_iam() && self.take_last(unit, *iam) {
                // What was behind it when the loop began may be gone.
                let chain = unit.iam_pages();
                let prev = at.checked_sub(1).map(|at| iams[at].page);
                let next = chain.iter().skip_while(|page| **page != iam.page).nth(1).copied();
                if let Err(e) = self.free_iam(*iam, prev, next) {
                    put_back(unit, std::iter::once(iam.page.extent()), 1);
                    return Err(e);
                }
                unit.0.state.lock().iams.retain(|other| other.page != iam.page);
            }
        }
        let state = unit.0.state.lock();
        Ok(state.extents.iter().filter(|e| e.file == file && self.is_barred(e.first_page())).count())
    }

    /// Takes the extents of an IAM page out of the unit whose pages are all free, its own left out; ascending.
    fn take_idle(&self, unit: &Unit, iam: Iam) -> Vec<u32> {
        let mut state = unit.0.state.lock();
        let mut free: HashMap<ExtentId, u32> = HashMap::new();
        for page in &state.free {
            *free.entry(page.extent()).or_default() += 1;
        }
        let listed = |e: &ExtentId| e.file == iam.file && e.extent / GAM_EXTENTS == iam.interval;
        let idle = |e: &ExtentId| {
            listed(e)
                && *e != iam.page.extent()
                && self.is_barred(e.first_page())
                && free.get(e) == Some(&EXTENT_PAGES)
        };
        let gone: HashSet<ExtentId> = state.extents.iter().copied().filter(idle).collect();
        state.extents.retain(|e| !gone.contains(e));
        state.free.retain(|page| !gone.contains(&page.extent()));
        let mut list: Vec<u32> = gone.into_iter().map(|e| e.extent).collect();
        list.sort_unstable();
        list
    }

    /// Takes the extent of an IAM page out of the unit if it is the last one that the page lists, all else of it is
    /// free, and it is barred.
    fn take_last(&self, unit: &Unit, iam: Iam) -> bool {
        let mut state = unit.0.state.lock();
        let own = iam.page.extent();
        let others = state
            .extents
            .iter()
            .any(|e| *e != own && e.file == iam.file && e.extent / GAM_EXTENTS == iam.interval);
        let idle = state.free.iter().filter(|page| page.extent() == own).count() as u32;
        if others || idle != EXTENT_PAGES - 1 || !self.is_barred(iam.page) {
            return false;
        }
        state.extents.retain(|e| *e != own);
        state.free.retain(|page| page.extent() != own);
        true
    }
}

/// The record that was to free these extents could not be written. `skip`: their pages that are no free ones.
fn put_back(unit: &Unit, extents: impl Iterator<Item = ExtentId>, skip: usize) {
    let mut state = unit.0.state.lock();
    for extent in extents {
        state.extents.push(extent);
        state.free.extend(extent.pages().skip(skip));
    }
}
