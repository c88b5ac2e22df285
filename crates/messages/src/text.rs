//! Texts with specifications (`%ls`, `%d`): how many values they have, and the values filled in.
//! Guarantees: what is read as a specification is the same when the values are counted and when
//! they are filled in.

use std::fmt::{Display, Write as _};

/// The byte behind the specification, or behind the `%%`, that begins at `at`.
const fn end(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    if at < text.len() && text[at] == b'%' {
        return at + 1;
    }
    while at < text.len() && matches!(text[at], b'.' | b'*' | b'#' | b'l') {
        at += 1;
    }
    assert!(
        at < text.len() && matches!(text[at], b's' | b'd' | b'u' | b'x'),
        "a per cent sign of a text is %% or begins a specification"
    );
    at + 1
}

/// How many values a text has.
pub(crate) const fn values(text: &str) -> usize {
    let text = text.as_bytes();
    let (mut count, mut at) = (0, 0);
    while at < text.len() {
        if text[at] != b'%' {
            at += 1;
            continue;
        }
        let end = end(text, at);
        if text[end - 1] != b'%' {
            count += 1;
        }
        at = end;
    }
    count
}

/// The text with its values.
pub(crate) fn filled(text: &str, values: &[&dyn Display]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * values.len());
    let mut values = values.iter();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let end = end(rest.as_bytes(), at);
        if rest[at..end].ends_with("%%") {
            out.push('%');
        } else if let Some(value) = values.next() {
            // A text cannot fail; a value that does not show itself leaves nothing.
            let _ = write!(out, "{value}");
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// The value of a text that has one, as it was filled in.
pub(crate) fn value_of<'s>(text: &str, said: &'s str) -> Option<&'s str> {
    match pieces(text).as_slice() {
        [before, behind] => said.strip_prefix(before.as_str())?.strip_suffix(behind.as_str()),
        _ => None,
    }
}

/// What stands around the values.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let end = end(rest.as_bytes(), at);
        let around = rest[at..end].ends_with("%%");
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(&rest[..at]);
            piece.push_str(if around { "%" } else { "" });
        }
        if !around {
            pieces.push(String::new());
        }
        rest = &rest[end..];
    }
    if let Some(piece) = pieces.last_mut() {
        piece.push_str(rest);
    }
    pieces
}

/// Whether `said` is what `text` becomes with some values.
pub(crate) fn fits(text: &str, said: &str) -> bool {
    let pieces = pieces(text);
    let Some((first, behind)) = pieces.split_first() else { return false };
    let Some(mut rest) = said.strip_prefix(first.as_str()) else { return false };
    let Some((last, between)) = behind.split_last() else { return rest.is_empty() };
    for piece in between {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_filled_in() {
        for (text, count, said) in [
            ("plain", 0, "plain"),
            ("'%ls' is %d.", 2, "'a' is 7."),
            ("%s%%%.*ls", 2, "a%7"),
            ("100%%", 0, "100%"),
            ("%#lx, %ld, %u", 3, "a, 7, b"),
        ] {
            let given: [&dyn Display; 3] = [&"a", &7, &'b'];
            assert_eq!(values(text), count, "{text}");
            assert_eq!(filled(text, &given[..count]), said);
            assert!(fits(text, said), "{text}");
        }
        let own: [&dyn Display; 1] = [&"%d"];
        assert_eq!(filled("'%ls'", &own), "'%d'", "what a value says is no specification");
    }

    #[test]
    fn the_value_of_a_text_is_found_again() {
        assert_eq!(value_of("Name '%ls'.", "Name 'it's'.'."), Some("it's'."));
        assert_eq!(value_of("Name '%ls'.", "Name ''."), Some(""));
        assert_eq!(value_of("Name '%ls'.", "Name '"), None);
        assert_eq!(value_of("Name '%ls'.", "name 'a'."), None);
        assert_eq!(value_of("'%ls' of '%ls'", "'a' of 'b'"), None);
    }

    #[test]
    fn a_text_fits_its_own_values_alone() {
        assert!(fits("Column '%ls' of '%ls'.", "Column 'it's of' of ''."));
        assert!(!fits("Column '%ls' of '%ls'.", "Column 'a' of 'b'"));
        assert!(!fits("Column '%ls' of '%ls'.", "column 'a' of 'b'."));
        assert!(!fits("none", "none, but more"));
        assert!(!fits("ab%lsab", "ab"), "no byte is used twice: {:?}", pieces("ab%lsab"));
        assert!(fits("%ls.", "."));
    }
}
