//! A byte buffer whose address suits direct I/O: aligned to [`BUFFER_ALIGN`](crate::BUFFER_ALIGN),
//! zeroed when created.
//!
//! Where the memory comes from depends on the length alone: below 32 KB from the allocator, from 32
//! KB to 2 MB from pieces of huge pages, above that from huge pages of its own.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::BUFFER_ALIGN;
use crate::memory::Memory;
use crate::pieces;

/// Shortest buffer that is made of pieces of huge pages, in bytes.
const PIECES_MIN: usize = 32 << 10;

/// Owned, aligned, fixed length.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
    /// The mapping, if the buffer is longer than those made of pieces.
    own: Option<Memory>,
}

impl AlignedBuf {
    /// A zeroed buffer of `len` bytes. Aborts if memory is exhausted, as every allocation does.
    pub fn new(len: usize) -> Self {
        let (ptr, own) = match len {
            0..PIECES_MIN => {
                // SAFETY: the layout has a size of at least BUFFER_ALIGN, so it is not zero.
                (NonNull::new(unsafe { alloc_zeroed(Self::layout(len)) }), None)
            }
            PIECES_MIN..=pieces::PIECES_MAX => (pieces::take(len), None),
            _ => {
                let own = Memory::huge(len);
                (own.as_ref().map(Memory::base), own)
            }
        };
        let Some(ptr) = ptr else { handle_alloc_error(Self::layout(len)) };
        AlignedBuf { ptr, len, own }
    }

    /// A copy of `bytes`.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buf = Self::new(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }

    /// The address of the first byte; used by the shared buffer, which hands out disjoint parts.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.ptr
    }

    fn layout(len: usize) -> Layout {
        // Rounded up so that even an empty buffer has an address, and the allocator sees whole
        // pages.
        let size = len.max(1).next_multiple_of(BUFFER_ALIGN);
        match Layout::from_size_align(size, BUFFER_ALIGN) {
            Ok(layout) => layout,
            Err(_) => panic!("buffer of {len} bytes exceeds the address space"),
        }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        match self.len {
            // SAFETY: `ptr` came from `alloc_zeroed` with the layout of the same length and is
            // freed once.
            0..PIECES_MIN => unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.len)) },
            PIECES_MIN..=pieces::PIECES_MAX => pieces::give(self.ptr, self.len),
            _ => drop(self.own.take()),
        }
    }
}

// SAFETY: the buffer owns its memory like a Box<[u8]>; shared access is read-only, unique access
// needs &mut.
unsafe impl Send for AlignedBuf {}
// SAFETY: see Send.
unsafe impl Sync for AlignedBuf {}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes from `ptr` are allocated, initialised (zeroed at least) and owned by
        // self.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in deref; &mut self makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuf").field("len", &self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_copied() {
        for len in [
            0usize,
            1,
            512,
            4096,
            32_767,
            32_768,
            61_440,
            1 << 20,
            (2 << 20) - 1,
            2 << 20,
            (2 << 20) + 1,
        ] {
            let mut buf = AlignedBuf::new(len);
            assert_eq!(buf.as_ptr() as usize % BUFFER_ALIGN, 0);
            assert!(buf.iter().all(|&b| b == 0) && buf.len() == len);
            buf.fill(7);
            let copy = buf.clone();
            buf.fill(9);
            assert!(copy.iter().all(|&b| b == 7));
        }
    }
}
