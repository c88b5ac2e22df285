//! `ringwood health`: whether a server answers.

use super::say::{printed, say};
use super::serve::parse_address;
use clap::Args;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// Ask a server whether it answers: exit code 0 if it does. Nobody logs in
#[derive(Args)]
pub struct HealthArgs {
    /// The server's address and port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1433", value_parser = parse_address)]
    server: SocketAddr,
    /// The server speaks TDS 8.0 alone
    #[arg(long)]
    strict: bool,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
}

/// Runs the command.
pub fn run(args: &HealthArgs) -> ExitCode {
    let timeout = Duration::from_secs(args.timeout.into());
    match client::probe::probe(args.server, args.strict, timeout) {
        Ok([major, minor, ..]) => {
            let line = writeln!(
                io::stdout(),
                "The server at {} answers: version {major}.{minor}",
                args.server
            );
            printed(line, ExitCode::SUCCESS)
        }
        Err(error) => {
            say(format_args!("{}: {error}", args.server));
            ExitCode::FAILURE
        }
    }
}
