//! What a client does before it sends T-SQL: splitting a script at GO, and putting values in the place of
//! `$(NAME)`. Neither is part of the language; both work on text that need not parse.

use std::borrow::Cow;
use std::fmt;

/// One batch of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// The batch's lines, without the GO.
    pub text: &'a str,
    /// 1-based line of the script that the batch's first line is.
    pub first_line: u32,
    /// How often to run it: the number behind GO, else 1. Zero is possible and means never.
    pub count: u32,
}

/// What the scanner is inside of at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// A string, bracketed or quoted name, with the byte that ends it.
    Quotes(u8),
    /// Block comments, how many deep.
    Comment(u32),
}

/// Splits a script at the lines that hold only `GO` or `GO n`, in any case, unless they are inside a string,
/// a quoted name or a block comment. Batches of nothing but white space are left out.
#[must_use]
pub fn split_batches<'a>(script: &'a str) -> Vec<Batch<'a>> {
    let script = script.strip_prefix('\u{feff}').unwrap_or(script);
    let mut batches = Vec::new();
    let mut push = |text: &'a str, first_line: u32, count: u32| {
        if !text.trim().is_empty() {
            batches.push(Batch { text, first_line, count });
        }
    };
    let (mut start, mut first_line) = (0, 1);
    let (mut position, mut line) = (0, 1);
    let mut inside = Inside::Nothing;
    for text in script.split_inclusive('\n') {
        let next = position + text.len();
        match if inside == Inside::Nothing { go_count(text) } else { None } {
            Some(count) => {
                push(&script[start..position], first_line, count);
                start = next;
                first_line = line + 1;
            }
            None => inside = scan_line(text.as_bytes(), inside),
        }
        position = next;
        line += 1;
    }
    push(&script[start..], first_line, 1);
    batches
}

/// The count of a GO line; `None` when the line is not one. A comment may follow.
fn go_count(line: &str) -> Option<u32> {
    let line = line.split("--").next().unwrap_or(line);
    let mut words = line.split_ascii_whitespace();
    if !words.next()?.eq_ignore_ascii_case("go") {
        return None;
    }
    let count = match words.next() {
        None => 1,
        Some(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok()?,
        Some(_) => return None,
    };
    if words.next().is_none() { Some(count) } else { None }
}

/// Follows quotes and comments through one line.
fn scan_line(line: &[u8], mut inside: Inside) -> Inside {
    let mut index = 0;
    while let Some(byte) = line.get(index) {
        let pair = (*byte, line.get(index + 1).copied().unwrap_or(0));
        index += 1;
        inside = match (inside, pair) {
            (Inside::Nothing, (b'-', b'-')) => return inside,
            (Inside::Nothing, (b'/', b'*')) => {
                index += 1;
                Inside::Comment(1)
            }
            (Inside::Nothing, (b'\'' | b'"', _)) => Inside::Quotes(*byte),
            (Inside::Nothing, (b'[', _)) => Inside::Quotes(b']'),
            // A doubled mark closes and opens again, which comes to the same; `]]` needs a closer look.
            (Inside::Quotes(close), (first, second)) if first == close => {
                if close == b']' && second == b']' {
                    index += 1;
                    inside
                } else {
                    Inside::Nothing
                }
            }
            (Inside::Comment(depth), (b'/', b'*')) => {
                index += 1;
                Inside::Comment(depth + 1)
            }
            (Inside::Comment(depth), (b'*', b'/')) => {
                index += 1;
                if depth > 1 { Inside::Comment(depth - 1) } else { Inside::Nothing }
            }
            (inside, _) => inside,
        };
    }
    inside
}

/// A `$(NAME)` that no value was given for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedVariable {
    /// The name.
    pub name: String,
    /// 1-based line of the text.
    pub line: u32,
}

impl fmt::Display for UndefinedVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' scripting variable not defined.", self.name)
    }
}

impl std::error::Error for UndefinedVariable {}

/// Puts the values of `vars` (name, value) in the place of `$(NAME)`. Names are compared without regard to
/// ASCII case and the last of equal names counts. `$(` without a name and a closing parenthesis stays as it
/// is. The values are not searched again.
///
/// # Errors
/// A name that `vars` does not have.
pub fn substitute<'a>(text: &'a str, vars: &[(String, String)]) -> Result<Cow<'a, str>, UndefinedVariable> {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("$(") {
        let (before, from) = rest.split_at(at);
        result.push_str(before);
        let Some(name) = variable_name(from) else {
            result.push_str("$(");
            rest = &from[2..];
            continue;
        };
        match vars.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, value)) => result.push_str(value),
            None => {
                let done = text.len() - from.len();
                let lines = text[..done].bytes().filter(|byte| *byte == b'\n').count();
                let line = u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1);
                return Err(UndefinedVariable { name: name.to_owned(), line });
            }
        }
        rest = &from[name.len() + 3..];
    }
    if result.is_empty() {
        return Ok(Cow::Borrowed(rest));
    }
    result.push_str(rest);
    Ok(Cow::Owned(result))
}

/// The name in `$(NAME)` at the start of `text`.
fn variable_name(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("$(")?;
    let name = &inner[..inner.find(')')?];
    let good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(good) { Some(name) } else { None }
}
