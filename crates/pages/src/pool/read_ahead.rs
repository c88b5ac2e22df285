//! Reading pages before they are wanted: many in flight at a time, single ones and adjacent ones,
//! straight into their frames.
//!
//! Threads of the pool do it, each with a list of pages in flight. The thread that asked goes on
//! meanwhile and waits for no page longer than its read takes, or until all are here
//! ([`PendingReads`]).
//!
//! # Guarantees
//! - Frames are taken without waiting and without evicting pages in use; for want of frames fewer
//!   pages are read.
//! - A frame that was taken is given back whatever happens to the read. Damage is left to the
//!   thread that reads the page.
//! - When a store is dropped, no read of its files is under way any more.

use super::{PoolInner, key_of};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{PAGE_SIZE, PageId};
use disk::{Data, DiskError, Request, transfer};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Most pages of one request of a read-ahead, and pages that are worth a list of their own.
pub(crate) const PREFETCH_PAGES: usize = 64;
/// Threads that read ahead for all scans of an instance. Each has a list of pages in flight.
const MOST_THREADS: usize = 4;
/// Lists that may wait for a thread, for each there may be; a reader that finds more reads its
/// pages itself.
const WAITING: usize = 3 * MOST_THREADS;
/// A thread ends when it had no work for so long.
const IDLE: Duration = Duration::from_secs(10);

/// Pages whose frames are held exclusive until they are read.
pub(crate) struct ClaimedPages {
    pool: Arc<PoolInner>,
    store: u16,
    files: Vec<Arc<DataFile>>,
    /// Frame, page, place in `files`; in the order of the list.
    pages: Vec<(u32, PageId, usize)>,
    /// Which of them are not given back yet.
    open: Vec<bool>,
    /// Hears of the end.
    tally: Arc<ReadTally>,
}

/// Lists of one request that are under way.
#[derive(Default)]
pub(crate) struct ReadTally {
    state: Mutex<(usize, Option<DiskError>)>,
    ended: Condvar,
}

/// Reads that are under way. They go on when this is dropped.
pub struct PendingReads(pub(crate) Arc<ReadTally>);

impl PendingReads {
    /// Waits until all have ended.
    ///
    /// # Errors
    /// The first that failed, if its pages should have been there.
    pub fn wait(self) -> Result<(), PageError> {
        let mut state = self.0.state.lock();
        while state.0 > 0 {
            self.0.ended.wait(&mut state);
        }
        state.1.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

impl ClaimedPages {
    /// Frames that the caller has taken; `tally` hears when all are given back.
    pub(crate) fn new(
        pool: Arc<PoolInner>,
        store: u16,
        files: Vec<Arc<DataFile>>,
        pages: Vec<(u32, PageId, usize)>,
        tally: &Arc<ReadTally>,
    ) -> ClaimedPages {
        tally.state.lock().0 += 1;
        let open = vec![true; pages.len()];
        ClaimedPages { pool, store, files, pages, open, tally: Arc::clone(tally) }
    }

    /// Gives a frame back, with its page in it or empty.
    fn end(&mut self, at: usize, good: bool) {
        if std::mem::take(&mut self.open[at]) {
            let (frame, id, _) = self.pages[at];
            self.pool.loaded(frame, key_of(self.store, id), good);
        }
    }

    /// Reads all of them.
    pub(crate) fn read(mut self) {
        let (mut left, mut last) = (self.pages.len(), None);
        let (pool, pages, files) =
            (Arc::clone(&self.pool), self.pages.clone(), std::mem::take(&mut self.files));
        read_pages(&pool, &files, &pages, &mut |first, images, result| {
            for (k, image) in images.iter().enumerate() {
                let (frame, id, file) = pages[first + k];
                let image = image.as_chunks::<PAGE_SIZE>().0.first();
                let good = result.is_ok()
                    && image.is_some_and(|image| files[file].verify(id.page, image).is_ok());
                if good && (id.is_pfs() || id.is_gam()) {
                    pool.frames.page_mut(frame).adopt_map(id);
                }
                left -= 1;
                // The last frame is given back when nothing here refers to the files any more: a
                // store that is dropped waits for it.
                match left {
                    0 => last = Some((first + k, good)),
                    _ => self.end(first + k, good),
                }
            }
            let (_, id, file) = pages[first];
            // Else a reader that must have them finds out where they have gone, or that they are
            // lost.
            if u64::from(id.page) + images.len() as u64 <= u64::from(files[file].pages())
                && let Err(error) = result
            {
                self.tally.state.lock().1.get_or_insert(error);
            }
        });
        drop(files);
        if let Some((at, good)) = last {
            self.end(at, good);
        }
    }
}

/// Called for each request that has ended: the place of its first page in the list, the images, the
/// result.
type RequestEnded<'a> = dyn FnMut(usize, &[IoSliceMut<'_>], Result<(), DiskError>) + 'a;

/// Reads the pages into their frames, adjacent ones by one request.
fn read_pages(
    pool: &PoolInner,
    files: &[Arc<DataFile>],
    pages: &[(u32, PageId, usize)],
    ended: &mut RequestEnded<'_>,
) {
    let frame = |&(frame, _, _): &(u32, PageId, usize)| {
        IoSliceMut::new(pool.frames.page_mut(frame).bytes_mut())
    };
    let mut slices: Vec<IoSliceMut<'_>> = pages.iter().map(frame).collect();
    let (mut requests, mut starts) =
        (Vec::with_capacity(pages.len()), Vec::with_capacity(pages.len()));
    let (mut rest, mut at) = (&mut slices[..], 0);
    for run in pages.chunk_by(|a, b| a.2 == b.2 && a.1.page.checked_add(1) == Some(b.1.page)) {
        for part in run.chunks(PREFETCH_PAGES) {
            let (bufs, more) = rest.split_at_mut(part.len());
            rest = more;
            let offset = u64::from(part[0].1.page) * PAGE_SIZE as u64;
            requests.push(Request {
                file: &*files[part[0].2].file,
                offset,
                data: Data::Read(bufs),
            });
            starts.push(at);
            at += part.len();
        }
    }
    transfer(&mut requests, &mut |i, request, result| {
        if let Data::Read(bufs) = &request.data {
            ended(starts[i], bufs, result);
        }
    });
}

impl Drop for ClaimedPages {
    fn drop(&mut self) {
        // All that a panic has left, or what nobody was there to read.
        self.files.clear();
        for at in 0..self.open.len() {
            self.end(at, false);
        }
        self.tally.state.lock().0 -= 1;
        self.tally.ended.notify_all();
    }
}

/// The threads that read ahead, and what waits for them.
#[derive(Default)]
pub(crate) struct ReadAheads {
    state: Mutex<ReaderState>,
    work: Condvar,
}

#[derive(Default)]
struct ReaderState {
    waiting: VecDeque<ClaimedPages>,
    threads: Vec<JoinHandle<()>>,
    running: usize,
    idle: usize,
    stop: bool,
}

impl ReadAheads {
    /// Takes a list for one of the threads; gives it back when there are enough already, or no
    /// thread.
    pub(crate) fn give(
        &self,
        claimed: ClaimedPages,
        pool: &Arc<PoolInner>,
    ) -> Result<(), ClaimedPages> {
        let mut state = self.state.lock();
        if state.stop || state.waiting.len() >= WAITING {
            return Err(claimed);
        }
        if state.idle <= state.waiting.len() && state.running < MOST_THREADS {
            let shared = Arc::clone(pool);
            let started = std::thread::Builder::new()
                .name("read-ahead".into())
                .spawn(move || shared.reads.work());
            if let Ok(thread) = started {
                state.running += 1;
                state.threads.retain(|thread| !thread.is_finished());
                state.threads.push(thread);
            }
        }
        if state.running == 0 {
            return Err(claimed);
        }
        state.waiting.push_back(claimed);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Body of a thread.
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(claimed) = state.waiting.pop_front() {
                drop(state);
                let read = std::panic::AssertUnwindSafe(|| claimed.read());
                // A panic has been reported by the panic hook, and the frames are free again.
                drop(std::panic::catch_unwind(read));
                state = self.state.lock();
                continue;
            }
            if state.stop {
                state.running -= 1;
                return;
            }
            state.idle += 1;
            let over = self.work.wait_for(&mut state, IDLE).timed_out();
            state.idle -= 1;
            if over && state.waiting.is_empty() {
                state.running -= 1;
                return;
            }
        }
    }

    /// Ends the threads, when they have read what waits.
    pub fn stop(&self) {
        let threads = {
            let mut state = self.state.lock();
            state.stop = true;
            std::mem::take(&mut state.threads)
        };
        self.work.notify_all();
        for thread in threads {
            // One of them can be the last to hold the pool.
            if thread.thread().id() != std::thread::current().id() {
                drop(thread.join());
            }
        }
    }
}
