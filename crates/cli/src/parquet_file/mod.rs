//! Parquet files: rows out to one ([`write`]) and in from one ([`read`]), some thousand at a time.
//! Guarantees: an exported table comes back as it was, types included: these stand in the file
//! beside Parquet's own, which has none for money, char(n), datetime2(7) and datetimeoffset; a
//! damaged file is an error.

mod read;
mod write;

pub use read::ParquetRows;
pub use write::ParquetWriter;

/// The key under which a file names the columns' types.
const TYPES: &str = "ringwood.types";
/// Days from 0001-01-01 and 1900-01-01 to 1970-01-01.
const EPOCH: i32 = 719_162;
const EPOCH_1900: i32 = 25_567;

/// A uniqueidentifier's stored bytes in the order of its text, and back: the first three groups are
/// turned around.
fn swapped(mut guid: [u8; 16]) -> [u8; 16] {
    guid[0..4].reverse();
    guid[4..6].reverse();
    guid[6..8].reverse();
    guid
}
