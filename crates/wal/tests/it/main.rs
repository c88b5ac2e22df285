//! The tests of this crate, one program: a file for each subject.

mod archive;
mod crash;
mod flips;
mod history;
mod load;
mod log;
