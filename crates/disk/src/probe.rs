//! Discovery of sector sizes: what the file system reports about direct I/O, then what the block
//! device reports about itself.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::Sectors;

/// What direct I/O on a file needs.
pub(crate) struct DirectIo {
    /// The file system supports it for this file, as far as it reports that.
    pub allowed: bool,
    pub sectors: Sectors,
    /// Requests of a batch to keep in flight.
    pub depth: usize,
}

/// Fewest and most requests of a batch that are kept in flight unless an option says otherwise. A
/// queue of the kernel takes more, but a request from elsewhere then waits for all of them.
const DEPTHS: (u32, u32) = (32, 64);

/// `STATX_DIOALIGN` names the alignments of memory and offsets since Linux 6.1; older kernels leave
/// them out.
const DIO_ALIGN: u32 = 0x2000;

/// Examines an open file. Every source is optional: an unknown size counts as 512 bytes.
pub(crate) fn probe(fd: impl AsFd) -> DirectIo {
    let flags = StatxFlags::BASIC_STATS | StatxFlags::from_bits_retain(DIO_ALIGN);
    let Ok(stat) = statx(fd, "", AtFlags::EMPTY_PATH, flags) else {
        let sectors = Sectors { logical: 512, physical: 512 };
        return DirectIo { allowed: true, sectors, depth: DEPTHS.0 as usize };
    };
    let says_align = stat.stx_mask & DIO_ALIGN != 0;
    let allowed = !says_align || stat.stx_dio_offset_align != 0;
    let queue = queue_folder(stat.stx_dev_major, stat.stx_dev_minor);
    let from_queue =
        |name: &str| queue.as_deref().and_then(|dir| read_number(&dir.join(name))).unwrap_or(0);
    let dio = if says_align { stat.stx_dio_offset_align.max(stat.stx_dio_mem_align) } else { 0 };
    let logical = sane(from_queue("logical_block_size").max(dio));
    let physical = sane(from_queue("physical_block_size")).max(logical);
    let depth = (from_queue("nr_requests") / 2).clamp(DEPTHS.0, DEPTHS.1) as usize;
    DirectIo { allowed, sectors: Sectors { logical, physical }, depth }
}

/// The request queue of a block device; a partition shares the one of its disk.
fn queue_folder(major: u32, minor: u32) -> Option<PathBuf> {
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    [device.join("queue"), device.join("../queue")].into_iter().find(|dir| dir.is_dir())
}

fn read_number(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Powers of two from 512 to 64 KiB pass; anything else a device may claim is brought into that
/// range.
fn sane(size: u32) -> u32 {
    size.clamp(512, 65_536).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_sane_sectors() {
        let file = tempfile::tempfile().expect("scratch file");
        let found = probe(&file);
        assert!(found.sectors.logical.is_power_of_two() && found.sectors.logical >= 512);
        assert!(found.sectors.physical >= found.sectors.logical);
        assert_eq!((sane(0), sane(512), sane(520), sane(4096)), (512, 512, 1024, 4096));
    }
}
