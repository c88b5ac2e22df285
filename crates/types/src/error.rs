//! The error a user sees: SQL Server's number, severity, state and text. Guarantees: texts and
//! numbers are SQL Server's own; the line is 0 until the statement that knows it fills it in.

use std::fmt::Display;
use std::ops::{Deref, DerefMut};

use compact_str::CompactString;
use messages::Message;

use crate::msg;

/// An error as `Msg number, Level severity, State state, Line line` shows it.
///
/// A pointer: nearly all results are no errors, and what is handed on from call to call is as small
/// as the value then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct SqlError(Box<RaisedError>);

const _: () = assert!(size_of::<Result<(), SqlError>>() == size_of::<usize>());

/// What an error says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaisedError {
    /// SQL Server's message number.
    pub number: i32,
    /// 0..=25; 11..=16 are the user's to correct.
    pub severity: u8,
    /// Where in the server it was raised; part of the printed error.
    pub state: u8,
    /// The message text with its parameters filled in.
    pub message: String,
    /// Line within the batch or procedure, counted from 1; 0 = not known yet.
    pub line: u32,
    /// The procedure or trigger that it was raised in; empty outside of one.
    procedure: CompactString,
    /// Errors that a client is told behind this one: further ones of a text that is not T-SQL.
    pub after: Vec<SqlError>,
}

impl Deref for SqlError {
    type Target = RaisedError;

    #[inline]
    fn deref(&self) -> &RaisedError {
        &self.0
    }
}

impl DerefMut for SqlError {
    #[inline]
    fn deref_mut(&mut self) -> &mut RaisedError {
        &mut self.0
    }
}

impl SqlError {
    /// A message of the list with its values, in its usual state, without a line yet.
    #[cold]
    pub fn of<const VALUES: usize>(
        message: Message<VALUES>,
        values: [&dyn Display; VALUES],
    ) -> SqlError {
        SqlError::new(message.number(), message.severity(), message.state(), message.text(values))
    }

    /// An error that somebody else has worded: RAISERROR and THROW, another server, a text without
    /// a number. What Ringwood says itself is a message of the list ([`SqlError::of`]).
    pub fn new(number: i32, severity: u8, state: u8, message: impl Into<String>) -> SqlError {
        let message = message.into();
        SqlError(Box::new(RaisedError {
            number,
            severity,
            state,
            message,
            line: 0,
            procedure: CompactString::default(),
            after: Vec::new(),
        }))
    }

    /// The text alone.
    pub fn into_message(self) -> String {
        self.0.message
    }

    /// The same error in another state.
    #[must_use]
    pub fn state(mut self, state: u8) -> SqlError {
        self.state = state;
        self
    }

    /// The same error at a line, unless it already has one.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> SqlError {
        if self.line == 0 {
            self.line = line;
        }
        self
    }

    /// The same error in a procedure, unless its line is known: then so is its place.
    #[must_use]
    pub fn in_procedure(mut self, name: &str) -> SqlError {
        if self.line == 0 && !name.is_empty() {
            self.procedure = name.into();
        }
        self
    }

    /// The procedure or trigger that it was raised in; empty outside of one.
    pub fn procedure(&self) -> &str {
        &self.procedure
    }

    /// 3624: a bug of ours that must not go further than this statement.
    pub fn internal(what: impl AsRef<str>) -> SqlError {
        SqlError::of(msg::ASSERTION_FAILED, [&what.as_ref()])
    }
}

/// Bytes of a stored row that cannot be what `encode` wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// The row ends before its own header, bitmap or offset array does.
    #[error("row of {len} bytes is too short for its header (needs {needed})")]
    Short { len: usize, needed: usize },
    /// A fixed column lies beyond the end of the fixed part.
    #[error("column {column} lies outside the fixed part of the row")]
    Fixed { column: usize },
    /// A variable column's end is before its start or beyond the row.
    #[error("column {column} has an impossible end offset")]
    Offset { column: usize },
    /// A stored number, date or string has no meaning in the column's type.
    #[error("column {column} holds bytes that are no value of its type")]
    Value { column: usize },
    /// The column's value lives elsewhere and was asked for as if it were in the row.
    #[error("column {column} is an off-row pointer")]
    OffRow { column: usize },
    /// The layout has no such column.
    #[error("no column {column} in this layout")]
    NoColumn { column: usize },
}
