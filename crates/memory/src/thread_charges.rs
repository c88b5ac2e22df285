//! What the calling thread has charged to accounts by itself: the meter leaves it out of what it
//! finds.

use std::cell::Cell;

thread_local! {
    /// Bytes, less those that it has released.
    static CHARGED: Cell<isize> = const { Cell::new(0) };
}

/// The thread has charged bytes (released: below zero).
#[inline]
pub(crate) fn add(bytes: isize) {
    CHARGED.set(CHARGED.get().wrapping_add(bytes));
}

/// The sum of all; it wraps round.
#[inline]
pub(crate) fn get() -> isize {
    CHARGED.get()
}
