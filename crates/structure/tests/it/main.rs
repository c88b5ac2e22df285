//! The tests of this crate, one program: a file for each subject.

mod walks;
