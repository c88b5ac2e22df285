//! The lab: what the layout of a log and its files costs, measured. A study is data (factor, levels, measures, published
//! figures) and a driver; its runs are interleaved and its report has medians, intervals and paired ratios.
//!
//! Not here: anything that knows how the engine works inside. The lab speaks T-SQL to it.

pub mod embedded;
pub mod machine;
pub mod peers;
pub mod report;
pub mod results;
mod stats;
pub mod studies;
pub mod target;
pub mod tpcc;

pub use stats::{median, median_interval, paired_ratio};

/// What can go wrong in the lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file of the lab's own.
    #[error("{0}")]
    Io(#[from] std::io::Error),
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
    /// A request that makes no sense or does not fit the machine.
    #[error("{0}")]
    Request(String),
}
