//! `ringwood check`: offline integrity check of a database.

use super::InstanceArgs;
use super::say::{counted, print, printed, say, say_error};
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
    let outcome = args.instance.open_existing().and_then(|instance| {
        let report = instance.check_database(&args.database)?;
        instance.close()?;
        Ok(report)
    });
    match outcome {
        Err(error) => {
            say_error(&error);
            ExitCode::FAILURE
        }
        Ok(report) => {
            for problem in report.allocation.iter().chain(&report.consistency) {
                say(problem);
            }
            let code = if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            let text = format!(
                "{}: {}, {} checked, {} and {}\n",
                args.database,
                counted(report.tables.len(), "table"),
                counted(report.tables.iter().map(|(_, rows)| *rows as usize).sum(), "row"),
                counted(report.allocation.len(), "allocation error"),
                counted(report.consistency.len(), "consistency error")
            );
            printed(print(&text), code)
        }
    }
}
