//! Which reads by LSN follow the log backwards: rollbacks do (see `load`).

use std::collections::VecDeque;

use disk::AlignedBuf;

use crate::block::BLOCK_MAX;

/// Trails that are followed at the same time: rollbacks of several transactions.
const TRAILS: usize = 8;

/// Where the last reads by LSN began.
#[derive(Debug, Default)]
pub(crate) struct Trails {
    /// File offsets, the newest first.
    at: VecDeque<u64>,
    pub buf: Option<AlignedBuf>,
}

impl Trails {
    /// Whether the read at `offset` continues an earlier one towards the log's start. The earlier
    /// one is then forgotten.
    pub fn goes_on(&mut self, offset: u64) -> bool {
        let near = |at: &u64| offset < *at && at - offset <= BLOCK_MAX as u64;
        let found = self.at.iter().position(near);
        found.map(|found| self.at.remove(found)).is_some()
    }

    pub fn note(&mut self, offset: u64, buf: AlignedBuf) {
        self.at.truncate(TRAILS - 1);
        self.at.push_front(offset);
        self.buf = Some(buf);
    }
}
