//! `ringwood sql`: scripts, a query, or an interactive prompt on an embedded instance.

mod printer;

use self::printer::{Printer, Stream};
use super::output::Format;
use super::say::{say, say_error};
use super::{InstanceArgs, signals};
use clap::Args;
use engine::{Instance, Session};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  ringwood sql -Q \"select name from sys.databases\" --format csv
  ringwood sql -d Sales -i schema.sql -i load.sql -b
  ringwood sql -v TABLE=customer -Q \"select count(*) from $(TABLE)\"
  ringwood sql --volume E=/mnt/fast -i create-database.sql";

/// Run T-SQL on an embedded instance. GO [n] separates batches. Without -i and -Q: a prompt on a terminal, else
/// standard input.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SqlArgs {
    #[command(flatten)]
    instance: InstanceArgs,
    /// Database to use first
    #[arg(short = 'd', value_name = "DATABASE")]
    database: Option<String>,
    /// Script to run; may be repeated
    #[arg(short = 'i', value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Text to run
    #[arg(short = 'Q', value_name = "TEXT")]
    query: Vec<String>,
    /// Stop at the first batch that fails
    #[arg(short = 'b')]
    stop: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Scripting variable for $(NAME)
    #[arg(short = 'v', value_name = "NAME=VALUE", value_parser = parse_variable)]
    variables: Vec<(String, String)>,
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A session and its printer; runs texts of several batches.
struct Runner<'a> {
    session: Session,
    printer: Printer,
    args: &'a SqlArgs,
    instance: &'a Instance,
    failed: bool,
}

impl Runner<'_> {
    /// Runs a text; false when the caller should stop.
    fn script(&mut self, text: &str) -> bool {
        let text = match syntax::substitute(text, &self.args.variables) {
            Ok(text) => text,
            Err(error) => {
                say(error);
                self.failed = true;
                return false;
            }
        };
        for batch in syntax::split_batches(&text) {
            if batch.text.trim().is_empty() {
                continue;
            }
            for _ in 0..batch.count {
                let good = self.batch(batch.text, batch.first_line);
                if self.ends() || !good && self.args.stop {
                    return false;
                }
            }
        }
        true
    }

    /// No batch may run any more: SHUTDOWN was run, or the output cannot be written.
    fn ends(&self) -> bool {
        self.instance.shutdown_requested() || self.printer.broken().is_some()
    }

    /// Runs one batch; false when it failed.
    fn batch(&mut self, text: &str, first_line: u32) -> bool {
        signals::wait_if_stopping();
        self.printer.first_line = first_line;
        self.session.execute(text, &mut self.printer);
        self.printer.finish();
        let failed = self.printer.take_failed();
        self.failed |= failed;
        !failed
    }

    /// A prompt: lines gather until GO on a line of its own; `exit` or `quit` ends it.
    fn interactive(&mut self) {
        say(format_args!(
            "Ringwood {}. GO runs what was typed; exit or Ctrl+D ends.",
            env!("CARGO_PKG_VERSION")
        ));
        let mut gathered = String::new();
        let mut line_number = 1;
        for line in io::stdin().lock().lines().map_while(Result::ok).collect_prompted(&mut line_number) {
            let word = line.trim().to_ascii_lowercase();
            if gathered.is_empty() && (word == "exit" || word == "quit") {
                return;
            }
            gathered.push_str(&line);
            gathered.push('\n');
            if word == "go" || word.starts_with("go ") {
                self.script(&std::mem::take(&mut gathered));
                if self.ends() {
                    return;
                }
            }
        }
        if !gathered.trim().is_empty() {
            say("\nThe unfinished batch was not run.");
        }
    }
}

/// Prints a prompt before each line is read.
trait Prompted: Iterator<Item = String> + Sized {
    fn collect_prompted(mut self, line: &mut u32) -> impl Iterator<Item = String> {
        std::iter::from_fn(move || {
            let _ = write!(io::stderr(), "{line}> ");
            let text = self.next()?;
            *line = if text.trim().eq_ignore_ascii_case("go") { 1 } else { *line + 1 };
            Some(text)
        })
    }
}

impl<I: Iterator<Item = String>> Prompted for I {}

fn run_inputs(runner: &mut Runner<'_>) -> io::Result<()> {
    let args = runner.args;
    for file in &args.files {
        let bytes =
            std::fs::read(file).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", file.display())))?;
        if !runner.script(&decode(&bytes)) {
            return Ok(());
        }
    }
    for query in &args.query {
        if !runner.script(query) {
            return Ok(());
        }
    }
    if args.files.is_empty() && args.query.is_empty() {
        if io::stdin().is_terminal() {
            runner.interactive();
        } else {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            runner.script(&decode(&bytes));
        }
    }
    Ok(())
}

/// Text of a script: UTF-8 with or without a mark, or UTF-16 with one, as SQL Server's tools write them.
fn decode(bytes: &[u8]) -> String {
    let utf16 = |rest: &[u8], from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|p| from([p[0], p[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Runs the command. Whatever ends it, the instance is stopped cleanly.
pub fn run(args: &SqlArgs) -> ExitCode {
    let instance = match args.instance.open() {
        Ok(instance) => instance,
        Err(error) => {
            say_error(&error);
            return ExitCode::FAILURE;
        }
    };
    let code = guarded(&instance, || run_on(args, &instance));
    ExitCode::from(code)
}

/// Runs the inputs; the exit code.
fn run_on(args: &SqlArgs, instance: &Arc<Instance>) -> u8 {
    let session = match instance.session() {
        Ok(session) => session,
        Err(error) => {
            say_error(&error);
            return 1;
        }
    };
    let interactive = args.files.is_empty() && args.query.is_empty() && io::stdin().is_terminal();
    let interrupt =
        interactive.then(|| signals::Interrupt { cancel: session.cancel_handle(), pending: Arc::default() });
    if let Err(error) = signals::stop_cleanly(instance, interrupt) {
        say(format_args!("signals: {error}"));
    }
    let printer = Printer::new(Stream::stdout(), Stream::stderr(), args.format);
    let mut runner = Runner { session, printer, args, instance, failed: false };
    let ready = args
        .database
        .as_ref()
        .is_none_or(|name| runner.batch(&format!("use [{}]", name.replace(']', "]]")), 1));
    if ready && let Err(error) = run_inputs(&mut runner) {
        say(error);
        runner.failed = true;
    }
    runner.printer.broken().unwrap_or(u8::from(runner.failed || !ready))
}

/// How long a clean stop may take after a panic, which may have left a latch locked.
const STOP_AFTER_PANIC: Duration = Duration::from_secs(60);

/// The exit code of a Rust program that panicked.
const PANICKED: u8 = 101;

/// Runs `work` and stops the instance cleanly, after a panic in `work` too.
fn guarded(instance: &Instance, work: impl FnOnce() -> u8) -> u8 {
    let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        std::thread::spawn(|| {
            std::thread::sleep(STOP_AFTER_PANIC);
            say(
                "The instance could not be stopped cleanly: what was durable is recovered at the next start.",
            );
            std::process::exit(i32::from(PANICKED));
        });
        PANICKED
    });
    signals::wait_if_stopping();
    match instance.close() {
        Err(error) => {
            say_error(&error);
            code.max(1)
        }
        Ok(()) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn scripts_in_utf8_and_utf16() {
        assert_eq!(decode(b"select 1"), "select 1");
        assert_eq!(decode(b"\xef\xbb\xbfgo"), "go");
        assert_eq!(decode(b"\xff\xfeg\0o\0"), "go");
        assert_eq!(decode(b"\xfe\xff\0g\0o"), "go");
    }
}
