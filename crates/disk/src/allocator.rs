//! An allocator that counts, for each thread, the bytes it has allocated less those it has freed.
//! Guarantees: memory comes from the system's allocator, unchanged; counting takes one addition to
//! a number that no other thread touches. Memory that one thread allocates and another frees counts
//! for the first and against the second, unless it was handed over meanwhile.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes allocated less bytes freed. Below zero where a thread frees what others allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// To be declared as the program's `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// Bytes that the calling thread has allocated less those that it has freed; 0 in a program whose
/// allocator is another one.
#[inline]
pub fn thread_holds() -> isize {
    HELD.get()
}

/// Bytes that the calling thread has allocated belong to what all threads share from now on, and
/// may be freed by another one: they do not count as its own.
#[inline]
pub fn hand_over(bytes: usize) {
    count((bytes as isize).wrapping_neg());
}

/// The calling thread is about to free bytes that were handed over.
#[inline]
pub fn take_over(bytes: usize) {
    count(bytes as isize);
}

#[inline]
fn count(bytes: isize) {
    // Wrapping: an overflow must not panic inside of an allocation.
    HELD.set(HELD.get().wrapping_add(bytes));
}

// SAFETY: every call goes to `System` with the caller's own arguments, whose promises are those
// that `System` asks for; counting neither allocates nor panics, and the thread-local number needs
// no destructor, so that it can be used as long as the thread runs.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count((layout.size() as isize).wrapping_neg());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count((size as isize).wrapping_sub(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layouts are used with the allocator itself: the tests' own allocator is the system's.
    #[test]
    fn a_thread_holds_what_it_allocates_until_it_frees_it() {
        let before = thread_holds();
        let layout = Layout::from_size_align(1000, 8).unwrap();
        // SAFETY: the layout is not empty; the block is freed once, with the layout it then has.
        unsafe {
            let block = CountingAllocator.alloc(layout);
            assert!(!block.is_null());
            assert_eq!(thread_holds() - before, 1000);
            let block = CountingAllocator.realloc(block, layout, 5000);
            assert!(!block.is_null());
            assert_eq!(thread_holds() - before, 5000);
            CountingAllocator.dealloc(block, Layout::from_size_align(5000, 8).unwrap());
            assert_eq!(thread_holds() - before, 0);
            let zeroed = CountingAllocator.alloc_zeroed(layout);
            assert!((0..1000).all(|at| *zeroed.add(at) == 0));
            let other = std::thread::spawn(thread_holds);
            assert_eq!(other.join().unwrap(), 0, "each thread has its own count");
            CountingAllocator.dealloc(zeroed, layout);
        }
        assert_eq!(thread_holds(), before);
    }

    #[test]
    fn what_is_handed_over_does_not_count() {
        let before = thread_holds();
        hand_over(5000);
        assert_eq!(thread_holds() - before, -5000, "it was counted when it was allocated");
        let other = std::thread::spawn(|| {
            take_over(5000);
            thread_holds()
        });
        assert_eq!(other.join().unwrap(), 5000, "and is counted again when it is freed");
        take_over(5000);
        assert_eq!(thread_holds(), before);
    }
}
