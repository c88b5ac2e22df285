//! What a session is while it runs: its options, its transactions and savepoints, its snapshots and
//! table locks, what it publishes of itself. Batches run over it (`session`, `batch`); it knows
//! nothing of them.

mod acting;
pub mod activity;
mod answers;
pub mod app_locks;
pub mod before_answer;
pub mod bulk;
pub mod caller;
pub mod changes;
pub mod core;
mod counts;
pub mod cursors;
mod effective;
pub mod handles;
pub mod holdings;
mod identity_insert;
pub mod inner;
pub mod locks;
pub mod names;
pub mod phases;
pub mod profile;
pub mod rights;
pub mod room;
mod running_module;
pub mod scans;
mod snapshots;
pub mod transactions;
pub mod uses;

pub use self::core::SessionCore;
