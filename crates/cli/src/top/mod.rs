//! `ringwood top`: a live view of an instance that another process has open. It reads pictures of
//! the instance from the socket in its folder, or from its server, and shows what happened between
//! two of them.

mod frame;
mod phases;
mod rates;
mod ring;
mod screen;

use super::sql::ServerArgs;
use clap::Args;
use client::{Connection, Token};
use engine::Value;
use engine::status::InstanceStatus;
use engine::watch::look;
use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  ringwood top --data ./db
  ringwood top --data ./db -d Sales --once
  ringwood top --data ./db --json | jq .databases[].log.vlfs
  SQLCMDPASSWORD=... ringwood top -S db.example.com -U ann

Keys: Tab or arrows another database, Space holds the picture, q or Esc ends.";

/// Watch an instance that another process has open: the ring of its log, log writes, waits, files,
/// requests.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// Folder of the instance
    #[arg(long, value_name = "DIR", default_value = "./ringwood-data")]
    data: PathBuf,
    /// Server to look at instead of a folder: HOST, HOST:PORT or HOST,PORT; the login needs VIEW
    /// SERVER STATE
    #[arg(short = 'S', long = "server", value_name = "HOST[:PORT]", value_parser = client::parse_server, conflicts_with = "data")]
    server: Option<client::ServerName>,
    #[command(flatten)]
    login: ServerArgs,
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

/// Where pictures come from.
enum PictureSource<'a> {
    Folder(&'a PathBuf),
    Server(Box<RefCell<Connection>>, String),
}

impl PictureSource<'_> {
    fn look(&self) -> Result<InstanceStatus, String> {
        match self {
            PictureSource::Folder(folder) => look(folder).map_err(|e| match e.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    format!("no process has an instance open in {}", folder.display())
                }
                _ => format!("{}: {e}", folder.display()),
            }),
            PictureSource::Server(connection, name) => {
                ask(&mut connection.borrow_mut()).map_err(|e| format!("{name}: {e}"))
            }
        }
    }
}

/// A picture from a server.
fn ask(connection: &mut Connection) -> Result<InstanceStatus, String> {
    let (mut text, mut error) = (None, None);
    let asked = connection.batch("exec sys.sp_ringwood_status", &mut |token| {
        match token {
            Token::Row(row) => text = row.first().and_then(Value::as_str).map(str::to_owned),
            Token::Error(e) => error = error.take().or(Some(e.message)),
            _ => {}
        }
        true
    });
    asked.map_err(|e| e.to_string())?;
    match (text, error) {
        (_, Some(error)) => Err(error),
        (Some(text), None) => serde_json::from_str(&text).map_err(|e| e.to_string()),
        (None, None) => Err("the server shows no state".into()),
    }
}

impl TopArgs {
    fn source(&self) -> Result<PictureSource<'_>, String> {
        let Some(server) = &self.server else { return Ok(PictureSource::Folder(&self.data)) };
        let name = format!("{}:{}", server.host, server.port);
        let mut options = self.login.options(server, 0)?;
        options.app = "ringwood top".into();
        let connection = Connection::connect(&options).map_err(|e| format!("{name}: {e}"))?;
        Ok(PictureSource::Server(Box::new(RefCell::new(connection)), name))
    }

    /// Errors: `-d` names no database of the instance.
    fn check_name(&self, status: &InstanceStatus) -> Result<(), String> {
        let names: Vec<&str> = status.databases.iter().map(|db| db.name.as_str()).collect();
        match &self.database {
            Some(name) if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                Err(format!(
                    "there is no database '{name}' in this instance: it has {}",
                    names.join(", ")
                ))
            }
            _ => Ok(()),
        }
    }

    fn json(&self, source: &PictureSource<'_>) -> Result<(), String> {
        let status = source.look()?;
        self.check_name(&status)?;
        let text = serde_json::to_string(&status).map_err(|e| e.to_string())?;
        print(&text)
    }

    fn once(&self, source: &PictureSource<'_>) -> Result<(), String> {
        let first = source.look()?;
        self.check_name(&first)?;
        std::thread::sleep(self.interval);
        let second = source.look()?;
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
    if args.server.is_none()
        && let Err(error) = args.login.without_server()
    {
        super::say::say(error);
        return ExitCode::from(2);
    }
    let done = args.source().and_then(|source| {
        if args.json {
            args.json(&source)
        } else if args.once || !io::stdout().is_terminal() {
            args.once(&source)
        } else {
            screen::watch(args, &source)
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            super::say::say(error);
            ExitCode::FAILURE
        }
    }
}
