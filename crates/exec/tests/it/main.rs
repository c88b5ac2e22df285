//! The tests of this crate, one program: a file for each subject.

extern crate ringwood_exec as exec;

mod kill;
