//! The tests of this crate, one program: a file for each subject. What counts threads, panics or
//! memory of its process is in `alone`.

mod support;

mod client;
mod connect;
mod dedicated;
mod depth;
mod drivers;
mod memory;
mod metrics;
mod one_flush;
mod phases;
mod pipelined;
mod protocol;
mod requests;
mod row_batches;
mod scripts;
mod stalls;
mod statement_ends;
mod tiberius;
mod user_access;
