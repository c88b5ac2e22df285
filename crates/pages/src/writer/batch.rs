//! One batch of pages on its way: copied under their latches, sealed, to the doublewrite area, then
//! to their homes.
//!
//! Guarantee: a frame whose copy is on its way is marked so until the write has ended, however it
//! ends; a page that was changed meanwhile stays dirty.

use super::unwritten::{is_refusal, write_singly};
use super::{Batches, FramePlace};
use crate::dwb::{BatchPurpose, ProtectedBatch, StuckPage};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{PAGE_SIZE, PageId};
use crate::lists::InTurn;
use crate::page::seal_image;
use crate::pool::{DIRTY, FORMATTED, Mode, WRITING, key_page};
use crate::store::Store;
use crate::sync::died;
use disk::{AlignedBuf, Data, DiskError, Request, transfer};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use wal::Lsn;

/// Pages of one write: 1 MiB.
const RUN: usize = 128;
/// Stuck pages of a batch that get a small one of their own.
const FEW_STUCK: usize = 16;

/// A page copied for writing.
struct CopiedPage {
    frame: u32,
    id: PageId,
    rec_lsn: Lsn,
    lsn: Lsn,
    formatted: bool,
    /// Its image goes to the doublewrite area first.
    protect: bool,
}

impl Store {
    /// Copies and writes frames, sorted by place within each file, in as many batches as it takes;
    /// as [`write_batch`](Self::write_batch) otherwise.
    pub(super) fn write_list(
        &self,
        list: &[FramePlace],
        batches: Batches<'_>,
        staging: &mut AlignedBuf,
        later: &mut Vec<FramePlace>,
    ) -> Result<usize, PageError> {
        let (mut written, mut rest) = (0, list);
        while !rest.is_empty() {
            let (pages, taken) = self.write_batch(rest, batches, false, staging, later)?;
            written += pages;
            rest = &rest[taken..];
        }
        Ok(written)
    }

    /// Copies and writes the first frames of the list, as many as make a batch. Frames whose latch
    /// is taken go to `later`, unless `block` says to wait for it; so do frames that are being
    /// written already. Returns the number of pages written and of frames seen to.
    pub(super) fn write_batch(
        &self,
        list: &[FramePlace],
        batches: Batches<'_>,
        block: bool,
        staging: &mut AlignedBuf,
        later: &mut Vec<FramePlace>,
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
        let ended = BatchEnding { store: self, items: &items };
        let result = if items.is_empty() {
            Ok(Vec::new())
        } else {
            self.write_items(&items, staging, batches)
        };
        match result {
            Ok(refused) => {
                for (i, cause) in &refused {
                    batches.refused.note(items[*i].id, 1, cause.clone());
                }
                ended.end(|i| !refused.iter().any(|(refused, _)| *refused == i));
                Ok((items.len() - refused.len(), taken))
            }
            Err(PageError::Unwritten { page, pages, cause }) => {
                batches.refused.note(page, pages, cause);
                ended.end(|_| false);
                Ok((0, taken))
            }
            Err(e) => {
                ended.end(|_| false);
                Err(e)
            }
        }
    }

    /// Copies one dirty page and marks it as in writing. `None`: nothing to do.
    fn copy_out(
        &self,
        (i, key): FramePlace,
        block: bool,
        to: &mut [u8; PAGE_SIZE],
    ) -> Result<Option<CopiedPage>, Busy> {
        let pool = self.inner();
        let frame = pool.frames.get(i);
        if block {
            frame.lock(Mode::Shared);
        } else if !frame.try_lock(Mode::Shared) {
            return Err(Busy);
        }
        let mut item = None;
        // A page whose home could not be written stays as it is until an older image of it has gone
        // there.
        if frame.key.load(Ordering::Acquire) == key && !self.dwb().is_stuck(key_page(key)) {
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
                item =
                    Some(CopiedPage { frame: i, id, rec_lsn, lsn: page.lsn(), formatted, protect });
            }
        }
        frame.unlock(Mode::Shared);
        if item.is_some() {
            seal_image(to);
        }
        Ok(item)
    }

    /// Writes the items: their images, then their homes. Returns those whose homes the device
    /// refuses to write.
    ///
    /// # Errors
    /// [`PageError::Unwritten`]: none is written, and the store goes on; anything else has taken it
    /// offline, or is the log's.
    fn write_items(
        &self,
        items: &[CopiedPage],
        staging: &AlignedBuf,
        batches: Batches<'_>,
    ) -> Result<Vec<(usize, DiskError)>, PageError> {
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
            let done =
                self.dwb().protect(&primary, &protect, files.clone(), batches.purpose, &online);
            Some(done.inspect_err(|e| {
                if !self.goes_on_after(e) {
                    self.fail(e)
                }
            })?)
        };
        let written = write_homes(&files, items, images, batches.turn);
        // A page may be torn now, and only the area has it whole: opening the database again
        // repairs it.
        let refused = written.map_err(PageError::from).inspect_err(|e| self.fail(e))?;
        // First the files, then the area: a thread that needs its slots syncs the files that have
        // something to sync.
        note_written(&files, items, &refused);
        if let Some(batch) = protected {
            self.end_batch(batch, items, images, &refused)?;
        }
        Ok(refused)
    }

    /// The homes of a batch are written, but for the refused ones. Their images stay in the area,
    /// in a small batch of their own if there is room for it: a large one would keep many slots for
    /// them.
    fn end_batch(
        &self,
        batch: ProtectedBatch,
        items: &[CopiedPage],
        images: &[[u8; PAGE_SIZE]],
        refused: &[(usize, DiskError)],
    ) -> Result<(), PageError> {
        let stuck: Vec<_> = refused.iter().filter(|(i, _)| items[*i].protect).collect();
        if stuck.is_empty() {
            self.dwb().written(batch);
            return Ok(());
        }
        let mut pages = Vec::with_capacity(stuck.len());
        for (i, cause) in &stuck {
            let CopiedPage { id, rec_lsn, .. } = items[*i];
            pages.push(StuckPage { page: id, home: self.file(id)?, rec_lsn, cause: cause.clone() });
        }
        let hold = self.min_rec_lsn();
        let alone: Vec<(PageId, &[u8; PAGE_SIZE])> =
            stuck.iter().map(|(i, _)| (items[*i].id, &images[*i])).collect();
        let small = if alone.len() <= FEW_STUCK {
            let homes = pages.iter().map(|page| Arc::clone(&page.home)).collect();
            let primary = self.file(PageId::new(1, 0))?;
            match self
                .dwb()
                .protect(&primary, &alone, homes, BatchPurpose::Stuck, &|| self.check_online())
            {
                Ok(small) => Some(small),
                Err(e) if self.goes_on_after(&e) => None,
                Err(e) => {
                    self.fail(&e);
                    return Err(e);
                }
            }
        } else {
            None
        };
        match small {
            Some(small) => {
                self.dwb().keep(small, pages, hold);
                self.dwb().written(batch);
            }
            None => self.dwb().keep(batch, pages, hold),
        }
        Ok(())
    }

    /// Ends the writing of the items: they are clean, or dirty again. Their files know of them
    /// already, so that [`Store::min_rec_lsn`] finds them in one place or the other.
    fn finish_items(&self, items: &[CopiedPage], written: impl Fn(usize) -> bool) {
        let pool = self.inner();
        let mut pages = 0;
        for (i, item) in items.iter().enumerate() {
            let frame = pool.frames.get(item.frame);
            let ok = written(i);
            pages += u64::from(ok);
            let mut state = frame.state.lock();
            state.writing = None;
            if !ok {
                state.rec_lsn = Some(state.rec_lsn.map_or(item.rec_lsn, |l| l.min(item.rec_lsn)));
                frame.set(if item.formatted { DIRTY | FORMATTED } else { DIRTY });
            }
            frame.clear(WRITING);
        }
        pool.counters.pages_written.fetch_add(pages, Ordering::Relaxed);
    }
}

/// The page is latched, or being written, by someone else.
struct Busy;

/// Sees to it that the writing of a batch ends for its frames, whatever happens.
struct BatchEnding<'a> {
    store: &'a Store,
    items: &'a [CopiedPage],
}

impl BatchEnding<'_> {
    fn end(self, written: impl Fn(usize) -> bool) {
        self.store.finish_items(self.items, written);
        std::mem::forget(self);
    }
}

impl Drop for BatchEnding<'_> {
    /// Only when a panic unwinds: nobody knows how far the batch has come.
    fn drop(&mut self) {
        self.store.fail(&died());
        self.store.finish_items(self.items, |_| false);
    }
}

/// Tells the files what they have to sync.
fn note_written(files: &[Arc<DataFile>], items: &[CopiedPage], refused: &[(usize, DiskError)]) {
    for (i, item) in items.iter().enumerate() {
        if refused.iter().any(|(refused, _)| *refused == i) {
            continue;
        }
        if let Some(file) = files.iter().find(|file| file.spec.id == item.id.file) {
            file.written(item.rec_lsn);
        }
    }
}

/// Writes the items to their places, adjacent pages together, all in flight at once as far as the
/// devices take them, from their turn on, which passes when all of them are in flight. Returns the
/// items whose homes the device refuses to write, also each by itself.
///
/// # Errors
/// The first failure that is more than that.
fn write_homes(
    files: &[Arc<DataFile>],
    items: &[CopiedPage],
    images: &[[u8; PAGE_SIZE]],
    turn: Option<&dyn InTurn>,
) -> Result<Vec<(usize, DiskError)>, DiskError> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_unstable_by_key(|&i| items[i].id);
    let slices: Vec<IoSlice<'_>> = order.iter().map(|&i| IoSlice::new(&images[i])).collect();
    let home = |i: usize| files.iter().find(|file| file.spec.id == items[i].id.file);
    let mut requests: Vec<Request<'_>> = Vec::with_capacity(slices.len());
    let mut runs: Vec<&[usize]> = Vec::with_capacity(slices.len());
    let mut at = 0;
    while at < order.len() {
        let first = items[order[at]].id;
        let mut end = at + 1;
        let next = |end: usize| items[order[end]].id;
        while end < order.len()
            && end - at < RUN
            && next(end).file == first.file
            && next(end).page - first.page == (end - at) as u32
        {
            end += 1;
        }
        let offset = u64::from(first.page) * PAGE_SIZE as u64;
        if let Some(file) = home(order[at]) {
            requests.push(Request {
                file: &*file.file,
                offset,
                data: Data::Write(&slices[at..end]),
            });
            runs.push(&order[at..end]);
        }
        at = end;
    }
    turn.inspect(|turn| turn.wait());
    let (mut failed, mut waiting) = (Vec::new(), requests.len().saturating_sub(depth(files)));
    transfer(&mut requests, &mut |request, _, result| {
        failed.extend(result.err().map(|cause| (request, cause)));
        waiting = waiting.saturating_sub(1);
        if waiting == 0 {
            turn.inspect(|turn| turn.pass());
        }
    });
    let mut refused = Vec::new();
    for (request, cause) in failed {
        if !is_refusal(&cause) {
            return Err(cause);
        }
        let run = runs[request];
        let singly: Vec<(&DataFile, PageId, &[u8])> =
            run.iter().filter_map(|&i| Some((&**home(i)?, items[i].id, &images[i][..]))).collect();
        let again = write_singly(&singly, &cause)?;
        refused.extend(again.into_iter().map(|(at, cause)| (run[at], cause)));
    }
    Ok(refused)
}

/// How many requests of a batch the devices of the files take at a time.
pub(super) fn depth(files: &[Arc<DataFile>]) -> usize {
    let devices: BTreeMap<u64, usize> =
        files.iter().map(|f| (f.file.device(), f.file.depth())).collect();
    devices.into_values().sum()
}
