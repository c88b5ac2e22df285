//! The tests of this crate, one program: a file for each subject.

extern crate ringwood_access as access;

mod support;

mod again;
mod btree;
mod check;
mod heap;
mod stress;
