//! What one transaction or session holds: the cache that makes locking again free.
//! Guarantees: everything held is released at the latest when the owner is dropped; an owner of
//! more than a few hundred locks has taken memory for them ([`LockMemory`](super::LockMemory)).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use smallvec::SmallVec;

use super::manager::LockManager;
use super::modes::LockMode;
use super::names::{FastBuild, LockRequester, LockTarget, OwnerId, Resource};
use super::waits::{LockError, WaitArgs};
use super::weak::{WeakLocks, excludes, is_weak};

/// Beyond this many locks a hash index finds them.
const LINEAR: usize = 16;

/// Bytes of a lock: with its owner, in the index there, in the lock table.
const LOCK_BYTES: usize = 320;
/// Locks for which memory is taken at once. An owner of fewer asks nobody.
const STEP: usize = 256;

/// How long a lock stays at least. Who asks for a lock that is held already makes it stay longer,
/// never shorter: a part of a statement does not give back what another part of it, or the
/// transaction, still needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockDuration {
    /// Whoever took it first gives it back ([`LockOwner::unlock_taken`]), unless somebody else has
    /// asked for more.
    GivenBack,
    /// To the end of the statement.
    Statement,
    /// To the end of the transaction, or until [`LockOwner::unlock`].
    Transaction,
}

/// What came of a request that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// It is held from now on.
    New,
    /// It was held in a weaker mode.
    Stronger,
    /// It was held before, in this mode or a stronger one.
    Held,
    /// Somebody else holds it and it was not to be waited for.
    Busy,
}

/// Whether it is one of those that a transaction may hold very many of, and that exclude nothing
/// which others keep of a table.
#[inline]
fn is_of_a_row(r: &Resource) -> bool {
    matches!(r.what, LockTarget::Key { .. } | LockTarget::Rid { .. })
}

#[derive(Debug, Clone, Copy)]
struct HeldLock {
    resource: Resource,
    mode: LockMode,
    until: LockDuration,
    /// It is counted among those that exclude what others keep of a table.
    excludes: bool,
    /// It was kept beside the lock table; who excludes it may have moved it there.
    kept: bool,
}

/// The locks of one owner. Not shared between threads at a time.
#[derive(Debug)]
pub struct LockOwner {
    manager: Arc<LockManager>,
    who: LockRequester,
    held: SmallVec<[HeldLock; 4]>,
    index: HashMap<Resource, usize, FastBuild>,
    statement_locks: usize,
    /// Locks for which memory is taken.
    paid: usize,
    /// It has begun again, and will: what it locks of tables is kept beside the lock table.
    lasts: bool,
    /// Where.
    weak: Option<Arc<WeakLocks>>,
}

impl LockOwner {
    /// A new owner without locks. `session` is shown in lists; all owners of a session wait and are
    /// waited for as one.
    pub fn new(manager: Arc<LockManager>, session: u32) -> Self {
        let who = LockRequester { id: manager.new_owner(), session };
        LockOwner {
            manager,
            who,
            held: SmallVec::new(),
            index: HashMap::default(),
            statement_locks: 0,
            paid: 0,
            lasts: false,
            weak: None,
        }
    }

    /// Begins again as another owner of the same session, without locks.
    pub(crate) fn begin_again(&mut self) {
        debug_assert!(self.held.is_empty(), "an owner with locks becomes another one");
        self.release_all();
        self.who.id = self.manager.new_owner();
        self.lasts = true;
    }

    /// Its identity.
    pub fn id(&self) -> OwnerId {
        self.who.id
    }

    /// Identity and session.
    pub fn who(&self) -> LockRequester {
        self.who
    }

    /// The lock table.
    pub fn manager(&self) -> &Arc<LockManager> {
        &self.manager
    }

    fn find(&self, r: &Resource) -> Option<usize> {
        if self.held.len() <= LINEAR {
            return self.held.iter().position(|h| h.resource == *r);
        }
        self.index.get(r).copied()
    }

    fn remember(&mut self, h: HeldLock) {
        self.held.push(h);
        if self.held.len() == LINEAR + 1 {
            self.index = self.held.iter().enumerate().map(|(i, h)| (h.resource, i)).collect();
        } else if self.held.len() > LINEAR {
            self.index.insert(h.resource, self.held.len() - 1);
        }
    }

    /// Takes memory for the next locks.
    #[cold]
    fn pay(&mut self, resource: Resource) -> Result<(), LockError> {
        let Some(memory) = self.manager.memory() else { return Ok(()) };
        if !memory.take(STEP * LOCK_BYTES, (self.paid + STEP) * LOCK_BYTES) {
            return Err(LockError::NoMemory { resource });
        }
        self.paid += STEP;
        Ok(())
    }

    /// Gives the memory of so many locks back.
    #[cold]
    fn give(&mut self, locks: usize) {
        self.paid -= locks;
        if let Some(memory) = self.manager.memory() {
            memory.give(locks * LOCK_BYTES);
        }
    }

    fn forget(&mut self, i: usize) -> HeldLock {
        let gone = self.held.swap_remove(i);
        if self.paid > 0 && self.held.len() + STEP <= self.paid {
            self.give(STEP);
        }
        // At LINEAR or below the index is not consulted; it is rebuilt when the list grows past
        // that again.
        if self.held.len() > LINEAR {
            self.index.remove(&gone.resource);
            if let Some(moved) = self.held.get(i) {
                self.index.insert(moved.resource, i);
            }
        }
        gone
    }

    /// Keeps a lock that is not held beside the lock table, if that may be.
    #[inline]
    fn keep(&mut self, r: Resource, mode: LockMode) -> bool {
        if !self.lasts || !is_weak(&r, mode) {
            return false;
        }
        let own = self.weak.get_or_insert_with(|| self.manager.enter_keepers(r.db));
        own.db() == r.db && self.manager.keep_weak(own, self.who, r, mode)
    }

    /// The lock table will be asked for a lock. Whether it is counted by this among those that
    /// exclude; `counted`: it is already.
    #[inline]
    fn begin_asking(&self, r: &Resource, mode: LockMode, counted: bool) -> bool {
        let counts = excludes(r, mode) && !counted;
        if counts {
            self.manager.begin_excluding(r);
        }
        counts
    }

    /// As [`LockOwner::begin_asking`], for a lock that is held in a weaker mode.
    fn begin_converting(&mut self, i: usize, mode: LockMode) -> bool {
        let held = self.held[i];
        if held.kept {
            self.held[i].kept = false;
            if let Some(own) = &self.weak {
                self.manager.move_weak(own, self.who, &held.resource);
            }
        }
        self.begin_asking(&held.resource, mode, held.excludes)
    }

    /// It did not get the lock, or has given it back.
    #[inline]
    fn end_asking(&self, r: &Resource, counts: bool) {
        if counts {
            self.manager.end_excluding(r);
        }
    }

    /// Gives a lock back that was forgotten here.
    fn give_back(&self, gone: &HeldLock) {
        if gone.kept
            && let Some(own) = &self.weak
            && own.remove(self.who, &gone.resource)
        {
            return;
        }
        self.manager.unlock(self.who.id, gone.resource);
        self.end_asking(&gone.resource, gone.excludes);
    }

    /// Locks until released or the owner ends.
    pub fn lock(&mut self, r: Resource, mode: LockMode, args: WaitArgs) -> Result<(), LockError> {
        self.lock_until(r, mode, args, LockDuration::Transaction)
    }

    /// Locks until [`LockOwner::end_statement`].
    pub fn lock_statement(
        &mut self,
        r: Resource,
        mode: LockMode,
        args: WaitArgs,
    ) -> Result<(), LockError> {
        self.lock_until(r, mode, args, LockDuration::Statement)
    }

    /// Locks, for at least as long as `until` says.
    pub(crate) fn lock_until(
        &mut self,
        r: Resource,
        mode: LockMode,
        args: WaitArgs,
        until: LockDuration,
    ) -> Result<(), LockError> {
        let Some(i) = self.find(&r) else {
            if self.held.len() >= self.paid + STEP {
                self.pay(r)?;
            }
            let (mut mode, mut excludes) = (mode, false);
            let kept = self.keep(r, mode);
            if !kept {
                excludes = self.begin_asking(&r, mode, false);
                let locked = self.manager.lock(self.who, r, mode, args);
                mode = locked.inspect_err(|_| self.end_asking(&r, excludes))?;
            }
            self.statement_locks += usize::from(until == LockDuration::Statement);
            self.remember(HeldLock { resource: r, mode, until, excludes, kept });
            return Ok(());
        };
        if !self.held[i].mode.covers(mode) {
            let counts = self.begin_converting(i, mode);
            let locked = self.manager.lock(self.who, r, mode, args);
            self.held[i].mode = locked.inspect_err(|_| self.end_asking(&r, counts))?;
            self.held[i].excludes |= counts;
        }
        self.stay(i, until);
        Ok(())
    }

    /// Locks without waiting, for at least as long as `until` says.
    ///
    /// # Errors
    /// No memory.
    pub fn try_until(
        &mut self,
        r: Resource,
        mode: LockMode,
        until: LockDuration,
    ) -> Result<Grant, LockError> {
        if is_of_a_row(&r) && self.held.len() > LINEAR && self.held.len() < self.paid + STEP {
            return Ok(self.try_row(r, mode, until));
        }
        let Some(i) = self.find(&r) else {
            if self.held.len() >= self.paid + STEP {
                self.pay(r)?;
            }
            let excludes = self.begin_asking(&r, mode, false);
            let Some(mode) = self.manager.try_lock(self.who, r, mode) else {
                self.end_asking(&r, excludes);
                return Ok(Grant::Busy);
            };
            self.statement_locks += usize::from(until == LockDuration::Statement);
            self.remember(HeldLock { resource: r, mode, until, excludes, kept: false });
            return Ok(Grant::New);
        };
        Ok(self.try_held(i, mode, until))
    }

    /// As [`LockOwner::try_until`] for one more of many rows, for which there is memory: the index
    /// is asked once.
    fn try_row(&mut self, r: Resource, mode: LockMode, until: LockDuration) -> Grant {
        let i = match self.index.entry(r) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let Some(mode) = self.manager.try_lock(self.who, r, mode) else {
                    return Grant::Busy;
                };
                place.insert(self.held.len());
                self.held.push(HeldLock { resource: r, mode, until, excludes: false, kept: false });
                self.statement_locks += usize::from(until == LockDuration::Statement);
                return Grant::New;
            }
        };
        self.try_held(i, mode, until)
    }

    /// The same for a lock that is held.
    fn try_held(&mut self, i: usize, mode: LockMode, until: LockDuration) -> Grant {
        let mut grant = Grant::Held;
        if !self.held[i].mode.covers(mode) {
            let r = self.held[i].resource;
            let counts = self.begin_converting(i, mode);
            let Some(mode) = self.manager.try_lock(self.who, r, mode) else {
                self.end_asking(&r, counts);
                return Grant::Busy;
            };
            self.held[i].mode = mode;
            self.held[i].excludes |= counts;
            grant = Grant::Stronger;
        }
        self.stay(i, until);
        grant
    }

    /// A lock that is held stays at least as long as this.
    fn stay(&mut self, i: usize, until: LockDuration) {
        let before = self.held[i].until;
        if until > before {
            self.held[i].until = until;
            self.statement_locks += usize::from(until == LockDuration::Statement);
            self.statement_locks -= usize::from(before == LockDuration::Statement);
        }
    }

    /// The mode in which `r` is held, if it is; it stays at least as long as `until` says then.
    pub(crate) fn held_until(&mut self, r: &Resource, until: LockDuration) -> Option<LockMode> {
        let i = self.find(r)?;
        self.stay(i, until);
        Some(self.held[i].mode)
    }

    /// The mode held on `r`.
    pub fn mode_of(&self, r: &Resource) -> Option<LockMode> {
        self.find(r).map(|i| self.held[i].mode)
    }

    /// Whether `r` is held in this mode or a stronger one: `statement` at least to the end of the
    /// statement, else until it is released.
    #[inline]
    pub fn holds(&self, r: &Resource, mode: LockMode, statement: bool) -> bool {
        let least = if statement { LockDuration::Statement } else { LockDuration::Transaction };
        let covers = |held: &HeldLock| held.mode.covers(mode) && held.until >= least;
        match self.held.first() {
            // Mostly the table that was locked first.
            Some(held) if held.resource == *r => covers(held),
            _ => self.find(r).and_then(|i| self.held.get(i)).is_some_and(covers),
        }
    }

    /// Gives one lock back. False when it was not held.
    pub fn unlock(&mut self, r: &Resource) -> bool {
        let Some(i) = self.find(r) else { return false };
        let gone = self.forget(i);
        self.statement_locks -= usize::from(gone.until == LockDuration::Statement);
        self.give_back(&gone);
        true
    }

    /// Gives a lock back that was taken [`LockDuration::GivenBack`], unless it is to stay longer by
    /// now.
    pub fn unlock_taken(&mut self, r: &Resource) {
        let Some(i) = self.find(r) else { return };
        if self.held[i].until == LockDuration::GivenBack {
            let gone = self.forget(i);
            self.give_back(&gone);
        }
    }

    /// Gives back what was locked for the statement only.
    #[inline]
    pub fn end_statement(&mut self) {
        if self.statement_locks > 0 {
            self.end_statement_locks();
        }
    }

    fn end_statement_locks(&mut self) {
        let mut i = 0;
        while self.statement_locks > 0 && i < self.held.len() {
            if self.held[i].until == LockDuration::Statement {
                let gone = self.forget(i);
                self.statement_locks -= 1;
                self.give_back(&gone);
            } else {
                i += 1;
            }
        }
    }

    /// Gives everything back.
    pub fn release_all(&mut self) {
        while let Some(gone) = self.held.pop() {
            self.give_back(&gone);
        }
        if self.held.capacity() > LINEAR {
            // It had many: who begins in its place has not.
            (self.held, self.index) = (SmallVec::new(), HashMap::default());
        }
        if self.paid > 0 {
            self.give(self.paid);
        }
        self.statement_locks = 0;
    }

    /// How many resources are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Holds nothing?
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
    }
}
