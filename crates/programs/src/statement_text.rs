//! What tells statements apart in views: their places in the text of their batch, and hashes of
//! their words and plans.

use std::hash::{DefaultHasher, Hash, Hasher};

use syntax::lexer::{Tok, tokenize};

/// The offset of a byte of the text, in bytes of UTF-16.
fn offset(text: &str, at: usize) -> i32 {
    i32::try_from(types::units::utf16_len(&text[..at]) * 2).unwrap_or(i32::MAX)
}

/// Start and end of a statement that stands at these bytes; -1 where it is the end of the text.
pub fn offsets(text: &str, from: usize, to: usize) -> (i32, i32) {
    let to_end = text[to..].trim_end_matches([';', ' ', '\r', '\n', '\t']).is_empty();
    (offset(text, from), if to_end { -1 } else { offset(text, to) - 2 })
}

/// A hash as views show it.
pub fn hash_of(of: impl Hash) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish().to_be_bytes()
}

/// query_hash: statements that differ in constants, spaces and the case of words have the same.
pub fn query_hash(statement: &str) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    for token in tokenize(statement).list {
        match token.kind {
            Tok::Word | Tok::Reserved => {
                token.span.text(statement).to_lowercase().hash(&mut hasher)
            }
            Tok::Quoted => token.span.text(statement).hash(&mut hasher),
            _ if is_constant(token.span.text(statement)) => '?'.hash(&mut hasher),
            _ => token.span.text(statement).hash(&mut hasher),
        }
    }
    hasher.finish().to_be_bytes()
}

fn is_constant(token: &str) -> bool {
    let token = token.strip_prefix(['N', 'n']).unwrap_or(token);
    token.starts_with(|c: char| c.is_ascii_digit() || c == '\'' || c == '$')
        || (token.starts_with('.') && token.len() > 1)
}
