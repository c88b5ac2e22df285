//! Ringwood's command line. Results go to standard output, messages and errors to standard error; the exit code is 1
//! when any batch failed and 2 when the command line itself is wrong.

// These panic when their stream is closed or full: `cli::say` has what returns the error instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cli;

use std::process::ExitCode;

/// What the thread of a request allocates is charged to the request.
#[global_allocator]
static ALLOCATOR: disk::CountingAllocator = disk::CountingAllocator;

fn main() -> ExitCode {
    disk::start_heap();
    cli::run()
}
