//! Commands: what each consists of, and its grammar. A new one is its parts and a line in the list
//! here, and what carries it out (`engine/src/stmt`).

use super::{P, Parser};
use crate::ast::{Command, Expr};
use crate::lexer::Tok;
use compact_str::CompactString;

/// `CHECKPOINT [seconds]`.
#[derive(Debug, PartialEq)]
pub struct Checkpoint(pub Option<Expr>);

/// `KILL session [WITH STATUSONLY]`, `KILL 'unit of work' WITH {COMMIT | ROLLBACK}`.
#[derive(Debug, PartialEq)]
pub struct Kill {
    /// A session's number or a unit of work.
    pub session: Expr,
    /// `WITH STATUSONLY`.
    pub status_only: bool,
    /// `WITH COMMIT` (true) or `WITH ROLLBACK`: decides a transaction over several databases that
    /// is in doubt.
    pub commit: Option<bool>,
}

/// `RECONFIGURE [WITH OVERRIDE]`.
#[derive(Debug, PartialEq)]
pub struct Reconfigure {
    pub with_override: bool,
}

/// `SETUSER ['user' [WITH NORESET]]`.
#[derive(Debug, PartialEq)]
pub struct SetUser {
    /// The user's name, and whether a SETUSER without one ends it.
    pub user: Option<(CompactString, bool)>,
}

/// Reads what follows a command's first words.
type Grammar = fn(&mut Parser<'_>, &'static str) -> P<Command>;

/// The commands by their first words.
const COMMANDS: &[(&str, Grammar)] = &[
    ("CHECKPOINT", checkpoint),
    ("KILL", kill),
    ("RECONFIGURE", reconfigure),
    ("SETUSER", set_user),
];

/// Whether these are a command's first words.
pub(super) fn is_command(words: &str) -> bool {
    COMMANDS.iter().any(|(known, _)| *known == words)
}

impl Parser<'_> {
    /// The command at hand, if one begins here.
    pub(super) fn command(&mut self) -> P<Option<Command>> {
        let Some((words, grammar)) = COMMANDS.iter().find(|(words, _)| self.at_words(0, words))
        else {
            return Ok(None);
        };
        for _ in words.split(' ') {
            self.bump();
        }
        grammar(self, words).map(Some)
    }

    /// Whether a command begins here.
    pub(super) fn at_command(&self) -> bool {
        COMMANDS.iter().any(|(words, _)| self.at_words(0, words))
    }
}

fn checkpoint(p: &mut Parser<'_>, words: &'static str) -> P<Command> {
    let given = matches!(p.kind(), Tok::Integer | Tok::Variable);
    let seconds = if given { Some(p.constant_or_variable()?) } else { None };
    Ok(Command::new(words, Checkpoint(seconds)))
}

fn kill(p: &mut Parser<'_>, words: &'static str) -> P<Command> {
    let session = p.constant_or_variable()?;
    let status_only = p.eat_seq(&["WITH", "STATUSONLY"]);
    let commit = if status_only {
        None
    } else if p.eat_seq(&["WITH", "COMMIT"]) {
        Some(true)
    } else {
        p.eat_seq(&["WITH", "ROLLBACK"]).then_some(false)
    };
    Ok(Command::new(words, Kill { session, status_only, commit }))
}

fn reconfigure(p: &mut Parser<'_>, words: &'static str) -> P<Command> {
    Ok(Command::new(words, Reconfigure { with_override: p.eat_seq(&["WITH", "OVERRIDE"]) }))
}

fn set_user(p: &mut Parser<'_>, words: &'static str) -> P<Command> {
    let named = matches!(p.kind(), Tok::Str | Tok::NStr);
    let user = if named { Some((p.string()?, !p.eat_seq(&["WITH", "NORESET"]))) } else { None };
    Ok(Command::new(words, SetUser { user }))
}
