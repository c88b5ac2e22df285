//! What the background threads of a database have to do, and how far they are: ghosts to remove,
//! discarded values to free, extents to look through, delayed commits to make durable. The work
//! itself is in `cleanup`, `discard`, `reclaim` and `delayed`. Nothing here is durable.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use access::DiscardedValues;
use pages::{PageId, TxnId, UnitId};

use crate::background::Bell;

/// Pages with ghosts, in the order in which their transactions ended.
#[derive(Debug, Default)]
pub struct GhostQueue {
    pub(crate) pages: Mutex<VecDeque<(TxnId, UnitId, PageId)>>,
    pub(crate) removed: AtomicU64,
    pub(crate) visited: AtomicU64,
}

/// Totals of ghost cleanup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GhostCounts {
    /// Pages waiting.
    pub queued: usize,
    /// Pages looked at.
    pub visited: u64,
    /// Ghosts removed.
    pub removed: u64,
}

impl GhostQueue {
    /// Transaction `txn` has ended and left ghosts on `pages`.
    pub fn add(&self, txn: TxnId, pages: Vec<(UnitId, PageId)>) {
        if !pages.is_empty() {
            self.pages.lock().extend(pages.into_iter().map(|(unit, page)| (txn, unit, page)));
        }
    }

    /// Up to `max` pages whose transactions everybody sees; neighbours once.
    pub(crate) fn take(&self, below: TxnId, max: usize) -> Vec<(UnitId, PageId)> {
        let mut q = self.pages.lock();
        let mut out = Vec::new();
        // Transactions end in another order than they begin: one that is still needed does not hold
        // up the rest.
        for _ in 0..q.len() {
            if out.len() == max {
                break;
            }
            let Some(e) = q.pop_front() else { break };
            if e.0 < below {
                out.push((e.1, e.2));
            } else {
                q.push_back(e);
            }
        }
        drop(q);
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Memory of the queue.
    pub(crate) fn memory(&self) -> usize {
        self.pages.lock().capacity() * size_of::<(TxnId, UnitId, PageId)>()
    }

    /// Totals.
    pub fn counts(&self) -> GhostCounts {
        GhostCounts {
            queued: self.pages.lock().len(),
            visited: self.visited.load(Relaxed),
            removed: self.removed.load(Relaxed),
        }
    }
}

/// No discarded value waits.
pub(crate) const NOTHING: u64 = u64::MAX;

/// The list and what is known of it.
#[derive(Debug)]
pub(crate) struct Discards {
    pub values: OnceLock<DiscardedValues>,
    /// No entry on the list is of an older transaction; [`NOTHING`] for an empty list. The list is
    /// not looked at before every snapshot sees this one.
    pub oldest: AtomicU64,
    /// One thread frees at a time.
    pub turn: Mutex<()>,
}

impl Default for Discards {
    fn default() -> Self {
        // What a crash has left is on the list already.
        Discards { values: OnceLock::new(), oldest: AtomicU64::new(0), turn: Mutex::default() }
    }
}

/// How far the search for forgotten ghosts has come.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    pub at: Mutex<SweepAt>,
}

/// Where it is.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) enum SweepAt {
    /// Nobody has found a filegroup full.
    #[default]
    NotBegun,
    /// The extents of files with smaller numbers, and those before this one of the file, have been
    /// looked at.
    At(u16, u32),
    Done(Instant),
}

/// When the flusher comes next.
#[derive(Debug, Default)]
pub(crate) struct Flusher {
    pub bell: Arc<Bell>,
    /// The thread comes within the window's time, without being called.
    pub due: AtomicBool,
    /// It is called at once, because much waits.
    pub called: AtomicBool,
}

impl Flusher {
    /// It is to come within the window's time.
    pub fn remind(&self) {
        if !self.due.load(Ordering::Relaxed) && !self.due.swap(true, Ordering::AcqRel) {
            self.bell.poke();
        }
    }

    pub fn call(&self) {
        if !self.called.load(Ordering::Relaxed) && !self.called.swap(true, Ordering::AcqRel) {
            self.due.store(true, Ordering::Release);
            self.bell.poke();
        }
    }
}
