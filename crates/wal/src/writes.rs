//! Writing finished blocks to the file: neighbours in one call, across the ends of VLFs too.

use std::sync::{Arc, OnceLock};

use disk::AlignedBuf;
use smallvec::SmallVec;

use crate::buffer::Block;

/// Largest gap between the last block of a VLF and the first of the next one that is filled with
/// zeros to make one write of both. More than the end of a VLF that a record of the largest size
/// can leave unused.
const GAP_MAX: usize = 64 << 10;

/// Finished blocks in log order.
pub(crate) type Batch = SmallVec<[Arc<Block>; 8]>;

/// Writes finished blocks, neighbours in one call; returns the lengths of the calls.
pub(crate) fn write_runs(
    file: &dyn disk::BlockFile,
    batch: &[Arc<Block>],
) -> Result<Vec<u64>, disk::DiskError> {
    let mut lens = Vec::new();
    let mut rest = batch;
    while let Some(first) = rest.first() {
        let (images, len, taken) = gather(rest);
        file.write_gather(first.offset, &images)?;
        lens.push(len);
        rest = &rest[taken..];
    }
    Ok(lens)
}

/// The images of the first blocks of a batch that one write can cover, with zeros in the gaps
/// between VLFs; their length in bytes and the number of blocks.
pub(crate) fn gather(batch: &[Arc<Block>]) -> (SmallVec<[&[u8]; 24]>, u64, usize) {
    let mut images = SmallVec::new();
    let (mut len, mut gap, mut taken) = (0, 0, 0);
    for block in batch {
        let Some((image, sealed)) = block.image().zip(block.sealed.get()) else { break };
        if gap > 0 {
            images.push(&zeros()[..gap]);
        }
        images.push(image);
        len += gap + image.len();
        taken += 1;
        match sealed.gap.map(|gap| gap as usize) {
            Some(next) if next <= GAP_MAX => gap = next,
            _ => break,
        }
        debug_assert!(
            batch.get(taken).is_none_or(|next| next.offset == batch[0].offset + (len + gap) as u64),
            "a gap leads to the next block"
        );
    }
    assert!(taken > 0, "a block in a batch is finished");
    (images, len as u64, taken)
}

/// What is written between the last block of a VLF and the first of the next one.
fn zeros() -> &'static AlignedBuf {
    static ZEROS: OnceLock<AlignedBuf> = OnceLock::new();
    ZEROS.get_or_init(|| AlignedBuf::new(GAP_MAX))
}
