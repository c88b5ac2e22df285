//! Pages that the device refuses to write: what a round of writing met of them, and the attempts to
//! write them later.
//!
//! Guarantee: a refused write leaves its page dirty and takes nothing offline; what may have been
//! lost with it (a failed sync, a disk that is gone) still does.

use crate::dwb::{StuckPage, may_go_on};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, PAGE_SIZE, PageId};
use crate::page::{checksum_of, id_in, sum_in};
use crate::store::Store;
use disk::{AlignedBuf, DiskError, Op};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A round that has met so many refused pages stops: the device takes none, and each attempt may
/// last.
const MANY: usize = 16;
/// Pages of a batch or of a retry that are tried one by one in vain before the others are given up
/// too.
const TRIES: usize = 8;
/// Between attempts that are made because somebody needs a frame.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether a write to a home was refused without harm to anything but its own bytes. A sync that
/// fails is another matter: the system may have forgotten what it had not written yet.
pub(super) fn is_refusal(cause: &DiskError) -> bool {
    match cause {
        DiskError::Io { op, .. }
        | DiskError::NoSpace { op, .. }
        | DiskError::FileLimit { op, .. } => *op == Op::Write,
        _ => false,
    }
}

/// What a round of writing could not write.
#[derive(Debug, Default)]
pub(super) struct RefusedPage(Mutex<Option<(PageId, usize, DiskError)>>);

impl RefusedPage {
    pub fn note(&self, page: PageId, pages: usize, cause: DiskError) {
        let mut first = self.0.lock();
        match &mut *first {
            Some((_, all, _)) => *all += pages,
            none => *none = Some((page, pages, cause)),
        }
    }

    /// Whether there is no point in going on.
    pub fn is_hopeless(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|(_, pages, _)| *pages >= MANY)
    }

    pub fn error(&self) -> Option<PageError> {
        let first = self.0.lock().clone();
        first.map(|(page, pages, cause)| PageError::Unwritten { page, pages, cause })
    }
}

/// Writes one page to its home.
fn write_home(home: &DataFile, page: PageId, image: &[u8]) -> Result<(), DiskError> {
    home.file.write_gather(u64::from(page.page) * PAGE_SIZE as u64, &[image])
}

/// Pages that were written in one request with others, which failed: each by itself. Returns the
/// places in the list of those that are still refused.
///
/// # Errors
/// A failure that is more than a refusal.
pub(super) fn write_singly(
    list: &[(&DataFile, PageId, &[u8])],
    first: &DiskError,
) -> Result<Vec<(usize, DiskError)>, DiskError> {
    let mut refused: Vec<(usize, DiskError)> = Vec::new();
    for (i, (home, page, image)) in list.iter().enumerate() {
        if refused.len() >= TRIES {
            refused.push((i, first.clone()));
            continue;
        }
        match write_home(home, *page, image) {
            Ok(()) => {}
            Err(cause) if is_refusal(&cause) => refused.push((i, cause)),
            Err(cause) => return Err(cause),
        }
    }
    Ok(refused)
}

impl Store {
    /// Tries to write the pages again whose homes could not be written.
    ///
    /// # Errors
    /// More than a refusal, which has taken the store offline.
    pub(super) fn write_stuck(&self) -> Result<(), PageError> {
        let mut turn = self.dwb().stuck_turn.lock();
        *turn = Some(Instant::now());
        self.write_stuck_in_turn()
    }

    /// The same for somebody who needs a frame and found only stuck pages: not again and again, as
    /// each attempt may last.
    ///
    /// # Errors
    /// As [`write_stuck`](Self::write_stuck); and [`PageError::Unwritten`] when that was in vain.
    pub(super) fn write_stuck_for_frames(&self) -> Result<(), PageError> {
        if self.dwb().stuck_error().is_none() {
            return Ok(());
        }
        let Some(mut turn) = self.dwb().stuck_turn.try_lock() else { return Ok(()) };
        if turn.is_some_and(|last| last.elapsed() < PAUSE) {
            return Ok(());
        }
        self.write_stuck_in_turn()?;
        *turn = Some(Instant::now());
        self.dwb().stuck_error().map_or(Ok(()), Err)
    }

    fn write_stuck_in_turn(&self) -> Result<(), PageError> {
        let primary = self.file(PageId::new(1, 0))?;
        let mut tries = 0;
        for stuck in self.dwb().stuck() {
            let StuckPage { page, home, rec_lsn, .. } = &stuck.of;
            if self.is_home(*page, home) {
                match self.image_in_area(&primary, stuck.slot, *page) {
                    Ok(Some(image)) => match write_home(home, *page, &image) {
                        Ok(()) => home.written(*rec_lsn),
                        Err(cause) if is_refusal(&cause) => {
                            tries += 1;
                            if tries >= TRIES {
                                break;
                            }
                            continue;
                        }
                        Err(cause) => {
                            let e = PageError::from(cause);
                            self.fail(&e);
                            return Err(e);
                        }
                    },
                    // The area has rotted. The page is dirty: it is written in the ordinary way,
                    // with a new image.
                    Ok(None) => {}
                    Err(_) => continue,
                }
            }
            self.dwb().unstuck(*page);
        }
        Ok(())
    }

    /// Whether the page still has its place in that file.
    fn is_home(&self, page: PageId, home: &Arc<DataFile>) -> bool {
        let there = self.file(page).is_ok_and(|file| Arc::ptr_eq(&file, home));
        there && page.page < home.pages()
    }

    fn image_in_area(
        &self,
        primary: &DataFile,
        slot: usize,
        page: PageId,
    ) -> Result<Option<AlignedBuf>, PageError> {
        let mut image = AlignedBuf::new(PAGE_SIZE);
        primary.read_raw(DWB_DIRECTORY + slot as u32, &mut image)?;
        let whole =
            |image: &[u8; PAGE_SIZE]| sum_in(image) == checksum_of(image) && id_in(image) == page;
        let good = image.as_chunks().0.first().is_some_and(whole);
        Ok(good.then_some(image))
    }

    /// Whether a failed write of the area or of the page that names borrowed extents leaves the
    /// store as it was.
    pub(crate) fn goes_on_after(&self, e: &PageError) -> bool {
        match e {
            PageError::Unwritten { .. } => true,
            PageError::Disk(cause) => {
                self.file(PageId::new(1, 0)).is_ok_and(|primary| may_go_on(&primary, cause))
            }
            _ => false,
        }
    }
}
