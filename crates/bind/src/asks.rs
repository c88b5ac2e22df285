//! Counts, in builds with debug assertions, how often a compilation asks whether it is to go on,
//! and ends it at a chosen question: so tests see that every loop asks, and that wherever a cancel
//! is noticed the compilation ends.

use std::cell::Cell;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
    static STOP_AT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Compilations on this thread are told to stop from the `at`-th question on, counted from now;
/// never without one.
pub fn stop_at(at: Option<u64>) {
    ASKED.set(0);
    STOP_AT.set(at.unwrap_or(u64::MAX));
}

/// How often they have asked since then.
pub fn asked() -> u64 {
    ASKED.get()
}

/// One asks; whether it is to stop.
pub fn ask() -> bool {
    ASKED.set(ASKED.get() + 1);
    ASKED.get() >= STOP_AT.get()
}
