//! The tests of this crate, one program: a file for each subject.

mod currency;
mod in_place;
mod kept_lists;
mod long_values;
