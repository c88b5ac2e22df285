//! Writes without an engine: the floor under a commit.

use crate::LabError;
use disk::{AlignedBuf, Disk, OpenMode};
use std::path::Path;
use std::time::Instant;
use targets::work::Figure;

fn failed(error: disk::DiskError) -> LabError {
    LabError::Request(format!("raw writes: {error}"))
}

/// What [`same_writes`] calls the writes of a second.
pub const RATE: &str = "writes a second";

/// Durable writes as many and as large as an engine's log writes were, one after another into space
/// that was written before; seconds, and how many a second.
pub fn same_writes(
    disk: &dyn Disk,
    folder: &Path,
    writes: i64,
    bytes: i64,
) -> Result<Vec<Figure>, LabError> {
    let writes = u64::try_from(writes).unwrap_or(0).max(1);
    let path = folder.join("raw.tmp");
    let file = disk.open(&path, OpenMode::Create).map_err(failed)?;
    let sector = u64::from(file.sectors().physical).max(512);
    let each = (u64::try_from(bytes).unwrap_or(0) / writes).max(1).next_multiple_of(sector);
    let space = (each * writes).clamp(each, (256 << 20) / each * each);
    let run = || -> Result<f64, disk::DiskError> {
        file.set_len(space)?;
        file.write_zeros(0, space)?;
        let buffer = AlignedBuf::new(each as usize);
        let begin = Instant::now();
        for i in 0..writes {
            file.write_durable(i * each % space, &[&buffer])?;
        }
        Ok(begin.elapsed().as_secs_f64())
    };
    let seconds = run();
    drop(file);
    disk.remove(&path).map_err(failed)?;
    let seconds = seconds.map_err(failed)?;
    let rate = Figure::named(RATE, "writes/s", writes as f64 / seconds.max(1e-9));
    Ok([Figure::seconds(seconds), vec![rate]].concat())
}
