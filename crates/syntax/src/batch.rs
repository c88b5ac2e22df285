//! What a client does before it sends T-SQL: splitting a script at GO, following quotes and
//! comments. It works on text that need not parse.

/// One batch of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// The batch's lines, without the GO.
    pub text: &'a str,
    /// 1-based line of the script that the batch's first line is.
    pub first_line: u32,
    /// How often to run it: the number after GO, else 1. Zero is possible and means never.
    pub count: u32,
}

/// Follows quotes and comments through a text: what its end is inside of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanner(ScannerContext);

impl Scanner {
    /// The same after more text. A line break ends a comment that began with `--`.
    #[must_use]
    pub fn after(self, text: &str) -> Scanner {
        Scanner(
            text.split_inclusive('\n')
                .fold(self.0, |inside, line| scan_line(line.as_bytes(), inside)),
        )
    }

    /// Inside of a comment of either kind.
    #[must_use]
    pub fn in_comment(self) -> bool {
        matches!(self.0, ScannerContext::Comment(_) | ScannerContext::LineComment)
    }

    /// Inside of a string, a quoted name or a block comment: a line that begins here is part of it.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self.0, ScannerContext::Comment(_) | ScannerContext::Quotes(_))
    }
}

/// What the scanner is inside of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScannerContext {
    #[default]
    Nothing,
    /// A comment to the end of the line.
    LineComment,
    /// A string, bracketed or quoted name, with the byte that ends it.
    Quotes(u8),
    /// Block comments, how many deep.
    Comment(u32),
}

/// Splits a script at the lines that hold only `GO` or `GO n`, in any case, unless they are inside
/// a string, a quoted name or a block comment. Batches of nothing but white space are left out.
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
    let mut inside = ScannerContext::Nothing;
    for text in script.split_inclusive('\n') {
        let next = position + text.len();
        match if inside == ScannerContext::Nothing { go_count(text) } else { None } {
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
fn scan_line(line: &[u8], mut inside: ScannerContext) -> ScannerContext {
    if inside == ScannerContext::LineComment {
        return after_line_comment(line);
    }
    let mut index = 0;
    while let Some(byte) = line.get(index) {
        let pair = (*byte, line.get(index + 1).copied().unwrap_or(0));
        index += 1;
        inside = match (inside, pair) {
            (ScannerContext::Nothing, (b'-', b'-')) => return after_line_comment(line),
            (ScannerContext::Nothing, (b'/', b'*')) => {
                index += 1;
                ScannerContext::Comment(1)
            }
            (ScannerContext::Nothing, (b'\'' | b'"', _)) => ScannerContext::Quotes(*byte),
            (ScannerContext::Nothing, (b'[', _)) => ScannerContext::Quotes(b']'),
            // A doubled mark closes and opens again, which comes to the same; `]]` needs a closer
            // look.
            (ScannerContext::Quotes(close), (first, second)) if first == close => {
                if close == b']' && second == b']' {
                    index += 1;
                    inside
                } else {
                    ScannerContext::Nothing
                }
            }
            (ScannerContext::Comment(depth), (b'/', b'*')) => {
                index += 1;
                ScannerContext::Comment(depth + 1)
            }
            (ScannerContext::Comment(depth), (b'*', b'/')) => {
                index += 1;
                if depth > 1 { ScannerContext::Comment(depth - 1) } else { ScannerContext::Nothing }
            }
            (inside, _) => inside,
        };
    }
    inside
}

fn after_line_comment(line: &[u8]) -> ScannerContext {
    if line.ends_with(b"\n") { ScannerContext::Nothing } else { ScannerContext::LineComment }
}
