//! Which transactions are settled: they have ended, and what their ends have to wait for is
//! durable. Locks go when a commit record is in the log, and others read then what it tells; they
//! need not wait for the log before they tell it if all of it was settled.
//!
//! Nobody counts it along. A look is a pair: the oldest id that may be running, and then the newest
//! commit. When that commit is durable, every id below the pair's is settled. Whoever finds that
//! makes the next pair.
//!
//! Invariants:
//! - Every transaction below [`Settled::below`] has ended, and the commits among them are durable
//!   unless they were delayed ones. The number only grows, but when recovery brings a transaction
//!   back.
//! - Of a pair the id is read first. A transaction below it has told the clock of its commit before
//!   it ended, so the commit that is read next is not an earlier one.

use std::sync::atomic::{AtomicU64, Ordering};

use pages::TxnId;
use parking_lot::Mutex;
use wal::Lsn;

use crate::live::Clock;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Settled {
    below: AtomicU64,
    look: Mutex<LastLook>,
}

/// Every transaction below `oldest` has ended, none of them with a later commit than this.
#[derive(Debug)]
struct LastLook {
    oldest: u64,
    commit: Lsn,
}

impl LastLook {
    fn new(clock: &Clock) -> LastLook {
        let oldest = clock.oldest();
        LastLook { oldest, commit: clock.commit() }
    }
}

impl Settled {
    /// Recovery has made durable what it found: all transactions below `next` are settled.
    pub fn new(next: u64) -> Settled {
        Settled {
            below: AtomicU64::new(next),
            look: Mutex::new(LastLook { oldest: next, commit: Lsn::ZERO }),
        }
    }

    /// Recovery: a transaction comes back to life, and has not ended.
    pub fn lower(&self, id: TxnId) {
        let mut look = self.look.lock();
        look.oldest = look.oldest.min(id.0);
        self.below.fetch_min(id.0, Ordering::AcqRel);
    }

    /// Every transaction below is settled.
    #[inline]
    pub fn below(&self) -> TxnId {
        TxnId(self.below.load(Ordering::Acquire))
    }

    /// The same, after a look at what has become durable since.
    pub fn look(&self, clock: &Clock, is_durable: impl Fn(Lsn) -> bool) -> TxnId {
        // Whoever holds it is about to do the same.
        if let Some(mut look) = self.look.try_lock() {
            let durable = |look: &LastLook| look.commit == Lsn::ZERO || is_durable(look.commit);
            if durable(&look) {
                let next = LastLook::new(clock);
                let oldest = if durable(&next) { next.oldest } else { look.oldest };
                self.below.fetch_max(oldest, Ordering::AcqRel);
                *look = next;
            }
        }
        self.below()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsn(block: u32) -> Lsn {
        Lsn { vlf: 1, block, slot: 1 }
    }

    /// A clock at which transactions begin and end as the table has it.
    fn ends(clock: &Clock, oldest: u64, commit: Option<Lsn>) {
        if let Some(commit) = commit {
            clock.raise_commit(commit);
        }
        clock.set_oldest(oldest, oldest + 1);
    }

    #[test]
    fn a_transaction_is_settled_when_its_commit_is_durable() {
        let (clock, settled) = (Clock::new(5), Settled::new(5));
        assert_eq!(settled.look(&clock, |_| false), TxnId(5), "nothing was committed");
        ends(&clock, 6, Some(lsn(10)));
        assert_eq!(settled.look(&clock, |_| false), TxnId(5), "5 is not durable");
        ends(&clock, 7, Some(lsn(11)));
        let durable_to = |end: u32| move |l: Lsn| l <= lsn(end);
        assert_eq!(settled.look(&clock, durable_to(10)), TxnId(6), "5 is, 6 is not");
        assert_eq!(settled.look(&clock, durable_to(11)), TxnId(7));
        assert_eq!(settled.below(), TxnId(7));
    }

    #[test]
    fn ends_that_nobody_waits_for_are_settled_at_once() {
        let (clock, settled) = (Clock::new(5), Settled::new(5));
        ends(&clock, 9, None);
        assert_eq!(settled.look(&clock, |_| false), TxnId(9));
    }

    #[test]
    fn one_that_recovery_brings_back_is_not_settled_before_it_ends() {
        let (clock, settled) = (Clock::new(9), Settled::new(9));
        clock.set_oldest(4, 9);
        settled.lower(TxnId(4));
        assert_eq!(settled.below(), TxnId(4));
        assert_eq!(settled.look(&clock, |_| true), TxnId(4));
        ends(&clock, 9, Some(lsn(10)));
        assert_eq!(settled.look(&clock, |_| false), TxnId(4));
        assert_eq!(settled.look(&clock, |_| true), TxnId(9));
    }

    #[test]
    fn one_that_runs_keeps_later_ones_from_being_settled() {
        let (clock, settled) = (Clock::new(5), Settled::new(5));
        // 5 runs, 6 and 7 have ended.
        ends(&clock, 5, Some(lsn(10)));
        assert_eq!(settled.look(&clock, |_| true), TxnId(5));
        ends(&clock, 8, Some(lsn(12)));
        assert_eq!(settled.look(&clock, |l| l <= lsn(11)), TxnId(5));
        assert_eq!(settled.look(&clock, |_| true), TxnId(8));
    }
}
