//! The reader: checks a text once, then walks through its values without copying them.

use types::SqlError;

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

    /// A scalar as text: strings without their escapes, everything else as it is written. `None` for JSON null.
    pub fn scalar(&self) -> Option<std::borrow::Cow<'t, str>> {
        match self.kind {
            Kind::Null => None,
            Kind::String => Some(unescaped(self.text)),
            _ => Some(self.text.into()),
        }
    }

    /// The members of an object; none of anything else.
    pub fn members(self) -> impl Iterator<Item = Member<'t>> {
        let mut walk = (self.kind == Kind::Object).then(|| Walk::inside(self));
        std::iter::from_fn(move || {
            let walk = walk.as_mut()?;
            let name_at = walk.skip_blanks();
            let (_, name) = walk.value()?;
            walk.skip(b':');
            let at = walk.skip_blanks();
            let (kind, text) = walk.value()?;
            walk.skip(b',');
            Some(Member { name, at: name_at, value: Node { kind, text, at } })
        })
    }

    /// The elements of an array; none of anything else.
    pub fn elements(self) -> impl Iterator<Item = Node<'t>> {
        let mut walk = (self.kind == Kind::Array).then(|| Walk::inside(self));
        std::iter::from_fn(move || {
            let walk = walk.as_mut()?;
            let at = walk.skip_blanks();
            let (kind, text) = walk.value()?;
            walk.skip(b',');
            Some(Node { kind, text, at })
        })
    }
}

/// A walk through a checked text: it need not look for errors.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    /// Where `text` begins in the whole.
    base: usize,
}

impl<'t> Walk<'t> {
    fn inside(node: Node<'t>) -> Walk<'t> {
        Walk { text: node.text, at: 1, base: node.at }
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
    fn value(&mut self) -> Option<(Kind, &'t str)> {
        self.skip_blanks();
        let start = self.at;
        let kind = match self.peek()? {
            b'"' => {
                self.at += 1;
                while let Some(byte) = self.peek() {
                    self.at += if byte == b'\\' { 2 } else { 1 };
                    if byte == b'"' {
                        break;
                    }
                }
                Kind::String
            }
            open @ (b'{' | b'[') => {
                self.skip_container();
                if open == b'{' { Kind::Object } else { Kind::Array }
            }
            b'}' | b']' => return None,
            first => {
                while self.peek().is_some_and(|b| !is_blank(b) && !matches!(b, b',' | b'}' | b']')) {
                    self.at += 1;
                }
                match first {
                    b'n' => Kind::Null,
                    b't' | b'f' => Kind::Bool,
                    _ => Kind::Number,
                }
            }
        };
        Some((kind, &self.text[start..self.at]))
    }

    fn skip_container(&mut self) {
        let (mut depth, mut quoted) = (0usize, false);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' if quoted => self.at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The object or array that a text is; a scalar is no document. Error: 13609.
pub fn parse(text: &str) -> Result<Node<'_>, SqlError> {
    let node = parse_any(text)?;
    if node.is_container() { Ok(node) } else { Err(malformed(text, node.at)) }
}

/// The value that a text is. Error: 13609, with the character at fault and its place, counted from 0.
pub fn parse_any(text: &str) -> Result<Node<'_>, SqlError> {
    let mut check = Check { text, at: 0 };
    let found = check.value(0).and_then(|()| {
        check.blanks();
        if check.at == text.len() { Ok(()) } else { Err(check.at) }
    });
    if let Err(at) = found {
        return Err(malformed(text, at));
    }
    let mut walk = Walk { text, at: 0, base: 0 };
    let at = walk.skip_blanks();
    let (kind, text) = walk.value().ok_or_else(|| malformed(text, 0))?;
    Ok(Node { kind, text, at })
}

fn malformed(text: &str, at: usize) -> SqlError {
    let found = text[at.min(text.len())..].chars().next().unwrap_or('.');
    let place = types::codepage::utf16_len(&text[..at.min(text.len())]);
    let message = format!(
        "JSON text is not properly formatted. Unexpected character '{found}' is found at position {place}."
    );
    SqlError::new(13609, 16, 4, message)
}

/// The check; errors are places of characters.
struct Check<'t> {
    text: &'t str,
    at: usize,
}

impl Check<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), usize> {
        self.blanks();
        if self.peek() != Some(byte) {
            return Err(self.at);
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), usize> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH => Err(self.at),
            Some(b'{') => self.list(b'}', |check| {
                check.blanks();
                if check.peek() != Some(b'"') {
                    return Err(check.at);
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
            _ => Err(self.at),
        }
    }

    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Result<(), usize>) -> Result<(), usize> {
        self.at += 1;
        self.blanks();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.at),
            }
        }
    }

    fn word(&mut self, word: &str) -> Result<(), usize> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(self.at);
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), usize> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                                    return Err(self.at);
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.at),
                    }
                }
                // SQL Server takes control characters inside of strings but for the ends of lines.
                Some(b'\n' | b'\r') | None => return Err(self.at),
                Some(_) => self.at += 1,
            }
        }
    }

    fn digits(&mut self) -> Result<(), usize> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.at);
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), usize> {
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

/// The text of a quoted and checked string.
pub fn unescaped(quoted: &str) -> std::borrow::Cow<'_, str> {
    let inner = quoted.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(quoted);
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let c = if c != '\\' {
            c
        } else {
            match chars.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let hex: String = chars.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&hex, 16).unwrap_or(0xFFFD));
                    continue;
                }
                Some(other) => other,
                None => break,
            }
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units).into()
}
