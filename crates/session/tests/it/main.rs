//! The tests of this crate, one program: a file for each subject.

extern crate ringwood_session as session;

mod kill;
