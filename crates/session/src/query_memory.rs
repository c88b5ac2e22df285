//! Memory of queries: the instance has one budget, a statement takes one grant out of it, and each
//! operator of the statement holds a share of the grant that it gives back when it ends.
//! Guarantees: a share is refused as soon as the statement would hold more than it leaves free, so
//! that what cannot go to disk finds room; an operator that is refused goes to disk. Error 701 is
//! left for memory that cannot: rows and states that a statement must hold at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use catalog::errors::out_of_memory;
use memory::{Clerk, MemoryAccount};
use parking_lot::Mutex;
use types::SqlError;

/// Least bytes that are taken from the budget at once.
const STEP: usize = 256 << 10;
/// An operator may hold this much however little is free: with less it could do nothing.
pub const OPERATOR_MIN: usize = 256 << 10;
/// A statement may keep this much that cannot go to disk, however little is free.
const STATEMENT_MIN: usize = 1 << 20;
/// What a statement keeps up to here is not counted: short statements touch nothing shared.
const UNCOUNTED: usize = 64 << 10;

/// The instance's memory for queries.
#[derive(Debug)]
pub struct QueryMemory {
    /// The account of all memory, of which this is a part.
    account: Arc<MemoryAccount>,
    limit: usize,
    /// Most bytes that one operator holds before it goes to disk.
    operator: usize,
    /// Most bytes that one statement holds.
    statement: usize,
    used: AtomicUsize,
    /// Most bytes that statements have held at once.
    peak: AtomicUsize,
    grants: AtomicUsize,
    forced: AtomicUsize,
}

impl QueryMemory {
    /// So many bytes for all statements; an operator goes to disk beyond `operator` bytes at the
    /// latest.
    pub fn new(limit: usize, operator: usize) -> QueryMemory {
        let zero = || AtomicUsize::new(0);
        QueryMemory {
            account: Arc::new(MemoryAccount::unlimited()),
            limit,
            operator,
            statement: usize::MAX,
            used: zero(),
            peak: zero(),
            grants: zero(),
            forced: zero(),
        }
    }

    /// The same as a part of an instance's account.
    pub fn with_account(mut self, account: Arc<MemoryAccount>) -> QueryMemory {
        self.account = account;
        self
    }

    /// The account that it is a part of.
    pub fn account(&self) -> &Arc<MemoryAccount> {
        &self.account
    }

    /// The same where one statement has so many bytes at most: more goes to disk, and what cannot
    /// is error 701.
    pub fn with_statement(mut self, most: usize) -> QueryMemory {
        self.statement = most;
        self
    }

    /// Bytes that statements hold.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Most bytes that statements have held at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    fn note(&self, all: usize) {
        // Not written where nothing changes: statements of many cores pass here.
        if all > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(all, Ordering::Relaxed);
        }
    }

    /// Statements that hold a grant.
    pub fn grants(&self) -> usize {
        self.grants.load(Ordering::Relaxed)
    }

    /// How often an operator took its least memory although there was none.
    pub fn forced(&self) -> usize {
        self.forced.load(Ordering::Relaxed)
    }

    /// Bytes that there are.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

/// What one statement has of the budget.
#[derive(Debug)]
pub struct Grant {
    budget: Arc<QueryMemory>,
    used: AtomicUsize,
    /// Most bytes that it was at once.
    peak: AtomicUsize,
    since: SystemTime,
}

/// What is shown of a grant.
#[derive(Clone, Copy, Debug)]
pub struct Granted {
    pub since: SystemTime,
    /// Bytes that its statement holds, and the most that it has held at once.
    pub held: usize,
    pub peak: usize,
}

/// The grants of a session's statements: those of a procedure and of what calls it, and what keeps
/// the rows of an open cursor.
#[derive(Debug, Default)]
pub struct Grants(Mutex<Vec<Weak<Grant>>>);

impl Grants {
    /// Another one, out of the budget.
    pub fn add(&self, budget: &Arc<QueryMemory>) -> Arc<Grant> {
        let grant = Grant::new(budget);
        let mut list = self.0.lock();
        list.retain(|grant| grant.strong_count() > 0);
        list.push(Arc::downgrade(&grant));
        grant
    }

    /// Those that are held.
    pub fn look(&self) -> Vec<Granted> {
        let list: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        list.iter().map(|grant| grant.look()).collect()
    }
}

impl Grant {
    /// An empty one.
    pub fn new(budget: &Arc<QueryMemory>) -> Arc<Grant> {
        budget.grants.fetch_add(1, Ordering::Relaxed);
        let (used, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Grant { budget: budget.clone(), used, peak, since: SystemTime::now() })
    }

    fn look(&self) -> Granted {
        let (held, peak) = (self.used.load(Ordering::Relaxed), self.peak.load(Ordering::Relaxed));
        Granted { since: self.since, held, peak: peak.max(held) }
    }

    /// The statement holds this much.
    fn note(&self, own: usize, all: usize) {
        if own > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(own, Ordering::Relaxed);
        }
        self.budget.note(all);
    }

    /// A share for an operator.
    pub fn share(self: &Arc<Grant>) -> Share {
        Share { grant: self.clone(), most: self.budget.operator, used: 0, held: 0 }
    }

    fn add(&self, bytes: usize) -> (usize, usize) {
        let all = self.budget.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.used.fetch_add(bytes, Ordering::Relaxed) + bytes, all)
    }

    fn force(&self, bytes: usize) {
        let (own, all) = self.add(bytes);
        if all > self.budget.limit {
            self.budget.forced.fetch_add(1, Ordering::Relaxed);
        }
        self.budget.account.force(Clerk::QueryReservations, bytes);
        self.note(own, all);
    }

    fn give(&self, bytes: usize) {
        self.subtract(bytes);
        if bytes > 0 {
            self.budget.account.release(Clerk::QueryReservations, bytes);
        }
    }

    fn subtract(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Takes bytes if they are there; with `polite` only if as much stays free as the statement
    /// then holds.
    fn take(&self, bytes: usize, polite: bool) -> bool {
        let (own, all) = self.add(bytes);
        let fits = all <= self.budget.limit
            && own <= self.budget.statement
            && (!polite || own <= self.budget.limit - all)
            && self.budget.account.charge(Clerk::QueryReservations, bytes).is_ok();
        if fits {
            self.note(own, all);
        } else {
            self.subtract(bytes);
        }
        fits
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        debug_assert_eq!(*self.used.get_mut(), 0, "a grant ends with memory in use");
        self.budget.grants.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One operator's part of a grant; it goes back when this is dropped.
#[derive(Debug)]
pub struct Share {
    grant: Arc<Grant>,
    /// Never more than this, unless forced.
    most: usize,
    used: usize,
    /// Taken from the grant.
    held: usize,
}

impl Share {
    /// Takes bytes; false: the operator has to go to disk.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> bool {
        let wanted = self.used.saturating_add(bytes);
        if wanted > self.held && !self.grow(wanted) {
            return false;
        }
        self.used = wanted;
        true
    }

    #[cold]
    fn grow(&mut self, wanted: usize) -> bool {
        if wanted > self.most {
            return false;
        }
        let need = wanted - self.held;
        if wanted <= OPERATOR_MIN {
            self.grant.force(need);
            self.held += need;
            return true;
        }
        for step in [need.max(STEP).max(self.held / 8), need] {
            if self.grant.take(step, true) {
                self.held += step;
                return true;
            }
        }
        false
    }

    /// Takes bytes without which nothing goes on.
    pub fn force(&mut self, bytes: usize) {
        self.used += bytes;
        if self.used > self.held {
            self.grant.force(self.used - self.held);
            self.held = self.used;
        }
    }

    /// Takes bytes without which nothing goes on, if the instance has them. Error: 701.
    pub fn need(&mut self, bytes: usize) -> Result<(), SqlError> {
        let wanted = self.used.saturating_add(bytes);
        let missing = wanted.saturating_sub(self.held);
        if missing > 0 {
            if wanted <= OPERATOR_MIN {
                self.grant.force(missing);
            } else if !self.grant.take(missing, false) {
                return Err(out_of_memory());
            }
            self.held += missing;
        }
        self.used = wanted;
        Ok(())
    }

    /// Gives bytes back.
    pub fn give(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.used, "more given than taken");
        self.used = self.used.saturating_sub(bytes);
        if self.held - self.used >= STEP {
            self.grant.give(self.held - self.used);
            self.held = self.used;
        }
    }

    /// Gives all bytes back.
    pub fn clear(&mut self) {
        self.grant.give(self.held);
        (self.used, self.held) = (0, 0);
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Another share of the same grant.
    pub fn sibling(&self) -> Share {
        Share { grant: self.grant.clone(), most: self.most, used: 0, held: 0 }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What one statement keeps to its end and cannot put on disk; the grant that its operators' shares
/// are of.
#[derive(Debug, Default)]
pub struct StatementMemory {
    grant: Option<Arc<Grant>>,
    used: usize,
    /// Taken from the grant.
    held: usize,
}

impl StatementMemory {
    /// The grant; made when it is first asked for, as one of the session's.
    pub fn grant(&mut self, grants: &Grants, budget: &Arc<QueryMemory>) -> &Arc<Grant> {
        self.grant.get_or_insert_with(|| grants.add(budget))
    }

    /// Bytes that are kept.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Counts bytes; false when they have to be taken from the grant.
    #[inline]
    pub fn count(&mut self, bytes: usize) -> bool {
        self.used = self.used.saturating_add(bytes);
        self.used <= self.held + UNCOUNTED
    }

    /// Takes what was counted. Error: 701.
    #[cold]
    pub fn take_counted(
        &mut self,
        grants: &Grants,
        budget: &Arc<QueryMemory>,
    ) -> Result<(), SqlError> {
        let need = self.used.saturating_sub(self.held + UNCOUNTED);
        let grant = self.grant.get_or_insert_with(|| grants.add(budget));
        for step in [need.max(STEP), need] {
            if grant.take(step, false) {
                self.held += step;
                return Ok(());
            }
        }
        if self.used > STATEMENT_MIN {
            return Err(out_of_memory());
        }
        grant.force(need);
        self.held += need;
        Ok(())
    }

    /// Gives bytes back.
    pub fn release(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        let spare = self.held.saturating_sub(self.used);
        if spare >= 2 * STEP
            && let Some(grant) = &self.grant
        {
            grant.give(spare);
            self.held -= spare;
        }
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        if let Some(grant) = &self.grant {
            grant.give(self.held);
        }
    }
}

/// Bytes that a kept row takes.
pub fn row_bytes(row: &[types::Value]) -> usize {
    std::mem::size_of_val(row) + row.iter().map(types::Value::heap_bytes).sum::<usize>() + 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(limit: usize) -> Arc<QueryMemory> {
        Arc::new(QueryMemory::new(limit, usize::MAX))
    }

    #[test]
    fn a_statement_has_a_limit_of_its_own() {
        let budget = Arc::new(QueryMemory::new(64 << 20, usize::MAX).with_statement(4 << 20));
        let (one, other) = (Grant::new(&budget), Grant::new(&budget));
        let (mut first, mut second) = (one.share(), one.share());
        assert!(first.take(2 << 20) && second.need(2 << 20).is_ok());
        assert!(!first.take(4 << 20), "it goes to disk");
        assert_eq!(second.need(1 << 20).unwrap_err().number, 701);
        assert!(other.share().need(4 << 20).is_ok(), "another statement has its own");
    }

    #[test]
    fn a_share_leaves_as_much_as_its_statement_holds() {
        let budget = budget(64 << 20);
        let first = Grant::new(&budget);
        let (mut a, mut b) = (first.share(), first.share());
        let mut taken = 0;
        while a.take(1 << 20) {
            taken += 1;
        }
        assert_eq!(taken, 32);
        assert!(!b.take(1 << 20), "the statement has its half");
        assert!(b.take(OPERATOR_MIN), "a little is always there");
        let mut other = Grant::new(&budget).share();
        assert!(other.take(15 << 20) && !other.take(2 << 20), "the other half is shared alike");
        drop(a);
        assert!(other.take(2 << 20), "what was given back can be had");
        drop((b, other));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_cannot_go_to_disk_is_refused_at_the_limit() {
        let budget = budget(8 << 20);
        let (mut kept, grants) = (StatementMemory::default(), Grants::default());
        assert!(kept.count(UNCOUNTED));
        assert_eq!(budget.used(), 0);
        assert!(!kept.count(7 << 20));
        kept.take_counted(&grants, &budget).expect("it fits");
        let shown = |grants: &Grants| {
            grants.look().iter().map(|one| (one.held, one.peak)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&grants), [(7 << 20, 7 << 20)]);
        let mut other = StatementMemory::default();
        assert!(!other.count(STATEMENT_MIN));
        other.take_counted(&grants, &budget).expect("a little is always there");
        assert!(!other.count(1 << 20));
        assert_eq!(other.take_counted(&grants, &budget).map_err(|e| e.number), Err(701));
        kept.release(7 << 20);
        assert_eq!(
            (shown(&grants)[0].1, grants.look().len()),
            (7 << 20, 2),
            "the most that it has held"
        );
        other.take_counted(&grants, &budget).expect("what was given back can be had");
        drop((kept, other));
        assert_eq!((budget.used(), grants.look().len()), (0, 0));
    }

    #[test]
    fn a_share_gives_back_in_steps_and_whole() {
        let budget = Arc::new(QueryMemory::new(64 << 20, 4 << 20));
        let mut share = Grant::new(&budget).share();
        assert!(share.take(4 << 20) && !share.take(1));
        share.give(3 << 20);
        assert!(budget.used() < 2 << 20);
        share.force(10 << 20);
        assert_eq!(share.used(), 11 << 20);
        share.clear();
        assert_eq!(budget.used(), 0);
    }
}
