//! What is wrong with a text or a query, by SQL Server's numbers.

use crate::build::BuildError;
use crate::pace::Stopped;
use crate::tree::Name;

/// The number of the error of work that was told to stop. [`crate::watched`] gives the reason in
/// its place.
const STOPPED: i32 = 3617;

/// The text of 6365.
pub(crate) const TOO_LONG: &str =
    "An XML operation resulted an XML data type exceeding 2GB in size. Operation aborted.";

/// Why a text is no XML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    pub number: i32,
    pub text: String,
}

impl ReadError {
    /// An error at a byte of the text: lines and characters count from 1, characters in UTF-16 units.
    pub(crate) fn at(number: i32, what: &str, text: &str, offset: usize) -> ReadError {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let character = before[start..].encode_utf16().count() + 1;
        let text = format!("XML parsing: line {line}, character {character}, {what}");
        ReadError { number, text }
    }

    /// The work was told to stop; who told it so knows why.
    pub(crate) fn stopped() -> ReadError {
        ReadError::plain(STOPPED, "stopped")
    }

    pub(crate) fn plain(number: i32, text: &str) -> ReadError {
        ReadError { number, text: text.to_owned() }
    }
}

/// Why a query cannot be compiled or run; the text is what stands behind `XQuery [method()]: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    pub number: i32,
    pub text: String,
}

impl QueryError {
    pub(crate) fn new(number: i32, text: impl Into<String>) -> QueryError {
        QueryError { number, text: text.into() }
    }

    /// 2209.
    pub(crate) fn syntax(near: &str) -> QueryError {
        QueryError::new(2209, format!("Syntax error near '{near}'"))
    }

    /// 6307: an attribute by itself, or behind what stands in its element.
    pub(crate) fn attribute_outside() -> QueryError {
        let text = "XML well-formedness check: Attribute cannot appear outside of element declaration. Rewrite your XQuery so it \
                    returns well-formed XML.";
        QueryError::new(6307, text)
    }

    /// 6308: an element has an attribute of this name already.
    pub(crate) fn duplicate_attribute(name: &Name) -> QueryError {
        let text = format!(
            "XML well-formedness check: Duplicate attribute '{}'. Rewrite your XQuery so it returns well-formed XML.",
            name.written()
        );
        QueryError::new(6308, text)
    }

    /// 9335: a part of XQuery that SQL Server does not have either.
    pub(crate) fn not_spoken(syntax: &str) -> QueryError {
        QueryError::new(9335, format!("The XQuery syntax '{syntax}' is not supported."))
    }

    /// What SQL Server may have and this does not.
    pub(crate) fn unsupported(what: &str) -> QueryError {
        QueryError::new(40_517, format!("{what} is not supported in this version of Ringwood."))
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
        QueryError::new(STOPPED, "stopped")
    }
}

impl From<BuildError> for QueryError {
    fn from(error: BuildError) -> QueryError {
        match error {
            BuildError::Stopped => Stopped.into(),
            BuildError::TooLong => QueryError::new(6365, TOO_LONG),
        }
    }
}
