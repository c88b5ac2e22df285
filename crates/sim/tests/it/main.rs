//! The tests of this crate, one program: a file for each subject.

mod contract;
mod faults;
mod flights;
mod locks;
mod mirrored;
