//! The prompt: a batch is edited as a whole, over as many lines as it has, until GO or a command
//! ends it. Rustyline carries the editing; this says what a batch's end is, what is coloured how,
//! what Tab offers and what Ctrl+C and Ctrl+D do.

use super::complete::{self, NameSource};
use super::runner::{Flow, Runner};
use super::script::{Rules, is_command};
use crate::say::say;
use crate::signals;
use crate::source_line::SourceLine;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Behavior, Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event,
    EventContext, EventHandler, Helper, KeyEvent, RepeatCount,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syntax::Scanner;
use syntax::lexer::{Tok, tokenize};

/// Batches that the history keeps.
const HISTORY: usize = 10_000;

/// What the editor must know of the batch that is being gathered.
struct PromptState {
    /// Its lines before those that are being edited.
    gathered: String,
    scanner: Scanner,
    rules: Rules,
    names: Rc<dyn NameSource>,
}

struct Assistant {
    state: RefCell<PromptState>,
    files: FilenameCompleter,
}

impl Helper for Assistant {}

impl PromptState {
    fn is_first(&self) -> bool {
        self.gathered.trim().is_empty()
    }

    /// Whether Enter hands the text over: its last line is GO or a command, or nothing was typed.
    fn is_complete(&self, text: &str) -> bool {
        let mut scanner = self.scanner;
        let mut first = self.is_first();
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        for line in before.lines() {
            if is_command(line, scanner, first, &self.rules) {
                first = true;
            } else {
                scanner = scanner.after(line).after("\n");
                first &= line.trim().is_empty();
            }
        }
        is_command(last, scanner, first, &self.rules) || first && text.trim().is_empty()
    }
}

impl Validator for Assistant {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let complete = self.state.borrow().is_complete(ctx.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Assistant {
    type Hint = String;

    /// Below a line that ends in a semicolon: what runs it.
    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        let ends = line.strip_suffix('\n')?.trim_end().ends_with(';') && pos == line.len();
        let open = self.state.borrow().scanner.after(line).is_open();
        (ends && !open).then(|| "GO runs the batch".to_owned())
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        text: &str,
        pos: usize,
        ctx: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let state = self.state.borrow();
        let line_start = text[..pos].rfind('\n').map_or(0, |at| at + 1);
        let line = &text[line_start..pos];
        let begins = line.len() - line.trim_start().len();
        let command = line.trim_start();
        let first_word = !command.contains(char::is_whitespace);
        let pairs = |names: Vec<String>| {
            names
                .into_iter()
                .map(|name| Pair { display: name.clone(), replacement: name })
                .collect()
        };
        let open = state.scanner.after(&text[..line_start]).is_open();
        if !open && command.starts_with([':', '\\', '.']) && first_word {
            return Ok((line_start + begins, pairs(complete::commands(command))));
        }
        let word = command.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let takes_file =
            [":r", ":out", ":error", "\\i", "\\o", ".read", ".output"].contains(&word.as_str());
        if !open && takes_file {
            return self.files.complete(text, pos, ctx);
        }
        // The argument of a question is a table or a database.
        let asks =
            command.starts_with(['\\', '.']) || ["desc", "describe"].contains(&word.as_str());
        let lead = match word.as_str() {
            "\\c" | "\\connect" => "use ",
            _ => "from ",
        };
        let (start, names) = if !open && asks && !first_word {
            let argument = command.trim_start_matches(|c: char| !c.is_whitespace()).trim_start();
            let asked = format!("{lead}{argument}");
            let (start, names) =
                complete::complete(&asked, asked.len(), Scanner::default(), &asked, &*state.names);
            (pos - (asked.len() - start), names)
        } else {
            let whole = format!("{}{text}", state.gathered);
            complete::complete(text, pos, state.scanner, &whole, &*state.names)
        };
        Ok((start, pairs(names)))
    }
}

/// The colour of a token.
fn colour(kind: Tok, text: &str) -> Option<&'static str> {
    match kind {
        Tok::Reserved => Some("\x1b[1;34m"),
        Tok::Str | Tok::NStr => Some("\x1b[32m"),
        Tok::Integer | Tok::Decimal | Tok::Float | Tok::Money | Tok::Binary => Some("\x1b[36m"),
        Tok::Variable => Some("\x1b[33m"),
        // An open string, most likely.
        Tok::Bad => Some("\x1b[32m"),
        Tok::Word if text.eq_ignore_ascii_case("go") => Some("\x1b[1;35m"),
        _ => None,
    }
}

const COMMENT: &str = "\x1b[90m";
const PLAIN: &str = "\x1b[0m";

/// The text in colours; without them it is the same.
fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut put = |colour: Option<&str>, piece: &str| {
        if piece.trim().is_empty() {
            out.push_str(piece);
            return;
        }
        // Line by line, so that no colour goes on over a line break.
        for line in piece.split_inclusive('\n') {
            match colour {
                Some(colour) => {
                    out.push_str(colour);
                    out.push_str(line.trim_end_matches('\n'));
                    out.push_str(PLAIN);
                    out.push_str(if line.ends_with('\n') { "\n" } else { "" });
                }
                None => out.push_str(line),
            }
        }
    };
    let mut done = 0;
    for token in tokenize(text).list {
        let start = token.span.start as usize;
        let end = if token.kind == Tok::Bad { text.len() } else { token.span.end as usize };
        // What lies between tokens is white space and comments.
        put(Some(COMMENT), text.get(done..start).unwrap_or_default());
        let piece = text.get(start..end).unwrap_or_default();
        put(colour(token.kind, piece), piece);
        done = end.max(done);
    }
    put(None, text.get(done..).unwrap_or_default());
    out
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.state.borrow().scanner.is_open() {
            return Cow::Borrowed(line);
        }
        Cow::Owned(coloured(line))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("{COMMENT}{hint}{PLAIN}"))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

/// Ctrl+D at the empty last line of a batch: the end of input, as at an empty prompt.
struct EndOfInput(Arc<AtomicBool>);

impl ConditionalEventHandler for EndOfInput {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let line = ctx.line();
        if line.ends_with('\n') && ctx.pos() == line.len() {
            self.0.store(true, Ordering::Release);
            return Some(Cmd::Interrupt);
        }
        None
    }
}

/// Where the history is kept: `RINGWOOD_HISTORY`, else below the user's folder for state. None: it
/// is not kept.
fn history_file() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os("RINGWOOD_HISTORY") {
        return (!file.is_empty()).then(|| PathBuf::from(file));
    }
    let folder = match std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?)
            .join(".local/state"),
    };
    Some(folder.join("ringwood/history"))
}

/// Whether a text may be kept: passwords and keys are not.
fn may_be_kept(text: &str) -> bool {
    !text.trim().is_empty() && !engine::has_secret(text)
}

/// What came of asking for a text.
enum Typed {
    Text(String),
    /// Ctrl+C.
    Dropped,
    End,
}

struct Prompt {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
    end: Arc<AtomicBool>,
}

impl Prompt {
    fn new(assistant: Assistant) -> rustyline::Result<Prompt> {
        let mut config = Config::builder()
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .max_history_size(HISTORY)?
            .history_ignore_dups(true)?;
        if !io::stdout().is_terminal() {
            config = config.behavior(Behavior::PreferTerm);
        }
        let mut editor = Editor::with_config(config.build())?;
        editor.set_helper(Some(assistant));
        let end = Arc::new(AtomicBool::new(false));
        editor.bind_sequence(
            KeyEvent::ctrl('d'),
            EventHandler::Conditional(Box::new(EndOfInput(end.clone()))),
        );
        let history = history_file();
        if let Some(file) = &history {
            let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
            // A history that is not there yet, or cannot be kept, is no reason not to go on.
            let _ = folder.map(|()| editor.load_history(file));
        }
        Ok(Prompt { editor, history, end })
    }

    fn ask(&mut self, prompt: &str) -> rustyline::Result<Typed> {
        match self.editor.readline(prompt) {
            Ok(text) => {
                if may_be_kept(&text) && self.editor.add_history_entry(text.as_str())? {
                    let _ = self.history.as_ref().map(|file| self.editor.append_history(file));
                }
                Ok(Typed::Text(text))
            }
            Err(ReadlineError::Interrupted) if self.end.load(Ordering::Acquire) => Ok(Typed::End),
            Err(ReadlineError::Interrupted) => Ok(Typed::Dropped),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(error),
        }
    }
}

/// Reads and runs what is typed, to the end of input. What no GO has ended then does not run.
pub fn run(runner: &mut Runner<'_>) -> Flow {
    signals::remember_terminal();
    say(format_args!(
        "Ringwood {}. GO on a line of its own runs what was typed; help or :help tells more; exit or Ctrl+D ends.",
        env!("CARGO_PKG_VERSION")
    ));
    let assistant = Assistant {
        state: RefCell::new(PromptState {
            gathered: String::new(),
            scanner: Scanner::default(),
            rules: runner.script.rules.clone(),
            names: runner.names(),
        }),
        files: FilenameCompleter::new(),
    };
    let mut prompt = match Prompt::new(assistant) {
        Ok(prompt) => prompt,
        Err(error) => {
            say(format_args!("terminal: {error}"));
            return Flow::End;
        }
    };
    loop {
        let database = runner.database();
        let shown = format!("{database} {}> ", runner.script.lines() + 1);
        if let Some(assistant) = prompt.editor.helper() {
            let mut state = assistant.state.borrow_mut();
            state.gathered = runner.script.text().to_owned();
            state.scanner = runner.script.scanner();
            state.names = runner.names();
        }
        match prompt.ask(&shown) {
            Ok(Typed::Text(text)) => {
                runner.forget_interrupt();
                for line in text.split('\n') {
                    let place = SourceLine { file: None, line: runner.script.lines() + 1 };
                    if runner.line(line, &place) == Flow::End {
                        return Flow::End;
                    }
                }
                // An empty line is no beginning of a batch.
                if runner.script.is_empty() {
                    runner.script.reset();
                }
            }
            Ok(Typed::Dropped) => runner.script.reset(),
            Ok(Typed::End) => {
                if prompt.end.load(Ordering::Acquire) || !runner.script.is_empty() {
                    say("The unfinished batch was not run.");
                }
                return Flow::End;
            }
            Err(error) => {
                say(format_args!("terminal: {error}"));
                return Flow::End;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_character() {
        for text in [
            "select 'a\nb', 1.5 -- x\nfrom t /* c\nd */ go",
            "'open\nstring",
            "",
            "\n\n",
            "@v [a] $ é \u{1}",
        ] {
            let plain =
                ["\x1b[1;34m", "\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[1;35m", COMMENT, PLAIN]
                    .iter()
                    .fold(coloured(text), |text, colour| text.replace(colour, ""));
            assert_eq!(plain, text);
        }
        assert_eq!(
            coloured("select 1 -- x"),
            "\x1b[1;34mselect\x1b[0m \x1b[36m1\x1b[0m\x1b[90m -- x\x1b[0m"
        );
    }

    #[test]
    fn secrets_are_not_kept() {
        assert!(may_be_kept("select 1") && !may_be_kept("  "));
        assert!(!may_be_kept("create credential [s3://b] with identity = 'x', secret = 'y'\ngo"));
        assert!(!may_be_kept("create login a with password/**/= N'y'"));
    }
}
