//! A program's allocator: jemalloc, or without the feature `jemalloc` the system's. It counts for
//! each thread the bytes it has allocated less those it has freed. Also the settings that say how
//! much of what is freed the allocator keeps.
//! Guarantees: counting takes one addition to a number that no other thread touches. Memory that
//! one thread allocates and another frees counts for the first and against the second, unless it
//! was handed over meanwhile.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

#[cfg(not(feature = "jemalloc"))]
use std::alloc::System as Heap;
#[cfg(feature = "jemalloc")]
use tikv_jemallocator::Jemalloc as Heap;

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

// SAFETY: every call goes to the heap with the caller's own arguments, whose promises are those
// that a heap asks for; counting neither allocates nor panics, and the thread-local number needs
// no destructor, so that it can be used as long as the thread runs.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { Heap.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { Heap.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count((layout.size() as isize).wrapping_neg());
        // SAFETY: as the caller promises.
        unsafe { Heap.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count((size as isize).wrapping_sub(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { Heap.realloc(block, layout, size) }
    }
}

/// Has the allocator give back to the system what it keeps for allocations to come. Takes
/// milliseconds, and holds up others that allocate meanwhile: for a process that is short of
/// memory.
pub fn trim_heap() {
    // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
    #[cfg(feature = "jemalloc")]
    jemalloc::control(c"arena.4096.purge", None::<&mut bool>);
    #[cfg(all(not(feature = "jemalloc"), target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time by any thread; it changes no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has the allocator give back what is freed by a thread of its own, after the ten seconds for
/// which jemalloc keeps it: by itself only threads that allocate give back. For a program, before
/// it has threads. The system's allocator stays as it is.
pub fn start_heap() {
    #[cfg(feature = "jemalloc")]
    {
        let mut none: isize = 0;
        // Those of arenas to come, and of the one that there is.
        jemalloc::control(c"arenas.muzzy_decay_ms", Some(&mut none));
        jemalloc::control(c"arena.0.muzzy_decay_ms", Some(&mut none));
        jemalloc::control(c"background_thread", Some(&mut true));
    }
}

/// Has the allocator keep little from now on: what nobody has used again within a tenth of a second
/// is given back. For a process that may have little memory; a query that allocates megabytes again
/// and again takes up to a tenth longer. The system's allocator stays as it is.
pub fn limit_heap() {
    #[cfg(feature = "jemalloc")]
    {
        let mut keep: isize = 100;
        jemalloc::control(c"arenas.dirty_decay_ms", Some(&mut keep));
        for arena in 0..jemalloc::arenas() {
            // One that nobody has used yet is refused, and begins with the value of all.
            let name =
                std::ffi::CString::new(format!("arena.{arena}.dirty_decay_ms")).unwrap_or_default();
            jemalloc::control(&name, Some(&mut keep));
        }
    }
}

#[cfg(feature = "jemalloc")]
mod jemalloc {
    use std::ffi::CStr;
    use std::ptr;

    /// How many arenas there may be.
    pub fn arenas() -> u32 {
        let (mut count, mut len) = (0_u32, size_of::<u32>());
        // SAFETY: the name ends with a zero; at most `len` bytes are written to a value of `len`
        // bytes.
        unsafe {
            let count = ptr::from_mut(&mut count).cast();
            tikv_jemalloc_sys::mallctl(
                c"arenas.narenas".as_ptr(),
                count,
                &mut len,
                ptr::null_mut(),
                0,
            );
        }
        count
    }

    /// Sets a value of the allocator, or has it do something. What it refuses stays as it was: it
    /// is all about how much memory is kept.
    pub fn control<T>(name: &CStr, value: Option<&mut T>) {
        let none = (ptr::null_mut(), 0);
        let (new, len) = value.map_or(none, |value| (ptr::from_mut(value).cast(), size_of::<T>()));
        // SAFETY: the name ends with a zero; `new` is a value of `len` bytes that lives until the
        // call returns, and is only read. The allocator checks the name and the length.
        unsafe {
            tikv_jemalloc_sys::mallctl(name.as_ptr(), ptr::null_mut(), ptr::null_mut(), new, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "jemalloc")]
    fn the_allocator_takes_its_settings_and_gives_back() {
        start_heap();
        let read = |name: &std::ffi::CStr| {
            let (mut value, mut len) = (0_isize, size_of::<isize>());
            // SAFETY: a value of `len` bytes is written.
            let failed = unsafe {
                let value = std::ptr::from_mut(&mut value).cast();
                tikv_jemalloc_sys::mallctl(name.as_ptr(), value, &mut len, std::ptr::null_mut(), 0)
            };
            (failed, value)
        };
        assert!(jemalloc::arenas() > 0);
        assert_eq!(read(c"arenas.dirty_decay_ms"), (0, 10_000));
        limit_heap();
        assert_eq!(read(c"arenas.dirty_decay_ms"), (0, 100));
        assert_eq!(read(c"arena.0.dirty_decay_ms"), (0, 100));
        assert_eq!(read(c"arenas.muzzy_decay_ms"), (0, 0));
        trim_heap();
    }

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
