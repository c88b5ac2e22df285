//! The lock manager: what each owner holds and waits for, and the victims of deadlocks.
//! Guarantees: grants are first in, first out with conversions in front, but for who goes beside
//! all that wait ahead; a lock that is free costs one short mutex, however many hold it (of a table
//! that nobody excludes one of few owners: `weak`); every deadlock is found, whichever databases
//! and kinds of locks it goes over, waits for transactions (row locks) included, and is looked for
//! again as long as anybody waits.

mod bucket;
mod deadlock_report;
mod deadlocks;
mod graph;
mod lists;
mod manager;
pub mod modes;
mod monitor;
mod names;
pub mod owner;
mod table;
pub mod waits;
mod weak;

pub use deadlock_report::{Block, Deadlock, DeadlockEdge, DeadlockParty};
pub use lists::{LockInfo, LockStatus, Waiting};
pub use manager::{LockManager, LockMemory};
pub use modes::LockMode;
pub use names::{FastBuild, FastHash, LockRequester, LockTarget, OwnerId, Resource};
pub use owner::{Grant, LockDuration, LockOwner};
pub use waits::{LockError, LockWaitStat, WaitArgs};

#[cfg(test)]
mod deadlock_tests;
#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod tests;
