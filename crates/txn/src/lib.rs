//! Transactions, locks, snapshots, rollback, checkpoints, recovery
