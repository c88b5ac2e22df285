//! What statements of Ringwood know of their session and its instance: the state of a session, the
//! instance as statements see it, the memory and the run files of queries, and what a client is
//! told. Entry points: [`SessionCore`](state::SessionCore), [`Host`](state::host::Host),
//! [`output::Sink`]. Guarantees: a statement that fails leaves no trace once its session has taken
//! it back; what a session keeps is charged to the instance's account; nothing here runs a plan or
//! knows a batch: what is done by the layers above is asked of
//! [`Upcalls`](state::host::Upcalls).

pub mod asking;
pub mod conceal;
pub mod output;
pub mod query_memory;
pub mod run_files;
pub mod state;
