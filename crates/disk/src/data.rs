//! The bytes of a request: buffers that are read from a file or written to it.

use std::io::{IoSlice, IoSliceMut};

/// What moves: the buffers are consecutive in the file. Each is aligned as for
/// [`BlockFile::read_at`](crate::BlockFile::read_at).
#[derive(Debug)]
pub enum Data<'a> {
    /// Fills the buffers.
    Read(&'a mut [IoSliceMut<'a>]),
    /// Writes the buffers.
    Write(&'a [IoSlice<'a>]),
}

impl Data<'_> {
    /// True for a write.
    pub fn is_write(&self) -> bool {
        matches!(self, Data::Write(_))
    }

    /// Bytes of all buffers.
    #[allow(clippy::len_without_is_empty)] // an empty request is possible and of no interest
    pub fn len(&self) -> u64 {
        let bytes: usize = match self {
            Data::Read(bufs) => bufs.iter().map(|buf| buf.len()).sum(),
            Data::Write(bufs) => bufs.iter().map(|buf| buf.len()).sum(),
        };
        bytes as u64
    }
}
