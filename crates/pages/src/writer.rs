//! Writing dirty pages: copies under a shared latch, log first, doublewrite, then the homes of a
//! batch in flight together, on all files and devices. A checkpoint has several batches on their
//! way at a time.

mod batch;
mod unwritten;

use crate::dwb::{BATCH_IMAGES, BatchPurpose};
use crate::error::PageError;
use crate::id::{DWB_PAGES, PageId};
use crate::lists::{InTurn, Lists};
use crate::pool::{DIRTY, PoolInner, WRITING, key_page, key_store};
use crate::store::Store;
use crate::store::alloc::LEAST_RUNS;
use crate::sync::{died, sync_all};
use disk::AlignedBuf;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use unwritten::RefusedPage;
use wal::Lsn;

/// Most pages of one batch; fewer when they go through the doublewrite area.
const BATCH: usize = DWB_PAGES as usize;
/// Threads of a checkpoint, each with a batch on its way: while one is copied and waits for the
/// log, the area and the homes of the others are written.
const WRITERS: usize = 3;
/// Of one that has borrowed extents, which has a run for each: the homes of one batch are put in
/// flight after those of the other, and the images of two more are copied and written before their
/// turn comes.
const BORROWING_WRITERS: usize = 4;
const _: () = assert!(BORROWING_WRITERS <= LEAST_RUNS);

/// What batches a list of frames is written in.
#[derive(Clone, Copy)]
struct Batches<'a> {
    purpose: BatchPurpose,
    /// Most images that go to the doublewrite area.
    images: usize,
    /// When the homes of the list's batch may be put in flight; `None`: at once.
    turn: Option<&'a dyn InTurn>,
    /// What the device refuses to write.
    refused: &'a RefusedPage,
}

impl<'a> Batches<'a> {
    fn of(purpose: BatchPurpose, images: usize, refused: &'a RefusedPage) -> Batches<'a> {
        Batches { purpose, images, turn: None, refused }
    }

    /// Most pages of one batch.
    fn pages(self) -> usize {
        if self.purpose == BatchPurpose::Borrower { self.images } else { BATCH }
    }
}

/// A frame and the key of its page.
type FramePlace = (u32, u64);

/// What [`Store::write_dirty`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    pub pages: u64,
}

impl Store {
    /// Writes all pages with changes older than `up_to`, in order of place, and makes them durable.
    /// Pages may be read and changed meanwhile.
    ///
    /// # Errors
    /// [`PageError::Unwritten`] when the device refuses some pages: they stay dirty, all others are
    /// written and durable, and the store goes on. A failed sync takes it offline.
    pub fn write_dirty(&self, up_to: Lsn) -> Result<WriteReport, PageError> {
        self.check_online()?;
        self.write_stuck()?;
        let refused = RefusedPage::default();
        let dirty = self.dirty_frames(up_to);
        let Some(loan) = self.lend_extents(dirty.len())? else {
            return self.write_frames_of(
                dirty,
                up_to,
                Batches::of(BatchPurpose::Checkpoint, BATCH_IMAGES, &refused),
            );
        };
        let result = self.write_frames_of(
            dirty,
            up_to,
            Batches::of(BatchPurpose::Borrower, loan.images, &refused),
        );
        if result.is_err() {
            if self.check_online().is_err() {
                // Opening the database again repairs what is torn from the borrowed extents, and
                // ends the loan.
                return result;
            }
            // What was written before the error.
            self.sync_files()?;
        }
        self.end_loan(loan)?;
        result
    }

    /// Writes the frames, sorted by place, and makes them durable.
    fn write_frames_of(
        &self,
        dirty: Vec<FramePlace>,
        up_to: Lsn,
        batches: Batches<'_>,
    ) -> Result<WriteReport, PageError> {
        let mut pages = 0;
        let mut todo = interleave(dirty, &self.devices(), batches.images);
        while !todo.is_empty() && !batches.refused.is_hopeless() {
            let (written, later) = self.write_all(&todo, batches)?;
            pages += written;
            // Pages that were latched: one by one, so that nothing else is marked as in writing
            // while this waits.
            let stubborn = later.len() <= BATCH;
            if stubborn && !later.is_empty() {
                let mut staging = self.take_staging(1);
                for one in &later {
                    pages += self.write_one(*one, batches.refused, &mut staging)?;
                }
                self.give_staging(staging);
            }
            todo = if stubborn { Vec::new() } else { later };
        }
        while self.older_in_writing(up_to) {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.sync_files()?;
        self.dwb().end_holds().inspect_err(|e| self.fail(e))?;
        self.inner().counters.checkpoint_pages.fetch_add(pages as u64, Ordering::Relaxed);
        match batches.refused.error().or_else(|| self.dwb().stuck_error()) {
            Some(unwritten) => Err(unwritten),
            None => Ok(WriteReport { pages: pages as u64 }),
        }
    }

    /// Writes the frames; those that were latched come back with the number of written ones.
    fn write_all(
        &self,
        todo: &[FramePlace],
        batches: Batches<'_>,
    ) -> Result<(usize, Vec<FramePlace>), PageError> {
        let borrows = batches.purpose == BatchPurpose::Borrower;
        // Full batches: a list's last one would be small otherwise.
        let lists = Lists::new(todo, batches.pages() / batches.images * batches.images, borrows);
        let write = |staging: &mut AlignedBuf| {
            let (mut written, mut later) = (0, Vec::new());
            loop {
                let Some((list, turn)) = lists.next() else { return Ok((written, later)) };
                let batches = Batches { turn: if borrows { Some(&turn) } else { None }, ..batches };
                match self.write_list(list, batches, staging, &mut later) {
                    Ok(pages) => {
                        written += pages;
                        if batches.refused.is_hopeless() {
                            lists.stop();
                        }
                    }
                    Err(e) => {
                        lists.stop();
                        return Err(e);
                    }
                }
            }
        };
        let run = || {
            let mut staging = self.take_staging(batches.pages());
            let result = write(&mut staging);
            self.give_staging(staging);
            result
        };
        let threads = if borrows {
            todo.len().div_ceil(batches.images).min(BORROWING_WRITERS)
        } else {
            todo.len().div_ceil(2 * batches.images).min(WRITERS)
        };
        std::thread::scope(|scope| {
            let named = || std::thread::Builder::new().name("page-writer".into());
            // Where no thread is to be had, there are fewer batches on their way.
            let others: Vec<_> =
                (1..threads).map_while(|_| named().spawn_scoped(scope, run).ok()).collect();
            let mut result = run();
            for other in others {
                let other = other.join().unwrap_or_else(|_| Err(died()));
                result = result.and_then(|(written, mut later)| {
                    let (more, latched) = other?;
                    later.extend(latched);
                    Ok((written + more, later))
                });
            }
            let (written, mut later) = result?;
            later.sort_unstable_by_key(|&(_, key)| key);
            Ok((written, later))
        })
    }

    /// Writes one frame, waiting for its latch and for the end of a write that is under way.
    fn write_one(
        &self,
        at: FramePlace,
        refused: &RefusedPage,
        staging: &mut AlignedBuf,
    ) -> Result<usize, PageError> {
        loop {
            let mut again = Vec::new();
            let alone = Batches::of(BatchPurpose::Checkpoint, 1, refused);
            let (written, _) = self.write_batch(&[at], alone, true, staging, &mut again)?;
            if again.is_empty() {
                return Ok(written);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The oldest record whose effect may be missing in the files: redo has to begin there. `None`:
    /// nothing is missing.
    #[must_use]
    pub fn min_rec_lsn(&self) -> Option<Lsn> {
        let mut min: Option<Lsn> = None;
        let mut note = |lsn: Option<Lsn>| {
            if let Some(lsn) = lsn {
                min = Some(min.map_or(lsn, |m| m.min(lsn)));
            }
        };
        // Frames first, files second: a writer reports to the file before it clears the frame.
        self.each_frame(|_, rec, writing| {
            note(rec);
            note(writing);
        });
        for file in self.all_files() {
            note(file.unsynced());
        }
        note(self.dwb().hold());
        note(self.lost());
        min
    }

    /// Takes the store out of use for good: when this returns no page of it is on its way to the
    /// files, and none will be.
    pub fn abandon(&self, cause: &str) {
        self.fail(&PageError::Offline { cause: cause.into() });
        // With the fence in `write_items`: a writer sees the store offline, or is seen writing
        // here.
        fence(Ordering::SeqCst);
        loop {
            let mut writing = false;
            self.each_frame(|_, _, at| writing |= at.is_some());
            if !writing {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Number of pages that are changed and not written. Once the store is offline the pool may
    /// have forgotten some.
    #[must_use]
    pub fn dirty_pages(&self) -> usize {
        let mut n = 0;
        self.each_frame(|_, _, _| n += 1);
        n
    }

    pub(crate) fn sync_files(&self) -> Result<(), PageError> {
        let files = self.all_files();
        let result = sync_all(&files);
        if let Err(e) = &result {
            // What a failed sync leaves behind is unknown: nothing may be trusted to be on disk any
            // more.
            self.fail(e);
        }
        result
    }

    fn each_frame(&self, mut f: impl FnMut(FramePlace, Option<Lsn>, Option<Lsn>)) {
        let pool = self.inner();
        for i in pool.frames.used() {
            let frame = pool.frames.get(i);
            if !frame.has(DIRTY | WRITING) {
                continue;
            }
            let key = frame.key.load(Ordering::Acquire);
            if key_store(key) != self.number() {
                continue;
            }
            let state = frame.state.lock();
            let (rec, writing) = (state.rec_lsn, state.writing);
            drop(state);
            f((i, key), rec, writing);
        }
    }

    /// The device of each file.
    fn devices(&self) -> HashMap<u16, u64> {
        self.all_files().iter().map(|file| (file.spec.id, file.file.device())).collect()
    }

    /// The keys of all pages that are changed or being written.
    pub(crate) fn each_dirty(&self, mut f: impl FnMut(u64)) {
        self.each_frame(|(_, key), _, _| f(key));
    }

    fn dirty_frames(&self, up_to: Lsn) -> Vec<FramePlace> {
        let mut list = Vec::new();
        self.each_frame(|at, rec, _| {
            if rec.is_some_and(|lsn| lsn < up_to) {
                list.push(at);
            }
        });
        list.sort_unstable_by_key(|&(_, key)| key);
        list
    }

    fn older_in_writing(&self, up_to: Lsn) -> bool {
        let mut any = false;
        self.each_frame(|_, _, writing| any |= writing.is_some_and(|lsn| lsn < up_to));
        any && self.check_online().is_ok()
    }
}

/// Orders frames so that every batch has work for every device. On one device it goes file by file,
/// each file's pages ascending: many files are then written in pieces as large as one.
fn interleave(
    sorted: Vec<FramePlace>,
    devices: &HashMap<u16, u64>,
    batch: usize,
) -> Vec<FramePlace> {
    let mut by_device: BTreeMap<u64, Vec<FramePlace>> = BTreeMap::new();
    for pages in sorted.chunk_by(|a, b| key_page(a.1).file == key_page(b.1).file) {
        let device = devices.get(&key_page(pages[0].1).file).copied().unwrap_or(0);
        by_device.entry(device).or_default().extend_from_slice(pages);
    }
    if by_device.len() < 2 {
        return sorted;
    }
    let share = (batch / by_device.len()).max(1);
    let mut rest: Vec<&[FramePlace]> = by_device.values().map(Vec::as_slice).collect();
    let mut out = Vec::with_capacity(sorted.len());
    while !rest.is_empty() {
        for pages in &mut rest {
            let (now, later) = pages.split_at(share.min(pages.len()));
            out.extend_from_slice(now);
            *pages = later;
        }
        rest.retain(|pages| !pages.is_empty());
    }
    out
}

impl crate::pool::PageIo for Store {
    fn read_page(&self, id: PageId, into: &mut crate::page::Page) -> Result<(), PageError> {
        self.check_online()?;
        let file = self.file(id)?;
        file.read_raw(id.page, into.bytes_mut())?;
        file.verify(id.page, into.bytes())?;
        into.adopt_map(id);
        Ok(())
    }

    fn is_offline(&self) -> bool {
        self.check_online().is_err()
    }

    fn note_lost(&self, from: Lsn) {
        self.note_forgotten(from);
    }

    fn write_frames(&self, _pool: &PoolInner, frames: &[FramePlace]) -> Result<usize, PageError> {
        self.check_online()?;
        // Latched pages are in use and no candidates for eviction anyway.
        let refused = RefusedPage::default();
        let batches = Batches::of(BatchPurpose::Eviction, BATCH_IMAGES, &refused);
        let mut staging = self.take_staging(batches.pages());
        let result = self.write_list(frames, batches, &mut staging, &mut Vec::new());
        self.give_staging(staging);
        match (result?, refused.error()) {
            (0, Some(unwritten)) => Err(unwritten),
            (0, None) => self.write_stuck_for_frames().map(|()| 0),
            (written, _) => Ok(written),
        }
    }
}
