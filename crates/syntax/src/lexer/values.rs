//! What a token's text means: names without their quotes, literals as values.

use super::Tok;
use crate::ast::Literal;
use compact_str::CompactString;

/// Undoes `[x]]y]`, `"x""y"`, `'x''y'` and `N'x'`. In strings a backslash at the end of a line
/// joins the lines, as T-SQL has it.
#[must_use]
pub fn unquote(text: &str) -> CompactString {
    let text = text.strip_prefix(['N', 'n']).filter(|rest| rest.starts_with('\'')).unwrap_or(text);
    let close = match text.as_bytes().first() {
        Some(b'[') => ']',
        Some(b'"') => '"',
        _ => '\'',
    };
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
    if !inner.contains(close) && !inner.contains('\\') {
        return CompactString::from(inner);
    }
    let mut result = CompactString::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == close {
            rest = rest.strip_prefix(close).unwrap_or(rest);
        } else if c == '\\'
            && close == '\''
            && let Some(joined) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))
        {
            rest = joined;
            continue;
        }
        result.push(c);
    }
    result
}

/// The bytes of `0x...`; an odd digit count has a zero put in front.
#[must_use]
pub fn binary_value(text: &str) -> Box<[u8]> {
    let digits: Vec<u8> = text
        .chars()
        .skip(2)
        .filter_map(|c| c.to_digit(16))
        .filter_map(|d| u8::try_from(d).ok())
        .collect();
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    let (first, pairs) = digits.split_at(digits.len() % 2);
    bytes.extend_from_slice(first);
    bytes.extend(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    bytes.into_boxed_slice()
}

/// The constant that a token of this kind and text is; `None` for other kinds of token.
#[must_use]
pub fn literal_of(kind: Tok, text: &str) -> Option<Literal> {
    Some(match kind {
        Tok::Integer => match text.parse() {
            Ok(value) => Literal::Integer(value),
            Err(_) => Literal::Decimal(text.into()),
        },
        Tok::Decimal => Literal::Decimal(text.into()),
        Tok::Float => Literal::Float(float_text(text)),
        Tok::Money => {
            Literal::Money(text.chars().skip(1).filter(|c| !c.is_ascii_whitespace()).collect())
        }
        Tok::Str => Literal::String { value: unquote(text), national: false },
        Tok::NStr => Literal::String { value: unquote(text), national: true },
        Tok::Binary => Literal::Binary(binary_value(text)),
        _ => return None,
    })
}

/// `1e` and `1e+` mean `1e0`, which Rust wants to see.
fn float_text(text: &str) -> CompactString {
    let mut result = CompactString::from(text);
    if text.ends_with(['e', 'E', '+', '-']) {
        result.push('0');
    }
    result
}
