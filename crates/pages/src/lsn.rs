//! Stand-in for `wal::Lsn` until the log crate has landed; same shape, same order.

use std::fmt;

/// Place of a log record: VLF sequence number, block offset in 512-byte units, slot within the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn {
    pub vlf: u32,
    pub block: u32,
    pub slot: u16,
}

impl Lsn {
    pub const ZERO: Lsn = Lsn { vlf: 0, block: 0, slot: 0 };
    pub const MAX: Lsn = Lsn { vlf: u32::MAX, block: u32::MAX, slot: u16::MAX };
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.vlf, self.block, self.slot)
    }
}
