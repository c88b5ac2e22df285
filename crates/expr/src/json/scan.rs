//! The reader: checks a text once, then walks through its values without copying them.

use std::borrow::Cow;

use types::{CancelCheck, SqlError, msg};

use super::unescape::unescaped;
use crate::large::{LARGE, StepCounter};

/// Most levels of nesting.
const DEPTH: usize = 128;

/// What a value is; the numbers are those of OPENJSON's column `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null = 0,
    String = 1,
    Number = 2,
    Bool = 3,
    Array = 4,
    Object = 5,
}

/// A value: its kind, and its text within the whole, which has been checked.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    pub kind: Kind,
    pub text: &'t str,
    /// Where it begins in the whole, in bytes.
    pub at: usize,
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub struct Member<'t> {
    /// Its name, still quoted.
    pub name: &'t str,
    /// Where the name begins in the whole.
    pub at: usize,
    pub value: Node<'t>,
}

impl<'t> Node<'t> {
    /// Whether it is an object or an array.
    pub fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Array | Kind::Object)
    }

    /// A scalar as text: strings without their escapes, everything else as it is written. `None`
    /// for JSON null.
    ///
    /// # Errors
    /// Only that the statement is to stop.
    pub fn scalar(&self, look: CancelCheck<'_>) -> Result<Option<Cow<'t, str>>, SqlError> {
        Ok(match self.kind {
            Kind::Null => None,
            Kind::String => Some(unescaped(self.text, look)?),
            _ => Some(self.text.into()),
        })
    }

    /// The members of an object; none of anything else.
    pub fn members(
        self,
        look: CancelCheck<'_>,
    ) -> impl Iterator<Item = Result<Member<'t>, SqlError>> {
        let mut walk = (self.kind == Kind::Object).then(|| JsonWalk::inside(self, look));
        std::iter::from_fn(move || walk.as_mut()?.member().transpose())
    }

    /// The elements of an array; none of anything else.
    pub fn elements(
        self,
        look: CancelCheck<'_>,
    ) -> impl Iterator<Item = Result<Node<'t>, SqlError>> {
        let mut walk = (self.kind == Kind::Array).then(|| JsonWalk::inside(self, look));
        std::iter::from_fn(move || walk.as_mut()?.element().transpose())
    }
}

/// A walk through a checked text: it need not look for errors.
pub struct JsonWalk<'t, 'l> {
    text: &'t str,
    at: usize,
    /// Where `text` begins in the whole.
    base: usize,
    steps: StepCounter<'l>,
}

impl<'t, 'l> JsonWalk<'t, 'l> {
    fn inside(node: Node<'t>, look: CancelCheck<'l>) -> JsonWalk<'t, 'l> {
        JsonWalk { text: node.text, at: 1, base: node.at, steps: StepCounter::new(look) }
    }

    /// Goes on in the whole text at a place within an object or array, before one of its items or
    /// its end.
    pub fn resume(text: &'t str, at: usize, look: CancelCheck<'l>) -> JsonWalk<'t, 'l> {
        JsonWalk { text, at, base: 0, steps: StepCounter::new(look) }
    }

    /// Where it is in the whole.
    pub fn at(&self) -> usize {
        self.base + self.at
    }

    /// The next member of the object.
    ///
    /// # Errors
    /// Only that the statement is to stop.
    pub fn member(&mut self) -> Result<Option<Member<'t>>, SqlError> {
        let name_at = self.skip_blanks();
        let Some((_, name)) = self.value()? else { return Ok(None) };
        self.skip(b':');
        let at = self.skip_blanks();
        let Some((kind, text)) = self.value()? else { return Ok(None) };
        self.skip(b',');
        Ok(Some(Member { name, at: name_at, value: Node { kind, text, at } }))
    }

    /// The next element of the array.
    ///
    /// # Errors
    /// Only that the statement is to stop.
    pub fn element(&mut self) -> Result<Option<Node<'t>>, SqlError> {
        let at = self.skip_blanks();
        let Some((kind, text)) = self.value()? else { return Ok(None) };
        self.skip(b',');
        Ok(Some(Node { kind, text, at }))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The place of what comes next, in the whole.
    fn skip_blanks(&mut self) -> usize {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
        self.base + self.at
    }

    fn skip(&mut self, byte: u8) {
        self.skip_blanks();
        if self.peek() == Some(byte) {
            self.at += 1;
        }
    }

    /// The next value; `None` at the end of what it stands in.
    fn value(&mut self) -> Result<Option<(Kind, &'t str)>, SqlError> {
        self.skip_blanks();
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(None) };
        let kind = match first {
            b'"' => {
                self.at += 1;
                self.skip_string()?;
                Kind::String
            }
            b'{' | b'[' => {
                self.skip_container()?;
                if first == b'{' { Kind::Object } else { Kind::Array }
            }
            b'}' | b']' => return Ok(None),
            first => {
                while self.peek().is_some_and(|b| !is_blank(b) && !matches!(b, b',' | b'}' | b']'))
                {
                    self.at += 1;
                }
                match first {
                    b'n' => Kind::Null,
                    b't' | b'f' => Kind::Bool,
                    _ => Kind::Number,
                }
            }
        };
        self.steps.step(8 + (self.at - start) / 16)?;
        Ok(Some((kind, &self.text[start..self.at])))
    }

    /// To behind the quote that ends a string, from behind the one that begins it.
    fn skip_string(&mut self) -> Result<(), SqlError> {
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            // A long one is searched in stretches.
            let stretch = &rest[..rest.len().min(LARGE)];
            self.steps.step(1 + stretch.len().min(1 << 10) / 16)?;
            match memchr::memchr2(b'"', b'\\', stretch) {
                Some(found) if stretch[found] == b'"' => {
                    self.at += found + 1;
                    return Ok(());
                }
                Some(found) => {
                    self.steps.step(found / 16)?;
                    self.at = (self.at + found + 2).min(self.text.len());
                }
                None if stretch.is_empty() => return Ok(()),
                None => {
                    self.steps.step(stretch.len() / 16)?;
                    self.at += stretch.len();
                }
            }
        }
    }

    fn skip_container(&mut self) -> Result<(), SqlError> {
        let mut depth = 0usize;
        let mut counted = self.at;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => self.skip_string()?,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
            if self.at - counted >= 1 << 10 {
                self.steps.step(self.at - counted)?;
                counted = self.at;
            }
        }
        Ok(())
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The object or array that a text is; a scalar is no document. Error: 13609.
pub fn parse<'t>(text: &'t str, look: CancelCheck<'_>) -> Result<Node<'t>, SqlError> {
    let node = parse_any(text, look)?;
    if node.is_container() { Ok(node) } else { Err(malformed(text, node.at)) }
}

/// The value that a text is. Error: 13609, with the character at fault and its place, counted from
/// 0.
pub fn parse_any<'t>(text: &'t str, look: CancelCheck<'_>) -> Result<Node<'t>, SqlError> {
    let mut check = Check { text, at: 0, counted: 0, steps: StepCounter::new(look) };
    let found = check.value(0).and_then(|()| {
        check.blanks()?;
        if check.at == text.len() { Ok(()) } else { Err(check.fault()) }
    });
    match found {
        Err(ScanFault::At(at)) => return Err(malformed(text, at)),
        Err(ScanFault::Stopped(error)) => return Err(error),
        Ok(()) => {}
    }
    // It is one value, with blanks around it.
    let whole = text.trim_matches(|c: char| u8::try_from(c).is_ok_and(is_blank));
    let at = text.find(|c: char| !u8::try_from(c).is_ok_and(is_blank)).unwrap_or(0);
    let kind = match whole.as_bytes().first() {
        Some(b'"') => Kind::String,
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'n') => Kind::Null,
        Some(b't' | b'f') => Kind::Bool,
        _ => Kind::Number,
    };
    Ok(Node { kind, text: whole, at })
}

/// The number of the error of a text that is no JSON.
pub const MALFORMED: i32 = msg::JSON_SYNTAX.number();

fn malformed(text: &str, at: usize) -> SqlError {
    let found = text[at.min(text.len())..].chars().next().unwrap_or('.');
    let place = types::codepage::utf16_len(&text[..at.min(text.len())]);
    SqlError::of(msg::JSON_SYNTAX, [&found, &place])
}

/// Why a check ended.
enum ScanFault {
    /// The place of a character that must not stand there.
    At(usize),
    Stopped(SqlError),
}

impl From<SqlError> for ScanFault {
    fn from(error: SqlError) -> ScanFault {
        ScanFault::Stopped(error)
    }
}

/// The check.
struct Check<'t, 'l> {
    text: &'t str,
    at: usize,
    /// Up to where it has told what it did.
    counted: usize,
    steps: StepCounter<'l>,
}

impl Check<'_, '_> {
    fn fault(&self) -> ScanFault {
        ScanFault::At(self.at)
    }

    /// Tells what was read.
    #[inline]
    fn count(&mut self) -> Result<(), ScanFault> {
        if self.at - self.counted >= 1 << 10 {
            self.steps.step(self.at - self.counted)?;
            self.counted = self.at;
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) -> Result<(), ScanFault> {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
            self.count()?;
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), ScanFault> {
        self.blanks()?;
        if self.peek() != Some(byte) {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), ScanFault> {
        self.blanks()?;
        self.count()?;
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH => Err(self.fault()),
            Some(b'{') => self.list(b'}', |check| {
                check.blanks()?;
                if check.peek() != Some(b'"') {
                    return Err(check.fault());
                }
                check.string()?;
                check.expect(b':')?;
                check.value(depth + 1)
            }),
            Some(b'[') => self.list(b']', |check| check.value(depth + 1)),
            Some(b'"') => self.string(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.fault()),
        }
    }

    fn list(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), ScanFault>,
    ) -> Result<(), ScanFault> {
        self.at += 1;
        self.blanks()?;
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.blanks()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.fault()),
            }
        }
    }

    fn word(&mut self, word: &str) -> Result<(), ScanFault> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(self.fault());
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), ScanFault> {
        self.at += 1;
        loop {
            self.count()?;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1
                        }
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                                    return Err(self.fault());
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.fault()),
                    }
                }
                // SQL Server takes control characters inside of strings but for the ends of lines.
                Some(b'\n' | b'\r') | None => return Err(self.fault()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn digits(&mut self) -> Result<(), ScanFault> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.fault());
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
            self.count()?;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), ScanFault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }
}
