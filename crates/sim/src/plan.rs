//! What fails and when: counters of operations by kind, and the faults waiting for one of them.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Kinds of operations that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    Read,
    /// Any write: `write_at`, `write_gather`, `write_durable`, `write_zeros`.
    Write,
    Sync,
    /// `set_len`, `allocate`, and what `write_zeros` reserves before it writes.
    SetLen,
    /// Open with create, remove, rename, create folder, small atomic write.
    Name,
    /// Any of these.
    Any,
}

const KINDS: usize = 6;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// EIO; nothing is changed.
    Io,
    /// ENOSPC; nothing is changed.
    NoSpace,
    /// EFBIG; nothing is changed.
    FileLimit,
    /// EIO after part of the sectors were written (a write); like [`Fault::Io`] for anything else.
    ShortWrite,
    /// A sync returns EIO, and what was unsynced is lost for good although reads still return it
    /// and the next sync succeeds, as file systems behave after a failed writeback. For
    /// `write_durable` the bytes written are lost in the same way, and a changed length whose sync
    /// fails may be lost with all that was unsynced.
    LoseUnsynced,
}

#[derive(Clone, Debug)]
struct PlannedFault {
    path: Option<PathBuf>,
    kind: OpKind,
    left: u64,
    fault: Fault,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub crash_at: Option<u64>,
    planned: Vec<PlannedFault>,
    /// Parts of files that take no writes.
    refused: Vec<(PathBuf, Range<u64>, Fault)>,
    counts: [u64; KINDS],
}

impl Plan {
    pub fn add(&mut self, path: Option<PathBuf>, kind: OpKind, nth: u64, fault: Fault) {
        self.planned.push(PlannedFault { path, kind, left: nth.max(1), fault });
    }

    pub fn clear(&mut self) {
        self.crash_at = None;
        self.planned.clear();
        self.refused.clear();
    }

    pub fn refuse(&mut self, path: PathBuf, bytes: Range<u64>, fault: Fault) {
        self.refused.push((path, bytes, fault));
    }

    /// How a write there fails, if it always does.
    pub fn refusal(&self, path: &Path, bytes: &Range<u64>) -> Option<Fault> {
        let meets = |refused: &Range<u64>| refused.start < bytes.end && bytes.start < refused.end;
        self.refused
            .iter()
            .find(|(file, refused, _)| file == path && meets(refused))
            .map(|(.., fault)| *fault)
    }

    pub fn count(&self, kind: OpKind) -> u64 {
        self.counts[kind as usize]
    }

    /// Counts one operation and returns the fault that waits for it.
    pub fn strike(&mut self, path: &Path, kind: OpKind) -> Option<Fault> {
        self.counts[kind as usize] += 1;
        let mut struck = None;
        self.planned.retain_mut(|planned| {
            let meant = (planned.kind == kind || planned.kind == OpKind::Any)
                && planned.path.as_deref().is_none_or(|wanted| wanted == path);
            if meant {
                planned.left -= 1;
                if planned.left == 0 {
                    struck = struck.or(Some(planned.fault));
                }
            }
            planned.left > 0
        });
        struck
    }
}
