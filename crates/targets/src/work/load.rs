//! The size of a `Load`, which studies state and every target carries out.

/// Rows of a `Load` in one transaction.
pub(crate) const LOAD_BATCH: u64 = 64;
/// Bytes of the filler column of a `Load` row.
pub(crate) const LOAD_FILLER: u32 = 980;

/// Rows that a `Load` leaves.
pub fn loaded(connections: u32, rows: u64) -> u64 {
    u64::from(connections) * rows.div_ceil(LOAD_BATCH) * LOAD_BATCH
}
