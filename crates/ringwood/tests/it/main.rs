//! The tests of this crate, one program: a file for each subject. `kill.rs` and `owners.rs` beside
//! it start themselves as the processes that they kill.

mod support;

mod bad_input;
mod conversation;
mod devices;
mod documents;
mod histories;
mod import_export;
mod isolation;
mod lab;
mod lab_load;
mod lab_wire;
mod larger_than_memory;
mod limits;
mod log_block;
mod memory;
mod moving;
mod prompt;
mod served;
mod sqlcmd;
mod stop;
mod ways_out;
