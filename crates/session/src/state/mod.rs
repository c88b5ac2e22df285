//! What a session is while it runs: its options, its transactions and savepoints, its snapshots and
//! table locks, what it publishes of itself. Batches run over it (`session`, `batch`); it knows
//! nothing of them.

mod acting;
pub mod activity;
pub mod answer_wait;
mod answers;
pub mod app_locks;
pub mod before_answer;
pub mod bulk;
pub mod caller;
pub mod changes;
pub mod client_transaction;
pub mod core;
mod counts;
mod current_db;
pub mod cursors;
mod effective;
pub mod handles;
pub mod holdings;
pub mod host;
pub mod identity;
mod identity_insert;
pub mod inner;
pub mod kept_memory;
pub mod locks;
pub mod names;
pub mod phases;
pub mod profile;
pub mod rights;
mod running_module;
pub mod scans;
pub mod session_objects;
pub mod session_run;
mod shared;
mod snapshots;
pub mod space_retry;
pub mod transactions;
pub mod uses;

pub use self::core::SessionCore;
