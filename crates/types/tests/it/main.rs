//! The tests of this crate, one program: a file for each subject.

mod common;

mod cells;
mod convert;
mod datetime;
mod key;
mod ops;
mod packed;
mod row;
mod stored_cells;
