//! Texts that are no XML: what the parser says of them, and declarations of encodings.
//! Guarantee: every error has SQL Server's number and the place in the text where it was seen.

use quick_xml::errors::{IllFormedError, SyntaxError};
use quick_xml::events::BytesDecl;

use super::{Source, is_name};
use crate::error::ReadError;

/// 9402: the declaration names an encoding that the text cannot have had.
pub(super) fn check_encoding(
    decl: &BytesDecl<'_>,
    source: Source,
    text: &str,
    end: usize,
) -> Result<(), ReadError> {
    let Some(Ok(encoding)) = decl.encoding() else { return Ok(()) };
    let name = String::from_utf8_lossy(&encoding).to_ascii_lowercase();
    let wide = matches!(name.as_str(), "utf-16" | "ucs-2" | "iso-10646-ucs-2" | "unicode");
    let fits = match source {
        Source::Wide => wide,
        Source::Narrow => !wide,
        Source::Bytes => true,
    };
    if fits {
        Ok(())
    } else {
        Err(ReadError::at(9402, "unable to switch the encoding", text, end.saturating_sub(2)))
    }
}

/// What the parser says, as SQL Server says it.
pub(super) fn failed(error: &quick_xml::Error, text: &str, at: usize) -> ReadError {
    use quick_xml::Error as E;
    let (number, what, at) = match error {
        E::IllFormed(IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_)) => {
            // Behind the tag.
            let end = text.get(at..).and_then(|rest| rest.find('>')).map_or(text.len(), |found| at + found);
            return match text.get(at..end).and_then(|tag| tag.strip_prefix("</")).map(str::trim_end) {
                Some(name) if !name.split(':').all(is_name) => {
                    ReadError::at(9455, "illegal qualified name character", text, end)
                }
                _ => ReadError::at(9436, "end tag does not match start tag", text, end),
            };
        }
        E::IllFormed(IllFormedError::DoubleHyphenInComment) => (9424, "incorrect comment syntax", at),
        E::IllFormed(IllFormedError::UnclosedReference) => (9411, "semicolon expected", at),
        E::IllFormed(IllFormedError::MissingDeclVersion(_) | IllFormedError::UnknownVersion) => {
            (9441, "incorrect xml declaration syntax", at)
        }
        E::Syntax(SyntaxError::InvalidBangMarkup) => (9422, "incorrect document syntax", at),
        _ => (9400, "unexpected end of input", text.len()),
    };
    ReadError::at(number, what, text, at)
}
