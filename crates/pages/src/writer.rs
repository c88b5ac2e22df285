//! Writing dirty pages: copies under a shared latch, log first, doublewrite, then the homes of a batch in flight together, on
//! all files and devices. A checkpoint has several batches on their way at a time.

use crate::alloc::LEAST_RUNS;
use crate::dwb::{BATCH_IMAGES, For};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_PAGES, PAGE_SIZE, PageId};
use crate::lists::{InTurn, Lists};
use crate::page::seal_image;
use crate::pool::{DIRTY, FORMATTED, Inner, Mode, WRITING, key_page, key_store};
use crate::store::Store;
use crate::sync::{died, sync_all};
use disk::{AlignedBuf, Data, Request, transfer};
use std::collections::{BTreeMap, HashMap};
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use wal::Lsn;

/// Most pages of one batch; fewer when they go through the doublewrite area.
const BATCH: usize = DWB_PAGES as usize;
/// Pages of one write: 1 MiB.
const RUN: usize = 128;

/// Threads of a checkpoint, each with a batch on its way: while one is copied and waits for the log, the area and the homes
/// of the others are written.
const WRITERS: usize = 3;
/// Of one that has borrowed extents, which has a run for each: the homes of one batch are put in flight after those of the
/// other, and the images of two more are copied and written before their turn comes.
const BORROWING_WRITERS: usize = 4;
const _: () = assert!(BORROWING_WRITERS <= LEAST_RUNS);

/// What batches a list of frames is written in.
#[derive(Clone, Copy)]
struct Batches<'a> {
    whom: For,
    /// Most images that go to the doublewrite area.
    images: usize,
    /// When the homes of the list's batch may be put in flight; `None`: at once.
    turn: Option<&'a dyn InTurn>,
}

impl Batches<'_> {
    fn of(whom: For, images: usize) -> Batches<'static> {
        Batches { whom, images, turn: None }
    }

    /// Most pages of one batch.
    fn pages(self) -> usize {
        if self.whom == For::Borrower { self.images } else { BATCH }
    }
}

/// A frame and the key of its page.
type Place = (u32, u64);

/// A page copied for writing.
struct Item {
    frame: u32,
    id: PageId,
    rec_lsn: Lsn,
    lsn: Lsn,
    formatted: bool,
    /// Its image goes to the doublewrite area first.
    protect: bool,
}

/// What [`Store::write_dirty`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReport {
    pub pages: u64,
}

impl Store {
    /// Writes all pages with changes older than `up_to`, in order of place, and makes them durable. Pages may be read and
    /// changed meanwhile.
    ///
    /// # Errors
    /// A failed write leaves its pages dirty. A failed sync takes the store offline.
    pub fn write_dirty(&self, up_to: Lsn) -> Result<WriteReport, PageError> {
        self.check_online()?;
        let dirty = self.dirty_frames(up_to);
        let Some(loan) = self.lend_extents(dirty.len())? else {
            return self.write_frames_of(dirty, up_to, Batches::of(For::Checkpoint, BATCH_IMAGES));
        };
        let result = self.write_frames_of(dirty, up_to, Batches::of(For::Borrower, loan.images));
        if result.is_err() {
            if self.check_online().is_err() {
                // Opening the database again repairs what is torn from the borrowed extents, and ends the loan.
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
        dirty: Vec<Place>,
        up_to: Lsn,
        batches: Batches<'_>,
    ) -> Result<WriteReport, PageError> {
        let mut pages = 0;
        let mut todo = interleave(dirty, &self.devices(), batches.images);
        while !todo.is_empty() {
            let (written, later) = self.write_all(&todo, batches)?;
            pages += written;
            // Pages that were latched: one by one, so that nothing else is marked as in writing while this waits.
            let stubborn = later.len() <= BATCH;
            if stubborn && !later.is_empty() {
                let mut staging = self.take_staging(1);
                for one in &later {
                    pages += self.write_one(*one, &mut staging)?;
                }
                self.give_staging(staging);
            }
            todo = if stubborn { Vec::new() } else { later };
        }
        while self.older_in_writing(up_to) {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.sync_files()?;
        self.inner().counters.checkpoint_pages.fetch_add(pages as u64, Ordering::Relaxed);
        Ok(WriteReport { pages: pages as u64 })
    }

    /// Writes the frames; those that were latched come back with the number of written ones.
    fn write_all(&self, todo: &[Place], batches: Batches<'_>) -> Result<(usize, Vec<Place>), PageError> {
        let borrows = batches.whom == For::Borrower;
        // Full batches: a list's last one would be small otherwise.
        let lists = Lists::new(todo, batches.pages() / batches.images * batches.images, borrows);
        let write = |staging: &mut AlignedBuf| {
            let (mut written, mut later) = (0, Vec::new());
            loop {
                let Some((list, turn)) = lists.next() else { return Ok((written, later)) };
                let batches = Batches { turn: if borrows { Some(&turn) } else { None }, ..batches };
                match self.write_list(list, batches, staging, &mut later) {
                    Ok(pages) => written += pages,
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
            let others: Vec<_> = (1..threads).map_while(|_| named().spawn_scoped(scope, run).ok()).collect();
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
    fn write_one(&self, at: Place, staging: &mut AlignedBuf) -> Result<usize, PageError> {
        loop {
            let mut again = Vec::new();
            let alone = Batches::of(For::Checkpoint, 1);
            let (written, _) = self.write_batch(&[at], alone, true, staging, &mut again)?;
            if again.is_empty() {
                return Ok(written);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The oldest record whose effect may be missing in the files: redo has to begin there. `None`: nothing is missing.
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
        min
    }

    /// Takes the store out of use for good: when this returns no page of it is on its way to the files, and none will be.
    pub fn abandon(&self, cause: &str) {
        self.fail(&PageError::Offline { cause: cause.into() });
        // With the fence in `write_items`: a writer sees the store offline, or is seen writing here.
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

    /// Number of pages that are changed and not written.
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
            // What a failed sync leaves behind is unknown: nothing may be trusted to be on disk any more.
            self.fail(e);
        }
        result
    }

    fn each_frame(&self, mut f: impl FnMut(Place, Option<Lsn>, Option<Lsn>)) {
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

    fn dirty_frames(&self, up_to: Lsn) -> Vec<Place> {
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

    /// Copies and writes frames, sorted by place within each file, in as many batches as it takes; as
    /// [`write_batch`](Self::write_batch) otherwise.
    fn write_list(
        &self,
        list: &[Place],
        batches: Batches<'_>,
        staging: &mut AlignedBuf,
        later: &mut Vec<Place>,
    ) -> Result<usize, PageError> {
        let (mut written, mut rest) = (0, list);
        while !rest.is_empty() {
            let (pages, taken) = self.write_batch(rest, batches, false, staging, later)?;
            written += pages;
            rest = &rest[taken..];
        }
        Ok(written)
    }

    /// Copies and writes the first frames of the list, as many as make a batch. Frames whose latch is taken go to `later`,
    /// unless `block` says to wait for it; so do frames that are being written already. Returns the number of pages written and
    /// of frames seen to.
    fn write_batch(
        &self,
        list: &[Place],
        batches: Batches<'_>,
        block: bool,
        staging: &mut AlignedBuf,
        later: &mut Vec<Place>,
    ) -> Result<(usize, usize), PageError> {
        debug_assert!(!block || list.len() == 1);
        let most = batches.pages();
        let mut items = Vec::with_capacity(list.len().min(most));
        let (mut taken, mut protected) = (0, 0);
        {
            let (images, _) = staging.as_chunks_mut::<PAGE_SIZE>();
            for &at in list {
                if items.len() == most || protected == batches.images {
                    break;
                }
                taken += 1;
                match self.copy_out(at, block, &mut images[items.len()]) {
                    Ok(Some(item)) => {
                        protected += usize::from(item.protect);
                        items.push(item);
                    }
                    Ok(None) => {}
                    Err(Busy) => later.push(at),
                }
            }
        }
        let ended = Ending { store: self, items: &items };
        let result = if items.is_empty() { Ok(()) } else { self.write_items(&items, staging, batches) };
        ended.end(result.is_ok());
        result.map(|()| (items.len(), taken))
    }

    /// Copies one dirty page and marks it as in writing. `None`: nothing to do.
    fn copy_out(&self, (i, key): Place, block: bool, to: &mut [u8; PAGE_SIZE]) -> Result<Option<Item>, Busy> {
        let pool = self.inner();
        let frame = pool.frames.get(i);
        if block {
            frame.lock(Mode::Shared);
        } else if !frame.try_lock(Mode::Shared) {
            return Err(Busy);
        }
        let mut item = None;
        if frame.key.load(Ordering::Acquire) == key {
            let mut state = frame.state.lock();
            if state.writing.is_some() && state.rec_lsn.is_some() {
                // Changed again while an earlier copy is on its way.
                drop(state);
                frame.unlock(Mode::Shared);
                return Err(Busy);
            }
            if let Some(rec_lsn) = state.rec_lsn.take() {
                state.writing = Some(rec_lsn);
                let formatted = frame.has(FORMATTED);
                frame.set(WRITING);
                frame.clear(DIRTY | FORMATTED);
                drop(state);
                let page = pool.frames.page(i);
                to.copy_from_slice(page.bytes());
                let id = key_page(key);
                let protect = !formatted || self.dwb().holds(id);
                item = Some(Item { frame: i, id, rec_lsn, lsn: page.lsn(), formatted, protect });
            }
        }
        frame.unlock(Mode::Shared);
        if item.is_some() {
            seal_image(to);
        }
        Ok(item)
    }

    fn write_items(
        &self,
        items: &[Item],
        staging: &AlignedBuf,
        batches: Batches<'_>,
    ) -> Result<(), PageError> {
        // The items are marked as in writing: see `abandon`.
        fence(Ordering::SeqCst);
        self.check_online()?;
        let newest = items.iter().map(|i| i.lsn).max().unwrap_or(Lsn::ZERO);
        if newest > self.log().durable_lsn() {
            self.log().flush_to(newest)?;
        }
        let (images, _) = staging.as_chunks::<PAGE_SIZE>();
        let mut files: Vec<Arc<DataFile>> = Vec::new();
        for item in items {
            if !files.iter().any(|f| f.spec.id == item.id.file) {
                files.push(self.file(item.id)?);
            }
        }
        let protect: Vec<(PageId, &[u8; PAGE_SIZE])> = items
            .iter()
            .zip(images)
            .filter(|(item, _)| item.protect)
            .map(|(item, image)| (item.id, image))
            .collect();
        let protected = if protect.is_empty() {
            None
        } else {
            let primary = self.file(PageId::new(1, 0))?;
            let online = || self.check_online();
            let done = self.dwb().protect(&primary, &protect, files.clone(), batches.whom, &online);
            Some(done.inspect_err(|e| self.fail(e))?)
        };
        let result = write_homes(&files, items, images, batches.turn);
        match (&result, protected) {
            // First the files, then the area: a thread that needs its slots syncs the files that have something to sync.
            (Ok(()), protected) => {
                note_written(&files, items);
                protected.into_iter().for_each(|batch| self.dwb().written(batch));
            }
            // A page may be torn now, and only the area has it whole: its slots stay as they are. Opening the database
            // again repairs the page.
            (Err(e), Some(_)) => self.fail(e),
            (Err(_), None) => {}
        }
        result
    }

    /// Ends the writing of the items: they are clean, or dirty again. Their files know of them already, so that
    /// [`Store::min_rec_lsn`] finds them in one place or the other.
    fn finish_items(&self, items: &[Item], ok: bool) {
        let pool = self.inner();
        for item in items {
            let frame = pool.frames.get(item.frame);
            let mut state = frame.state.lock();
            state.writing = None;
            if !ok {
                state.rec_lsn = Some(state.rec_lsn.map_or(item.rec_lsn, |l| l.min(item.rec_lsn)));
                frame.set(if item.formatted { DIRTY | FORMATTED } else { DIRTY });
            }
            frame.clear(WRITING);
        }
        if ok {
            pool.counters.pages_written.fetch_add(items.len() as u64, Ordering::Relaxed);
        }
    }
}

/// The page is latched, or being written, by someone else.
struct Busy;

/// Sees to it that the writing of a batch ends for its frames, whatever happens.
struct Ending<'a> {
    store: &'a Store,
    items: &'a [Item],
}

impl Ending<'_> {
    fn end(self, ok: bool) {
        self.store.finish_items(self.items, ok);
        std::mem::forget(self);
    }
}

impl Drop for Ending<'_> {
    /// Only when a panic unwinds: nobody knows how far the batch has come.
    fn drop(&mut self) {
        self.store.fail(&died());
        self.store.finish_items(self.items, false);
    }
}

/// Tells the files what they have to sync.
fn note_written(files: &[Arc<DataFile>], items: &[Item]) {
    for file in files {
        for item in items.iter().filter(|item| item.id.file == file.spec.id) {
            file.written(item.rec_lsn);
        }
    }
}

/// Writes the items to their places, adjacent pages together, all in flight at once as far as the devices take them, from their
/// turn on, which passes when all of them are in flight. The first error, when all have ended.
fn write_homes(
    files: &[Arc<DataFile>],
    items: &[Item],
    images: &[[u8; PAGE_SIZE]],
    turn: Option<&dyn InTurn>,
) -> Result<(), PageError> {
    let mut pages: Vec<(PageId, &[u8])> =
        items.iter().zip(images).map(|(item, image)| (item.id, &image[..])).collect();
    pages.sort_unstable_by_key(|(id, _)| *id);
    let slices: Vec<IoSlice<'_>> = pages.iter().map(|(_, image)| IoSlice::new(image)).collect();
    let mut requests: Vec<Request<'_>> = Vec::with_capacity(slices.len());
    let mut at = 0;
    while at < pages.len() {
        let first = pages[at].0;
        let mut end = at + 1;
        while end < pages.len()
            && end - at < RUN
            && pages[end].0.file == first.file
            && pages[end].0.page - first.page == (end - at) as u32
        {
            end += 1;
        }
        let file = files.iter().find(|file| file.spec.id == first.file);
        let file = file.ok_or(PageError::NoSuchPage { page: first })?;
        let offset = u64::from(first.page) * PAGE_SIZE as u64;
        requests.push(Request { file: &*file.file, offset, data: Data::Write(&slices[at..end]) });
        at = end;
    }
    turn.inspect(|turn| turn.wait());
    let (mut first, mut waiting) = (Ok(()), requests.len().saturating_sub(depth(files)));
    transfer(&mut requests, &mut |_, _, result| {
        if first.is_ok() {
            first = result;
        }
        waiting = waiting.saturating_sub(1);
        if waiting == 0 {
            turn.inspect(|turn| turn.pass());
        }
    });
    Ok(first?)
}

/// How many requests of a batch the devices of the files take at a time.
fn depth(files: &[Arc<DataFile>]) -> usize {
    let devices: BTreeMap<u64, usize> = files.iter().map(|f| (f.file.device(), f.file.depth())).collect();
    devices.into_values().sum()
}

/// Orders frames so that every batch has work for every device. On one device it goes file by file, each file's pages
/// ascending: many files are then written in pieces as large as one.
fn interleave(sorted: Vec<Place>, devices: &HashMap<u16, u64>, batch: usize) -> Vec<Place> {
    let mut by_device: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
    for pages in sorted.chunk_by(|a, b| key_page(a.1).file == key_page(b.1).file) {
        let device = devices.get(&key_page(pages[0].1).file).copied().unwrap_or(0);
        by_device.entry(device).or_default().extend_from_slice(pages);
    }
    if by_device.len() < 2 {
        return sorted;
    }
    let share = (batch / by_device.len()).max(1);
    let mut rest: Vec<&[Place]> = by_device.values().map(Vec::as_slice).collect();
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
        crate::store::adopt(id, into);
        Ok(())
    }

    fn write_frames(&self, _pool: &Inner, frames: &[Place]) -> Result<usize, PageError> {
        self.check_online()?;
        // Latched pages are in use and no candidates for eviction anyway.
        let batches = Batches::of(For::Eviction, BATCH_IMAGES);
        let mut staging = self.take_staging(batches.pages());
        let result = self.write_list(frames, batches, &mut staging, &mut Vec::new());
        self.give_staging(staging);
        result
    }
}
