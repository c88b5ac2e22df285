//! The lexer: a batch's text to tokens with byte positions and lines. It never fails: what cannot be a token
//! ends the list with [`Tok::Bad`] and its error, so that an earlier error of the grammar is reported first.
//! Values are not copied here; [`Token`] only points at the text, and the functions at the end decode it.

use crate::ast::{Literal, Span};
use crate::error::SyntaxError;
use crate::words;
use compact_str::CompactString;

/// Longest batch, in bytes: positions are 32 bits wide and a line may be counted per byte.
pub const MAX_BATCH: usize = (1 << 31) - 1;

/// Longest identifier, in characters.
pub const MAX_IDENTIFIER: usize = 128;

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tok {
    /// A word that is not reserved, also `#t`, `##t`, `$action`.
    Word,
    /// A reserved word.
    Reserved,
    /// `[x]` or `"x"`.
    Quoted,
    /// `@x`, `@@x`.
    Variable,
    /// `'x'`, and `"x"` under QUOTED_IDENTIFIER OFF.
    Str,
    /// `N'x'`.
    NStr,
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// With an exponent.
    Float,
    /// A currency sign and perhaps digits.
    Money,
    /// `0x...`.
    Binary,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Dot,
    Semi,
    Colon,
    DoubleColon,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    Pipe,
    DoublePipe,
    Caret,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    Tilde,
    Bang,
    Eq,
    Less,
    Greater,
    LessEq,
    GreaterEq,
    NotEq,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    PercentEq,
    AmpEq,
    PipeEq,
    CaretEq,
    /// A character that T-SQL has no use for.
    Other,
    /// What the lexer could not read; the error is kept beside the tokens.
    Bad,
    /// The end.
    Eof,
}

/// A token: its kind and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: Tok,
    /// Where it stands.
    pub span: Span,
}

/// The tokens of a batch. The last one is `Eof` or `Bad`.
#[derive(Debug)]
pub struct Tokens {
    /// The tokens; never empty.
    pub list: Vec<Token>,
    /// The error behind a last token `Bad`.
    pub error: Option<SyntaxError>,
    /// The settings as the batch's SET statements leave them.
    pub settings: ParseSettings,
    /// PARSEONLY holds somewhere in the batch: nothing of it may run.
    pub only_parsed: bool,
}

/// The SET options that take effect while a batch is read, wherever in it they stand: also in a branch that never runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParseSettings {
    /// QUOTED_IDENTIFIER: `"x"` is a name; OFF, it is a string.
    pub quoted_identifier: bool,
    /// PARSEONLY: batches are read and do not run.
    pub parse_only: bool,
}

impl Default for ParseSettings {
    fn default() -> Self {
        ParseSettings { quoted_identifier: true, parse_only: false }
    }
}

/// Splits `text` into tokens; `"x"` is a name until the text sets something else.
#[must_use]
pub fn tokenize(text: &str) -> Tokens {
    tokenize_with(text, ParseSettings::default())
}

/// Splits `text` into tokens, with the settings that hold where it begins.
#[must_use]
pub fn tokenize_with(text: &str, settings: ParseSettings) -> Tokens {
    let only_parsed = settings.parse_only;
    let mut tokens = Tokens { list: Vec::new(), error: None, settings, only_parsed };
    if text.len() > MAX_BATCH {
        tokens.list.push(Token { kind: Tok::Bad, span: Span { start: 0, end: 0, line: 1 } });
        tokens.error = Some(SyntaxError::too_long(1));
        return tokens;
    }
    let quoted_identifier = settings.quoted_identifier;
    let mut lexer = Lexer { text, bytes: text.as_bytes(), pos: 0, line: 1, quoted_identifier };
    tokens.list.reserve(text.len() / 5 + 2);
    loop {
        match lexer.next() {
            Ok(token) => {
                tokens.list.push(token);
                if token.kind == Tok::Eof {
                    return tokens;
                }
                if token.kind == Tok::Reserved && token.span.end - token.span.start <= 3 {
                    tokens.apply_switch(text);
                    lexer.quoted_identifier = tokens.settings.quoted_identifier;
                }
            }
            Err(error) => {
                tokens.list.push(Token { kind: Tok::Bad, span: lexer.span_from(lexer.pos, lexer.line) });
                tokens.error = Some(error);
                return tokens;
            }
        }
    }
}

impl Tokens {
    /// Honours `SET QUOTED_IDENTIFIER | PARSEONLY ON | OFF`, alone or in a list of switches, when the last token ends one.
    fn apply_switch(&mut self, text: &str) {
        let is = |token: &Token, word: &str| token.span.text(text).eq_ignore_ascii_case(word);
        let Some((last, before)) = self.list.split_last() else { return };
        let on = is(last, "ON");
        if !on && !is(last, "OFF") {
            return;
        }
        let mut at = before.len();
        // name [, name]... back to SET
        loop {
            let Some(name) = at.checked_sub(1).filter(|at| before[*at].kind == Tok::Word) else { return };
            match name.checked_sub(1).map(|at| before[at]) {
                Some(token) if token.kind == Tok::Comma => at = name - 1,
                Some(token) if token.kind == Tok::Reserved && is(&token, "SET") => {
                    at = name;
                    break;
                }
                _ => return,
            }
        }
        // ALTER DATABASE x SET ... sets nothing of the session.
        if at >= 3 && is(&before[at - 3], "DATABASE") {
            return;
        }
        let (mut quoted, mut parse_only) = (false, false);
        for name in &before[at..] {
            quoted |= is(name, "QUOTED_IDENTIFIER") || (on && is(name, "ANSI_DEFAULTS"));
            parse_only |= is(name, "PARSEONLY");
        }
        if quoted {
            self.settings.quoted_identifier = on;
        }
        if parse_only {
            self.settings.parse_only = on;
            // A batch that begins by turning it off runs.
            self.only_parsed = on || (self.only_parsed && at > 1);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    line: u32,
    /// `"x"` is a name, else a string.
    quoted_identifier: bool,
}

/// Whether `c` can begin a word (`@` and `$` are looked at before).
fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '#' || (!c.is_ascii() && c.is_alphabetic())
}

/// Whether `c` can go on in a word.
fn continues_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '#' | '$') || (!c.is_ascii() && c.is_alphanumeric())
}

/// Currency signs other than `$` that begin a money constant.
fn is_currency(c: char) -> bool {
    matches!(c, '¢' | '£' | '¤' | '¥' | '฿' | '₡' | '₦' | '₩' | '₪' | '₫' | '€' | '₱' | '₹')
}

impl Lexer<'_> {
    /// The byte `ahead` bytes from here; zero after the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &str {
        self.text.get(self.pos..).unwrap_or("")
    }

    #[allow(clippy::cast_possible_truncation)] // MAX_BATCH was checked
    fn span_from(&self, start: usize, line: u32) -> Span {
        Span { start: start as u32, end: self.pos as u32, line }
    }

    fn next(&mut self) -> Result<Token, SyntaxError> {
        self.skip_blanks()?;
        let (start, line) = (self.pos, self.line);
        let kind = self.token()?;
        Ok(Token { kind, span: self.span_from(start, line) })
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.line += 1;
                    self.pos += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'-' if self.peek(1) == b'-' => {
                    let rest = self.bytes.get(self.pos..).unwrap_or(&[]);
                    self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                byte if byte >= 0x80 => match self.rest().chars().next() {
                    Some(c) if c.is_whitespace() || c == '\u{feff}' => self.pos += c.len_utf8(),
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    /// Skips a block comment; they nest.
    fn skip_comment(&mut self) -> Result<(), SyntaxError> {
        let line = self.line;
        let mut depth = 0u32;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.pos += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.pos += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (byte, _) => {
                    if self.pos >= self.bytes.len() {
                        return Err(SyntaxError::unclosed_comment(line));
                    }
                    self.line += u32::from(byte == b'\n');
                    self.pos += 1;
                }
            }
        }
    }

    /// Reads one token from its first byte.
    fn token(&mut self) -> Result<Tok, SyntaxError> {
        let first = self.peek(0);
        match first {
            0 if self.pos >= self.bytes.len() => Ok(Tok::Eof),
            b'\'' => self.string(1),
            b'N' | b'n' if self.peek(1) == b'\'' => self.string(2),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'#' => self.word(),
            b'[' => self.quoted(b']'),
            b'"' if self.quoted_identifier => self.quoted(b'"'),
            b'"' => self.until_closed(1, b'"').map(|()| Tok::Str),
            b'@' => self.variable(),
            b'0' if matches!(self.peek(1), b'x' | b'X') => Ok(self.binary()),
            b'0'..=b'9' => Ok(self.number()),
            b'.' if self.peek(1).is_ascii_digit() => Ok(self.number()),
            b'$' => self.dollar(),
            0x80.. => self.beyond_ascii(),
            _ => Ok(self.operator()),
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) {
        while let Some(byte) = self.bytes.get(self.pos) {
            if byte.is_ascii() {
                if !keep(char::from(*byte)) {
                    return;
                }
                self.pos += 1;
                continue;
            }
            match self.rest().chars().next() {
                Some(c) if keep(c) => self.pos += c.len_utf8(),
                _ => return,
            }
        }
    }

    /// Error 103 when the name `text` is too long.
    fn check_length(&self, text: &str, line: u32) -> Result<(), SyntaxError> {
        if text.len() <= MAX_IDENTIFIER {
            return Ok(());
        }
        match text.char_indices().nth(MAX_IDENTIFIER) {
            Some((end, _)) => Err(SyntaxError::identifier_too_long(line, &text[..end])),
            None => Ok(()),
        }
    }

    fn word(&mut self) -> Result<Tok, SyntaxError> {
        let start = self.pos;
        self.take_while(continues_word);
        let word = &self.text[start..self.pos];
        self.check_length(word, self.line)?;
        Ok(if words::is_reserved(word) { Tok::Reserved } else { Tok::Word })
    }

    fn variable(&mut self) -> Result<Tok, SyntaxError> {
        let start = self.pos;
        self.pos += 1;
        self.take_while(continues_word);
        self.check_length(&self.text[start..self.pos], self.line)?;
        Ok(Tok::Variable)
    }

    /// `$action` is a word, `$1.50` and a lone `$` are money.
    fn dollar(&mut self) -> Result<Tok, SyntaxError> {
        if starts_word(char::from(self.peek(1))) {
            self.pos += 1;
            return self.word().map(|_| Tok::Word);
        }
        self.pos += 1;
        Ok(self.money())
    }

    fn money(&mut self) -> Tok {
        self.take_while(|c| c.is_ascii_digit());
        if self.peek(0) == b'.' {
            self.pos += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        Tok::Money
    }

    fn beyond_ascii(&mut self) -> Result<Tok, SyntaxError> {
        let Some(c) = self.rest().chars().next() else { return Ok(Tok::Other) };
        if starts_word(c) {
            return self.word();
        }
        self.pos += c.len_utf8();
        Ok(if is_currency(c) { self.money() } else { Tok::Other })
    }

    /// A string from its first quote, `prefix` bytes in.
    fn string(&mut self, prefix: usize) -> Result<Tok, SyntaxError> {
        self.until_closed(prefix, b'\'')?;
        Ok(if prefix == 2 { Tok::NStr } else { Tok::Str })
    }

    fn quoted(&mut self, close: u8) -> Result<Tok, SyntaxError> {
        let (start, line) = (self.pos, self.line);
        self.until_closed(1, close)?;
        let inner = unquote(&self.text[start..self.pos]);
        if inner.is_empty() {
            return Err(SyntaxError::empty_name(line));
        }
        self.check_length(&inner, line)?;
        Ok(Tok::Quoted)
    }

    /// Moves after the closing mark; a doubled one does not close.
    fn until_closed(&mut self, prefix: usize, close: u8) -> Result<(), SyntaxError> {
        let line = self.line;
        self.pos += prefix;
        let start = self.pos;
        loop {
            let Some(byte) = self.bytes.get(self.pos) else {
                return Err(SyntaxError::unclosed_quote(line, &self.text[start..]));
            };
            self.pos += 1;
            if *byte == b'\n' {
                self.line += 1;
            } else if *byte == close {
                if self.peek(0) != close {
                    return Ok(());
                }
                self.pos += 1;
            }
        }
    }

    fn binary(&mut self) -> Tok {
        self.pos += 2;
        self.take_while(|c| c.is_ascii_hexdigit());
        Tok::Binary
    }

    fn number(&mut self) -> Tok {
        let mut kind = Tok::Integer;
        self.take_while(|c| c.is_ascii_digit());
        if self.peek(0) == b'.' {
            kind = Tok::Decimal;
            self.pos += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(0), b'e' | b'E') {
            // An exponent without digits is zero, yet `1else` is the number and the word.
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                kind = Tok::Float;
                self.pos += 1 + sign;
                self.take_while(|c| c.is_ascii_digit());
            } else if sign == 0 && !continues_word(char::from(self.peek(1))) {
                kind = Tok::Float;
                self.pos += 1;
            }
        }
        kind
    }

    fn operator(&mut self) -> Tok {
        let (kind, length) = match (self.peek(0), self.peek(1)) {
            (b'<', b'=') | (b'!', b'>') => (Tok::LessEq, 2),
            (b'>', b'=') | (b'!', b'<') => (Tok::GreaterEq, 2),
            (b'<', b'>') | (b'!', b'=') => (Tok::NotEq, 2),
            (b'<', b'<') => (Tok::ShiftLeft, 2),
            (b'>', b'>') => (Tok::ShiftRight, 2),
            (b'+', b'=') => (Tok::PlusEq, 2),
            (b'-', b'=') => (Tok::MinusEq, 2),
            (b'*', b'=') => (Tok::StarEq, 2),
            (b'/', b'=') => (Tok::SlashEq, 2),
            (b'%', b'=') => (Tok::PercentEq, 2),
            (b'&', b'=') => (Tok::AmpEq, 2),
            (b'|', b'=') => (Tok::PipeEq, 2),
            (b'^', b'=') => (Tok::CaretEq, 2),
            (b'|', b'|') => (Tok::DoublePipe, 2),
            (b':', b':') => (Tok::DoubleColon, 2),
            (b'(', _) => (Tok::LParen, 1),
            (b')', _) => (Tok::RParen, 1),
            (b'{', _) => (Tok::LBrace, 1),
            (b'}', _) => (Tok::RBrace, 1),
            (b',', _) => (Tok::Comma, 1),
            (b'.', _) => (Tok::Dot, 1),
            (b';', _) => (Tok::Semi, 1),
            (b':', _) => (Tok::Colon, 1),
            (b'+', _) => (Tok::Plus, 1),
            (b'-', _) => (Tok::Minus, 1),
            (b'*', _) => (Tok::Star, 1),
            (b'/', _) => (Tok::Slash, 1),
            (b'%', _) => (Tok::Percent, 1),
            (b'&', _) => (Tok::Amp, 1),
            (b'|', _) => (Tok::Pipe, 1),
            (b'^', _) => (Tok::Caret, 1),
            (b'~', _) => (Tok::Tilde, 1),
            (b'!', _) => (Tok::Bang, 1),
            (b'=', _) => (Tok::Eq, 1),
            (b'<', _) => (Tok::Less, 1),
            (b'>', _) => (Tok::Greater, 1),
            _ => (Tok::Other, 1),
        };
        self.pos += length;
        kind
    }
}

/// Undoes `[x]]y]`, `"x""y"`, `'x''y'` and `N'x'`. In strings a backslash at the end of a line joins the
/// lines, as T-SQL has it.
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
    let digits: Vec<u8> =
        text.chars().skip(2).filter_map(|c| c.to_digit(16)).filter_map(|d| u8::try_from(d).ok()).collect();
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
        Tok::Money => Literal::Money(text.chars().skip(1).collect()),
        Tok::Str => Literal::String { value: unquote(text), national: false },
        Tok::NStr => Literal::String { value: unquote(text), national: true },
        Tok::Binary => Literal::Binary(binary_value(text)),
        _ => return None,
    })
}

/// `1e` means `1e0`, which Rust wants to see.
fn float_text(text: &str) -> CompactString {
    let mut result = CompactString::from(text);
    if text.ends_with(['e', 'E']) {
        result.push('0');
    }
    result
}
