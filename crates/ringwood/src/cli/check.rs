//! `ringwood check`: offline integrity check of a database.

use super::InstanceArgs;
use super::output::print_error;
use clap::Args;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  ringwood check Sales
  ringwood check --data ./db Sales";

/// Check allocation, indexes, rows and their agreement. Exit code 1 when something is wrong.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    #[command(flatten)]
    instance: InstanceArgs,
    /// Database to check
    database: String,
}

/// Runs the command.
pub fn run(args: &CheckArgs) -> ExitCode {
    let outcome = args.instance.open().and_then(|instance| {
        let report = instance.check_database(&args.database)?;
        instance.close()?;
        Ok(report)
    });
    match outcome {
        Err(error) => {
            print_error(&error, 1);
            ExitCode::FAILURE
        }
        Ok(report) => {
            for problem in report.allocation.iter().chain(&report.consistency) {
                eprintln!("{problem}");
            }
            println!(
                "{}: {} tables, {} rows checked, {} allocation and {} consistency errors",
                args.database,
                report.tables.len(),
                report.tables.iter().map(|(_, rows)| rows).sum::<u64>(),
                report.allocation.len(),
                report.consistency.len()
            );
            if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}
