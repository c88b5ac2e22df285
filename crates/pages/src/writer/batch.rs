//! One batch of pages on its way: copied under their latches, sealed, to the doublewrite area, then to their homes.
//!
//! Guarantee: a frame whose copy is on its way is marked so until the write has ended, however it ends; a page that was changed
//! meanwhile stays dirty.

use super::{Batches, Place};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{PAGE_SIZE, PageId};
use crate::lists::InTurn;
use crate::page::seal_image;
use crate::pool::{DIRTY, FORMATTED, Mode, WRITING, key_page};
use crate::store::Store;
use crate::sync::died;
use disk::{AlignedBuf, Data, Request, transfer};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use wal::Lsn;

/// Pages of one write: 1 MiB.
const RUN: usize = 128;

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

impl Store {
    /// Copies and writes frames, sorted by place within each file, in as many batches as it takes; as
    /// [`write_batch`](Self::write_batch) otherwise.
    pub(super) fn write_list(
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
    pub(super) fn write_batch(
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
pub(super) fn depth(files: &[Arc<DataFile>]) -> usize {
    let devices: BTreeMap<u64, usize> = files.iter().map(|f| (f.file.device(), f.file.depth())).collect();
    devices.into_values().sum()
}
