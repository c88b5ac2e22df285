//! What is read from and put into the image of a page that is on its way to or from a file:
//! checksum, LSN, place.

use super::{AT_CHECKSUM, AT_LSN, AT_PAGE};
use crate::id::{PAGE_SIZE, PageId};
use crate::row_header::lsn_from_bytes;
use wal::Lsn;

/// CRC-32C of a page image, the checksum field left out.
pub(crate) fn checksum_of(bytes: &[u8; PAGE_SIZE]) -> u32 {
    let head = crc32c::crc32c(&bytes[..AT_CHECKSUM]);
    crc32c::crc32c_append(head, &bytes[AT_CHECKSUM + 4..])
}

/// Puts the checksum into a page image that is about to be written.
pub(crate) fn seal_image(bytes: &mut [u8; PAGE_SIZE]) {
    let sum = checksum_of(bytes);
    bytes[AT_CHECKSUM..AT_CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
}

/// The checksum that a page image carries.
pub(crate) fn sum_in(bytes: &[u8; PAGE_SIZE]) -> u32 {
    u32::from_le_bytes([
        bytes[AT_CHECKSUM],
        bytes[AT_CHECKSUM + 1],
        bytes[AT_CHECKSUM + 2],
        bytes[AT_CHECKSUM + 3],
    ])
}

/// The LSN in a page image.
pub(crate) fn lsn_in(bytes: &[u8; PAGE_SIZE]) -> Lsn {
    let mut b = [0; 10];
    b.copy_from_slice(&bytes[AT_LSN..AT_LSN + 10]);
    lsn_from_bytes(&b)
}

/// The place that a page image names.
pub(crate) fn id_in(bytes: &[u8; PAGE_SIZE]) -> PageId {
    let mut b = [0; 6];
    b.copy_from_slice(&bytes[AT_PAGE..AT_PAGE + 6]);
    PageId::from_bytes(b)
}
