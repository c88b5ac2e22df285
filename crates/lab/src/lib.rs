//! The lab: what the layout of a log and its files costs, measured. A study is data (arms with
//! their configurations and steps, published figures, bounds), the frame runs it interleaved on
//! targets and devices, and its report has medians, intervals and paired ratios.
//!
//! Not here: anything that knows how the engine works inside. The lab speaks T-SQL to it.

pub mod compare;
pub mod customers;
pub mod device;
pub mod embedded;
pub mod frame;
pub mod machine;
pub mod notify;
pub mod peers;
pub mod raw;
pub mod report;
pub mod results;
pub mod stats;
pub mod studies;
pub mod target;
pub mod tpcc;
pub mod tpch;
pub mod watch;
pub mod wire;
pub mod work;
pub mod work_tsql;

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
