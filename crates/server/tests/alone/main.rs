//! Tests that look at their whole process: how many threads it has and how often they wait, what it
//! takes of the processor and of memory, whether anything in it panics. They share no process with
//! others, and run one at a time.

mod live;
#[path = "../it/support/mod.rs"]
mod support;

mod counts;
mod fuzz;
mod idle;
mod lanes;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by each test from its beginning to its end.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
