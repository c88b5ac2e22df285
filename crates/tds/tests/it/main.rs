//! The tests of this crate, one program: a file for each subject.

mod conversation;

mod bulk;
mod encodings;
mod fuzz;
mod messages;
mod roundtrip;
mod rows;
mod specification;
