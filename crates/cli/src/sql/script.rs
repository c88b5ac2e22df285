//! A script as sqlcmd reads it, line by line: lines gather into a batch, GO and the commands that
//! begin with a colon act at once. It knows neither files nor the engine: what is to be done comes
//! back as a [`Command`].
//!
//! A line that begins inside of a string, a quoted name or a block comment is always text of the
//! batch. A complaint leaves the batch that is being gathered as it was.

use super::variables::Variables;
use crate::source_line::SourceLine;
use syntax::Scanner;

/// T-SQL that is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Its lines, variables replaced.
    pub text: String,
    /// How often to run it.
    pub count: u32,
    /// The places of its lines: from which line of the batch on (from 0), and where that line is
    /// from.
    places: Vec<(u32, SourceLine)>,
}

impl Batch {
    /// A text of nobody's script, run once.
    pub fn of(text: String) -> Batch {
        Batch { text, count: 1, places: Vec::new() }
    }

    /// Where line `line` of the batch, from 1, is from.
    pub fn place(&self, line: u32) -> SourceLine {
        let at = line.saturating_sub(1);
        match self.places.iter().rev().find(|(first, _)| *first <= at) {
            Some((first, place)) => {
                SourceLine { file: place.file.clone(), line: place.line + (at - first) }
            }
            None => SourceLine { file: None, line: line.max(1) },
        }
    }
}

/// Where `:out` and `:error` send what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    Stdout,
    Stderr,
    File(String),
}

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// GO: run the batch.
    Run(Batch),
    /// `:r`: go on with the lines of a file.
    Include(String),
    /// `:out`.
    Out(OutputTarget),
    /// `:error`.
    Error(OutputTarget),
    /// `:on error exit` (true) or `ignore`.
    OnError(bool),
    /// Text to show: `:list`, `:listvar`, `:help`.
    Show(String),
    /// Something that was done in here.
    Done,
    /// End without running the batch.
    Quit,
    /// `EXIT()`, `EXIT(query)`: run the batch and end; `true` makes the exit code of its last row.
    RunAndQuit(Batch, bool),
    /// `!!`: a command of the operating system.
    Shell(String),
    /// A question such as `\d` or `.tables`.
    Question(String),
}

/// How scripts are read.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The word that ends a batch.
    pub terminator: String,
    /// `$(NAME)` is replaced.
    pub expand: bool,
    /// Somebody types: questions of other shells are understood everywhere.
    pub interactive: bool,
}

/// The state between two lines.
#[derive(Debug)]
pub struct Script {
    pub variables: Variables,
    pub rules: Rules,
    text: String,
    lines: u32,
    places: Vec<(u32, SourceLine)>,
    scanner: Scanner,
}

/// Commands that sqlcmd has and this does not, with the reason.
const UNSUPPORTED: [(&str, &str); 5] = [
    ("connect", "one run talks to one server or one folder; name another one with -S or --data"),
    ("serverlist", "there are no servers to list"),
    ("xml", "there is no XML output; --format json is there"),
    ("ed", "there is no editor: the prompt itself edits all lines of a batch"),
    ("perftrace", "there is no trace; -p prints times"),
];

/// `:help`.
pub const HELP: &str = "\
GO [n]                      run the batch, n times
:r FILE                     read T-SQL and commands from a file
:setvar NAME [VALUE]        set $(NAME), or drop it
:listvar                    the variables that are set
:list                       the batch as it stands
:reset                      drop the batch
:out FILE|STDOUT|STDERR     where results go
:error FILE|STDOUT|STDERR   where messages and errors go
:on error exit|ignore       what an error does
:quit, :exit                end; the batch is not run
:exit()                     run the batch and end
:exit(QUERY)                the same, and the first column of the last row is the exit code
:!! COMMAND                 a command of the operating system
:help                       this
EXIT, QUIT, RESET and !! do without the colon.
\\l  \\dt [LIKE]  \\d [TABLE]  \\dn  \\di [TABLE]  databases, tables, a table, schemas, indexes
\\c DATABASE  \\i FILE  \\o FILE  \\! COMMAND  \\p  \\r  \\g  \\q  as in psql
\\plan [QUERY]             draws how a query, or the batch as it stands, would run; nothing runs
\\profile [QUERY]          runs it and draws what each operator did; its rows are counted, not shown
\\timing [on|off]  \\pager [on|off]  \\format table|csv|json|...
.databases  .tables [LIKE]  .schema [TABLE]  .indexes [TABLE]  .read FILE  .output FILE
.shell COMMAND  .mode FORMAT  .timer on|off  .quit  .help  as in SQLite's shell
show databases, show tables, describe TABLE, help           at the prompt
";

impl Script {
    pub fn new(variables: Variables, rules: Rules) -> Script {
        Script {
            variables,
            rules,
            text: String::new(),
            lines: 0,
            places: Vec::new(),
            scanner: Scanner::default(),
        }
    }

    /// Nothing but white space has been gathered.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Lines of the batch so far.
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// What the batch so far ends inside of.
    pub fn scanner(&self) -> Scanner {
        self.scanner
    }

    /// The text of the batch so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Drops the batch.
    pub fn reset(&mut self) {
        self.text.clear();
        self.lines = 0;
        self.places.clear();
        self.scanner = Scanner::default();
    }

    /// Takes a line without its line break. `None`: it belongs to the batch. Errors: a complaint;
    /// the batch is as before.
    pub fn line(&mut self, line: &str, place: &SourceLine) -> Result<Option<Command>, String> {
        match self.recognised(line) {
            None => {
                self.gather(line, place);
                Ok(None)
            }
            Some(word) => self.command(word, line, place).map(Some),
        }
    }

    /// The end of the input: the batch that no GO ended, if there is one.
    pub fn end(&mut self) -> Result<Option<Batch>, String> {
        if self.is_empty() { Ok(None) } else { self.take(1).map(Some) }
    }

    fn recognised<'l>(&self, line: &'l str) -> Option<ScriptLine<'l>> {
        recognise(line, self.scanner, self.is_empty(), &self.rules)
    }

    fn gather(&mut self, line: &str, place: &SourceLine) {
        let follows = self.places.last().is_some_and(|(first, last)| {
            last.file == place.file && last.line + (self.lines - first) == place.line
        });
        if !follows {
            self.places.push((self.lines, place.clone()));
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.scanner = self.scanner.after(line).after("\n");
        self.lines += 1;
    }

    fn expand(&self, text: &str) -> Result<String, String> {
        if !self.rules.expand {
            return Ok(text.to_owned());
        }
        self.variables
            .expand(text)
            .map_err(|(name, _)| format!("'{name}' scripting variable not defined."))
    }

    /// The batch with its variables replaced; what was gathered is gone then. Errors: an undefined
    /// variable.
    fn take(&mut self, count: u32) -> Result<Batch, String> {
        let text = if self.rules.expand {
            self.variables.expand(&self.text).map_err(|(name, line)| {
                let place =
                    Batch { places: self.places.clone(), ..Batch::default() }.place(line + 1);
                let file = place.file.map_or(String::new(), |file| format!("{file}, "));
                format!("{file}line {}: '{name}' scripting variable not defined.", place.line)
            })?
        } else {
            self.text.clone()
        };
        let places = std::mem::take(&mut self.places);
        self.reset();
        Ok(Batch { text, count, places })
    }

    fn command(
        &mut self,
        word: ScriptLine<'_>,
        line: &str,
        place: &SourceLine,
    ) -> Result<Command, String> {
        match word {
            ScriptLine::Go(argument) => {
                let argument = self.expand(argument)?;
                let count = match argument.trim() {
                    "" => 1,
                    digits => digits.parse().map_err(|_| {
                        format!("'{digits}' is not a number of times to run a batch.")
                    })?,
                };
                self.take(count).map(Command::Run)
            }
            ScriptLine::Question => {
                Ok(Command::Question(line.trim().trim_end_matches(';').trim_end().to_owned()))
            }
            ScriptLine::Command(name, rest) => self.colon(&name.to_ascii_lowercase(), rest, place),
        }
    }

    fn colon(&mut self, name: &str, rest: &str, place: &SourceLine) -> Result<Command, String> {
        let rest = self.expand(rest)?;
        let rest = rest.trim();
        let argument = || match unquoted(rest) {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(format!(":{name} wants one argument; put quotes around one with blanks.")),
        };
        let alone = |command: Command| {
            if rest.is_empty() {
                Ok(command)
            } else {
                Err(format!(":{name} takes no argument: '{rest}'."))
            }
        };
        match name {
            "r" => argument().map(Command::Include),
            "setvar" => self.setvar(rest),
            "listvar" => alone(Command::Show(self.variables.list())),
            "list" => alone(Command::Show(self.text.clone())),
            "help" => alone(Command::Show(HELP.into())),
            "reset" => {
                alone(Command::Done)?;
                self.reset();
                Ok(Command::Done)
            }
            "out" => argument().map(|text| Command::Out(target(text))),
            "error" => argument().map(|text| Command::Error(target(text))),
            "on" => match rest
                .split_whitespace()
                .map(str::to_ascii_lowercase)
                .collect::<Vec<_>>()
                .as_slice()
            {
                [error, what] if error == "error" && what == "exit" => Ok(Command::OnError(true)),
                [error, what] if error == "error" && what == "ignore" => {
                    Ok(Command::OnError(false))
                }
                _ => Err("expected :on error exit or :on error ignore.".into()),
            },
            "quit" => alone(Command::Quit),
            "exit" => self.exit(rest, place),
            "!!" if rest.is_empty() => Err("!! wants a command.".into()),
            "!!" => Ok(Command::Shell(rest.to_owned())),
            _ => match UNSUPPORTED.iter().find(|(known, _)| *known == name) {
                Some((_, reason)) => Err(format!(":{name} is not supported: {reason}.")),
                None => Err(format!(":{name} is not a command; :help names them.")),
            },
        }
    }

    fn setvar(&mut self, rest: &str) -> Result<Command, String> {
        let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let value = match value.trim() {
            "" => None,
            value => Some(unquoted(value).ok_or_else(|| {
                format!("the value of '{name}' has blanks: put double quotes around it.")
            })?),
        };
        self.variables.set(name, value).map(|()| Command::Done)
    }

    fn exit(&mut self, rest: &str, place: &SourceLine) -> Result<Command, String> {
        if rest.is_empty() {
            return Ok(Command::Quit);
        }
        let Some(query) = rest.strip_prefix('(').and_then(|rest| rest.trim_end().strip_suffix(')'))
        else {
            return Err(":exit takes nothing or a query in parentheses.".into());
        };
        let asks = !query.trim().is_empty();
        if asks {
            self.gather(query, place);
        }
        self.take(1).map(|batch| Command::RunAndQuit(batch, asks))
    }
}

/// Whether a line that follows text ending in `scanner` is a command. `first`: no text of its batch
/// is before it.
pub fn is_command(line: &str, scanner: Scanner, first: bool, rules: &Rules) -> bool {
    recognise(line, scanner, first, rules).is_some()
}

/// A line that is not text of the batch.
enum ScriptLine<'l> {
    /// What follows the terminator.
    Go(&'l str),
    /// A command and the rest of its line.
    Command(&'l str, &'l str),
    Question,
}

fn recognise<'l>(
    line: &'l str,
    scanner: Scanner,
    first: bool,
    rules: &Rules,
) -> Option<ScriptLine<'l>> {
    if scanner.is_open() {
        return None;
    }
    let text = line.trim();
    if let Some(rest) = go(text, &rules.terminator) {
        return Some(ScriptLine::Go(rest));
    }
    if let Some(command) = text.strip_prefix(':') {
        if let Some(rest) = command.strip_prefix("!!") {
            return Some(ScriptLine::Command("!!", rest));
        }
        // `::` is T-SQL's own.
        let end = command.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(command.len());
        return (!command.starts_with(':'))
            .then(|| ScriptLine::Command(&command[..end], &command[end..]));
    }
    if let Some(rest) = text.strip_prefix("!!") {
        return Some(ScriptLine::Command("!!", rest));
    }
    let bare = text.trim_end_matches(';').trim_end();
    let alone = |word: &str| bare.eq_ignore_ascii_case(word);
    if ["exit", "quit", "reset"].into_iter().any(alone) {
        return Some(ScriptLine::Command(bare, ""));
    }
    if bare.len() > 4 && bare.is_char_boundary(4) && bare[..4].eq_ignore_ascii_case("exit") {
        let rest = bare[4..].trim_start();
        if rest.starts_with('(') && rest.ends_with(')') {
            return Some(ScriptLine::Command(&bare[..4], rest));
        }
    }
    is_question(bare, first, rules.interactive).then_some(ScriptLine::Question)
}

/// What follows the terminator in a line that ends a batch: nothing, a number or a variable; a
/// comment may come after.
fn go<'l>(text: &'l str, terminator: &str) -> Option<&'l str> {
    let text = text.split("--").next().unwrap_or(text).trim_end();
    let rest = match text.get(..terminator.len()) {
        Some(word) if word.eq_ignore_ascii_case(terminator) => &text[terminator.len()..],
        _ => return None,
    };
    let argument = rest.trim_start();
    let number = argument.bytes().all(|b| b.is_ascii_digit());
    let variable = argument.starts_with("$(") && argument.ends_with(')');
    (rest.is_empty() || rest.len() > argument.len() && (number || variable)).then_some(argument)
}

/// Questions of other shells. No T-SQL statement begins with `\` or `.`; within a batch, and for
/// those that are words, only somebody who types is understood.
fn is_question(text: &str, first: bool, interactive: bool) -> bool {
    if !first && !interactive {
        return false;
    }
    let mut words = text.split_whitespace();
    let Some(word) = words.next() else { return false };
    if word.starts_with('\\') {
        return true;
    }
    if let Some(name) = word.strip_prefix('.') {
        return first && name.starts_with(|c: char| c.is_ascii_alphabetic())
            || super::meta::DOTS.contains(&name);
    }
    if !interactive || !first {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let rest = words.count();
    matches!(lower.as_str(), "help" | "?" | "show databases" | "show tables" | "show schemas")
        || rest == 1 && (lower.starts_with("describe ") || lower.starts_with("desc "))
}

/// An argument without the quotes around it; `None` when it has blanks and no quotes.
fn unquoted(text: &str) -> Option<&str> {
    match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').filter(|inner| !inner.contains('"')),
        None => (!text.contains(char::is_whitespace)).then_some(text),
    }
}

fn target(text: String) -> OutputTarget {
    match text.to_ascii_lowercase().as_str() {
        "stdout" => OutputTarget::Stdout,
        "stderr" => OutputTarget::Stderr,
        _ => OutputTarget::File(text),
    }
}

#[cfg(test)]
mod tests;
