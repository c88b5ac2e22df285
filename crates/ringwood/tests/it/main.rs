//! The tests of the library, one program: a file for each subject. `kill.rs` and `owners.rs` beside
//! it start themselves as the processes that they kill.

mod bad_input;
mod larger_than_memory;
