//! `ringwood top`: a live view of an instance that another process has open. It reads pictures of the instance from the
//! socket in its folder and shows what happened between two of them.

mod frame;
mod rates;
mod ring;
mod screen;

use clap::Args;
use engine::watch::look;
use engine::watch::status::InstanceStatus;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  ringwood top --data ./db
  ringwood top --data ./db -d Sales --once
  ringwood top --data ./db --json | jq .databases[].log.vlfs

Keys: Tab or arrows another database, Space holds the picture, q or Esc ends.";

/// Watch an instance that another process has open: the ring of its log, log writes, waits, files, requests.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// Folder of the instance
    #[arg(long, value_name = "DIR", default_value = "./ringwood-data")]
    data: PathBuf,
    /// Database whose log is drawn; the one that writes most unless given
    #[arg(short = 'd', value_name = "DATABASE")]
    database: Option<String>,
    /// Seconds between two pictures
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    interval: Duration,
    /// Print one frame as text
    #[arg(long)]
    once: bool,
    /// Print one picture of all counters as JSON
    #[arg(long, conflicts_with = "once")]
    json: bool,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    if (0.1..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("0.1 to 3600 seconds".into())
    }
}

/// Width of a frame that is printed as text.
const TEXT_WIDTH: usize = 100;

impl TopArgs {
    fn look(&self) -> Result<InstanceStatus, String> {
        look(&self.data).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                format!("no process has an instance open in {}", self.data.display())
            }
            _ => format!("{}: {e}", self.data.display()),
        })
    }

    /// Errors: `-d` names no database of the instance.
    fn check_name(&self, status: &InstanceStatus) -> Result<(), String> {
        let names: Vec<&str> = status.databases.iter().map(|db| db.name.as_str()).collect();
        match &self.database {
            Some(name) if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                Err(format!("there is no database '{name}' in this instance: it has {}", names.join(", ")))
            }
            _ => Ok(()),
        }
    }

    fn json(&self) -> Result<(), String> {
        let status = self.look()?;
        self.check_name(&status)?;
        let text = serde_json::to_string(&status).map_err(|e| e.to_string())?;
        print(&text)
    }

    fn once(&self) -> Result<(), String> {
        let first = self.look()?;
        self.check_name(&first)?;
        std::thread::sleep(self.interval);
        let second = self.look()?;
        let chosen = frame::choose(&first, &second, self.database.as_deref());
        let mut text = String::new();
        for line in frame::frame(&first, &second, chosen, TEXT_WIDTH, usize::MAX) {
            text.push_str(line.plain().trim_end());
            text.push('\n');
        }
        print(text.trim_end())
    }
}

fn print(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|e| format!("standard output: {e}"))
}

/// Runs the command.
pub fn run(args: &TopArgs) -> ExitCode {
    let done = if args.json {
        args.json()
    } else if args.once || !io::stdout().is_terminal() {
        args.once()
    } else {
        screen::watch(args)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            super::say::say(error);
            ExitCode::FAILURE
        }
    }
}
