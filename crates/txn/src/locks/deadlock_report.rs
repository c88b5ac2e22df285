//! What is told of a deadlock that was broken: who waited for which lock of which owner, and which
//! victim gave way.

use std::time::{Duration, SystemTime};

use super::modes::LockMode;
use super::names::{LockRequester, Resource};

/// An owner that waits in a deadlock.
#[derive(Debug, Clone)]
pub struct DeadlockParty {
    /// The owner and its session.
    pub who: LockRequester,
    /// For what.
    pub resource: Resource,
    /// In which mode.
    pub mode: LockMode,
    /// It holds the resource in a weaker mode.
    pub conversion: bool,
    /// How long so far.
    pub waited: Duration,
    /// Its DEADLOCK_PRIORITY.
    pub priority: i8,
    /// Log that its session's transactions have written.
    pub log_bytes: u64,
    /// What blocks it: the next party.
    pub blocked_by: DeadlockEdge,
}

/// What one party of a deadlock has that the one before it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlockEdge {
    /// The owner of it, which is of the next party's session.
    pub who: LockRequester,
    /// How it blocks.
    pub block: Block,
}

/// How one request blocks another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// It is held in this mode.
    Holds(LockMode),
    /// It is asked for in this mode and is ahead in the queue.
    Ahead(LockMode),
}

/// A deadlock that was broken. Each party waits for the one after it, the last for the first.
#[derive(Debug, Clone)]
pub struct Deadlock {
    /// When.
    pub at: SystemTime,
    /// Who waited.
    pub parties: Vec<DeadlockParty>,
    /// Which of them was chosen.
    pub victim: usize,
}
