//! The syntax error: SQL Server's number, severity, state, line and text, and the errors that the
//! parser raises.

use std::fmt::{self, Display};

use messages::{self as msg, Message};

/// Why a batch cannot be parsed. Nothing of the batch may run then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// SQL Server's message number: 102, 103, 105, 113, 156, 191, 319, 1038, 4145 and some rarer
    /// ones.
    pub number: u32,
    /// Always 15: the user can correct it.
    pub severity: u8,
    /// 1 for most, as documented with the message.
    pub state: u8,
    /// 1-based line within the batch.
    pub line: u32,
    /// The full text.
    pub message: String,
    /// What SQL Server reports behind it, in this order; of most errors nothing.
    pub after: Vec<SyntaxError>,
}

/// Why there are no statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text has an error.
    Syntax(SyntaxError),
    /// The caller that asked for them does not want them any more.
    Stopped,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: ",
            self.number, self.severity, self.state, self.line
        )?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Characters of user text that a message quotes at most; the rest is cut off.
const QUOTED_MAX: usize = 1000;

/// The first [`QUOTED_MAX`] characters.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

impl SyntaxError {
    /// A message of the list with its values, in its usual state.
    pub(crate) fn of<const VALUES: usize>(
        message: Message<VALUES>,
        line: u32,
        values: [&dyn Display; VALUES],
    ) -> Self {
        Self {
            number: message.number().unsigned_abs(),
            severity: message.severity(),
            state: message.state(),
            line,
            message: message.text(values),
            after: Vec::new(),
        }
    }

    /// Takes the place of the error of a text that is not read to its end.
    pub(crate) fn stopped() -> Self {
        Self {
            number: 0,
            severity: 15,
            state: 1,
            line: 1,
            message: String::new(),
            after: Vec::new(),
        }
    }

    pub(crate) fn near(line: u32, text: &str) -> Self {
        Self::of(msg::SYNTAX_NEAR, line, [&cut(text)])
    }

    pub(crate) fn near_keyword(line: u32, text: &str) -> Self {
        Self::of(msg::SYNTAX_NEAR_KEYWORD, line, [&text])
    }

    /// WITH begins a statement, and nothing has ended the one before.
    pub(crate) fn with_after_statement(line: u32) -> Self {
        Self::of(msg::WITH_NEEDS_SEMICOLON, line, [])
    }

    pub(crate) fn unclosed_quote(line: u32, text: &str) -> Self {
        Self::of(msg::UNCLOSED_QUOTE, line, [&cut(text)])
    }

    pub(crate) fn unclosed_comment(line: u32) -> Self {
        Self::of(msg::UNCLOSED_COMMENT, line, [])
    }

    pub(crate) fn identifier_too_long(line: u32, start: &str) -> Self {
        Self::of(msg::NAME_TOO_LONG, line, [&"identifier", &start, &128])
    }

    pub(crate) fn too_many_prefixes(line: u32, name: &str, maximum: u32) -> Self {
        Self::of(msg::TOO_MANY_PREFIXES, line, [&cut(name), &maximum])
    }

    pub(crate) fn empty_name(line: u32) -> Self {
        Self { state: 4, ..Self::of(msg::EMPTY_NAME, line, []) }
    }

    pub(crate) fn no_table_constraint(line: u32) -> Self {
        Self::of(msg::INCORRECT_CONSTRAINT_SYNTAX, line, [&"TABLE"])
    }

    pub(crate) fn no_return_value(line: u32) -> Self {
        Self::of(msg::RETURN_VALUE_NOT_ALLOWED, line, [])
    }

    pub(crate) fn must_be_named(line: u32, at: usize) -> Self {
        Self::of(msg::PARAMETERS_MUST_BE_NAMED, line, [&at])
    }

    pub(crate) fn output_of_constant(line: u32) -> Self {
        Self::of(msg::OUTPUT_OF_CONSTANT, line, [])
    }

    pub(crate) fn no_subqueries(line: u32) -> Self {
        Self::of(msg::SUBQUERY_NOT_ALLOWED, line, [])
    }

    pub(crate) fn same_action(line: u32, action: &str) -> Self {
        Self::of(msg::DUPLICATE_TRIGGER_ACTION, line, [&action])
    }

    pub(crate) fn too_deep(line: u32) -> Self {
        Self::of(msg::NESTED_TOO_DEEPLY, line, [])
    }

    pub(crate) fn too_long(line: u32) -> Self {
        Self::of(msg::BATCH_TOO_LONG, line, [])
    }

    pub(crate) fn not_a_condition(line: u32, near: &str) -> Self {
        Self::of(msg::NOT_A_CONDITION_NEAR, line, [&cut(near)])
    }
}
