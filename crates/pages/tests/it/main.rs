//! The tests of this crate, one program: a file for each subject.

mod support;

mod alloc;
mod batches;
mod crash;
mod length;
mod ops;
mod pool;
