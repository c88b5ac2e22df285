//! The next token of a text: blanks and comments before it, then what its first characters say it
//! is.

use super::{Lexer, MAX_IDENTIFIER, Tok, Token, unquote};
use crate::ast::Span;
use crate::error::SyntaxError;
use crate::words;

/// Whether `c` can begin a word (`@` and `$` are looked at before).
fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '#' || (!c.is_ascii() && c.is_alphabetic())
}

/// Whether `c` can go on in a word.
fn continues_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '_' | '@' | '#' | '$')
        || (!c.is_ascii() && c.is_alphanumeric())
}

/// Currency signs other than `$` that begin a money constant: those of the reference's page on
/// money. Text that is converted to money knows the same ones (`types::numtext`).
fn is_currency(c: char) -> bool {
    matches!(
        c,
        '¢'..='¥'
            | '\u{09F2}'
            | '\u{09F3}'
            | '\u{0E3F}'
            | '\u{17DB}'
            | '\u{20A0}'..='\u{20B1}'
            | '₹'
            | '\u{FDFC}'
            | '\u{FE69}'
            | '\u{FF04}'
            | '\u{FFE0}'
            | '\u{FFE1}'
            | '\u{FFE5}'
            | '\u{FFE6}'
    )
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
    pub(super) fn span_from(&self, start: usize, line: u32) -> Span {
        Span { start: start as u32, end: self.pos as u32, line }
    }

    pub(super) fn next(&mut self) -> Result<Token, SyntaxError> {
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
                    Some(c) if c.is_whitespace() || matches!(c, '\u{200b}' | '\u{feff}') => {
                        self.pos += c.len_utf8()
                    }
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

    /// The digits may stand apart from the sign.
    fn money(&mut self) -> Tok {
        let blanks = self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let point = usize::from(self.peek(blanks) == b'.');
        if self.peek(blanks + point).is_ascii_digit() {
            self.pos += blanks;
        }
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
            if sign == 1
                || self.peek(1).is_ascii_digit()
                || !continues_word(char::from(self.peek(1)))
            {
                kind = Tok::Float;
                self.pos += 1 + sign;
                self.take_while(|c| c.is_ascii_digit());
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
