//! The lab: what the layout of a log and its files costs, measured. A study is data (arms with
//! their configurations and steps, published figures, bounds), the frame runs it interleaved on
//! targets and devices, and its report has medians, intervals and paired ratios. Beside the studies
//! there are comparisons with other engines: the same work on each, TPC-C, TPC-H and the wire.
//!
//! Not here: the engines themselves (crate `targets`), the arithmetic of intervals (crate `stats`),
//! and anything that knows how an engine works inside.

pub mod compare;
pub mod frame;
mod machine;
pub mod notify;
pub mod peers;
mod raw;
pub mod report;
pub mod results;
pub mod studies;
pub mod study;
pub mod tpcc;
pub mod tpch;
mod verdict;
pub mod wire;

pub use targets::LabError;
