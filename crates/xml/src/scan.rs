//! The text of a query, read piece by piece: words, signs, names, literals; comments `(: :)` count
//! as white space.

use messages as msg;

use crate::error::{PLACE, QueryError};
use crate::read::{is_name_part, is_name_start, is_space, is_xml};

#[derive(Clone, Debug)]
pub(crate) struct Scan<'t> {
    pub text: &'t str,
    pub at: usize,
}

impl<'t> Scan<'t> {
    pub fn new(text: &'t str) -> Scan<'t> {
        Scan { text, at: 0 }
    }

    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Passes white space and comments.
    pub fn space(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches(is_space).len();
            if !self.rest().starts_with("(:") {
                return;
            }
            let mut depth = 0;
            loop {
                let rest = self.rest();
                if rest.starts_with("(:") {
                    depth += 1;
                    self.at += 2;
                } else if rest.starts_with(":)") {
                    depth -= 1;
                    self.at += 2;
                } else if self.bump().is_none() {
                    return;
                }
                if depth == 0 {
                    break;
                }
            }
        }
    }

    pub fn is_end(&mut self) -> bool {
        self.space();
        self.at >= self.text.len()
    }

    /// A sign, if it comes next.
    pub fn eat(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    pub fn at(&mut self, sign: &str) -> bool {
        self.space();
        self.rest().starts_with(sign)
    }

    /// A word, if it comes next: the name must end there.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub fn at_word(&mut self, word: &str) -> bool {
        self.space();
        let Some(behind) = self.rest().strip_prefix(word) else { return false };
        !behind.starts_with(|c| is_name_part(c) || c == ':') || behind.starts_with("::")
    }

    /// Words one after another.
    pub fn eat_words(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        for word in words {
            if !self.eat_word(word) {
                self.at = start;
                return false;
            }
        }
        true
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), QueryError> {
        if self.eat(sign) { Ok(()) } else { Err(self.syntax()) }
    }

    pub fn expect_word(&mut self, word: &str) -> Result<(), QueryError> {
        if self.eat_word(word) { Ok(()) } else { Err(self.syntax()) }
    }

    /// What comes next, as errors of syntax name it.
    pub fn near(&mut self) -> String {
        self.space();
        let rest = self.rest();
        let word: String = rest.chars().take_while(|c| is_name_part(*c)).collect();
        match (word.is_empty(), rest.chars().next()) {
            (false, _) => word,
            (true, Some(c)) => c.to_string(),
            (true, None) => "<eof>".to_owned(),
        }
    }

    /// 2209 with what comes next.
    pub fn syntax(&mut self) -> QueryError {
        let near = self.near();
        QueryError::syntax(&near)
    }

    /// A sign or word that must come, else 2205.
    pub fn wanted(&mut self, word: &str) -> Result<(), QueryError> {
        let found =
            if word.starts_with(is_name_start) { self.eat_word(word) } else { self.eat(word) };
        if found { Ok(()) } else { Err(QueryError::of(msg::XQUERY_WORD_EXPECTED, [&PLACE, &word])) }
    }

    /// The line that is being read, from 1.
    pub fn line(&self) -> usize {
        self.text.get(..self.at).unwrap_or_default().matches('\n').count() + 1
    }

    /// A name without a colon, without white space before it.
    pub fn bare_name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return None;
        }
        let end = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end)
    }

    /// `name` or `prefix:name`.
    pub fn name(&mut self) -> Option<(&'t str, &'t str)> {
        self.space();
        let first = self.bare_name()?;
        let rest = self.rest();
        if rest.starts_with(':') && rest[1..].starts_with(is_name_start) {
            self.at += 1;
            return self.bare_name().map(|local| (first, local));
        }
        Some(("", first))
    }

    /// A string in either kind of quotes, doubled inside.
    pub fn string(&mut self) -> Result<Option<String>, QueryError> {
        self.space();
        let Some(quote @ ('"' | '\'')) = self.peek() else { return Ok(None) };
        self.bump();
        let mut out = String::new();
        loop {
            match self.bump() {
                None => return Err(self.syntax()),
                Some(c) if c == quote => {
                    if self.peek() != Some(quote) {
                        return Ok(Some(out));
                    }
                    self.bump();
                    out.push(quote);
                }
                Some('&') => out.push(self.reference()?),
                Some(c) => out.push(c),
            }
        }
    }

    /// What stands behind `&`.
    ///
    /// # Errors
    /// 2282 no such entity, 2283 a character that is no part of one, 2285 no such number.
    pub fn reference(&mut self) -> Result<char, QueryError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !is_name_part(c) && c != '#').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let none = || QueryError::of(msg::XQUERY_ENTITY, [&PLACE]);
        match behind.chars().next() {
            Some(';') if !name.is_empty() => self.at += end + 1,
            Some(c) if !name.is_empty() => {
                return Err(QueryError::of(msg::XQUERY_ENTITY_CHARACTER, [&PLACE, &c]));
            }
            _ => return Err(none()),
        }
        let Some(digits) = name.strip_prefix('#') else {
            return match name {
                "lt" => Ok('<'),
                "gt" => Ok('>'),
                "amp" => Ok('&'),
                "quot" => Ok('"'),
                "apos" => Ok('\''),
                _ => Err(none()),
            };
        };
        let number = match digits.strip_prefix('x') {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        };
        let c = number.and_then(char::from_u32).filter(|c| is_xml(*c));
        c.ok_or_else(|| QueryError::of(msg::XQUERY_ENTITY_NUMBER, [&PLACE]))
    }

    /// A number without a sign.
    pub fn number(&mut self) -> Option<f64> {
        self.space();
        let rest = self.rest();
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut end = digits(rest);
        if rest[end..].starts_with('.') {
            let more = digits(&rest[end + 1..]);
            if end + more == 0 {
                return None;
            }
            end += 1 + more;
        }
        if end == 0 {
            return None;
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let more = digits(&rest[end + 1 + sign..]);
            if more > 0 {
                end += 1 + sign + more;
            }
        }
        let n = rest[..end].parse().ok()?;
        self.at += end;
        Some(n)
    }
}
