//! Making what was written to several files durable at the same time.

use crate::error::PageError;
use crate::files::DataFile;
use std::sync::Arc;

/// Files that are synced at the same time.
const SYNC_LANES: usize = 4;

/// Makes all finished writes durable. Several at a time, on one device too: it serves flushes that
/// come together as one.
pub(crate) fn sync_all(files: &[Arc<DataFile>]) -> Result<(), PageError> {
    let lanes: Vec<&[Arc<DataFile>]> =
        files.chunks(files.len().div_ceil(SYNC_LANES).max(1)).collect();
    in_parallel(&lanes, |file| file.sync())
}

/// Runs a job on every file: the files of a lane one after the other, each lane on a thread of its
/// own when there are several.
fn in_parallel<L: AsRef<[Arc<DataFile>]> + Sync>(
    lanes: &[L],
    job: impl Fn(&DataFile) -> Result<(), PageError> + Sync,
) -> Result<(), PageError> {
    let run = |lane: &L| lane.as_ref().iter().try_for_each(|file| job(file));
    let Some((first, rest)) = lanes.split_first() else { return Ok(()) };
    if rest.is_empty() {
        return run(first);
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = rest.iter().map(|lane| scope.spawn(|| run(lane))).collect();
        let mut result = run(first);
        for other in others {
            let one = other.join().unwrap_or_else(|_| Err(died()));
            result = result.and(one);
        }
        result
    })
}

/// What a thread says that cannot say anything.
pub(crate) fn died() -> PageError {
    PageError::Offline { cause: "a thread has panicked while pages were written".into() }
}
