//! Texts that are no XML: what the parser says of them, and declarations of encodings.
//! Guarantee: every error has SQL Server's number and the place in the text where it was seen.

use messages as msg;
use quick_xml::errors::{IllFormedError, SyntaxError};
use quick_xml::events::BytesDecl;

use super::{TextSource, is_name};
use crate::error::ReadError;

/// 9402: the declaration names an encoding that the text cannot have had.
pub(super) fn check_encoding(
    decl: &BytesDecl<'_>,
    source: TextSource,
    text: &str,
    end: usize,
) -> Result<(), ReadError> {
    let Some(Ok(encoding)) = decl.encoding() else { return Ok(()) };
    let name = String::from_utf8_lossy(&encoding).to_ascii_lowercase();
    let wide = matches!(name.as_str(), "utf-16" | "ucs-2" | "iso-10646-ucs-2" | "unicode");
    let fits = match source {
        TextSource::Wide => wide,
        TextSource::Narrow => !wide,
        TextSource::Bytes => true,
    };
    if fits { Ok(()) } else { Err(ReadError::at(msg::XML_ENCODING, text, end.saturating_sub(2))) }
}

/// What the parser says, as SQL Server says it.
pub(super) fn failed(error: &quick_xml::Error, text: &str, at: usize) -> ReadError {
    use quick_xml::Error as E;
    let (message, at) = match error {
        E::IllFormed(
            IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_),
        ) => {
            // Behind the tag.
            let end = text
                .get(at..)
                .and_then(|rest| rest.find('>'))
                .map_or(text.len(), |found| at + found);
            return match text.get(at..end).and_then(|tag| tag.strip_prefix("</")).map(str::trim_end)
            {
                Some(name) if !name.split(':').all(is_name) => {
                    ReadError::at(msg::XML_NAME_CHARACTER, text, end)
                }
                _ => ReadError::at(msg::XML_END_TAG, text, end),
            };
        }
        E::IllFormed(IllFormedError::DoubleHyphenInComment) => (msg::XML_COMMENT_SYNTAX, at),
        E::IllFormed(IllFormedError::UnclosedReference) => (msg::XML_SEMICOLON_EXPECTED, at),
        E::IllFormed(IllFormedError::MissingDeclVersion(_) | IllFormedError::UnknownVersion) => {
            (msg::XML_DECLARATION_SYNTAX, at)
        }
        E::Syntax(SyntaxError::InvalidBangMarkup) => (msg::XML_DOCUMENT_SYNTAX, at),
        _ => (msg::XML_UNEXPECTED_END, text.len()),
    };
    ReadError::at(message, text, at)
}
