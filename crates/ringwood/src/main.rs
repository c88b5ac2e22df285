//! Ringwood's command line. Results go to standard output, messages and errors to standard error; the exit code is 1
//! when any batch failed and 2 when the command line itself is wrong.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
