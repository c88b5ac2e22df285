//! Log blocks of which one bit has changed: found on the way from the checkpoint to the end, and
//! put right.
//!
//! Guarantee: a block is changed only if with that one bit its CRC and its sum are right, it says
//! that it is the block of its place, and it continues the chain; and only where opening found that
//! the log was durable beyond it (see `evidence`), which no torn write was.

use std::sync::Arc;

use disk::{AlignedBuf, BlockFile};

use crate::LogError;
use crate::block::BlockHeader;
use crate::open::{Recovery, read_meta};

/// So many blocks are put right at most: a log with more is not decayed but overwritten.
const MOST: usize = 64;

/// A bit that had changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MendedBit {
    /// Offset of the byte in the file.
    pub offset: u64,
    pub bit: u32,
}

/// Puts the blocks right of a log that is not open; `write`: if not, only the first of them is
/// found, and nothing is changed. Whether the log opens then is for opening it to say.
///
/// # Errors
/// The header is damaged; I/O.
pub fn mend(file: &Arc<dyn BlockFile>, write: bool) -> Result<Vec<MendedBit>, LogError> {
    let mut mended = Vec::new();
    while mended.len() < MOST {
        let (meta, map) = read_meta(&**file, file.path())?;
        let mut found = Recovery::new(file, &meta.header, map)?;
        let end = found.find_end();
        if end.and_then(|()| found.settle_end(&meta.header)).is_ok() {
            break;
        }
        let Some(bit) = found.flip_at_end()? else { break };
        mended.push(bit);
        if !write {
            break;
        }
        put_right(&**file, bit)?;
    }
    Ok(mended)
}

fn put_right(file: &dyn BlockFile, MendedBit { offset, bit }: MendedBit) -> Result<(), LogError> {
    let sector = u64::from(file.sectors().physical.max(512));
    let start = offset / sector * sector;
    let mut bytes = AlignedBuf::new(sector as usize);
    file.read_at(start, &mut bytes)?;
    bytes[(offset - start) as usize] ^= 1 << bit;
    file.write_durable(start, &[&bytes])?;
    Ok(())
}

impl Recovery {
    /// The bit that has changed in the block where the log seems to end, if one bit explains why it
    /// ends there.
    fn flip_at_end(&mut self) -> Result<Option<MendedBit>, LogError> {
        if self.place.rest(self.block) == 0 {
            return Ok(None);
        }
        let start = self.place.at(self.block);
        let bytes = self.reader.bytes(&self.place, self.block)?;
        if BlockHeader::verify(bytes, bytes.len()).is_some() {
            return Ok(None);
        }
        let Some((header, byte, bit)) = BlockHeader::flip_of(bytes, bytes.len()) else {
            return Ok(None);
        };
        let place =
            header.log_id == self.log_id && header.vlf == self.seq && header.block == self.block;
        let chain = self.is_at_checkpoint()
            || (header.prev_crc == self.prev_crc && header.incarnation >= self.incarnation);
        Ok((place && chain).then_some(MendedBit { offset: start + byte as u64, bit }))
    }
}
