//! What one transaction or session holds: the cache that makes locking again free.
//! Guarantees: everything held is released at the latest when the owner is dropped; an owner of
//! more than a few hundred locks has taken memory for them ([`LockMemory`]).

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::manager::LockManager;
use super::modes::LockMode;
use super::names::{FastBuild, OwnerId, Resource, Who};
use super::waits::{LockError, WaitArgs};

/// Beyond this many locks a hash index finds them.
const LINEAR: usize = 16;

/// Bytes of a lock: with its owner, in the index there, in the lock table.
const LOCK_BYTES: usize = 320;
/// Locks for which memory is taken at once. An owner of fewer asks nobody.
const STEP: usize = 256;

/// Whose memory locks take.
pub trait LockMemory: Send + Sync {
    /// Takes bytes for an owner that then holds `own`; false when there are not so many.
    fn take(&self, bytes: usize, own: usize) -> bool;
    /// Gives bytes back.
    fn give(&self, bytes: usize);
}

#[derive(Debug, Clone, Copy)]
struct Held {
    resource: Resource,
    mode: LockMode,
    /// Given back at the end of the statement, unless locked for the transaction meanwhile.
    statement: bool,
}

/// The locks of one owner. Not shared between threads at a time.
#[derive(Debug)]
pub struct LockOwner {
    manager: Arc<LockManager>,
    who: Who,
    held: SmallVec<[Held; 4]>,
    index: HashMap<Resource, usize, FastBuild>,
    statement_locks: usize,
    /// Locks for which memory is taken.
    paid: usize,
}

impl LockOwner {
    /// A new owner without locks. `session` is shown in lists; all owners of a session wait and are
    /// waited for as one.
    pub fn new(manager: Arc<LockManager>, session: u32) -> Self {
        let who = Who { id: manager.new_owner(), session };
        LockOwner {
            manager,
            who,
            held: SmallVec::new(),
            index: HashMap::default(),
            statement_locks: 0,
            paid: 0,
        }
    }

    /// Its identity.
    pub fn id(&self) -> OwnerId {
        self.who.id
    }

    /// Identity and session.
    pub fn who(&self) -> Who {
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

    fn remember(&mut self, h: Held) {
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

    fn forget(&mut self, i: usize) -> Held {
        let gone = self.held.swap_remove(i);
        if self.paid > 0 && self.held.len() + STEP <= self.paid {
            self.give(STEP);
        }
        // At LINEAR or below the index is not consulted; it is rebuilt when the list grows past that again.
        if self.held.len() > LINEAR {
            self.index.remove(&gone.resource);
            if let Some(moved) = self.held.get(i) {
                self.index.insert(moved.resource, i);
            }
        }
        gone
    }

    /// Locks until released or the owner ends.
    pub fn lock(&mut self, r: Resource, mode: LockMode, args: WaitArgs) -> Result<(), LockError> {
        self.take(r, mode, args, false)
    }

    /// Locks until [`LockOwner::end_statement`].
    pub fn lock_statement(&mut self, r: Resource, mode: LockMode, args: WaitArgs) -> Result<(), LockError> {
        self.take(r, mode, args, true)
    }

    fn take(
        &mut self,
        r: Resource,
        mode: LockMode,
        args: WaitArgs,
        statement: bool,
    ) -> Result<(), LockError> {
        let Some(i) = self.find(&r) else {
            if self.held.len() >= self.paid + STEP {
                self.pay(r)?;
            }
            let mode = self.manager.lock(self.who, r, mode, args)?;
            self.statement_locks += usize::from(statement);
            self.remember(Held { resource: r, mode, statement });
            return Ok(());
        };
        let held = self.held[i];
        if !held.mode.covers(mode) {
            self.held[i].mode = self.manager.lock(self.who, r, mode, args)?;
        }
        if held.statement && !statement {
            self.held[i].statement = false;
            self.statement_locks -= 1;
        }
        Ok(())
    }

    /// The mode held on `r`.
    pub fn mode_of(&self, r: &Resource) -> Option<LockMode> {
        self.find(r).map(|i| self.held[i].mode)
    }

    /// Whether `r` is held in this mode or a stronger one: `statement` at least to the end of the statement, else until it is
    /// released.
    #[inline]
    pub fn holds(&self, r: &Resource, mode: LockMode, statement: bool) -> bool {
        let covers = |held: &Held| held.mode.covers(mode) && (statement || !held.statement);
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
        self.statement_locks -= usize::from(gone.statement);
        self.manager.unlock(self.who.id, gone.resource);
        true
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
            if self.held[i].statement {
                let gone = self.forget(i);
                self.statement_locks -= 1;
                self.manager.unlock(self.who.id, gone.resource);
            } else {
                i += 1;
            }
        }
    }

    /// Gives everything back.
    pub fn release_all(&mut self) {
        for h in self.held.drain(..) {
            self.manager.unlock(self.who.id, h.resource);
        }
        if self.paid > 0 {
            // It had very many.
            (self.held, self.index) = (SmallVec::new(), HashMap::default());
            self.give(self.paid);
        }
        self.index.clear();
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
