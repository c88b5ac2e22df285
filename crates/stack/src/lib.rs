//! Room on the thread's stack for recursions over what users write.
//!
//! How deep a statement nests is the user's choice, and how large the stack is that it arrives on
//! is the caller's: an embedded instance may be called on a thread of 64 KB. So each recursion over
//! syntax, plans and expressions asks here for room, by one of three functions:
//!
//! - [`try_with_room`] where a recursion finds out how deep it goes (binding): the stack grows, up
//!   to a limit, and then it fails;
//! - [`with_room`] where the depth is bounded already (by the parser's limits), and nothing can
//!   fail;
//! - [`with`] where the depth is known beforehand (a finished plan): one look at its start serves
//!   all of it.
//!
//! [`Nested`] is a box for trees: dropping and cloning them asks, too.
//!
//! Guarantees: the closure runs on this thread, with at least [`ROOM`] bytes left, or is not
//! called; where there is room, asking costs a comparison. A stack that was added is given back
//! when the closure ends, a panic passes through.

mod nested;

pub use nested::Nested;

use std::cell::Cell;

/// What a closure may count on, in bytes. It has to suffice for what does not ask by itself: walks
/// over one expression of the greatest height that the parser lets through, the storage engine
/// below an operator. Builds without optimisation have larger frames.
pub const ROOM: usize = if cfg!(debug_assertions) { 896 << 10 } else { 320 << 10 };

/// Size of a stack that is added: memory that is not touched takes only addresses.
const SEGMENT: usize = if cfg!(debug_assertions) { 16 << 20 } else { 8 << 20 };

/// Most that [`try_with_room`] adds on a thread, in bytes.
pub const MOST: usize = 64 << 20;

thread_local! {
    /// Bytes of the stacks that are added at the moment.
    static ADDED: Cell<usize> = const { Cell::new(0) };
}

/// There is no room, and the thread's stack has grown as far as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Runs `f` with at least [`ROOM`] bytes of stack.
#[inline]
pub fn with_room<R>(f: impl FnOnce() -> R) -> R {
    if has(ROOM) { f() } else { added(SEGMENT, f) }
}

/// Runs `f` with at least `bytes` of stack, and [`ROOM`] more.
#[inline]
pub fn with<R>(bytes: usize, f: impl FnOnce() -> R) -> R {
    let all = bytes.saturating_add(ROOM);
    if has(all) { f() } else { added(all.max(SEGMENT), f) }
}

/// Runs `f` with at least [`ROOM`] bytes of stack.
///
/// # Errors
/// The thread has grown its stack by [`MOST`] bytes already; `f` was not called.
#[inline]
pub fn try_with_room<R>(f: impl FnOnce() -> R) -> Result<R, Exhausted> {
    if has(ROOM) {
        return Ok(f());
    }
    if ADDED.get() + SEGMENT > MOST {
        return Err(Exhausted);
    }
    Ok(added(SEGMENT, f))
}

/// Whether so much is left. Where the system does not tell, nothing is.
#[inline]
fn has(bytes: usize) -> bool {
    stacker::remaining_stack().is_some_and(|left| left >= bytes)
}

/// Gives back what was counted, in a panic too.
struct CountedDepth(usize);

impl Drop for CountedDepth {
    fn drop(&mut self) {
        ADDED.set(ADDED.get() - self.0);
    }
}

#[cold]
#[inline(never)]
fn added<R>(bytes: usize, f: impl FnOnce() -> R) -> R {
    ADDED.set(ADDED.get() + bytes);
    let _counted = CountedDepth(bytes);
    stacker::grow(bytes, f)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes down so many levels, each with a frame of 4 KB; how many levels were entered.
    fn down(levels: usize) -> Result<usize, Exhausted> {
        let frame = std::hint::black_box([levels as u8; 4096]);
        let below = if levels == 0 { Ok(0) } else { try_with_room(|| down(levels - 1)).flatten() };
        std::hint::black_box(&frame);
        below.map(|n| n + 1)
    }

    fn on_thread<R: Send>(bytes: usize, f: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, f).unwrap();
            thread.join().unwrap()
        })
    }

    #[test]
    fn a_recursion_outgrows_the_stack_of_its_thread() {
        // 20 MB of frames on 128 KB.
        assert_eq!(on_thread(128 << 10, || down(5_000)), Ok(5_001));
        assert!(on_thread(128 << 10, || with(40 << 20, || has(40 << 20))));
    }

    #[test]
    fn growth_has_an_end_and_is_given_back() {
        on_thread(1 << 20, || {
            assert_eq!(down(100_000), Err(Exhausted));
            assert_eq!(ADDED.get(), 0);
            assert_eq!(down(5_000), Ok(5_001));
        });
    }

    #[test]
    fn a_panic_passes_through_and_leaves_nothing_counted() {
        on_thread(64 << 10, || {
            let caught = std::panic::catch_unwind(|| with_room(|| panic!("inside")));
            assert!(caught.is_err());
            assert_eq!(ADDED.get(), 0);
        });
    }
}
