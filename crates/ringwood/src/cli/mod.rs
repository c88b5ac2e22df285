//! The commands and their arguments; one file per command.

mod check;
mod lab;
mod output;
mod sql;

use clap::{Args, Parser, Subcommand};
use engine::{Instance, InstanceOptions};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// A transactional database that speaks T-SQL, and the lab that measures it.
#[derive(Parser)]
#[command(name = "ringwood", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  ringwood sql -Q \"select @@version\"
  ringwood sql --data ./db -d Sales -i schema.sql -i load.sql
  ringwood lab run vlf-count --scale quick
  ringwood check --data ./db Sales";

#[derive(Subcommand)]
enum Command {
    /// Run T-SQL on an embedded instance
    Sql(sql::SqlArgs),
    /// Run the studies and their reports
    Lab(lab::LabArgs),
    /// Check a database's integrity offline
    Check(check::CheckArgs),
}

/// Where an instance lives and how it is opened.
#[derive(Args, Clone)]
struct InstanceArgs {
    /// Folder of the instance
    #[arg(long, value_name = "DIR", default_value = "./ringwood-data")]
    data: PathBuf,
    /// Buffer pool, e.g. 512MB or 2GB; a quarter of memory unless given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// Folder of a drive letter in T-SQL file names, e.g. --volume E=/mnt/data
    #[arg(long = "volume", value_name = "E=DIR", value_parser = parse_volume)]
    volumes: Vec<(char, PathBuf)>,
    /// Trace flag at start; 1800 forces 4,096-byte log blocks
    #[arg(short = 'T', value_name = "FLAG")]
    trace_flags: Vec<i32>,
}

impl InstanceArgs {
    fn open(&self) -> Result<Arc<Instance>, engine::SqlError> {
        Instance::open(InstanceOptions {
            memory_bytes: self.memory,
            volumes: self.volumes.iter().cloned().collect(),
            trace_flags: self.trace_flags.clone(),
            ..InstanceOptions::new(&self.data)
        })
        .map_err(|e| engine::SqlError::new(17_113, 16, 1, e.to_string()))
    }
}

/// A size such as `64MB`: KB, MB, GB and TB are powers of 1,024; a bare number is bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let digits = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let factor: u64 = match upper[digits.len()..].trim() {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        "T" | "TB" => 1 << 40,
        unit => return Err(format!("unknown unit {unit:?}: use KB, MB, GB or TB")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| format!("{text:?} is not a size"))?;
    number.checked_mul(factor).ok_or_else(|| format!("{text:?} is too large"))
}

fn parse_volume(text: &str) -> Result<(char, PathBuf), String> {
    let (drive, folder) = text.split_once('=').ok_or("expected LETTER=FOLDER")?;
    let mut letters = drive.trim_end_matches(':').chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() && !folder.is_empty() => {
            Ok((letter.to_ascii_uppercase(), PathBuf::from(folder)))
        }
        _ => Err("expected LETTER=FOLDER".into()),
    }
}

/// Parses the arguments and runs the command.
pub fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Sql(args) => sql::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Check(args) => check::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64MB"), Ok(64 << 20));
        assert_eq!(parse_size("2 gb"), Ok(2 << 30));
        assert_eq!(parse_size("512"), Ok(512));
        assert!(
            parse_size("12XB").is_err() && parse_size("MB").is_err() && parse_size("99999999999TB").is_err()
        );
    }

    #[test]
    fn volumes() {
        assert_eq!(parse_volume("e=/mnt/x"), Ok(('E', PathBuf::from("/mnt/x"))));
        assert!(parse_volume("EE=/x").is_err() && parse_volume("E").is_err());
    }

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
