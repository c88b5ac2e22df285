//! The transaction log: one circular stream of log blocks, cut into virtual log files (VLFs).
//!
//! # Invariants
//! - Records are ordered by [`Lsn`]. The durable ones are a prefix of the stream: `durable <=
//!   written <= end`, where `durable` is the end of what is durable and `written` the end of what
//!   is in the file. None of the three ever decreases.
//! - A log block is written once, aligned to the sector, and never rewritten. A VLF is used again
//!   only when all its records are below both the truncation point and the last checkpoint.
//! - No path that a statement takes walks VLFs: append, flush, truncation and reading cost the same
//!   with 4 or 20,000.
//! - The map of VLFs on disk never names space that the file does not have.
//!
//! # Faults survived
//! Lost, torn and reordered writes after the last acknowledged flush: opening stops at the first
//! block that does not continue the chain (see `block`). A failed write or sync is final: the log
//! goes offline and acknowledges nothing more. A panic of a thread that writes or changes the log
//! is final in the same way (see `panics`). Damage to what was durable is an error, not an earlier
//! end of the log (see `evidence` for what can be known).
//!
//! # Not here
//! What records mean, when to take checkpoints, what holds truncation back, when to flush under
//! delayed durability.

mod ahead;
mod archive;
mod block;
mod buffer;
mod flush;
mod grow;
mod header;
mod load;
mod log;
mod lsn;
mod mend;
mod on_disk;
mod open;
mod options;
mod panics;
mod read;
mod reserve;
mod restore;
mod runs;
mod second;
mod signal;
mod space;
mod stats;
mod tail;
mod trails;
mod turns;
mod vlf;
mod writes;

mod error;
mod evidence;

pub use archive::{LogArchive, LogLayout, VlfRun};
pub use error::LogError;
pub use header::CHECKPOINT_PAYLOAD_MAX;
pub use log::Log;
pub use lsn::Lsn;
pub use mend::{MendedBit, mend};
pub use open::{LogIdentity, OpenReport, check, identify};
pub use options::{Alignment, Growth, GrowthEvent, LogOptions, VlfRule, WaitKind, WaitSink};
pub use read::LogScan;
pub use reserve::CheckpointSpace;
pub use restore::{LogBlock, LogBlocks, LogRestore};
pub use stats::{LogSpace, LogStats, ShrinkReport, VlfInfo};

/// Largest log record in bytes.
pub const MAX_RECORD: usize = 48 << 10;

/// The last checkpoint: where recovery begins, and the data that the caller wants back when it
/// does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// The checkpoint's own record; [`Lsn::ZERO`] if there was none yet.
    pub checkpoint_lsn: Lsn,
    /// First record that redo needs.
    pub redo_lsn: Lsn,
    /// At most [`CHECKPOINT_PAYLOAD_MAX`] bytes that the log does not interpret.
    pub payload: Vec<u8>,
}
