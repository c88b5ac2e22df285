//! The tests of this crate, one program: a file for each subject. `fallback.rs` beside it
//! changes a limit of its process.

mod transfer;
