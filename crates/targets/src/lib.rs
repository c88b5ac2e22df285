//! Engines under test. A target makes a configuration and carries out a study's work on it, and
//! says which of its own settings the study's factor is. What it cannot do it refuses as
//! unsupported, with the reason. Ringwood is one in this process, and one as a server of the lab's
//! own. A server that speaks TDS is somebody's, under its address; SQL Server is one. Peers
//! (feature `peers`) are the servers that are installed, started on a scratch folder and reachable
//! from this machine only, through their client libraries, and SQLite in this process.
//!
//! Here too: the work that is asked of them as data ([`work`]), the devices that their files lie on
//! ([`device`]), and the servers that the lab starts for a comparison over the wire. Not here:
//! which studies there are, how often they run and what their figures say.

mod at_once;
#[cfg(feature = "peers")]
mod clients;
pub mod customers;
pub mod device;
pub mod embedded;
mod kept;
mod latency;
#[cfg(feature = "peers")]
mod mariadb;
pub mod mssql;
mod names;
mod outage;
#[cfg(feature = "peers")]
pub mod own_postgres;
pub mod own_server;
#[cfg(feature = "peers")]
mod postgres;
#[cfg(feature = "peers")]
mod process;
pub mod processors;
mod ringwood;
mod served;
#[cfg(feature = "peers")]
mod sqlite;
mod target;
mod tsql;
mod watch;
pub mod work;

pub use kept::MADE_EARLIER;
pub use mssql::Hook;
pub use names::{NAMES, find, is_address, shown, without_peers};
#[cfg(feature = "peers")]
pub use postgres::Postgres;
pub use served::TITLE as SERVED;
pub use target::{TORN, Target, TargetPlace};

/// What can go wrong in the lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file of the lab's own.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Standard output that cannot be written.
    #[error("standard output: {0}")]
    Output(std::io::Error),
    /// Results that cannot be read or written.
    #[error("results: {0}")]
    Json(#[from] serde_json::Error),
    /// An engine's error, with the statement that caused it.
    #[error("{target}: {message}\n  in: {statement}")]
    Target {
        /// Which engine.
        target: String,
        /// What it said.
        message: String,
        /// What it was asked.
        statement: String,
    },
    /// What an engine does not do: noted, and the study goes on.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Work that was stopped after that many seconds.
    #[error("stopped after {0} s")]
    TimeLimit(u64),
    /// A request that makes no sense or does not fit the machine.
    #[error("{0}")]
    Request(String),
}
