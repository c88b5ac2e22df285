//! Transactions: locks, snapshots, commit and rollback, checkpoints, restart recovery, and the
//! [`Database`] that joins page store and log.
//!
//! Rows are their own locks (their headers name the writer); the lock manager has the rest. Readers
//! take snapshots and find older versions in the log. docs/internals/access.md has the reasons.

mod apart;
mod background;
mod background_state;
pub mod backup;
mod backup_state;
pub mod check;
pub mod checkpoint;
mod checkpoint_state;
pub mod cleanup;
mod codec;
mod commit_together;
mod counters;
pub mod database;
mod delayed;
mod discard;
mod end_ring;
mod error;
mod files;
mod forward;
mod global;
mod live;
mod lockers;
pub mod locks;
mod open;
mod options;
mod outcomes;
mod reclaim;
pub mod recovery;
mod recovery_report;
mod settled;
mod sink;
mod snapshot;
mod txn;
pub mod txns;
mod undo_ahead;
mod vacate;

pub use apart::Apart;
pub use background_state::{GhostCounts, GhostQueue};
pub use checkpoint::{ACTIVE_LIST, CheckpointReport};
pub use commit_together::commit_together;
pub use counters::TxnCounters;
pub use database::{Database, Deferred, Env, Errand, HeldBackground, Status, SystemWriter};
pub use error::{ErrorKind, TxnError};
pub use global::{DatabaseGuid, GlobalId, PrepareRecord};
pub use locks::{
    Grant, LockDuration, LockError, LockManager, LockMode, LockOwner, LockTarget, Resource,
    WaitArgs,
};
pub use open::{CreateSpec, FileIdentity, OTHER_LOG, OTHER_TIME, identify};
pub use options::{
    BackgroundPace, DbState, DelayedDurability, Durability, LogReuseWait, LossWindow, RecoveryModel,
};
pub use outcomes::{InDoubt, Outcome, Outcomes};
pub use recovery::Phase;
pub use recovery_report::RecoveryReport;
pub use snapshot::SnapshotGuard;
pub use txn::{Committed, Savepoint, Txn};
