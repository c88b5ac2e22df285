//! Memory from the system, zeroed: ordinary pages for page frames, huge pages for buffers where the
//! system has them.
//!
//! Direct I/O names memory by physical page: a transfer of 1 MB from 4 KiB pages is 256 entries for
//! the kernel and for the device, from huge pages a few. But a virtual machine may wait
//! milliseconds for each huge page that it touches first, so they are for memory that is used again
//! and again.

use std::ops::Range;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Size and alignment of a huge page in bytes.
pub(crate) const HUGE: usize = 2 << 20;

/// An anonymous mapping. Its base is aligned to 2 MB, its bytes are zero until they are written.
///
/// It hands out its address only: the code that uses it must state why no two users overlap.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    len: usize,
    /// What was mapped: the base is the first aligned address in it.
    raw: NonNull<u8>,
    raw_len: usize,
}

// SAFETY: the value is an address range that it owns; it reads and writes none of it but through
// `commit`, which is &mut.
unsafe impl Send for Memory {}
// SAFETY: see Send; `take` changes no byte.
unsafe impl Sync for Memory {}

impl Memory {
    /// `len` zero bytes; `None` when the system does not provide them.
    pub fn new(len: usize) -> Option<Memory> {
        Self::map(len, false)
    }

    /// The same in huge pages, where the system has them.
    pub fn huge(len: usize) -> Option<Memory> {
        Self::map(len, true)
    }

    fn map(len: usize, huge: bool) -> Option<Memory> {
        let raw_len = len.max(1).checked_next_multiple_of(HUGE)?.checked_add(HUGE)?;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that
        // exists.
        let raw = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                raw_len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let raw = NonNull::new(raw.ok()?.cast::<u8>())?;
        let skip = raw.as_ptr().addr().next_multiple_of(HUGE) - raw.as_ptr().addr();
        // SAFETY: `skip` is below HUGE, and HUGE bytes more than `len` were mapped.
        let base = unsafe { raw.add(skip) };
        if huge && !cfg!(miri) {
            // SAFETY: the range was mapped just above. Advice only: without huge pages the memory
            // is as good, but slower.
            let _ = unsafe { madvise(base.as_ptr().cast(), raw_len - HUGE, Advice::LinuxHugepage) };
        }
        Some(Memory { base, len, raw, raw_len })
    }

    /// The address of the first byte, aligned to 2 MB.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes.
    #[allow(clippy::len_without_is_empty)] // it is as long as it was made
    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes the system provide a part (in bytes) now, as far as it was not used yet: the first use
    /// then does not wait for it. False where the system does not support that. The bytes do not
    /// change, so other threads may use them meanwhile.
    pub fn take(&self, part: Range<usize>) -> bool {
        assert!(part.start <= part.end && part.end <= self.len, "memory out of range");
        if cfg!(miri) {
            return false; // Miri has no madvise
        }
        // SAFETY: in bounds by the assertion. It changes no byte and creates no mapping.
        unsafe {
            madvise(
                self.base.as_ptr().add(part.start).cast(),
                part.len(),
                Advice::LinuxPopulateWrite,
            )
        }
        .is_ok()
    }

    /// Gives a part (in bytes, whole system pages) back to the system: its bytes are zero
    /// afterwards, and the system provides memory again at the next use. False where the system
    /// does not support that: then nothing has changed.
    ///
    /// The caller must be the only one who uses the part.
    pub fn give_back(&self, part: Range<usize>) -> bool {
        assert!(part.start <= part.end && part.end <= self.len, "memory out of range");
        if cfg!(miri) {
            return false; // Miri has no madvise
        }
        debug_assert!(
            part.start.is_multiple_of(4096) && part.len().is_multiple_of(4096),
            "parts of pages"
        );
        // SAFETY: in bounds by the assertion; the mapping is private and anonymous, so its bytes
        // become zeros, which are as valid as any others for who uses them next; nobody uses them
        // now.
        unsafe {
            madvise(self.base.as_ptr().add(part.start).cast(), part.len(), Advice::LinuxDontNeed)
        }
        .is_ok()
    }

    /// Makes the system provide all of it, which otherwise happens at the first use. To be called
    /// before the first use.
    pub fn commit(&mut self) {
        if self.take(0..self.len) {
            return;
        }
        for at in (0..self.len).step_by(crate::BUFFER_ALIGN) {
            // SAFETY: within the mapping, to which no reference exists yet; it is all zeros
            // already.
            unsafe { self.base.as_ptr().add(at).write_volatile(0) };
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length; code that takes addresses out of it keeps the
        // value alive.
        let _ = unsafe { munmap(self.raw.as_ptr().cast(), self.raw_len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no madvise")]
    fn what_is_given_back_is_zero_and_can_be_used_again() {
        let mut memory = Memory::new(HUGE).unwrap();
        memory.commit();
        let byte = |at: usize| {
            // SAFETY: the test alone uses it.
            unsafe { memory.base().as_ptr().add(at) }
        };
        // SAFETY: as above.
        unsafe {
            byte(0).write(7);
            byte(8192).write(8);
            assert!(memory.give_back(8192..16384));
            assert_eq!((byte(0).read(), byte(8192).read()), (7, 0));
            byte(8192).write(9);
            assert_eq!(byte(8192).read(), 9);
        }
    }

    #[test]
    fn memory_is_aligned_zeroed_and_its_own() {
        for len in [0usize, 1, 4096, HUGE, HUGE + 1] {
            let mut memory = Memory::new(len).unwrap();
            memory.commit();
            assert!(memory.base().as_ptr().addr().is_multiple_of(HUGE) && memory.len() == len);
            // SAFETY: the test alone uses it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(memory.base().as_ptr(), len) };
            assert!(bytes.iter().all(|&b| b == 0));
            bytes.fill(7);
            assert!(
                memory.take(0..len) == memory.take(0..0) || len == 0,
                "a known part can be taken again"
            );
            assert!(bytes.iter().all(|&b| b == 7), "what is there stays");
        }
        assert!(Memory::new(usize::MAX - 1).is_none());
    }
}
