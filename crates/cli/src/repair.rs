//! `ringwood repair`: tells what is damaged of an instance's own files and system databases, and
//! puts it right.

use super::parse_volume;
use super::say::{print, printed, say};
use clap::{Args, ValueEnum};
use engine::InstanceOptions;
use engine::repair::{Repair, examine, repair};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "Examples:
  ringwood repair --data ./db --dry-run
  ringwood repair --data ./db
  ringwood repair --data ./db --format json

Stop the server first: a folder that is in use is refused. Nothing is deleted; damaged files of system databases go to the folder
'repair' of the data folder. Databases of users are opened and not changed: RESTORE or DBCC CHECKDB is for those.

Exit codes:
  0  nothing was wrong, or all of it was put right and nothing is lost
  1  it could not be done
  3  with --dry-run: something is wrong, and this command would do something about it
  4  it was done, and something is lost (the output says what)";

/// The exit codes besides success and failure.
const TO_DO: u8 = 3;
const LOST: u8 = 4;

/// How the plan and the outcome are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Put an instance right that does not start: small files, system databases and their logs.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct RepairArgs {
    /// Folder of the instance
    #[arg(long, value_name = "DIR", default_value = "./ringwood-data")]
    data: PathBuf,
    /// Folder of a drive letter in T-SQL file names, e.g. --volume E=/mnt/data: databases are
    /// looked for there, too
    #[arg(long = "volume", value_name = "E=DIR", value_parser = parse_volume)]
    volumes: Vec<(char, PathBuf)>,
    /// Tell what is wrong and what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// How the outcome is written to standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Runs the command.
pub fn run(args: &RepairArgs) -> ExitCode {
    let options = InstanceOptions {
        volumes: args.volumes.iter().cloned().collect(),
        url_devices: ringwood::url_devices(),
        must_exist: true,
        ..InstanceOptions::new(&args.data)
    };
    // What is being done goes to standard error, so that the outcome alone is on standard output.
    let done = match args.dry_run {
        true => examine(&options),
        false => repair(&options, &mut |step| say(step)),
    };
    match done {
        Err(error) => {
            say(format_args!("ringwood repair: {error}"));
            ExitCode::FAILURE
        }
        Ok(done) => {
            let code = match (args.dry_run, done.steps.is_empty()) {
                (_, true) => ExitCode::SUCCESS,
                (true, false) => ExitCode::from(TO_DO),
                (false, false) if done.loses() => ExitCode::from(LOST),
                (false, false) => ExitCode::SUCCESS,
            };
            let text = match args.format {
                Format::Text => text_of(&done, args.dry_run),
                Format::Json => format!("{:#}\n", json_of(&done, args.dry_run)),
            };
            printed(print(&text), code)
        }
    }
}

fn text_of(done: &Repair, dry_run: bool) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    let (nothing, head) = match dry_run {
        true => ("Nothing is wrong that this command could put right.", "To be done:"),
        false => ("Nothing was wrong.", "Done:"),
    };
    line(if done.steps.is_empty() { nothing } else { head }.to_string());
    for step in &done.steps {
        line(format!("  {}: {}", step.act.name(), step.text));
        step.lost.iter().for_each(|lost| line(format!("    lost: {lost}")));
    }
    done.notes.iter().for_each(|note| line(format!("Note: {note}")));
    if !done.databases.is_empty() {
        line("Databases:".into());
        done.databases.iter().for_each(|(name, state)| line(format!("  {name}: {state}")));
    }
    text
}

fn json_of(done: &Repair, dry_run: bool) -> Value {
    let steps: Vec<Value> = done
        .steps
        .iter()
        .map(|step| {
            json!({
                "act": step.act.name(),
                "file": step.file.display().to_string(),
                "text": step.text,
                "lost": step.lost,
            })
        })
        .collect();
    let databases: Vec<Value> =
        done.databases.iter().map(|(name, state)| json!({"name": name, "state": state})).collect();
    json!({"dry_run": dry_run, "steps": steps, "notes": done.notes, "databases": databases})
}
