//! The tests of this crate, one program: a file for each subject. Most start the command line as a
//! process.

mod support;

mod conversation;
mod devices;
mod documents;
mod histories;
mod import_export;
mod isolation;
mod lab;
mod lab_load;
mod lab_wire;
mod limits;
mod log_block;
mod memory;
mod moving;
mod prompt;
mod served;
mod sqlcmd;
mod stop;
mod ways_out;
