//! Free extents of file 1 that a large checkpoint borrows for its images.
//!
//! The area's last slot names the borrowed runs; each has one batch at a time, its directory first.
//! Nothing else of a loan is on disk: the allocation maps call the extents free all the time.
//!
//! # Guarantees
//! - A batch of borrowed extents counts from the moment that the last slot names its run until the
//!   slot says that nothing is borrowed, which is when the homes of all such batches are durable.
//!   Only then are the extents given back.
//! - What a run had from an earlier loan has a lower number than the loan, and does not count.

use super::{BatchPlace, BatchStage, Doublewrite, LOAN, LOAN_SLOT, SLOTS, describe, entry};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, PAGE_SIZE};
use std::ops::Range;

/// Runs of a loan, for one batch each: some are on their way to the area or to their homes while
/// the homes of the others become durable.
pub(crate) const LOAN_RUNS: usize = 6;

impl Doublewrite {
    /// Takes runs of pages of file 1 (first page, number) into use for batches of
    /// [`BatchPurpose::Borrower`](super::BatchPurpose::Borrower). The caller holds `borrower`, and
    /// sees to it that nothing else is written there.
    ///
    /// # Errors
    /// A failed write, after which the store must go offline unless [`may_go_on`] says otherwise.
    pub fn lend(&self, primary: &DataFile, runs: &[(u32, u32)]) -> Result<(), PageError> {
        let slots = |&(first, pages): &(u32, u32)| {
            let start = (first - DWB_DIRECTORY) as usize;
            debug_assert!(start >= SLOTS);
            start..start + pages as usize
        };
        let runs: Vec<Range<usize>> = runs.iter().map(slots).collect();
        self.name(primary, &runs)?;
        self.area.lock().lent = runs;
        Ok(())
    }

    /// Ends the loan: the homes of its batches are durable. After an error it may be ended again.
    ///
    /// # Errors
    /// A failed write, after which the store must go offline unless [`may_go_on`] says otherwise.
    pub fn end_loan(&self, primary: &DataFile) -> Result<(), PageError> {
        {
            let mut area = self.area.lock();
            for batch in area.batches.iter_mut().filter(|batch| batch.slots.start >= SLOTS) {
                let open = matches!(batch.stage, BatchStage::Open | BatchStage::Stuck);
                debug_assert!(!open, "the homes of a borrower's batch are not written");
                batch.stage = BatchStage::Over;
                batch.hold = None;
                batch.homes.clear();
            }
        }
        self.name(primary, &[])?;
        let mut area = self.area.lock();
        area.lent.clear();
        area.forget(|batch| batch.slots.start >= SLOTS);
        Ok(())
    }

    fn name(&self, primary: &DataFile, runs: &[Range<usize>]) -> Result<(), PageError> {
        let place = {
            let mut area = self.area.lock();
            area.number += 1;
            BatchPlace { number: area.number, slot: LOAN_SLOT, floor: area.floor() }
        };
        write_loan(primary, &place, runs)
    }
}

/// Makes the page durable that names the borrowed runs.
pub(super) fn write_loan(
    primary: &DataFile,
    place: &BatchPlace,
    runs: &[Range<usize>],
) -> Result<(), PageError> {
    let run = |run: &Range<usize>| {
        let mut start = [0; 6];
        start[..4].copy_from_slice(&(run.start as u32).to_le_bytes());
        entry(start, run.len() as u32)
    };
    let page = describe(place, LOAN, runs.iter().map(run));
    let at = (DWB_DIRECTORY as usize + LOAN_SLOT) * PAGE_SIZE;
    Ok(primary.file.write_durable(at as u64, &[&page])?)
}
