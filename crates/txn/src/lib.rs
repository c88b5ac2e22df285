//! Transactions, locks, snapshots, rollback, checkpoints, recovery

pub mod locks;
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TxnId(pub u64);
