//! The tests of this crate, one program: a file for each subject.

extern crate ringwood_syntax as syntax;

mod fuzz_input;

mod accepts;
mod batches;
mod errors;
mod fuzz;
mod keywords;
mod reference;
mod stopped;
mod trees;
