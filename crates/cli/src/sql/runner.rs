//! Runs scripts: takes lines from anywhere, does what each [`Command`] asks for, runs batches in
//! one session. It decides what ends the run, and with which exit code.

mod commands;

use super::complete::NameSource;
use super::input::{InputError, Lines, check};
use super::options::{SqlArgs, headers};
use super::pager::{self, Pager};
use super::printer::{PrintedBatch, Printer, Stream, prefix};
use super::script::{Batch, Command, Script};
use super::target::SqlTarget;
use crate::output::Format;
use crate::output::table::TableStyle;
use crate::say::counted;
use crate::signals;
use crate::source_line::SourceLine;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How deep `:r` may nest.
const MAX_DEPTH: usize = 32;

/// Exit codes of `EXIT(query)`: sqlcmd's -100, -101 and -102 as the system passes them on.
const EXIT_ERROR: u8 = 156;
const EXIT_NO_ROW: u8 = 155;
const EXIT_NO_NUMBER: u8 = 154;

/// Whether the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    On,
    End,
}

/// Where batches run, what prints their results, and the script that is run.
pub struct Runner<'a> {
    target: SqlTarget,
    args: &'a SqlArgs,
    printer: Printer,
    pub script: Script,
    format: Format,
    /// SIGINT came: what runs is given up.
    interrupted: Arc<AtomicBool>,
    /// Somebody types.
    interactive: bool,
    stop_on_error: bool,
    /// The time of each batch is shown.
    timing: bool,
    paging: bool,
    /// Results go to standard output.
    to_stdout: bool,
    /// Errors name their file.
    name_files: bool,
    /// How deep `:r` is nested now.
    depth: usize,
    /// The exit code so far.
    code: u8,
    /// The exit code that something else than errors has set.
    exit: Option<u8>,
}

impl<'a> Runner<'a> {
    pub fn new(
        target: SqlTarget,
        args: &'a SqlArgs,
        script: Script,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Runner<'a>, String> {
        let interactive = script.rules.interactive;
        let page = |other| if args.output.unicode { 1200 } else { other };
        let pages = &args.code_pages;
        let format = args.output.format;
        let (results, errors) = match &args.output.file {
            Some(file) => (create(file, page(pages.files))?, append(file, page(pages.files))?),
            None => (Stream::stdout(page(pages.streams)), Stream::stderr(pages.streams)),
        };
        let mut printer = Printer::new(results, errors, format, args.output.style());
        printer.typed = interactive;
        printer.levels.failure = args.output.severity;
        printer.levels.messages_to_results =
            args.output.redirect.as_deref() == Some("0") && args.output.file.is_none();
        let mut runner = Runner {
            target,
            args,
            printer,
            script,
            format,
            interrupted,
            interactive,
            stop_on_error: args.stop,
            timing: interactive,
            paging: interactive && args.output.file.is_none() && io::stdout().is_terminal(),
            to_stdout: args.output.file.is_none(),
            name_files: false,
            depth: 0,
            code: 0,
            exit: None,
        };
        if runner.paging {
            runner.results_to_stdout();
        }
        Ok(runner)
    }

    /// The exit code as things stand.
    pub fn code(&self) -> u8 {
        self.printer.broken().or(self.exit).unwrap_or(self.code)
    }

    /// What completion offers now.
    pub fn names(&self) -> Rc<dyn NameSource> {
        self.target.names()
    }

    /// The current database.
    pub fn database(&self) -> String {
        self.target.database()
    }

    /// The code page of results: files have their own.
    fn page(&self, to_file: bool) -> u16 {
        let pages = &self.args.code_pages;
        if self.args.output.unicode {
            1200
        } else if to_file {
            pages.files
        } else {
            pages.streams
        }
    }

    fn results_to_stdout(&mut self) {
        let stream = if self.paging && io::stdout().is_terminal() {
            Stream::pager(Pager::new(pager::commands()))
        } else {
            Stream::stdout(self.page(false))
        };
        self.printer.set_results(stream, false);
        self.to_stdout = true;
    }

    /// A line among the messages. Whether it could be written shows in [`Runner::flow`].
    pub fn say(&mut self, text: &str) {
        let _ = self.printer.say(text);
    }

    /// Something is wrong with the script: ends it, unless somebody types.
    fn complain(&mut self, text: &str) -> Flow {
        self.say(text);
        if self.interactive && self.depth == 0 {
            return self.flow();
        }
        self.code = self.code.max(1);
        Flow::End
    }

    /// Whether anything may run still.
    fn flow(&self) -> Flow {
        let ends = self.target.is_over() || self.printer.broken().is_some() || self.exit.is_some();
        if ends { Flow::End } else { Flow::On }
    }

    /// `USE`, as `-d` asks for it.
    pub fn use_database(&mut self, name: &str) -> Flow {
        let text = format!("use [{}]", name.replace(']', "]]"));
        let timing = std::mem::replace(&mut self.timing, false);
        self.run(Batch::of(text), false);
        self.timing = timing;
        if self.code > 0 { Flow::End } else { self.flow() }
    }

    // ---- lines ----

    /// Takes a line without its line break.
    pub fn line(&mut self, line: &str, place: &SourceLine) -> Flow {
        match self.script.line(line, place) {
            Ok(None) => Flow::On,
            Ok(Some(command)) => self.command(command, place),
            Err(text) => self.complain(&format!("{}{text}", prefix(place))),
        }
    }

    /// What was typed last before `forget` no longer interrupts.
    pub fn forget_interrupt(&self) {
        self.interrupted.store(false, Ordering::Release);
    }

    /// Runs lines to their end. `name` is the file's.
    fn lines(&mut self, from: impl Read, name: Option<&Path>) -> Flow {
        let mut lines = Lines::new(from, self.args.code_pages.input);
        let file: Option<Rc<str>> = name.map(|name| name.display().to_string().into());
        for number in 1.. {
            if self.interrupted.load(Ordering::Acquire) {
                return self.flow();
            }
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => return self.unreadable(name, &error),
            };
            let named = file.as_ref().filter(|_| self.name_files).cloned();
            if self.line(&line, &SourceLine { file: named, line: number }) == Flow::End {
                return Flow::End;
            }
        }
        self.flow()
    }

    fn unreadable(&mut self, name: Option<&Path>, error: &InputError) -> Flow {
        let name = name.map_or("standard input".into(), |name| name.display().to_string());
        let separator = if matches!(error, InputError::Encoding { .. }) { "," } else { ":" };
        self.complain(&format!("{name}{separator} {error}"))
    }

    /// A file of `-i`, or standard input. The last batch needs no GO.
    pub fn file(&mut self, name: &Path) -> Flow {
        let flow = if name.as_os_str() == "-" { self.stdin() } else { self.included(name) };
        if flow == Flow::End { flow } else { self.end_of_input() }
    }

    /// Standard input, batch by batch as it arrives.
    pub fn stdin(&mut self) -> Flow {
        self.lines(io::stdin().lock(), None)
    }

    /// Text of `-Q`. The last batch needs no GO.
    pub fn text(&mut self, text: &str) -> Flow {
        for (line, number) in text.lines().zip(1..) {
            if self.line(line, &SourceLine { file: None, line: number }) == Flow::End {
                return Flow::End;
            }
        }
        self.end_of_input()
    }

    /// Runs what no GO has ended.
    pub fn end_of_input(&mut self) -> Flow {
        match self.script.end() {
            Ok(None) => self.flow(),
            Ok(Some(batch)) => {
                self.command(Command::Run(batch), &SourceLine { file: None, line: 0 })
            }
            Err(text) => self.complain(&text),
        }
    }

    /// Opens a file that can be read as a script to its end.
    fn open(&self, name: &Path) -> Result<File, InputError> {
        let file = File::open(name)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        if file.metadata()?.is_file() {
            check(&file, self.args.code_pages.input)?;
        }
        Ok(File::open(name)?)
    }

    /// Whether all files of `-i` can be read: nothing runs otherwise.
    pub fn check_files(&mut self, files: &[PathBuf]) -> Flow {
        self.name_files |= files.len() + self.args.query.len() > 1;
        for name in files.iter().filter(|name| name.as_os_str() != "-") {
            // A pipe can be read once only.
            let once = std::fs::metadata(name).is_ok_and(|file| !file.is_file() && !file.is_dir());
            if !once && let Err(error) = self.open(name) {
                return self.unreadable(Some(name), &error);
            }
        }
        Flow::On
    }

    fn included(&mut self, name: &Path) -> Flow {
        match self.open(name) {
            Ok(file) => self.lines(file, Some(name)),
            Err(error) => self.unreadable(Some(name), &error),
        }
    }

    // ---- batches ----

    /// Gives the printer what options and variables say now; the seconds that a batch may take.
    fn settle(&mut self) -> Option<u64> {
        let variables = &self.script.variables;
        let number = |name| variables.number(name).and_then(|n| usize::try_from(n).ok());
        let plain = self.args.output.style();
        let rows = variables.number("SQLCMDHEADERS").and_then(|n| i32::try_from(n).ok());
        let style = TableStyle {
            separator: variables.get("SQLCMDCOLSEP").map_or(plain.separator, str::to_owned),
            headers: rows.map_or(plain.headers, headers),
            line_width: number("SQLCMDCOLWIDTH").unwrap_or(plain.line_width),
            max_type_width: number("SQLCMDMAXVARTYPEWIDTH").unwrap_or(plain.max_type_width),
            type_width: number("SQLCMDMAXFIXEDTYPEWIDTH").unwrap_or(plain.type_width),
            ..plain
        };
        self.printer.set_format(self.format, &style);
        let level = variables.number("SQLCMDERRORLEVEL").and_then(|n| i32::try_from(n).ok());
        self.printer.levels.shown = level.unwrap_or(0);
        variables.number("SQLCMDSTATTIMEOUT").and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0)
    }

    /// Runs a batch as often as it asks for.
    fn run(&mut self, batch: Batch, keep_last: bool) -> PrintedBatch {
        let mut all = PrintedBatch::default();
        if batch.text.trim().is_empty() {
            return all;
        }
        let timeout = self.settle();
        if self.args.output.echo {
            self.printer.print(&batch.text);
        }
        let begun = Instant::now();
        let mut runs = 0;
        for _ in 0..batch.count {
            signals::wait_if_stopping();
            if self.interrupted.load(Ordering::Acquire) {
                break;
            }
            let came = self.once(&batch, keep_last, timeout);
            runs += 1;
            self.code = self.code.max(came.code);
            self.exit = self.exit.or(came.quit);
            all = PrintedBatch { code: all.code.max(came.code), ..came };
            if came.code > 0 && self.stop_on_error || self.flow() == Flow::End {
                break;
            }
        }
        self.report_time(begun.elapsed(), runs);
        all
    }

    fn once(&mut self, batch: &Batch, keep_last: bool, timeout: Option<u64>) -> PrintedBatch {
        let (session, printer) = (&mut self.target, &mut self.printer);
        printer.begin(batch.clone(), keep_last);
        let Some(seconds) = timeout else {
            session.execute(&batch.text, printer);
            return printer.finish();
        };
        let expired = Arc::new(AtomicBool::new(false));
        let text = format!(
            "Timeout expired: the batch was cancelled after {}.",
            counted(seconds as usize, "second")
        );
        printer.cancelled_by = Some((expired.clone(), text));
        let cancel = session.cancel();
        std::thread::scope(|scope| {
            let (ended, watched) = mpsc::channel::<()>();
            scope.spawn(move || {
                let waited = watched.recv_timeout(Duration::from_secs(seconds));
                if waited == Err(mpsc::RecvTimeoutError::Timeout) {
                    expired.store(true, Ordering::Release);
                    cancel();
                }
            });
            session.execute(&batch.text, printer);
            drop(ended);
        });
        printer.finish()
    }

    fn report_time(&mut self, time: Duration, runs: u32) {
        let total = time.as_secs_f64() * 1e3;
        let runs_f = f64::from(runs.max(1));
        let (average, rate) = (total / runs_f, runs_f / time.as_secs_f64().max(1e-9));
        match self.args.output.statistics.as_deref() {
            Some("1") => self.printer.print(&format!("\n{runs}:{total:.3}:{average:.3}:{rate:.2}\n")),
            Some(_) => self.printer.print(&format!(
                "\n{runs} xact[s]:\nClock Time (ms.): total {total:9.3}  avg {average:9.3} ({rate:.2} xacts per sec.)\n"
            )),
            None if self.timing && self.interactive => self.say(&format!("({} ms)", milliseconds(total))),
            None => {}
        }
    }
}

/// Three figures or so of a time.
fn milliseconds(time: f64) -> String {
    if time < 10.0 { format!("{time:.2}") } else { format!("{time:.0}") }
}

/// A new file, or an emptied one. UTF-16 begins with its mark.
fn create(name: &Path, page: u16) -> Result<Stream, String> {
    let mut file = File::create(name).map_err(|e| format!("{}: {e}", name.display()))?;
    let mark: &[u8] = match page {
        1200 => b"\xff\xfe",
        1201 => b"\xfe\xff",
        _ => b"",
    };
    io::Write::write_all(&mut file, mark).map_err(|e| format!("{}: {e}", name.display()))?;
    append(name, page)
}

/// The end of a file, which others may write to as well.
fn append(name: &Path, page: u16) -> Result<Stream, String> {
    let shown = name.display().to_string();
    let file = OpenOptions::new().append(true).open(name).map_err(|e| format!("{shown}: {e}"))?;
    Ok(Stream::file(&shown, file, page))
}
