//! What is wrong with a text or a query, by SQL Server's numbers.

use std::fmt::Display;

use messages::{self as msg, Message};

use crate::build::BuildError;
use crate::pace::Stopped;
use crate::tree::Name;

/// What stands for the method of which errors of a query tell: whoever calls the crate knows it,
/// and writes `XQuery [method()]: ` before the text.
pub(crate) const PLACE: &str = "";

/// Why a text is no XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    pub number: i32,
    pub text: String,
}

impl ReadError {
    /// An error at a byte of the text: lines and characters count from 1, characters in UTF-16
    /// units.
    pub(crate) fn at(message: Message<2>, text: &str, offset: usize) -> ReadError {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let character = before[start..].encode_utf16().count() + 1;
        ReadError::of(message, [&line, &character])
    }

    /// The work was told to stop; who told it so knows why: [`crate::watched`] gives the reason in
    /// its place.
    pub(crate) fn stopped() -> ReadError {
        ReadError::of(msg::CANCELLED, [])
    }

    pub(crate) fn of<const VALUES: usize>(
        message: Message<VALUES>,
        values: [&dyn Display; VALUES],
    ) -> ReadError {
        ReadError { number: message.number(), text: message.text(values) }
    }
}

/// Why a query cannot be compiled or run; the text is what stands behind `XQuery [method()]: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    pub number: i32,
    pub text: String,
}

impl QueryError {
    /// Messages that name the method have [`PLACE`] for it.
    pub(crate) fn of<const VALUES: usize>(
        message: Message<VALUES>,
        values: [&dyn Display; VALUES],
    ) -> QueryError {
        QueryError { number: message.number(), text: message.text(values) }
    }

    /// 2209.
    pub(crate) fn syntax(near: &str) -> QueryError {
        QueryError::of(msg::XQUERY_SYNTAX, [&PLACE, &near])
    }

    /// 6307: an attribute by itself, or behind what stands in its element.
    pub(crate) fn attribute_outside() -> QueryError {
        QueryError::of(msg::XML_ATTRIBUTE_OUTSIDE, [])
    }

    /// 6308: an element has an attribute of this name already.
    pub(crate) fn duplicate_attribute(name: &Name) -> QueryError {
        QueryError::of(msg::XML_DUPLICATE_ATTRIBUTE, [&name.written()])
    }

    /// 9335: a part of XQuery that SQL Server does not have either.
    pub(crate) fn not_spoken(syntax: &str) -> QueryError {
        QueryError::of(msg::XQUERY_SYNTAX_NOT_SUPPORTED, [&PLACE, &syntax])
    }

    /// What SQL Server may have and this does not.
    pub(crate) fn unsupported(what: &str) -> QueryError {
        QueryError::of(msg::NOT_SUPPORTED, [&what])
    }
}

impl From<Stopped> for ReadError {
    fn from(_: Stopped) -> ReadError {
        ReadError::stopped()
    }
}

impl From<ReadError> for QueryError {
    fn from(error: ReadError) -> QueryError {
        QueryError { number: error.number, text: error.text }
    }
}

impl From<Stopped> for QueryError {
    fn from(_: Stopped) -> QueryError {
        QueryError::of(msg::CANCELLED, [])
    }
}

impl From<BuildError> for QueryError {
    fn from(error: BuildError) -> QueryError {
        match error {
            BuildError::Stopped => Stopped.into(),
            BuildError::TooLong => QueryError::of(msg::XML_TOO_LONG, []),
        }
    }
}
