//! Ghost cleanup and work after commits: queues, and the thread that works them off. The queue of
//! pages is not durable: what a restart forgets is queued again when a scan meets it. Guarantees: a
//! page is cleaned only when every snapshot, present or future, sees the transaction that left its
//! ghosts, and that transaction is settled; deferred work runs once, after its transaction has
//! committed, or not at all if the process ends first (the transaction that defers work keeps a
//! durable note of it).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use access::{cleanup_page, unlink_empty};
use pages::{PageId, TxnId, UnitId};

use crate::database::Database;
use crate::error::TxnError;

/// Pages cleaned in one go before the oldest snapshot is asked for again.
const BATCH: usize = 64;

impl Database {
    /// Removes ghosts from queued pages as far as snapshots allow; returns how many ghosts went.
    /// Pages without rows go too.
    ///
    /// # Errors
    /// The database is not online; damaged pages, I/O, the log's errors.
    pub fn clean_ghosts(&self) -> Result<u64, TxnError> {
        self.clean_ghosts_until(None)
    }

    /// The same, up to a moment.
    pub(crate) fn clean_ghosts_until(&self, end: Option<Instant>) -> Result<u64, TxnError> {
        let (mut later, mut empty) = (Vec::new(), HashMap::new());
        let removed = self.clean_pages(end, &mut later, &mut empty);
        for (unit, pages) in empty {
            let _work = self.background_work();
            let units = self.open_units();
            let Some(open) = units.open.get(&unit) else { continue };
            let gone = unlink_empty(self.store(), open, &pages)?;
            if gone < pages.len() {
                // Those that are not empty any more are no news then.
                later.extend(pages.into_iter().map(|page| (TxnId(0), unit, page)));
            }
        }
        self.ghosts().pages.lock().extend(later);
        removed
    }

    /// Ghosts of transactions below can go: every snapshot sees them, and they are settled, so that
    /// whoever finds no row any more has nothing to wait for.
    fn cleanable(&self) -> TxnId {
        self.txns().oldest_xmin().min(self.look_for_settled())
    }

    /// `later`: pages that are to be visited again, once every snapshot sees a transaction.
    /// `empty`: leaves without rows whose place in their index is not known.
    fn clean_pages(
        &self,
        end: Option<Instant>,
        later: &mut Vec<(TxnId, UnitId, PageId)>,
        empty: &mut HashMap<UnitId, HashSet<PageId>>,
    ) -> Result<u64, TxnError> {
        let mut removed = 0;
        // What scans have met, for instance ghosts that a restart has forgotten, can go at once.
        self.ghosts().add(TxnId(0), self.store().take_ghosts(self.cleanable()));
        while end.is_none_or(|end| Instant::now() < end) {
            self.check_online()?;
            let xmin = self.cleanable();
            let pages = self.ghosts().take(xmin, BATCH);
            if pages.is_empty() {
                break;
            }
            for (unit, page) in pages {
                // A unit that is not open any more was dropped, and its ghosts with it. The table
                // of units stays locked, so that a unit's extents are not freed under the cleanup
                // of one of its pages.
                let _work = self.background_work();
                let units = self.open_units();
                let Some(open) = units.open.get(&unit) else { continue };
                let report = cleanup_page(self.store(), open, page, xmin)?;
                drop(units);
                self.ghosts().visited.fetch_add(1, Relaxed);
                self.ghosts().removed.fetch_add(report.removed as u64, Relaxed);
                removed += report.removed as u64;
                if report.again {
                    later.push((TxnId(0), unit, page));
                } else if report.remaining > 0 {
                    later.push((report.newest, unit, page));
                }
                if report.empty {
                    empty.entry(unit).or_default().insert(page);
                }
            }
        }
        Ok(removed)
    }

    /// Runs all deferred work now, on this thread, and waits for what another thread is doing of
    /// it.
    pub fn run_deferred(self: &Arc<Self>) {
        let _turn = self.deferred().turn.lock();
        while let Some(deferred) = self.deferred().next() {
            (deferred.work)(self);
        }
    }
}
